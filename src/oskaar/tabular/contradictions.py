"""Rows that contradict what was inferred from the first ones: each contradiction is noted once, with what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from oskaar.tabular.infer import FEW
from oskaar.tabular.readers import ReadError, Record, Table

COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. ']\d{3})+),\d+")
"""Numbers with a decimal comma."""

THOUSANDS = re.compile(r"[+-]?\d{1,3}([, ']\d{3})+(\.\d+)?")
"""Numbers with separators of thousands."""

REMEMBERED = 1000
"""Classes that are kept to recognise lists of them."""


def odd_numbers(table: Table, columns: list[str], sample: list[Record]) -> Iterator[str]:
    """Notes on columns of text that look like numbers written in another way.

    >>> rows = [Record(2, {"price": "3,50"}), Record(3, {"price": "1.200,00"})]
    >>> list(odd_numbers(Table("a.csv", iter(()), ("price",)), ["price"], rows))
    ["'price' has numbers with a decimal comma, such as '3,50', read as text: --decimal , reads them as numbers"]
    """
    for name in columns if table.columns else ():
        texts = [cell for record in sample if isinstance(cell := record.cells.get(name), str)]
        known = sum(record.cells.get(name) is not None for record in sample)
        if not texts or len(texts) < known / 2:
            continue
        for what, option, shape in (("thousands set apart", ".", THOUSANDS), ("a decimal comma", ",", COMMA)):
            if all(map(shape.fullmatch, texts)):
                yield (
                    f"{name!r} has numbers with {what}, such as {texts[0]!r}, read as text: "
                    f"--decimal {option} reads them as numbers"
                )
                break


def require_one_header(table: Table, columns: list[str], sample: list[Record]) -> None:
    """Refuse a first row of text alone in a table of numbers: a second line of names, or of units."""
    if len(sample) < 4 or not table.columns:
        return
    first, *rest = (record.cells for record in sample)
    numbers = [name for name in columns if all(isinstance(row.get(name), (int, float)) for row in rest)]
    if len(numbers) > 1 and all(isinstance(first.get(name), str) for name in numbers):
        raise ReadError(
            f"{sample[0].part or table.name}, line {sample[0].line}: there is text in each of the "
            f"{len(numbers)} columns of numbers, such as {first[numbers[0]]!r}: it seems to be a second line of "
            "names or units; take it out (sed 2d)."
        )


class Contradictions:
    """Text in columns of x whose first rows, `sample`, had numbers alone.

    >>> notes = []
    >>> later = Contradictions([{"amount": 3, "kind": "a"}], notes)
    >>> later.input(Record(9, {}), "amount", "twelve")
    >>> notes
    ["line 9: 'amount' is 'twelve' and was a number before: --as amount=number takes such cells for missing"]
    """

    def __init__(self, sample: list[dict[str, Any]], notes: list[str]) -> None:
        names = dict.fromkeys(name for row in sample for name in row)
        cells = {name: [row[name] for row in sample if row.get(name) is not None] for name in names}
        self._numbers = {n for n, known in cells.items() if known and all(isinstance(c, (int, float)) for c in known)}
        self._notes = notes

    def input(self, record: Record, name: str, cell: str) -> None:
        """A cell of text in a row."""
        if name in self._numbers:
            self._numbers.remove(name)
            self._notes.append(
                f"line {record.line}: {name!r} is {cell[:40]!r} and was a number before: "
                f"--as {name}=number takes such cells for missing"
            )


class LabelContradictions:
    """Labels of a column that are not what the first ones were taken for: 0 and 1, few levels, or single classes.

    >>> notes = []
    >>> later = LabelContradictions("demand", "bits", notes)
    >>> for line, y in enumerate([0, 0, 37, 12], start=2):
    ...     later.label(Record(line, {}), y)
    >>> notes
    ["line 4: 'demand' is 37 and was 0 or 1 before: each number is a class now, --loss squared reads numbers"]
    """

    def __init__(self, y: str, doubt: str, notes: list[str]) -> None:
        self._y, self._doubt, self._notes = y, doubt, notes
        self._seen: set[Any] = set()

    def label(self, record: Record, cell: Any) -> None:
        """The label of a row, None where there is none."""
        what = self._against(cell) if self._doubt and cell is not None else ""
        if what:
            self._notes.append(f"line {record.line}: {self._y!r} {what}")
            self._doubt, self._seen = "", set()

    def _against(self, cell: Any) -> str:
        if self._doubt == "bits":
            number = isinstance(cell, (int, float)) and cell not in (0, 1)
            return (
                f"is {cell} and was 0 or 1 before: each number is a class now, --loss squared reads numbers" * number
            )
        if self._doubt == "text" and isinstance(cell, str):
            for separator in ";|,":
                parts = [part.strip() for part in cell.split(separator)]
                if len(parts) > 1 and self._seen.issuperset(parts):
                    return (
                        f"is {cell[:40]!r}, classes that were there before: --tags-separator '{separator}' parts them"
                    )
        if len(self._seen) < REMEMBERED:
            self._seen.add(cell)
        many = self._doubt == "levels" and len(self._seen) > FEW
        return f"has more than {FEW} different values now: --loss squared reads them as numbers" * many

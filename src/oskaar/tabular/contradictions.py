"""Rows that contradict what was inferred from the first ones: each contradiction is noted once, with what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from oskaar.schema.cells import as_number
from oskaar.tabular.infer import FEW
from oskaar.tabular.readers import ReadError, Record, Table

COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. ']\d{3})+),\d+")
"""Numbers with a decimal comma."""

THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([, ']\d{3})+(\.\d+)?")
"""Numbers with separators of thousands."""

HALF = 0.5
"""A column is of numbers where more than this part of its cells is."""

REMEMBERED = 1000
"""Classes that are kept to recognise lists of them."""


def odd_numbers(table: Table, columns: list[str], sample: list[Record]) -> Iterator[str]:
    """Notes on columns of text that look like numbers written in another way.

    >>> rows = [Record(2, {"price": "3,50"}), Record(3, {"price": "1.200,00"})]
    >>> list(odd_numbers(Table("a.csv", iter(()), ("price",)), ["price"], rows))
    ["'price' has numbers with a decimal comma, such as '3,50', read as text: --decimal , reads them as numbers"]
    """
    for name, (option, text) in odd_columns(table, columns, sample).items():
        what = f"{'thousands set apart' if option == '.' else 'a decimal comma'}, such as {text!r}"
        yield f"{name!r} has numbers with {what}, read as text: --decimal {option} reads them as numbers"


def odd_columns(table: Table, columns: list[str], sample: list[Record]) -> dict[str, tuple[str, str]]:
    """The columns whose texts are numbers written in another way: what --decimal reads them, and the first of them.

    1,234 may be both: it is a decimal comma where another column has one that is clear.
    """
    commas, thousands = {}, {}
    for name in columns if table.columns else ():
        texts = [cell for record in sample if isinstance(cell := record.cells.get(name), str)]
        known = sum(record.cells.get(name) is not None for record in sample)
        if texts and len(texts) >= HALF * known:
            if all(map(THOUSANDS.fullmatch, texts)):
                thousands[name] = texts
            elif all(map(COMMA.fullmatch, texts)):
                commas[name] = texts
    for name in [name for name, texts in thousands.items() if commas and all(map(COMMA.fullmatch, texts))]:
        commas[name] = thousands.pop(name)
    found = {**{name: (",", texts[0]) for name, texts in commas.items()}}
    found |= {name: (".", texts[0]) for name, texts in thousands.items()}
    return {name: found[name] for name in columns if name in found}


def require_plain_numbers(table: Table, y: list[str], sample: list[Record]) -> None:
    """Refuse labels that are numbers written in another way; 3,5 may be two tags, 3,0 and 3,3 and 1.234,5 are not."""
    for name, (decimal, text) in odd_columns(table, y, sample).items():
        parts = [cell.split(",") for record in sample if isinstance(cell := record.cells.get(name), str)]
        if decimal == "." or any(part[-1].startswith("0") or part[0] == part[-1] or "." in part[0] for part in parts):
            raise ReadError(
                f"{table.name}: {name!r} has numbers such as {text!r}: --decimal {decimal} reads them; else "
                "--loss zeroone takes them for classes, and --tags-separator , for tags."
            )


def dirty_numbers(columns: list[str], sample: list[Record]) -> Iterator[str]:
    """Notes on texts in columns of numbers.

    >>> rows = [Record(2, {"a": 1}), Record(3, {"a": "none at all"}), Record(4, {"a": 2})]
    >>> list(dirty_numbers(["a"], rows))
    ["line 3: 'a' is 'none at all' and a number in most rows: such cells are missing (--as a=category reads them)"]
    """
    for name in columns:
        cells = [(record, cell) for record in sample if (cell := record.cells.get(name)) is not None]
        texts = [(record, cell) for record, cell in cells if isinstance(cell, str) and as_number(cell) is None]
        numbers = sum(isinstance(cell, (int, float)) for _, cell in cells)
        if texts and numbers > HALF * len(cells):
            record, cell = texts[0]
            yield (
                f"line {record.line}: {name!r} is {cell[:40]!r} and a number in most rows: such cells are missing "
                f"(--as {name}=category reads them)"
            )


def require_one_header(table: Table, columns: list[str], sample: list[Record]) -> None:
    """Refuse a first row of text alone in a table of numbers: a second line of names, or of units."""
    if len(sample) < 4 or not table.columns:
        return
    first, *rest = (record.cells for record in sample)
    numbers = [name for name in columns if all(isinstance(row.get(name), (int, float)) for row in rest)]
    if not numbers or not all(isinstance(first.get(name), str) for name in numbers):
        return
    if len(numbers) > 1 or _unlike(first, rest, [name for name in columns if name not in numbers]):
        where = f"each of the {len(numbers)} columns of numbers" if len(numbers) > 1 else "the column of numbers"
        raise ReadError(
            f"{sample[0].part or table.name}, line {sample[0].line}: there is text in {where}, such as "
            f"{first[numbers[0]]!r}: it seems to be a second line of names or units; take it out (sed 2d)."
        )


def _unlike(first: dict[str, Any], rest: list[dict[str, Any]], columns: list[str]) -> bool:
    """Whether there are columns of few values, and none of them has the value that it has in the first row again."""
    found = {name: {repr(row.get(name)) for row in rest} for name in columns}
    few = [name for name in columns if len(found[name]) <= len(rest) / 4]
    return bool(few) and all(first.get(name) is not None and repr(first[name]) not in found[name] for name in few)


class Contradictions:
    """Text in columns of x whose first rows, `sample`, had numbers alone.

    >>> notes = []
    >>> later = Contradictions([{"amount": 3, "kind": "a"}], notes)
    >>> later.input(Record(9, {}), "amount", "twelve")
    >>> notes
    ["line 9: 'amount' is 'twelve' and was a number before: missing while most are numbers (--as says otherwise)"]
    """

    def __init__(self, sample: list[dict[str, Any]], notes: list[str]) -> None:
        names = dict.fromkeys(name for row in sample for name in row)
        cells = {name: [row[name] for row in sample if row.get(name) is not None] for name in names}
        self._numbers = {n for n, known in cells.items() if known and all(isinstance(c, (int, float)) for c in known)}
        self._notes = notes

    def input(self, record: Record, name: str, cell: str) -> None:
        if name in self._numbers:
            self._numbers.remove(name)
            self._notes.append(
                f"line {record.line}: {name!r} is {cell[:40]!r} and was a number before: "
                "missing while most are numbers (--as says otherwise)"
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

    def __init__(self, y: str, doubt: str, notes: list[str], separator: str | None = None) -> None:
        self._y, self._doubt, self._notes, self._separator = y, doubt, notes, separator
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
        if self._doubt in ("text", "tags") and isinstance(cell, str):
            labels = [label.strip() for label in cell.split(self._separator)] if self._separator else [cell]
            what = next(filter(None, map(self._several, labels)), "")
            if len(self._seen) < REMEMBERED:
                self._seen.update(labels)
            return what
        if len(self._seen) < REMEMBERED:
            self._seen.add(cell)
        many = self._doubt == "levels" and len(self._seen) > FEW
        return f"has more than {FEW} different values now: --loss squared reads them as numbers" * many

    def _several(self, label: str) -> str:
        """Whether a label is some that have been there, with a separator between them."""
        for separator in ";|,":
            parts = [part.strip() for part in label.split(separator)]
            if len(parts) > 1 and self._seen.issuperset(parts):
                kind = "tags" if self._separator else "classes"
                return f"is {label[:40]!r}, {kind} that were there before: --tags-separator '{separator}' parts them"
        return ""

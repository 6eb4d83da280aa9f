"""Tables and records, which every reader makes, and errors with the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_LINE = 2**24
"""Bytes that a line may have, and characters that the lines of one record may have together: 16 MiB."""

MISSING = frozenset({"", "?", "na", "nan", "null", "none"})
"""Texts that stand for no value, in any case."""


class ReadError(ValueError):
    """A file that cannot be read: which one, at which line, and what to do."""


class Record(NamedTuple):
    """One row of a file: the line where it ends, its cells by name, and the file, where a table has several.

    texts: the cells as they are written, where the format has only texts.
    """

    line: int
    cells: dict[str, Any]
    part: str = ""
    texts: list[str] | None = None


@dataclass
class Table:
    """A stream of records. Iterating it reads the file; nothing is kept.

    >>> table = Table("here", iter([Record(1, {"a": 2})]))
    >>> [record.cells["a"] for record in table]
    [2]
    """

    name: str
    """The file, for messages."""
    records: Iterator[Record]
    columns: tuple[str, ...] | None = None
    """All columns in order; None where records may bring new ones."""
    sparse: bool = False
    """True: a cell that is not there is 0."""
    labels: tuple[str, ...] = ()
    """The columns that the format itself calls labels."""
    inputs: tuple[str, ...] = ()
    """The columns that make good inputs, where that is not all others."""
    nominal: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of the columns that list them."""
    group: str | None = None
    """Consecutive records with the same value here belong together: a query, a sentence."""
    notes: list[str] = field(default_factory=list)
    """What was inferred while reading."""
    fraction: Callable[[], float | None] = lambda: None
    """How much of the file has been read, where that is known."""
    digest: Callable[[], str] = lambda: ""
    """A fingerprint of all that has been read so far, to know the file again."""

    def __iter__(self) -> Iterator[Record]:
        return self.records


def text_cell(text: str) -> Any:
    """A cell of a text file: a whole number, a number, None where nothing is there, or the text.

    >>> [text_cell(t) for t in ("3", " 0.5", "red", "", "NA", "1_0")]
    [3, 0.5, 'red', None, None, '1_0']
    """
    text = text.strip()
    if "_" not in text:
        try:
            return int(text)
        except ValueError:
            pass
        try:
            number = float(text)
        except ValueError:
            pass
        else:
            return None if number != number else number
    return None if text.lower() in MISSING else text


_SIGNS = str.maketrans("", "", "0123456789+-eE")
_THOUSANDS = {
    ",": re.compile(r"[+-]?\d{1,3}([. '\u00a0\u202f]\d{3})+(,\d+)?"),
    ".": re.compile(r"[+-]?\d{1,3}([, '\u00a0\u202f]\d{3})+(\.\d+)?"),
}


def number_cell(text: str, decimal: str) -> Any:
    """A cell of a text file where numbers are written with this decimal sign, and maybe the other for thousands.

    >>> number_cell("1.234,5", ","), number_cell("3,5", ","), number_cell("1,234,567", "."), number_cell("a,b", ",")
    (1234.5, 3.5, 1234567, 'a,b')
    >>> number_cell("3,5", "."), number_cell("1.2.3", ",")
    ('3,5', '1.2.3')
    """
    text = text.strip()
    if _THOUSANDS[decimal].fullmatch(text):
        text = re.sub(r"[., '\u00a0\u202f]", lambda found: found[0] if found[0] == decimal else "", text)
    if decimal == "," and not text.translate(_SIGNS).replace(",", "", 1):
        text = text.replace(",", ".")
    return text_cell(text)


def typed_cell(cell: Any) -> Any:
    """A cell of a file that has types: a boolean is 0 or 1, NaN is missing.

    >>> typed_cell(True), typed_cell(float("nan")), typed_cell("a")
    (1, None, 'a')
    """
    if isinstance(cell, bool):
        return int(cell)
    return None if isinstance(cell, float) and cell != cell else cell


def within(name: str, lines: Iterator[str], first: int, most: int, spent: list[int]) -> Iterator[str]:
    """Lines from number `first` on, where a record may have several; who reads them sets spent[0] to 0 after each.

    >>> list(within("here", iter(["abc", "de"]), 7, 5, [0]))
    ['abc', 'de']
    """
    for number, line in enumerate(lines, start=first):
        spent[0] += len(line)
        if spent[0] > most + 2:  # with the end of a line
            raise ReadError(
                f"{name}, line {number}: the record that ends here or later has more than {most} characters: look "
                "for a quote that is never closed, or empty lines that are missing, or raise max_line (--max-line)."
            )
        yield line


def unique(names: list[str], where: str) -> tuple[str, ...]:
    """Names of columns, each there once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ReadError(f"{where}: column names must differ, {name!r} is there twice: rename one of them.")
        seen.add(name)
    return tuple(names)

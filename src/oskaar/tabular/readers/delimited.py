"""CSV and TSV: a line of names, then rows of as many values."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any

from oskaar.tabular.readers.base import MAX_LINE, ReadError, Record, Table, number_cell, text_cell, unique, within

SEPARATORS = ",;\t|"


def read_delimited(
    name: str,
    lines: Iterator[str],
    separator: str | None = None,
    max_line: int = MAX_LINE,
    decimal: str | None = None,
) -> Table:
    r"""Records of a file with separators; None finds the separator in the first line.

    decimal: the sign before the decimals of numbers, the other of . and , being for thousands; None is . without any.

    A first line of numbers alone is taken for a row: columns are then c1, c2, ...

    >>> table = read_delimited("here", iter(["a;b\n", "1;x\n"]))
    >>> table.columns, [r.cells for r in table]
    (('a', 'b'), [{'a': 1, 'b': 'x'}])
    """
    number, first = next(((n, line) for n, line in enumerate(lines, start=1) if line.strip()), (0, ""))
    if not first:
        raise ReadError(f"{name} is empty: there must be a line of column names and a row.")
    notes = []
    declared = re.fullmatch(r"sep=(.)\s*", first)  # a line that Excel writes and leaves out again
    if declared:
        separator, number, first = declared[1], number + 1, next(lines, "")
    elif separator is None:
        separator = max(SEPARATORS, key=first.count) if any(s in first for s in SEPARATORS) else ","
        if separator != ",":
            notes.append(f"values are separated by {separator!r}")
    try:
        first_lines = within(name, chain([first], lines), number, max_line, [0])
        reader = csv.reader(first_lines, delimiter=separator, strict=True)
        header = [" ".join(cell.splitlines()).strip() for cell in next(reader, [])]
        number += max(0, reader.line_num - 1)  # a name may have several lines
    except csv.Error as error:
        raise _unreadable(name, number, error) from None
    rest = lines
    if all(isinstance(text_cell(cell), (int, float)) for cell in header):
        second = next(lines, "")
        try:
            width = len(next(csv.reader([second], delimiter=separator), []))
        except csv.Error as error:
            raise _unreadable(name, number + 1, error) from None
        counts = len(header) > 2 and width != len(header) and header[1] == str(width - 1)
        names = width if counts else len(header)
        what = "counts rows and columns" if counts else "holds numbers, not names"
        notes.append(f"the first line {what}: columns are c1 to c{names}")
        rest = chain([second] if counts else [first, second], lines)
        header, number = [f"c{i}" for i in range(1, names + 1)], number if counts else number - 1
    for place in (i for i, cell in enumerate(header) if not cell):
        header[place] = f"column {place + 1}"  # the index of a frame, or a separator at the end of each line
        notes.append(f"{header[place]!r} has no name in the file")
    columns = unique(header, f"{name}, in the line of names")
    cell = text_cell if decimal is None else partial(number_cell, decimal=decimal)
    return Table(name, _records(name, rest, separator, columns, number, max_line, cell), columns, notes=notes)


def _records(
    name: str,
    lines: Iterator[str],
    separator: str,
    columns: tuple[str, ...],
    skipped: int,
    most: int,
    cell: Callable[[str], Any],
) -> Iterator[Record]:
    spent = [0]
    rows = csv.reader(within(name, lines, skipped + 1, most, spent), delimiter=separator, strict=True)
    while True:
        spent[0] = 0
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise _unreadable(name, rows.line_num + skipped, error) from None
        if row is None:
            return
        if not row:
            continue
        line = rows.line_num + skipped
        if len(row) != len(columns):
            raise ReadError(
                f"{name}, line {line}: there must be {len(columns)} values, one for each column, got {len(row)}: "
                "the row is cut short, or a separator stands in a text without quotes."
            )
        yield Record(line, dict(zip(columns, map(cell, row), strict=True)), texts=row)


def _unreadable(name: str, line: int, error: csv.Error) -> ReadError:
    """What a file is not; a value may be too long for the csv module, which has a limit of its own."""
    if "field limit" not in str(error):
        if "new-line character" in str(error):
            return ReadError(f"{name}, line {line}: lines end with CR alone: convert them (tr '\\r' '\\n').")
        return ReadError(f"{name}, line {line}: {error}: look for a quote that is never closed, or a file cut short.")
    return ReadError(
        f"{name}, line {line}: a value has more than {csv.field_size_limit()} characters: look for a quote that is "
        "never closed; if it is right, raise csv.field_size_limit (--max-line on the command line)."
    )

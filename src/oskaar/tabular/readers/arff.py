"""ARFF, as Weka, Mulan and MEKA write it: declared columns, then dense or sparse rows.

Mulan lists the labels in an XML file beside it.
"""

from __future__ import annotations

import csv
import html
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from oskaar.tabular.readers.base import MAX_LINE, ReadError, Record, Table, text_cell, unique

_ATTRIBUTE = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)
_MEKA = re.compile(r"-C\s+(-?\d+)")
_LABEL = re.compile(r"<label\s+name\s*=\s*(\"[^\"]*\"|'[^']*')")


def read_arff_records(name: str, lines: Iterator[str]) -> Table:
    r"""Records of an ARFF file. MEKA's "-C 3" in @relation says that the first 3 columns are labels (-3: the last).

    In a sparse row a cell that is not there is 0, or the first value of a nominal column.

    >>> text = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute x numeric\n@data\n1,0.5\n{1 2.0}\n"
    >>> table = read_arff_records("here", iter(text.splitlines(keepends=True)))
    >>> table.labels, [r.cells for r in table]
    (('y',), [{'y': 1, 'x': 0.5}, {'x': 2.0}])
    """
    names: dict[str, tuple[str, ...]] = {}
    n_labels = 0
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        lower = text.lower()
        if lower.startswith("@relation"):
            found = _MEKA.search(text)
            n_labels = int(found[1]) if found and "weka.filters" not in text else 0  # a filter may have moved them
        elif lower.startswith("@attribute"):
            _declare(text, f"{name}, line {number}", names)
        elif lower.startswith("@data"):
            break
        elif text and not text.startswith(("%", "@")):
            raise ReadError(
                f"{name}, line {number}: @relation, @attribute or @data must come here, got {text[:40]!r}."
            )
    else:
        raise ReadError(f"{name} has no @data line: it is not an ARFF file, or it was cut short.")
    columns = tuple(names)
    labels = columns[:n_labels] if n_labels >= 0 else columns[n_labels:]
    sparse, rows = _peeked(lines, number)
    nominal = {column: values for column, values in names.items() if values}
    firsts = {column: first for column, values in nominal.items() if (first := text_cell(values[0])) != 0}
    records = _records(name, rows, columns, firsts)
    return Table(name, records, columns, sparse=sparse, labels=labels, nominal=nominal)


def _declare(text: str, where: str, names: dict[str, tuple[str, ...]]) -> None:
    """Add a column, with its values where it is nominal."""
    found = _ATTRIBUTE.match(text)
    if not found:
        raise ReadError(f"{where}: an attribute must have a name and a type, got {text[:60]!r}.")
    name = found[1].strip("'\"").replace("\\", "")
    unique([*([name] if name in names else []), name], where)
    try:
        values = _split(found[2].strip("{} ")) if found[2].startswith("{") else []
    except csv.Error as error:
        raise ReadError(f"{where}: cannot read the values {found[2][:60]!r} ({error}).") from None
    names[name] = tuple(text.strip() for text in values)


def _peeked(lines: Iterator[str], number: int) -> tuple[bool, Iterator[tuple[int, str]]]:
    """Whether the first row is sparse, and all rows with their line numbers."""
    rows = ((n, t) for n, line in enumerate(lines, start=number + 1) if (t := line.strip()) and t[0] != "%")
    first = next(rows, None)
    return (False, iter(())) if first is None else (first[1].startswith("{"), chain([first], rows))


def _records(
    name: str, rows: Iterator[tuple[int, str]], columns: tuple[str, ...], firsts: dict[str, Any]
) -> Iterator[Record]:
    for number, text in rows:
        try:
            cells = _sparse(text, columns, firsts) if text.startswith("{") else _dense(text, columns)
        except (ValueError, IndexError, csv.Error) as error:
            raise ReadError(f"{name}, line {number}: cannot read {text[:60]!r} ({error}).") from None
        yield Record(number, cells)


def _dense(text: str, columns: tuple[str, ...]) -> dict[str, Any]:
    cells = _split(text)
    if len(cells) != len(columns):
        raise ValueError(f"{len(columns)} values are declared, {len(cells)} are there: the row may be cut short")
    return dict(zip(columns, map(text_cell, cells), strict=True))


def _sparse(text: str, columns: tuple[str, ...], firsts: dict[str, Any]) -> dict[str, Any]:
    if not text.endswith("}"):
        raise ValueError("a sparse row must end with }: it may be cut short")
    cells: dict[str, Any] = dict(firsts)
    for item in _split(text[1:-1]):
        if item.strip():
            place, cell = item.split(None, 1)
            if not place.isdecimal():
                raise ValueError(f"a column must be a number from 0, got {place!r}")
            cells[columns[int(place)]] = text_cell(cell.strip("'\" "))
    return cells


def _split(text: str) -> list[str]:
    """Cells between commas; quotes of either kind hold commas."""
    if "'" not in text and '"' not in text:
        return text.split(",")
    mark = "'" if "'" in text else '"'
    return next(csv.reader([text], quotechar=mark, escapechar="\\", skipinitialspace=True, strict=True))


def mulan_labels(path: str | Path) -> tuple[str, ...]:
    """The labels that yeast.xml lists for yeast.arff or yeast.arff.gz; none where there is no such file.

    >>> mulan_labels("no such.arff")
    ()
    """
    beside = Path(path)
    while beside.suffix and beside.suffix != ".xml":
        ending = beside.suffix.lower()
        beside = beside.with_suffix(".xml" if ending == ".arff" else "")
    try:
        text = ""
        if beside.suffix == ".xml" and beside.stat().st_size <= MAX_LINE:
            text = beside.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(html.unescape(name[1:-1]) for name in _LABEL.findall(text))

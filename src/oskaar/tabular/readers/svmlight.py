"""SVMlight, and LETOR with its queries: `2 qid:7 1:0.5 3:1 # a comment`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from oskaar.tabular.readers.base import ReadError, Record, Table


def read_svmlight(name: str, lines: Iterator[str]) -> Table:
    r"""Records with the cells "y", "qid" where there is one, and a cell for each feature that is not 0.

    Several labels, `1,4 2:0.5`, give a list; none at all, a list of none.

    >>> table = read_svmlight("here", iter(["2 qid:7 1:0.5 # doc 12\n"]))
    >>> table.group, [r.cells for r in table]
    ('qid', [{'y': 2, 'qid': '7', '1': 0.5}])
    """
    rows = ((n, text) for n, line in enumerate(lines, start=1) if (text := line.split("#", 1)[0].rstrip()))
    first = next(rows, None)
    grouped = first is not None and " qid:" in first[1]
    records = _records(name, chain([first], rows) if first else iter(()))
    return Table(name, records, sparse=True, labels=("y",), group="qid" if grouped else None)


def _records(name: str, rows: Iterator[tuple[int, str]]) -> Iterator[Record]:
    for number, text in rows:
        parts = text.split()
        none = text[0].isspace() or ":" in parts[0]
        try:
            cells: dict[str, Any] = {"y": [] if none else _label(parts[0])}
            for item in parts if none else parts[1:]:
                feature, number_text = item.split(":")
                cells[feature] = number_text if feature == "qid" else float(number_text)
        except ValueError:
            raise ReadError(
                f"{name}, line {number}: a row must be a label and feature:value pairs, got {text[:60]!r}."
            ) from None
        yield Record(number, cells)


def _label(text: str) -> Any:
    if "," in text:
        return [int(part) for part in text.split(",")]
    number = float(text)
    return int(number) if number.is_integer() else number

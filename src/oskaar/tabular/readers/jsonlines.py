"""JSON lines: an object in each line. Columns may come and go."""

from __future__ import annotations

import json
from collections.abc import Iterator

from oskaar.tabular.readers.base import ReadError, Record, Table, typed_cell


def read_jsonlines(name: str, lines: Iterator[str]) -> Table:
    r"""Records of a file of JSON objects, one a line.

    >>> [r.cells for r in read_jsonlines("here", iter(['{"x": [1, 2], "y": "a"}\n']))]
    [{'x': [1, 2], 'y': 'a'}]
    """
    return Table(name, _records(name, lines))


def _records(name: str, lines: Iterator[str]) -> Iterator[Record]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            cells = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
            raise ReadError(
                f"{name}, line {number}: {line.strip()[:40]!r} is not JSON ({reason}): each line must be an object "
                "of its own; jq -c '.[]' makes such lines of an array."
            ) from None
        if not isinstance(cells, dict):
            raise ReadError(
                f"{name}, line {number}: there must be an object with named values, got {type(cells).__name__}."
            )
        yield Record(number, {key: typed_cell(cell) for key, cell in cells.items()})

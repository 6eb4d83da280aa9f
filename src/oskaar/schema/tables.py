"""Rows in any container as a table: records by name, or whole columns.

Named rows are dicts and other mappings, named tuples, dataclasses and pandas Series; frames are those of pandas,
polars and pyarrow, whose columns are read one by one through what all three have in common. Cells are plain.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.saved import require, require_count, saved
from oskaar.schema.cells import is_plain, plain

MOST_COLUMNS = 10_000
"""Named columns that a table may have; numbers in more of them are a bag (`schema.Schema`)."""


@saved("table/records")
class Records:
    """Rows as dicts of plain cells: an absent name is missing."""

    def __init__(self, rows: list[dict[Any, Any]]) -> None:
        self.rows = rows
        self.n = len(rows)

    @property
    def names(self) -> list[Any]:
        """The columns in the order of their first appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def part(self, lo: int, hi: int) -> Records:
        return Records(self.rows[lo:hi])

    def column(self, name: Any) -> Any:
        return [row.get(name) for row in self.rows]

    def records(self) -> list[dict[Any, Any]]:
        return self.rows

    @property
    def nbytes(self) -> int:
        return sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row.values())) for row in self.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": [{name: _to_save(cell) for name, cell in row.items()} for row in self.rows]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = state["rows"]
        self.__init__([{name: _from_file(cell) for name, cell in row.items()} for row in rows])  # type: ignore[misc]

    def check_saved(self) -> None:
        require(all(is_plain(cell) for row in self.rows for cell in row.values()), "cells must be plain")


@saved("table/columns")
class Columns:
    """Rows as columns, each a list of plain cells or an array of floats in which NaN is missing.

    matrix: all columns as one (n, d) array, where all are numbers.
    """

    saved_finite = False

    def __init__(self, names: Sequence[Any], columns: list[Any], n: int, matrix: Array | None = None) -> None:
        self.names, self.columns, self.n, self.matrix = names, columns, n, matrix

    @staticmethod
    def of_matrix(matrix: Array, names: Sequence[Any] | None = None) -> Columns:
        """The columns of an array, numbered where they have no names."""
        return Columns(range(matrix.shape[1]) if names is None else names, [], len(matrix), matrix)

    def part(self, lo: int, hi: int) -> Columns:
        matrix = None if self.matrix is None else self.matrix[lo:hi]
        return Columns(self.names, [column[lo:hi] for column in self.columns], hi - lo, matrix)

    def column(self, name: Any) -> Any:
        """The cells of a column; None where there is no such column."""
        try:
            place = self.names.index(name)
        except ValueError:
            return [None] * self.n
        return self.columns[place] if self.matrix is None else self.matrix[:, place]

    def records(self) -> list[dict[Any, Any]]:
        columns = [self.column(name) for name in self.names]
        cells = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns]
        cells = [[None if v is not None and v != v else v for v in column] for column in cells]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*cells, strict=True)]

    @property
    def nbytes(self) -> int:
        if self.matrix is not None:
            return int(self.matrix.nbytes)
        return sum(sys.getsizeof(column) + 64 * len(column) for column in self.columns)

    def __getstate__(self) -> dict[str, Any]:
        columns = [c if isinstance(c, np.ndarray) else [_to_save(cell) for cell in c] for c in self.columns]
        names = None if isinstance(self.names, range) else list(self.names)
        return {"names": names, "columns": columns, "n": self.n, "matrix": self.matrix}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns, matrix, names = state["columns"], state["matrix"], state["names"]
        width = len(columns) if matrix is None else matrix.shape[1]
        read = [c if isinstance(c, np.ndarray) else [_from_file(cell) for cell in c] for c in columns]
        self.__init__(range(width) if names is None else names, read, state["n"], matrix)  # type: ignore[misc]

    def check_saved(self) -> None:
        require_count(self.n, "rows")
        for column in self.columns if self.matrix is None else [self.matrix]:
            require(len(column) == self.n, "a cell for each row")
            floats = isinstance(column, np.ndarray) and column.dtype == np.float64
            require(floats or all(is_plain(cell) for cell in column), "cells must be plain")
        width = len(self.columns) if self.matrix is None else self.matrix.shape[1]
        require(len(self.names) == width, "a name for each column")


Table = Records | Columns


def _to_save(cell: Any) -> Any:
    """A cell for a file: a time as a list of one number, its microseconds since 1970."""
    return [int(cell.astype(np.int64))] if isinstance(cell, np.datetime64) else cell


def _from_file(cell: Any) -> Any:
    return np.datetime64(cell[0], "us") if isinstance(cell, list) else cell


def joined(tables: list[Any]) -> Table:
    """The rows of several tables, one after the other.

    >>> joined([Records([{"a": 1.0}]), Columns.of_matrix(np.array([[2.0]]), ["a"])]).column("a")
    [1.0, 2.0]
    """
    if len(tables) == 1:
        one: Table = tables[0]
        return one
    n, first = sum(table.n for table in tables), tables[0]
    if all(isinstance(t, Columns) and (t.names is first.names or list(t.names) == list(first.names)) for t in tables):
        if all(t.matrix is not None for t in tables):
            return Columns(first.names, [], n, np.concatenate([t.matrix for t in tables]))
        columns = [[cell for t in tables for cell in _listed(t.column(name))] for name in first.names]
        return Columns(first.names, columns, n)
    return Records([row for table in tables for row in table.records()])


def _listed(column: Any) -> list[Any]:
    if not isinstance(column, np.ndarray):
        return list(column)
    return [None if v != v else v for v in column.tolist()]


def mapping_of(x: Any) -> Mapping[Any, Any] | None:
    """A named row as a mapping; None for rows without names.

    >>> from collections import namedtuple
    >>> mapping_of(namedtuple("Row", "a b")(1, 2)), mapping_of([1, 2])
    ({'a': 1, 'b': 2}, None)
    """
    if isinstance(x, Mapping):
        return x
    if isinstance(x, tuple) and hasattr(x, "_asdict"):
        named: Mapping[Any, Any] = x._asdict()
        return named
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return {field.name: getattr(x, field.name) for field in dataclasses.fields(x)}
    if hasattr(x, "to_dict") and hasattr(x, "iloc") and getattr(x, "ndim", 0) == 1:  # a row of a frame
        series: Mapping[Any, Any] = x.to_dict()
        return series
    return None


def of_mappings(rows: Iterable[Mapping[Any, Any]]) -> Records:
    """Named rows, checked."""
    return Records([_record(row) for row in rows])


def _record(row: Mapping[Any, Any]) -> dict[Any, Any]:
    if type(row) is dict and set(map(type, row)) <= {str}:
        if set(map(type, row.values())) == {float} and math.isfinite(sum(row.values())):
            return dict(row)
        return {name: plain(name, value) for name, value in row.items()}
    return {column_name(name): plain(name, value) for name, value in row.items()}


def column_name(name: Any) -> Any:
    """A name that a column may have: a text, a number, or a tuple of these."""
    if isinstance(name, str):
        return str(name)
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, (int, float, tuple)) and name == name:
        return name
    raise ValueError(
        f"the name of a column must be a text or a number, and equal to itself, got {name!r:.60}: rename it."
    )


def is_frame(xs: Any) -> bool:
    """Whether this is a table of pandas, polars or pyarrow."""
    return (hasattr(xs, "to_numpy") and hasattr(xs, "columns")) or _is_arrow(xs)


def _is_arrow(xs: Any) -> bool:
    return hasattr(xs, "column_names") and hasattr(xs, "num_rows")


def of_frame(frame: Any) -> Columns:
    """A frame, column by column.

    Whatever the package, `frame[name]` is a column; it is an array by `to_numpy`, or a list of Python's values.
    """
    listed, names = _labels(frame), frame_names(frame)
    n = frame_length(frame)
    columns = [_frame_column(name, frame[key]) for name, key in zip(names, listed, strict=True)]
    if columns and all(isinstance(column, np.ndarray) for column in columns):
        return Columns(names, [], n, np.column_stack(columns))
    return Columns(names, columns, n)


def frame_length(frame: Any) -> int:
    """How many rows a frame has."""
    return int(frame.num_rows if _is_arrow(frame) else len(frame))


def frame_names(frame: Any) -> list[Any]:
    """The names of the columns of a frame, all different."""
    names = [column_name(name) for name in _labels(frame)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"a frame must have different columns, got {twice!r} twice: rename one of them.")
    return names


def _labels(frame: Any) -> list[Any]:
    return list(frame.column_names if _is_arrow(frame) else frame.columns)


def _frame_column(name: Any, series: Any) -> Any:
    if hasattr(series, "to_pylist"):
        values: Any = series.to_pylist()
    else:
        values = series.to_numpy()
        if values.dtype.kind in "iuf":
            floats = values.astype(float)
            infinite = floats[np.isinf(floats)]
            if len(infinite):
                plain(name, float(infinite[0]))  # refuses it
            return floats
        values = list(values) if values.dtype.kind in "mM" else values.tolist()
    return plain_column(name, values)


def plain_column(name: Any, values: list[Any]) -> Any:
    """Cells as an array of floats where all are numbers or missing, else as a list of plain ones."""
    cells = [plain(name, value) for value in values]
    if set(map(type, cells)) <= {float, type(None)} and any(cell is not None for cell in cells):
        return np.array([np.nan if cell is None else cell for cell in cells])
    return cells

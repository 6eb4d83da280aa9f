"""Rows as tables that a schema reads, and frames that none reads: cells by name or by place."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from oskaar.inputs.conversion import matrix_of, sparse_row
from oskaar.requirements import shorten
from oskaar.schema import Schema
from oskaar.schema.schema import require_names
from oskaar.schema.tables import Columns, frame_names, mapping_of, plain_column

_CELLS = (str, dt.date, np.datetime64, bool, np.bool_, list, tuple, set, frozenset)
"""What a cell may be beside a number."""


class Framed:
    """A frame as a matrix, its columns in the order of those of the first frame, and their names."""

    def __init__(self, frame: Any, columns: list[Any] | None) -> None:
        table, got = frame if hasattr(frame, "to_numpy") else frame.to_pandas(), frame_names(frame)
        if columns is not None:
            require_names(columns, got)
        self.columns = got if columns is None else columns
        matrix = table.to_numpy()
        self.matrix = matrix if got == self.columns else matrix[:, [got.index(name) for name in self.columns]]

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, place: Any) -> Any:
        """A row, or several."""
        return self.matrix[place]


def without_sparse(rows: Any) -> Any:
    """Rows of which none is sparse."""
    if hasattr(rows, "toarray"):
        return rows.toarray()
    if isinstance(rows, list):
        return [sparse_row(x).toarray().ravel() if hasattr(x, "tocsr") else x for x in rows]
    return rows


def by_name(x: Any, schema: Schema) -> Any:
    """A row as a mapping; one without names has its cells in the order of the columns."""
    row = mapping_of(x)
    if row is None:
        if not isinstance(x, (list, tuple, np.ndarray)) or _dimensions(x) != 1 or len(x) != len(schema.known):
            raise TypeError(
                f"x must be a row with names, as the first was, or of {len(schema.known)} cells, got {shorten(x)}."
            )
        return dict(zip(schema.known, x, strict=True))
    if schema.names == "closed":
        more = [name for name in row if name not in schema.known]
        if more:
            require_names(schema.known, [*schema.known, *more])
    return row


def placed(rows: Any, schema: Schema) -> Columns:
    """Rows without names."""
    width = len(schema.known) if schema.rows else None
    if not schema.rows or schema.only_numbers:
        try:
            return Columns.of_matrix(matrix_of(rows, width, gaps=True))
        except ValueError:
            first = rows[0] if len(rows) else None
            if schema.rows or (isinstance(rows, np.ndarray) and rows.ndim != 2) or not _has_texts(first):
                raise
    width = len(rows[0]) if width is None else width
    for row in rows:
        if not isinstance(row, (list, tuple, np.ndarray)) or len(row) != width:
            matrix_of([row], width)
            raise ValueError(f"x must have {width} columns, as the first row had, got {shorten(row)}.")
    columns = [plain_column(j, [row[j] for row in rows]) for j in range(width)]
    return Columns(range(width), columns, len(rows))


def _dimensions(x: Any) -> int:
    """Of an array; lists and tuples are rows, whatever their cells are."""
    return x.ndim if isinstance(x, np.ndarray) else 1


def _has_texts(row: Any) -> bool:
    """Whether a row has cells that are not numbers, and are no rows themselves."""
    return isinstance(row, (list, tuple, np.ndarray)) and any(isinstance(v, _CELLS) for v in row)

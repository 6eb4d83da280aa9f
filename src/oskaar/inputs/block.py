"""Checked rows of one or more rounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.rows import MixedRows, count, pick
from oskaar.saved import require, require_count, require_kind, saved
from oskaar.schema import Schema
from oskaar.schema.tables import Columns, Records, Table


@saved("rows/block")
@dataclass
class Block:
    """n checked rows; `names` are the columns of dict rows, with those that these rows add.

    raw: the rows before a schema read them, where they may be read anew. A block of many rounds has only these.
    """

    rows: Rows
    n: int
    names: dict[Any, int] | None = None
    raw: Table | None = None
    schema: Schema | None = None
    columns: list[Any] | None = None
    """Of a frame that no schema reads."""

    def part(self, lo: int, hi: int) -> Block:
        """Rows lo..hi-1."""
        raw = None if self.raw is None else self.raw.part(lo, hi)
        return Block(pick(self.rows, slice(lo, hi)), hi - lo, self.names, raw, self.schema, self.columns)

    @property
    def is_read(self) -> bool:
        """Whether a schema has made numbers of the rows, or none was needed."""
        return not isinstance(self.rows, (Records, Columns))

    def holds(self, x: Array) -> bool:
        """Whether an array without names is the only row, to the last bit, and all that came."""
        rows, raw = self.rows, self.raw
        named = raw is not None and type(raw.names) is not range
        named = named or self.names is not None or self.columns is not None
        if named or type(rows) is not np.ndarray:
            return False
        return x.dtype == rows.dtype and x.shape == rows.shape[1:] and bool(x.tobytes() == rows.tobytes())

    def numbers(self) -> Block:
        """The rows as they were read, which stay so."""
        return replace(self, raw=None)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_count(self.n, "rows")
        require_kind(self.raw, (Records, Columns, type(None)), "rows as they came")
        require_kind(self.schema, (Schema, type(None)), "the schema of a block")
        if self.raw is not None:
            require(self.raw.n == self.n and self.schema is not None, "as many rows as came")
        if self.rows is not None:
            require(isinstance(self.rows, (list, MixedRows)) or hasattr(self.rows, "shape"), "rows of a block")
            require(count(self.rows) == self.n, "as many rows as a block has")

    def equals(self, other: Block) -> bool:
        """Whether the rows are the same; False where equality is not defined."""
        if self is other:
            return True
        mark = self.fingerprint()
        return mark is not None and bool(mark == other.fingerprint())

    def fingerprint(self) -> Any:
        """Equal for equal rows; None where equality is not defined."""
        if isinstance(self.rows, np.ndarray):
            return self.rows.shape, self.rows.tobytes()
        if isinstance(self.rows, list):
            plain = all(isinstance(x, (str, bytes, int, float)) for x in self.rows)
            return tuple((type(x), repr(x)) for x in self.rows) if plain else None  # 1, 1.0 and True are equal
        if isinstance(self.rows, MixedRows):
            return Block(self.rows.dense, self.n).fingerprint(), Block(self.rows.sparse, self.n).fingerprint()
        parts = (self.rows.data, self.rows.indices, self.rows.indptr)
        return self.rows.shape, *(part.tobytes() for part in parts)

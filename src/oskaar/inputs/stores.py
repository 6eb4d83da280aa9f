"""Rows that are kept, by kind: dense, sparse, mixed, dicts of named features, objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Growing, Rows, require_growing
from oskaar.inputs.block import Block
from oskaar.inputs.conversion import (
    feature_of,
    matrix_of,
    require_different,
    require_finite,
    require_real,
    sparse_row,
)
from oskaar.rows import MixedRows
from oskaar.saved import require, require_count, require_kind, saved


class Store(ABC):
    """Rows of one kind, in the order of arrival."""

    n = 0

    @abstractmethod
    def parse(self, xs: Sequence[Any]) -> Block:
        """Check and convert rows; changes nothing."""

    @abstractmethod
    def append(self, block: Block) -> None:
        """Keep the rows of a block that `parse` made."""

    def adopt(self, block: Block) -> None:  # noqa: B027, most kinds have nothing to remember
        """Remember the columns of a block that `parse` made, not its rows."""

    @abstractmethod
    def drop(self, rows: int) -> None:
        """Forget the oldest rows."""

    @abstractmethod
    def rows_for(self, block: Block) -> Rows:
        """All rows kept, in a shape that fits the block's."""


@saved("rows/dense")
class DenseStore(Store):
    """Rows of numbers of one width."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows = Growing(width)

    def parse(self, xs: Sequence[Any]) -> Block:
        """An (n, width) array of finite numbers."""
        if hasattr(xs, "toarray"):
            xs = xs.toarray()
        elif isinstance(xs, list):
            xs = [sparse_row(x).toarray().ravel() if hasattr(x, "tocsr") else x for x in xs]
        if len(xs) == 0:
            return Block(np.zeros((0, self.width)), 0)
        rows = matrix_of(xs, self.width)
        return Block(rows, len(rows))

    def fits(self, x: Any) -> bool:
        """Whether an array is a row that needs no conversion."""
        if x.shape != (self.width,) or x.dtype != np.float64:
            return False
        return b"\0" not in np.isfinite(x).tobytes()  # quicker than `all`

    def append(self, block: Block) -> None:
        self._rows.append(block.rows)
        self.n = self._rows.shape[0]

    def drop(self, rows: int) -> None:
        """Forget the oldest rows."""
        self._rows.drop(rows)
        self.n -= rows

    def rows_for(self, block: Block) -> Rows:
        """An (n, width) array."""
        return self._rows.view

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_growing(self.n, self._rows)
        require(self._rows.shape[1] == self.width and self._rows.view.dtype == np.float64, "rows must have the width")


@saved("rows/sparse")
class SparseStore(Store):
    """Sparse rows of one width, in compressed row form."""

    def __init__(self, width: int) -> None:
        self.width = width
        index = np.int32 if width <= np.iinfo(np.int32).max else np.int64
        self._data, self._indices, self._starts = Growing(1), Growing(1, index), Growing(1, np.int32)
        self._starts.append(np.zeros((1, 1)))

    def parse(self, xs: Sequence[Any]) -> Block:
        """A CSR array of finite numbers."""
        from scipy.sparse import csr_array, vstack

        if not hasattr(xs, "tocsr"):
            xs = vstack([sparse_row(x) for x in xs]) if len(xs) else csr_array((0, self.width))
        require_real(xs)
        rows = csr_array(xs, dtype=float, copy=True)  # sums of duplicates are not written to the caller's
        if rows.shape[1] != self.width:
            raise ValueError(f"x must have {self.width} features, as the first row had, got {rows.shape[1]}.")
        rows.sum_duplicates()
        require_finite(rows.data, lambda i: f"feature {rows.indices[i]}")
        return Block(rows, rows.shape[0])

    def append(self, block: Block) -> None:
        rows, used = block.rows, self._data.shape[0]
        if used + rows.nnz > np.iinfo(np.int32).max:
            raise MemoryError(f"sparse rows hold at most 2^31 - 1 numbers in all, {used + rows.nnz} are wanted.")
        self._data.append(rows.data[:, None])
        self._indices.append(rows.indices[:, None])
        self._starts.append(used + rows.indptr[1:, None])
        self.adopt(block)
        self.n += block.n

    def adopt(self, block: Block) -> None:
        """Remember how wide they are."""
        self.width = max(self.width, block.rows.shape[1])

    def drop(self, rows: int) -> None:
        """Forget the oldest rows."""
        used = int(self._starts.view[rows, 0])
        self._data.drop(used)
        self._indices.drop(used)
        self._starts.drop(rows)
        self._starts.view[:] -= used
        self.n -= rows

    def rows_for(self, block: Block) -> Rows:
        """A CSR array as wide as the block's."""
        from scipy.sparse import csr_array

        width = max(self.width, block.rows.shape[1])
        parts = self._data.view[:, 0], self._indices.view[:, 0], self._starts.view[:, 0]
        return csr_array(parts, shape=(self.n, width))

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_growing(None, self._data, self._indices, self._starts)
        require_count(self.n, "rows")
        require(require_count(self.width, "columns") < 2**31, "columns must be fewer than 2^31")
        for part, dtype in ((self._data, np.float64), (self._indices, np.int32), (self._starts, np.int32)):
            require(part.shape[1] == 1 and part.view.dtype == dtype, "a part of sparse rows has another type")
        starts, indices = self._starts.view[:, 0], self._indices.view[:, 0]
        require(len(starts) == self.n + 1 and starts[0] == 0, "sparse rows must start at 0")
        require(
            starts[-1] == len(indices) == self._data.shape[0] and (np.diff(starts) >= 0).all(), "starts must rise"
        )
        require(not len(indices) or (indices.min() >= 0 and indices.max() < self.width), "a column must exist")


@saved("rows/mixed")
class MixedStore(Store):
    """Rows of numbers and of sparse entries."""

    def __init__(self, width: int, columns: int) -> None:
        self.dense, self.sparse = DenseStore(width), SparseStore(columns)

    @property
    def n(self) -> int:  # type: ignore[override]
        """How many rows there are."""
        return self.dense.n

    def parse(self, xs: Sequence[Any]) -> Block:
        """Such rows come from a schema only."""
        raise TypeError("x must be a row that a schema has read.")

    def append(self, block: Block) -> None:
        self.dense.append(Block(block.rows.dense, block.n))
        self.sparse.append(Block(block.rows.sparse, block.n))

    def drop(self, rows: int) -> None:
        self.dense.drop(rows)
        self.sparse.drop(rows)

    def rows_for(self, block: Block) -> Rows:
        """Both parts."""
        dense, sparse = Block(block.rows.dense, block.n), Block(block.rows.sparse, block.n)
        return MixedRows(self.dense.rows_for(dense), self.sparse.rows_for(sparse))

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_kind(self.dense, DenseStore, "the numbers")
        require(type(self.sparse) is SparseStore and self.sparse.n == self.dense.n, "as many rows in both parts")


@saved("rows/dicts")
class DictStore(SparseStore):
    """Dicts of named features, as in River: names may come and go, an absent one is 0, text is one-hot.

    Names are any keys that a dict takes, and differ as keys of a dict do: 1 is not "1".
    """

    closed = False
    """Whether names that are not known are ignored."""

    def __init__(self, names: Sequence[Any] | None = None) -> None:
        super().__init__(len(names or ()))
        self.names: dict[Any, int] = {name: column for column, name in enumerate(names or ())}
        self.closed = names is not None

    def parse(self, xs: Sequence[Any]) -> Block:
        """A CSR array over the names known so far and the new ones."""
        from scipy.sparse import csr_array

        names, data, indices, starts = self.names, [], [], [0]
        for x in xs:
            if not isinstance(x, dict):
                raise TypeError(f"x must be a dict, as the first row was, got {type(x).__name__}.")
            for key, value in x.items():
                name, number = feature_of(key, value)
                if name not in names:
                    if self.closed:
                        continue
                    names = {**names, name: len(names)} if names is self.names else names
                    names.setdefault(name, len(names))
                data.append(number)
                indices.append(names[name])
            require_different(indices[starts[-1] :], names)
            starts.append(len(data))
        rows = csr_array((np.array(data), np.array(indices, dtype=np.int64), starts), shape=(len(xs), len(names)))
        rows.sort_indices()
        return Block(rows, len(xs), names)

    def adopt(self, block: Block) -> None:
        super().adopt(block)
        assert block.names is not None
        self.names = block.names

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        super().check_saved()
        places = list(self.names.values()) if isinstance(self.names, dict) else [None]
        require(places == list(range(len(places))), "names must have the places 0, 1, ...")
        require(self.width <= len(places), "each column must have a name")


@saved("rows/objects")
class ObjectStore(Store):
    """Anything, for kernels on objects."""

    def __init__(self) -> None:
        self._objects: list[Any] = []

    def parse(self, xs: Sequence[Any]) -> Block:
        return Block(list(xs), len(xs))

    def append(self, block: Block) -> None:
        del self._objects[self.n :]
        self._objects.extend(block.rows)
        self.n = len(self._objects)

    def drop(self, rows: int) -> None:
        del self._objects[:rows]
        self.n = len(self._objects)

    def rows_for(self, block: Block) -> Rows:
        return self._objects

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require(isinstance(self._objects, list) and self.n == len(self._objects), "there must be as many objects")


def store_like(block: Block) -> Store:
    """An empty store for such rows."""
    if block.names is not None:
        return DictStore()
    if isinstance(block.rows, MixedRows):
        return MixedStore(block.rows.dense.shape[1], block.rows.sparse.shape[1])
    if isinstance(block.rows, list):
        return ObjectStore()
    width = block.rows.shape[1]
    return SparseStore(width) if hasattr(block.rows, "tocsr") else DenseStore(width)

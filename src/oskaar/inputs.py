"""Inputs: rows as users write them, checked, stored, and compared by a kernel.

A round brings one row (or, for losses on parts, a block of rows). A row is a sequence of numbers, a scipy
sparse row, a dict of named numbers, or any object that the kernel takes. The first row fixes the kind;
`parse` only checks and converts, `append` alone changes the store.

Inputs with a schema read rows by it (`oskaar.schema`): named rows, frames, texts, times and gaps become numbers.
Blocks then hold the rows as they came too (`raw`), so that they can be read anew.
"""

from __future__ import annotations

import datetime as dt
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from oskaar.arrays import Array, Growing, Rows, require_growing
from oskaar.kernels import Kernel, as_kernel, diagonal, gram
from oskaar.requirements import shorten
from oskaar.rows import MixedRows, count, nbytes, pick, rows_between, widened
from oskaar.saved import require, require_count, require_kind, saved
from oskaar.schema import Schema
from oskaar.schema.cells import plain as plain_cell
from oskaar.schema.schema import require_names
from oskaar.schema.tables import (
    Columns,
    Records,
    Table,
    frame_names,
    is_frame,
    joined,
    mapping_of,
    of_frame,
    of_mappings,
    plain_column,
)


@saved("rows/block")
@dataclass(frozen=True)
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
            xs = [_sparse_row(x).toarray().ravel() if hasattr(x, "tocsr") else x for x in xs]
        if len(xs) == 0:
            return Block(np.zeros((0, self.width)), 0)
        rows = _numbers(xs, self.width)
        return Block(rows, len(rows))

    def fits(self, x: Any) -> bool:
        """Whether an array is a row that needs no conversion."""
        return x.shape == (self.width,) and x.dtype == np.float64 and bool(np.isfinite(x).all())

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
            xs = vstack([_sparse_row(x) for x in xs]) if len(xs) else csr_array((0, self.width))
        _require_real(xs)
        rows = csr_array(xs, dtype=float, copy=True)  # sums of duplicates are not written to the caller's
        if rows.shape[1] != self.width:
            raise ValueError(f"x must have {self.width} features, as the first row had, got {rows.shape[1]}.")
        rows.sum_duplicates()
        _require_finite(rows.data, lambda i: f"feature {rows.indices[i]}")
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
                name, number = _feature(key, value)
                if name not in names:
                    if self.closed:
                        continue
                    names = {**names, name: len(names)} if names is self.names else names
                    names.setdefault(name, len(names))
                data.append(number)
                indices.append(names[name])
            _require_different(indices[starts[-1] :], names)
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


@saved("rows/inputs")
class Inputs:
    """The rows seen so far and the kernel between them.

    keep: False remembers what rows look like, not the rows; compare: False for feature maps in place of kernels;
    names: all that dict rows may have.
    schema: how rows become numbers, for default kernels; None takes rows as they are.

    >>> from oskaar.kernels import Linear
    >>> inputs = Inputs(Linear())
    >>> inputs.append(inputs.parse([1.0, 2.0]))
    >>> block = inputs.parse([3.0, 4.0])
    >>> inputs.against(block), inputs.corner(block)
    (array([[11.]]), array([[25.]]))
    """

    def __init__(
        self,
        *kernels: Any,
        parts: bool = False,
        keep: bool = True,
        compare: bool = True,
        names: Sequence[Any] | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.kernels = list(kernels)
        self.parts, self.keep, self.compare, self.schema = parts, keep, compare, schema
        self.store: Store | None = None if names is None else DictStore(names)
        self.columns: list[Any] | None = None
        """The columns of the first frame, for rows that no schema reads."""

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.store.n if self.store else 0

    @property
    def width(self) -> int | None:
        """How many columns a row has; None before the first, and for dicts and objects."""
        if self.schema is not None and self.schema.rows:
            return None if self.schema.names == "open" else len(self.schema.columns)
        fixed = isinstance(self.store, (DenseStore, SparseStore)) and not isinstance(self.store, DictStore)
        return self.store.width if fixed else None  # type: ignore[union-attr]

    @property
    def columns_kept(self) -> int | None:
        """How many columns sparse and dict rows have so far; None for others."""
        return self.store.width if isinstance(self.store, SparseStore) else None

    def parse(self, x: Any) -> Block:
        """One round's rows."""
        if type(self.store) is DenseStore and not self.parts:
            rows = self._plain_row(x)
            if rows is not None:
                return rows
        return self._parse_round(self._rows_of(x))

    def _plain_row(self, x: Any) -> Block | None:
        """A row that is nothing but numbers, in an array or by name, without further ado; None for all others."""
        schema, store = self.schema, self.store
        assert isinstance(store, DenseStore)
        if type(x) is np.ndarray:
            if not store.fits(x) or not (schema is None or schema.simple):
                return None
            rows = x[None].copy()
            raw = Columns.of_matrix(rows) if schema is not None and not schema.settled else None
            return Block(rows, 1, None, raw, schema)
        numbers = schema.numbers(x) if type(x) is dict and schema is not None and schema.settled else None
        return None if numbers is None else Block(numbers, 1, schema=schema)

    def parse_to_keep(self, x: Any) -> tuple[Block, Any]:
        """One round's rows, and what `parse_kept` needs to parse them again later.

        The block itself will not do: by then other rows may have given its new columns other names. Numbers are
        copied, objects are not.

        >>> inputs = Inputs(None)
        >>> block, kept = inputs.parse_to_keep({"late": 1.0})
        >>> inputs.append(inputs.parse({"early": 1.0}))
        >>> inputs.parse_kept(kept).rows.toarray()
        array([[0., 1.]])
        """
        rows = self._rows_of(x)
        if self._reads(rows):
            table = self._table(rows)
            return self._read(table), table
        block = self._parse_round(rows)
        if block.names is not None:
            return block, [dict(row) for row in rows]
        return block, block.rows.copy()

    def parse_kept(self, kept: Any) -> Block:
        """The rows that `parse_to_keep` kept, as `parse` would have them now."""
        if not isinstance(kept, (Records, Columns)):
            return self._parse(kept)
        if self.store is not None and (self.schema is None or not self.schema.takes(kept)):
            raise TypeError("x must have names, or none, as the first row that was learned.")
        return self._read(kept)

    def parse_many(self, xs: Any) -> tuple[Block, np.ndarray[Any, np.dtype[np.intp]]]:
        """Many rounds' rows as one block, and where each round ends in it; `part` reads them by the schema."""
        if not self.parts:
            rows = self._many(xs)
            if isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype.kind in "biufc" and len(rows):
                raise ValueError(
                    f"xs must hold one row a round, got a flat array of {len(rows)} numbers. "
                    "Reshape your data: xs.reshape(-1, 1) if each number is a row."
                )
            if self._reads(rows):
                table = self._table(rows)
                return Block(table, table.n), np.arange(1, table.n + 1)
            return self._parse(rows), np.arange(1, _length(rows) + 1)
        blocks = [self._many(x) for x in xs]
        sizes = [_length(b) for b in blocks]
        if 0 in sizes:
            raise ValueError(f"round {sizes.index(0)} has no rows: a round of parts needs at least one.")
        if blocks and self._reads(blocks[0]):
            table = joined([self._table(b) for b in blocks])
            return Block(table, table.n), np.cumsum(sizes, dtype=np.intp)
        return self._parse(_joined(blocks)), np.cumsum(sizes, dtype=np.intp)

    def parse_each(self, xs: Any) -> tuple[Block, np.ndarray[Any, np.dtype[np.intp]]]:
        """As `parse_many`, for rounds each of which may come next: new names have the numbers of `parse`.

        >>> inputs = Inputs(None)
        >>> inputs.parse_each([{"a": 1.0}, {"b": 2.0}])[0].rows.toarray()
        array([[1.],
               [2.]])
        """
        rows = xs if self.parts else self._many(xs)
        block, ends = self.parse_many(rows)
        if not block.is_read:
            return self._read(block.rows), ends
        known = self.store.names if isinstance(self.store, DictStore) else {}
        if block.names is None or len(block.names) == len(known):
            return block, ends
        from scipy.sparse import csr_array, vstack

        rounds = [self.parse(x).rows for x in rows]
        widest = max(rounds, key=lambda X: X.shape[1])
        return Block(csr_array(vstack([widened(X, widest) for X in rounds])), block.n), ends

    def part(self, block: Block, lo: int, hi: int) -> Block:
        """Rows lo..hi-1 of a block, those before which were appended, without the names that only later rows have."""
        if not block.is_read:
            return self._read(block.rows.part(lo, hi))
        if block.raw is not None:
            return self._read(block.raw.part(lo, hi))
        if block.names is None:
            return block.part(lo, hi)
        known = self.store.names if isinstance(self.store, DictStore) else {}
        columns = block.rows.indices[block.rows.indptr[lo] : block.rows.indptr[hi]]
        width = max(len(known), 1 + int(columns.max(initial=-1)))
        names = known if width == len(known) else dict(islice(block.names.items(), width))
        return Block(rows_between(block.rows, lo, hi, width), hi - lo, names)

    def against(self, block: Block, which: int = 0) -> Array:
        """k(block, X), a row for each row of the block, by one of the kernels."""
        kernel = as_kernel(self.kernels[which], block.rows)
        if self.store is None or self.store.n == 0:
            return np.zeros((block.n, 0))
        return gram(kernel, block.rows, self.store.rows_for(block))

    def corner(self, block: Block, which: int = 0) -> Array:
        """k(block, block)."""
        if block.n == 1:
            return self.diagonal(block, which)[:, None]
        kernel = as_kernel(self.kernels[which], block.rows)
        return gram(kernel, block.rows, block.rows)

    def diagonal(self, block: Block, which: int = 0) -> Array:
        """k(x, x) of each row."""
        kernel = as_kernel(self.kernels[which], block.rows)
        return diagonal(kernel, block.rows)

    def chosen(self, block: Block) -> list[Any]:
        """The kernels once these rows are kept: functions are tried with the first ones, which may fail."""
        if self.store is not None or not self.compare:
            return self.kernels
        return [as_kernel(kernel, block.rows) for kernel in self.kernels]

    def append(self, block: Block) -> None:
        """Keep the rows of a block that `parse` made."""
        if self.store is None:
            self.kernels = self.chosen(block)
            self.store = _store_like(block)
            self.schema, self.columns = block.schema or self.schema, block.columns
        self.store.append(block) if self.keep else self.store.adopt(block)

    def joined(self, other: Inputs) -> Store | None:
        """The store for rows of both, where no rows are kept; ValueError where their columns differ."""
        mine, theirs = self.store, other.store
        if mine is None or theirs is None:
            return mine or theirs
        if type(mine) is not type(theirs):
            raise ValueError(f"rows must be of one kind, got {type(mine).__name__} and {type(theirs).__name__}.")
        if isinstance(mine, DictStore) and isinstance(theirs, DictStore):
            for i, names in enumerate(zip(mine.names, theirs.names, strict=False)):
                if names[0] != names[1]:
                    raise ValueError(f"dict rows must name column {i} alike, got {names[0]!r} and {names[1]!r}.")
            return max(mine, theirs, key=lambda store: len(store.names))
        if self.width != other.width:
            raise ValueError(f"rows must have the same number of columns, got {self.width} and {other.width}.")
        return mine

    def latest(self, rows: int, block: Block) -> Rows:
        """The last rows that are kept, in a shape that fits the block's."""
        return pick(self.store.rows_for(block), slice(-rows, None)) if self.store and self.n else None

    def size_of(self, block: Block) -> int:
        """An upper bound of the memory that storing a block takes: room is made for half as many rows again."""
        return nbytes(block.rows) * (block.n + self.n // 2) // max(block.n, 1) if self.keep else 0

    def forget(self, rows: int) -> None:
        """Drop the oldest rows."""
        if rows and self.store is not None:
            self.store.drop(rows)

    def _rows_of(self, x: Any) -> Any:
        return self._many(x) if self.parts else _one_row(x)

    def _many(self, xs: Any) -> Any:
        """A container of rows; the columns of a frame in the order of the first."""
        if isinstance(xs, _Framed):
            return xs
        if not is_frame(xs):
            return _sliceable(xs)
        return xs if self.schema is not None else _Framed(xs, self.columns)

    # ---------------------------------------------------------------- rows by a schema

    def _reads(self, rows: Any) -> bool:
        """Whether the schema reads such rows: none that are sparse from the first on, and no objects."""
        if self.schema is None:
            return False
        if self.store is not None:
            return self.schema.rows > 0
        if is_frame(rows):
            return True
        if hasattr(rows, "tocsr") or not len(rows):
            return False
        first = rows[0]
        return mapping_of(first) is not None or (isinstance(first, (list, tuple, np.ndarray)) and np.ndim(first) > 0)

    def _table(self, rows: Any) -> Table:
        """Rows as they came, checked."""
        schema = self.schema
        assert schema is not None
        if is_frame(rows):
            table = of_frame(rows)
            return (
                Columns(range(len(table.names)), table.columns, table.n, table.matrix)
                if schema.names == "places"
                else schema.aligned(table)
            )
        rows = _densified(rows)
        if schema.names in ("open", "closed") or (len(rows) and not schema.names and mapping_of(rows[0]) is not None):
            return of_mappings(_by_name(x, schema) for x in rows)
        return _placed(rows, schema)

    def _read(self, table: Table) -> Block:
        """Rows as the schema reads them; a schema that has read nothing reads these first."""
        assert self.schema is not None
        schema = self.schema if self.schema.rows or not table.n else self.schema.read(table)
        raw = None if schema.settled else table
        if schema.bag:
            store = self.store if isinstance(self.store, DictStore) else DictStore()
            records = [{name: cell for name, cell in row.items() if cell is not None} for row in table.records()]
            return replace(store.parse(records), raw=raw, schema=schema)
        return Block(schema.encode(table), table.n, None, raw, schema)

    def _parse_round(self, rows: Any) -> Block:
        block = self._parse(rows)
        if block.n == 0:
            raise ValueError("a round of parts must have at least one row, got none.")
        return block

    def _parse(self, xs: Any) -> Block:
        if self._reads(xs):
            return self._read(self._table(xs))
        if isinstance(xs, _Framed):
            return replace(self._parse(xs.matrix), columns=xs.columns)
        if self.store is not None:
            return self.store.parse(xs)
        if _length(xs) == 0:
            return Block(np.zeros((0, 0)), 0)
        return self._store_for(xs).parse(xs)

    def _store_for(self, xs: Any) -> Store:
        """An empty store of the kind that the first row asks for."""
        if any(getattr(kernel, "objects", False) for kernel in self.kernels):
            return ObjectStore()
        first = xs if hasattr(xs, "tocsr") else xs[0]
        if hasattr(first, "tocsr"):
            return SparseStore(first.shape[-1])
        if isinstance(first, dict):
            return DictStore()
        _require_real([first])
        if _not_numbers(first) and not any(isinstance(kernel, Kernel) for kernel in self.kernels):
            return ObjectStore()
        return DenseStore(_numbers([first]).shape[1])

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_kind(self.kernels, list, "kernels")
        require_kind(self.store, (Store, type(None)), "the store of rows")
        require_kind(self.schema, (Schema, type(None)), "the schema")
        require_kind(self.columns, (list, type(None)), "the columns of a frame")
        require(type(self.parts) is bool and type(self.keep) is bool, "parts and keep must be true or false")


class Compared:
    """Rows to come, and their kernel values with each other and with the rows that are kept, computed once each."""

    def __init__(self, inputs: Inputs, block: Block) -> None:
        self.inputs, self.block = inputs, block
        self._against: dict[int, Array] = {}
        self._corner: dict[int, Array] = {}

    def against(self, which: int) -> Array:
        """k(block, X) by one of the kernels."""
        if which not in self._against:
            self._against[which] = self.inputs.against(self.block, which)
        return self._against[which]

    def corner(self, which: int) -> Array:
        """k(block, block) by one of the kernels."""
        if which not in self._corner:
            self._corner[which] = self.inputs.corner(self.block, which)
        return self._corner[which]


def _store_like(block: Block) -> Store:
    """An empty store for such rows."""
    if block.names is not None:
        return DictStore()
    if isinstance(block.rows, MixedRows):
        return MixedStore(block.rows.dense.shape[1], block.rows.sparse.shape[1])
    if isinstance(block.rows, list):
        return ObjectStore()
    width = block.rows.shape[1]
    return SparseStore(width) if hasattr(block.rows, "tocsr") else DenseStore(width)


class _Framed:
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


def _densified(rows: Any) -> Any:
    """Rows of which none is sparse."""
    if hasattr(rows, "toarray"):
        return rows.toarray()
    if isinstance(rows, list):
        return [_sparse_row(x).toarray().ravel() if hasattr(x, "tocsr") else x for x in rows]
    return rows


def _by_name(x: Any, schema: Schema) -> Any:
    """A row as a mapping; one without names has its cells in the order of the columns."""
    row = mapping_of(x)
    if row is None:
        if not isinstance(x, (list, tuple, np.ndarray)) or np.ndim(x) != 1 or len(x) != len(schema.known):
            raise TypeError(
                f"x must be a row with names, as the first was, or of {len(schema.known)} cells, got {shorten(x)}."
            )
        return dict(zip(schema.known, x, strict=True))
    if schema.names == "closed":
        more = [name for name in row if name not in schema.known]
        if more:
            require_names(schema.known, [*schema.known, *more])
    return row


def _placed(rows: Any, schema: Schema) -> Columns:
    """Rows without names."""
    width = len(schema.known) if schema.rows else None
    if not schema.rows or schema.only_numbers:
        try:
            return Columns.of_matrix(_numbers(rows, width, gaps=True))
        except ValueError:
            first = rows[0] if len(rows) else None
            if schema.rows or (isinstance(rows, np.ndarray) and rows.ndim != 2) or not _has_texts(first):
                raise
    width = len(rows[0]) if width is None else width
    for row in rows:
        if not isinstance(row, (list, tuple, np.ndarray)) or len(row) != width:
            _numbers([row], width)
            raise ValueError(f"x must have {width} columns, as the first row had, got {shorten(row)}.")
    columns = [plain_column(j, [row[j] for row in rows]) for j in range(width)]
    return Columns(range(width), columns, len(rows))


def _has_texts(row: Any) -> bool:
    """Whether a row has cells that are not numbers, and are no rows themselves."""
    return isinstance(row, (list, tuple, np.ndarray)) and any(isinstance(v, _CELLS) for v in row)


def as_rounds(xs: Any) -> list[Any]:
    """A list of inputs, one for each round."""
    if is_frame(xs):
        return list(of_frame(xs).records())
    rows = _sliceable(xs)
    return [rows[[i], :] for i in range(rows.shape[0])] if hasattr(rows, "tocsr") else list(rows)


def _one_row(x: Any) -> Any:
    """A container of one row, out of a row in any form."""
    _require_unmasked(x)
    return _sparse_row(x) if hasattr(x, "tocsr") else [x]


def _sparse_row(x: Any) -> Any:
    from scipy.sparse import csr_array

    if hasattr(x, "tocsr") and x.ndim == 2:
        if x.shape[0] != 1:
            raise ValueError(f"a sparse x must be one row, got {x.shape[0]}: pass x[i:i+1].")
        return csr_array(x)
    return csr_array(x.toarray()[None, :] if hasattr(x, "toarray") else _numbers([x]))


def _sliceable(xs: Any) -> Any:
    if hasattr(xs, "tocsr"):
        return xs.tocsr()
    if isinstance(xs, np.ndarray):
        _require_unmasked(xs)
        return xs
    if isinstance(xs, list):
        for x in xs:
            _require_unmasked(x)
        return xs
    if hasattr(xs, "to_numpy"):  # a data frame
        return xs.to_numpy()
    if isinstance(xs, Iterable) and not isinstance(xs, (str, bytes, dict)):
        return _sliceable(list(xs))
    raise TypeError(f"xs must be a sequence of rows, got {type(xs).__name__}.")


def _length(xs: Any) -> int:
    return int(xs.shape[0]) if hasattr(xs, "tocsr") else len(xs)


def _joined(blocks: list[Any]) -> Any:
    if blocks and all(hasattr(b, "tocsr") for b in blocks):
        from scipy.sparse import vstack

        return vstack(blocks).tocsr()
    dense = all(isinstance(b, np.ndarray) and b.ndim == 2 for b in blocks)
    if blocks and dense and len({b.shape[1] for b in blocks}) == 1:
        return np.concatenate(blocks)
    return [row for b in blocks for row in (b.tocsr() if hasattr(b, "tocsr") else b)]


def _complex(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") == "c"


def _not_numbers(x: Any) -> bool:
    try:
        return isinstance(x, (str, bytes)) or _complex(x) or _floats(np.asarray(x)).ndim != 1
    except (TypeError, ValueError, OverflowError):
        return True


def _numbers(xs: Any, width: int | None = None, gaps: bool = False) -> Array:
    """An (n, width) array of finite numbers; gaps: or of NaN, which None and the like are too."""
    _require_real(xs)
    try:
        rows = _floats(np.array(xs, order="C"), gaps)
    except (TypeError, ValueError, OverflowError) as error:
        if len(xs) > 1:  # find the row to blame
            return np.concatenate([_numbers([x], width, gaps) for x in xs])
        raise ValueError(
            f"x must be a row of numbers, got {shorten(xs[0])}: "
            "a kernel on objects (kernels.Pairwise) takes anything, dict rows take text."
        ) from error
    if rows.ndim != 2:
        raise ValueError(f"x must be a row of numbers, got an array of {rows.ndim - 1} dimensions.")
    if width is not None and rows.shape[1] != width:
        raise ValueError(
            f"x must have {width} features, as the first row had, got {rows.shape[1]}: "
            "give every row the same features, or use dict rows."
        )
    bad = np.isinf(rows) if gaps else ~np.isfinite(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        at = f"feature {j}" + (f" of row {i}" if len(rows) > 1 else "")
        raise ValueError(f"x must be finite, got {rows[i, j]} in {at}: impute NaN and inf, or drop the round.")
    return rows


def _floats(rows: Any, gaps: bool = False) -> Array:
    """An array as float64; neither text that looks like numbers nor dates are numbers."""
    if gaps and rows.dtype.kind in "OU":
        cells = [np.nan if plain_cell(j, v) is None else v for j, v in enumerate(rows.ravel().tolist())]
        rows = np.array(cells, dtype=object).reshape(rows.shape) if None not in cells else rows
    if rows.dtype.kind == "O":
        wrong = next((v for v in rows.flat if isinstance(v, _NOT_NUMBERS)), None)
    else:
        wrong = None if rows.dtype.kind in "biuf" else rows.dtype
    if wrong is not None:
        raise TypeError(f"{wrong!r} is not a number")
    with np.errstate(over="ignore"):  # what is too large for float64 is inf, and is refused
        floats: Array = rows.astype(np.float64, copy=False)
    return floats


_CELLS = (str, dt.date, np.datetime64, bool, np.bool_, list, tuple, set, frozenset)
"""What a cell may be beside a number."""

_NOT_NUMBERS = (str, bytes, bytearray, complex, np.complexfloating, np.datetime64, np.timedelta64)
"""What float() may make a number of, and is none."""


def _feature(key: Any, value: Any) -> tuple[Any, float]:
    """The name and the number of a feature: text v of k is 1 in k=v, as scikit-learn's DictVectorizer has it."""
    if not isinstance(key, str):
        key = key.item() if isinstance(key, np.generic) else key
        if key != key:
            raise ValueError("the name of a feature must be equal to itself, got nan.")
    if isinstance(value, str):
        return (f"{key}={value}" if isinstance(key, str) else (key, "=", str(value))), 1.0
    try:
        number = float(value) if type(value) in (float, int, bool, np.float64) else _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"feature {key!r} must be a number or a text, got {shorten(value)}.") from error
    if not math.isfinite(number):
        raise ValueError(f"x must be finite, got {number} in feature {key!r}: impute NaN and inf, or drop the round.")
    return key, number


def _number(value: Any) -> float:
    """One number as float64."""
    if isinstance(value, _NOT_NUMBERS) or value is np.ma.masked or np.ndim(value):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def _require_different(columns: list[int], names: dict[Any, int]) -> None:
    """No two features of a row in one column."""
    if len(set(columns)) < len(columns):
        twice = next(name for name, column in names.items() if columns.count(column) > 1)
        raise ValueError(f"x has two features that are named {twice!r}: rename one of them.")


def _require_unmasked(x: Any) -> None:
    """No masked values: NumPy would take what is under the mask."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError("x must be complete, got masked values: impute them, or drop the round.")


def _require_real(xs: Any) -> None:
    """No complex rows: NumPy would drop their imaginary parts."""
    for rows in (xs, *xs) if isinstance(xs, list) else (xs,):
        if _complex(rows):
            raise ValueError(
                f"x must be real, got {rows.dtype}. Complex data not supported: give both parts as features."
            )


def _require_finite(data: Array, where: Callable[[int], str]) -> None:
    if not np.isfinite(data).all():
        i = int(np.flatnonzero(~np.isfinite(data))[0])
        raise ValueError(f"x must be finite, got {data[i]} in {where(i)}: impute NaN and inf, or drop the round.")

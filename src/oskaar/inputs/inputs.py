"""The rows so far, and the kernels that compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.inputs.block import Block
from oskaar.inputs.conversion import joined_rounds, length, matrix_of, not_numbers, one_row, require_real, sliceable
from oskaar.inputs.named_rows import Framed, by_name, placed, without_sparse
from oskaar.inputs.stores import DenseStore, DictStore, ObjectStore, SparseStore, Store, store_like
from oskaar.kernels import Kernel, as_kernel, diagonal, gram
from oskaar.kernels.base import gram_of_row
from oskaar.kernels.kept import KeptRows, Over
from oskaar.rows import nbytes, pick, rows_between, widened
from oskaar.saved import require, require_kind, saved
from oskaar.schema import Schema
from oskaar.schema.tables import (
    Columns,
    Records,
    Table,
    frame_length,
    is_frame,
    joined,
    mapping_of,
    of_frame,
    of_mappings,
)


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

    _kept: KeptRows | None = None
    """The rows as kernels on mapped rows see them; not part of the state."""
    _overs: dict[int, tuple[Kernel, Over]] = {}  # noqa: RUF012, never changed in place
    """Each of these kernels over them."""

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

    def parse(self, x: Any, last: Block | None = None) -> Block:
        """One round's rows; last: those of a round that was parsed before, which may be the same."""
        if type(self.store) is DenseStore and not self.parts:
            rows = self._plain_row(x, last)
            if rows is not None:
                return rows
        return self._parse_round(self._rows_of(x))

    def _plain_row(self, x: Any, last: Block | None = None) -> Block | None:
        """A row that is nothing but numbers, in an array or by name; None for all others."""
        schema, store = self.schema, self.store
        assert isinstance(store, DenseStore)
        if type(x) is list and set(map(type, x)) == {float}:
            x = np.array(x)
        if type(x) is np.ndarray:
            if not (schema is None or schema.simple):
                return None
            if last is not None and last.schema is schema and last.holds(x):
                return last
            if not store.fits(x):
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
        if type(x) is list and type(self.store) is DenseStore and not self.parts:
            found = self._plain_row(x)
            if found is not None and (self.schema is None or self.schema.names == "places"):
                return found, found.rows if self.schema is None else Columns.of_matrix(found.rows)
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
            return self._parse(rows), np.arange(1, length(rows) + 1)
        blocks = [self._many(x) for x in xs]
        sizes = [length(b) for b in blocks]
        if 0 in sizes:
            raise ValueError(f"round {sizes.index(0)} has no rows: a round of parts needs at least one.")
        if blocks and self._reads(blocks[0]):
            table = joined([self._table(b) for b in blocks])
            return Block(table, table.n), np.cumsum(sizes, dtype=np.intp)
        return self._parse(joined_rounds(blocks)), np.cumsum(sizes, dtype=np.intp)

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
        kernel, over = self._over(block, which)
        if self.store is None or self.store.n == 0:
            return np.zeros((block.n, 0))
        return gram(kernel, block.rows, self.store.rows_for(block), over.values)

    def row_against(self, block: Block, which: int) -> tuple[Array, Array]:
        """`against` and `corner` of one row."""
        kernel, over = self._over(block, which)
        if over.values is None or self.store is None or self.store.n == 0:
            return self.against(block, which), self.corner(block, which)
        K, d = gram_of_row(kernel, block.rows, self.store.rows_for(block), over)
        return K, d[:, None]

    def _over(self, block: Block, which: int) -> tuple[Kernel, Over]:
        """One of the kernels; where it maps rows, each that is kept is mapped once."""
        known = self._overs.get(which)
        if known is not None and known[0] is self.kernels[which]:
            return known
        kernel = as_kernel(self.kernels[which], block.rows)
        if not kernel.maps or type(self.store) is not DenseStore:
            return kernel, Over(None, None)
        self._kept = self._kept or KeptRows(partial(self.store.rows_for, Block(None, 0)))
        self._overs = {**self._overs, which: (kernel, kernel.over(self._kept))}
        return self._overs[which]

    def corner(self, block: Block, which: int = 0) -> Array:
        """k(block, block)."""
        if block.n == 1:
            return self.diagonal(block, which)[:, None]
        kernel = as_kernel(self.kernels[which], block.rows)
        return gram(kernel, block.rows, block.rows)

    def diagonal(self, block: Block, which: int = 0) -> Array:
        """k(x, x) of each row."""
        kernel, over = self._over(block, which)
        return diagonal(kernel, block.rows, over.diag)

    def chosen(self, block: Block) -> list[Any]:
        """The kernels once these rows are kept: functions are tried with the first ones, which may fail."""
        if self.store is not None or not self.compare:
            return self.kernels
        return [as_kernel(kernel, block.rows) for kernel in self.kernels]

    def append(self, block: Block) -> None:
        """Keep the rows of a block that `parse` made."""
        if self.store is None:
            self.kernels = self.chosen(block)
            self.store = store_like(block)
            self.schema, self.columns = block.schema, block.columns  # no schema for rows that are taken as they are
        if not self.keep:
            self.store.adopt(block)
            return
        self.store.append(block)
        if self._kept is not None:
            self._kept.append(block.rows)

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
            if self._kept is not None:
                self._kept.drop(rows)

    def _rows_of(self, x: Any) -> Any:
        if self.parts or not is_frame(x):
            return self._many(x) if self.parts else one_row(x)
        frame = self._many(x)
        if frame_length(x) != 1:
            raise ValueError(
                f"x must be one row, got a frame of {frame_length(x)}: many go to predict, fit or replay."
            )
        return frame

    def _many(self, xs: Any) -> Any:
        """A container of rows; the columns of a frame in the order of the first."""
        if isinstance(xs, Framed):
            return xs
        if not is_frame(xs):
            return sliceable(xs)
        return xs if self.schema is not None else Framed(xs, self.columns)

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
        if isinstance(first, np.ndarray):
            return first.ndim > 0
        return isinstance(first, (list, tuple)) or mapping_of(first) is not None

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
        rows = without_sparse(rows)
        if schema.names in ("open", "closed") or (len(rows) and not schema.names and mapping_of(rows[0]) is not None):
            return of_mappings(by_name(x, schema) for x in rows)
        return placed(rows, schema)

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
        if isinstance(xs, Framed):
            return replace(self._parse(xs.matrix), columns=xs.columns)
        if self.store is not None:
            return self.store.parse(xs)
        if length(xs) == 0:
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
        require_real([first])
        if not_numbers(first) and not any(isinstance(kernel, Kernel) for kernel in self.kernels):
            return ObjectStore()
        return DenseStore(matrix_of([first]).shape[1])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_kept", "_overs")}

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
            if self.block.n == 1:
                self._against[which], self._corner[which] = self.inputs.row_against(self.block, which)
            else:
                self._against[which] = self.inputs.against(self.block, which)
        return self._against[which]

    def corner(self, which: int) -> Array:
        """k(block, block) by one of the kernels."""
        if which not in self._corner:
            self._corner[which] = self.inputs.corner(self.block, which)
        return self._corner[which]

    def diagonal(self, which: int) -> Array:
        """k(x, x) of each row of the block by one of the kernels."""
        return self.inputs.diagonal(self.block, which)

    def row(self, i: int) -> Compared:
        """One of the rows."""
        return Compared(self.inputs, self.block.part(i, i + 1))

"""Inputs: rows as users write them, checked, stored, and compared by a kernel.

A round brings one row (or, for losses on parts, a block of rows). A row is a sequence of numbers, a scipy
sparse row, a dict of named numbers, or any object that the kernel takes. The first row fixes the kind;
`parse` only checks and converts, `append` alone changes the store.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from oskaar.arrays import Array, Growing, Rows, require_growing
from oskaar.kernels import Kernel, as_kernel, diagonal, gram
from oskaar.requirements import shorten
from oskaar.rows import nbytes, pick, rows_between, widened
from oskaar.saved import require, require_count, require_kind, saved


@dataclass(frozen=True)
class Block:
    """n checked rows; `names` are the columns of dict rows, with those that these rows add."""

    rows: Rows
    n: int
    names: dict[Any, int] | None = None

    def part(self, lo: int, hi: int) -> Block:
        """Rows lo..hi-1."""
        return Block(self.rows[lo:hi], hi - lo, self.names)

    def fingerprint(self) -> Any:
        """Equal for equal rows; None where equality is not defined."""
        if isinstance(self.rows, np.ndarray):
            return self.rows.shape, self.rows.tobytes()
        if isinstance(self.rows, list):
            plain = all(isinstance(x, (str, bytes, int, float)) for x in self.rows)
            return tuple((type(x), repr(x)) for x in self.rows) if plain else None  # 1, 1.0 and True are equal
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
    ) -> None:
        self.kernels = list(kernels)
        self.parts, self.keep, self.compare = parts, keep, compare
        self.store: Store | None = None if names is None else DictStore(names)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.store.n if self.store else 0

    @property
    def width(self) -> int | None:
        """How many numbers a row has; None before the first, and for dicts and objects."""
        fixed = isinstance(self.store, (DenseStore, SparseStore)) and not isinstance(self.store, DictStore)
        return self.store.width if fixed else None  # type: ignore[union-attr]

    def parse(self, x: Any) -> Block:
        """One round's rows."""
        if type(x) is np.ndarray and type(self.store) is DenseStore and not self.parts and self.store.fits(x):
            return Block(x[None].copy(), 1)
        return self._parse_round(self._rows_of(x))

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
        block = self._parse_round(rows)
        if block.names is not None:
            return block, [dict(row) for row in rows]
        return block, block.rows.copy()

    def parse_kept(self, kept: Any) -> Block:
        """The rows that `parse_to_keep` kept, as `parse` would have them now."""
        return self._parse(kept)

    def parse_many(self, xs: Any) -> tuple[Block, np.ndarray[Any, np.dtype[np.intp]]]:
        """Many rounds' rows as one block, and where each round ends in it."""
        if not self.parts:
            rows = _sliceable(xs)
            if isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype.kind in "biufc" and len(rows):
                raise ValueError(
                    f"xs must hold one row a round, got a flat array of {len(rows)} numbers. "
                    "Reshape your data: xs.reshape(-1, 1) if each number is a row."
                )
            return self._parse(rows), np.arange(1, _length(rows) + 1)
        blocks = [_sliceable(x) for x in xs]
        sizes = [_length(b) for b in blocks]
        if 0 in sizes:
            raise ValueError(f"round {sizes.index(0)} has no rows: a round of parts needs at least one.")
        return self._parse(_joined(blocks)), np.cumsum(sizes, dtype=np.intp)

    def parse_each(self, xs: Any) -> tuple[Block, np.ndarray[Any, np.dtype[np.intp]]]:
        """As `parse_many`, for rounds each of which may come next: new names have the numbers of `parse`.

        >>> inputs = Inputs(None)
        >>> inputs.parse_each([{"a": 1.0}, {"b": 2.0}])[0].rows.toarray()
        array([[1.],
               [2.]])
        """
        rows = _sliceable(xs)
        block, ends = self.parse_many(rows)
        known = self.store.names if isinstance(self.store, DictStore) else {}
        if block.names is None or len(block.names) == len(known):
            return block, ends
        from scipy.sparse import csr_array, vstack

        rounds = [self.parse(x).rows for x in rows]
        widest = max(rounds, key=lambda X: X.shape[1])
        return Block(csr_array(vstack([widened(X, widest) for X in rounds])), block.n), ends

    def part(self, block: Block, lo: int, hi: int) -> Block:
        """Rows lo..hi-1 of a block, those before which were appended, without the names that only later rows have."""
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
        """The memory that storing a block takes."""
        return nbytes(block.rows) if self.keep else 0

    def forget(self, rows: int) -> None:
        """Drop the oldest rows."""
        if rows and self.store is not None:
            self.store.drop(rows)

    def _rows_of(self, x: Any) -> Any:
        return _sliceable(x) if self.parts else _one_row(x)

    def _parse_round(self, rows: Any) -> Block:
        block = self._parse(rows)
        if block.n == 0:
            raise ValueError("a round of parts must have at least one row, got none.")
        return block

    def _parse(self, xs: Any) -> Block:
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
    if isinstance(block.rows, list):
        return ObjectStore()
    width = block.rows.shape[1]
    return SparseStore(width) if hasattr(block.rows, "tocsr") else DenseStore(width)


def as_rounds(xs: Any) -> list[Any]:
    """A list of inputs, one for each round."""
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


def _numbers(xs: Any, width: int | None = None) -> Array:
    """An (n, width) array of finite numbers."""
    _require_real(xs)
    try:
        rows = _floats(np.array(xs, order="C"))
    except (TypeError, ValueError, OverflowError) as error:
        if len(xs) > 1:  # find the row to blame
            return np.concatenate([_numbers([x], width) for x in xs])
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
    if not np.isfinite(rows).all():
        i, j = np.argwhere(~np.isfinite(rows))[0]
        at = f"feature {j}" + (f" of row {i}" if len(rows) > 1 else "")
        raise ValueError(f"x must be finite, got {rows[i, j]} in {at}: impute NaN and inf, or drop the round.")
    return rows


def _floats(rows: Any) -> Array:
    """An array as float64; neither text that looks like numbers nor dates are numbers."""
    if rows.dtype.kind == "O":
        wrong = next((v for v in rows.flat if isinstance(v, _NOT_NUMBERS)), None)
    else:
        wrong = None if rows.dtype.kind in "biuf" else rows.dtype
    if wrong is not None:
        raise TypeError(f"{wrong!r} is not a number")
    with np.errstate(over="ignore"):  # what is too large for float64 is inf, and is refused
        floats: Array = rows.astype(np.float64, copy=False)
    return floats


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

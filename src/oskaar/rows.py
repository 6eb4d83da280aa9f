"""Operations on rows of any kind: dense, sparse, both, or a list of objects."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.saved import require, saved


@saved("rows/dense-and-sparse")
@dataclass(frozen=True, eq=False)
class MixedRows:
    """n rows, each of numbers and of sparse entries: a dense and a sparse part."""

    dense: Array
    sparse: Any

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows, and of all columns."""
        return len(self.dense), self.dense.shape[1] + int(self.sparse.shape[1])

    def __len__(self) -> int:
        return len(self.dense)

    def __getitem__(self, which: Any) -> MixedRows:
        return MixedRows(self.dense[which], self.sparse[which])

    def copy(self) -> MixedRows:
        """The same numbers in memory of their own."""
        return MixedRows(self.dense.copy(), self.sparse.copy())

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return int(self.dense.nbytes) + nbytes(self.sparse)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require(isinstance(self.dense, np.ndarray) and self.dense.dtype == np.float64, "numbers of mixed rows")
        require(self.dense.ndim == 2 and is_sparse(self.sparse), "mixed rows have two parts")
        require(len(self.dense) == self.sparse.shape[0], "as many rows in both parts")


def dense_part(X: Rows) -> Rows:
    """The numbers of mixed rows; other rows as they are."""
    return X.dense if isinstance(X, MixedRows) else X


def sparse_part(X: Rows) -> Rows:
    """The sparse entries of mixed rows; other rows as they are."""
    return X.sparse if isinstance(X, MixedRows) else X


def is_sparse(X: Rows) -> bool:
    """Whether the rows are a scipy sparse matrix."""
    return hasattr(X, "tocsr")


def count(X: Rows) -> int:
    """How many rows there are.

    >>> count([["a"], ["b"]]), count(np.zeros((3, 2)))
    (2, 3)
    """
    if type(X) is np.ndarray:
        return len(X)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def pick(X: Rows, which: Any) -> Rows:
    """Some of the rows: a slice, or a list of places.

    >>> pick(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if isinstance(X, list):
        return X[which] if isinstance(which, slice) else [X[i] for i in which]
    return X[which]


def joined(*parts: Rows) -> Rows:
    """The rows of all parts, one after the other; later ones may have more columns, where rows are sparse.

    >>> joined(np.eye(2)[:1], np.eye(2)[1:], np.zeros((1, 2))).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    first: Any = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, list):
        return [x for part in parts for x in part]
    if isinstance(first, MixedRows):
        mixed: Any = parts
        return MixedRows(joined(*(part.dense for part in mixed)), joined(*(part.sparse for part in mixed)))
    if is_sparse(first):
        return _joined_sparse(parts)
    return np.concatenate(parts)


def _joined_sparse(parts: Any) -> Any:
    from scipy.sparse import csr_array

    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    data, indices = (np.concatenate([getattr(part, name) for part in parts]) for name in ("data", "indices"))
    shape = len(sizes), max(part.shape[1] for part in parts)
    return csr_array((data, indices, np.append(0, np.cumsum(sizes))), shape=shape)


def widened(X: Rows, Y: Rows) -> Rows:
    """X with empty columns for those that only Y has: sparse rows of dicts whose names came later."""
    if not is_sparse(X) or X.shape[1] >= Y.shape[1]:
        return X
    from scipy.sparse import csr_array

    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], Y.shape[1]))


def rows_between(X: Any, lo: int, hi: int, columns: int) -> Any:
    """Rows lo..hi-1 of a CSR array with so many columns: none that is left out has anything in these rows."""
    from scipy.sparse import csr_array

    first, last = X.indptr[lo], X.indptr[hi]
    parts = X.data[first:last], X.indices[first:last], X.indptr[lo : hi + 1] - first
    return csr_array(parts, shape=(hi - lo, columns))


def nbytes(X: Rows) -> int:
    """The memory that rows take; for objects, an estimate that does not follow references."""
    if isinstance(X, list):
        return sum(sys.getsizeof(x) for x in X)
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def squared_norms(X: Rows) -> Array:
    """|x|^2 of each row."""
    if not is_sparse(X):
        squares: Array = np.einsum("ij,ij->i", X, X)
        return squares
    X = X.tocsr()
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    with np.errstate(over="ignore", under="ignore"):
        return np.bincount(rows, weights=X.data**2, minlength=X.shape[0]).astype(float, copy=False)


MOST_SCATTERED = 2**22
"""Numbers that `sparse_inner` lays out; larger products are scipy's."""


def sparse_inner(X: Any, Y: Any) -> Array:
    """<x, y> for each pair of sparse rows. Equivalent to (X @ Y.T).toarray(), which takes time for every column.

    The columns of the rows with fewer entries are laid out; the entries of the others in none of them meet zeros.
    """
    from scipy.sparse import csr_array

    if X.nnz > Y.nnz:
        return sparse_inner(Y, X).T
    X, Y = X.tocsr(), Y.tocsr()
    n, used = X.shape[0], np.unique(X.indices)
    if X.shape[1] != Y.shape[1] or n * len(used) > MOST_SCATTERED:
        product: Array = (X @ Y.T).toarray()
        return product
    scattered = np.zeros((len(used) + 1, n))
    np.add.at(scattered, (np.searchsorted(used, X.indices), np.repeat(np.arange(n), np.diff(X.indptr))), X.data)
    places = np.searchsorted(used, Y.indices)
    places[np.append(used, -1)[places] != Y.indices] = len(used)
    inner: Array = csr_array((Y.data, places, Y.indptr), shape=(Y.shape[0], len(used) + 1)) @ scattered
    return inner.T


def with_norms(X: Rows) -> tuple[Rows, Array]:
    """The rows and their norms; those whose squares would overflow or vanish are divided by their largest number.

    So x / |x| is what it should be, for every row that is not 0.

    >>> with_norms(np.array([[3e200, 4e200], [3.0, 4.0], [0.0, 0.0]]))
    (array([[0.75, 1.  ],
           [3.  , 4.  ],
           [0.  , 0.  ]]), array([1.25, 5.  , 0.  ]))
    """
    squares = squared_norms(X)
    if ((squares > 1e-280) & (squares < 1e280)).all():
        return X, np.sqrt(squares)
    sizes = largest(X)
    X = divided(X, np.where(((squares > 1e-280) & (squares < 1e280)) | (sizes == 0), 1.0, sizes))
    return X, np.sqrt(squared_norms(X))


def largest(X: Rows) -> Array:
    """The largest |x_j| of each row."""
    sizes: Array = abs(X).max(axis=1).toarray().ravel() if is_sparse(X) else np.abs(X).max(axis=1, initial=0.0)
    return sizes


def divided(X: Rows, divisors: Array) -> Rows:
    """Each row divided by its own number."""
    if not is_sparse(X):
        return X / divisors[:, None]
    from scipy.sparse import csr_array

    X = X.tocsr()
    return csr_array((X.data / np.repeat(divisors, np.diff(X.indptr)), X.indices, X.indptr), shape=X.shape)

"""Rows of any kind, dense, sparse or a list of objects, handled alike."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from oskaar.arrays import Rows


def is_sparse(X: Rows) -> bool:
    """Whether the rows are a scipy sparse matrix."""
    return hasattr(X, "tocsr")


def count(X: Rows) -> int:
    """How many rows there are.

    >>> count([["a"], ["b"]]), count(np.zeros((3, 2)))
    (2, 3)
    """
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def pick(X: Rows, which: Any) -> Rows:
    """Some of the rows: a slice, or a list of places.

    >>> pick(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if isinstance(X, list):
        return X[which] if isinstance(which, slice) else [X[i] for i in which]
    return X[which]


def joined(X: Rows, Y: Rows) -> Rows:
    """The rows of X, then those of Y, which may have more columns."""
    if isinstance(X, list):
        return [*X, *Y]
    if is_sparse(X):
        from scipy.sparse import csr_array, vstack

        return csr_array(vstack([widened(X, Y), Y]))
    return np.concatenate([X, Y])


def widened(X: Rows, Y: Rows) -> Rows:
    """X with empty columns for those that only Y has: sparse rows of dicts whose names came later."""
    if not is_sparse(X) or X.shape[1] >= Y.shape[1]:
        return X
    from scipy.sparse import csr_array

    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], Y.shape[1]))


def nbytes(X: Rows) -> int:
    """The memory that rows take; for objects, an estimate that does not follow references."""
    if isinstance(X, list):
        return sum(sys.getsizeof(x) for x in X)
    if is_sparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)

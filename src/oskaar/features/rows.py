"""Rows and settings as feature maps take them: checked, with errors that say what must hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.rows import divided, is_sparse, with_norms

LARGEST = 1e150
"""Numbers in rows are at most this large, so that no square or product overflows."""


def as_matrix(X: Rows, name: str) -> Any:
    """An (n, d) float array or a CSR array without duplicates, both of finite numbers; `name` is the map's.

    >>> as_matrix(np.array([[1, 2]]), "Linear")
    array([[1., 2.]])
    """
    if is_sparse(X):
        rows = _csr(X)
        _require_numbers(rows.data, lambda i: f"column {rows.indices[i]}")
        return rows
    if not isinstance(X, np.ndarray):
        raise TypeError(
            f"features.{name} takes an (n, d) array or scipy sparse rows, got a {type(X).__name__}: "
            "for objects use features.Nystrom with a kernel on objects."
        )
    if X.ndim != 2:
        raise ValueError(f"features.{name} takes an (n, d) array of rows, got {X.ndim} dimensions: use x[None, :].")
    rows = np.asarray(X, dtype=float)
    _require_numbers(rows.ravel(), lambda i: f"row {i // rows.shape[1]}, column {i % rows.shape[1]}")
    return rows


def require_width(X: Any, width: int | None, name: str) -> None:
    """Dense rows have exactly the width, sparse and dict rows at most."""
    if width is None or X.shape[1] == width or (is_sparse(X) and X.shape[1] < width):
        return
    cure = (
        "declare a larger width, or use features.Hashing, which takes any number of columns into a fixed dim."
        if is_sparse(X)
        else "give every row the same columns, or use dict rows."
    )
    most = "at most " if is_sparse(X) else ""
    raise ValueError(f"features.{name} takes rows of {most}{width} columns, got {X.shape[1]}: {cure}")


def to_dense(X: Any, width: int) -> Array:
    """The rows as a dense array of that width; columns that they lack are 0."""
    if not is_sparse(X):
        rows: Array = X
        return rows
    from scipy.sparse import csr_array

    dense: Array = csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)).toarray()
    return dense


def unit_rows(X: Any) -> Any:
    """Each row divided by its norm; a row of zeros stays."""
    X, norms = with_norms(X)
    return divided(X, np.where(norms > 0, norms, 1.0))


def _csr(X: Any) -> Any:
    from scipy.sparse import csr_array

    rows = X if isinstance(X, csr_array) and X.dtype == np.float64 else csr_array(X, dtype=float)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _require_numbers(values: Array, where: Any) -> None:
    good = np.abs(values) <= LARGEST  # False for NaN as well
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(
            f"x must be finite and at most {LARGEST:g} in size, got {values[i]} in {where(i)}: "
            "impute it, rescale it or drop the round."
        )

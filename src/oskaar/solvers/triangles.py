"""Triangular factors of positive definite matrices, and what they are divided by."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk, dtrmm, dtrsm
from scipy.linalg.lapack import dpotrf

from oskaar.arrays import Array


def factor(A: Array, lam: float = 0.0) -> Array:
    """F lower triangular with F F^T = A + lam I, for a matrix whose least eigenvalue is then at least lam.

    Where lam is below the rounding of A, the least that float64 can tell is added: the same matrix to its digits.

    >>> factor(np.array([[3.0]]), lam=1.0)
    array([[2.]])
    """
    for more in (0.0, len(A) * np.finfo(float).eps):
        F = np.array(A, order="C")
        np.einsum("ii->i", F)[:] += lam + more * float(np.trace(A))
        R, failed = dpotrf(F.T, lower=0, overwrite_a=1) if len(A) else (F, 0)  # columns for LAPACK
        if not failed:
            lower: Array = R.T
            return lower
    raise LinAlgError("the Gram matrix of the features is not finite")


def whitened(F: Array, Z: Array) -> Array:
    """Z F^-T for F lower triangular and rows Z: one triangular solve for all rows.

    >>> whitened(np.array([[2.0]]), np.array([[3.0], [4.0]]))
    array([[1.5],
           [2. ]])
    """
    if not Z.size:
        return np.zeros(Z.shape)
    U: Array = dtrsm(1.0, F.T, Z.T, lower=0, trans_a=1).T  # columns for BLAS: both transposed
    return U


def divide(F: Array, C: Array) -> None:
    """C <- F^-1 C, for F lower triangular: in place if C has contiguous rows.

    >>> C = np.array([[3.0, 4.0]])
    >>> divide(np.array([[2.0]]), C)
    >>> C
    array([[1.5, 2. ]])
    """
    if not C.size:
        return
    columns = C.T  # for BLAS: both transposed, C^T <- C^T F^-T
    if F.flags.f_contiguous:
        X = dtrsm(1.0, F, columns, side=1, lower=1, trans_a=1, overwrite_b=1)
    else:
        X = dtrsm(1.0, F.T, columns, side=1, lower=0, overwrite_b=1)
    if X is not columns:
        C[:] = X.T


def times_below(F: Array, C: Array) -> Array:
    """Sums over j < i of F_ij C_j, for F in Fortran order: row i of C plays no part in row i, not even by rounding.

    >>> times_below(np.array([[2.0, 9.0], [3.0, 2.0]], order="F"), np.array([[1.0], [5.0]]))
    array([[0.],
           [3.]])
    """
    if not C.size:
        return np.zeros(C.shape)
    diagonal = F.reshape(-1, order="F")[:: len(F) + 1]
    kept = diagonal.copy()
    diagonal[:] = 0.0
    sums: Array = dtrmm(1.0, F, C.T, side=1, lower=1, trans_a=1).T  # columns for BLAS: both transposed
    diagonal[:] = kept
    return sums


def root(U: Array, W: Array) -> Array:
    """R lower triangular with R R^T = I + U U^T - W W^T, whose eigenvalues are at least 1, up to rounding."""
    try:
        return unit_root(_difference(U, W))
    except LinAlgError:
        return unit_root(_difference(U, W), len(U) * np.finfo(float).eps * float(np.einsum("ij,ij->", U, U)))


def unit_root(S: Array, more: float = 0.0) -> Array:
    """R lower triangular with R R^T = (1 + more) I + S; S has Fortran order, a lower triangle, and is written over.

    Above the diagonal S stays as it is.

    >>> unit_root(np.array([[3.0]]))
    array([[2.]])
    """
    S.reshape(-1, order="A")[:: len(S) + 1] += 1.0 + more
    R, failed = dpotrf(S, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise LinAlgError("the features are not finite")
    lower: Array = R
    return lower


def _difference(U: Array, W: Array) -> Array:
    """U U^T - W W^T, its lower triangle only, with zeros above, in Fortran order."""
    S: Array = dsyrk(1.0, U.T, trans=1, lower=1) if U.size else np.zeros((len(U), len(U)), order="F")
    if W.size:
        S = dsyrk(-1.0, W.T, 1.0, S, trans=1, lower=1, overwrite_c=1)
    return S

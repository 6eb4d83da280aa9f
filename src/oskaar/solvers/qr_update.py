r"""Rows appended to a triangular factor by Householder reflections, a few columns at a time.

For R upper triangular, right sides X, and rows [Z, Y] that are appended,

    Q^T [R  X]   [R'  X']
        [Z  Y] = [0   * ],    R'^T R' = R^T R + Z^T Z,   R'^T X' = R^T X + Z^T Y                      (1)

Reflections change R by a few roundings of its own columns and are never inverted, so that (1) may go on for ever.
Column by column the reflections leave rows of R behind that are final, so that the work can be divided at will.
Equivalent to numpy.linalg.qr of the whole, up to the signs of rows.
"""

from __future__ import annotations

from itertools import chain
from math import sqrt

import numpy as np
from scipy.linalg.lapack import dtpmqrt, dtpqrt

from oskaar.arrays import Array, spans
from oskaar.saved import require, require_count, require_floats, saved

BLOCK = 16
"""How many reflections LAPACK applies at a time."""


@saved("factor/qr-update")
class QRUpdate:
    """Right sides X (D, q) and rows [Z, Y] (n, D + q) on the way to `updated`, [R', X'] in Fortran order.

    What is done is kept in blocks of rows from their diagonal on: half the memory of the whole, none of it new pages.

    >>> update = QRUpdate(np.array([[6.0]]), np.array([[4.0, 13.0]]))
    >>> update.advance(np.array([[3.0]]), 1)
    >>> update.done, np.abs(update.updated)
    (1, array([[ 5., 14.]]))
    """

    def __init__(self, X: Array, rows: Array) -> None:
        self.X, self.rows = X, rows  # of which the columns that are done are dropped
        self.blocks: list[tuple[Array, Array]] = []  # rows of R' that are done, of which the triangle is by itself
        self.V = np.zeros((len(rows), len(X)), order="F")  # the reflections, and how they go together
        self.T = np.zeros((min(BLOCK, len(X)), len(X)), order="F")
        self.done = 0

    @property
    def nbytes(self) -> int:
        """The memory that is held."""
        return sum(part.nbytes for part in (self.X, self.rows, self.V, self.T, *chain(*self.blocks)))

    @property
    def updated(self) -> Array:
        """[R', X'] once all columns are done."""
        S = np.zeros((len(self.X), len(self.X) + self.X.shape[1]), order="F")
        self.write(S)
        return S

    def write(self, S: Array) -> None:
        """Put [R', X'] in the place of [R, X], what is done of it."""
        j = 0
        for left, right in self.blocks:
            k = j + len(left)
            S[j:k, j:k], S[j:k, k:], j = left, right, k

    def advance(self, R: Array, columns: int) -> None:
        """Append so many more columns of the rows, in whole blocks, to R, which is the same each time."""
        j, D = self.done, len(R)
        k = min(j + -(-columns // BLOCK) * BLOCK, D)
        if j == k:
            return
        right = np.empty((k - j, D - k + self.X.shape[1]), order="F")
        right[:, : D - k], right[:, D - k :] = R[j:k, k:], self.X[j:k]
        left, V, T, _ = dtpqrt(0, min(BLOCK, k - j), R[j:k, j:k], self.rows[:, : k - j])
        rest = self.rows[:, k - j :]
        if rest.size:
            right, rest, _ = dtpmqrt(0, V, T, right, rest, side="L", trans="T", overwrite_a=1)
        self.blocks.append((left, right))
        self.rows = rest
        self.V[:, j:k], self.T[: len(T), j:k] = V, T
        self.done = k

    def whitened(self, U: Array) -> Array:
        """Z R'^-1 for rows U = Z R^-1, once R' is complete: (1) with the right side U^T and rows 0."""
        if not U.size:
            return U
        X, _, _ = dtpmqrt(0, self.V, self.T, U.T, np.zeros((len(self.V), len(U)), order="F"), side="L", trans="T")
        whitened: Array = X.T
        return whitened

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_floats(self.X, self.rows, self.V, self.T, *chain(*self.blocks))
        D, q = self.X.shape
        done = require_count(self.done, "columns")
        ends = np.cumsum([len(left) for left, _ in self.blocks], dtype=int).tolist()
        require(ends[-1:] == [done] * bool(done) and done <= D, "blocks must be what is done")
        for (j, k), (left, right) in zip(spans(ends), self.blocks, strict=True):
            require(left.shape == (k - j, k - j) and right.shape == (k - j, D + q - k), "blocks must fit")
        require(self.rows.shape == (len(self.V), D + q - done) and self.V.shape[1] == D, "rows must fit")
        require(self.T.shape == (min(BLOCK, D), D), "reflections must fit")


def bordered(S: Array, D: int, p: int, lam: float) -> Array:
    """S = [R, X, Y] with D features and p columns in X and in Y, in Fortran order, a copy.

    R goes on with sqrt(lam) I, X and Y with zeros: the features were 0 before.

    >>> bordered(np.array([[3.0, 6.0, 7.0]]), 2, 2, lam=4.0)
    array([[3., 0., 6., 0., 7., 0.],
           [0., 2., 0., 0., 0., 0.]])
    """
    d = len(S)
    q = (S.shape[1] - d) // 2
    grown = np.zeros((D, D + 2 * p), order="F")
    grown[:d, :d], grown[:d, D : D + q], grown[:d, D + p : D + p + q] = S[:, :d], S[:, d : d + q], S[:, d + q :]
    new = np.arange(d, D)
    grown[new, new] = sqrt(lam)
    return grown

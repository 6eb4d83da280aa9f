r"""KAAR restarted at some of the most recent rows, from these rows alone.

With the newest row first, a restart has the first rows, and the Cholesky factor of the first rows is a part of the
factor of all of them. So one factor serves every restart: with K + lam I = L L^T and, for rows to come,
W = L^-1 k(X, x), D = k(x, x), the restart that has seen the last n rows has

    R R^T = lam I + D - sum_{j<n} W_j^T W_j,    M = sum_{j<n} W_j^T C_j,    C = L^-1 H                  (1)

and then goes on as `solvers.chunks` does. No factor is kept: for a hundred rows a new one costs less than keeping
an old one up to date. Equivalent to tests/naive.py::kaar for each restart.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from oskaar.arrays import Array, fit_columns
from oskaar.saved import require, require_floats, saved
from oskaar.solvers.chunks import tiles
from oskaar.solvers.exact import conditional_root
from oskaar.solvers.rounding import LEAST
from oskaar.solvers.triangles import divide, factor

ALMOST = 1 - 1e-10
"""How much of lam a conditional variance may be by rounding."""


@saved("solver/recent-rows")
class RecentRows:
    """The last n rows: their kernel values K (n, n), targets H (n, p), and features Z (n, D), if there are some."""

    def __init__(self) -> None:
        self.K, self.H, self.Z = np.zeros((3, 0, 0))

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.K)

    @property
    def nbytes(self) -> int:
        """The memory that is held."""
        return self.K.nbytes + self.H.nbytes + self.Z.nbytes

    def extended(self, B: Array, D: Array, H: Array, Z: Array) -> RecentRows:
        """With m more rows: B = k(X, x) (n, m), D = k(x, x) (m, m); targets and features may have more columns."""
        new, n, m = RecentRows(), self.n, len(D)
        new.K = np.empty((n + m, n + m))
        new.K[:n, :n], new.K[:n, n:], new.K[n:, :n], new.K[n:, n:] = self.K, B, B.T, D
        p = max(self.H.shape[1], H.shape[1])
        new.H = np.concatenate([fit_columns(self.H, p), fit_columns(H, p)])
        new.Z = np.concatenate([fit_columns(self.Z, Z.shape[1]), Z])
        return new

    def latest(self, n: int) -> RecentRows:
        """The last n rows alone."""
        new, first = RecentRows(), self.n - n
        new.K, new.H, new.Z = self.K[first:, first:].copy(), self.H[first:].copy(), self.Z[first:].copy()
        return new

    def forecast(self, B: Array, D: Array, counts: Any, lam: float) -> Array:
        """(S, m, p): the estimates, for m rows, of restarts that have the last `counts` rows, fewer and fewer."""
        given = Conditioned(self.K, B, D, counts, lam)
        M, R = given.means(self.H), roots(given.S, D, lam)
        if len(D) == 1:
            return lam / R**2 * M
        solved: Any = np.linalg.solve(R @ R.swapaxes(1, 2), M)
        G: Array = lam * solved
        return G

    def forecast_rounds(self, first: int, stop: int, counts: Any, newborn: Any, lam: float, known: int) -> Array:
        """(S + newborn, m, p): the same for the m rounds of one row `first` to `stop` of these rows, in turn.

        newborn: the rounds, counted from `first`, at which further restarts are born; known: coordinates of the
        targets that were there before these rounds and those that are forecast with them (`chunks.tiles`).
        """
        here, D = slice(first, stop), self.K[first:stop, first:stop]
        given = Conditioned(self.K[:first, :first], self.K[:first, here], D, counts, lam)
        R = roots(np.concatenate([given.S, _born(D, newborn)]), D, lam)
        inverse, below = np.tril(np.linalg.inv(R)), np.tril(R, -1)
        scale = lam / np.diagonal(R, axis1=1, axis2=2)[:, :, None] ** 2
        columns = tiles(known, self.H.shape[1])
        H, M = fit_columns(self.H, columns[-1].stop), np.zeros((*R.shape[:2], columns[-1].stop))
        for part in columns:
            m = M[:, :, part].copy()
            m[: len(given.S)] = given.means(H[:first, part].copy())
            M[:, :, part] = m + below @ (inverse @ (H[here, part] - m))
        return (scale * M)[:, :, : self.H.shape[1]]

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_floats(self.K, self.H, self.Z)
        n = self.n
        require(self.K.shape == (n, n) and len(self.H) == len(self.Z) == n, "recent rows must fit")
        require(self.H.ndim == self.Z.ndim == 2, "recent rows must fit")


class Conditioned:
    """Rows to come given the last rows of each of some restarts, (1): S (restarts, m, m) is what they leave of D."""

    def __init__(self, K: Array, B: Array, D: Array, counts: Any, lam: float) -> None:
        n = int(counts[0]) if len(counts) else 0
        self.first = len(K) - n
        self.L = factor(K[self.first :, self.first :][::-1, ::-1], lam)
        self.W = B[self.first :][::-1].copy()
        divide(self.L, self.W)
        self.pieces = [0, *np.asarray(counts)[::-1].tolist()]  # rows between one restart and the next, newest first
        self.S = D - self._sums(self.W)

    def means(self, H: Array) -> Array:
        """M (restarts, m, p)."""
        C = H[self.first :][::-1].copy()
        divide(self.L, C)
        return self._sums(C)

    def _sums(self, C: Array) -> Array:
        """Sums of W_j^T C_j over the rows of each restart, the oldest restart first."""
        if self.W.shape[1] == 1 and len(C):
            sums = np.add.reduceat(self.W * C, self.pieces[:-1], axis=0)[:, None]
        else:
            pieces = zip(self.pieces, self.pieces[1:], strict=False)
            sums = np.array([self.W[lo:hi].T @ C[lo:hi] for lo, hi in pieces])
            sums = sums.reshape(len(self.pieces) - 1, self.W.shape[1], C.shape[1])
        return np.cumsum(sums, axis=0)[::-1]


def roots(S: Array, D: Array, lam: float) -> Array:
    """R (..., m, m) with R R^T = S + lam I; row by row where rounding would push a variance below 0."""
    diagonal = np.diagonal(D)
    if len(D) == 1 and (S + lam >= np.maximum(ALMOST * lam, LEAST * diagonal)).all():
        return np.sqrt(np.maximum(S + lam, lam))
    try:
        R: Any = np.linalg.cholesky(S + lam * np.eye(len(D)))
        if (np.diagonal(R, axis1=1, axis2=2) ** 2 >= np.maximum(ALMOST * lam, LEAST * diagonal)).all():
            whole: Array = R
            return whole
    except LinAlgError:
        pass
    return np.array([conditional_root(one, diagonal, lam) for one in S])


def _born(D: Array, newborn: Any) -> Array:
    """D (restarts, m, m) for restarts that are born at rows `newborn`: rows before that play no part."""
    lives = np.arange(len(D)) >= np.asarray(newborn)[:, None]
    S: Array = D * ((lives[:, :, None] & lives[:, None, :]) | np.eye(len(D), dtype=bool))
    return S

r"""A Cholesky factor that grows by rows, kept in panels.

    M = L L^T,   panel i holds rows b i .. b (i + 1) - 1 of L:   [ P_i | D_i ],  D_i (b, b) lower triangular

Rows that are not there yet are rows of the identity, so every panel is whole and nothing is sliced.
No entry is ever copied or computed again; memory is n^2 / 2 numbers, as for a packed triangle, but solves
are matrix products (one right-hand side or many) where a packed triangle has only `dtpsv`.
Equivalent to scipy.linalg.cholesky and scipy.linalg.solve_triangular.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrsm, dtrsv

from oskaar.arrays import Array

PANEL = 256
"""Rows in a panel: large enough for BLAS, small enough that a last, half-empty one costs nothing."""


class PanelCholesky:
    """The lower factor L of a growing positive definite matrix.

    >>> factor = PanelCholesky()
    >>> factor.append(np.zeros((0, 1)), np.array([[2.0]]))
    >>> factor.append(np.array([[1.0]]), np.array([[3.0]]))     # L = [[2, 0], [1, 3]]
    >>> factor.solve(np.array([2.0, 4.0]))
    array([1., 1.])
    """

    def __init__(self, panel: int = PANEL) -> None:
        self.panel = panel
        self.n = 0
        self.panels: list[Array] = []
        self.corners: list[Array] = []

    def solve(self, B: Array) -> Array:
        """L^-1 B for a vector (k,) or for columns (k, m); k < n means the first k rows of L."""
        W = self._padded(B)
        for lo in range(0, len(W), self.panel):
            i, hi = lo // self.panel, lo + self.panel
            right = W[lo:hi] - self.panels[i] @ W[:lo] if lo else W[:hi]
            W[lo:hi] = _triangular(self.corners[i], right, trans=0)
        return W[: len(B)]

    def solve_transposed(self, B: Array) -> Array:
        """L^-T B for a vector (k,) or for columns (k, m); k < n means the first k rows of L."""
        W = self._padded(B)
        for lo in range(len(W) - self.panel, -1, -self.panel):
            i, hi = lo // self.panel, lo + self.panel
            W[lo:hi] = _triangular(self.corners[i], W[lo:hi], trans=1)
            if lo:
                W[:lo] -= self.panels[i].T @ W[lo:hi]
        return W[: len(B)]

    def append(self, W: Array, R: Array) -> None:
        """Add the m rows [W^T, R], with W (n, m) and R (m, m) lower triangular."""
        n, m = W.shape
        start = n
        while start < n + m:
            i = start // self.panel
            lo = i * self.panel
            stop = min(n + m, lo + self.panel)
            self._open(i)
            mine, here = slice(start - n, stop - n), slice(start - lo, stop - lo)
            old = min(lo, n)
            self.panels[i][here, :old] = W[:old, mine].T
            self.panels[i][here, old:lo] = R[mine, : lo - old]
            self.corners[i][here, : n - old] = W[old:, mine].T
            self.corners[i][here, n - old : stop - lo] = R[mine, lo - old : stop - n]
            start = stop
        self.n = n + m

    def diagonal(self) -> Array:
        """The n numbers on L's diagonal."""
        parts = [np.diagonal(D) for D in self.corners]
        return np.concatenate(parts)[: self.n] if parts else np.zeros(0)

    def rows(self, lo: int, hi: int) -> Array:
        """Rows lo..hi-1 of L, with their first hi columns."""
        L = np.zeros((hi - lo, hi))
        for i in range(lo // self.panel, -(-hi // self.panel)):
            a, b = max(lo, i * self.panel), min(hi, (i + 1) * self.panel)
            here = slice(a - i * self.panel, b - i * self.panel)
            L[a - lo : b - lo, : i * self.panel] = self.panels[i][here]
            L[a - lo : b - lo, i * self.panel : b] = self.corners[i][here, : b - i * self.panel]
        return L

    def _padded(self, B: Array) -> Array:
        W = np.zeros((-(-len(B) // self.panel) * self.panel, *B.shape[1:]))
        W[: len(B)] = B
        return W

    def _open(self, i: int) -> None:
        if i == len(self.panels):
            panel, corner = np.zeros((self.panel, i * self.panel)), np.eye(self.panel, order="F")
            self.panels.append(panel)
            self.corners.append(corner)


def _triangular(D: Array, right: Array, trans: int) -> Array:
    if right.ndim == 1:
        solved: Array = dtrsv(D, right, lower=1, trans=trans)
    else:
        solved = dtrsm(1.0, D, right, lower=1, trans_a=trans)
    return solved

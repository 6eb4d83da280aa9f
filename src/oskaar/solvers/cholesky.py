r"""A Cholesky factor that grows by rows, kept in panels.

    M = L L^T,   panel i holds rows b i .. b (i + 1) - 1 of L:   [ P_i | D_i ],  D_i (b, b) lower triangular

Rows that are not there yet are rows of the identity, so every panel is whole.
No entry is ever copied or computed again; memory is n^2 / 2 numbers, as for a packed triangle, but solves
are matrix products (one right-hand side or many) where a packed triangle has only `dtpsv`.
Vectors are rows, so that many of them lie in memory as the panels do.
Equivalent to scipy.linalg.cholesky and scipy.linalg.solve_triangular.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrsm, dtrsv

from oskaar.arrays import Array
from oskaar.saved import require, require_count, require_floats, saved

PANEL = 256
"""Rows in a panel: large enough for BLAS, small enough that a last, half-empty one costs nothing."""

FIRST = 16
"""Rows in the first panel at the start: it is doubled until it is as large as the others. Few rows take little."""


@saved("factor/cholesky")
class PanelCholesky:
    """The lower factor L of a growing positive definite matrix. Vectors are rows.

    >>> factor = PanelCholesky()
    >>> factor.append(np.zeros((1, 0)), np.array([[2.0]]))
    >>> factor.append(np.array([[1.0]]), np.array([[3.0]]))     # L = [[2, 0], [1, 3]]
    >>> factor.forward(np.array([2.0, 4.0]))
    array([1., 1.])
    """

    def __init__(self, panel: int = PANEL) -> None:
        self.most = panel
        self.panel = min(FIRST, panel)
        self.n = 0
        self.panels: list[Array] = []
        self.corners: list[Array] = []

    def forward(self, B: Array) -> Array:
        """L^-1 b for a vector b (k,) or for each row of B (m, k); k < n means the first k rows of L."""
        W, k = self._padded(B), B.shape[-1]
        for lo in range(0, k, self.panel):
            i, hi = lo // self.panel, lo + self.panel
            if lo:
                W[..., lo : min(hi, k)] -= W[..., :lo] @ self.panels[i][: k - lo].T
            W[..., lo:hi] = _triangular(self.corners[i], W[..., lo:hi], trans=0)
        return W[..., :k]

    def backward(self, B: Array) -> Array:
        """L^-T b for a vector b (k,) or for each row of B (m, k); k < n means the first k rows of L."""
        W = self._padded(B)
        for lo in range(W.shape[-1] - self.panel, -1, -self.panel):
            i, hi = lo // self.panel, lo + self.panel
            W[..., lo:hi] = solved = _triangular(self.corners[i], W[..., lo:hi], trans=1)
            if lo:
                W[..., :lo] -= solved @ self.panels[i]
        return W[..., : B.shape[-1]]

    def append(self, W: Array, R: Array) -> None:
        """Add the m rows [W, R], with W (m, n) and R (m, m) lower triangular."""
        m, n = W.shape
        while n + m > self.panel < self.most:
            self._double()
        start = n
        while start < n + m:
            i = start // self.panel
            lo = i * self.panel
            stop = min(n + m, lo + self.panel)
            self._open(i)
            mine, here = slice(start - n, stop - n), slice(start - lo, stop - lo)
            old = min(lo, n)
            self.panels[i][here, :old] = W[mine, :old]
            if old < lo:
                self.panels[i][here, old:lo] = R[mine, : lo - old]
            self.corners[i][here, : n - old] = W[mine, old:]
            self.corners[i][here, n - old : stop - lo] = R[mine, lo - old : stop - n]
            start = stop
        self.n = n + m

    def growth(self, rows: int) -> int:
        """The bytes that so many more rows take."""
        size = self.panel
        while self.n + rows > size < self.most:
            size = min(2 * size, self.most)
        have, wanted = -(-self.n // size), -(-(self.n + rows) // size)
        larger = 8 * (size**2 - self.panel**2) * bool(self.n and size > self.panel)
        return 8 * size**2 * sum(range(have + 1, wanted + 1)) + larger

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
        k = B.shape[-1]
        W = np.zeros((*B.shape[:-1], -(-k // self.panel) * self.panel))
        W[..., :k] = B
        return W

    def _double(self) -> None:
        """Make the first panel, which is the only one, larger."""
        size = min(2 * self.panel, self.most)
        if self.corners:
            corner = np.eye(size, order="F")
            corner[: self.panel, : self.panel] = self.corners[0]
            self.panels, self.corners = [np.zeros((size, 0))], [corner]
        self.panel = size

    def _open(self, i: int) -> None:
        if i == len(self.panels):
            panel, corner = np.zeros((self.panel, i * self.panel)), np.eye(self.panel, order="F")
            self.panels.append(panel)
            self.corners.append(corner)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        n, b = require_count(self.n, "rows"), self.panel
        require(
            type(b) is int and b > 0 and len(self.panels) == len(self.corners) == -(-n // b), "panels are missing"
        )
        require(
            type(self.most) is int and (b == self.most or (b < self.most and n <= b)), "panels must have one size"
        )
        for i, (panel, corner) in enumerate(zip(self.panels, self.corners, strict=True)):
            require_floats(panel, corner)
            require(panel.shape == (b, i * b) and corner.shape == (b, b), f"panel {i} has another shape")
            require((np.diagonal(corner) > 0).all(), "a Cholesky factor must have a positive diagonal")


def _triangular(D: Array, right: Array, trans: int) -> Array:
    """D^-1 or D^-T for the vector or the rows of `right`, which is overwritten where it is contiguous."""
    if right.ndim == 1:
        solved: Array = dtrsv(D, right, lower=1, trans=trans, overwrite_x=1)
    else:
        solved = dtrsm(1.0, D, right.T, lower=1, trans_a=trans, overwrite_b=1).T
    return solved

r"""An inverse factor whose trailing blocks are the inverse factors of all suffixes, kept in panels.

    M^-1 = V^T diag(q) V,   V unit upper triangular, rows in time order

V[s:, s:] and q[s:] factor the inverse of M[s:, s:]: row j of V is row j less its regression on all *later*
rows, and 1 / q_j is the variance that is left. Panel c holds columns b c .. b (c + 1) - 1 of V, as far down
as the diagonal goes, so the factor grows by new panels and no entry is ever moved; memory is n^2 / 2 numbers.
q belongs to the caller. Equivalent to reversing a Cholesky factor of M in reversed order and inverting it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oskaar.arrays import Array

PANEL = 256
"""Columns in a panel."""

STRIP = 32
"""Rows that are updated together: about as many as are folded in at once. Divides PANEL."""


class SuffixFactor:
    """The unit upper factor V of the inverse of a growing positive definite matrix.

    >>> factor = SuffixFactor()
    >>> factor.fold(np.zeros((2, 0)), np.array([[1.0, 0.0], [-0.5, 1.0]]))     # V = [[1, -0.5], [0, 1]]
    >>> factor.times(np.array([[2.0], [2.0]]))
    array([[1., 2.]])
    """

    def __init__(self) -> None:
        self.n = 0
        self.panels: list[Array] = []
        self.skipped = 0  # rows and columns that were dropped and still have their place in the panels

    def times(self, B: Array) -> Array:
        """(V B)^T (m, n) for B (n, m)."""
        W = np.zeros((B.shape[1], self.n))
        for P, lo, hi in self._columns():
            W[:, :hi] += B[lo:hi].T @ P.T
        return W

    def fold(self, U: Array, F: Array) -> None:
        """Add b rows and columns at the end: V_j - sum_{k > j} (F_j . U_k) V_k over the old, F for the new.

        U (b, n) has a column for each old row, F (b, n + b) holds the new columns of V as its rows. One pass
        over V, from the last row up, with the suffix sums P_j = sum_{k > j} U_k V_k (b, columns) at hand.
        """
        self._open(F.shape[1])
        old = self.n
        strips = self._strips(U, F)
        self._update(strips)
        self.n = F.shape[1]
        for c in range((self.skipped + old) // PANEL, len(self.panels)):
            first = max(c * PANEL - self.skipped, old)
            last = min((c + 1) * PANEL - self.skipped, self.n)
            here = slice(first + self.skipped - c * PANEL, last + self.skipped - c * PANEL)
            self.panels[c][self.skipped : self.skipped + last, here] = F[first - old : last - old, :last].T

    def drop(self, k: int) -> None:
        """Forget the k oldest rows and columns: what is left is the factor of the suffix."""
        self.skipped += k
        self.n -= k
        whole = self.skipped // PANEL
        if whole:
            self.panels = [P[whole * PANEL :].copy() for P in self.panels[whole:]]
            self.skipped -= whole * PANEL

    def dense(self) -> Array:
        """V (n, n), for looking at it."""
        V = np.zeros((self.n, self.n))
        for P, lo, hi in self._columns():
            V[:hi, lo:hi] = P
        return V

    def _columns(self) -> Iterator[tuple[Array, int, int]]:
        """Columns lo..hi-1 of V with their first hi rows, panel by panel."""
        skip, end = self.skipped, self.skipped + self.n
        for c, panel in enumerate(self.panels):
            first, last = max(c * PANEL, skip), min((c + 1) * PANEL, end)
            if first < last:
                yield panel[skip:last, first - c * PANEL : last - c * PANEL], first - skip, last - skip

    def _strips(self, U: Array, F: Array) -> list[tuple[Array, Array]]:
        """For each strip of rows, [I - striu(F^T U) | -F^T] and U: all that `_update` multiplies by."""
        b, count = len(U), -(-(self.skipped + self.n) // STRIP)
        placed = np.zeros((2, b, count * STRIP))
        placed[0, :, self.skipped : self.skipped + self.n] = U
        placed[1, :, self.skipped : self.skipped + self.n] = F[:, : self.n]
        US, FS = placed.reshape(2, b, count, STRIP).transpose(0, 2, 1, 3)
        left = np.empty((count, STRIP, STRIP + b))
        left[:, :, :STRIP] = np.eye(STRIP) - np.triu(FS.transpose(0, 2, 1) @ US, 1)
        left[:, :, STRIP:] = -FS.transpose(0, 2, 1)
        return list(zip(left, US, strict=True))

    def _update(self, strips: list[tuple[Array, Array]]) -> None:
        end = self.skipped + self.n
        for c, panel in enumerate(self.panels):
            width = min(PANEL, end - c * PANEL)
            if width <= 0:
                break
            stack = np.zeros((len(strips[0][0].T), width))  # a strip of V, and below it the suffix sums
            for i in range(-(-(c * PANEL + width) // STRIP) - 1, self.skipped // STRIP - 1, -1):
                left, U = strips[i]
                rows = panel[i * STRIP : (i + 1) * STRIP, :width]
                stack[:STRIP] = rows
                np.matmul(left, stack, out=rows)
                stack[STRIP:] += U @ stack[:STRIP]

    def _open(self, n: int) -> None:
        while len(self.panels) * PANEL < self.skipped + n:
            self.panels.append(np.zeros(((len(self.panels) + 1) * PANEL, PANEL)))

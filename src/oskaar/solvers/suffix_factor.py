r"""An inverse factor whose trailing blocks are the inverse factors of all suffixes, kept in panels.

    M^-1 = V^T diag(q) V,   V unit upper triangular, rows in time order

V[s:, s:] and q[s:] factor the inverse of M[s:, s:]: row j of V is row j less its regression on all *later*
rows, and 1 / q_j is the variance that is left. Panel c holds columns b c .. b (c + 1) - 1 of V, as far down
as the diagonal goes, so the factor grows by new panels and no entry is ever moved; memory is n^2 / 2 numbers.
q belongs to the caller. Equivalent to reversing a Cholesky factor of M in reversed order and inverting it.

To fold b rows in is to replace the n columns before them by

    L V,   (L v)_j = v_j - F_j . sum_{k>j} U_k v_k                                                  (1)

Each column is on its own, so a fold may stop after any of them: it goes on from the last column to the first,
and while columns 0 .. c - 1 are left,

    V B = V[:, c:] B[c:] + L (V[:, :c] B[:c])                                                       (2)
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from oskaar.arrays import Array

PANEL = 256
"""Columns in a panel."""

STRIP = 32
"""Rows that are updated together: about as many as are folded in at once. Divides PANEL."""

SPREAD = 8
"""Shares of equal work in which a fold is done."""


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
        self.unfolded = 0  # columns 0 .. unfolded - 1 still have to be multiplied by L
        self.shares = 0  # in which that is done
        self.strips = _no_strips()

    def times(self, B: Array) -> Array:
        """(V B)^T (m, n) for B (n, m)."""
        W = np.zeros((B.shape[1], self.n))
        for P, lo, hi in self._columns(0, self.unfolded):
            W[:, :hi] += B[lo:hi].T @ P.T
        if self.unfolded:
            W[:, : self.unfolded] = self._folded(W[:, : self.unfolded].T).T  # (2)
        for P, lo, hi in self._columns(self.unfolded, self.n):
            W[:, :hi] += B[lo:hi].T @ P.T
        return W

    def fold(self, U: Array, F: Array) -> None:
        """Add b rows and columns at the end: (1) for the old columns, F for the new. `advance` does the work of (1).

        U (b, n) has a column for each old row, F (b, n + b) holds the new columns of V as its rows.
        """
        self.finish()
        self._open(F.shape[1])
        self.strips = self._strips(U, F)
        self._left(self.n, SPREAD)
        old, self.n = self.n, F.shape[1]
        for P, lo, hi in self._columns(old, self.n):
            P[:] = F[lo - old : hi - old, :hi].T

    def advance(self, shares: int) -> None:
        """Do so many shares of a fold under way: about as many entries of V each."""
        if not self.unfolded:
            return
        left = self.shares - shares
        c = int(self.unfolded * sqrt(left / self.shares)) // STRIP * STRIP if left > 0 else 0
        for P, _, _ in self._columns(c, self.unfolded, whole=True):
            self._fold(P)
        self._left(c, left)

    def finish(self) -> None:
        """Do what is left of a fold."""
        self.advance(self.shares)

    def drop(self, k: int) -> None:
        """Forget the k oldest rows and columns: what is left is the factor of the suffix."""
        self.skipped += k
        self.n -= k
        whole = self.skipped // PANEL
        if whole:
            self.panels = [P[whole * PANEL :].copy() for P in self.panels[whole:]]
            self.skipped -= whole * PANEL
            left, U = self.strips
            self.strips = left[whole * PANEL // STRIP :], U[whole * PANEL // STRIP :]
        self._left(max(0, self.unfolded - k), self.shares)

    def dense(self) -> Array:
        """V (n, n), for looking at it."""
        return self.times(np.eye(self.n)).T

    def _left(self, unfolded: int, shares: int) -> None:
        """So much of a fold is left."""
        self.unfolded, self.shares = unfolded, shares if unfolded else 0
        if not unfolded:
            self.strips = _no_strips()

    def _columns(self, begin: int, end: int, whole: bool = False) -> Iterator[tuple[Array, int, int]]:
        """Columns lo..hi-1 of V with their first hi rows, panel by panel, from begin to end.

        whole: with the rows above them that were dropped, and down to the end of a strip.
        """
        skip = self.skipped
        for c in range((skip + begin) // PANEL, -(-(skip + end) // PANEL)):
            first, last = max(c * PANEL, skip + begin), min((c + 1) * PANEL, skip + end)
            rows = slice(0, -(-last // STRIP) * STRIP) if whole else slice(skip, last)
            yield self.panels[c][rows, first - c * PANEL : last - c * PANEL], first - skip, last - skip

    def _strips(self, U: Array, F: Array) -> tuple[Array, Array]:
        """L by strips of rows: [I - striu(F^T U) | -F^T] (strips, STRIP, STRIP + b), and U (strips, b, STRIP)."""
        b, count = len(U), -(-(self.skipped + self.n) // STRIP)
        placed = np.zeros((2, b, count * STRIP))
        placed[0, :, self.skipped : self.skipped + self.n] = U
        placed[1, :, self.skipped : self.skipped + self.n] = F[:, : self.n]
        US, FS = placed.reshape(2, b, count, STRIP).transpose(0, 2, 1, 3)
        left = np.empty((count, STRIP, STRIP + b))
        left[:, :, :STRIP] = np.eye(STRIP) - np.triu(FS.transpose(0, 2, 1) @ US, 1)
        left[:, :, STRIP:] = -FS.transpose(0, 2, 1)
        return left, US

    def _fold(self, P: Array) -> None:
        """(1) for some columns, in place: from the last strip up, the suffix sums of U_k V_k below it in `stack`."""
        left, U = self.strips
        stack = np.zeros((left.shape[2], P.shape[1]))
        added = np.empty((U.shape[1], P.shape[1]))
        for i in range(len(P) // STRIP - 1, self.skipped // STRIP - 1, -1):
            rows = P[i * STRIP : (i + 1) * STRIP]
            stack[:STRIP] = rows
            np.matmul(left[i], stack, out=rows)
            stack[STRIP:] += np.matmul(U[i], stack[:STRIP], out=added)

    def _folded(self, X: Array) -> Array:
        """L X for X (c, m), the rows of which below are 0: (1) for all strips at once."""
        left, U = self.strips
        first, last = self.skipped // STRIP, -(-(self.skipped + len(X)) // STRIP)
        here = slice(self.skipped - first * STRIP, self.skipped - first * STRIP + len(X))
        stack = np.zeros((last - first, left.shape[2], X.shape[1]))
        placed = np.zeros(((last - first) * STRIP, X.shape[1]))
        placed[here] = X
        stack[:, :STRIP] = placed.reshape(last - first, STRIP, -1)
        sums = U[first + 1 : last] @ stack[1:, :STRIP]
        np.cumsum(sums[::-1], axis=0, out=stack[-2::-1, STRIP:])
        folded: Array = (left[first:last] @ stack).reshape(len(placed), -1)[here]
        return folded

    def _open(self, n: int) -> None:
        while len(self.panels) * PANEL < self.skipped + n:
            self.panels.append(np.zeros(((len(self.panels) + 1) * PANEL, PANEL)))


def _no_strips() -> tuple[Array, Array]:
    return np.zeros((0, STRIP, STRIP)), np.zeros((0, 0, STRIP))

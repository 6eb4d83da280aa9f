r"""An inverse factor whose trailing blocks are the inverse factors of all suffixes, kept in panels.

    M^-1 = V^T diag(q) V,   V unit upper triangular, rows in time order

V[s:, s:] and q[s:] factor the inverse of M[s:, s:]: row j of V is row j less its regression on all *later*
rows, and 1 / q_j is the variance that is left. Panel c holds columns b c .. b (c + 1) - 1 of V, as far down
as the diagonal goes, so the factor grows by new panels and no entry is ever moved; memory is n^2 / 2 numbers.
q belongs to the caller. Equivalent to reversing a Cholesky factor of M in reversed order and inverting it.

New rows replace the columns before them by

    L V,   (L v)_j = v_j - F_j . sum_{k>j} U_k v_k                                                  (1)

Each column is on its own, so this can be put off for the first c columns, while the others are as they should be:

    V B = V[:, c:] B[c:] + L (V[:, :c] B[:c])                                                       (2)

When the next rows come, with F', U', the product L' L is of the form (1) again, with

    U_k, U'_k + U_k . sum_{j>=k} U'_j F_j^T   and   L' F, F'                                         (3)

When enough rows have come together, L is applied to V, from column c - 1 to column 0, some of them at a time.
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

TOGETHER = 24
"""Rows that are put off before they are folded into V."""

SPREAD = 8
"""Shares of equal work in which they are."""


class SuffixFactor:
    """The unit upper factor V of the inverse of a growing positive definite matrix.

    >>> factor = SuffixFactor()
    >>> factor.append(np.zeros((2, 0)), np.array([[1.0, 0.0], [-0.5, 1.0]]))   # V = [[1, -0.5], [0, 1]]
    >>> factor.times(np.array([[2.0], [2.0]]))
    array([[1., 2.]])
    """

    def __init__(self) -> None:
        self.n = 0
        self.panels: list[Array] = []
        self.skipped = 0  # rows and columns that were dropped and still have their place in the panels
        self.fold: Fold | None = None  # L
        self.unfolded = 0  # c
        self.shares = 0  # in which L is being applied; 0 while rows are put off

    def times(self, B: Array) -> Array:
        """(V B)^T (m, n) for B (n, m)."""
        W = np.zeros((B.shape[1], self.n))
        for P, lo, hi in self._columns(0, self.unfolded):
            W[:, :hi] += B[lo:hi].T @ P.T
        if self.fold is not None:
            c = self.unfolded
            W[:, :c] = self.fold.times(W[:, :c].T, self.skipped).T  # (2)
        for P, lo, hi in self._columns(self.unfolded, self.n):
            W[:, :hi] += B[lo:hi].T @ P.T
        return W

    def append(self, U: Array, F: Array) -> None:
        """Add b rows and columns at the end: (1) for the old columns, F for the new.

        U (b, n) has a column for each old row, F (b, n + b) holds the new columns of V as its rows.
        """
        if self.shares:
            self.advance(self.shares)
        self._open(F.shape[1])
        old, self.n = self.n, F.shape[1]
        if old:
            self._put_off(Fold.of(U, F[:, :old], self.skipped), old)
        for P, lo, hi in self._columns(old, self.n):
            P[:] = F[lo - old : hi - old, :hi].T

    def advance(self, shares: int) -> None:
        """Do so many shares of the work that was put off, if it is time."""
        if self.fold is None or not self.shares:
            return
        left = max(0, self.shares - shares)
        c = int(self.unfolded * sqrt(left / self.shares)) // STRIP * STRIP  # as many entries of V in each share
        for P, _, _ in self._columns(c, self.unfolded, whole=True):
            self.fold.apply(P, self.skipped // STRIP)
        self._left(c, left)

    def drop(self, k: int) -> None:
        """Forget the k oldest rows and columns: what is left is the factor of the suffix."""
        self.skipped += k
        self.n -= k
        whole = self.skipped // PANEL
        if whole:
            self.panels = [P[whole * PANEL :].copy() for P in self.panels[whole:]]
            self.skipped -= whole * PANEL
            if self.fold is not None:
                self.fold = self.fold.later(whole * PANEL // STRIP)
        self._left(max(0, self.unfolded - k), self.shares)

    def dense(self) -> Array:
        """V (n, n), for looking at it."""
        return self.times(np.eye(self.n)).T

    def _put_off(self, fold: Fold, old: int) -> None:
        """(1) for all columns but those that were put off already; (3) for those."""
        if self.fold is None:
            self.fold, self.unfolded = fold, old
        else:
            for P, _, hi in self._columns(self.unfolded, old):
                P[:] = fold.times(P, self.skipped)
            self.fold = fold.after(self.fold)
        self.shares = SPREAD if self.fold.rows >= TOGETHER else 0

    def _left(self, unfolded: int, shares: int) -> None:
        """So much is left to be done."""
        self.unfolded = unfolded
        self.shares = shares if unfolded else 0
        self.fold = self.fold if unfolded else None

    def _columns(self, begin: int, end: int, whole: bool = False) -> Iterator[tuple[Array, int, int]]:
        """Columns lo..hi-1 of V with their first hi rows, panel by panel, from begin to end.

        whole: with the rows above them that were dropped, and down to the end of a strip.
        """
        skip = self.skipped
        for c in range((skip + begin) // PANEL, -(-(skip + end) // PANEL)):
            first, last = max(c * PANEL, skip + begin), min((c + 1) * PANEL, skip + end)
            rows = slice(0, -(-last // STRIP) * STRIP) if whole else slice(skip, last)
            yield self.panels[c][rows, first - c * PANEL : last - c * PANEL], first - skip, last - skip

    def _open(self, n: int) -> None:
        while len(self.panels) * PANEL < self.skipped + n:
            self.panels.append(np.zeros(((len(self.panels) + 1) * PANEL, PANEL)))


class Fold:
    """L of (1) for b rows, by strips of the rows of V: U (strips, b, STRIP) and F (strips, STRIP, b)."""

    def __init__(self, U: Array, F: Array) -> None:
        self.U, self.F = U, F
        b = U.shape[1]
        self.left = np.empty((len(U), STRIP, STRIP + b))  # [I - striu(F U) | -F]
        np.matmul(-F, U, out=self.left[:, :, :STRIP])
        self.left[:, :, :STRIP] *= _ABOVE
        self.left[:, _DIAGONAL, _DIAGONAL] = 1.0
        self.left[:, :, STRIP:] = -F

    @classmethod
    def of(cls, U: Array, F: Array, skipped: int) -> Fold:
        """From U and F (b, n) of the rows of V after those skipped."""
        b, n = U.shape
        count = -(-(skipped + n) // STRIP)
        placed = np.zeros((2, b, count * STRIP))
        placed[0, :, skipped : skipped + n] = U
        placed[1, :, skipped : skipped + n] = F
        strips = placed.reshape(2, b, count, STRIP)
        return cls(strips[0].transpose(1, 0, 2).copy(), strips[1].transpose(1, 2, 0).copy())

    @property
    def rows(self) -> int:
        """b."""
        return self.U.shape[1]

    def times(self, X: Array, skipped: int) -> Array:
        """L X for X (c, m): rows of V after those skipped, and the rows below are 0."""
        first, last = skipped // STRIP, -(-(skipped + len(X)) // STRIP)
        here = slice(skipped - first * STRIP, skipped - first * STRIP + len(X))
        strips = np.zeros((last - first, STRIP, X.shape[1]))
        strips.reshape(-1, X.shape[1])[here] = X
        product: Array = self._times(strips, first).reshape(-1, X.shape[1])[here]
        return product

    def apply(self, P: Array, first: int) -> None:
        """L P in place for many columns: from the last strip up to the first one, the sums of U_k P_k at hand."""
        stack = np.zeros((self.left.shape[2], P.shape[1]))  # a strip, and below it the sums
        added = np.empty((self.rows, P.shape[1]))
        for i in range(len(P) // STRIP - 1, first - 1, -1):
            rows = P[i * STRIP : (i + 1) * STRIP]
            stack[:STRIP] = rows
            np.matmul(self.left[i], stack, out=rows)
            stack[STRIP:] += np.matmul(self.U[i], stack[:STRIP], out=added)

    def after(self, other: Fold) -> Fold:
        """The product of this L and another, of as many strips as the other has."""
        U = self.U[: len(other.U)]
        sums = np.zeros((len(U), self.rows, other.rows))  # of U'_j F_j^T over the strips below
        np.cumsum((U @ other.F)[:0:-1], axis=0, out=sums[-2::-1])
        inside = U @ np.tril(other.F @ other.U)
        carried = U + sums @ other.U + inside
        F = np.concatenate([self._times(other.F, 0), self.F[: len(U)]], axis=2)
        return Fold(np.concatenate([other.U, carried], axis=1), F)  # (3)

    def later(self, strips: int) -> Fold:
        """Without the first strips."""
        return Fold(self.U[strips:].copy(), self.F[strips:].copy())

    def _times(self, X: Array, first: int) -> Array:
        """L X by strips, (strips, STRIP, m), the first of which is `first`."""
        last = first + len(X)
        stack = np.zeros((len(X), self.left.shape[2], X.shape[2]))
        stack[:, :STRIP] = X
        np.cumsum((self.U[first + 1 : last] @ X[1:])[::-1], axis=0, out=stack[-2::-1, STRIP:])
        product: Array = self.left[first:last] @ stack
        return product


_ABOVE = np.triu(np.ones((STRIP, STRIP)), 1)
_DIAGONAL = np.arange(STRIP)

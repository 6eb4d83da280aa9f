r"""An inverse factor whose trailing blocks are the inverse factors of all suffixes, kept in panels.

    M^-1 = V^T diag(q) V,   V unit upper triangular, rows in time order

V[s:, s:] and q[s:] factor the inverse of M[s:, s:]: row j of V is row j less its regression on all *later*
rows, and 1 / q_j is the variance that is left. Panel c holds columns b c .. b (c + 1) - 1 of V, as far down
as the diagonal goes, so the factor grows by new panels and no entry is ever moved; memory is n^2 / 2 numbers.
q belongs to the caller. Equivalent to reversing a Cholesky factor of M in reversed order and inverting it.

New rows, with the columns F of V, replace the columns before them by

    L V,   (L v)_j = v_j - F_j . sum_{k>j} U_k v_k                                                  (1)

This is put off: while V is the factor of the c rows before,

    (V B)_j = v_j - F_j . (sum_{k>j} U_k v_k - B[c:]),   v = V B[:c]                                 (2)

and when more rows come, with F', U', the two are as one with

    U_k, U'_k + U_k . sum_{j>=k} U'_j F_j^T   and   L' F, F'                                         (3)

When there are enough of them, F is written to V, and L is applied to its columns c - 1 .. 0, some at a time. Each
column is on its own, so in between L is due for the columns that are left:

    V B = V[:, c:] B[c:] + L (V[:, :c] B[:c])                                                       (4)
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from oskaar.arrays import Array
from oskaar.saved import require, require_count, require_floats, require_kind, saved

PANEL = 256
"""Columns in a panel."""

STRIP = 32
"""Rows that are updated together: about as many as are folded in at once. Divides PANEL."""

TOGETHER = 24
"""Rows that are put off before they are folded into V."""

SPREAD = 12
"""Shares of about equal work in which they are."""

SLICE = 64
"""Columns of a panel that are folded together, except the last of V."""


@saved("factor/suffix")
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
        self.fold: Fold | None = None  # L, and F
        self.unfolded = 0  # c: L is due for so many columns
        self.shares = 0  # in which L is applied; 0 while it is put off, and F is not in the panels

    @classmethod
    def of(cls, V: Array) -> SuffixFactor:
        """From V (n, n) itself.

        >>> SuffixFactor.of(np.array([[1.0, -0.5], [0.0, 1.0]])).times(np.array([[2.0], [2.0]]))
        array([[1., 2.]])
        """
        new = cls()
        new.n = len(V)
        new.panels = [np.zeros(((i + 1) * PANEL, PANEL)) for i in range(-(-new.n // PANEL))]
        for P, lo, hi in new._columns(0, new.n):
            P[:] = V[:hi, lo:hi]
        return new

    def times(self, B: Array) -> Array:
        """(V B)^T (m, n) for B (n, m)."""
        if self.fold is None:
            return self._times(B, 0, self.n)
        c = self.unfolded
        V = self._times(B, 0, c)
        if not self.shares:
            return self.fold.times(V, self.n, self.skipped, B[c:])  # (2)
        W = self._times(B, c, self.n)
        W[:, :c] += self.fold.times(V, c, self.skipped)  # (4)
        return W

    def append(self, U: Array, F: Array) -> None:
        """Add b rows and columns at the end: (1) for the old columns, F for the new.

        U (b, n) has a column for each old row, F (b, n + b) holds the new columns of V as its rows.
        """
        self.advance(self.shares)
        fold = Fold.of(U, F, self.skipped)
        if self.fold is None:
            self.fold, self.unfolded = fold, self.n
        else:
            self.fold = fold.after(self.fold)  # (3)
        self.n = F.shape[1]
        if self.fold.rows >= TOGETHER:
            self._write(self.fold)

    def advance(self, shares: int) -> None:
        """Do so many shares of the work, once it is time for it."""
        if self.fold is None or not self.shares or not shares:
            return
        left = max(0, self.shares - shares)
        place = self.skipped + int(self.unfolded * sqrt(left / self.shares))  # as many entries of V in each share
        c = max(0, place // SLICE * SLICE - self.skipped)
        for P, _, _ in self._columns(c, self.unfolded, whole=True):
            self.fold.apply(P, self.skipped // STRIP)
        self._left(c, left)

    def finish(self) -> None:
        """Do all of the work now."""
        if self.fold is not None and not self.shares:
            self._write(self.fold)
        self.advance(self.shares)

    def drop(self, k: int) -> None:
        """Forget the k oldest rows and columns: what is left is the factor of the suffix."""
        if not self.shares and k > self.unfolded:
            self.finish()
        self.skipped += k
        self.n -= k
        whole = self.skipped // PANEL
        if whole:
            self.panels = [P[whole * PANEL :].copy() for P in self.panels[whole:]]
            self.skipped -= whole * PANEL
            if self.fold is not None:
                self.fold = self.fold.later(whole * PANEL // STRIP)
        self.unfolded = max(0, self.unfolded - k)
        if self.shares:
            self._left(self.unfolded, self.shares)

    def dense(self) -> Array:
        """V (n, n), for looking at it."""
        return self.times(np.eye(self.n)).T

    def _times(self, B: Array, begin: int, end: int) -> Array:
        """(V B)^T (m, end), with columns begin .. end - 1 of V."""
        W = np.zeros((B.shape[1], end))
        for P, lo, hi in self._columns(begin, end):
            W[:, :hi] += B[lo:hi].T @ P.T
        return W

    def _write(self, fold: Fold) -> None:
        """F to its columns of V; L is applied from now on."""
        F, c = fold.columns(self.skipped, self.n), self.unfolded
        while len(self.panels) * PANEL < self.skipped + self.n:
            self.panels.append(np.zeros(((len(self.panels) + 1) * PANEL, PANEL)))
        for P, lo, hi in self._columns(c, self.n):
            P[:] = F[:hi, lo - c : hi - c]
        self._left(c, SPREAD)

    def _left(self, unfolded: int, shares: int) -> None:
        """L is still due for so many columns, in so many shares."""
        self.unfolded, self.shares = unfolded, shares
        if not unfolded:
            self.fold, self.shares = None, 0

    def _columns(self, begin: int, end: int, whole: bool = False) -> Iterator[tuple[Array, int, int]]:
        """Columns lo..hi-1 of V with their first hi rows, panel by panel, from begin to end.

        whole: with the rows above them that were dropped, and down to the end of a strip.
        """
        skip = self.skipped
        for c in range((skip + begin) // PANEL, -(-(skip + end) // PANEL)):
            first, last = max(c * PANEL, skip + begin), min((c + 1) * PANEL, skip + end)
            rows = slice(0, -(-last // STRIP) * STRIP) if whole else slice(skip, last)
            yield self.panels[c][rows, first - c * PANEL : last - c * PANEL], first - skip, last - skip

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        n, skipped = require_count(self.n, "rows"), require_count(self.skipped, "rows dropped")
        c, shares = require_count(self.unfolded, "columns"), require_count(self.shares, "shares")
        require_kind(self.fold, (Fold, type(None)), "the rows put off")
        put_off = self.fold.rows if self.fold is not None and not shares else 0
        require(len(self.panels) * PANEL >= skipped + n - put_off, "panels are missing")
        for i, panel in enumerate(self.panels):
            require_floats(panel)
            require(panel.shape == ((i + 1) * PANEL, PANEL), f"panel {i} has another shape")
        if self.fold is None:
            require(c == shares == 0, "no columns can be left of no rows")
        else:
            strips = -(-(skipped + (c if shares else n)) // STRIP)
            require(len(self.fold.U) >= strips, "strips are missing")
            require(0 < c <= n and shares <= SPREAD if shares else c + put_off == n, "rows put off must fit")


@saved("factor/suffix-fold")
class Fold:
    """L and F of b rows, by strips of the rows of V: U (strips, b, STRIP) and F (strips, STRIP, b)."""

    def __init__(self, U: Array, F: Array) -> None:
        self.U, self.F = U, F
        self.left = np.empty((len(U), STRIP, STRIP + U.shape[1]))  # [I - striu(F U) | -F]
        self.left[:, :, STRIP:] = -F
        np.matmul(self.left[:, :, STRIP:], U, out=self.left[:, :, :STRIP])
        self.left[:, :, :STRIP] *= _ABOVE
        self.left[:, _DIAGONAL, _DIAGONAL] = 1.0

    @classmethod
    def of(cls, U: Array, F: Array, skipped: int) -> Fold:
        """From U (b, c) and F (b, c + b) of the rows of V after those skipped."""
        b, n = F.shape
        count = -(-(skipped + n) // STRIP)
        placed = np.zeros((2, b, count * STRIP))
        placed[0, :, skipped : skipped + U.shape[1]] = U
        placed[1, :, skipped : skipped + n] = F
        strips = placed.reshape(2, b, count, STRIP)
        return cls(strips[0].transpose(1, 0, 2).copy(), strips[1].transpose(1, 2, 0).copy())

    @property
    def rows(self) -> int:
        """The number of rows put off, b."""
        return int(self.U.shape[1])

    def columns(self, skipped: int, n: int) -> Array:
        """F (n, b) of the rows of V after those skipped."""
        return self.F.reshape(-1, self.rows)[skipped : skipped + n]

    def times(self, V: Array, n: int, skipped: int, K: Array | None = None) -> Array:
        """(2), (m, n), for V (m, c) and K = B[c:] (b, m); without K, L V."""
        first, last = skipped // STRIP, -(-(skipped + n) // STRIP)
        above, m = skipped - first * STRIP, len(V)
        strips = np.zeros((last - first, STRIP, m))
        strips.reshape(-1, m)[above : above + V.shape[1]] = V.T
        product: Array = self._times(strips, first, K).reshape(-1, m)[above : above + n]
        return product.T

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
        """(3): this one, L' and F', after another."""
        c, b = len(other.U), other.rows
        U, F = np.zeros((len(self.U), b + self.rows, STRIP)), np.zeros((len(self.U), STRIP, b + self.rows))
        U[:c, :b], U[:, b:], F[:, :, b:] = other.U, self.U, self.F
        sums = np.zeros((c, self.rows, b))  # of U'_j F_j^T over the strips below
        np.cumsum((self.U[1:c] @ other.F[1:])[::-1], axis=0, out=sums[-2::-1])
        inside = other.F @ other.U
        inside *= 1.0 - _ABOVE
        U[:c, b:] += sums @ other.U
        U[:c, b:] += self.U[:c] @ inside
        F[:c, :, :b] = self._times(other.F, 0)
        return Fold(U, F)

    def later(self, strips: int) -> Fold:
        """Without the first strips."""
        return Fold(self.U[strips:].copy(), self.F[strips:].copy())

    def _times(self, X: Array, first: int, K: Array | None = None) -> Array:
        """(2) for strips X (strips, STRIP, m) of v, the first of which is `first`."""
        last = first + len(X)
        stack = np.zeros((len(X), self.left.shape[2], X.shape[2]))
        stack[:, :STRIP] = X
        np.cumsum((self.U[first + 1 : last] @ X[1:])[::-1], axis=0, out=stack[-2::-1, STRIP:])
        if K is not None:
            stack[:, STRIP:] -= K
        product: Array = self.left[first:last] @ stack
        return product

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_floats(self.U, self.F, self.left)
        count, b = self.U.shape[:2]
        shapes = (self.U.shape, self.F.shape, self.left.shape)
        require(shapes == ((count, b, STRIP), (count, STRIP, b), (count, STRIP, STRIP + b)), "strips must fit")


_ABOVE = np.triu(np.ones((STRIP, STRIP)), 1)
_DIAGONAL = np.arange(STRIP)

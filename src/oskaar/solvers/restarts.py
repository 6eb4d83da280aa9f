r"""KAAR restarted at every past round, all of the restarts at once.

    g_{s:t} = argmin_g  sum_{s<=r<t} |g(x_r) - h_r|^2 + |g(x_t)|^2 + lam |g|^2                (1)

With M = K + lam I and M^-1 = V^T diag(q) V, V unit upper triangular, the trailing block from s on is the
inverse factor of restart s. So with C = V h, and for a row x with w = V k(X, x), c = k(x, x) + lam,

    a_s = c - sum_{j>=s} q_j w_j^2                                                            (2)
    g_{s:t}(x_t) = lam / a_s * sum_{j>=s} q_j w_j C_j                                         (3)

are suffix sums: all t experts cost O(t^2), where fitting each costs O(t^3). Learning x_t with target h turns
C, and any other product with V, into

    C_j + (w_j / a_{j+1}) (sum_{k>j} q_k w_k C_k - h),   last row h                           (4)
    q_j a_{j+1} / a_j,   last 1 / c                                                           (5)

Since a_{j+1} = a_j + q_j w_j^2, these are plane rotations of sqrt(q) V, and as safe. V's own columns follow (4)
too, but all of V at each row is much to touch. So the last b rows stay open: V is left as it was before
them, and only their own columns F (n, b) of V are kept up to date. The rows of V are by now

    V_j - F_j . sum_{k>j} U_k V_k,   U_k of a new row = q_k w_k + U_k . sum_{j>=k} q_j w_j F_j   (6)
    w_j = (V k)_j - F_j . sum_{k>j} U_k (V k)_k + F_j . k(X_open, x)                             (7)

where (6) is the product of the updates (4), rounding included; it is applied to V when b rows are open.

A round of n rows is learned with targets 0 first. Then, with F the columns of its rows,

    g_{s:t}(x_t) = -lam sum_{j>=s} q_j F_j C_j^T   (n, p),   and then C_j <- C_j + F_j h      (8)

Equivalent to tests/naive_salami.py::kaar for each s, which solves (1) whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array, random_signs
from oskaar.solvers.rounding import LEAST_SHARED, SLACK, not_positive, require_resolved
from oskaar.solvers.suffixes import SuffixFactor

OPEN = 24
"""Rows that stay open before they are folded into V; also the best size for a block."""


class RestartSolver:
    """All restarts of KAAR. Its state is plain arrays: V in panels, q, and H = V [targets, open rows].

    `lam` is used as it is: for the shifted variant pass 4 lam, and observe 2 phi - g. With `window`, whole
    oldest rounds are forgotten, and their restarts with them, until at most that many rows are left.
    Blocks of any size, or of one row, give the same numbers; large ones cost O(m^2 t), and 24 rows are best.
    A round of which float64 would not keep six digits is refused (`solvers.rounding`).

    >>> solver = RestartSolver(lam=1.0)
    >>> block = solver.begin(np.zeros((0, 2)), np.ones((2, 2)), [1, 2])        # the same x, twice
    >>> block.estimates(0).shape                                               # only the newborn; p is 0 yet
    (1, 1, 0)
    >>> block.observe(0, np.array([[2.0]]))
    >>> block.estimates(1)                                                     # (K + I)^-1 [2, 0], at x; and 0
    array([[[0.66666667]],
           [[0.        ]]])
    >>> block.observe(1, np.array([[2.0]])); solver.commit(block)
    >>> solver.starts_alive
    array([0, 1])
    """

    def __init__(self, lam: float, window: int | None = None) -> None:
        if not (lam > 0 and np.isfinite(lam)):
            raise ValueError(f"lam must be > 0 and finite, got {lam}: K + lam I has to be invertible.")
        if window is not None and window < 1:
            raise ValueError(f"window must be >= 1 row, got {window}: pass None to keep all rows.")
        self.lam, self.window = lam, window
        self.factor = SuffixFactor()
        self.q = np.zeros(0)
        self.targets = 0  # p: the first p rows of H are C^T, the others are F
        self.H = np.zeros((0, 0))
        self.U = np.zeros((0, 0))
        self.rounds = 0
        self.starts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # the first row of each round kept

    @property
    def rows(self) -> int:
        """How many past rows are kept: B of `begin` has as many."""
        return len(self.q)

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts but the newborn started."""
        return np.arange(self.rounds - len(self.starts), self.rounds)

    def begin(self, B: Array, D: Array, ends: Any) -> Block:
        """Rounds to come, that end at rows `ends` of the m rows with B = k(X, x) (t, m), D = k(x, x) (m, m).

        Nothing changes until `commit`; a block that is not committed is a forecast.
        """
        ends = np.asarray(ends, dtype=np.int64)
        m = len(D)
        if B.shape != (self.rows, m) or D.shape != (m, m):
            raise ValueError(
                f"B must be ({self.rows}, m), a row for each row kept, and D (m, m); got {B.shape} and {D.shape}."
            )
        if not len(ends) or ends[-1] != m or np.any(np.diff(ends, prepend=0) < 1):
            raise ValueError(f"ends must increase from at least 1 to {m}, got {ends.tolist()}.")
        if not (np.isfinite(B).all() and np.isfinite(D).all()):
            raise ValueError("the kernel must return finite numbers, got inf or nan.")
        return Block(self, B, D, ends)

    def commit(self, block: Block) -> None:
        """Learn a block whose rounds were all observed, begun from this very state."""
        if block.solver is not self or block.rounds_before != self.rounds:
            raise ValueError("the block is stale: the solver has learned since it was begun.")
        if block.observed < len(block.ends):
            raise ValueError(f"round {block.observed} of the block has no targets yet: call observe.")
        self.H, self.targets, self.q, self.U = block.H[:, :-1], block.targets, block.q, block.U
        self.starts = block.starts
        self.rounds += len(block.ends)
        if len(self.U) >= OPEN:
            self._fold()
        late = _in_window(self.starts, self.rows, self.window)
        if not late.all():
            self._drop(late)

    def effective_dimensions(self, probes: int | None = None) -> Array:
        """d_eff(lam) = sum_{j>=s} 1 - lam q_j |V_j|^2 of the rows since each restart, the oldest first.

        probes: |V_j|^2 as the mean of (V b)_j^2 over so many random signs b; None, or more than the rows, is exact.
        """
        n = self.rows
        estimated = probes is not None and probes < n
        B = random_signs(n, probes) if estimated and probes else np.eye(n)
        squares = np.sum(self._times(B) ** 2, axis=0) / (len(B.T) if estimated else 1)
        shares = 1 - self.lam * self.q * squares
        dimensions: Array = np.cumsum(shares[::-1])[::-1][self.starts]
        return dimensions

    def _times(self, B: Array) -> Array:
        """(V B)^T (m, n), V with the open rows: (6) and (7)."""
        old, F = self.factor.n, self.H[self.targets :]
        W: Array = B[old:].T @ F
        for w, v in zip(W, self.factor.times(B[:old]), strict=True):
            later = np.cumsum((self.U * v)[:, ::-1], axis=1)[:, ::-1] - self.U * v
            w[:old] += v - np.einsum("ij,ij->j", F[:, :old], later)
        return W

    def _fold(self) -> None:
        self.factor.fold(self.U, self.H[self.targets :])  # (6)
        self.H = self.H[: self.targets].copy()
        self.U = np.zeros((0, self.rows))

    def _drop(self, late: NDArray[np.bool_]) -> None:
        k = int(self.starts[late][0]) if late.any() else self.rows
        if k > self.factor.n:
            self._fold()
        self.factor.drop(k)
        self.q, self.H, self.U = self.q[k:], self.H[:, k:], self.U[:, k:]
        self.starts = self.starts[late] - k


class Block:
    """Some rounds in turn: `estimates` of all experts, then `observe` the targets. Made by `begin`."""

    def __init__(self, solver: RestartSolver, B: Array, D: Array, ends: NDArray[np.int64]) -> None:
        self.solver, self.ends, self.rounds_before = solver, ends, solver.rounds
        n, m, b, self._old = solver.rows, len(D), len(solver.U), solver.factor.n
        self.targets, self.observed = solver.targets, 0
        self._open, self._learned = b, 0  # rows open before the block; rows of it that are in H and q
        self._G: Array | None = None
        self._VB = solver.factor.times(B[: self._old])
        self._D = np.concatenate([B[self._old :], D])  # k(X_open, x), where the block's rows open one by one
        self.starts = np.concatenate([solver.starts, n + ends - np.diff(ends, prepend=0)])
        self.H, self._sums = np.empty((2, self.targets + b + m, n + m + 1))
        self.H[: self.targets + b, :n] = solver.H
        self.q = np.concatenate([solver.q, np.empty(m)])
        self.U = np.concatenate([solver.U, np.empty((m, self._old))])

    def restarts(self, i: int) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts of `estimates(i)` started."""
        now = self.rounds_before + i
        return np.arange(now + 1 - len(self.estimates(i)), now + 1)

    def estimates(self, i: int) -> Array:
        """(S, n, p): what each expert says of the n rows of round i, the oldest restart first.

        The experts are those of the last S rounds, and the last is the newborn, which says 0. All rounds
        before i have been observed.
        """
        if i != self.observed or i == len(self.ends):
            raise ValueError(f"round {self.observed} of {len(self.ends)} comes next, got {i}: rounds go in turn.")
        if self._G is None:
            lo, hi = int(self.ends[i - 1]) if i else 0, int(self.ends[i])
            starts = self.starts[: len(self.starts) - len(self.ends) + i + 1]
            starts = starts[_in_window(starts, self.solver.rows + lo, self.solver.window)]
            self._G = self._single(lo, starts) if hi - lo == 1 else self._joint(lo, hi, starts)
        return self._G

    def observe(self, i: int, H: Array) -> None:
        """Give round i its targets (n, q); they may have more columns than all before them."""
        rows, hi = self.estimates(i).shape[1], self._learned
        if H.ndim != 2 or H.shape[0] != rows or H.shape[1] < self.targets:
            raise ValueError(f"round {i} needs targets ({rows}, {self.targets} or more), got {H.shape}.")
        if H.shape[1] > self.targets:
            self._widen(H.shape[1])
        n, first = self.solver.rows + hi, self.targets + self._open
        self.H[: self.targets, :n] += H.T @ self.H[first + hi - rows : first + hi, :n]  # (8)
        self.observed, self._G = i + 1, None

    def _single(self, row: int, starts: NDArray[np.int64]) -> Array:
        """The estimates of a round of one row."""
        G = self._learn(row)
        contiguous = G.shape[1] - starts[0] == len(starts)  # all rounds so far are of one row
        here = slice(starts[0], None) if contiguous else starts
        return G[:, here].T[:, None]

    def _joint(self, lo: int, hi: int, starts: NDArray[np.int64]) -> Array:
        """The estimates of a round of several rows, which are learned with targets 0 first."""
        while self._learned < hi:
            self._learn(self._learned)
        n, first = self.solver.rows + hi, self.targets + self._open
        C = self.q[:n] * self.H[: self.targets, :n]
        G = np.empty((hi - lo, self.targets, len(starts)))
        for row in range(lo, hi):
            by_round = np.add.reduceat(self.H[first + row, :n] * C, starts, axis=1)
            np.cumsum(by_round[:, ::-1], axis=1, out=G[row - lo, :, ::-1])  # (8)
        G *= -self.solver.lam
        return G.transpose(2, 0, 1)

    def _learn(self, row: int) -> Array:
        """Learn a row of the block with target 0; (3), (p, rows + 1), for each restart and the newborn."""
        n, filled = self.solver.rows + row, self.targets + self._open + row
        H, q = self.H[:filled, :n], self.q[:n]
        w = self._project(row, H[self.targets :])
        a = self._variances(float(self._D[self._open + row, row]), w, q)
        qw, ratio = q * w, w / a[1:]
        sums = self._suffix_sums(H, qw)
        G: Array = self.solver.lam / a * sums[: self.targets]  # (3)
        self._open_row(row, sums[self.targets :], qw)
        late = sums[:, 1:]
        late *= ratio
        H += late  # (4)
        self.H[:filled, n], self.H[filled, n], self.H[filled, :n] = 0.0, 1.0, -ratio  # (4), and h = 1 for F
        q *= a[1:] / a[:-1]  # (5)
        self.q[n] = 1 / a[-1]
        self._learned = row + 1
        return G

    def _open_row(self, row: int, sums: Array, qw: Array) -> None:
        """U of a row, from the sums of q w F from each row on."""
        i, old = self._open + row, self._old
        np.einsum("ij,ij->j", self.U[:i], sums[:, :old], out=self.U[i])
        self.U[i] += qw[:old]  # (6)

    def _project(self, row: int, F: Array) -> Array:
        """The row w = V k(X, x), for V as it is now."""
        old, filled, Vk = self._old, len(F), self._VB[row]
        w: Array = self._D[:filled, row] @ F
        late = self._suffix_sums(self.U[:filled], Vk)[:, 1:]
        w[:old] += Vk - np.einsum("ij,ij->j", F[:, :old], late)  # (7)
        return w

    def _variances(self, kxx: float, w: Array, q: Array) -> Array:
        """(2) for each row and the newborn, which is at least lam for a positive semidefinite kernel."""
        lam = self.solver.lam
        a = np.subtract.accumulate(np.concatenate([[lam + kxx], (q * w * w)[::-1]]))[::-1]  # (2)
        if not a[0] >= lam - SLACK * max(abs(kxx), lam):
            raise ValueError(not_positive(kxx, float(a[0] - lam)))
        a = np.maximum(a, lam)
        require_resolved(a[0], kxx, LEAST_SHARED)  # the oldest has the least
        return a

    def _suffix_sums(self, X: Array, v: Array) -> Array:
        """Sums of v X over columns j and later, for j = 0..n, the last of them 0. Valid until the next call."""
        sums = self._sums[: len(X), : len(v) + 1]
        products = sums[:, :-1]
        np.multiply(X, v, out=products)
        np.cumsum(products[:, ::-1], axis=1, out=products[:, ::-1])
        sums[:, -1] = 0.0
        return sums

    def _widen(self, targets: int) -> None:
        """More target coordinates, which are 0 in the past."""
        new = np.zeros((targets - self.targets, self.H.shape[1]))
        self.H = np.concatenate([self.H[: self.targets], new, self.H[self.targets :]])
        self._sums = np.empty_like(self.H)
        self.targets = targets


def _in_window(starts: NDArray[np.int64], rows: int, window: int | None) -> NDArray[np.bool_]:
    """Which rounds, that start at these rows, are among the last `window` rows."""
    within: NDArray[np.bool_] = rows - starts <= (rows if window is None else window)
    return within

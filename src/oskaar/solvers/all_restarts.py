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
    w_j = (V k)_j - F_j . (sum_{k>j} U_k (V k)_k - k(X_open, x))                                 (7)

where (6) is the product of the updates (4), rounding included. When b rows are open they are closed: V takes them
(`solvers.suffix_factor`), and applies (6) to its columns a few at a time, so that no round waits for all of it.

A round of n rows is learned with targets 0 first. Then, with F the columns of its rows,

    g_{s:t}(x_t) = -lam sum_{j>=s} q_j F_j C_j^T   (n, p),   and then C_j <- C_j + F_j h      (8)

Equivalent to tests/naive.py::kaar for each s, which solves (1) whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf

from oskaar.arrays import Array, random_signs
from oskaar.saved import require, require_count, require_floats, require_kind, require_number, saved
from oskaar.solvers.basis import Basis
from oskaar.solvers.rounding import LEAST_SHARED, SLACK, not_positive, require_resolved
from oskaar.solvers.suffix_factor import PANEL, TOGETHER, SuffixFactor

CHUNK = TOGETHER
"""The best size for a block: as many rows as are folded into V at a time."""

OPEN_ROWS = 12
"""Rows that stay open before V takes them."""

LEAST_ROWS = 16
"""Rows that are kept however many coordinates targets have."""

ROOM = 256
"""Columns that are reserved for rows to come."""

NOT_FINITE = "the kernel must return finite numbers, got inf or nan."


@saved("solver/all-restarts")
class AllRestarts:
    """All restarts of KAAR. Its state is plain arrays: V in panels, and its products with targets and open rows.

    `lam` is used as it is: for the shifted variant pass 4 lam, and observe 2 phi - g. With `window`, whole
    oldest rounds are forgotten, and their restarts with them, until at most that many rows are left. With `numbers`
    also until rows times target coordinates are at most so many; 16 rows are left however many coordinates there are.
    Blocks of any size, or of one row, give the same numbers; large ones cost O(m^2 t), and 24 rows are best.
    A round of which float64 would not keep six digits is refused (`solvers.rounding`).

    >>> solver = AllRestarts(lam=1.0)
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

    def __init__(self, lam: float, window: int | None = None, numbers: int | None = None) -> None:
        if not (lam > 0 and np.isfinite(lam)):
            raise ValueError(f"lam must be > 0 and finite, got {lam}: K + lam I has to be invertible.")
        if window is not None and window < 1:
            raise ValueError(f"window must be >= 1 row, got {window}: pass None to keep all rows.")
        self.lam, self.window, self.numbers = lam, window, numbers
        self.factor = SuffixFactor()
        self.products = Products()
        self.rounds = 0
        self.starts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # the first row of each round kept

    def reversed_factor(self, K: Array) -> Array:
        """L lower triangular with L L^T = M in reversed order, for K = k(X, X): what `fitted` has the inverse of."""
        M = K[::-1, ::-1].copy()
        M.flat[:: len(M) + 1] += self.lam
        L, failed = dpotrf(M.T, lower=1, overwrite_a=1)  # columns for LAPACK
        if failed:
            raise LinAlgError("K + lam I must be positive definite, and its numbers finite")
        factor: Array = L
        return factor

    def fitted(self, inverse: Array, H: Array, rounds: int) -> AllRestarts:
        """The same solver when the last of so many rounds of one row had the `reversed_factor` L, and targets H.

        inverse: L^-1. M = U U^T with U upper triangular, so that U^-1, which is L^-1 reversed, is V but for the scale
        of its rows.
        """
        V, scales = inverse[::-1, ::-1], np.diagonal(inverse)[::-1].copy()
        C = (inverse @ H[::-1])[::-1] / scales[:, None]
        V /= scales[:, None]
        new = AllRestarts(self.lam, self.window, self.numbers)
        new.factor, new.products = SuffixFactor.of(V), Products.of(scales**2, C.T)
        new.rounds, new.starts = rounds, np.arange(len(inverse))
        return new

    def most_rows(self, targets: int) -> int | None:
        """How many rows are kept at most, with so many target coordinates; None is all."""
        if self.numbers is None:
            return self.window
        most = max(LEAST_ROWS, self.numbers // max(1, targets))
        return most if self.window is None else min(most, self.window)

    @property
    def rows(self) -> int:
        """How many past rows are kept: B of `begin` has as many."""
        return self.products.n

    @property
    def targets_span(self) -> Array:
        """As many vectors (rows, p) as there are rows, which span their targets: C."""
        return self.products.C[: self.products.targets, : self.rows].T

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts but the newborn started."""
        return np.arange(self.rounds - len(self.starts), self.rounds)

    @property
    def operations(self) -> int:
        """About how many operations a round of one row takes."""
        return 4 * self.rows**2

    def growth(self, rows: int) -> int:
        """An upper bound of the bytes that so many more rows take."""
        n = self.rows
        panels = -(-(n + rows) // PANEL) - -(-n // PANEL)
        return 8 * (panels * PANEL * (n + rows + PANEL) + ROOM * (n + rows))

    def begin(self, B: Array, D: Array, ends: Any) -> RestartBlock:
        """Rounds to come, that end at rows `ends` of the m rows with B = k(X, x) (t, m), D = k(x, x) (m, m).

        Nothing changes until `commit`; a block that is not committed is a forecast.
        """
        ends = np.asarray(ends, dtype=np.int64)
        m = len(D)
        if B.shape != (self.rows, m) or D.shape != (m, m):
            raise ValueError(
                f"B must be ({self.rows}, m), a row for each row kept, and D (m, m); got {B.shape} and {D.shape}."
            )
        rising = len(ends) == 1 or (ends[1:] > ends[:-1]).all()
        if not len(ends) or ends[-1] != m or ends[0] < 1 or not rising:
            raise ValueError(f"ends must increase from at least 1 to {m}, got {ends.tolist()}.")
        if not (np.isfinite(B).all() and np.isfinite(D).all()):
            raise ValueError(NOT_FINITE)
        return RestartBlock(self, B, D, ends)

    def forecast_each(self, B: Array, diagonal: Array) -> tuple[Array, Array]:
        """(S, m, p): the experts on m rounds of one row, all from the present state; and (m, p) of `ridge`.

        B = k(X, x) (t, m), diagonal = k(x, x) (m,). The experts are those of `RestartBlock.estimates`.
        """
        if not (np.isfinite(B).all() and np.isfinite(diagonal).all()):
            raise ValueError(NOT_FINITE)
        old, products, m = self.factor.n, self.products, len(diagonal)
        starts = _in_window(np.append(self.starts, self.rows), self.rows, self.most_rows(products.targets))
        G, ridge = np.empty((m, products.targets, len(starts))), np.empty((m, products.targets))
        for i, (v, k, kxx) in enumerate(zip(self.factor.times(B[:old]), B[old:].T, diagonal.tolist(), strict=True)):
            step = products.step(products.project(v, k), kxx, self.lam)
            G[i] = (self.lam / step.a * step.sums)[:, starts]  # (3)
            ridge[i] = step.sums[:, 0]
        return G.transpose(2, 0, 1), ridge

    def commit(self, block: RestartBlock) -> None:
        """Learn a block whose rounds were all observed, made from this very state."""
        if block.solver is not self:
            raise ValueError("another solver has made this block: commit it there.")
        block.require_current()
        if block.observed < len(block.ends):
            raise ValueError(f"round {block.observed} of the block has no targets yet: call observe.")
        self.products = block.learned()
        self.starts = block.starts
        self.rounds += len(block.ends)
        rows = int(block.ends[-1])
        self.factor.advance(rows)
        if self.products.open >= OPEN_ROWS:
            self.factor.append(*self.products.close())  # (6)
            self.factor.advance(rows - 1)  # the work of a fold begins with the row after it, where rows come singly
        late = _in_window(self.starts, self.rows, self.most_rows(self.products.targets))
        if len(late) < len(self.starts):
            self._drop(late)

    def effective_dimensions(self, probes: int | None = None) -> Array:
        """d_eff(lam) = sum_{j>=s} 1 - lam q_j |V_j|^2 of the rows since each restart, the oldest first.

        probes: |V_j|^2 as the mean of (V b)_j^2 over so many random signs b; None, or more than the rows, is exact.
        """
        n, old = self.rows, self.factor.n
        estimated = probes is not None and probes < n
        B = random_signs(n, probes) if estimated and probes else np.eye(n)
        squares = np.zeros(n)
        for v, k in zip(self.factor.times(B[:old]), B[old:].T, strict=True):
            squares += self.products.project(v, k) ** 2
        shares = 1 - self.lam * self.products.q[:n] * squares / (len(B.T) if estimated else 1)
        dimensions: Array = np.cumsum(shares[::-1])[::-1][self.starts]
        return dimensions

    def oldest(self) -> tuple[float, Array]:
        """Of the oldest restart, log det(I + K / lam), and C with lam |C|^2 = min_g L(g)."""
        q, C = self.products.q[: self.rows], self.products.C[:, : self.rows]
        return -float(np.sum(np.log(q * self.lam))), (np.sqrt(q) * C).T

    def _drop(self, late: NDArray[np.int64]) -> None:
        k = int(late[0]) if len(late) else self.rows
        if k > self.factor.n:
            self.factor.append(*self.products.close())
        self.factor.drop(k)
        self.products.drop(k)
        self.starts = late - k

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_kind(self.factor, SuffixFactor, "the factor")
        require_kind(self.products, Products, "the products")
        require_count(self.rounds, "rounds")
        n, starts = self.products.n, self.starts
        require(self.products.old == self.factor.n, "the factor must have the closed rows")
        require(
            isinstance(starts, np.ndarray) and starts.dtype == np.int64 and starts.ndim == 1, "starts must be whole"
        )
        require(
            not len(starts) or (starts.min() >= 0 and starts.max() < n), "a restart must begin at a row that is kept"
        )
        require_number(self.lam, "lam", above=0.0)
        require(self.numbers is None or type(self.numbers) is int, "a limit of numbers must be whole")


@dataclass
class Step:
    """A row x that comes next, and what (4) to (6) need of it."""

    w: Array
    qw: Array
    a: Array
    sums: Array  # of q w C from each row on: (p, n + 1)


@saved("solver/all-restarts-products")
class Products:
    """q, C^T and F^T of n rows, and U of those that are open, in arrays with room to spare."""

    def __init__(self) -> None:
        self.n = self.old = self.targets = self.open = 0  # rows, those in V, p, b
        self.q = np.zeros(0)
        self.C, self.F, self.U = np.zeros((3, 0, 0))

    @classmethod
    def of(cls, q: Array, C: Array) -> Products:
        """From q (n,) and C^T (p, n) of rows that are closed."""
        new = cls()
        new.n = new.old = len(q)
        new.targets = len(C)
        new.q, new.C = q, np.ascontiguousarray(C)
        new.F, new.U = np.zeros((2, 0, len(q)))
        return new

    def project(self, Vk: Array, k: Array) -> Array:
        """The row w = V k(X, x), from V k for the closed rows and k(X_open, x)."""
        b, old, n = self.open, self.old, self.n
        late = np.empty((b, old + 1))
        np.multiply(self.U[:b, :old], Vk, out=late[:, :old])
        late[:, old] = -k
        np.add.accumulate(late[:, ::-1], axis=1, out=late[:, ::-1])
        w = np.empty(n)
        np.einsum("ij,ij->j", self.F[:b, :old], late[:, 1:], out=w[:old])
        np.subtract(Vk, w[:old], out=w[:old])  # (7)
        np.matmul(k, self.F[:b, old:n], out=w[old:])
        return w

    def step(self, w: Array, kxx: float, lam: float) -> Step:
        """The next row with w = V k(X, x); refused if rounding has eaten its variance."""
        n = self.n
        qw, a = self.q[:n] * w, np.empty(n + 1)
        a[n] = lam + kxx
        np.multiply(qw, w, out=a[:n])
        np.subtract.accumulate(a[::-1], out=a[::-1])  # (2), at least lam for a positive semidefinite kernel
        if not a[0] >= lam:  # the oldest has the least
            if not a[0] >= lam - SLACK * max(abs(kxx), lam):
                raise ValueError(not_positive(kxx, float(a[0] - lam)))
            np.maximum(a, lam, out=a)
        if not a[0] >= LEAST_SHARED * kxx:
            require_resolved(a[0], kxx, LEAST_SHARED)
        return Step(w, qw, a, _suffix_sums(self.C[: self.targets, :n], qw))

    def learn(self, step: Step) -> None:
        """The next row with target 0; it stays open."""
        self.reserve(1, 1)
        n, b, old, a = self.n, self.open, self.old, step.a
        ratio = step.w / a[1:]
        sums = _suffix_sums(self.F[:b, :n], step.qw)
        np.einsum("ij,ij->j", self.U[:b, :old], sums[:, :old], out=self.U[b, :old])
        self.U[b, :old] += step.qw[:old]  # (6)
        for X, late in ((self.C[: self.targets], step.sums[:, 1:]), (self.F[:b], sums[:, 1:])):
            late *= ratio
            X[:, :n] += late  # (4)
            X[:, n] = 0.0
        self.F[b, :n] = -ratio  # (4) with target 1
        self.F[b, n] = 1.0
        self.q[:n] *= a[1:] / a[:-1]  # (5)
        self.q[n] = 1 / a[n]
        self.n, self.open = n + 1, b + 1

    def observe(self, H: Array) -> None:
        """The last rows have targets H (m, p or more), not 0."""
        if H.shape[1] > self.targets:
            self._widen(H.shape[1])
        last = self.F[self.open - len(H) : self.open, : self.n]
        self.C[: self.targets, : self.n] += H.T @ last  # (8)

    def close(self) -> tuple[Array, Array]:
        """U and F of the open rows, that are in V from now on. Valid until the next row."""
        U, F = self.U[: self.open, : self.old], self.F[: self.open, : self.n]
        self.old, self.open = self.n, 0
        return U, F

    def drop(self, k: int) -> None:
        """Forget the k oldest rows, which are closed."""
        self.n, self.old = self.n - k, self.old - k
        self.q, self.C, self.F, self.U = self.q[k:], self.C[:, k:], self.F[:, k:], self.U[:, k:]

    def turned(self, T: Array) -> None:
        """Targets are T h in place of h, with T (q, p)."""
        C = np.empty((len(T), len(self.q)))
        np.matmul(T, self.C[: self.targets, : self.n], out=C[:, : self.n])
        self.C, self.targets = C, len(T)

    def copy(self, rows: int) -> Products:
        """The same, with arrays of its own that have room for so many more rows."""
        twin = Products()
        vars(twin).update(vars(self))
        twin._move(rows, rows)
        return twin

    def reserve(self, rows: int, columns: int) -> None:
        """Make room for so many more rows."""
        if self.open + rows > len(self.F) or self.n + columns > len(self.q):
            self._move(max(rows, OPEN_ROWS - self.open), ROOM)

    def _move(self, rows: int, columns: int) -> None:
        """To new arrays, with room for so many more open rows, and rows of any kind."""
        n, b, width = self.n, self.open, self.n + columns
        q, C, F, U = np.empty(width), *(np.empty((m, width)) for m in (self.targets, b + rows, b + rows))
        q[:n] = self.q[:n]
        C[:, :n], F[:b, :n] = self.C[:, :n], self.F[:b, :n]
        U[:b, : self.old] = self.U[:b, : self.old]
        self.q, self.C, self.F, self.U = q, C, F, U

    def _widen(self, targets: int) -> None:
        """More target coordinates, which are 0 in the past."""
        C = np.zeros((targets, len(self.q)))
        C[: self.targets, : self.n] = self.C[:, : self.n]
        self.C, self.targets = C, targets

    def __getstate__(self) -> dict[str, Any]:
        n, b, old = self.n, self.open, self.old
        arrays = {"q": self.q[:n], "C": self.C[:, :n], "F": self.F[:b, :n], "U": self.U[:b, :old]}
        return vars(self) | {name: X.copy() for name, X in arrays.items()}

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        n, old, p, b = (require_count(getattr(self, size), size) for size in ("n", "old", "targets", "open"))
        require_floats(self.q, self.C, self.F, self.U)
        require(n == old + b, "open rows must fit")
        require(self.q.shape == (n,) and self.C.shape == (p, n), "targets must fit")
        require(self.F.shape == (b, n) and self.U.shape == (b, old), "open rows must fit")


class RestartBlock:
    """Some rounds in turn: `estimates` of all experts, then `observe` the targets. Made by `begin`."""

    def __init__(self, solver: AllRestarts, B: Array, D: Array, ends: NDArray[np.int64]) -> None:
        self.solver, self.ends, self.rounds_before = solver, ends, solver.rounds
        n, m, old = solver.rows, len(D), solver.factor.n
        self.observed = 0
        self._single = m == 1  # which is learned in place, when it is committed
        self._products = solver.products if self._single else solver.products.copy(m)
        self._VB = solver.factor.times(B[:old])
        self._D = np.concatenate([B[old:], D])  # k(X_open, x), where the block's rows open one by one
        self._open = len(B) - old  # rows open before the block
        self._step: Step | None = None
        self._G: Array | None = None
        self._H = np.zeros((0, solver.products.targets))
        self.basis: Basis | None = None
        self.starts = np.concatenate([solver.starts, [n], n + ends[:-1]])

    @property
    def targets(self) -> int:
        """The number of coordinates, p."""
        return self._H.shape[1]

    def in_basis(self, basis: Basis) -> None:
        """From now on targets and estimates are coordinates in a basis that spans the targets so far."""
        assert not self._single
        self._products.turned(basis.Q)
        self.basis, self._H = basis, np.zeros((0, basis.p))

    def require_current(self) -> None:
        """Refuse a block that was made from another state."""
        if self.rounds_before != self.solver.rounds:
            raise ValueError("the block is stale: the solver has learned since it was begun.")

    def restarts(self, i: int) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts of `estimates(i)` started."""
        now = self.rounds_before + i
        return np.arange(now + 1 - len(self.estimates(i)), now + 1)

    def estimates(self, i: int) -> Array:
        """(S, n, p): the estimates of the experts for the n rows of round i, the oldest restart first.

        The experts are those of the last S rounds, and the last is the newborn, which says 0. All rounds
        before i have been observed.
        """
        if i != self.observed or i == len(self.ends):
            raise ValueError(f"round {self.observed} of {len(self.ends)} comes next, got {i}: rounds go in turn.")
        if self._G is None:
            self.require_current()
            lo, hi = int(self.ends[i - 1]) if i else 0, int(self.ends[i])
            starts = self.starts[: len(self.starts) - len(self.ends) + i + 1]
            most = self.solver.most_rows(self._products.targets if self.basis is None else self.basis.columns)
            starts = _in_window(starts, self.solver.rows + lo, most)
            self._G = self._one(lo, starts) if hi - lo == 1 else self._joint(lo, hi, starts)
        return self._G

    def ridge(self, i: int) -> Array:
        """(1, p): ridge regression on all rows, for round i of one row: (3) for the oldest, without lam / a."""
        self.estimates(i)
        assert self._step is not None
        return self._step.sums[:, :1].T

    def observe(self, i: int, H: Array) -> None:
        """Give round i its targets (n, q); they may have more columns than all before them."""
        rows = self.estimates(i).shape[1]
        if H.ndim != 2 or H.shape[0] != rows or H.shape[1] < self.targets:
            raise ValueError(f"round {i} needs targets ({rows}, {self.targets} or more), got {H.shape}.")
        self._H, self._G, self.observed = H.copy(), None, i + 1
        if not self._single:
            self._learn()

    def learned(self) -> Products:
        """The products after all rounds; those of the solver itself, changed, if there is one row."""
        if self._single:
            self._learn()
        elif self.basis is not None:
            self._products.turned(self.basis.Q[: self._products.targets].T)
        return self._products

    def _learn(self) -> None:
        """Learn the round that was observed last."""
        if self._step is not None:
            self._products.learn(self._step)
            self._step = None
        self._products.observe(self._H)

    def _one(self, row: int, starts: NDArray[np.int64]) -> Array:
        """The estimates of a round of one row."""
        self._step = step = self._next(row)
        G = self.solver.lam / step.a * step.sums  # (3)
        contiguous = G.shape[1] - starts[0] == len(starts)  # all rounds so far are of one row
        here = slice(starts[0], None) if contiguous else starts
        return G[:, here].T[:, None]

    def _joint(self, lo: int, hi: int, starts: NDArray[np.int64]) -> Array:
        """The estimates of a round of several rows, which are learned with targets 0 first."""
        products = self._products
        for row in range(products.n - self.solver.rows, hi):
            products.learn(self._next(row))
        n, b, p = products.n, products.open, products.targets
        C = products.q[:n] * products.C[:p, :n]
        G = np.empty((hi - lo, p, len(starts)))
        for g, f in zip(G, products.F[b - len(G) : b, :n], strict=True):
            np.cumsum(np.add.reduceat(f * C, starts, axis=1)[:, ::-1], axis=1, out=g[:, ::-1])  # (8)
        G *= -self.solver.lam
        return G.transpose(2, 0, 1)

    def _next(self, row: int) -> Step:
        """The next row of the block."""
        opened = self._open + row
        w = self._products.project(self._VB[row], self._D[:opened, row])
        return self._products.step(w, float(self._D[opened, row]), self.solver.lam)


def _suffix_sums(X: Array, v: Array) -> Array:
    """Sums of v X over columns j and later, for j = 0..n, the last of them 0."""
    sums = np.empty((len(X), len(v) + 1))
    products = sums[:, :-1]
    np.multiply(X, v, out=products)
    np.add.accumulate(products[:, ::-1], axis=1, out=products[:, ::-1])
    sums[:, -1] = 0.0
    return sums


def _in_window(starts: NDArray[np.int64], rows: int, window: int | None) -> NDArray[np.int64]:
    """The rounds, of those that start at these rows, that are among the last `window` rows."""
    return starts if window is None else starts[rows - starts <= window]

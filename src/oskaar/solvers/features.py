r"""KAAR in feature space: the same cost and memory at every round, for ever.

With features z of dimension D, over the rows that are folded in,

    A = lam I + Z^T Z = F^T F,   B = Z^T Phi,   P = F^-1,   Theta = P^T B                             (1)

A row becomes u = z P: a standard normal prior, one kernel <u, u'> and the mean u Theta. On top of that the rows
that are still open are KAAR in the dual with lam = 1 (`solvers.chunks`): S = I + U U^T = L L^T, J = L^-1,

    W = u U^T J^T,   R R^T = I + u u^T - W W^T,   M = u Theta + W C,   g = R^-T R^-1 M                (2)

For one row and nothing open this is g = u Theta / (1 + |u|^2). Once there are about D open rows they are folded
into A and B, and P and Theta are computed afresh, so no inverse drifts. Features that appear later were 0 before.
Equivalent to tests/naive.py::kaar with the kernel <z, z'>.

A round of many rows, to be folded in at once, is hedged in (1) itself:  g = Z (A + Z^T Z)^-1 B       (3)
The functions g_1, ..., g_T add up to one (D, p) matrix, for the average g_bar_T                      (4)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from oskaar.arrays import Array, fit_columns
from oskaar.solvers.chunks import in_turn
from oskaar.solvers.openrows import OpenRows, round_of_row
from oskaar.solvers.rounding import require_rows
from oskaar.solvers.triangles import bordered, inverse_factor, root

LEAST_OPEN, MOST_OPEN = 64, 512
"""How many rows are open at the most before they are folded in: about D, between these."""


@dataclass(frozen=True)
class FeatureForecast:
    """Rounds to come: their estimates G, and what learning them needs (2). Valid until the next update."""

    G: Array
    Z: Array
    U: Array
    W: Array
    R: Array
    E: Array
    C: Array | None = None
    H: Array | None = None
    ends: Any = None
    hedged: tuple[Array, Array, Array] | None = None  # A, P and the function of (3)


class FeatureSolver:
    """KAAR on features. Its state is plain arrays whose size depends on D and p only.

    >>> solver = FeatureSolver(lam=1.0)
    >>> solver.update(solver.forecast(np.array([[1.0]])), np.array([[2.0]]))
    >>> solver.forecast(np.array([[1.0]])).G
    array([[0.66666667]])
    """

    def __init__(self, lam: float, shifted: bool = False) -> None:
        self.shifted = shifted
        self.lam = 4 * lam if shifted else lam
        self.A, self.B = np.zeros((0, 0)), np.zeros((0, 0))
        self.P, self.Theta = np.zeros((0, 0)), np.zeros((0, 0))
        self.total = np.zeros((0, 0))
        self.rounds = 0
        self.open = OpenRows()

    @property
    def dim(self) -> int:
        """How many features there are so far."""
        return max(len(self.A), self.open.dim)

    @property
    def room(self) -> int:
        """How many rows may be open."""
        return max(LEAST_OPEN, min(self.dim, MOST_OPEN))

    def forecast(self, Z: Array) -> FeatureForecast:
        """The estimate for one round with features Z (n, D)."""
        if len(Z) >= max(self.room, Z.shape[1] // 2):  # it would be folded in at once: (3) is cheaper
            return self._hedged(Z)
        U, W, M = self._past(Z)
        if len(Z) == 1:
            R = np.sqrt(np.maximum(1.0 + U[0] @ U[0] - W[0] @ W[0], 1.0))[None, None]
            E = M / R
            return FeatureForecast(E / R, Z, U, W, R, E)  # (2)
        R = root(U, W)
        E = solve_triangular(R, M, lower=True)
        return FeatureForecast(solve_triangular(R, E, lower=True, trans=1), Z, U, W, R, E)

    def forecast_each(self, Z: Array) -> Array:
        """The estimates (m, p) for m rounds of one row each, all from the present state."""
        U, W, M = self._past(Z)
        s = np.maximum(1.0 + np.einsum("ij,ij->i", U, U) - np.einsum("ij,ij->i", W, W), 1.0)
        estimates: Array = M / s[:, None]
        return estimates

    def update(self, forecast: FeatureForecast, Phi: Array) -> None:
        """Learn a round whose forecast was just made; Phi (n, q) may have more columns than before."""
        target = 2 * Phi - fit_columns(forecast.G, Phi.shape[1]) if self.shifted else Phi
        if forecast.hedged is not None:
            self._learn_hedged(forecast, target)
            return
        M = fit_columns(forecast.R @ forecast.E, Phi.shape[1])
        C = (target - M) / forecast.R if len(Phi) == 1 else solve_triangular(forecast.R, target - M, lower=True)
        self._append(forecast, C, fit_columns(forecast.E, Phi.shape[1]), target, [len(Phi)])

    def forecast_chunk(self, Z: Array, Phi: Array, ends: Any) -> FeatureForecast:
        """The estimates for rounds that end at rows `ends`, each after the labels of those before it."""
        if len(ends) == 1:
            forecast = self.forecast(Z)
            target = 2 * Phi - fit_columns(forecast.G, Phi.shape[1]) if self.shifted else Phi
            return replace(forecast, H=target)
        U, W, M = self._past(Z)
        R = root(U, W)
        C, E, G = in_turn(R, M, Phi, ends, 1.0, self.shifted)
        targets = 2 * Phi - G if self.shifted else Phi
        return FeatureForecast(G, Z, U, W, R, E, C, targets, ends)

    def append(self, chunk: FeatureForecast) -> None:
        """Learn the rounds of a chunk whose forecast was just made."""
        assert chunk.H is not None
        if chunk.C is None:
            target = (chunk.H + fit_columns(chunk.G, chunk.H.shape[1])) / 2 if self.shifted else chunk.H
            self.update(chunk, target)
        else:
            self._append(chunk, chunk.C, chunk.E, chunk.H, chunk.ends)

    def average(self, Z: Array) -> Array:
        """g_bar_T at rows with features Z: the mean of the functions g_1, ..., g_T, and 0 when T = 0."""
        if self.rounds == 0:
            return np.zeros((len(Z), self.Theta.shape[1]))
        total = self._total()
        mean: Array = fit_columns(Z, len(total)) @ total / self.rounds
        return mean

    def effective_dimension(self, probes: int | None = None) -> float:
        """Tr(K (K + lam I)^-1) over all rows, = D - lam Tr(A^-1), which is quick: no need of probes."""
        P = inverse_factor(self._gram(self.dim))
        return float(len(P) - self.lam * np.sum(P**2))

    def log_determinant(self) -> float:
        """Log det(I + K / lam) = log det(A / lam)."""
        return float(
            -2 * np.sum(np.log(np.diagonal(inverse_factor(self._gram(self.dim))))) - self.dim * np.log(self.lam)
        )

    def rebuilt(self, Z: Array, H: Array) -> FeatureSolver:
        """The same learner with other features Z (t, D) for all its rows, whose targets were H (t, p)."""
        require_rows(self.lam, Z)
        new = FeatureSolver(self.lam)
        new.shifted, new.rounds = self.shifted, self.rounds
        new.A, new.B = bordered(np.zeros((0, 0)), Z.shape[1], self.lam) + Z.T @ Z, Z.T @ H
        new.total = _padded(self._total(), Z.shape[1], H.shape[1])
        new.P = inverse_factor(new.A)
        new.Theta = new.P.T @ new.B
        return new

    # ---------------------------------------------------------------- inside

    def _past(self, Z: Array) -> tuple[Array, Array, Array]:
        """(2): U, W and the mean M of rows."""
        require_rows(self.lam, Z)
        D = len(self.P)
        U = Z[:, :D] @ self.P
        if Z.shape[1] > D:
            U = np.concatenate([U, Z[:, D:] / np.sqrt(self.lam)], axis=1)
        M = U[:, :D] @ self.Theta
        rows = self.open
        if not rows.n:
            return U, np.zeros((len(Z), 0)), M
        W = U[:, : rows.dim] @ rows.U.T @ rows.J.T
        C = rows.C
        return U, W, fit_columns(M, C.shape[1]) + W @ C

    def _append(self, f: FeatureForecast, C: Array, E: Array, H: Array, ends: Any) -> None:
        """Rows are open from now on; they are folded in when there are enough of them."""
        n = len(f.Z)
        if n > 1 and self.open.n + n >= self.room:
            self._fold_chunk(f, C, E, H, ends)
            return
        R = 1.0 / f.R if n == 1 else np.tril(dtrtri(f.R, lower=1)[0])
        J = np.concatenate([-(R @ f.W) @ self.open.J, R], axis=1) if f.W.size else R
        self.open.append(f.Z, f.U, C, E, H, J, ends)
        self.rounds += len(ends)
        if self.open.n >= self.room:
            self._adopt(self._gram(self.dim), self._moments(self.dim), self._total())

    def _fold_chunk(self, f: FeatureForecast, C: Array, E: Array, H: Array, ends: Any) -> None:
        """Fold the open rows and those of a chunk, which then need no inverse of their own."""
        D, p, r = max(self.dim, f.Z.shape[1]), H.shape[1], len(ends)
        A, B = self._gram(D), _padded(self._moments(D), D, p)
        A[: f.Z.shape[1], : f.Z.shape[1]] += f.Z.T @ f.Z
        B[: f.Z.shape[1], :p] += f.Z.T @ H
        Q = (r - 1 - round_of_row(ends)) * C - E
        last = solve_triangular(f.R, Q, lower=True, trans=1, check_finite=False)  # L^-T of old and new rows
        first = r * fit_columns(self.open.C, p) - f.W.T @ last
        total = self._total_of(D, p, r, first, f.U, last)
        self.rounds += r
        self._adopt(A, B, total)

    def _adopt(self, A: Array, B: Array, total: Array) -> None:
        """All rows are folded in, factorised afresh (1)."""
        P = inverse_factor(A)
        self.A, self.B, self.total, self.P, self.Theta = A, B, total, P, P.T @ B
        self.open = OpenRows()

    def _gram(self, D: int) -> Array:
        A, Z = bordered(self.A, D, self.lam), self.open.Z
        A[: Z.shape[1], : Z.shape[1]] += Z.T @ Z
        return A

    def _moments(self, D: int) -> Array:
        H, Z = self.open.H, self.open.Z
        B = _padded(self.B, D, H.shape[1])
        B[: Z.shape[1], : H.shape[1]] += Z.T @ H
        return B

    def _total(self) -> Array:
        """(4), with the functions of the open rounds."""
        if not self.open.rounds:
            return self.total
        none, C = np.zeros((0, 0)), self.open.C
        return self._total_of(self.dim, C.shape[1], 0, np.zeros(C.shape), none, none)

    def _total_of(self, D: int, p: int, more: int, late: Array, U: Array, last: Array) -> Array:
        """(4), when `more` rounds follow the open ones, in which the open rows have coordinates `late` more.

        n rounds add  P (n Theta + U^T J^T ((n - r) C - E)),  where r is the round of a row.
        """
        rows = self.open
        P, inner = bordered(self.P, D, 1 / np.sqrt(self.lam)), (rows.rounds + more) * _padded(self.Theta, D, p)
        if rows.n:
            mine = fit_columns((rows.rounds - 1 - rows.round) * rows.C - rows.E, p) + late
            inner[: rows.dim, :p] += rows.U.T @ (rows.J.T @ mine)
        if more:
            inner[: U.shape[1], :p] += U.T @ last
        return _padded(self.total, D, inner.shape[1]) + P @ inner

    def _hedged(self, Z: Array) -> FeatureForecast:
        """(3): a round of so many rows that its own Gram matrix is the smaller one."""
        require_rows(self.lam, Z)
        D = max(self.dim, Z.shape[1])
        A = self._gram(D)
        A[: Z.shape[1], : Z.shape[1]] += Z.T @ Z
        P = inverse_factor(A)
        function = P @ (P.T @ self._moments(D))
        none = np.zeros((0, 0))
        return FeatureForecast(fit_columns(Z, D) @ function, Z, none, none, none, none, hedged=(A, P, function))

    def _learn_hedged(self, forecast: FeatureForecast, target: Array) -> None:
        assert forecast.hedged is not None
        A, P, function = forecast.hedged
        B = _padded(self._moments(len(A)), len(A), target.shape[1])
        B[: forecast.Z.shape[1]] += forecast.Z.T @ fit_columns(target, B.shape[1])
        total = _padded(self._total(), len(A), B.shape[1])
        total[:, : function.shape[1]] += function
        self.A, self.B, self.total, self.P, self.Theta = A, B, total, P, P.T @ B
        self.rounds += 1
        self.open = OpenRows()


def _padded(B: Array, rows: int, columns: int) -> Array:
    """A copy with zeros for the rows and columns that B does not have."""
    grown = np.zeros((rows, max(columns, B.shape[1])))
    grown[: B.shape[0], : B.shape[1]] = B
    return grown

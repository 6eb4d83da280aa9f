r"""KAAR in the dual: ridge regression that also hedges the rows it must predict.

    g_t = argmin_g  sum_{s<t} |g(x_s) - phi_s|^2 + |g(x_t)|^2 + lam |g|^2                     (1)

With M = K + lam I = L L^T over the past rows, C = L^-1 Phi, and for the n rows of a round
B = k(x_t, X), D = k(x_t, x_t):

    W = B L^-T,   R R^T = lam I + D - W W^T,   E = R^-1 W C                                   (2)
    g_t(x_t) = lam R^-T E                                                                     (3)

Learning phi_t appends the rows [W, R] to L and R^-1 (phi_t - W C) to C                       (4)
so a round is one triangular solve and nothing is fitted again. For n = 1, R^2 = s and (3) is (lam / s) W C.

The shifted variant, paper eq. (hat gt shifted), is the same with 4 lam for lam and
h_t = 2 phi_t - g_t(x_t) for phi_t                                                            (5)

The average of the functions g_1, ..., g_T has L^-1 coordinates Q_j = (T - r_j) C_j - E_j, where r_j is the
round of row j:   g_bar_T(x) = W Q / T                                                        (6)

Equivalent to tests/naive.py::kaar, which solves (1) whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.blas import dsyrk

from oskaar.arrays import Array, Growing, fit_columns, random_signs, require_growing, spans
from oskaar.saved import require, require_count, require_kind, require_number, saved
from oskaar.solvers.cholesky import PANEL, PanelCholesky
from oskaar.solvers.chunks import in_turn, means, target_of
from oskaar.solvers.pending_rows import round_of_row
from oskaar.solvers.rounding import LEAST, SLACK, not_positive, require_resolved


@dataclass(slots=True)
class Forecast:
    """What a round's rows are to the past: (2), and the estimate (3). Valid until the next update."""

    W: Array
    R: Array
    E: Array
    G: Array


@dataclass(slots=True)
class Chunk:
    """Several rounds, predicted in turn: their estimates G, and the rows that learning them appends."""

    G: Array
    W: Array
    R: Array
    C: Array
    E: Array
    ends: Any


@saved("solver/kaar")
class ExactSolver:
    """KAAR on all rows seen. Its state is plain arrays: L in panels, C, E, the round of each row.

    averaged: whether E and the rounds of rows are kept, which averages and label weights need.

    >>> solver = ExactSolver(lam=1.0)
    >>> solver.update(solver.forecast(np.zeros((1, 0)), np.array([[1.0]])), np.array([[2.0]]))
    >>> solver.forecast(np.array([[1.0]]), np.array([[1.0]])).G     # (K + I)^-1 [2, 0], at x
    array([[0.66666667]])
    """

    def __init__(self, lam: float, shifted: bool = False, panel: int = PANEL, averaged: bool = True) -> None:
        self.shifted, self.averaged = shifted, averaged
        self.lam = 4 * lam if shifted else lam  # (5)
        self.factor = PanelCholesky(panel)
        self.C, self.E = Growing(0), Growing(0)
        self.round_of_row = Growing(1, np.int64)
        self.rounds = 0
        self._trace = (0, 0.0)  # rows counted, sum of squares of their rows of L^-1

    @property
    def operations(self) -> int:
        """About how many operations a round of one row takes: one triangular solve."""
        return self.factor.n**2 + 4 * self.factor.n * self.C.shape[1]

    def growth(self, rows: int, full: bool = True) -> int:
        """The bytes that so many more rows take in the factor and in the targets, which grow by halves."""
        numbers = self.C.shape[1] + self.E.shape[1]
        return self.factor.growth(rows) + 8 * numbers * max(rows, self.factor.n // 2)

    def forecast(self, B: Array, D: Array) -> Forecast:
        """The estimate for one round of n rows, B = k(x, X) (n, t), D = k(x, x) (n, n)."""
        if len(B) == 1:
            w = self.factor.forward(B[0])  # (2)
            r = sqrt(self._variance(D.item(), w))
            E = w.dot(self.C.view)[None] / r
            return Forecast(w[None], np.array([[r]]), E, self.lam / r * E)  # (3)
        W = self.factor.forward(B)  # (2)
        R = self._root(D, W)
        E, G = self._hedged(R, W @ self.C.view)
        return Forecast(W, R, E, G)

    def forecast_each(self, B: Array, diagonal: Array) -> tuple[Array, Array]:
        """m rounds of one row, all from the present state: W C (m, p) and lam / s (m, 1), whose product is (3)."""
        W = self.factor.forward(B)
        s = np.array([self._variance(d, w) for d, w in zip(diagonal, W, strict=True)])
        return W @ self.C.view, (self.lam / s)[:, None]

    def forecast_rounds(self, B: Array, D: Array, ends: Any) -> Array:
        """The estimates for rounds that end at rows `ends`, all from the present state: one solve for all rows."""
        W = self.factor.forward(B)
        M = W @ self.C.view
        return np.concatenate(
            [self._hedged(self._root(D[lo:hi, lo:hi], W[lo:hi]), M[lo:hi])[1] for lo, hi in spans(ends)]
        )

    def unhedged(self, forecast: Forecast | Chunk) -> Array:
        """W C (n, p): ridge regression, without KAAR's last penalty."""
        return means(forecast.R, forecast.E, getattr(forecast, "ends", None))

    def update(self, forecast: Forecast, Phi: Array) -> None:
        """Learn a round whose forecast was just made; Phi (n, q) may have more columns than before."""
        W, R = forecast.W, forecast.R
        E = fit_columns(forecast.E, Phi.shape[1])
        M = R.item() * E if len(R) == 1 else R @ E
        target = target_of(Phi, forecast.G, self.shifted)  # (5)
        C = (target - M) / R if len(R) == 1 else solve_triangular(R, target - M, lower=True)  # (4)
        self.append(Chunk(forecast.G, W, R, C, E, [len(Phi)]))

    def forecast_chunk(self, B: Array, D: Array, Phi: Array, ends: Any) -> Chunk:
        """The estimates for rounds that end at rows `ends` of a chunk, each after the labels of those before it.

        One Cholesky of the chunk gives every round's R on its diagonal, so the whole chunk costs matrix
        products. Equivalent to `forecast` and `update` in turn, for each round, but nothing is learned before
        `append`. Raises LinAlgError where rounding makes the chunk singular: then rounds have to go in turn.
        """
        W = self.factor.forward(B)
        R = self._chunk_root(D, W)
        C, E, G = in_turn(R, W @ self.C.view, Phi, ends, self.lam, self.shifted)
        return Chunk(G, W, R, C, E, ends)

    def append(self, chunk: Chunk) -> None:
        """Learn the rounds of a chunk whose forecast was just made."""
        self.factor.append(chunk.W, chunk.R)
        self.C.append(chunk.C)
        if self.averaged:
            self.E.append(chunk.E)
            self.round_of_row.append(self.rounds + round_of_row(chunk.ends, len(chunk.C))[:, None])
        self.rounds += len(chunk.ends)

    def fitted(self, K: Array, Phi: Array) -> ExactSolver:
        """A solver with the same lam that has learned rounds of one row with the Gram matrix K and targets Phi."""
        new, n = ExactSolver(self.lam, averaged=self.averaged), len(K)
        try:
            new.append(new.forecast_chunk(np.zeros((n, 0)), K, Phi, np.arange(1, n + 1)))
        except LinAlgError:
            for i in range(n):
                new.update(new.forecast(K[i : i + 1, :i], K[i : i + 1, i : i + 1]), Phi[i : i + 1])
        return new

    def label_weights(self, forecast: Forecast) -> Array:
        """beta (n, t): g_hat = beta Phi over all past rows."""
        R = forecast.R
        weights = solve_triangular(R, solve_triangular(R, forecast.W, lower=True), lower=True, trans=1)
        weights *= self.lam
        return self._shifted_weights(weights) if self.shifted else self.factor.backward(weights)

    def average(self, forecast: Forecast) -> Array:
        """g_bar_T at the forecast's rows: the mean of the functions g_1, ..., g_T, and 0 when T = 0."""
        if self.rounds == 0:
            return np.zeros_like(forecast.G)
        left = self.rounds - 1 - self.round_of_row.view
        mean: Array = forecast.W @ (left * self.C.view - self.E.view) / self.rounds  # (6)
        return mean

    def hedged_average(self, B: Array, diagonal: Array) -> Array:
        """1/T sum_t g_t(x) with every g_t hedged at x itself, (m, p), for rounds of one row.

        With w = L^-1 k(X, x), s_t = lam + k(x, x) - sum_{j<t} w_j^2:  1/T sum_t lam / s_t sum_{j<t} w_j C_j.
        """
        W = self.factor.forward(B)
        squares = W**2
        shares = self.lam / (self.lam + diagonal[:, None] - np.cumsum(squares, axis=1) + squares)
        later = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1] - shares
        mean: Array = (W * later) @ self.C.view / max(self.rounds, 1)
        return mean

    def effective_dimension(self, probes: int | None = None) -> float:
        """Tr(K (K + lam I)^-1) = n - lam |L^-1|^2, over all rows; it costs only the rows since the last call.

        probes: the mean of |L^-1 b|^2 for so many random signs b in place of |L^-1|^2, whose deviation is at most
        sqrt(2 d_eff / probes); None, or where there are fewer rows than that, is exact.
        """
        done, total = self._trace
        n = self.factor.n
        if probes is not None and probes < n - done:
            W = self.factor.forward(random_signs(n, probes).T)
            return n - self.lam * float(np.sum(W**2)) / probes
        for lo in range(done, n, 512):
            hi = min(lo + 512, n)
            rows = self.factor.rows(lo, hi)
            inverse = solve_triangular(rows[:, lo:], np.eye(hi - lo), lower=True)
            before = self.factor.backward(inverse @ rows[:, :lo])
            total += float(np.sum(inverse**2) + np.sum(before**2))
        self._trace = (n, total)
        return n - self.lam * total

    def log_determinant(self) -> float:
        """Log det(I + K / lam)."""
        return float(np.sum(2 * np.log(self.factor.diagonal()) - np.log(self.lam)))

    def trace(self) -> float:
        """Tr(K) = |L|^2 - n lam, over all rows."""
        n = self.factor.n
        squares = [np.sum(self.factor.rows(lo, min(lo + 512, n)) ** 2) for lo in range(0, n, 512)]
        return float(sum(squares)) - n * self.lam

    def targets(self) -> Array:
        """The targets learned, (n, p), L C: phi, or h of (5) when shifted."""
        n, C = self.factor.n, self.C.view
        rows = [(self.factor.rows(lo, min(lo + 512, n)), min(lo + 512, n)) for lo in range(0, n, 512)]
        return np.concatenate([L @ C[:hi] for L, hi in rows]) if rows else np.zeros((0, C.shape[1]))

    def _variance(self, kxx: float, w: Array) -> float:
        """lam + k(x, x) - |w|^2, which is at least lam for a positive semidefinite kernel."""
        s = float(self.lam + kxx - w.dot(w))
        if not s >= self.lam:
            if not s >= self.lam - SLACK * max(abs(kxx), self.lam):
                raise ValueError(not_positive(kxx, s - self.lam))
            s = self.lam
        if not s >= LEAST * kxx:
            require_resolved(s, kxx)
        return s

    def _hedged(self, R: Array, M: Array) -> tuple[Array, Array]:
        """E and the estimate of a round with M = W C."""
        E = solve_triangular(R, M, lower=True)
        return E, self.lam * solve_triangular(R, E, lower=True, trans=1)  # (3)

    def _root(self, D: Array, W: Array) -> Array:
        """R of (2); row by row where rounding would push a variance below 0."""
        S, diagonal = D - W @ W.T, np.diagonal(D)
        try:
            whole: Array = cholesky(S + self.lam * np.eye(len(S)), lower=True, check_finite=False)
            if np.all(np.diagonal(whole) ** 2 >= np.maximum(self.lam, LEAST * diagonal)):
                return whole
        except LinAlgError:
            pass
        return conditional_root(S, diagonal, self.lam)

    def _chunk_root(self, D: Array, W: Array) -> Array:
        S = dsyrk(-1.0, W.T, beta=1.0, c=D.T, trans=1, lower=1) if W.size else D.T.copy(order="F")
        S[np.diag_indices_from(S)] += self.lam
        R: Array = cholesky(S, lower=True, overwrite_a=True, check_finite=False)
        if not np.all(np.diagonal(R) ** 2 >= np.maximum(self.lam, LEAST * np.diagonal(D))):
            raise LinAlgError("a conditional variance is below 0, or too small for float64")
        return R

    def _shifted_weights(self, weights: Array) -> Array:
        """Weights on C turned into weights on Phi, where the targets of (5) hold earlier estimates.

        C solves  R_b C_b = 2 Phi_b - (I + lam (R_b R_b^T)^-1) W_b C  round by round; this solves the
        transposed system from the last round to the first.
        """
        beta = weights.copy()
        ends = np.searchsorted(self.round_of_row.view[:, 0], np.arange(self.rounds), side="right")
        for lo, hi in reversed(spans(ends)):
            rows = self.factor.rows(lo, hi)
            R = rows[:, lo:]
            mine = solve_triangular(R, beta[:, lo:hi].T, lower=True, trans=1)
            inner = solve_triangular(R, solve_triangular(R, mine, lower=True), lower=True, trans=1)
            beta[:, lo:hi] = mine.T
            beta[:, :lo] -= (mine + self.lam * inner).T @ rows[:, :lo]
        return 2 * beta

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_kind(self.factor, PanelCholesky, "the factor")
        require_count(self.rounds, "rounds")
        require(type(self.averaged) is bool, "averaged must be true or false")
        require_growing(self.factor.n, self.C)
        require_growing(self.factor.n if self.averaged else 0, self.E, self.round_of_row)
        require(self.E.shape[1] == (self.C.shape[1] if self.averaged else 0), "targets must fit")
        require_number(self.lam, "lam", above=0.0)


def conditional_root(S: Array, kxx: Array, lam: float) -> Array:
    """R lower triangular with R R^T = S + lam I, row by row, no row of which has less than lam left.

    S is the covariance of some rows given others, with k(x, x) before that; refused where it is not positive.
    """
    R = np.zeros_like(S)
    for i in range(len(S)):
        R[i, :i] = solve_triangular(R[:i, :i], S[i, :i], lower=True) if i else 0.0
        left = float(S[i, i] - R[i, :i] @ R[i, :i])
        if not left >= -SLACK * max(abs(kxx[i]), lam):
            raise ValueError(not_positive(kxx[i], left))
        R[i, i] = np.sqrt(max(lam + left, lam))
    require_resolved(np.diagonal(R) ** 2, kxx)
    return R

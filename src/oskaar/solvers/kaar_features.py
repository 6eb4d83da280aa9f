r"""KAAR in feature space: the same cost and memory at every round, for ever.

With features z of dimension D, over the rows that are folded in,

    A = lam I + Z^T Z = R^T R,   B = Z^T Phi,   Theta = R^-T B                                        (1)

A row becomes u = R^-T z: a standard normal prior, one kernel <u, u'> and the mean u Theta. On top of that the rows
that are pending are KAAR in the dual with lam = 1 (`solvers.chunks`): I + U U^T = L L^T, C = L^-1 (H - U Theta),

    W = u U^T L^-T,   S S^T = I + u u^T - W W^T,   M = u Theta + W C,   g = S^-T S^-1 M               (2)

For one row and nothing pending this is g = u Theta / (1 + |u|^2). As soon as BUFFER rows are pending they are
appended to R by reflections (`solvers.qr_update`), some columns of R at each round that follows; the rows that came
meanwhile are then whitened anew. So no round has much more to do than others, and no inverse drifts. Features that
appear later were 0 before. Equivalent to tests/naive.py::kaar with the kernel <z, z'>.

A round of many rows, to be folded in at once, is hedged in (1) itself:  g = Z (A + Z^T Z)^-1 B       (3)
The functions g_1, ..., g_T add up to R^-1 X, for the average g_bar_T; reflections carry X as they do Theta.
The rounds that are pending, r = 0, ..., n - 1, add  n Theta + U^T L^-T ((n - 1 - r) C - E)  to X     (4)
Many rows at once are folded in by P^T P = I + U^T U:  P R,  P^-T (Theta + U^T H),  P X                (5)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular
from scipy.linalg.blas import dsyrk, dtrmm, dtrsm, dtrsv
from scipy.linalg.lapack import dpotrf, dtrtri

from oskaar.arrays import Array, fit_columns
from oskaar.saved import require, require_count, require_floats, require_kind, require_number, saved
from oskaar.solvers.chunks import in_turn, means, target_of
from oskaar.solvers.pending_rows import ROOM, PendingRows, round_of_row
from oskaar.solvers.qr_update import BLOCK, QRUpdate, bordered
from oskaar.solvers.rounding import LEAST, require_rows
from oskaar.solvers.triangles import root, whitened

BUFFER = 22
"""How many rows are pending when folding begins, and `later` ones. It ends after as many again: ROOM holds them."""

LATER = 3
"""Solvers may begin so many rows later than others, so that not all of them fold at once."""

COLUMNS = 32
"""How many columns of R a row folds at least."""

MANY = 64
"""A round of so many rows, and of half as many as there are features, is hedged by (3)."""


@dataclass(slots=True)
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
    hedged: Array | None = None  # [R, Theta, X] with the rows of (3), whose targets are still 0


@saved("solver/feature-kaar")
class FeatureSolver:
    """KAAR on features. Its state is plain arrays whose size depends on D and p only.

    >>> solver = FeatureSolver(lam=1.0)
    >>> solver.update(solver.forecast(np.array([[1.0]])), np.array([[2.0]]))
    >>> solver.forecast(np.array([[1.0]])).G
    array([[0.66666667]])
    """

    in_turn = True
    """Whether all rounds were learned one after the other, so that g_1, ..., g_T are there."""

    def __init__(self, lam: float, shifted: bool = False, later: int = 0) -> None:
        self.shifted, self.later = shifted, later
        self.lam = 4 * lam if shifted else lam
        self.S = np.zeros((0, 0), order="F")  # [R, Theta, X]
        self.rounds = 0
        self.pending = PendingRows()
        self.folding: QRUpdate | None = None
        self.folded = 0  # how many of the pending rows are being folded in

    @property
    def dim(self) -> int:
        """How many features there are so far."""
        return max(len(self.S), self.pending.dim)

    @property
    def targets(self) -> int:
        """How many coordinates the targets have so far."""
        return max((self.S.shape[1] - len(self.S)) // 2, self.pending.H.shape[1])

    @property
    def operations(self) -> int:
        """About how many operations a round of one row takes, its part of folding among them."""
        D = self.dim
        return 3 * D * D + D * (2 * ROOM + 10 * self.targets)

    def growth(self, rows: int, full: bool) -> int:
        """An upper bound of the memory that so many more rows take; full: they bring no features."""
        D = self.dim if full else self.dim + rows
        p, n = self.targets, max(ROOM, self.pending.n + rows)
        most = 2 * D * (D + 3 * p + BLOCK) + n * (4 * D + 5 * p + n + 1)  # S, rows pending, and a QR update of them
        held = self.S.nbytes + self.pending.nbytes + (self.folding.nbytes if self.folding else 0)
        return max(8 * most - held, 0)

    def forecast(self, Z: Array) -> FeatureForecast:
        """The estimate for one round with features Z (n, D)."""
        if len(Z) == 1:
            return self._forecast_row(Z)
        if len(Z) >= max(MANY, Z.shape[1] // 2):
            return self._hedged(Z)
        U, W, M = self._past(Z)
        R = root(U, W)
        E = solve_triangular(R, M, lower=True)
        return FeatureForecast(solve_triangular(R, E, lower=True, trans=1), Z, U, W, R, E)  # (2)

    def forecast_each(self, Z: Array) -> tuple[Array, Array]:
        """m rounds of one row, all from the present state: M (m, p) and 1 / s (m, 1), whose product is g of (2)."""
        U, W, M = self._past(Z)
        s = np.maximum(1.0 + np.einsum("ij,ij->i", U, U) - np.einsum("ij,ij->i", W, W), 1.0)
        return M, 1 / s[:, None]

    def unhedged(self, forecast: FeatureForecast) -> Array:
        """M of (2), (n, p): ridge regression, without KAAR's last penalty."""
        if forecast.hedged is not None:
            return self._past(forecast.Z)[2]
        return means(forecast.R, forecast.E, forecast.ends)

    def update(self, forecast: FeatureForecast, Phi: Array) -> None:
        """Learn a round whose forecast was just made; Phi (n, q) may have more columns than before."""
        p = max(Phi.shape[1], forecast.G.shape[1])
        target = target_of(fit_columns(Phi, p), forecast.G, self.shifted)
        if forecast.hedged is not None:
            self._learn_hedged(forecast.hedged, forecast.Z, target)
            return
        E = fit_columns(forecast.E, p)
        R = forecast.R
        C = target / R.item() if len(R) == 1 else solve_triangular(R, target, lower=True)
        self._append(forecast, target, C - E, E, [len(Phi)])

    def forecast_chunk(self, Z: Array, Phi: Array, ends: Any) -> FeatureForecast:
        """The estimates for rounds that end at rows `ends`, each after the labels of those before it."""
        if len(ends) == 1:
            return replace(self.forecast(Z), H=Phi)
        U, W, M = self._past(Z)
        R = root(U, W)
        C, E, G = in_turn(R, M, Phi, ends, 1.0, self.shifted)
        return FeatureForecast(G, Z, U, W, R, E, C, target_of(Phi, G, self.shifted), ends)

    def append(self, chunk: FeatureForecast) -> None:
        """Learn the rounds of a chunk whose forecast was just made."""
        assert chunk.H is not None
        if chunk.C is None:
            self.update(chunk, chunk.H)
        else:
            self._append(chunk, chunk.H, chunk.C, chunk.E, chunk.ends)

    @property
    def sums(self) -> Array:
        """[R, Theta] of all rows (`solvers.sums`)."""
        return self._folded(self.pending.Z[:0])[:, : self.dim + self.targets]

    def with_sums(self, S: Array, rounds: int) -> FeatureSolver:
        """The same solver with other sums [R, Theta, 0], over so many rounds that were not learned in turn."""
        new = self._new(rounds)
        new.in_turn = False
        new._adopt(S)
        return new

    def average(self, Z: Array) -> Array:
        """g_bar_T at rows with features Z: the mean of the functions g_1, ..., g_T, and 0 when T = 0."""
        if not self.in_turn:
            raise ValueError("there is no average of g_1, ..., g_T: not all rounds were learned one after the other.")
        if self.rounds == 0:
            return np.zeros((len(Z), self.targets))
        D = self.dim
        mean: Array = fit_columns(Z, D) @ _divided(self._wide(D), self._total(D)) / self.rounds
        return mean

    def effective_dimension(self, probes: int | None = None) -> float:
        """Tr(K (K + lam I)^-1) over all rows, = D - lam Tr(A^-1), which is quick: no need of probes."""
        D = self.dim
        P = dtrtri(self._folded(self.pending.Z[:0])[:, :D])[0] if D else np.zeros((0, 0))
        return float(D - self.lam * np.sum(P**2))

    def log_determinant(self) -> float:
        """Log det(I + K / lam) = log det(A / lam)."""
        diagonal = np.diagonal(self._folded(self.pending.Z[:0]))
        return float(2 * np.sum(np.log(np.abs(diagonal))) - self.dim * np.log(self.lam))

    def rebuilt(self, Z: Array, H: Array) -> FeatureSolver:
        """The same learner with other features Z (t, D) for all its rows, whose targets were H (t, p)."""
        require_rows(self.lam, Z)
        new = self._new(self.rounds)
        D, p = Z.shape[1], H.shape[1]
        total = fit_columns(_divided(self._wide(D), self._total(D)), p)
        right = np.concatenate([np.zeros((D, p)), sqrt(self.lam) * total], axis=1)
        update = QRUpdate(right, np.concatenate([Z, H, Z @ total], axis=1))
        update.advance(sqrt(self.lam) * np.eye(D), D)
        new.S = update.updated
        return new

    def truncated(self, dim: int) -> FeatureSolver:
        """The same learner on the first features alone, for all its rows: R and Theta have it in their first rows."""
        D, p, n = self.dim, self.targets, self.pending.n
        S, Z, H = self._wide(D), self.pending.Z[:n, :dim], self.pending.H[:n]
        total = _divided(S, self._total(D))[:dim]
        update = QRUpdate(S[:dim, D : D + p], np.concatenate([Z, fit_columns(H, p)], axis=1))
        update.advance(S[:dim, :dim], dim)
        new = self._new(self.rounds)
        S = update.updated
        new._adopt(np.asfortranarray(np.concatenate([S, np.triu(S[:, :dim]) @ total], axis=1)))
        return new

    # ---------------------------------------------------------------- inside

    def _new(self, rounds: int) -> FeatureSolver:
        """One with the same settings, after so many rounds."""
        new = FeatureSolver(self.lam, later=self.later)
        new.shifted, new.rounds = self.shifted, rounds
        return new

    def _forecast_row(self, Z: Array) -> FeatureForecast:
        """(2) for a round of one row."""
        z, rows, d = Z[0], self.pending, len(self.S)
        if not LEAST * z.dot(z) <= self.lam:
            require_rows(self.lam, Z)
        u = dtrsv(self.S[:, :d], z[:d], trans=1) if d else z[:0]
        M = u.dot(self.S[:, d : (d + self.S.shape[1]) // 2])  # dot of few numbers takes less time than @
        if len(z) > d:
            u = np.concatenate([u, z[d:] / sqrt(self.lam)])
        n, s = rows.n, 1.0 + u.dot(u)
        w = rows.U[:n].dot(u[: rows.U.shape[1]])  # few of the rows that there is room for, mostly
        if n:
            w = dtrsv(rows.L[:n, :n], w, lower=1, overwrite_x=1)
            s = max(s - w.dot(w), 1.0)
            M = fit_columns(M, rows.C.shape[1]) + w.dot(rows.C[:n])
        r = sqrt(s)
        M /= r
        E = M[None]
        return FeatureForecast(E / r, Z, u[None], w[None], np.array([[r]]), E)

    def _past(self, Z: Array) -> tuple[Array, Array, Array]:
        """(2): U, W and the mean M of rows."""
        require_rows(self.lam, Z)
        rows, (U, M) = self.pending, self._mean(Z)
        if not rows.n:
            return U, np.zeros((len(Z), len(rows.L))), M
        W = whitened(rows.L, U[:, : rows.dim] @ rows.U.T)
        return U, W, fit_columns(M, rows.C.shape[1]) + W @ rows.C

    def _mean(self, Z: Array) -> tuple[Array, Array]:
        """U and U Theta of rows."""
        d, new = len(self.S), Z.shape[1] - len(self.S)
        U = whitened(self.S[:, :d].T, Z[:, :d])
        M = U @ self.S[:, d : (d + self.S.shape[1]) // 2]
        return (np.concatenate([U, Z[:, d:] / sqrt(self.lam)], axis=1) if new else U), M

    def _append(self, f: FeatureForecast, H: Array, C: Array, E: Array, ends: Any) -> None:
        """Rows are pending from now on; folding begins, goes on or ends."""
        self.rounds += len(ends)
        if not self.pending.n and len(f.Z) > max(ROOM, f.Z.shape[1] // 4):
            self._adopt(self._with_many(f, H, C, E, round_of_row(ends, len(f.Z)), len(ends)))
            return
        self.pending.append(f.Z, f.U, f.W, f.R, H, C, E, ends)
        if self.pending.n > ROOM:
            self._adopt(self._folded(f.Z[:0]))
        elif self.folding is not None:
            self._go_on(self.folding, len(f.Z))
        elif self.pending.n >= BUFFER + self.later:
            self._begin()

    def _begin(self) -> None:
        """Begin to fold in the rows that are pending."""
        self.S = self._wide(self.dim)
        self.folding, self.folded = self._update(self.S, self.pending.Z[:0]), self.pending.n

    def _go_on(self, folding: QRUpdate, rows: int) -> None:
        """Fold some columns for so many rows that have come, or end."""
        D = len(self.S)
        if folding.done < D:
            folding.advance(self.S[:, :D], rows * max(COLUMNS, -(-D // BUFFER)))
        else:
            self._end(folding)

    def _end(self, folding: QRUpdate) -> None:
        """Use the new [R, Theta, X], by which the rows that came meanwhile are whitened anew."""
        old, first, D = self.pending, self.folded, len(self.S)
        folding.write(self.S)  # in its place: no round has to touch a new matrix
        self.folding, self.folded = None, 0
        U, H = old.U[first : old.n].copy(), old.H[first : old.n]
        U[:, :D] = folding.whitened(U[:, :D])
        M = U[:, :D] @ self.S[:, D : (D + self.S.shape[1]) // 2]
        R = root(U, U[:, :0])
        self.pending = old.since(first, U, R, dtrsm(1.0, R, H - fit_columns(M, H.shape[1]), lower=1))

    def _adopt(self, S: Array) -> None:
        """[R, Theta, X] with all that was pending."""
        self.S, self.folding, self.folded = S, None, 0
        p = (S.shape[1] - len(S)) // 2
        if self.pending.n or (self.pending.dim, self.pending.H.shape[1]) != (len(S), p):
            self.pending = PendingRows(len(S), p)

    def _hedged(self, Z: Array) -> FeatureForecast:
        """(3): a round of so many rows that it is folded in at once."""
        require_rows(self.lam, Z)
        S, none = self._folded(Z), np.zeros((0, 0))
        G = Z @ _divided(S, S[:, len(S) : (len(S) + S.shape[1]) // 2])
        return FeatureForecast(G, Z, none, none, none, none, hedged=S)

    def _learn_hedged(self, S: Array, Z: Array, H: Array) -> None:
        D, p = len(S), H.shape[1]
        S = bordered(S, D, p, self.lam)
        S[:, D + p :] += S[:, D : D + p]  # the function of this round
        S[:, D : D + p] += _divided(S, Z.T @ H, trans=1)  # R^-T Z^T H
        self.rounds += 1
        self._adopt(S)

    def _with_many(self, f: FeatureForecast, H: Array, C: Array, E: Array, r: Any, rounds: int) -> Array:
        """[R, Theta, X] with many rows while none is pending (5): cheaper than reflections."""
        D, p = f.Z.shape[1], max(self.targets, H.shape[1])
        S = self.S if self.S.shape == (D, D + 2 * p) else bordered(self.S, D, p, self.lam)
        I, U = np.zeros((D, D), order="F"), f.U
        np.fill_diagonal(I, 1.0)
        P, failed = dpotrf(dsyrk(1.0, U.T, 1.0, I, overwrite_c=1), overwrite_a=1)
        if failed:
            raise LinAlgError("the features are not finite")
        Theta, X = S[:, D : D + p] + U.T @ fit_columns(H, p), S[:, D + p :] + rounds * S[:, D : D + p]
        X[:, : C.shape[1]] += U.T @ dtrsm(1.0, f.R, (rounds - 1 - r)[:, None] * C - E, lower=1, trans_a=1)  # (4)
        new = np.empty((D, D + 2 * p), order="F")
        new[:, :D], new[:, D + p :] = dtrmm(1.0, P, S[:, :D]), dtrmm(1.0, P, X)
        new[:, D : D + p] = dtrsm(1.0, P, Theta, trans_a=1)
        return new

    def _folded(self, Z: Array) -> Array:
        """[R, Theta, X] with the pending rows folded in, and rows Z whose targets are 0."""
        S = self._wide(max(self.dim, Z.shape[1]))
        update = self._update(S, Z)
        update.advance(S[:, : len(S)], len(S))
        return update.updated

    def _update(self, S: Array, Z: Array) -> QRUpdate:
        """The QR update of S by the pending rows and rows Z whose targets are 0. The rows of X are z R^-1 X."""
        old, D, p, n = self.pending, len(S), self.targets, self.pending.n
        X = self._total(D)
        rows = np.zeros((n + len(Z), D + 2 * p), order="F")
        rows[:n, : old.dim], rows[:n, D : D + old.H.shape[1]] = old.Z[:n], old.H[:n]
        rows[:n, D + p :] = old.U[:n] @ X[: old.dim]
        if len(Z):
            rows[n:, : Z.shape[1]], rows[n:, D + p :] = Z, Z @ _divided(S, X)[: Z.shape[1]]
        return QRUpdate(np.concatenate([S[:, D : D + p], X], axis=1), rows)

    def _wide(self, D: int) -> Array:
        """[R, Theta, X] with D features and all coordinates of targets."""
        p = self.targets
        return self.S if self.S.shape == (D, D + 2 * p) else bordered(self.S, D, p, self.lam)

    def _total(self, D: int) -> Array:
        """X (D, p) with the functions of the rounds that are pending (4)."""
        rows, p, S = self.pending, self.targets, self._wide(D)
        X: Array = S[:, D + p :] + rows.rounds * S[:, D : D + p]
        if rows.n:
            Q = (rows.rounds - 1 - rows.round)[:, None] * rows.C - rows.E
            X[: rows.dim, : Q.shape[1]] += rows.U.T @ dtrsm(1.0, rows.L, Q, lower=1, trans_a=1)
        return X

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_count(self.rounds, "rounds")
        require(require_count(self.later, "rows") <= LATER, "folding begins before there is no room")
        require_kind(self.pending, PendingRows, "the pending rows")
        require_kind(self.folding, (QRUpdate, type(None)), "the rows that are being folded in")
        require_floats(self.S)
        D, columns = self.S.shape
        require(columns >= D and (columns - D) % 2 == 0 and self.pending.dim >= D, "shapes must fit")
        require((np.diagonal(self.S) != 0).all(), "a triangular factor must have no 0 on its diagonal")
        require(require_count(self.folded, "rows") <= self.pending.n, "the rows that are being folded in are pending")
        require(self.folding is None or self.folding.X.shape == (D, columns - D), "shapes must fit")
        require_number(self.lam, "lam", above=0.0)


def _divided(S: Array, X: Array, trans: int = 0) -> Array:
    """R^-1 X, or R^-T X, for S = [R, ...]."""
    Y: Array = dtrsm(1.0, S[:, : len(S)], X, trans_a=trans) if X.size else X
    return Y

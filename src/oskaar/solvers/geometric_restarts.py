r"""KAAR restarted now and then: O(log t) experts that cover every interval, each an ordinary solver.

The expert that starts at round s = r 2^k, r odd, lives for 2^(k+2) rounds (Hazan and Seshadhri): at any time
O(log t) are alive, and for every s <= t there is one that started in the first half of [s, t], so that it has seen
the second. Proof: let 2^k be the largest power of 2 up to (t - s)/2 + 1. One of the 2^k rounds from s on is a
multiple of 2^k; it is at most (t - s)/2 after s, and its expert lives for at least 2^(k+2) > t - s rounds. The very
first lives for ever, so that nothing is lost on a stationary stream. With `first_only` there is no other.

Most experts never have more than a few rows. They need no solver: `solvers.recent_rows` makes their estimates out of
the rows. An expert that is about to have more than RECENT rows gets a solver, which learns the rows there are.
Equivalent to tests/naive.py::salami with lives("geometric").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from oskaar.arrays import Array, spans
from oskaar.saved import require, require_count, require_kind, require_number, saved
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.exact import ExactSolver
from oskaar.solvers.kaar_features import FeatureSolver
from oskaar.solvers.pending_rows import ROOM
from oskaar.solvers.recent_rows import RecentRows
from oskaar.solvers.rounding import require_rows

RECENT = 128
"""The most rows of an expert without a solver, and of a chunk of rounds."""

TURN = 16
"""Rounds of a chunk that experts without a solver forecast at a time."""

LIGHT = 1e-3
"""Experts with less weight are left out of an effective dimension."""


def outlives(births: NDArray[np.int64], rounds: Any) -> NDArray[np.bool_]:
    """Whether experts that were born at these rounds, counted from 0, are still there for round `rounds`.

    >>> outlives(np.array([0, 1, 2]), 6)
    array([ True,  True, False])
    """
    s = births + 1  # the paper counts rounds from 1
    alive: NDArray[np.bool_] = (births == 0) | (rounds - births < 4 * (s & -s))
    return alive


@dataclass(frozen=True)
class GramRows:
    """Rows to come as ExactSolver takes them: B = k(X, x) (t, m), X the rows kept, and D = k(x, x) (m, m)."""

    B: Array
    D: Array

    @property
    def n(self) -> int:
        """The number of rows, m."""
        return len(self.D)

    @property
    def Z(self) -> Array:
        """No features."""
        return np.zeros((self.n, 0))

    def require(self, lam: float) -> None:
        """Each solver refuses rows that it cannot resolve."""

    def given(self, seen: int, rows: int) -> tuple[Array, ...]:
        """The first rows, for a solver that has seen the last `seen` of the rows kept."""
        return self.B[len(self.B) - seen :, :rows].T, self.D[:rows, :rows]

    def values(self, recent: RecentRows) -> tuple[Array, Array]:
        """Kernel values with recent rows, and with each other."""
        return self.B[len(self.B) - recent.n :], self.D

    @staticmethod
    def size(columns: int, p: int) -> int:
        """The bytes of a new solver."""
        return 8 * (PANEL**2 + 2 * RECENT * p)

    @staticmethod
    def learned(recent: RecentRows, lam: float) -> ExactSolver:
        """A solver that has learned recent rows."""
        return ExactSolver(lam, averaged=False).fitted(recent.K, recent.H)


@dataclass(frozen=True)
class FeatureRows:
    """Rows to come as FeatureSolver takes them: features Z (m, D), of which there may be more than before."""

    Z: Array

    @property
    def n(self) -> int:
        """The number of rows, m."""
        return len(self.Z)

    def require(self, lam: float) -> None:
        """Refuse rows that are too large for lam."""
        require_rows(lam, self.Z)

    def given(self, seen: int, rows: int) -> tuple[Array, ...]:
        """The first rows; a solver on features keeps no rows that they had to be compared with."""
        return (self.Z[:rows],)

    def values(self, recent: RecentRows) -> tuple[Array, Array]:
        """Kernel values with recent rows, and with each other."""
        return recent.Z @ self.Z[:, : recent.Z.shape[1]].T, self.Z @ self.Z.T

    @staticmethod
    def size(columns: int, p: int) -> int:
        """The bytes of a new solver."""
        return 8 * (columns * (columns + 2 * p) + ROOM * (2 * columns + 3 * p + ROOM))

    @staticmethod
    def learned(recent: RecentRows, lam: float) -> FeatureSolver:
        """A solver that has learned recent rows."""
        solver = FeatureSolver(lam)
        if recent.n:
            solver.append(solver.forecast_chunk(recent.Z, recent.H, np.arange(1, recent.n + 1)))
        return solver


@saved("solver/geometric-restarts")
class GeometricRestarts:
    """A few restarts of KAAR, for each of some lams, which are used as they are; `window` bounds the rows that an
    expert has seen.

    kind: GramRows or FeatureRows, whichever `begin` gets. rounds: how many there were before.

    >>> solver = GeometricRestarts([1.0], FeatureRows)
    >>> for _ in range(40):
    ...     block = solver.begin(FeatureRows(np.ones((1, 1))), [1])
    ...     block.observe(0, np.array([[2.0]])); solver.commit(block)
    >>> solver.births.tolist()
    [0, 15, 23, 27, 31, 33, 35, 37, 38, 39]
    """

    def __init__(
        self, lams: list[float], kind: Any, window: int | None = None, first_only: bool = False, rounds: int = 0
    ) -> None:
        self.lams, self.kind, self.window, self.first_only = lams, kind.__name__, window, first_only
        self.rounds, self.seen = rounds, 0
        self.bears = True
        self.births: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.firsts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # rows seen before each birth
        self.solvers: dict[int, list[Any]] = {}  # by birth, of the experts that have some; one for each lam
        self.recent = RecentRows()

    @property
    def rows(self) -> int:
        """How many past rows some expert has seen."""
        return self.seen - int(self.firsts[0]) if len(self.firsts) else 0

    @property
    def room(self) -> int:
        """How many rows the next chunk may have: up to the next multiple of RECENT."""
        return 1 if self.first_only and self.window is not None else RECENT - self.rounds % RECENT

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        n = self.recent.n
        mine = sum(int(solver.operations) for solvers in self.solvers.values() for solver in solvers)
        return len(self.lams) * (n**3 // 3 + n * n) + mine

    def growth(self, rows: int, full: bool = True) -> int:
        """An upper bound of the bytes that so many more rows take; full: they bring no features."""
        n, p = self.recent.n + min(rows, RECENT), self.recent.H.shape[1]
        columns = self.recent.Z.shape[1] + (0 if full else rows)
        more = [int(solver.growth(rows, full)) for solvers in self.solvers.values() for solver in solvers]
        young: int = max(8 * (n * n + n * (columns + p)) - self.recent.nbytes, 0)
        return sum(more) + young + len(self.lams) * int(rows_of(self.kind).size(columns, p))

    def begin(self, rows: Any, ends: Any, H: Array | None = None) -> GeometricBlock:
        """Rounds to come that end at rows `ends`: one of any number of rows, or several of one row with targets H.

        Raises LinAlgError where rounds have to go in turn.
        """
        if len(ends) > 1 and (H is None or len(ends) != rows.n):
            raise LinAlgError("rounds of several rows, or whose targets are not known, go in turn")
        rows.require(min(self.lams))
        return GeometricBlock(self, rows, ends, H)

    def commit(self, block: GeometricBlock) -> None:
        """Learn rounds whose targets are known."""
        H, after = block.H, self.rounds + len(block.rounds)
        assert H is not None
        stay = self.lives(block.births, block.firsts, after, self.seen + block.rows.n)
        self.births, self.firsts = block.births[stay], block.firsts[stay]
        births = self.births.tolist()
        self.solvers = {birth: block.solvers[birth] for birth in births if birth in block.solvers}
        for birth, solvers in self.solvers.items():
            for solver, forecast in zip(solvers, block.forecasts[birth], strict=True):
                if len(block.rounds) == 1:
                    solver.update(forecast, H)
                else:
                    solver.append(forecast)
        self.rounds, self.seen = after, self.seen + block.rows.n
        young = next((i for i, birth in enumerate(births) if birth not in self.solvers), None)
        none = RecentRows()
        self.recent = none if young is None else block.learned(H).latest(self.seen - int(self.firsts[young]))

    def lives(self, births: Any, firsts: Any, rounds: Any, seen: Any) -> NDArray[np.bool_]:
        """Which experts are there after so many rounds and rows, or after each of a column of them."""
        alive: NDArray[np.bool_] = (births <= rounds) & outlives(births, rounds)
        return alive & (seen - firsts <= self.window) if self.window is not None else alive

    def solver_of(self, which: int, l: int) -> Any:
        """The solver of an expert for a lam, a new one if it has none."""
        found = self.solvers.get(int(self.births[which]))
        recent = self.recent.latest(self.seen - int(self.firsts[which])) if found is None else RecentRows()
        return rows_of(self.kind).learned(recent, self.lams[l]) if found is None else found[l]

    def effective_dimension(self, weights: Array, probes: int | None) -> float:
        """sum of w_s d_eff(rows since s) over lams and experts, (L, S); those with little weight as the others."""
        heavy = np.argwhere(weights >= min(LIGHT, weights.max(initial=0.0))).tolist()
        found = [weights[l, s] * self.solver_of(s, l).effective_dimension(probes) for l, s in heavy]
        total = float(sum(weights[l, s] for l, s in heavy))
        return float(weights.sum()) / total * float(sum(found)) if total else 0.0

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require(self.kind in ("GramRows", "FeatureRows"), "rows must be of a kind that is known")
        require_kind(self.recent, RecentRows, "the recent rows")
        require_kind(self.solvers, dict, "the solvers")
        rounds, seen = require_count(self.rounds, "rounds"), require_count(self.seen, "rows")
        births, firsts = self.births, self.firsts
        for whole in (births, firsts):
            require(isinstance(whole, np.ndarray) and whole.dtype == np.int64, "births must be whole numbers")
            require(whole.shape == (len(births),), "each expert must have a birth, and a first row")
        require((np.diff(births, prepend=-1, append=rounds) > 0).all(), "births must rise")
        require((np.diff(firsts, prepend=-1, append=seen) > 0).all(), "first rows must rise")
        require(set(self.solvers) <= set(births.tolist()), "each solver must have an expert")
        for birth, first in zip(births.tolist(), firsts.tolist(), strict=True):
            self._check_expert(birth, seen - first)
        for lam in self.lams:
            require_number(lam, "lam", above=0.0)

    def _check_expert(self, birth: int, rows: int) -> None:
        """Refuse an expert from a file that does not have its rows."""
        solvers = self.solvers.get(birth)
        if solvers is None:
            require(rows <= self.recent.n, "an expert must have its rows")
            return
        exact = self.kind == "GramRows"
        require(len(solvers) == len(self.lams), "an expert must have a solver for each lam")
        for solver in solvers:
            require_kind(solver, ExactSolver if exact else FeatureSolver, "the solver of an expert")
            require(not exact or solver.factor.n == rows, "an expert must have its rows")


class GeometricBlock:
    """Rounds to come: the estimates of all experts; `observe` takes the targets. Changes nothing.

    births, firsts: of all experts, the oldest first, with those that are born; alive (rounds, experts). G (rounds,
    lams, experts, n, p) are the estimates for the n rows of each round. solvers and forecasts by birth, of those that
    have solvers or get some.
    """

    def __init__(self, before: GeometricRestarts, rows: Any, ends: Any, H: Array | None) -> None:
        self.before, self.rows, self.rounds, self.H = before, rows, spans(ends), H
        now, T = before.rounds, len(self.rounds)
        bears = T if before.bears else 0
        born = np.arange(now, now + (min(bears, 0 if len(before.births) else 1) if before.first_only else bears))
        begins = np.array([lo for lo, _ in self.rounds[: len(born)]], dtype=np.int64)
        self.births = np.concatenate([before.births, born])
        self.firsts = np.concatenate([before.firsts, before.seen + begins])
        self.alive = np.ones((1, len(self.births)), dtype=bool)
        if T > 1:
            i = np.arange(T)[:, None]
            self.alive = before.lives(self.births, self.firsts, now + i, before.seen + i)
        self.past = np.maximum(before.seen - self.firsts, 0)
        self.solvers: dict[int, list[Any]] = {}
        self.forecasts: dict[int, list[Any]] = {}
        self._forecast(self.alive.sum(axis=0) if T > 1 else np.full(len(self.births), rows.n))
        self.G = self._estimates()

    def observe(self, i: int, H: Array) -> None:
        """Give a round its targets (n, q); those of several rounds are known."""
        if len(self.rounds) == 1:
            self.H = H

    def learned(self, H: Array) -> RecentRows:
        """The recent rows, and those of the block."""
        B, D = self._values
        return self.before.recent.extended(B, D, H, self.rows.Z)

    def _forecast(self, sees: NDArray[np.int64]) -> None:
        """By experts with solvers: those that have them, and those that are about to have many rows."""
        before, most = self.before, 0 if self.before.first_only else RECENT
        for birth, past, rows in zip(self.births.tolist(), self.past.tolist(), sees.tolist(), strict=True):
            solvers = before.solvers.get(birth)
            if solvers is None:
                if past + rows <= most:
                    continue
                recent = before.recent.latest(past)
                solvers = [self.rows.learned(recent, lam) for lam in before.lams]
            given, self.solvers[birth] = self.rows.given(past, rows), solvers
            if len(self.rounds) == 1 or self.H is None:
                self.forecasts[birth] = [solver.forecast(*given) for solver in solvers]
            else:
                H, ends = self.H[:rows], np.arange(1, rows + 1)
                self.forecasts[birth] = [solver.forecast_chunk(*given, H, ends) for solver in solvers]

    def _estimates(self) -> Array:
        """The estimates of all experts."""
        widths = [one.G.shape[1] for forecasts in self.forecasts.values() for one in forecasts]
        p = max([self.before.recent.H.shape[1], 0 if self.H is None else self.H.shape[1], *widths])
        T, L, n = len(self.rounds), len(self.before.lams), self.rows.n
        G = np.zeros((T, L, len(self.births), n // T, p))
        flat = G[0] if T == 1 else G[:, :, :, 0].transpose(1, 2, 0, 3)  # (lams, experts, rows, p)
        young = []
        for e, birth in enumerate(self.births.tolist()):
            if birth not in self.forecasts:
                young.append(e)
                continue
            for l, one in enumerate(self.forecasts[birth]):
                flat[l, e, : len(one.G), : one.G.shape[1]] = one.G
        if young:
            self._values = self.rows.values(self.before.recent)
            if len(self.rounds) == 1 or self.H is None:
                self._young_round(flat, young)
            else:
                self._young_rounds(flat, np.array(young), self.learned(self.H))
        return G

    def _young_round(self, G: Array, young: list[int]) -> None:
        """One round, for experts without solvers; the newborn predicts 0."""
        old, recent, (B, D) = [e for e in young if self.past[e]], self.before.recent, self._values
        if old:
            for l, lam in enumerate(self.before.lams):
                found = recent.forecast(B, D, self.past[old], lam)
                G[l, old, :, : found.shape[2]] = found

    def _young_rounds(self, G: Array, young: NDArray[np.int64], recent: RecentRows) -> None:
        """Several rounds of one row, some at a time."""
        before, T, births = self.before, len(self.rounds), self.births[young] - self.before.rounds
        n, known = before.recent.n, before.recent.H.shape[1]
        for lo in range(0, T, TURN):
            hi = min(lo + TURN, T)
            old, born = young[(births < lo) & self.alive[lo, young]], young[(births >= lo) & (births < hi)]
            counts, newborn = before.seen + lo - self.firsts[old], self.births[born] - before.rounds - lo
            for l, lam in enumerate(before.lams):
                found = recent.forecast_rounds(n + lo, n + hi, counts, newborn, lam, known)
                G[l, np.concatenate([old, born]), lo:hi, : found.shape[2]] = found


def rows_of(kind: str) -> Any:
    """The class of rows with this name."""
    return {"GramRows": GramRows, "FeatureRows": FeatureRows}[kind]

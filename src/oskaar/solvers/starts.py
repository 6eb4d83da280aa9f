r"""KAAR restarted now and then: O(log t) experts that cover every interval, each a solver of its own.

The expert that starts at round s = r 2^k, r odd, lives for 2^(k+2) rounds (Hazan and Seshadhri): at any time
O(log t) are alive, and for every s <= t there is one that started in the first half of [s, t], so that it has seen
the second. Proof: let 2^k be the largest power of 2 up to (t - s)/2 + 1. One of the 2^k rounds from s on is a
multiple of 2^k; it is at most (t - s)/2 after s, and its expert lives for at least 2^(k+2) > t - s rounds. The very
first lives for ever, so that nothing is lost on a stationary stream. With `first_only` there is no other.
Has the interface of AllRestarts, for one round at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array, fit_columns
from oskaar.saved import require, require_count, require_kind, saved
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.exact import ExactSolver, Forecast


def outlives(starts: NDArray[np.int64], rounds: Any) -> NDArray[np.bool_]:
    """Whether experts that started at these rounds, counted from 0, are still there for round `rounds`.

    >>> outlives(np.array([0, 1, 2]), 6)
    array([ True,  True, False])
    """
    s = starts + 1  # the paper counts rounds from 1
    alive: NDArray[np.bool_] = (starts == 0) | (rounds - starts < 4 * (s & -s))
    return alive


@saved("solver/geometric-restarts")
class StartSolver:
    """A few restarts of KAAR. `lam` is used as it is; `window` bounds the rows that any expert has seen.

    >>> solver = StartSolver(lam=1.0)
    >>> for _ in range(40):
    ...     block = solver.begin(np.ones((solver.rows, 1)), np.ones((1, 1)), [1])
    ...     block.observe(0, np.array([[2.0]])); solver.commit(block)
    >>> solver.starts_alive.tolist()
    [0, 15, 23, 27, 31, 33, 35, 37, 38, 39]
    """

    def __init__(self, lam: float, window: int | None = None, first_only: bool = False) -> None:
        self.lam, self.window, self.first_only = lam, window, first_only
        self.experts: list[tuple[int, int, ExactSolver]] = []  # the round and the row it starts at
        self.rounds = 0
        self.rows = 0

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts started."""
        return np.array([start for start, _, _ in self.experts], dtype=np.int64)

    def growth(self, rows: int) -> int:
        """The bytes that so many more rows take in the factors, a newborn's included."""
        return sum(solver.factor.growth(rows) for _, _, solver in self.experts) + 8 * PANEL**2

    def begin(self, B: Array, D: Array, ends: Any) -> StartBlock:
        """One round to come, with B = k(X, x) (t, n) over the rows kept and D = k(x, x) (n, n)."""
        if len(ends) != 1:
            raise ValueError(f"one round at a time, got {len(ends)}.")
        return StartBlock(self, B, D)

    def commit(self, block: StartBlock) -> None:
        """Learn a round whose targets were observed."""
        for (_, _, solver), forecast in zip(block.experts, block.forecasts, strict=True):
            solver.update(forecast, block.targets)
        self.rows += len(block.targets)
        self.rounds += 1
        alive = self._alive(block.restarts(0), np.array([row for _, row, _ in block.experts]))
        self.experts = [e for e, lives in zip(block.experts, alive, strict=True) if lives]
        oldest = min((row for _, row, _ in self.experts), default=self.rows)
        self.experts = [(start, row - oldest, solver) for start, row, solver in self.experts]
        self.rows -= oldest

    def _alive(self, starts: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which experts, by the round and the row they start at, are still there for the next round."""
        near = self.window is None or self.rows - rows <= self.window
        return near & outlives(starts, self.rounds)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        rows = require_count(self.rows, "rows")
        require_count(self.rounds, "rounds")
        for _, row, expert in self.experts:
            require_kind(expert, ExactSolver, "an expert")
            require(type(row) is int and row >= 0 and expert.factor.n == rows - row, "an expert must have its rows")


def _panel(solver: StartSolver) -> int:
    """Panels for the next newborn: as large as all the rows it may see, where it lives for a short time."""
    s = solver.rounds + 1
    lifetime = PANEL if solver.rounds == 0 else 4 * (s & -s)
    return max(8, min(PANEL, lifetime))


class StartBlock:
    """One round: `estimates` of all experts, then `observe` the targets. Made by `begin`."""

    def __init__(self, solver: StartSolver, B: Array, D: Array) -> None:
        self.experts = list(solver.experts)
        self.forecasts: list[Forecast] = [e.forecast(B[row:].T, D) for _, row, e in self.experts]
        if not (solver.first_only and self.experts):
            newborn = ExactSolver(solver.lam, panel=_panel(solver))
            self.experts.append((solver.rounds, solver.rows, newborn))
            self.forecasts.append(newborn.forecast(np.zeros((len(D), 0)), D))
        self.targets = np.zeros((0, 0))

    def restarts(self, i: int) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts of `estimates` started."""
        return np.array([start for start, _, _ in self.experts], dtype=np.int64)

    def estimates(self, i: int) -> Array:
        """(S, n, p): what each expert says, the oldest first."""
        p = max(f.G.shape[1] for f in self.forecasts)
        return np.stack([fit_columns(f.G, p) for f in self.forecasts])

    def observe(self, i: int, H: Array) -> None:
        """Give the round its targets (n, q)."""
        self.targets = H

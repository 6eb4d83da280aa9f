r"""KAAR in feature space, restarted now and then: O(log t) experts in constant memory each.

The lifetimes are those of `solvers.starts`. New experts take the newest version of the features, so that these
follow non-stationary inputs as well. Has the interface of StartSolver, for all lams at once and several rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.saved import require_count, require_kind, saved
from oskaar.solvers.knownblocks import KnownBlock
from oskaar.solvers.stacks import Stack
from oskaar.solvers.starts import outlives
from oskaar.solvers.wholeblocks import begin


@saved("solver/feature-restarts")
class FeatureStarts:
    """A few restarts of KAAR on features. `lams` are used as they are; `window` bounds the rounds an expert lives.

    >>> solver = FeatureStarts([1.0])
    >>> for _ in range(40):
    ...     block = solver.begin({0: np.ones((1, 1))}, [1])
    ...     block.observe(0, np.array([[2.0]])); solver.commit(block)
    >>> solver.starts_alive.tolist()
    [0, 15, 23, 27, 31, 33, 35, 37, 38, 39]
    """

    def __init__(self, lams: list[float], window: int | None = None, first_only: bool = False) -> None:
        self.window, self.first_only = window, first_only
        self.stack = Stack(lams)
        self.rounds = 0

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts started."""
        return np.sort(self.stack.starts[self.stack.starts >= 0])

    @property
    def versions(self) -> set[int]:
        """The versions of the features that an expert still uses."""
        return set(self.stack.versions[self.stack.starts >= 0].tolist())

    def begin(self, features: dict[int, Array], ends: Any, H: Array | None = None) -> FeatureStartBlock:
        """Rounds to come, with their features in each version in use, and their targets if these are known."""
        return FeatureStartBlock(self, features, ends, H)

    def commit(self, block: FeatureStartBlock) -> None:
        """Learn rounds whose targets were observed."""
        after = self.rounds + block.n_rounds
        starts = np.where(self.lives(self.stack.starts, after), self.stack.starts, -1)
        born = self.rounds + np.array(block.inner.births, dtype=np.int64)
        alive, later = np.flatnonzero(self.lives(born, after)), self.lives(born, after + self.stack.room)
        newborn = {int(j): int(born[j]) for j in alive}
        self.stack.commit(block.inner, starts, newborn, leaving={j for j in newborn if not later[j]})
        self.rounds = after

    def lives(self, starts: Any, rounds: Any) -> NDArray[np.bool_]:
        """Which experts are there for a round, or for each of a column; slots that are empty have start -1."""
        alive: NDArray[np.bool_] = (starts >= 0) & (starts <= rounds) & outlives(starts, rounds)
        return alive & (rounds - starts <= self.window) if self.window is not None else alive

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_kind(self.stack, Stack, "the experts")
        require_count(self.rounds, "rounds")


class FeatureStartBlock:
    """Rounds to come: `estimates` of all experts of round i, then `observe` its targets. Made by `begin`."""

    def __init__(self, solver: FeatureStarts, features: dict[int, Array], ends: Any, H: Array | None) -> None:
        self.n_rounds = len(ends)
        births: list[int] = list(range(self.n_rounds))
        if solver.first_only:
            births = [] if (solver.stack.starts >= 0).any() else [0]
        born = solver.rounds + np.array(births, dtype=np.int64)
        starts: NDArray[np.int64] = np.append(solver.stack.starts, born)
        self._order = np.argsort(starts, kind="stable")
        self._starts = starts[self._order]
        self.alive = solver.lives(starts, solver.rounds + np.arange(self.n_rounds)[:, None])
        self.inner = begin(solver.stack, features, ends, births, H, self.alive.sum(axis=0))

    def _alive(self, i: int) -> NDArray[np.bool_]:
        here: NDArray[np.bool_] = self.alive[i, self._order]
        return here

    def restarts(self, i: int) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts of `estimates` started."""
        return self._starts[self._alive(i)]

    def estimates(self, i: int) -> Array:
        """(S, L, n, p): what each expert says, the oldest first, for each lam."""
        return self.inner.estimates(i)[self._order[self._alive(i)]]

    def everything(self) -> tuple[Any, Array] | None:
        """For targets that were known: the starts (rounds, S) of the experts of each round, oldest first, then -1;
        and what they say, (rounds, L, S, p), of rounds of one row.
        """
        if not isinstance(self.inner, KnownBlock):
            return None
        alive = self.alive[:, self._order]
        who = np.argsort(~alive, axis=1, kind="stable")[:, : alive.sum(axis=1).max()]
        starts = np.where(np.take_along_axis(alive, who, axis=1), self._starts[who], -1)
        return starts, self.inner.known_estimates(self._order[who])

    def observe(self, i: int, H: Array) -> None:
        """Give round i its targets (n, q)."""
        self.inner.observe(i, H)

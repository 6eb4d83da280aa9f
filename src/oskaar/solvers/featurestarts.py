r"""KAAR in feature space, restarted now and then: O(log t) experts in constant memory each.

The lifetimes are those of `solvers.starts`; the experts of one version of the features are a `Stack`. New experts
take the newest version, so the features follow the world as well; a version ends with its last expert.
Has the interface of RestartSolver, with features in place of kernel values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.solvers.stacks import Stack, StackBlock
from oskaar.solvers.starts import outlives


class FeatureStarts:
    """A few restarts of KAAR on features. `lam` is used as it is; `window` bounds the rounds an expert lives for."""

    def __init__(self, lam: float, window: int | None = None, first_only: bool = False) -> None:
        self.lam, self.window, self.first_only = lam, window, first_only
        self.stacks: dict[int, Stack] = {}
        self.rounds = 0

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts started."""
        starts = [stack.starts[stack.starts >= 0] for stack in self.stacks.values()]
        return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *starts]))

    @property
    def versions(self) -> set[int]:
        """The versions of the features that an expert still uses."""
        return set(self.stacks)

    @property
    def nbytes(self) -> int:
        """The memory of the state."""
        return sum(stack.nbytes for stack in self.stacks.values())

    def begin(self, features: dict[int, Array], ends: Any) -> FeatureStartBlock:
        """Rounds to come, with their features in each version that is in use; new experts take the last of them."""
        return FeatureStartBlock(self, features, ends)

    def commit(self, block: FeatureStartBlock) -> None:
        """Learn rounds whose targets were observed."""
        rounds = self.rounds + block.n_rounds
        for version, part in block.parts.items():
            stack = self.stacks.setdefault(version, Stack(self.lam))
            starts = np.where(self._lives(part.starts, rounds), part.starts, -1)
            newborn = {j: self.rounds + birth for j, birth in enumerate(part.births)}
            alive = {j: start for j, start in newborn.items() if self._lives(np.array([start]), rounds)[0]}
            stack.commit(part, starts, alive)
        self.stacks = {version: stack for version, stack in self.stacks.items() if (stack.starts >= 0).any()}
        self.rounds = rounds

    def _lives(self, starts: Any, rounds: int) -> NDArray[np.bool_]:
        """Which experts are there for round `rounds`; slots that are empty have start -1."""
        alive: NDArray[np.bool_] = (starts >= 0) & outlives(starts, rounds)
        return alive & (rounds - starts <= self.window) if self.window is not None else alive


class FeatureStartBlock:
    """Rounds to come: `estimates` of all experts of round i, then `observe` its targets. Made by `begin`."""

    def __init__(self, solver: FeatureStarts, features: dict[int, Array], ends: Any) -> None:
        self.n_rounds, self._solver = len(ends), solver
        newest = max(features)
        births: list[int] = list(range(self.n_rounds))
        if solver.first_only:
            births = [] if solver.stacks else [0]
        used = sorted(solver.versions | {newest})
        self.parts: dict[int, StackBlock] = {}
        for version in used:
            stack = solver.stacks.get(version) or Stack(solver.lam)
            self.parts[version] = stack.begin(features[version], ends, births if version == newest else [])
        starts = [np.append(part.starts, solver.rounds + np.array(part.births)) for part in self.parts.values()]
        self.starts: NDArray[np.int64] = np.concatenate(starts).astype(np.int64)

    def _alive(self, i: int) -> NDArray[np.intp]:
        """The experts of round i, the oldest first."""
        now = self._solver.rounds + i
        here = np.flatnonzero((self.starts <= now) & self._solver._lives(self.starts, now))
        return here[np.argsort(self.starts[here])]

    def restarts(self, i: int) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts of `estimates` started."""
        return self.starts[self._alive(i)]

    def estimates(self, i: int) -> Array:
        """(S, n, p): what each expert says, the oldest first."""
        said = [part.estimates(i) for part in self.parts.values()]
        p = max(G.shape[2] for G in said)
        wide = [np.pad(G, [(0, 0), (0, 0), (0, p - G.shape[2])]) if G.shape[2] < p else G for G in said]
        return (np.concatenate(wide) if len(wide) > 1 else wide[0])[self._alive(i)]

    def observe(self, i: int, H: Array) -> None:
        """Give round i its targets (n, q)."""
        for part in self.parts.values():
            part.observe(i, H)

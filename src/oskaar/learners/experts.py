r"""Where SALAMI's experts come from: restarts on kernel values, or on features in constant memory.

Kinds of experts are ordered by kernel, then lam. `begin` makes the rounds to come, a block for each solver, and
changes nothing; `commit` learns them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar import state
from oskaar.arrays import Array, fit_columns
from oskaar.features import FeatureMap
from oskaar.inputs import Block, Inputs
from oskaar.losses import Space
from oskaar.solvers.all_restarts import CHUNK, AllRestarts
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.featurestarts import FeatureStarts
from oskaar.solvers.stacks import MOST_OPEN
from oskaar.solvers.starts import StartSolver

RENEWAL, SOONEST = 16, 128
"""A full dictionary of m inputs may be followed by a new one after 16 m rounds, and no sooner than 128."""


@dataclass
class Begun:
    """Rounds to come: a block of each solver, and the maps that have seen them."""

    blocks: list[Any]
    maps: Any = None


class KernelExperts:
    """All rows, or those of a window, are kept.

    kernels: with so many of the kernels of the inputs, the first ones; None is all.
    """

    advice = "give window= or budget=, or raise the limit"

    def __init__(
        self,
        inputs: Inputs,
        lams: list[float],
        restarts: str | None,
        window: int | None,
        kernels: int | None = None,
    ) -> None:
        self.inputs, self.lams, self.restarts, self.window = inputs, lams, restarts, window
        self.solvers: list[Any] = [self._solver(lam) for _ in inputs.kernels[:kernels] for lam in lams]

    def _solver(self, lam: float) -> AllRestarts | StartSolver:
        if self.restarts == "all":
            return AllRestarts(lam, self.window)
        return StartSolver(lam, self.window, first_only=self.restarts is None)

    @property
    def room(self) -> int:
        """How many rows the next chunk may have."""
        return CHUNK if self.restarts == "all" else 1

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts started."""
        starts: NDArray[np.int64] = self.solvers[0].starts_alive
        return starts

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        n = self.inputs.n
        experts = 1 if self.restarts == "all" else max(1, len(self.starts_alive)) // 2
        return len(self.solvers) * 4 * n * n * experts

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        n = self.inputs.n
        if self.restarts != "all":
            return sum(solver.growth(rows) + 8 * 8 * (n + rows) for solver in self.solvers)
        panels = -(-(n + rows) // PANEL) - -(-n // PANEL)
        return 8 * len(self.solvers) * (panels * PANEL * (n + rows + PANEL) + 256 * (n + rows))

    @property
    def kinds(self) -> int:
        """How many kinds of experts there are: kernels times lams."""
        return len(self.solvers)

    def begin(self, chunk: Block, ends: Any, targets: Array | None) -> Begun:
        """Rounds to come."""
        blocks: list[Any] = []
        for which in range(len(self.solvers) // len(self.lams)):
            B, D = self.inputs.against(chunk, which).T, self.inputs.corner(chunk, which)
            mine = self.solvers[which * len(self.lams) : (which + 1) * len(self.lams)]
            blocks += [solver.begin(B, D, ends) for solver in mine]
        return Begun(blocks)

    def estimates(self, begun: Begun, i: int) -> list[Array]:
        """What the experts say of round i, (S, n, p) for each kind."""
        return [block.estimates(i) for block in begun.blocks]

    def everything(self, begun: Begun) -> None:
        """Estimates come one round at a time."""
        return

    def commit(self, begun: Begun) -> None:
        """Learn rounds whose targets were observed."""
        for solver, block in zip(self.solvers, begun.blocks, strict=True):
            solver.commit(block)

    def settle(self) -> None:
        """Nothing is put off."""

    def tidy(self, block: Block) -> None:
        """Forget rows that no expert uses, after the rows of a round were kept."""
        self.inputs.forget(self.inputs.n - self.solvers[0].rows)

    def check_state(self, rounds: int) -> None:
        """Refuse experts from a file that do not fit their inputs."""
        kernels = len(self.solvers) // len(self.lams)
        state.require(0 < kernels <= len(self.inputs.kernels), "a kernel for each expert")
        state.require(len(self.solvers) == kernels * len(self.lams), "a solver for each expert")
        for solver in self.solvers:
            state.require_kind(solver, (AllRestarts, StartSolver), "a solver")
            state.require(solver.rounds == rounds, "each solver must have learned as many rounds")
            state.require(solver.rows == self.inputs.n, "each solver must have as many rows as there are")


class FeatureExperts:
    """Restarts on features. New experts take a new version of a map that is full: features follow the world."""

    advice = "take a smaller budget, or raise the limit"

    def __init__(
        self,
        inputs: Inputs,
        maps: list[FeatureMap],
        lams: list[float],
        restarts: str | None,
        window: int | None,
    ) -> None:
        self.inputs, self.lams, self.parts = inputs, lams, inputs.parts
        self.maps: list[dict[int, FeatureMap]] = [{0: m} for m in maps]
        self.originals = maps
        first_only = restarts is None
        self.starts = [FeatureStarts(lams, window, first_only) for _ in maps]
        self.alone = first_only and window is not None
        budgets = [m.dim for m in maps if m.renews and not first_only]
        self.recent = max(budgets, default=0)
        self.period = 2 ** int(np.ceil(np.log2(max(RENEWAL * self.recent, SOONEST))))
        self.rounds = 0

    @property
    def room(self) -> int:
        """How many rows the next chunk may have; it ends where a new version may begin."""
        if self.alone or self.parts:
            return 1
        until_folded = min(solver.stack.room - solver.stack.open for solver in self.starts)
        return int(min(until_folded, self.period - self.rounds % self.period))

    @property
    def kinds(self) -> int:
        """How many kinds of experts there are: maps times lams."""
        return len(self.starts) * len(self.lams)

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the experts started."""
        return self.starts[0].starts_alive

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        sizes = [(len(s.starts_alive) * len(self.lams), s.stack.Gram.shape[1]) for s in self.starts]
        return sum(experts * (5 * D**2 + 2 * D**3 // MOST_OPEN) for experts, D in sizes)

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take: slots, and wider arrays."""
        total = 0
        for versions, solver in zip(self.maps, self.starts, strict=True):
            stack, newest = solver.stack, versions[max(versions)]
            D = stack.Gram.shape[1] + (0 if newest.full else rows)
            if len(stack.starts) >= len(stack.Gram):
                total += 4 * 8 * (1 + len(self.lams)) * D * (D + MOST_OPEN)
            total += stack.nbytes // 2 if stack.Gram.shape[1] < D else 0
        return total

    def begin(self, chunk: Block, ends: Any, targets: Array | None) -> Begun:
        """Rounds to come, with their targets if no estimate is needed to tell them, and the maps after them."""
        blocks, after = [], []
        for versions, solver in zip(self.maps, self.starts, strict=True):
            seen = {version: m.seen(chunk.rows) for version, m in versions.items()}
            after.append({version: m for version, (_, m) in seen.items()})
            blocks.append(solver.begin({version: Z for version, (Z, _) in seen.items()}, ends, targets))
        return Begun(blocks, after)

    def estimates(self, begun: Begun, i: int) -> list[Array]:
        """What the experts say of round i, (S, n, p) for each kind."""
        found = [block.estimates(i) for block in begun.blocks]
        return [E[:, l] for E in found for l in range(len(self.lams))]

    def everything(self, begun: Begun) -> tuple[Any, Array] | None:
        """The starts (rounds, S) of the experts of each round, -1 where there is none, and what they say, (rounds,
        kinds, S, p), if all targets were known.
        """
        found = [block.everything() for block in begun.blocks]
        if found[0] is None:
            return None
        kinds = [E for _, E in found]
        return found[0][0], np.concatenate(kinds, axis=1) if len(kinds) > 1 else kinds[0]

    def commit(self, begun: Begun) -> None:
        """Learn rounds whose targets were observed."""
        for solver, block in zip(self.starts, begun.blocks, strict=True):
            solver.commit(block)
        self.maps = begun.maps
        self.rounds = self.starts[0].rounds

    def settle(self) -> None:
        """Fold in what was put off while a stream went on."""
        for solver in self.starts:
            solver.stack.settle()

    def tidy(self, block: Block) -> None:
        """Start a new version where it is time, forget those that no expert uses and rows that are old."""
        if self.inputs.keep and self.inputs.n >= 2 * self.recent:
            self.inputs.forget(self.inputs.n - self.recent)
        for which, versions in enumerate(self.maps):
            newest = max(versions)
            used = self.starts[which].versions | {newest}
            self.maps[which] = {version: m for version, m in versions.items() if version in used}
            if self.recent and self.rounds % self.period == 0 and versions[newest].full:
                recent = self.inputs.latest(self.recent, block)
                self.maps[which][newest + 1] = self.originals[which].fresh(recent)

    def check_state(self, rounds: int) -> None:
        """Refuse experts from a file that do not fit their maps."""
        state.require_maps(self.maps)
        state.require(len(self.maps) == len(self.starts) == len(self.originals) > 0, "a solver for each map")
        state.require(self.rounds == rounds, "the experts must have learned as many rounds")
        for versions, solver in zip(self.maps, self.starts, strict=True):
            state.require_kind(solver, FeatureStarts, "a solver")
            state.require(solver.rounds == rounds, "each solver must have learned as many rounds")
            state.require(solver.versions <= set(versions), "each version in use must be there")


def first_expert(solver: AllRestarts | StartSolver, space: Space) -> tuple[float, float]:
    """(log det(I + K / lam), min_g L_T(g)) of KAAR on all rows."""
    if isinstance(solver, AllRestarts):
        C, q = solver.products.C[:, : solver.rows].T, solver.products.q[: solver.rows]
        fit = solver.lam * float(q @ space.squared_norms(fit_columns(C, space.p)))
        return -float(np.sum(np.log(q * solver.lam))), fit
    first = solver.experts[0][2]
    fit = solver.lam * float(space.squared_norms(fit_columns(first.C.view, space.p)).sum())
    return first.log_determinant(), fit

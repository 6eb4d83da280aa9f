r"""KAAR restarted at every round, or at some: the experts of SALAMI, on kernel values or on features.

Kinds of restarts are ordered by kernel, then lam. `begin` forecasts rounds to come and changes nothing; `observe`
gives a round its targets; `commit` learns the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar import state
from oskaar.arrays import Array, fit_columns
from oskaar.features import FeatureMap
from oskaar.features.base import require_maps
from oskaar.inputs import Block, Compared, Inputs
from oskaar.losses import Space
from oskaar.saved import saved
from oskaar.solvers.all_restarts import CHUNK, AllRestarts
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.featurestarts import FeatureStarts
from oskaar.solvers.stacks import MOST_OPEN
from oskaar.solvers.starts import StartSolver

RENEWAL, SOONEST = 16, 128
"""A full dictionary of m inputs may be followed by a new one after 16 m rounds, and no sooner than 128."""

LIGHT = 1e-3
"""Restarts with less weight are left out of an effective dimension."""


class Restarts:
    """What restarts on kernel values and on features share."""

    first_only: bool
    names: list[str]
    """Of the ridge regressions that restarts have at no cost."""
    groups: list[str]

    def births(self, rounds: int) -> NDArray[np.int64]:
        """The restarts of the next round, by the round at which each was born, counted from 0."""
        alive: NDArray[np.int64] = self.starts_alive
        return alive if self.first_only and len(alive) else np.append(alive, rounds)

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the restarts but the newborn were born."""
        raise NotImplementedError


@saved("expert/kernel-restarts")
class KernelRestarts(Restarts):
    """Restarts on kernel values: all rows, or those of a window, are kept.

    schedule: "all" rounds, "geometric" or None, the first alone.
    kernels: with so many of the kernels of the inputs, the first ones; None is all.
    ridge: the name of the kernel, if ridge regressions on all rows are wanted too: the oldest restart without its
        factor lam / s. For all restarts, without a window, and rounds of one row.
    """

    advice = "give window= or budget=, or raise the limit"

    def __init__(
        self,
        inputs: Inputs,
        lams: list[float],
        schedule: str | None,
        window: int | None,
        kernels: int | None = None,
        ridge: str | None = None,
    ) -> None:
        self.inputs, self.lams, self.schedule, self.window = inputs, lams, schedule, window
        self.first_only = schedule is None
        self.names = [] if ridge is None else [f"ridge, {ridge}, lam {lam:g}" for lam in lams]
        self.groups = [] if ridge is None else [ridge] * len(lams)
        self.solvers: list[Any] = [self._solver(lam) for _ in inputs.kernels[:kernels] for lam in lams]

    def _solver(self, lam: float) -> AllRestarts | StartSolver:
        if self.schedule == "all":
            return AllRestarts(lam, self.window)
        return StartSolver(lam, self.window, first_only=self.first_only)

    @property
    def room(self) -> int:
        """How many rows the next chunk may have."""
        return CHUNK if self.schedule == "all" else 1

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the restarts but the newborn were born."""
        starts: NDArray[np.int64] = self.solvers[0].starts_alive
        return starts

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        n = self.inputs.n
        experts = 1 if self.schedule == "all" else max(1, len(self.starts_alive)) // 2
        return len(self.solvers) * 4 * n * n * experts

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        n = self.inputs.n
        if self.schedule != "all":
            return sum(solver.growth(rows) + 8 * 8 * (n + rows) for solver in self.solvers)
        panels = -(-(n + rows) // PANEL) - -(-n // PANEL)
        return 8 * len(self.solvers) * (panels * PANEL * (n + rows + PANEL) + 256 * (n + rows))

    @property
    def kinds(self) -> int:
        """How many kinds of restarts there are: kernels times lams."""
        return len(self.solvers)

    def begin(self, compared: Compared, ends: Any, targets: Array | None) -> list[Any]:
        """Rounds to come: a block of each solver."""
        blocks: list[Any] = []
        for which in range(len(self.solvers) // len(self.lams)):
            B, D = compared.against(which).T, compared.corner(which)
            mine = self.solvers[which * len(self.lams) : (which + 1) * len(self.lams)]
            blocks += [solver.begin(B, D, ends) for solver in mine]
        return blocks

    def births_of(self, blocks: list[Any], i: int) -> NDArray[np.int64]:
        """The restarts of round i."""
        births: NDArray[np.int64] = blocks[0].restarts(i)
        return births

    def estimates(self, blocks: list[Any], i: int) -> list[Array]:
        """What the restarts say of round i, (S, n, p) for each kind."""
        return [block.estimates(i) for block in blocks]

    def ridges(self, blocks: list[Any], i: int) -> Array:
        """What ridge regressions say of round i, (K, 1, p)."""
        return np.stack([block.ridge(i) for block in blocks])

    def observe(self, blocks: list[Any], i: int, targets: Array) -> None:
        """The targets (n, p) of round i."""
        for block in blocks:
            block.observe(i, targets)

    def commit(self, blocks: list[Any]) -> None:
        """Learn rounds that were observed, and forget rows that no restart uses."""
        for solver, block in zip(self.solvers, blocks, strict=True):
            solver.commit(block)
        self.inputs.forget(self.inputs.n - self.solvers[0].rows)

    def finish(self) -> None:
        """Nothing is put off."""

    def effective_dimension(self, weights: Array, probes: int | None) -> float:
        """The mean of d_eff over restarts with weights (kinds, restarts alive)."""
        if self.schedule == "all":
            found = np.array([solver.effective_dimensions(probes) for solver in self.solvers])
            return float(np.sum(weights * found))
        return _weighted(weights, lambda j, s: float(self.solvers[j].experts[s][2].effective_dimension(probes)))

    def hindsight(self, space: Space, rounds: int) -> list[tuple[float, float]]:
        """(log det(I + K / lam), min_g L_T(g)) of KAAR on all rows, for each kind; none where rows were forgotten."""
        if self.inputs.n != rounds or self.window is not None:
            return []
        return [_first(solver, space) for solver in self.solvers]

    def check_state(self, rounds: int) -> None:
        """Refuse restarts from a file that do not fit their inputs."""
        kernels = len(self.solvers) // len(self.lams)
        state.require(0 < kernels <= len(self.inputs.kernels), "a kernel for each restart")
        state.require(len(self.solvers) == kernels * len(self.lams), "a solver for each restart")
        for solver in self.solvers:
            state.require_kind(solver, (AllRestarts, StartSolver), "a solver")
            state.require(solver.rounds == rounds, "each solver must have learned as many rounds")
            state.require(solver.rows == self.inputs.n, "each solver must have as many rows as there are")


@dataclass
class PendingFeatures:
    """Rounds to come: a block for each map, the maps after them, and all estimates where targets are known."""

    block: Block
    blocks: list[Any]
    maps: list[dict[int, FeatureMap]]
    births: Any = None
    estimates: Any = None


@saved("expert/feature-restarts")
class FeatureRestarts(Restarts):
    """Geometric restarts on features. New restarts take a new version of a map that is full: features stay recent."""

    advice = "take a smaller budget, or raise the limit"

    def __init__(
        self, inputs: Inputs, maps: list[FeatureMap], lams: list[float], schedule: str | None, window: int | None
    ) -> None:
        self.inputs, self.lams, self.parts = inputs, lams, inputs.parts
        self.maps: list[dict[int, FeatureMap]] = [{0: m} for m in maps]
        self.originals = maps
        self.first_only = schedule is None
        self.names, self.groups = [], []
        self.starts = [FeatureStarts(lams, window, self.first_only) for _ in maps]
        self.alone = self.first_only and window is not None
        budgets = [m.dim for m in maps if m.renews and not self.first_only]
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
        """How many kinds of restarts there are: maps times lams."""
        return len(self.starts) * len(self.lams)

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the restarts but the newborn were born."""
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

    def begin(self, compared: Compared, ends: Any, targets: Array | None) -> PendingFeatures:
        """Rounds to come, with their targets if no estimate is needed to tell them."""
        pending = PendingFeatures(compared.block, [], [])
        for versions, solver in zip(self.maps, self.starts, strict=True):
            seen = {version: m.seen(compared.block.rows) for version, m in versions.items()}
            pending.maps.append({version: m for version, (_, m) in seen.items()})
            pending.blocks.append(solver.begin({version: Z for version, (Z, _) in seen.items()}, ends, targets))
        found = [block.everything() for block in pending.blocks]
        if found[0] is not None:
            kinds = [E for _, E in found]
            pending.births = found[0][0]
            pending.estimates = np.concatenate(kinds, axis=1) if len(kinds) > 1 else kinds[0]
        return pending

    def births_of(self, pending: PendingFeatures, i: int) -> NDArray[np.int64]:
        """The restarts of round i."""
        births: NDArray[np.int64]
        if pending.births is None:
            births = pending.blocks[0].restarts(i)
        else:
            births = pending.births[i, pending.births[i] >= 0]
        return births

    def estimates(self, pending: PendingFeatures, i: int) -> list[Array]:
        """What the restarts say of round i, (S, n, p) for each kind."""
        if pending.estimates is not None:
            return list(pending.estimates[i, :, : np.count_nonzero(pending.births[i] >= 0), None])
        found = [block.estimates(i) for block in pending.blocks]
        return [E[:, l] for E in found for l in range(len(self.lams))]

    def observe(self, pending: PendingFeatures, i: int, targets: Array) -> None:
        """The targets (n, p) of round i."""
        for block in pending.blocks:
            block.observe(i, targets)

    def commit(self, pending: PendingFeatures) -> None:
        """Learn rounds that were observed; start a new version of the features where it is time."""
        for solver, block in zip(self.starts, pending.blocks, strict=True):
            solver.commit(block)
        self.maps = pending.maps
        self.rounds = self.starts[0].rounds
        if self.inputs.keep and self.inputs.n >= 2 * self.recent:
            self.inputs.forget(self.inputs.n - self.recent)
        for which, versions in enumerate(self.maps):
            newest = max(versions)
            used = self.starts[which].versions | {newest}
            self.maps[which] = {version: m for version, m in versions.items() if version in used}
            if self.recent and self.rounds % self.period == 0 and versions[newest].full:
                recent = self.inputs.latest(self.recent, pending.block)
                self.maps[which][newest + 1] = self.originals[which].fresh(recent)

    def finish(self) -> None:
        """Fold in what was put off while a stream went on."""
        for solver in self.starts:
            solver.stack.settle()

    def effective_dimension(self, weights: Array, probes: int | None) -> float:
        """The mean of d_eff over restarts with weights (kinds, restarts alive)."""
        return _weighted(weights, self._dimension)

    def _dimension(self, kind: int, which: int) -> float:
        """d_eff of one restart: the spectrum of its Gram matrix, with the rows that are still open."""
        place, l = divmod(int(kind), len(self.lams))
        stack = self.starts[place].stack
        slots = np.flatnonzero(stack.starts >= 0)
        slot = int(slots[np.argsort(stack.starts[slots])[which]])
        values = np.maximum(np.linalg.eigvalsh(stack.gram_of(slot)), 0.0)
        return float(np.sum(values / (values + stack.lams[l])))

    def hindsight(self, space: Space, rounds: int) -> list[tuple[float, float]]:
        """None: the kernel changes as the maps learn."""
        return []

    def check_state(self, rounds: int) -> None:
        """Refuse restarts from a file that do not fit their maps."""
        require_maps(self.maps)
        state.require(len(self.maps) == len(self.starts) == len(self.originals) > 0, "a solver for each map")
        state.require(self.rounds == rounds, "the restarts must have learned as many rounds")
        for versions, solver in zip(self.maps, self.starts, strict=True):
            state.require_kind(solver, FeatureStarts, "a solver")
            state.require(solver.rounds == rounds, "each solver must have learned as many rounds")
            state.require(solver.versions <= set(versions), "each version in use must be there")


def _first(solver: AllRestarts | StartSolver, space: Space) -> tuple[float, float]:
    """(log det(I + K / lam), min_g L_T(g)) of the first restart, KAAR on all rows."""
    if isinstance(solver, AllRestarts):
        C, q = solver.products.C[:, : solver.rows].T, solver.products.q[: solver.rows]
        fit = solver.lam * float(q @ space.squared_norms(fit_columns(C, space.p)))
        return -float(np.sum(np.log(q * solver.lam))), fit
    first = solver.experts[0][2]
    fit = solver.lam * float(space.squared_norms(fit_columns(first.C.view, space.p)).sum())
    return first.log_determinant(), fit


def _weighted(weights: Array, of: Any) -> float:
    """The mean of of(kind, restart) over the restarts with a thousandth of the weight or more."""
    heavy = np.argwhere(weights >= min(LIGHT, weights.max(initial=0.0)))
    total = float(sum(weights[j, s] for j, s in heavy))
    share = float(weights.sum()) / total if total else 0.0
    return share * float(sum(weights[j, s] * of(j, s) for j, s in heavy))

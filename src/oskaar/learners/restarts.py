r"""KAAR restarted at every round, or at some: the experts of SALAMI, on kernel values or on features.

Kinds of restarts are ordered by kernel, then lam. `begin` forecasts rounds to come and changes nothing; `observe`
gives a round its targets; `commit` learns the rounds.
"""

from __future__ import annotations

import copy
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
from oskaar.solvers.basis import Basis
from oskaar.solvers.geometric_restarts import FeatureRows, GeometricBlock, GeometricRestarts, GramRows

MANY = 8
"""Labels with so many times as many coordinates as restarts have rows are written in a basis of what they span."""

RENEWAL, SOONEST = 16, 128
"""A full dictionary of m inputs may be followed by a new one after 16 m rounds, and no sooner than 128."""


class Restarts:
    """What restarts on kernel values and on features share."""

    advice = "give window= or budget=, or raise the limit"
    inputs: Inputs
    lams: list[float]
    first_only = False
    names: list[str]
    """Of the ridge regressions that restarts have at no cost."""
    groups: list[str]

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the restarts but the newborn were born."""
        raise NotImplementedError

    @property
    def kinds(self) -> int:
        """How many kinds of restarts there are: kernels or maps times lams."""
        raise NotImplementedError

    def _all(self) -> list[Any]:
        """All solvers."""
        raise NotImplementedError

    def births(self, rounds: int) -> NDArray[np.int64]:
        """The restarts of the next round, by the round at which each was born, counted from 0."""
        alive: NDArray[np.int64] = self.starts_alive
        return alive if self.first_only and len(alive) else np.append(alive, rounds)

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        return sum(int(solver.operations) for solver in self._all())

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        return sum(int(solver.growth(rows)) for solver in self._all())

    def each(self, compared: Compared) -> tuple[Any, list[Array], list[Array]]:
        """Rounds of one row, all from the present state: births (S,), (S, m, p) by kind, [(K, m, p)] of `names`."""
        rounds = [self.begin(compared.row(i), [1], None) for i in range(compared.block.n)]
        found = zip(*(self.estimates(one, 0) for one in rounds), strict=True)
        return self.births_of(rounds[0], 0), [np.concatenate(kind, axis=1) for kind in found], []

    def begin(self, compared: Compared, ends: Any, targets: Array | None) -> Any:
        """Rounds to come."""
        raise NotImplementedError

    def compress(self, pending: Any) -> Basis | None:
        """The basis in which targets and estimates of these rounds are from now on; None: in that of the labels."""
        return None

    def births_of(self, pending: Any, i: int) -> NDArray[np.int64]:
        """The restarts of round i."""
        raise NotImplementedError

    def estimates(self, pending: Any, i: int) -> list[Array]:
        """The estimates of the restarts for round i, (S, n, p) for each kind."""
        raise NotImplementedError

    def _check_solvers(self, kind: type, rounds: int, rows: int | None = None) -> None:
        """Refuse solvers from a file that have not seen so many rounds, and do not keep so many rows."""
        for solver in self._all():
            state.require_kind(solver, kind, "a solver")
            state.require(solver.rounds == rounds, "each solver must have learned as many rounds")
            state.require(rows is None or solver.rows == rows, "each solver must have as many rows as there are")


@saved("expert/kernel-restarts")
class KernelRestarts(Restarts):
    """Restarts at all rounds, on kernel values: all rows, or those of a window, are kept.

    window: restarts have at most so many rows. The inputs forget the others.
    kernels: with so many of the kernels of the inputs, the first ones; None is all.
    ridge: the name of the kernel, if ridge regressions on all rows are wanted too: the oldest restart without its
        factor lam / s. Without a window or numbers, and for rounds of one row.
    numbers: rows times coordinates of labels are at most so many (`AllRestarts`). The inputs keep all rows.
    """

    room = CHUNK

    def __init__(
        self,
        inputs: Inputs,
        lams: list[float],
        window: int | None = None,
        kernels: int | None = None,
        ridge: str | None = None,
        numbers: int | None = None,
    ) -> None:
        self.inputs, self.lams, self.window = inputs, lams, window
        self.names = [] if ridge is None else [f"ridge, {ridge}, lam {lam:g}" for lam in lams]
        self.groups = [] if ridge is None else [ridge] * len(lams)
        self.solvers = [AllRestarts(lam, window, numbers) for _ in inputs.kernels[:kernels] for lam in lams]

    @property
    def kinds(self) -> int:
        """How many kinds of restarts there are: kernels times lams."""
        return len(self.solvers)

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the restarts but the newborn were born."""
        return self.solvers[0].starts_alive

    def _all(self) -> list[Any]:
        return [*self.solvers]

    def begin(self, compared: Compared, ends: Any, targets: Array | None) -> list[Any]:
        """Rounds to come: a block of each solver."""
        return [s.begin(self._against(compared, k), compared.corner(k), ends) for s, k in self._by_kernel]

    def compress(self, blocks: list[Any]) -> Basis | None:
        """A basis, where labels have many coordinates for the rows kept, and there are several rounds of one row."""
        solver, rounds = self.solvers[0], len(blocks[0].ends)
        few = solver.numbers is None or solver.products.targets < MANY * solver.rows
        if few or rounds == 1 or rounds < blocks[0].ends[-1]:
            return None
        basis = Basis(solver.targets_span, rounds)
        for block in blocks:
            block.in_basis(basis)
        return basis

    def each(self, compared: Compared) -> tuple[Any, list[Array], list[Array]]:
        """Rounds of one row each, all from the present state."""
        made = [s.forecast_each(self._against(compared, k), compared.diagonal(k)) for s, k in self._by_kernel]
        now, alive = self.solvers[0].rounds, len(made[0][0])
        ridges = [np.array([ridge for _, ridge in made])] if self.names else []
        return np.arange(now + 1 - alive, now + 1), [G for G, _ in made], ridges

    def _against(self, compared: Compared, kernel: int) -> Array:
        """k(X, x) of the rows that restarts still use, the last ones."""
        last: Array = compared.against(kernel)[:, self.inputs.n - self.solvers[0].rows :].T
        return last

    def most_rows(self, targets: int) -> int | None:
        """How many rows they have at most, with so many target coordinates; None is all."""
        return self.solvers[0].most_rows(targets)

    def fitted(self, solvers: list[AllRestarts]) -> KernelRestarts:
        """The same restarts with solvers that have seen the rows of the inputs."""
        new = copy.copy(self)
        new.solvers = solvers
        return new

    @property
    def _by_kernel(self) -> list[tuple[AllRestarts, int]]:
        """Each solver, and the place of its kernel."""
        return [(solver, i // len(self.lams)) for i, solver in enumerate(self.solvers)]

    def births_of(self, blocks: list[Any], i: int) -> NDArray[np.int64]:
        """The restarts of round i."""
        births: NDArray[np.int64] = blocks[0].restarts(i)
        return births

    def estimates(self, blocks: list[Any], i: int) -> list[Array]:
        """The estimates of the restarts for round i, (S, n, p) for each kind."""
        return [block.estimates(i) for block in blocks]

    def ridges(self, blocks: list[Any], i: int) -> Array:
        """The estimates of ridge regressions for round i, (K, 1, p)."""
        return np.array([block.ridge(i) for block in blocks])

    def observe(self, blocks: list[Any], i: int, targets: Array) -> None:
        """The targets (n, p) of round i."""
        for block in blocks:
            block.observe(i, targets)

    def commit(self, blocks: list[Any]) -> None:
        """Learn rounds that were observed; with a window, forget rows that no restart uses."""
        for solver, block in zip(self.solvers, blocks, strict=True):
            solver.commit(block)
        if self.window is not None:
            self.inputs.forget(self.inputs.n - self.solvers[0].rows)

    def effective_dimension(self, weights: Array, probes: int | None) -> float:
        """The mean of d_eff over restarts with weights (kinds, restarts alive)."""
        found = np.array([solver.effective_dimensions(probes) for solver in self.solvers])
        return float(np.sum(weights * found))

    def hindsight(self, space: Space, rounds: int) -> list[tuple[float, float]]:
        """(log det(I + K / lam), min_g L_T(g)) of KAAR on all rows, for each kind; none where rows were forgotten."""
        if self.inputs.n != rounds or self.solvers[0].rows != rounds or self.window is not None:
            return []
        return [_fitted(solver.lam, *solver.oldest(), space) for solver in self.solvers]

    def check_state(self, rounds: int) -> None:
        """Refuse restarts from a file that do not fit their inputs."""
        kernels = len(self.solvers) // len(self.lams)
        state.require(0 < kernels <= len(self.inputs.kernels), "a kernel for each restart")
        state.require(len(self.solvers) == kernels * len(self.lams), "a solver for each restart")
        rows, known = self.solvers[0].rows, self.inputs.n
        state.require(rows == known or (self.window is None and rows < known), "as many rows as there are")
        self._check_solvers(AllRestarts, rounds, rows)


@dataclass
class PendingRestarts:
    """Rounds to come for geometric restarts: blocks by kernel or map, and by version of the map.

    All their estimates are there: births (E,) of experts, alive (rounds, E), G (rounds, kinds, E, n, p).
    """

    blocks: list[dict[int, GeometricBlock]]
    block: Block
    maps: list[dict[int, FeatureMap]]

    def __post_init__(self) -> None:
        first = [*self.blocks[0].values()]
        self.births = np.concatenate([block.births for block in first])
        self.alive = np.concatenate([block.alive for block in first], axis=1)
        p = max(block.G.shape[-1] for versions in self.blocks for block in versions.values())
        kinds = [[fit_columns(block.G, p) for block in versions.values()] for versions in self.blocks]
        self.G = np.concatenate([np.concatenate(experts, axis=2) for experts in kinds], axis=1)


class RestartsAtSomeRounds(Restarts):
    """Restarts at some rounds, or at the first alone."""

    def births_of(self, pending: PendingRestarts, i: int) -> NDArray[np.int64]:
        """The restarts of round i, the oldest first."""
        births: NDArray[np.int64] = pending.births[pending.alive[i]]
        return births

    def estimates(self, pending: PendingRestarts, i: int) -> list[Array]:
        """The estimates of the restarts for round i, (S, n, p) for each kind."""
        return list(pending.G[i].compress(pending.alive[i], axis=1))

    def observe(self, pending: PendingRestarts, i: int, targets: Array) -> None:
        """The targets (n, p) of round i."""
        for versions in pending.blocks:
            for block in versions.values():
                block.observe(i, targets)


@saved("expert/geometric-restarts")
class GeometricKernelRestarts(RestartsAtSomeRounds):
    """Geometric restarts on kernel values: all rows, or those of a window, are kept."""

    def __init__(self, inputs: Inputs, lams: list[float], window: int | None, first_only: bool) -> None:
        self.inputs, self.lams, self.window, self.first_only = inputs, lams, window, first_only
        self.names, self.groups = [], []
        self.solvers = [GeometricRestarts(lams, GramRows, window, first_only) for _ in inputs.kernels]

    @property
    def room(self) -> int:
        """How many rows the next chunk may have."""
        return 1 if self.inputs.parts else self.solvers[0].room

    @property
    def kinds(self) -> int:
        """How many kinds of restarts there are: kernels times lams."""
        return len(self.solvers) * len(self.lams)

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the restarts but the newborn were born."""
        return self.solvers[0].births

    def _all(self) -> list[Any]:
        return [*self.solvers]

    def begin(self, compared: Compared, ends: Any, targets: Array | None) -> PendingRestarts:
        """Rounds to come, with their targets if these depend on no estimate: a block for each kernel."""
        rows = [GramRows(compared.against(k).T, compared.corner(k)) for k in range(len(self.solvers))]
        blocks = [{0: solver.begin(mine, ends, targets)} for solver, mine in zip(self.solvers, rows, strict=True)]
        return PendingRestarts(blocks, compared.block, [])

    def commit(self, pending: PendingRestarts) -> None:
        """Learn rounds that were observed, and forget rows that no restart uses."""
        for solver, versions in zip(self.solvers, pending.blocks, strict=True):
            solver.commit(versions[0])
        self.inputs.forget(self.inputs.n - self.solvers[0].rows)

    def effective_dimension(self, weights: Array, probes: int | None) -> float:
        """The mean of d_eff over restarts with weights (kinds, restarts alive)."""
        mine = zip(self.solvers, np.split(weights, len(self.solvers)), strict=True)
        return sum(solver.effective_dimension(w, probes) for solver, w in mine)

    def hindsight(self, space: Space, rounds: int) -> list[tuple[float, float]]:
        """(log det(I + K / lam), min_g L_T(g)) of KAAR on all rows, for each kind; none where rows were forgotten."""
        if self.inputs.n != rounds or self.window is not None:
            return []
        firsts = [solver.solver_of(0, l) for solver in self.solvers for l in range(len(self.lams))]
        return [_fitted(first.lam, first.log_determinant(), first.C.view, space) for first in firsts]

    def check_state(self, rounds: int) -> None:
        """Refuse restarts from a file that do not fit their inputs."""
        state.require(len(self.solvers) == len(self.inputs.kernels), "a solver for each kernel")
        self._check_solvers(GeometricRestarts, rounds, self.inputs.n)


@saved("expert/feature-restarts")
class FeatureRestarts(RestartsAtSomeRounds):
    """Geometric restarts on features. New restarts take a new version of a map that is full: features stay recent."""

    advice = "take a smaller budget, or raise the limit"

    def __init__(
        self, inputs: Inputs, maps: list[FeatureMap], lams: list[float], schedule: str | None, window: int | None
    ) -> None:
        self.inputs, self.lams, self.window = inputs, lams, window
        self.maps: list[dict[int, FeatureMap]] = [{0: m} for m in maps]
        self.originals = maps
        self.first_only = schedule is None
        self.names, self.groups = [], []
        self.rounds = 0
        self.solvers: list[dict[int, GeometricRestarts]] = [{0: self._restarted()} for _ in maps]
        budgets = [m.dim for m in maps if m.renews and not self.first_only]
        self.recent = max(budgets, default=0)
        self.period = 2 ** int(np.ceil(np.log2(max(RENEWAL * self.recent, SOONEST))))

    def _restarted(self) -> GeometricRestarts:
        """For the experts of one version of a map."""
        return GeometricRestarts(self.lams, FeatureRows, self.window, self.first_only, self.rounds)

    @property
    def room(self) -> int:
        """How many rows the next chunk may have; it ends where a new version may begin."""
        room = min(self._all()[0].room, self.period - self.rounds % self.period)
        return 1 if self.inputs.parts else room

    @property
    def kinds(self) -> int:
        """How many kinds of restarts there are: maps times lams."""
        return len(self.solvers) * len(self.lams)

    @property
    def starts_alive(self) -> NDArray[np.int64]:
        """The rounds, counted from 0, at which the restarts but the newborn were born."""
        return np.concatenate([solver.births for solver in self.solvers[0].values()])

    def _all(self) -> list[Any]:
        return [solver for versions in self.solvers for solver in versions.values()]

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        pairs = zip(self.maps, self.solvers, strict=True)
        return sum(solvers[v].growth(rows, m.full) for maps, solvers in pairs for v, m in maps.items())

    def begin(self, compared: Compared, ends: Any, targets: Array | None) -> PendingRestarts:
        """Rounds to come, with their targets if these depend on no estimate."""
        blocks, after = [], []
        for maps, solvers in zip(self.maps, self.solvers, strict=True):
            seen = {version: m.seen(compared.block.rows) for version, m in maps.items()}
            after.append({version: m for version, (_, m) in seen.items()})
            blocks.append({v: solvers[v].begin(FeatureRows(Z), ends, targets) for v, (Z, _) in seen.items()})
        return PendingRestarts(blocks, compared.block, after)

    def commit(self, pending: PendingRestarts) -> None:
        """Learn rounds that were observed; start a new version of the features where it is time."""
        self.maps = pending.maps
        for solvers, blocks in zip(self.solvers, pending.blocks, strict=True):
            for version, solver in solvers.items():
                solver.commit(blocks[version])
        self.rounds = self.solvers[0][max(self.solvers[0])].rounds
        if self.inputs.keep and not self.inputs.compare and self.inputs.n >= 2 * self.recent:
            self.inputs.forget(self.inputs.n - self.recent)
        for which in range(len(self.maps)):
            self._renew(which, pending.block)

    def _renew(self, which: int, block: Block) -> None:
        """Drop versions of a map that no expert uses; where it is time, and the newest is full, begin another."""
        maps, solvers = self.maps[which], self.solvers[which]
        newest = max(maps)
        for version in [v for v in maps if v != newest and not len(solvers[v].births)]:
            del maps[version], solvers[version]
        if self.recent and self.rounds % self.period == 0 and maps[newest].full:
            solvers[newest].bears = False
            maps[newest + 1] = self.originals[which].fresh(self.inputs.latest(self.recent, block))
            solvers[newest + 1] = self._restarted()

    def effective_dimension(self, weights: Array, probes: int | None) -> float:
        """The mean of d_eff over restarts with weights (kinds, restarts alive)."""
        total = 0.0
        for versions, mine in zip(self.solvers, np.split(weights, len(self.solvers)), strict=True):
            ends = np.cumsum([len(solver.births) for solver in versions.values()])[:-1]
            parts = zip(versions.values(), np.split(mine, ends, axis=1), strict=True)
            total += sum(solver.effective_dimension(w, probes) for solver, w in parts)
        return total

    def hindsight(self, space: Space, rounds: int) -> list[tuple[float, float]]:
        """None: the kernel changes as the maps learn."""
        return []

    def check_state(self, rounds: int) -> None:
        """Refuse restarts from a file that do not fit their maps."""
        require_maps(self.maps)
        state.require(len(self.maps) == len(self.solvers) == len(self.originals) > 0, "a solver for each map")
        state.require(self.rounds == rounds, "the restarts must have learned as many rounds")
        for maps, versions in zip(self.maps, self.solvers, strict=True):
            state.require(isinstance(versions, dict) and list(versions) == list(maps), "a solver for each version")
        self._check_solvers(GeometricRestarts, rounds)


def _fitted(lam: float, log_determinant: float, C: Array, space: Space) -> tuple[float, float]:
    """(log det(I + K / lam), min_g L(g)) of KAAR with the coordinates C."""
    return log_determinant, lam * float(space.squared_norms(fit_columns(C, space.p)).sum())

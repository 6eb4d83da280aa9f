r"""How OSKAAR gets g_hat from checked rows: by kernel values on all past rows, or by features in constant memory.

An engine makes a forecast (with its estimate G) for a round or for a chunk of rounds, which changes nothing,
and then learns it. The learner keeps the inputs and the labels; an engine knows nothing of structures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oskaar.arrays import Array, Growing, fit_columns, spans
from oskaar.features import FeatureMap, Nystrom
from oskaar.inputs import Block, Inputs
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.exact import Chunk, ExactSolver, Forecast
from oskaar.solvers.kaar_features import FeatureForecast, FeatureSolver

CHUNK = 4 * PANEL
"""Rows that a stream predicts and learns at a time: large enough that the work is matrix products."""


class ExactEngine:
    """All rows are kept: a round costs O(t^2)."""

    advice = "give budget= for constant memory, or raise the limit"

    def __init__(self, inputs: Inputs, lam: float, shifted: bool) -> None:
        self.inputs = inputs
        self.solver = ExactSolver(lam, shifted)

    @property
    def room(self) -> int:
        """How many rows the next chunk may have."""
        return CHUNK - self.inputs.n % PANEL

    @property
    def operations(self) -> int:
        """About how many operations a round takes: one triangular solve."""
        return self.inputs.n**2 + 4 * self.inputs.n * self.solver.C.shape[1]

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        targets = 2 * self.solver.C.shape[1] * max(rows, self.inputs.n // 2)
        return self.solver.factor.growth(rows) + 8 * targets

    def forecast(self, block: Block) -> Forecast:
        """One round."""
        return self.solver.forecast(self.inputs.against(block), self.inputs.corner(block))

    def learn(self, forecast: Forecast, Phi: Array) -> None:
        """Learn the round of a forecast."""
        self.solver.update(forecast, Phi)

    def forecast_chunk(self, chunk: Block, Phi: Array, ends: Any) -> Chunk:
        """Several rounds, each after the labels of those before it."""
        return self.solver.forecast_chunk(self.inputs.against(chunk), self.inputs.corner(chunk), Phi, ends)

    def learn_chunk(self, chunk: Chunk) -> None:
        """Learn the rounds of a chunk."""
        self.solver.append(chunk)

    def each(self, block: Block, ends: Any) -> Array:
        """Estimates for several rounds, all from the present state."""
        if len(ends) == block.n:
            return self.solver.forecast_each(self.inputs.against(block), self.inputs.diagonal(block))
        return self.solver.forecast_rounds(self.inputs.against(block), self.inputs.corner(block), ends)

    def average(self, block: Block) -> Array:
        """The averaged function at the rows of a block."""
        return self.solver.average(self.forecast(block))

    def hedged_average(self, block: Block) -> Array:
        """The average of the functions, each hedged at the row of a block."""
        return self.solver.hedged_average(self.inputs.against(block), self.inputs.diagonal(block))

    def label_weights(self, block: Block) -> Array:
        """A weight for each past row."""
        return self.solver.label_weights(self.forecast(block))


@dataclass(frozen=True)
class Mapped:
    """A forecast in feature space, the map that has seen its rows, and the solver it was made with."""

    inner: FeatureForecast
    map: FeatureMap
    solver: FeatureSolver

    @property
    def G(self) -> Array:
        """The estimates."""
        return self.inner.G


class FeatureEngine:
    """No row is kept: a round costs the same for ever."""

    advice = "take a smaller budget, or raise the limit"

    def __init__(self, features: FeatureMap, lam: float, shifted: bool) -> None:
        self.map = features
        self.solver = FeatureSolver(lam, shifted)

    @property
    def room(self) -> int:
        """How many rows the next chunk may have."""
        return max(PANEL, min(self.solver.dim, CHUNK))

    @property
    def operations(self) -> int:
        """About how many operations a round takes: features, one row, and its part of a fold."""
        return self.solver.dim**2 + self.solver.operations

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        before = self.solver.dim
        D = before if self.map.full else before + rows
        return self.solver.growth(rows, self.map.full) + 8 * 3 * (D * D - before * before)

    def forecast(self, block: Block) -> Mapped:
        """One round."""
        Z, after = self.map.seen(block.rows)
        return Mapped(self.solver.forecast(Z), after, self.solver)

    def learn(self, forecast: Mapped, Phi: Array) -> None:
        """Learn the round of a forecast."""
        self.solver = forecast.solver
        self.solver.update(forecast.inner, Phi)
        self.map = forecast.map

    def forecast_chunk(self, chunk: Block, Phi: Array, ends: Any) -> Mapped:
        """Several rounds, each after the labels of those before it."""
        Z, after = self.map.seen(chunk.rows)
        return Mapped(self.solver.forecast_chunk(Z, Phi, ends), after, self.solver)

    def learn_chunk(self, chunk: Mapped) -> None:
        """Learn the rounds of a chunk."""
        self.solver = chunk.solver
        self.solver.append(chunk.inner)
        self.map = chunk.map

    def each(self, block: Block, ends: Any) -> Array:
        """Estimates for several rounds, all from the present state, each as `forecast` has it alone."""
        if len(ends) == block.n and not getattr(self.map, "reproject", False):
            return self.solver.forecast_each(self.map.each(block.rows))
        return np.concatenate([self.forecast(block.part(lo, hi)).G for lo, hi in spans(ends)])

    def average(self, block: Block) -> Array:
        """The averaged function at the rows of a block."""
        return self.solver.average(self.map.seen(block.rows)[0])

    def hedged_average(self, block: Block) -> Array:
        """There is none: it needs every round's factor."""
        raise ValueError("the hedged average needs the past rows, and features keep none: leave out hedged=True.")

    def label_weights(self, block: Block) -> Array:
        """There are none: past rows are not kept."""
        raise ValueError("label_weights needs the past rows, and features keep none: use OSKAAR without a budget.")


class ReprojectedEngine(FeatureEngine):
    """PKAWV (Jezequel, Gaillard, Rudi 2019) to the letter: past rows are projected on every new atom as well."""

    def __init__(self, features: FeatureMap, inputs: Inputs, lam: float, shifted: bool) -> None:
        super().__init__(features, lam, shifted)
        self.inputs, self._lam = inputs, lam
        self.targets = Growing(0)

    room = 1

    def growth(self, rows: int) -> int:
        """Rows and targets are kept too."""
        return super().growth(rows) + 8 * 2 * max(rows, self.inputs.n // 2) * self.targets.shape[1]

    def forecast(self, block: Block) -> Mapped:
        """One round, on the atoms that it may bring."""
        Z, after = self.map.seen(block.rows)
        solver = self.solver
        if Z.shape[1] > solver.dim and self.inputs.n:
            past = after(self.inputs.latest(self.inputs.n, block))
            solver = self.solver.rebuilt(past, self.targets.view)
        return Mapped(solver.forecast(Z), after, solver)

    def learn(self, forecast: Mapped, Phi: Array) -> None:
        """Learn the round, and keep its targets."""
        G = fit_columns(forecast.G, Phi.shape[1])
        super().learn(forecast, Phi)
        self.targets.append(2 * Phi - G if self.solver.shifted else Phi)

    def forecast_chunk(self, chunk: Block, Phi: Array, ends: Any) -> Mapped:
        """One round at a time."""
        forecast = self.forecast(chunk)
        return replace(forecast, inner=replace(forecast.inner, H=Phi))

    def learn_chunk(self, chunk: Mapped) -> None:
        """Learn the one round."""
        assert chunk.inner.H is not None
        self.learn(chunk, chunk.inner.H)


def make_engine(inputs: Inputs, features: FeatureMap | None, lam: float, shifted: bool) -> Any:
    """The engine for these settings."""
    if features is None:
        return ExactEngine(inputs, lam, shifted)
    if isinstance(features, Nystrom) and features.reproject:
        return ReprojectedEngine(features, inputs, lam, shifted)
    return FeatureEngine(features, lam, shifted)

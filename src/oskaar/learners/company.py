r"""Company: experts beside those of the paper, that have seen every round and never restart.

- **ridges**: ridge regression with each kernel and lam, KAAR without its hedge. A decoder does not feel the hedge,
  but the weights of a mixture do. Where rounds are made of parts there is no one number to divide by: they are KAAR.
- **differences**, with the last kernel: phi(y_{t-1}) + what ridge regression says of phi(y_t) - phi(y_{t-1}), for
  labels that move in steps. The estimate is linear in the labels, so that one solver has both, with targets
  (phi_1, lag_1, phi_2, lag_2, ...) by coordinate.
- **the last label**, and **the mean** of all labels, whatever x is.

Each ridge is what OSKAAR has inside, on rows that are kept or on features. Equivalent to tests/naive.py::company.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array, fit_columns
from oskaar.features import FeatureMap
from oskaar.inputs import Block, Inputs
from oskaar.solvers.exact import ExactSolver
from oskaar.solvers.kaar_features import FeatureSolver


class Ridges:
    """One kernel, or one feature map, with each lam.

    kernel: the place of the kernel among those of the inputs; features: a map in its place.
    """

    def __init__(self, inputs: Inputs, kernel: int, features: FeatureMap | None, lams: list[float]) -> None:
        self.inputs, self.kernel, self.features = inputs, kernel, features
        kind: Any = ExactSolver if features is None else FeatureSolver
        self.solvers: list[Any] = [kind(lam) for lam in lams]

    def seen(self, block: Block) -> tuple[tuple[Array, ...], FeatureMap | None]:
        """What the solvers have to know of rows to come, and the map that has seen them."""
        if self.features is None:
            return (self.inputs.against(block, self.kernel), self.inputs.corner(block, self.kernel)), None
        Z, after = self.features.seen(block.rows)
        return (Z,), after

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        if self.features is None:
            return sum(s.factor.growth(rows) + 16 * s.C.shape[1] * max(rows, s.factor.n // 2) for s in self.solvers)
        full, dim = self.features.full, int(self.solvers[0].dim)
        D = dim if full else dim + rows
        return sum(int(s.growth(rows, full)) for s in self.solvers) + 8 * 3 * (D * D - dim * dim)

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        sizes = [s.factor.n if self.features is None else 3 * s.dim for s in self.solvers]
        return sum(n * n for n in sizes)


@dataclass
class Visit:
    """Rounds to come: what each expert says (experts, rows, p), and what learning them needs."""

    estimates: Array
    forecasts: list[list[Any]]
    maps: list[FeatureMap | None]
    known: bool


class Company:
    """Experts that stay. `forecast` changes nothing; `commit` learns.

    ridges: one for each kernel or map; labels: whether a round has one label, for differences, the last and the mean.
    """

    def __init__(self, ridges: list[Ridges], labels: bool) -> None:
        self.ridges, self.labels = ridges, labels
        self.last, self.total = np.zeros((1, 0)), np.zeros((1, 0))
        self.rounds = 0

    @property
    def names(self) -> list[tuple[str, int | None, int | None]]:
        """What each expert is: the kind, and the places of its kernel and of its lam."""
        names: list[tuple[str, int | None, int | None]] = [
            ("ridge", ridges.kernel, l) for ridges in self.ridges for l in range(len(ridges.solvers))
        ]
        if not self.labels:
            return names
        if self.ridges:
            last = self.ridges[-1]
            names += [("differences", last.kernel, l) for l in range(len(last.solvers))]
        return [*names, ("last", None, None), ("mean", None, None)]

    def forecast(self, block: Block, ends: Any, Phi: Array | None = None) -> Visit:
        """One round, or several whose targets are known, each after the labels of those before it."""
        forecasts, maps = [], []
        for ridges in self.ridges:
            rows, after = ridges.seen(block)
            if Phi is None:
                forecasts.append([solver.forecast(*rows) for solver in ridges.solvers])
            else:
                targets = self._targets(ridges, Phi)
                forecasts.append([solver.forecast_chunk(*rows, targets, ends) for solver in ridges.solvers])
            maps.append(after)
        return Visit(self._estimates(block.n, forecasts, Phi), forecasts, maps, Phi is not None)

    def commit(self, visit: Visit, Phi: Array) -> None:
        """Learn rounds that were forecast, now that their targets are known."""
        for ridges, forecasts, after in zip(self.ridges, visit.forecasts, visit.maps, strict=True):
            for solver, forecast in zip(ridges.solvers, forecasts, strict=True):
                if visit.known:
                    solver.append(forecast)
                else:
                    solver.update(forecast, self._targets(ridges, Phi))
            if after is not None:
                ridges.features = after
        if self.labels:
            self.total = fit_columns(self.total, Phi.shape[1]) + Phi.sum(axis=0)
            self.last, self.rounds = Phi[-1:], self.rounds + len(Phi)

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        return sum(ridges.growth(rows) for ridges in self.ridges)

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        return sum(ridges.operations for ridges in self.ridges)

    def check_state(self, rounds: int) -> None:
        """Refuse company from a file that has not seen these rounds."""
        state.require(self.rounds == (rounds if self.labels else 0), "company must have seen as many rounds")
        for row in (self.last, self.total):
            state.require(isinstance(row, np.ndarray) and row.ndim == 2 and len(row) == 1, "company has one row")
        for ridges in self.ridges:
            for solver in ridges.solvers:
                state.require_kind(solver, (ExactSolver, FeatureSolver), "a solver of company")
                known = not isinstance(solver, ExactSolver) or solver.factor.n == ridges.inputs.n
                state.require(known, "company must have as many rows as there are")

    def _differs(self, ridges: Ridges) -> bool:
        return self.labels and ridges is self.ridges[-1]

    def _targets(self, ridges: Ridges, Phi: Array) -> Array:
        """phi, or phi beside the phi before it, coordinate by coordinate, so that new ones come last."""
        if not self._differs(ridges):
            return Phi
        return np.stack([Phi, self._before(Phi)], axis=2).reshape(len(Phi), -1)

    def _before(self, Phi: Array) -> Array:
        """The phi before each of some rounds."""
        return np.concatenate([fit_columns(self.last, Phi.shape[1]), Phi[:-1]])

    def _estimates(self, n: int, forecasts: list[list[Any]], Phi: Array | None) -> Array:
        p = max(self.last.shape[1], 0 if Phi is None else Phi.shape[1])
        said: list[Array] = []
        last = fit_columns(self.last, p) if Phi is None else self._before(Phi)
        for ridges, made in zip(self.ridges, forecasts, strict=True):
            said += [f.G if not self.labels else np.diagonal(f.R)[:, None] * f.E for f in made]
            if self._differs(ridges):
                both = [fit_columns(M, 2 * p) for M in said[-len(made) :]]
                said[-len(made) :] = [M[:, ::2] for M in both]
                said += [M[:, ::2] - M[:, 1::2] + last for M in both]
        if self.labels:
            said += [last, self._means(n, p, Phi)]
        p = max((G.shape[1] for G in said), default=0)
        return np.stack([fit_columns(G, p) for G in said]) if said else np.zeros((0, n, p))

    def _means(self, n: int, p: int, Phi: Array | None) -> Array:
        """The mean phi before each round; 0 before the first."""
        total = np.repeat(fit_columns(self.total, p), n, axis=0)
        if Phi is not None:
            total[1:] += np.cumsum(Phi[:-1], axis=0)
        means: Array = total / np.maximum(self.rounds + np.arange(n), 1)[:, None]
        return means

r"""Experts that have seen every round and never restart, for a mixture (`learners.mixture`).

- **Ridges**: ridge regression with a kernel or a feature map and each lam. It is KAAR without its last penalty, on
  the values at the rows to come: with a small lam it shrinks them much, and a mixture would not choose it. With
  `differences` also phi(y_{t-1}) + what ridge regression says of phi(y_t) - phi(y_{t-1}), for labels that move in
  steps. The estimate is linear in the labels, so that one solver has both, with targets (phi_1, lag_1, phi_2, lag_2,
  ...) by coordinate. With `lags` the last labels are features too, an autoregression with exogenous inputs (ARX,
  Ljung 1999): z_t = (z(x_t), 3 phi(y_{t-1}), 3 phi(y_{t-2}), ...), by coordinate, so that new ones come last.
- **PastLabels**: the last label, and the mean of all labels, whatever x is.

`forecast` changes nothing; `observe` takes the label of a round, `commit` learns.
Equivalent to tests/naive.py::static_experts.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array, fit_columns
from oskaar.features import FeatureMap, Nystrom
from oskaar.inputs import Compared, Inputs
from oskaar.learners.labels import Labels
from oskaar.losses import Space
from oskaar.saved import saved
from oskaar.solvers.exact import ExactSolver
from oskaar.solvers.kaar_features import LATER, FeatureSolver

UNLIMITED = 2**31
"""Rows of a chunk, for experts that set no limit."""

LAG_SCALE, LAGGED, LAG_LIMIT = 3.0, 32, 30.0
"""Labels among the features count so many times; they have at most so many coordinates, the first, cut off at this
size. Only where the range of labels is learned and has grown that much is there anything to cut off."""


class Always:
    """What experts share that are there from the first round on."""

    asleep, sleeps, lives = False, False, 1

    def begins(self, pending: Any, rounds: int, changes: int) -> bool:
        """Never anew."""
        return False

    def continued(self, others: list[Any], rounds: int) -> Any:
        """They know all rounds themselves."""
        return self


@dataclass
class PendingRidges:
    """Rounds to come: estimates (K, rows, p), a forecast of each solver, the map after them, and their targets."""

    estimates: Array
    forecasts: list[Any]
    features: FeatureMap | None
    targets: Array | None
    chunk: bool


@saved("expert/ridges")
class Ridges(Always):
    """Ridge regressions with one kernel, or one feature map, and each lam.

    kernel: the place of the kernel among those of the inputs; features: a map in its place.
    name: what the kernel is called; labels: whether a round is one row, with one label.
    renewal: when there are so many rows, and twice as many, and so on, a dictionary that is full is cut to its first
        half, and takes up recent inputs in the place of the others.
    by_lam: whether each lam is a group by itself.
    lags: so many labels before a round are features of it, where there is a map, which is full from the first row on;
        without differences.
    sleeps: whether they may sleep while they are hopeless (`Mixture.fitted`).
    """

    def __init__(
        self,
        inputs: Inputs,
        kernel: int,
        features: FeatureMap | None,
        lams: list[float],
        name: str,
        labels: bool,
        differences: bool,
        renewal: int | None = None,
        by_lam: bool = False,
        lags: int = 0,
        sleeps: bool = False,
    ) -> None:
        self.inputs, self.features, self.labels, self.lags = inputs, features, labels, lags
        self.sleeps = sleeps
        self.kernel = kernel if features is None else 0
        self.rows, self.renewal = 0, renewal if features is not None and features.renews else None
        self.differences = differences and labels
        if features is None:
            self.solvers: list[Any] = [ExactSolver(lam, averaged=False) for lam in lams]
        else:
            self.solvers = [FeatureSolver(lam, later=(kernel + i) % (LATER + 1)) for i, lam in enumerate(lams)]
        self.names = [f"ridge, {name}, lam {lam:g}" for lam in lams]
        self.groups = [f"{name}, lam {lam:g}" if by_lam else name for lam in lams]
        if self.differences:
            self.names += [f"differences, {name}, lam {lam:g}" for lam in lams]
            self.groups += ["differences" for _ in lams]
        self.last = np.zeros((max(1, lags), 0))

    def forecast(self, compared: Compared, space: Space, labels: Labels | None) -> PendingRidges:
        """One round, or several whose labels are known, each after the labels of those before it."""
        if self.asleep:
            return PendingRidges(self.each(compared, space), [], None, None, chunk=False)
        rows, after = self._rows(compared, self.last if labels is None else _before(self.last, labels.Phi))
        if labels is None:
            made = [solver.forecast(*rows) for solver in self.solvers]
            return PendingRidges(self._estimates(made, None), made, after, None, chunk=False)
        targets = self.targets(labels.Phi)
        made = [solver.forecast_chunk(*rows, targets, labels.ends) for solver in self.solvers]
        return PendingRidges(self._estimates(made, labels.Phi), made, after, labels.Phi, chunk=True)

    def each(self, compared: Compared, space: Space) -> Array:
        """Rounds of one row each, all from the present state: (K, m, p); 0 while they sleep."""
        if self.asleep:
            return np.zeros((len(self.names), compared.block.n, space.p))
        if self.features is None:
            rows: tuple[Array, ...] = compared.against(self.kernel), compared.diagonal(self.kernel)
        else:
            Z = self.features.each(compared.block.rows)
            rows = (np.concatenate([self.with_lags(z[None], self.last) for z in Z]) if self.lags else Z,)
        made = [solver.forecast_each(*rows) for solver in self.solvers]
        return self._with_differences([M for M, _ in made], None)

    def observe(self, pending: PendingRidges, labels: Labels) -> PendingRidges:
        """The label of a round."""
        pending.targets = labels.Phi
        return pending

    def commit(self, pending: PendingRidges) -> None:
        """Learn rounds that were observed."""
        if self.asleep:
            return
        assert pending.targets is not None
        targets = self.targets(pending.targets)
        for solver, forecast in zip(self.solvers, pending.forecasts, strict=True):
            if pending.chunk:
                solver.append(forecast)
            else:
                solver.update(forecast, targets)
        self.features = pending.features
        if self.differences or self.lags:
            self.last = followed(self.last, pending.targets)[-len(self.last) :]
        self.rows += len(pending.targets)
        if self.renewal is not None and self.rows >= self.renewal:
            self._renew(self.renewal)

    def fitted(self, features: FeatureMap | None, solvers: list[Any], targets: Array) -> Ridges:
        """The same regressions when the rounds so far had these targets."""
        new = copy.copy(self)
        new.features, new.solvers, new.rows = features, solvers, len(targets)
        if new.differences or new.lags:
            new.last = followed(self.last, targets[:, :: 1 + new.differences])[-len(self.last) :]
        return new

    def put_to_sleep(self) -> Ridges:
        """The same regressions, which learn nothing and say nothing until others are made in their place."""
        new = copy.copy(self)
        new.asleep, new.solvers, new.features = True, [], None
        return new

    def with_lags(self, Z: Array, before: Array) -> Array:
        """Features Z of rows, and the labels before each of them: the last ones that came before the last row."""
        if not self.lags:
            return Z
        before = before[1 - len(Z) - self.lags :, :LAGGED]
        before = LAG_SCALE * np.minimum(np.maximum(before, -LAG_LIMIT), LAG_LIMIT)
        lagged = [before[self.lags - i : len(before) + 1 - i] for i in range(1, self.lags + 1)]
        return np.concatenate([Z, np.stack(lagged, axis=2).reshape(len(Z), -1)], axis=1)

    @property
    def room(self) -> int:
        """How many rows the next chunk may have: up to the next renewal."""
        return UNLIMITED if self.renewal is None or self.asleep else self.renewal - self.rows

    def _renew(self, due: int) -> None:
        """Make room for recent inputs in a dictionary that is full."""
        while due <= self.rows:
            due *= 2
        self.renewal = due
        if isinstance(self.features, Nystrom) and self.features.full and self.features.budget > 1:
            kept = self.features.budget // 2
            self.features = self.features.truncated(kept, self.rows)
            self.solvers = [solver.truncated(kept) for solver in self.solvers]

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        if self.features is None:  # nor is there a solver while they sleep
            return sum(int(solver.growth(rows)) for solver in self.solvers)
        full, dim = self.features.full and not self.lags, int(self.solvers[0].dim)
        D = dim if full else dim + (self.lags * LAGGED or rows)
        more = 8 * 3 * (D * D - dim * dim) + self.features.growth(rows)
        return sum(int(s.growth(rows, full)) for s in self.solvers) + more

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        sizes = [s.factor.n if self.features is None else 3 * s.dim for s in self.solvers]
        return sum(n * n for n in sizes)

    def check_state(self, inputs: Inputs, rounds: int) -> None:
        """Refuse regressions from a file that have not seen the rows there are."""
        state.require(self.inputs is inputs, "the regressions must have the learner's inputs")
        state.require(self.kernel in range(len(inputs.kernels)), "a kernel of the inputs")
        state.require(type(self.asleep) is bool and type(self.sleeps) is bool, "asleep must be true or false")
        most = max(1, state.require_count(self.lags, "lags"))
        state.require(isinstance(self.last, np.ndarray) and self.last.shape[0] == most, "the last label is one row")
        for solver in self.solvers:
            state.require_kind(solver, ExactSolver if self.features is None else FeatureSolver, "a solver")
            known = solver.factor.n == inputs.n if self.features is None else solver.rounds == rounds
            state.require(known, "each regression must have as many rows as there are")

    def _rows(self, compared: Compared, before: Array) -> tuple[tuple[Array, ...], FeatureMap | None]:
        """What the solvers have to know of rows to come, after these labels, and the map that has seen them."""
        if self.features is None:
            return (compared.against(self.kernel), compared.corner(self.kernel)), None
        Z, after = self.features.seen(compared.block.rows)
        return (self.with_lags(Z, before),), after

    def targets(self, Phi: Array) -> Array:
        """phi, or phi beside the phi before it, coordinate by coordinate, so that new ones come last."""
        if not self.differences:
            return Phi
        return np.stack([Phi, _before(self.last, Phi)], axis=2).reshape(len(Phi), -1)

    def _estimates(self, made: list[Any], Phi: Array | None) -> Array:
        found = [solver.unhedged(f) for solver, f in zip(self.solvers, made, strict=True)]
        return self._with_differences(found, Phi)

    def _with_differences(self, found: list[Array], Phi: Array | None) -> Array:
        """What each solver says, and what that makes of differences."""
        if self.differences:
            p = max(self.last.shape[1], 0 if Phi is None else Phi.shape[1])
            last = fit_columns(self.last, p) if Phi is None else _before(self.last, Phi)
            both = [fit_columns(M, 2 * p) for M in found]
            found = [M[:, ::2] for M in both] + [M[:, ::2] - M[:, 1::2] + last for M in both]
        return np.array(found)


@dataclass
class PendingLabels:
    """Rounds to come: estimates (2, rows, p), and Phi once it is observed."""

    estimates: Array
    Phi: Array | None


@saved("expert/past-labels")
class PastLabels(Always):
    """The last label, and the mean of all."""

    names = ("the last label", "the mean")
    groups = ("last", "mean")
    operations, room = 0, UNLIMITED

    def __init__(self) -> None:
        self.last, self.total, self.rounds = np.zeros((1, 0)), np.zeros((1, 0)), 0

    def forecast(self, compared: Compared, space: Space, labels: Labels | None) -> PendingLabels:
        """One round, or several whose labels are known."""
        if labels is None:
            return PendingLabels(self.each(compared, space), None)
        Phi = labels.Phi
        total = np.repeat(fit_columns(self.total, Phi.shape[1]), len(Phi), axis=0)
        total[1:] += np.cumsum(Phi[:-1], axis=0)
        means = total / np.maximum(self.rounds + np.arange(len(Phi)), 1)[:, None]
        return PendingLabels(np.array([_before(self.last, Phi), means]), Phi)

    def each(self, compared: Compared, space: Space) -> Array:
        """The same for each row: (2, m, p)."""
        return np.array([self.last, self.total / max(self.rounds, 1)]).repeat(compared.block.n, axis=1)

    def observe(self, pending: PendingLabels, labels: Labels) -> PendingLabels:
        """The label of a round."""
        pending.Phi = labels.Phi
        return pending

    def commit(self, pending: PendingLabels) -> None:
        """Add up the labels."""
        assert pending.Phi is not None
        Phi = pending.Phi
        self.total = fit_columns(self.total, Phi.shape[1]) + Phi.sum(axis=0)
        self.last, self.rounds = Phi[-1:], self.rounds + len(Phi)

    def fitted(self, Phi: Array) -> PastLabels:
        """After rounds with these labels."""
        new = PastLabels()
        new.last, new.total, new.rounds = Phi[-1:], Phi.sum(axis=0, keepdims=True), len(Phi)
        return new

    def growth(self, rows: int) -> int:
        """0: the sums do not grow with the rounds."""
        return 0

    def check_state(self, inputs: Inputs, rounds: int) -> None:
        """Refuse sums from a file that are not of these rounds."""
        state.require(self.rounds == rounds, "the mean label must be that of all rounds")
        for row in (self.last, self.total):
            state.require(isinstance(row, np.ndarray) and row.ndim == 2 and len(row) == 1, "a label is one row")


def _before(last: Array, Phi: Array) -> Array:
    """The phi before each of some rounds."""
    return followed(last, Phi)[:-1]


def followed(last: Array, Phi: Array) -> Array:
    """The last labels, and these."""
    return np.concatenate([fit_columns(last, Phi.shape[1]), Phi])

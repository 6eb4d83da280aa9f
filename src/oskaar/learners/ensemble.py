r"""Ensemble: restarts and experts that never restart in one mixture, then chosen among by the task's own loss.

    g_t = sum_e p_t(e) g_e(x_t)        over restarts of KAAR, ridge regressions on all rows and on those since the
                                       last change, an autoregression, differences, the last label, the mean

The weights are those of SALAMI (`learners.mixture`), and so is the proof: the regret to any expert is at most the
logarithm of the sum of the prior weights over that of the expert, divided by eta. Then `learners.neighbours` corrects
the estimate by its errors at the nearest rows, `learners.stacking` by a regression on what the experts say, and
`learners.selection` gives some experts a share by what their own answers cost, where the squared loss prefers the
wrong ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.features import FeatureMap, Nystrom
from oskaar.features.linear import StandardisedLinear, UnitColumns
from oskaar.guards import exclusive
from oskaar.inputs import Block, Inputs
from oskaar.inputs.stores import MixedStore
from oskaar.kernels import Scaled, nearness
from oskaar.kernels.learned import PASSES
from oskaar.learners.base import inputs_for, require_kernel, require_loss, require_positive
from oskaar.learners.change_points import RATE, Change, ChangeDetector
from oskaar.learners.columns import ColumnRidges
from oskaar.learners.corrected import Corrected
from oskaar.learners.estimators import Estimator
from oskaar.learners.experts import PastLabels, Ridges
from oskaar.learners.learner import OnlineLearner
from oskaar.learners.mixture import Mixture, Weights
from oskaar.learners.neighbours import Neighbours
from oskaar.learners.own_expert import OwnExpert
from oskaar.learners.reading import FIRST, Reading
from oskaar.learners.refit import Refit
from oskaar.learners.relearning import KeptRounds, Prepared, Relearning
from oskaar.learners.restarts import FeatureRestarts, KernelRestarts
from oskaar.learners.selection import SelectedMixture
from oskaar.learners.settings import rate_of_alarms
from oskaar.learners.since_change import SinceChange
from oskaar.learners.stacking import Stacking
from oskaar.losses import Loss
from oskaar.requirements import require_bool, require_whole
from oskaar.saved import saved
from oskaar.schema import Schema

LAMS = (0.1,)
"""Of restarts."""

RIDGE_LAMS: dict[str, tuple[float, ...]] = {
    "smooth": LAMS,
    "linear": (0.05,),
    "rough": (0.01, 0.5),
    "ranks": (0.03,),
    "kernel": (0.05, 0.5, 1.0, 2.0),
    "autoregression": (0.1,),
}
"""Of ridge regressions with each kernel, where they are not the next ones. "kernel" is the only one there is."""

MORE_LAMS = (0.05, 0.5, 2.0)
"""Of ridge regressions with other kernels."""

SINCE_CHANGE = {"rough": [0.05], "ranks": [0.03]}
"""Lams of ridge regressions on the rows since the last change, with each of these kernels."""

LAMS_OF_PARTS: dict[str, tuple[float, ...]] = {
    "restarts": (0.5,),
    "linear": (0.01, 1.0),
    "rough": (0.5,),
    "ranks": (0.05,),
    "kernel": (0.05, 0.5),
}
"""Of restarts and ridge regressions where rounds are made of parts."""

COLUMN_LAMS = (0.01, 0.05, 0.3)
"""Of regressions by column, on sparse rows of parts."""

DIFFERENCES = ("kernel", "rough")
"""Kernels with which differences of labels are regressed too; not with the default one of sparse rows."""

ETA = 0.5
"""The rate over the mean loss so far."""

LAGS, MOST_LAGGED = 3, 64
"""Labels that an autoregression has among its features, where rows have at most so many columns."""

NOT_JUDGED = ("autoregression", "smooth", "rough", "ranks", "differences", "mean", "since change")
"""Groups of experts that the selection does not judge on their own: the regression on all experts has them."""

LATER, RIDGE, OTHER = -4.0, -1.0, -3.0
"""Logarithms of prior weights: of restarts after the first, of ridge regressions, and of other experts."""

EXACT, EXACT_MIXED, EXACT_PARTS = 1024, 512, 4096
"""Rows at which kernels are replaced by features; fewer with text, which takes longer to compare; more of parts."""

UNITS = 256
"""Units are taken at 4, 8, ... rows up to so many, and then when kernels are replaced; with text at all of them."""

FITTED = 128
"""From so many rows on experts are made of all rows at once, and the accounts go on (`learners.refit`)."""

BUDGET, BUDGET_PARTS = 512, 1024
"""Inputs in the dictionaries of kernels by then."""

SMALLER, SMALLER_PARTS = 4, 8
"""So many times fewer in most of them with text, and in those of restarts of parts."""

ALONE = 1024
"""Inputs of the only kernel there is, that of sparse rows of many columns or one's own."""

WINDOW = 512
"""Rows of the restarts by then."""

NUMBERS = 2**15
"""Rows of the restarts times coordinates of labels, at most, where ridge regressions have all rows."""

REFITS = 4
"""Features are taken anew up to so many times as many rows."""

MOST_COLUMNS = 256
"""Up to so many features the linear kernel is features itself, and so is the cosine of sparse rows."""


@saved("learner/ensemble")
class Ensemble(OnlineLearner):
    r"""Online structured prediction with nothing to tune.

    loss: what a mistake costs (`oskaar.losses`).
    kernel: similarity of inputs, for rows that are objects, or where one is known. None is a smooth, a linear, a
        rough one and one on ranks, of standardised columns (`kernels.default_kernels`); Cosine() + 1 for sparse rows.
    experts: learners or estimators of one's own, a list or a dict by name, in place of the ridge regressions,
        differences, last label and mean. They have the same loss and have seen nothing.
    selection: whether some experts also get a share by what their own answers cost.
    neighbours: whether estimates are corrected by the errors at the nearest rows, where rows are numbers and no
        kernel is given.
    stacking: whether estimates are corrected by a regression on what the experts say.
    eta: the rate of the mixture. None is 0.5 over its mean loss so far; with 1/8 or less, no selection, no neighbours
        and no stacking, `certificate()` has a surrogate bound.
    budget: Nystrom features on at most so many inputs for each kernel, for streams that never end.
    max_bytes: refuse to grow past this much memory; `cost()` says what is held.
    false_alarms: change points a round on a stream whose law does not change; 0.0001 to 0.01. Measured are fewer, and
        up to 1.6 times as many where rare bursts come and go; no stream gets more than 5 times as many.
    schema: kinds of columns by name, where they are not to be decided from the rows (docs/rows.md).

    Equivalent to tests/naive.py::ensemble.

    >>> from oskaar import Ensemble, losses
    >>> learner = Ensemble(losses.ZeroOne("ab"))
    >>> for y in "a" * 20 + "b" * 20:
    ...     learner.learn_one([0.0], y)
    >>> learner.predict_one([0.0])
    'b'
    >>> list(learner.expert_weights())[:2]
    ['restarts, lam 0.1', 'ridge, smooth, lam 0.1']
    """

    _estimator: Mixture | SelectedMixture | Corrected

    def __init__(
        self,
        loss: Loss,
        kernel: Any = None,
        experts: Sequence[Any] | Mapping[str, Any] | None = None,
        selection: bool = True,
        neighbours: bool = True,
        stacking: bool = True,
        eta: float | None = None,
        budget: int | None = None,
        max_bytes: int | None = None,
        false_alarms: float = RATE,
        schema: Mapping[Any, str] | Schema | None = None,
    ) -> None:
        require_kernel(kernel)
        self.kernel, self.experts, self.budget = kernel, experts, budget
        self.selection = require_bool("selection", selection)
        self.neighbours = require_bool("neighbours", neighbours)
        self.stacking = require_bool("stacking", stacking)
        self.eta = eta if eta is None else require_positive("eta", eta, "weights are exp(-eta loss)")
        self.false_alarms = rate_of_alarms(false_alarms)
        self._own = named_experts(experts, require_loss(loss))
        most = BUDGET_PARTS if loss.parts else BUDGET
        self._budget = most if budget is None else require_whole("budget", budget, note=", the number of inputs")
        self._alone = ALONE if budget is None else self._budget
        self._exact = exact_rows(2 * self._budget, EXACT_PARTS) if loss.parts else exact_rows(self._budget, EXACT)
        self._last = self._exact if loss.parts or self._own is not None else REFITS * self._exact
        relearning = Relearning(loss, kernel is None, self._exact, self._last)
        super().__init__(loss, max_bytes, relearning, schema)

    def _assemble(self, reading: Reading) -> tuple[Inputs, Mixture | SelectedMixture | Corrected]:
        kernels = reading.kernels
        names, asked = tuple(kernels) or ("kernel",), [*kernels.values()] or [self.kernel]
        if self._own is not None:
            names, asked = names[:1], asked[:1]
        exact = min(self._exact, EXACT_MIXED) if reading.mixed else self._exact
        if reading.rows < exact:
            inputs, restarts, maps = self._on_kernels(asked, names[0], reading.schema)
        else:
            inputs, restarts, maps = self._on_features(asked, reading)
        experts = self._experts(inputs, restarts, reading, maps, names, 2 * self._last)
        if self._own is None and not self.loss.parts:
            experts += self._since_change(inputs, kernels)
        static = [restarts, *experts]
        priors = [RIDGE if name.startswith("ridge") else OTHER for e in static for name in e.names]
        weights = Weights(self.eta or ETA, restarts.kinds, self.eta is None, LATER, priors)
        changes = ChangeDetector(self.false_alarms)
        estimator: Any = Mixture(inputs, restarts, experts, weights, True, False, changes)
        if self.neighbours and kernels and not reading.mixed and not self.loss.parts:
            estimator = Corrected(estimator, Neighbours(nearness(kernels)))
        if self.stacking:
            estimator = Corrected(estimator, Stacking(["restarts", *estimator.mixture.names]))
        if self.selection and not self.loss.parts:
            estimator = self._selected(estimator, [group for e in static for group in e.groups])
        return inputs, estimator

    def _made_of(self, kept: KeptRounds, prepared: Prepared) -> tuple[Inputs, Estimator] | Refit | Prepared | None:
        """Made of many rows at once, where rounds are rows and experts its own: when it is known what matters."""
        if self._stays(kept.rows):
            return None
        reading = self._read_anew(kept, prepared)
        if not isinstance(reading, Reading):
            return reading
        in_turn = self.loss.parts or self._own is not None
        if kept.rows >= FITTED and not in_turn and reading.learns and prepared.passes < PASSES:
            return replace(prepared, weights=reading.with_weights(1).weights, passes=prepared.passes + 1)
        inputs, estimator = self._assemble(reading)
        on_kernels = estimator.mixture.restarts.window is None
        if in_turn or (on_kernels and (kept.rows < FITTED or _has_bound(estimator))):
            return inputs, estimator
        if reading.encoded is None:
            block = inputs.part(kept.block(0, kept.rows), 0, kept.rows)
        else:
            block = Block(reading.encoded, kept.rows, schema=reading.schema)
        assert reading.targets is not None
        return Refit.of(inputs, estimator, block, reading.targets())

    def _stays(self, rows: int) -> bool:
        """Whether nothing is taken anew when there are so many rows."""
        if isinstance(self._inputs.store, MixedStore):
            return self.loss.parts and rows >= 2 * EXACT_MIXED
        return UNITS < rows < self._exact

    def _selected(self, whole: Mixture | Corrected, experts: list[str]) -> SelectedMixture:
        """With a share for each group whose own answers are judged."""
        groups: dict[str, list[int]] = {}
        for place, group in enumerate(experts, 1):
            if self._own is not None or group not in NOT_JUDGED:
                groups.setdefault(group, []).append(place)
        return SelectedMixture(whole, list(groups.values()), self.loss, self._scored(list(groups)))

    def _on_kernels(
        self, asked: list[Any], name: str, schema: Schema | None
    ) -> tuple[Inputs, Any, list[FeatureMap | None]]:
        """While rows are few: inputs that keep them all, and restarts with the first kernel."""
        inputs = inputs_for(asked, [None] * len(asked), self.loss.parts, schema=schema)
        if self.loss.parts:
            first = Nystrom(asked[0], max(1, self._budget // SMALLER_PARTS), ridge=min(LAMS))
            return inputs, self._restarts_of_parts(inputs, first), [None] * len(asked)
        ridge = name if len(asked) > 1 else None
        numbers = None if ridge is not None or self._own is not None else NUMBERS
        return inputs, KernelRestarts(inputs, list(LAMS), None, 1, ridge, numbers), [None] * len(asked)

    def _restarts_of_parts(self, inputs: Inputs, first: FeatureMap) -> FeatureRestarts:
        """Of few rounds, and on few features: most rounds have several rows."""
        return FeatureRestarts(inputs, [first], list(LAMS_OF_PARTS["restarts"]), "geometric", None)

    def _on_features(self, asked: list[Any], reading: Reading) -> tuple[Inputs, Any, list[FeatureMap | None]]:
        """For ever: features for each kernel, and restarts on the last rows; where rounds are parts, on features."""
        maps = self._maps(asked, reading)
        if self.loss.parts:
            inputs = inputs_for([None] * len(maps), [*maps], True, any(m.renews for m in maps), reading.schema)
            return inputs, self._restarts_of_parts(inputs, maps[0]), [*maps]
        inputs = inputs_for(asked[:1], [None], False, schema=reading.schema)
        return inputs, KernelRestarts(inputs, list(LAMS), WINDOW, 1, None, NUMBERS), [*maps]

    def _maps(self, asked: list[Any], reading: Reading) -> list[FeatureMap]:
        """Features for each kernel: a dictionary, or the columns of sparse rows that have few."""
        few = reading.columns is not None and reading.columns <= MOST_COLUMNS
        if few and self.kernel is None and not reading.kernels:
            return [UnitColumns(2 * MOST_COLUMNS)]
        smaller = max(1, self._budget // SMALLER)
        sizes = dict.fromkeys(reading.kernels or ("kernel",), smaller if reading.mixed else self._budget)
        if self.loss.parts:
            sizes[next(iter(sizes))] = max(1, self._budget // SMALLER_PARTS)
            sizes |= {"rough": max(1, self._budget // 2)} if "rough" in sizes else {}  # its lam is large
        elif not reading.kernels:
            sizes["kernel"] = self._alone
        if reading.mixed:
            sizes["rough"] = self._budget
        return [Nystrom(k, size, ridge=min(LAMS)) for k, size in zip(asked, sizes.values(), strict=False)]

    def _experts(
        self,
        inputs: Inputs,
        restarts: Any,
        reading: Reading,
        maps: list[FeatureMap | None],
        names: Sequence[str],
        renewal: int,
    ) -> list[Any]:
        """The experts that never restart. No two dictionaries are renewed in one round."""
        if self._own is not None:
            return [OwnExpert(name, expert) for name, expert in self._own.items()]
        linear = _linear(reading)
        if linear is not None and linear.dim <= MOST_COLUMNS:
            maps[1] = linear
        parts, alone = self.loss.parts, len(names) == 1
        if parts and alone and isinstance(maps[0], Nystrom):
            maps[0] = Nystrom(maps[0].kernel, self._budget, ridge=min(LAMS))
        lams = [list((LAMS_OF_PARTS if parts else RIDGE_LAMS).get(name, MORE_LAMS)) for name in names]
        stepped = [name for name in DIFFERENCES if not (alone and self.kernel is None)]
        ridges: list[Any] = [
            Ridges(inputs, k, maps[k], lams[k], name, not parts, name in stepped, renewal + k, alone and not parts)
            for k, name in enumerate(names)
            if k or not (restarts.names or (parts and not alone))
        ]
        if parts:
            return [*ridges, ColumnRidges(list(COLUMN_LAMS))] if alone and self.kernel is None else ridges
        if linear is not None and linear.dim <= MOST_LAGGED:
            name, again = "autoregression", reading.rows < self._last  # experts are made anew, which wakes it
            ridges.append(
                Ridges(inputs, 1, linear, list(RIDGE_LAMS[name]), name, True, False, lags=LAGS, sleeps=again)
            )
        return [*ridges, PastLabels()]

    def _since_change(self, inputs: Inputs, kernels: dict[str, Any]) -> list[SinceChange]:
        """Regressions that are born when a change is found."""
        return [
            SinceChange(inputs, Nystrom(kernels[name], self._budget, ridge=min(LAMS)), lams, name, 2 * self._last + k)
            for k, (name, lams) in enumerate(SINCE_CHANGE.items())
            if name in kernels
        ]

    def _scored(self, groups: list[str]) -> list[int]:
        """Candidates that also stand as scores, where the loss has some: the whole, and the linear kernel."""
        if self.loss.scored(np.zeros((0, self.loss.space().p))) is None:
            return []
        return [0, *(i for i, group in enumerate(groups, 1) if group == "linear")]

    @property
    def _mixture(self) -> Mixture:
        return self._estimator.mixture

    @exclusive
    def expert_weights(self) -> dict[str, float]:
        """The weights of all experts by name, which add up to 1; restarts are summed over their rounds of birth.

        They come from the squared loss. What the selection makes of groups is not in them (docs/defaults.md).
        """
        mixture = self._mixture
        restarts, experts = mixture.shares()
        names = [f"restarts, lam {lam:g}" for lam in mixture.restarts.lams]
        names += mixture.names
        return dict(zip(names, [*restarts.sum(axis=1).tolist(), *experts.tolist()], strict=True))

    @exclusive
    def restart_weights(self) -> tuple[NDArray[np.int64], Array]:
        """(rounds, weights) of the restarts among themselves: see `SALAMI.restart_weights`."""
        return self._mixture.restart_weights()

    @exclusive
    def change_points(self) -> list[Change]:
        """When the law of the stream changed: see `SALAMI.change_points`."""
        return list(self._mixture.changes.found)

    @exclusive
    def effective_dimension(self, probes: int | None = None) -> float:
        """That of the restarts: see `SALAMI.effective_dimension`."""
        return self._mixture.effective_dimension(probes)

    def __repr__(self) -> str:
        kernel = "" if self.kernel is None else f", kernel={self.kernel!r}"
        budget = "" if self.budget is None else f", budget={self.budget}"
        return f"Ensemble({self.loss!r}{kernel}{budget})"


def _has_bound(estimator: Any) -> bool:
    """Whether a theorem bounds its surrogate loss, if its weights are what they would have been on all rows."""
    return isinstance(estimator, Mixture) and not estimator.weights.scaled


def _linear(reading: Reading) -> StandardisedLinear | None:
    """Features of the linear kernel, on the numbers of rows."""
    if "linear" not in reading.kernels:
        return None
    units: Any = reading.kernels["linear"]
    while not isinstance(units, Scaled):
        units = units.left if hasattr(units, "left") else units.kernel
    return StandardisedLinear(units, reading.features)


def exact_rows(budget: int, most: int) -> int:
    """The number of rows, a power of 2, at which an ensemble with this budget goes over to features.

    >>> exact_rows(256, 512), exact_rows(5, 512), exact_rows(10_000, 1024)
    (512, 16, 1024)
    """
    rows = FIRST
    while rows < min(2 * budget, most):
        rows *= 2
    return rows


def named_experts(experts: Any, loss: Loss) -> dict[str, Any] | None:
    """Learners or estimators of one's own by name; None where there are none."""
    if experts is None:
        return None
    if not isinstance(experts, Mapping):
        kinds = [type(expert).__name__ for expert in experts]
        names = [f"{kind} {i}" if kinds.count(kind) > 1 else kind for i, kind in enumerate(kinds, 1)]
        experts = dict(zip(names, experts, strict=True))
    for name, expert in experts.items():
        if isinstance(expert, OnlineLearner) and repr(expert.loss) != repr(loss):
            raise ValueError(f"all experts must have the loss {loss!r}, {name} has {expert.loss!r}.")
        if not (hasattr(expert, "forecast") or isinstance(expert, OnlineLearner)):
            raise TypeError(f"experts must be learners or estimators (`oskaar.learners.estimators`), got {expert!r}.")
    return dict(experts)

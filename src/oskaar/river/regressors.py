"""Numbers, one or several, in River's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base

from oskaar.learners import OSKAAR
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Squared
from oskaar.river.common import LearnerWrapper, as_names, named, require_outputs, sorted_row, started, without_numpy


class Regressor(LearnerWrapper, base.Regressor):
    r"""One number: any oskaar learner whose answers are numbers.

    learner: with `losses.Squared(1, low, high)` for means, `Pinball(1, low, high, quantile)` for quantiles, `Huber`
        for outliers, `Circular()` for angles, `Ordinal(levels)`. Its state is not used, only its settings. Targets
        must be in their range: the theory needs one.

    >>> from oskaar import losses
    >>> model = Regressor(OSKAAR(losses.Squared(1, 0, 10), lam=0.1))
    >>> model.learn_one({"a": 1.0}, 2.0); model.learn_one({"b": 1.0}, 8.0)
    >>> round(model.predict_one({"a": 1.0}), 1)
    2.9
    """

    def __init__(self, learner: OnlineLearner) -> None:
        self.learner = learner
        self._inner: OnlineLearner = started(learner)
        dim = getattr(learner.loss, "dim", 1)
        if dim != 1:
            raise ValueError(f"{learner.loss!r} has {dim} targets: a Regressor has one, see MultiTargetRegressor.")

    def learn_one(self, x: dict[base.typing.FeatureName, Any], y: base.typing.RegTarget) -> None:
        """Learn that the target of x was y."""
        self._inner.learn_one(sorted_row(x), y)

    def predict_one(self, x: dict[base.typing.FeatureName, Any]) -> base.typing.RegTarget:
        """The target of x."""
        z = without_numpy(self._inner.predict_one(sorted_row(x)))
        return float(z[0] if isinstance(z, list) else z)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": OSKAAR(Squared(1, -100, 100), lam=0.1, budget=32)}


class MultiTargetRegressor(LearnerWrapper, base.MultiTargetRegressor):
    r"""Several numbers, written as River does: {"target": 1.0, "other": 2.0}.

    learner: with `losses.Squared(dim, low, high)`, `Pinball` or `Huber`; low and high may have a number for each
        target. Its state is not used, only its settings.
    targets: all their names, in the order of low and high; None: those of the first y.

    >>> from oskaar import losses
    >>> model = MultiTargetRegressor(OSKAAR(losses.Squared(2, [0, 100], [10, 200]), lam=0.1))
    >>> model.learn_one({"a": 1.0}, {"small": 2.0, "large": 150.0})
    >>> {target: round(z) for target, z in model.predict_one({"a": 1.0}).items()}
    {'small': 2, 'large': 150}
    """

    def __init__(self, learner: OnlineLearner, targets: list[Any] | None = None) -> None:
        self.learner, self.targets = learner, targets
        self._inner: OnlineLearner = started(learner)
        self._names = as_names(targets, "targets")
        if self._names is not None:
            require_outputs(learner.loss, "dim", self._names, "target")

    def learn_one(
        self,
        x: dict[base.typing.FeatureName, Any],
        y: dict[base.typing.FeatureName, base.typing.RegTarget],
        **kwargs: Any,
    ) -> None:
        """Learn that the targets of x were y."""
        names = as_names(y, "the targets of the first y") if self._names is None else self._names
        assert names is not None
        require_outputs(self._inner.loss, "dim", names, "target")
        values = named(y, names, "target")
        missing = [name for name in names if name not in values]
        if missing:
            raise ValueError(f"y must have a number for each target, {missing[0]!r} is missing.")
        self._inner.learn_one(sorted_row(x), [values[name] for name in names])
        self._names = names

    def predict_one(
        self, x: dict[base.typing.FeatureName, Any]
    ) -> dict[base.typing.FeatureName, base.typing.RegTarget]:
        """A number for each target; {} before their names are known."""
        if self._names is None:
            return {}
        return dict(zip(self._names, without_numpy(self._inner.predict_one(sorted_row(x))), strict=True))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": OSKAAR(Squared(3, -1000, 1000), lam=0.1, budget=32)}

"""Numbers, one or several, in River's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from river import base

from oskaar.learners import OSKAAR
from oskaar.learners.base import as_labels
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Squared
from oskaar.river.common import (
    LearnerWrapper,
    as_names,
    frame_rows,
    named,
    require_outputs,
    sorted_row,
    started,
    without_numpy,
)

if TYPE_CHECKING:
    import pandas as pd


class Regressor(LearnerWrapper, base.MiniBatchRegressor):
    r"""One number: any oskaar learner whose answers are numbers.

    learner: with `losses.Squared()` for means, `Absolute()` for medians, `Pinball(quantile=0.9)` for quantiles,
        `Huber()` for outliers, `Circular()` for angles, `Ordinal()` for levels. Its state is not used, only its
        settings. None is `OSKAAR(losses.Squared(), lam=0.1, budget=256)`: the range of the targets is learned.

    >>> from oskaar import losses
    >>> model = Regressor(OSKAAR(losses.Squared(1, 0, 10), lam=0.1))
    >>> model.learn_one({"a": 1.0}, 2.0); model.learn_one({"b": 1.0}, 8.0)
    >>> round(model.predict_one({"a": 1.0}), 1)
    2.9
    """

    def __init__(self, learner: OnlineLearner | None = None) -> None:
        self.learner = learner
        self._inner: OnlineLearner = started(learner, Squared())
        loss = self._inner.loss
        if getattr(loss, "dim", 1) != 1:
            raise ValueError(f"{loss!r} has several targets: a Regressor has one, see MultiTargetRegressor.")

    def learn_one(self, x: dict[base.typing.FeatureName, Any], y: base.typing.RegTarget) -> None:
        """Learn that the target of x was y."""
        self._inner.learn_one(sorted_row(x), y)

    def predict_one(self, x: dict[base.typing.FeatureName, Any]) -> base.typing.RegTarget:
        """The target of x."""
        return _number(self._inner.predict_one(sorted_row(x)))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a DataFrame in turn: bit for bit as `learn_one` does."""
        self._inner.learn_many(frame_rows(X), as_labels(y))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The target of each row."""
        import pandas as pd

        answers = [_number(z) for z in self._inner.predict_many(frame_rows(X))]
        return pd.Series(answers, index=getattr(X, "index", None), dtype=float)

    def interval_one(self, x: dict[base.typing.FeatureName, Any], coverage: float = 0.9) -> Any:
        """(low, high) about the target of x, from the last residuals; None where they are too few."""
        found = self._inner.interval_one(sorted_row(x), coverage)
        return None if found is None else (_number(found[0]), _number(found[1]))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": OSKAAR(Squared(), lam=0.1, budget=32)}


def _number(z: Any) -> float:
    z = without_numpy(z)
    return float(z[0] if isinstance(z, list) else z)


class MultiTargetRegressor(LearnerWrapper, base.MultiTargetRegressor):
    r"""Several numbers, written as River does: {"target": 1.0, "other": 2.0}.

    learner: with `losses.Squared(dim)`, `Absolute`, `Pinball` or `Huber`, with a range or without. Its state is not
        used, only its settings. None is `OSKAAR(losses.Squared(dim), lam=0.1, budget=256)` for the targets of the
        first y.
    targets: all their names, in the order of low and high; None: those of the first y.

    >>> from oskaar import losses
    >>> model = MultiTargetRegressor(OSKAAR(losses.Squared(2, [0, 100], [10, 200]), lam=0.1))
    >>> model.learn_one({"a": 1.0}, {"small": 2.0, "large": 150.0})
    >>> {target: round(z) for target, z in model.predict_one({"a": 1.0}).items()}
    {'small': 2, 'large': 150}
    """

    def __init__(self, learner: OnlineLearner | None = None, targets: list[Any] | None = None) -> None:
        self.learner, self.targets = learner, targets
        self._inner = None if learner is None else started(learner)
        self._names = as_names(targets, "targets")
        if self._names is not None and self._inner is not None:
            require_outputs(self._inner.loss, "dim", self._names, "target")

    def learn_one(
        self,
        x: dict[base.typing.FeatureName, Any],
        y: dict[base.typing.FeatureName, base.typing.RegTarget],
        **kwargs: Any,
    ) -> None:
        """Learn that the targets of x were y."""
        names = as_names(y, "the targets of the first y") if self._names is None else self._names
        assert names is not None
        inner = self._inner or started(None, Squared(len(names)))
        require_outputs(inner.loss, "dim", names, "target")
        values = named(y, names, "target")
        missing = [name for name in names if name not in values]
        if missing:
            raise ValueError(f"y must have a number for each target, {missing[0]!r} is missing.")
        inner.learn_one(sorted_row(x), [values[name] for name in names])
        self._names, self._inner = names, inner

    def predict_one(
        self, x: dict[base.typing.FeatureName, Any]
    ) -> dict[base.typing.FeatureName, base.typing.RegTarget]:
        """A number for each target; {} before their names are known."""
        if self._names is None or self._inner is None:
            return {}
        return dict(zip(self._names, without_numpy(self._inner.predict_one(sorted_row(x))), strict=True))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": OSKAAR(Squared(3), lam=0.1, budget=32)}

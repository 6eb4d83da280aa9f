"""River's classifiers and regressors around oskaar's learners: classes, sets of labels, numbers, any structure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from river import base

from oskaar.learners import OSKAAR
from oskaar.learners.base import as_labels
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import F1, Kendall, Squared, SubsetLoss, ZeroOne
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


class Classifier(LearnerWrapper, base.MiniBatchClassifier):
    r"""A multi-class classifier: any oskaar learner whose answers are classes.

    learner: such as `SALAMI(losses.ZeroOne())` or `OSKAAR(losses.Ordinal(5))`; its state is not used, only its
        settings. None is `OSKAAR(losses.ZeroOne(), lam=0.1, budget=256)`: classes are learned as they appear.

    `predict_proba_one` is the learner's own, for classes and levels (docs/answers.md). Losses without probabilities
    say so as River wants it, by NotImplementedError.

    >>> model = Classifier()
    >>> model.learn_one({"a": 1.0}, "cat"); model.learn_one({"b": 1.0}, "dog")
    >>> model.predict_one({"b": 2.0}), model.predict_one({"a": 1.0, "new": 0.1})
    ('dog', 'cat')
    >>> {y: round(p, 2) for y, p in model.predict_proba_one({"b": 2.0}).items()}
    {'cat': 0.32, 'dog': 0.68}
    """

    def __init__(self, learner: OnlineLearner | None = None) -> None:
        self.learner = learner
        self._inner: OnlineLearner = started(learner, ZeroOne())

    def predict_one(self, x: dict[base.typing.FeatureName, Any], **kwargs: Any) -> base.typing.ClfTarget | None:
        """The class of x; None before any class is known."""
        z: base.typing.ClfTarget | None = without_numpy(self._inner.predict_one(sorted_row(x)))
        return z

    def predict_proba_one(
        self, x: dict[base.typing.FeatureName, Any], **kwargs: Any
    ) -> dict[base.typing.ClfTarget, float]:
        """The probabilities of the classes known so far."""
        found: dict[base.typing.ClfTarget, float] = probabilities(self._inner, x)
        return found

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a DataFrame in turn: bit for bit as `learn_one` does."""
        self._inner.learn_many(frame_rows(X), as_labels(y))

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The class of each row."""
        import pandas as pd

        answers = [without_numpy(z) for z in self._inner.predict_many(frame_rows(X))]
        return pd.Series(answers, index=getattr(X, "index", None), dtype=object if None in answers else None)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The probabilities of the classes known so far, a column for each."""
        import pandas as pd

        return pd.DataFrame(
            [probabilities(self._inner, row) for row in frame_rows(X)], index=getattr(X, "index", None)
        )

    @property
    def _multiclass(self) -> bool:
        return True


class MultiLabelClassifier(LearnerWrapper, base.MultiLabelClassifier):
    r"""Sets of labels, written as River does: {"label": True, "other": False}.

    learner: an oskaar learner with a loss on subsets, such as `OSKAAR(losses.Jaccard(14), budget=256)`; its state is
        not used, only its settings. None is `OSKAAR(losses.F1(labels), lam=0.1, budget=256)`.
    labels: all their names; None: for a loss on k labels those of the first y, else those that have appeared in any
        y. Labels that a y leaves out are not in the set.

    The answer to every x is a dict with all labels known, so River's multi-output metrics take it as it is; {} before
    there are any.

    >>> model = MultiLabelClassifier()
    >>> model.learn_one({"a": 1.0}, {"sun": True, "rain": False})
    >>> model.learn_one({"b": 1.0}, {"sun": False, "rain": True})
    >>> model.predict_one({"b": 1.0})
    {'sun': False, 'rain': True}
    """

    def __init__(self, learner: OnlineLearner | None = None, labels: list[Any] | None = None) -> None:
        self.learner, self.labels = learner, labels
        self._names: list[Any] | None = as_names(labels, "labels")
        self._inner: OnlineLearner = started(learner, F1(self._names))
        loss = self._inner.loss
        if not isinstance(loss, SubsetLoss):
            raise ValueError(f"{loss!r} is not a loss on sets of labels: use losses.F1, Jaccard or SubsetHamming.")
        if self._names is not None and loss.indexed:
            require_outputs(loss, "n_labels", self._names, "label")
        if self._names is None and loss.names is not None and not loss.indexed:
            self._names = list(loss.names.names)

    @property
    def _indexed(self) -> bool:
        return bool(getattr(self._inner.loss, "indexed", False))

    def learn_one(self, x: dict[base.typing.FeatureName, Any], y: dict[base.typing.FeatureName, bool]) -> None:
        """Learn that the labels of x were those that are True in y."""
        names = self._names_with(y)
        held = {name for name in names if _member(name, named(y, names, "label").get(name))}
        members = {i for i, name in enumerate(names) if name in held} if self._indexed else held
        self._inner.learn_one(sorted_row(x), members)
        self._names = names

    def predict_one(
        self, x: dict[base.typing.FeatureName, Any], **kwargs: Any
    ) -> dict[base.typing.FeatureName, bool]:
        """Which labels x has, one True or False for each."""
        if self._names is None:
            return {}
        z = self._inner.predict_one(sorted_row(x))
        return {name: (i if self._indexed else name) in z for i, name in enumerate(self._names)}

    def predict_proba_one(
        self, x: dict[base.typing.FeatureName, Any], **kwargs: Any
    ) -> dict[base.typing.FeatureName, dict[bool, float]]:
        """The probability of each label; NotImplementedError for losses that have none, as River wants it."""
        if self._names is None:
            return {}
        found = probabilities(self._inner, x)
        keys = range(len(self._names)) if self._indexed else self._names
        p = {name: found.get(key, 0.0) for name, key in zip(self._names, keys, strict=True)}
        return {name: {False: 1 - p_i, True: p_i} for name, p_i in p.items()}

    def top_one(self, x: dict[base.typing.FeatureName, Any], k: int = 3) -> list[tuple[Any, float]]:
        """The k labels that are most probable, best first; [] before there are any."""
        if self._names is None:
            return []
        return [(self._names[key] if self._indexed else key, p) for key, p in super().top_one(x, k)]

    def _names_with(self, y: Any) -> list[Any]:
        """The labels known, and those of y where the loss learns them."""
        if self._names is None:
            names = as_names(y, "the labels of the first y")
            assert names is not None
            if self._indexed:
                require_outputs(self._inner.loss, "n_labels", names, "label")
            return names
        learns = self.labels is None and getattr(self._inner.loss, "names", None) is None
        new = [name for name in y if name not in self._names] if learns and isinstance(y, dict) else []
        return [*self._names, *new]


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


class Structured(LearnerWrapper, base.Estimator):
    """Any oskaar learner as a River estimator: rankings, sequences, angles, distributions, anything with a loss.

    learner: any; its state is not used, only its settings. Labels y are written as the loss wants them, answers are
    as the loss gives them, but that arrays become lists. `oskaar.river.LossMetric(loss)` scores them.

    >>> from oskaar import losses
    >>> model = Structured(OSKAAR(losses.Kendall(3), lam=0.1))
    >>> model.learn_one({"mood": "sad"}, (2, 0, 1))
    >>> model.predict_one({"mood": "sad"})
    (2, 0, 1)
    """

    def __init__(self, learner: OnlineLearner) -> None:
        self.learner = learner
        self._inner: OnlineLearner = started(learner)

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """The answer for x."""
        return without_numpy(self._inner.predict_one(sorted_row(x)))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": OSKAAR(Kendall(3), lam=0.1, budget=32)}


def _number(z: Any) -> float:
    z = without_numpy(z)
    return float(z[0] if isinstance(z, list) else z)


def probabilities(learner: OnlineLearner, x: Any) -> Any:
    """The learner's own, with the error that River expects where there are none."""
    try:
        return learner.predict_proba_one(sorted_row(x))
    except ValueError as error:
        if "has no probabilities" not in str(error):
            raise
        raise NotImplementedError(str(error)) from None


def _member(name: Any, value: Any) -> bool:
    if value is None or value not in (0, 1):
        if value is None:
            return False
        raise ValueError(f"y[{name!r}] must be True or False, got {value!r}.")
    return bool(value)

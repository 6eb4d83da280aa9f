"""Classes and sets of labels, in River's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from river import base

from oskaar.learners import OSKAAR
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import F1, SubsetHamming, ZeroOne
from oskaar.losses.classes import SeenClasses
from oskaar.losses.simplex import projections
from oskaar.river.common import LearnerWrapper, as_names, named, require_outputs, sorted_row, started, without_numpy

BUDGET, LAM = 256, 0.1
"""The default learner: constant cost and memory."""


class Classifier(LearnerWrapper, base.Classifier):
    r"""A multi-class classifier: any oskaar learner whose answers are classes.

    learner: such as `SALAMI(losses.ZeroOne())` or `OSKAAR(losses.Ordinal(5))`; its state is not used, only its
        settings. None is `OSKAAR(losses.ZeroOne(), lam=0.1, budget=256)`: classes are learned as they appear.

    g_hat estimates E[e_y | x] for ZeroOne, so `predict_proba_one` is the distribution nearest to it,
    argmin_p |p - g_hat|^2 over the simplex. Other losses have no probabilities, and say so as River wants it, by
    NotImplementedError.

    >>> model = Classifier()
    >>> model.learn_one({"a": 1.0}, "cat"); model.learn_one({"b": 1.0}, "dog")
    >>> model.predict_one({"b": 2.0}), model.predict_one({"a": 1.0, "new": 0.1})
    ('dog', 'cat')
    >>> {y: round(p, 2) for y, p in model.predict_proba_one({"b": 2.0}).items()}
    {'cat': 0.42, 'dog': 0.58}
    """

    def __init__(self, learner: OnlineLearner | None = None) -> None:
        self.learner = learner
        self._inner: OnlineLearner = started(
            OSKAAR(ZeroOne(), lam=LAM, budget=BUDGET) if learner is None else learner
        )

    def learn_one(self, x: dict[base.typing.FeatureName, Any], y: base.typing.ClfTarget) -> None:
        """Learn that the class of x was y."""
        self._inner.learn_one(sorted_row(x), y)

    def predict_one(self, x: dict[base.typing.FeatureName, Any], **kwargs: Any) -> base.typing.ClfTarget | None:
        """The class of x; None before any class is known."""
        z: base.typing.ClfTarget | None = without_numpy(self._inner.predict_one(sorted_row(x)))
        return z

    def predict_proba_one(
        self, x: dict[base.typing.FeatureName, Any], **kwargs: Any
    ) -> dict[base.typing.ClfTarget, float]:
        """The probabilities of the classes known so far."""
        loss, space = self._inner.loss, self._inner.space
        if not isinstance(loss, ZeroOne):
            raise NotImplementedError(f"{loss!r} has no probabilities: predict_one gives its answer.")
        g = self._inner.estimate(sorted_row(x))
        if isinstance(space, SeenClasses):
            classes = list(space.positions)
        else:
            classes, k = loss.outputs(), len(g)
            g = g * np.sqrt(1 - 1 / k) + 1 / k  # phi(y) = (e_y - 1/k) / sqrt(1 - 1/k)
        return dict(zip(classes, projections(g[None, :])[0].tolist(), strict=True)) if classes else {}

    @property
    def _multiclass(self) -> bool:
        return True


class MultiLabelClassifier(LearnerWrapper, base.MultiLabelClassifier):
    r"""Sets of labels, written as River does: {"label": True, "other": False}.

    learner: an oskaar learner with a loss on subsets, such as `OSKAAR(losses.Jaccard(14), budget=256)`; its state is
        not used, only its settings. None is `OSKAAR(losses.F1(k), lam=0.1, budget=256)` for k labels.
    labels: all their names; None: those of the first y. Labels that a y leaves out are not in the set.

    The answer to every x is a dict with all labels, so River's multi-output metrics take it as it is; {} before the
    labels are known.

    >>> model = MultiLabelClassifier()
    >>> model.learn_one({"a": 1.0}, {"sun": True, "rain": False})
    >>> model.learn_one({"b": 1.0}, {"sun": False, "rain": True})
    >>> model.predict_one({"b": 1.0})
    {'sun': False, 'rain': True}
    """

    def __init__(self, learner: OnlineLearner | None = None, labels: list[Any] | None = None) -> None:
        self.learner, self.labels = learner, labels
        self._names = as_names(labels, "labels")
        self._inner = None if learner is None else started(learner)
        if self._names is not None:
            self._inner = self._started(self._names)

    def learn_one(self, x: dict[base.typing.FeatureName, Any], y: dict[base.typing.FeatureName, bool]) -> None:
        """Learn that the labels of x were those that are True in y."""
        names = as_names(y, "the labels of the first y") if self._names is None else self._names
        assert names is not None
        members = frozenset(i for i, name in enumerate(names) if _member(name, named(y, names, "label").get(name)))
        inner = self._started(names)
        inner.learn_one(sorted_row(x), members)
        self._names, self._inner = names, inner

    def predict_one(
        self, x: dict[base.typing.FeatureName, Any], **kwargs: Any
    ) -> dict[base.typing.FeatureName, bool]:
        """Which labels x has, one True or False for each."""
        if self._names is None or self._inner is None:
            return {}
        z = self._inner.predict_one(sorted_row(x))
        return {name: i in z for i, name in enumerate(self._names)}

    def predict_proba_one(
        self, x: dict[base.typing.FeatureName, Any], **kwargs: Any
    ) -> dict[base.typing.FeatureName, dict[bool, float]]:
        """The probability of each label, for `SubsetHamming`, whose estimates are those of single labels."""
        if self._names is None or self._inner is None:
            return {}
        loss = self._inner.loss
        if type(loss) is not SubsetHamming or loss.exactly:
            raise NotImplementedError(f"{loss!r} has no probabilities of single labels: SubsetHamming has.")
        g = self._inner.estimate(sorted_row(x))  # phi(y) = +-1 / sqrt(k)
        p = np.clip((1 + np.sqrt(len(g)) * g) / 2, 0, 1).tolist()
        return {name: {False: 1 - p_i, True: p_i} for name, p_i in zip(self._names, p, strict=True)}

    def _started(self, names: list[Any]) -> OnlineLearner:
        inner = self._inner or started(OSKAAR(F1(len(names)), lam=LAM, budget=BUDGET))
        require_outputs(inner.loss, "n_labels", names, "label")
        return inner

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}


def _member(name: Any, value: Any) -> bool:
    if value is None or value not in (0, 1):
        if value is None:
            return False
        raise ValueError(f"y[{name!r}] must be True or False, got {value!r}.")
    return bool(value)

"""Classification: one class out of several, or one of ordered levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from oskaar.losses import Loss, Ordinal, ZeroOne
from oskaar.sklearn.base import LearnerEstimator


class Classifier(ClassifierMixin, LearnerEstimator):
    """Online classification: losses.ZeroOne behind scikit-learn's classifier.

    learner, kernel, lam, budget, options: see `LearnerEstimator`.

    `classes_` are the classes in order. `score` is the accuracy.

    >>> from oskaar.sklearn import Classifier
    >>> model = Classifier().partial_fit([[0.0], [1.0]], ["a", "b"], classes=["a", "b", "c"])
    >>> model.partial_fit([[2.0]], ["c"]).predict([[1.9], [0.1]])
    array(['c', 'a'], dtype='<U1')
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows after those before them; the first call lists all classes there will be."""
        if self.__sklearn_is_fitted__():
            if classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
                raise ValueError(f"classes must be those of the first call, {self.classes_}, got {classes!r}.")
        elif classes is None:
            raise ValueError("the first call of partial_fit needs classes=, all classes there will be.")
        return self._learn(X, y, classes, sample_weight)

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        answers = np.array(self._answers(X), dtype=int)
        return self.classes_[answers]

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class (n, k), in the order of `classes_`."""
        places = range(len(self.classes_)) if hasattr(self, "classes_") else ()
        return np.array([[p[i] for i in places] for p in self._probabilities(X)]).reshape(-1, len(places))

    def _checked(self, X: Any, y: Any, reset: bool, sample_weight: Any = None) -> tuple[Any, Any]:
        X, y = super()._checked(X, y, reset, sample_weight)
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _start(self, y: Any, classes: Any = None) -> Loss:
        self.classes_ = unique_labels(y if classes is None else classes)
        return ZeroOne(len(self.classes_))

    def _encoded(self, y: Any) -> Any:
        places = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        unknown = self.classes_[places] != y
        if unknown.any():
            raise ValueError(f"y must be among the classes {self.classes_}, got {y[np.argmax(unknown)]!r}.")
        return places


class OrdinalClassifier(Classifier):
    """Online classification of ordered levels: losses.Ordinal behind scikit-learn's classifier.

    levels: all levels from the lowest to the highest; None: those of y, sorted.
    learner, kernel, lam, budget, options: see `LearnerEstimator`.

    The answer is the level of the least expected number of steps: the median, not the mode.

    >>> from oskaar.sklearn import OrdinalClassifier
    >>> model = OrdinalClassifier(levels=["low", "mid", "high"])
    >>> model.fit([[0.0], [1.0], [2.0]] * 5, ["low", "mid", "high"] * 5).predict([[0.1], [1.9]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        levels: Any = None,
        learner: str = "ensemble",
        kernel: Any = None,
        lam: Any = None,
        budget: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(learner, kernel, lam, budget, options)
        self.levels = levels

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """(lowest, highest) level of each row (n, 2), between which the label lies with about this probability."""
        return self.classes_[self._intervals(X, coverage)]

    def _start(self, y: Any, classes: Any = None) -> Loss:
        given = self.levels if self.levels is not None else classes
        self.classes_ = unique_labels(y) if given is None else np.asarray(given)
        return Ordinal(len(self.classes_))

    def _encoded(self, y: Any) -> Any:
        places = {level: i for i, level in enumerate(self.classes_.tolist())}
        try:
            return np.array([places[level] for level in np.asarray(y).tolist()])
        except KeyError as error:
            raise ValueError(f"y must be among the levels {self.classes_}, got {error.args[0]!r}.") from None

"""Ordered levels: classification where a mistake costs as many steps as it is off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.multiclass import unique_labels

from oskaar.losses import Loss, Ordinal
from oskaar.sklearn.classes import Classifier


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

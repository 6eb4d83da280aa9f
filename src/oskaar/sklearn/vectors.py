"""Regression with one target or several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin

from oskaar.arrays import Array
from oskaar.losses import Loss, Squared
from oskaar.sklearn.base import LearnerEstimator


class VectorRegressor(MultiOutputMixin, RegressorMixin, LearnerEstimator):
    """Online multi-output regression: losses.Squared behind scikit-learn's regressor.

    learner, kernel, lam, budget, options: see `LearnerEstimator`.
    low, high: what each target can be, a number or one for each. None: the range is learned, and later labels may
        widen it (`losses.Squared`).

    y is (n,) or (n, k), and so is the answer. `score` is R^2.

    >>> from oskaar.sklearn import VectorRegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> Y = [[0.0, 3.0], [1.0, 2.0], [2.0, 1.0], [3.0, 0.0]]
    >>> VectorRegressor("oskaar", lam=0.01).fit(X, Y).predict([[1.5]]).round(1)
    array([[1.5, 1.5]])
    """

    def __init__(
        self,
        learner: str = "ensemble",
        kernel: Any = None,
        lam: Any = None,
        budget: int | None = None,
        low: Any = None,
        high: Any = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(learner, kernel, lam, budget, options)
        self.low = low
        self.high = high

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows after those before them."""
        return self._learn(X, y, sample_weight=sample_weight)

    def predict(self, X: Any) -> Array:
        """The targets of each row, in the shape of y."""
        answers = np.array(self._answers(X)).reshape(-1, self.n_outputs_)
        return answers[:, 0] if self.flat_ else answers

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Array:
        """(low, high) about each answer, (n, 2) or (n, 2, k), from the residuals of the last 500 rows."""
        ends = self._intervals(X, coverage)
        return ends[:, :, 0] if self.flat_ else ends

    def _start(self, y: Array, classes: Any = None) -> Loss:
        Y = _table(y)
        loss = Squared(Y.shape[1], *self._range(Y))
        self.n_outputs_, self.flat_ = Y.shape[1], y.ndim == 1
        return loss

    def _range(self, Y: Array) -> tuple[Any, Any]:
        """low and high; where only one is given, the other from the first labels, and as much again."""
        if (self.low is None) == (self.high is None):
            return self.low, self.high
        lowest, highest = Y.min(axis=0), Y.max(axis=0)
        width = highest - lowest
        margin = np.where(width > 0, width, np.maximum(np.abs(highest), 1.0))
        return (lowest - margin, self.high) if self.low is None else (self.low, highest + margin)

    def _encoded(self, y: Array) -> Array:
        Y = _table(y)
        if Y.shape[1] != self.n_outputs_:
            raise ValueError(f"y must have {self.n_outputs_} targets, as the first labels had, got {Y.shape[1]}.")
        return Y


def _table(y: Any) -> Array:
    return np.asarray(y, dtype=float).reshape(len(y), -1)

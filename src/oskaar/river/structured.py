"""Any structure that oskaar knows, in a River pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base

from oskaar.learners import OSKAAR
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Kendall
from oskaar.river.common import LearnerWrapper, sorted_row, started, without_numpy


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

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn that the truth for x was y."""
        self._inner.learn_one(sorted_row(x), y)

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """The answer for x."""
        return without_numpy(self._inner.predict_one(sorted_row(x)))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": OSKAAR(Kendall(3), lam=0.1, budget=32)}

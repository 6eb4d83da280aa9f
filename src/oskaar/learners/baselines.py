"""Baselines that ignore the input: honest company for every figure."""

from __future__ import annotations

import threading
from typing import Any, Self

from oskaar.guards import exclusive, uninterrupted
from oskaar.learners.base import Predictor, as_labels, require_loss
from oskaar.losses import Loss
from oskaar.losses.trick import label_key


class _Blind(Predictor):
    """A learner that never looks at x."""

    def __init__(self, loss: Loss) -> None:
        self.loss = require_loss(loss)
        self._lock = threading.RLock()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._answer: Any = None

    def predict_one(self, x: Any) -> Any:
        """The same for every x; None before the first label."""
        return self._answer

    def predict_many(self, xs: Any) -> list[Any]:
        """The same for every x."""
        return [self._answer for _ in xs]

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn a label."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Learn labels afresh."""
        self.reset()
        for label in as_labels(y):
            self.learn_one(None, label)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss!r})"


class RepeatLast(_Blind):
    """The last label again.

    >>> from oskaar import losses
    >>> RepeatLast(losses.ZeroOne("ab")).fit([[0], [1]], ["a", "b"]).predict_one([2])
    'b'
    """

    def learn_one(self, x: Any, y: Any) -> None:
        """Keep it."""
        self._answer = self.loss.check(y)


class MostFrequent(_Blind):
    """The label seen most often, the latest of equals.

    >>> from oskaar import losses
    >>> MostFrequent(losses.ZeroOne("ab")).fit([[0], [1], [2]], ["a", "b", "a"]).predict_one([3])
    'a'
    """

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._counts: dict[Any, int] = {}
        self._most = 0

    @exclusive
    def learn_one(self, x: Any, y: Any) -> None:
        """Count it."""
        y = self.loss.check(y)
        key = label_key(y)
        with uninterrupted():
            self._counts[key] = self._counts.get(key, 0) + 1
            if self._counts[key] >= self._most:
                self._most, self._answer = self._counts[key], y

"""Baselines that ignore the input, to compare every figure with.

Where a round is made of parts whose rows have labels of their own (sequences, mini-batches), these are what is
repeated and counted: rounds differ in length, and hardly any two have one label.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from oskaar.guards import exclusive, writing
from oskaar.learners.base import Predictor, as_labels, require_loss
from oskaar.losses import Loss
from oskaar.losses.trick import label_key
from oskaar.saved import saved


class _Blind(Predictor):
    """A learner that looks at nothing of x but how many rows it has."""

    def __init__(self, loss: Loss) -> None:
        self.loss = require_loss(loss)
        if loss.parts and type(loss).repeated is Loss.repeated:
            raise ValueError(
                f"{type(self).__name__} needs rows with labels of their own, and those of {loss!r} have none: "
                "compare with a rule for that structure, such as the order of the file or attach-to-the-left."
            )
        self.reset()

    def reset(self) -> None:
        """Forget all labels."""
        with self._lock, writing(self):
            self._forget()

    def _forget(self) -> None:
        self._seen, self._answer = False, None

    @exclusive
    def predict_one(self, x: Any) -> Any:
        """The same for every x, or for every row of it; None before the first label."""
        if not self._seen or not self.loss.parts:
            return self._answer
        return self.loss.repeated(self._answer, x.shape[0] if hasattr(x, "shape") else len(x))

    def predict_many(self, xs: Any) -> list[Any]:
        """The same for every x, or for every row of it."""
        return [self.predict_one(x) for x in xs]

    @exclusive
    def learn_one(self, x: Any, y: Any) -> None:
        """Check a label and count it; x is not used."""
        y = self.loss.check(y)
        with writing(self):
            self._learn(y if self.loss.parts else [y])
            self._seen = True

    def _learn(self, labels: Iterable[Any]) -> None:
        """Learn the label of a round of one row, or those of its rows."""
        raise NotImplementedError

    @exclusive
    def fit(self, X: Any, y: Any) -> Self:
        """Forget all labels, then learn these."""
        labels = [self.loss.check(label) for label in as_labels(y)]
        self.reset()
        for label in labels:
            self.learn_one(None, label)
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loss!r})"


@saved("learner/repeat-last")
class RepeatLast(_Blind):
    """The last label again; the last row's, for every row, where a round is made of parts.

    >>> from oskaar import losses
    >>> RepeatLast(losses.ZeroOne("ab")).fit([[0], [1]], ["a", "b"]).predict_one([2])
    'b'
    >>> RepeatLast(losses.Sequence("ab")).fit([[[0], [1]]], ["ab"]).predict_one([[2], [3], [4]])
    ('b', 'b', 'b')
    """

    def _learn(self, labels: Iterable[Any]) -> None:
        *_, self._answer = labels


@saved("learner/most-frequent")
class MostFrequent(_Blind):
    """The label seen most often, the latest of equals; of all rows, where a round is made of parts.

    >>> from oskaar import losses
    >>> MostFrequent(losses.ZeroOne("ab")).fit([[0], [1], [2]], ["a", "b", "a"]).predict_one([3])
    'a'
    """

    def _forget(self) -> None:
        super()._forget()
        self._counts: dict[Any, int] = {}
        self._most = 0

    def _learn(self, labels: Iterable[Any]) -> None:
        for y in labels:
            key = label_key(y)
            self._counts[key] = self._counts.get(key, 0) + 1
            if self._counts[key] >= self._most:
                self._most, self._answer = self._counts[key], y


@saved("learner/as-listed")
class AsListed:
    """Documents in the order of the file.

    >>> AsListed().predict_one([[0.5], [0.7]])
    (0, 1)
    """

    def predict_one(self, x: Any) -> tuple[int, ...]:
        """0, 1, 2, ..."""
        return tuple(range(len(x)))

    def learn_one(self, x: Any, y: Any) -> None:
        """Nothing: the answer does not depend on labels."""


@saved("learner/left-head")
class LeftHead:
    """A tree in which each token hangs on the one before it, and the first on the root.

    >>> LeftHead().predict_one([[0.5]] * 9)
    (0, 1, 2)
    """

    def predict_one(self, x: Any) -> tuple[int, ...]:
        """0, 1, 2, ...: x has a row for each of n^2 arcs."""
        return tuple(range(round(len(x) ** 0.5)))

    def learn_one(self, x: Any, y: Any) -> None:
        """Nothing: the answer does not depend on labels."""


@saved("learner/mean-so-far")
class MeanSoFar:
    """The mean of the labels seen: the baseline for numbers.

    >>> model = MeanSoFar()
    >>> for y in ([1.0], [2.0]):
    ...     model.learn_one(None, y)
    >>> model.predict_one(None)
    array([1.5])
    """

    def __init__(self) -> None:
        self._n = 0
        self._mean: Any = None

    def predict_one(self, x: Any) -> Any:
        """None before the first label."""
        return self._mean

    def learn_one(self, x: Any, y: Any) -> None:
        """Update the mean with a label."""
        self._n += 1
        y = np.asarray(y, dtype=float)
        self._mean = y if self._mean is None else self._mean + (y - self._mean) / self._n

"""Baselines that ignore x, for every kind of y."""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar import MostFrequent, RepeatLast
from oskaar.losses import DependencyTree, Documents, Loss
from oskaar.losses.vectors import Absolute, Huber, Pinball, Squared
from oskaar.saved import saved


def make_baselines(loss: Loss) -> dict[str, Any]:
    """The last label again, and the most frequent one (for numbers, the mean so far).

    Queries and sentences have no last label that would fit: documents stay in the order of the file, and each word
    of a tree hangs on the one before it.
    """
    if isinstance(loss, Documents):
        return {"as-listed": AsListed()}
    if isinstance(loss, DependencyTree):
        return {"head-to-the-left": LeftHead()}
    numeric = isinstance(loss, (Squared, Absolute, Pinball, Huber))
    common = {"mean": MeanSoFar()} if numeric else {"most-frequent": MostFrequent(loss)}
    return {"repeat-last": RepeatLast(loss), **common}


@saved("cli/as-listed")
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


@saved("cli/left-head")
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


@saved("cli/mean-so-far")
class MeanSoFar:
    """The mean of the labels seen: what the most frequent label is to numbers.

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

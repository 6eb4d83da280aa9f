"""What the River estimators share: a learner given as a setting, another one like it that learns, dict rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from oskaar.learners import OSKAAR
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Loss
from oskaar.schema.tables import of_frame

BUDGET, LAM = 256, 0.1
"""Of the default learner: constant cost and memory."""


class LearnerWrapper:
    """An estimator around an online learner.

    `learner` is a setting, as River's `clone` wants it, and never learns; `inner` is one like it that does.
    """

    learner: OnlineLearner | None
    _inner: OnlineLearner | None = None

    @property
    def inner(self) -> OnlineLearner:
        """The learner at work: its regret, bound, cost, change points."""
        if self._inner is None:
            raise ValueError(f"{type(self).__name__} makes its learner at the first round: there has been none.")
        return self._inner

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn that the truth for x was y."""
        self.inner.learn_one(sorted_row(x), y)

    def top_one(self, x: Any, k: int = 3) -> list[tuple[Any, float]]:
        """The k best names for x with their probabilities, or their scores for rankings, best first."""
        return self.inner.top_one(sorted_row(x), k)

    def scores_one(self, x: Any) -> dict[Any, float]:
        """The score of each item of a ranking for x, larger is better."""
        return self.inner.scores_one(sorted_row(x))

    def interval_one(self, x: Any, coverage: float = 0.9) -> Any:
        """(low, high) about the answer for x: see `OSKAAR.interval_one`."""
        return without_numpy(self.inner.interval_one(sorted_row(x), coverage))


def started(learner: Any, loss: Loss | None = None) -> OnlineLearner:
    """A learner with these settings that has seen nothing; None is OSKAAR with this loss, at constant cost."""
    if learner is None and loss is not None:
        return OSKAAR(loss, lam=LAM, budget=BUDGET)
    if isinstance(learner, type) or not isinstance(learner, OnlineLearner):
        raise TypeError(f"learner must be an oskaar learner, such as OSKAAR(losses.ZeroOne()), got {learner!r}.")
    return learner.like_new()


def frame_rows(X: Any) -> list[Any]:
    """The rows of a DataFrame, of pandas, polars or pyarrow, as dicts."""
    return [sorted_row(row) for row in of_frame(X).records()]


def sorted_row(x: Any) -> Any:
    """A dict with its names in order, so that the order in which they were written changes nothing.

    A block of such rows too, for losses on parts; other objects are left alone.

    >>> sorted_row({"b": 1, "a": 2}), sorted_row([{"b": 1, "a": 2}]), sorted_row("text")
    ({'a': 2, 'b': 1}, [{'a': 2, 'b': 1}], 'text')
    """
    if isinstance(x, dict):
        return {name: x[name] for name in sorted(x, key=lambda name: (str(name), type(name).__name__))}
    return [sorted_row(row) for row in x] if isinstance(x, (list, tuple)) else x


def without_numpy(z: Any) -> Any:
    """An answer without NumPy: River compares predictions with {}, which an array does not survive.

    >>> without_numpy(np.array([[1.0, 2.0]])), without_numpy(np.float64(3.0)), without_numpy(("a", "b"))
    ([[1.0, 2.0]], 3.0, ('a', 'b'))
    """
    if isinstance(z, (np.ndarray, np.generic)):
        return z.tolist()
    return tuple(without_numpy(part) for part in z) if type(z) is tuple else z


def as_names(names: Any, what: str) -> list[Any] | None:
    """A list of distinct names, or None where the first label will say."""
    if names is None:
        return None
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"{what} must be a list of names, got {names!r}.")
    listed = list(names)
    if len(set(listed)) < len(listed) or not listed:
        raise ValueError(f"{what} must be one or more different names, got {listed}.")
    return listed


def named(y: Any, names: list[Any], what: str) -> dict[Any, Any]:
    """A label written as a dict, all of whose names are known."""
    if not isinstance(y, dict):
        raise TypeError(f"y must be a dict with a value for each {what}, got {y!r}.")
    unknown = [name for name in y if name not in names]
    if unknown:
        raise ValueError(
            f"unknown {what} {unknown[0]!r}: the first y had {names[:8]}; give {what}s=[...] with all of them."
        )
    return y


def require_outputs(loss: Loss, attribute: str, names: list[Any], what: str) -> None:
    """A loss on as many outputs as there are names."""
    count = getattr(loss, attribute, None)
    if count != len(names):
        raise ValueError(
            f"the loss {loss!r} is for {count} {what}s, and there are {len(names)}: {names[:8]}. "
            f"Make it with {attribute}={len(names)}."
        )

"""River learners beside oskaar's, for the kinds of y that River has something for: classes, levels, sets, numbers.

They have their own defaults behind a standard scaler (dict rows go as they are), seeds are fixed. Sets have a binary
classifier for each label, vectors a regressor for each number, levels a regressor whose answer is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from oskaar.losses import CostMatrix, Loss, Ordinal, PrecisionAtK, SubsetLoss, ZeroOne
from oskaar.losses.vectors import Huber, Pinball, Squared
from oskaar.tabular import ReadError

LEARNERS = {
    "river-linear": (
        "linear_model.SoftmaxRegression",
        "linear_model.LogisticRegression",
        "linear_model.LinearRegression",
    ),
    "river-knn": ("neighbors.KNNClassifier", "neighbors.KNNClassifier", "neighbors.KNNRegressor"),
    "river-hat": (
        *("tree.HoeffdingAdaptiveTreeClassifier", "tree.HoeffdingAdaptiveTreeClassifier"),
        "tree.HoeffdingAdaptiveTreeRegressor",
    ),
    "river-arf": ("forest.ARFClassifier", "forest.ARFClassifier", "forest.ARFRegressor"),
}
"""For classes, for yes and no, for numbers."""


def have_river() -> bool:
    """Whether River is installed."""
    return find_spec("river") is not None


def suits(loss: Loss) -> bool:
    """Whether River has learners for this kind of y.

    >>> from oskaar import losses
    >>> suits(losses.F1(3)), suits(losses.Kendall(3))
    (True, False)
    """
    if isinstance(loss, CostMatrix):
        return loss.labels() == loss.outputs()
    if isinstance(loss, PrecisionAtK):  # its answers have k labels each
        return False
    return isinstance(loss, (ZeroOne, Ordinal, SubsetLoss, Squared, Pinball, Huber))


def make_river_learner(name: str, loss: Loss) -> Any:
    """A River learner with predict_one and learn_one on rounds of oskaar."""
    if name not in LEARNERS:
        raise ReadError(f"a River learner must be one of {', '.join(LEARNERS)}, got {name!r}.")
    if not have_river():
        raise ReadError(f"--learner {name} needs River: pip install 'oskaar[river]'.")
    if not suits(loss):
        raise ReadError(f"River has no learner for {loss!r}: {name} is for classes, levels, sets and numbers.")
    classes, binary, numbers = LEARNERS[name]
    if isinstance(loss, SubsetLoss):
        return EachLabel(binary, loss.n_labels)
    if isinstance(loss, (ZeroOne, CostMatrix)):
        return OneClass(classes)
    if isinstance(loss, Ordinal):
        return EachNumber(numbers, 1, [0.0], [len(loss.outputs()) - 1.0], loss.outputs())
    assert isinstance(loss, (Squared, Pinball, Huber))
    return EachNumber(numbers, loss.dim, loss.low, loss.high)


def _made(path: str) -> Any:
    module, _, name = path.partition(".")
    kind: Callable[..., Any] = getattr(import_module(f"river.{module}"), name)
    seeded = {"seed": 1} if module in ("tree", "forest") else {}
    return kind(**seeded)


class _Rows:
    """Rows as dicts; dense ones are scaled by those before them, text is one-hot but for trees, which take it."""

    def __init__(self, path: str) -> None:
        self._takes_text = path.startswith(("tree", "forest"))
        self._scaler = import_module("river.preprocessing").StandardScaler()

    def _row(self, x: Any) -> Any:
        if isinstance(x, dict):
            if self._takes_text:
                return x
            return {f"{n}={v}" if isinstance(v, str) else n: 1.0 if isinstance(v, str) else v for n, v in x.items()}
        return self._scaler.transform_one(dict(enumerate(np.asarray(x, dtype=float).tolist())))

    def _seen(self, x: Any) -> None:
        if not isinstance(x, dict):
            self._scaler.learn_one(dict(enumerate(np.asarray(x, dtype=float).tolist())))


class OneClass(_Rows):
    """A multi-class classifier."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._model = _made(path)
        self._known: set[Any] = set()

    def predict_one(self, x: Any) -> Any:
        """The class; None before the first label."""
        z = self._model.predict_one(self._row(x)) if self._known else None
        return z if z in self._known else next(iter(self._known), None)

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn a row and its class."""
        self._seen(x)
        self._known.add(y)
        self._model.learn_one(self._row(x), y)


class EachLabel(_Rows):
    """A binary classifier for each label of a set."""

    def __init__(self, path: str, n_labels: int) -> None:
        super().__init__(path)
        self._models = [_made(path) for _ in range(n_labels)]

    def predict_one(self, x: Any) -> Any:
        """The labels whose classifier answers yes."""
        row = self._row(x)
        return frozenset(i for i, model in enumerate(self._models) if model.predict_one(row))

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn a row and its set of labels."""
        self._seen(x)
        row = self._row(x)
        for i, model in enumerate(self._models):
            model.learn_one(row, i in y)


class EachNumber(_Rows):
    """A regressor for each number, kept in the range of y; with `levels` the answer is the nearest of these."""

    def __init__(self, path: str, n: int, low: Any, high: Any, levels: Any = None) -> None:
        super().__init__(path)
        self._models = [_made(path) for _ in range(n)]
        self._low, self._high, self._levels = low, high, levels
        self._places = {level: i for i, level in enumerate(levels or ())}

    def predict_one(self, x: Any) -> Any:
        """The numbers, or the level."""
        row = self._row(x)
        answer = np.nan_to_num([float(model.predict_one(row) or 0.0) for model in self._models])
        answer = np.clip(answer, self._low, self._high)
        return answer if self._levels is None else self._levels[round(answer[0])]

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn the numbers, or the place of the level."""
        self._seen(x)
        row = self._row(x)
        for model, target in zip(self._models, y if self._levels is None else [self._places[y]], strict=True):
            model.learn_one(row, float(target))

"""River's learners for comparisons, for the kinds of y that they take: classes, levels, sets, numbers.

They have their own defaults behind a standard scaler (dict rows go as they are), seeds are fixed. Sets have a binary
classifier for each label, vectors a regressor for each number, levels a regressor whose answer is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from oskaar.losses import CostMatrix, Loss, Ordinal, PrecisionAtK, SubsetLoss, ZeroOne
from oskaar.losses.vectors import Absolute, Huber, Pinball, Squared
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
    return isinstance(loss, (ZeroOne, Ordinal, SubsetLoss, Squared, Absolute, Pinball, Huber))


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
        return EachLabel(binary, () if loss.names is None else loss.names.names)
    if isinstance(loss, (ZeroOne, CostMatrix)):
        return OneClass(classes)
    if isinstance(loss, Ordinal):
        if loss.levels is None:
            return EachNumber(numbers, 1, whole=True)
        return EachNumber(numbers, 1, [0.0], [len(loss.outputs()) - 1.0], loss.outputs())
    assert isinstance(loss, (Squared, Absolute, Pinball, Huber))
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

    def _learned_row(self, x: Any) -> Any:
        """The row, after the scaler has learned it."""
        if not isinstance(x, dict):
            self._scaler.learn_one(dict(enumerate(np.asarray(x, dtype=float).tolist())))
        return self._row(x)


class OneClass(_Rows):
    """A multi-class classifier."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._model = _made(path)
        self._known: set[Any] = set()

    def predict_one(self, x: Any) -> Any:
        z = self._model.predict_one(self._row(x)) if self._known else None
        return z if z in self._known else next(iter(self._known), None)

    def learn_one(self, x: Any, y: Any) -> None:
        self._known.add(y)
        self._model.learn_one(self._learned_row(x), y)


class EachLabel(_Rows):
    """A binary classifier for each label of a set; a label that is not listed has one from its first time on."""

    def __init__(self, path: str, names: Iterable[Any] = ()) -> None:
        super().__init__(path)
        self._path = path
        self._models = {name: _made(path) for name in names}

    def predict_one(self, x: Any) -> Any:
        row = self._row(x)
        return frozenset(name for name, model in self._models.items() if model.predict_one(row))

    def learn_one(self, x: Any, y: Any) -> None:
        row = self._learned_row(x)
        for name in sorted(y, key=str):
            if name not in self._models:
                self._models[name] = _made(self._path)
        for name, model in self._models.items():
            model.learn_one(row, name in y)


class EachNumber(_Rows):
    """A regressor for each number, kept in the range of y, or in that of the labels so far where there is none.

    levels: the answer is the nearest of these; whole: it is the nearest whole number.
    """

    def __init__(
        self, path: str, n: int, low: Any = None, high: Any = None, levels: Any = None, whole: bool = False
    ) -> None:
        super().__init__(path)
        self._models = [_made(path) for _ in range(n)]
        self._low, self._high, self._levels, self._whole = low, high, levels, whole
        self._learned = low is None
        self._places = {level: i for i, level in enumerate(levels or ())}

    def predict_one(self, x: Any) -> Any:
        row = self._row(x)
        answer = np.nan_to_num([float(model.predict_one(row) or 0.0) for model in self._models])
        if self._low is not None:
            answer = np.clip(answer, self._low, self._high)
        if self._whole:
            return round(answer[0])
        return answer if self._levels is None else self._levels[round(answer[0])]

    def learn_one(self, x: Any, y: Any) -> None:
        row = self._learned_row(x)
        targets = [y] if self._whole else y if self._levels is None else [self._places[y]]
        if self._learned:
            first = self._low is None
            self._low = np.array(targets) if first else np.minimum(self._low, targets)
            self._high = np.array(targets) if first else np.maximum(self._high, targets)
        for model, target in zip(self._models, targets, strict=True):
            model.learn_one(row, float(target))

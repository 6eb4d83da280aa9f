"""River's estimators behind one face: a head takes a dict and p numbers, and gives back p scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oskaar.arrays import Array
from study.peers.rows import dicts_of
from study.peers.targets import Target


class PerOutput:
    """One estimator for each of p outputs; p(True) for binary ones, the value for numbers."""

    def __init__(self, make: Callable[[], Any], target: Target) -> None:
        self.binary = target.type != "number"
        self.models = [make() for _ in range(target.p)]

    def scores(self, row: dict[Any, float]) -> Array:
        """p scores."""
        if self.binary:
            return np.array([model.predict_proba_one(row).get(True, 0.0) for model in self.models])
        return np.array([model.predict_one(row) for model in self.models], dtype=float)

    def learn(self, row: dict[Any, float], values: Array) -> None:
        """Each model sees its output."""
        for model, value in zip(self.models, values.tolist(), strict=True):
            model.learn_one(row, value > 0.5 if self.binary else value)


class OneClassifier:
    """A classifier of the position of the 1 in one-hot codes."""

    def __init__(self, model: Any, target: Target) -> None:
        self.model, self.p = model, target.p

    def scores(self, row: dict[Any, float]) -> Array:
        """Probabilities; 0 for classes that were never seen."""
        shares = self.model.predict_proba_one(row)
        return np.array([shares.get(i, 0.0) for i in range(self.p)], dtype=float)

    def learn(self, row: dict[Any, float], values: Array) -> None:
        """Sees the class."""
        self.model.learn_one(row, int(np.argmax(values)))


class Joint:
    """An estimator that takes all p outputs as a dict: chains, label powersets, iSOUP trees.

    Outputs are called "y0", "y1", ...: a chain adds its answers to x under their names, which must not be columns.
    """

    def __init__(self, model: Any, target: Target) -> None:
        self.model = model
        self.names = names_of_outputs(target)
        self.shares = target.type != "number" and hasattr(model, "predict_proba_one")

    def scores(self, row: dict[Any, float]) -> Array:
        """p scores; 0 for outputs that were never seen."""
        if self.shares:
            shares = self.model.predict_proba_one(row)
            return np.array([shares.get(name, {}).get(True, 0.0) for name in self.names], dtype=float)
        values = self.model.predict_one(row) or {}
        return np.array([values.get(name, 0.0) for name in self.names], dtype=float)

    def learn(self, row: dict[Any, float], values: Array) -> None:
        """Sees all outputs."""
        whole = zip(self.names, values.tolist(), strict=True)
        self.model.learn_one(row, {name: v > 0.5 if self.shares else v for name, v in whole})


def names_of_outputs(target: Target) -> list[str]:
    """What the outputs of a target are called.

    >>> from oskaar import losses
    >>> from study.peers.targets import target_of
    >>> from study.protocol import Stream
    >>> names_of_outputs(target_of(Stream("demo", "subset", np.zeros((1, 2)), [{0}], losses.F1(3))))
    ['y0', 'y1', 'y2']
    """
    return [f"y{i}" for i in range(target.p)]


class RiverModel:
    """Transformers, then a head, row by row; the target turns scores into an answer."""

    def __init__(self, target: Target, transformers: list[Any], head: Any) -> None:
        self.target, self.transformers, self.head = target, transformers, head
        self.seen = False

    def predict_one(self, x: Any) -> Any:
        """The answer, None before the first label."""
        if not self.seen:
            return None
        return self.target.read(np.array([self.head.scores(self._transformed(row)) for row in dicts_of(x)]))

    def learn_one(self, x: Any, y: Any) -> None:
        """Transformers first, then the head, as River's pipelines do."""
        for row, values in zip(dicts_of(x), self.target.rows(y), strict=True):
            self.head.learn(self._transformed(row, learn=True), values)
        self.seen = True

    def _transformed(self, row: dict[Any, float], learn: bool = False) -> dict[Any, float]:
        for transformer in self.transformers:
            if learn:
                transformer.learn_one(row)
            row = transformer.transform_one(row)
        return row

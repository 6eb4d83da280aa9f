r"""Probabilities of classes, levels, tags and symbols, out of estimates.

phi is such that E[phi(y) | x] says the probabilities: an estimate of the one is an estimate of the others, by a
linear map. What regularisation has taken away is put back where it is known: if all codes add up to 1 (one-hot codes,
or a constant coordinate), the estimate is divided by its sum. Then it is moved to the nearest probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.arrays import Array

LEAST = 1e-9
"""The least sum of weights that is distinguished from 0."""

_FEW = 8
"""Of fewer shares NumPy adds up one after the other, and a loop is faster."""


@dataclass(frozen=True)
class Marginals:
    """P (n, k): the probability of each name, for n rows.

    exclusive: one of the names holds, and rows add up to 1; else each holds or not.
    places: so many consecutive rows belong to one estimate, the places of a sequence.
    """

    names: Sequence[Any]
    P: Array
    exclusive: bool = True
    places: int = 1

    def smoothed(self, rounds: Any) -> Marginals:
        """As if one more label had come of which nothing is known: after t rounds no probability is 0.

        (t P + 1/k) / (t + 1), or (t P + 1/2) / (t + 1) for names that hold or not. rounds: t, or one for each row.

        >>> Marginals(["a", "b"], np.array([[1.0, 0.0]])).smoothed(9).by_name()
        [{'a': 0.95, 'b': 0.05}]
        """
        prior = 1 / max(len(self.names), 1) if self.exclusive else 0.5
        t = rounds if isinstance(rounds, int) else np.asarray(rounds, dtype=float).reshape(-1, 1)
        return self.with_shares((t * self.P + prior) / (t + 1))

    def with_shares(self, P: Array) -> Marginals:
        """Other probabilities of the same names."""
        return Marginals(self.names, P, self.exclusive, self.places)

    def by_name(self) -> list[dict[Any, float]]:
        """A dict for each row."""
        return [dict(zip(self.names, row, strict=True)) for row in self.P.tolist()]

    def truth(self, ys: Sequence[Any], parts: bool = False) -> Any:
        """Which names hold (n, k) in the rounds with labels ys; parts: a label has a name for each row.

        >>> Marginals(["a", "b"], np.zeros((2, 2))).truth(["b", "new"]).tolist()
        [[False, True], [False, False]]
        """
        columns = {name: j for j, name in enumerate(self.names)}
        held: list[Any]
        if self.exclusive:
            held = [[name] for y in ys for name in y] if parts or self.places > 1 else [[y] for y in ys]
        else:
            held = [list(y) for y in ys]
        holds = np.zeros((len(held), len(columns)), dtype=bool)
        for row, names in zip(holds, held, strict=True):
            row[[columns[name] for name in names if name in columns]] = True
        return holds


def exclusive(names: Sequence[Any], Q: Array, mass: Array | None = None, places: int = 1) -> Marginals:
    """The distributions nearest to Q (n, k), divided by the sum of weights (n, 1) where that is known and > 0."""
    if not len(names):
        return Marginals(names, Q, True, places)
    if mass is not None:
        Q = np.where(mass > LEAST, Q / np.maximum(mass, LEAST), 1 / len(names))
    return Marginals(names, projections(Q), True, places)


def separate(names: Sequence[Any], Q: Array, mass: Array | None = None) -> Marginals:
    """The nearest probabilities to Q (n, k) of names that hold or not, divided by the sum of weights as above."""
    if mass is not None:
        Q = np.where(mass > LEAST, Q / np.maximum(mass, LEAST), 0.5)
    return Marginals(names, np.clip(Q, 0.0, 1.0), False)


def levels(names: Sequence[Any], above: Array, mass: Array | None = None) -> Marginals:
    """Of levels, out of the probabilities (n, k - 1) that a label is above each threshold.

    >>> levels([1, 2, 3], np.array([[0.9, 0.2]])).P.round(3)
    array([[0.1, 0.7, 0.2]])
    """
    ones = np.ones((len(above), 1)) if mass is None else mass
    ends = np.concatenate([ones, above, np.zeros_like(ones)], axis=1)
    return exclusive(names, -np.diff(ends, axis=1), mass)


def projections(Z: Array) -> Array:
    """The nearest distribution to each row: max(z - threshold, 0), the threshold found by sorting.

    >>> projections(np.array([[0.5, 0.5], [3.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    if len(Z) == 1 and Z.shape[1] < _FEW:
        return np.array([_projection(Z[0].tolist())])
    Z = Z - Z.max(axis=1, keepdims=True)
    falling = -np.sort(-Z, axis=1)
    counts = np.arange(1, Z.shape[1] + 1)
    thresholds = (np.cumsum(falling, axis=1) - 1) / counts
    kept = np.sum(falling > thresholds, axis=1) - 1
    shares = np.maximum(Z - thresholds[np.arange(len(Z)), kept][:, None], 0.0)
    nearest: Array = shares / shares.sum(axis=1, keepdims=True)
    return nearest


def _projection(z: list[float]) -> list[float]:
    """One row of `projections`, to the last bit."""
    largest, total, threshold = max(z), 0.0, 0.0
    for n, each in enumerate(sorted((each - largest for each in z), reverse=True), 1):
        total += each
        if each > (total - 1) / n:
            threshold = (total - 1) / n
    shares = [max(each - largest - threshold, 0.0) for each in z]
    total = sum(shares)
    return [share / total for share in shares]

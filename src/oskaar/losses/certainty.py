r"""How sure an estimate is: probabilities of classes, levels, tags and symbols.

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
"""A sum of weights that is told from 0."""


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

    def smoothed(self, rounds: int) -> list[dict[Any, float]]:
        """By name, as if one more label had come of which nothing is known: after t rounds no probability is 0.

        (t P + 1/k) / (t + 1), or (t P + 1/2) / (t + 1) for names that hold or not.

        >>> Marginals(["a", "b"], np.array([[1.0, 0.0]])).smoothed(9)
        [{'a': 0.95, 'b': 0.05}]
        """
        prior = 1 / max(len(self.names), 1) if self.exclusive else 0.5
        P = (rounds * self.P + prior) / (rounds + 1)
        return [dict(zip(self.names, row, strict=True)) for row in P.tolist()]


def exclusive(names: Sequence[Any], Q: Array, mass: Array | None = None, places: int = 1) -> Marginals:
    """The distributions nearest to Q (n, k), divided by the sum of weights (n, 1) where that is known and > 0."""
    from oskaar.losses.simplex import projections

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

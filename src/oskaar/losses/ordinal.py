r"""Ordered levels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import Loss, Names, Space, first_best, near
from oskaar.losses.certainty import Marginals, levels
from oskaar.losses.ranges import SeenLevels
from oskaar.saved import saved

_MOST = 1000
"""Levels that are learned."""


@saved("loss/ordinal")
class Ordinal(Loss):
    r"""|z - y| in steps on k ordered levels.

    With s_j(y) = +1 where y is above threshold j, else -1, |z - y| = sum_j (1 - s_j(z) s_j(y)) / 2, hence

        phi(y) = s(y) / sqrt(k - 1),   psi(z) = -sqrt(k - 1) / 2 s(z),   c_delta = (k - 1) / 2

    and the diameter is 2 c_delta: the lowest and the highest level have opposite signs.
    The score of every level is one cumulative sum, so decoding is O(k) and exact for any sign. Of equal
    levels the one nearest the middle wins; the middle level is the answer before the first round.
    `levels` is a list from low to high, or a number k for 0..k-1. None: whole numbers, all those between the lowest
    and the highest label so far (`losses.ranges`); 0 is the answer before the first. More than 1000 are refused.

    >>> loss = Ordinal(["low", "mid", "high"])
    >>> loss("low", "high"), loss.decode(np.zeros(2))
    (2.0, 'mid')
    """

    zero_optimum = True

    def __init__(self, levels: int | Iterable[Hashable] | None = None) -> None:
        self.levels = None if levels is None else Names(levels, "level")
        if self.levels is None:
            self.p, self.c_delta = 0, np.inf
            return
        k = len(self.levels)
        self.p = k - 1
        self.c_delta = (k - 1) / 2
        self._from_middle = np.argsort(np.abs(np.arange(k) - (k - 1) // 2), kind="stable")

    def loss(self, z: Any, y: Any) -> float:
        if self.levels is None:
            return float(abs(z - y))
        return float(abs(self.levels.position(z) - self.levels.position(y)))

    def check(self, y: Any) -> Any:
        if self.levels is not None:
            return self.levels.check(y)
        whole = isinstance(y, (int, float, np.integer, np.floating)) and not isinstance(y, bool) and y % 1 == 0
        if not whole:
            raise ValueError(f"a level must be a whole number where none are listed, got {y!r}: list the levels.")
        return int(y)

    def require_few(self, levels: int) -> None:
        """Refuse numbers that are no levels."""
        if levels > _MOST:
            raise ValueError(
                f"Ordinal() has at most {_MOST} levels, this label makes {levels}: use losses.Absolute() for numbers."
            )

    def _listed(self) -> Names:
        if self.levels is None:
            raise ValueError("Ordinal() learns its levels from the stream: list them to use it by itself.")
        return self.levels

    def space(self) -> Space:
        return super().space() if self.levels is not None else SeenLevels(self)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        places = np.array([self._listed().position(y) for y in ys], dtype=int)
        Phi: Array = np.where(places[:, None] > np.arange(self.p), 1.0, -1.0) / np.sqrt(max(self.p, 1))
        return Phi

    def decode_many(self, G: Array) -> list[Any]:
        names = self._listed().names
        gains = np.concatenate([np.zeros((len(G), 1)), np.cumsum(G, axis=1)], axis=1)
        first = first_best(gains[:, self._from_middle], near(G))
        return [names[i] for i in self._from_middle[first]]

    def scored(self, G: Array) -> Array | None:
        """phi of the expected level, a number m = sum_j (1 + sqrt(k - 1) g_j) / 2, between the phi of its neighbours.

        Its decoding is m, rounded to a level.

        >>> Ordinal(3).scored(np.array([[0.5, 0.0]])).round(2)  # m = 1.35
        array([[ 0.71, -0.21]])
        """
        if self.levels is None:
            return None
        root = np.sqrt(max(self.p, 1))
        m = (1 + root * G).sum(axis=1, keepdims=True) / 2
        between: Array = np.clip(2 * (m - np.arange(self.p)) - 1, -1.0, 1.0) / root
        return between

    def probabilities(self, G: Array) -> Marginals:
        return levels(self._listed().names, (1 + np.sqrt(max(self.p, 1)) * G) / 2)

    def outputs(self) -> list[Any]:
        return list(self._listed().names)

    def __repr__(self) -> str:
        return f"Ordinal({self.levels.names if self.levels else ''})"

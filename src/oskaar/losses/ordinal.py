r"""Ordered levels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.affine import AffineSpace, constant_and
from oskaar.losses.base import Loss, Names, Space, first_best, near
from oskaar.losses.certainty import Marginals, levels
from oskaar.saved import require, require_kind, saved

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
    and the highest label so far (`SeenLevels`); 0 is the answer before the first. More than 1000 are refused.

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


@saved("space/levels")
class SeenLevels(AffineSpace):
    """Ordinal without levels: whole numbers, all that lie between those seen.

    u(y) is 1, and 1 for each threshold between y and the first label: thresholds beyond that are 0. The signs of
    thresholds that phi of the closed loss (`Ordinal`) is made of are affine in u.
    """

    default = 0

    def __init__(self, loss: Ordinal, first: int = 0, columns: dict[int, int] | None = None) -> None:
        self.loss, self.first, self.thresholds = loss, first, columns
        if columns is None:
            super().__init__(None, 0, [], np.zeros(0), np.zeros(0))
            return
        lowest = min(columns, default=first)
        j = np.arange(lowest, lowest + len(columns))
        signs = np.where(j >= first, 1.0, -1.0) / np.sqrt(max(len(columns), 1))
        closed = type(loss)(range(lowest, lowest + len(columns) + 1))
        super().__init__(closed, len(columns) + 1, [columns[t] for t in j.tolist()], 2 * signs, -signs)

    def extended(self, y: Any) -> Space:
        """With the thresholds between y and the first label."""
        if self.thresholds is None:
            return SeenLevels(self.loss, y, {})
        lowest = min(self.thresholds, default=self.first)
        highest = lowest + len(self.thresholds)
        if lowest <= y <= highest:
            return self
        k = max(y, highest) - min(y, lowest) + 1
        if k > _MOST:
            raise ValueError(
                f"Ordinal() has at most {_MOST} levels, this label makes {k}: use losses.Absolute() for numbers."
            )
        new = [t for t in self._between(y) if t not in self.thresholds]
        return SeenLevels(self.loss, self.first, {**self.thresholds, **{t: self.p + i for i, t in enumerate(new)}})

    def joined(self, other: Any) -> Space:
        """With the thresholds between the levels of both."""
        if self.thresholds is None or other.thresholds is None:
            return other if self.thresholds is None else self
        lowest = min(other.thresholds, default=other.first)
        return self.extended(lowest).extended(lowest + len(other.thresholds))

    def carried(self, other: Any, V: Array) -> Array:
        """A threshold t is passed from the first label of one, or from that of the other, or t lies between them."""
        wide = np.zeros((len(V), self.p))
        if other.thresholds is None:
            return wide
        wide[:, 0] = V[:, 0]
        for t, place in (self.thresholds or {}).items():
            passed = V[:, other.thresholds[t]] if t in other.thresholds else np.zeros(len(V))
            between = (t >= self.first) != (t >= other.first)
            wide[:, place] = V[:, 0] - passed if between else passed
        return wide

    def embed_many(self, ys: Sequence[Any]) -> Array:
        columns: Any = self.thresholds
        return constant_and([[(columns[t], 1.0) for t in self._between(y)] for y in ys], self.p)

    def probabilities(self, G: Array) -> Marginals:
        if self.thresholds is None or self.closed is None:
            return Marginals([], np.zeros((len(G), 0)))
        U, mass = G[:, self.columns], G[:, :1]
        return levels(self.closed.outputs(), np.where(self.scale > 0, U, mass - U), mass)  # type: ignore[arg-type]

    def psi(self, z: Any) -> Array:
        """-(k - 1) / 2 phi(z)."""
        assert self.closed is not None
        return -self.closed.c_delta * self.closed.embed(z)

    def __getstate__(self) -> dict[str, Any]:
        return {"loss": self.loss, "first": self.first, "thresholds": self.thresholds}

    def __setstate__(self, state: dict[str, Any]) -> None:
        loss, first, columns = (state.get(name) for name in ("loss", "first", "thresholds"))
        require_kind(loss, Loss, "the loss of levels")
        require(type(first) is int, "a level must be a whole number")
        require_kind(columns, (dict, type(None)), "thresholds")
        places = sorted(columns or {})
        whole = all(type(t) is int for t in places) and places == list(
            range(min(places, default=0), max(places, default=-1) + 1)
        )
        require(whole and sorted((columns or {}).values()) == list(range(1, len(places) + 1)), "thresholds in a row")
        self.__init__(loss, first, columns)  # type: ignore[misc]

    def _between(self, y: int) -> range:
        return range(self.first, y) if y >= self.first else range(self.first - 1, y - 1, -1)

r"""Signed sums of functions l(z - y_j) on an interval, through their slope.

For one target, with weights g_j on labels y_j in [low, high], the slope of the risk is

    f(theta) = sum_j g_j l'(theta - y_j),    risk(z) - risk(low) = integral_low^z f,

and f is linear between the kinks of the l'. Two cumulative sums give f at all kinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import GrowingSpace, Space, first_best, near
from oskaar.losses.ranges import Range
from oskaar.saved import saved

if TYPE_CHECKING:
    from oskaar.losses.vectors import Slopes


@saved("space/slope")
class Slope:
    """f of one target with labels y (p,), as a function of the weights."""

    def __init__(self, loss: Slopes, y: Array, low: float, high: float) -> None:
        places, jumps, bends = loss.kinks(y)
        count = len(places)
        order = np.argsort(np.concatenate([places.ravel(), [low, high]]), kind="stable")
        self.places = np.concatenate([places.ravel(), [low, high]])[order]
        self.jumps = np.concatenate([jumps.ravel(), [0.0, 0.0]])[order]
        self.bends = np.concatenate([bends.ravel(), [0.0, 0.0]])[order]
        self.labels = np.concatenate([np.tile(np.arange(len(y)), count), [0, 0]]).astype(int)[order]
        self.steps = np.diff(self.places)
        self.inside = (self.places[:-1] >= low) & (self.places[1:] <= high)
        self.gaps = np.where(self.inside, self.steps, 0.0)
        self.points = np.clip(self.places, low, high)
        self.first = loss.first_slope

    def between(self, V: Array) -> tuple[Array, Array, Array]:
        """(f at the left, at the right, its slope) in each gap between neighbouring kinks, (..., gaps)."""
        weights = V[..., self.labels]
        rises = np.cumsum(weights * self.bends, axis=-1)[..., :-1]
        starts = self.first * V.sum(axis=-1, keepdims=True) + np.cumsum(weights * self.jumps, axis=-1)[..., :-1]
        right = starts + np.cumsum(rises * self.steps, axis=-1)
        return right - rises * self.steps, right, rises

    def square(self, V: Array) -> Array:
        """The integral of f^2."""
        left, right, _ = self.between(V)
        return (left**2 + left * right + right**2) @ (self.gaps / 3)

    def lowest(self, G: Array) -> Array:
        """argmin of the integral of f, for each row: a kink, an end, or a zero of f on its way up."""
        left, right, rises = self.between(G)
        risks = np.zeros((len(G), len(self.places)))
        risks[:, 1:] = np.cumsum((left + right) / 2 * self.gaps, axis=1)
        dips = (left < 0) & (right > 0) & (rises > 0) & self.inside
        way = np.divide(-left, rises, out=np.zeros_like(left), where=dips)
        candidates = np.concatenate([np.tile(self.points, (len(G), 1)), self.points[:-1] + way], axis=1)
        best = first_best(
            -np.concatenate([risks, risks[:, :-1] + left * way / 2], axis=1), near(G, float(self.gaps.sum()))
        )
        answers: Array = candidates[np.arange(len(G)), best]
        return answers


@saved("space/vectors")
class SeenVectors(GrowingSpace):
    """Weights on the distinct vectors seen, with <phi(y), phi(y')> the integral of the product of slopes.

    range_: where labels and answers lie; None before the first label, where it is learned.
    """

    def __init__(
        self, loss: Slopes, positions: dict[tuple[float, ...], int], labels: Array, range_: Range | None
    ) -> None:
        self.loss, self.positions, self.labels, self.range = loss, positions, labels, range_
        self.p = len(labels)
        self.exact = self.steady = range_ is not None and range_.inside is None
        low, high = (np.zeros(loss.dim),) * 2 if range_ is None else (range_.low, range_.high)
        self._slopes = [Slope(loss, *column) for column in zip(labels.T, low, high, strict=True)]
        self._middle, self._length = (low + high) / 2, float(np.sum(high - low))
        self.c_delta = loss.steepest * self._length / (2 * loss.dim)

    def key(self, y: Any) -> tuple[float, ...]:
        return tuple(y.tolist())

    def seen(self) -> list[Array]:
        return list(self.labels)

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        range_ = Range.learned(y) if self.range is None else self.range.with_label(y)
        return SeenVectors(self.loss, positions, np.concatenate([self.labels, y[None, :]]), range_)

    def decode_many(self, G: Array) -> list[Array]:
        if self.p == 0:
            return [self._middle.copy() for _ in G]
        answers = np.stack([slope.lowest(G) for slope in self._slopes], axis=1)
        return list(np.where(G.any(axis=1, keepdims=True), answers, self._middle))

    def squared_norms(self, V: Array) -> Array:
        """The integral of f^2 over all targets, scaled to at most 1 for a label."""
        if self._length == 0.0 or self.p == 0:
            return np.zeros(V.shape[:-1])
        norms: Array = np.add.reduce([slope.square(V) for slope in self._slopes])
        return norms / (self.loss.steepest**2 * self._length)

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """What y, which may have been out of range, is better by than z, for the weights g."""
        if self.exact or not len(g):
            return 0.0 if self.exact else np.inf
        known = self.labels[: len(g)]
        risks = [float(g @ self.loss.costs(answer - known).mean(axis=1)) for answer in (z, y)]
        return max(0.0, risks[0] - risks[1])

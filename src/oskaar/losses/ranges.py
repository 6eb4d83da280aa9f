r"""Numbers in ranges, given or learned from the labels, and what learners know of losses on them.

A learned range holds the labels so far and as much again on either side: answers may go beyond the labels, and a
range that is left is at least twice as wide afterwards, so that there are few changes. A label is never moved.

A signed sum of functions l(z - y_j) is known by its slope. For one target, with weights g_j on labels y_j in
[low, high],

    f(theta) = sum_j g_j l'(theta - y_j),    risk(z) - risk(low) = integral_low^z f,

and f is linear between the kinks of the l'. Two cumulative sums give f at all kinks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.affine import AffineSpace
from oskaar.losses.ball import A, B
from oskaar.losses.base import GrowingSpace, Loss, Space, first_best, near
from oskaar.saved import require, require_kind, saved

if TYPE_CHECKING:
    from oskaar.losses.vectors import Slopes, Squared


@saved("space/range")
class Range:
    """[low_i, high_i] for each target i. A value; `with_label` makes the next one.

    inside: the ends (2, dim) of the labels that made it; None for a range that was given.

    >>> learned = Range.learned(np.array([1.0])).with_label(np.array([3.0]))
    >>> learned.low, learned.high, learned.with_label(np.array([4.5])) is learned
    (array([-1.]), array([5.]), True)
    >>> learned.with_label(np.array([-7.0])).low
    array([-17.])
    """

    def __init__(self, low: Array, high: Array, inside: Array | None = None) -> None:
        self.low, self.high, self.inside = low, high, inside

    @classmethod
    def learned(cls, y: Array) -> Range:
        """Of one label."""
        return cls(y, y, np.stack([y, y]))

    def with_label(self, y: Array) -> Range:
        """A range that holds y too."""
        out = (y < self.low) | (y > self.high)
        if self.inside is None or not out.any():
            return self
        low, high = (
            np.where(out, end(e, y), e) for end, e in zip((np.minimum, np.maximum), self.inside, strict=True)
        )
        return Range.around(low, high)

    @classmethod
    def around(cls, low: Array, high: Array) -> Range:
        """Of labels between two ends, which are labels, and as much again on either side."""
        return cls(2 * low - high, 2 * high - low, np.stack([low, high]))

    def joined(self, other: Range) -> Range:
        """The range of the labels that made either one: it holds both ranges."""
        assert self.inside is not None
        assert other.inside is not None
        ends = np.stack([self.inside, other.inside])
        return Range.around(ends[:, 0].min(axis=0), ends[:, 1].max(axis=0))


@saved("space/ranged-squares")
class RangedSquares(AffineSpace):
    r"""Squared without a range: u(y) is 1 and (y_i - origin_i) / unit_i for each target that has varied.

    The origin is the first label, the unit of a target its first difference from that. Then a v / R of the closed
    loss (`Squared`) is affine in u.
    """

    def __init__(self, loss: Squared, origin: Array, range_: Range | None = None, units: Any = ()) -> None:
        self.loss, self.origin, self.range, self.units = loss, origin, range_, tuple(units)
        self._places = {i: place for place, (i, _) in enumerate(self.units, 1)}
        dim, closed = loss.dim, None
        columns, scale, offset = np.zeros(dim + 1, dtype=int), np.zeros(dim + 1), np.zeros(dim + 1)
        scale[-1] = B
        if range_ is not None and self.units:
            closed = loss.closed(range_)
            offset[:-1] = A / closed.radius * (origin - closed.middle)
            for place, (i, unit) in enumerate(self.units, 1):
                columns[i], scale[i] = place, A / closed.radius * unit
        super().__init__(closed, len(self.units) + (range_ is not None), columns, scale, offset)

    @property
    def default(self) -> Array:
        return self.origin

    def extended(self, y: Any) -> Space:
        """With a coordinate for each target that varies now, in a range that holds y."""
        if self.range is None:
            return RangedSquares(self.loss, y, Range.learned(y))
        wider = self.range.with_label(y)
        varied = [(int(i), float(y[i] - self.origin[i])) for i in np.flatnonzero(y != self.origin)]
        new = [(i, abs(unit)) for i, unit in varied if i not in self._places]
        if wider is self.range and not new:
            return self
        return RangedSquares(self.loss, self.origin, wider, (*self.units, *new))

    def joined(self, other: Any) -> Space:
        """With a coordinate for each target that varies in one of them, or between them."""
        if self.range is None or other.range is None:
            return other if self.range is None else self
        apart = np.abs(other.origin - self.origin)
        units = {int(i): float(apart[i]) for i in np.flatnonzero(apart)} | dict(other.units)
        new = [(i, unit) for i, unit in units.items() if i not in self._places]
        return RangedSquares(self.loss, self.origin, self.range.joined(other.range), (*self.units, *new))

    def carried(self, other: Any, V: Array) -> Array:
        """(y_i - origin_i) / unit_i is affine in the same with another origin and unit."""
        wide, units = np.zeros((len(V), self.p)), dict(other.units)
        if other.range is None:
            return wide
        wide[:, 0] = V[:, 0]
        for i, unit in self.units:
            place = self._places[i]
            wide[:, place] = V[:, 0] * ((other.origin[i] - self.origin[i]) / unit)
            if i in units:
                wide[:, place] += V[:, other._places[i]] * (units[i] / unit)
        return wide

    def embed_many(self, ys: Sequence[Any]) -> Array:
        U = np.ones((len(ys), self.p))
        Y = np.array(ys, dtype=float).reshape(-1, self.loss.dim) - self.origin
        for place, (i, unit) in enumerate(self.units, 1):
            U[:, place] = Y[:, i] / unit
        return U

    def psi(self, z: Any) -> Array:
        """2 / dim (-R w / a, |w|^2 / (2 b))."""
        closed: Any = self.closed
        if closed is None:
            return np.zeros(self.loss.dim + 1)
        w = np.asarray(z, dtype=float) - closed.middle
        return 2 / self.loss.dim * np.append(-closed.radius / A * w, w @ w / (2 * B))

    def squared_norms(self, V: Array) -> Array:
        """Those of phi; before anything has varied, of its constant."""
        return super().squared_norms(V) if self.closed is not None else np.square(B * V[..., :1]).sum(axis=-1)

    def __getstate__(self) -> dict[str, Any]:
        return {"loss": self.loss, "origin": self.origin, "range": self.range, "units": self.units}

    def __setstate__(self, state: dict[str, Any]) -> None:
        names = ("loss", "origin", "range", "units")
        loss, origin, range_, units = values = [state.get(name) for name in names]
        require_kind(loss, Loss, "the loss of a range")
        dim = getattr(loss, "dim", 0)
        require_kind(range_, (Range, type(None)), "a range")
        ends = [] if range_ is None else [range_.low, range_.high]
        fits = all(isinstance(a, np.ndarray) and a.shape == (dim,) for a in (origin, *ends))
        require(fits, "a range must have ends for each target")
        pairs: list[Any] = list(units) if isinstance(units, tuple) else [()]
        require(all(isinstance(u, tuple) and len(u) == 2 for u in pairs), "a unit must have a target")
        require(all(type(i) is int and 0 <= i < dim and v > 0 for i, v in pairs), "units must be > 0")
        self.__init__(*values)  # type: ignore[misc]


@saved("space/slope")
class Slope:
    """f of one target with labels y (p,), as a function of the weights."""

    def __init__(self, loss: Slopes, y: Array, low: float, high: float) -> None:
        offsets, jumps, bends = np.array(loss.kinks).T
        places = np.append(np.add.outer(offsets, y), [low, high])
        order = np.argsort(places, kind="stable")
        self.places = places[order]
        self.jumps = np.append(np.repeat(jumps, len(y)), [0.0, 0.0])[order]
        self.bends = np.append(np.repeat(bends, len(y)), [0.0, 0.0])[order]
        self.labels = np.append(np.tile(np.arange(len(y)), len(offsets)), [0, 0]).astype(int)[order]
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

r"""Vectors of numbers: multi-target regression.

Each target lies in a range [low, high]. Without one, no embedding has norm 1, and a risk with negative weights
may have no minimum at all; with one, every minimum exists and is found exactly. A wider range costs a larger c_delta,
nothing else. Losses are means over the targets; they are in the targets' units, so they may exceed 1.

Without low and high the range is learned (`losses.ranges`): it holds the labels so far and as much again on either
side, and a label outside widens it. Before the first label the answer is 0, then that label until another one comes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.ball import BALL, BALL_DIAMETER, as_numbers, embed_ball, means, read_ball
from oskaar.losses.base import Loss, SeenLoss, Space
from oskaar.losses.ranges import Range, RangedSquares, SeenVectors
from oskaar.requirements import require_positive, require_whole
from oskaar.saved import saved

_MOST = 1e150
"""The size of numbers whose squares can be added up."""


class _Vectors(Loss):
    """Labels and answers are arrays of dim numbers, target i in [low_i, high_i]; None: the range is learned."""

    zero_optimum = True
    low: Any
    high: Any
    _settings: tuple[str, ...] = ()
    """Settings that the representation shows beside the range."""

    def __init__(self, dim: int, low: Any, high: Any) -> None:
        self.dim = require_whole("dim", dim)
        if (low is None) != (high is None):
            given, other = ("low", "high") if high is None else ("high", "low")
            raise ValueError(f"{given} is given and {other} is not: give both, or neither to learn the range.")
        self.learned = low is None
        if self.learned:
            self.low = self.high = None
            return
        self.low, self.high = (self._ends(name, end) for name, end in (("low", low), ("high", high)))
        if not (self.low < self.high).all():
            i = int(np.argmin(self.low < self.high))
            raise ValueError(f"low must be < high, got {self.low[i]:g} and {self.high[i]:g} for target {i}.")

    def _ends(self, name: str, value: Any) -> Array:
        ends = np.array(value, dtype=float)
        if ends.shape not in ((), (self.dim,)) or not np.isfinite(ends).all():
            raise ValueError(f"{name} must be a finite number, or {self.dim} of them, got {value!r}.")
        return np.broadcast_to(ends, (self.dim,)).copy()

    def check(self, y: Any) -> Array:
        values = as_numbers([y] if self.dim == 1 and isinstance(y, Real) else y, (self.dim,), "a vector")
        if self.learned:
            if np.abs(values).max() > _MOST:
                raise ValueError(f"a number must be at most {_MOST:g} in size, got {np.abs(values).max():g}.")
            return values
        slack = 1e-9 * (self.high - self.low)
        outside = (values < self.low - slack) | (values > self.high + slack)
        if outside.any():
            i = int(np.argmax(outside))
            raise ValueError(
                f"target {i} must be in [{self.low[i]:g}, {self.high[i]:g}], got {values[i]:g}: "
                "widen low and high, or leave both out to learn them."
            )
        return np.clip(values, self.low, self.high)

    def residual(self, z: Any, y: Any) -> Array:
        off: Array = np.subtract(y, z, dtype=float).reshape(self.dim)
        return off

    def _require_range(self) -> None:
        if self.low is None:
            raise ValueError(f"{self!r} learns its range from the stream: give low and high to use it by itself.")

    def __repr__(self) -> str:
        shown = [] if self.learned and self.dim == 1 else [str(self.dim)]
        if not self.learned:
            low, high = (e[0] if (e == e[0]).all() else e.tolist() for e in (self.low, self.high))
            shown += [f"low={low}", f"high={high}"]
        shown += [f"{name}={getattr(self, name):g}" for name in self._settings]
        return f"{type(self).__name__}({', '.join(shown)})"


@saved("loss/squared")
class Squared(_Vectors):
    r"""The mean of (z_i - y_i)^2 over dim targets.

    With v and w the vectors less the middle of their ranges, |v| <= R, R half the diagonal of the box of ranges,

        |w - v|^2 / dim = (2 / dim) |w - v|^2 / 2,   phi(y) = (a v / R, b),   c_delta < 1.101 (2 / dim) R^2

    (losses/ball.py); the diameter is that of the ball, for opposite corners of the box. Decoding with V = sum beta
    v and B = sum beta takes each target by itself, as the risk B w_i^2 - 2 w_i V_i is a sum over targets: where B > 0
    the weighted mean V_i / B clipped to the range, where B <= 0 the end of the range on V_i's side, for the risk is
    then concave (the upper end for V_i = 0). Exact for any sign, O(dim). The answer to g = 0 is the middle.

    Weights that sum to B != 1, as those of a regularised estimate do, still give a mean: nothing is shrunk to 0.
    `Squared()` is one number in a range that is learned.

    >>> loss = Squared(2, low=0.0, high=10.0)
    >>> loss([1.0, 2.0], [1.0, 4.0]), loss.decode(loss.embed([1.0, 2.0]) + loss.embed([2.0, 6.0])).round(12)
    (2.0, array([1.5, 4. ]))
    """

    def __init__(self, dim: int = 1, low: Any = None, high: Any = None) -> None:
        super().__init__(dim, low, high)
        self.p, self.c_delta = 0, np.inf
        if not self.learned:
            self._measure()

    def _measure(self) -> None:
        self.p = self.dim + 1
        self.middle, self.half = (self.low + self.high) / 2, (self.high - self.low) / 2
        self.radius = float(np.linalg.norm(self.half))
        self.c_delta = BALL * 2 / self.dim * self.radius**2

    @property
    def diameter(self) -> float:
        return BALL_DIAMETER * 2 / self.dim * self.radius**2 if self.p else np.inf

    def closed(self, range_: Range) -> Squared:
        """The same loss in a range, which may be one point for some targets."""
        other = Squared(self.dim, 0, 1)
        other.low, other.high = range_.low, range_.high
        other._measure()
        return other

    def space(self) -> Space:
        return RangedSquares(self, np.zeros(self.dim)) if self.learned else super().space()

    def loss(self, z: Any, y: Any) -> float:
        gap = np.subtract(z, y, dtype=float).ravel()
        return float(gap @ gap) / self.dim

    def embed_many(self, ys: Sequence[Any]) -> Array:
        self._require_range()
        return embed_ball(np.array(ys, dtype=float).reshape(-1, self.dim) - self.middle, self.radius)

    def decode_many(self, G: Array) -> list[Array]:
        self._require_range()
        V, B = read_ball(G, self.radius)
        W, convex = means(V, B)
        W = np.minimum(np.maximum(W, -self.half), self.half)
        if convex.all():
            return list(self.middle + W)
        ends = np.where(V >= 0, self.half, -self.half)
        concave = ~convex & G.any(axis=1)
        return list(self.middle + np.where(concave[:, None], ends, W))


class Slopes(_Vectors, SeenLoss):
    r"""Losses that are a mean over targets of l(z_i - y_i), known by the slope l', which is bounded by `steepest`.

    l(z - y) = l(low - y) + integral_low^high [theta < z] l'(theta - y) dtheta, so, as functions of (i, theta),

        phi(y) = l'(theta - y_i) / (steepest sqrt(L)),   psi(z) = steepest sqrt(L) / dim ([theta < z_i] - 1/2)

    with L the sum of all ranges: |phi| <= 1, c_delta = steepest L / (2 dim), and the diameter is 2 c_delta, from all
    low to all high. There is no finite embedding: the vectors are weights on the distinct labels seen (`space()`),
    with the geometry of phi.
    """

    steepest: float

    first_slope: float
    """l' at -infinity."""

    kinks: tuple[tuple[float, float, float], ...]
    """Where l' changes: places, jumps of l' there and changes of its slope."""

    def __init__(self, dim: int = 1, low: Any = None, high: Any = None) -> None:
        super().__init__(dim, low, high)
        length = np.inf if self.learned else float(np.sum(self.high - self.low))
        self.c_delta = self.steepest * length / (2 * self.dim)

    @abstractmethod
    def costs(self, off: Array) -> Array:
        """l(z - y), for each difference."""

    def loss(self, z: Any, y: Any) -> float:
        return float(np.mean(self.costs(np.subtract(z, y, dtype=float))))

    def space(self) -> Space:
        given = None if self.learned else Range(self.low, self.high)
        return SeenVectors(self, {}, np.zeros((0, self.dim)), given)


@saved("loss/pinball")
class Pinball(Slopes):
    r"""The mean over targets of q (y - z)+ + (1 - q) (z - y)+: its minimum is the quantile q; q = 1/2 is the median.

    c_delta = max(q, 1 - q) / 2 times the mean range. The risk sum_j g_j Delta(z, y_j) is a sum over targets of
    piecewise linear functions with kinks at the labels, so that the minimum is at a label or at an end of the range,
    for weights of any sign; all are tried, O(p) for p distinct labels. The lowest of equals wins; the middle of the
    range is the answer to g = 0.

    >>> loss = Pinball(1, low=0.0, high=10.0, quantile=0.75)
    >>> loss([1.0], [2.0]), loss([2.0], [1.0])
    (0.75, 0.25)
    >>> space = loss.space()
    >>> for y in ([1.0], [2.0], [3.0], [7.0], [8.0]):
    ...     space = space.extended(loss.check(y))
    >>> space.decode_many(np.ones((1, 5)))
    [array([7.])]
    """

    kinks = ((0.0, 1.0, 0.0),)
    _settings = ("quantile",)

    def __init__(self, dim: int = 1, low: Any = None, high: Any = None, quantile: float = 0.5) -> None:
        if not 0 < quantile < 1:
            raise ValueError(f"quantile must be between 0 and 1, got {quantile!r}.")
        self.quantile = float(quantile)
        self.steepest = max(self.quantile, 1 - self.quantile)
        super().__init__(dim, low, high)

    def costs(self, off: Array) -> Array:
        return np.maximum(-self.quantile * off, (1 - self.quantile) * off)

    @property
    def first_slope(self) -> float:  # type: ignore[override]
        return -self.quantile


@saved("loss/absolute")
class Absolute(Slopes):
    r"""The mean over targets of |z_i - y_i|: twice Pinball with quantile 1/2, whose minimum is the median.

    c_delta is half the mean range. Decoding as for Pinball.

    >>> loss = Absolute(2, low=0.0, high=10.0)
    >>> loss([1.0, 2.0], [2.0, 5.0])
    2.0
    """

    steepest = 1.0
    first_slope = -1.0
    kinks = ((0.0, 2.0, 0.0),)

    def costs(self, off: Array) -> Array:
        return np.abs(off)


@saved("loss/huber")
class Huber(Slopes):
    r"""The mean over targets of l(z - y), l(r) = r^2 / 2 for |r| <= delta, else delta (|r| - delta / 2).

    l'(r) is r clipped to [-delta, delta], so c_delta = delta / 2 times the mean range. The risk is a sum over targets
    of functions that are quadratic between the kinks y_j +- delta: the minimum is at a kink, at an end of the range
    or where the slope passes 0 on its way up, for weights of any sign; all are tried, O(p) for p distinct labels.
    The lowest of equal kinks wins; the middle of the range is the answer to g = 0.

    >>> loss = Huber(1, low=0.0, high=10.0, delta=1.0)
    >>> loss([1.0], [1.5]), loss([1.0], [4.0])
    (0.125, 2.5)
    >>> space = loss.space().extended(loss.check(1.0)).extended(loss.check(1.5)).extended(loss.check(9.0))
    >>> space.decode_many(np.array([[1.0, 1.0, 1.0]]))
    [array([1.75])]
    """

    _settings = ("delta",)

    def __init__(self, dim: int = 1, low: Any = None, high: Any = None, delta: float = 1.0) -> None:
        self.delta = self.steepest = require_positive("delta", delta, "beyond it errors count linearly")
        super().__init__(dim, low, high)

    def costs(self, off: Array) -> Array:
        near = np.minimum(np.abs(off), self.delta)
        return near * (np.abs(off) - near / 2)

    @property
    def kinks(self) -> tuple[tuple[float, float, float], ...]:  # type: ignore[override]
        return (-self.delta, 0.0, 1.0), (self.delta, 0.0, -1.0)

    @property
    def first_slope(self) -> float:  # type: ignore[override]
        return -self.delta

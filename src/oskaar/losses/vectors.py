r"""Vectors of numbers: multi-target regression.

Each target lies in a known range [low, high]. Without one, no embedding has norm 1, and a risk with negative weights
may have no minimum at all; with one, every minimum exists and is found exactly. A wider range costs a larger c_delta,
nothing else. Losses are means over the targets; they are in the targets' units, so they may exceed 1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.ball import BALL, BALL_DIAMETER, as_numbers, embed_ball, means, read_ball
from oskaar.losses.base import Loss, Space
from oskaar.losses.intervals import SeenVectors
from oskaar.requirements import require_positive, require_whole
from oskaar.saved import saved


class _Vectors(Loss):
    """Labels and answers are arrays of dim numbers, target i in [low_i, high_i]."""

    zero_optimum = True

    def __init__(self, dim: int, low: Any, high: Any) -> None:
        self.dim = require_whole("dim", dim)
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
        """dim numbers, each in its range; a plain number will do for one target."""
        values = as_numbers([y] if self.dim == 1 and isinstance(y, Real) else y, (self.dim,), "a vector")
        slack = 1e-9 * (self.high - self.low)
        outside = (values < self.low - slack) | (values > self.high + slack)
        if outside.any():
            i = int(np.argmax(outside))
            raise ValueError(
                f"target {i} must be in [{self.low[i]:g}, {self.high[i]:g}], got {values[i]:g}: "
                "widen low and high, or clip it."
            )
        return np.clip(values, self.low, self.high)

    def _range(self) -> str:
        low, high = (e[0] if (e == e[0]).all() else e.tolist() for e in (self.low, self.high))
        return f"{self.dim}, low={low}, high={high}"


@saved("loss/squared")
class Squared(_Vectors):
    r"""The mean of (z_i - y_i)^2 over dim targets.

    With v and w the vectors less the middle of their ranges, |v| <= R, R half the diagonal of the box of ranges,

        |w - v|^2 / dim = (2 / dim) |w - v|^2 / 2,   phi(y) = (a v / R, b),   c_delta < 1.101 (2 / dim) R^2

    (module `numbers`); the diameter is that of the ball, for opposite corners of the box. Decoding with V = sum beta
    v and B = sum beta takes each target by itself, as the risk B w_i^2 - 2 w_i V_i is a sum over targets: where B > 0
    the weighted mean V_i / B clipped to the range, where B <= 0 the end of the range on V_i's side, for the risk is
    then concave (the upper end for V_i = 0). Exact for any sign, O(dim). The answer to g = 0 is the middle.

    Weights that sum to B != 1, as those of a regularised estimate do, still give a mean: nothing is shrunk to 0.

    >>> loss = Squared(2, low=0.0, high=10.0)
    >>> loss([1.0, 2.0], [1.0, 4.0]), loss.decode(loss.embed([1.0, 2.0]) + loss.embed([2.0, 6.0])).round(12)
    (2.0, array([1.5, 4. ]))
    """

    def __init__(self, dim: int, low: Any, high: Any) -> None:
        super().__init__(dim, low, high)
        self.p = self.dim + 1
        self._middle, self._half = (self.low + self.high) / 2, (self.high - self.low) / 2
        self._radius = float(np.linalg.norm(self._half))
        self.c_delta = BALL * 2 / self.dim * self._radius**2

    @property
    def diameter(self) -> float:
        """That of the ball."""
        return BALL_DIAMETER * 2 / self.dim * self._radius**2

    def loss(self, z: Any, y: Any) -> float:
        """The mean squared error."""
        gap = np.subtract(z, y, dtype=float).ravel()
        return float(gap @ gap) / self.dim

    def embed(self, y: Any) -> Array:
        """Centred targets and the constant."""
        phi: Array = self.embed_many([y])[0]
        return phi

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """Centred targets and the constant, a row for each label."""
        return embed_ball(np.array(ys, dtype=float).reshape(-1, self.dim) - self._middle, self._radius)

    def decode(self, g: Array) -> Array:
        """Means, or ends of ranges."""
        return self.decode_many(np.asarray(g)[None, :])[0]

    def decode_many(self, G: Array) -> list[Array]:
        """Means, or ends of ranges, for each row."""
        V, B = read_ball(G, self._radius)
        W, convex = means(V, B)
        W = np.minimum(np.maximum(W, -self._half), self._half)
        if convex.all():
            return list(self._middle + W)
        ends = np.where(V >= 0, self._half, -self._half)
        concave = ~convex & G.any(axis=1)
        return list(self._middle + np.where(concave[:, None], ends, W))

    def __repr__(self) -> str:
        return f"Squared({self._range()})"


class _Slopes(_Vectors):
    r"""Losses that are a mean over targets of l(z_i - y_i), known by the slope l', which is bounded by `steepest`.

    l(z - y) = l(low - y) + integral_low^high [theta < z] l'(theta - y) dtheta, so, as functions of (i, theta),

        phi(y) = l'(theta - y_i) / (steepest sqrt(L)),   psi(z) = steepest sqrt(L) / dim ([theta < z_i] - 1/2)

    with L the sum of all ranges: |phi| <= 1, c_delta = steepest L / (2 dim), and the diameter is 2 c_delta, from all
    low to all high. There is no finite embedding: the vectors are weights on the distinct labels seen (`space()`),
    with the geometry of phi.
    """

    p = 0
    steepest: float

    def _measure(self) -> None:
        self.c_delta = self.steepest * float(np.sum(self.high - self.low)) / (2 * self.dim)

    @abstractmethod
    def kinks(self, y: Array) -> tuple[Array, Array, Array]:
        """Where l'(theta - y) changes, for labels y (p,): places, jumps of l' and changes of its slope, (k, p)."""

    @property
    @abstractmethod
    def first_slope(self) -> float:
        """l' at -infinity."""

    def embed(self, y: Any) -> Array:
        """Not to be had before labels are seen: `space()` has it."""
        raise NotImplementedError(f"{self!r} embeds labels as they are seen: use loss.space().extended(y).")

    def decode(self, g: Array) -> Array:
        """Not to be had before labels are seen: `space()` has it."""
        raise NotImplementedError(f"{self!r} decodes over the labels seen: use loss.space().extended(y).")

    def space(self) -> Space:
        return SeenVectors(self, {}, np.zeros((0, self.dim)))


@saved("loss/pinball")
class Pinball(_Slopes):
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

    def __init__(self, dim: int, low: Any, high: Any, quantile: float = 0.5) -> None:
        super().__init__(dim, low, high)
        if not 0 < quantile < 1:
            raise ValueError(f"quantile must be between 0 and 1, got {quantile!r}.")
        self.quantile = float(quantile)
        self.steepest = max(self.quantile, 1 - self.quantile)
        self._measure()

    def loss(self, z: Any, y: Any) -> float:
        """The mean of q (y - z)+ + (1 - q) (z - y)+."""
        over = np.subtract(z, y, dtype=float)
        return float(np.mean(np.maximum(-self.quantile * over, (1 - self.quantile) * over)))

    def kinks(self, y: Array) -> tuple[Array, Array, Array]:
        """The slope jumps by 1 at y."""
        return y[None, :], np.ones((1, len(y))), np.zeros((1, len(y)))

    @property
    def first_slope(self) -> float:
        return -self.quantile

    def __repr__(self) -> str:
        return f"Pinball({self._range()}, quantile={self.quantile:g})"


@saved("loss/huber")
class Huber(_Slopes):
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

    def __init__(self, dim: int, low: Any, high: Any, delta: float = 1.0) -> None:
        super().__init__(dim, low, high)
        self.delta = require_positive("delta", delta, "beyond it errors count linearly")
        self.steepest = self.delta
        self._measure()

    def loss(self, z: Any, y: Any) -> float:
        """Squared near 0, absolute far from it."""
        off = np.abs(np.subtract(z, y, dtype=float))
        near = np.minimum(off, self.delta)
        return float(np.mean(near * (off - near / 2)))

    def kinks(self, y: Array) -> tuple[Array, Array, Array]:
        """l' starts to rise at y - delta and stops at y + delta."""
        rise = np.ones(len(y))
        return np.stack([y - self.delta, y + self.delta]), np.zeros((2, len(y))), np.stack([rise, -rise])

    @property
    def first_slope(self) -> float:
        return -self.delta

    def __repr__(self) -> str:
        return f"Huber({self._range()}, delta={self.delta:g})"

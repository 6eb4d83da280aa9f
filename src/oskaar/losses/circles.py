r"""Angles, in radians: one, several, and the length of the arc between two."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.ball import as_numbers
from oskaar.losses.base import GrowingSpace, Loss, SeenLoss, Space, first_best, near
from oskaar.requirements import require_whole
from oskaar.saved import saved


@saved("loss/circular")
class Circular(Loss):
    r"""1 - cos(z - y) for angles in radians: half the squared chord, and half the squared arc for small errors.

        phi(y) = (cos y, sin y),   psi(z) = -(cos z, sin z),   c_delta = 1

    since cos(z - y) = cos z cos y + sin z sin y; the diameter is 2, for opposite angles. Decoding is the direction of
    g, atan2(g_2, g_1): the inner product of g with a unit vector is largest along g, whatever the signs of the
    weights that made g. O(1). Labels may be any angles; labels and answers are brought to [-pi, pi]. The answer to g
    = 0 is 0. An angle beyond 2 pi is probably in degrees, and brings a warning.

    >>> loss = Circular()
    >>> round(loss(0.1, 0.1 + 2 * np.pi), 12), round(loss(0.0, np.pi), 12)
    (0.0, 2.0)
    >>> round(loss.decode(loss.embed(3.0) + loss.embed(-3.0)), 12) == round(np.pi, 12)
    True
    """

    zero_optimum = True
    p = 2
    c_delta = 1.0

    def loss(self, z: Any, y: Any) -> float:
        return 1.0 - math.cos(z - y)

    def check(self, y: Any) -> float:
        return as_angle(y)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        angles = np.array(ys, dtype=float)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def decode_many(self, G: Array) -> list[float]:
        return list(_directions(G[:, 0], G[:, 1]).tolist())

    def __repr__(self) -> str:
        return "Circular()"


@saved("loss/angles")
class Angles(Loss):
    r"""The mean of 1 - cos(z_i - y_i) over n angles at once.

        phi(y) = (cos y, sin y) / sqrt(n),   psi(z) = -(cos z, sin z) / sqrt(n),   c_delta = 1

    with n cosines, then n sines; the diameter is 2, for angles that are all opposite. The loss is a sum over angles,
    so decoding takes each direction by itself, as Circular does, and is exact for any sign. Labels and answers are
    arrays of n radians; g = 0 gives zeros.

    >>> loss = Angles(2)
    >>> round(loss([0.0, 0.0], [0.0, np.pi]), 12), loss.decode(loss.embed([0.5, -0.5])).round(12)
    (1.0, array([ 0.5, -0.5]))
    """

    zero_optimum = True
    c_delta = 1.0

    def __init__(self, n: int) -> None:
        self.n = require_whole("n", n)
        self.p = 2 * self.n

    def loss(self, z: Any, y: Any) -> float:
        return float(np.mean(1 - np.cos(np.subtract(z, y))))

    def check(self, y: Any) -> Array:
        values = as_numbers(y, (self.n,), "a label of Angles")
        return np.array([as_angle(value) for value in values])

    def embed_many(self, ys: Sequence[Any]) -> Array:
        angles = np.array(ys, dtype=float).reshape(-1, self.n)
        Phi: Array = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(self.n)
        return Phi

    def decode_many(self, G: Array) -> list[Array]:
        return list(_directions(G[:, : self.n], G[:, self.n :]))

    def __repr__(self) -> str:
        return f"Angles({self.n})"


@saved("loss/geodesic")
class Geodesic(SeenLoss):
    r"""The length of the arc between two angles, 0 to pi: the circle's own absolute error.

    Cut the circle along the line through its centre at angle theta, and let s_theta(y) = +1 on the side
    sin(y - theta) > 0, else -1. An arc of length d is cut by a share d / pi of all lines, so

        |z - y| = integral_0^pi (1 - s_theta(z) s_theta(y)) / 2 dtheta = pi / 2 + <psi(z), phi(y)>
        phi(y) = s(y) / sqrt(pi),   psi(z) = -sqrt(pi) / 2 s(z)   in L2[0, pi],   c_delta = pi / 2

    Opposite angles have opposite s, so the diameter is pi.
    No finite embedding does it: the vectors are weights g on the distinct labels seen (`space()`), with
    <phi(y), phi(y')> = 1 - 2 |y - y'| / pi. The risk sum_j g_j |z - y_j| is piecewise linear in z with kinks at the
    labels and opposite to them, so its minimum is at one of them, for weights of any sign; all are tried.
    With p distinct labels decoding and norms cost O(p) each: round the labels if they are many.
    Of equal answers the first counterclockwise from 0 wins; the answer to g = 0 is 0.

    >>> loss = Geodesic()
    >>> round(loss(0.1, -0.1), 12)
    0.2
    >>> space = loss.space().extended(0.5).extended(1.0)
    >>> space.decode_many(np.array([[1.0, 2.0], [-1.0, 0.0]]))
    [1.0, -2.641592653589793]
    """

    zero_optimum = True
    c_delta = math.pi / 2

    def loss(self, z: Any, y: Any) -> float:
        return abs(math.remainder(z - y, 2 * math.pi))

    def check(self, y: Any) -> float:
        return as_angle(y)

    def space(self) -> Space:
        return SeenAngles({})

    def __repr__(self) -> str:
        return "Geodesic()"


@saved("space/angles")
class SeenAngles(GrowingSpace):
    r"""Weights on the distinct angles seen.

    An angle is a line u in [0, pi) and a side: y = u or u + pi. With f(theta) = sum_j g_j s_theta(y_j), which is
    constant between neighbouring lines, |g|^2 = integral f^2 / pi, and the gain of answering z, minus the risk up to
    a term free of z, is half the integral of s_theta(z) f.
    """

    c_delta = math.pi / 2

    def __init__(self, positions: dict[float, int]) -> None:
        self.positions = positions
        self.p = len(positions)
        turned = np.mod(np.array(list(positions), dtype=float), 2 * np.pi)
        over = turned >= np.pi
        lines = np.where(over, turned - np.pi, turned)
        self.order = np.argsort(lines, kind="stable")
        self.lines, self.sides = lines[self.order], np.where(over, -1.0, 1.0)[self.order]
        self.gaps = np.diff(np.concatenate([[0.0], self.lines, [np.pi]]))

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        return SeenAngles(positions)

    def decode_many(self, G: Array) -> list[float]:
        """The label, or the angle opposite to one, of the least risk."""
        if self.p == 0:
            return [0.0] * len(G)
        areas = np.cumsum(self._heights(G) * self.gaps, axis=1)
        gains = areas[:, :-1] - areas[:, -1:] / 2
        turns = np.concatenate([self.lines, self.lines + np.pi])
        best = first_best(np.concatenate([gains, -gains], axis=1), near(G))
        answers = np.where(G.any(axis=1), turns[best], 0.0)
        return [math.remainder(answer, 2 * math.pi) for answer in answers]

    def squared_norms(self, V: Array) -> Array:
        """The integral of f^2 / pi: equal to v^T Q v with Q = 1 - 2 |y - y'| / pi, in O(p)."""
        return self._heights(V) ** 2 @ (self.gaps / np.pi)

    def _heights(self, V: Array) -> Array:
        """f between neighbouring lines, (..., p + 1): it starts with all sides as they are, each line flips one."""
        sided = V[..., self.order] * self.sides
        flips = np.concatenate([np.zeros((*V.shape[:-1], 1)), np.cumsum(sided, axis=-1)], axis=-1)
        heights: Array = flips[..., -1:] - 2 * flips
        return heights


def as_angle(y: Any) -> float:
    """The angle in [-pi, pi], with a warning where it looks like degrees.

    >>> as_angle(np.pi / 2), as_angle(3 * np.pi / 2)
    (1.5707963267948966, -1.5707963267948966)
    """
    angle = float(as_numbers(y, (), "an angle"))
    if abs(angle) > 2 * np.pi + 1e-9:
        warnings.warn(f"angle {angle:g} exceeds 2 pi: angles are radians, use np.deg2rad.", UserWarning, stacklevel=3)
    return math.remainder(angle, 2 * math.pi)


def _directions(X: Array, Y: Array) -> Array:
    return np.arctan2(Y + 0.0, X + 0.0)  # + 0.0 makes -0.0 a 0.0: the direction of no vector is 0

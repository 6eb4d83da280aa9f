r"""Points on a sphere with the squared length of the arc between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oskaar.arrays import Array, Sheet
from oskaar.losses.base import GrowingSpace, SeenLoss, Space
from oskaar.losses.karcher import arc_lengths, best_label, on_circle, on_sphere
from oskaar.losses.spheres import Sphere
from oskaar.saved import saved


@saved("loss/sphere-geodesic")
class SphereGeodesic(SeenLoss, Sphere):
    r"""d(z, y)^2 / pi^2 for unit vectors in R^dim, d = arccos <z, y>: the squared arc, 1 for opposite points.

    With t = <z, y>, d = pi/2 - arcsin t, and d^2 = pi^2/4 - pi arcsin t + arcsin^2 t. The power series of arcsin
    and of arcsin^2 have no negative coefficient, so both are kernels on every sphere (Schoenberg). The mean m of
    arcsin^2 t over the sphere is the same for all z and is left out; with v = pi^2/4 - m,

        <phi(y), phi(y')> = a^2 (2 / pi) arcsin t + b^2 (arcsin^2 t - m) / v,   a^2 + b^2 = 1
        psi(z) is phi(z) with its two parts times -1 / (2 a^2) and v / (pi^2 b^2);   c_delta = 1/2 + v / pi^2

    for the best choice, a^2 = 1 / (2 c_delta): 0.70 on the sphere in R^3. With s = arcsin <z, z'>, |psi(z) -
    psi(z')|^2 = (1 - 2 s / pi) / (2 a^2) + 2 v / (pi^4 b^2) (pi^2/4 - s^2) is a parabola with its top at s = -pi/2,
    where it is 1 / a^2: the diameter is sqrt(2 c_delta), for opposite points. No finite embedding does it: the
    vectors are weights g on the distinct labels seen (`space()`).

    Decoding is the least of sum_j g_j d(z, y_j)^2. It is exact for any sign for dim <= 2. For dim >= 3 it is NOT: the
    risk is not convex and has kinks opposite to labels of negative weight. All labels and their opposites are tried,
    and from the best of them, from the answer of `Sphere` and from its opposite Newton's method goes downhill
    (losses/karcher.py). For positive weights within a quarter circle of a point that is Karcher's mean, the only
    local minimum there. With p distinct labels a decode costs O(p^2), and so do norms: round labels if they are many.
    Labels are written as for `Sphere`; the answer to g = 0 is the first basis vector.

    >>> loss = SphereGeodesic(3)
    >>> loss([1, 0, 0], [-1, 0, 0]), loss([1, 0, 0], [0, 1, 0])
    (1.0, 0.25)
    >>> space = loss.space().extended(loss.check([1, 0, 0])).extended(loss.check([0, 1, 0]))
    >>> space.decode_many(np.array([[2.0, 1.0]]))[0].round(6)       # 30 of 90 degrees
    array([0.866025, 0.5     , 0.      ])
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.p = 0
        self.mean = _mean_square(self.dim)
        self.c_delta = 0.5 + (math.pi**2 / 4 - self.mean) / math.pi**2

    @property
    def diameter(self) -> float:
        return math.sqrt(2 * self.c_delta)

    def loss(self, z: Any, y: Any) -> float:
        arc: float = arc_lengths(np.array([z], dtype=float), np.array([y], dtype=float))[0, 0]
        return float((arc / math.pi) ** 2)

    def label_kernel(self, d: Array) -> Array:
        """<phi(y), phi(y')> for labels at arcs d."""
        share = 0.5 / self.c_delta  # a^2
        rest = math.pi**2 / 4 - self.mean
        K: Array = share * (1 - 2 * d / math.pi)
        return K + (1 - share) * ((math.pi / 2 - d) ** 2 - self.mean) / rest if rest > 0 else K

    def space(self) -> Space:
        return SeenPoints(self, {}, Sheet(np.zeros((0, self.dim))), Sheet(np.zeros((0, 0))))


@saved("space/points")
class SeenPoints(GrowingSpace):
    """Weights on the distinct points seen, and the arcs between these."""

    def __init__(self, loss: SphereGeodesic, positions: dict[bytes, int], points: Sheet, gaps: Sheet) -> None:
        self.loss, self.positions, self._points, self._gaps = loss, positions, points, gaps
        self.p, self.c_delta = len(positions), loss.c_delta

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self.loss.dim <= 2

    @property
    def diameter(self) -> float:
        return self.loss.diameter

    def key(self, y: Any) -> bytes:
        return bytes((np.asarray(y, dtype=float) + 0.0).tobytes())  # + 0.0 makes -0.0 a 0.0

    def seen(self) -> list[Array]:
        return list(self._points.view)

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        points = self._points.extended(self.p + 1, self.loss.dim)
        points.view[-1] = y
        gaps = self._gaps.extended(self.p + 1, self.p + 1)
        gaps.view[-1, :] = gaps.view[:, -1] = arc_lengths(points.view, points.view[-1:])[:, 0]
        return SeenPoints(self.loss, positions, points, gaps)

    def decode_many(self, G: Array) -> list[Array]:
        answers = np.tile(np.eye(self.loss.dim)[0], (len(G), 1))
        some = np.flatnonzero(G.any(axis=1))
        if len(some):
            W = G[some] / np.abs(G[some]).max(axis=1, keepdims=True)
            Y, D = self._points.view, self._gaps.view
            if self.loss.dim == 2:
                angles = on_circle(np.arctan2(Y[:, 1], Y[:, 0]), W)
                answers[some] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
            else:
                answers[some] = (on_sphere if self.loss.dim > 2 else best_label)(Y, D, W)
        return list(answers)

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """What y, which is its own best answer, is better by than what the search found, for the weights g."""
        if not len(g):
            return 0.0
        risks = arc_lengths(np.array([z, y], dtype=float), self._points.view[: len(g)]) ** 2 @ g / math.pi**2
        return max(0.0, float(risks[0] - risks[1]))

    def squared_norms(self, V: Array) -> Array:
        norms: Array = np.einsum("...p,...p->...", V @ self.loss.label_kernel(self._gaps.view), V)
        return np.maximum(norms, 0.0)


def _mean_square(dim: int) -> float:
    """The mean of arcsin^2 <z, y> over the sphere: of theta^2 with density cos^(dim - 2) theta, |theta| <= pi / 2.

    >>> abs(_mean_square(2) - np.pi**2 / 12) < 1e-12, abs(_mean_square(3) - (np.pi**2 / 4 - 2)) < 1e-12
    (True, True)
    """
    if dim == 1:
        return math.pi**2 / 4
    nodes, weights = np.polynomial.legendre.leggauss(200)
    theta = nodes * math.pi / 2
    density = weights * np.cos(theta) ** (dim - 2)
    return float((density @ theta**2) / density.sum())

r"""Points on a sphere with the squared length of the arc between them.

Weights g_j of any sign on points y_j make the risk

    f(z) = sum_j g_j d_j^2,    d_j = arccos <z, y_j>

On the circle f is a parabola of curvature B = sum_j g_j between neighbouring angles opposite to labels, so that each
piece has its minimum where its slope is 0, or at an end: all are tried (`on_circle`), and the answer is exact.

On larger spheres f may have many local minima, and `on_sphere` is a search, NOT exact. With P = I - z z^T,

    grad f = -2 P sum_j g_j (d_j / sin d_j) y_j                                                           (1)
    Hess f = 2 P [sum_j g_j w_j y_j y_j^T + sum_j g_j d_j cot d_j] P,  w_j = (1 - d_j cot d_j) / sin^2 d_j   (2)

Opposite to a label of negative weight f has a kink, often its minimum: labels and their opposites are all tried.
From the best of them that are apart, and from sum_j g_j y_j and its opposite, Newton steps (with the Hessian's
eigenvalues made positive) go downhill, for many rows and starts at a time.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oskaar.arrays import Array, Sheet
from oskaar.losses.base import GrowingSpace, SeenLoss, Space, first_best, near
from oskaar.losses.spheres import Sphere
from oskaar.saved import saved
from oskaar.threads import one_thread

_STARTS = 6
"""Labels and opposites that a search starts from."""
_APART = 0.5
"""Radians between them."""
_STEPS = 50
"""Newton steps, at most."""
_HALVINGS = 10
"""How often a step is halved before its search ends."""
_CHUNK = 500_000
"""Numbers in an array of the search."""


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
    and from the best of them, from the answer of `Sphere` and from its opposite Newton's method goes downhill.
    For positive weights within a quarter circle of a point that is Karcher's mean, the only local minimum there. With
    p distinct labels a decode costs O(p^2), and so do norms: round labels if they are many.
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


def arc_lengths(Z: Array, Y: Array) -> Array:
    """d between unit vectors, rows of Z and of Y: 2 atan2(|z - y|, |z + y|), right for small and for large ones.

    >>> arc_lengths(np.eye(2), np.array([[1.0, 0.0], [-1.0, 0.0]])).round(6)
    array([[0.      , 3.141593],
           [1.570796, 1.570796]])
    """
    return 2 * np.arctan2(*_chords(Z, Y))


def _chords(Z: Array, Y: Array) -> tuple[Array, Array]:
    """|z - y| and |z + y|."""
    from scipy.spatial.distance import cdist  # slow to load

    return cdist(Z, Y), cdist(Z, -Y)


def on_circle(angles: Array, G: Array) -> Array:
    """The angles (n,) of the least risk, exactly, for weights G (n, p) on angles (p,), p >= 1. O(p) after sorting.

    A label with its opposite at c is at c - pi for z < c and at c + pi above. So where the first k opposites have
    been passed, f = B z^2 - 2 V z + W, up to a term that is the same everywhere, with V and W cumulative sums.

    >>> on_circle(np.array([0.0, 1.0]), np.array([[1.0, 3.0], [-1.0, 0.0]])).round(6)
    array([ 0.75    , -3.141593])
    """
    cuts = np.mod(angles, 2 * np.pi) - np.pi
    order = np.argsort(cuts, kind="stable")
    cuts, G = cuts[order], G[:, order]
    B = G.sum(axis=1, keepdims=True)
    V = (G * (cuts - np.pi)).sum(axis=1, keepdims=True) + 2 * np.pi * np.cumsum(G, axis=1)
    W = 4 * np.pi * np.cumsum(G * cuts, axis=1)
    ends = np.append(cuts[1:], cuts[0] + 2 * np.pi)
    convex = near(G) < B
    middle = np.divide(V, B, out=np.zeros_like(V), where=convex)
    Z = np.where(convex, np.clip(middle, cuts, ends), cuts)
    best = first_best(-(B * Z**2 - 2 * V * Z + W), near(G, 4 * np.pi**2))
    found: Array = Z[np.arange(len(G)), best]
    return found


@one_thread
def on_sphere(Y: Array, D: Array, G: Array) -> Array:
    """Points (n, dim) of low risk for weights G (n, p) on labels Y (p, dim) with arcs D between them, dim >= 3."""
    step = max(1, _CHUNK // (len(Y) * (_STARTS + 3)))
    found = [_searched(Y, D, G[lo : lo + step]) for lo in range(0, len(G), step)]
    return np.concatenate(found) if found else np.zeros((0, Y.shape[1]))


@one_thread
def best_label(Y: Array, D: Array, G: Array) -> Array:
    """The best of the labels and their opposites for each row."""
    found: Array = np.concatenate([Y, -Y])[first_best(-_risks_of_labels(D, G), near(G, np.pi**2))]
    return found


def _risks_of_labels(D: Array, G: Array) -> Array:
    """f at the labels, then opposite to them: (n, 2 p)."""
    return np.concatenate([_by_row(G, D**2), _by_row(G, (np.pi - D) ** 2)], axis=1)


def _searched(Y: Array, D: Array, G: Array) -> Array:
    n, dim = len(G), Y.shape[1]
    means = _by_row(G, Y)
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    means = np.where(norms > 0, means / np.where(norms > 0, norms, 1.0), np.eye(dim)[0])
    picked = _apart(D, G)
    pool = np.concatenate([Y, -Y])
    starts = np.concatenate([pool[picked], means[:, None], -means[:, None]], axis=1)  # (n, starts, dim)
    k = starts.shape[1]
    ends = _downhill(Y, starts.reshape(n * k, dim), np.repeat(G, k, axis=0)).reshape(n, k, dim)
    ends = np.concatenate([pool[picked[:, :1]], ends], axis=1)  # the best label as it is comes first
    F = _risks(Y, ends.reshape(-1, dim), np.repeat(G, k + 1, axis=0)).reshape(n, k + 1)
    found: Array = ends[np.arange(n), first_best(-F)]
    return found


def _apart(D: Array, G: Array) -> Array:
    """The best labels or opposites of each row, each the best of those `_APART` from the ones before it."""
    F = _risks_of_labels(D, G)
    wide = np.block([[D, np.pi - D], [np.pi - D, D]])
    picked = [first_best(-F)]
    for _ in range(_STARTS - 1):
        F = np.where(wide[picked[-1]] < _APART, np.inf, F)
        picked.append(np.where(np.isfinite(F).any(axis=1), np.argmin(F, axis=1), picked[0]))
    return np.stack(picked, axis=1)


def _by_row(A: Array, B: Array) -> Array:
    """A B, a product for each row: its rounding must not depend on which other rows are still on their way."""
    return (A[:, None] @ B)[:, 0]


def _risks(Y: Array, Z: Array, G: Array) -> Array:
    f: Array = np.einsum("rp,rp->r", G, arc_lengths(Z, Y) ** 2)
    return f


def _downhill(Y: Array, Z: Array, G: Array) -> Array:
    """Newton's method from each row of Z; a row stops for itself when no step helps."""
    Z, scale = Z.copy(), np.abs(G).sum(axis=1)
    F = _risks(Y, Z, G)
    outer = np.einsum("pi,pj->pij", Y, Y).reshape(len(Y), -1)
    going = np.arange(len(Z))
    for _ in range(_STEPS):
        steps, slopes = _newton(Y, outer, Z[going], G[going], scale[going])
        moved = np.zeros(len(going), dtype=bool)
        pending = np.flatnonzero(np.linalg.norm(steps, axis=1) > 1e-13)
        for halving in range(_HALVINGS):
            if not len(pending):
                break
            share, rows = 0.5**halving, going[pending]
            tried = _exponential(Z[rows], share * steps[pending])
            risks = _risks(Y, tried, G[rows])
            good = risks <= F[rows] + 1e-4 * share * slopes[pending] + 1e-15 * scale[rows]
            Z[rows[good]], F[rows[good]] = tried[good], risks[good]
            moved[pending[good]] = True
            pending = pending[~good]
        going = going[moved]
        if not len(going):
            break
    return Z


def _newton(Y: Array, outer: Array, Z: Array, G: Array, scale: Array) -> tuple[Array, Array]:
    """Steps of at most 1 radian, tangent at Z, and the slopes of f along them."""
    dim = Y.shape[1]
    near, far = _chords(Z, Y)
    d, sine = 2 * np.arctan2(near, far), near * far / 2
    smooth, small = far > 1e-9, near < 1e-3  # at a kink its label is left out
    sine = np.where(smooth & ~small, sine, 1.0)
    ratio = np.where(small, 1 + d**2 / 6, d / sine) * smooth
    cosine = (far**2 - near**2) / 4
    bent = ratio * cosine  # d cot d
    weights = np.where(small, 1 / 3 + 2 * d**2 / 15, (1 - bent) / sine**2) * smooth
    P = np.eye(dim) - Z[:, :, None] * Z[:, None, :]
    grad = -2 * np.einsum("rij,rj->ri", P, _by_row(G * ratio, Y))  # (1)
    H = _by_row(G * weights, outer).reshape(-1, dim, dim)
    H = 2 * (P @ H @ P + (G * bent).sum(axis=1)[:, None, None] * P)  # (2)
    values, vectors = np.linalg.eigh((H + H.transpose(0, 2, 1)) / 2)
    along = np.einsum("rij,ri->rj", vectors, grad) / np.maximum(np.abs(values), 1e-6 * scale[:, None] + 1e-300)
    steps = -np.einsum("rij,rj->ri", vectors, along)
    steps -= Z * np.einsum("ri,ri->r", Z, steps)[:, None]
    steps /= np.maximum(np.linalg.norm(steps, axis=1, keepdims=True), 1.0)
    return steps, np.einsum("ri,ri->r", grad, steps)


def _exponential(Z: Array, steps: Array) -> Array:
    """The points reached from Z along great circles, |step| radians each."""
    lengths = np.linalg.norm(steps, axis=1, keepdims=True)
    moved = np.cos(lengths) * Z + np.sinc(lengths / np.pi) * steps
    reached: Array = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return reached

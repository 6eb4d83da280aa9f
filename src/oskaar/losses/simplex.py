r"""Distributions on n outcomes: non-negative numbers that sum to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array, Sheet
from oskaar.losses.ball import A2, B2, BALL, BALL_DIAMETER, as_numbers, embed_ball, means, read_ball
from oskaar.losses.base import GrowingSpace, Loss, SeenLoss, Space, first_best, near
from oskaar.losses.certainty import projections
from oskaar.requirements import require_whole
from oskaar.saved import saved
from oskaar.threads import one_thread


class _Distributions(Loss):
    """Labels and answers are arrays of n shares. Diameter: of unit vectors psi, <psi(z), psi(z')> >= 0."""

    zero_optimum = True

    def __init__(self, n: int) -> None:
        self.n = require_whole("n", n)

    @property
    def diameter(self) -> float:
        return math.sqrt(2) if self.n > 1 else 0.0

    def check(self, y: Any) -> Array:
        return as_distribution(y, self.n)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n})"


@saved("loss/simplex-l2")
class SimplexL2(_Distributions):
    r"""|z - y|^2 / 2 for distributions on n outcomes; 1 for two different certainties.

    With v = y - 1/n and w = z - 1/n, which fill a part of the ball of radius R, R^2 = 1 - 1/n (losses/ball.py),

        |w - v|^2 / 2 = |w|^2 / 2 - <w, v> + |v|^2 / 2,   phi(y) = (a v / R, b),   c_delta < 1.101 (1 - 1/n)

    |psi(z) - psi(z')|^2 = R^2 |z - z'|^2 / a^2 + (|w|^2 - |w'|^2)^2 / (4 b^2). As |z - z'|^2 <= |z|^2 + |z'|^2, it is
    at most a convex function of |w|^2 and |w'|^2 in [0, R^2], which is largest at the ends: 2 R^2 / a^2 for both at
    R^2, (1 + 1/n) R^2 / a^2 + R^4 / (4 b^2) for one at 0. The diameter is at most the root of the larger, and that of
    the ball.

    Decoding with V = sum beta v and B = sum beta minimises B |w|^2 / 2 - <w, V>. Where B > 0 that is the Euclidean
    projection of V / B + 1/n on the simplex (by sorting). Where B <= 0 the risk is concave, so the best is a vertex;
    all have the same |w|, so it is that of the largest V_i, the first of equals. Exact for any sign,
    O(n log n). The answer to g = 0 is the uniform distribution.

    >>> loss = SimplexL2(3)
    >>> loss([1, 0, 0], [0, 1, 0]), loss.decode(loss.embed([1, 0, 0]) + loss.embed([0, 1, 0])).round(12)
    (1.0, array([0.5, 0.5, 0. ]))
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.p = self.n + 1
        self._radius = float(np.sqrt(1 - 1 / self.n)) if self.n > 1 else 1.0
        self.c_delta = BALL * (1 - 1 / self.n)

    @property
    def diameter(self) -> float:
        """The least of the bounds; exact for n <= 2."""
        square = self._radius**2 if self.n > 1 else 0.0
        ends = max(2 / A2, (1 + 1 / self.n) / A2 + square / (4 * B2))
        return min(BALL_DIAMETER * square, float(np.sqrt(square * ends)))

    def loss(self, z: Any, y: Any) -> float:
        return float(np.sum(np.subtract(z, y, dtype=float) ** 2)) / 2

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return embed_ball(np.array(ys, dtype=float).reshape(-1, self.n) - 1 / self.n, self._radius)

    def decode_many(self, G: Array) -> list[Array]:
        V, B = read_ball(G, self._radius)
        W, convex = means(V, B)
        Z = projections(W + 1 / self.n)
        concave = ~convex & G.any(axis=1)
        Z[concave] = np.eye(self.n)[first_best(V[concave], near(G[concave]))]
        return list(Z)


@saved("loss/hellinger")
class Hellinger(_Distributions):
    r"""1 - sum_i sqrt(z_i y_i), the squared Hellinger distance; 1 for distributions with no outcome in common.

        phi(y) = sqrt(y),   psi(z) = -sqrt(z),   c_delta = sqrt(1 - 1/n)

    as sqrt(z) is a unit vector s >= 0, and |s - 1/n|^2 = 1 - 2/n sum_i s_i + 1/n <= 1 - 1/n. As <s, s'> >= 0, the
    diameter is sqrt(2), for distributions with no outcome in common.
    Decoding maximises <s, g> over such s. Where g has a positive part g+, that is s = g+ / |g+|, for a negative
    coordinate can only cost. Where g <= 0, <s, g> <= max_i g_i sum_i s_i <= max_i g_i, which the vertex of the
    largest coordinate attains (the first of equals). Exact for any sign, O(n).
    The answer to g = 0 is the uniform distribution.

    >>> loss = Hellinger(3)
    >>> loss([1, 0, 0], [0, 1, 0]), loss.decode(np.array([3.0, 4.0, -1.0])).round(12)
    (1.0, array([0.36, 0.64, 0.  ]))
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.p = self.n
        self.c_delta = float(np.sqrt(1 - 1 / self.n))

    def loss(self, z: Any, y: Any) -> float:
        """1 - sum sqrt(z y), as half the squared distance of the roots, which keeps small values exact."""
        return float(np.sum((np.sqrt(z) - np.sqrt(y)) ** 2)) / 2

    def embed_many(self, ys: Sequence[Any]) -> Array:
        roots: Array = np.sqrt(np.array(ys, dtype=float).reshape(-1, self.n))
        return roots

    def decode_many(self, G: Array) -> list[Array]:
        largest = G.max(axis=1, keepdims=True)
        positive = near(G) < largest
        S = np.divide(np.maximum(G, 0.0), largest, out=np.ones_like(G), where=positive)
        vertices = ~positive[:, 0] & G.any(axis=1)
        S[vertices] = np.eye(self.n)[first_best(G[vertices])]
        squares = S**2
        return list(squares / squares.sum(axis=1, keepdims=True))


@saved("loss/total-variation")
class TotalVariation(_Distributions, SeenLoss):
    r"""sum_i |z_i - y_i| / 2 for distributions on n outcomes; 1 for distributions with no outcome in common.

    As z and y sum to 1, the loss is 1 - sum_i min(z_i, y_i), and min(z_i, y_i) is the length of [0, z_i] in [0, y_i]:

        phi(y)(i, theta) = [theta < y_i],   psi(z) = -phi(z),   <phi(y), phi(y')> = sum_i min(y_i, y'_i)

    with |phi(y)|^2 = sum_i y_i = 1, and |phi(z) - 1/n|^2 = 1 - 2/n + 1/n, so c_delta = sqrt(1 - 1/n); and
    |psi(z) - psi(z')|^2 = sum_i |z_i - z'_i| <= 2, so the diameter is sqrt(2).
    The vectors are weights on the distinct labels seen (`space()`).

    The decoder is NOT exact over the whole simplex: with weights of any sign the risk is neither convex nor concave
    there. It answers the best of the n certainties and the labels seen, which it tries all: exact among these,
    O(p (p + n)) for p distinct labels. The first of equals wins; g = 0 gives the uniform distribution.

    >>> loss = TotalVariation(3)
    >>> loss([0.5, 0.5, 0.0], [0.25, 0.25, 0.5])
    0.5
    >>> space = loss.space().extended(loss.check([0.5, 0.5, 0.0])).extended(loss.check([0.2, 0.2, 0.6]))
    >>> space.decode_many(np.array([[1.0, 0.1]]))
    [array([0.5, 0.5, 0. ])]
    """

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.c_delta = float(np.sqrt(1 - 1 / self.n))

    def loss(self, z: Any, y: Any) -> float:
        return float(np.sum(np.abs(np.subtract(z, y, dtype=float)))) / 2

    def space(self) -> Space:
        return SeenDistributions({}, Sheet(np.eye(self.n)), Sheet(np.zeros((self.n, 0))))


@saved("space/distributions")
class SeenDistributions(GrowingSpace):
    """Weights on the distinct distributions seen, and the overlap sum_i min(z_i, y_i) of candidates with them."""

    exact = False

    def __init__(self, positions: dict[bytes, int], candidates: Sheet, overlaps: Sheet) -> None:
        self.positions, self._candidates, self._overlaps = positions, candidates, overlaps
        self.n, self.p = candidates.view.shape[1], len(positions)
        self.c_delta = float(np.sqrt(1 - 1 / self.n))

    @property
    def diameter(self) -> float:
        return math.sqrt(2) if self.n > 1 else 0.0

    def key(self, y: Any) -> bytes:
        return bytes(y.tobytes())

    def seen(self) -> list[Array]:
        return list(self._candidates.view[self.n :])

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        """y is a candidate too."""
        rows = self.n + self.p
        candidates = self._candidates.extended(rows + 1, self.n)
        candidates.view[-1] = y
        overlaps = self._overlaps.extended(rows + 1, self.p + 1)
        overlaps.view[:, -1] = np.minimum(candidates.view, y).sum(axis=1)
        overlaps.view[-1, :] = overlaps.view[self.n :, -1]
        return SeenDistributions(positions, candidates, overlaps)

    @one_thread
    def decode_many(self, G: Array) -> list[Array]:
        uniform = np.full(self.n, 1 / self.n)
        if self.p == 0:
            return [uniform.copy() for _ in G]
        best = first_best(G @ self._overlaps.view.T, near(G))
        return list(np.where(G.any(axis=1, keepdims=True), self._candidates.view[best], uniform))

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """What y, which is its own best answer, would have been better by, for the weights g."""
        labels = self._candidates.view[self.n : self.n + len(g)]
        gains = np.minimum(np.array([z, y])[:, None], labels).sum(axis=2) @ g
        return max(0.0, float(gains[1] - gains[0]))

    def squared_norms(self, V: Array) -> Array:
        norms: Array = np.einsum("...p,...p->...", V @ self._overlaps.view[self.n :], V)
        return np.maximum(norms, 0.0)


def as_distribution(y: Any, n: int) -> Array:
    """n shares that sum to 1: rounding errors up to 1e-6 are removed, anything else is refused.

    >>> as_distribution([0.25, 0.75], 2)
    array([0.25, 0.75])
    """
    shares = as_numbers(y, (n,), "a distribution")
    least = int(np.argmin(shares))
    if shares[least] < -1e-6:
        raise ValueError(f"a distribution must have shares >= 0, share {least} is {shares[least]:g}.")
    total = shares.sum()
    if abs(total - 1) > 1e-6:
        raise ValueError(f"a distribution must sum to 1, got {total:g}: divide it by its sum.")
    shares = np.maximum(shares, 0.0)
    shares /= shares.sum()
    return shares

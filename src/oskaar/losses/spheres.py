r"""Points on a sphere, rotations, and symmetric positive definite matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.ball import BALL, BALL_DIAMETER, as_numbers, embed_ball, means, read_ball
from oskaar.losses.base import Loss
from oskaar.requirements import require_positive, require_whole
from oskaar.saved import saved


@saved("loss/sphere")
class Sphere(Loss):
    r"""|z - y|^2 / 4 for unit vectors in R^dim: the squared chord, 1 for opposite points.

        phi(y) = y,   psi(z) = -z / 2,   c_delta = 1/2

    since |z - y|^2 = 2 - 2 <z, y>; the diameter is 1, for opposite points. Decoding is g / |g|: <z, g> over unit
    vectors z is largest there, whatever the signs of the weights that made g. O(dim). The answer to g = 0 is the
    first basis vector. A label whose norm is 1 up to 1e-6 is brought to norm 1, any other is refused.

    >>> loss = Sphere(3)
    >>> loss([1, 0, 0], [-1, 0, 0]), loss([1, 0, 0], [0, 1, 0]), loss.decode(np.array([0.0, 3.0, 4.0]))
    (1.0, 0.5, array([0. , 0.6, 0.8]))
    """

    zero_optimum = True
    c_delta = 0.5

    def __init__(self, dim: int) -> None:
        self.p = self.dim = require_whole("dim", dim)

    def loss(self, z: Any, y: Any) -> float:
        gap = np.subtract(z, y, dtype=float)
        return float(gap @ gap) / 4

    def check(self, y: Any) -> Array:
        point = as_numbers(y, (self.dim,), "a point of the sphere")
        norm = np.linalg.norm(point)
        if abs(norm - 1) > 1e-6:
            raise ValueError(f"a point of the sphere must have norm 1, got norm {norm:g}: divide it by its norm.")
        return point / norm

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return np.array(ys, dtype=float).reshape(-1, self.dim)

    def decode_many(self, G: Array) -> list[Array]:
        return list(_normalised(G, np.eye(self.dim)[0]))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dim})"


@saved("loss/rotation")
class Rotation(Loss):
    r"""|Z - Y|^2 / w for rotations of R^n, orthogonal matrices of determinant 1, n >= 2.

    The squared Frobenius distance is 2 n - 2 <Z, Y>; w = 4 n, for odd n w = 4 (n - 1), makes the largest loss 1.

        phi(Y) = Y / sqrt(n),   psi(Z) = -2 sqrt(n) / w Z,   c_delta = 2 n / w

    The largest |Z - Z'|^2 is w, so the diameter is 2 sqrt(n / w).
    Decoding is the orthogonal Procrustes problem max <Z, G>: with the singular value decomposition G = U S V^T,
    Z = U diag(1, ..., 1, det(U V^T)) V^T. It is exact for any matrix G, so for any signs. O(n^3).
    Labels and answers are n x n arrays; the answer to G = 0 is the identity.

    >>> loss = Rotation(2)
    >>> quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> loss(np.eye(2), quarter), loss(np.eye(2), -np.eye(2))
    (0.5, 1.0)
    >>> loss.decode(-loss.embed(quarter)).round(12) + 0.0
    array([[ 0.,  1.],
           [-1.,  0.]])
    """

    zero_optimum = True

    def __init__(self, n: int) -> None:
        self.n = require_whole("n", n, least=2)
        self.p = self.n**2
        self._largest = 4.0 * (self.n - self.n % 2)
        self.c_delta = 2 * self.n / self._largest

    @property
    def diameter(self) -> float:
        return 2 * float(np.sqrt(self.n / self._largest))

    def loss(self, z: Any, y: Any) -> float:
        return float(np.sum(np.subtract(z, y, dtype=float) ** 2)) / self._largest

    def check(self, y: Any) -> Array:
        matrix = as_numbers(y, (self.n, self.n), "a rotation")
        error = np.abs(matrix @ matrix.T - np.eye(self.n)).max()
        if error > 1e-6:
            raise ValueError(f"a rotation must be orthogonal, Y Y^T misses the identity by {error:.3g}.")
        if np.linalg.det(matrix) < 0:
            raise ValueError("a rotation must have determinant 1, got -1: the matrix reflects.")
        return matrix

    def embed_many(self, ys: Sequence[Any]) -> Array:
        Phi: Array = np.array(ys, dtype=float).reshape(-1, self.p) / np.sqrt(self.n)
        return Phi

    def decode_many(self, G: Array) -> list[Array]:
        U, _, Vt = np.linalg.svd(G.reshape(-1, self.n, self.n))
        U[:, :, -1] *= np.sign(np.linalg.det(U @ Vt))[:, None]
        Z = U @ Vt
        Z[~G.any(axis=1)] = np.eye(self.n)
        return list(Z)

    def __repr__(self) -> str:
        return f"Rotation({self.n})"


@saved("loss/log-euclidean")
class LogEuclidean(Loss):
    r"""|log Z - log Y|^2 / (2 bound)^2 for symmetric positive definite n x n matrices with |log Y| <= bound.

    Norms are Frobenius norms. Matrices without a bound have no embedding of norm 1: a label beyond it is refused.
    The logarithms fill a ball of radius R = bound, where with v = log Y and w = log Z (losses/ball.py)

        |w - v|^2 / (4 R^2) = (|w - v|^2 / 2) / (2 R^2),   phi = (a v / R, b),   c_delta < 0.551

    Decoding with V = sum beta v and B = sum beta minimises B |w|^2 / 2 - <w, V> over the ball: V / B drawn back to
    the ball where B > 0, R V / |V| where B <= 0, when the risk falls all the way out along V. Exact for any sign,
    O(n^3). For V = 0 the answer is the identity where B >= 0, else exp(R / sqrt(n)) I, one of the equally good.

    >>> loss = LogEuclidean(2, bound=3.0)
    >>> z = loss.decode(loss.embed(np.diag([1.0, 4.0])) + loss.embed(np.diag([4.0, 1.0])))
    >>> z.round(6)
    array([[2., 0.],
           [0., 2.]])
    """

    zero_optimum = True
    diameter = BALL_DIAMETER / 2
    """That of the ball: w and -w on its border are both allowed."""

    def __init__(self, n: int, bound: float) -> None:
        self.n = require_whole("n", n)
        self.bound = require_positive("bound", bound, "it bounds |log Y|")
        self.c_delta = BALL / 2
        self._rows, self._columns = np.triu_indices(self.n)
        self._weights = np.where(self._rows == self._columns, 1.0, np.sqrt(2))
        self.p = len(self._rows) + 1

    def loss(self, z: Any, y: Any) -> float:
        return float(np.sum((_log(np.asarray(z)) - _log(np.asarray(y))) ** 2)) / (4 * self.bound**2)

    def check(self, y: Any) -> Array:
        matrix = as_numbers(y, (self.n, self.n), "a positive definite matrix")
        if np.abs(matrix - matrix.T).max() > 1e-8 * np.abs(matrix).max():
            raise ValueError("a positive definite matrix must be symmetric: Y and Y^T differ.")
        matrix = (matrix + matrix.T) / 2
        least = float(np.linalg.eigvalsh(matrix)[0])
        if least <= 0:
            raise ValueError(f"a positive definite matrix must have eigenvalues > 0, the least is {least:.3g}.")
        size = float(np.linalg.norm(_log(matrix)))
        if size > self.bound * (1 + 1e-9):
            raise ValueError(f"|log Y| must be at most bound = {self.bound:g}, got {size:.6g}: raise bound.")
        return matrix

    def embed_many(self, ys: Sequence[Any]) -> Array:
        logs = _log(np.array(ys, dtype=float).reshape(-1, self.n, self.n))
        return embed_ball(logs[:, self._rows, self._columns] * self._weights, self.bound)

    def decode_many(self, G: Array) -> list[Array]:
        V, B = read_ball(G, self.bound)
        W, convex = means(V, B)
        norms = np.linalg.norm(W, axis=1, keepdims=True)
        W = np.where(norms > self.bound, W * self.bound / np.maximum(norms, self.bound), W)
        outwards = np.where(self._rows == self._columns, 1 / np.sqrt(self.n), 0.0)
        concave = ~convex & ((B[:, 0] < 0) | V.any(axis=1))
        W[concave] = self.bound * _normalised(V[concave], outwards)
        logs = np.zeros((len(G), self.n, self.n))
        logs[:, self._rows, self._columns] = logs[:, self._columns, self._rows] = W / self._weights
        values, vectors = np.linalg.eigh(logs)
        return list((vectors * np.exp(values)[:, None, :]) @ vectors.transpose(0, 2, 1))

    def __repr__(self) -> str:
        return f"LogEuclidean({self.n}, bound={self.bound:g})"


def _normalised(G: Array, default: Array) -> Array:
    """Rows over their norms; `default` for rows of zeros."""
    largest = np.abs(G).max(axis=1, initial=0.0, keepdims=True)
    some = largest[:, 0] > 0
    scaled = np.divide(G, largest, out=np.tile(default, (len(G), 1)), where=some[:, None])
    unit: Array = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit


def _log(matrices: Array) -> Array:
    values, vectors = np.linalg.eigh(matrices)
    logs: Array = (vectors * np.log(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return logs

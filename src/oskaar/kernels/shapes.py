"""Kernels on rows of numbers: functions of the distance, and of the inner product."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel, as_rows
from oskaar.kernels.kept import KeptRows, Over
from oskaar.requirements import require_positive, require_whole
from oskaar.rows import count, is_sparse, sparse_inner, squared_norms, with_norms
from oskaar.saved import saved

_CDIST_WIDTH, _CDIST_ROWS = 32, 4
"""Up to this width, or for this few rows, squared distances come from differences; else from a matrix product."""


@dataclass(frozen=True)
class Stationary(Kernel):
    """A function of the distance in units of a lengthscale, 1 at distance 0."""

    lengthscale: float = 1.0

    def __post_init__(self) -> None:
        require_positive("lengthscale", self.lengthscale)

    @property
    def kappa(self) -> float:
        return 1.0

    def diag(self, X: Rows) -> Array:
        return np.ones(count(X))

    def over(self, kept: KeptRows) -> Over:
        return super().over(kept)._replace(diag=1.0)


@saved("kernel/gaussian")
@dataclass(frozen=True)
class Gaussian(Stationary):
    r"""exp(-|x - x'|^2 / (2 lengthscale^2)).

    >>> Gaussian(1.0)([[0.0]], [[1.0]])
    array([[0.60653066]])
    """

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self._of(_squared_distances(X, Y))

    def over(self, kept: KeptRows) -> Over:
        if type(kept.view) is not np.ndarray or kept.view.shape[1] > _CDIST_WIDTH:
            return super().over(kept)
        cdist = _cdist()
        return Over(lambda X: self._of(cdist(X, kept.view, "sqeuclidean")), 1.0)

    def _of(self, D: Array) -> Array:
        D *= -0.5 / self.lengthscale**2
        return np.exp(D, out=D)


@saved("kernel/laplacian")
@dataclass(frozen=True)
class Laplacian(Stationary):
    r"""exp(-|x - x'|_1 / lengthscale), with the sum of absolute differences.

    >>> Laplacian(2.0)([[0.0, 0.0]], [[1.0, 1.0]])
    array([[0.36787944]])
    """

    def __call__(self, X: Rows, Y: Rows) -> Array:
        D = absolute_distances(X, Y)
        D /= -self.lengthscale
        return np.exp(D, out=D)


@saved("kernel/matern")
@dataclass(frozen=True)
class Matern(Stationary):
    r"""Matern of order nu = 1/2, 3/2 or 5/2, with r = sqrt(2 nu) |x - x'| / lengthscale.

        nu = 1/2: exp(-r);   3/2: (1 + r) exp(-r);   5/2: (1 + r + r^2 / 3) exp(-r)

    >>> Matern(1.0, nu=0.5)([[0.0]], [[1.0]])
    array([[0.36787944]])
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu}: those have a closed form.")

    def __call__(self, X: Rows, Y: Rows) -> Array:
        R = _squared_distances(X, Y, exact=True)
        np.sqrt(R, out=R)
        R *= math.sqrt(2 * self.nu) / self.lengthscale
        K = np.exp(-R)
        if self.nu == 1.5:
            K *= 1 + R
        elif self.nu == 2.5:
            K *= 1 + R + R * R / 3
        return K


@saved("kernel/linear")
@dataclass(frozen=True)
class Linear(Kernel):
    """<x, x'>.

    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return _inner(X, Y)

    def diag(self, X: Rows) -> Array:
        return _squared_norms(X)

    def over(self, kept: KeptRows) -> Over:
        return Over(kept.inner, kept.squares)


@saved("kernel/polynomial")
@dataclass(frozen=True)
class Polynomial(Kernel):
    """(scale <x, x'> + offset)^degree.

    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 3
    offset: float = 1.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_whole("degree", self.degree)
        require_positive("scale", self.scale)
        if not (math.isfinite(self.offset) and self.offset >= 0):
            raise ValueError(f"offset must be >= 0, got {self.offset}: the kernel would not be positive.")

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self._power(_inner(X, Y))

    def diag(self, X: Rows) -> Array:
        """(scale |x|^2 + offset)^degree."""
        return self._power(_squared_norms(X))

    def _power(self, inner: Array) -> Array:
        powers: Array = (self.scale * inner + self.offset) ** int(self.degree)
        return powers


@saved("kernel/cosine")
@dataclass(frozen=True)
class Cosine(Kernel):
    """<x, x'> / (|x| |x'|), and 0 where a row is 0: the kernel for bags of words.

    >>> Cosine()([[3.0, 4.0], [0.0, 0.0]], [[1.0, 0.0]])
    array([[0.6],
           [0. ]])
    """

    @property
    def kappa(self) -> float:
        return 1.0

    def __call__(self, X: Rows, Y: Rows) -> Array:
        (X, x), (Y, y) = with_norms(as_rows(X)), with_norms(as_rows(Y))
        K = _inner(X, Y)
        K /= np.where(x > 0, x, 1.0)[:, None]
        K /= np.where(y > 0, y, 1.0)
        return K

    def diag(self, X: Rows) -> Array:
        """1, and 0 for a row of zeros."""
        return (with_norms(as_rows(X))[1] > 0).astype(float)


def _inner(X: Rows, Y: Rows) -> Array:
    X, Y = as_rows(X), as_rows(Y)
    if type(X) is type(Y) is np.ndarray:
        return X @ Y.T
    if is_sparse(X) and is_sparse(Y):
        return sparse_inner(X, Y)
    K = X @ Y.T
    return np.asarray(K.todense() if is_sparse(K) else K, dtype=float)


def _squared_norms(X: Rows) -> Array:
    return squared_norms(as_rows(X))


def _squared_distances(X: Rows, Y: Rows, exact: bool = False) -> Array:
    """|x - y|^2, from differences for narrow dense rows, else from |x|^2 + |y|^2 - 2 <x, y>."""
    X, Y = as_rows(X), as_rows(Y)
    sparse = not type(X) is type(Y) is np.ndarray
    if not sparse and (exact or X.shape[1] <= _CDIST_WIDTH or min(len(X), len(Y)) <= _CDIST_ROWS):
        distances: Array = _cdist()(X, Y, "sqeuclidean")
        return distances
    if not sparse and len(Y):
        X, Y = X - Y[0], Y - Y[0]  # a common offset would eat the digits of the differences
    x2, y2 = _squared_norms(X), _squared_norms(Y)
    D = _inner(X, Y)
    D *= -2.0
    D += x2[:, None]
    D += y2
    D[2e-15 * (x2[:, None] + y2) > D] = 0.0  # equal rows are at distance 0, whatever the rounding
    return D


@cache
def _cdist() -> Any:
    from scipy.spatial.distance import cdist  # slow to load

    return cdist


def absolute_distances(X: Rows, Y: Rows) -> Array:
    """sum_j |x_j - y_j| of each pair, (n, m)."""
    X, Y = as_rows(X), as_rows(Y)
    if type(X) is type(Y) is np.ndarray:
        distances: Array = _cdist()(X, Y, "cityblock")
        return distances
    from scipy.sparse import csr_array

    X, Y = csr_array(X), csr_array(Y)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    D = np.empty((X.shape[0], Y.shape[0]))
    for j in range(Y.shape[0]):  # |x - y|_1 = |y|_1 + sum over the support of x of |x_i - y_i| - |y_i|
        y = Y[[j], :].toarray().ravel()
        there = y[X.indices]
        moved = np.abs(X.data - there) - np.abs(there)
        D[:, j] = np.bincount(rows, weights=moved, minlength=X.shape[0]) + np.abs(y).sum()
    return np.maximum(D, 0.0, out=D)

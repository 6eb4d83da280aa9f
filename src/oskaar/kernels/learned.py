r"""Kernels whose parameters are estimated from rows: how much each feature matters, and ranks in place of values.

- **Relevance**: another kernel on features multiplied by weights a_j. `relevance` estimates the weights of
  exp(-sum_j a_j |u_j - u'_j|) from rows and targets (recursive feature machines, Radhakrishnan et al. 2024). With
  g(x) = sum_i k(x, x_i) alpha_i the ridge regression of the targets,

      dg/du_j (x) = -a_j sum_i sign(u_j - u_ij) k(x, x_i) alpha_i,   r_j = mean over rows of |dg/du_j|^2           (1)
      a_j = 3/2 (0.9 sqrt(r_j) / sum_l sqrt(r_l) + 0.1 / d)                                                        (2)

  taken three times, from a_j = 3 / 2d on.
- **Ranks**: another kernel on each feature's empirical distribution function: units do not matter.

Equivalent to tests/naive.py::relevance and tests/naive.py::ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel
from oskaar.kernels.shapes import Laplacian
from oskaar.kernels.standardised import Mapped
from oskaar.requirements import require_positive
from oskaar.saved import saved

TOTAL, UNIFORM, PASSES = 1.5, 0.1, 3
"""The sum of the weights, the part of it that all features share, and how often weights are taken."""

RELEVANCE_LAM = 0.5
"""Of the regression that tells how much each feature matters."""

MOST_ROWS, MOST_POINTS = 256, 128
"""At most so many rows are regressed on, and at most at so many the derivative is taken, evenly spaced."""

FLAT = 1e-9
"""Slopes smaller than this, over the size of a target, are rounding."""

MOST_KNOTS = 128
"""At most so many values of a feature tell its distribution function."""


@saved("kernel/relevance")
@dataclass(frozen=True, repr=False)
class Relevance(Mapped):
    """Another kernel on rows whose features are multiplied by weights: those with larger ones matter more.

    >>> Relevance(Laplacian(1.0), (1.0, 0.0))([[0.0, 5.0]], [[1.0, 7.0]])
    array([[0.36787944]])
    """

    kernel: Kernel
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        self._require_kernel()
        self._floats("weights")
        if not all(0 <= weight < math.inf for weight in self.weights):
            raise ValueError(f"weights of features must be finite and >= 0, got {self.weights}.")

    @property
    def width(self) -> int:
        return len(self.weights)

    @cached_property
    def _numbers(self) -> tuple[Array, ...]:
        return (np.array(self.weights),)

    def mapped(self, X: Rows) -> Array:
        weighted: Array = self._matrix(X) * self._numbers[0]
        return weighted


def relevance(
    U: Array,
    Phi: Array,
    lam: float = RELEVANCE_LAM,
    shares: Array | None = None,
    start: Array | None = None,
    passes: int = PASSES,
) -> Array:
    """The weights (d,) of features for the kernel exp(-sum_j a_j |u_j - u'_j|), by (1) and (2).

    U: rows (n, d), features of about the same spread; Phi: their targets (n, p); lam: of the ridge regression.
    start, passes: the weights after some passes, and how many are to come.

    >>> U = np.random.default_rng(0).normal(size=(100, 3))
    >>> relevance(U, np.sign(U[:, :1])).round(1)
    array([1.3, 0.1, 0.1])
    """
    require_positive("lam", lam)
    sample = _spaced(len(U), MOST_ROWS)
    U, Phi = U[sample], Phi[sample]
    points = _spaced(len(U), MOST_POINTS)
    shares = np.ones(U.shape[1]) if shares is None else shares
    features = max(1.0, float(shares.sum()))
    weights = np.full(U.shape[1], TOTAL / features) if start is None else start
    least = FLAT * math.sqrt(np.sum(Phi**2) / max(1, len(Phi)))
    for _ in range(passes if len(U) else 0):
        sizes = np.sqrt(_squared_slopes(U, Phi, points, weights, lam))
        total = shares @ sizes
        if total <= least:
            break
        weights = TOTAL * ((1 - UNIFORM) * sizes / total + UNIFORM / features)  # (2)
    return weights


def _squared_slopes(U: Array, Phi: Array, points: NDArray[np.intp], weights: Array, lam: float) -> Array:
    """r_j: how steep the ridge regression of Phi is along each feature."""
    K = Laplacian(1.0)(U * weights, U * weights)
    regularised = K + 1.0  # an intercept, whose derivative is 0
    regularised.flat[:: len(U) + 1] += lam
    alpha = cho_solve(cho_factor(regularised.T, lower=True, overwrite_a=True), Phi)  # columns for LAPACK
    near = K[points]
    slopes = [
        weight * np.sign(np.subtract.outer(u[points], u)) * near @ alpha
        for weight, u in zip(weights, U.T, strict=True)  # (1)
    ]
    return np.array([np.sum(slope**2) / len(points) for slope in slopes])


def _spaced(n: int, most: int) -> NDArray[np.intp]:
    """At most so many of n places, evenly spaced, the first and the last among them."""
    return np.arange(n, dtype=np.intp) if n <= most else np.linspace(0, n - 1, most).astype(np.intp)


@saved("kernel/ranks")
class Ranks(Mapped):
    """Another kernel on sqrt(12) (F_j(x_j) - 1/2), F_j the distribution function of a feature in some rows.

    Ties have the mean of their ranks; F_j is linear between the values seen, and constant beyond them. With more than
    128 different values it goes through 128 of them, evenly spaced. `knots` are the values of feature j moved to
    [2j, 2j + 1], so that one interpolation serves all features.

    >>> Ranks(Laplacian(1.0), np.array([[1.0], [10.0], [1000.0]])).mapped([[1.0], [10.0], [505.0], [1e9]]).round(3)
    array([[-1.155],
           [ 0.   ],
           [ 0.577],
           [ 1.155]])
    """

    def __init__(self, kernel: Kernel, rows: Array) -> None:
        self.kernel = kernel
        self._require_kernel()
        found = [_distribution(column) for column in np.asarray(rows, dtype=float).T]
        self.lows, self.highs = np.array([(values[0], values[-1]) for values, _ in found]).reshape(-1, 2).T
        self.knots = np.concatenate([[], *(_places(v) + 2 * j for j, (v, _) in enumerate(found))])
        self.heights = np.concatenate([[], *(heights for _, heights in found)])

    @property
    def width(self) -> int:
        return len(self.lows)

    @cached_property
    def _numbers(self) -> tuple[Any, ...]:
        return self.lows, self.highs, *_span(self.lows, self.highs), 2 * np.arange(self.width)

    def mapped(self, X: Rows) -> Array:
        lows, highs, least, span, first = self._numbers
        rows = np.minimum(np.maximum(self._matrix(X), lows), highs)
        places = (rows / 2 - least) / span + first
        heights: Array = np.interp(places, self.knots, self.heights) if self.width else rows
        return math.sqrt(12) * (heights - 0.5)


def _distribution(column: Array) -> tuple[Array, Array]:
    """Different values in order, and the mean rank of each over the number of rows."""
    values, counts = np.unique(column, return_counts=True)
    heights = (np.cumsum(counts) - counts / 2) / len(column)
    few = _spaced(len(values), MOST_KNOTS)
    return values[few], heights[few]


def _span(low: Array, high: Array) -> tuple[Array, Array]:
    """Half of low, and how far half of high is from it, or 1 where both are the same: halves do not overflow."""
    span = high / 2 - low / 2
    return low / 2, np.where(span > 0, span, 1.0)


def _places(values: Array) -> Array:
    """Values in order as numbers from 0 to 1."""
    least, span = _span(values[0], values[-1])
    return (values / 2 - least) / span

r"""Taylor features of the Gaussian kernel (Cotter, Keshet and Srebro 2011; Jezequel, Gaillard and Rudi 2019).

    exp(-|x - x'|^2 / (2 l^2)) = exp(-|x|^2 / (2 l^2)) exp(-|x'|^2 / (2 l^2)) sum_j (<x, x'> / l^2)^j / j!

and the power of the inner product is a sum of products of monomials, so that for all exponents a, |a| <= M,

    z_a(x) = exp(-|x|^2 / (2 l^2)) prod_i (x_i / l)^{a_i} / sqrt(a_i!)                                     (1)
    |<z(x), z(x')> - k(x, x')| <= (|x| |x'| / l^2)^{M + 1} / (M + 1)!                                      (2)

(2) is the remainder of the exponential series at r = <x, x'> / l^2, which is at most |r|^{M + 1} / (M + 1)! times
max(1, e^r), and e^{|x| |x'| / l^2} exp(-(|x|^2 + |x'|^2) / (2 l^2)) <= 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.features.base import FeatureMap
from oskaar.features.fourier import terms_of
from oskaar.features.rows import LARGEST, as_matrix, require_width, to_dense
from oskaar.kernels import Gaussian
from oskaar.requirements import require_whole
from oskaar.saved import saved

_MOST = 10_000
"""More features than this are refused: a solver holds the square of their number."""


@saved("features/taylor")
class Taylor(FeatureMap):
    r"""Monomials times a Gaussian, for Gaussian kernels (scaled, with a constant) on rows of few columns.

    kernel: None is Gaussian(sqrt(width)) + 1. degree: M. width: columns of a row; sparse and dict rows may have
    fewer. dim is C(width + degree, degree), and one more for a constant. Nothing is random, and the error (2),
    (|x| |x'| / l^2)^(M + 1) / (M + 1)! times the kernel's scale, falls faster than any power of dim where
    rows are of the size of the lengthscale.

    >>> from oskaar import kernels
    >>> k, X = kernels.Gaussian(2.0) + 1.0, np.array([[0.0, 1.0], [1.0, -1.0]])
    >>> z = Taylor(k, degree=8, width=2)
    >>> z.dim, bool(np.abs(z(X) @ z(X).T - k(X, X)).max() < 1e-8)
    (46, True)
    """

    def __init__(self, kernel: Any, degree: int, width: int) -> None:
        self.width, self.degree = require_whole("width", width), require_whole("degree", degree)
        self.kernel = Gaussian(math.sqrt(self.width)) + 1.0 if kernel is None else kernel
        terms, self._constant = terms_of(self.kernel)
        if len(terms) != 1 or not isinstance(terms[0][1], Gaussian):
            raise ValueError(
                f"features.Taylor takes one Gaussian kernel, scaled or with a constant, got {kernel!r}: "
                "features.RandomFourier takes Gaussian, Laplacian and Matern and their sums, features.Nystrom any."
            )
        self._scale, self._lengthscale = terms[0][0], terms[0][1].lengthscale
        self._monomials = math.comb(self.width + self.degree, self.degree)
        if self._monomials > _MOST:
            raise ValueError(
                f"degree {self.degree} in {self.width} columns makes {self._monomials} features, more than {_MOST}: "
                "take a lower degree, or features.RandomFourier or features.Nystrom."
            )
        self.dim = self._monomials + (self._constant > 0)
        self._levels = _recursion(self.width, self.degree)

    @property
    def kappa(self) -> float:
        """sqrt(k(x, x)), which the truncated series never exceeds."""
        return math.sqrt(self._scale + self._constant)

    @property
    def nbytes(self) -> int:
        return sum(table.nbytes for level in self._levels for table in level)

    def __call__(self, X: Rows) -> Array:
        """(1) for each row, by degree; the constant is last."""
        X = as_matrix(X, "Taylor")
        require_width(X, self.width, "Taylor")
        most = LARGEST * self._lengthscale  # farther out the features are 0 anyway
        U = np.clip(to_dense(X, self.width), -most, most) / self._lengthscale
        Z = np.empty((len(U), self.dim))
        Z[:, 0] = math.sqrt(self._scale) * np.exp(-0.5 * np.einsum("ij,ij->i", U, U))
        done = 1
        for parents, columns, factors in self._levels:  # z_{a + e_i} = z_a x_i / (l sqrt(a_i + 1))
            Z[:, done : done + len(parents)] = Z[:, parents] * U[:, columns] * factors
            done += len(parents)
        Z[:, done:] = math.sqrt(self._constant)
        return Z

    def __repr__(self) -> str:
        return f"Taylor({self.kernel!r}, degree={self.degree}, width={self.width})"


def _recursion(width: int, degree: int) -> list[tuple[Any, Any, Array]]:
    """For each degree the features that those of the degree before are multiplied by a column to."""
    levels: list[tuple[Any, Any, Array]] = []
    names, last, power = np.array([0]), np.array([0]), np.array([0])  # feature, its last column and that one's power
    done = 1
    for _ in range(degree):
        counts = width - last  # a feature goes on with its last column or a later one
        parents = np.repeat(np.arange(len(names)), counts)
        columns = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + last[parents]
        power = np.where(columns == last[parents], power[parents], 0) + 1
        levels.append((names[parents], columns, 1.0 / np.sqrt(power)))
        names, last = done + np.arange(len(columns)), columns
        done += len(columns)
    return levels

r"""Random Fourier features (Rahimi and Recht 2007) and orthogonal ones (Yu et al. 2016).

    z(x) = sqrt(c / m) [cos <w_1, x>, ..., cos <w_m, x>, sin <w_1, x>, ..., sin <w_m, x>]                  (1)

with w_1..w_m from the spectrum of k: E <z(x), z(x')> = c k(x, x'), and |z(x)|^2 = c exactly. The error of one pair
of rows is about c / sqrt(m). A sum of kernels shares the features evenly between its terms; a constant is one
feature, sqrt(constant), the last.

By Bochner's theorem k(x - x') = E cos(<w, x - x'>) for a distribution of w, the spectrum of k:

    Gaussian(l)    w = g / l,                     g standard normal
    Matern(l, nu)  w = g / (l sqrt(u / (2 nu))),  u chi-squared with 2 nu degrees of freedom: Student's t
    Laplacian(l)   w = c / l,                     c standard Cauchy in each column

Columns are drawn in groups of 64 from generators of their own, so that the frequencies of a column depend on
the seed and the column alone: rows may become wider at any time.
"""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.features.base import FeatureMap
from oskaar.features.rows import as_matrix, require_width
from oskaar.kernels import Constant, Gaussian, Kernel, Laplacian, Matern, Product, Stationary, Sum, default_kernel
from oskaar.requirements import require_whole
from oskaar.rows import is_sparse
from oskaar.saved import saved

_GROUP = 64
"""Columns that are drawn together."""


@saved("features/fourier")
class RandomFourier(FeatureMap):
    r"""Random cosines and sines for Gaussian, Laplacian and Matern kernels, scaled, summed, with a constant.

    kernel: None is Gaussian(sqrt(d)) + 1, for standardised rows of d numbers. dim: how many features there may be,
    the constant's included; they come in pairs, so that one may be left over. seed: a whole number >= 0.
    width: how many columns rows have at most; None: as many as dense rows turn out to have, and any number of
    sparse or dict columns, whose frequencies are drawn as the columns appear and then stay.

    >>> from oskaar import kernels
    >>> k, X = kernels.Gaussian(2.0) + 1.0, np.array([[0.0, 1.0], [1.0, 3.0]])
    >>> z = RandomFourier(k, dim=4001, seed=0)
    >>> Z = z(X)
    >>> Z.shape, z.kappa
    ((2, 4001), 1.4142135623730951)
    >>> bool(np.abs(Z @ Z.T - k(X, X)).max() < 0.05)
    True
    """

    _orthogonal = False
    _kernels: tuple[type[Kernel], ...] = (Gaussian, Laplacian, Matern)

    def __init__(self, kernel: Any, dim: int, seed: int = 0, width: int | None = None) -> None:
        self.kernel = kernel
        self.dim = require_whole("dim", dim)
        self.seed = require_whole("seed", seed, least=0)
        self.width = None if width is None else require_whole("width", width)
        self._declared = width is not None
        self._terms, self._constant = self._parsed(Gaussian() + 1.0 if kernel is None else kernel)
        self._frequencies: Array | None = None
        self._whole = False

    fixed = True

    @property
    def kappa(self) -> float:
        """|z(x)|, the same for every x: sqrt(k(x, x))."""
        return math.sqrt(sum(scale for scale, _ in self._terms) + self._constant)

    def __call__(self, X: Rows) -> Array:
        X = as_matrix(X, type(self).__name__)
        require_width(X, self.width, type(self).__name__)
        if self.kernel is None:
            return self._settled(X)(X)
        angles = X @ self._drawn(X)
        Z = np.empty((X.shape[0], 2 * angles.shape[1] + (self._constant > 0)))
        column = pair = 0
        for (scale, _), m in zip(self._terms, self._shares(), strict=True):
            P, weight = angles[:, pair : pair + m], math.sqrt(scale / m)
            np.cos(P, out=Z[:, column : column + m])
            np.sin(P, out=Z[:, column + m : column + 2 * m])
            Z[:, column : column + 2 * m] *= weight  # (1)
            column, pair = column + 2 * m, pair + m
        Z[:, column:] = math.sqrt(self._constant)
        return Z

    def seen(self, X: Rows) -> tuple[Array, FeatureMap]:
        """z of the rows; the next map holds on to the width of dense rows, and to the default kernel."""
        X = as_matrix(X, type(self).__name__)
        require_width(X, self.width, type(self).__name__)
        settled = self._settled(X) if X.shape[0] and (self.kernel is None or self.width is None) else self
        return settled(X), settled

    def _settled(self, X: Any) -> Self:
        """The map for rows like these."""
        if self.kernel is not None and is_sparse(X):
            return self
        other = copy.copy(self)
        if other.kernel is None:
            if is_sparse(X):
                raise ValueError(
                    "the default kernel of sparse and dict rows is Cosine() + 1, which has no Fourier features: "
                    "give a kernel such as kernels.Gaussian(1.0) + 1.0, or use features.Hashing(dim), "
                    "features.LinearMap(width, normalise=True) or features.Nystrom."
                )
            other.kernel = default_kernel(X)
            other._terms, other._constant = other._parsed(other.kernel)
        other.width = X.shape[1]
        return other

    def _shares(self) -> list[int]:
        """How many pairs each term has."""
        pairs, terms = (self.dim - (self._constant > 0)) // 2, len(self._terms)
        return [pairs // terms + (i < pairs % terms) for i in range(terms)]

    def _drawn(self, X: Any) -> Array:
        """(d, pairs) frequencies for rows of d columns, drawn where they are not there yet."""
        width: int = X.shape[1]
        whole = self._orthogonal and (self._declared or not is_sparse(X))  # all columns at once, not in groups
        W = self._frequencies if self._whole == whole else None
        if whole:
            total = width if self.width is None else self.width
            W = W if W is not None and len(W) == total else self._draw(total, whole)
        elif W is None or len(W) < width:
            W = self._draw(width if W is None else max(width, 3 * len(W) // 2), whole)
        self._frequencies, self._whole = W, whole
        return W[:width]

    def _draw(self, width: int, whole: bool) -> Array:
        parts = [
            frequencies(k, width, m, self.seed, i, self._orthogonal, whole)
            for i, ((_, k), m) in enumerate(zip(self._terms, self._shares(), strict=True))
        ]
        return np.concatenate(parts, axis=1)

    def _parsed(self, kernel: Any) -> tuple[list[tuple[float, Kernel]], float]:
        name = type(self).__name__
        terms, constant = terms_of(kernel)
        for _, k in terms:
            if not isinstance(k, self._kernels):
                cure = "features.RandomFourier takes it, or " if isinstance(k, Laplacian) else ""
                raise ValueError(
                    f"features.{name} takes {', '.join(t.__name__ for t in self._kernels)}, their sums and "
                    f"multiples, and constants, got {k!r}: {cure}features.Nystrom takes any kernel."
                )
        if not terms:
            raise ValueError(f"features.{name} needs a kernel that is not constant, got {kernel!r}.")
        least = 2 * len(terms) + (constant > 0)
        if self.dim < least:
            raise ValueError(
                f"dim must be at least {least}, got {self.dim}: "
                "a cosine and a sine for each kernel, and one feature for a constant."
            )
        return terms, constant

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_frequencies": None, "_whole": False}  # drawn again, the same, where needed

    def __repr__(self) -> str:
        width = f", width={self.width}" if self._declared else ""
        return f"{type(self).__name__}({self.kernel!r}, dim={self.dim}, seed={self.seed}{width})"


@saved("features/orthogonal-fourier")
class Orthogonal(RandomFourier):
    r"""Random Fourier features with orthogonal frequencies: less error at the same dim.

    For Gaussian and Matern kernels, scaled, summed, with a constant; otherwise as RandomFourier. Every d
    frequencies are orthogonal and each alone is distributed as before, so that the features stay unbiased.
    Dense rows have all of this, and sparse or dict rows whose `width` is declared. Where it is not, columns may
    appear for ever: they are drawn in groups of 64 which are orthogonal in themselves and independent
    of each other, still unbiased.

    >>> from oskaar import kernels
    >>> k, X = kernels.Gaussian(4.0), np.random.default_rng(0).normal(size=(50, 16))
    >>> def error(map): return np.mean([np.abs(map(k, 64, s)(X) @ map(k, 64, s)(X).T - k(X, X)) for s in range(5)])
    >>> bool(error(Orthogonal) < 0.7 * error(RandomFourier))
    True
    """

    _orthogonal = True
    _kernels = (Gaussian, Matern)


def terms_of(kernel: Any) -> tuple[list[tuple[float, Kernel]], float]:
    """The scaled kernels that a kernel is the sum of, and its constant.

    >>> terms_of(2.0 * (Gaussian() + 0.5) + Matern() + 1.0)
    ([(2.0, Gaussian(lengthscale=1.0)), (1.0, Matern(lengthscale=1.0, nu=1.5))], 2.0)
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a kernel of oskaar.kernels, got {kernel!r}.")
    if isinstance(kernel, Constant):
        return [], float(kernel.value)
    if isinstance(kernel, Sum):
        (left, a), (right, b) = terms_of(kernel.left), terms_of(kernel.right)
        return left + right, a + b
    if isinstance(kernel, Product):
        for one, other in ((kernel.left, kernel.right), (kernel.right, kernel.left)):
            parts, scale = terms_of(one)
            if not parts:
                parts, constant = terms_of(other)
                return [(scale * c, k) for c, k in parts if scale * c > 0], scale * constant
    return [(1.0, kernel)], 0.0


def frequencies(
    kernel: Kernel, width: int, pairs: int, seed: int, stream: int, orthogonal: bool, whole: bool
) -> Array:
    """(width, pairs) frequencies of a stationary kernel; `stream` tells several kernels of one map apart.

    orthogonal: orthogonal within each group of columns, or, where the width is the `whole` of it, in all.

    >>> narrow, wide = (frequencies(Gaussian(), d, 4, 0, 0, False, False) for d in (3, 100))
    >>> np.array_equal(narrow, wide[:3])
    True
    """
    assert isinstance(kernel, Stationary)
    if orthogonal and whole:
        W = _orthogonal(_generator(seed, stream, 0), width, pairs)
    else:
        rngs = [_generator(seed, stream, 1 + g) for g in range(-(-width // _GROUP))]
        if orthogonal:
            groups = [_orthogonal(rng, _GROUP, pairs) for rng in rngs]
        elif isinstance(kernel, Laplacian):
            groups = [rng.standard_cauchy((_GROUP, pairs)) for rng in rngs]
        else:
            groups = [rng.standard_normal((_GROUP, pairs)) for rng in rngs]
        W = np.concatenate([np.zeros((0, pairs)), *groups])[:width]
    scale = np.full(pairs, 1.0 / kernel.lengthscale)
    if isinstance(kernel, Matern):
        freedom = 2 * kernel.nu
        scale /= np.sqrt(_generator(seed, stream).chisquare(freedom, pairs) / freedom)
    return np.ascontiguousarray(W * scale)


def _generator(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _orthogonal(rng: np.random.Generator, columns: int, pairs: int) -> Array:
    """Blocks of orthogonal directions, each as long as a normal vector: every frequency is standard normal."""
    if columns == 0:
        return np.zeros((0, pairs))
    size = min(columns, pairs)
    blocks = -(-pairs // size)
    Q = np.linalg.qr(rng.standard_normal((blocks, columns, size)))[0]  # signs do not matter: cos is even
    lengths = np.sqrt(rng.chisquare(columns, (blocks, 1, size)))
    return (Q * lengths).transpose(1, 0, 2).reshape(columns, blocks * size)[:, :pairs]

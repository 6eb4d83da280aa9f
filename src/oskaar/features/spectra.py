r"""Kernels as sums of stationary ones, and frequencies: draws from their spectra, column by column.

By Bochner's theorem k(x - x') = E cos(<w, x - x'>) for a distribution of w, the spectrum of k:

    Gaussian(l)    w = g / l,                     g standard normal
    Matern(l, nu)  w = g / (l sqrt(u / (2 nu))),  u chi-squared with 2 nu degrees of freedom: Student's t
    Laplacian(l)   w = c / l,                     c standard Cauchy in each column

Columns are drawn in groups of 64 from generators of their own, so that the frequencies of a column depend on
the seed and the column alone: rows may become wider at any time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.kernels import Constant, Kernel, Laplacian, Matern, Product, Stationary, Sum

GROUP = 64
"""Columns that are drawn together."""


def terms_of(kernel: Any) -> tuple[list[tuple[float, Kernel]], float]:
    """The scaled kernels that a kernel is the sum of, and its constant.

    >>> from oskaar.kernels import Gaussian, Matern
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

    >>> from oskaar.kernels import Gaussian
    >>> narrow, wide = (frequencies(Gaussian(), d, 4, 0, 0, False, False) for d in (3, 100))
    >>> np.array_equal(narrow, wide[:3])
    True
    """
    assert isinstance(kernel, Stationary)
    if orthogonal and whole:
        W = _orthogonal(_generator(seed, stream, 0), width, pairs)
    else:
        rngs = [_generator(seed, stream, 1 + g) for g in range(-(-width // GROUP))]
        if orthogonal:
            groups = [_orthogonal(rng, GROUP, pairs) for rng in rngs]
        elif isinstance(kernel, Laplacian):
            groups = [rng.standard_cauchy((GROUP, pairs)) for rng in rngs]
        else:
            groups = [rng.standard_normal((GROUP, pairs)) for rng in rngs]
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

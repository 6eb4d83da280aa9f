r"""Frequencies: draws from the spectra of stationary kernels, column by column.

By Bochner's theorem k(x - x') = E cos(<w, x - x'>) for a distribution of w, the spectrum of k:

    Gaussian(l)    w = g / l,                     g standard normal
    Matern(l, nu)  w = g / (l sqrt(u / (2 nu))),  u chi-squared with 2 nu degrees of freedom: Student's t
    Laplacian(l)   w = c / l,                     c standard Cauchy in each column

Columns are drawn in groups of 64 from generators of their own, so that the frequencies of a column depend on
the seed and the column alone: rows may become wider at any time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oskaar.arrays import Array
from oskaar.kernels import Kernel, Laplacian, Matern, Stationary

GROUP = 64
"""Columns that are drawn together."""

Draw = Callable[[np.random.Generator, int, int], Array]


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
    draw: Draw = _orthogonal if orthogonal else _cauchy if isinstance(kernel, Laplacian) else _normal
    if orthogonal and whole:
        W = draw(_generator(seed, stream, 0), width, pairs)
    else:
        groups = [draw(_generator(seed, stream, 1 + g), GROUP, pairs) for g in range(-(-width // GROUP))]
        W = np.concatenate([np.zeros((0, pairs)), *groups])[:width]
    scale = np.full(pairs, 1.0 / kernel.lengthscale)
    if isinstance(kernel, Matern):
        freedom = 2 * kernel.nu
        scale /= np.sqrt(_generator(seed, stream).chisquare(freedom, pairs) / freedom)
    return np.ascontiguousarray(W * scale)


def _generator(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _normal(rng: np.random.Generator, columns: int, pairs: int) -> Array:
    return rng.standard_normal((columns, pairs))


def _cauchy(rng: np.random.Generator, columns: int, pairs: int) -> Array:
    return rng.standard_cauchy((columns, pairs))


def _orthogonal(rng: np.random.Generator, columns: int, pairs: int) -> Array:
    """Blocks of orthogonal directions, each as long as a normal vector: every frequency is standard normal."""
    if columns == 0:
        return np.zeros((0, pairs))
    size = min(columns, pairs)
    blocks = -(-pairs // size)
    Q = np.linalg.qr(rng.standard_normal((blocks, columns, size)))[0]  # signs do not matter: cos is even
    lengths = np.sqrt(rng.chisquare(columns, (blocks, 1, size)))
    W: Array = (Q * lengths).transpose(1, 0, 2).reshape(columns, blocks * size)[:, :pairs]
    return W

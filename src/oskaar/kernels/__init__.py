r"""Kernels: the similarity of inputs.

A kernel is called with two blocks of rows, `k(X, Y) -> (n, m)`, knows its diagonal, `k.diag(X)`, and a
bound `kappa >= sup_x sqrt(k(x, x))`. Rows are dense, scipy sparse, or, for kernels that say
`objects = True`, lists of anything. Kernels add, multiply and scale:

    >>> import numpy as np
    >>> k = 0.5 * Gaussian(2.0) + Linear() * Cosine() + 1.0
    >>> k(np.eye(2), np.eye(2)).round(3)
    array([[2.5  , 1.389],
           [1.389, 2.5  ]])

One's own is one small class with `__call__` and `diag` (see docs/extending.md), or any function.
"""

from oskaar.kernels.base import Constant, Kernel, Product, Sum, diagonal, gram
from oskaar.kernels.defaults import (
    default_kernel,
    default_kernels,
    nearness,
    smooth_kernel,
    standardised_kernels,
    weights_of_features,
)
from oskaar.kernels.functions import Pairwise, Rowwise, as_kernel
from oskaar.kernels.learned import Ranks, Relevance, relevance
from oskaar.kernels.mixed import OnNumbers, OnText
from oskaar.kernels.shapes import Cosine, Gaussian, Laplacian, Linear, Matern, Polynomial, Stationary
from oskaar.kernels.standardised import Scaled, Within

__all__ = [
    "Constant",
    "Cosine",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "OnNumbers",
    "OnText",
    "Pairwise",
    "Polynomial",
    "Product",
    "Ranks",
    "Relevance",
    "Rowwise",
    "Scaled",
    "Stationary",
    "Sum",
    "Within",
    "as_kernel",
    "default_kernel",
    "default_kernels",
    "diagonal",
    "gram",
    "nearness",
    "relevance",
    "smooth_kernel",
    "standardised_kernels",
    "weights_of_features",
]

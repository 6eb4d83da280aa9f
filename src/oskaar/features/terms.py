"""A kernel as a sum: scale * k + scale' * k' + ... + constant."""

from __future__ import annotations

from typing import Any

from oskaar.kernels import Constant, Kernel, Product, Sum


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

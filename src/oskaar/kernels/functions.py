"""Kernels that are functions of one's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel
from oskaar.kernels.defaults import default_kernel
from oskaar.rows import count
from oskaar.saved import saved


class _Function(Kernel):
    """A function of two inputs, or of two blocks of them, with a bound that is given."""

    def __init__(self, function: Callable[[Any, Any], Any], kappa: float = math.inf) -> None:
        self.function = function
        self._kappa = kappa

    @property
    def kappa(self) -> float:
        return self._kappa

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.function!r})"


@saved("kernel/pairwise")
class Pairwise(_Function):
    """Any function of two objects, k(x, x') -> number: strings, graphs, trees.

    It is called once for each pair, in Python; a class of one's own can do better.

    >>> shared = Pairwise(lambda a, b: len(set(a) & set(b)))
    >>> shared(["online"], ["line", "on"])
    array([[4., 2.]])
    """

    objects = True

    def __call__(self, X: Sequence[Any], Y: Sequence[Any]) -> Array:
        values = [[self.function(x, y) for y in Y] for x in X]
        return np.array(values, dtype=float).reshape(len(X), len(Y))

    def diag(self, X: Sequence[Any]) -> Array:
        return np.array([self.function(x, x) for x in X], dtype=float)


@saved("kernel/rowwise")
class Rowwise(_Function):
    """A function of two matrices of rows, k(X, Y) -> (n, m), as scikit-learn's `pairwise` has them."""

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return np.asarray(self.function(X, Y), dtype=float)

    def diag(self, X: Rows) -> Array:
        n = count(X)
        return np.array([np.asarray(self.function(X[i : i + 1], X[i : i + 1])).item() for i in range(n)])


def as_kernel(kernel: Any, rows: Rows) -> Kernel:
    """A Kernel out of a Kernel or a function, inferred from how the function answers for the first of `rows`.

    A function that makes a (2, 3) matrix of 2 and 3 rows is `Rowwise`; one that makes a number of a
    pair of inputs is `Pairwise`.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if kernel is None:
        return default_kernel(rows)
    if not callable(kernel):
        raise TypeError(f"kernel must be a Kernel or a function, got {kernel!r}.")
    if not isinstance(rows, list) and _shape_of(kernel, rows[[0, 0]], rows[[0, 0, 0]]) == (2, 3):
        return Rowwise(kernel)
    shape = _shape_of(kernel, rows[0], rows[0])
    if shape == ():
        return Pairwise(kernel)
    raise ValueError(
        f"kernel {kernel!r} must give an (n, m) matrix for n and m rows, or a number for a pair of inputs; "
        f"for the pair (x, x) it gave {'an error' if shape is None else f'shape {shape}'}."
    )


def _shape_of(function: Callable[[Any, Any], Any], a: Any, b: Any) -> tuple[int, ...] | None:
    try:
        return np.asarray(function(a, b), dtype=float).shape
    except Exception:  # any failure only means that the function is not of this form
        return None

"""What a kernel is, their sums and products, and checked Gram matrices."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.kernels.kept import KeptRows, Over
from oskaar.rows import count, is_sparse
from oskaar.saved import saved


class Kernel(ABC):
    """A positive semidefinite function of two inputs."""

    objects: bool = False
    """True: X and Y are lists of arbitrary objects instead of matrices."""

    @property
    def kappa(self) -> float:
        """A bound on sqrt(k(x, x)); infinite where none is known."""
        return math.inf

    @abstractmethod
    def __call__(self, X: Rows, Y: Rows) -> Array:
        """The (n, m) matrix of k(x, y)."""

    @abstractmethod
    def diag(self, X: Rows) -> Array:
        """The n numbers k(x, x)."""

    @property
    def maps(self) -> bool:
        """Whether rows are mapped before they are compared, so that `over` saves work."""
        return False

    def over(self, kept: KeptRows) -> Over:
        """k(., rows) of rows that stay while others may come, each of which is mapped once."""
        return Over(lambda X: self(X, kept.view), self.diag)

    def innermost(self, X: Rows) -> Rows:
        """The rows that the kernel is on at last, where it maps them."""
        return X

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum(self, _operand(other))

    def __radd__(self, other: float) -> Kernel:
        return Sum(_operand(other), self)

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product(self, _operand(other))

    def __rmul__(self, other: float) -> Kernel:
        return Product(_operand(other), self)


@saved("kernel/constant")
@dataclass(frozen=True)
class Constant(Kernel):
    """The same number for every pair: an intercept."""

    value: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0):
            raise ValueError(f"a constant in a kernel must be finite and >= 0, got {self.value}.")

    @property
    def kappa(self) -> float:
        return math.sqrt(self.value)

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return np.full((count(X), count(Y)), float(self.value))

    def diag(self, X: Rows) -> Array:
        return np.full(count(X), float(self.value))

    def over(self, kept: KeptRows) -> Over:
        return Over(float(self.value), float(self.value))


class _Pair(Kernel):
    """Two kernels on the same rows."""

    both: Callable[[Any, Any], Any]
    """Of the values of the two."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left, self.right = left, right
        wanted = {k.objects for k in (left, right) if not isinstance(k, Constant)}
        if len(wanted) > 1:
            raise ValueError(f"{left!r} and {right!r} take different inputs: one takes rows, one objects.")
        self.objects = wanted.pop() if wanted else False

    @property
    def maps(self) -> bool:
        return self.left.maps or self.right.maps

    def over(self, kept: KeptRows) -> Over:
        left, right = self.left.over(kept), self.right.over(kept)
        return Over(self._joined(left.values, right.values), self._joined(left.diag, right.diag))

    def _joined(self, left: Any, right: Any) -> Any:
        """From k(., rows) and k'(., rows), or the diagonals, to that of both; a number is the same for all rows."""
        both = self.both
        if callable(left):
            return (lambda X: both(left(X), right(X))) if callable(right) else lambda X: both(left(X), right)
        return (lambda X: both(left, right(X))) if callable(right) else both(left, right)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.left!r}, {self.right!r})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.left, self.right))


@saved("kernel/sum")
class Sum(_Pair):
    """k + k'."""

    both = staticmethod(operator.add)

    @property
    def kappa(self) -> float:
        return math.hypot(self.left.kappa, self.right.kappa)

    def __call__(self, X: Rows, Y: Rows) -> Array:
        if isinstance(self.right, Constant):
            return self.left(X, Y) + self.right.value
        return self.left(X, Y) + self.right(X, Y)

    def diag(self, X: Rows) -> Array:
        return self.left.diag(X) + self.right.diag(X)


@saved("kernel/product")
class Product(_Pair):
    """k times k'."""

    both = staticmethod(operator.mul)

    @property
    def kappa(self) -> float:
        return self.left.kappa * self.right.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        if isinstance(self.left, Constant):
            return self.left.value * self.right(X, Y)
        return self.left(X, Y) * self.right(X, Y)

    def diag(self, X: Rows) -> Array:
        return self.left.diag(X) * self.right.diag(X)


def gram(kernel: Kernel, X: Rows, Y: Rows, values: Any = None) -> Array:
    """k(X, Y), refused where it is not (n, m) finite numbers; values: those of `Over` over Y, where they are known.

    >>> from oskaar.kernels import Linear
    >>> gram(Linear(), np.array([[1e200]]), np.array([[1e200]]))                             # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: kernel Linear() must return finite numbers, got inf for a pair of inputs: rescale the inputs, ...
    """
    shape = count(X), count(Y)
    with np.errstate(all="ignore"):  # what comes of it is checked
        K = np.asarray(values(X) if callable(values) else kernel(X, Y), dtype=float)
        if K.shape == shape and math.isfinite(K[0].dot(K[0]) if shape[0] == 1 else K.sum()):
            return K
    return _checked(kernel, K, shape, "a pair of inputs")


def diagonal(kernel: Kernel, X: Rows, diag: Any = None) -> Array:
    """k(x, x) of each row, refused where it is not n finite numbers >= 0; diag: `Over.diag`, where it is known."""
    with np.errstate(all="ignore"):
        diag = kernel.diag if diag is None else diag
        d = np.asarray(diag(X) if callable(diag) else np.full(count(X), diag), dtype=float)
    if d.shape == (1,) == (count(X),) and 0 <= d[0] < math.inf:  # few of NumPy's calls
        return d
    if not ((d >= 0) & (d < math.inf)).all() or d.shape != (count(X),):
        _checked(kernel, d, (count(X),), "k(x, x)")
        raise ValueError(
            f"the kernel must be positive semidefinite, and {kernel!r} has k(x, x) = {d.min():.6g} < 0: "
            "check it with oskaar.checks.check_kernel."
        )
    return d


def gram_of_row(kernel: Kernel, x: Rows, Y: Rows, over: Over) -> tuple[Array, Array]:
    """`gram` (1, m) and `diagonal` (1,) of one row, by the kernel over Y."""
    with np.errstate(all="ignore"):
        K = np.asarray(over.values(x) if callable(over.values) else kernel(x, Y), dtype=float)
        d = np.asarray(over.diag(x) if callable(over.diag) else [over.diag], dtype=float)
        if K.shape == (1, count(Y)) and d.shape == (1,) and math.isfinite(K[0].dot(K[0])) and 0 <= d[0] < math.inf:
            return K, d
    return gram(kernel, x, Y, over.values), diagonal(kernel, x, over.diag)  # which say what is wrong


def _checked(kernel: Kernel, K: Array, shape: tuple[int, ...], what: str) -> Array:
    if K.shape != shape:
        raise ValueError(f"kernel {kernel!r} must return shape {shape} for that many rows, got {K.shape}.")
    if not np.isfinite(K).all():
        bad = K[~np.isfinite(K)][0]
        raise ValueError(
            f"kernel {kernel!r} must return finite numbers, got {bad} for {what}: "
            "rescale the inputs, or check it with oskaar.checks.check_kernel."
        )
    return K


def _operand(other: Kernel | float) -> Kernel:
    return other if isinstance(other, Kernel) else Constant(float(other))


def as_rows(X: Rows) -> Any:
    """Rows as a matrix of numbers: a plain array, or sparse."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype == np.float64:
        return X
    return X if is_sparse(X) else np.atleast_2d(np.asarray(X, dtype=float))

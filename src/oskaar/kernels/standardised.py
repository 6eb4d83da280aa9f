"""Kernels on standardised features: the defaults."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel, as_rows
from oskaar.kernels.mixed import OnNumbers, OnText
from oskaar.kernels.shapes import Cosine, Gaussian, Laplacian, Linear
from oskaar.requirements import require_positive
from oskaar.rows import MixedRows, is_sparse
from oskaar.saved import saved

LIMIT = 5.0
"""How many standard deviations from the mean a feature can be, for `Scaled`: outliers stay bounded."""


class Mapped(Kernel):
    """Another kernel on rows of numbers that are mapped feature by feature: k(m(x), m(x'))."""

    kernel: Kernel

    def _require_kernel(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.objects:
            raise TypeError(f"{type(self).__name__} must have a kernel on rows of numbers, got {self.kernel!r}.")

    @property
    def kappa(self) -> float:
        return self.kernel.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.kernel(self.mapped(X), self.mapped(Y))

    def diag(self, X: Rows) -> Array:
        return self.kernel.diag(self.mapped(X))

    @property
    @abstractmethod
    def width(self) -> int:
        """How many features a row has."""

    @abstractmethod
    def mapped(self, X: Rows) -> Array:
        """The rows that the kernel is on."""

    def _matrix(self, X: Rows) -> Array:
        """Dense rows of as many features as there are parameters."""
        rows: Array = X.toarray() if is_sparse(X) else as_rows(X)
        if rows.shape[1] != self.width:
            raise ValueError(
                f"rows must have {self.width} features, as {type(self).__name__} has, got {rows.shape[1]}."
            )
        return rows

    def _floats(self, *names: str) -> None:
        """These fields as tuples of numbers."""
        for name in names:
            object.__setattr__(self, name, tuple(float(number) for number in getattr(self, name)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kernel!r}, {self.width} features)"


@saved("kernel/standardised")
@dataclass(frozen=True, repr=False)
class Scaled(Mapped):
    """Another kernel on (x - centre) / scale, each feature cut off at -5 and 5.

    >>> Scaled(Linear(), (1.0, 0.0), (1.0, 10.0))([[2.0, 20.0]], [[4.0, 4000.0]])
    array([[13.]])
    """

    kernel: Kernel
    centres: tuple[float, ...]
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        self._require_kernel()
        self._floats("centres", "scales")
        if len(self.centres) != len(self.scales):
            raise ValueError(f"each scale has a centre, got {len(self.scales)} and {len(self.centres)}.")
        for scale in self.scales:
            require_positive("each scale", scale)

    @property
    def width(self) -> int:
        return len(self.scales)

    def mapped(self, X: Rows) -> Array:
        with np.errstate(over="ignore"):  # what is infinitely far is cut off too
            units: Array = self._matrix(X) - np.array(self.centres)
            units /= np.array(self.scales)
        return np.clip(units, -LIMIT, LIMIT, out=units)


@saved("kernel/within")
@dataclass(frozen=True, repr=False)
class Within(Mapped):
    """Another kernel on rows whose features are cut off at these lowest and highest values: beyond, nothing changes.

    >>> Within(Linear(), (0.0, 0.0), (2.0, 10.0))([[1.0, 20.0]], [[7.0, 1.0]])
    array([[12.]])
    """

    kernel: Kernel
    lows: tuple[float, ...]
    highs: tuple[float, ...]

    def __post_init__(self) -> None:
        self._require_kernel()
        self._floats("lows", "highs")
        if len(self.lows) != len(self.highs):
            raise ValueError(f"each feature has two limits, got {len(self.lows)} lows and {len(self.highs)} highs.")
        for low, high in zip(self.lows, self.highs, strict=True):
            if not low <= high:
                raise ValueError(f"each low must be <= its high, got {low} and {high}.")

    @property
    def width(self) -> int:
        return len(self.lows)

    def mapped(self, X: Rows) -> Array:
        return np.clip(self._matrix(X), self.lows, self.highs)


def standardised_kernels(rows: Array, fixed: Any = None, features: int | None = None) -> list[Kernel]:
    """Three kernels with an intercept on d features standardised by the mean and standard deviation of these rows.

    fixed: for each column, whether its unit is 1 whatever its spread is; None: none. features: d, where it is not the
    number of columns: a category has several, and counts as one.

        exp(-|x - x'|^2 / 2d) + <x, x'> / 10d + 1       smooth, and straight far away
        <x, x'> / d + 1                                 straight
        exp(-3/2 |u - u'|_1 / d) + <x, x'> / 10d + 1    rough, feature by feature, as forests of trees are

    u is x, cut off at the lowest and the highest value of each feature in these rows: what lies beyond is as at the
    edge. Else a feature that has not moved yet counts as far away as soon as it does.

    >>> standardised_kernels(np.array([[0.0, 5.0], [2.0, 5.0]]))[1]
    Sum(Scaled(Product(Constant(value=0.5), Linear()), 2 features), Constant(value=1.0))
    """
    d = max(1, rows.shape[1] if features is None else features)
    centres, scales = _centres_and_scales(rows)
    if fixed is not None:
        scales = np.where(fixed, 1.0, scales)
    units = tuple(centres.tolist()), tuple(scales.tolist())
    seen = Scaled(Linear(), *units).mapped(rows)
    edges = tuple(seen.min(axis=0).tolist()), tuple(seen.max(axis=0).tolist())
    smooth = Gaussian(math.sqrt(d)) + 0.1 / d * Linear()
    rough = Within(Laplacian(d / 1.5), *edges) + 0.1 / d * Linear()
    return [Scaled(shape, *units) + 1.0 for shape in (smooth, 1 / d * Linear(), rough)]


def default_kernels(rows: Rows, fixed: Any = None, features: int | None = None) -> dict[str, Kernel]:
    """The default kernels by name, in the units of these rows: smooth, linear, rough.

    Mixed rows: smooth and rough are means over kinds, k(numbers) / 2 + cosine(text) / 2 + 1, so that neither drowns
    the other; linear is on the numbers. Besides there is the rough one on numbers alone, and the cosine alone.

    >>> list(default_kernels(np.eye(2)))
    ['smooth', 'linear', 'rough']
    """
    numbers = rows.dense if isinstance(rows, MixedRows) else rows
    smooth, linear, rough = standardised_kernels(numbers, fixed, features)
    if not isinstance(rows, MixedRows):
        return {"smooth": smooth, "linear": linear, "rough": rough}
    words = OnText(Cosine())
    return {
        "smooth": 0.5 * OnNumbers(_without_intercept(smooth)) + 0.5 * words + 1.0,
        "linear": OnNumbers(_without_intercept(linear)) + 1.0,
        "rough": 0.5 * OnNumbers(_without_intercept(rough)) + 0.5 * words + 1.0,
        "numbers": OnNumbers(_without_intercept(rough)) + 1.0,
        "text": words + 1.0,
    }


def _without_intercept(kernel: Any) -> Kernel:
    left: Kernel = kernel.left
    return left


def _centres_and_scales(rows: Array) -> tuple[Array, Array]:
    """The mean and the standard deviation of each column, or 1e-12 of its size where that is larger."""
    size = np.abs(rows).max(axis=0)
    size[size == 0] = 1.0
    rows = rows / size  # neither squares nor sums overflow, nor vanish
    moved = rows - rows[0]  # from the first row: a large offset costs no digits
    centres = size * (rows[0] + moved.mean(axis=0))
    scales = size * np.maximum(moved.std(axis=0), 1e-12)
    return centres, np.maximum(scales, np.finfo(float).tiny)


def default_kernel(rows: Rows) -> Kernel:
    """Gaussian(sqrt(d)) + 1 for rows of d numbers, Cosine() + 1 for sparse rows, the mean of both for mixed ones.

    What feature maps without a kernel have, and learners until they know the units of dense rows
    (`standardised_kernels` from the fourth row on). sqrt(d) is about the size of a row whose features are
    standardised; sparse rows are mostly bags of words.
    The constant is an intercept: what all labels have in common, for inputs far from all that was seen.

    >>> default_kernel(np.zeros((1, 4)))
    Sum(Gaussian(lengthscale=2.0), Constant(value=1.0))
    """
    if isinstance(rows, list):
        raise ValueError("there is no default kernel for objects: give one, such as kernels.Pairwise(function).")
    if isinstance(rows, MixedRows):
        numbers = Gaussian(math.sqrt(max(1, rows.dense.shape[1])))
        return 0.5 * OnNumbers(numbers) + 0.5 * OnText(Cosine()) + 1.0
    return Cosine() + 1.0 if is_sparse(rows) else Gaussian(math.sqrt(max(1, rows.shape[1]))) + 1.0

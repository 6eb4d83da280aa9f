"""Kernels on rows that are mapped feature by feature: to units of their own, and cut off at their edges."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel, as_rows
from oskaar.kernels.kept import KeptRows, Over
from oskaar.requirements import require_positive
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

    maps = True

    def over(self, kept: KeptRows) -> Over:
        mapped = kept.mapped(self.mapping, self.mapped)
        inner = self.kernel.over(mapped)
        return Over(mapped.through(inner.values), mapped.through(inner.diag))

    def diag(self, X: Rows) -> Array:
        return self.kernel.diag(self.mapped(X))

    @property
    @abstractmethod
    def width(self) -> int:
        """How many features a row has."""

    @property
    def mapping(self) -> Hashable:
        """Equal for kernels that map rows alike."""
        return id(self)

    @cached_property
    @abstractmethod
    def _numbers(self) -> tuple[Any, ...]:
        """The parameters as arrays; not part of the state."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_numbers"}

    @abstractmethod
    def mapped(self, X: Rows) -> Array:
        """The rows that the kernel is on."""

    def innermost(self, X: Rows) -> Array:
        """The rows that the kernel is on at last.

        >>> from oskaar.kernels import Linear
        >>> Within(Scaled(Linear(), (1.0,), (2.0,)), (0.0,), (9.0,)).innermost([[5.0], [99.0]])
        array([[2.],
               [4.]])
        """
        rows: Array = self.kernel.innermost(self.mapped(X))
        return rows

    def _matrix(self, X: Rows) -> Array:
        """Dense rows of as many features as there are parameters."""
        rows = as_rows(X)
        dense: Array = rows if type(rows) is np.ndarray else rows.toarray()
        if dense.shape[1] != len(self._numbers[0]):
            raise ValueError(
                f"rows must have {self.width} features, as {type(self).__name__} has, got {dense.shape[1]}."
            )
        return dense

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

    >>> from oskaar.kernels import Linear
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

    @property
    def mapping(self) -> Hashable:
        return Scaled, self.centres, self.scales

    @cached_property
    def _numbers(self) -> tuple[Array, ...]:
        return np.array(self.centres), np.array(self.scales)

    def mapped(self, X: Rows) -> Array:
        centres, scales = self._numbers
        with np.errstate(over="ignore"):  # what is infinitely far is cut off too
            units: Array = self._matrix(X) - centres
            units /= scales
        np.maximum(units, -LIMIT, out=units)
        return np.minimum(units, LIMIT, out=units)


@saved("kernel/within")
@dataclass(frozen=True, repr=False)
class Within(Mapped):
    """Another kernel on rows whose features are cut off at these lowest and highest values: beyond, nothing changes.

    >>> from oskaar.kernels import Linear
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

    @cached_property
    def _numbers(self) -> tuple[Array, ...]:
        return np.array(self.lows), np.array(self.highs)

    def mapped(self, X: Rows) -> Array:
        lows, highs = self._numbers
        cut: Array = np.minimum(np.maximum(self._matrix(X), lows), highs)
        return cut

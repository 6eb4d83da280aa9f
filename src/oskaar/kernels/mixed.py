"""Kernels on one part of mixed rows: the numbers, or the sparse entries of texts and many-valued categories."""

from __future__ import annotations

from dataclasses import dataclass

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel
from oskaar.rows import dense_part, sparse_part
from oskaar.saved import saved


@saved("kernel/on-numbers")
@dataclass(frozen=True)
class OnNumbers(Kernel):
    """Another kernel on the dense part of rows."""

    kernel: Kernel

    @property
    def kappa(self) -> float:
        return self.kernel.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.kernel(dense_part(X), dense_part(Y))

    def diag(self, X: Rows) -> Array:
        return self.kernel.diag(dense_part(X))


@saved("kernel/on-text")
@dataclass(frozen=True)
class OnText(Kernel):
    """Another kernel on the sparse part of rows."""

    kernel: Kernel

    @property
    def kappa(self) -> float:
        return self.kernel.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.kernel(sparse_part(X), sparse_part(Y))

    def diag(self, X: Rows) -> Array:
        return self.kernel.diag(sparse_part(X))

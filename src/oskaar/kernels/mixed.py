"""Kernels on one part of mixed rows: the numbers, or the sparse entries of texts and many-valued categories."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from oskaar.arrays import Array, Rows
from oskaar.kernels.base import Kernel
from oskaar.rows import dense_part, sparse_part
from oskaar.saved import saved


@dataclass(frozen=True)
class _OnPart(Kernel):
    """Another kernel on one part of rows."""

    kernel: Kernel

    @staticmethod
    @abstractmethod
    def part(X: Rows) -> Any:
        """The part of the rows."""

    @property
    def kappa(self) -> float:
        return self.kernel.kappa

    def __call__(self, X: Rows, Y: Rows) -> Array:
        return self.kernel(self.part(X), self.part(Y))

    def diag(self, X: Rows) -> Array:
        return self.kernel.diag(self.part(X))


@saved("kernel/on-numbers")
class OnNumbers(_OnPart):
    """Another kernel on the dense part of rows."""

    part = staticmethod(dense_part)


@saved("kernel/on-text")
class OnText(_OnPart):
    """Another kernel on the sparse part of rows."""

    part = staticmethod(sparse_part)

r"""Sums of features over many rows, and the factor of a regression on them, in panels of columns.

    A = lam I + Z^T Z = R^T R,   Theta = R^-T Z^T Phi                                                 (1)

A panel of R needs those before it only: with columns J, and panels I before them,

    R_IJ = R_II^-T (A_IJ - sum_{K<I} R_KI^T R_KJ),   R_JJ^T R_JJ = A_JJ - sum_{K<J} R_KJ^T R_KJ       (2)

So no step is large, and none copies what is there already. Both are values: what comes next is written beyond what
was known, in memory that is shared. Equivalent to scipy.linalg.cholesky of the whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from oskaar.arrays import Array
from oskaar.saved import require, require_count, require_floats, saved

WIDTH = 128
"""Columns of a panel."""


@saved("factor/panel-sums")
@dataclass(frozen=True)
class PanelSums:
    """Z^T Z, its lower triangle in panels of rows, and Z^T Phi.

    >>> sums = PanelSums().with_rows(np.array([[2.0]]), np.array([[3.0]]))
    >>> sums = sums.with_rows(np.array([[1.0, 5.0]]), np.array([[1.0]]))    # the new feature was 0 before
    >>> sums.panels[0].tolist(), sums.targets.tolist()
    ([[5.0, 5.0], [5.0, 25.0]], [[7.0], [5.0]])
    """

    panels: tuple[Array, ...] = ()
    targets: Array = field(default_factory=lambda: np.zeros((0, 0)))

    def with_rows(self, Z: Array, Phi: Array) -> PanelSums:
        """With these rows too."""
        panels = [Z[:, lo:hi].T @ Z[:, :hi] for lo, hi in _spans(Z.shape[1])]
        targets = Z.T @ Phi
        for new, old in ((targets, self.targets), *zip(panels, self.panels, strict=False)):
            new[: old.shape[0], : old.shape[1]] += old
        return PanelSums(tuple(panels), targets)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_floats(*self.panels, self.targets)
        shapes = [(hi - lo, hi) for lo, hi in _spans(len(self.targets))]
        require([panel.shape for panel in self.panels] == shapes, "shapes must fit")


@saved("factor/panel-factor")
@dataclass(frozen=True)
class PanelFactor:
    """[R, Theta, 0] (1) in Fortran order: the first `done` columns of R, and as many rows of Theta, are there.

    >>> sums = PanelSums().with_rows(np.array([[2.0, 1.0]]), np.array([[3.0]]))
    >>> factor = PanelFactor.of(sums).advanced(sums, lam=5.0)
    >>> factor.done, (factor.S[:, :2].T @ factor.S[:, :3]).round(12).tolist()
    (2, [[9.0, 2.0, 6.0], [2.0, 6.0, 3.0]])
    """

    S: Array
    done: int = 0

    @classmethod
    def of(cls, sums: PanelSums) -> PanelFactor:
        """Of which nothing is there yet."""
        D, p = sums.targets.shape
        return cls(np.zeros((D, D + 2 * p), order="F"))

    @property
    def left(self) -> int:
        """How many columns are not there yet."""
        return len(self.S) - self.done

    def advanced(self, sums: PanelSums, lam: float) -> PanelFactor:
        """With the next panel (2)."""
        S, (D, p), lo = self.S, sums.targets.shape, self.done
        Y = sums.panels[lo // WIDTH].copy()  # its rows are columns of A, and then of R, but for the last triangle
        hi = Y.shape[1]
        Y[np.arange(hi - lo), np.arange(lo, hi)] += lam
        for i, j in _spans(lo):
            Y[:, i:j] -= Y[:, :i] @ S[:i, i:j]
            Y[:, i:j] = dtrsm(1.0, S[i:j, i:j], Y[:, i:j].T, trans_a=1).T
        R, failed = dpotrf(Y[:, lo:] - Y[:, :lo] @ Y[:, :lo].T)
        if failed:
            raise ValueError("features must be finite, got inf or nan.")
        S[:lo, lo:hi], S[lo:hi, lo:hi] = Y[:, :lo].T, R
        if p:
            S[lo:hi, D : D + p] = dtrsm(1.0, R, sums.targets[lo:hi] - Y[:, :lo] @ S[:lo, D : D + p], trans_a=1)
        return PanelFactor(S, hi)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_floats(self.S)
        D, columns = self.S.shape
        require(columns >= D and (columns - D) % 2 == 0, "shapes must fit")
        require(require_count(self.done, "columns") in (0, *(hi for _, hi in _spans(D))), "whole panels are done")


def costs(columns: int, done: int = 0) -> list[int]:
    """What each panel of a factor costs, about, in units of 2^23 multiplications, without those that are done.

    >>> costs(512), costs(512, done=384)
    ([1, 1, 2, 4], [4])
    """
    return [max(1, hi * hi // 2**16) for lo, hi in _spans(columns) if lo >= done]


def _spans(columns: int) -> list[tuple[int, int]]:
    """Where each panel starts and ends."""
    return [(lo, min(lo + WIDTH, columns)) for lo in range(0, columns, WIDTH)]

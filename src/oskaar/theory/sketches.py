r"""The effective dimension of a stream too long for its Gram matrix, with an error bar that always holds.

A row joins the dictionary when less than a `tolerance` of it can be written with the rows kept: its features are
z = L^-1 k(S, x), S the dictionary and L L^T = k(S, S), and what is left is r^2 = k(x, x) - |z|^2. The sketch is
A = sum_t z_t z_t^T, whose d_eff replaces that of C = sum_t k(x_t, .) (x) k(x_t, .):

    |d_eff(C) - d_eff(A)|  <=  |C - A|_1 / lam  <=  sum_t (2 |z_t| r_t + r_t^2) / lam                      (1)

Proof. C (C + lam)^-1 - A (A + lam)^-1 = lam (A + lam)^-1 (C - A) (C + lam)^-1, and each inverse is at most 1 / lam.
A row is p + q with p its part in the span of S, |p| = |z|, |q| = r, and p p^T - (p + q)(p + q)^T has trace norm
at most 2 |p| |q| + |q|^2. The features stay valid as S grows, because L grows by rows.
Both d_eff lie between 0 and the number of rows, so the bar is cut there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from oskaar.arrays import Array
from oskaar.requirements import require_numbers
from oskaar.theory.dimension import effective_dimension


@dataclass(frozen=True)
class Estimate:
    """A number known to lie in [low, high]."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Mark:
    """Where a sketch stood after some rows."""

    A: Array
    error: float
    rows: int


class DimensionSketch:
    """d_eff(lam) of all rows so far, or of those since a mark, in memory that follows the dictionary.

    kernel: any function of two blocks of rows, `kernel(X, Y) -> (n, m)`. tolerance: the least share of k(x, x)
    that brings a row into the dictionary. most: the largest dictionary; then the bar widens in its place.
    A row costs O(m^2) for m rows kept.

    >>> sketch = DimensionSketch(lambda X, Y: X @ Y.T, lam=1.0)
    >>> for x in ([1.0, 0.0], [0.0, 1.0], [1.0, 0.0]):
    ...     sketch.add(np.array([x]))
    >>> found = sketch.estimate()
    >>> round(found.value, 12), found.high - found.low                     # 2/3 + 1/2
    (1.166666666667, 0.0)
    """

    def __init__(
        self, kernel: Callable[[Any, Any], Array], lam: float, tolerance: float = 1e-6, most: int = 500
    ) -> None:
        require_numbers(lam=lam, above=True)
        require_numbers(tolerance=tolerance)
        require_numbers(most=most, least=1)
        self.kernel, self.lam, self.tolerance, self.most = kernel, lam, tolerance, most
        self.dictionary: Any = None
        self.L = np.zeros((0, 0))
        self.A = np.zeros((0, 0))
        self.error = 0.0
        self.rows = 0

    def add(self, X: Array) -> None:
        """See rows (n, d), in turn."""
        for i in range(len(X)):
            self._add_row(X[i : i + 1])

    def mark(self) -> Mark:
        """The present, for `since`."""
        return Mark(self.A.copy(), self.error, self.rows)

    def estimate(self) -> Estimate:
        """d_eff(lam) of all rows so far."""
        return self.since(Mark(np.zeros((0, 0)), 0.0, 0))

    def since(self, mark: Mark) -> Estimate:
        """d_eff(lam) of the rows after a mark: the interval version."""
        m, rows = len(mark.A), self.rows - mark.rows
        A = self.A.copy()
        A[:m, :m] -= mark.A
        value, bar = effective_dimension(A, self.lam), (self.error - mark.error) / self.lam  # (1)
        return Estimate(value, max(0.0, value - bar), min(float(rows), value + bar))

    def _add_row(self, x: Array) -> None:
        kxx = float(self.kernel(x, x)[0, 0])
        b = np.zeros(0) if self.dictionary is None else self.kernel(self.dictionary, x)[:, 0]
        z = solve_triangular(self.L, b, lower=True) if len(b) else b
        left = max(0.0, kxx - float(z @ z))
        if left > self.tolerance * kxx and len(b) < self.most:
            self._grow(x, z, np.sqrt(left))
            z, left = np.append(z, np.sqrt(left)), 0.0
        self.A += np.outer(z, z)
        self.error += 2 * float(np.linalg.norm(z)) * left**0.5 + left  # (1)
        self.rows += 1

    def _grow(self, x: Array, z: Array, root: float) -> None:
        self.dictionary = x if self.dictionary is None else np.concatenate([self.dictionary, x])
        self.L = np.block([[self.L, np.zeros((len(z), 1))], [z[None, :], np.array([[root]])]])
        self.A = np.pad(self.A, (0, 1))

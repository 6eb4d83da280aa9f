r"""Ridge regression with a diagonal covariance, as in AROW (Crammer, Kulesza and Dredze 2009): for very many columns.

Weights have the prior mean 0 and variance 1, and the noise has variance lam. A row x with target phi brings

    s = lam + sum_j v_j x_j^2,    w_j <- w_j + (v_j x_j / s) (phi - <w, x>),    v_j <- v_j - (v_j x_j)^2 / s     (1)

which is ridge regression when covariances between columns are set to 0 after each row. A row costs as much as it has
columns, and there is no dictionary that could be full.
Equivalent to tests/naive.py::by_column.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.saved import require, require_floats, saved

FIRST = 256
"""Columns that there is room for at first."""


@saved("solver/diagonal")
class DiagonalSolver:
    """Weights (L, m, p) and variances (L, m) of m columns for each of L lams.

    >>> solver = DiagonalSolver([1.0])
    >>> solver.update([(np.array([2]), np.array([1.0]))], np.array([[3.0]]))
    >>> solver.means([(np.array([2]), np.array([2.0])), (np.array([9]), np.array([1.0]))], 1)[0]
    array([[3.],
           [0.]])
    """

    def __init__(self, lams: list[float]) -> None:
        self.lams = np.array(lams, dtype=float)
        self.V = np.ones((len(lams), 0))
        self.W = np.zeros((len(lams), 0, 0))

    def growth(self, columns: int, targets: int) -> int:
        """The bytes that room for so many columns and targets takes."""
        m, p = self._room(columns, targets)
        return max(8 * len(self.lams) * m * (p + 1) - self.V.nbytes - self.W.nbytes, 0)

    def means(self, rows: list[tuple[Any, Array]], p: int) -> Array:
        """<w, x> (L, n, p) of rows [(columns, values)]."""
        G, (_, m, q) = np.zeros((len(self.lams), len(rows), p)), self.W.shape
        q = min(p, q)
        for i, (columns, values) in enumerate(rows):
            known = columns < m
            G[:, i, :q] = np.einsum("j,ljp->lp", values[known], self.W[:, columns[known], :q])
        return G

    def update(self, rows: list[tuple[Any, Array]], H: Array) -> None:
        """Learn rows with targets H (n, p), one after the other."""
        self._reserve(max((int(columns.max(initial=-1)) + 1 for columns, _ in rows), default=0), H.shape[1])
        for (columns, x), h in zip(rows, H, strict=True):
            W, vx = self.W[:, columns, : len(h)], self.V[:, columns] * x
            s = self.lams + vx @ x
            self.W[:, columns, : len(h)] = W + (vx / s[:, None])[..., None] * (h - x @ W)[:, None]  # (1)
            self.V[:, columns] -= vx**2 / s[:, None]

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        require_floats(self.lams, self.V, self.W)
        require(self.lams.ndim == 1 and bool((self.lams > 0).all()), "each lam must be > 0")
        require(self.W.ndim == 3 and self.V.shape == self.W.shape[:2], "a variance for each weight")
        require(len(self.lams) == len(self.V) and bool((self.V >= 0).all()), "variances must be >= 0 for each lam")

    def _room(self, columns: int, targets: int) -> tuple[int, int]:
        """Columns and targets that there is room for when so many are asked for: columns are doubled."""
        _, m, p = self.W.shape
        while m < columns:
            m = max(FIRST, 2 * m)
        return m, max(p, targets)

    def _reserve(self, columns: int, targets: int) -> None:
        (L, m, p), room = self.W.shape, self._room(columns, targets)
        if (m, p) != room:
            V, W = np.ones((L, room[0])), np.zeros((L, *room))
            V[:, :m], W[:, :m, :p] = self.V, self.W
            self.V, self.W = V, W

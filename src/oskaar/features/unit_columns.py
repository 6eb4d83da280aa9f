r"""The columns of sparse rows: features of the cosine kernel with an intercept, for rows of few columns.

    z(x) = (1, x / |x|),    <z(x), z(x')> = cos(x, x') + 1

Exactly, as long as there are no more columns than `most`; columns after these count in |x| alone.
"""

from __future__ import annotations

import copy

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.features.base import FeatureMap
from oskaar.features.rows import as_matrix, unit_rows
from oskaar.rows import is_sparse
from oskaar.saved import saved


@saved("features/unit-columns")
class UnitColumns(FeatureMap):
    """An intercept, then the first columns of a row divided by its norm; a column is a feature once it is seen.

    >>> z = UnitColumns(most=2)
    >>> Z, z = z.seen(np.array([[3.0, 4.0]]))
    >>> Z, z.dim, z(np.array([[0.0, 0.0]]))
    (array([[1. , 0.6, 0.8]]), 3, array([[1., 0., 0.]]))
    """

    kappa = 2**0.5

    def __init__(self, most: int) -> None:
        self.most = most
        self.columns = 0

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.most + 1

    @property
    def full(self) -> bool:
        return self.columns >= self.most

    def __call__(self, X: Rows) -> Array:
        X = unit_rows(as_matrix(X, "UnitColumns"))
        columns = max(self.columns, min(self.most, X.shape[1]))
        Z = np.zeros((X.shape[0], 1 + columns))
        Z[:, 0] = 1.0
        here = X[:, :columns]
        Z[:, 1 : 1 + here.shape[1]] = here.toarray() if is_sparse(here) else here
        return Z

    def seen(self, X: Rows) -> tuple[Array, FeatureMap]:
        Z = self(X)
        if Z.shape[1] == 1 + self.columns or not len(Z):
            return Z, self
        wider = copy.copy(self)
        wider.columns = Z.shape[1] - 1
        return Z, wider

    def each(self, X: Rows) -> Array:
        """The rows, which do not depend on those before them."""
        return self(X)

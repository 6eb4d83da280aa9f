r"""Hashed features (Weinberger et al. 2009): any number of columns in a fixed number of features.

    z_b(x) = sum_{j: h(j) = b} s(j) x_j,    h(j) a bucket and s(j) = +-1, both hashes of the column j          (1)

Over the seeds E <z(x), z(x')> = <x, x'>: two columns in one bucket meet with random signs. The error is about
|x| |x'| sqrt(2 / dim).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows, mix
from oskaar.features.base import FeatureMap
from oskaar.features.rows import as_matrix, unit_rows
from oskaar.requirements import require_whole
from oskaar.rows import is_sparse
from oskaar.saved import saved


@saved("features/hashing")
class Hashing(FeatureMap):
    """Columns of dense, sparse or dict rows, hashed with signs into buckets, then 1 for an intercept.

    normalise: rows are divided by their norm first: close to kernels.Cosine() rather than kernels.Linear().
    dim counts the intercept. Columns are hashed by their number: names of dict rows are numbered as they
    first appear in the stream, and only the inputs remember them, the map holds nothing. kappa is infinite:
    columns that collide may add up.

    >>> z = Hashing(dim=9, seed=0, normalise=False)
    >>> z(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 5.0]])).shape
    (2, 9)
    """

    def __init__(self, dim: int, seed: int = 0, intercept: bool = True, normalise: bool = True) -> None:
        self.intercept, self.normalise = bool(intercept), bool(normalise)
        self.dim = require_whole("dim", dim, least=1 + self.intercept)
        self.seed = require_whole("seed", seed, least=0)
        self._start = int(mix(np.array([self.seed % 2**64], dtype=np.uint64))[0])
        if self.dim >= 2**31:
            raise ValueError(f"dim must be below 2^31, got {dim}.")

    def __call__(self, X: Rows) -> Array:
        X = as_matrix(X, "Hashing")
        n, X = X.shape[0], unit_rows(X) if self.normalise else X
        if is_sparse(X):
            entries = np.diff(X.indptr)
            buckets, signs = self._hashed(X.indices)
            values, rows = X.data * signs, np.repeat(np.arange(n), entries)
        else:
            buckets, signs = self._hashed(np.arange(X.shape[1]))
            values, rows = X * signs, np.arange(n)[:, None]
        places = (rows * self.dim + buckets).ravel()
        sums = np.bincount(places, weights=values.ravel(), minlength=n * self.dim)  # (1)
        Z: Array = sums.astype(float, copy=False).reshape(n, self.dim)  # without any entries they are integers
        Z[:, self.dim - self.intercept :] = 1.0
        return Z

    def _hashed(self, columns: Any) -> tuple[Any, Array]:
        """The bucket and the sign of each column."""
        bits = mix(columns.astype(np.uint64) ^ np.uint64(self._start))
        buckets = (bits >> np.uint64(32)) * np.uint64(self.dim - self.intercept) >> np.uint64(32)
        return buckets.astype(np.int64), 1.0 - 2.0 * (bits & np.uint64(1)).astype(float)

    def __repr__(self) -> str:
        settings = f"dim={self.dim}, seed={self.seed}, intercept={self.intercept}, normalise={self.normalise}"
        return f"Hashing({settings})"

r"""Linear features: the row itself, as it is or divided by its norm, with or without an intercept, or hashed.

<z(x), z(x')> is kernels.Linear() or, for rows divided by their norms, kernels.Cosine(), exactly; the intercept
adds 1. Hashing (Weinberger et al. 2009) puts any number of columns into a fixed number of features,

    z_b(x) = sum_{j: h(j) = b} s(j) x_j,    h(j) a bucket and s(j) = +-1, both hashes of the column j          (1)

Over the seeds E <z(x), z(x')> = <x, x'>: two columns in one bucket meet with random signs. The error is about
|x| |x'| sqrt(2 / dim).
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from oskaar import kernels
from oskaar.arrays import Array, Rows, mix
from oskaar.features.base import FeatureMap
from oskaar.features.rows import as_matrix, require_width, to_dense, unit_rows
from oskaar.requirements import require_whole
from oskaar.rows import dense_part, is_sparse
from oskaar.saved import saved


@saved("features/linear")
class LinearMap(FeatureMap):
    """The row itself, then 1: exact features of kernels.Linear() + 1, or of Cosine() + 1 where normalised.

    width: how many columns there are; None: as many as the first rows have. Dict rows bring new columns as
    names appear: declare a width that has room for them, or use Hashing. The features are dense.

    >>> z = LinearMap(width=3)
    >>> z(np.array([[1.0, 2.0, 3.0]])), z.dim
    (array([[1., 2., 3., 1.]]), 4)
    >>> LinearMap(width=2, intercept=False, normalise=True)(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    def __init__(self, width: int | None = None, intercept: bool = True, normalise: bool = False) -> None:
        self.width = None if width is None else require_whole("width", width)
        self.intercept, self.normalise = bool(intercept), bool(normalise)
        self._first = False

    @property
    def dim(self) -> int:  # type: ignore[override]
        if self.width is None:
            raise ValueError(
                f"the dim of {self!r} is not known before its first row: declare it, "
                f"features.{type(self).__name__}(width=...)."
            )
        return self.width + self.intercept

    fixed = True

    @property
    def kappa(self) -> float:
        """1, or sqrt(2) with an intercept, for normalised rows; else infinite."""
        return math.sqrt(1.0 + self.intercept) if self.normalise else math.inf

    def __call__(self, X: Rows) -> Array:
        X = as_matrix(X, type(self).__name__)
        width = X.shape[1] if self.width is None else self.width
        if self._first and is_sparse(X) and X.shape[1] > width:
            raise ValueError(
                f"rows have {X.shape[1]} columns, the first had {width}: where names appear over time, declare "
                f"features.{type(self).__name__}(width=...), or use features.Hashing."
            )
        require_width(X, self.width, type(self).__name__)
        if self.normalise:
            X = unit_rows(X)
        Z = np.empty((X.shape[0], width + self.intercept))
        Z[:, :width] = to_dense(X, width)
        Z[:, width:] = 1.0
        return Z

    def seen(self, X: Rows) -> tuple[Array, FeatureMap]:
        Z = self(X)
        if self.width is not None or len(Z) == 0 or X.shape[1] == 0:
            return Z, self
        settled = copy.copy(self)
        settled.width, settled._first = int(X.shape[1]), True
        return Z, settled

    def __repr__(self) -> str:
        return f"LinearMap(width={self.width}, intercept={self.intercept}, normalise={self.normalise})"


@saved("features/identity")
class Identity(LinearMap):
    """The row itself and nothing else: exact features of kernels.Linear().

    >>> Identity()(np.array([[1.0, 2.0]]))
    array([[1., 2.]])
    """

    def __init__(self, width: int | None = None) -> None:
        super().__init__(width, intercept=False)

    def __repr__(self) -> str:
        return f"Identity(width={self.width})"


@saved("features/standardised-linear")
class StandardisedLinear(FeatureMap):
    """(u, sqrt(d)) / sqrt(d), u in units of its spread: exact features of the linear one of the default kernels.

    <z(x), z(x')> = <u, u'> / d + 1. With few features d a regression on these costs O(d^2) a round, where one on
    kernel values costs O(t^2).

    >>> StandardisedLinear(kernels.Scaled(kernels.Linear(), (1.0,), (2.0,)))(np.array([[5.0]]))
    array([[2., 1.]])
    """

    full = True
    _last: tuple[Any, Any] = (None, None)
    """Rows, and their features: several regressions ask for those of the same row. Not part of the state."""

    def __init__(self, units: kernels.Scaled, features: int | None = None) -> None:
        """features: d, where it is not the number of columns."""
        self.units = units
        self.features = len(units.scales) if features is None else features

    @property
    def dim(self) -> int:  # type: ignore[override]
        return len(self.units.scales) + 1

    def __call__(self, X: Rows) -> Array:
        rows, Z = self._last
        if X is not rows:
            U = self.units.mapped(dense_part(X))
            Z = np.ones((len(U), self.dim))
            Z[:, :-1] = U / max(1, self.features) ** 0.5
            Z.setflags(write=False)
            self._last = X, Z
        features: Array = Z
        return features

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_last"}


@saved("features/unit-columns")
class UnitColumns(FeatureMap):
    """z(x) = (1, x / |x|) on the first columns of sparse rows; a column is a feature once it is seen.

    <z(x), z(x')> = cos(x, x') + 1, exactly, as long as there are no more columns than `most`; columns after these
    count in |x| alone.

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

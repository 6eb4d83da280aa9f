r"""Online standardisation in front of another map.

Row t is scaled by what rows 1..t say: its own x is known when it has to be predicted, later rows are not.

    dense rows:           (x_t - mean_t) / deviation_t in each column, 0 where a column has not varied yet     (1)
    sparse and dict rows: x_t / sqrt(mean of squares of rows 1..t) in each column, an absent entry being 0     (2)

Sparse rows are never centred: they would not be sparse any more. Running sums of squares are only ever added to
(Welford 1962), and dense columns are measured from their first value: no digits are lost, however far from 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows, fit_columns
from oskaar.features.base import FeatureMap
from oskaar.features.rows import as_matrix
from oskaar.rows import is_sparse
from oskaar.saved import saved


@saved("features/moments")
@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and spread of the columns of dense rows; `mean` is measured from `origin`, the first row."""

    n: int
    origin: Array
    mean: Array
    squares: Array
    """Sum of squared deviations from the mean."""

    @staticmethod
    def start(X: Array) -> Moments:
        """None seen; measured from the first row of X."""
        zero = np.zeros(X.shape[1])
        return Moments(0, X[0].copy(), zero, zero)

    def scaled(self, X: Array) -> Array:
        """(1) with what is known."""
        _require_columns(X, self.origin)
        return _ratio(X - self.origin - self.mean, np.sqrt(self.squares / max(1, self.n)))

    def each(self, X: Array) -> Array:
        """(1) for each row as if it came next."""
        _require_columns(X, self.origin)
        Y, count = X - self.origin, self.n + 1
        squares = self.squares + (Y - self.mean) ** 2 * ((count - 1) / count)
        return _ratio(Y - (self.mean + (Y - self.mean) / count), np.sqrt(squares / count))

    def seen(self, X: Array) -> tuple[Array, Moments]:
        """(1) for each row in turn."""
        _require_columns(X, self.origin)
        Y = X - self.origin
        counts = self.n + np.arange(1, len(X) + 1)[:, None]
        means = self.mean + np.cumsum(Y - self.mean, axis=0) / counts
        before = np.concatenate([self.mean[None, :], means[:-1]])
        squares = self.squares + np.cumsum((Y - before) ** 2 * ((counts - 1) / counts), axis=0)
        after = Moments(self.n + len(X), self.origin, means[-1].copy(), squares[-1].copy())
        return _ratio(Y - means, np.sqrt(squares / counts)), after


@saved("features/squares")
@dataclass(frozen=True, eq=False)
class Squares:
    """Sums of squares of the columns of sparse rows, of which there may be more and more."""

    n: int
    sums: Array

    def scaled(self, X: Any) -> Any:
        """(2) with what is known."""
        size = np.sqrt(fit_columns(self.sums, max(X.shape[1], len(self.sums))) / max(1, self.n))
        return _with_data(X, _ratio(X.data, size[X.indices]))

    def each(self, X: Any) -> Any:
        """(2) for each row as if it came next."""
        sums = fit_columns(self.sums, max(X.shape[1], len(self.sums)))[X.indices] + X.data**2
        return _with_data(X, _ratio(X.data, np.sqrt(sums / (self.n + 1))))

    def seen(self, X: Any) -> tuple[Any, Squares]:
        """(2) for each row in turn."""
        sums = fit_columns(self.sums, max(X.shape[1], len(self.sums)))
        order = np.argsort(X.indices, kind="stable")  # by column, and by row within a column
        columns = X.indices[order]
        totals = _running_sums(X.data[order] ** 2, columns) + sums[columns]
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[order]
        data = np.empty(len(order))
        data[order] = _ratio(X.data[order], np.sqrt(totals / (self.n + 1 + rows)))
        after = sums.copy()
        last = np.append(columns[1:] != columns[:-1], True)[: len(columns)]
        after[columns[last]] = totals[last]
        return _with_data(X, data), Squares(self.n + X.shape[0], after)


@saved("features/standardised")
class Standardised(FeatureMap):
    """Standardise rows online, then apply another map: `Standardised(RandomFourier(None, 128))`.

    Dense rows are centred and divided by their deviation, column by column; sparse and dict rows are only divided
    by the root of their mean square, never centred. What the inner map learns, it learns from scaled rows.

    >>> from oskaar.features import Identity
    >>> Z, after = Standardised(Identity(width=1)).seen(np.array([[1.0], [3.0], [2.0]]))
    >>> Z.ravel(), after(np.array([[3.0]])).round(3)
    (array([0., 1., 0.]), array([[1.225]]))
    """

    def __init__(self, map: FeatureMap) -> None:
        if not isinstance(map, FeatureMap):
            raise TypeError(
                f"Standardised takes a feature map, got {map!r}: such as features.RandomFourier(None, 128)."
            )
        if map.objects:
            raise TypeError(f"Standardised scales rows of numbers, and {map!r} takes objects.")
        if getattr(map, "reproject", False):
            raise ValueError("past rows cannot be projected again once they are scaled: use Nystrom alone.")
        self.map = map
        self.renews = map.renews
        self._state: Moments | Squares | None = None

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.map.dim

    @property
    def kappa(self) -> float:
        return self.map.kappa

    @property
    def full(self) -> bool:
        return self.map.full

    @property
    def nbytes(self) -> int:
        held = vars(self._state).values() if self._state is not None else ()
        return self.map.nbytes + sum(value.nbytes for value in held if isinstance(value, np.ndarray))

    def __call__(self, X: Rows) -> Array:
        """The inner map of rows scaled with what is known; all columns are 0 where nothing is."""
        X = as_matrix(X, "Standardised")
        return self.map(self._state_for(X).scaled(X) if X.shape[0] else X)

    def seen(self, X: Rows) -> tuple[Array, FeatureMap]:
        """Row i scaled with what rows 0..i and those before them say, through `seen` of the inner map."""
        X = as_matrix(X, "Standardised")
        if X.shape[0] == 0:
            return self.map(X), self
        scaled, state = self._state_for(X).seen(X)
        Z, map = self.map.seen(scaled)
        return Z, self._next(map, state)

    def each(self, X: Rows) -> Array:
        """Each row scaled with what it and the rows seen say, through `each` of the inner map."""
        X = as_matrix(X, "Standardised")
        return self.map.each(self._state_for(X).each(X) if X.shape[0] else X)

    def fresh(self, recent: Rows | None = None) -> FeatureMap:
        """Nothing known but recent rows, neither here nor in the inner map."""
        if recent is None or recent.shape[0] == 0:
            return Standardised(self.map.fresh(recent))
        X = as_matrix(recent, "Standardised")
        scaled, state = Standardised(self.map)._state_for(X).seen(X)
        return self._next(self.map.fresh(scaled), state)

    def _state_for(self, X: Any) -> Any:
        if self._state is None:
            return Squares(0, np.zeros(0)) if is_sparse(X) else Moments.start(X)
        if is_sparse(X) != isinstance(self._state, Squares):
            kinds = ("sparse", "dense") if is_sparse(X) else ("dense", "sparse")
            raise ValueError(f"rows must stay of one kind, got {kinds[0]} ones after {kinds[1]} ones.")
        return self._state

    def _next(self, map: FeatureMap, state: Moments | Squares) -> Standardised:
        after = Standardised(map)
        after._state = state
        return after

    def __repr__(self) -> str:
        return f"Standardised({self.map!r})"


def _require_columns(X: Array, origin: Array) -> None:
    if X.shape[1] != len(origin):
        raise ValueError(f"features.Standardised has seen rows of {len(origin)} columns, got {X.shape[1]}.")


def _ratio(values: Array, size: Array) -> Array:
    """values / size, 0 where the size is 0."""
    return np.divide(values, size, out=np.zeros_like(values), where=size > 0)


def _with_data(X: Any, data: Array) -> Any:
    from scipy.sparse import csr_array

    return csr_array((data, X.indices, X.indptr), shape=X.shape)


def _running_sums(values: Array, groups: Any) -> Array:
    """Sums from the start of each group of equal neighbours: log2(longest) additions of whole arrays.

    >>> _running_sums(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 0, 0, 3]))
    array([1., 3., 7., 8.])
    """
    sums = values.copy()
    places = np.arange(len(values)) - np.searchsorted(groups, groups)
    step = 1
    while (later := np.flatnonzero(places >= step)).size:
        sums[later] += sums[later - step]
        step *= 2
    return sums

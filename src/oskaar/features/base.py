r"""The protocol of a feature map: inputs as vectors z(x) of a fixed dimension, <z(x), z(x')> close to k(x, x').

With features a learner needs neither its past rows nor a kernel matrix: a round costs the same for ever.
A map holds no hidden state: it is a value, and `seen` makes the next one, where a map learns from the inputs
(a dictionary, running means). The features of a row depend on it and on those before it alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows, fit_columns
from oskaar.rows import count, pick
from oskaar.saved import require, require_count, require_kind, saved
from oskaar.schema import Schema


class FeatureMap(ABC):
    """Inputs as vectors. One's own writes `dim` and `__call__`; the rest follows."""

    objects: bool = False
    """True: rows are lists of arbitrary objects instead of matrices."""

    dim: int
    """The largest number of features there can be."""

    renews: bool = False
    """True: `fresh` makes something else of recent rows, so new experts may be better off with it."""

    @property
    def full(self) -> bool:
        """Whether a map that learns has stopped, its room being spent."""
        return False

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take, beside a few numbers for each."""
        return 0

    @property
    def fixed(self) -> bool:
        """Whether the features of a row depend on that row alone, so that sums over shards of rows can be added."""
        return type(self).seen is FeatureMap.seen

    @property
    def kappa(self) -> float:
        """A bound on |z(x)|; infinite where none is known."""
        return float("inf")

    @abstractmethod
    def __call__(self, X: Rows) -> Array:
        """z of each row as the map stands, (n, D) with D <= dim; D may grow as the map learns, never shrink."""

    def seen(self, X: Rows) -> tuple[Array, FeatureMap]:
        """z of rows that arrive one after the other, and the map that has seen them.

        A map that learns gives row i the features of the map that has seen rows 0..i; columns that a row does
        not have yet are 0. Equal to a loop of `seen` over single rows.
        """
        return self(X), self

    def each(self, X: Rows) -> Array:
        """z of rows each of which may come next: row i as `seen` has it alone, without the others."""
        if self.fixed:
            return self(X)
        rows = [self.seen(pick(X, slice(i, i + 1)))[0] for i in range(count(X))]
        columns = max((Z.shape[1] for Z in rows), default=0)
        return np.concatenate([fit_columns(Z, columns) for Z in rows]) if rows else self(X)

    def fresh(self, recent: Rows | None = None) -> FeatureMap:
        """The map with which a new expert starts: one that has seen nothing but some recent rows."""
        return self

    def fitted(self, X: Rows) -> FeatureMap:
        """The map that has seen a sample and learns nothing any more: one that several learners agree on.

        >>> from oskaar.features import Nystrom
        >>> Nystrom(None, 2).fitted(np.array([[0.0], [1.0]]))
        Frozen(Nystrom(None, budget=2, ridge=1, seed=0))
        """
        return Frozen(self.seen(X)[1])

    @property
    def nbytes(self) -> int:
        """The memory that the map holds."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))


@saved("features/frozen")
class Frozen(FeatureMap):
    """Another map as it stands: its atoms, means and deviations stay. `map.fitted(sample)` makes one.

    Learners on shards of the rows can be merged if they have the same map (docs/spark.md): a dictionary or units that
    each shard finds for itself would not be.

    >>> from oskaar.features import Identity, Standardised
    >>> z = Standardised(Identity(width=1)).fitted(np.array([[1.0], [3.0]]))
    >>> Z, after = z.seen(np.array([[3.0], [100.0]]))
    >>> Z.ravel(), after is z
    (array([ 1., 98.]), True)
    """

    fixed = True
    full = True

    names: list[Any] | None = None
    """The columns of dict rows, in order; other names are ignored. None: rows are of another kind, or names grow."""

    schema: Schema | None = None
    """How rows are read, for the default kernel; None takes them as they are."""

    def __init__(self, map: FeatureMap, names: list[Any] | None = None, schema: Schema | None = None) -> None:
        if not isinstance(map, FeatureMap):
            raise TypeError(f"Frozen takes a feature map, got {map!r}: such as features.Nystrom(kernel, 256).")
        if getattr(map, "reproject", False):
            raise ValueError("Frozen projects no past rows again: give Nystrom without reproject=True.")
        self.map, self.names, self.schema = map, names, schema

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.map.dim

    @property
    def objects(self) -> bool:  # type: ignore[override]
        return self.map.objects

    @property
    def kernel(self) -> Any:
        """What tells the kind of rows: the kernel of the inner map, or the map."""
        return getattr(self.map, "kernel", self.map)

    @property
    def kappa(self) -> float:
        return self.map.kappa

    @property
    def nbytes(self) -> int:
        return self.map.nbytes

    def __call__(self, X: Rows) -> Array:
        return self.map(X)

    def check_saved(self) -> None:
        require_kind(self.map, FeatureMap, "the map")
        require_kind(self.schema, (Schema, type(None)), "the schema")
        names = [] if self.names is None else self.names
        require(isinstance(names, list) and len(set(names)) == len(names), "names must be a list of different ones")

    def __repr__(self) -> str:
        return f"Frozen({self.map!r})"


def require_maps(maps: Any) -> None:
    """Refuse a part of a state that is not a list of feature maps by version for each kind."""
    require(isinstance(maps, list) and all(isinstance(versions, dict) and versions for versions in maps), "maps")
    for versions in maps:
        for version, m in versions.items():
            require_count(version, "the version of a map")
            require_kind(m, FeatureMap, "a map")

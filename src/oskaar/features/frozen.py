"""A feature map that is fixed after it was fitted to a sample, so that several learners can share it."""

from __future__ import annotations

from typing import Any

from oskaar.arrays import Array, Rows
from oskaar.features.base import FeatureMap
from oskaar.saved import require, require_kind, saved
from oskaar.schema import Schema


@saved("features/frozen")
class Frozen(FeatureMap):
    """Another map as it stands: its atoms, means and deviations stay. `map.fitted(sample)` makes one.

    Learners on shards of the rows can be merged if they have the same map (docs/spark.md): a dictionary or units that
    each shard finds for itself would not be.

    >>> import numpy as np
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
        """A map, and names that are a list of different ones."""
        require_kind(self.map, FeatureMap, "the map")
        require_kind(self.schema, (Schema, type(None)), "the schema")
        names = [] if self.names is None else self.names
        require(isinstance(names, list) and len(set(names)) == len(names), "names must be a list of different ones")

    def __repr__(self) -> str:
        return f"Frozen({self.map!r})"

r"""Exact features of the linear one of the default kernels: (u, sqrt(d)) / sqrt(d), u in units of its spread.

    <z(x), z(x')> = <u, u'> / d + 1

With few features d a regression on these costs O(d^2) a round, where one on kernel values costs O(t^2).
"""

from __future__ import annotations

import numpy as np

from oskaar import kernels
from oskaar.arrays import Array, Rows
from oskaar.features.base import FeatureMap
from oskaar.rows import dense_part
from oskaar.saved import saved


@saved("features/standardised-linear")
class StandardisedLinear(FeatureMap):
    """Features in the units of a standardised kernel, and 1.

    >>> StandardisedLinear(kernels.Scaled(kernels.Linear(), (1.0,), (2.0,)))(np.array([[5.0]]))
    array([[2., 1.]])
    """

    full = True

    def __init__(self, units: kernels.Scaled, features: int | None = None) -> None:
        """features: d, where it is not the number of columns."""
        self.units = units
        self.features = len(units.scales) if features is None else features

    @property
    def dim(self) -> int:  # type: ignore[override]
        """One for each feature, and one for the intercept."""
        return len(self.units.scales) + 1

    def __call__(self, X: Rows) -> Array:
        U = self.units.mapped(dense_part(X))
        Z: Array = np.concatenate([U / max(1, self.features) ** 0.5, np.ones((len(U), 1))], axis=1)
        return Z

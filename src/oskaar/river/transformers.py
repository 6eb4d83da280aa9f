"""Feature maps, and through them kernels, as River transformers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base

from oskaar.features import FeatureMap, Nystrom, RandomFourier
from oskaar.inputs import Inputs
from oskaar.kernels import Gaussian
from oskaar.river.common import sorted_row


class Features(base.Transformer):
    r"""An oskaar feature map in front of any River model: <z(x), z(x')> is close to k(x, x').

    map: such as `features.Nystrom(kernel, 100)`, for any kernel, or `features.RandomFourier(kernel, 100)`.
    prefix: features are named prefix0, prefix1, ...; give two maps of a union different ones.

    `learn_one` lets maps that learn (a dictionary, running scales) see a row, and fixes the columns of its names.

    >>> from oskaar import features, kernels
    >>> model = Features(features.Nystrom(kernels.Gaussian(1.0), 50))
    >>> model.learn_one({"a": 1.0})
    >>> model.transform_one({"a": 1.0})
    {'z0': 1.0}
    """

    def __init__(self, map: FeatureMap, prefix: str = "z") -> None:
        if isinstance(map, type) or not isinstance(map, FeatureMap):
            raise TypeError(f"map must be a feature map, such as features.Nystrom(kernel, 100), got {map!r}.")
        self.map, self.prefix = map, prefix
        self._map = map
        self._inputs = Inputs(getattr(map, "kernel", map), keep=False, compare=False)

    def learn_one(self, x: dict[base.typing.FeatureName, Any]) -> None:
        """Let the map see a row."""
        block = self._inputs.parse(sorted_row(x))
        self._map = self._map.seen(block.rows)[1]
        self._inputs.append(block)

    def transform_one(self, x: dict[base.typing.FeatureName, Any]) -> dict[base.typing.FeatureName, Any]:
        """The features of a row, from what the map has seen."""
        z = self._map(self._inputs.parse(sorted_row(x)).rows)[0]
        return {f"{self.prefix}{i}": value for i, value in enumerate(z.tolist())}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"map": Nystrom(Gaussian(1.0), 16)}
        yield {"map": RandomFourier(Gaussian(1.0), 16)}

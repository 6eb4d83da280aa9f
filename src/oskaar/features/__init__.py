"""Feature maps: inputs as vectors of a fixed dimension, for streams that never end."""

from typing import TYPE_CHECKING

from oskaar.lazy import lazily

if TYPE_CHECKING:
    from oskaar.features.base import FeatureMap
    from oskaar.features.fourier import Orthogonal, RandomFourier
    from oskaar.features.frozen import Frozen
    from oskaar.features.hashing import Hashing
    from oskaar.features.linear import Identity, LinearMap
    from oskaar.features.nystrom import Nystrom
    from oskaar.features.scaling import Standardised
    from oskaar.features.taylor import Taylor

_HOMES = {
    "base": "FeatureMap",
    "fourier": "Orthogonal RandomFourier",
    "frozen": "Frozen",
    "hashing": "Hashing",
    "linear": "Identity LinearMap",
    "nystrom": "Nystrom",
    "scaling": "Standardised",
    "taylor": "Taylor",
}
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "FeatureMap",
    "Frozen",
    "Hashing",
    "Identity",
    "LinearMap",
    "Nystrom",
    "Orthogonal",
    "RandomFourier",
    "Standardised",
    "Taylor",
]

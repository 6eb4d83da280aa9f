"""Feature maps: inputs as vectors of a fixed dimension, for streams that never end."""

from oskaar.features.base import FeatureMap
from oskaar.features.fourier import Orthogonal, RandomFourier
from oskaar.features.hashing import Hashing
from oskaar.features.linear import Identity, Linear
from oskaar.features.nystrom import Nystrom
from oskaar.features.scaling import Standardised
from oskaar.features.taylor import Taylor

__all__ = [
    "FeatureMap",
    "Hashing",
    "Identity",
    "Linear",
    "Nystrom",
    "Orthogonal",
    "RandomFourier",
    "Standardised",
    "Taylor",
]

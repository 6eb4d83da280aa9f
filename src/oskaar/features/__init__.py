"""Feature maps: inputs as vectors of a fixed dimension, for streams that never end."""

from oskaar.features.base import FeatureMap
from oskaar.features.nystrom import Nystrom

__all__ = ["FeatureMap", "Nystrom"]

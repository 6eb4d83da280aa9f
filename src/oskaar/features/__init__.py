"""Feature maps: inputs as vectors of a fixed dimension, for streams that never end."""

from oskaar.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)

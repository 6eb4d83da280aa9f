"""State: learners as files that hold data and nothing to execute."""

from oskaar.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)

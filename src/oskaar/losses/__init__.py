"""Losses: what a structure is to a learner. One file for each family of outputs."""

from oskaar.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)

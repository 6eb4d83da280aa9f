r"""Quantities and bounds of the paper, named by their theorems.

*Structured Prediction in Online Learning*, Boudart, Rudi, Gaillard (2024). A file for each concept: the effective
dimension and the capacity condition, a sketch of it, what to choose, OSKAAR on any data and in expectation, OSKAAR in
high probability, the regret of mixtures, SALAMI. Beyond the paper: high probability with no bound on the estimates,
and geometric restarts. docs/notation.md maps the symbols, docs/errata.md lists what is not as printed.
"""

from oskaar.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)

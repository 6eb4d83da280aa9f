"""What the bounds ask of their numbers."""

from __future__ import annotations

import math


def require(*, least: float = 0.0, above: bool = False, **numbers: float) -> None:
    """Every number is finite and at least (or above) a limit; the error names the one that is not.

    >>> require(T=3, least=1)
    >>> require(lam=0.0, above=True)
    Traceback (most recent call last):
    ValueError: lam must be finite and > 0, got 0.0.
    """
    for name, value in numbers.items():
        if not (math.isfinite(value) and (value > least if above else value >= least)):
            raise ValueError(f"{name} must be finite and {'>' if above else '>='} {least:g}, got {value}.")


def require_probability(delta: float) -> None:
    """Delta in (0, 1]: the bound holds with probability 1 - delta."""
    if not 0 < delta <= 1:
        raise ValueError(f"delta must be in (0, 1], got {delta}: the bound holds with probability 1 - delta.")


def require_exponent(beta: float) -> None:
    """The capacity exponent, in [0, 1]."""
    if not 0 <= beta <= 1:
        raise ValueError(f"beta must be in [0, 1], got {beta}: it is 1 for any bounded kernel.")

"""Checks of the arguments of bounds."""

from __future__ import annotations

import math


def require_numbers(*, least: float = 0.0, above: bool = False, **numbers: float) -> None:
    """Every number is finite and at least (or above) a limit; the error names the one that is not.

    >>> require_numbers(T=3, least=1)
    >>> require_numbers(lam=0.0, above=True)
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


def require_ball(norm: float, sup_norm: float) -> None:
    """|g*| <= sup|g|: the supremum is over a set of functions that holds g* as well as every estimate.

    >>> require_ball(2.0, 1.0)
    Traceback (most recent call last):
    ValueError: norm must be at most sup_norm, got 2.0 and 1.0: sup_norm bounds |g*| and every estimate.
    """
    require_numbers(norm=norm, sup_norm=sup_norm)
    if norm > sup_norm * (1 + 1e-12):
        raise ValueError(
            f"norm must be at most sup_norm, got {norm} and {sup_norm}: sup_norm bounds |g*| and every estimate."
        )


def require_exponent(beta: float) -> None:
    """The capacity exponent, in [0, 1]."""
    if not 0 <= beta <= 1:
        raise ValueError(f"beta must be in [0, 1], got {beta}: it is 1 for any bounded kernel.")

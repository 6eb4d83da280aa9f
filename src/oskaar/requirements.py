"""Checks of settings and of the arguments of bounds; errors say what must hold and what arrived."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def require_whole(name: str, number: Any, least: int = 1, most: int | None = None, note: str = "") -> int:
    """A whole number, which may be written 2.0 or np.int64(2); no True, no text.

    >>> require_whole("dim", 2.0)
    2
    >>> require_whole("k", 0, most=5, note=", or None")
    Traceback (most recent call last):
    ValueError: k must be a whole number from 1 to 5, or None, got 0.
    """
    real = isinstance(number, (int, float, np.integer, np.floating)) and not isinstance(number, bool)
    if not real or number % 1 != 0 or number < least or (most is not None and number > most):
        limits = f">= {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {limits}{note}, got {number!r}.")
    return int(number)


def require_positive(name: str, number: Any, why: str = "") -> float:
    """A finite number above 0.

    >>> require_positive("beta", 0.0, "1 weighs precision and recall alike")
    Traceback (most recent call last):
    ValueError: beta must be finite and > 0, got 0.0: 1 weighs precision and recall alike.
    """
    try:
        value = float(math.nan if isinstance(number, (str, bytes, bool)) else number)
    except (TypeError, ValueError):
        value = math.nan
    if math.isnan(value) and number == number:
        raise TypeError(f"{name} must be a number, got {number!r}.")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be finite and > 0, got {number}{why and f': {why}'}.")
    return value


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


def require_bool(name: str, value: Any) -> bool:
    """True or False, NumPy's too.

    >>> require_bool("selection", "no")
    Traceback (most recent call last):
    TypeError: selection must be True or False, got 'no'.
    """
    if type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise TypeError(f"{name} must be True or False, got {shorten(value)}.")


def numbers_of(value: Any) -> NDArray[np.float64] | None:
    """A new array of numbers; None where they are none.

    >>> numbers_of([1, 2]), numbers_of({1, 2})
    (array([1., 2.]), None)
    """
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None


def shorten(value: Any) -> str:
    """A value as messages show it, at most 60 characters.

    >>> shorten(list(range(100)))
    '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16...'
    """
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

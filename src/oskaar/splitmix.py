"""Numbers that look random and depend on their place in a sequence only: splitmix64 (Steele, Lea and Flood 2014)."""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array

STEP = 0x9E3779B97F4A7C15


def mix(values: Any) -> Any:
    """The step and the finaliser of splitmix64, for an array of uint64: every bit depends on every bit."""
    values = values + np.uint64(STEP)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def uniforms(seed: int, start: int, n: int) -> Array:
    """The numbers start .. start + n - 1 of a fixed sequence of uniform draws.

    >>> bool((uniforms(1, 0, 5)[2:] == uniforms(1, 2, 3)).all())
    True
    """
    offset = np.uint64(seed % 2**64 * 0xD1342543DE82EF95 % 2**64)
    bits = mix(np.arange(start, start + n, dtype=np.uint64) * np.uint64(STEP) + offset)
    draws: Array = (bits >> np.uint64(11)).astype(float) * 2.0**-53
    return draws

"""Intervals and tests for losses of rounds that resemble their neighbours.

The resampling is that of `oskaar compare`: circular blocks of neighbouring rounds, drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.cli.compare import bootstrap, resampled

Array = NDArray[np.float64]
RESAMPLES = 2000
LEVEL = 0.05


def block_length(values: Array) -> int:
    """How long blocks have to be: 2 T^(1/3), or twice the memory of the values where that is longer, at most T / 8.

    The memory is the first lag whose autocorrelation is below 2 / sqrt(T), what independent values have.

    >>> block_length(np.random.default_rng(0).normal(size=1000))
    20
    """
    T = len(values)
    least: int = max(1, min(T, round(2 * float(T) ** (1 / 3))))
    centred = np.asarray(values, dtype=float) - np.mean(values)
    power = float(centred @ centred)
    if T < 16 or power <= 1e-300:
        return least
    width = 2 ** int(np.ceil(np.log2(2 * T)))
    correlation = np.fft.irfft(np.abs(np.fft.rfft(centred, width)) ** 2, width)[:T] / power
    small = np.flatnonzero(correlation < 2 / np.sqrt(T))
    memory = int(small[0]) if len(small) else T
    return max(least, min(2 * memory, T // 8))


def interval(values: Array, seed: int = 0) -> tuple[float, float]:
    """A 95% interval for the mean.

    >>> interval(np.full(50, 0.5))
    (0.5, 0.5)
    """
    return bootstrap(np.asarray(values, dtype=float), RESAMPLES, seed, block_length(values))


def worse(values: Array, seed: int = 0) -> float:
    """The p-value of "the mean is at most 0", against "it is larger": (1 + #{m* - m >= m}) / (1 + resamples).

    >>> worse(np.full(50, 0.5)) < 0.001, worse(np.zeros(50)), worse(np.full(50, -0.5))
    (True, 1.0, 1.0)
    """
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    draws = resampled(values, RESAMPLES, seed, block_length(values)) - mean
    slack = 1e-12 * float(np.abs(values).max())  # rounding of sums
    return float((1 + np.count_nonzero(draws >= mean - slack)) / (1 + RESAMPLES))


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p-values: the i-th smallest of m times m - i + 1, made to increase, at most 1.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'c': 0.06, 'b': 0.06}
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for i, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - i) * p_values[name]))
        adjusted[name] = largest
    return adjusted


def common(a: Any, b: Any) -> tuple[Array, Array]:
    """Two runs on the rounds that both have done.

    >>> common([1.0, 2.0, 3.0], [0.0, 1.0])
    (array([1., 2.]), array([0., 1.]))
    """
    n = min(len(a), len(b))
    return np.asarray(a, dtype=float)[:n], np.asarray(b, dtype=float)[:n]


def mean_ranks(losses: Array) -> Array:
    """The mean place of each method, (streams, methods) losses, 1 the lowest; equal ones share theirs.

    >>> mean_ranks(np.array([[0.1, 0.2, 0.3], [0.2, 0.2, 0.1]]))
    array([1.75, 2.25, 2.  ])
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(losses, axis=1).mean(axis=0))


def critical_difference(methods: int, streams: int) -> float:
    """How far two mean ranks are apart where they differ at 5% (Nemenyi; Demsar 2006): q sqrt(k (k + 1) / (6 N)).

    >>> round(critical_difference(4, 14), 3)
    1.254
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - LEVEL, methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * streams)))


def not_apart(ranks: Array, difference: float) -> list[tuple[int, int]]:
    """The longest runs (first, last) of sorted mean ranks that lie within a difference, two or more each.

    >>> not_apart(np.array([1.0, 1.5, 2.2, 4.0]), 1.0)
    [(0, 1), (1, 2)]
    """
    ends = [int(np.searchsorted(ranks, r + difference, side="right")) - 1 for r in ranks]
    return [(i, end) for i, end in enumerate(ends) if end > i and (i == 0 or ends[i - 1] < end)]

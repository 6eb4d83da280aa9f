r"""Change points: rounds from which on the law of the stream is another.

A run of equal labels is not a change: on a stationary stream that is sticky, young restarts gain on old ones all the
time. A change is a gain that is larger than it has been. With a the reference, the oldest restart since the last
change, the test looks at what restarts of ages 4 to 64 gain on it in round t,

    u_t = loss_t(a) - mean_h loss_t(t - h),   h = 4, 8, 16, 32, 64,                                     (1)

in the means B_1..B_K of blocks of 8 rounds, and compares the last j blocks with the n = K - j before them by
Student's t, with the variance of batches of q blocks and their autocorrelation r_q (corrected for its bias),

    t_jq = (mean of last - mean of first) / sqrt(v_q f_q (q / j + 1 / m)),   f_q = (1 + r_q) / (1 - r_q),         (2)

m = floor(n / q) batches, (m - 1) / f_q degrees of freedom. The p-value is the largest over q = 1, 2, 4, ..: the gain
has to stand out on every time scale. It is an alarm if one of J values of j has p <= 8 rate / (4 J).

What is proved, with `rate` the false alarms a round:
- Whatever the stream, two alarms are 0.2 / rate rounds apart or more: at most 5 rate alarms a round.
- If the blocks between two alarms are independent, normal and alike, at most rate / 4 false alarms a round: for q = 1
  without r (2) has Student's law, the other q and r > 0 only raise p, and the levels of all tests add up to rate / 4.
- One switch, the first, cannot be told from one that a stationary but sticky stream makes now and then, at times of a
  Poisson process. If such a stream raises an alarm at its first switch and never again, its false alarms by round n
  are at most rate n in expectation, for every n and any pace of the switches: alarms have to wait for 0.2 / rate
  rounds, of which at most a third may be after the switch (tests/test_change_points.py has the inequality).
All else is measured (benchmarks/change_points.py): blocks of a sticky stream are neither independent nor normal. Rare
bursts, such as 10 odd labels every few hundred rounds, are the worst there: 0.7 to 1.1 times rate, with 95% intervals
up to 1.6, where independent and sticky streams have 0.2 in the mean.

The test knows the losses of experts alone: neither the weights of the mixture nor its rate eta enter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from oskaar import state
from oskaar.arrays import Array, carried
from oskaar.saved import saved

RATE, RATES = 0.001, (0.0001, 0.01)
"""False alarms a round, by default and in which range."""

AGES, YOUNGEST = np.array([4, 8, 16, 32, 64]), 72
"""Ages of the restarts that the reference is compared with, and its own at least."""

BLOCK, KEPT, QUIET = 8, 256, 0.2
"""Rounds in a block; blocks that are kept; rounds without tests, in units of 1 / rate."""

LAST = np.array([2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64])
"""How many blocks may be after a change."""

FEWEST, HIGHEST, TINY = 16, 0.98, 1e-8
"""The least number of batches for a variance; the highest autocorrelation; the least standard deviation."""


@saved("changes/change")
class Change(NamedTuple):
    """A change of the law of the stream; rounds are counted from 1."""

    round: int
    """The first round of the new law, as estimated: that of the restart which has gained most."""
    detected: int
    """The round after which the alarm was raised."""
    evidence: float
    """-log10 of the p-value of the test."""


@saved("changes/detector")
@dataclass(frozen=True, eq=False)
class ChangeDetector:
    """The changes found so far, and what the test keeps. A value that never changes; `after` makes the next one.

    rate: false alarms a round, from 0.0001 to 0.01.
    found: the changes.
    start: the reference is the oldest restart that began at this round (counted from 0) or later.
    blocks, open, inside: means of the blocks of (1) since the last alarm, the sum of the open one, its rounds.
    restarts, gains: what each restart has gained on the reference since the last alarm.

    >>> losses = np.array([[0.5, 0.5]])                                          # of one kind, by restarts 0 and 1
    >>> detector = ChangeDetector().after(2, np.array([0, 1]), losses)
    >>> detector.found, detector.gains
    ((), array([0., 0.]))
    """

    rate: float = RATE
    found: tuple[Change, ...] = ()
    start: int = 0
    blocks: tuple[float, ...] = ()
    open: float = 0.0
    inside: int = 0
    restarts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    gains: Array = field(default_factory=lambda: np.zeros(0))

    def after(self, rounds: int, restarts: NDArray[np.int64], losses: Array) -> ChangeDetector:
        """When so many rounds are over, and kinds of experts by restarts (J, S), oldest first, had these losses."""
        now, paid = rounds - 1, _mean(list(losses))
        reference = int(restarts.searchsorted(self.start)) % len(restarts)
        gains = carried(self.gains, self.restarts, restarts) + (paid[reference] - paid)
        if now - restarts[reference] < YOUNGEST:
            return self._with(self.blocks, self.open, self.inside, restarts, gains)
        young = paid[restarts.searchsorted(now - AGES, side="right") - 1]
        total, inside = self.open + float(paid[reference] - _mean(young.tolist())), self.inside + 1  # (1)
        if inside < BLOCK:
            return self._with(self.blocks, total, inside, restarts, gains)
        blocks = (*self.blocks[1 - KEPT :], total / BLOCK)
        if len(blocks) * BLOCK * self.rate >= QUIET:
            most = BLOCK * self.rate / 4
            p, last = shift(np.array(blocks), most)
            if p <= most:
                return self._alarm(now, restarts, gains, last * BLOCK, p)
        return self._with(blocks, 0.0, 0, restarts, gains)

    def _with(self, blocks: Any, open: float, inside: int, restarts: Any, gains: Array) -> ChangeDetector:
        return ChangeDetector(self.rate, self.found, self.start, blocks, open, inside, restarts, gains)

    def check_state(self) -> None:
        """Refuse a detector from a file that no learner could have."""
        state.require(type(self.rate) is float and RATES[0] <= self.rate <= RATES[1], "false alarms must have a rate")
        state.require_count(self.start, "the start of the reference")
        state.require(state.require_count(self.inside, "rounds in a block") < BLOCK, "a block must be open")
        numbers = [self.open, *self.blocks]
        state.require(all(type(b) is float and np.isfinite(b) for b in numbers), "blocks must be finite numbers")
        state.require(isinstance(self.found, tuple) and len(self.blocks) <= KEPT, "there may be so many blocks")
        for change in self.found:
            state.require_kind(change, Change, "a change")
        fit = self.restarts.shape == self.gains.shape == (len(self.gains),) and self.gains.dtype == np.float64
        rising = self.restarts.dtype == np.int64 and (np.diff(self.restarts) > 0).all()
        state.require(fit and rising, "each restart must have a gain")

    def _alarm(self, now: int, restarts: Any, gains: Array, last: int, p: float) -> ChangeDetector:
        """A change at the restart with the largest gain, of those that began at about the blocks that stand out."""
        near = restarts > max(self.start, now - 2 * last - AGES[-1])
        best = int(restarts[near][np.argmax(gains[near])])
        change = Change(best + 1, now + 1, float(-np.log10(p)))
        return ChangeDetector(self.rate, (*self.found, change), best)


def shift(blocks: Array, most: float = np.inf) -> tuple[float, int]:
    """(p, j): the p-value of a rise of the mean, times the number of j that are tried, and the best j.

    most: as soon as p is known to be above, no more q are looked at.

    >>> quiet = np.sin(np.arange(40.0) ** 2)
    >>> shift(quiet)[0] > 0.05, shift(np.append(quiet, [3.0, 4.0, 3.0]))[0] < 1e-6
    (True, True)
    """
    K = len(blocks)
    j = LAST[LAST <= K // 3]
    if not len(j):
        return 1.0, 0
    B = blocks - blocks[: K // 2].mean()
    S, n = np.append(0.0, np.cumsum(B)), K - j
    rise = (S[K] - S[n]) / j - S[n] / n
    p, q = np.where(rise > 0, 0.0, 1.0), 1
    while q == 1 or (n[0] // q >= FEWEST and len(j) * p.min() <= most):
        m = np.maximum(n // q, 2)
        v, f = _variance(B[: K // q * q].reshape(-1, q).mean(axis=1), m)
        t = rise / np.sqrt(v * f * (q / j + 1 / m))  # (2)
        enough = (q == 1) | (m >= FEWEST)
        p = np.maximum(p, np.where(enough, stdtr(np.maximum((m - 1) / f, 1.0), -t), 0.0))
        q *= 2
    best = int(np.argmin(p))
    return float(min(1.0, len(j) * p[best])), int(j[best])


def _variance(c: Array, m: Any) -> tuple[Array, Array]:
    """v and f of (2) for the first m batches c, for each m."""
    first, second, lagged = np.cumsum(c), np.cumsum(c * c), np.append(0.0, np.cumsum(c[1:] * c[:-1]))
    mean = first[m - 1] / m
    squares = np.maximum(second[m - 1] - m * mean**2, m * TINY**2)
    r = (lagged[m - 1] - mean * (first[m - 2] + first[m - 1] - c[0]) + (m - 1) * mean**2) / squares
    r = np.clip(r + (1 + 3 * np.maximum(r, 0)) / m, 0.0, HIGHEST)
    return squares / (m - 1), (1 + r) / (1 - r)


def _mean(terms: list[Any]) -> Any:
    """The mean, added up in order."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total / len(terms)

r"""Changes of the world, read off the weights of restarts.

Since the last change, at round a, the world has been the same if no later restart does better than those from a.
The evidence that it is not is the ratio of the largest weights,

    e_t = max_{s > a} log p_t(s) - max_{s <= a} log p_t(s)                                           (1)

eta times the loss that the best later restart has saved. (Where the restart from a is forgotten, the next that is
alive stands for it.) When it exceeds a threshold, the world is taken to have
changed at the best later restart. A change that is placed before the previous alarm corrects it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oskaar.arrays import Array

THRESHOLD = 7.0
"""Evidence for an alarm: e^7, about 1100 to 1. benchmarks/changes.py has its false alarms and misses."""


class Change(NamedTuple):
    """A change of the world; rounds are counted from 1."""

    round: int
    """The first round of the new world."""
    detected: int
    """The round after which it was noticed."""
    evidence: float
    """How many times larger, as a logarithm, the weight of the new world was then."""


@dataclass(frozen=True)
class Changes:
    """The changes found so far. A value that never changes; `after` makes the next one.

    >>> Changes().after(10, np.array([0, 4, 7]), np.array([0.0, 8.0, 1.0])).found
    (Change(round=5, detected=10, evidence=8.0),)
    """

    found: tuple[Change, ...] = ()

    def through(self, rounds: int, restarts: Any, logs: Array) -> Changes:
        """`after` for several rounds that follow `rounds`: restarts, -1 where there is none, and logs are (n, S)."""
        found, first = self, 0
        while first < len(logs):
            suspect = np.flatnonzero(found._evidence(restarts[first:], logs[first:]) > THRESHOLD)
            if not len(suspect):
                break
            i = first + int(suspect[0])
            alive = restarts[i] >= 0
            found = found.after(rounds + i + 1, restarts[i, alive], logs[i, alive])
            first = i + 1
        return found

    def _evidence(self, restarts: Any, logs: Array) -> Array:
        """(1) for each round (n,), -inf where there is no later restart."""
        alive = restarts >= 0
        later = np.cumsum(alive & (restarts >= self._start), axis=1) > 1
        new, old = (np.where(alive & which, logs, -np.inf).max(axis=1) for which in (later, ~later))
        evidence: Array = new - old
        return evidence

    @property
    def _start(self) -> int:
        return self.found[-1].round - 1 if self.found else 0

    def after(self, rounds: int, restarts: Any, logs: Array) -> Changes:
        """When so many rounds are over, and restarts (counted from 0, oldest first) have these log weights."""
        split = int(np.searchsorted(restarts, self._start)) + 1  # the first restart in this world that is still alive
        if split >= len(restarts):
            return self
        best = split + int(np.argmax(logs[split:]))
        evidence = float(logs[best] - logs[:split].max())  # (1)
        if evidence <= THRESHOLD:
            return self
        change = Change(int(restarts[best]) + 1, rounds, evidence)
        corrects = self.found and change.round <= self.found[-1].detected
        return Changes((*(self.found[:-1] if corrects else self.found), change))

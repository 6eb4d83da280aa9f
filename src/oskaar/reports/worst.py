"""The rounds with the largest losses; among equals, those with the largest surrogate loss."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from oskaar.arrays import Array

MOST = 20


@dataclass(frozen=True, order=True)
class Bad:
    """A round that went badly. x, y and z are texts, or lists of texts for rounds of several parts."""

    loss: float
    surrogate: float
    round: int
    line: int | None = None
    x: Any = ""
    y: Any = ""
    z: Any = ""
    alike: bool = True
    """Whether the parts of y and z can be compared one by one."""


class Worst:
    """At most so many of the worst rounds.

    >>> worst = Worst(most=2)
    >>> worst.add(np.array([0.5, 0.0, 1.0, 0.7]), np.zeros(4), lambda i: Bad(0.0, 0.0, round=i + 1))
    >>> [bad.round for bad in worst.sorted()]
    [3, 4]
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._heap: list[tuple[float, float, int, Bad]] = []

    def add(self, losses: Array, surrogates: Array, make: Callable[[int], Bad]) -> None:
        """Rounds to come; `make(i)` is called only for those that are among the worst so far. No loss is not bad."""
        for i in np.lexsort((surrogates, losses))[::-1][: self.most].tolist():
            key = (float(losses[i]), float(surrogates[i]))
            if not key[0] > 0 or (len(self._heap) >= self.most and key <= self._heap[0][:2]):
                break
            bad = replace(make(i), loss=key[0], surrogate=key[1])
            (heapq.heappush if len(self._heap) < self.most else heapq.heappushpop)(self._heap, (*key, bad.round, bad))

    def join(self, *others: Worst) -> None:
        for entry in (entry for other in others for entry in other._heap):
            (heapq.heappush if len(self._heap) < self.most else heapq.heappushpop)(self._heap, entry)

    def sorted(self) -> list[Bad]:
        """From the worst on."""
        return [entry[3] for entry in sorted(self._heap, key=lambda entry: entry[:3], reverse=True)]

    def to_dict(self) -> dict[str, Any]:
        return {"most": self.most, "rounds": [asdict(bad) for bad in self.sorted()]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Worst:
        worst = cls(data["most"])
        bad = [Bad(**entry) for entry in data["rounds"]]
        worst._heap = [(b.loss, b.surrogate, b.round, b) for b in bad]
        heapq.heapify(worst._heap)
        return worst

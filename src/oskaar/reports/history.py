"""What is kept of a stream of any length in bounded memory: curves, restart weights, the worst rounds.

Curves are sums over blocks of rounds, which double when they get too many.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from oskaar.arrays import Array

BLOCKS = 2048
"""Blocks that are kept at the most; there are more than half as many once a stream is longer than that."""

COLUMNS, ROWS = 300, 120
"""Snapshots of restart weights, and bins of restart rounds, at the most."""

WORST = 20
"""Rounds that are kept as the worst."""


class Blocks:
    r"""Sums of several curves over blocks of rounds.

        sums[c, b] = sum of curve c over rounds b n, ..., (b + 1) n - 1,    n = 1, 2, 4, ...

    Sums of blocks are sums of rounds, so that running and rolling means at the ends of blocks are exact.

    >>> blocks = Blocks(["loss"], most=2)
    >>> for loss in (1.0, 2.0, 4.0):
    ...     blocks.add(np.array([[loss]]))
    >>> blocks.size, blocks["loss"], blocks.ends
    (2, array([3., 4.]), array([2, 3]))
    """

    def __init__(self, names: Sequence[str], most: int = BLOCKS) -> None:
        if most < 2 or most % 2:
            raise ValueError(f"most must be even and at least 2, got {most}: blocks are joined in pairs.")
        self.names, self.most = list(names), most
        self.size, self.rounds = 1, 0
        self._sums = np.zeros((len(self.names), most))

    def add(self, values: Array) -> None:
        """Rounds to come: values (curves, rounds)."""
        n = values.shape[1]
        while self.rounds + n > self.most * self.size:  # join them in pairs
            half = self._sums.reshape(len(self.names), -1, 2).sum(axis=2)
            self._sums[:, : self.most // 2], self._sums[:, self.most // 2 :] = half, 0.0
            self.size *= 2
        first = self.rounds // self.size
        places = np.arange(first, (self.rounds + n - 1) // self.size + 1)
        starts = np.maximum(places * self.size - self.rounds, 0)
        self._sums[:, places] += np.add.reduceat(values, starts, axis=1) if n else 0.0
        self.rounds += n

    def __getitem__(self, name: str) -> Array:
        """The sums of a curve."""
        sums: Array = self._sums[self.names.index(name), : len(self.ends)]
        return sums

    @property
    def ends(self) -> Any:
        """The last round of each block, counted from 1."""
        blocks = -(-self.rounds // self.size)
        return np.minimum(self.size * np.arange(1, blocks + 1), self.rounds)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers, for JSON."""
        sums = {name: self[name].tolist() for name in self.names}
        return {"names": self.names, "most": self.most, "size": self.size, "rounds": self.rounds, "sums": sums}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Blocks:
        blocks = cls(data["names"], data["most"])
        blocks.size, blocks.rounds = int(data["size"]), int(data["rounds"])
        for i, name in enumerate(blocks.names):
            blocks._sums[i, : len(blocks.ends)] = data["sums"][name]
        return blocks


def running(sums: Array, counts: Array) -> Array:
    """Means of all rounds up to the end of each block; NaN before the first.

    >>> running(np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    array([2. , 1.5])
    """
    return _ratio(np.cumsum(sums), np.cumsum(counts))


def rolling(sums: Array, counts: Array, window: int) -> Array:
    """Means of the last `window` blocks, fewer at the start.

    >>> rolling(np.array([4.0, 1.0, 2.0]), np.ones(3), 2)
    array([4. , 2.5, 1.5])
    """
    return _ratio(_last(sums, window), _last(counts, window))


def _last(values: Array, window: int) -> Array:
    sums = np.cumsum(values)
    sums[window:] = sums[window:] - np.cumsum(values)[:-window]
    return sums


def _ratio(sums: Array, counts: Array) -> Array:
    means: Array = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0.5)
    return means


class WeightHistory:
    r"""Snapshots of restart weights: `rounds` (n,), `picture` (bins, n).

    A column is p_t after some rounds t, summed over bins of restart rounds. Bins double in width when restarts
    outgrow them; every other column is dropped when there are too many, so that the rest are about evenly apart.

    >>> weights = WeightHistory(columns=4, rows=2)
    >>> weights.add(3, np.array([1, 3, 4]), np.array([0.5, 0.25, 0.25]))
    >>> weights.width, weights.picture()
    (2, array([[0.5], [0.5]]))
    """

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        if min(columns, rows) < 2 or rows % 2:
            raise ValueError(f"there must be 2 columns and an even number of rows or more, got {columns}, {rows}.")
        self.columns, self.rows = columns, rows
        self.width, self.step = 1, 1
        self.rounds: list[int] = []
        self._kept: list[Array] = []

    def due(self, rounds: int) -> bool:
        """Whether it is time for another snapshot."""
        return not self.rounds or rounds >= self.rounds[-1] + self.step

    def add(self, rounds: int, restarts: Any, p: Array) -> None:
        """The weights p of restarts, counted from 1, after so many rounds."""
        while int(restarts[-1]) > self.rows * self.width:
            self.width *= 2
            self._kept = [np.append(c.reshape(-1, 2).sum(axis=1), np.zeros(self.rows // 2)) for c in self._kept]
        column = np.bincount((restarts - 1) // self.width, weights=p, minlength=self.rows).astype(float)
        self._kept.append(column)
        self.rounds.append(int(rounds))
        if len(self.rounds) > self.columns:
            self.rounds, self._kept = self.rounds[::-2][::-1], self._kept[::-2][::-1]
            self.step = max(2 * self.step, (self.rounds[-1] - self.rounds[0]) // max(1, len(self.rounds) - 1))

    def picture(self) -> Array:
        """(bins, snapshots), up to the last bin that is in use; there must be a snapshot."""
        used = self.rounds[-1] // self.width + 1
        picture: Array = np.array(self._kept).T[:used]
        return picture

    def to_dict(self) -> dict[str, Any]:
        kept = [np.trim_zeros(column, "b").tolist() for column in self._kept]
        return {
            "columns": self.columns,
            "rows": self.rows,
            "width": self.width,
            "step": self.step,
            "rounds": list(self.rounds),
            "kept": kept,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WeightHistory:
        weights = cls(data["columns"], data["rows"])
        weights.width, weights.step = int(data["width"]), int(data["step"])
        weights.rounds = [int(t) for t in data["rounds"]]
        weights._kept = [np.append(column, np.zeros(weights.rows - len(column))) for column in data["kept"]]
        return weights


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
    """At most so many of the rounds with the largest losses; among equals, with the largest surrogate losses.

    >>> worst = Worst(most=2)
    >>> worst.add(np.array([0.5, 0.0, 1.0, 0.7]), np.zeros(4), lambda i: Bad(0.0, 0.0, round=i + 1))
    >>> [bad.round for bad in worst.sorted()]
    [3, 4]
    """

    def __init__(self, most: int = WORST) -> None:
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

r"""Curves of a stream of any length in bounded memory: sums over blocks of rounds that double when they get too many.

    sums[c, b] = sum of curve c over rounds b n, ..., (b + 1) n - 1,    n = 1, 2, 4, ...

Sums of blocks are sums of rounds, so that running and rolling means at the ends of blocks are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array

MOST = 2048
"""Blocks that are kept at the most; there are more than half as many once a stream is longer than that."""


class Blocks:
    """Sums of several curves over blocks of rounds.

    >>> blocks = Blocks(["loss"], most=2)
    >>> for loss in (1.0, 2.0, 4.0):
    ...     blocks.add(np.array([[loss]]))
    >>> blocks.size, blocks["loss"], blocks.ends
    (2, array([3., 4.]), array([2, 3]))
    """

    def __init__(self, names: Sequence[str], most: int = MOST) -> None:
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

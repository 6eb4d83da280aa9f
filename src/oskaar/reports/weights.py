r"""The weights of restarts over time, as a picture of bounded size.

A column is p_t after some rounds t, summed over bins of restart rounds. Bins double in width when restarts outgrow
them; every other column is dropped when there are too many, so that the rest are about evenly apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array

COLUMNS, ROWS = 300, 120


class WeightHistory:
    """Snapshots of restart weights: `rounds` (n,), `picture` (bins, n).

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

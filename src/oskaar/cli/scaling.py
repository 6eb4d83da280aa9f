"""Inputs out of cells: rows of numbers or dicts, standardised online where asked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oskaar.features.scaling import Moments


def flat(name: str, cell: Any) -> list[tuple[str, Any]]:
    """A cell, or the cells inside a list or an object, by name.

    >>> flat("x", [1, {"a": 2}])
    [('x.0', 1), ('x.1.a', 2)]
    """
    if isinstance(cell, dict):
        return [pair for key, inner in cell.items() for pair in flat(f"{name}.{key}", inner)]
    if isinstance(cell, (list, tuple)):
        return [pair for i, inner in enumerate(cell) for pair in flat(f"{name}.{i}", inner)]
    return [(name, cell)]


class Plain:
    """Rows as they are."""

    def state(self) -> Any:
        """What has been learned of the rows so far, apart from what comes later."""
        return None

    def restore(self, state: Any) -> None:
        """Go on from a state."""

    def dense(self, row: Any) -> Any:
        """A row of numbers."""
        return row

    def named(self, row: dict[str, Any]) -> dict[str, Any]:
        """A dict row."""
        return row


class Online(Plain):
    """Rows scaled by those up to them: nothing looks ahead.

    Numbers are centred and divided by their deviation (`features.scaling`); numbers of dict rows are divided by the
    root of their mean square, an absent one being 0, and text stays as it is.

    >>> scale = Online()
    >>> [scale.named({"a": v})["a"] for v in (2.0, 2.0)]
    [1.0, 1.0]
    >>> before = scale.state()
    >>> _ = scale.named({"a": 9.0})
    >>> before                            # a state is of its moment
    [None, 2, {'a': 8.0}]
    """

    def __init__(self) -> None:
        self._moments: Moments | None = None
        self._rows = 0
        self._squares: dict[str, float] = {}

    def state(self) -> Any:
        """Moments of dense rows; the number of dict rows and their sums of squares."""
        return [self._moments, self._rows, dict(self._squares)]

    def restore(self, state: Any) -> None:
        """Go on from a state."""
        self._moments, self._rows, squares = state
        self._squares = dict(squares)

    def dense(self, row: Any) -> Any:
        """(x - mean) / deviation."""
        X = np.asarray(row, dtype=float)[None, :]
        scaled, self._moments = (self._moments or Moments.start(X)).seen(X)
        return scaled[0]

    def named(self, row: dict[str, Any]) -> dict[str, Any]:
        """x / sqrt(mean of squares)."""
        self._rows += 1
        return {name: cell if isinstance(cell, str) else self._scaled(name, cell) for name, cell in row.items()}

    def _scaled(self, name: str, number: float) -> float:
        self._squares[name] = self._squares.get(name, 0.0) + number * number
        size = math.sqrt(self._squares[name] / self._rows)
        return number / size if size > 0 else 0.0

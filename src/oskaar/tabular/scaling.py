"""Inputs of a stream standardised by the rows up to them, dense rows and dict rows."""

from __future__ import annotations

import math
from typing import Any

from oskaar.arrays import Array
from oskaar.features.scaling import Moments


class Standardiser:
    """Rows scaled by those up to them, never by later ones.

    Numbers are centred and divided by their deviation (`features.scaling`); numbers of dict rows are divided by the
    root of their mean square, an absent one being 0, and text stays as it is.

    >>> scale = Standardiser()
    >>> [scale.named({"a": v})["a"] for v in (2.0, 2.0)]
    [1.0, 1.0]
    >>> before = scale.state()
    >>> _ = scale.named({"a": 9.0})
    >>> before                            # later rows do not change a state
    [None, 2, {'a': 8.0}]
    """

    def __init__(self) -> None:
        self._moments: Moments | None = None
        self._rows = 0
        self._squares: dict[str, float] = {}

    def state(self) -> list[Any]:
        """Moments of dense rows; the number of dict rows and their sums of squares."""
        return [self._moments, self._rows, dict(self._squares)]

    def restore(self, state: list[Any]) -> None:
        """Continue from a state."""
        self._moments, self._rows, squares = state
        self._squares = dict(squares)

    def dense(self, row: Array) -> Array:
        """(x - mean) / deviation of the rows up to this one."""
        X = row[None, :]
        scaled, self._moments = (self._moments or Moments.start(X)).seen(X)
        first: Array = scaled[0]
        return first

    def named(self, row: dict[str, Any]) -> dict[str, Any]:
        """x / sqrt(mean of squares) of the rows up to this one."""
        self._rows += 1
        return {name: cell if isinstance(cell, str) else self._scaled(name, cell) for name, cell in row.items()}

    def _scaled(self, name: str, number: float) -> float:
        self._squares[name] = self._squares.get(name, 0.0) + number * number
        size = math.sqrt(self._squares[name] / self._rows)
        return number / size if size > 0 else 0.0

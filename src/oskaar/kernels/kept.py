"""Stored rows as mapped kernels compare them: each row is mapped once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from oskaar.arrays import Array, Growing, Rows
from oskaar.rows import squared_norms

Map = Callable[[Rows], Array]

_NOTHING: tuple[Any, Any] = (None, None)
"""Rows and what was made of them: none yet."""


class Over(NamedTuple):
    """A kernel over rows that stay: k(., rows), and k(x, x) of rows x, which are mapped once for both.

    A number in place of a function is the same for all rows; None: not known.
    """

    values: Map | float | None
    diag: Map | float | None


class KeptRows:
    """Rows that a kernel is called with again and again, and what kernels on mapped rows make of them.

    view: the rows, as they are now. Whoever keeps them says which were added, and how many were dropped.

    >>> import numpy as np
    >>> from oskaar.kernels import Linear, Scaled
    >>> rows = [np.array([[3.0]])]
    >>> kept = KeptRows(lambda: np.concatenate(rows))
    >>> over = Scaled(Linear(), (1.0,), (2.0,)).over(kept)                     # k(., rows)
    >>> rows.append(np.array([[5.0]])); kept.append(rows[1])
    >>> over.values(np.array([[2.0]]))
    array([[0.5, 1. ]])
    """

    def __init__(self, view: Callable[[], Rows]) -> None:
        self._view = view
        self._mapped: dict[Hashable, MappedRows] = {}
        self._inner = self._squares = _NOTHING

    @property
    def view(self) -> Rows:
        """All rows."""
        return self._view()

    def inner(self, X: Array) -> Array:
        """<x, y> for the rows y. The last are remembered: several kernels have a linear part."""
        if X is not self._inner[0]:
            self._inner = X, X @ self.view.T
        products: Array = self._inner[1]
        return products

    def squares(self, X: Array) -> Array:
        """|x|^2 of rows, remembered alike."""
        if X is not self._squares[0]:
            self._squares = X, squared_norms(X)
        squares: Array = self._squares[1]
        return squares

    def mapped(self, how: Hashable, by: Map) -> MappedRows:
        """The same rows, mapped; how: equal where `by` does the same."""
        if how not in self._mapped:
            self._mapped[how] = MappedRows(by, self.view)
        return self._mapped[how]

    def append(self, rows: Rows) -> None:
        """These rows were added."""
        self._inner = _NOTHING
        for inner in self._mapped.values():
            inner.append(inner.of(rows))

    def drop(self, rows: int) -> None:
        """So many of the oldest rows were dropped."""
        self._inner = _NOTHING
        for inner in self._mapped.values():
            inner.drop(rows)


class MappedRows(KeptRows):
    """Rows that are kept, mapped."""

    def __init__(self, by: Map, rows: Rows) -> None:
        first = by(rows)
        self._by, self._rows, self._last = by, Growing(first.shape[1]), _NOTHING
        self._rows.append(first)
        super().__init__(lambda: self._rows.view)

    @property
    def view(self) -> Rows:
        """All rows, mapped."""
        return self._rows.view

    def of(self, X: Array) -> Array:
        """Other rows, mapped. The last are remembered: a row is compared, compared with itself, and then kept."""
        if X is not self._last[0]:
            self._last = X, self._by(X)
        mapped: Array = self._last[1]
        return mapped

    def through(self, function: Map | float | None) -> Map | float | None:
        """A function of mapped rows as one of the rows before; a number stays one."""
        return (lambda X: function(self.of(X))) if callable(function) else function

    def append(self, rows: Rows) -> None:
        self._rows.append(rows)
        super().append(rows)

    def drop(self, rows: int) -> None:
        self._rows.drop(rows)
        super().drop(rows)

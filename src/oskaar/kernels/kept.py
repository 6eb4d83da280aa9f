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
        """<x, y> for the rows y; those of the last row are remembered: several kernels have a linear part."""
        row, products = self._inner
        if X is not row:
            products = X @ self.view.T
            self._inner = (X, products) if len(X) == 1 else _NOTHING
        inner: Array = products
        return inner

    def squares(self, X: Array) -> Array:
        """|x|^2 of rows, remembered alike."""
        rows, norms = self._squares
        if X is not rows:
            norms = squared_norms(X)
            self._squares = X, norms
        squares: Array = norms
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
        rows, last = self._last
        if X is not rows:
            last = self._by(X)
            self._last = X, last
        mapped: Array = last
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

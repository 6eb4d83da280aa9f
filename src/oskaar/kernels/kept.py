"""Rows that stay while others come, as the kernels inside another see them: each is mapped once."""

from __future__ import annotations

from collections.abc import Callable

from oskaar.arrays import Array, Growing, Rows


class KeptRows:
    """Rows that a kernel is called with again and again, and what kernels on mapped rows make of them.

    view: the rows, as they are now. Whoever keeps them says which were added, and how many were dropped.

    >>> import numpy as np
    >>> from oskaar.kernels import Linear, Scaled
    >>> rows = [np.array([[3.0]])]
    >>> kept = KeptRows(lambda: np.concatenate(rows))
    >>> over = Scaled(Linear(), (1.0,), (2.0,)).over(kept)                     # k(., rows)
    >>> rows.append(np.array([[5.0]])); kept.append(rows[1])
    >>> over(np.array([[2.0]]))
    array([[0.5, 1. ]])
    """

    def __init__(self, view: Callable[[], Rows]) -> None:
        self._view = view
        self._mapped: list[tuple[Callable[[Rows], Array], Growing, KeptRows]] = []

    @property
    def view(self) -> Rows:
        """All rows."""
        return self._view()

    def mapped(self, by: Callable[[Rows], Array]) -> KeptRows:
        """The same rows, mapped."""
        rows = by(self.view)
        kept = Growing(rows.shape[1])
        kept.append(rows)
        self._mapped.append((by, kept, KeptRows(lambda: kept.view)))
        return self._mapped[-1][2]

    def append(self, rows: Rows) -> None:
        """These rows were added."""
        for by, kept, inner in self._mapped:
            kept.append(by(rows))
            inner.append(kept.view[-len(rows) :])

    def drop(self, rows: int) -> None:
        """So many of the oldest rows were dropped."""
        for _, kept, inner in self._mapped:
            kept.drop(rows)
            inner.drop(rows)

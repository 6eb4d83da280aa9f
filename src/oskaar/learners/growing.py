"""Several rounds in spaces that may grow from label to label.

A round must not depend on labels to come, to the last bit. A sum over more coordinates, or a product with more rows,
is rounded differently, though what it has more is 0: so a round is done in the coordinates known at its time, and how
many rounds are done together is told by labels before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array, fit_columns, spans
from oskaar.losses import Space


def together(spaces: Sequence[Space]) -> Iterator[tuple[Space, int, int, int]]:
    """Rounds to do together, for the space of each: (space, first, stop, end) do first..end-1, keep first..stop-1.

    Those kept have this space. There are 1, 2, 4, ... together since the space has changed.

    >>> from oskaar.losses import ZeroOne
    >>> old = ZeroOne().space()
    >>> new = old.extended("a")
    >>> [found[1:] for found in together([old, old, new, new, new])]
    [(0, 1, 1), (1, 2, 3), (2, 3, 3), (3, 5, 5)]
    """
    first, size = 0, 1 if spaces and spaces[0].grows else len(spaces)
    while first < len(spaces):
        space, end = spaces[first], min(first + size, len(spaces))
        stop = next((i for i in range(first, end) if spaces[i] is not space), end)
        yield space, first, stop, end
        size = 2 * size if stop < len(spaces) and spaces[stop] is space else 1
        first = stop


def charges(E: Array, Phi: Array, spaces: Sequence[Space], ends: Any) -> Array:
    """|phi - g|^2 (rows, ...) of estimates E (rows, ..., p) in rounds that end at rows `ends`.

    spaces: the one after each round's label.
    """
    targets, rows = Phi.reshape(len(Phi), *[1] * (E.ndim - 2), -1), spans(ends)
    found = np.empty(E.shape[:-1])
    for space, first, stop, end in together(spaces):
        lo, kept, hi = rows[first][0], rows[stop - 1][1], rows[end - 1][1]
        errors = targets[lo:hi, ..., : space.p] - fit_columns(E[lo:hi], space.p)
        found[lo:kept] = space.squared_norms(errors)[: kept - lo]
    return found

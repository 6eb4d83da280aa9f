"""Names of array types, draws and means, and arrays that grow at the end."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.saved import require, require_kind

Array = NDArray[np.float64]
Rows = Any
"""n inputs: an (n, d) array, a scipy sparse matrix of n rows, or a list of n objects."""

STEP = 0x9E3779B97F4A7C15
"""Of splitmix64 (Steele, Lea and Flood 2014)."""

AT_ONCE = 2**18
"""Products that `weighted_means` forms at once."""


def spans(ends: Any) -> list[tuple[int, int]]:
    """Where each of several consecutive pieces starts and ends.

    >>> spans([2, 3, 7])
    [(0, 2), (2, 3), (3, 7)]
    """
    stops = [int(end) for end in ends]
    return list(zip([0, *stops], stops, strict=False))


def reach(ends: Any, start: int, rows: int) -> tuple[int, int]:
    """The first row of round `start`, and the round before which at most so many rows end, or the next one.

    >>> reach([2, 3, 7, 8], 1, 5), reach([2, 3, 7, 8], 2, 1)
    ((2, 3), (3, 3))
    """
    first = int(ends[start - 1]) if start else 0
    return first, max(start + 1, int(np.searchsorted(ends, first + rows, side="right")))


def batches(ends: Any, rows: int) -> list[tuple[tuple[int, int], list[int]]]:
    """Consecutive rounds in batches of at most so many rows, or of one round: the batch's span, and ends in it.

    >>> batches([2, 3, 7, 8], 4)
    [((0, 3), [2, 3]), ((3, 7), [4]), ((7, 8), [1])]
    """
    stops, found, i = [int(end) for end in ends], [], 0
    while i < len(stops):
        first, j = reach(stops, i, rows)
        found.append(((first, stops[j - 1]), [stop - first for stop in stops[i:j]]))
        i = j
    return found


def random_signs(rows: int, columns: int) -> Array:
    """A matrix B of random signs, the same every time: the mean of |M b|^2 over its columns estimates |M|^2.

    >>> bool(np.all(np.abs(random_signs(3, 2)) == 1))
    True
    """
    return np.random.default_rng(0).choice(np.array([-1.0, 1.0]), size=(rows, columns))


def mix(values: Any) -> Any:
    """The step and the finaliser of splitmix64, for an array of uint64: every bit depends on every bit."""
    values = values + np.uint64(STEP)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def uniforms(seed: int, start: int, n: int) -> Array:
    """The numbers start .. start + n - 1 of a fixed sequence of uniform draws.

    >>> bool((uniforms(1, 0, 5)[2:] == uniforms(1, 2, 3)).all())
    True
    """
    offset = np.uint64(seed % 2**64 * 0xD1342543DE82EF95 % 2**64)
    bits = mix(np.arange(start, start + n, dtype=np.uint64) * np.uint64(STEP) + offset)
    draws: Array = (bits >> np.uint64(11)).astype(float) * 2.0**-53
    return draws


def without_rounding(G: Array) -> Array:
    """Estimates (n, p) for decoding: a row below 1e-12 is 0, and has the answer of 0.

    |phi| <= 1, so that this little is what rounding leaves where labels cancel; decoders look at proportions alone.

    >>> without_rounding(np.array([[1e-17, 0.0], [1e-17, 1.0]]))
    array([[0.e+00, 0.e+00],
           [1.e-17, 1.e+00]])
    """
    if len(G) == 1 and G.shape[1] and abs(G.item(0)) > 1e-12:
        return G
    kept = np.abs(G).max(axis=1, initial=0.0) > 1e-12
    return G if kept.all() else np.where(kept[:, None], G, 0.0)


def carried(values: Array, before: Any, now: Any) -> Array:
    """Values (..., S) of what there was before, for what there is now: numbers that rise; 0 for what is new.

    >>> carried(np.array([1.0, 2.0, 3.0]), np.array([0, 4, 6]), np.array([4, 6, 7]))
    array([2., 3., 0.])
    """
    if before is now:
        return values
    m, n = len(before), len(now)
    found = np.zeros((*values.shape[:-1], n))
    if not m or not n:
        return found
    first, last, start, end = before.item(0), before.item(-1), now.item(0), now.item(-1)
    if first <= start and last <= end and last - first == m - 1 and end - start == n - 1:  # no gaps
        kept = values[..., start - first :]
        found[..., : kept.shape[-1]] = kept
        return found
    place = np.searchsorted(now, before)
    here = place < len(now)
    here[here] = now[place[here]] == before[here]
    found[..., place[here]] = values[..., here]
    return found


def weighted_mean(shares: Array, estimates: Array) -> Array:
    """The mean (rounds, p) of estimates (C, rounds, p) with shares (rounds, C), or (1, C) for all.

    Added up one estimate after the other, so that a coordinate's rounding does not depend on how many there are.

    >>> weighted_mean(np.array([[0.25, 0.75]]), np.array([[[4.0]], [[8.0]]]))
    array([[7.]])
    """
    mean: Array = np.add.reduce(np.multiply(shares.T[:, :, None], estimates, order="C"), axis=0)
    return mean


def weighted_means(weights: Array, members: Array) -> Array:
    """`weighted_mean` (C, rounds, p) with each of the weights (C, rounds or 1, K) of members (K, rounds, p)."""
    if len(weights) * members.size > AT_ONCE:
        return np.stack([weighted_mean(w, members) for w in weights])
    means: Array = np.add.reduce(
        np.multiply(weights.transpose(2, 0, 1)[..., None], members[:, None], order="C"), axis=0
    )
    return means


def fit_columns(G: Array, columns: int) -> Array:
    """G[..., :] with zeros for coordinates it lacks, without those that are not there yet (they are zero).

    >>> fit_columns(np.array([[1.0, 2.0]]), 3), fit_columns(np.array([[1.0, 0.0]]), 1)
    (array([[1., 2., 0.]]), array([[1.]]))
    """
    missing = columns - G.shape[-1]
    if missing == 0:
        return G
    if missing < 0:
        return G[..., :columns]
    wider: Array = np.zeros((*G.shape[:-1], columns), dtype=G.dtype, order="F" if G.flags.fnc else "C")
    wider[..., : G.shape[-1]] = G  # np.pad, without its overhead
    return wider


class Growing:
    """A matrix that grows by rows and by columns at amortised constant cost an entry.

    New columns are zero in the old rows. Entries outside `view` are never read, so a growth that
    is interrupted leaves the view as it was.

    >>> g = Growing(2)
    >>> g.append(np.array([[1.0, 2.0]])); g.append(np.array([[3.0, 4.0, 5.0]]))
    >>> g.view
    array([[1., 2., 0.],
           [3., 4., 5.]])
    """

    def __init__(self, columns: int, dtype: Any = float) -> None:
        self._buffer: NDArray[Any] = np.zeros((0, columns), dtype=dtype)
        self.shape = (0, columns)

    @classmethod
    def in_buffer(cls, buffer: Any, shape: tuple[int, int]) -> Growing:
        """The first rows and columns of an array, which may grow into the rest of it."""
        growing = cls(0)
        growing._buffer, growing.shape = buffer, shape
        return growing

    @property
    def view(self) -> Any:
        """The matrix as it stands; valid until the next append."""
        return self._buffer[: self.shape[0], : self.shape[1]]

    @property
    def capacity(self) -> tuple[int, ...]:
        """The shape up to which it grows without a copy."""
        return self._buffer.shape

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows, which may be wider than all before them."""
        (n, p), (more, width), (room, wide) = self.shape, rows.shape, self._buffer.shape
        m, q = n + more, p if p > width else width
        if m > room or q > wide:
            self._reserve(m, q)
        self._buffer[n:m, :width] = rows
        if width != p:
            self._buffer[n:m, width:q] = 0.0
            self._buffer[:n, p:q] = 0.0
        self.shape = (m, q)

    def drop(self, rows: int) -> None:
        """Forget the first rows."""
        n, p = self.shape
        self._buffer[: n - rows, :p] = self._buffer[rows:n, :p].copy()
        self.shape = (n - rows, p)

    def _reserve(self, rows: int, columns: int) -> None:
        have_rows, have_columns = self._buffer.shape
        if rows > have_rows:
            have_rows = max(rows, 3 * have_rows // 2, 16)
        if columns > have_columns:
            have_columns = max(columns, 3 * have_columns // 2)
        grown = np.empty((have_rows, have_columns), dtype=self._buffer.dtype)
        grown[: self.shape[0], : self.shape[1]] = self.view
        self._buffer = grown

    def __getstate__(self) -> dict[str, Any]:
        return {"_buffer": self.view.copy(), "shape": self.shape}

    def __deepcopy__(self, memo: dict[int, Any]) -> Growing:
        """With its room: the last bits of products depend on where rows begin."""
        return Growing.in_buffer(self._buffer.copy(), self.shape)


def require_growing(rows: int | None, *parts: Any) -> None:
    """Refuse parts of a state that are not growing matrices of so many rows; None is any number."""
    for part in parts:
        require_kind(part, Growing, "a growing matrix")
        require(rows is None or part.shape[0] == rows, f"a matrix must have {rows} rows, it has {part.shape[0]}")


class Sheet:
    """A matrix that never changes, and makes larger ones that share its memory.

    Growing is amortised: the new value is written beside the old one in the same buffer, unless another
    value has grown there first.

    >>> a = Sheet(np.ones((1, 1)))
    >>> b = a.extended(2, 2); b.view[1, :] = b.view[0, 1] = 5.0
    >>> c = a.extended(1, 2); c.view[0, 1] = 7.0
    >>> a.view.tolist(), b.view.tolist(), c.view.tolist()
    ([[1.0]], [[1.0, 5.0], [5.0, 5.0]], [[1.0, 7.0]])
    """

    def __init__(
        self, values: Array, buffer: Array | None = None, grown: list[tuple[int, int]] | None = None
    ) -> None:
        self.view = values
        self._buffer = values if buffer is None else buffer
        self._grown = [values.shape] if grown is None else grown

    @property
    def capacity(self) -> tuple[int, ...]:
        """The shape up to which it grows without a copy."""
        return self._buffer.shape

    def growth(self, rows: int, columns: int, most: int = sys.maxsize) -> int:
        """The bytes that `extended` takes at most, which makes room for more."""
        (n, p), (have, wide) = self.view.shape, self._buffer.shape
        if rows <= have and columns <= wide:
            return 0
        return 8 * int(_room(n, rows, most) * _room(p, columns, most) - have * wide)

    def extended(self, rows: int, columns: int, most: int = sys.maxsize) -> Sheet:
        """A larger matrix with these entries, with room for at most so many; the caller fills in the new ones."""
        n, p = self.view.shape
        buffer, grown = self._buffer, self._grown
        if grown[0] != (n, p) or rows > buffer.shape[0] or columns > buffer.shape[1]:
            buffer, grown = np.empty((_room(n, rows, most), _room(p, columns, most))), []
            buffer[:n, :p] = self.view
        grown[:] = [(rows, columns)]
        return Sheet(buffer[:rows, :columns], buffer, grown)

    def __reduce__(self) -> tuple[type[Sheet], tuple[Array]]:
        return Sheet, (self.view.copy(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Sheet:
        """With its room: the last bits of products depend on where rows begin."""
        (n, p), buffer = self.view.shape, self._buffer.copy()
        return Sheet(buffer[:n, :p], buffer)


def _room(have: int, wanted: int, most: int) -> int:
    """How many rows there is room for next: twice as many, or all there will be where that is not much more."""
    return max(wanted, most if 4 * have >= most else 2 * have)

"""The pending rows of KAAR in feature space: those that are not in its factor yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from oskaar.arrays import Array, spans
from oskaar.saved import require, require_count, require_floats, saved

ROOM = 48
"""How many rows there is room for before arrays have to grow."""


@saved("solver/pending-rows")
class PendingRows:
    """Features Z, whitened U, targets H, coordinates C and E, and the round of each row; L L^T = I + U U^T.

    What is beyond the first n rows is 0 (in L the identity), so that products need not leave it out.
    Columns may appear later, in Z and U as features do, in H, C and E as coordinates of labels do; they are 0 before.

    >>> rows, one = PendingRows(), np.ones((1, 1))
    >>> rows.append(one, one, np.zeros((1, ROOM)), one, one, one, one, [1])
    >>> rows.append(np.ones((1, 2)), np.ones((1, 2)), np.zeros((1, ROOM)), one, one, one, one, [1])
    >>> rows.n, rows.rounds, rows.Z[:2].tolist()
    (2, 2, [[1.0, 0.0], [1.0, 1.0]])
    """

    def __init__(self, D: int = 0, p: int = 0) -> None:
        self.n = self.rounds = 0
        self.Z, self.U = np.zeros((ROOM, D)), np.zeros((ROOM, D))
        self.H, self.C, self.E = np.zeros((ROOM, p)), np.zeros((ROOM, p)), np.zeros((ROOM, p))
        self.L = np.eye(ROOM, order="F")
        self.round = np.zeros(ROOM, dtype=np.int64)

    @property
    def dim(self) -> int:
        """How many features there are."""
        return self.Z.shape[1]

    @property
    def nbytes(self) -> int:
        """The memory that is held."""
        return sum(part.nbytes for part in vars(self).values() if isinstance(part, np.ndarray))

    def append(self, Z: Array, U: Array, W: Array, R: Array, H: Array, C: Array, E: Array, ends: Any) -> None:
        """Add the rows of some rounds that end at rows `ends`; their rows of L are [W, R]."""
        n, m = self.n, self.n + len(Z)
        if m > len(self.L) or Z.shape[1] > self.Z.shape[1] or H.shape[1] > self.H.shape[1]:
            self._reserve(m, max(self.dim, Z.shape[1]), max(self.H.shape[1], H.shape[1]))
        D, p = Z.shape[1], H.shape[1]
        at = n if m == n + 1 else slice(n, m)  # a row by its number: NumPy takes less time
        self.Z[at, :D], self.U[at, :D] = Z, U
        self.H[at, :p], self.C[at, :p], self.E[at, :p] = H, C, E
        self.L[at, :n], self.L[at, n:m] = W[:, :n], R
        self.round[n:m] = self.rounds if len(ends) == 1 else self.rounds + round_of_row(ends, m - n)
        self.n, self.rounds = m, self.rounds + len(ends)

    def since(self, first: int, U: Array, R: Array, C: Array) -> PendingRows:
        """The rows of the rounds from row `first` on, whitened anew: R R^T = I + U U^T, R C = H - U Theta."""
        new, n = PendingRows(self.dim, self.H.shape[1]), self.n - first
        past = int(self.round[first]) if n else self.rounds
        new.Z[:n], new.U[:n], new.H[:n], new.C[:n] = self.Z[first : self.n], U, self.H[first : self.n], C
        new.L[:n, :n], new.round[:n] = R, self.round[first : self.n] - past
        new.n, new.rounds = n, self.rounds - past
        if new.rounds == n:
            new.E[:n] = new.H[:n] / np.diagonal(R)[:, None] - C
        else:
            for lo, hi in spans(np.searchsorted(new.round[:n], np.arange(new.rounds), side="right")):
                new.E[lo:hi] = solve_triangular(R[lo:hi, lo:hi], new.H[lo:hi], lower=True) - C[lo:hi]
        return new

    def _reserve(self, rows: int, D: int, p: int) -> None:
        rows = max(rows, len(self.L))
        for name, columns in (("Z", D), ("U", D), ("H", p), ("C", p), ("E", p)):
            grown = np.zeros((rows, columns))
            old = getattr(self, name)
            grown[: len(old), : old.shape[1]] = old
            setattr(self, name, grown)
        if rows > len(self.L):
            L, n = np.eye(rows, order="F"), len(self.L)
            L[:n, :n] = self.L
            self.L, self.round = L, np.append(self.round, np.zeros(rows - n, dtype=np.int64))

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        n, room = require_count(self.n, "rows"), len(self.round)
        require_floats(self.Z, self.U, self.H, self.C, self.E, self.L)
        require(self.Z.shape == self.U.shape == (room, self.dim) and n <= room, "pending rows must fit")
        require(self.H.shape == self.C.shape == self.E.shape and len(self.H) == room, "pending rows must fit")
        require(
            self.L.shape == (room, room) and (np.diagonal(self.L) > 0).all(), "the factor must have a diagonal > 0"
        )
        require(self.round.dtype == np.int64 and self.round.ndim == 1, "rounds must be whole numbers")
        rounds = require_count(self.rounds, "rounds")
        numbers = self.round[:n]
        require(
            (np.diff(numbers, prepend=0, append=rounds) >= 0).all(), "rows must come in the order of their rounds"
        )


def round_of_row(ends: Any, rows: int) -> NDArray[np.int64]:
    """The number of each row's round.

    >>> round_of_row([2, 3], 3).tolist()
    [0, 0, 1]
    """
    return np.arange(rows) if len(ends) == rows else np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))

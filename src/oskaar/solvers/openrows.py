"""Rows that are not folded in yet: the open rows of KAAR in feature space, in arrays with room to spare."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array


class OpenRows:
    """Features Z, whitened U, coordinates C, E, targets H, inverse factor J and round of each open row.

    Columns may appear later, in Z and U as features do, in C, E and H as coordinates of labels do; they are 0 before.
    What is beyond the first n rows is never read, so an append that is interrupted changes nothing.

    >>> rows = OpenRows()
    >>> one = np.ones((1, 1))
    >>> rows.append(one, one, one, one, one, one, [1])
    >>> rows.append(np.ones((1, 2)), np.ones((1, 2)), one, one, one, np.ones((1, 2)), [1])
    >>> rows.n, rows.rounds, rows.Z.tolist()
    (2, 2, [[1.0, 0.0], [1.0, 1.0]])
    """

    def __init__(self) -> None:
        self.n = self.rounds = self.dim = self.p = 0
        self._features = np.zeros((2, 0, 0))
        self._targets = np.zeros((3, 0, 0))
        self._inverse = np.zeros((0, 0))
        self._round = np.zeros((0, 1), dtype=np.int64)

    @property
    def Z(self) -> Array:
        """(n, D)."""
        view: Array = self._features[0, : self.n, : self.dim]
        return view

    @property
    def U(self) -> Array:
        """(n, D)."""
        view: Array = self._features[1, : self.n, : self.dim]
        return view

    @property
    def C(self) -> Array:
        """(n, p)."""
        view: Array = self._targets[0, : self.n, : self.p]
        return view

    @property
    def E(self) -> Array:
        """(n, p)."""
        view: Array = self._targets[1, : self.n, : self.p]
        return view

    @property
    def H(self) -> Array:
        """(n, p)."""
        view: Array = self._targets[2, : self.n, : self.p]
        return view

    @property
    def J(self) -> Array:
        """(n, n), lower triangular."""
        return self._inverse[: self.n, : self.n]

    @property
    def round(self) -> NDArray[np.int64]:
        """(n, 1), counted from the first open round."""
        return self._round[: self.n]

    @property
    def nbytes(self) -> int:
        """The memory that is held."""
        return self._features.nbytes + self._targets.nbytes + self._inverse.nbytes + self._round.nbytes

    def append(self, Z: Array, U: Array, C: Array, E: Array, H: Array, J: Array, ends: Any) -> None:
        """Open the rows of some rounds that end at rows `ends`."""
        n, D, p = self.n + len(Z), max(self.dim, Z.shape[1]), max(self.p, H.shape[1])
        if n > len(self._round) or self._features.shape[2] < D or p > self._targets.shape[2]:
            self._reserve(n, D, p)
        new = slice(self.n, n)
        features, targets = self._features[:, new], self._targets[:, new]
        features[:, :, Z.shape[1] :] = targets[:, :, H.shape[1] :] = 0.0
        features[0, :, : Z.shape[1]], features[1, :, : Z.shape[1]] = Z, U
        targets[0, :, : H.shape[1]], targets[1, :, : H.shape[1]], targets[2, :, : H.shape[1]] = C, E, H
        self._inverse[new, :n] = J
        self._inverse[: self.n, new] = 0.0
        self._round[new] = self.rounds + round_of_row(ends)
        self.n, self.dim, self.p, self.rounds = n, D, p, self.rounds + len(ends)

    def _reserve(self, n: int, D: int, p: int) -> None:
        rows = len(self._round) if n <= len(self._round) else max(n, 2 * len(self._round), 16)
        features, targets = np.zeros((2, rows, D)), np.zeros((3, rows, p))
        inverse, rounds = np.zeros((rows, rows)), np.zeros((rows, 1), dtype=np.int64)
        features[:, : self.n, : self.dim] = self._features[:, : self.n, : self.dim]
        targets[:, : self.n, : self.p] = self._targets[:, : self.n, : self.p]
        inverse[: self.n, : self.n], rounds[: self.n] = self.J, self.round
        self._features, self._targets, self._inverse, self._round = features, targets, inverse, rounds

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_features"] = self._features[:, : self.n, : self.dim].copy()
        state["_targets"] = self._targets[:, : self.n, : self.p].copy()
        state["_inverse"], state["_round"] = self.J.copy(), self.round.copy()
        return state


def round_of_row(ends: Any) -> NDArray[np.int64]:
    """A column with the number of each row's round.

    >>> round_of_row([2, 3]).ravel().tolist()
    [0, 0, 1]
    """
    if len(ends) == 1:
        return np.zeros((int(ends[0]), 1), dtype=np.int64)
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))[:, None]

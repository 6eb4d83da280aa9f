r"""Corrections by the errors at the nearest rows (`learners.corrected`).

An estimate on a dictionary, or of a mixture, is off by about the same where it was off nearby. With e_i = phi_i - g_i
the error of round i, g_i the estimate before its label came, and the rows in order of their distance to x,

    c_k(x) = (e_(1) + ... + e_(k)) / (k + r_k)           for some k, as if r_k more errors were 0        (1)

Distances are sum_j a_j |u_j - u'_j|, of features in the units of the rows and with the weight that each has in the
rough kernel (`kernels.relevance`). Of rows at the same distance the latest comes first. Rows of long ago are
forgotten.
Equivalent to tests/naive.py::Nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array, Growing, Rows, fit_columns
from oskaar.inputs import Block
from oskaar.kernels.shapes import absolute_distances
from oskaar.kernels.standardised import Mapped
from oskaar.learners.labels import Labels
from oskaar.rows import count, pick
from oskaar.saved import saved

NEAREST, ADDED = np.array([1, 3, 10, 30]), np.array([3, 3, 10, 30])
"""k and r_k of (1)."""

_DIVISORS = (NEAREST + ADDED)[:, None]

MEMORY, NUMBERS = 4096, 2**18
"""At most so many rows are remembered, and fewer where they would have more numbers."""


@dataclass
class PendingNeighbours:
    """Rounds to come: features U, corrections (C, rows, p), and errors (rows, p) once labels are observed."""

    U: Array
    corrections: Array
    errors: Array | None = None


@saved("corrections/neighbours")
class Neighbours:
    """Corrections by the errors at the nearest rows. For rounds of one row.

    near: a kernel on mapped features; the rows that it is on at last are compared.
    """

    name, prior, count = "neighbours", -5.0, len(NEAREST)

    def __init__(self, near: Mapped) -> None:
        self.near = near
        self.memory = max(1, min(MEMORY, NUMBERS // max(1, near.width)))
        self.U, self.errors = Growing(near.width), Growing(0)

    @property
    def operations(self) -> int:
        """Those of the distances."""
        return self.U.shape[0] * self.U.shape[1]

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        return 8 * (self.U.shape[1] + self.errors.shape[1]) * (rows + min(self.U.shape[0], self.memory))

    def forecast(self, block: Block, inner: Any) -> PendingNeighbours:
        """Rows each of which may come next."""
        U, p = self.near.innermost(block.rows), max(inner.G.shape[1], self.errors.shape[1])
        errors = fit_columns(self.errors.view[-self.memory :], p)
        found = [_of_nearest(distances, errors) for distances in absolute_distances(U, self.U.view[-self.memory :])]
        return PendingNeighbours(U, np.array(found).swapaxes(0, 1))

    def observe(self, pending: PendingNeighbours, labels: Labels, errors: Array) -> PendingNeighbours:
        """The errors of a round."""
        pending.errors = errors
        return pending

    def forecast_chunk(self, block: Block, inner: Any, labels: Labels, errors: Array) -> PendingNeighbours:
        """Rows that come one after the other: neighbours may be among those before."""
        U = self.near.innermost(block.rows)
        known = np.concatenate([self.U.view[-self.memory :], U])
        wrong = np.concatenate([fit_columns(self.errors.view[-self.memory :], errors.shape[1]), errors])
        before = len(known) - len(U)
        found = []
        for i, distances in enumerate(absolute_distances(U, known)):
            past = slice(max(before + i - self.memory, 0), before + i)
            found.append(_of_nearest(distances[past], wrong[past]))
        return PendingNeighbours(U, np.array(found).swapaxes(0, 1), errors)

    def commit(self, pending: PendingNeighbours) -> None:
        """Remember rows and their errors."""
        assert pending.errors is not None
        self.U.append(pending.U)
        self.errors.append(pending.errors)
        if self.U.shape[0] >= 2 * self.memory:
            late = self.U.shape[0] - self.memory
            self.U.drop(late)
            self.errors.drop(late)

    def carried(self, pending: PendingNeighbours) -> Array:
        """The errors of the last rows."""
        assert pending.errors is not None
        errors = np.concatenate([fit_columns(self.errors.view, pending.errors.shape[1]), pending.errors])
        return errors[-self.memory :]

    def fitted(self, rows: Rows, carried: Array | None) -> Neighbours:
        """With these errors at the last of these rows."""
        new = Neighbours(self.near)
        last = min(count(rows), new.memory)
        new.U.append(self.near.innermost(pick(rows, slice(count(rows) - last, None))))
        new.errors.append(np.zeros((last, 0)) if carried is None else carried[-last:])
        return new

    def check_state(self, rounds: int, experts: int) -> None:
        """Refuse rows and errors from a file that are not of these rounds."""
        kept = min(rounds, self.memory)
        state.require(kept <= self.U.shape[0] == self.errors.shape[0] <= rounds, "an error for each row")
        state.require(self.U.shape[1] == self.near.width, "features must fit")


def _of_nearest(distances: Array, errors: Array) -> Array:
    """(1) for each k, (C, p). Sums go from the nearest on: rounding of one coordinate does not depend on others."""
    if not len(distances):
        return np.zeros((len(NEAREST), errors.shape[1]))
    most = min(int(NEAREST[-1]), len(distances))
    (near,) = (distances <= np.partition(distances, most - 1)[most - 1]).nonzero()
    near = near[np.lexsort((-near, distances[near]))][:most]
    corrections: Array = np.add.accumulate(errors[near], axis=0)[np.minimum(NEAREST, most) - 1]
    corrections /= _DIVISORS
    return corrections

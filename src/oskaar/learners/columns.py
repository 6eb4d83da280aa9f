r"""Ridge regressions by column: experts for sparse rows of parts, whose columns are too many for a dictionary.

Rows are divided by their norms and have an intercept, as with the kernel Cosine() + 1; each lam is an expert
(`solvers.diagonal`). Columns whose numbers are the same modulo MOST share a weight.
`forecast` changes nothing; `observe` takes the label of a round, `commit` learns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from oskaar import state
from oskaar.arrays import Array, Rows
from oskaar.features.rows import unit_rows
from oskaar.inputs import Compared, Inputs
from oskaar.learners.experts import Always
from oskaar.learners.labels import Labels
from oskaar.losses import Space
from oskaar.rows import count, is_sparse
from oskaar.saved import saved
from oskaar.solvers.diagonal import DiagonalSolver

MOST = 2**16
"""Columns that have weights of their own."""

NEW = 2**31
"""The place of a column that has none yet."""

OFTEN = 256
"""Columns of a row that memory is reckoned with."""


@dataclass
class PendingColumns:
    """A round to come: estimates (K, rows, p), the columns and values of each row, and Phi once it is observed."""

    estimates: Array
    rows: list[tuple[Any, Array]]
    Phi: Array | None


@saved("expert/columns")
class ColumnRidges(Always):
    """Ridge regressions with a diagonal covariance, one for each lam. Rounds go in turn.

    places: that of each column in the solver, in the order in which they came, 0 before; the first is the intercept.
    """

    room = 1

    def __init__(self, lams: list[float]) -> None:
        self.solver = DiagonalSolver(lams)
        self.places = np.zeros(MOST, dtype=np.int64)
        self.columns, self.rounds = 1, 0
        self.names = [f"ridge, columns, lam {lam:g}" for lam in lams]
        self.groups = ["columns" for _ in lams]

    def forecast(self, compared: Compared, space: Space, labels: Labels | None) -> PendingColumns:
        """One round."""
        rows = _columns(compared.block.rows)
        Phi = None if labels is None else labels.Phi
        return PendingColumns(self.solver.means(self._placed(rows), space.p), rows, Phi)

    def each(self, compared: Compared, space: Space) -> Array:
        """Rounds of one row each, all from the present state: (K, m, p)."""
        return self.solver.means(self._placed(_columns(compared.block.rows)), space.p)

    def observe(self, pending: PendingColumns, labels: Labels) -> PendingColumns:
        """The label of a round."""
        pending.Phi = labels.Phi
        return pending

    def commit(self, pending: PendingColumns) -> None:
        """Learn a round that was observed."""
        assert pending.Phi is not None
        found = np.concatenate([columns for columns, _ in pending.rows])
        new = np.unique(found[self.places[found] == 0])
        self.places[new] = np.arange(self.columns, self.columns + len(new))
        self.columns += len(new)
        self.solver.update(self._placed(pending.rows), pending.Phi)
        self.rounds += 1

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take, with at most OFTEN new columns each."""
        return self.solver.growth(min(MOST, self.columns + OFTEN * rows), self.solver.W.shape[2])

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        return OFTEN * self.solver.W.shape[0] * self.solver.W.shape[2]

    def check_state(self, inputs: Inputs, rounds: int) -> None:
        """Refuse regressions from a file that have not seen as many rounds."""
        state.require_kind(self.solver, DiagonalSolver, "the solver")
        places: Any = self.places
        whole = isinstance(places, np.ndarray) and places.dtype == np.int64 and places.shape == (MOST,)
        state.require(whole, "a place for each column")
        taken = np.sort(places[places != 0])
        state.require(np.array_equal(taken, np.arange(1, len(taken) + 1)), "each column has a place of its own")
        state.require(self.columns == len(taken) + 1, "places for all columns")
        state.require(self.columns <= max(self.solver.W.shape[1], 1), "weights for all columns")
        state.require(self.rounds == rounds, "the regressions must have seen as many rounds")

    def _placed(self, rows: list[tuple[Any, Array]]) -> list[tuple[Any, Array]]:
        """Places in the solver for columns, with the intercept."""
        found = []
        for columns, values in rows:
            places = self.places[columns]
            found.append((np.append(0, np.where(places > 0, places, NEW)), np.append(1.0, values)))
        return found


def _columns(X: Rows) -> list[tuple[Any, Array]]:
    """The columns of each row modulo MOST, and its values; none of rows that are neither sparse nor numbers."""
    if not (is_sparse(X) or isinstance(X, np.ndarray)):
        X = np.zeros((count(X), 0))
    X = csr_array(unit_rows(X))
    Z = csr_array((X.data, X.indices % MOST, X.indptr), shape=(X.shape[0], MOST), copy=True)
    Z.sum_duplicates()
    return [(Z.indices[lo:hi], Z.data[lo:hi]) for lo, hi in pairwise(Z.indptr)]

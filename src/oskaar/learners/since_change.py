r"""Ridge regressions on the rows since the last change point, for a mixture (`learners.mixture`).

After a change a regression on all rows knows two laws, and a restart few rows. So when a change was found
(`learners.change_points`), regressions are born that learn the rows from then on, on a dictionary of these rows. At
the next change they begin anew. Before the first one they sleep: a sleeping expert says what the mixture says, pays
the same and has no weight (Freund et al. 1997); a newborn one has its prior weight and has gained nothing.

Births wait for a multiple of 24 rounds, and chunks end there, so that a replay equals a loop.
Equivalent to tests/naive.py::mixture_with_experts.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array
from oskaar.features import FeatureMap
from oskaar.inputs import Compared, Inputs
from oskaar.learners.experts import PendingRidges, Ridges
from oskaar.learners.labels import Labels
from oskaar.losses import Space
from oskaar.saved import saved
from oskaar.solvers.all_restarts import CHUNK

BIRTHS = CHUNK
"""Regressions are born after so many rounds, or a multiple of them."""


@dataclass
class PendingSinceChange:
    """Rounds to come: those of the regressions, or none while they sleep.

    changes: how many were found, where the regressions begin anew after these rounds.
    """

    inner: PendingRidges | None
    estimates: Array
    rows: int
    changes: int | None = None


@saved("expert/since-change")
class SinceChange:
    """Ridge regressions with one kernel and each lam on the rows since the last change point, of rounds of one row.

    features: a map that has seen nothing; name: what its kernel is called; renewal: as in `Ridges`.
    """

    def __init__(self, inputs: Inputs, features: FeatureMap, lams: list[float], name: str, renewal: int) -> None:
        self.inputs, self.features, self.name, self.renewal = inputs, features, name, renewal
        self.lams = list(lams)  # of its own: files say what is shared
        self.names = [f"since the last change, {name}, lam {lam:g}" for lam in lams]
        self.groups = ["since change" for _ in lams]
        self.rounds = self.births = self.changes = 0
        self.ridges: Ridges | None = None

    sleeps = False  # but for want of a change

    @property
    def asleep(self) -> bool:
        """Whether there was no change so far."""
        return self.ridges is None

    @property
    def lives(self) -> int:
        """How many experts it has been."""
        return max(1, self.births)

    @property
    def room(self) -> int:
        """How many rows the next chunk may have: up to the next round of births."""
        rows = BIRTHS - self.rounds % BIRTHS
        return rows if self.ridges is None else min(rows, self.ridges.room)

    @property
    def operations(self) -> int:
        """About how many operations a round takes."""
        return 0 if self.ridges is None else self.ridges.operations

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        return 0 if self.ridges is None else self.ridges.growth(rows)

    def forecast(self, compared: Compared, space: Space, labels: Labels | None) -> PendingSinceChange:
        """One round, or several whose labels are known."""
        if self.ridges is None:
            return PendingSinceChange(None, self.each(compared, space), compared.block.n)
        inner = self.ridges.forecast(compared, space, labels)
        return PendingSinceChange(inner, inner.estimates, compared.block.n)

    def each(self, compared: Compared, space: Space) -> Array:
        """Rounds of one row each, all from the present state: (K, m, p); 0 while they sleep."""
        if self.ridges is None:
            return np.zeros((len(self.lams), compared.block.n, space.p))
        return self.ridges.each(compared, space)

    def observe(self, pending: PendingSinceChange, labels: Labels) -> PendingSinceChange:
        """The label of a round."""
        if pending.inner is not None:
            pending.inner.targets = labels.Phi
        return pending

    def begins(self, pending: PendingSinceChange, rounds: int, changes: int) -> bool:
        """Whether the regressions begin anew after so many rounds, when so many changes were found."""
        if rounds % BIRTHS or changes <= self.changes:
            return False
        pending.changes = changes
        return True

    def commit(self, pending: PendingSinceChange) -> None:
        """Learn rounds that were observed, then begin anew where it is time."""
        self.rounds += pending.rows
        if self.ridges is not None and pending.inner is not None:
            self.ridges.commit(pending.inner)
        if pending.changes is not None:
            self.changes, self.births = pending.changes, self.births + 1
            self.ridges = Ridges(self.inputs, 0, self.features, self.lams, self.name, True, False, self.renewal)

    def fitted(self, Phi: Array) -> SinceChange:
        """After rounds with these labels and no change."""
        new = copy.copy(self)
        new.rounds = len(Phi)
        return new

    def continued(self, others: list[Any], rounds: int) -> SinceChange:
        """After so many rounds, with what one of the others knows that has the same name and reads rows alike.

        Where rows are read in another way now, they begin anew at the next births, if there was a change.
        """
        new = copy.copy(self)
        new.rounds = rounds
        for other in others:
            if other.names == self.names and self._reads_like(other):
                new.births, new.changes, new.ridges = other.births, other.changes, copy.copy(other.ridges)
                if new.ridges is not None:
                    new.ridges.inputs = self.inputs
        return new

    def _reads_like(self, other: SinceChange) -> bool:
        mine, before = self.inputs.schema, other.inputs.schema
        return mine is before or (mine is not None and before is not None and mine.like(before))

    def check_state(self, inputs: Inputs, rounds: int) -> None:
        """Refuse regressions from a file that cannot have seen these rounds."""
        state.require(self.inputs is inputs, "the regressions must have the learner's inputs")
        state.require(self.rounds == rounds, "the regressions must have learned as many rounds")
        state.require_kind(self.ridges, (Ridges, type(None)), "the regressions since a change")
        for number in (self.births, self.changes):
            state.require_count(number, "changes")
        if self.ridges is not None:
            state.require(0 <= self.ridges.rows <= rounds, "rows since a change")
            self.ridges.check_state(inputs, self.ridges.rows)

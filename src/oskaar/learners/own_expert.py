"""An expert of one's own in a mixture: a learner, or an estimator."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array
from oskaar.guards import give_lock
from oskaar.inputs import Block, Compared, Inputs
from oskaar.learners.experts import Always
from oskaar.learners.labels import Labels
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Space
from oskaar.saved import saved


@dataclass(frozen=True)
class PendingOwn:
    """Rounds to come for one expert of one's own."""

    block: Block
    inner: Any
    labels: Labels | None

    @property
    def estimates(self) -> Array:
        G: Array = self.inner.G
        return G[None]


@saved("expert/own")
class OwnExpert(Always):
    """A learner or an estimator of one's own, with the loss of the mixture: a new one like it, which stays as it is.

    Of an estimator (`learners.estimators.Estimator`) the mixture uses forecast, forecast_chunk, observe, commit,
    room, operations and growth, and each where it has it; it is copied, and has seen nothing.
    """

    def __init__(self, name: str, expert: Any) -> None:
        self.names = self.groups = (name,)
        self.learner: OnlineLearner | None = expert.like_new() if isinstance(expert, OnlineLearner) else None
        self.expert: Any = copy.deepcopy(expert) if self.learner is None else self.learner
        if self.learner is not None:
            give_lock(self.learner)

    @property
    def _estimator(self) -> Any:
        return self.expert if self.learner is None else self.learner.estimator

    @property
    def room(self) -> int:
        """As many rows as it takes at a time."""
        return int(self.expert.room)

    @property
    def operations(self) -> int:
        return int(self._estimator.operations)

    def growth(self, rows: int) -> int:
        return int(self._estimator.growth(rows))

    def forecast(self, compared: Compared, space: Space, labels: Labels | None) -> PendingOwn:
        """One round, or several whose labels are known."""
        block = compared.block.numbers()  # read by the mixture's schema
        if labels is None:
            return PendingOwn(block, self._estimator.forecast(block, space), None)
        return PendingOwn(block, self._estimator.forecast_chunk(block, labels), labels)

    def each(self, compared: Compared, space: Space) -> Array:
        """Rounds of one row each, all from the present state: (1, m, p)."""
        block = compared.block.numbers()
        if hasattr(self._estimator, "each"):
            return np.asarray(self._estimator.each(block, np.arange(1, block.n + 1), space))[None]
        rows = [self._estimator.forecast(block.part(i, i + 1), space).G for i in range(block.n)]
        return np.concatenate(rows)[None]

    def observe(self, pending: PendingOwn, labels: Labels) -> PendingOwn:
        """The label of a round."""
        return replace(pending, inner=self._estimator.observe(pending.inner, labels), labels=labels)

    def commit(self, pending: PendingOwn) -> None:
        """Learn rounds that were observed."""
        if self.learner is None:
            self.expert.commit(pending.inner)
        else:
            assert pending.labels is not None
            self.learner.commit(pending.block, pending.labels, pending.inner)

    def check_state(self, inputs: Inputs, rounds: int) -> None:
        """Refuse a learner from a file that has not seen these rounds."""
        if self.learner is not None:
            self.learner._check_state()
            state.require(self.learner.rounds == rounds, "each expert must have learned as many rounds")

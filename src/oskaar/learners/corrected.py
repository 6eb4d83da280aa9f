r"""Estimates with corrections, weighted by what each has gained.

    g'(x) = g(x) + sum_k w_k c_k(x),     w_k ~ exp(prior + eta gain_k),   1 for no correction                   (1)

gain_k is what |phi - g - c_k|^2 was less than |phi - g|^2 so far, eta is 0.5 over the mean of the latter; in both a
round counts 511/512 as much as the one after it. `learners.neighbours` and `learners.stacking` have corrections.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from oskaar import state
from oskaar.arrays import Array, Rows, fit_columns
from oskaar.inputs import Block, Inputs
from oskaar.learners.labels import Labels
from oskaar.learners.mixture import Carried, Mixture, PendingMixture, scaled_rate, softmax
from oskaar.learners.outer import Outer
from oskaar.losses import Space
from oskaar.saved import saved

ETA = 0.5
"""The rate over the mean loss."""

KEPT = 1 - 1 / 512
"""What is kept of the accounts at each round."""


class Corrections(Protocol):
    """Where corrections come from. What is pending has `corrections` (C, rows, p)."""

    name: str
    prior: float
    count: int

    @property
    def operations(self) -> int:
        """About how many operations the next round takes."""

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""

    def forecast(self, block: Block, inner: Any) -> Any:
        """Rows each of which may come next; inner: their forecast by the estimator inside."""

    def observe(self, pending: Any, labels: Labels, errors: Array) -> Any:
        """The label of a round, and the errors (rows, p) of the estimator inside."""

    def forecast_chunk(self, block: Block, inner: Any, labels: Labels, errors: Array) -> Any:
        """Rounds that come one after the other, observed."""

    def commit(self, pending: Any) -> None:
        """Learn rounds that were observed."""

    def carried(self, pending: Any) -> Any:
        """What is known after rounds that were observed, for another estimator with the same experts."""

    def fitted(self, rows: Rows, carried: Any) -> Corrections:
        """The same when the rounds so far had these rows."""

    def check_state(self, rounds: int, experts: int) -> None:
        """Refuse corrections from a file that cannot have seen so many rounds, of so many experts."""


@saved("estimator/accounts")
@dataclass(frozen=True)
class Accounts:
    """What each correction has gained so far (C,), what the estimate alone has paid, and in how many rounds.

    A value; `after` makes the next. Before the first round there was one with a loss of 1.

    >>> accounts = Accounts(-5.0, np.zeros(2)).after(np.full(2, 5.0), 9.0)
    >>> accounts.gains, accounts.paid, accounts.rounds
    (array([5., 5.]), 9.998046875, 1.998046875)
    """

    prior: float
    gains: Array
    paid: float = 1.0
    rounds: float = 1.0

    @property
    def weights(self) -> Array:
        """w_k (C,) in the next round (1)."""
        logs = self.prior + scaled_rate(ETA, self.paid, self.rounds) * self.gains
        return softmax(np.concatenate([[0.0], logs]))[0][1:]

    def after(self, gained: Array, paid: float) -> Accounts:
        """After a round with these gains (C,)."""
        gains = KEPT * self.gains + gained
        return Accounts(self.prior, gains, KEPT * self.paid + paid, KEPT * self.rounds + 1.0)


@dataclass
class PendingCorrected:
    """Rounds to come: those of the estimator inside, their corrections, and the estimates."""

    inner: Any
    corrections: Any
    G: Array
    accounts: Accounts | None = None
    """Those after the rounds, once labels are observed."""

    @property
    def mixture(self) -> PendingMixture:
        """The forecast of the mixture inside."""
        mixture: PendingMixture = self.inner.mixture
        return mixture


@saved("estimator/corrected")
class Corrected(Outer):
    """An estimator: another one, corrected."""

    def __init__(self, inner: Any, corrections: Corrections) -> None:
        self.inner, self.corrections = inner, corrections
        self.accounts = Accounts(corrections.prior, np.zeros(corrections.count))

    @property
    def operations(self) -> int:
        """Those of the estimator inside, and of the corrections."""
        return super().operations + self.corrections.operations

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        return super().growth(rows) + self.corrections.growth(rows)

    def forecast(self, block: Block, space: Space) -> PendingCorrected:
        """One round."""
        return self._corrected(self.inner.forecast(block, space), block)

    def forecast_each(self, block: Block, space: Space) -> PendingCorrected:
        """Rounds all from the present state. They cannot be observed."""
        return self._corrected(self.inner.forecast_each(block, space), block)

    def observe(self, pending: PendingCorrected, labels: Labels) -> PendingCorrected:
        """The label of a round."""
        pending.inner = self.inner.observe(pending.inner, labels)
        errors = _errors(pending.inner, labels)
        pending.corrections = self.corrections.observe(pending.corrections, labels, errors)
        *_, pending.accounts = self._accounts(pending, labels)
        return pending

    def forecast_chunk(self, block: Block, labels: Labels) -> PendingCorrected:
        """Several rounds, each after the labels of those before it."""
        inner = self.inner.forecast_chunk(block, labels)
        found = self.corrections.forecast_chunk(block, inner, labels, _errors(inner, labels))
        pending = PendingCorrected(inner, found, inner.G)
        *before, pending.accounts = self._accounts(pending, labels)
        weights, rows = np.array([accounts.weights for accounts in before]), [hi - lo for lo, hi in labels.rows]
        pending.G = _with_corrections(inner.G, found.corrections, np.repeat(weights, rows, axis=0))
        return pending

    def commit(self, pending: PendingCorrected) -> None:
        """Learn rounds that were observed."""
        assert pending.accounts is not None
        self.inner.commit(pending.inner)
        self.corrections.commit(pending.corrections)
        self.accounts = pending.accounts

    def carried(self, pending: PendingCorrected) -> Carried:
        """The accounts after rounds that were observed."""
        known: Carried = self.inner.carried(pending.inner)
        mine = pending.accounts, self.corrections.carried(pending.corrections)
        return replace(known, corrections=known.corrections | {self.corrections.name: mine})

    def fitted(self, mixture: Mixture, rows: Rows, accounts: Carried) -> Corrected:
        """The same estimator around a mixture whose experts have seen rounds with these rows."""
        new = copy.copy(self)
        new.inner = self.inner.fitted(mixture, rows, accounts)
        before, carried = accounts.corrections.get(self.corrections.name, (self.accounts, None))
        new.accounts = before
        new.corrections = self.corrections.fitted(rows, carried)
        return new

    def check_state(self, inputs: Inputs, space: Space, rounds: int) -> None:
        """Refuse an estimator from a file that cannot have seen these rounds."""
        self.inner.check_state(inputs, space, rounds)
        state.require_kind(self.accounts, Accounts, "the accounts")
        state.require(np.shape(self.accounts.gains) == (self.corrections.count,), "a gain for each correction")
        for number, what in ((self.accounts.paid, "what was paid"), (self.accounts.prior, "a prior weight")):
            state.require_number(number, what)
        state.require_number(self.accounts.rounds, "rounds", above=0.0)
        self.corrections.check_state(rounds, len(self.mixture.names))

    def _corrected(self, inner: Any, block: Block) -> PendingCorrected:
        """Rounds that may come next."""
        found = self.corrections.forecast(block, inner)
        G = _with_corrections(inner.G, found.corrections, self.accounts.weights[None])
        return PendingCorrected(inner, found, G)

    def _accounts(self, pending: PendingCorrected, labels: Labels) -> list[Accounts]:
        """The accounts before each of some rounds, and after the last."""
        G = fit_columns(pending.inner.G, labels.Phi.shape[1])
        corrections = fit_columns(pending.corrections.corrections, G.shape[1])
        losses, found = labels.surrogate_losses(np.concatenate([G[None], G + corrections])), [self.accounts]
        for gained, paid in zip((losses[0] - losses[1:]).T, losses[0].tolist(), strict=True):
            found.append(found[-1].after(gained, paid))
        return found


def _errors(inner: Any, labels: Labels) -> Array:
    """phi - g (rows, p) of the estimator inside."""
    return labels.Phi - fit_columns(inner.G, labels.Phi.shape[1])


def _with_corrections(G: Array, corrections: Array, weights: Array) -> Array:
    """(1) with weights (rows, C), or (1, C) for all; one after the other is added, as in `weighted_mean`."""
    terms = np.concatenate([fit_columns(G, corrections.shape[2])[None], weights.T[:, :, None] * corrections])
    total: Array = np.add.reduce(terms, axis=0)
    return total

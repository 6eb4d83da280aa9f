r"""Estimates corrected by the errors at the nearest rows.

An estimate on a dictionary, or of a mixture, is off by about the same where it was off nearby. With e_i = phi_i - g_i
the error of round i, g_i the estimate before its label came, and the rows in order of their distance to x,

    c_k(x) = (e_(1) + ... + e_(k)) / (k + r_k)           for some k, as if r_k more errors were 0        (1)
    g'(x) = g(x) + sum_k w_k c_k(x),     w_k ~ exp(-5 + eta gain_k),   1 for no correction              (2)

gain_k is what |phi - g - c_k|^2 was less than |phi - g|^2 so far, eta is 0.5 over the mean of the latter; in both a
round counts 511/512 as much as the one after it. Distances are sum_j a_j |u_j - u'_j|, of features in the units of
the rows and with the weight that each has in the rough kernel (`kernels.relevance`). Of rows at the same distance
the latest comes first. Rows of long ago are forgotten.
Equivalent to tests/naive.py::Corrected.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array, Growing, Rows, fit_columns
from oskaar.inputs import Block, Inputs
from oskaar.kernels.shapes import absolute_distances
from oskaar.kernels.standardised import Mapped
from oskaar.learners.certificate import Hindsight
from oskaar.learners.labels import Labels
from oskaar.learners.mixture import Carried, Mixture, PendingMixture, estimates_of_each, scaled_rate, softmax
from oskaar.losses import Space
from oskaar.rows import count, pick
from oskaar.saved import saved

NEAREST, ADDED = np.array([1, 3, 10, 30]), np.array([3, 3, 10, 30])
"""k and r_k of (1)."""

PRIOR, ETA = -5.0, 0.5
"""The logarithm of the prior weight of a correction, and the rate over the mean loss."""

KEPT = 1 - 1 / 512
"""What is kept of the accounts at each round."""

MEMORY, NUMBERS = 4096, 2**18
"""At most so many rows are remembered, and fewer where they would have more numbers."""


@dataclass
class PendingCorrection:
    """Rounds to come: those of the mixture, features U, corrections (C, rows, p), and the estimates."""

    mixture: PendingMixture
    U: Array
    corrections: Array
    G: Array
    errors: Array | None = None
    """Those of the mixture (rows, p), once labels are observed; `accounts` are those after them."""
    accounts: Accounts | None = None


@saved("estimator/neighbours-accounts")
@dataclass(frozen=True)
class Accounts:
    """What each correction has gained so far (C,), what the estimate alone has paid, and in how many rounds.

    A value; `after` makes the next. Before the first round there was one with a loss of 1.

    >>> accounts = Accounts().after(np.full(len(NEAREST), 5.0), 9.0)
    >>> accounts.gains, accounts.paid, accounts.rounds
    (array([5., 5., 5., 5.]), 9.998046875, 1.998046875)
    """

    gains: Array = field(default_factory=lambda: np.zeros(len(NEAREST)))
    paid: float = 1.0
    rounds: float = 1.0

    @property
    def weights(self) -> Array:
        """w_k (C,) in the next round (2)."""
        logs = PRIOR + scaled_rate(ETA, self.paid, self.rounds) * self.gains
        return softmax(np.append(0.0, logs))[0][1:]

    def after(self, gained: Array, paid: float) -> Accounts:
        """After a round with these gains (C,)."""
        return Accounts(KEPT * self.gains + gained, KEPT * self.paid + paid, KEPT * self.rounds + 1.0)


@saved("estimator/neighbours")
class Neighbours:
    """An estimator: a mixture, corrected. For rounds of one row.

    near: a kernel on mapped features; the rows that it is on at last are compared.
    """

    def __init__(self, mixture: Mixture, near: Mapped) -> None:
        self.mixture, self.near = mixture, near
        self.memory = max(1, min(MEMORY, NUMBERS // max(1, near.width)))
        self.U, self.errors = Growing(near.width), Growing(0)
        self.accounts = Accounts()

    @property
    def advice(self) -> str:
        """What to do when memory ends."""
        return self.mixture.advice

    @property
    def room(self) -> int:
        """As many rows as the mixture takes."""
        return self.mixture.room

    @property
    def operations(self) -> int:
        """Those of the mixture, and the distances."""
        return self.mixture.operations + self.U.shape[0] * self.U.shape[1]

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""
        n, width = self.U.shape[0], self.U.shape[1] + self.errors.shape[1]
        return self.mixture.growth(rows) + 8 * width * (rows + min(n, self.memory))

    def forecast(self, block: Block, space: Space) -> PendingCorrection:
        """One round."""
        return self._corrected(self.mixture.forecast(block, space), block)

    def forecast_each(self, block: Block, space: Space) -> PendingCorrection:
        """Rounds all from the present state. They cannot be observed."""
        return self._corrected(self.mixture.forecast_each(block, space), block)

    def observe(self, pending: PendingCorrection, labels: Labels) -> PendingCorrection:
        """The label of a round."""
        pending.mixture = self.mixture.observe(pending.mixture, labels)
        self._charge(pending, labels)
        return pending

    def forecast_chunk(self, block: Block, labels: Labels) -> PendingCorrection:
        """Several rounds: neighbours may be among those before."""
        inner, U = self.mixture.forecast_chunk(block, labels), self._features(block)
        C = self._corrections_in_turn(U, labels.Phi - fit_columns(inner.G, labels.Phi.shape[1]))
        pending = PendingCorrection(inner, U, C, inner.G)
        pending.G = _corrected(inner.G, C, np.array([accounts.weights for accounts in self._charge(pending, labels)]))
        return pending

    def commit(self, pending: PendingCorrection) -> None:
        """Learn rounds that were observed."""
        assert pending.errors is not None
        assert pending.accounts is not None
        self.mixture.commit(pending.mixture)
        self.U.append(pending.U)
        self.errors.append(pending.errors)
        self.accounts = pending.accounts
        if self.U.shape[0] >= 2 * self.memory:
            late = self.U.shape[0] - self.memory
            self.U.drop(late)
            self.errors.drop(late)

    def carried(self, pending: PendingCorrection) -> Carried:
        """The accounts after rounds that were observed."""
        assert pending.errors is not None
        errors = np.concatenate([fit_columns(self.errors.view, pending.errors.shape[1]), pending.errors])
        inner = self.mixture.carried(pending.mixture)
        return replace(inner, corrections=pending.accounts, errors=errors[-self.memory :])

    def fitted(self, restarts: Any, experts: list[Any], rows: Rows, accounts: Carried) -> Neighbours:
        """The same estimator after rounds with these rows."""
        new = Neighbours(self.mixture.fitted(restarts, experts, rows, accounts), self.near)
        last = min(count(rows), new.memory)
        new.U.append(self.near.innermost(pick(rows, slice(count(rows) - last, None))))
        new.errors.append(np.zeros((last, 0)) if accounts.errors is None else accounts.errors[-last:])
        new.accounts = accounts.corrections or new.accounts
        return new

    def each(self, block: Block, ends: Any, space: Space) -> Array:
        """Some rounds at a time, all from the present state."""
        return estimates_of_each(self, block, ends, space)

    def effective_dimension(self, probes: int | None = None) -> float:
        """That of the mixture."""
        return self.mixture.effective_dimension(probes)

    def hindsight(self, space: Space, rounds: int) -> Hindsight | None:
        """None: no theorem is known of it."""
        return None

    def check_state(self, inputs: Inputs, space: Space, rounds: int) -> None:
        """Refuse an estimator from a file that cannot have seen these rounds."""
        self.mixture.check_state(inputs, space, rounds)
        state.require_kind(self.accounts, Accounts, "the accounts")
        state.require(np.shape(self.accounts.gains) == NEAREST.shape, "a gain for each correction")
        state.require_number(self.accounts.paid, "what was paid")
        state.require_number(self.accounts.rounds, "rounds", above=0.0)
        kept = min(rounds, self.memory)
        state.require(kept <= self.U.shape[0] == self.errors.shape[0] <= rounds, "an error for each row")
        state.require(self.U.shape[1] == self.near.width, "features must fit")

    def _corrected(self, inner: PendingMixture, block: Block) -> PendingCorrection:
        """Rounds of the mixture that may come next."""
        U = self._features(block)
        C = self._corrections(U, inner.G.shape[1])
        return PendingCorrection(inner, U, C, _corrected(inner.G, C, self.accounts.weights[None]))

    def _features(self, block: Block) -> Array:
        return self.near.innermost(block.rows)

    def _corrections(self, U: Array, p: int) -> Array:
        """c_k (C, rows, p or more) of rows each of which may come next."""
        errors = fit_columns(self.errors.view[-self.memory :], max(p, self.errors.shape[1]))
        found = [_of_nearest(distances, errors) for distances in absolute_distances(U, self.U.view[-self.memory :])]
        return np.array(found).swapaxes(0, 1)

    def _corrections_in_turn(self, U: Array, errors: Array) -> Array:
        """c_k (C, rows, p) of rows that come one after the other with these errors (rows, p)."""
        known = np.concatenate([self.U.view[-self.memory :], U])
        wrong = np.concatenate([fit_columns(self.errors.view[-self.memory :], errors.shape[1]), errors])
        before = len(known) - len(U)
        found = []
        for i, distances in enumerate(absolute_distances(U, known)):
            past = slice(max(before + i - self.memory, 0), before + i)
            found.append(_of_nearest(distances[past], wrong[past]))
        return np.array(found).swapaxes(0, 1)

    def _charge(self, pending: PendingCorrection, labels: Labels) -> list[Accounts]:
        """What the corrections of some rounds have gained; the accounts before each of them."""
        G = fit_columns(pending.mixture.G, labels.Phi.shape[1])
        corrected = np.concatenate([G[None], G + fit_columns(pending.corrections, G.shape[1])])
        losses = labels.surrogate_losses(corrected)
        accounts = [self.accounts]
        for gained, paid in zip((losses[0] - losses[1:]).T, losses[0].tolist(), strict=True):
            accounts.append(accounts[-1].after(gained, paid))
        pending.errors, pending.accounts = labels.Phi - G, accounts.pop()
        return accounts


def _of_nearest(distances: Array, errors: Array) -> Array:
    """(1) for each k, (C, p). Sums go from the nearest on: rounding of one coordinate does not depend on others."""
    found = np.zeros((len(NEAREST), errors.shape[1]))
    if not len(distances):
        return found
    most = min(int(NEAREST[-1]), len(distances))
    near = np.flatnonzero(distances <= np.partition(distances, most - 1)[most - 1])
    near = near[np.lexsort((-near, distances[near]))][:most]
    sums = np.add.accumulate(errors[near], axis=0)
    found[:] = sums[np.minimum(NEAREST, most) - 1]
    found /= (NEAREST + ADDED)[:, None]
    return found


def _corrected(G: Array, corrections: Array, weights: Array) -> Array:
    """(2) with weights (rounds, C), or (1, C) for all; added up in order, as in `selection._mean`."""
    terms = np.concatenate([fit_columns(G, corrections.shape[2])[None], weights.T[:, :, None] * corrections])
    total: Array = np.add.reduce(terms, axis=0)
    return total

r"""Exponential weights over experts that are born at every round (sleeping experts), with no horizon.

    p_t(s) ~ w_s exp(-eta (A_{s-1} + sum_{r=s}^{t-1} loss_r(s))),   A_{s-1} the mixture's own loss before s      (1)

with a prior weight w_s that is 1 unless said otherwise, for kinds of experts and for restarts after the first. Kept
as what an expert has gained on the mixture since it was born, so that a newborn has 0 and nothing grows with t:

    gain_s <- gain_s + loss_t(mixture) - loss_t(s),      p_t(s) ~ w_s exp(eta gain_s)                      (2)

A scaled rate is eta over the mixture's own mean loss so far (with one loss of 1 before the first): a stream whose
losses are a thousand times smaller is then weighed in the same way.

Guests are experts that are there from the first round on and belong to no restart, with prior weights of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array

NOBODY = np.zeros(0)
"""The losses of no guests."""


class Mixture:
    """Weights of experts (j, s): kind j, restart s. A value that never changes; `after` makes the next one.

    >>> mixture = Mixture(eta=1.0, kinds=1)
    >>> mixture.weights(np.array([0]))
    array([[1.]])
    >>> mixture = mixture.after(np.array([0]), np.array([[1.0]]), 1.0)
    >>> mixture.weights(np.array([0, 1]))
    array([[0.5, 0.5]])
    """

    later = 0.0
    """The logarithm of the prior weight of restarts after the first."""

    guests = np.zeros(0)
    """The logarithms of the prior weights of guests."""

    guest_gains = np.zeros(0)

    def __init__(
        self,
        eta: float,
        kinds: int,
        prior: Any = 0.0,
        scaled: bool = False,
        later: float = 0.0,
        guests: Sequence[float] = (),
    ) -> None:
        self.eta, self.scaled, self.later = eta, scaled, later
        self.guests = np.array(guests, dtype=float)
        self.guest_gains = np.zeros(len(self.guests))
        self.prior: Array = np.zeros((kinds, 1)) + np.reshape(prior, (-1, 1))
        self.restarts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.gains = np.zeros((kinds, 0))
        self.paid, self.rounds = 1.0, 1

    @property
    def rate(self) -> float:
        """eta, or eta over the mean loss."""
        return self._rate(self.paid, self.rounds)

    def _rate(self, paid: float, rounds: int) -> float:
        return self.eta * rounds / max(paid, LEAST * rounds) if self.scaled else self.eta

    def weights(self, restarts: Any) -> Array:
        """p_t (J, S) over the experts that are alive; those that are new are newborn. The rest is the guests'."""
        return self.shares(restarts)[0]

    def shares(self, restarts: Any) -> tuple[Array, Array]:
        """p_t of the experts (J, S) and of the guests (K,), which add up to 1."""
        logs, guests = self.log_shares(restarts)
        weights, _ = softmax(np.append(logs, guests))
        return weights[: logs.size].reshape(logs.shape), weights[logs.size :]

    def log_shares(self, restarts: Any) -> tuple[Array, Array]:
        """Logarithms of the weights of the experts (J, S) and of the guests (K,), but for a constant."""
        logs = self.rate * self._aligned(restarts) + self._priors(restarts)
        return logs, self.rate * self.guest_gains + self.guests

    def after(self, restarts: Any, losses: Array, own: float, guests: Array = NOBODY) -> Mixture:
        """The mixture when the experts (J, S) and the guests (K,) have paid their losses and it has paid its own."""
        gains = self._aligned(restarts) + (own - losses)  # (2)
        return self._with(restarts, gains, self.paid + own, self.rounds + 1, self.guest_gains + (own - guests))

    def through(
        self,
        restarts: NDArray[np.int64],
        E: Array,
        losses: Array,
        own: Callable[[int, Array], float],
        said: Array,
        charged: Array,
        known: Sequence[int],
    ) -> tuple[Mixture, Array, Array, Array]:
        """Several rounds: the mixture after them, the gains (n, J, S) after each of them, and, before each of them,
        the estimates (n, p) of the experts without the guests, and the logarithms (n, 1 + K) of their weight together
        and of the guests'.

        restarts (n, S): of the experts that are alive in each round, oldest first, and -1 in places that are left;
        E (n, J, S, p): their estimates; losses (n, J, S): theirs; own: the loss of the mixture's, round i;
        said (n, K, p), charged (n, K): estimates and losses of the guests; known: how many of the p coordinates are
        known before each round, the others being 0: they stay out of products, whose rounding they would change.
        """
        n, J, S, p = E.shape
        there = restarts[:, None] >= 0
        prior = np.where(there, self._priors(restarts[:, None]), -np.inf).reshape(n, J * S)
        losses, block, logs = losses.reshape(n, J * S), np.zeros((n, p)), np.zeros((n, 1 + len(self.guests)))
        E = E.reshape(n, J * S, p)
        gains, places = np.zeros((n + 1, J * S + 1)), _places(restarts, J)  # the last is a newborn's
        first = np.flatnonzero(there[0, 0])  # they come before the places that are left
        gains[0, :-1].reshape(J, S)[:, first] = self._aligned(restarts[0, first])
        paid, rounds, guests = self.paid, self.rounds, self.guest_gains
        for i in range(n):
            mine, rate = gains[i].take(places[i]), self._rate(paid, rounds)
            weights = rate * mine
            weights += prior[i]
            top = np.maximum.reduce(weights)
            weights -= top
            np.exp(weights, out=weights)
            mass = np.add.reduce(weights)
            G = block[i, : known[i]] = (weights @ E[i, :, : known[i]]) / mass
            if len(guests):
                logs[i, 0], logs[i, 1:] = top + np.log(mass), rate * guests + self.guests
                shares, _ = softmax(logs[i])
                G = shares[0] * G + shares[1:] @ said[i, :, : known[i]]
            price = own(i, G)
            mine -= losses[i]
            np.add(mine, price, out=gains[i + 1, :-1])  # (2)
            if len(guests):
                guests = guests + (price - charged[i])
            paid, rounds = paid + price, rounds + 1
        after = gains[1:, :-1].reshape(n, J, S)
        alive = there[-1, 0]
        return self._with(restarts[-1, alive], after[-1][:, alive], paid, rounds, guests), after, block, logs

    def _with(self, restarts: Any, gains: Array, paid: float, rounds: int, guests: Array) -> Mixture:
        other = object.__new__(Mixture)
        other.eta, other.scaled, other.prior, other.later = self.eta, self.scaled, self.prior, self.later
        other.restarts, other.gains = restarts, gains
        other.guests, other.guest_gains = self.guests, guests
        other.paid, other.rounds = paid, rounds
        return other

    def _priors(self, restarts: Any) -> Array:
        """Logarithms (J, S), or (J, 1) where all restarts are alike."""
        return self.prior + self.later * (restarts > 0) if self.later else self.prior

    def _aligned(self, restarts: Any) -> Array:
        old = len(self.restarts)
        gains = np.zeros((len(self.gains), len(restarts)))
        if len(restarts) == old + 1 and (old == 0 or restarts[0] == self.restarts[0]):  # one newborn, none gone
            gains[:, :old] = self.gains
            return gains
        known = np.searchsorted(self.restarts, restarts)
        here = known < len(self.restarts)
        here[here] = self.restarts[known[here]] == restarts[here]
        gains[:, here] = self.gains[:, known[here]]
        return gains

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "logs" in state:  # format 1
            state = {**vars(Mixture(state["eta"], len(state["logs"]))), **state}
            state["gains"] = state.pop("logs") / state["eta"]
        self.__dict__.update(state)


LEAST = 1e-12
"""The least mean loss that is told from 0."""


def _places(restarts: NDArray[np.int64], kinds: int) -> NDArray[np.intp]:
    """Where the experts (kind, restart) of each round were in the round before, newborns at the end.

    >>> _places(np.array([[0, 3], [3, 4]]), kinds=2)
    array([[0, 1, 2, 3],
           [1, 4, 3, 4]])
    """
    n, S = restarts.shape
    before = np.concatenate([restarts[:1], restarts[:-1]])
    same = restarts[:, :, None] == before[:, None]
    kind = S * np.arange(kinds)[:, None]
    places: NDArray[np.intp] = np.where(same.any(2)[:, None], kind + same.argmax(2)[:, None], kinds * S)
    return places.reshape(n, kinds * S)


def softmax(logs: Array) -> tuple[Array, float]:
    """Weights that add up to 1, and the logarithm of what they added up to.

    >>> softmax(np.log([1.0, 3.0]))[0]
    array([0.25, 0.75])
    """
    top = logs.max()
    weights = np.exp(logs - top)
    mass = weights.sum()
    normalised: Array = weights / mass
    return normalised, float(top + np.log(mass))

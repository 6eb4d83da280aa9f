r"""Exponential weights over experts that are born at every round (sleeping experts), with no horizon.

    p_t(s) ~ w_s exp(-eta (A_{s-1} + sum_{r=s}^{t-1} loss_r(s))),   A_{s-1} the mixture's own loss before s      (1)

with a prior weight w_s that is 1 unless said otherwise, for kinds of experts and for restarts after the first. Kept
as what an expert has gained on the mixture since it was born, so that a newborn has 0 and nothing grows with t:

    gain_s <- gain_s + loss_t(mixture) - loss_t(s),      p_t(s) ~ w_s exp(eta gain_s)                      (2)

A scaled rate is eta over the mixture's own mean loss so far (with one loss of 1 before the first): a stream whose
losses are a thousand times smaller is then weighed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array


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

    def __init__(self, eta: float, kinds: int, prior: Any = 0.0, scaled: bool = False, later: float = 0.0) -> None:
        self.eta, self.scaled, self.later = eta, scaled, later
        self.prior: Array = np.zeros((kinds, 1)) + np.reshape(prior, (-1, 1))
        self.restarts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.gains = np.zeros((kinds, 0))
        self.paid, self.rounds = 1.0, 1

    @property
    def rate(self) -> float:
        """eta, or eta over the mean loss."""
        return self.eta * self.rounds / max(self.paid, LEAST * self.rounds) if self.scaled else self.eta

    @property
    def log_weights(self) -> Array:
        """eta gain (J, S): logarithms of the weights, but for the prior and a constant."""
        return self.rate * self.gains

    def weights(self, restarts: Any) -> Array:
        """p_t (J, S) over the experts that are alive; those that are new are newborn."""
        return _softmax(self.rate * self._aligned(restarts) + self._priors(restarts))

    def after(self, restarts: Any, losses: Array, own: float) -> Mixture:
        """The mixture when the experts (J, S) have paid their losses and it has paid its own."""
        return self._with(restarts, self._aligned(restarts) + (own - losses), own, 1)  # (2)

    def through(
        self, restarts: Any, alive: Any, born: Any, E: Array, losses: Array, own: Callable[[int, Array], float]
    ) -> tuple[Mixture, Array, Array]:
        """Several rounds: the mixture after them, its estimates (n, p), the gains (n, J, S) after each of them.

        restarts (S,): of all experts that there are in these rounds; alive, born (n, S): which of them, in each
        round; E (n, J, S, p): their estimates; losses (n, J, S): theirs; own: the loss of the mixture's, round i.
        """
        n, J, S, p = E.shape
        prior = np.where(alive[:, None], self._priors(restarts), -np.inf).reshape(n, J * S)
        there = np.repeat(born[:, None], J, axis=1).reshape(n, J * S)
        losses, E = losses.reshape(n, J * S), E.reshape(n, J * S, p)
        gains, history, G = self._aligned(restarts).ravel(), np.empty((n, J * S)), np.empty((n, p))
        now = self
        for i in range(n):
            weights = now.rate * gains
            weights += prior[i]
            weights -= weights.max()
            np.exp(weights, out=weights)
            G[i] = weights @ E[i] / weights.sum()
            paid = own(i, G[i])
            gains = (gains + (paid - losses[i])) * there[i]  # (2)
            now = now._with(restarts, gains, paid, 1)
            history[i] = gains
        last = gains.reshape(J, S)[:, alive[-1]].copy()
        return now._with(restarts[alive[-1]], last, 0.0, 0), G, history.reshape(n, J, S)

    def _with(self, restarts: Any, gains: Array, paid: float, rounds: int) -> Mixture:
        other = object.__new__(Mixture)
        other.eta, other.scaled, other.prior, other.later = self.eta, self.scaled, self.prior, self.later
        other.restarts, other.gains = restarts, gains
        other.paid, other.rounds = self.paid + paid, self.rounds + rounds
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


def _softmax(logs: Array) -> Array:
    weights = np.exp(logs - logs.max())
    normalised: Array = weights / weights.sum()
    return normalised

r"""Exponential weights over experts that are born at every round (sleeping experts), with no horizon.

    p_t(s) ~ exp(-eta (A_{s-1} + sum_{r=s}^{t-1} loss_r(s))),   A_{s-1} the mixture's own loss before s      (1)

Kept as logarithms relative to exp(-eta A_{t-1}), so that a newborn has 0 and nothing grows with t:

    log_s <- log_s - eta (loss_t(s) - loss_t(mixture))                                                    (2)
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

    def __init__(self, eta: float, kinds: int) -> None:
        self.eta = eta
        self.restarts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.logs = np.zeros((kinds, 0))

    def weights(self, restarts: Any) -> Array:
        """p_t (J, S) over the experts that are alive; those that are new are newborn."""
        return _softmax(self._aligned(restarts))

    def after(self, restarts: Any, losses: Array, own: float) -> Mixture:
        """The mixture when the experts (J, S) have paid their losses and it has paid its own."""
        following = Mixture(self.eta, len(losses))
        following.restarts = restarts
        following.logs = self._aligned(restarts) - self.eta * (losses - own)  # (2)
        return following

    def through(
        self, restarts: Any, alive: Any, born: Any, E: Array, losses: Array, own: Callable[[int, Array], float]
    ) -> tuple[Mixture, Array, Array]:
        """Several rounds: the mixture after them, its estimates (n, p), the logs (n, J, S) after each of them.

        restarts (S,): of all experts that there are in these rounds; alive, born (n, S): which of them, in each
        round; E (n, J, S, p): their estimates; losses (n, J, S): theirs; own: the loss of the mixture's, round i.
        """
        n, J, S, p = E.shape
        dead = np.where(np.repeat(alive[:, None], J, axis=1), 0.0, -np.inf).reshape(n, J * S)
        there = np.repeat(born[:, None], J, axis=1).reshape(n, J * S)
        paid, E = (self.eta * losses).reshape(n, J * S), E.reshape(n, J * S, p)
        logs, history, G = self._aligned(restarts).ravel(), np.empty((n, J * S)), np.empty((n, p))
        for i in range(n):
            weights = logs + dead[i]
            weights -= weights.max()
            np.exp(weights, out=weights)
            G[i] = weights @ E[i] / weights.sum()
            logs = np.multiply(logs - paid[i] + self.eta * own(i, G[i]), there[i], out=history[i])  # (2)
        after = Mixture(self.eta, J)
        after.restarts, after.logs = restarts[alive[-1]], logs.reshape(J, S)[:, alive[-1]].copy()
        return after, G, history.reshape(n, J, S)

    def _aligned(self, restarts: Any) -> Array:
        old = len(self.restarts)
        logs = np.zeros((len(self.logs), len(restarts)))
        if len(restarts) == old + 1 and (old == 0 or restarts[0] == self.restarts[0]):  # one newborn, none gone
            logs[:, :old] = self.logs
            return logs
        known = np.searchsorted(self.restarts, restarts)
        here = known < len(self.restarts)
        here[here] = self.restarts[known[here]] == restarts[here]
        logs[:, here] = self.logs[:, known[here]]
        return logs


def _softmax(logs: Array) -> Array:
    weights = np.exp(logs - logs.max())
    normalised: Array = weights / weights.sum()
    return normalised

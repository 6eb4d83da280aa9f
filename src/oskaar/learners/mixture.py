r"""Exponential weights over experts that are born at every round (sleeping experts), with no horizon.

    p_t(s) ~ exp(-eta (A_{s-1} + sum_{r=s}^{t-1} loss_r(s))),   A_{s-1} the mixture's own loss before s      (1)

Kept as logarithms relative to exp(-eta A_{t-1}), so that a newborn has 0 and nothing grows with t:

    log_s <- log_s - eta (loss_t(s) - loss_t(mixture))                                                    (2)
"""

from __future__ import annotations

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

    def over(self, restarts: Any) -> Mixture:
        """A copy over all experts of some rounds, to be run through with `weights_of` and `pay`, then `only`."""
        copy = Mixture(self.eta, len(self.logs))
        copy.restarts, copy.logs = restarts, self._aligned(restarts)
        return copy

    def weights_of(self, alive: Any) -> Array:
        """p_t (J, S), 0 for experts that are not alive."""
        return _softmax(np.where(alive, self.logs, -np.inf))

    def pay(self, losses: Array, own: float, newborn: Any) -> None:
        """(2) in place, for all but those that are not born yet."""
        self.logs -= self.eta * (losses - own)
        self.logs[:, newborn] = 0.0

    def only(self, alive: Any) -> Mixture:
        """The mixture of those experts."""
        rest = Mixture(self.eta, len(self.logs))
        rest.restarts, rest.logs = self.restarts[alive], self.logs[:, alive]
        return rest

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

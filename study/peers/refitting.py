"""Batch learners that are fitted again as rounds come in.

The rule, for all of them: a first fit after the first round, then whenever a tenth more rounds have been seen than at
the last fit, and at least 10 more (so: every 10 rounds to 100, every 100 or less to 1000). The fit sees the last
`most` rows, standardised with their own means and deviations (csr rows: not centred, not scaled).
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from scipy.sparse import issparse

from oskaar.arrays import Array
from study.peers.rows import History, block_of, spread_of
from study.peers.targets import Target


def next_fit(rounds: int, growth: float = 0.1, least: int = 10) -> int:
    """The round after which a model fitted at `rounds` is fitted again.

    >>> [next_fit(t) for t in (1, 50, 1000)]
    [11, 60, 1100]
    """
    return rounds + max(least, ceil(growth * rounds))


class Refitted:
    """What is fitted again: subclasses write `fit(X, Y)` and `scores(X)`."""

    growth = 0.1

    def __init__(self, target: Target, most: int = 3000) -> None:
        self.target = target
        self.history = History(most)
        self.due = 1
        self._mean: Any = 0.0
        self._spread: Any = 1.0

    def fit(self, X: Any, Y: Array) -> None:
        """Fits rows X (n, d) to Y (n, p)."""
        raise NotImplementedError

    def scores(self, X: Any) -> Array:
        """Scores (n, p)."""
        raise NotImplementedError

    def predict_one(self, x: Any) -> Any:
        """The answer of the last fit, None before the first."""
        if not self.history.rounds:
            return None
        return self.target.read(self.scores(self._scaled(block_of(x))))

    def learn_one(self, x: Any, y: Any) -> None:
        """Keeps the round, and fits where it is due."""
        self.history.append(block_of(x), self.target.rows(y))
        if self.history.rounds >= self.due:
            self.due = next_fit(self.history.rounds, self.growth)
            X = self.history.rows()
            if not issparse(X):
                self._mean, self._spread = X.mean(axis=0), spread_of(X.var(axis=0))
            self.fit(self._scaled(X), self.history.values())

    def _scaled(self, X: Any) -> Any:
        return X if issparse(X) else np.asarray((X - self._mean) / self._spread)

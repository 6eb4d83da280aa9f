"""Batch learners that are fitted again as rounds come in.

The rule, for all of them: fits after 1, 5, 10, 15, 20 and 25 rounds, then every 25 rounds up to 1000, then every 100.
The fit sees the last `most` rows, standardised with their own means and deviations (csr rows: not centred, not
scaled). Between two fits a model is the same: all rounds until the next fit may be asked at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from oskaar.arrays import Array
from study.peers.rows import History, block_of, narrow, spread_of
from study.peers.targets import Target


def next_fit(rounds: int, growth: float = 0.0) -> int:
    """The round after which a model fitted at `rounds` is fitted again; growth: not before this share more is seen.

    >>> [next_fit(t) for t in (1, 5, 20, 25, 975, 1000)], next_fit(1000, growth=0.25)
    ([5, 10, 25, 50, 1000, 1100], 1250)
    """
    step = 5 if rounds < 25 else 25 if rounds < 1000 else 100
    return max(rounds - rounds % step + step, rounds + ceil(growth * rounds))


class Refitted:
    """What is fitted again: subclasses write `fit(X, Y)` and `scores(X)`."""

    growth = 0.0

    def __init__(self, target: Target, most: int = 3000) -> None:
        self.target = target
        self.history = History(most)
        self.due = 1
        """The number of rounds after which it is fitted next."""
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
        return self.predict_many([x])[0]

    def predict_many(self, xs: Sequence[Any]) -> list[Any]:
        """The answers to several rounds, none of whose labels was seen."""
        blocks = [block_of(x) for x in xs]
        if not self.history.rounds:
            return [None] * len(blocks)
        X = narrow(vstack(blocks)) if issparse(blocks[0]) else np.concatenate(blocks)
        ends = np.cumsum([block.shape[0] for block in blocks])[:-1]
        return [self.target.read(V) for V in np.split(self.scores(self._scaled(X)), ends)]

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

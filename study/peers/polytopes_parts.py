"""Polytopes of rounds made of parts: chains and trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oskaar.arrays import Array
from study.peers.polytopes import Polytope, logsumexp, softmax
from study.peers.targets import Target


class Chain(Polytope):
    """Sequences: the marginals of a CRF with shared transitions, Omega the negative entropy of sequences."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.shared = np.zeros((target.p, target.p))

    def counts(self, v: Array) -> Array:
        """How often each symbol follows each."""
        return np.asarray(v[:-1].T @ v[1:])

    def mean(self, theta: Array, shared: Array) -> tuple[Array, Array]:
        """Marginals of places and of neighbours, forwards and back."""
        forwards = self._forwards(theta, shared)
        back = [np.zeros(theta.shape[1])]
        for row in theta[:0:-1]:
            back.append(logsumexp(shared + row + back[-1], 1))
        back.reverse()
        total = logsumexp(forwards[-1], 0)
        pairs = [
            np.exp(forwards[i][:, None] + shared + theta[i + 1] + back[i + 1] - total) for i in range(len(theta) - 1)
        ]
        return np.exp(np.array(forwards) + np.array(back) - total), sum(pairs, np.zeros_like(shared))

    def value(self, theta: Array, shared: Array, v: Array) -> float:
        """-log p(v)."""
        total = logsumexp(self._forwards(theta, shared)[-1], 0)
        return float(total - (theta * v).sum() - (shared * self.counts(v)).sum())

    def sample(self, theta: Array, shared: Array, mu: Array, rng: np.random.Generator) -> Array:
        """Forwards filtering, backwards sampling."""
        places: list[int] = []
        for row in reversed(self._forwards(theta, shared)):
            scores = row + shared[:, places[-1]] if places else row
            places.append(int(rng.choice(len(scores), p=softmax(scores))))
        return np.eye(theta.shape[1])[places[::-1]]

    def _forwards(self, theta: Array, shared: Array) -> list[Array]:
        rows = [theta[0]]
        for row in theta[1:]:
            rows.append(row + logsumexp(rows[-1][:, None] + shared, 0))
        return rows


class Heads(Polytope):
    """Dependency trees, relaxed: a simplex over the heads of each token. The nearest tree is the best one for mu.

    Heads that are sampled token by token need not be a tree: the tree that shares most arcs with them is answered.
    """

    def mean(self, theta: Array, shared: Array) -> tuple[Array, Array]:
        """A softmax over the heads of each token."""
        return softmax(self._by_token(theta)).reshape(-1, 1), self.shared

    def value(self, theta: Array, shared: Array, v: Array) -> float:
        """A logistic loss for each token."""
        return super().value(self._by_token(theta), shared, self._by_token(v))

    def nearest(self, mu: Array) -> Array:
        """The tree with the largest <tree, mu>: all trees have the same norm."""
        return self.vertex(self.target.read(mu))

    def sample(self, theta: Array, shared: Array, mu: Array, rng: np.random.Generator) -> Array:
        """A head for each token."""
        return super().sample(theta, shared, self._by_token(mu), rng).reshape(-1, 1)

    def answer(self, v: Array, mu: Array) -> Any:
        """The tree nearest to the heads; mu decides among equals."""
        return self.target.read(v + 1e-3 * mu)

    def _by_token(self, theta: Array) -> Array:
        n = math.isqrt(len(theta))
        return theta.reshape(n, n)

r"""Structures as the vertices of a polytope, with a regulariser: what Fenchel-Young losses are made of.

    mu(theta) = argmax_mu <theta, mu> - Omega(mu),    S(theta, y) = Omega*(theta) + Omega(y) - <theta, y>

and the gradient of S in theta is mu(theta) - y. theta and mu have a row for each row of x. `shared` is a matrix of
parameters that all rounds share and no row brings: the transitions of a chain, empty elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from oskaar.arrays import Array
from study.peers.targets import Target


def logsumexp(A: Array, axis: int) -> Array:
    """log sum exp along an axis: scipy's checks cost more than the sum for the small rows here.

    >>> logsumexp(np.array([[1000.0, 1000.0]]), 1).round(4)
    array([1000.6931])
    """
    top = A.max(axis=axis, keepdims=True)
    return np.asarray(top.squeeze(axis) + np.log(np.exp(A - top).sum(axis=axis)))


def softmax(A: Array) -> Array:
    """exp over its sum along the last axis."""
    E = np.exp(A - A.max(axis=-1, keepdims=True))
    return np.asarray(E / E.sum(axis=-1, keepdims=True))


class Polytope:
    """What all of them share: products of simplices, a simplex for each row, Omega the negative entropy.

    Omega is `lam`-strongly convex in the norm of `distance` (here the 1-norm), in which vertices are `nu` apart.
    """

    lam, nu = 1.0, 2.0

    def __init__(self, target: Target) -> None:
        self.target = target
        self.shared = np.zeros((0, 0))

    def vertex(self, y: Any) -> Array:
        """The label as a vertex, (n, k)."""
        return self.target.rows(y)

    def counts(self, v: Array) -> Array:
        """What the shared parameters see of a vertex."""
        return self.shared

    def mean(self, theta: Array, shared: Array) -> tuple[Array, Array]:
        """mu(theta), and the mean of `counts` under it."""
        return softmax(theta), self.shared

    def value(self, theta: Array, shared: Array, v: Array) -> float:
        """S(theta, v) at a vertex v."""
        return float(logsumexp(theta, 1).sum() - (theta * v).sum())

    def distance(self, v: Array, mu: Array) -> float:
        """How far mu is from a vertex."""
        return float(np.abs(v - mu).sum())

    def nearest(self, mu: Array) -> Array:
        """The vertex nearest to mu."""
        return np.asarray(np.eye(mu.shape[1])[np.argmax(mu, axis=1)])

    def sample(self, theta: Array, shared: Array, mu: Array, rng: np.random.Generator) -> Array:
        """A random vertex with mean mu."""
        places = (np.cumsum(mu, axis=1) > rng.random((len(mu), 1))).argmax(axis=1)
        return np.asarray(np.eye(mu.shape[1])[places])

    def answer(self, v: Array, mu: Array) -> Any:
        """The structure of a vertex."""
        return self.target.read(v)


class Cube(Polytope):
    """Subsets: [0, 1]^k with the entropies of k coins, the logistic loss of each label. 2-norm."""

    lam, nu = 4.0, 1.0

    def mean(self, theta: Array, shared: Array) -> tuple[Array, Array]:
        """The logistic function."""
        return np.asarray(expit(theta)), self.shared

    def value(self, theta: Array, shared: Array, v: Array) -> float:
        """Logistic losses."""
        return float(np.logaddexp(0, theta).sum() - (theta * v).sum())

    def distance(self, v: Array, mu: Array) -> float:
        """Euclidean."""
        return float(np.linalg.norm(v - mu))

    def nearest(self, mu: Array) -> Array:
        """Rounded."""
        return np.asarray((mu > 0.5) * 1.0)

    def sample(self, theta: Array, shared: Array, mu: Array, rng: np.random.Generator) -> Array:
        """A coin for each label."""
        return np.asarray((rng.random(mu.shape) < mu) * 1.0)


class Permutahedron(Cube):
    """Rankings: the hull of the permutations of n-1, ..., 0 (the best item has n-1), Omega = |mu|^2 / 2. 2-norm."""

    lam, nu = 1.0, float(np.sqrt(2))

    def mean(self, theta: Array, shared: Array) -> tuple[Array, Array]:
        """The Euclidean projection, by isotonic regression of the sorted scores."""
        from scipy.optimize import isotonic_regression

        order = np.argsort(-theta[0], kind="stable")
        s, w = theta[0, order], np.arange(theta.shape[1])[::-1]
        mu = np.empty_like(theta)
        mu[0, order] = s - isotonic_regression(s - w, increasing=False).x
        return mu, self.shared

    def value(self, theta: Array, shared: Array, v: Array) -> float:
        """(|theta - v|^2 - |theta - mu|^2) / 2."""
        mu, _ = self.mean(theta, shared)
        return float(((theta - v) ** 2).sum() - ((theta - mu) ** 2).sum()) / 2

    def nearest(self, mu: Array) -> Array:
        """Sorted as mu is."""
        v = np.empty_like(mu)
        v[0, np.argsort(-mu[0], kind="stable")] = np.arange(mu.shape[1])[::-1]
        return v

    def mixture(self, mu: Array) -> list[tuple[float, Array, list[Any]]]:
        """Weights, points and blocks of items: mu is the weighted mean of the points, at most n of them.

        A point gives the items of a block, which follow each other, the mean of their places: it is the mean of the
        rankings that shuffle each block. From the vertex sorted as mu is, go through mu until two neighbours tie;
        they are a block from then on.
        """
        order = np.argsort(-mu[0], kind="stable")
        u, w = mu[0, order].copy(), np.arange(len(order))[::-1].astype(float)
        cuts = np.ones(len(u) - 1, dtype=bool)  # where a new block begins
        left, found = 1.0, []
        while True:
            blocks = np.split(np.arange(len(u)), np.flatnonzero(cuts) + 1)
            v = np.concatenate([np.full(len(block), w[block].mean()) for block in blocks])
            gaps = (u[:-1] - u[1:])[cuts] / (v[:-1] - v[1:])[cuts]
            share = min(1.0, max(0.0, float(gaps.min()))) if len(gaps) else 1.0
            point = np.empty_like(u)
            point[order] = v
            found.append((left * share, point, [order[block] for block in blocks]))
            if share > 1 - 1e-9:
                return found
            u, left = (u - share * v) / (1 - share), left * (1 - share)
            cuts[np.flatnonzero(cuts)[gaps <= gaps.min() + 1e-12]] = False

    def sample(self, theta: Array, shared: Array, mu: Array, rng: np.random.Generator) -> Array:
        """One of the points of the mixture, its blocks shuffled."""
        found = self.mixture(mu)
        weights = np.array([weight for weight, _, _ in found])
        blocks = found[int(rng.choice(len(found), p=weights / weights.sum()))][2]
        v = np.empty_like(mu)
        v[0, np.concatenate([rng.permutation(block) for block in blocks])] = np.arange(mu.shape[1])[::-1]
        return v

r"""Sets of labels: multi-label prediction. A subset is a frozenset of label indices 0..k-1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import Loss, Space, first_best

_CHUNK = 2_000_000
"""Numbers that a vectorised decoder holds at a time."""


class SubsetLoss(Loss):
    """What losses on subsets of k labels share: how labels are written."""

    def __init__(self, n_labels: int) -> None:
        if n_labels != int(n_labels) or n_labels < 1:
            raise ValueError(f"n_labels must be a whole number >= 1, got {n_labels}.")
        self.n_labels = int(n_labels)

    def check(self, y: Any) -> frozenset[int]:
        """A frozenset of indices, out of any set of indices or a 0/1 vector of length k."""
        if isinstance(y, AbstractSet):
            return frozenset(self._index(item) for item in y)
        return frozenset(np.flatnonzero(self._indicator(y)).tolist())

    def outputs(self) -> Iterator[frozenset[int]]:
        """All 2^k subsets, small ones first."""
        sizes = range(self.n_labels + 1)
        return (frozenset(c) for m in sizes for c in combinations(range(self.n_labels), m))

    def optimum(self, y: Any) -> float:
        """0."""
        return 0.0

    def indicators(self, ys: Sequence[Any]) -> Array:
        """An (n, k) matrix of 0 and 1."""
        Y = np.zeros((len(ys), self.n_labels))
        for row, y in zip(Y, ys, strict=True):
            row[list(self.check(y))] = 1.0
        return Y

    def _index(self, item: Any) -> int:
        if isinstance(item, (int, np.integer)) and 0 <= item < self.n_labels:
            return int(item)
        raise ValueError(f"unknown label {item!r}: labels are indices 0..{self.n_labels - 1}.")

    def _indicator(self, y: Any) -> Any:
        try:
            row = np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=float).ravel()
        except (TypeError, ValueError):
            row = np.zeros(0)
        if isinstance(y, (str, bytes)) or len(row) != self.n_labels or not np.isin(row, (0.0, 1.0)).all():
            raise ValueError(
                f"a subset must be a set of label indices 0..{self.n_labels - 1}, or a 0/1 vector of length "
                f"{self.n_labels}, got {y!r}."
            )
        return row

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_labels})"


class SubsetHamming(SubsetLoss):
    r"""The fraction of the k labels that are wrong, |z ^ y| / k.

    With s(y) = +1 on the labels of y, else -1:  phi(y) = s(y) / sqrt(k),  psi(z) = -s(z) / (2 sqrt(k)),
    c_delta = 1/2. Decoding takes the labels with a positive coordinate: exact for any sign.

    >>> loss = SubsetHamming(4)
    >>> loss({0, 1}, {1, 2}), sorted(loss.decode([1.0, -1.0, 0.0, 2.0]))
    (0.5, [0, 3])
    """

    def __init__(self, n_labels: int) -> None:
        super().__init__(n_labels)
        self.p = self.n_labels
        self.c_delta = 0.5

    def loss(self, z: Any, y: Any) -> float:
        """The size of the symmetric difference, over k."""
        return len(self.check(z) ^ self.check(y)) / self.n_labels

    def embed(self, y: Any) -> Array:
        """Signs over sqrt(k)."""
        phi: Array = self.embed_many([y])[0]
        return phi

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """Signs over sqrt(k), a row each."""
        signs: Array = 2 * self.indicators(ys) - 1
        return np.asarray(signs / np.sqrt(self.n_labels))

    def decode(self, g: Any) -> frozenset[int]:
        """The labels with a positive coordinate."""
        return self.decode_many(np.asarray(g)[None, :])[0]

    def decode_many(self, G: Array) -> list[frozenset[int]]:
        """The labels with a positive coordinate, for each row."""
        slack = 1e-12 * np.abs(G).max(axis=1, keepdims=True)
        row, label = np.nonzero(slack < G)
        cuts = np.searchsorted(row, np.arange(1, len(G)))
        return [frozenset(part.tolist()) for part in np.split(label, cuts)] if len(G) else []


class F1(SubsetLoss):
    r"""1 - F_beta, example-based:  1 - (1 + beta^2) |z & y| / (|z| + beta^2 |y|);  0 for two empty sets.

    phi has a block of k coordinates for each size n = |y|, and one coordinate for the empty set:

        phi(y) = y (x) e_n / sqrt(n),    psi(z)_n = -q_mn z,   q_mn = (1 + beta^2) sqrt(n) / (m + beta^2 n)

    with m = |z|; then <psi(z), phi(y)> = -F_beta. The first coordinate is 1 for y = {} and -1 for z = {}.
    Decoding: for each m the best set is the top m of sum_n q_mn g_n, in any sign; O(k^2 (log k + sizes)).
    The smallest set wins among equals, and the empty set is the answer before the first round.
    Learners keep only the blocks of sizes that have appeared: a new one is zero columns, exactly.

    >>> loss = F1(5)
    >>> loss({0, 1}, {1, 2}), loss(set(), set()), sorted(loss.decode(loss.embed({1, 4})))
    (0.5, 0.0, [1, 4])
    """

    def __init__(self, n_labels: int, beta: float = 1.0) -> None:
        super().__init__(n_labels)
        if not (np.isfinite(beta) and beta > 0):
            raise ValueError(f"beta must be finite and > 0, got {beta}: 1 weighs precision and recall alike.")
        self.beta = float(beta)
        self.p = self.n_labels**2 + 1

    @cached_property
    def c_delta(self) -> float:  # type: ignore[override]
        """The radius of the smallest ball that holds psi, found within the centres that treat labels alike.

        For such a centre (-a_n on every label of block n, -b on the empty set) the distance depends on |z| = m
        alone: sum_n [m (q_mn - a_n)^2 + (k - m) a_n^2] + ([m = 0] - b)^2. Badoiu and Clarkson's walk.
        """
        k = self.n_labels
        m = np.arange(k + 1)
        Q = self.gains(m[1:], m[1:])
        Q = np.concatenate([np.zeros((1, k)), Q])
        squares = m * np.einsum("mn,mn->m", Q, Q)
        a, b, best = np.zeros(k), 0.0, np.inf
        for i in range(1, 200):
            distances = squares - 2 * m * (Q @ a) + k * (a @ a) + ((m == 0) - b) ** 2
            far = int(np.argmax(distances))
            best = min(best, float(distances[far]))
            a += (far / k * Q[far] - a) / (i + 1)
            b += (float(far == 0) - b) / (i + 1)
        return float(np.sqrt(best))

    def gains(self, m: Any, n: Any) -> Array:
        """q_mn for sizes m of z and n of y."""
        weight = self.beta**2
        q: Array = (1 + weight) * np.sqrt(n) / (np.asarray(m)[:, None] + weight * np.asarray(n))
        return q

    def loss(self, z: Any, y: Any) -> float:
        """1 - F_beta."""
        z, y = self.check(z), self.check(y)
        if not z and not y:
            return 0.0
        weight = self.beta**2
        return 1 - (1 + weight) * len(z & y) / (len(z) + weight * len(y))

    def embed(self, y: Any) -> Array:
        """phi(y), all k^2 + 1 coordinates."""
        phi = np.zeros(self.p)
        y = self.check(y)
        if not y:
            phi[0] = 1.0
        else:
            phi[1 + (len(y) - 1) * self.n_labels + np.array(sorted(y))] = 1 / np.sqrt(len(y))
        return phi

    def decode(self, g: Array) -> frozenset[int]:
        """The best set."""
        return self.decode_many(np.asarray(g)[None, :])[0]

    def decode_many(self, G: Array) -> list[frozenset[int]]:
        """The best set for each row."""
        k = self.n_labels
        return self.best_sets(G[:, 1:].reshape(len(G), k, k), np.arange(1, k + 1), G[:, 0])

    def best_sets(self, H: Array, sizes: Any, empty: Array) -> list[frozenset[int]]:
        """The best sets for blocks H (n, sizes, k) and the coordinates (n,) of the empty set."""
        k = self.n_labels
        Q = self.gains(np.arange(1, k + 1), sizes)  # (k, sizes)
        step = max(1, _CHUNK // k**2)
        found: list[frozenset[int]] = []
        for lo in range(0, len(H), step):
            found += self._best_of(np.matmul(-Q, H[lo : lo + step]), empty[lo : lo + step])
        return found

    def _best_of(self, S: Array, empty: Array) -> list[frozenset[int]]:
        """For costs S (n, m, k) of giving a label in a set of size m: the m cheapest labels at the best m."""
        k = self.n_labels
        sums = np.cumsum(np.sort(S, axis=2), axis=2)[:, np.arange(k), np.arange(k)]
        best = first_best(np.concatenate([empty[:, None], -sums], axis=1))
        rows = S[np.arange(len(S)), np.maximum(best, 1) - 1]
        order = np.argsort(rows, axis=1, kind="stable")
        return [frozenset(row[:m].tolist()) for row, m in zip(order, best, strict=True)]

    def space(self) -> Space:
        """Only the sizes seen."""
        return SizeSpace(self, ())

    def __repr__(self) -> str:
        return f"F1({self.n_labels})" if self.beta == 1 else f"F1({self.n_labels}, beta={self.beta:g})"


class SizeSpace(Space):
    """The blocks of F1 for the set sizes that have appeared, in order of appearance."""

    def __init__(self, loss: F1, sizes: tuple[int, ...]) -> None:
        self.loss, self.sizes = loss, sizes
        widths = [loss.n_labels if n else 1 for n in sizes]
        self.starts = dict(zip(sizes, np.cumsum([0, *widths]).tolist(), strict=False))
        self.p = sum(widths)

    @property
    def c_delta(self) -> float:  # type: ignore[override]
        """The loss's."""
        return self.loss.c_delta

    def extended(self, y: Any) -> Space:
        """With a block for |y|."""
        return self if len(y) in self.starts else SizeSpace(self.loss, (*self.sizes, len(y)))

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """phi(y) in the blocks held."""
        Phi = np.zeros((len(ys), self.p))
        for row, y in zip(Phi, ys, strict=True):
            start = self.starts[len(y)]
            if y:
                row[start + np.fromiter(y, int)] = 1 / np.sqrt(len(y))
            else:
                row[start] = 1.0
        return Phi

    def decode_many(self, G: Array) -> list[frozenset[int]]:
        """The best set for each row."""
        k = self.loss.n_labels
        sizes = [n for n in self.sizes if n]
        empty = G[:, self.starts[0]] if 0 in self.starts else np.zeros(len(G))
        H = np.empty((len(G), len(sizes), k))
        for i, n in enumerate(sizes):
            H[:, i] = G[:, self.starts[n] : self.starts[n] + k]
        return self.loss.best_sets(H, np.array(sizes, dtype=int), empty)

    def optimum(self, y: Any) -> float:
        """0."""
        return 0.0

    def full(self, G: Array) -> Array:
        """All k^2 + 1 coordinates."""
        k = self.loss.n_labels
        wide = np.zeros((len(G), self.loss.p))
        for n in self.sizes:
            start = self.starts[n]
            if n:
                wide[:, 1 + (n - 1) * k : 1 + n * k] = G[:, start : start + k]
            else:
                wide[:, 0] = G[:, start]
        return wide

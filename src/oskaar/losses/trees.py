r"""Dependency trees: a round is a sentence, its rows are all arcs that a tree might have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.losses.arborescence import best_tree
from oskaar.losses.sizes import SizedLoss
from oskaar.requirements import require_whole, shorten
from oskaar.saved import saved


def arcs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The n^2 arcs of a sentence of n tokens, in the order of its rows: (heads, dependents).

    For each dependent 1, ..., n in turn its n heads: 0 (the root), then the other tokens, in order. With the rows of
    `tokens` for the root and the n tokens, np.hstack([tokens[heads], tokens[dependents]]) are the rows of a round.

    >>> heads, dependents = arcs(3)
    >>> print(heads, dependents)
    [0 2 3 0 1 3 0 1 2] [1 1 1 2 2 2 3 3 3]
    """
    n = require_whole("the number of tokens of a sentence", n)
    ranks, dependents = np.tile(np.arange(n), n), np.repeat(np.arange(1, n + 1), n)
    return ranks + (ranks >= dependents), dependents


@saved("loss/dependency-tree")
class DependencyTree(SizedLoss):
    r"""The share of tokens with a wrong head: y and z are heads, 0 for the root; one token has it, and no cycles.

    y[i] in 0..n is the head of token i + 1. The rows of a sentence of n tokens are its n^2 candidate arcs in the
    order of `losses.arcs`: n heads for each dependent. With I(y) the 0/1 vector of the arcs of y,

        Delta(z, y) = 1 - <I(z), I(y)> / n

    Each dependent has one head, so I sums to 1 over its n rows, whatever the tree: both are centred. With the mean
    over the n^2 rows as inner product

        phi(y) = I(y) - 1/n,    psi(z) = -n (I(z) - 1/n),    |psi(z)|^2 = n - 1

    and c_delta = sqrt(n - 1) for n tokens; the diameter is sqrt(2 n), of a chain and the reversed chain, whose heads
    all differ. A learner uses those of its longest sentence (losses/sizes.py). phi is not rescaled, so that a score
    means the same in sentences of all lengths. Decoding is the tree with the largest sum of scores by
    Chu-Liu/Edmonds, O(n^2), exact for any sign, with exactly one root (losses/arborescence.py).

    >>> loss = DependencyTree()
    >>> loss((2, 0, 2), (0, 1, 2)), loss.embed((2, 0, 2)).shape, loss.decode(loss.embed((2, 0, 2)))
    (0.6666666666666666, (9, 1), (2, 0, 2))
    """

    zero_optimum = True
    p = 1

    def loss(self, z: Any, y: Any) -> float:
        if len(z) != len(y):
            raise ValueError(f"two trees of one sentence must have as many heads, got {len(z)} and {len(y)}.")
        return float(sum(a != b for a, b in zip(z, y, strict=True)) / len(y))

    def check(self, y: Any) -> tuple[int, ...]:
        if isinstance(y, (str, bytes, dict, AbstractSet)) or not isinstance(y, Iterable):
            raise ValueError(f"y must be a sequence of heads, one for each token, got {shorten(y)}.")
        given = list(y)
        if not given:
            raise ValueError("a tree needs at least one token, got no heads.")
        heads = tuple(_head(h, token, len(given)) for token, h in enumerate(given, start=1))
        roots = [token for token, h in enumerate(heads, start=1) if h == 0]
        if len(roots) != 1:
            which = f"tokens {', '.join(map(str, roots))} have" if roots else "none has"
            raise ValueError(f"exactly one token must have head 0 (the root), {which}: got {shorten(given)}.")
        _require_no_cycle(heads)
        return heads

    def embed(self, y: Any) -> Array:
        n = len(y)
        dependents = np.arange(n)
        heads = np.asarray(y)
        Phi = np.full((n * n, 1), -1 / n)
        Phi[dependents * n + heads - (heads > dependents + 1), 0] += 1.0
        return Phi

    def decode(self, g: Array) -> tuple[int, ...]:
        """The tree with the largest sum of scores, which come in the order of `arcs`."""
        scores = np.ravel(g)
        n = round(len(scores) ** 0.5)
        if n < 1 or n * n != len(scores):
            raise ValueError(
                f"a sentence of n tokens must have n^2 rows, one for each arc of losses.arcs(n), got {len(scores)}."
            )
        S = np.zeros((n + 1, n + 1))
        S[arcs(n)] = scores
        return best_tree(S)

    def radius(self, n: int) -> float:
        return float(np.sqrt(n - 1))

    def span(self, n: int) -> float:
        return float(np.sqrt(2 * n)) if n > 1 else 0.0

    def rows_of(self, z: Any) -> int:
        return len(z) ** 2

    def outputs(self, n: int = 3) -> Iterator[tuple[int, ...]]:
        """All trees of n tokens: n^(n - 1) of them."""
        for heads in product(range(n + 1), repeat=n):
            try:
                yield self.check(heads)
            except ValueError:
                continue

    def labels(self, n: int = 3) -> Iterator[tuple[int, ...]]:
        return self.outputs(n)

    def __repr__(self) -> str:
        return "DependencyTree()"


def _head(h: Any, token: int, n: int) -> int:
    """A head of a sentence of n tokens, 0 being the root."""
    head = require_whole(f"the head of token {token}", h, 0, n, ", 0 being the root")
    if head == token:
        raise ValueError(f"the head of token {token} must be another token or 0 (the root), got itself.")
    return head


def _require_no_cycle(heads: tuple[int, ...]) -> None:
    """Follow the heads of each token to a token that is known to lead to the root."""
    safe = {0}
    for token in range(1, len(heads) + 1):
        walk: list[int] = []
        while token not in safe:
            if token in walk:
                cycle = [*walk[walk.index(token) :], token]
                raise ValueError(
                    f"heads must not form a cycle: token {token} is above itself, {' -> '.join(map(str, cycle))}."
                )
            walk.append(token)
            token = heads[token - 1]
        safe.update(walk)

r"""Dependency trees: a round is a sentence, its rows are all arcs that a tree might have.

The best tree under a root is found by Chu and Liu's and Edmonds's algorithm, with one arc from the root:

    argmax over trees of  sum_{d=1..n} S[head(d), d],   exactly one d with head 0                            (1)

Each token wants its best head. Where these wishes form a cycle, the cycle becomes one token: entering it at d costs
the wish of d, so the score of an arc into d is counted relative to the best one,

    S[h, d] - max_h' S[h', d]                                                                             (2)

(every tree has one arc into each token, so (2) moves all of them by the same amount). Arcs from the root stand aside
until all tokens have become one; then the best of them is taken. That is the optimum with a single root: it is what
the algorithm does when every arc from the root is charged more than any difference of trees, without a large number
that would eat the digits of the scores.

Wishes are followed backwards along a path, which either grows or closes a cycle (Gabow, Galil, Spencer and Tarjan):
n - 1 contractions at most, each a few operations on the rows of a matrix, O(n^2) in all.
Equivalent to tests/naive.py::best_tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.losses.base import first_best, near
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
    Chu-Liu/Edmonds, O(n^2), exact for any sign, with exactly one root.

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


def best_tree(S: Array) -> tuple[int, ...]:
    """The heads (head of token 1, ..., head of token n) of the best tree with one root, for scores of any sign.

    S: (n + 1, n + 1), S[h, d] for head h (0 is the root) and dependent d; the diagonal and column 0 are ignored.
    Equal heads (`losses.base.near`) go to the first, so that of equal trees it is always the same one.

    >>> best_tree(np.array([[0, 9, 9, 1], [0, 0, 5, 4], [0, 4, 0, 3], [0, 0, 0, 0]]))
    (0, 1, 1)
    """
    T, slack = _prepared(np.asarray(S, dtype=float).T)  # T[d, h]: the arcs into d are a row
    n = len(T) - 1
    arcs = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)  # which arc of S a score stands for: d (n + 1) + h
    wish = [0] * (2 * n)  # the arc that each node wants: tokens 1..n, then contracted cycles
    parent = [0] * (2 * n)
    node, nodes, path = list(range(n + 1)), n + 1, [1]
    while True:
        d = path[-1]
        most = T[d, 1:].max()
        if most == -np.inf:  # all tokens are one
            wish[node[d]] = int(arcs[d, 0])
            return _expanded(wish, parent, node[d], n)
        h = 1 + int((T[d, 1:] >= most - slack).argmax())
        wish[node[d]] = int(arcs[d, h])
        T[d] -= most  # (2)
        if h not in path:
            path.append(h)
            continue
        start = path.index(h)
        cycle = path[start:]
        _contract(T, arcs, cycle, slack)
        for token in cycle:
            parent[node[token]] = nodes
        node[h], nodes = nodes, nodes + 1
        del path[start + 1 :]


def _contract(T: Array, arcs: Any, cycle: list[int], slack: float) -> None:
    """Make a cycle one token, in the place of its first: the best arcs into any of it, and out of any of it."""
    first, rest = cycle[0], cycle[1:]
    every, members = np.arange(len(T)), np.array(cycle)
    into = members[first_best(T[members].T, slack)]
    T[first], arcs[first] = T[into, every], arcs[into, every]
    out = members[first_best(T[:, members], slack)]
    T[:, first], arcs[:, first] = T[every, out], arcs[every, out]
    T[:, rest] = -np.inf
    T[first, first] = -np.inf


def _expanded(wish: list[int], parent: list[int], top: int, n: int) -> tuple[int, ...]:
    """Open the cycles again: each is entered where its own arc points, and keeps its other wishes."""
    children: dict[int, list[int]] = {}
    for child, whole in enumerate(parent):
        if whole:
            children.setdefault(whole, []).append(child)
    heads, todo = [0] * (n + 1), [top]
    while todo:
        whole = todo.pop()
        d, heads_d = divmod(wish[whole], n + 1)
        heads[d] = heads_d
        inner = d
        while inner != whole:  # from the token that the arc enters up to the node that wanted it
            todo += [child for child in children[parent[inner]] if child != inner]
            inner = parent[inner]
    return tuple(heads[1:])


def _prepared(T: Array) -> tuple[Array, float]:
    """The scores with no arc from a token to itself, and what counts as equal."""
    T = T.copy()
    np.fill_diagonal(T, 0.0)
    T[0] = 0.0
    slack = float(near(T.reshape(1, -1))[0, 0])
    np.fill_diagonal(T, -np.inf)
    return T, slack

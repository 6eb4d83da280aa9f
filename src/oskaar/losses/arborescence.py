r"""The best tree under a root: Chu and Liu's and Edmonds's algorithm, with one arc from the root.

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

from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import first_best, near


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

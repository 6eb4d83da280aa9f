r"""Rankings of a fixed set of items. A ranking is a tuple of items, best first.

A vector of ranks (the place of each item) is another thing, and easily taken for it: `order_from_ranks` is the
one way from ranks to a ranking. Kendall's loss and NDCG have files of their own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import near
from oskaar.losses.matchings import Matching, PermutationLoss, assigned
from oskaar.requirements import numbers_of
from oskaar.saved import saved


def order_from_ranks(ranks: Any, ties: bool = False) -> tuple[Any, ...]:
    """The ranking, best item first, out of the rank of each item: 1..n or 0..n-1, the smallest is best.

    With ties=True any numbers will do, and items of one rank come as a frozenset, for losses that take ties.

    >>> order_from_ranks([2, 3, 1])
    (2, 0, 1)
    >>> order_from_ranks([1, 2, 2], ties=True)
    (0, frozenset({1, 2}))
    """
    r = numbers_of(ranks)
    if r is None or r.ndim != 1 or not len(r) or not np.isfinite(r).all():
        raise ValueError(f"ranks must be a vector of finite numbers, one for each item, got {ranks!r}.")
    order = np.argsort(r, kind="stable")
    if not ties:
        twice = np.flatnonzero(np.diff(r[order]) == 0)
        if len(twice):
            i, j = order[twice[0] : twice[0] + 2]
            raise ValueError(f"items {i} and {j} both have rank {r[i]:g}: pass ties=True if they are tied.")
        if not (np.array_equal(r[order], np.arange(len(r))) or np.array_equal(r[order], np.arange(len(r)) + 1)):
            raise ValueError(f"ranks must be 1..{len(r)} or 0..{len(r) - 1} in some order, got {ranks!r}.")
        return tuple(order.tolist())
    groups = np.split(order, np.flatnonzero(np.diff(r[order])) + 1)
    return tuple(frozenset(group.tolist()) if len(group) > 1 else int(group[0]) for group in groups)


class RankingLoss(PermutationLoss):
    """What losses on rankings share: how rankings are written."""

    noun, thing = "ranking", "item"
    hint = " A vector of ranks goes through losses.order_from_ranks."
    takes_ties = False

    def __init__(self, n_items: int | Iterable[Hashable]) -> None:
        super().__init__(n_items)

    def check(self, y: Any) -> Any:
        """A tuple of the items, best first; where the loss takes ties, frozensets of tied items among them."""
        items = self._sequence(y)
        groups = [list(item) if isinstance(item, AbstractSet) else [item] for item in items]
        if not self.takes_ties and any(isinstance(item, AbstractSet) for item in items):
            raise ValueError(f"{type(self).__name__} takes no ties, got {y!r}: Kendall and Spearman do.")
        places = [[self._place(item) for item in group] for group in groups]
        self._require_each_once([place for group in places for place in group], y)
        names = self.things.names
        return tuple(
            frozenset(names[place] for place in group) if len(group) > 1 else names[group[0]]
            for group in places
            if group
        )

    def ranks(self, ys: Sequence[Any]) -> Array:
        """The rank of each item, from 0, with the mean rank for tied items: (len(ys), n)."""
        Z = self._as_whole(ys) if len(ys) else None
        tied = (isinstance(item, AbstractSet) for y in ys for item in self._sequence(y))
        if Z is not None or not (self.takes_ties and any(tied)):
            return np.argsort(self.indices(ys) if Z is None else Z, axis=1).astype(float)
        R = np.empty((len(ys), self.n))
        for i, y in enumerate(ys):
            start = 0
            for item in self.check(y):
                group = [self.things.position(v) for v in (item if isinstance(item, frozenset) else [item])]
                R[i, group] = start + (len(group) - 1) / 2
                start += len(group)
        return R


@saved("loss/spearman")
class Spearman(RankingLoss):
    r"""Squared differences of ranks, divided by the largest sum of them, n (n^2 - 1) / 3; (1 - rho) / 2.

    With c(y) = the ranks, negated and centred, and |c|^2 = n (n^2 - 1) / 12 = r^2, the sum over items of
    (c(z) - c(y))^2 is 2 r^2 - 2 <c(z), c(y)>; hence

        phi(y) = c(y) / r,    psi(z) = -c(z) / (2 r),    c_delta = 1/2

    (no less: psi of reversed rankings are opposite, so the diameter is 1). Decoding sorts g, largest first: exact for
    any sign by the rearrangement inequality; equal items stay in the order of the list, which is also the answer
    before the first round. y may have ties, written as sets of items, ("a", {"b", "c"}): these have their mean rank,
    and what no ranking can avoid is not counted, so that the loss is 0 for every ranking that agrees with y.

    >>> loss = Spearman(3)
    >>> loss((0, 1, 2), (2, 1, 0)), loss((0, 1, 2), (0, {1, 2})), loss.decode([0.1, 0.3, 0.2])
    (1.0, 0.0, (1, 2, 0))
    """

    takes_ties = True

    def __init__(self, n_items: int | Iterable[Hashable]) -> None:
        super().__init__(n_items)
        self.p = self.n
        self.c_delta = 0.5
        self._most = self.n * (self.n**2 - 1) / 3 or 1.0

    def loss(self, z: Any, y: Any) -> float:
        a, b = self.ranks([PermutationLoss.check(self, z), y]) - (self.n - 1) / 2
        return float(2 * (b @ b - a @ b) / self._most)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return np.asarray(((self.n - 1) / 2 - self.ranks(ys)) / np.sqrt(self._most / 4))

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        return self.tuples(sorted_items(G))

    def scores(self, G: Array) -> tuple[Sequence[Any], Array]:
        return self.things.names, np.asarray(G)


@saved("loss/footrule")
class Footrule(RankingLoss):
    r"""Spearman's footrule: absolute differences of ranks, divided by the largest sum of them, floor(n^2 / 2) = M.

    As for Ordinal, |a - b| = sum_t (1 - s_t(a) s_t(b)) / 2 with s_t(a) = 1 where a > t, else -1, t = 0..n-2.
    The mean of s_t over items is m_t = (n - 2 - 2 t) / n in every ranking and is taken off, which changes the
    sum over items by a constant. With q^2 = n sum_t (1 - m_t^2),

        phi(y)_it = (s_t(r_i(y)) - m_t) / q,    psi(z)_it = -q / (2 M) (s_t(r_i(z)) - m_t),    c_delta = q^2 / (2 M)

    All |psi(z)| are equal and psi averages to 0 over z: no centre is better. c_delta is near 2/3. And
    |psi(z) - psi(z')|^2 = (q / M)^2 sum_i |r_i(z) - r_i(z')| <= q^2 / M, attained by reversal. Decoding is a
    linear assignment of items to ranks, O(n^3), for any sign; equals are settled as in Matching. No ties in y.

    >>> loss = Footrule(3)
    >>> loss((0, 1, 2), (2, 1, 0)), loss((0, 1, 2), (1, 0, 2)), loss.decode(loss.embed((1, 2, 0)))
    (1.0, 0.5, (1, 2, 0))
    """

    def __init__(self, n_items: int | Iterable[Hashable]) -> None:
        super().__init__(n_items)
        n = self.n
        self.p = n * (n - 1)
        self._signs = np.where(np.arange(n)[:, None] > np.arange(n - 1), 1.0, -1.0)
        self._means = (n - 2 - 2 * np.arange(n - 1)) / n
        q2 = n * (1 - self._means**2).sum()
        self._most = n**2 // 2 or 1
        self._norm = np.sqrt(q2) or 1.0
        self.c_delta = float(q2 / (2 * self._most))

    @property
    def diameter(self) -> float:
        return float(np.sqrt(2 * self.c_delta))

    def loss(self, z: Any, y: Any) -> float:
        a, b = self.ranks([z, y])
        return float(np.abs(a - b).sum() / self._most)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        codes = (self._signs - self._means) / self._norm
        return np.asarray(codes[self.ranks(ys).astype(int)].reshape(len(ys), self.p))

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        costs = -(np.reshape(G, (len(G), self.n, self.n - 1)) @ self._signs.T)
        return self.tuples(assigned(costs.transpose(0, 2, 1), near(G)))


@saved("loss/position-hamming")
class PositionHamming(RankingLoss, Matching):
    r"""The fraction of positions with the wrong item: Matching, for positions and items.

    phi, psi, c_delta = 1 - 1/n, the diameter and the linear assignment are those of Matching. No ties in y.

    >>> loss = PositionHamming("abcd")
    >>> loss(("a", "b", "c", "d"), ("a", "b", "d", "c")), loss.decode(loss.embed(("b", "a", "d", "c")))
    (0.5, ('b', 'a', 'd', 'c'))
    """


def sorted_items(G: Array) -> Any:
    """The columns of each row from the largest to the smallest; those that are `near` in their own order.

    >>> sorted_items(np.array([[0.3, 0.5, 0.1 + 0.2]]))
    array([[1, 0, 2]])
    """
    G = np.asarray(G, dtype=float)
    order = np.argsort(-G, axis=1, kind="stable")
    falling = np.take_along_axis(G, order, axis=1)
    drops = -np.diff(falling, axis=1) > near(G)
    groups = np.zeros(G.shape, dtype=int)
    np.put_along_axis(groups, order[:, 1:], np.cumsum(drops, axis=1), axis=1)
    return np.argsort(groups, axis=1, kind="stable")

r"""Kendall's loss on rankings: pairs in the wrong order. Decoding is Kemeny's problem (kemeny.py)."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import FixedSpace, Space
from oskaar.losses.kemeny import MOST_BY_SUBSETS, best_orders
from oskaar.losses.rankings import RankingLoss
from oskaar.saved import saved


class KemenyGap(UserWarning):
    """Decoding ran out of time, and the answer may not be the best."""


@saved("loss/kendall")
class Kendall(RankingLoss):
    r"""The fraction of the N = n (n - 1) / 2 pairs of items that are in the wrong order; (1 - tau) / 2.

    For i < j let s_ij(y) = 1 where i comes before j, else -1. A pair is wrong when (1 - s_ij(z) s_ij(y)) / 2 = 1,

        phi(y) = s(y) / sqrt(N),    psi(z) = -s(z) / (2 sqrt(N)),    c_delta = 1/2

    (no less: psi of reversed rankings are opposite, so the diameter is 1). Decoding is Kemeny's problem with the pair
    weights g, of any sign, solved exactly: by sorting where the pairs agree with one ranking, by dynamic programming
    in O(n 2^n) to 14 items, above that by mixed-integer programming for whatever cycles there are. That may take long
    when many items form cycles: after `time_limit` seconds a `KemenyGap` warning says how far from the best the
    answer may be, and `decode_with_gap` returns it. The ranking first in the dictionary wins among equals to 14
    items; the order of the list is the answer before the first round.

    Partial rankings in y. Ties are sets of items: (0, {1, 2}) has 0 before both; a top part is written with all
    others in one set at the end. Single comparisons are a set of pairs, {(better, worse), ...}: items may be
    left out, and pairs may contradict each other in a cycle. A pair that y leaves open has s_ij(y) = 0 and costs
    nothing; the loss is still a fraction of all N pairs.

    >>> loss = Kendall(3)
    >>> loss((0, 1, 2), (2, 1, 0)), loss((2, 1, 0), (0, {1, 2})), loss((2, 1, 0), {(0, 1)})
    (1.0, 0.6666666666666666, 0.3333333333333333)
    >>> loss.decode(loss.embed((1, 2, 0)) - 0.5 * loss.embed((0, 2, 1)))
    (1, 2, 0)
    """

    takes_ties = True

    def __init__(self, n_items: int | Iterable[Hashable], time_limit: float | None = 60.0) -> None:
        super().__init__(n_items)
        if time_limit is not None and not time_limit > 0:
            raise ValueError(f"time_limit must be > 0 seconds, or None for no limit, got {time_limit}.")
        self.time_limit = time_limit
        self._i, self._j = np.triu_indices(self.n, 1)
        self.p = len(self._i)
        self.c_delta = 0.5 if self.p else 0.0

    def space(self) -> Space:
        """All pairs; where decoding may run out of time, with what that costs."""
        return super().space() if self.n <= MOST_BY_SUBSETS else Timed(self)

    def check(self, y: Any) -> Any:
        """A tuple of items and of frozensets of tied items, or a frozenset of pairs."""
        return frozenset(self._pairs(y)) if isinstance(y, AbstractSet) else super().check(y)

    def signs(self, ys: Sequence[Any]) -> Array:
        """s(y), with 0 for the pairs that y leaves open: (len(ys), N)."""
        if not any(isinstance(y, AbstractSet) for y in ys):
            R = self.ranks(ys)
            return np.sign(R[:, self._j] - R[:, self._i])
        wins = np.zeros((len(ys), self.n, self.n))
        orders = [i for i, y in enumerate(ys) if not isinstance(y, AbstractSet)]
        for i in set(range(len(ys))).difference(orders):
            for better, worse in self._pairs(ys[i]):
                wins[i, self._place(better), self._place(worse)] = 1.0
        S: Array = wins[:, self._i, self._j] - wins[:, self._j, self._i]
        S[orders] = self.signs([ys[i] for i in orders])
        return S

    def loss(self, z: Any, y: Any) -> float:
        return float(self.loss_many([z], [y])[0])

    def loss_many(self, zs: Sequence[Any], ys: Sequence[Any]) -> Array:
        R = np.argsort(self.indices(zs), axis=1)  # answers have no ties
        wrong: Array = (np.sign(R[:, self._j] - R[:, self._i]) * self.signs(ys) < 0).sum(axis=1)
        return wrong / max(self.p, 1)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return np.asarray(self.signs(ys) / np.sqrt(max(self.p, 1)))

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        orders, gaps = self._decoded(np.asarray(G, dtype=float))
        if gaps.any():
            warnings.warn(
                f"{self!r} stopped after {self.time_limit:g} s: the answer may miss the least <psi(z), g> by "
                f"{gaps.max():.3g}. Raise time_limit for an exact one.",
                KemenyGap,
                stacklevel=2,
            )
        return self.tuples(orders)

    def decode_with_gap(self, g: Array) -> tuple[tuple[Any, ...], float]:
        """Kemeny's ranking, and by how much it may miss the least <psi(z), g>: 0 unless time ran out."""
        orders, gaps = self._decoded(np.asarray(g, dtype=float)[None, :])
        return self.tuples(orders)[0], float(gaps[0])

    def scored(self, G: Array) -> Array:
        """The nearest estimates g_ij = s_i - s_j: scores are Borda's, s_i = sum_j g_ij / n, and have no cycles.

        >>> Kendall(3).scored(np.array([[1.0, -1.0, 1.0]])).round(2)  # 0 before 1, 1 before 2, 2 before 0
        array([[0., 0., 0.]])
        """
        s = self._antisymmetric(G).sum(axis=2) / self.n
        flow: Array = s[:, self._i] - s[:, self._j]
        return flow

    def scores(self, G: Array) -> tuple[Sequence[Any], Array]:
        """Borda's: the share of other items that an item comes before, less those that it comes after."""
        S: Array = np.sqrt(max(self.p, 1)) * self._antisymmetric(G).sum(axis=2) / max(self.n - 1, 1)
        return self.things.names, S

    def optimum(self, y: Any) -> float:
        """0, except for comparisons that form a cycle."""
        return self.loss(self.decode(self.embed(y)), y) if isinstance(y, AbstractSet) else 0.0

    def _decoded(self, G: Array) -> tuple[Any, Array]:
        orders, gaps = best_orders(self._antisymmetric(G), self.time_limit)
        return orders, gaps / (2 * np.sqrt(max(self.p, 1)))

    def _antisymmetric(self, G: Array) -> Array:
        A = np.zeros((len(G), self.n, self.n))
        A[:, self._i, self._j] = G
        A[:, self._j, self._i] = -G
        return A

    def _pairs(self, y: Any) -> set[tuple[Any, Any]]:
        pairs: set[tuple[Any, Any]] = set()
        for pair in y:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ValueError(f"a set of comparisons must hold pairs (better, worse), got {pair!r} in {y!r}.")
            i, j = (self._place(item) for item in pair)
            if i == j or (self.things.names[j], self.things.names[i]) in pairs:
                raise ValueError(f"{pair!r} contradicts itself or its reverse in {y!r}: leave out what is unknown.")
            pairs.add((self.things.names[i], self.things.names[j]))
        return pairs


@saved("space/timed")
class Timed(FixedSpace):
    """Decoders that may stop before the best answer is found."""

    loss: Kendall
    exact = False

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """What a best ranking for y is better by than the one that was found in time, for the weights g."""
        best = self.loss.decode(self.loss.embed(y))
        s = self.loss.signs([z, best])
        return max(0.0, float((s[1] - s[0])[: len(g)] @ g / (2 * np.sqrt(self.p))))

r"""Kendall's loss on rankings: pairs in the wrong order. Decoding is Kemeny's problem.

It asks for the order of n items with the greatest sum of pair weights,

    max_z  sum over i before j in z of A[i, j],      A = -A^T, of any sign

Three exact ways, the cheapest that applies. (a) If every pair has a winner and the wins are n-1, ..., 0, the
winners form an order, which is best for each pair: sort by wins. (b) To 14 items, dynamic programming over
the set R of items that are still to be placed,

    h(R) = max_{i in R}  h(R - i) + sum_{j in R} A[i, j],     h({}) = 0                       (1)

O(n 2^n), one NumPy step for all sets of a size and many problems at a time. (c) Above, no cycle of winners
crosses the strong components of "i beats j", so these are ordered by themselves, each by (b) or by HiGHS as a
linear ordering problem: x_ij = 1 where i comes before j, and for all i < j < k

    0 <= x_ij + x_jk - x_ik <= 1                                                              (2)
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import FixedSpace, Space, near
from oskaar.losses.rankings import RankingLoss
from oskaar.saved import saved
from oskaar.threads import one_thread

_MOST_BY_SUBSETS = 14
"""Above this number of items, (c)."""
_CHUNK = 4_000_000
"""Numbers in a table of (1): problems side by side are what makes its steps fast."""


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
        return super().space() if self.n <= _MOST_BY_SUBSETS else Timed(self)

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


@one_thread
def best_orders(A: Array, time_limit: float | None = None) -> tuple[Any, Array]:
    """The best order for each of many A (m, n, n): orders (m, n), best item first, and the gaps (m,).

    A gap is how much the sum of weights may still fall short of the best: 0 unless HiGHS ran out of time.
    Of equal orders up to 14 items the first in the dictionary is taken.
    """
    m, n = A.shape[:2]
    gaps = np.zeros(m)
    slack = near(A.reshape(m, n * n))[:, 0]
    wins = (slack[:, None, None] < A).sum(axis=2)
    orders = np.argsort(-wins, axis=1, kind="stable")
    settled = (np.take_along_axis(wins, orders, axis=1) == np.arange(n)[::-1]).all(axis=1)  # (a)
    rest = np.flatnonzero(~settled)
    if n > _MOST_BY_SUBSETS:
        for r in rest:
            orders[r], gaps[r] = _by_components(A[r], slack[r], time_limit)
        return orders, gaps
    step = max(1, _CHUNK // (n << n))
    for lo in range(0, len(rest), step):
        some = rest[lo : lo + step]
        orders[some] = _by_subsets(A[some], slack[some])
    return orders, gaps


def gain(A: Array, order: Any) -> float:
    """The sum over i before j of A[i, j]."""
    return float(np.triu(A[np.ix_(order, order)], 1).sum())


def _by_subsets(A: Array, slack: Array) -> Any:
    """Equation (1) for A (m, n, n), sets as bits; then the first item that attains the maximum, n times."""
    m, n, _ = A.shape
    bits, layers = _layers(n)
    V = (bits @ A.transpose(2, 1, 0).reshape(n, n * m)).reshape(1 << n, n, m)  # sum_{j in R} A[i, j]
    h = np.zeros((1 << n, m))
    for sets, items, rests in layers:
        h[sets] = (V[sets[:, None], items] + h[rests]).max(axis=1)  # (1)
    rows, singles = np.arange(m), 1 << np.arange(n)
    R = np.full(m, (1 << n) - 1)
    orders = np.empty((m, n), dtype=int)
    for place in range(n):
        left = (R[:, None] & singles) > 0
        values = np.where(left, V[R, :, rows] + h[R[:, None] & ~singles, rows[:, None]], -np.inf)
        orders[:, place] = np.argmax(values >= (h[R, rows] - slack)[:, None], axis=1)
        R = R & ~singles[orders[:, place]]
    return orders


@lru_cache(maxsize=16)
def _layers(n: int) -> tuple[Array, list[tuple[Any, Any, Any]]]:
    """Members of each set (2^n, n); for each size its sets (c,), their items (c, size), the sets without them."""
    everything = np.arange(1 << n)
    bits = (everything[:, None] >> np.arange(n)) & 1
    sizes = bits.sum(axis=1)
    layers = []
    for size in range(1, n + 1):
        sets = everything[sizes == size]
        items = np.nonzero(bits[sets])[1].reshape(len(sets), size)
        layers.append((sets, items, sets[:, None] & ~(1 << items)))
    return bits.astype(float), layers


def _by_components(A: Array, slack: float, time_limit: float | None) -> tuple[Any, float]:
    """(c): components in an order that no win contradicts, the one with the smallest free item first."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    beats = slack < A
    count, component = connected_components(csr_array(beats), connection="strong")
    losers = np.zeros((count, count), dtype=bool)
    losers[component[np.nonzero(beats)[0]], component[np.nonzero(beats)[1]]] = True
    np.fill_diagonal(losers, False)
    first = np.array([np.flatnonzero(component == c)[0] for c in range(count)])
    order: list[int] = []
    gap, placed = 0.0, np.zeros(count, dtype=bool)
    for _ in range(count):
        free = ~placed & ~losers[~placed].any(axis=0)
        c = int(np.flatnonzero(free)[np.argmin(first[free])])
        placed[c] = True
        members = np.flatnonzero(component == c)
        inside, more = _ordered(A[np.ix_(members, members)], slack, time_limit)
        order += members[inside].tolist()
        gap += more
    return order, gap


def _ordered(A: Array, slack: float, time_limit: float | None) -> tuple[Any, float]:
    if len(A) > _MOST_BY_SUBSETS:
        return by_programming(A, time_limit)
    return _by_subsets(A[None], np.array([slack]))[0], 0.0


def by_programming(A: Array, time_limit: float | None = None) -> tuple[Any, float]:
    """The linear ordering problem (2) by HiGHS, exact to its tolerance of 1e-6 of the largest |A|; and the gap."""
    from scipy.optimize import milp

    n = len(A)
    i, j = np.triu_indices(n, 1)
    scale = float(np.abs(A).max()) or 1.0
    weights = 2 * A[i, j] / scale
    options = {"mip_rel_gap": 0.0} if time_limit is None else {"mip_rel_gap": 0.0, "time_limit": time_limit}
    found = milp(
        -weights, integrality=np.ones(len(i)), bounds=(0, 1), constraints=_triangles(n), options=options
    )  # (2)
    starts = [np.argsort(-A.sum(axis=1), kind="stable")]
    if found.x is not None:
        before = np.zeros((n, n))
        before[i, j], before[j, i] = found.x, 1 - found.x
        starts.append(np.argsort(-before.sum(axis=1), kind="stable"))
    order = max((improved(A, start) for start in starts), key=lambda z: gain(A, z))
    if found.status == 0:
        return order, 0.0
    bound = getattr(found, "mip_dual_bound", None)
    least = -np.abs(weights).sum() if bound is None or not np.isfinite(bound) else float(bound)
    best = scale * (-least - weights.sum() / 2)  # sum A (2x - 1) from sum 2 A x
    return order, max(0.0, min(best, float(np.abs(A).sum()) / 2) - gain(A, order))


def improved(A: Array, order: Any) -> Any:
    """An order that no move of one item makes better; O(n^2) a move."""
    order = np.array(order)
    slack = float(near(A.reshape(1, -1))[0, 0])
    while True:
        steps = A[np.ix_(order, order)]  # moving place a before or after places in between
        up = np.cumsum(np.tril(steps, -1)[:, ::-1], axis=1)[:, ::-1]  # [a, b]: a moved up to b < a
        down = np.cumsum(np.triu(-steps, 1), axis=1)  # [a, b]: a moved down to b > a
        change = np.tril(up, -1) + np.triu(down, 1)
        a, b = np.unravel_index(int(np.argmax(change)), change.shape)
        if change[a, b] <= slack:
            return order
        order = np.insert(np.delete(order, a), b, order[a])


@lru_cache(maxsize=4)
def _triangles(n: int) -> Any:
    from scipy.optimize import LinearConstraint
    from scipy.sparse import csr_array

    place = np.zeros((n, n), dtype=int)
    place[np.triu_indices(n, 1)] = np.arange(n * (n - 1) // 2)
    i, j, k = np.array(list(combinations(range(n), 3))).T
    columns = np.stack([place[i, j], place[j, k], place[i, k]], axis=1).ravel()
    rows = np.repeat(np.arange(len(i)), 3)
    signs = np.tile([1.0, 1.0, -1.0], len(i))
    return LinearConstraint(csr_array((signs, (rows, columns)), shape=(len(i), n * (n - 1) // 2)), 0, 1)

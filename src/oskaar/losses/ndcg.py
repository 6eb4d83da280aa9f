r"""NDCG of rankings of a fixed set of items."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import product
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.rankings import RankingLoss, sorted_items
from oskaar.requirements import require_whole
from oskaar.saved import saved


@saved("loss/ndcg")
class NDCG(RankingLoss):
    r"""1 - NDCG: y is the relevance (>= 0) of each item, in the order of the items; the answer is a ranking.

    With d_k = 1 / log2(k + 2) at place k = 0, 1, ..., DCG(z, y) = sum_i y_i d(place of i in z), and

        1 - NDCG(z, y) = 1 - <d(z), u(y)>,   u(y) = y / max_z DCG(z, y);      0 for all z where y = 0

    The sum of d(z) does not depend on z, so both are centred:  phi(y) = (u(y) - mean) / s,
    psi(z) = -s (d(z) - mean), c_delta = s |d - mean d|. Here s = max |u(y) - mean|: the relevances, sorted, are
    a positive sum of vectors (1, .., 1, 0, .., 0), so that |u - mean| is largest at one of those. All |psi(z)|
    are equal and psi averages to 0: no centre is better. |d(z) - d(z')| is largest for reversed rankings, by the
    rearrangement inequality, which gives the diameter. Decoding sorts g, largest first, for any sign; equal
    items stay in the order of the list.
    k: only the first k places count. exponential: 2^y - 1 in place of y (scikit-learn has y, LETOR 2^y - 1).

    >>> loss = NDCG(3)
    >>> round(loss((1, 0, 2), (0, 2, 1)), 4), loss((2, 0, 1), (0, 0, 0)), loss.decode(loss.embed((0, 2, 1)))
    (0.0498, 0.0, (1, 2, 0))
    """

    def __init__(self, n_items: int | Iterable[Hashable], k: int | None = None, exponential: bool = False) -> None:
        super().__init__(n_items)
        self.k = None if k is None else require_whole("k", k, most=self.n, note=", or None")
        self.exponential = exponential
        self.p = self.n
        self.discounts: Array = np.where(np.arange(self.n) < (k or self.n), 1 / np.log2(np.arange(self.n) + 2), 0.0)
        m = np.arange(1, self.n + 1)
        s = float((np.sqrt(m * (1 - m / self.n)) / np.cumsum(self.discounts)).max())
        self._scale = s or 1.0
        self.c_delta = s * float(np.linalg.norm(self.discounts - self.discounts.mean()))

    @property
    def diameter(self) -> float:
        return self._scale * float(np.linalg.norm(self.discounts - self.discounts[::-1]))

    def check(self, y: Any) -> tuple[float, ...]:
        try:
            grades = np.zeros(0) if isinstance(y, (str, bytes, AbstractSet)) else np.asarray(y, dtype=float)
        except (TypeError, ValueError, OverflowError):
            grades = np.zeros(0)
        if grades.shape != (self.n,) or not np.isfinite(grades).all() or (grades < 0).any():
            raise ValueError(f"y must be a relevance >= 0 for each of the {self.n} items, got {y!r}.")
        return tuple(grades.tolist())

    def shares(self, ys: Sequence[Any]) -> Array:
        """u(y): gains over the largest DCG, (len(ys), n)."""
        Y = np.array([self.check(y) for y in ys]).reshape(len(ys), self.n)
        top = Y.max(axis=1, keepdims=True)  # a common factor is free, and keeps large relevances finite
        gains = np.exp2(Y - top) - np.exp2(-top) if self.exponential else Y / np.where(top > 0, top, 1.0)
        best = -np.sort(-gains, axis=1) @ self.discounts
        return np.asarray(gains / np.where(best > 0, best, 1.0)[:, None])

    def loss(self, z: Any, y: Any) -> float:
        """1 - NDCG, and 0 where nothing is relevant."""
        u = self.shares([y])[0]
        return max(0.0, float(1 - u[self.indices([z])[0]] @ self.discounts)) if u.any() else 0.0

    def embed_many(self, ys: Sequence[Any]) -> Array:
        U = self.shares(ys)
        return np.asarray((U - U.mean(axis=1, keepdims=True)) / self._scale)

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        return self.tuples(sorted_items(G))

    def scores(self, G: Array) -> tuple[Sequence[Any], Array]:
        return self.things.names, np.asarray(G)

    def labels(self) -> Iterator[tuple[int, ...]]:
        """Relevances 0, 1 and 2: a part of all there are, which spans the others."""
        return product(range(3), repeat=self.n)

    def __repr__(self) -> str:
        more = f", k={self.k}" if self.k else ""
        return super().__repr__()[:-1] + more + (", exponential=True)" if self.exponential else ")")

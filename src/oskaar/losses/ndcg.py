r"""NDCG: of rankings of a fixed set of items, and of queries with any number of documents.

d_j = 1 / log2(j + 2) is what the gain at place j = 0, 1, ... counts, and DCG(z, y) = sum_i gain_i d(place of i in z).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import permutations, product
from typing import Any, Literal

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.rankings import RankingLoss, sorted_items
from oskaar.losses.sizes import SizedLoss
from oskaar.requirements import numbers_of, require_positive, require_whole, shorten
from oskaar.saved import saved


@saved("loss/ndcg")
class NDCG(RankingLoss):
    r"""1 - NDCG: y is the relevance (>= 0) of each item, in the order of the items; the answer is a ranking.

    With the gains y_i

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
        self.discounts = _discounts(self.n, k)
        m = np.arange(1, self.n + 1)
        s = float((np.sqrt(m * (1 - m / self.n)) / np.cumsum(self.discounts)).max())
        self._scale = s or 1.0
        self.c_delta = s * float(np.linalg.norm(self.discounts - self.discounts.mean()))

    @property
    def diameter(self) -> float:
        return self._scale * float(np.linalg.norm(self.discounts - self.discounts[::-1]))

    def check(self, y: Any) -> tuple[float, ...]:
        grades = numbers_of(y)
        if grades is None or grades.shape != (self.n,) or not np.isfinite(grades).all() or (grades < 0).any():
            raise ValueError(f"y must be a relevance >= 0 for each of the {self.n} items, got {y!r}.")
        return tuple(grades.tolist())

    def shares(self, ys: Sequence[Any]) -> Array:
        """u(y): gains over the largest DCG, (len(ys), n)."""
        Y = np.array([self.check(y) for y in ys]).reshape(len(ys), self.n)
        return _normalised(Y, self.discounts, self.exponential)

    def loss(self, z: Any, y: Any) -> float:
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


@saved("loss/documents")
class Documents(SizedLoss):
    r"""1 - NDCG@k of a ranking of the query's documents. Queries may have any number of documents.

    y: the relevance (>= 0, floats allowed) of each document, in the order of the rows of x; z: a tuple of *all* n
    positions 0..n-1, best first. With d_j = 0 from place k on, and gains 2^y_i - 1,

        u(y) = gain / max_z DCG(z, y),   Delta(z, y) = 1 - <d(z), u(y)>

    the sum of d(z) is free of z, so u is centred. With the mean over the n rows as inner product,

        phi(y)_i = u_i - mean u,    psi(z)_i = -n (d(z)_i - mean d),    c_delta = sqrt(n) |d - mean d|

    |phi_i| <= 1 because d_0 = 1. All |psi(z)| are equal and psi averages to 0, so no shift makes them smaller; the
    diameter is sqrt(n) |d - d reversed|, by the rearrangement inequality. Both grow with n, and a learner uses those
    of its largest query (losses/sizes.py). Decoding sorts G, largest first: exact for any sign by the rearrangement
    inequality; documents that are equal up to 1e-12 stay in their order. A query with nothing relevant has no NDCG:
    its loss is 0 for every z and its phi is 0.

    k: the places that count, None for all; more than n is the same as n.
    gain: "exponential", 2^y - 1 (LETOR), or "linear", y (scikit-learn).
    normalised=False: the DCG that is lost, as a share of that of k documents of top_grade, the largest relevance:
    Delta = (max_z DCG - DCG(z)) / (gain(top_grade) sum d), u = gain / gain(top_grade), psi as above over sum d.
    Queries with more to find then count more.

    Equivalent to tests/naive.py::ndcg_loss and dcg_regret.

    >>> loss = Documents(k=2)
    >>> round(loss((1, 0, 2), (0, 2, 1)), 4), loss((2, 1, 0), (0, 0, 0)), loss.decode(loss.embed((0, 2, 1)))
    (0.1738, 0.0, (1, 2, 0))
    >>> loss.embed((0, 2, 1, 0)).shape
    (4, 1)
    """

    zero_optimum = True
    p = 1

    def __init__(
        self,
        k: int | None = 10,
        gain: Literal["exponential", "linear"] = "exponential",
        normalised: bool = True,
        top_grade: float | None = None,
    ) -> None:
        self.k = None if k is None else require_whole("k", k, note=", or None for all places")
        if gain not in ("exponential", "linear"):
            raise ValueError(f"gain must be 'exponential' or 'linear', got {gain!r}.")
        if top_grade is not None:
            require_positive("top_grade", top_grade)
        if not normalised and top_grade is None:
            raise ValueError(
                "normalised=False needs top_grade, the largest relevance there is: phi is gain over its gain."
            )
        self.gain, self.normalised, self.top_grade = gain, bool(normalised), top_grade

    def check(self, y: Any) -> tuple[float, ...]:
        grades = numbers_of(y)
        if grades is None or grades.ndim != 1 or not len(grades):
            raise ValueError(f"y must be a sequence of relevances, one for each document, got {shorten(y)}.")
        top = np.inf if self.top_grade is None else self.top_grade
        bad = np.flatnonzero(~(np.isfinite(grades) & (grades >= 0) & (grades <= top)))
        if len(bad):
            most = "" if self.top_grade is None else f" and at most top_grade={self.top_grade:g}"
            raise ValueError(
                f"a relevance must be a finite number >= 0{most}, got {grades[bad[0]]:g} for document {bad[0]}."
            )
        return tuple(grades.tolist())

    def discounts(self, n: int) -> Array:
        return _discounts(n, self.k)

    def shares(self, y: Any) -> Array:
        """u(y), (n,): gains over the largest DCG, or over the gain of the top grade; 0 where nothing is relevant."""
        grades, exponential = np.asarray(y, dtype=float), self.gain == "exponential"
        if self.normalised:
            return _normalised(grades, self.discounts(len(grades)), exponential)
        return _gains(grades, self.top_grade, exponential)

    def loss(self, z: Any, y: Any) -> float:
        u, order = self.shares(y), self._order(z, len(y))
        d = self.discounts(len(u))
        lost = float(_best(u, d) - u[order] @ d)
        return max(0.0, lost if self.normalised else lost / self._whole(len(u)))

    def embed(self, y: Any) -> Array:
        u = self.shares(y)
        return np.asarray(u - u.mean())[:, None]

    def decode(self, g: Array) -> tuple[int, ...]:
        return tuple(sorted_items(np.reshape(g, (1, -1)))[0].tolist())

    def radius(self, n: int) -> float:
        """c_delta of queries with up to n documents: n |d - mean d|^2 = m sum d^2 - (sum d)^2 at m = n, or below."""
        d = self.discounts(n)
        return self._largest(np.arange(1, n + 1) * np.cumsum(d**2) - np.cumsum(d) ** 2, d)

    def span(self, n: int) -> float:
        """The diameter of queries with up to n documents: m |d - d reversed|^2 at m = n, or below."""
        d = self.discounts(n)
        return self._largest(2 * np.arange(1, n + 1) * (np.cumsum(d**2) - np.convolve(d, d)[:n]), d)

    def _largest(self, squares: Array, d: Array) -> float:
        """The largest root of n squares, which belong to queries of 1, ..., n documents."""
        norms = np.sqrt(np.maximum(squares, 0.0))
        if not self.normalised:
            norms = norms / (np.cumsum(d) if self.k is None else self._whole(len(d)))
        return float(norms.max())

    def outputs(self, n: int = 3) -> Iterator[tuple[int, ...]]:
        return permutations(range(n))

    def labels(self, n: int = 3) -> Iterator[tuple[float, ...]]:
        """Relevances 0, 1 and 2 (0, half and all of the top grade, if there is one) of n documents."""
        unit = 1.0 if self.top_grade is None else self.top_grade / 2
        return product((0.0, unit, 2 * unit), repeat=n)

    def _whole(self, n: int) -> float:
        """sum d: the DCG of top documents at all places that count."""
        return float(self.discounts(self.k or n).sum())

    def _order(self, z: Any, n: int) -> Any:
        order = np.asarray(z)
        if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
            raise ValueError(f"a ranking of {n} documents must hold each of 0..{n - 1} once, got {shorten(z)}.")
        return order

    def __repr__(self) -> str:
        more = "" if self.gain == "exponential" else f", gain={self.gain!r}"
        more += "" if self.normalised else ", normalised=False"
        more += "" if self.top_grade is None else f", top_grade={self.top_grade:g}"
        return f"Documents(k={self.k}{more})"


def _discounts(n: int, k: int | None) -> Array:
    """d at n places, 0 from place k on."""
    places = np.arange(n)
    return np.where(places < (k or n), 1 / np.log2(places + 2), 0.0)


def _gains(grades: Array, top: Any, exponential: bool) -> Array:
    """Gains over that of a grade `top`: y / top or (2^y - 1) / (2^top - 1), for relevances of any size."""
    if not exponential:
        return np.asarray(grades / top)
    return np.asarray(np.exp2(grades - top) * np.expm1(-grades * np.log(2)) / np.expm1(-top * np.log(2)))


def _normalised(grades: Array, discounts: Array, exponential: bool) -> Array:
    """u (..., n): gains over the largest DCG; 0 where nothing is relevant."""
    top = grades.max(axis=-1, keepdims=True)
    gains = _gains(grades, np.where(top > 0, top, 1.0), exponential)
    best = _best(gains, discounts)[..., None]
    return np.asarray(gains / np.where(best > 0, best, 1.0))


def _best(gains: Array, discounts: Array) -> Any:
    """max_z DCG, by sorting."""
    return -np.sort(-gains, axis=-1) @ discounts

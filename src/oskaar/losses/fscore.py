r"""F-scores of sets of labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import Space, first_best, near
from oskaar.losses.certainty import Marginals, separate
from oskaar.losses.fscore_bounds import radius, span
from oskaar.losses.subsets import SubsetLoss, top
from oskaar.requirements import require_positive
from oskaar.saved import saved
from oskaar.threads import one_thread

_CHUNK = 500_000
"""Numbers that a vectorised decoder holds at a time."""

_SIZES = 64
"""Sizes of answers that a decoder tries at a time."""

_MANY = 128
"""So many set sizes at once are worth a factorisation of the gains."""


@saved("loss/f1")
class F1(SubsetLoss):
    r"""1 - F_beta, example-based:  1 - (1 + beta^2) |z & y| / (|z| + beta^2 |y|);  0 for two empty sets.

    phi has a block of k coordinates for each size n = |y|, and one coordinate for the empty set:

        phi(y) = y (x) e_n / sqrt(n),    psi(z)_n = -q_mn z,   q_mn = (1 + beta^2) sqrt(n) / (m + beta^2 n)

    with m = |z|; then <psi(z), phi(y)> = -F_beta. The first coordinate is 1 for y = {} and -1 for z = {}.
    Decoding: for each m the best set is the top m of sum_n q_mn g_n, in any sign; O(k^2 (log k + sizes)).
    The smallest set wins among equals, then the first labels; the empty set is the answer before the first round.
    Learners keep only the blocks of sizes that have appeared: a new one is zero columns, exactly. Without n_labels
    they keep the labels that have appeared in sets of each size (`losses.tags`). For more than 128
    sizes q, which is smooth, is used through a factorisation that is right to about 1e-13 of its largest entry.

    Limits on |z| (see `SubsetLoss`) restrict m, and the decoder stays exact. Where z = {} is not allowed, y = {}
    costs 1 whatever the answer and phi = 0. Where |z| = m exactly, <z, 1> = m is the same for all answers: with
    c = sqrt(1 - n/k) the blocks are centred, phi(y) = (y - n/k) (x) e_n / (c sqrt(n)), and q_mn is c times as large.

    >>> loss = F1(5)
    >>> loss({0, 1}, {1, 2}), loss(set(), set()), sorted(loss.decode(loss.embed({1, 4})))
    (0.5, 0.0, [1, 4])
    >>> F1(5, at_least=1).optimum(set()), len(F1(5, at_least=3, at_most=3).decode(np.zeros(26)))
    (1.0, 3)
    >>> loss = F1(["billing", "refund", "other"])
    >>> sorted(loss.decode(loss.embed(["refund", "billing"]))), loss(["refund"], [0, 1, 0])
    (['billing', 'refund'], 0.0)
    """

    def __init__(
        self,
        n_labels: int | Iterable[Hashable] | None = None,
        beta: float = 1.0,
        at_least: int = 0,
        at_most: int | None = None,
        separator: str | None = None,
    ) -> None:
        super().__init__(n_labels, at_least, at_most, separator)
        self.beta = require_positive("beta", beta, "1 weighs precision and recall alike")
        self.p = self.n_labels**2 + 1 if self.names is not None else 0

    @cached_property
    def c_delta(self) -> float:  # type: ignore[override]
        """The radius of a ball that holds psi (`fscore_bounds.radius`)."""
        return radius(self.gains, self.n_labels, self._sizes) if self.names is not None else np.inf

    @property
    def diameter(self) -> float:
        return self.span(range(self.n_labels + 1)) if self.names is not None else np.inf

    def span(self, sizes: Iterable[int]) -> float:
        """max |psi(z) - psi(z')| in the blocks of some sizes of y (`fscore_bounds.span`)."""
        return span(self.gains, self.n_labels, self._sizes, sizes)

    @property
    def _sizes(self) -> Any:
        """The sizes that answers may have."""
        return np.arange(self.at_least, self.at_most + 1)

    def gains(self, m: Any, n: Any) -> Array:
        """q_mn for sizes m of z and n of y."""
        weight, n = self.beta**2, np.asarray(n)
        q: Array = (1 + weight) * np.sqrt(n) / (np.asarray(m)[:, None] + weight * n)
        return q * np.sqrt(1 - n / self.n_labels) if self.exactly else q

    def loss(self, z: Any, y: Any) -> float:
        z, y = self.check(z), self.check(y)
        if not z and not y:
            return 0.0
        weight = self.beta**2
        return 1 - (1 + weight) * len(z & y) / (len(z) + weight * len(y))

    def embed(self, y: Any) -> Array:
        self.listed()
        y = self.check(y)
        space = SizeSpace(self, (len(y),))
        phi: Array = space.full(space.embed_many([y]))[0]
        return phi

    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        k = len(self.listed())
        H = G[:, 1:].reshape(len(G), k, k)
        sizes = np.flatnonzero(H.any(axis=(0, 2)))  # blocks of zeros add nothing
        return self.best_sets(H if len(sizes) == k else H[:, sizes], sizes + 1, G[:, 0])

    @one_thread
    def best_sets(self, H: Array, sizes: Any, empty: Array) -> list[frozenset[Any]]:
        """The best sets for blocks H (n, sizes, k) and the coordinates (n,) of the empty set."""
        m = np.arange(max(1, self.at_least), self.at_most + 1)
        Q = self.gains(m, sizes)
        factors = cross(Q) if min(Q.shape) > _MANY else (None, Q)
        step = max(1, _CHUNK // max(1, len(m), min(len(m), _SIZES) * self.n_labels))
        slack = near(np.column_stack([empty, H.reshape(len(H), len(sizes) * self.n_labels)]))
        best = np.empty(len(H), dtype=int)
        scores = np.empty((len(H), self.n_labels))
        for lo in range(0, len(H), step):
            few = slice(lo, lo + step)
            sums = self._sums(H[few], Q, factors, m, empty[few])
            best[few] = np.append(0, m)[first_best(sums, slack[few])]
        for found in np.unique(best):
            rows = best == found
            scores[rows] = self.gains([max(found, 1)], sizes)[0] @ H[rows]
        return self.sets(top(scores, best, slack)) if len(H) else []

    def _sums(self, H: Array, Q: Array, factors: Any, m: Any, empty: Array) -> Array:
        """-<psi(z), g> (n, 1 + len(m)) of the best z of each size, {} first; -inf where it cannot be the largest.

        A set of m labels has at most sum_n q_mn sum_j max(g_nj, 0), which falls with m: sizes are tried in turn,
        until that is no more than what was found. Among equals the smaller set wins.
        """
        sums = np.full((len(H), 1 + len(m)), -np.inf)
        if self.at_least == 0:
            sums[:, 0] = empty
        U, V = factors
        positive, left = np.maximum(H, 0.0).sum(axis=2), np.arange(len(H))
        scored = np.any(H, axis=(0, 1))
        known, others = np.flatnonzero(scored), np.flatnonzero(np.logical_not(scored))  # of the others m are enough
        for lo in range(0, len(m), _SIZES):
            if lo:
                left = left[positive[left] @ Q[lo] > sums[left].max(axis=1)]
            if not len(left):
                break
            hi = min(lo + _SIZES, len(m))
            labels = np.sort(np.append(known, others[: m[hi - 1]]))
            flat = H[left][:, :, labels].transpose(1, 0, 2)
            flat = flat.reshape(H.shape[1], len(left) * len(labels))  # all rows in one product
            S = Q[lo:hi] @ flat if U is None else U[lo:hi] @ (V @ flat)
            sums[left, 1 + lo : 1 + hi] = _of_largest(S.reshape(hi - lo, len(left), len(labels)), m[lo:hi])
        return sums

    def space(self) -> Space:
        """Only the sizes seen; where labels are learned, only the labels seen in sets of each size."""
        from oskaar.losses.tags import TagsBySize

        return SizeSpace(self, ()) if self.names is not None else TagsBySize(self, {})

    def _settings(self) -> list[str]:
        shown = super()._settings()
        first = 0 if self.names is None else 1
        return shown[:first] + ([] if self.beta == 1 else [f"beta={self.beta:g}"]) + shown[first:]


@saved("space/set-sizes")
class SizeSpace(Space):
    """The blocks of F1 for the set sizes that have appeared, in order of appearance."""

    def __init__(self, loss: F1, sizes: tuple[int, ...]) -> None:
        self.loss, self.sizes = loss, sizes
        widths = [self.width(n) for n in sizes]
        self.starts = dict(zip(sizes, np.cumsum([0, *widths]).tolist(), strict=False))
        self.p = sum(widths)

    @property
    def c_delta(self) -> float:  # type: ignore[override]
        return self.loss.c_delta

    @property
    def diameter(self) -> float:
        return self.loss.span(self.sizes)

    def extended(self, y: Any) -> Space:
        return self if len(y) in self.starts else SizeSpace(self.loss, (*self.sizes, len(y)))

    def joined(self, other: Any) -> Space:
        return SizeSpace(self.loss, (*self.sizes, *(n for n in other.sizes if n not in self.starts)))

    def places(self, other: Any) -> Any:
        blocks = [self.starts[n] + np.arange(other.width(n)) for n in other.sizes]
        return np.concatenate([np.zeros(0, dtype=np.intp), *blocks])

    def width(self, n: int) -> int:
        """How many coordinates the block of a size has."""
        return self.loss.n_labels if n else int(self.loss.at_least == 0)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        k = self.loss.n_labels
        Phi = np.zeros((len(ys), self.p))
        for row, y in zip(Phi, ys, strict=True):
            start, n = self.starts[len(y)], len(y)
            if n:
                row[start + np.array(self.loss.places(y))] = 1 / np.sqrt(n)
                if self.loss.exactly:
                    row[start : start + k] -= np.sqrt(n) / k
                    row[start : start + k] *= 1 / np.sqrt(1 - n / k) if n < k else 0.0
            else:
                row[start : start + (self.loss.at_least == 0)] = 1.0
        return Phi

    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        sizes, H, empty = self._blocks(G)
        return self.loss.best_sets(H, sizes, empty)

    def probabilities(self, G: Array) -> Marginals | None:
        """P(label) = sum_n sqrt(n) g_n over sum_n P(|y| = n); sets of a fixed size are centred, and say less."""
        if self.loss.exactly or self.loss.at_least:
            return None
        return of_blocks(self.loss.listed().names, *self._blocks(G))

    def full(self, G: Array) -> Array:
        sizes, H, empty = self._blocks(G)
        k = self.loss.n_labels
        wide = np.zeros((len(G), k, k))
        wide[:, sizes - 1] = H
        return np.column_stack([empty, wide.reshape(len(G), k * k)])

    def _blocks(self, G: Array) -> tuple[Any, Array, Array]:
        """Sizes of sets, estimates (n, sizes, k) of phi for these, and those (n,) of the empty set."""
        sizes = np.array([n for n in self.sizes if n], dtype=int)
        starts = np.array([self.starts[n] for n in sizes.tolist()], dtype=int)
        empty = G[:, self.starts[0]] if 0 in self.starts and not self.loss.at_least else np.zeros(len(G))
        return sizes, np.take(G, starts[:, None] + np.arange(self.loss.n_labels), axis=1), empty


def _of_largest(S: Array, m: Any) -> Array:
    """For scores S (m, n, k), overwritten, of a label in a set of size m: the sums (n, m) of the m largest."""
    S.sort(axis=2)
    last = (np.arange(S.shape[2]) >= S.shape[2] - m[:, None]).astype(float)
    sums: Array = np.einsum("mnk,mk->nm", S, last)
    return sums


def of_blocks(names: Sequence[Any], sizes: Any, H: Array, empty: Array) -> Marginals:
    """The probability of each label, out of estimates H (rows, sizes, k) of y / sqrt(n) and those (rows,) of {}.

    The labels of a set of n add up to n: the sum of weights is that of all sizes, P(|y| = n) = sum_j g_nj / sqrt(n).
    """
    expected, mass = np.zeros((len(empty), len(names))), empty[:, None]
    for n, block in zip(sizes, H.swapaxes(0, 1), strict=True):
        expected += np.sqrt(n) * block
        mass = mass + block.sum(axis=1, keepdims=True) / np.sqrt(n)
    return separate(names, expected, mass)


def cross(Q: Array) -> tuple[Array, Array]:
    """U (m, r) and V (r, n) with U V = Q up to rounding, by cross approximation: Q is smooth, so r is small.

    Each step takes away a row times a column through the largest entry left in that row, until nothing is left.

    >>> Q = 1 / np.add.outer(np.arange(1.0, 301), np.arange(1.0, 301))
    >>> U, V = cross(Q)
    >>> U.shape[1] < 50, bool(np.abs(U @ V - Q).max() < 1e-13)
    (True, True)
    """
    U, V = np.zeros((len(Q), 0)), np.zeros((0, Q.shape[1]))
    unused, i, small = np.ones(len(Q), dtype=bool), 0, 0
    while unused.any() and small < 3:
        unused[i] = False
        row = Q[i] - U[i] @ V
        j = int(np.argmax(np.abs(row)))
        if abs(row[j]) <= 1e-14 * np.abs(Q[i]).max():
            small += 1
            i = int(np.argmax(unused))
            continue
        column = (Q[:, j] - U @ V[:, j]) / row[j]
        U, V = np.column_stack([U, column]), np.vstack([V, row])
        i = int(np.argmax(np.where(unused, np.abs(column), -1.0)))
    return U, V

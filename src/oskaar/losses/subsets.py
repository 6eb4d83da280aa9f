r"""Sets of labels: multi-label prediction. A subset is a frozenset of label indices 0..k-1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array, spans
from oskaar.losses.base import Loss, near
from oskaar.requirements import require_whole
from oskaar.saved import saved

Mask = NDArray[np.bool_]


class SubsetLoss(Loss):
    """What losses on subsets of k labels share: how labels are written, and how many an answer may have.

    at_least, at_most: limits on the size of the *answer* z; equal limits mean exactly that many. Labels y may
    have any size: `optimum(y)` is then the loss of the best answer that is allowed.
    """

    def __init__(self, n_labels: int, at_least: int = 0, at_most: int | None = None) -> None:
        self.n_labels = require_whole("n_labels", n_labels)
        most = self.n_labels if at_most is None else at_most
        self.at_most = require_whole("at_most", most, 0, self.n_labels, " (n_labels)")
        self.at_least = require_whole("at_least", at_least, 0, self.at_most, " (at_most)")

    @property
    def exactly(self) -> bool:
        """True where all answers have one size: then no constant in phi can be seen by decoding."""
        return self.at_least == self.at_most

    def check(self, y: Any) -> frozenset[int]:
        """A frozenset of indices, out of any set of indices or a 0/1 vector of length k."""
        if isinstance(y, AbstractSet):
            return frozenset(self._index(item) for item in y)
        return frozenset(np.flatnonzero(self._indicator(y)).tolist())

    def allows(self, z: Any) -> bool:
        """Whether z has a size within the limits."""
        return self.at_least <= len(z) <= self.at_most

    def outputs(self) -> Iterator[frozenset[int]]:
        """All subsets within the limits (2^k without any), small ones first."""
        sizes = range(self.at_least, self.at_most + 1)
        return (frozenset(c) for m in sizes for c in combinations(range(self.n_labels), m))

    def labels(self) -> Iterator[frozenset[int]]:
        """All 2^k subsets, small ones first."""
        sizes = range(self.n_labels + 1)
        return (frozenset(c) for m in sizes for c in combinations(range(self.n_labels), m))

    def optimum(self, y: Any) -> float:
        """0, or what y loses by being cut or filled up to a size that is allowed."""
        y = self.check(y)
        return 0.0 if self.allows(y) else self.loss(self.nearest(y), y)

    def most_different(self) -> int:
        """max |z ^ z'| over the answers that are allowed."""
        both = min(max(self.n_labels, 2 * self.at_least), 2 * self.at_most)  # |z| + |z'|
        return min(both, 2 * self.n_labels - both)

    def nearest(self, y: Any) -> frozenset[int]:
        """y with its last labels left out, or the first others added, so that the limits hold."""
        others = [j for j in range(self.n_labels) if j not in y]
        return frozenset(sorted(y)[: self.at_most] + others[: max(0, self.at_least - len(y))])

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
        except (TypeError, ValueError, OverflowError):
            row = np.zeros(0)
        if isinstance(y, (str, bytes)) or len(row) != self.n_labels or not np.isin(row, (0.0, 1.0)).all():
            raise ValueError(
                f"a subset must be a set of label indices 0..{self.n_labels - 1}, or a 0/1 vector of length "
                f"{self.n_labels}, got {y!r}."
            )
        return row

    def _settings(self) -> list[str]:
        """The arguments as the representation shows them."""
        shown = [str(self.n_labels)]
        if self.at_least > 0:
            shown.append(f"at_least={self.at_least}")
        if self.at_most < self.n_labels:
            shown.append(f"at_most={self.at_most}")
        return shown

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._settings())})"


@saved("loss/subset-hamming")
class SubsetHamming(SubsetLoss):
    r"""The fraction of the k labels that are wrong, |z ^ y| / k.

    With s(y) = +1 on the labels of y, else -1:  phi(y) = s(y) / sqrt(k),  psi(z) = -s(z) / (2 sqrt(k)),
    c_delta = 1/2. Decoding takes the labels with a positive coordinate: exact for any sign. |psi(z) - psi(z')|^2 is
    |z ^ z'| / k, and sizes m, m' allow |z ^ z'| = min(m + m', 2k - m - m'), which is largest for m + m' nearest to k.

    Limits on |z| (see `SubsetLoss`): the top m coordinates add up to a concave function of m, so the best size is
    the number of positive coordinates, cut to the limits: exact, O(k log k); the first of equal labels wins. With
    m = k/2 cut to the limits, psi lies in a ball about a multiple of the ones of radius
    c_delta = sqrt(m (k - m)) / k. If |z| = m exactly, |z ^ y| = m + n - 2 <z, y>, n = |y|, sees <z, 1> = m
    in no way, and phi is centred:  phi(y) = (y - n/k) / r,  psi(z) = -(2 r / k) (z - m/k),  r = max_y |y - n/k|,
    c_delta = (2 r / k) sqrt(m (1 - m/k)), |psi(z) - psi(z')|^2 = (2 r / k)^2 |z ^ z'|.

    >>> loss = SubsetHamming(4)
    >>> loss({0, 1}, {1, 2}), sorted(loss.decode([1.0, -1.0, 0.0, 2.0]))
    (0.5, [0, 3])
    >>> sorted(SubsetHamming(4, at_most=1).decode([1.0, -1.0, 0.0, 2.0]))
    [3]
    """

    def __init__(self, n_labels: int, at_least: int = 0, at_most: int | None = None) -> None:
        super().__init__(n_labels, at_least, at_most)
        k = self.p = self.n_labels
        self._radius = float(np.sqrt((k // 2) * (k - k // 2) / k))  # max_y |y - n/k|, at n = k/2
        m = min(max(k / 2, self.at_least), self.at_most)
        self.c_delta = float(np.sqrt(m * (k - m))) / k
        if self.exactly:
            self.c_delta = 2 * self._radius / k * float(np.sqrt(m * (1 - m / k)))

    @property
    def diameter(self) -> float:
        """max |psi(z) - psi(z')|."""
        k = self.n_labels
        scale = 2 * self._radius / k if self.exactly else float(np.sqrt(1 / k))
        return scale * float(np.sqrt(self.most_different()))

    def loss(self, z: Any, y: Any) -> float:
        """The size of the symmetric difference, over k."""
        return len(self.check(z) ^ self.check(y)) / self.n_labels

    def embed(self, y: Any) -> Array:
        """Signs over sqrt(k), or the centred indicator."""
        phi: Array = self.embed_many([y])[0]
        return phi

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """Signs over sqrt(k), or centred indicators, a row each."""
        Y = self.indicators(ys)
        if self.exactly:
            return np.asarray((Y - Y.mean(axis=1, keepdims=True)) / (self._radius or 1.0))
        return np.asarray((2 * Y - 1) / np.sqrt(self.n_labels))

    def decode(self, g: Any) -> frozenset[int]:
        """The labels with a positive coordinate, cut or filled up to the limits."""
        return self.decode_many(np.asarray(g, dtype=float)[None, :])[0]

    def decode_many(self, G: Array) -> list[frozenset[int]]:
        """The labels with a positive coordinate, cut or filled up to the limits, for each row."""
        positive = near(G) < G
        counts = positive.sum(axis=1)
        sizes = np.clip(counts, self.at_least, self.at_most)
        cut = np.flatnonzero(sizes != counts)
        if len(cut):
            positive[cut] = top(G[cut], sizes[cut])
        return sets_of(positive)


@saved("loss/precision-at-k")
class PrecisionAtK(SubsetHamming):
    r"""1 - |z & y| / m for answers z of exactly m = `k` labels: precision at k.

    As for SubsetHamming with exactly m labels, only the centred indicators count:

        phi(y) = (y - n/K) / r,   psi(z) = -(r / m) (z - m/K),   c_delta = (r / m) sqrt(m (1 - m/K))

    with K labels in all, n = |y|, r = max_y |y - n/K|: <psi(z), phi(y)> = -<z, y> / m + n/K, since <z, 1> = m.
    |psi(z) - psi(z')|^2 = (r / m)^2 |z ^ z'|, and |z ^ z'| is at most 2 m and 2 (K - m).
    Decoding takes the m largest coordinates, the first of equals: exact for any sign, O(K log K).
    Before the first round the answer is {0, .., m - 1}. A label of n < m items costs at least 1 - n/m.

    >>> loss = PrecisionAtK(5, k=2)
    >>> loss({0, 1}, {1, 2, 3}), sorted(loss.decode([0.0, -1.0, 3.0, -2.0, 1.0])), loss.optimum({4})
    (0.5, [2, 4], 0.5)
    """

    def __init__(self, n_labels: int, k: int) -> None:
        self.k = require_whole("k", k, 1, require_whole("n_labels", n_labels), " (n_labels)")
        super().__init__(n_labels, at_least=k, at_most=k)
        self.c_delta = self._radius * float(np.sqrt((1 - self.k / self.n_labels) / self.k))

    @property
    def diameter(self) -> float:
        """max |psi(z) - psi(z')|."""
        return self._radius / self.k * float(np.sqrt(self.most_different()))

    def loss(self, z: Any, y: Any) -> float:
        """The share of the k labels given that are not in y."""
        return 1 - len(self.check(z) & self.check(y)) / self.k

    def __repr__(self) -> str:
        return f"PrecisionAtK({self.n_labels}, k={self.k})"


def top(S: Array, sizes: Any, slack: Array | None = None) -> Mask:
    """The places of the largest `sizes[i]` scores of each row; the first of those that are `near`, by `slack` (n, 1).

    >>> top(np.array([[0.3, 0.1 + 0.2, 0.5], [0.0, 0.0, -1.0]]), [2, 1]).astype(int)
    array([[1, 0, 1],
           [1, 0, 0]])
    """
    m = np.asarray(sizes)[:, None]
    slack = near(S) if slack is None else slack
    last = np.take_along_axis(np.sort(S, axis=1), S.shape[1] - np.maximum(m, 1), axis=1)
    sure = last + slack < S
    tied = (last - slack <= S) & ~sure
    room = m - sure.sum(axis=1, keepdims=True)
    mask: Mask = (sure | (tied & (np.cumsum(tied, axis=1) <= room))) & (m > 0)
    return mask


def sets_of(mask: Mask) -> list[frozenset[int]]:
    """Each row of a mask, as a set."""
    labels = np.nonzero(mask)[1].tolist()
    return [frozenset(labels[lo:hi]) for lo, hi in spans(np.cumsum(mask.sum(axis=1)))]

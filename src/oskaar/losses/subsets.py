r"""Sets of labels: multi-label prediction. A subset is a frozenset of labels: indices 0..k-1, or names."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array, spans
from oskaar.losses.base import Loss, Names, Space, near, require_hashable
from oskaar.losses.certainty import Marginals, separate
from oskaar.requirements import numbers_of, require_whole
from oskaar.saved import saved

Mask = NDArray[np.bool_]

PLAIN = frozenset({str, int})
"""Labels that are hashable and cannot be missing."""

UNLIMITED = 2**31
"""Labels in an answer, where nothing limits them."""


class SubsetLoss(Loss):
    """What losses on subsets of labels share: how labels are written, and how many an answer may have.

    n_labels: how many labels there are, k: they are 0..k-1. Or their names, a list. Or None: labels are what appears
        in the stream, and answers are sets of those (`losses.tags`). Answers have the names that labels came with.
    at_least, at_most: limits on the size of the *answer* z; equal limits mean exactly that many. Labels y may
        have any size: `optimum(y)` is then the loss of the best answer that is allowed.
    separator: a label may be one text, the labels with this between them: "billing; refund".

    A label is a set. Where names are listed or learned a list or tuple of names will do, and where k is known a 0/1
    vector of length k.
    """

    def __init__(
        self,
        n_labels: int | Iterable[Hashable] | None = None,
        at_least: int = 0,
        at_most: int | None = None,
        separator: str | None = None,
    ) -> None:
        self.names = _listed(n_labels)
        self.indexed = self.names is not None and not isinstance(n_labels, Iterable)
        self.n_labels = len(self.names) if self.names else 0
        self.separator = separator
        if separator is not None and not (isinstance(separator, str) and separator):
            raise TypeError(f"separator must be a text such as ';', got {separator!r}.")
        if self.names is None:
            if at_least:
                raise ValueError(
                    f"at_least={at_least!r} needs the labels that there are: give their number or their names."
                )
            self.at_least = 0
            self.at_most = UNLIMITED if at_most is None else require_whole("at_most", at_most)
        else:
            most = self.n_labels if at_most is None else at_most
            self.at_most = require_whole("at_most", most, 0, self.n_labels, " (n_labels)")
            self.at_least = require_whole("at_least", at_least, 0, self.at_most, " (at_most)")
        self._measure()

    def _measure(self) -> None:
        """What a loss without settings of its own sets once labels and limits are known: p, c_delta."""

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor was given for attributes that say something else."""
        most = None if self.names is None and self.at_most == UNLIMITED else self.at_most
        listed = self.n_labels if self.indexed else None if self.names is None else self.names.names
        return {"n_labels": listed, "at_most": most}

    @property
    def exactly(self) -> bool:
        """True where all answers have one size: then no constant in phi can be seen by decoding."""
        return self.at_least == self.at_most

    def check(self, y: Any) -> frozenset[Any]:
        if type(y) is frozenset and (self.names is None or self.indexed):  # out of a decoder, or of a check before
            kinds = set(map(type, y))
            if kinds <= PLAIN and (self.names is None or (kinds <= {int} and self._in_range(y))):
                return y
        if isinstance(y, AbstractSet):
            return frozenset(map(self._member, y))
        if isinstance(y, str) and self.separator is not None:
            return frozenset(self._member(part.strip()) for part in y.split(self.separator) if part.strip())
        if self.names is not None and self._is_vector(y):
            return frozenset(self.names.names[i] for i in np.flatnonzero(self._indicator(y)).tolist())
        if self.indexed or not isinstance(y, (list, tuple, np.ndarray)):
            self._refuse(y)
        if self.names is None and len(y) > 0 and all(isinstance(v, (bool, np.bool_)) or v in (0, 1) for v in y):
            raise ValueError(
                f"{y!r} may be a 0/1 vector, which needs the number of labels, {type(self).__name__}({len(y)}), or "
                "a list of the labels 0 and 1: write those as a set."
            )
        return frozenset(map(self._member, y))

    def allows(self, z: Any) -> bool:
        """Whether z has a size within the limits."""
        return self.at_least <= len(z) <= self.at_most

    def outputs(self) -> Iterator[frozenset[Any]]:
        """All subsets within the limits (2^k without any), small ones first."""
        return self._of_sizes(range(self.at_least, self.at_most + 1))

    def labels(self) -> Iterator[frozenset[Any]]:
        return self._of_sizes(range(self.n_labels + 1))

    def _of_sizes(self, sizes: Iterable[int]) -> Iterator[frozenset[Any]]:
        names = self.listed().names
        return (frozenset(c) for m in sizes for c in combinations(names, m))

    def optimum(self, y: Any) -> float:
        """0, or what y loses by being cut or filled up to a size that is allowed."""
        y = self.check(y)
        return 0.0 if self.allows(y) else self.loss(self.nearest(y), y)

    def most_different(self) -> int:
        """max |z ^ z'| over the answers that are allowed."""
        both = min(max(self.n_labels, 2 * self.at_least), 2 * self.at_most)  # |z| + |z'|
        return min(both, 2 * self.n_labels - both)

    def nearest(self, y: Any) -> frozenset[Any]:
        """y with its last labels left out, or the first others added, so that the limits hold."""
        if self.names is None:
            return frozenset(in_order(y)[: self.at_most])
        places = set(self.places(y))
        others = [j for j in range(self.n_labels) if j not in places]
        kept = sorted(places)[: self.at_most] + others[: max(0, self.at_least - len(y))]
        return frozenset(self.names.names[j] for j in kept)

    def indicators(self, ys: Sequence[Any]) -> Array:
        """An (n, k) matrix of 0 and 1."""
        Y = np.zeros((len(ys), self.n_labels))
        for row, y in zip(Y, ys, strict=True):
            row[self.places(self.check(y))] = 1.0
        return Y

    def places(self, y: Any) -> list[int]:
        """Where the labels of a checked y stand in the list."""
        return list(y) if self.indexed else [self.listed().positions[name] for name in y]

    def sets(self, mask: Mask) -> list[frozenset[Any]]:
        """Each row of a mask (n, k), as a set of labels."""
        places = np.nonzero(mask)[1]
        labels = (places if self.indexed else self.listed().array[places]).tolist()
        return [frozenset(labels[lo:hi]) for lo, hi in spans(np.cumsum(mask.sum(axis=1)))]

    def listed(self) -> Names:
        """The labels; an error where they are learned."""
        if self.names is None:
            raise ValueError(f"{self!r} learns its labels from the stream: list them to use it by itself.")
        return self.names

    def closed(self, names: Sequence[Any]) -> Any:
        """The same loss on labels that are listed."""
        more = {key: getattr(self, key) for key in ("beta",) if hasattr(self, key)}
        return type(self)(list(names), at_most=min(self.at_most, len(names)), **more)

    def _member(self, item: Any) -> Any:
        if not self.indexed:
            item = item.item() if isinstance(item, np.generic) else item
            return require_hashable(item, "label") if self.names is None else self.names.check(item)
        if isinstance(item, (int, np.integer)) and 0 <= item < self.n_labels:
            return int(item)
        raise ValueError(f"unknown label {item!r}: labels are indices 0..{self.n_labels - 1}.")

    def _in_range(self, y: frozenset[int]) -> bool:
        return not y or (min(y) >= 0 and max(y) < self.n_labels)

    def _is_vector(self, y: Any) -> bool:
        """Whether y is to be read as a 0/1 vector; always, but for lists of names."""
        if self.indexed or hasattr(y, "toarray"):
            return True
        if not isinstance(y, (list, tuple, np.ndarray)) or len(y) != self.n_labels:
            return False
        return all(isinstance(v, (bool, int, float, np.generic)) and v in (0, 1) for v in y)

    def _indicator(self, y: Any) -> Any:
        row = None if isinstance(y, (str, bytes)) else numbers_of(y.toarray() if hasattr(y, "toarray") else y)
        if row is None or row.size != self.n_labels or not np.isin(row, (0.0, 1.0)).all():
            self._refuse(y)
        return row.ravel()

    def _refuse(self, y: Any) -> NoReturn:
        text = isinstance(y, str) and not self.indexed
        hint = f" Write {{{y!r}}} for one label, or give separator=';' for several in a text." if text else ""
        if self.indexed:
            wanted = f"a set of label indices 0..{self.n_labels - 1}, or a 0/1 vector of length {self.n_labels}"
        elif self.names is None:
            wanted = "a set or a list of labels"
        else:
            wanted = f"a set or a list of labels, or a 0/1 vector of length {self.n_labels}"
        raise ValueError(f"a subset must be {wanted}, got {y!r}.{hint}")

    def _settings(self) -> list[str]:
        """The arguments as the representation shows them."""
        shown = [str(self.n_labels)] if self.indexed else [] if self.names is None else [repr(self.names.names)]
        if self.at_least > 0:
            shown.append(f"at_least={self.at_least}")
        if self.at_most < (self.n_labels or UNLIMITED):
            shown.append(f"at_most={self.at_most}")
        return shown if self.separator is None else [*shown, f"separator={self.separator!r}"]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._settings())})"


def _listed(n_labels: Any) -> Names | None:
    """The labels: 0..k-1, or a list of names; None where they are learned."""
    if n_labels is None:
        return None
    if isinstance(n_labels, (str, bytes, AbstractSet)):
        raise ValueError(f"n_labels must be a number, or a list of names in some order, got {n_labels!r}.")
    if not isinstance(n_labels, Iterable):
        return Names(require_whole("n_labels", n_labels), "label")
    names = n_labels.tolist() if isinstance(n_labels, np.ndarray) else list(n_labels)
    return Names([require_hashable(name, "label") for name in names], "label")


@saved("loss/subset-hamming")
class SubsetHamming(SubsetLoss):
    r"""The fraction of the k labels that are wrong, |z ^ y| / k; where labels are learned, their number |z ^ y|.

    With s(y) = +1 on the labels of y, else -1:  phi(y) = s(y) / sqrt(k),  psi(z) = -s(z) / (2 sqrt(k)),
    c_delta = 1/2. Decoding takes the labels with a positive coordinate: exact for any sign. |psi(z) - psi(z')|^2 is
    |z ^ z'| / k, and sizes m, m' allow |z ^ z'| = min(m + m', 2k - m - m'), which is largest for m + m' nearest to k.

    Limits on |z| (see `SubsetLoss`): the top m coordinates add up to a concave function of m, so the best size is
    the number of positive coordinates, cut to the limits: exact, O(k log k); the first of equal labels wins. With
    m = k/2 cut to the limits, psi lies in a ball about a multiple of the ones of radius
    c_delta = sqrt(m (k - m)) / k. If |z| = m exactly, |z ^ y| = m + n - 2 <z, y>, n = |y|, sees <z, 1> = m
    in no way, and phi is centred:  phi(y) = (y - n/k) / r,  psi(z) = -(2 r / k) (z - m/k),  r = max_y |y - n/k|,
    c_delta = (2 r / k) sqrt(m (1 - m/k)), |psi(z) - psi(z')|^2 = (2 r / k)^2 |z ^ z'|.

    Without n_labels no k is known, and nothing is divided by it: psi is k times as large (`losses.tags`).

    >>> loss = SubsetHamming(4)
    >>> loss({0, 1}, {1, 2}), sorted(loss.decode([1.0, -1.0, 0.0, 2.0]))
    (0.5, [0, 3])
    >>> sorted(SubsetHamming(4, at_most=1).decode([1.0, -1.0, 0.0, 2.0]))
    [3]
    """

    def _measure(self) -> None:
        k = self.p = self.n_labels
        if self.names is None:
            self.c_delta = np.inf
            return
        self._radius = float(np.sqrt((k // 2) * (k - k // 2) / k))  # max_y |y - n/k|, at n = k/2
        m = min(max(k / 2, self.at_least), self.at_most)
        self.c_delta = float(np.sqrt(m * (k - m))) / k
        if self.exactly:
            self.c_delta = 2 * self._radius / k * float(np.sqrt(m * (1 - m / k)))

    @property
    def diameter(self) -> float:
        if self.names is None:
            return np.inf
        k = self.n_labels
        scale = 2 * self._radius / k if self.exactly else float(np.sqrt(1 / k))
        return scale * float(np.sqrt(self.most_different()))

    def loss(self, z: Any, y: Any) -> float:
        return len(self.check(z) ^ self.check(y)) / (self.n_labels or 1)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        Y = self.indicators(ys)
        if self.exactly:
            return np.asarray((Y - Y.mean(axis=1, keepdims=True)) / (self._radius or 1.0))
        return np.asarray((2 * Y - 1) / np.sqrt(self.n_labels))

    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        positive = near(G) < G
        counts = positive.sum(axis=1)
        sizes = np.clip(counts, self.at_least, self.at_most)
        cut = np.flatnonzero(sizes != counts)
        if len(cut):
            positive[cut] = top(G[cut], sizes[cut])
        return self.sets(positive)

    def probabilities(self, G: Array) -> Marginals | None:
        """phi(y) = +-1 / sqrt(k); an indicator that is centred says nothing of single labels."""
        return None if self.exactly else separate(self.listed().names, (1 + np.sqrt(self.n_labels) * G) / 2)

    def space(self) -> Space:
        from oskaar.losses.tags import CountedTags

        return super().space() if self.names is not None else CountedTags(self)


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

    def __init__(self, n_labels: int | Iterable[Hashable], k: int, separator: str | None = None) -> None:
        SubsetLoss.__init__(self, n_labels if n_labels is not None else 0)
        self.k = require_whole("k", k, 1, self.n_labels, " (n_labels)")
        super().__init__(n_labels, at_least=k, at_most=k, separator=separator)
        self.c_delta = self._radius * float(np.sqrt((1 - self.k / self.n_labels) / self.k))

    @property
    def diameter(self) -> float:
        return self._radius / self.k * float(np.sqrt(self.most_different()))

    def loss(self, z: Any, y: Any) -> float:
        return 1 - len(self.check(z) & self.check(y)) / self.k

    def __repr__(self) -> str:
        return f"PrecisionAtK({self._settings()[0]}, k={self.k})"


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


def in_order(y: Any) -> list[Any]:
    """The labels of a set, in an order that does not hang on hashes.

    >>> in_order(frozenset({"b", "a"}))
    ['a', 'b']
    """
    return sorted(y, key=lambda label: (type(label).__name__, str(label)))

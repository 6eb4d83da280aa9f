r"""The protocol of a loss: its embedding, its decoder and its space.

    Delta(z, y) = <psi(z), phi(y)> + a term free of z,    |phi(y)| <= 1,    |psi(z)| <= c_delta

A loss of one's own writes `loss`, `embed`, `decode`, `p` and `c_delta`; the rest follows from them
(docs/extending.md). Losses hold no state. What has been seen of the labels so far, where that matters
(set sizes for F1, classes that were not listed), is a `Space`, which the learner holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array, spans
from oskaar.losses.certainty import Marginals, exclusive
from oskaar.saved import saved


class Loss(ABC):
    """A loss Delta(z, y) on structures, with its embedding and its decoder."""

    p: int
    """The number of coordinates of phi(y)."""

    c_delta: float
    """sup_z |psi(z)|, after the best shift of psi by a constant."""

    parts: bool = False
    """True: a round is a block of n rows, `embed` gives (n, p) and `decode` takes (n, p)."""

    zero_optimum: bool = False
    """True: every label has an answer that costs nothing, min_z Delta(z, y) = 0."""

    saved_finite = False
    """A loss may have infinite costs."""

    @property
    def diameter(self) -> float:
        """A bound on |psi(z) - psi(z')| over all z, z': the factor of every comparison bound (docs/how-it-works.md).

        2 c_delta where nothing better is proved. A loss that proves less says so here.
        """
        return 2 * self.c_delta

    @abstractmethod
    def loss(self, z: Any, y: Any) -> float:
        """Delta(z, y): what answering z costs when the truth is y."""

    def embed(self, y: Any) -> Array:
        """phi(y), of norm at most 1. A loss writes this or `embed_many`."""
        if type(self).embed_many is Loss.embed_many:
            raise NotImplementedError(f"{type(self).__name__} must have embed(y) or embed_many(ys).")
        phi: Array = self.embed_many([y])[0]
        return phi

    def decode(self, g: Array) -> Any:
        """argmin_z <psi(z), g>, for any g, negative entries included. A loss writes this or `decode_many`."""
        if type(self).decode_many is Loss.decode_many:
            raise NotImplementedError(f"{type(self).__name__} must have decode(g) or decode_many(G).")
        return self.decode_many(np.asarray(g, dtype=float)[None, :])[0]

    def __call__(self, z: Any, y: Any) -> float:
        """Delta(z, y)."""
        return self.loss(z, y)

    def loss_many(self, zs: Sequence[Any], ys: Sequence[Any]) -> Array:
        """Delta of each answer to the label beside it; a loss may do them at once."""
        if len(zs) == len(ys) == 1:
            return np.array([self(zs[0], ys[0])])
        return np.array([self(z, y) for z, y in zip(zs, ys, strict=True)])

    def check(self, y: Any) -> Any:
        """The label in its standard form, or an error that says what is wrong with it."""
        return y

    def optimum(self, y: Any) -> float:
        """min_z Delta(z, y)."""
        return 0.0 if self.zero_optimum else self.loss(self.decode(self.embed(y)), y)

    def outputs(self) -> Iterable[Any]:
        """All z, for spaces small enough to list."""
        raise NotImplementedError(f"{self!r} does not list its outputs.")

    def labels(self) -> Iterable[Any]:
        """All y, for spaces small enough to list."""
        return self.outputs()

    def rows_of(self, z: Any) -> int:
        """How many rows a round has that is answered by z, for losses on parts: one for each item of z."""
        return len(z)

    def repeated(self, part: Any, n: int) -> Any:
        """The answer `part`, a label of one row, for each of n rows: for baselines that ignore x.

        For losses on parts whose rows have labels of their own.
        """
        raise ValueError(f"the rows of a round of {self!r} have no labels of their own: none can be repeated.")

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """phi of many labels, as rows."""
        rows = [np.atleast_2d(self.embed(y)) for y in ys]
        return np.concatenate(rows) if rows else np.zeros((0, self.p))

    def decode_many(self, G: Array) -> list[Any]:
        """`decode` for each row of G; equal to the loop, and vectorised where that helps."""
        return [self.decode(g) for g in G]

    def scored(self, G: Array) -> Array | None:
        """Estimates (n, p) reduced to what scores can say; None where the outputs have no scores.

        A score is one number for each item of a ranking, or one for a level. Estimates by scores are coarser than
        phi, and better where the labels follow scores: the untuned learner tries both.
        """
        return None

    def probabilities(self, G: Array) -> Marginals | None:
        """Probabilities of classes, levels, tags or symbols out of estimates (n, p); None where none are meant."""
        return None

    def scores(self, G: Array) -> tuple[Sequence[Any], Array] | None:
        """Items, and a score (n, k) of each, larger is better, out of estimates (n, p); None where there are none."""
        return None

    def residual(self, z: Any, y: Any) -> Array | None:
        """y - z for vectors of numbers; None for everything else."""
        return None

    def space(self) -> Space:
        """The coordinates that a learner starts with."""
        return FixedSpace(self)


class SeenLoss(Loss):
    """A loss without a finite embedding: its space embeds labels as they are seen, and decodes over those."""

    p = 0

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """Not to be had before labels are seen: `space()` has it."""
        raise NotImplementedError(
            f"{type(self).__name__} embeds labels as they are seen: use loss.space().extended(y)."
        )

    def decode_many(self, G: Array) -> list[Any]:
        """Not to be had before labels are seen: `space()` has it."""
        raise NotImplementedError(
            f"{type(self).__name__} decodes over the labels seen: use loss.space().extended(y)."
        )


class Space(ABC):
    """The coordinates in use: a value that never changes; `extended` makes the next one."""

    p: int
    c_delta: float
    parts: bool = False
    """True: a round is a block of rows, answered by `decode_round`."""

    grows: bool = True
    """Whether `extended` may make another space: labels bring coordinates, or what decoding depends on."""

    steady: bool = True
    """Whether phi of a label stays what it is when the space is extended, but for new coordinates, which are 0.

    Otherwise `squared_norms` changes, and no theorem bounds the sum of squared losses.
    """

    exact: bool = True
    """Whether <psi(z), g> of an answer z exceeds that of no other answer; where it may, `gap` says by how much."""

    decoders: int = 1
    """How many decoders there are: learners answer with the one whose answers cost least (`learners.decoders`)."""

    saved_finite = False

    @property
    def diameter(self) -> float:
        """A bound on |psi(z) - psi(z')| over the answers so far, as far as the phi so far can see it.

        It must not fall when the space is extended: the last one serves all rounds (`learners.certificate`).
        """
        return 2 * self.c_delta

    @abstractmethod
    def extended(self, y: Any) -> Space:
        """The space that also holds a (checked) label y: itself when y brings no coordinate."""

    def joined(self, other: Space) -> Space:
        """The space that holds the labels of both, for one loss; its first coordinates are those of this one."""
        raise ValueError(
            f"what is learned of the labels here ({type(self).__name__}) cannot be joined with what another learner "
            "has learned of them: list the labels, or give their range, in the loss."
        )

    def places(self, other: Space) -> Any:
        """Where the coordinates of a space whose labels this one holds are among its own."""
        return np.arange(other.p)

    def carried(self, other: Space, V: Array) -> Array:
        """Vectors V (n, q) in the coordinates of a space whose labels this one holds, in its own: (n, p)."""
        wide = np.zeros((len(V), self.p))
        wide[:, self.places(other)] = V
        return wide

    def without(self, other: Space) -> Space:
        """The space once the labels of another are taken away: what they brought stays known, counts do not."""
        return self

    @abstractmethod
    def embed_many(self, ys: Sequence[Any]) -> Array:
        """phi of labels that the space holds, (n, p)."""

    @abstractmethod
    def decode_many(self, G: Array) -> list[Any]:
        """The answers for rows of G (n, p)."""

    def optimum(self, y: Any) -> float:
        """min_z Delta(z, y): that of the loss that the space has; 0 where it has none."""
        return float(self.loss.optimum(y)) if hasattr(self, "loss") else 0.0

    def decode_round(self, G: Array) -> Any:
        """The answer for one round, G (n, p): n = 1 unless a round is made of parts."""
        return self.decode_many(G)[0]

    def decode_rounds(self, G: Array, ends: Any) -> list[Any]:
        """The answers for rounds that end at rows `ends` of G."""
        if not self.parts:
            return self.decode_many(G)
        return [self.decode_round(G[lo:hi]) for lo, hi in spans(ends)]

    def decode_each(self, G: Array, ends: Any) -> list[list[Any]]:
        """The answers of every decoder for rounds that end at rows `ends` of G."""
        return [self.decode_rounds(G, ends)]

    def decoded_by(self, decoder: int) -> Space:
        """The same space where another of its decoders answers; as it comes, the first does."""
        return self

    def squared_norms(self, V: Array) -> Array:
        """|v|^2 of each vector V[..., :], in the geometry of phi."""
        if V.ndim == 2 and len(V) == 1 and V.shape[1] <= _FEW:
            return np.array([sum([v * v for v in V.tolist()[0]])])
        norms: Array = np.einsum("...p,...p->...", V, V)
        return norms

    @property
    def euclidean(self) -> bool:
        """Whether the geometry of phi is that of its coordinates."""
        return type(self).squared_norms is Space.squared_norms

    def products(self, V: Array) -> Array:
        """<u, v> (K, K, n) of each two of the vectors V (K, n, p), in the geometry of phi."""
        if self.euclidean:
            by_row = V.swapaxes(0, 1)
            products: Array = (by_row @ by_row.swapaxes(1, 2)).transpose(1, 2, 0)
            return products
        i, j = np.triu_indices(len(V))
        norms = self.squared_norms(V)
        products = np.empty((len(V), len(V), V.shape[1]))
        products[i, j] = products[j, i] = (self.squared_norms(V[i] + V[j]) - norms[i] - norms[j]) / 2
        return products

    def probabilities(self, G: Array) -> Marginals | None:
        """As those of a loss, in the coordinates of this space."""
        return None

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """By how much <psi(z), g> exceeds that of the best answer to y, a label that this space holds.

        g (q,) is the estimate behind z, in the first q <= p coordinates: those there were when z was answered, which
        may be long ago. What the comparison inequality has to add where the best answer to y was not to choose from
        then, or was missed; 0 for exact decoding, inf where nothing is known.
        """
        return 0.0

    def full(self, G: Array) -> Array:
        """G in the loss's own coordinates, where those are fixed beforehand."""
        return G


@saved("space/fixed")
class FixedSpace(Space):
    """All p coordinates of a loss from the first round on."""

    grows = False

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.p, self.c_delta, self.parts = loss.p, loss.c_delta, loss.parts

    @property
    def diameter(self) -> float:
        return self.loss.diameter

    def extended(self, y: Any) -> Space:
        return self

    def joined(self, other: Space) -> Space:
        return self

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return self.loss.embed_many(ys)

    def optimum(self, y: Any) -> float:
        return self.loss.optimum(y)

    def decode_many(self, G: Array) -> list[Any]:
        return self.loss.decode_many(G)

    def decode_round(self, G: Array) -> Any:
        """The loss's: all rows at once where a round is made of parts."""
        return self.loss.decode(G) if self.parts else self.loss.decode_many(G)[0]

    def probabilities(self, G: Array) -> Marginals | None:
        return self.loss.probabilities(G)


class KeyedSpace(Space):
    """One coordinate for each key of the labels so far."""

    positions: dict[Any, int]
    """The coordinate of each key."""

    def keys(self, y: Any) -> list[Any]:
        """The keys of a label, hashable: equal labels have the same."""
        return [y]

    @abstractmethod
    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        """The space that also holds y, a label with new keys; `positions` has them."""

    def extended(self, y: Any) -> Space:
        new = [key for key in self.keys(y) if key not in self.positions]
        return self._with(y, {**self.positions, **{key: self.p + i for i, key in enumerate(new)}}) if new else self

    def joined(self, other: Space) -> Space:
        """With the keys that only the other has."""
        assert isinstance(other, KeyedSpace)
        both = dict.fromkeys([*self.positions, *other.positions])
        return self._with(None, {key: i for i, key in enumerate(both)})

    def places(self, other: Any) -> Any:
        return places_of(self.positions, other.positions)


class GrowingSpace(KeyedSpace):
    """One coordinate for each distinct label so far, for labels with no finite embedding: phi(y) is one-hot."""

    def key(self, y: Any) -> Any:
        """What equal labels have in common, hashable."""
        return y

    def keys(self, y: Any) -> list[Any]:
        return [self.key(y)]

    def seen(self) -> Iterable[Any]:
        """The labels, in the order of their coordinates."""
        return list(self.positions)

    def joined(self, other: Space) -> Space:
        """With a coordinate for each label that only the other has seen.

        >>> from oskaar.losses import ZeroOne
        >>> one, other = ZeroOne().space().extended("a"), ZeroOne().space().extended("b").extended("a")
        >>> list(one.joined(other).positions), one.joined(other).places(other)
        (['a', 'b'], array([1, 0]))
        """
        assert isinstance(other, GrowingSpace)
        space: Space = self
        for y in other.seen():
            space = space.extended(y)
        return space

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return one_hot([self.positions[self.key(y)] for y in ys], self.p)

    def weights(self, G: Array) -> Array:
        """The distribution (n, p) over the labels seen that is nearest to estimates, divided by their sum."""
        return exclusive(range(self.p), G, G.sum(axis=1, keepdims=True)).P


def places_of(positions: dict[Any, int], keys: Iterable[Any]) -> Any:
    """The coordinates of keys."""
    return np.array([positions[key] for key in keys], dtype=np.intp)


@saved("loss/names")
class Names:
    """A fixed list of distinct hashable names with their positions; a whole number k means 0..k-1."""

    def __init__(self, names: int | Iterable[Any], what: str) -> None:
        self.what = what
        self.names: list[Any] = list(range(names)) if isinstance(names, (int, np.integer)) else list(names)
        if not self.names:
            raise ValueError(f"there must be at least one {what}, got none.")
        self.positions = {name: i for i, name in enumerate(self.names)}
        self.array = np.empty(len(self.names), dtype=object)
        for i, name in enumerate(self.names):
            self.array[i] = name
        if len(self.positions) < len(self.names):
            twice = next(n for i, n in enumerate(self.names) if self.positions[n] != i)
            raise ValueError(f"each {what} must be listed once, {twice!r} is there twice.")

    def __len__(self) -> int:
        return len(self.names)

    def position(self, name: Any) -> int:
        """Where a name stands in the list."""
        try:
            return self.positions[name]
        except (KeyError, TypeError):
            known = ", ".join(map(repr, self.names[:8])) + (", ..." if len(self) > 8 else "")
            raise ValueError(f"unknown {self.what} {name!r}: it must be one of {known}.") from None

    def check(self, name: Any) -> Any:
        """The name as listed."""
        return self.names[self.position(name)]


def one_hot(places: Sequence[int], p: int, on: float = 1.0, off: float = 0.0) -> Array:
    """A row for each place, `on` there and `off` elsewhere: no table of all codes, which may be large.

    >>> one_hot([1, 0], 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    Phi = np.empty((len(places), p))
    Phi.fill(off)
    if len(places) == 1:
        Phi[0, places[0]] = on
    else:
        Phi[np.arange(len(places)), places] = on
    return Phi


def require_hashable(y: Any, what: str) -> Any:
    """A label that can be compared with others and is not missing."""
    try:
        hash(y)
    except TypeError:
        raise ValueError(f"a {what} must be hashable, got {y!r}: use a text, a number or a tuple.") from None
    if y is None or y != y:
        raise ValueError(f"a {what} must not be missing, got {y!r}.")
    return y


_SAME = 1e-10

_FEW = 32
"""Up to so many numbers, one row is looked at in plain Python: calls of NumPy take longer than the work."""


def near(G: Array, unit: float = 1.0) -> Array:
    """How far apart scores made of the rows of G (n, p) may be and still be equal, (n, 1): the tie rule of decoders.

    1e-10 of the largest |g| in the row; `unit` is the size of the coefficients of g in a score. What is equal goes to
    the first answer, so that the order of a sum, a replay or another BLAS does not change it.

    >>> near(np.array([[3.0, -5.0]]))
    array([[5.e-10]])
    """
    slack: Array = unit * _SAME * np.maximum.reduce(np.abs(G), axis=1, keepdims=True, initial=0.0)
    return slack


def first_best(scores: Array, slack: Array | float | None = None) -> Any:
    """The place of the largest score in each row (n, k): the first of those that are `near` it.

    slack: what counts as equal, (n, 1), where scores are sums that may cancel: near(G) of what they are made of.

    >>> first_best(np.array([[0.1 + 0.2, 0.3], [0.0, 1.0]]))
    array([0, 1])
    """
    if len(scores) == 1 and scores.shape[1] <= _FEW and slack is None:
        return np.array([_first_best(scores.tolist()[0])])
    slack = near(scores) if slack is None else slack
    return (scores >= np.maximum.reduce(scores, axis=1, keepdims=True) - slack).argmax(axis=1)


def best_names(names: Sequence[Any], G: Array) -> list[Any]:
    """The name of the largest coordinate of each row of G (n, k): `first_best`."""
    if len(G) == 1 and G.shape[1] <= _FEW:
        return [names[_first_best(G.tolist()[0])]]
    return [names[i] for i in first_best(G).tolist()]


def _first_best(row: list[float]) -> int:
    """That of one row of few numbers."""
    best = max(row)
    least = best - _SAME * max(best, -min(row))
    for i, score in enumerate(row):
        if score >= least:
            return i
    return 0


def widest(Psi: Array) -> float:
    """The largest distance between two rows, by trying all pairs.

    >>> widest(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]]))
    5.0
    """
    from scipy.spatial.distance import cdist  # slow to load

    return max((float(cdist(Psi[lo : lo + 256], Psi).max()) for lo in range(0, len(Psi), 256)), default=0.0)


def enclosing_radius(Psi: Array, iterations: int = 300) -> float:
    """A bound on the radius of the smallest ball that holds all rows, by Badoiu and Clarkson's walk.

    Each step moves the centre towards the farthest row; every centre gives a valid bound, the best is kept.

    >>> round(enclosing_radius(np.array([[0.0, 0.0], [2.0, 0.0]])), 6)
    1.0
    """
    centre, best = Psi.mean(axis=0), np.inf
    for i in range(1, iterations + 1):
        squares = np.einsum("ij,ij->i", Psi - centre, Psi - centre)
        far = int(np.argmax(squares))
        best = min(best, float(squares[far]))
        centre = centre + (Psi[far] - centre) / (i + 1)
    return float(np.sqrt(best))

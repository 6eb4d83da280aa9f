r"""Sequences: of a fixed length; of any length, where a round is one row for each place and has a joint decoder."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from collections.abc import Sequence as Several
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oskaar.arrays import Array
from oskaar.losses.base import KeyedSpace, Loss, Names, Space, first_best, near, one_hot, require_hashable
from oskaar.losses.certainty import Marginals, exclusive
from oskaar.losses.classes import SeenClasses
from oskaar.losses.markov import LearnedChain, best_path, reachable
from oskaar.requirements import require_whole
from oskaar.saved import saved

_LISTED = 400
"""Short sequences are listed as long as there are at most so many."""

_MASS = 0.1
"""The coordinate that learned transitions add to phi: small, so that it weighs little in |phi - g|^2."""


@saved("loss/sequence-hamming")
class SequenceHamming(Loss):
    r"""The fraction of positions that are wrong, in sequences of one length over one alphabet of m symbols.

    phi(y) stacks a centred one-hot code for each position, divided by sqrt(length); as for ZeroOne,
    c_delta = 1 - 1/m, and the diameter is sqrt(2 - 2/m), for sequences that differ everywhere. Decoding takes the
    largest coordinate of each position: exact for any sign, because the loss is a sum over positions; the first of
    equal symbols wins. `n_symbols` is a number m for 0..m-1 or a list of symbols. None: symbols are added as they
    appear, as classes are in ZeroOne(), at each position: phi is not centred, c_delta = 1, the diameter is sqrt(2).

    >>> loss = SequenceHamming(3, "AB")
    >>> loss(("A", "B", "A"), ("A", "A", "A")), loss.decode(loss.embed("BAB"))
    (0.3333333333333333, ('B', 'A', 'B'))
    """

    zero_optimum = True

    def __init__(self, length: int, n_symbols: int | Iterable[Hashable] | None = None) -> None:
        self.length = require_whole("length", length)
        self.symbols = None if n_symbols is None else Names(n_symbols, "symbol")
        if self.symbols is None:
            self.p, self.c_delta = 0, 1.0
            return
        m = len(self.symbols)
        self.p = self.length * m
        self.c_delta = 1 - 1 / m

    @property
    def diameter(self) -> float:
        return float(np.sqrt(2 - (2 / len(self.symbols) if self.symbols else 0.0)))

    def loss(self, z: Any, y: Any) -> float:
        return float(sum(a != b for a, b in zip(z, y, strict=True)) / self.length)

    def check(self, y: Any) -> tuple[Any, ...]:
        try:
            items = tuple(y)
        except TypeError:
            raise ValueError(f"a sequence must be a tuple of {self.length} symbols, got {y!r}.") from None
        if len(items) != self.length:
            raise ValueError(f"a sequence must have {self.length} symbols, got {len(items)}: {y!r}.")
        if self.symbols is None:
            return tuple(require_hashable(item, "symbol") for item in items)
        return tuple(self.symbols.check(item) for item in items)

    def _listed(self) -> Names:
        if self.symbols is None:
            raise ValueError(f"{self!r} learns its symbols from the stream: list them to use it by itself.")
        return self.symbols

    def space(self) -> Space:
        return super().space() if self.symbols is not None else SeenAtPositions(self.length, {})

    def embed_many(self, ys: Several[Any]) -> Array:
        symbols = self._listed()
        m, places = len(symbols), [symbols.position(item) for y in ys for item in self.check(y)]
        root = np.sqrt((1 - 1 / m if m > 1 else 1) * self.length)
        return one_hot(places, m, (1 - 1 / m) / root, -1 / m / root).reshape(-1, self.p)

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        symbols = self._listed()
        slack = np.repeat(near(G), self.length, axis=0)
        best = first_best(G.reshape(len(slack), len(symbols)), slack).reshape(len(G), self.length)
        return [tuple(row) for row in symbols.array[best].tolist()]

    def probabilities(self, G: Array) -> Marginals:
        m = len(self._listed())
        Q = G.reshape(len(G) * self.length, m) * np.sqrt((1 - 1 / m) * self.length) + 1 / m
        return exclusive(self._listed().names, Q, places=self.length)

    def outputs(self) -> Iterator[tuple[Any, ...]]:
        return product(self._listed().names, repeat=self.length)

    def __repr__(self) -> str:
        return f"SequenceHamming({self.length}{f', {self.symbols.names}' if self.symbols else ''})"


@saved("space/symbols-at-positions")
class SeenAtPositions(KeyedSpace):
    """A coordinate (i, s), 1 / sqrt(length), for each symbol s that has appeared at position i.

    A symbol that is new to g at a position costs nothing that is not in the bound, for the reason that it does not in
    ZeroOne(), position by position. None stands for a symbol before any is known.
    """

    c_delta = 1.0

    def __init__(self, length: int, positions: dict[tuple[int, Any], int]) -> None:
        self.length, self.positions = length, positions
        self.p = len(positions)
        self.names = list(dict.fromkeys(symbol for _, symbol in positions))

    @property
    def diameter(self) -> float:
        return float(np.sqrt(min(len(self.names), 2)))

    def keys(self, y: Any) -> list[Any]:
        return list(enumerate(y))

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        return SeenAtPositions(self.length, positions)

    def embed_many(self, ys: Several[Any]) -> Array:
        Phi = np.zeros((len(ys), self.p))
        for row, y in zip(Phi, ys, strict=True):
            row[[self.positions[key] for key in enumerate(y)]] = 1 / np.sqrt(self.length)
        return Phi

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        if not self.names:
            return [(None,) * self.length] * len(G)
        S = self._by_position(G)
        slack = np.repeat(near(G), self.length, axis=0)
        best = first_best(S, slack).reshape(len(G), self.length)
        return [tuple(self.names[j] for j in row) for row in best.tolist()]

    def probabilities(self, G: Array) -> Marginals:
        S = self._by_position(G)
        return exclusive(self.names, S, S.sum(axis=1, keepdims=True), self.length)

    def _by_position(self, G: Array) -> Array:
        """Estimates (n length, m) of the symbols at each position."""
        places = {symbol: j for j, symbol in enumerate(self.names)}
        S = np.zeros((len(G), self.length, len(places)))
        S[:, [i for i, _ in self.positions], [places[s] for _, s in self.positions]] = G
        return S.reshape(len(G) * self.length, len(places))


@saved("loss/sequence")
class Sequence(Loss):
    r"""The fraction of places that are wrong, in sequences of any length >= 1 over an alphabet of k symbols.

        phi(y)_i = (e_{y_i} - 1/k) / sqrt(1 - 1/k),   psi(z)_i = -sqrt(1 - 1/k) (e_{z_i} - 1/k)

    for each row i of the round, with the mean over rows as inner product: <psi(z), phi(y)> = 1/k - share of
    right places, c_delta = 1 - 1/k, and the diameter is at most sqrt(2 - 2/k), for answers that differ everywhere.
    Answers are tuples; a label is any sequence of symbols (a string is the sequence of its characters).

    alphabet: the symbols, or a number k for 0..k-1. None: symbols are added as they appear, phi(y)_i = e_{y_i},
        psi(z)_i = -e_{z_i}, c_delta = 1, and the diameter is sqrt(2); then nothing is known of transitions.
    transitions: what is known of neighbours.
        None: nothing. The best symbol of each row; exact for any sign, the first of equals.
        A 0/1 matrix (k, k), 1 where the symbol of the column may follow that of the row; or (k + 1, k + 1), where
        the last row says what may come first and the last column what may come last (`bio_transitions` makes
        one). The best allowed answer, by Viterbi, exact for any sign, n k^2 steps. Labels need not be allowed.
        "learned": how often symbols follow each other, start and end is counted as labels come, and joined with
        the estimate by Bayes' rule (`LearnedChain`). phi has one more coordinate. The answer is the most probable
        symbol at each place (marginals, forwards and back), the best for this loss. Learners choose the weight of
        the transitions, from all to none (row by row), by what answers have cost; nothing is to be tuned.
    whole: with learned transitions, answer with the most probable sequence (Viterbi) in place of the most
        probable symbol at each place: more sequences right as a whole, more places wrong.
    allowed: with learned transitions, a 0/1 matrix as above that every answer has to obey: the allowed sequence
        with the least expected loss, or with whole=True the most probable one; both by Viterbi, exact.

    >>> loss = Sequence("ab", transitions=[[0, 1], [1, 1]])                    # never "aa"
    >>> loss("ab", "aa"), loss.decode(loss.embed("aaa")), loss.optimum("aaa")
    (0.5, ('a', 'b', 'a'), 0.3333333333333333)
    """

    parts = True

    def __init__(
        self,
        alphabet: int | Iterable[Hashable] | None = None,
        transitions: Literal["learned"] | ArrayLike | None = None,
        whole: bool = False,
        allowed: ArrayLike | None = None,
    ) -> None:
        self._symbols = None if alphabet is None else Names(alphabet, "symbol")
        if self._symbols is None and transitions is not None:
            raise ValueError("transitions are between known symbols: give the alphabet.")
        self.learned = isinstance(transitions, str)
        if self.learned and transitions != "learned":
            raise ValueError(f"transitions must be None, 'learned' or a 0/1 matrix, got {transitions!r}.")
        if whole and not self.learned:
            raise ValueError("whole=True asks for the most probable sequence: it needs transitions='learned'.")
        if allowed is not None and not self.learned:
            raise ValueError("allowed= goes with transitions='learned': give the matrix alone as transitions.")
        self.whole = bool(whole)
        if self._symbols is None:
            self.allowed, self.p, self.c_delta = None, 0, 1.0
            return
        k = len(self.symbols)
        matrix = allowed if self.learned else transitions
        self.allowed = None if matrix is None else _allowed(matrix, k)
        self.p = k + self.learned
        self.c_delta = np.inf if self.learned else 1 - 1 / k
        self._scale = np.sqrt((1 - _MASS**2 if self.learned else 1.0) / (1 - 1 / k if k > 1 else 1.0))

    @property
    def symbols(self) -> Names:
        """The alphabet; an error where it is learned."""
        if self._symbols is None:
            raise ValueError("Sequence() learns its symbols from the stream: list them to use it by itself.")
        return self._symbols

    @property
    def alphabet(self) -> list[Any] | None:
        """The symbols, None where they are learned."""
        return None if self._symbols is None else self._symbols.names

    @property
    def diameter(self) -> float:
        """sqrt(2 - 2/k), attained unless transitions forbid it; inf with learned ones, where nothing is claimed."""
        if self.learned:
            return np.inf
        return float(np.sqrt(2 - (2 / len(self.symbols) if self._symbols else 0.0)))

    def loss(self, z: Any, y: Any) -> float:
        return float(sum(a != b for a, b in zip(z, y, strict=True)) / len(y))

    def check(self, y: Any) -> tuple[Any, ...]:
        if not isinstance(y, (Collection, np.ndarray)) or isinstance(y, (dict, set, frozenset)):
            raise ValueError(f"a sequence must be a tuple of symbols, got {y!r}.")
        if len(y) == 0:
            raise ValueError("a sequence must have at least one symbol, got none.")
        if self._symbols is None:
            return tuple(require_hashable(item, "symbol") for item in y)
        try:
            items = tuple(self.symbols.check(item) for item in y)
        except ValueError as error:
            if isinstance(y, str) and len(y) > 1:
                raise ValueError(f"{error} A text is the sequence of its characters: {y!r} has {len(y)}.") from None
            raise
        if self.allowed is not None and not reachable(len(items), *_masks(self.allowed)):
            raise ValueError(f"the transitions allow no sequence of length {len(items)}.")
        return items

    def embed(self, y: Any) -> Array:
        """A code for each place; where symbols are learned, of no coordinates: `space()` has those."""
        return self.embed_many([y]) if self._symbols else np.zeros((len(y), 0))

    def embed_many(self, ys: Any) -> Array:
        k, places = len(self.symbols), [self.symbols.position(item) for y in ys for item in y]
        Phi = one_hot(places, k, self._scale * (1 - 1 / k), self._scale * (-1 / k))
        return np.hstack([Phi, np.full((len(Phi), 1), _MASS)]) if self.learned else Phi

    def decode(self, g: Array) -> tuple[Any, ...]:
        """The best allowed sequence; what has been learned of transitions is the learner's, not the loss's."""
        scores = np.asarray(g)[:, : len(self.symbols)]
        penalties = self.penalties()
        return self.named(
            first_best(scores, near(scores.reshape(1, -1))) if penalties is None else best_path(scores, *penalties)
        )

    def probabilities(self, G: Array) -> Marginals:
        k = len(self.symbols)
        if self.learned:
            return exclusive(self.symbols.names, np.nan_to_num(self.one_hots(G), nan=1 / k))
        return exclusive(self.symbols.names, G / self._scale + 1 / k)

    def optimum(self, y: Any) -> float:
        return 0.0 if self.allowed is None else super().optimum(y)

    def space(self) -> Space:
        if self._symbols is None:
            return SeenSymbols({})
        return LearnedChain(self) if self.learned else super().space()

    def repeated(self, part: Any, n: int) -> tuple[Any, ...]:
        """The symbol at each place, or the allowed sequence that has it most often."""
        z = (part,) * n
        return z if self.allowed is None else self.decode(self.embed(z))

    def outputs(self) -> Iterator[tuple[Any, ...]]:
        """The allowed sequences of length 1, 2, ... as long as they are few."""
        return (z for z in self.labels() if self.allowed is None or self._is_allowed(z))

    def labels(self) -> Iterator[tuple[Any, ...]]:
        """The sequences of length 1, 2, ... that have an answer, as long as they are few."""
        k, n, total = len(self.symbols), 1, 0
        while n == 1 or (total + k**n <= _LISTED and n <= 4):
            if self.allowed is None or reachable(n, *_masks(self.allowed)):
                yield from product(self.symbols.names, repeat=n)
            total, n = total + k**n, n + 1

    def penalties(self) -> tuple[Array, Array, Array] | None:
        """Logarithms of what may follow what, come first and come last: 0 or -inf; None where all is allowed."""
        if self.allowed is None:
            return None
        pair, start, end = (np.where(mask, 0.0, -np.inf) for mask in _masks(self.allowed))
        return pair, start, end

    def named(self, places: Any) -> tuple[Any, ...]:
        """The symbols at these places of the alphabet."""
        return tuple(self.symbols.array[places].tolist())

    def one_hots(self, G: Array) -> Array:
        """Estimates of e_{y_i} (n, k) out of those of phi, free of KAAR's shrinkage; nan where nothing is known.

        The last coordinate of phi is constant, so an estimate of it says how much the others have shrunk.
        """
        k = len(self.symbols)
        mass = np.where(G[:, k:] > 1e-12, G[:, k:] / _MASS, np.nan)
        one_hots: Array = G[:, :k] / (self._scale * mass) + 1 / k
        return one_hots

    def _is_allowed(self, z: tuple[Any, ...]) -> bool:
        path = [-1, *(self.symbols.position(item) for item in z), -1]
        assert self.allowed is not None
        return bool(self.allowed[path[:-1], path[1:]].all())

    def __repr__(self) -> str:
        if self._symbols is None:
            return "Sequence()"
        kind = "'learned'" if self.learned else "None" if self.allowed is None else "a matrix"
        more = ", whole=True" * self.whole + ", allowed=a matrix" * (self.learned and self.allowed is not None)
        return f"Sequence({self.symbols.names}, transitions={kind}{more})"


@saved("space/symbols")
class SeenSymbols(SeenClasses):
    """One coordinate for each symbol that has appeared; None stands for a symbol before any is known."""

    parts = True

    def keys(self, y: Any) -> list[Any]:
        return list(dict.fromkeys(y))

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        return SeenSymbols(positions)

    def seen(self) -> list[Any]:
        return [(symbol,) for symbol in self.positions]

    def embed_many(self, ys: Any) -> Array:
        return super().embed_many([symbol for y in ys for symbol in y])

    def decode_many(self, G: Array) -> list[Any]:
        if not self.p:
            return super().decode_many(G)
        names = list(self.positions)
        return [names[i] for i in first_best(G, near(G.reshape(1, -1)))]

    def decode_round(self, G: Array) -> tuple[Any, ...]:
        return tuple(self.decode_many(G))


def _allowed(transitions: Any, k: int) -> NDArray[np.bool_]:
    """The (k + 1, k + 1) matrix out of one of either size."""
    matrix = np.asarray(transitions)
    if matrix.shape not in ((k, k), (k + 1, k + 1)):
        raise ValueError(
            f"transitions must be a 0/1 matrix of shape ({k}, {k}), or ({k + 1}, {k + 1}) with what may come first "
            f"and last, got {matrix.shape}."
        )
    if not np.isin(matrix, (0, 1)).all():
        raise ValueError("transitions must be 0 or 1: counts and probabilities are for transitions='learned'.")
    allowed = np.ones((k + 1, k + 1), dtype=bool)
    allowed[: len(matrix), : len(matrix)] = matrix == 1
    if not any(reachable(n, *_masks(allowed)) for n in range(1, k + 1)):
        raise ValueError("the transitions allow nothing: no sequence has an allowed start, way and end.")
    return allowed


def _masks(allowed: NDArray[np.bool_]) -> tuple[Any, Any, Any]:
    """What may follow what, what may come first, what may come last."""
    return allowed[:-1, :-1], allowed[-1, :-1], allowed[:-1, -1]

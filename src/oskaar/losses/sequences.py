r"""Sequences of a fixed length."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import KeyedSpace, Loss, Names, Space, first_best, near, one_hot, require_hashable
from oskaar.losses.certainty import Marginals, exclusive
from oskaar.requirements import require_whole
from oskaar.saved import saved


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
        """A tuple of known symbols of the right length."""
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

    def embed_many(self, ys: Sequence[Any]) -> Array:
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

    def embed_many(self, ys: Sequence[Any]) -> Array:
        Phi = np.zeros((len(ys), self.p))
        for row, y in zip(Phi, ys, strict=True):
            row[[self.positions[key] for key in enumerate(y)]] = 1 / np.sqrt(self.length)
        return Phi

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        """The best symbol at each position; those that have not been there have 0."""
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

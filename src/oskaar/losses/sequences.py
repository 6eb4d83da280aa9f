r"""Sequences of a fixed length."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import Loss, Names, first_best, near
from oskaar.requirements import require_whole
from oskaar.saved import saved


@saved("loss/sequence-hamming")
class SequenceHamming(Loss):
    r"""The fraction of positions that are wrong, in sequences of one length over one alphabet of m symbols.

    phi(y) stacks a centred one-hot code for each position, divided by sqrt(length); as for ZeroOne,
    c_delta = 1 - 1/m, and the diameter is sqrt(2 - 2/m), for sequences that differ everywhere. Decoding takes the
    largest coordinate of each position: exact for any sign, because the loss is a sum over positions; the first of
    equal symbols wins. `n_symbols` is a number m for 0..m-1 or a list of symbols.

    >>> loss = SequenceHamming(3, "AB")
    >>> loss(("A", "B", "A"), ("A", "A", "A")), loss.decode(loss.embed("BAB"))
    (0.3333333333333333, ('B', 'A', 'B'))
    """

    zero_optimum = True

    def __init__(self, length: int, n_symbols: int | Iterable[Hashable]) -> None:
        self.length = require_whole("length", length)
        self.symbols = Names(n_symbols, "symbol")
        m = len(self.symbols)
        self.p = self.length * m
        self.c_delta = 1 - 1 / m
        self._codes = (np.eye(m) - 1 / m) / np.sqrt((1 - 1 / m if m > 1 else 1) * self.length)

    @property
    def diameter(self) -> float:
        return float(np.sqrt(2 - 2 / len(self.symbols)))

    def loss(self, z: Any, y: Any) -> float:
        """The fraction of positions that differ."""
        return float(sum(a != b for a, b in zip(z, y, strict=True)) / self.length)

    def check(self, y: Any) -> tuple[Any, ...]:
        """A tuple of known symbols of the right length."""
        try:
            items = tuple(y)
        except TypeError:
            raise ValueError(f"a sequence must be a tuple of {self.length} symbols, got {y!r}.") from None
        if len(items) != self.length:
            raise ValueError(f"a sequence must have {self.length} symbols, got {len(items)}: {y!r}.")
        return tuple(self.symbols.check(item) for item in items)

    def embed(self, y: Any) -> Array:
        """Stacked codes."""
        phi: Array = self.embed_many([y])[0]
        return phi

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """Stacked codes, a row each."""
        positions = [[self.symbols.position(item) for item in self.check(y)] for y in ys]
        codes: Array = self._codes[np.array(positions, dtype=int).reshape(-1, self.length)]
        return codes.reshape(-1, self.p)

    def decode(self, g: Array) -> tuple[Any, ...]:
        """The best symbol at each position."""
        return self.decode_many(np.asarray(g)[None, :])[0]

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        """The best symbol at each position, for each row."""
        slack = np.repeat(near(G), self.length, axis=0)
        best = first_best(G.reshape(len(slack), len(self.symbols)), slack).reshape(len(G), self.length)
        return [tuple(row) for row in self.symbols.array[best].tolist()]

    def outputs(self) -> Iterator[tuple[Any, ...]]:
        """All m^length sequences."""
        return product(self.symbols.names, repeat=self.length)

    def __repr__(self) -> str:
        return f"SequenceHamming({self.length}, {self.symbols.names})"

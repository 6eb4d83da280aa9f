r"""Rounds of several rows, each with a label of its own: mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import Loss
from oskaar.losses.certainty import Marginals
from oskaar.saved import saved

_FEW = 20
"""How many outputs and labels a loss may have for its rounds of two to be listed."""


@saved("loss/per-row")
class PerRow(Loss):
    r"""The mean of a loss over the rows of a round: n inputs arrive at once, n labels after them.

    phi(y)_i = phi(y_i) and psi(z)_i = psi(z_i) for each row, with the mean over rows as inner product, so
    c_delta and the diameter are the loss's. Decoding is the loss's, row by row. The rows of a round are predicted
    together: none of them has seen another's label, and KAAR hedges them jointly.

    >>> from oskaar.losses import ZeroOne
    >>> loss = PerRow(ZeroOne(3))
    >>> loss([0, 1], [0, 2]), loss.decode(loss.embed([2, 1]))
    (0.5, [2, 1])
    """

    parts = True

    def __init__(self, loss: Loss) -> None:
        if loss.parts:
            raise ValueError(f"{loss!r} is a loss on parts already.")
        if not loss.p:
            raise ValueError(f"{loss!r} has no fixed embedding: list its classes or labels.")
        self.row = loss
        self.p = loss.p
        self.c_delta = loss.c_delta

    @property
    def diameter(self) -> float:
        return self.row.diameter

    def loss(self, z: Any, y: Any) -> float:
        return float(np.mean([self.row.loss(a, b) for a, b in zip(z, y, strict=True)]))

    def check(self, y: Any) -> list[Any]:
        if isinstance(y, (str, bytes, dict)) or not isinstance(y, Iterable):
            raise ValueError(f"a round of rows needs a sequence of labels, got {y!r}.")
        labels = [self.row.check(item) for item in y]
        if not labels:
            raise ValueError("a round of rows needs at least one label, got none.")
        return labels

    def embed(self, y: Sequence[Any]) -> Array:
        return self.row.embed_many(y)

    def decode(self, g: Array) -> list[Any]:
        return self.row.decode_many(g)

    def probabilities(self, G: Array) -> Marginals | None:
        return self.row.probabilities(G)

    def optimum(self, y: Any) -> float:
        return float(np.mean([self.row.optimum(item) for item in y]))

    def repeated(self, part: Any, n: int) -> list[Any]:
        return [part] * n

    def outputs(self) -> Iterable[Any]:
        """Rounds of one row: one of each output; and rounds of two where there are few."""
        return self._rounds(self.row.outputs)

    def labels(self) -> Iterable[Any]:
        """Rounds of one row: one of each label; and rounds of two where there are few."""
        return self._rounds(self.row.labels)

    def _rounds(self, items: Callable[[], Iterable[Any]]) -> Iterator[list[Any]]:
        yield from ([a] for a in items())
        if all(len(list(islice(each(), _FEW + 1))) <= _FEW for each in (self.row.outputs, self.row.labels)):
            yield from ([a, b] for a, b in product(items(), repeat=2))

    def __repr__(self) -> str:
        return f"PerRow({self.row!r})"

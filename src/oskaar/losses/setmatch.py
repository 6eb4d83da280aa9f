r"""The 0-1 loss on sets of labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import Space
from oskaar.losses.certainty import Marginals, separate
from oskaar.losses.classes import SeenClasses, ZeroOne
from oskaar.losses.subsets import SubsetLoss
from oskaar.saved import saved


@saved("loss/subset-zero-one")
class SubsetZeroOne(SubsetLoss):
    r"""0 for exactly the right set, 1 for any other: classes that are sets.

    candidates: the sets to choose from; then the codes are ZeroOne's, centred, c_delta = 1 - 1/n for n of them.
    A label that is no candidate costs 1 whatever the answer, and phi = 0. None means the sets seen so far that
    the limits allow, phi(y) = e_y, c_delta = 1 and the diameter sqrt(2) of ZeroOne; {}, or the first labels, is the
    answer before the first of them. Decoding takes the largest coordinate, the first of equals: exact over the
    candidates, for any sign.

    >>> loss = SubsetZeroOne(3, candidates=[{0}, {1, 2}])
    >>> loss({0}, {0, 1}), sorted(loss.decode(loss.embed({1, 2}))), loss.optimum({0, 1})
    (1.0, [1, 2], 1.0)
    """

    def __init__(
        self,
        n_labels: int | Iterable[Hashable] | None = None,
        candidates: Iterable[Any] | None = None,
        at_least: int = 0,
        at_most: int | None = None,
        separator: str | None = None,
    ) -> None:
        super().__init__(n_labels, at_least, at_most, separator)
        sets = None if candidates is None else [self.check(z) for z in candidates]
        for z in sets or ():
            if not self.allows(z):
                limits = f"{self.at_least} to {self.at_most}"
                raise ValueError(f"candidate {set(z)!r} has {len(z)} labels, the limits allow {limits}.")
        self.classes = ZeroOne(sets)
        self.p, self.c_delta = self.classes.p, self.classes.c_delta

    @property
    def diameter(self) -> float:
        return self.classes.diameter

    def loss(self, z: Any, y: Any) -> float:
        return float(self.check(z) != self.check(y))

    def embed_many(self, ys: Sequence[Any]) -> Array:
        known = set(self._given().outputs())
        rows = [self.check(y) for y in ys]
        Phi = np.zeros((len(rows), self.p))
        Phi[[y in known for y in rows]] = self.classes.embed_many([y for y in rows if y in known])
        return Phi

    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        return self._given().decode_many(G)

    def probabilities(self, G: Array) -> Marginals:
        return of_sets(self.outputs(), self._given().probabilities(G).P)

    def optimum(self, y: Any) -> float:
        y = self.check(y)
        return float(not (y in self.outputs() if self.p else self.allows(y)))

    def outputs(self) -> Any:
        if not self.p:
            raise NotImplementedError(f"{self!r} answers with the sets seen: list candidates to have outputs.")
        return self.classes.outputs()

    def space(self) -> Space:
        return super().space() if self.p else SeenAnswers(self, {})

    def _given(self) -> ZeroOne:
        if not self.p:
            raise ValueError(f"{self!r} learns its candidates from the stream: list them to use it by itself.")
        return self.classes


@saved("space/answers")
class SeenAnswers(SeenClasses):
    """One coordinate for each set that has appeared and may be answered."""

    def __init__(self, loss: SubsetZeroOne, positions: dict[Any, int]) -> None:
        super().__init__(positions)
        self.loss = loss

    def keys(self, y: Any) -> list[Any]:
        return [y] if self.loss.allows(y) else []

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        return SeenAnswers(self.loss, positions)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        Phi = np.zeros((len(ys), self.p))
        for row, y in zip(Phi, ys, strict=True):
            row[self.positions.get(y, self.p) :][:1] = 1.0
        return Phi

    def decode_many(self, G: Array) -> list[Any]:
        default = self.loss.nearest(frozenset())
        return super().decode_many(G) if self.p else [default] * len(G)

    def probabilities(self, G: Array) -> Marginals:
        return of_sets(list(self.positions), self.weights(G))


def of_sets(sets: Sequence[Any], P: Array) -> Marginals:
    """The probabilities of labels, out of those of sets.

    >>> of_sets([{"a"}, {"a", "b"}], np.array([[0.25, 0.75]]))
    Marginals(names=['a', 'b'], P=array([[1.  , 0.75]]), exclusive=False, places=1)
    """
    names = list(dict.fromkeys(name for z in sets for name in sorted(z, key=str)))
    held = np.array([[name in z for name in names] for z in sets], dtype=float).reshape(len(sets), len(names))
    return separate(names, P @ held)

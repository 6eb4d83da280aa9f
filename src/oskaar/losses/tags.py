r"""Sets of labels that are not listed: they are learned as they appear, and answers are sets of those that have.

What a space knows are the labels so far, in the order in which they came; all else is the same loss on just those
labels, `loss.closed(labels)`. A label that is new brings zero columns, exactly. Decoding looks at sets of known
labels. Where y has a new one, the best answer was not to choose from, and `gap` says what that may have cost; it is 0
in all other rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.affine import AffineSpace, constant_and
from oskaar.losses.base import KeyedSpace, Space, places_of
from oskaar.losses.certainty import Marginals, separate
from oskaar.losses.fscore import F1, of_blocks
from oskaar.losses.overlap import Jaccard, SeenSets
from oskaar.losses.subsets import SubsetHamming, in_order
from oskaar.saved import require, require_kind, saved

EMPTY: tuple[int, None] = (0, None)
"""The key of the coordinate of the empty set."""


@saved("space/tags-by-size")
class TagsBySize(KeyedSpace):
    """F1: phi(y) has a coordinate (n, j), 1 / sqrt(n), for each label j of a set of n, and one for the empty set.

    Those that have appeared, in order.
    """

    exact = False

    def __init__(self, loss: F1, positions: dict[tuple[int, Any], int]) -> None:
        self.loss, self.positions = loss, positions
        self.p = len(positions)

    @cached_property
    def names(self) -> tuple[Any, ...]:
        """The labels known, in the order in which they came."""
        return tuple(dict.fromkeys(name for key in self.positions if key != EMPTY for name in key[1:]))

    @cached_property
    def closed(self) -> F1:
        """The same loss on the labels known."""
        made: F1 = self.loss.closed(self.names)
        return made

    @cached_property
    def _layout(self) -> tuple[list[int], Any, Any]:
        """Sizes, and for each coordinate but the empty set's its column in G and in blocks (sizes, k)."""
        sizes = list(dict.fromkeys(key[0] for key in self.positions if key != EMPTY))
        block, place = {n: i for i, n in enumerate(sizes)}, {name: j for j, name in enumerate(self.names)}
        keys = [(column, key) for key, column in self.positions.items() if key != EMPTY]
        flat = [block[n] * len(place) + place[name] for _, (n, name) in keys]
        return sizes, np.array([column for column, _ in keys], dtype=np.intp), np.array(flat, dtype=np.intp)

    @property
    def c_delta(self) -> float:  # type: ignore[override]
        return self.closed.c_delta if self.names else float(self.p)

    @property
    def diameter(self) -> float:
        return self.closed.span({n for n, _ in self.positions}) if self.names else 0.0

    def keys(self, y: Any) -> list[Any]:
        return [(len(y), name) for name in in_order(y)] if y else [EMPTY]

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        return TagsBySize(self.loss, positions)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        Phi = np.zeros((len(ys), self.p))
        for row, y in zip(Phi, ys, strict=True):
            row[[self.positions[key] for key in self.keys(y)]] = 1 / np.sqrt(max(len(y), 1))
        return Phi

    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        if not self.names:
            return [frozenset()] * len(G)
        sizes, H, empty = self._blocks(G)
        return self.closed.best_sets(H, sizes, empty)

    def probabilities(self, G: Array) -> Marginals:
        return of_blocks(self.names, *self._blocks(G))

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """By how much the score of the best answer to y exceeds that of z, where y has labels that g knows not."""
        best = self.loss.nearest(y)
        return max(0.0, self._score(best, g) - self._score(z, g))

    def _blocks(self, G: Array) -> tuple[Any, Array, Array]:
        """As those of `SizeSpace`, in the order of `names`."""
        sizes, columns, flat = self._layout
        H = np.zeros((len(G), len(sizes) * len(self.names)))
        H[:, flat] = G[:, columns]
        empty = G[:, self.positions[EMPTY]] if EMPTY in self.positions else np.zeros(len(G))
        return np.array(sizes, dtype=int), H.reshape(len(G), len(sizes), len(self.names)), empty

    def _score(self, z: Any, g: Array) -> float:
        """-<psi(z), g>."""
        if not z:
            column = self.positions.get(EMPTY, len(g))
            return float(g[column]) if column < len(g) else 0.0
        held = [(n, column) for (n, name), column in self.positions.items() if name in z and n and column < len(g)]
        if not held:
            return 0.0
        sizes, columns = np.array(held).T
        weight = self.loss.beta**2
        return float(g[columns] @ ((1 + weight) * np.sqrt(sizes) / (len(z) + weight * sizes)))

    def __getstate__(self) -> dict[str, Any]:
        return {"loss": self.loss, "positions": self.positions, "p": self.p}

    def check_saved(self) -> None:
        require_kind(self.loss, F1, "the loss of tags")
        keys = isinstance(self.positions, dict) and all(
            isinstance(key, tuple) and len(key) == 2 and type(key[0]) is int and (key[0] > 0 or key == EMPTY)
            for key in self.positions
        )
        require(keys and list(self.positions.values()) == list(range(self.p)), "tags must have coordinates in order")


@saved("space/counted-tags")
class CountedTags(AffineSpace):
    """SubsetHamming: u(y) is 1, and 1 for each label of y. Of k labels, phi = (2 u - 1) / sqrt(k), psi = -k phi/2."""

    default = frozenset()

    def __init__(self, loss: SubsetHamming, names: tuple[Any, ...] = (), started: bool = False) -> None:
        k = len(names)
        scale = np.full(k, 2 / np.sqrt(max(k, 1)))
        super().__init__(loss.closed(names) if k else None, k + started, np.arange(1, k + 1), scale, -scale / 2)
        self.loss, self.names = loss, names
        self._places = {name: i for i, name in enumerate(names, 1)}

    @property
    def c_delta(self) -> float:  # type: ignore[override]
        return super().c_delta * len(self.names)

    @property
    def diameter(self) -> float:
        return super().diameter * len(self.names)

    def extended(self, y: Any) -> Space:
        new = [name for name in in_order(y) if name not in self._places]
        return self if self.p and not new else CountedTags(self.loss, (*self.names, *new), True)

    def joined(self, other: Any) -> Space:
        names = tuple(dict.fromkeys([*self.names, *other.names]))
        return CountedTags(self.loss, names, bool(self.p or other.p))

    def places(self, other: Any) -> Any:
        return np.append(0, places_of(self._places, other.names))[: other.p]

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return constant_and([[(self._places[name], 1.0) for name in y] for y in ys], self.p)

    def probabilities(self, G: Array) -> Marginals:
        return separate(self.names, G[:, 1:], G[:, :1])

    def psi(self, z: Any) -> Array:
        return -len(self.names) / 2 * self.closed.embed(z) if self.closed is not None else np.zeros(0)

    def best(self, y: Any) -> Any:
        return self.loss.nearest(y)

    def __getstate__(self) -> dict[str, Any]:
        return {"loss": self.loss, "names": self.names, "p": self.p}

    def __setstate__(self, state: dict[str, Any]) -> None:
        names: Any = state.get("names")
        require_kind(names, tuple, "names")
        require_kind(state.get("loss"), SubsetHamming, "the loss of tags")
        require(len(set(names)) == len(names), "each tag must be there once")
        self.__init__(state["loss"], names, bool(state.get("p")))  # type: ignore[misc]


@saved("space/open-sets")
class OpenSets(Space):
    """Jaccard: weights on the sets seen, in the geometry of the loss on the labels known."""

    exact = False
    steady = False

    def __init__(self, loss: Jaccard, names: tuple[Any, ...] = (), inner: Space | None = None, p: int = 0) -> None:
        self.loss, self.names, self.inner, self.p = loss, names, inner, p

    @property
    def c_delta(self) -> float:  # type: ignore[override]
        return 1.0 if self.inner is None else self.inner.c_delta

    @property
    def diameter(self) -> float:
        return 0.0 if self.inner is None else self.inner.diameter

    def extended(self, y: Any) -> Space:
        """With a coordinate for y; with new labels, the loss on those known is another."""
        return self._with([name for name in in_order(y) if name not in self.names], [y])

    def joined(self, other: Any) -> Space:
        return self._with([name for name in other.names if name not in self.names], other.seen())

    def _with(self, new: list[Any], sets: list[Any]) -> Space:
        """With labels that are new, and with sets of labels that are then known."""
        names = (*self.names, *new)
        if not names:
            return OpenSets(self.loss, p=1) if sets and not self.p else self
        inner: Space | None = self.inner
        if new or inner is None:
            inner, sets = self.loss.closed(names).space(), [*self.seen(), *sets]
        for y in sets:
            inner = inner.extended(y)
        return self if inner is self.inner else OpenSets(self.loss, names, inner, inner.p)

    def places(self, other: Any) -> Any:
        here = {y: i for i, y in enumerate(self.seen())}
        return places_of(here, other.seen())

    def seen(self) -> list[Any]:
        """The sets, in the order of their coordinates."""
        return list(self.inner.positions) if isinstance(self.inner, SeenSets) else [frozenset()] * self.p

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return np.ones((len(ys), self.p)) if self.inner is None else self.inner.embed_many(ys)

    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        return [frozenset()] * len(G) if self.inner is None else self.inner.decode_many(G)

    def squared_norms(self, V: Array) -> Array:
        return super().squared_norms(V) if self.inner is None else self.inner.squared_norms(V)

    def probabilities(self, G: Array) -> Marginals | None:
        return separate((), np.zeros((len(G), 0))) if self.inner is None else self.inner.probabilities(G)

    def gap(self, z: Any, y: Any, g: Array) -> float:
        return 0.0 if self.inner is None else self.inner.gap(z, y, g)

"""The labels of consecutive rounds as vectors, and what is known of the outputs before and after each of them.

A round must not depend on labels to come, to the last bit. A sum over more coordinates, or a product with more rows,
is rounded differently, though what it has more is 0: so a round is done in the coordinates known at its time, and how
many rounds are done together is told by labels before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from oskaar.arrays import Array, fit_columns, spans, without_rounding
from oskaar.losses import Loss, Space


class Labels:
    """Labels ys of rounds that end at rows `ends`; spaces[i] is known before label i, spaces[i + 1] after it.

    Phi (rows, p) holds phi of all labels, in the coordinates known after the last.
    known: the labels were seen before, and the space holds them all.

    >>> from oskaar.losses import ZeroOne
    >>> labels = Labels(ZeroOne("ab"), ZeroOne("ab").space(), ["a", "b"], [1, 2])
    >>> labels.answers(labels.Phi), labels.losses(["a", "a"]).tolist()
    (['a', 'b'], [0.0, 1.0])
    """

    def __init__(self, loss: Loss, space: Space, ys: list[Any], ends: Any, known: bool = False) -> None:
        self.loss, self.ys, self.ends = loss, ys, ends
        self.spaces = [space] * (len(ys) + 1)
        if space.grows and not known:
            for i, y in enumerate(ys):
                self.spaces[i + 1] = self.spaces[i].extended(y)
        self.space = self.spaces[-1]
        """What is known after all of them."""
        self.Phi = self.space.embed_many(ys)

    @cached_property
    def rows(self) -> list[tuple[int, int]]:
        """Where each round starts and ends."""
        return spans(self.ends)

    def targets(self, i: int) -> Array:
        """phi (n, p) of round i, in the coordinates known after it."""
        if len(self.ys) == 1:
            return self.Phi
        (lo, hi), p = self.rows[i], self.spaces[i + 1].p
        return self.Phi[lo:hi] if p == self.Phi.shape[1] else np.ascontiguousarray(self.Phi[lo:hi, :p])

    def answers(self, G: Array) -> list[Any]:
        """The answer to each round with estimates G (rows, p), decoded in the space known before its label."""
        return self.answers_of_each(G)[0]

    def answers_of_each(self, G: Array) -> list[list[Any]]:
        """Those answers by each decoder of the space."""
        found: list[list[Any]] = [[] for _ in range(self.spaces[0].decoders)]
        for space, first, stop, end in together(self.spaces[:-1]):
            lo, hi = self.rows[first][0], self.rows[end - 1][1]
            ends = [hi - lo for _, hi in self.rows[first:end]]
            answers = space.decode_each(without_rounding(fit_columns(G[lo:hi], space.p)), ends)
            for mine, more in zip(found, answers, strict=True):
                mine += more[: stop - first]
        return found

    def losses_of(self, candidates: Array) -> Array:
        """Delta (rounds, C) of the answers to estimates (C, rounds, p), for rounds of one row; decoded at once."""
        if len(self.ys) == 1:
            space = self.spaces[0]
            answers = space.decode_many(without_rounding(fit_columns(candidates[:, 0], space.p)))
            judged, places = _different(answers)
            return self.loss.loss_many(judged, self.ys * len(judged))[None, places]
        found: list[list[Any]] = [[] for _ in candidates]
        for space, first, stop, end in together(self.spaces[:-1]):
            G = fit_columns(candidates[:, first:end], space.p).reshape(len(found) * (end - first), space.p)
            answers = space.decode_many(without_rounding(G))
            for c, mine in enumerate(found):
                mine += answers[c * (end - first) :][: stop - first]
        return self.losses_of_each(found)

    def losses_of_each(self, found: list[list[Any]]) -> Array:
        """Delta (rounds, C) of C answers to each round; those that are equal are judged once."""
        different, places = zip(*(_different(zs) for zs in zip(*found, strict=True)), strict=True)
        paid = self.loss.loss_many(
            [z for zs in different for z in zs], [y for zs, y in zip(different, self.ys, strict=True) for _ in zs]
        )
        starts = np.cumsum([0, *(len(zs) for zs in different[:-1])])
        losses: Array = paid[starts[:, None] + np.array(places)]
        return losses

    def losses(self, answers: list[Any]) -> Array:
        """Delta of each answer."""
        return self.loss.loss_many(answers, self.ys)

    def optima(self) -> Array:
        """min_z Delta(z, y) of each round."""
        if len(self.ys) == 1:
            return np.array([self.space.optimum(self.ys[0])])
        return np.array([space.optimum(y) for space, y in zip(self.spaces[1:], self.ys, strict=True)])

    def surrogate_losses(self, G: Array) -> Array:
        """|phi - g|^2 (..., rounds) with estimates G (..., rows, p), the mean over the rows of a round."""
        if len(self.Phi) == 1:
            return self.space.squared_norms(self.Phi - fit_columns(G, self.space.p))
        errors = np.empty(G.shape[:-1])
        for space, first, stop, end in together(self.spaces[1:]):
            lo, kept, hi = self.rows[first][0], self.rows[stop - 1][1], self.rows[end - 1][1]
            here = self.Phi[lo:hi, : space.p] - fit_columns(G[..., lo:hi, :], space.p)
            errors[..., lo:kept] = space.squared_norms(here)[..., : kept - lo]
        return self._means(errors)

    def products(self, V: Array) -> Array:
        """Inner products (K, K, rounds) of vectors V (K, rows, p), the mean over the rows of each round."""
        if len(self.Phi) == 1:
            return self.space.products(fit_columns(V, self.space.p))
        found = np.empty((len(V), len(V), V.shape[1]))
        for space, first, stop, end in together(self.spaces[1:]):
            lo, kept, hi = self.rows[first][0], self.rows[stop - 1][1], self.rows[end - 1][1]
            found[..., lo:kept] = space.products(fit_columns(V[:, lo:hi], space.p))[..., : kept - lo]
        return self._means(found)

    def _means(self, values: Array) -> Array:
        """The mean of values (..., rows) over the rows of each round."""
        if len(self.rows) == values.shape[-1]:
            return values
        sums = np.add.reduceat(values, [lo for lo, _ in self.rows], axis=-1)
        means: Array = sums / [hi - lo for lo, hi in self.rows]
        return means


def _different(zs: Sequence[Any]) -> tuple[Sequence[Any], list[int]]:
    """The answers to one round that differ, and the place of each answer among them."""
    seen: dict[Any, int] = {}
    try:
        places = [seen.setdefault(z, len(seen)) for z in zs]
    except TypeError:  # answers that have no hash
        return zs, list(range(len(zs)))
    return list(seen), places


def together(spaces: Sequence[Space]) -> Iterator[tuple[Space, int, int, int]]:
    """Rounds to do together, for the space of each: (space, first, stop, end) do first..end-1, keep first..stop-1.

    Those kept have this space. There are 1, 2, 4, ... together since the space has changed.

    >>> from oskaar.losses import ZeroOne
    >>> old = ZeroOne().space()
    >>> new = old.extended("a")
    >>> [found[1:] for found in together([old, old, new, new, new])]
    [(0, 1, 1), (1, 2, 3), (2, 3, 3), (3, 5, 5)]
    """
    first, size = 0, 1 if spaces and spaces[0].grows else len(spaces)
    while first < len(spaces):
        space, end = spaces[first], min(first + size, len(spaces))
        stop = next((i for i in range(first, end) if spaces[i] is not space), end)
        yield space, first, stop, end
        size = 2 * size if stop < len(spaces) and spaces[stop] is space else 1
        first = stop

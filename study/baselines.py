"""Rules that ignore the input: repeat-last, majority, and the best constant in hindsight."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from oskaar import MostFrequent, RepeatLast
from oskaar.losses import Loss
from study.methods import Method, in_turn
from study.protocol import KINDS, Stream

NUMBERS = ("angle", "sphere", "simplex", "vector")
"""Kinds whose labels hardly ever come twice: their majority is the best constant so far."""
RULED = ("documents", "tree")
"""Kinds whose rows have no labels of their own: a rule for the structure stands in for repeat-last."""


class Ruled:
    """Documents in the order of the file; each token attached to the one before it, the first to the root."""

    def predict_one(self, x: Any) -> Any:
        """The same for all rounds of a size."""
        return tuple(range(self.size(x.shape[0])))

    def learn_one(self, x: Any, y: Any) -> None:
        """Nothing is learned."""

    def size(self, rows: int) -> int:
        """Documents have a row each."""
        return rows


class ToTheLeft(Ruled):
    """The heads 0, 1, 2, ...: a sentence of n tokens has n^2 rows."""

    def size(self, rows: int) -> int:
        """Tokens."""
        return math.isqrt(rows)


class BestSoFar:
    """z_t = argmin_z sum_{s<t} Delta(z, y_s): the decoded sum of embedded labels."""

    def __init__(self, loss: Loss) -> None:
        self.space = loss.space()
        self.total = np.zeros((1, self.space.p))

    def predict_one(self, x: Any) -> Any:
        """The same for every x."""
        return self.space.decode_round(self.total) if self.total.any() else None

    def learn_one(self, x: Any, y: Any) -> None:
        """One more label; coordinates that it brings were 0 so far."""
        self.space = self.space.extended(y)
        row = self.space.embed_many([y])
        row[:, : self.total.shape[1]] += self.total
        self.total = row


def _repeat(stream: Stream, setting: Mapping[str, Any], seed: int) -> Iterator[Any]:
    rules = {"documents": Ruled, "tree": ToTheLeft}
    yield from in_turn(rules[stream.kind]() if stream.kind in rules else RepeatLast(stream.loss), stream)


def _majority(stream: Stream, setting: Mapping[str, Any], seed: int) -> Iterator[Any]:
    yield from in_turn((BestSoFar if stream.kind in NUMBERS else MostFrequent)(stream.loss), stream)


def best_constant(stream: Stream) -> Any:
    """argmin_z sum_t Delta(z, y_t), over all rounds; the most frequent symbol, for sequences."""
    if stream.loss.parts:
        return MostFrequent(stream.loss).fit(stream.xs, stream.ys).predict_one
    space = stream.loss.space()
    for y in stream.ys:
        space = space.extended(y)
    z = space.decode_round(space.embed_many(stream.ys).sum(axis=0, keepdims=True))
    return lambda x: z


def _hindsight(stream: Stream, setting: Mapping[str, Any], seed: int) -> Iterator[Any]:
    answer = best_constant(stream)
    yield [stream.loss(answer(stream.x(t)), y) for t, y in enumerate(stream.ys)]


BASELINES = (
    Method("repeat-last", "oskaar", "baseline", KINDS, ({},), _repeat),
    Method("majority", "oskaar", "baseline", tuple(k for k in KINDS if k not in RULED), ({},), _majority),
    Method("best constant", "oskaar", "hindsight", tuple(k for k in KINDS if k not in RULED), ({},), _hindsight),
)

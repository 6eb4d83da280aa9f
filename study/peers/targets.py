"""Structures as numbers: what a peer regresses or classifies, and the obvious way back.

A target turns a label into rows of p numbers, one row for each row of x, and rows of p scores into an answer:

    kind       numbers of a row                 the way back
    class      one-hot                          the least expected loss
    ordinal    the position, or one-hot         rounded, or the least expected loss
    subset     0/1 for each label               above 1/2, for F1 the best expected F1
    ranking    n - 1 - rank of each item        sorted (Borda)
    documents  the relevance of the row         sorted
    sequence   one-hot                          the largest, row by row
    tree       0/1: the row's arc is there      the best tree
    angle      cosines and sines                atan2
    sphere     the point                        divided by its norm
    simplex    the shares                       Euclidean projection
    vector     the numbers                      clipped to the loss's bounds
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from oskaar.arrays import Array
from oskaar.losses import F1
from study.protocol import Stream

ONE_ROW = ("subset", "class", "ordinal", "ranking", "angle", "sphere", "simplex", "vector")
NUMBERS = ("ordinal", "ranking", "angle", "sphere", "simplex", "vector")
"""Kinds that are regressed, a row each."""


@dataclass(frozen=True)
class Target:
    """p numbers for a row, their type, and the ways there and back."""

    p: int
    type: Literal["one-hot", "binary", "number"]
    rows: Callable[[Any], Array]
    """label -> (n, p)"""
    answer: Callable[[Array], Any]
    """(n, p) scores -> z"""

    def read(self, scores: Any) -> Any:
        """The answer to scores of any quality: what is not a finite number counts as 0, what is huge is cut."""
        V = np.atleast_2d(np.asarray(scores, dtype=float))
        return self.answer(np.clip(np.nan_to_num(V, nan=0.0, posinf=1e12, neginf=-1e12), -1e12, 1e12))


def target_of(stream: Stream, as_classes: bool = False) -> Target:
    """The target of a stream. as_classes: levels as classes.

    >>> from oskaar import losses
    >>> target = target_of(Stream("demo", "subset", np.zeros((1, 2)), [{0}], losses.F1(3)))
    >>> target.rows({0, 2}), sorted(target.read([0.9, 0.2, 0.6]))
    (array([[1., 0., 1.]]), [0, 2])
    """
    if stream.kind == "ordinal" and as_classes:
        return _classes(stream.loss)
    if stream.kind == "subset":
        return _subset(stream.loss, best_f1 if isinstance(stream.loss, F1) else above_half)
    return _MAKERS[stream.kind](stream.loss)


def above_half(v: Array) -> list[int]:
    """The labels of a probability above 1/2."""
    return [int(i) for i in np.flatnonzero(v > 0.5)]


def best_f1(v: Array) -> list[int]:
    r"""The top m of probabilities v whose ratio 2 (v_1 + ... + v_m) / (m + sum v) is the largest.

    The expected F1 with the ratio of expectations in place of the expectation of ratios. No label at all, which is
    right where the truth is empty, has probability prod (1 - v_i), as if labels were independent.

    >>> best_f1(np.array([0.1, 0.4, 0.05])), best_f1(np.array([0.1, 0.1, 0.05]))
    ([1], [])
    """
    v = np.clip(v, 0.0, 1.0)
    order = np.argsort(-v, kind="stable")
    value = 2 * np.cumsum(v[order]) / (np.arange(1, len(v) + 1) + v.sum())
    if np.prod(1 - v) > value.max():
        return []
    return [int(i) for i in order[: int(np.argmax(value)) + 1]]


def on_simplex(v: Array) -> Array:
    """The nearest distribution, by sorting.

    >>> on_simplex(np.array([0.9, 0.5, -3.0])).round(12)
    array([0.7, 0.3, 0. ])
    """
    u = np.sort(v)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, len(v) + 1)
    shares = np.maximum(v - excess[np.flatnonzero(u > excess)[-1]], 0.0)
    return np.asarray(shares / shares.sum())


def _one_hot(position: Any, k: int) -> Array:
    row = np.zeros((1, k))
    row[0, position] = 1.0
    return row


def names_of(loss: Any) -> list[Any]:
    """What a loss on classes or levels lists."""
    return list(loss.outputs())


def _classes(loss: Any) -> Target:
    names = names_of(loss)
    places = {name: i for i, name in enumerate(names)}
    costs = np.array([[loss(z, y) for y in names] for z in names])
    return Target(
        len(names),
        "one-hot",
        lambda y: _one_hot(places[y], len(names)),
        lambda V: names[int(np.argmin((costs @ np.maximum(V[0], 0.0)).round(12)))],
    )


def _ordinal(loss: Any) -> Target:
    names = names_of(loss)
    places = {name: i for i, name in enumerate(names)}
    last = len(names) - 1
    return Target(
        1,
        "number",
        lambda y: np.array([[float(places[y])]]),
        lambda V: names[int(np.clip(np.rint(V[0, 0]), 0, last))],
    )


def _subset(loss: Any, rule: Callable[[Array], list[int]]) -> Target:
    def rows(y: Any) -> Array:
        return _one_hot(sorted(loss.check(y)), loss.n_labels)

    def answer(V: Array) -> frozenset[int]:
        chosen = rule(V[0])
        size = int(np.clip(len(chosen), loss.at_least, loss.at_most))
        order = np.argsort(-V[0], kind="stable")
        return frozenset(chosen if size == len(chosen) else [int(i) for i in order[:size]])

    return Target(loss.n_labels, "binary", rows, answer)


def _ranking(loss: Any) -> Target:
    names = loss.things.names

    def answer(V: Array) -> tuple[Any, ...]:
        return tuple(names[i] for i in np.argsort(-V[0], kind="stable"))

    return Target(loss.n, "number", lambda y: loss.n - 1.0 - loss.ranks([loss.check(y)]), answer)


def _documents(loss: Any) -> Target:
    def answer(V: Array) -> tuple[int, ...]:
        return tuple(np.argsort(-V[:, 0], kind="stable").tolist())

    return Target(1, "number", lambda y: np.asarray(y, dtype=float)[:, None], answer)


def _sequence(loss: Any) -> Target:
    names, places = loss.symbols.names, loss.symbols.positions

    def rows(y: Any) -> Array:
        return np.asarray(np.eye(len(names))[[places[item] for item in y]])

    return Target(len(names), "one-hot", rows, lambda V: tuple(names[i] for i in np.argmax(V, axis=1)))


def _tree(loss: Any) -> Target:
    return Target(1, "binary", lambda y: np.asarray(loss.embed(y) + 1 / len(y)).round(), lambda V: loss.decode(V))


def _angle(loss: Any) -> Target:
    n = getattr(loss, "n", None)

    def rows(y: Any) -> Array:
        angles = np.atleast_1d(np.asarray(y, dtype=float))
        return np.concatenate([np.cos(angles), np.sin(angles)])[None, :]

    def answer(V: Array) -> Any:
        half = V.shape[1] // 2
        angles = np.arctan2(V[0, half:], V[0, :half])
        return angles if n is not None else float(angles[0])

    return Target(2 * (n or 1), "number", rows, answer)


def _sphere(loss: Any) -> Target:
    def answer(V: Array) -> Array:
        norm = np.linalg.norm(V[0])
        return np.asarray(V[0] / norm if norm > 1e-12 else np.eye(loss.dim)[0])

    return Target(loss.dim, "number", lambda y: np.asarray(y, dtype=float)[None, :], answer)


def _simplex(loss: Any) -> Target:
    return Target(loss.n, "number", lambda y: np.asarray(y, dtype=float)[None, :], lambda V: on_simplex(V[0]))


def _vector(loss: Any) -> Target:
    return Target(
        loss.dim,
        "number",
        lambda y: np.asarray(y, dtype=float).reshape(1, -1),
        lambda V: np.clip(V[0], loss.low, loss.high),
    )


_MAKERS: dict[str, Callable[[Any], Target]] = {
    "class": _classes,
    "ordinal": _ordinal,
    "ranking": _ranking,
    "documents": _documents,
    "sequence": _sequence,
    "tree": _tree,
    "angle": _angle,
    "sphere": _sphere,
    "simplex": _simplex,
    "vector": _vector,
}

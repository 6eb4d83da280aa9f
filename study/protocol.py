"""What a stream, a peer and a model of the study are. Both sides are written against this file.

A run asks a model for an answer, then shows it the truth, once a round:

    z = model.predict_one(x);  loss(z, y);  model.learn_one(x, y)

x is a 1-d float64 array, a 1 x d csr array, or, for kinds made of parts, an (n, d) array or csr array.
Features are raw: whoever wants them scaled scales them with what was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse

from oskaar.losses import Loss

KINDS = (
    "subset",  # y: frozenset of label indices
    "class",  # y: a class that the loss lists
    "ordinal",  # y: a level that the loss lists
    "ranking",  # y: tuple of items, best first
    "documents",  # y: relevances, one for each row of x; z: rows, best first
    "sequence",  # y: tuple of symbols, one for each row of x
    "tree",  # y: tuple of heads (0 = root); x has a row for each possible arc
    "angle",  # y: radians
    "sphere",  # y: a unit vector
    "simplex",  # y: a distribution
    "vector",  # y: an array of numbers within the loss's bounds
)
PARTS = ("documents", "sequence", "tree")
"""Kinds whose rounds are blocks of rows."""


@dataclass(frozen=True)
class Stream:
    """A stream on file: xs is a (T, d) array, a csr array, or a list of blocks; ys a list as the loss takes it."""

    name: str
    kind: str
    xs: Any
    ys: list[Any]
    loss: Loss
    note: str = ""
    source: str = ""
    published: Mapping[str, float] = field(default_factory=dict)
    """Mean losses that others have published: other machines, other protocols."""
    lag: bool = False
    """Whether rows follow one another in time and lack the last label: peers get it as further columns."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"a kind must be one of {', '.join(KINDS)}, got {self.kind!r}.")
        rows = len(self.xs) if isinstance(self.xs, list) else self.xs.shape[0]
        if rows != len(self.ys):
            raise ValueError(f"{self.name} must have as many inputs as labels, got {rows} and {len(self.ys)}.")
        if isinstance(self.xs, list) != (self.kind in PARTS):
            raise ValueError(f"{self.name}: inputs of parts, and of parts only, are lists of blocks.")

    def __len__(self) -> int:
        return len(self.ys)

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return int((self.xs[0] if isinstance(self.xs, list) else self.xs).shape[1])

    @property
    def sparse(self) -> bool:
        """Whether inputs are csr arrays."""
        return bool(issparse(self.xs[0] if isinstance(self.xs, list) else self.xs))

    def x(self, t: int) -> Any:
        """The input of round t, as models get it."""
        if isinstance(self.xs, list):
            return self.xs[t]
        return csr_array(self.xs[[t]]) if issparse(self.xs) else np.asarray(self.xs[t], dtype=float)

    def first(self, rounds: int | None) -> Stream:
        """The stream cut after its first rounds; None: all of it."""
        if rounds is None or rounds >= len(self):
            return self
        cut = {"xs": self.xs[:rounds], "ys": self.ys[:rounds]}
        return Stream(**{**{name: getattr(self, name) for name in self.__dataclass_fields__}, **cut})


class Model(Protocol):
    """What a peer makes: it answers, then learns."""

    def predict_one(self, x: Any) -> Any:
        """An answer that the loss of the stream takes; None before a label was seen."""
        ...

    def learn_one(self, x: Any, y: Any) -> None:
        """Sees the truth."""
        ...


def always(stream: Stream) -> bool:
    """Fits every stream of its kinds."""
    return True


@dataclass(frozen=True)
class Peer:
    """Another package's method: `make(stream, setting, seed)` gives a fresh model.

    `make` may look at the stream's loss, kind, number of columns and whether it is sparse, never at its labels
    beyond what the loss itself lists. `settings`: the first is the default, the others are for tuning.
    A package that is not installed shows as an ImportError of `make`.
    """

    name: str
    package: str
    kinds: tuple[str, ...]
    settings: tuple[Mapping[str, Any], ...]
    make: Callable[[Stream, Mapping[str, Any], int], Model]
    fits: Callable[[Stream], bool] = always

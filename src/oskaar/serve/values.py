"""Labels and answers as JSON, and back: sets and tuples are lists.

a set (F1, Jaccard, ...)   [0, 2]                 its members
a ranking                  ["b", "a", "c"]        best first; ["b", ["a", "c"]] has a tie
comparisons (Kendall)      {"pairs": [["b", "a"]]}    the better one first
all others                 numbers, texts and lists, as Python writes them
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar import losses
from oskaar.losses import Loss


def to_label(loss: Loss, y: Any) -> Any:
    """A label of a loss out of JSON; whether it is one, the loss says.

    >>> to_label(losses.F1(3), [0, 2]) == {0, 2}, to_label(losses.Kendall("abc"), ["b", ["a", "c"]])[0]
    (True, 'b')
    """
    if isinstance(loss, losses.SubsetLoss):
        return _subset(y)
    if isinstance(loss, losses.Kendall) and isinstance(y, dict) and list(y) == ["pairs"]:
        return frozenset(tuple(pair) for pair in y["pairs"])
    if isinstance(loss, (losses.Kendall, losses.Spearman, losses.Footrule, losses.PositionHamming)):
        return tuple(frozenset(item) if isinstance(item, list) else item for item in y) if isinstance(y, list) else y
    if isinstance(loss, losses.PerRow) and isinstance(y, list):
        return [to_label(loss.row, item) for item in y]
    return _hashable(y) if isinstance(loss, (losses.LossTrick, losses.ZeroOne)) else y


def to_answer(loss: Loss, z: Any) -> Any:
    """An answer out of JSON in the form that a learner gives it, for code that was written for one."""
    if z is None:
        return None
    if isinstance(loss, losses.SubsetLoss):
        return frozenset(z)
    return np.array(z) if type(loss).__name__ in _ARRAYS else _hashable(z)


_ARRAYS = {
    *("Absolute", "Angles", "Hellinger", "Huber", "LogEuclidean", "OrderedWasserstein", "Pinball", "Rotation"),
    *("SimplexL2", "Sphere", "SphereGeodesic", "Squared", "TotalVariation", "Wasserstein"),
}
"""Losses whose answers are arrays."""


def _subset(y: Any) -> Any:
    if not isinstance(y, list):
        return y
    if len(set(map(repr, y))) != len(y):
        raise ValueError(
            f"a set is the list of its members, each once, got {y!r:.100}: a 0/1 vector [0, 1, 1] is [1, 2]."
        )
    return frozenset(_hashable(item) for item in y)


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value


def size(value: Any) -> int:
    """How many numbers, texts and names there are in a value of JSON.

    >>> size({"a": [1, 2], "b": "text"})
    3
    """
    if isinstance(value, dict):
        return sum(map(size, value.values()))
    if not isinstance(value, list):
        return 1
    return len(value) if {list, dict}.isdisjoint(map(type, value)) else sum(map(size, value))

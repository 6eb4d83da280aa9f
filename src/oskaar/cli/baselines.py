"""Baselines that ignore x, for every kind of y."""

from __future__ import annotations

from typing import Any

from oskaar import MostFrequent, RepeatLast
from oskaar.learners.baselines import AsListed, LeftHead, MeanSoFar
from oskaar.losses import DependencyTree, Documents, Loss
from oskaar.losses.vectors import Absolute, Huber, Pinball, Squared


def make_baselines(loss: Loss) -> dict[str, Any]:
    """The last label again, and the most frequent one (for numbers, the mean so far).

    Queries and sentences have no last label that would fit: documents stay in the order of the file, and each word
    of a tree hangs on the one before it.
    """
    if isinstance(loss, Documents):
        return {"as-listed": AsListed()}
    if isinstance(loss, DependencyTree):
        return {"head-to-the-left": LeftHead()}
    numeric = isinstance(loss, (Squared, Absolute, Pinball, Huber))
    common = {"mean": MeanSoFar()} if numeric else {"most-frequent": MostFrequent(loss)}
    return {"repeat-last": RepeatLast(loss), **common}

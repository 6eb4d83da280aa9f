"""Squared losses of estimates of several rounds, in the coordinates that each round's label leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array, spans
from oskaar.losses import Space


def charges(E: Array, Phi: Array, spaces: list[Space], ends: Any) -> Array:
    """|phi - g|^2 (rows, ...) of estimates E (rows, ..., p) in rounds that end at rows `ends`.

    A space that grows is asked round by round: a sum over coordinates that later labels bring would be rounded
    differently, though these are 0.
    """
    targets = Phi.reshape(len(Phi), *[1] * (E.ndim - 2), -1)
    if not spaces[0].grows:
        return spaces[0].squared_norms(targets - E)
    found = np.empty(E.shape[:-1])
    for (lo, hi), space in zip(spans(ends), spaces[1:], strict=True):
        found[lo:hi] = space.squared_norms(targets[lo:hi, ..., : space.p] - E[lo:hi, ..., : space.p])
    return found

"""Rounds that a mixture is about to learn, and what is done with the estimates of their experts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oskaar.arrays import Array, fit_columns
from oskaar.learners.change_points import ChangeDetector
from oskaar.learners.company import Visit
from oskaar.learners.experts import Begun
from oskaar.learners.jury import Jury
from oskaar.learners.mixture import Mixture
from oskaar.losses import Space


@dataclass
class Ahead:
    """Rounds to come: the experts' blocks, the mixture after the rounds that were observed, estimates."""

    begun: Begun
    visit: Visit | None
    mixture: Mixture
    world: Mixture | None
    changes: ChangeDetector
    jury: Jury | None
    said: Array
    """What company says (K, rows, p)."""
    ends: Any
    Phi: Array
    blocks: list[Array] = field(default_factory=list)
    """What the experts but company say together, of the rounds so far."""
    logs: list[Array] = field(default_factory=list)
    """Logarithms (1 + K,) of their weight, and of company's, in each of them."""
    whole: Any = None
    """What all say together, of the present round."""
    G: Any = None
    restarts: Any = None
    experts: Any = None


def rows_of(ends: Any, i: int) -> slice:
    """The rows of round i."""
    return slice(int(ends[i - 1]) if i else 0, int(ends[i]))


def mix(weights: Array, experts: list[Array]) -> Array:
    """The mean (n, p) of estimates (S, n, p) of each kind."""
    mixed = [E.transpose(1, 2, 0) @ p for p, E in zip(weights, experts, strict=True)]
    mean: Array = np.add.reduce(mixed) if len(mixed) > 1 else mixed[0]
    return mean


def charge(E: Array, Phi: Array, space: Space) -> Array:
    """The loss (S,) of estimates (S, n, p): the mean over rows of |phi - g|^2."""
    errors = space.squared_norms(Phi - fit_columns(E, Phi.shape[1]))
    return errors[:, 0] if len(Phi) == 1 else errors.sum(axis=1) / len(Phi)

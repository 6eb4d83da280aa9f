r"""Losses whose c_delta grows with the size of a round: that of the largest round seen."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from oskaar.losses.base import FixedSpace, Loss, Space
from oskaar.saved import saved


class SizedLoss(Loss):
    r"""A loss on parts with no c_delta for all rounds, and one for each size n of a round.

    The inner product of a round is the mean over its rows, so a psi that weighs few of them has a norm that grows
    with n. `c_delta` of the loss is infinite; a learner's space knows the largest n so far, and its bounds use that.
    """

    parts = True
    c_delta = np.inf

    @abstractmethod
    def radius(self, n: int) -> float:
        """sup_z |psi(z)| over rounds of n parts, after the best shift; it must not fall with n."""

    def span(self, n: int) -> float:
        """sup |psi(z) - psi(z')| over rounds of n parts; it must not fall with n."""
        return 2 * self.radius(n)

    def space(self) -> Space:
        return SizedSpace(self)


@saved("space/round-sizes")
class SizedSpace(FixedSpace):
    """A fixed space that remembers the largest round.

    >>> from oskaar.losses import DependencyTree
    >>> space = DependencyTree().space()
    >>> space.c_delta, space.extended((0, 1)).c_delta, space.extended((0, 1)).extended((0,)).c_delta
    (0.0, 1.0, 1.0)
    >>> space.extended((0, 1)).diameter
    2.0
    """

    grows = True

    def __init__(self, loss: SizedLoss, largest: int = 0) -> None:
        super().__init__(loss)
        self.sized, self.largest = loss, largest
        self.c_delta = loss.radius(largest) if largest else 0.0

    @property
    def diameter(self) -> float:
        return self.sized.span(self.largest) if self.largest else 0.0

    def extended(self, y: Any) -> Space:
        return self if len(y) <= self.largest else SizedSpace(self.sized, len(y))

    def joined(self, other: Any) -> Space:
        return self if other.largest <= self.largest else other

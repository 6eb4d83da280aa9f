"""An estimator around another, to which it delegates all else."""

from __future__ import annotations

from typing import Any

from oskaar.arrays import Array
from oskaar.inputs import Block
from oskaar.learners.certificate import Hindsight
from oskaar.learners.mixture import Mixture, estimates_of_each
from oskaar.losses import Space


class Outer:
    """An estimator with another one inside, and a mixture inside of all."""

    inner: Any

    @property
    def mixture(self) -> Mixture:
        """The mixture inside."""
        mixture: Mixture = self.inner.mixture
        return mixture

    @property
    def advice(self) -> str:
        """What to do when memory ends."""
        return self.mixture.advice

    @property
    def room(self) -> int:
        """As many rows as the mixture takes."""
        return self.mixture.room

    @property
    def operations(self) -> int:
        """Those of the estimator inside."""
        return int(self.inner.operations)

    def growth(self, rows: int) -> int:
        """What the estimator inside takes."""
        return int(self.inner.growth(rows))

    def each(self, block: Block, ends: Any, space: Space) -> Array:
        """Some rounds at a time, all from the present state."""
        return estimates_of_each(self, block, ends, space)

    def effective_dimension(self, probes: int | None = None) -> float:
        """That of the mixture."""
        return self.mixture.effective_dimension(probes)

    def hindsight(self, space: Space, rounds: int) -> Hindsight | None:
        """None: no theorem is known of what it makes of the mixture."""
        return None

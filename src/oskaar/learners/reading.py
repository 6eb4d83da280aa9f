"""How a learner without a kernel of its own reads rows: by a schema, and with default kernels in their units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from oskaar.arrays import Array, Rows
from oskaar.inputs import Block, Inputs
from oskaar.kernels import Kernel, default_kernels, smooth_kernel, weights_of_features
from oskaar.kernels.learned import PASSES
from oskaar.rows import MixedRows
from oskaar.schema import Schema

FIRST = 4
"""With fewer rows there are no units."""


@dataclass(frozen=True)
class Reading:
    """A schema, and rows as numbers that default kernels have units of; None before there are units, and without.

    features: as how many features the numbers of a row count.
    targets: makes phi of their labels.
    rows: how many rows it is of; columns: how many columns sparse rows have by then.
    weights: how much each feature matters in the rough kernel; None where it is not known yet.
    """

    schema: Schema | None = None
    encoded: Rows = None
    features: int | None = None
    targets: Callable[[], Array] | None = None
    rows: int = 0
    columns: int | None = None
    weights: Array | None = None

    @property
    def first(self) -> Kernel | None:
        """The kernel of a learner that has one."""
        return None if self.encoded is None else smooth_kernel(self.encoded, self._fixed, self.features)

    @property
    def mixed(self) -> bool:
        """Whether rows have numbers and text."""
        return isinstance(self.encoded, MixedRows)

    @property
    def learns(self) -> bool:
        """Whether labels tell how much each feature matters.

        Not with text beside the numbers: what text explains is mistaken for what numbers do.
        """
        return self.targets is not None and self.encoded is not None and not self.mixed

    def with_weights(self, passes: int = PASSES) -> Reading:
        """When so many passes more have told how much each feature matters."""
        assert self.targets is not None
        targets = self.targets()
        weights = weights_of_features(self.encoded, targets, self._fixed, self.features, self.weights, passes)
        return replace(self, weights=weights)

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """The default kernels by name, of which the rough one has learned from labels. None without units."""
        if self.encoded is None:
            return {}
        known = self.with_weights() if self.learns and self.weights is None else self
        return default_kernels(self.encoded, self._fixed, self.features, known.weights)

    @property
    def _fixed(self) -> Any:
        return None if self.schema is None else self.schema.fixed


def can_change(block: Block) -> bool:
    """Whether rows may be read anew, or have units to learn."""
    return block.raw is not None or isinstance(block.rows, (np.ndarray, MixedRows))


def reading_of(block: Block, least: int = FIRST) -> Reading:
    """What all rows so far say; least: with fewer of them there are no units."""
    schema, rows = block.schema, block.rows
    if not block.is_read:
        assert schema is not None
        schema = schema.read(rows)
        rows = None if schema.bag else schema.encode(rows)
    return reading_with(schema, rows if block.n >= least else None)


def reading_with(schema: Schema | None, encoded: Rows) -> Reading:
    """What rows say that a schema has read and encoded; there are units if they have numbers."""
    if not isinstance(encoded, (np.ndarray, MixedRows)):
        return Reading(schema)
    return Reading(schema, encoded, None if schema is None else schema.features)


def read_whole(inputs: Inputs, block: Block) -> tuple[Block, Reading]:
    """All rows there will be, as their schema reads them at last; `inputs` stay as they are."""
    if block.is_read:
        return block, reading_of(block, least=1) if inputs.schema is not None else Reading()
    reading = reading_of(replace(block, schema=inputs.schema), least=1)
    assert reading.schema is not None
    schema = reading.schema.at_last()
    read = Inputs(*inputs.kernels, parts=inputs.parts, schema=schema).part(block, 0, block.n)
    return read, replace(reading, schema=schema)

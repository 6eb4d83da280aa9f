r"""The first rounds of a learner without a kernel of its own: how rows are read, and in which units.

The default kernel compares features standardised by their mean and standard deviation over the rows so far. These,
and the schema by which rows become numbers (`oskaar.schema`), are taken anew when there are 4, 8, 16, ..., 512 rows,
and what was seen is then learned again; after that they stay. With fewer than 4 rows the schema alone is taken anew.
So the first few hundred rounds cost a little more than once, and afterwards the kernel is one kernel, as in the
theorems. The losses of the rounds before are those of the answers that were given: the surrogate loss
of the theorem is that of the present kernel, plus `behind`, what was paid less what the present kernel would have.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from oskaar.inputs import Block
from oskaar.learners.labels import Labels
from oskaar.learners.reading import FIRST, all_rows, kept
from oskaar.rows import nbytes
from oskaar.saved import saved

LAST = 512
"""Scales are taken at 4, 8, ... rows, up to so many."""

PER_ROW = 128
"""Bytes that keeping a row takes beside its numbers."""


@saved("learner/early-rounds")
class EarlyRounds:
    """The first rounds as they came, while units may change. A value; `with_rounds` adds.

    >>> from oskaar.losses import ZeroOne
    >>> labels = Labels(ZeroOne("ab"), ZeroOne("ab").space(), ["a", "b"], [1, 2])
    >>> early = EarlyRounds().with_rounds(Block(np.array([[1.0], [3.0]]), 2), labels)
    >>> early.rows, early.until_due, EarlyRounds().until_due
    (2, -1, 1)
    """

    def __init__(self) -> None:
        self.rows = 0
        self.due = 1
        self._blocks: list[Block] = []
        self._labels: list[Any] = []
        self._ends: list[int] = []

    @property
    def until_due(self) -> int:
        """Rows that may come before scales are taken."""
        return self.due - self.rows

    def with_rounds(self, block: Block, labels: Labels) -> EarlyRounds:
        """These rounds too."""
        other = EarlyRounds()
        other.rows, other.due = self.rows + block.n, self.due
        other._blocks = [*self._blocks, kept(block)]
        other._labels = [*self._labels, *labels.ys]
        other._ends = self._ends + [self.rows + int(end) for end in labels.ends]
        return other

    def later(self) -> EarlyRounds | None:
        """The same rows, which wait for the next power of 2; None where scales stay as they are from now on."""
        if self.rows >= LAST:
            return None
        other = copy.copy(self)
        other.due = self.rows + 1 if self.rows < FIRST else 1 << self.rows.bit_length()
        return other

    def everything(self) -> tuple[Block, Any, list[Any]]:
        """All rows, where each round ends, and the labels."""
        return all_rows(self._blocks), np.array(self._ends, dtype=np.intp), self._labels

    @staticmethod
    def growth(block: Block) -> int:
        """An upper bound of the memory that keeping a block takes."""
        return (nbytes(block.rows) if block.raw is None else block.raw.nbytes) + block.n * PER_ROW

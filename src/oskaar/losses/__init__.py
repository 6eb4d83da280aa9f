"""Losses: what a structure is to a learner. One file for each family of outputs."""

from oskaar.losses.base import Loss, Space
from oskaar.losses.classes import CostMatrix, ZeroOne
from oskaar.losses.ordinal import Ordinal
from oskaar.losses.rows import PerRow
from oskaar.losses.sequences import SequenceHamming
from oskaar.losses.subsets import F1, SubsetHamming, SubsetLoss
from oskaar.losses.trick import LossTrick

__all__ = [
    "F1",
    "CostMatrix",
    "Loss",
    "LossTrick",
    "Ordinal",
    "PerRow",
    "SequenceHamming",
    "Space",
    "SubsetHamming",
    "SubsetLoss",
    "ZeroOne",
]

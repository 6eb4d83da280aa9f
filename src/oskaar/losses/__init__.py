"""Losses: what a structure is to a learner. One file for each family of outputs."""

from oskaar.losses.alignments import dtw, edit_distance, edits, normalised_dtw, normalised_edit_distance
from oskaar.losses.base import Loss, Space
from oskaar.losses.classes import CostMatrix, ZeroOne
from oskaar.losses.fscore import F1
from oskaar.losses.ordinal import Ordinal
from oskaar.losses.overlap import Jaccard
from oskaar.losses.rows import PerRow
from oskaar.losses.sequences import SequenceHamming
from oskaar.losses.setmatch import SubsetZeroOne
from oskaar.losses.subsets import PrecisionAtK, SubsetHamming, SubsetLoss
from oskaar.losses.trick import LossTrick

__all__ = [
    "F1",
    "CostMatrix",
    "Jaccard",
    "Loss",
    "LossTrick",
    "Ordinal",
    "PerRow",
    "PrecisionAtK",
    "SequenceHamming",
    "Space",
    "SubsetHamming",
    "SubsetLoss",
    "SubsetZeroOne",
    "ZeroOne",
    "dtw",
    "edit_distance",
    "edits",
    "normalised_dtw",
    "normalised_edit_distance",
]

"""Losses: what a structure is to a learner. One file for each family of outputs."""

from oskaar.losses.base import Loss, Space
from oskaar.losses.classes import CostMatrix, ZeroOne
from oskaar.losses.kendall import KemenyGap, Kendall
from oskaar.losses.matchings import Matching
from oskaar.losses.ndcg import NDCG
from oskaar.losses.ordinal import Ordinal
from oskaar.losses.rankings import Footrule, PositionHamming, Spearman, order_from_ranks
from oskaar.losses.rows import PerRow
from oskaar.losses.sequences import SequenceHamming
from oskaar.losses.subsets import F1, SubsetHamming, SubsetLoss
from oskaar.losses.trick import LossTrick

__all__ = [
    "F1",
    "NDCG",
    "CostMatrix",
    "Footrule",
    "KemenyGap",
    "Kendall",
    "Loss",
    "LossTrick",
    "Matching",
    "Ordinal",
    "PerRow",
    "PositionHamming",
    "SequenceHamming",
    "Space",
    "Spearman",
    "SubsetHamming",
    "SubsetLoss",
    "ZeroOne",
    "order_from_ranks",
]

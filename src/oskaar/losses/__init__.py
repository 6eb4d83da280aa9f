"""Losses: what a structure is to a learner. One file for each family of outputs."""

from typing import TYPE_CHECKING

from oskaar.lazy import lazily

if TYPE_CHECKING:
    from oskaar.losses.alignments import dtw, edit_distance, edits, normalised_dtw, normalised_edit_distance
    from oskaar.losses.base import Loss, Space
    from oskaar.losses.chains import Sequence
    from oskaar.losses.circles import Angles, Circular, Geodesic
    from oskaar.losses.classes import CostMatrix, ZeroOne
    from oskaar.losses.documents import Documents
    from oskaar.losses.fscore import F1
    from oskaar.losses.geodesics import SphereGeodesic
    from oskaar.losses.kendall import KemenyGap, Kendall
    from oskaar.losses.lines import OrderedWasserstein
    from oskaar.losses.matchings import Matching
    from oskaar.losses.ndcg import NDCG
    from oskaar.losses.ordinal import Ordinal
    from oskaar.losses.overlap import Jaccard
    from oskaar.losses.rankings import Footrule, PositionHamming, Spearman, order_from_ranks
    from oskaar.losses.rows import PerRow
    from oskaar.losses.sequences import SequenceHamming
    from oskaar.losses.setmatch import SubsetZeroOne
    from oskaar.losses.simplex import Hellinger, SimplexL2, TotalVariation
    from oskaar.losses.spheres import LogEuclidean, Rotation, Sphere
    from oskaar.losses.subsets import PrecisionAtK, SubsetHamming, SubsetLoss
    from oskaar.losses.transport import Wasserstein
    from oskaar.losses.trees import DependencyTree, arcs
    from oskaar.losses.trick import LossTrick
    from oskaar.losses.vectors import Absolute, Huber, Pinball, Squared
    from oskaar.losses.viterbi import bio_transitions

_HOMES = {
    "alignments": "dtw edit_distance edits normalised_dtw normalised_edit_distance",
    "base": "Loss Space",
    "chains": "Sequence",
    "circles": "Angles Circular Geodesic",
    "classes": "CostMatrix ZeroOne",
    "documents": "Documents",
    "fscore": "F1",
    "geodesics": "SphereGeodesic",
    "kendall": "KemenyGap Kendall",
    "lines": "OrderedWasserstein",
    "matchings": "Matching",
    "ndcg": "NDCG",
    "ordinal": "Ordinal",
    "overlap": "Jaccard",
    "rankings": "Footrule PositionHamming Spearman order_from_ranks",
    "rows": "PerRow",
    "sequences": "SequenceHamming",
    "setmatch": "SubsetZeroOne",
    "simplex": "Hellinger SimplexL2 TotalVariation",
    "spheres": "LogEuclidean Rotation Sphere",
    "subsets": "PrecisionAtK SubsetHamming SubsetLoss",
    "transport": "Wasserstein",
    "trees": "DependencyTree arcs",
    "trick": "LossTrick",
    "vectors": "Absolute Huber Pinball Squared",
    "viterbi": "bio_transitions",
}
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "F1",
    "NDCG",
    "Absolute",
    "Angles",
    "Circular",
    "CostMatrix",
    "DependencyTree",
    "Documents",
    "Footrule",
    "Geodesic",
    "Hellinger",
    "Huber",
    "Jaccard",
    "KemenyGap",
    "Kendall",
    "LogEuclidean",
    "Loss",
    "LossTrick",
    "Matching",
    "OrderedWasserstein",
    "Ordinal",
    "PerRow",
    "Pinball",
    "PositionHamming",
    "PrecisionAtK",
    "Rotation",
    "Sequence",
    "SequenceHamming",
    "SimplexL2",
    "Space",
    "Spearman",
    "Sphere",
    "SphereGeodesic",
    "Squared",
    "SubsetHamming",
    "SubsetLoss",
    "SubsetZeroOne",
    "TotalVariation",
    "Wasserstein",
    "ZeroOne",
    "arcs",
    "bio_transitions",
    "dtw",
    "edit_distance",
    "edits",
    "normalised_dtw",
    "normalised_edit_distance",
    "order_from_ranks",
]

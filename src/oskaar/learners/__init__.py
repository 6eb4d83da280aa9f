"""Learners: assembly of inputs, solvers and losses."""

from oskaar.learners.base import Predictor
from oskaar.learners.baselines import MostFrequent, RepeatLast
from oskaar.learners.batch import BatchILE
from oskaar.learners.ensemble import Ensemble
from oskaar.learners.learner import OnlineLearner
from oskaar.learners.oskaar import OSKAAR
from oskaar.learners.salami import SALAMI
from oskaar.learners.saving import from_bytes, load

__all__ = [
    "OSKAAR",
    "SALAMI",
    "BatchILE",
    "Ensemble",
    "MostFrequent",
    "OnlineLearner",
    "Predictor",
    "RepeatLast",
    "from_bytes",
    "load",
]

"""Learners: assembly of inputs, solvers and losses."""

from oskaar.learners.base import Predictor
from oskaar.learners.baselines import MostFrequent, RepeatLast
from oskaar.learners.batch import BatchILE
from oskaar.learners.online import OnlineLearner
from oskaar.learners.oskaar import OSKAAR
from oskaar.learners.salami import SALAMI

__all__ = ["OSKAAR", "SALAMI", "BatchILE", "MostFrequent", "OnlineLearner", "Predictor", "RepeatLast"]

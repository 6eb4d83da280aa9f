"""Learners: assembly of inputs, solvers and losses."""

from oskaar.learners.base import Predictor
from oskaar.learners.baselines import MostFrequent, RepeatLast
from oskaar.learners.batch import BatchILE
from oskaar.learners.online import OnlineLearner
from oskaar.learners.oskaar import OSKAAR

__all__ = ["OSKAAR", "BatchILE", "MostFrequent", "OnlineLearner", "Predictor", "RepeatLast"]

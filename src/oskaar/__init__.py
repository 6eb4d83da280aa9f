"""oskaar: online structured prediction.

Every round brings a context x; the learner answers with a structure z, sees the truth y, pays Delta(z, y)
and learns.

>>> from oskaar import OSKAAR, kernels, losses
>>> learner = OSKAAR(losses.F1(n_labels=4), kernel=kernels.Gaussian(0.5) + 1.0, lam=0.1)
>>> learner.learn_one([0.0, 1.0], {1, 2})
>>> sorted(learner.predict_one([0.0, 0.9]))
[1, 2]
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from oskaar import kernels
from oskaar.learners import OSKAAR, SALAMI, BatchILE, Ensemble, MostFrequent, RepeatLast, from_bytes, load
from oskaar.replays import Replay, replay
from oskaar.saved import StateError

if TYPE_CHECKING:
    from oskaar import checks, features, losses, streams, theory

__version__ = "0.1.0"

__all__ = [
    "OSKAAR",
    "SALAMI",
    "BatchILE",
    "Ensemble",
    "MostFrequent",
    "RepeatLast",
    "Replay",
    "StateError",
    "checks",
    "features",
    "from_bytes",
    "kernels",
    "load",
    "losses",
    "replay",
    "streams",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in ("checks", "features", "losses", "streams", "theory"):  # imported when first used
        return import_module(f"oskaar.{name}")
    raise AttributeError(f"module 'oskaar' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

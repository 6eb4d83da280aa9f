"""oskaar's entries: the ensemble, SALAMI and OSKAAR with their defaults, the ensemble without each of its parts.

The ensemble has nothing to tune: tuned, it is compared with the paper's SALAMI in a few settings.

They run in blocks, as `oskaar.replay` does: the estimates are those of the loop of predict_one and learn_one up to
rounding, in less time. So vectors differ in their last digits (by 2e-13 in 400 rounds), and classes, levels and sets
only where two are equally good up to rounding. Features are given as they are: the default kernel standardises them
itself. For settings with a lengthscale, dense features are standardised online (`oskaar.streams.standardised`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from oskaar import OSKAAR, SALAMI, Ensemble, kernels
from oskaar.streams import standardised
from study.methods import Method
from study.protocol import KINDS, Stream

MANY = 5_000
"""With more rows than this, those of all rounds together, SALAMI and OSKAAR keep a budget of inputs."""
BUDGET = 256

LEARNERS = {"SALAMI": SALAMI}
"""Learners that a setting may name, in place of that of its entry."""


def prepared(stream: Stream) -> Any:
    """The inputs, standardised online where they are dense."""
    if stream.sparse:
        return stream.xs
    if not isinstance(stream.xs, list):
        return standardised(stream.xs)
    ends = np.cumsum([len(x) for x in stream.xs])[:-1]
    return np.split(standardised(np.vstack(stream.xs)), ends)


def rows_of(stream: Stream) -> int:
    """Rows of all rounds together."""
    return sum(x.shape[0] for x in stream.xs) if isinstance(stream.xs, list) else len(stream)


def learner_for(cls: Any, stream: Stream, setting: Mapping[str, Any]) -> Any:
    """A fresh learner, of the class that the setting names if it does; `scale` multiplies the default lengthscale."""
    options = {name: value for name, value in setting.items() if name not in ("learner", "scale")}
    if "scale" in setting and not stream.sparse:
        options["kernel"] = kernels.Gaussian(setting["scale"] * stream.n_columns**0.5) + 1.0
    cls = LEARNERS.get(setting.get("learner", ""), cls)
    if rows_of(stream) > MANY and cls is not Ensemble:
        options["budget"] = BUDGET
    return cls(stream.loss, **options)


def _entry(name: str, cls: Any, settings: Any) -> Method:
    def losses(stream: Stream, setting: Mapping[str, Any], seed: int) -> Iterator[Any]:
        xs = prepared(stream) if "scale" in setting else stream.xs
        for chunk in learner_for(cls, stream, setting).stream(xs, stream.ys):
            yield chunk.losses

    def skips(stream: Stream, setting: Mapping[str, Any]) -> bool:
        return stream.sparse and "scale" in setting

    def fits(stream: Stream) -> bool:
        return not skips(stream, settings[0])

    return Method(name, "oskaar", "ours", KINDS, settings, losses, fits, skips)


ENSEMBLE_SETTINGS: tuple[Mapping[str, Any], ...] = (
    {},
    {"learner": "SALAMI", "scale": 0.25},
    {"learner": "SALAMI", "scale": 0.5},
    {"learner": "SALAMI", "scale": 2.0},
    {"learner": "SALAMI", "lam": (0.005, 0.05)},
    {"learner": "SALAMI", "lam": (0.5, 5.0)},
)
OSKAAR_SETTINGS: tuple[Mapping[str, Any], ...] = (
    {},
    {"lam": 0.03},
    {"lam": 0.2},
    *({"lam": lam, "scale": scale} for scale in (0.25, 0.5, 2.0) for lam in (0.03, 0.2, 1.0)),
)
PARTS: dict[str, Mapping[str, Any]] = {
    "Ensemble without selection": {"selection": False},
    "Ensemble without neighbours": {"neighbours": False},
    "Ensemble without stacking": {"stacking": False},
    "Ensemble without the three": {"selection": False, "neighbours": False, "stacking": False},
    "Ensemble, one kernel": {"scale": 1.0},
    "Ensemble, restarts only": {"experts": ()},
}
"""The ensemble without a part, as far as its arguments take parts away.

One kernel: the smooth one is given, so that there is no rough or linear kernel, no relevance and no neighbours.
Restarts only: no expert that never restarts; one kernel too.
"""
OURS = (
    _entry("Ensemble", Ensemble, ENSEMBLE_SETTINGS),
    _entry("OSKAAR", OSKAAR, OSKAAR_SETTINGS),
    _entry("SALAMI", SALAMI, ({},)),
    *(_entry(name, Ensemble, (setting,)) for name, setting in PARTS.items()),
)

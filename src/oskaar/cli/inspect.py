"""`oskaar inspect FILE`: what a checkpoint, or a file of `learner.save`, holds. Nothing in the file is executed."""

from __future__ import annotations

import json
import os
import zipfile
from typing import Any

import numpy as np

from oskaar import OSKAAR, SALAMI, Ensemble
from oskaar.cli.checkpoint import Checkpoint, read_state
from oskaar.cli.options import defaults
from oskaar.cli.settings import command_line
from oskaar.learners.learner import OnlineLearner
from oskaar.memory import readable

HEAVIEST = 5
"""So many restarts are shown, and so many of the other experts."""


def run(options: Any) -> int:
    """Print a model or a learner."""
    thing = read_state(options.file)
    found = {"file": options.file, **_written(options.file), **described(thing)}
    print(json.dumps(found) if options.json else "\n".join(_lines(found)))
    return 0


def described(thing: Any) -> dict[str, Any]:
    """A checkpoint or a learner, as JSON knows it.

    >>> from oskaar import losses
    >>> described(OSKAAR(losses.ZeroOne("ab")).fit([[0.0], [1.0]], "ab"))["rounds"]
    2
    """
    if not isinstance(thing, Checkpoint):
        return {"what": "a learner", **about_learner(thing)}
    means = {name: total / thing.count if thing.count else None for name, total in thing.totals.items()}
    return {
        "what": "a model of oskaar learn",
        **about_learner(thing.learner),
        "rounds": thing.count,
        "not_judged": thing.warmup,
        "mean_loss": thing.total / thing.count if thing.count else None,
        "baselines": means,
        "rows_read": thing.reading["used"],
        "seconds": thing.seconds,
        "input": thing.file,
        "answers": thing.out,
        "more": sorted(thing.extra),
        "reproduce": command_line("learn", thing.file, thing.settings, defaults("learn")),
    }


def about_learner(learner: Any) -> dict[str, Any]:
    """The settings and the figures of a learner."""
    inner = getattr(learner, "model", learner)
    found: dict[str, Any] = {"learner": type(inner).__name__, "loss": repr(getattr(inner, "loss", None))}
    for name in ("kernel", "features", "budget", "lam", "restarts", "eta", "window"):
        setting = getattr(inner, name, None)
        if setting is not None:
            found[name] = setting if isinstance(setting, (int, float, str)) else repr(setting)
    if not isinstance(learner, OnlineLearner):
        return found
    cost = learner.cost()
    kernel = getattr(learner, "kernel", None)
    found |= {"kernel": repr(kernel) if kernel is not None else "the default"}
    found |= {"rounds": learner.rounds, "bytes": cost.bytes, "operations_a_round": cost.operations}
    found["mean_loss"] = learner.total_loss / learner.rounds if learner.rounds else None
    if isinstance(learner, OSKAAR):
        found["effective_dimension"] = learner.effective_dimension()
    if isinstance(learner, (SALAMI, Ensemble)):
        found |= _mixture(learner)
    return found


def _mixture(learner: SALAMI | Ensemble) -> dict[str, Any]:
    rounds, weights = learner.restart_weights()
    heaviest = np.argsort(-weights, kind="stable")[:HEAVIEST]
    found: dict[str, Any] = {
        "restarts_alive": len(rounds),
        "heaviest_restarts": [{"round": int(rounds[i]), "weight": float(weights[i])} for i in heaviest],
        "change_points": [change.round for change in learner.change_points()],
    }
    if isinstance(learner, SALAMI):
        return {"lam": list(learner.lams), **found}
    return {**found, "experts": dict(sorted(learner.expert_weights().items(), key=lambda item: -item[1]))}


def _written(path: str) -> dict[str, Any]:
    """The version that wrote a file, which has been read and found to be one, and its size."""
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    return {"version": manifest.get("oskaar"), "format": manifest.get("format"), "size": os.path.getsize(path)}


def _lines(found: dict[str, Any]) -> list[str]:
    found = dict(found)
    lines = [f"{found.pop('file')}: {found.pop('what')}, written by oskaar {found.pop('version')}"]
    found.pop("format")
    for name in ("size", "bytes"):
        if name in found:
            found[name] = readable(found[name])
    found = {"memory" if name == "bytes" else name: value for name, value in found.items()}
    if "heaviest_restarts" in found:
        restarts = [f"round {r['round']} ({r['weight']:.3f})" for r in found["heaviest_restarts"]]
        found["heaviest_restarts"] = ", ".join(restarts)
    if found.get("experts"):
        heaviest = list(found["experts"].items())[:HEAVIEST]
        found["experts"] = "; ".join(f"{name} ({weight:.3f})" for name, weight in heaviest)
    shown = {name.replace("_", " "): _shown(value) for name, value in found.items() if value not in (None, [], {})}
    width = max(map(len, shown))
    return [*lines, *(f"{name.ljust(width)}  {text}" for name, text in shown.items())]


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(number)}" for name, number in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)

"""Settings that a run is made of: what a checkpoint remembers, what may differ, and the command that repeats it."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from oskaar.readers import ReadError

READING = ("format", "encoding", "y", "x", "group", "order", "missing", "standardise", "lags")
MEANING = ("loss", "classes", "levels", "low", "high", "n_labels", "k", "quantile", "degrees", "costs")
LEARNING = ("learner", "kernel", "lam", "budget", "max_bytes", "baselines")
FIXED = (*READING, *MEANING, *LEARNING)
"""Settings that a run cannot change on its way."""

FREE = ("chunk", "limit", "max_line")
"""Settings that it can, and keeps where nothing else is said."""


def settings_of(options: Any) -> dict[str, Any]:
    """The settings of a command, as they were given or by default."""
    return {name: getattr(options, name, None) for name in (*FIXED, *FREE)}


def resumed(options: Namespace, kept: Mapping[str, Any], path: str) -> Namespace:
    """The options of a run that goes on: what the checkpoint says, and nothing that contradicts it."""
    for name in FIXED:
        if name in options.given and getattr(options, name) != kept.get(name):
            raise ReadError(
                f"--{name.replace('_', '-')} is {getattr(options, name)} and the run of {path} had "
                f"{kept.get(name)}: leave it out to go on as before, or start anew without --resume."
            )
    recalled = {name: kept[name] for name in (*FIXED, *FREE) if name in kept and name not in options.given}
    return Namespace(**{**vars(options), **recalled})


def command(file: str, settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The command that repeats a run from its beginning.

    >>> command("my tags.csv", {"loss": "f1", "degrees": True, "lam": None}, {"loss": None, "degrees": False})
    "oskaar replay 'my tags.csv' --loss f1 --degrees"
    """
    words = ["oskaar", "replay", file]
    for name, setting in settings.items():
        option = name.replace("_", "-")
        if setting is None or setting == defaults.get(name):
            continue
        if isinstance(setting, bool):
            words.append(f"--{option}" if setting else f"--no-{option}")
        elif str(setting).startswith("-"):
            words.append(f"--{option}={setting}")
        else:
            words += [f"--{option}", str(setting)]
    return shlex.join(words)

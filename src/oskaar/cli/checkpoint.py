"""Checkpoints: a run on its way as a file, in the format of `oskaar.state`. Data and names, nothing to execute.

A checkpoint has the learner, the baselines, the totals, what has been learned of the inputs (scaling), how far the
input has been read with a fingerprint of it, the settings, and `extra`: parts of others, as JSON knows them.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from oskaar import __version__, state
from oskaar.cli.company import AsListed, LeftHead, MeanSoFar
from oskaar.cli.models import Refitted
from oskaar.learners.base import Predictor
from oskaar.readers import ReadError

KIND = "oskaar replay"
COMPANY = {f"{one.__module__}:{one.__qualname__}": one for one in (AsListed, LeftHead, MeanSoFar, Refitted)}
"""What a checkpoint may name besides the classes that any state may."""

_COUNTS = ("count", "warmup", "used", "pulled", "skipped", "clipped", "written")


@dataclass
class Checkpoint:
    """A run between two rounds."""

    file: str
    settings: dict[str, Any]
    about: dict[str, Any]
    """What was guessed, which must come out again: the loss, the columns."""
    learner: Any
    company: dict[str, Any]
    count: int
    warmup: int
    total: float
    totals: dict[str, float]
    seconds: float
    reading: dict[str, Any]
    """Records used and pulled, the fingerprint, what was skipped and clipped, and the state of scaling."""
    out: str | None = None
    written: int = 0
    """The length of --out, whose fingerprint is `answers`."""
    answers: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    """Parts of others, by name, as JSON knows them."""
    version: str = __version__

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write it in one step; the size of the file."""
        try:
            state.save({"kind": KIND, **vars(self)}, path)
        except OSError as error:
            raise ReadError(f"the checkpoint {path} cannot be written: {error.strerror}.") from None
        return os.path.getsize(path)


def read_checkpoint(path: str) -> Checkpoint:
    """The run that a file keeps."""
    found = read_state(path)
    if not isinstance(found, Checkpoint):
        raise ReadError(f"{path} is a learner and no checkpoint of a run: oskaar.load({path!r}) reads it in Python.")
    return found


def read_state(path: str) -> Any:
    """The checkpoint, or the learner, that a file holds; a ReadError says what is wrong with it."""
    try:
        thing = state.load(path, allow=COMPANY)
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    except (state.StateError, zipfile.BadZipFile) as error:
        raise ReadError(f"{path} is no checkpoint that can be used: {error}") from None
    try:
        if isinstance(thing, dict):
            return _checked({str(name): part for name, part in thing.items()})
        state.require_kind(thing, Predictor, "a file")
        thing._check_state()
        return thing
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ReadError(f"{path} is no checkpoint that can be used: {error}") from None


def _checked(parts: dict[str, Any]) -> Checkpoint:
    state.require(parts.pop("kind", None) == KIND, "it is no checkpoint of oskaar replay")
    fields = set(Checkpoint.__dataclass_fields__)
    state.require(set(parts) == fields, f"these parts are missing or too many: {sorted(set(parts) ^ fields)[:3]}")
    kept = Checkpoint(**parts)
    for name in ("settings", "about", "company", "totals", "reading", "extra"):
        state.require_kind(parts[name], dict, name)
    for name in _COUNTS:
        state.require_count({**vars(kept), **kept.reading}.get(name), name)
    for number in (kept.total, kept.seconds, *kept.totals.values()):
        state.require(isinstance(number, float) and number == number, "totals must be numbers")
    state.require(set(kept.totals) == set(kept.company), "each baseline must have a total")
    for one in (kept.learner, *kept.company.values()):
        if isinstance(one, Predictor):
            one._check_state()
        else:
            state.require_kind(one, tuple(COMPANY.values()), "a learner")
    return kept


def free_name(file: str) -> str:
    """A name for the checkpoint of a run on a file, in this folder, that no file has yet.

    >>> free_name("there/no such.csv.gz")
    'no such.oskaar'
    """
    stem = "stdin" if file == "-" else PurePath(file).name.split(".")[0] or "run"
    name, n = f"{stem}.oskaar", 1
    while Path(name).exists():
        n += 1
        name = f"{stem}-{n}.oskaar"
    return name

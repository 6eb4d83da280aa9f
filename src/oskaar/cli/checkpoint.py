"""Models: a run as a file, in the format of `oskaar.state`, which `oskaar.load` opens. Data and names, no code.

A file has the learner, the baselines, the totals, how far the input has been read
with a fingerprint of it, the settings, and `extra`: the state of observers, as JSON. One is written every so many
rounds or seconds, at the end, and after control-C.
"""

from __future__ import annotations

import os
import re
import shlex
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from oskaar import __version__, state
from oskaar.cli.console import attempt, say
from oskaar.learners.base import Predictor
from oskaar.learners.baselines import AsListed, LeftHead, MeanSoFar
from oskaar.learners.batch import Refitted
from oskaar.memory import readable
from oskaar.state.writing import require_file
from oskaar.tabular import ReadError, TableStream

if TYPE_CHECKING:
    from oskaar.cli.run import Run

KIND = "oskaar learn"
CLASSES = (AsListed, LeftHead, MeanSoFar, Refitted)
"""Learners that are no `Predictor`."""

_COUNTS = ("count", "warmup", "used", "pulled", "skipped", "written")


@dataclass
class Checkpoint:
    """A run between two rounds."""

    file: str
    settings: dict[str, Any]
    about: dict[str, Any]
    """What was inferred, which must be inferred again: the loss, the columns."""
    learner: Any
    baselines: dict[str, Any]
    count: int
    warmup: int
    total: float
    totals: dict[str, float]
    seconds: float
    reading: dict[str, Any]
    """Records used and pulled, the fingerprint, and what was skipped."""
    out: str | None = None
    written: int = 0
    """The length of --out, whose fingerprint is `answers`."""
    answers: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    """The state of observers, by name, as JSON."""
    version: str = __version__

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write it in one step; the size of the file."""
        state.save({"kind": KIND, **vars(self)}, path)
        return os.path.getsize(path)


def read_checkpoint(path: str) -> Checkpoint:
    """The run that a file holds."""
    found = read_state(path)
    if not isinstance(found, Checkpoint):
        raise ReadError(f"{path} is a learner and no checkpoint of a run: oskaar.load({path!r}) reads it in Python.")
    return found


def read_state(path: str) -> Any:
    """The checkpoint, or the learner, that a file holds; a ReadError says what is wrong with it."""
    try:
        thing = state.load(path)
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
    state.require(parts.pop("kind", None) == KIND, "it is no checkpoint of oskaar learn")
    fields = set(Checkpoint.__dataclass_fields__)
    state.require(set(parts) == fields, f"these parts are missing or too many: {sorted(set(parts) ^ fields)[:3]}")
    kept = Checkpoint(**parts)
    for name in ("settings", "about", "baselines", "totals", "reading", "extra"):
        state.require_kind(parts[name], dict, name)
    for name in _COUNTS:
        state.require_count({**vars(kept), **kept.reading}.get(name), name)
    for number in (kept.total, kept.seconds, *kept.totals.values()):
        state.require(isinstance(number, float) and number == number, "totals must be numbers")
    state.require(set(kept.totals) == set(kept.baselines), "each baseline must have a total")
    for one in (kept.learner, *kept.baselines.values()):
        if isinstance(one, Predictor):
            one._check_state()
        else:
            state.require_kind(one, CLASSES, "a learner")
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


def require_same(stream: TableStream, kept: Checkpoint, options: Any) -> None:
    """Refuse a file from which something else is inferred than before."""
    name, about = stream.table.name, stream.about()
    for what, now in about.items():
        if kept.about.get(what) != now:
            raise ReadError(
                f"{name} is not what the checkpoint has read: {what} is {now!r:.80} and was "
                f"{kept.about.get(what)!r:.80}: give the file as it was, or start anew without --resume."
            )
    if options.file == "-":
        say(f"standard input must start again from its beginning: its first {kept.reading['used']} rows are skipped")
    if kept.written and not options.out:
        raise ReadError(f"the run of {options.resume} wrote its answers to {kept.out}: give --out {kept.out} again.")


def require_same_columns(about: dict[str, Any], kept: Checkpoint, name: str) -> None:
    """Refuse a file whose columns are not those that a model has learned from."""
    before, now = kept.about.get("x"), about.get("x")
    if before is None or now is None or set(before) == set(now):
        return
    missing, more = [c for c in before if c not in now], [c for c in now if c not in before]
    what = f"column {missing[0]!r} is missing" if missing else f"column {more[0]!r} is new"
    raise ReadError(
        f"{name} must have the columns that {kept.file} had, from which the model was learned: {what}. "
        f"They were {', '.join(before[:8])}{', ...' if len(before) > 8 else ''}."
    )


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def every(text: str) -> tuple[int, float]:
    """How often, in rounds (`1000`) or in seconds (`30s`, `5m`, `1h`); 0 for the other.

    >>> every("1000"), every("5m")
    ((1000, 0.0), (0, 300.0))
    """
    found = re.fullmatch(r"(\d+)\s*([smh]?)", text.strip())
    if not found or not int(found[1]):
        raise ReadError(
            f"--every must be a number of rounds, such as 1000, or a time, such as 30s or 5m, got {text!r}."
        )
    number, unit = int(found[1]), found[2]
    return (0, number * _UNITS[unit]) if unit else (number, 0.0)


def require_place(path: str) -> None:
    """Refuse a path that no checkpoint can be written to, before a long run and not after it."""
    folder = os.path.dirname(os.path.realpath(path))
    try:
        require_file(path)
        possible = os.path.isdir(folder) and os.access(folder, os.W_OK)
    except OSError:
        possible = False
    if not possible:
        raise ReadError(f"--model {path} cannot be written: it must be a file in a folder that is there.")


class Checkpointer:
    """Where the model goes, and when it is due. `path` None: only after control-C, under a free name.

    `path` "" writes none at all.
    """

    def __init__(self, options: Any) -> None:
        self.path: str | None = options.model or (options.resume if options.model is None else "")
        self._regular = bool(options.model)
        if self._regular:
            require_place(options.model)
        self._every_rounds, self._every_seconds = every(options.every)
        self._file, self._out = options.file, options.out
        self._last: tuple[int, float] | None = None

    def after(self, run: Run) -> None:
        """After a chunk: write where it is due. What cannot be written is reported, and the run continues."""
        if not self._regular:
            return
        done, now = run.count + run.warmup, time.monotonic()
        rounds, since = self._last = self._last or (run.earlier, now)
        if done - rounds >= self._every_rounds if self._every_rounds else now - since >= self._every_seconds:
            self._last = (done, now)
            attempt("the model", lambda: self._save(run), run.not_written)

    def _save(self, run: Run) -> None:
        run.checkpoint(self._file).save(str(self.path))
        if "the model" in run.not_written:
            run.not_written.remove("the model")  # it is there now

    def at_end(self, run: Run) -> str | None:
        """At the end of the stream, or where its next row is bad: the path."""
        if not self._regular or not run.whole:
            return None
        size = run.checkpoint(self._file).save(str(self.path))
        say(f"the model is {self.path}, {readable(size)}")
        return self.path

    def interrupted(self, run: Run) -> str | None:
        """After an interrupt: write, and print how to resume; the path."""
        if self.path == "":
            return None
        if not run.whole:
            say("stopped in the middle of some rounds: there is no model of them")
            return None
        path = self.path or free_name(self._file)
        size = run.checkpoint(self._file).save(path)
        out = ["--out", self._out] if self._out else []
        say(f"{run.count + run.warmup} rounds are kept in {path}, {readable(size)}")
        say("go on with: " + shlex.join(["oskaar", "learn", self._file, "--resume", path, *out]))
        return path

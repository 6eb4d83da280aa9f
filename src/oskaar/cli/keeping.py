"""Keeping checkpoints while a run goes on: every so many rounds or seconds, at the end, and after control-C."""

from __future__ import annotations

import os
import re
import shlex
import time
from typing import Any, NamedTuple

from oskaar.cli.checkpoint import free_name
from oskaar.cli.telling import say
from oskaar.memory import readable
from oskaar.readers import ReadError
from oskaar.state.writing import require_file

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Every(NamedTuple):
    """So many rounds, or so many seconds."""

    rounds: int | None = None
    seconds: float | None = None


def every(text: str) -> Every:
    """How often: `1000` rounds, or `30s`, `5m`, `1h`.

    >>> every("1000"), every("5m")
    (Every(rounds=1000, seconds=None), Every(rounds=None, seconds=300.0))
    """
    found = re.fullmatch(r"(\d+)\s*([smh]?)", text.strip())
    if not found or not int(found[1]):
        raise ReadError(
            f"--every must be a number of rounds, such as 1000, or a time, such as 30s or 5m, got {text!r}."
        )
    number, unit = int(found[1]), found[2]
    return Every(seconds=number * _UNITS[unit]) if unit else Every(rounds=number)


def require_place(path: str) -> None:
    """Refuse a path that no checkpoint can be written to, before a long run and not after it."""
    folder = os.path.dirname(os.path.realpath(path))
    try:
        require_file(path)
        possible = os.path.isdir(folder) and os.access(folder, os.W_OK)
    except OSError:
        possible = False
    if not possible:
        raise ReadError(f"--checkpoint {path} cannot be written: it must be a file in a folder that is there.")


class Keeper:
    """Where the checkpoint goes, and when it is due. `path` None: only after control-C, under a free name.

    `path` "" keeps none at all.
    """

    def __init__(self, options: Any) -> None:
        self.path: str | None = options.checkpoint or (options.resume if options.checkpoint is None else "")
        self._regular = bool(options.checkpoint)
        if self._regular:
            require_place(options.checkpoint)
        self._every = every(options.every)
        self._file, self._out = options.file, options.out
        self._last: tuple[int, float] | None = None

    def after(self, run: Any) -> None:
        """After a chunk: write where it is due."""
        if not self._regular:
            return
        done, now = run.count + run.warmup, time.monotonic()
        rounds, since = self._last or (run.began, now)
        self._last = (rounds, since)
        due = done - rounds >= self._every.rounds if self._every.rounds else now - since >= (self._every.seconds or 0)
        if due:
            self._last = (done, now)
            run.checkpoint(self._file).save(str(self.path))

    def at_end(self, run: Any) -> None:
        """At the end of the stream, or where its next row is bad."""
        if self._regular and run.whole:
            run.checkpoint(self._file).save(str(self.path))

    def interrupted(self, run: Any) -> str | None:
        """After control-C: write, and say how to go on; the path."""
        if self.path == "":
            return None
        if not run.whole:
            say("stopped in the middle of some rounds: there is no checkpoint of them")
            return None
        path = self.path or free_name(self._file)
        try:
            size = run.checkpoint(self._file).save(path)
        except (ValueError, MemoryError) as error:
            say(f"no checkpoint: {error}")
            return None
        out = ["--out", self._out] if self._out else []
        say(f"{run.count + run.warmup} rounds are kept in {path}, {readable(size)}")
        say("go on with: " + shlex.join(["oskaar", "replay", self._file, "--resume", path, *out]))
        return path

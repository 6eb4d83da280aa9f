"""Going on with a run: the same columns, and answers that follow those before them."""

from __future__ import annotations

from typing import Any

from oskaar.cli.checkpoint import Checkpoint
from oskaar.cli.rounds import Rounds
from oskaar.cli.telling import say
from oskaar.readers import ReadError


def require_same(rounds: Rounds, kept: Checkpoint, options: Any) -> None:
    """The first rows must say what they said before."""
    name, about = rounds.table.name, rounds.about()
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

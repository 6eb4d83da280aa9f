"""`oskaar replay FILE`: predict-then-learn over a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oskaar.cli.answers import opened
from oskaar.cli.checkpoint import read_checkpoint
from oskaar.cli.keeping import Keeper
from oskaar.cli.models import make_learner
from oskaar.cli.resuming import require_same
from oskaar.cli.rounds import Rounds
from oskaar.cli.running import Progress, Run
from oskaar.cli.settings import resumed
from oskaar.cli.telling import say, table
from oskaar.readers import read

if TYPE_CHECKING:
    from oskaar.cli.report import Report


def run(options: Any) -> int:
    """Do it, and print what came of it."""
    report = _report(options)
    kept = read_checkpoint(options.resume) if options.resume else None
    if kept:
        options = resumed(options, kept.settings, options.resume)
    keeper = Keeper(options)
    rounds = Rounds(read(options.file, options.format, options.encoding, options.max_line), options)
    learner = make_learner(options.learner, rounds.labels.loss, options, rounds.width)
    for note in rounds.notes:
        say(note)
    done = Run(rounds, learner, options.baselines)
    if kept:
        require_same(rounds, kept, options)
        done.restore(kept)
        say(f"{options.resume}: going on after {done.began} rounds")
    if report:
        done.observer = report.recorder(
            options.learner, rounds, done.baselines, kept.extra.get("report") if kept else None
        )
        done.parts["report"] = done.observer
    with opened(options.out, kept) as done.out:
        done.go(options.chunk, Progress(options.progress, options.limit, not options.budget), keeper)
    result = done.result()
    if done.interrupted:
        result["checkpoint"] = keeper.interrupted(done)
        say(f"interrupted: what follows is of the first {done.count} rounds")
    if done.rounds.clipped:
        say(f"{done.rounds.clipped} labels were outside the guessed range and moved to its ends: set the range")
    if report and done.observer:
        done.observer.finish(learner)
        say(f"the report is {report.write(done.observer, result)}")
    stream = sys.stderr if options.out == "-" else sys.stdout
    print(json.dumps(result) if options.json else "\n".join(_lines(options.learner, result)), file=stream, flush=True)
    return 130 if done.interrupted else 0


def _report(options: Any) -> Report | None:
    """The report that is asked for; what cannot be is refused before the run."""
    if not options.report:
        return None
    from oskaar.cli.report import Report

    return Report(options)


def _lines(name: str, result: dict[str, Any]) -> Iterator[str]:
    means = [(name, result["mean_loss"]), *result["baselines"].items()]
    yield f"{result['loss']}, {result['learner']}"
    yield f"{result['rounds']} rounds in {result['seconds']:.2f} s, {result['rounds_per_second'] or 0:.0f} a second"
    if result["not_judged"]:
        yield f"{result['not_judged']} rounds before them were learned, not judged"
    if result["skipped"]:
        yield f"{result['skipped']} rounds with missing values were skipped"
    yield ""
    yield from table([["", "mean loss"], *([key, "-" if m is None else f"{m:.4f}"] for key, m in means)])

"""`oskaar learn FILE`: predict, see the label, learn, row after row of a file.

The table comes first, whatever fails after it: the report, the model and the answers are written each on its own, and
what cannot be written is one sentence and exit code 1. A row that cannot be used ends the run with the table of the
rows before it and exit code 2; control-C and SIGTERM with 130 and 143.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from oskaar.cli.answers import opened
from oskaar.cli.checkpoint import Checkpoint, Checkpointer, read_checkpoint, require_same, require_same_columns
from oskaar.cli.console import Progress, attempt, complain, say, table
from oskaar.cli.models import make_learner
from oskaar.cli.run import Run
from oskaar.cli.settings import open_stream, resumed


def run(options: Any) -> int:
    """Run it, print the result, and write what was asked for; the exit code."""
    report = None
    if options.report:
        from oskaar.cli.report import Report

        report = Report(options)  # what it needs is missed before the run
    kept, options = _kept(options)
    done, checkpointer = _started(options, kept), Checkpointer(options)
    before = kept.extra.get("report") if kept and options.resume else None
    if report or before or (options.model and not options.resume):  # what is kept can be reported later
        from oskaar.cli.report import make_recorder

        done.observer = make_recorder(options.learner, done.stream, list(done.totals), before)
        done.parts["report"], done.fine = done.observer, report is not None
    with opened(options.out, kept if options.resume else None) as done.out:
        done.go(options.chunk, Progress(options.progress, options.limit), checkpointer)
    result, to = done.result(), sys.stderr if options.out == "-" else sys.stdout
    shown = done.error is None or done.count > 0
    try:
        if shown and not options.json:
            print("\n".join(lines(options.learner, result)), file=to, flush=True)
    finally:  # also where standard output takes nothing
        _deliver(done, checkpointer, report, result)
    if shown and options.json:
        print(json.dumps(result), file=to, flush=True)
    if done.error is not None:
        if options.debug or isinstance(done.error, OSError):
            raise done.error
        complain(str(done.error) or "there is not enough memory: give --budget, such as 128.")
        return 2
    return 128 + done.signal if done.interrupted else int(bool(result["not_written"]))


def _kept(options: Namespace) -> tuple[Checkpoint | None, Namespace]:
    """The run that is resumed, or the model that learns a new file; and the options with its settings."""
    path = options.resume or (options.model if options.model and os.path.exists(options.model) else None)
    if path is None:
        return None, options
    kept = read_checkpoint(path)
    options = resumed(options, kept.settings, path)
    if not options.resume:  # what was inferred from the first file holds for the others
        options.loss = kept.about["loss"]
        if "tags_separator" not in options.given:
            options.tags_separator = kept.about["separator"]
        options.y = options.y or ",".join(kept.about["y"])
    return kept, options


def _started(options: Namespace, kept: Checkpoint | None) -> Run:
    """A run on the file, with a new learner or with the one that was kept."""
    stream = open_stream(options)
    learner = kept.learner if kept else make_learner(options.learner, stream.labels.loss, options, stream.width)
    if kept and hasattr(learner, "max_bytes"):
        learner.max_bytes = int(options.max_bytes)  # it may be raised
    for note in stream.notes:
        say(note)
    done = Run(stream, learner, options)
    if kept and options.resume:
        require_same(stream, kept, options)
        done.restore(kept)
        say(f"{options.resume}: going on after {done.earlier} rounds")
    elif kept:
        require_same_columns(stream.about(), kept, stream.table.name)
        say(f"{options.model} has learned {kept.count + kept.warmup} rounds: it goes on with those of this file")
    return done


def _deliver(done: Run, checkpointer: Checkpointer, report: Any, result: dict[str, Any]) -> None:
    """Write the model and the report; a failure is reported, and the other one is written."""

    def model() -> None:
        if done.interrupted:
            result["model"] = checkpointer.interrupted(done)
            say(f"interrupted: the result is of the first {done.count} rounds")
        else:
            result["model"] = checkpointer.at_end(done)

    def page() -> None:
        if report and done.observer and (done.error is None or done.count):
            done.observer.finish(done.learner)
            say(f"the report is {report.write(done.observer, {**result, **done.labels()})}")

    for what, write in (("the model", model), ("the report", page)):
        attempt(what, write, done.not_written)
    result["not_written"] = done.not_written


def lines(name: str, result: dict[str, Any]) -> Iterator[str]:
    """The result for people: what was learned, a table of mean losses, and the verdict."""
    means = [(name, result["mean_loss"]), *result["baselines"].items()]
    yield f"{result['loss']}, {result['learner']}"
    yield f"{result['rounds']} rounds in {result['seconds']:.2f} s, {result['rounds_per_second'] or 0:.0f} a second"
    if result["not_judged"]:
        yield f"{result['not_judged']} rounds before them were learned, not judged"
    if result["skipped"]:
        yield f"{result['skipped']} rounds with missing values were skipped"
    yield ""
    if result["metrics"]:
        yield ", ".join(f"{key} {value:.4g}" for key, value in result["metrics"].items())
        yield ""
    yield from table([["", "mean loss"], *([key, "-" if m is None else f"{m:.4f}"] for key, m in means)])
    if result["verdict"]:
        yield f"\n{result['verdict']}"

"""`oskaar replay FILE`: predict-then-learn over a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from oskaar.cli.answers import opened
from oskaar.cli.checkpoint import Checkpointer, read_checkpoint, require_same
from oskaar.cli.console import Progress, say, table
from oskaar.cli.models import make_learner
from oskaar.cli.run import Run
from oskaar.cli.settings import open_stream, resumed


def run(options: Any) -> int:
    """Run it, and print the result."""
    report = None
    if options.report:
        from oskaar.cli.report import Report

        report = Report(options)  # what it needs is missed before the run
    kept = read_checkpoint(options.resume) if options.resume else None
    if kept:
        options = resumed(options, kept.settings, options.resume)
    checkpointer = Checkpointer(options)
    stream = open_stream(options)
    learner = make_learner(options.learner, stream.labels.loss, options, stream.width)
    for note in stream.notes:
        say(note)
    done = Run(stream, learner, options)
    if kept:
        require_same(stream, kept, options)
        done.restore(kept)
        say(f"{options.resume}: going on after {done.began} rounds")
    if report:
        before = kept.extra.get("report") if kept else None
        done.observer = report.recorder(options.learner, stream, done.baselines, before)
        done.parts["report"] = done.observer
    with opened(options.out, kept) as done.out:
        done.go(options.chunk, Progress(options.progress, options.limit, not options.budget), checkpointer)
    result = done.result()
    if done.interrupted:
        result["checkpoint"] = checkpointer.interrupted(done)
        say(f"interrupted: what follows is of the first {done.count} rounds")
    if report and done.observer:
        done.observer.finish(learner)
        say(f"the report is {report.write(done.observer, result)}")
    to = sys.stderr if options.out == "-" else sys.stdout
    print(json.dumps(result) if options.json else "\n".join(_lines(options.learner, result)), file=to, flush=True)
    return 130 if done.interrupted else 0


def _lines(name: str, result: dict[str, Any]) -> Iterator[str]:
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

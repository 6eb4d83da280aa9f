"""`oskaar replay FILE`: predict-then-learn over a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from oskaar.cli.models import make_learner
from oskaar.cli.rounds import Rounds
from oskaar.cli.running import Progress, Run, say, table
from oskaar.readers import ReadError, read

if TYPE_CHECKING:
    from oskaar.cli.report import Report


def run(options: Any) -> int:
    """Do it, and print what came of it."""
    report = _report(options)
    rounds = Rounds(read(options.file, options.format, options.encoding), options)
    learner = make_learner(options.learner, rounds.labels.loss, options, rounds.width)
    for note in rounds.notes:
        say(note)
    with _opened(options.out) as out:
        done = Run(rounds, learner, options.baselines, out)
        done.observer = report.recorder(options.learner, rounds, done.baselines) if report else None
        done.go(options.chunk, Progress(options.progress, options.limit, not options.budget))
    result = done.result()
    if done.interrupted:
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


@contextmanager
def _opened(path: str | None) -> Iterator[IO[str] | None]:
    if path is None or path == "-":
        yield sys.stdout if path else None
        return
    try:
        handle = open(path, "w", encoding="utf-8")  # noqa: SIM115, closed below
    except OSError as error:
        raise ReadError(f"--out {path} cannot be written: {error.strerror}.") from None
    with handle:
        yield handle

"""`--report FILE` and `oskaar report MODEL`: from a run to a page of `oskaar.reports`.

A run with --model is recorded in the model: its page can be made later, and without the data.
"""

from __future__ import annotations

import json
import os
from typing import Any

from oskaar.arrays import Array
from oskaar.cli.checkpoint import Checkpoint, read_checkpoint
from oskaar.cli.console import say
from oskaar.cli.options import defaults
from oskaar.cli.settings import command_line
from oskaar.reports import Destination, Recorder, comparison, html, require_plotly
from oskaar.tabular import ReadError, TableStream

WHERE = {
    *("command", "file", "config", "given", "json", "debug", "quiet", "progress", "jobs"),
    *("out", "report", "model", "resume", "every"),
}
"""Options that change nothing in the result."""


DEFAULT = "report.html"


def run(options: Any) -> int:
    """Write the page of the run that a model holds; the exit code."""
    require_plotly()
    if options.out is None and os.path.exists(DEFAULT):
        raise ReadError(f"{DEFAULT} is there already: --out names another file, or this one.")
    destination, kept = Destination(options.out or DEFAULT), read_checkpoint(options.model)
    destination.write(_page(kept, options.model))
    if options.json:
        print(json.dumps({"report": destination.path, "rounds": kept.count}))
    say(f"the report is {destination.path}")
    return 0


def _page(kept: Checkpoint, path: str) -> str:
    """The page of a run as far as its model has come."""
    if "report" not in kept.extra or "result" not in kept.extra:
        raise ReadError(f"{path} has no record of its run: learn anew with --model, or with --report {DEFAULT}.")
    try:
        recorder = Recorder.from_dict(kept.extra["report"])
        recorder.finish(kept.learner)
        command = command_line("learn", kept.file, kept.settings, defaults("learn"))
        title = f"{recorder.name} on {'standard input' if kept.file == '-' else kept.file}"
        return html(recorder, kept.extra["result"], title=title, command=command)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ReadError(f"{path} has no record that can be used: {error!r:.80}.") from None


class Report:
    """The report of a run. Made before it, so that what the report needs is missed before and not after the run."""

    def __init__(self, options: Any) -> None:
        require_plotly()
        self._destination = Destination(options.report)
        self._command = repeating(options)
        self._stream = "standard input" if options.file == "-" else options.file

    def write(self, recorder: Recorder, result: dict[str, Any]) -> str:
        title = f"{recorder.name} on {self._stream}"
        self._destination.write(html(recorder, result, title=title, command=self._command))
        return self._destination.path

    def write_comparison(self, losses: dict[str, Array], rows: Any, judged: Any, result: dict[str, Any]) -> str:
        more = {"judged": judged, "title": f"{len(rows)} learners on {self._stream}", "command": self._command}
        self._destination.write(comparison(losses, rows, result=result, **more))
        return self._destination.path


def make_recorder(
    name: str, stream: TableStream, baselines: list[str], kept: dict[str, Any] | None = None
) -> Recorder:
    """The observer of a run; `kept` is the result of `to_dict`, for a run that is resumed."""
    if kept:
        return Recorder.from_dict(kept, stream.names, stream.labels.show)
    return Recorder(name, baselines, stream.names, stream.labels.show)


def repeating(options: Any) -> str:
    """The command that repeats a run, with every option that is not at its default, those of --config among them.

    >>> from oskaar.cli.options import parse
    >>> repeating(parse(["learn", "my file.csv", "--y", "a", "--no-baselines", "--json"]))
    "oskaar learn 'my file.csv' --y a --no-baselines"
    """
    settings = {name: setting for name, setting in vars(options).items() if name not in WHERE}
    return command_line(options.command, options.file, settings, defaults(options.command))

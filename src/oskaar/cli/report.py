"""`--report FILE`: from the options and the result of a run to a page of `oskaar.reports`."""

from __future__ import annotations

import shlex
from typing import Any

from oskaar.cli.options import parser
from oskaar.cli.rounds import Rounds
from oskaar.reports import Destination, Recorder, html, require_plotly

WHERE = ("command", "file", "config", "json", "debug", "out", "progress", "report", "checkpoint", "resume", "every")
"""Options that change nothing in what comes out."""


class Report:
    """A report to be; made before the run, so that what it needs is missed before and not after it."""

    def __init__(self, options: Any) -> None:
        require_plotly()
        self._destination = Destination(options.report)
        self._command = command_line(options)
        self._file = options.file

    def recorder(self, name: str, rounds: Rounds, baselines: list[str]) -> Recorder:
        """The observer of the run."""
        return Recorder(name, baselines, rounds.names, rounds.labels.show)

    def write(self, recorder: Recorder, result: dict[str, Any]) -> str:
        """Write it; where."""
        title = f"{recorder.name} on {'standard input' if self._file == '-' else self._file}"
        self._destination.write(html(recorder, result, title=title, command=self._command))
        return self._destination.path


def command_line(options: Any) -> str:
    """What to type to do it again, with every option that is not at its default, those of --config among them.

    >>> from oskaar.cli.options import parse
    >>> command_line(parse(["replay", "my file.csv", "--y", "a", "--no-baselines", "--json"]))
    "oskaar replay 'my file.csv' --y a --no-baselines"
    """
    words = ["oskaar", options.command, options.file]
    defaults = vars(parser().parse_args([options.command]))
    for name, default in defaults.items():
        given, option = getattr(options, name), name.replace("_", "-")
        if name in WHERE or given == default or given is None:
            continue
        if isinstance(given, bool):
            words.append(f"--{option}" if given else f"--no-{option}")
        else:
            words += [f"--{option}={given}"] if str(given).startswith("-") else [f"--{option}", str(given)]
    return shlex.join(words)

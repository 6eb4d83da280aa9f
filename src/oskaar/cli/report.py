"""`--report FILE`: from the options and the result of a run to a page of `oskaar.reports`."""

from __future__ import annotations

import shlex
from typing import Any

from oskaar.arrays import Array
from oskaar.cli.options import parser
from oskaar.cli.rounds import Rounds
from oskaar.reports import Destination, Recorder, comparison, html, require_plotly

WHERE = (
    "command",
    "file",
    "config",
    "json",
    "debug",
    "out",
    "progress",
    "report",
    "jobs",
    "checkpoint",
    "resume",
    "every",
)
"""Options that change nothing in what comes out."""


class Report:
    """A report to be; made before the run, so that what it needs is missed before and not after it."""

    def __init__(self, options: Any) -> None:
        require_plotly()
        self._destination = Destination(options.report)
        self._command = command_line(options)
        self._file = options.file

    def recorder(
        self, name: str, rounds: Rounds, baselines: list[str], kept: dict[str, Any] | None = None
    ) -> Recorder:
        """The observer of the run; `kept` is what `to_dict` gave, for a run that goes on."""
        if kept:
            return Recorder.from_dict(kept, rounds.names, rounds.labels.show)
        return Recorder(name, baselines, rounds.names, rounds.labels.show)

    def write(self, recorder: Recorder, result: dict[str, Any]) -> str:
        """Write it; where."""
        title = f"{recorder.name} on {self._stream}"
        self._destination.write(html(recorder, result, title=title, command=self._command))
        return self._destination.path

    def write_comparison(self, losses: dict[str, Array], rows: Any, judged: Any, result: dict[str, Any]) -> str:
        """Write that of several learners; where."""
        more = {"judged": judged, "title": f"{len(rows)} learners on {self._stream}", "command": self._command}
        self._destination.write(comparison(losses, rows, result=result, **more))
        return self._destination.path

    @property
    def _stream(self) -> str:
        return "standard input" if self._file == "-" else str(self._file)


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

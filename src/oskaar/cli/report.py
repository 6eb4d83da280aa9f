"""`--report FILE`: from the options and the result of a run to a page of `oskaar.reports`."""

from __future__ import annotations

from typing import Any

from oskaar.arrays import Array
from oskaar.cli.options import defaults
from oskaar.cli.settings import command_line
from oskaar.reports import Destination, Recorder, comparison, html, require_plotly
from oskaar.tabular import TableStream

WHERE = {
    *("command", "file", "config", "given", "json", "debug", "quiet", "progress", "jobs"),
    *("out", "report", "model", "resume", "every"),
}
"""Options that change nothing in the result."""


class Report:
    """The report of a run. Made before it, so that what the report needs is missed before and not after the run."""

    def __init__(self, options: Any) -> None:
        require_plotly()
        self._destination = Destination(options.report)
        self._command = repeating(options)
        self._file = options.file

    def recorder(
        self, name: str, stream: TableStream, baselines: list[str], kept: dict[str, Any] | None = None
    ) -> Recorder:
        """The observer of the run; `kept` is what `to_dict` gave, for a run that is resumed."""
        if kept:
            return Recorder.from_dict(kept, stream.names, stream.labels.show)
        return Recorder(name, baselines, stream.names, stream.labels.show)

    def write(self, recorder: Recorder, result: dict[str, Any]) -> str:
        """Write the page of a run; its path."""
        title = f"{recorder.name} on {self._stream}"
        self._destination.write(html(recorder, result, title=title, command=self._command))
        return self._destination.path

    def write_comparison(self, losses: dict[str, Array], rows: Any, judged: Any, result: dict[str, Any]) -> str:
        """Write the page of several learners; its path."""
        more = {"judged": judged, "title": f"{len(rows)} learners on {self._stream}", "command": self._command}
        self._destination.write(comparison(losses, rows, result=result, **more))
        return self._destination.path

    @property
    def _stream(self) -> str:
        return "standard input" if self._file == "-" else str(self._file)


def repeating(options: Any) -> str:
    """The command that repeats a run, with every option that is not at its default, those of --config among them.

    >>> from oskaar.cli.options import parse
    >>> repeating(parse(["learn", "my file.csv", "--y", "a", "--no-baselines", "--json"]))
    "oskaar learn 'my file.csv' --y a --no-baselines"
    """
    settings = {name: setting for name, setting in vars(options).items() if name not in WHERE}
    return command_line(options.command, options.file, settings, defaults(options.command))

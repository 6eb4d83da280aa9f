"""Messages and progress on standard error, tables on standard output."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oskaar.cli.run import Run


PACE = 50
"""The pace is that of so many lines of progress, 10 seconds or more."""

MEASURED = 3.0
"""Seconds that are measured before the time left is shown: the first rounds are slower than others."""


class _Console:
    quiet = False


def be_quiet(quiet: bool) -> None:
    """Turn messages off, or on."""
    _Console.quiet = quiet


def say(text: str) -> None:
    """A message on standard error, apart from results."""
    if not _Console.quiet:
        print(f"oskaar: {text}", file=sys.stderr)


def complain(text: str) -> None:
    """What went wrong, in one line on standard error, also where messages are left out."""
    print("oskaar: " + " ".join(text.split()), file=sys.stderr)


def attempt(what: str, write: Callable[[], None], not_written: list[str]) -> None:
    """Write something. A failure is reported in one sentence, its name is added to `not_written`, the run continues.

    >>> failed = []
    >>> attempt("the report", lambda: None, failed)
    >>> failed
    []
    """
    try:
        write()
    except (OSError, ValueError, MemoryError) as error:
        if what not in not_written:
            not_written.append(what)
        reason = getattr(error, "strerror", None) or str(error) or "there is not enough memory"
        named = "cannot be written" in reason
        complain(reason if named else f"{what} could not be written: {reason.rstrip('.')}.")


def table(rows: list[list[str]]) -> Iterator[str]:
    """Lines with aligned columns, the first to the left, the others to the right.

    >>> list(table([["a", "loss"], ["oskaar", "0.5"]]))
    ['a       loss', 'oskaar   0.5']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(cells).rstrip()


class Progress:
    """A line on standard error, written over a few times a second."""

    def __init__(self, wanted: bool | None, limit: int | None) -> None:
        self._on = sys.stderr.isatty() if wanted is None else wanted
        self._limit = limit
        self._last = self._width = 0.0
        self._recent: deque[tuple[float, float]] = deque(maxlen=PACE)
        """The last times, and how much had been done."""

    def show(self, run: Run) -> None:
        """Rounds, their pace, the mean loss and the time left at the pace of late, where that is known."""
        done = run.count + run.warmup
        now = time.perf_counter()
        if not self._on or now - self._last < 0.2:
            return
        self._last = now
        mean = "" if run.mean_loss is None else f", mean loss {run.mean_loss:.4f}"
        fraction = done / self._limit if self._limit else run.stream.table.fraction()
        left = self._left(run.seconds, fraction)
        line = f"{done} rounds, {done / run.seconds:.0f} a second{mean}{left}"
        sys.stderr.write("\r" + line.ljust(int(self._width)))
        sys.stderr.flush()
        self._width = len(line)

    def _left(self, seconds: float, fraction: float | None) -> str:
        """The time left at the pace of the last seconds; empty before it was measured."""
        if fraction is None:
            return ""
        self._recent.append((seconds, fraction))
        before, done = self._recent[0]
        if seconds - before < MEASURED or fraction <= done:
            return ""
        return f", about {(1 - fraction) * (seconds - before) / (fraction - done):.0f} s left"

    def end(self) -> None:
        """End the line, so that what follows starts on a new one."""
        if self._width:
            sys.stderr.write("\n")

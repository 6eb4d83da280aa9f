"""The loop: chunks of rounds, predicted and learned, with what came of them told on the way."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from oskaar.cli.models import make_baselines
from oskaar.cli.rounds import Round, Rounds
from oskaar.readers import ReadError
from oskaar.replays import replay

if TYPE_CHECKING:
    from oskaar.reports import Recorder

MANY = 5000
"""After so many exact rounds a budget is worth a word."""


class Run:
    """A learner and the baselines on one stream; memory does not grow with the stream, but for the learner's own."""

    def __init__(self, rounds: Rounds, learner: Any, baselines: bool, out: IO[str] | None = None) -> None:
        self.rounds, self.learner, self.out = rounds, learner, out
        self.observer: Recorder | None = None
        self.loss = rounds.labels.loss
        self._company = make_baselines(self.loss) if baselines else {}
        self.count, self.warmup, self.total = 0, 0, 0.0
        self.totals = dict.fromkeys(self._company, 0.0)
        self.seconds = 0.0
        self.interrupted = False

    def go(self, chunk: int, progress: Progress) -> None:
        """All rounds, or as many as there are before control-C."""
        start = time.perf_counter()
        stream = iter(self.rounds)
        try:
            while rounds := list(islice(stream, self.observer.chunk(chunk) if self.observer else chunk)):
                self._learn(rounds)
                self.seconds = time.perf_counter() - start
                progress.show(self)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.seconds = time.perf_counter() - start
            progress.end()

    def _learn(self, rounds: list[Round]) -> None:
        xs: Any = [r.x for r in rounds]
        xs = np.array(xs) if self.rounds.dense and not self.loss.parts else xs
        ys = [r.y for r in rounds]
        start = time.perf_counter()
        try:
            happened = replay(self.learner, xs, ys, loss=self.loss, keep_estimates=False)
        except (ValueError, TypeError, MemoryError) as error:
            where = f"{self.rounds.table.name}, lines {rounds[0].line} to {rounds[-1].line}"
            raise ReadError(f"{where}: {error}") from error
        seconds = time.perf_counter() - start
        judged = np.array([not r.warm for r in rounds])
        losses = {name: replay(one, xs, ys, loss=self.loss).losses for name, one in self._company.items()}
        before, self.count = self.count, self.count + int(judged.sum())
        self.warmup += int((~judged).sum())
        self.total += float(happened.losses[judged].sum())
        for name in losses:
            self.totals[name] += float(losses[name][judged].sum())
        if self.observer:
            from oskaar.reports import Chunk

            lines = [r.line for r in rounds]
            self.observer.add(Chunk(self.learner, xs, ys, happened, losses, seconds, judged, lines))
        self._write(rounds, happened, before)

    def _write(self, rounds: list[Round], happened: Any, number: int) -> None:
        if self.out is None:
            return
        show = self.rounds.labels.show
        for r, z, loss in zip(rounds, happened.predictions, happened.losses, strict=True):
            number += not r.warm
            row = {"round": None if r.warm else number, "line": r.line, "prediction": show(z)}
            self.out.write(json.dumps({**row, "loss": float(loss)}, default=str) + "\n")
        self.out.flush()

    @property
    def baselines(self) -> list[str]:
        """The names of the baselines."""
        return list(self.totals)

    @property
    def mean_loss(self) -> float | None:
        """The mean over judged rounds; None where there were none."""
        return self.total / self.count if self.count else None

    def result(self) -> dict[str, Any]:
        """What came of it, as JSON knows it."""
        means = {name: total / self.count if self.count else None for name, total in self.totals.items()}
        rounds = self.count + self.warmup
        return {
            "rounds": self.count,
            "mean_loss": self.mean_loss,
            "rounds_per_second": rounds / self.seconds if self.seconds else None,
            "baselines": means,
            "loss": repr(self.loss),
            "learner": repr(self.learner),
            "seconds": self.seconds,
            "not_judged": self.warmup,
            "skipped": self.rounds.skipped,
            "clipped": self.rounds.clipped,
            "interrupted": self.interrupted,
            "file": self.rounds.table.name,
            "guesses": self.rounds.notes,
        }


class Progress:
    """A line on standard error, written over a few times a second."""

    def __init__(self, wanted: bool | None, limit: int | None, exact: bool) -> None:
        self._on = sys.stderr.isatty() if wanted is None else wanted
        self._limit, self._exact = limit, exact
        self._last = self._width = 0.0

    def show(self, run: Run) -> None:
        """Rounds, their pace, the mean loss and the time left, where that is known."""
        done = run.count + run.warmup
        if self._exact and done >= MANY:
            self._exact = False
            say(f"{done} exact rounds: each takes longer than the one before; --budget 256 makes their cost constant")
        now = time.perf_counter()
        if not self._on or now - self._last < 0.2:
            return
        self._last = now
        mean = "" if run.mean_loss is None else f", mean loss {run.mean_loss:.4f}"
        fraction = done / self._limit if self._limit else run.rounds.table.fraction()
        left = f", about {run.seconds * (1 / fraction - 1):.0f} s left" if fraction else ""
        line = f"{done} rounds, {done / run.seconds:.0f} a second{mean}{left}"
        sys.stderr.write("\r" + line.ljust(int(self._width)))
        sys.stderr.flush()
        self._width = len(line)

    def end(self) -> None:
        """Leave the line."""
        if self._width:
            sys.stderr.write("\n")


def say(text: str) -> None:
    """A word on standard error, apart from results."""
    print(f"oskaar: {text}", file=sys.stderr)


def table(rows: list[list[str]]) -> Iterator[str]:
    """Lines with aligned columns, the first to the left, the others to the right.

    >>> list(table([["a", "loss"], ["oskaar", "0.5"]]))
    ['a       loss', 'oskaar   0.5']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(cells).rstrip()

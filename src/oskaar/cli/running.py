"""The loop: chunks of rounds, predicted and learned, with what came of them told on the way."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from oskaar.cli.answers import Answers
from oskaar.cli.checkpoint import Checkpoint
from oskaar.cli.company import make_baselines
from oskaar.cli.keeping import Keeper
from oskaar.cli.rounds import Round, Rounds
from oskaar.cli.stopping import Stopping
from oskaar.cli.telling import say
from oskaar.readers import ReadError
from oskaar.replays import replay

if TYPE_CHECKING:
    from oskaar.reports import Recorder

MANY = 5000
"""After so many exact rounds a budget is worth a word."""


class Run:
    """A learner and the baselines on one stream; memory does not grow with the stream, but for the learner's own."""

    def __init__(self, rounds: Rounds, learner: Any, baselines: bool, out: Answers | None = None) -> None:
        self.rounds, self.learner, self.out = rounds, learner, out
        self.parts: dict[str, Any] = {}
        """Observers with `to_dict`, by name: what that gives goes into checkpoints as `extra`."""
        self.observer: Recorder | None = None
        self.loss = rounds.labels.loss
        self._company = make_baselines(self.loss) if baselines else {}
        self.count, self.warmup, self.total = 0, 0, 0.0
        self.totals = dict.fromkeys(self._company, 0.0)
        self.seconds = 0.0
        self.interrupted = False
        self.whole = True
        """False while some rounds are learned and not yet counted."""
        self.began, self._reading = 0, rounds.state()

    def go(self, chunk: int, progress: Progress, keeper: Keeper | None = None) -> None:
        """All rounds, or as many as there are before control-C, which waits until those at hand are done."""
        start = time.perf_counter() - self.seconds
        stream = iter(self.rounds)
        try:
            with Stopping() as stopping:
                while rounds := list(islice(stream, self.observer.chunk(chunk) if self.observer else chunk)):
                    with stopping.whole():
                        self._learn(rounds)
                        self.seconds = time.perf_counter() - start
                    progress.show(self)
                    if keeper:
                        keeper.after(self)
                if keeper:
                    keeper.at_end(self)
        except KeyboardInterrupt:
            self.interrupted = True
        except ReadError:
            if keeper:
                with suppress(ReadError):  # the first error is the one to tell
                    keeper.at_end(self)
            raise
        finally:
            self.seconds = time.perf_counter() - start
            progress.end()

    def _learn(self, rounds: list[Round]) -> None:
        xs: Any = [r.x for r in rounds]
        xs = np.array(xs) if self.rounds.dense and not self.loss.parts else xs
        ys = [r.y for r in rounds]
        self.whole = False
        start = time.perf_counter()
        try:
            happened = replay(self.learner, xs, ys, loss=self.loss, keep_estimates=False)
        except (ValueError, TypeError, MemoryError) as error:
            where = f"{self.rounds.table.name}, lines {rounds[0].line} to {rounds[-1].line}"
            more = ": use fewer columns (--x, --y)" if "Unable to allocate" in str(error) else ""
            raise ReadError(f"{where}: {error}{more}") from error
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
        if self.out is not None:
            self.out.write(rounds, happened, before, self.rounds.labels.show)
        self._reading, self.whole = self.rounds.state(), True

    def checkpoint(self, file: str) -> Checkpoint:
        """All that it takes to go on later."""
        return Checkpoint(
            file=file,
            settings=self.rounds.settings,
            about=self.rounds.about(),
            learner=self.learner,
            company=self._company,
            count=self.count,
            warmup=self.warmup,
            total=self.total,
            totals=self.totals,
            seconds=self.seconds,
            reading=self._reading,
            **(self.out.state() if self.out else {}),
            extra={name: part.to_dict() for name, part in self.parts.items()},
        )

    def restore(self, kept: Checkpoint) -> None:
        """Go on where a checkpoint is; the input is read again up to there."""
        self.rounds.restore(kept.reading)
        self.learner, self._company = kept.learner, kept.company
        self.count, self.warmup, self.total, self.totals = kept.count, kept.warmup, kept.total, dict(kept.totals)
        self.seconds, self.began = kept.seconds, kept.count + kept.warmup
        self._reading = kept.reading

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

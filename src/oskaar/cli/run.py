"""The loop over a stream: chunks of rounds, predicted and learned, with progress and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oskaar.cli.answers import Answers
from oskaar.cli.checkpoint import Checkpoint, Checkpointer
from oskaar.cli.console import Progress, say
from oskaar.cli.delayed import Delayed
from oskaar.cli.interrupts import Interrupts
from oskaar.cli.models import make_baselines
from oskaar.cli.settings import FIXED, FREE
from oskaar.learners.learner import OnlineLearner
from oskaar.metrics import Metrics, verdict
from oskaar.replays import replay, replay_until_refused
from oskaar.tabular import ReadError, Round, TableStream

if TYPE_CHECKING:
    from oskaar.reports import Recorder


MOST_LINES = 40
"""So many columns are listed one by one."""


class Pulled(NamedTuple):
    """Rounds of a stream, how far it had been read after each of them, and what ended it, if anything did."""

    rounds: list[Round]
    states: list[dict[str, Any]]
    error: ReadError | None


class Run:
    """A learner and the baselines on one stream; memory does not grow with the stream, but for the learner's own."""

    def __init__(self, stream: TableStream, learner: Any, options: Any) -> None:
        self.stream, self.learner = stream, learner
        self.out: Answers | None = None
        self._settings = {name: getattr(options, name, None) for name in (*FIXED, *FREE)}
        self.parts: dict[str, Any] = {}
        """Observers with `to_dict`, by name: what that gives goes into checkpoints as `extra`."""
        self.observer: Recorder | None = None
        self.fine = False
        """Whether the first chunks are shorter, so that the observer sees more of them."""
        self.loss = stream.labels.loss
        self._baselines = make_baselines(self.loss) if options.baselines else {}
        self._delayed = Delayed(learner, self._baselines, self.loss, options.delay) if options.delay else None
        self.count, self.warmup, self.total = 0, 0, 0.0
        self.totals = dict.fromkeys(self._baselines, 0.0)
        self.seconds = 0.0
        self.metrics = Metrics(self.loss)
        self.interrupted, self.signal = False, 0
        self.error: Exception | None = None
        """What ended the run before the end of the file."""
        self.not_written: list[str] = []
        self.whole = True
        """False while some rounds are learned and not yet counted."""
        self.earlier, self._reading = 0, stream.state()
        self._noted = len(stream.notes)
        self._listed: dict[str, str] = {}
        """The columns that have been listed, and the kind of each."""

    def go(self, chunk: int, progress: Progress, checkpointer: Checkpointer) -> None:
        """All rounds, or as many as there are before control-C, which waits until those at hand are done."""
        start = time.perf_counter() - self.seconds
        rounds_left, pulled = iter(self.stream), Pulled([], [], None)
        interrupts = Interrupts()
        try:
            with interrupts:
                while pulled.error is None and (pulled := self._pull(rounds_left, chunk)).rounds:
                    with interrupts.whole():
                        self._learn(pulled)
                        self.seconds = time.perf_counter() - start
                    self._say_notes()
                    self._say_columns()
                    progress.show(self)
                    checkpointer.after(self)
                if self._delayed:  # the last labels
                    with interrupts.whole():
                        self._learn(Pulled([], [self.stream.state()], None), last=True)
                if pulled.error:
                    raise pulled.error
        except KeyboardInterrupt:
            self.interrupted, self.signal = True, interrupts.number
        except (ReadError, MemoryError, OSError) as error:
            self.error = error
        finally:
            self.seconds = time.perf_counter() - start
            progress.end()

    def _say_notes(self) -> None:
        """Print new contradictions of rows to what was inferred from the first ones."""
        for note in self.stream.notes[self._noted :]:
            say(note)
        self._noted = len(self.stream.notes)

    def _say_columns(self) -> None:
        """Print the kinds of the columns of x after the first rounds, and later changes of them."""
        schema = self._schema()
        if schema is None or not schema.columns or schema.bag:
            return
        new = {str(column.name): column.kind for column in schema.columns}
        if not self._listed:
            say(f"x was read as follows in the first {schema.rows} rows; --as and --drop say otherwise:")
            for line in column_lines(schema):
                say(f"  {line}")
        for name, kind in new.items() if self._listed else ():
            if self._listed.get(name) != kind:
                before = f", before as {self._listed[name]}" if name in self._listed else ", which is new"
                say(f"{name!r} is read as {kind} now{before}: --as {name}=... settles it")
        self._listed = new

    def _pull(self, rounds_left: Any, most: int) -> Pulled:
        """The next rounds; those before a line that cannot be used are learned, before it ends the run."""
        pulled = Pulled([], [], None)
        most = self.observer.chunk(most) if self.observer and self.fine else most
        try:
            for one in islice(rounds_left, most):
                pulled.rounds.append(one)
                pulled.states.append(self.stream.state())
        except ReadError as refused:
            return pulled._replace(error=refused)
        return pulled

    def _learn(self, pulled: Pulled, last: bool = False) -> None:
        """Answer rounds and learn them, or, where labels are late, those whose labels have come."""
        rounds, states = pulled.rounds, pulled.states
        before, self.whole, refused = getattr(self.learner, "rounds", 0), False, None
        try:
            if self._delayed:
                rounds, happened, losses = self._delayed.learned(rounds, last)
                seconds = self._delayed.seconds
            else:
                happened, losses, seconds, refused = self._replayed(rounds)
                rounds, states = rounds[: happened.rounds], states[: happened.rounds]
        except (ValueError, TypeError, MemoryError) as error:
            raise self._refused(pulled.rounds, error) from error
        self._account(rounds, happened, losses, seconds)
        self._reading = states[-1] if states else self._reading
        self.whole = refused is None or self.learner.rounds == before + happened.rounds
        if self.out is not None:
            self._answer(rounds, happened)
        if refused is not None:
            raise self._refused(pulled.rounds[len(rounds) :], refused) from refused

    def _refused(self, rounds: list[Round], error: Exception) -> ReadError:
        """The error of rounds that the learner refused."""
        where = _place(self.stream.table.name, rounds[0], rounds[-1]) if rounds else "the last"
        reason = str(error)
        if "Unable to allocate" in reason:
            reason += ": use fewer columns (--x, --y)"
        elif isinstance(error, MemoryError) and "max_bytes" in reason:
            what = reason.partition(": ")[0].replace("max_bytes", "--max-bytes")
            reason = f"{what}: raise it, with --resume to go on, or start anew with --budget, such as 256."
        return ReadError(f"{where}: {reason}")

    def _replayed(self, rounds: list[Round]) -> tuple[Any, dict[str, Any], float, Exception | None]:
        """The replay, the losses of the baselines, the seconds of the learner, and the error of a refused round."""
        xs, ys, start, refused = self._inputs(rounds), [r.y for r in rounds], time.perf_counter(), None
        if isinstance(self.learner, OnlineLearner):
            happened, refused = replay_until_refused(self.learner, xs, ys)
        else:
            happened = replay(self.learner, xs, ys, loss=self.loss, keep_estimates=False)
        seconds, n = time.perf_counter() - start, happened.rounds
        if not n:
            return happened, {}, seconds, refused
        losses = {name: replay(one, xs[:n], ys[:n], loss=self.loss).losses for name, one in self._baselines.items()}
        return happened, losses, seconds, refused

    def _inputs(self, rounds: list[Round]) -> Any:
        xs = [r.x for r in rounds]
        return np.array(xs) if self.stream.dense and not self.loss.parts else xs

    def _account(self, rounds: list[Round], happened: Any, losses: dict[str, Any], seconds: float) -> None:
        """Count rounds that were learned, and pass them on."""
        if not rounds:
            return
        judged = np.array([not r.warm for r in rounds], dtype=bool)
        self.count += int(judged.sum())
        self.warmup += int((~judged).sum())
        self.total += float(happened.losses[judged].sum())
        for r, z in zip(rounds, happened.predictions, strict=True):
            if not r.warm and z is not None:
                self.metrics.update(z, r.y)
        for name in losses:
            self.totals[name] += float(losses[name][judged].sum())
        if self.observer:
            from oskaar.reports import RecordedRounds

            xs, ys, lines = self._inputs(rounds), [r.y for r in rounds], [r.line for r in rounds]
            self.observer.add(RecordedRounds(self.learner, xs, ys, happened, losses, seconds, judged, lines))

    def _answer(self, rounds: list[Round], happened: Any) -> None:
        """Write the answers; a file that takes no more ends them, not the run."""
        assert self.out is not None
        before = self.count - sum(not r.warm for r in rounds)
        try:
            self.out.write(rounds, happened, before, self.stream.labels.show)
        except OSError as error:
            if self.out.name is None:
                raise
            say(f"--out {self.out.name} takes no more answers after round {before}: {error.strerror}.")
            self.not_written.append("the answers")
            self.out = None

    def checkpoint(self, file: str) -> Checkpoint:
        return Checkpoint(
            file=file,
            settings=self._settings,
            about=self.stream.about(),
            learner=self.learner,
            baselines=self._baselines,
            count=self.count,
            warmup=self.warmup,
            total=self.total,
            totals=self.totals,
            seconds=self.seconds,
            reading=self._reading,
            **(self.out.state() if self.out else {}),
            extra={
                **{name: part.to_dict() for name, part in {**self.parts, "metrics": self.metrics}.items()},
                **({"waiting": self._delayed.state()} if self._delayed else {}),
                **({"result": {**self.result(), **self.labels()}} if self.observer else {}),
            },
        )

    def restore(self, kept: Checkpoint) -> None:
        """Resume from a checkpoint; the input is read again up to there."""
        self.stream.restore(kept.reading)
        self.learner, self._baselines = kept.learner, kept.baselines
        self.count, self.warmup, self.total, self.totals = kept.count, kept.warmup, kept.total, dict(kept.totals)
        self.seconds, self.earlier = kept.seconds, kept.count + kept.warmup
        self._reading = kept.reading
        self.metrics = self.metrics.restored(kept.extra["metrics"])
        if self._delayed:
            self._delayed = Delayed(self.learner, self._baselines, self.loss, self._delayed.delay)
            self._delayed.restore(kept.extra["waiting"])

    @property
    def mean_loss(self) -> float | None:
        """The mean over judged rounds; None where there were none."""
        return self.total / self.count if self.count else None

    def result(self) -> dict[str, Any]:
        means = {name: total / self.count if self.count else None for name, total in self.totals.items()}
        rounds = self.count + self.warmup
        return {
            "rounds": self.count,
            "mean_loss": self.mean_loss,
            "rounds_per_second": rounds / self.seconds if self.seconds else None,
            "baselines": means,
            "verdict": verdict(self.loss, self.mean_loss, means),
            "metrics": self.metrics.scalars(),
            "loss": repr(self.loss),
            "learner": repr(self.learner),
            "seconds": self.seconds,
            "not_judged": self.warmup,
            "skipped": self.stream.skipped,
            "interrupted": self.interrupted,
            "error": None if self.error is None else str(self.error),
            "file": self.stream.table.name,
            "inferred": self.stream.notes,
            "columns": self._columns(),
        }

    def labels(self) -> dict[str, Any]:
        """Counts of each label, for the report."""
        return {"labels": self.metrics.label_counts()}

    def _schema(self) -> Any:
        """The learner's schema of the columns; None where it has none, as with a kernel that is given."""
        schema = getattr(getattr(self.learner, "model", self.learner), "schema", None)
        return schema if schema is not None and schema.rows and self.stream.names else None

    def _columns(self) -> str | None:
        schema = self._schema()
        if schema is None:
            return None
        first = schema.counted and schema.rows < self.count + self.warmup and not self.loss.parts
        return f"{schema}; counted in the first {schema.rows:,} rows" if first else str(schema)


def column_lines(schema: Any) -> Iterator[str]:
    """A line for each column, but one for all that are numbers without gaps.

    >>> from oskaar import Ensemble, losses
    >>> learner = Ensemble(losses.ZeroOne("ab"))
    >>> for t in range(20):
    ...     learner.learn_one({"a": 2.0 * t, "b": 1.0, "channel": "web" if t % 3 else "shop"}, "ab"[t % 2])
    >>> list(column_lines(learner.schema))
    ['a, b: number', 'channel: category, 2 values']
    """
    plain = [str(column.name) for column in schema.columns if column.describe() == "number"]
    if plain:
        yield ", ".join(plain[:8]) + (f" and {len(plain) - 8:,} more" if len(plain) > 8 else "") + ": number"
    others = [f"{column.name}: {column.describe()}" for column in schema.columns if column.describe() != "number"]
    yield from others[:MOST_LINES]
    if len(others) > MOST_LINES:
        yield f"{len(others) - MOST_LINES:,} more columns: oskaar learn --json has them"


def _place(name: str, first: Round, last: Round) -> str:
    """Where rounds were read; with their files, where there are several."""
    if first.part != last.part:
        return f"{first.part}, line {first.line}, to {last.part}, line {last.line}"
    return f"{first.part or name}, lines {first.line} to {last.line}"

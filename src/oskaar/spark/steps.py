"""Some rows of one key: in the order of their time, answered, then learned; labels may come late."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from oskaar.requirements import shorten
from oskaar.spark.columns import ABSENT, Unreadable, read, why_of, wrong

if TYPE_CHECKING:
    from oskaar.spark.keys import KeyedStream, KeyState


class Step:
    """Some rows of one key on their way: rows with their labels are collected and learned together."""

    def __init__(self, stream: KeyedStream, state: KeyState, frame: Any, key: tuple[Any, ...]) -> None:
        self.stream, self.state, self.key = stream, state, key
        times = _times(frame, stream.time)
        order = sorted(range(len(frame)), key=lambda i: (times[i] != times[i], times[i]))
        if order != list(range(len(frame))):
            frame = frame.iloc[order]
        self.frame, self.times = frame, [times[i] for i in order]
        n = len(frame)
        self.answer: list[Any] = [None] * n
        self.loss: list[float | None] = [None] * n
        self.error: list[str | None] = [None] * n
        self.waiting: list[int] = []
        self.xs, self.ys = stream.columns.rows(frame), stream.columns.labels(frame[stream.columns.y])
        self.ids = [None] * n if stream.id is None else [_id(value) for value in frame[stream.id]]
        self.has_x = stream.columns.given(self.xs)

    def answers(self) -> Any:
        """All rows, answered; a frame with the columns of the key, the time and the id."""
        import pandas as pd

        stream = self.stream
        if is_null(self.key):
            names = ", ".join(map(repr, stream.key))
            self.error = [f"the key in column {names} is null: a row must belong to a key."] * len(self.error)
        else:
            for i in range(len(self.times)):
                self._one(i)
            self._learn_waiting()
        held = {name: self.frame[name].to_numpy() for name in (*stream.key, stream.time) if name is not None}
        if stream.id is not None:
            held[stream.id] = pd.Series(self.ids, dtype=object)
        cells = [self._cell(i, z) for i, z in enumerate(self.answer)]
        held["answer"] = pd.Series(cells, dtype=object)
        held["loss"] = np.array(self.loss, dtype=float)
        held["error"] = pd.Series(self.error, dtype=object)
        return pd.DataFrame(held)

    def _cell(self, i: int, z: Any) -> Any:
        try:
            return self.stream.cell(z)
        except (ValueError, TypeError, OverflowError) as error:
            self.error[i] = self.error[i] or self._named(str(error))
            return None

    def _one(self, i: int) -> None:
        stream, time, last = self.stream, self.times[i], self.state.last
        if time != time:
            self.error[i] = self._named(f"the time in column {stream.time!r} is null.")
        elif last is not None and stream.delay is not None and last - time > stream.delay:
            delay = timedelta(microseconds=stream.delay) if stream.clock else f"{stream.delay:g}"
            self.error[i] = self._named(
                f"the time in column {stream.time!r} is more than delay = {delay} before the last row's."
            )
        else:
            self._pass_time(time)
            self._handle(i)

    def _pass_time(self, time: float) -> None:
        """Forget what is too old by now."""
        stream, last = self.stream, self.state.last
        if last is not None and stream.expire is not None and time - last > stream.expire:
            self._learn_waiting()
            self.state = stream.fresh()
        elif stream.timeout is not None and any(
            time - asked > stream.timeout for _, asked in self.state.open.values()
        ):
            self.state.again = None
            for id, (ticket, asked) in list(self.state.open.items()):
                if time - asked > stream.timeout:
                    del self.state.open[id]
                    if ticket in self.state.learner.open_tickets:
                        self.state.learner.forget(ticket)
        self.state.last = time if self.state.last is None else max(time, self.state.last)

    def _handle(self, i: int) -> None:
        """A round with its label, a question, or a label that comes late."""
        if self.has_x[i] and self.ys[i] is not None:
            self.waiting.append(i)
            return
        self._learn_waiting()
        if self.has_x[i]:
            self._ask(i)
        elif self.ys[i] is not None and self.stream.id is not None:
            self._tell(i)
        else:
            self.error[i] = self._named(
                f"there is neither x in column {self.stream.columns.names} nor a label with an id."
            )

    def _ask(self, i: int) -> None:
        learner, id = self.state.learner, self.ids[i]
        try:
            if id is None and not self.stream.tickets:
                self.answer[i] = learner.predict_one(self.xs[i])
                return
            if self.stream.tickets and id is not None:
                raise ValueError(f"a question gets its {self.stream.id} and brings none, got {id!r}.")
            if id in self.state.open:
                raise ValueError(f"{self.stream.id} = {id!r} is asked already, and waits for its label.")
            self.state.again = None
            ticket, self.answer[i] = learner.ask(self.xs[i])
        except Exception as error:
            self.error[i] = self._named(self.stream.columns.message("x", why_of(error)))
            return
        if self.stream.tickets:  # with its time: a key that was forgotten counts from 0 again
            id = self.ids[i] = f"{self.times[i]}-{ticket}" if self.stream.time else str(ticket)
        self.state.open[id] = (ticket, self.times[i])
        if len(self.state.open) > len(learner.open_tickets):  # the oldest was dropped for it
            still = set(learner.open_tickets)
            self.state.open = {id: asked for id, asked in self.state.open.items() if asked[0] in still}

    def _tell(self, i: int) -> None:
        learner, id = self.state.learner, self.ids[i]
        if id not in self.state.open:
            self.error[i] = self._named(
                f"no question with {self.stream.id} = {id!r} is open: it was never asked, was told, or is forgotten."
            )
            return
        if isinstance(self.ys[i], Unreadable):
            self.error[i] = self._named(self.stream.columns.message("y", self.ys[i].why))
            return
        ticket, before = self.state.open[id][0], learner.total_loss
        self.answer[i], self.state.again = learner._tickets[ticket].z, None
        try:
            learner.tell(ticket, self.ys[i])
        except Exception as error:
            self.answer[i], self.error[i] = None, self._named(self.stream.columns.message("y", why_of(error)))
            return
        self.loss[i] = learner.total_loss - before
        del self.state.open[id]

    def _learn_waiting(self) -> None:
        """Answer and learn the rows that wait, as a chunk; one by one where some are refused."""
        places, self.waiting = self.waiting, []
        if not places:
            return
        xs = self.xs[places] if hasattr(self.xs, "dtype") else [self.xs[i] for i in places]
        ys = [self.ys[i] for i in places]
        good = list(range(len(places)))
        try:
            found = self._streamed(xs, ys)
        except Exception:  # of a loss or a kernel of the user's, too: no row may stop the query
            rounds = read(self.stream.columns, self.state.learner, xs, ys)
            for i, why in rounds.bad.items():
                self.error[places[i]] = self._named(why)
            good = rounds.places
            try:
                found = self._streamed(rounds.xs, rounds.ys)
            except Exception:
                found = list(self._in_turn(places, rounds))
        for i, (z, loss) in zip(good, found, strict=True):
            self.answer[places[i]], self.loss[places[i]] = z, None if loss is None else float(loss)

    def _streamed(self, xs: Any, ys: list[Any]) -> list[tuple[Any, Any]]:
        """Answers and losses of rounds that are learned; where one of them is refused, none is learned."""
        learner, again = self.state.learner, self.state.again
        if again is None:
            again = functools.partial(copy.deepcopy, copy.deepcopy(learner))
        before = learner.rounds
        found: list[tuple[Any, Any]] = []
        try:
            if any(isinstance(y, Unreadable) for y in ys):
                raise ValueError("a label cannot be read.")
            for part in learner.stream(xs, ys):
                found += zip(part.predictions, part.losses, strict=True)
        except Exception:
            if learner.rounds != before:
                self.state.learner = again()
            raise
        self.state.again = None
        return found

    def _in_turn(self, places: list[int], rounds: Any) -> Iterator[tuple[Any, Any]]:
        for i, x, y in zip(rounds.places, rounds.xs, rounds.ys, strict=True):
            learner, before, self.state.again = self.state.learner, self.state.learner.total_loss, None
            try:
                z = learner.predict_one(x)
                learner.learn_one(x, y)
                yield z, learner.total_loss - before
            except Exception as error:
                self.error[places[i]] = self._named(wrong(self.stream.columns, learner, x, y) or why_of(error))
                yield None, None

    def _named(self, why: str) -> str:
        key = self.key[0] if len(self.key) == 1 else self.key
        return f"key {shorten(key)}: {why}"


def is_null(key: tuple[Any, ...]) -> bool:
    """Whether a part of a key is missing."""
    return any(part is None or part != part for part in key)


def _times(frame: Any, name: str | None) -> list[float]:
    """The time of each row as a number: microseconds of timestamps."""
    if name is None:
        return [0.0] * len(frame)
    column = frame[name].to_numpy()
    if column.dtype.kind == "M":
        column = column.astype("datetime64[us]").astype("int64")
    if column.dtype.kind == "i":
        return [float("nan") if t == ABSENT else t for t in column.tolist()]
    return [float("nan") if t is None else float(t) for t in column]


def _id(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if value is None or value != value else value

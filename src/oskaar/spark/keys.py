"""The stream of one key: rows in the order of their time, answered, then learned; labels may come late.

Nothing here needs Spark: `KeyedStream.step` takes the rows of one key as a pandas frame and what was known before,
and gives answers and what is known after. Batch and streaming jobs both run it.
"""

from __future__ import annotations

import copy
import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from oskaar.learners.learner import OnlineLearner
from oskaar.learners.saving import from_bytes
from oskaar.requirements import shorten
from oskaar.spark.columns import Columns, Unreadable, allowed, plain, read, wrong

FORMAT = 1


@dataclass
class KeyState:
    """What is known of one key: its learner, the time of its last row, and the questions that wait for a label."""

    learner: OnlineLearner
    last: float | None = None
    open: dict[Any, tuple[int, float]] = field(default_factory=dict)
    """The ticket and the time of each question, by its id."""

    def to_bytes(self, settings: str) -> bytes:
        """A header in JSON, then the learner's file."""
        waiting = [[id, *asked] for id, asked in self.open.items()]
        header = json.dumps({"format": FORMAT, "settings": settings, "last": self.last, "open": waiting}).encode()
        return struct.pack("<I", len(header)) + header + self.learner.to_bytes()

    @staticmethod
    def from_bytes(data: bytes, settings: str, allow: list[str], key: Any) -> KeyState:
        """What `to_bytes` wrote with the same settings."""
        size = struct.unpack("<I", data[:4])[0]
        header = json.loads(data[4 : 4 + size])
        if header["settings"] != settings or header["format"] != FORMAT:
            raise ValueError(
                f"the state of key {key!r} was made with other settings: {header['settings']}, and now they are "
                f"{settings}. Start with a new checkpointLocation, or with the old columns and learner."
            )
        waiting = {id: (int(ticket), asked) for id, ticket, asked in header["open"]}
        return KeyState(from_bytes(data[4 + size :], allow), header["last"], waiting)


@dataclass(frozen=True)
class KeyedStream:
    """How the rows of a key are answered and learned.

    learner: what each key starts with; it stays as it is. time: the column that orders rows; None: as they come.
    id: the column that joins a question with its label, which comes in a row of its own, without x.
    delay: rows that are older by more than this than the key's last row are refused. timeout: a question is
    forgotten when a row of its key is younger by more than this. expire: the key is forgotten when it was idle for
    longer. All three are in the units of `time`; None is no limit.
    """

    learner: OnlineLearner
    columns: Columns
    key: tuple[str, ...]
    time: str | None = None
    id: str | None = None
    delay: float | None = None
    timeout: float | None = None
    expire: float | None = None

    @property
    def settings(self) -> str:
        """What a state must have been made with."""
        names = {"x": self.columns.names, "y": self.columns.y, "time": self.time, "id": self.id}
        return json.dumps({"learner": repr(self.learner.like_new()), **names})

    def fresh(self) -> KeyState:
        """A key that nothing is known of."""
        return KeyState(self.learner.like_new())

    def restored(self, data: bytes | None, key: Any) -> KeyState:
        """A key as it was."""
        if data is None:
            return self.fresh()
        return KeyState.from_bytes(bytes(data), self.settings, allowed(self.learner), key)

    def step(self, state: KeyState, frame: Any, key: tuple[Any, ...]) -> tuple[Any, KeyState]:
        """Answers to the rows of a frame, and what is known after them."""
        run = _Run(self, state, frame, key)
        return run.answers(), run.state


class _Run:
    """Some rows of one key on their way: rows that are learned at once wait until they can be done together."""

    def __init__(self, stream: KeyedStream, state: KeyState, frame: Any, key: tuple[Any, ...]) -> None:
        self.stream, self.state, self.key = stream, state, key
        self.times = _times(frame, stream.time)
        order = sorted(range(len(frame)), key=lambda i: (math.isnan(self.times[i]), self.times[i]))
        self.frame, self.times = frame.iloc[order].reset_index(drop=True), [self.times[i] for i in order]
        n = len(frame)
        self.answer: list[Any] = [None] * n
        self.loss: list[float | None] = [None] * n
        self.error: list[str | None] = [None] * n
        self.waiting: list[int] = []
        self.xs, self.ys = stream.columns.rows(self.frame), stream.columns.labels(self.frame)
        self.ids = [None] * n if stream.id is None else [_id(value) for value in self.frame[stream.id]]
        self.has_x = stream.columns.given(self.frame)

    def answers(self) -> Any:
        """All rows, answered; a frame with the columns of the key, the time and the id."""
        for i in range(len(self.frame)):
            self._one(i)
        self._learn_waiting()
        names = [*self.stream.key, *(name for name in (self.stream.time, self.stream.id) if name)]
        out = self.frame[names].copy()
        out["answer"], out["loss"], out["error"] = _column(map(plain, self.answer)), self.loss, _column(self.error)
        return out

    def _one(self, i: int) -> None:
        stream = self.stream
        if any(part is None or part != part for part in self.key):
            self.error[i] = (
                f"the key in column {', '.join(map(repr, stream.key))} is null: a row must belong to a key."
            )
        elif math.isnan(self.times[i]):
            self.error[i] = self._named(f"the time in column {stream.time!r} is null.")
        elif self._too_late(self.times[i]):
            self.error[i] = self._named(
                f"the time in column {stream.time!r} is more than delay = {stream.delay:g} before the last row's."
            )
        else:
            self._pass_time(self.times[i])
            self._handle(i)

    def _too_late(self, time: float) -> bool:
        last, delay = self.state.last, self.stream.delay
        return last is not None and delay is not None and last - time > delay

    def _pass_time(self, time: float) -> None:
        """Forget what is too old by now."""
        stream, last = self.stream, self.state.last
        if last is not None and stream.expire is not None and time - last > stream.expire:
            self._learn_waiting()
            self.state = stream.fresh()
        elif stream.timeout is not None and any(
            time - asked > stream.timeout for _, asked in self.state.open.values()
        ):
            for id, (ticket, asked) in list(self.state.open.items()):
                if time - asked > stream.timeout:
                    self._close(id)
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
            if id is None:
                self.answer[i] = learner.predict_one(self.xs[i])
                return
            if id in self.state.open:
                raise ValueError(f"{self.stream.id} = {id!r} is asked already, and waits for its label.")
            ticket, self.answer[i] = learner.ask(self.xs[i])
        except (ValueError, TypeError, MemoryError) as error:
            self.error[i] = self._named(self.stream.columns.told("x", error))
            return
        self.state.open[id] = (ticket, self.times[i])
        still = set(learner.open_tickets)  # the oldest may have been dropped for it
        self.state.open = {id: asked for id, asked in self.state.open.items() if asked[0] in still}

    def _tell(self, i: int) -> None:
        learner, id = self.state.learner, self.ids[i]
        if id not in self.state.open:
            self.error[i] = self._named(
                f"no question with {self.stream.id} = {id!r} is open: it was never asked, was told, or is forgotten."
            )
            return
        if isinstance(self.ys[i], Unreadable):
            self.error[i] = self._named(self.stream.columns.told("y", self.ys[i].why))
            return
        ticket, before = self.state.open[id][0], learner.total_loss
        self.answer[i] = learner._tickets[ticket].z
        try:
            learner.tell(ticket, self.ys[i])
        except (ValueError, TypeError, MemoryError) as error:
            self.answer[i], self.error[i] = None, self._named(self.stream.columns.told("y", error))
            return
        self.loss[i] = learner.total_loss - before
        self._close(id)

    def _close(self, id: Any) -> None:
        del self.state.open[id]

    def _learn_waiting(self) -> None:
        """Answer and learn the rows that wait, as a chunk; one by one where some are refused."""
        places, self.waiting = self.waiting, []
        if not places:
            return
        xs, ys = _picked(self.xs, places), [self.ys[i] for i in places]
        rounds = read(self.stream.columns, self.state.learner, xs, ys)
        for i, why in rounds.bad.items():
            self.error[places[i]] = self._named(why)
        kept = copy.deepcopy(self.state.learner)
        try:
            found = [
                pair
                for part in self.state.learner.stream(rounds.xs, rounds.ys)
                for pair in zip(part.predictions, part.losses, strict=True)
            ]
        except (ValueError, TypeError, MemoryError):
            self.state.learner = kept
            found = list(self._in_turn(places, rounds))
        for i, (z, loss) in zip(rounds.places, found, strict=True):
            self.answer[places[i]], self.loss[places[i]] = z, None if loss is None else float(loss)

    def _in_turn(self, places: list[int], rounds: Any) -> Iterator[tuple[Any, Any]]:
        for i, x, y in zip(rounds.places, rounds.xs, rounds.ys, strict=True):
            learner, before = self.state.learner, self.state.learner.total_loss
            try:
                z = learner.predict_one(x)
                learner.learn_one(x, y)
                yield z, learner.total_loss - before
            except (ValueError, TypeError, MemoryError) as error:
                self.error[places[i]] = self._named(wrong(self.stream.columns, learner, x, y) or str(error))
                yield None, None

    def _named(self, why: str) -> str:
        key = self.key[0] if len(self.key) == 1 else self.key
        return f"key {shorten(key)}: {why}"


def _times(frame: Any, name: str | None) -> list[float]:
    """The time of each row as a number: microseconds of timestamps."""
    if name is None:
        return [0.0] * len(frame)
    column = frame[name]
    if column.dtype.kind == "M":
        whole = column.to_numpy(dtype="datetime64[us]").astype("int64").astype(float)
        return [float("nan") if missing else t for t, missing in zip(whole.tolist(), column.isna(), strict=True)]
    return [float("nan") if t is None else float(t) for t in column]


def _id(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return None if value is None or value != value else value


def _picked(xs: Any, places: list[int]) -> Any:
    return xs[places] if hasattr(xs, "dtype") else [xs[i] for i in places]


def _column(values: Any) -> Any:
    import pandas as pd

    return pd.Series(list(values), dtype=object)

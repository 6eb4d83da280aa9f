"""One learner for each key of a frame, in a batch or in a stream that never ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from oskaar.learners.learner import OnlineLearner
from oskaar.requirements import shorten
from oskaar.spark.columns import ABSENT, WHOLE, Columns, answer_type
from oskaar.spark.keys import KeyedStream
from oskaar.spark.session import set_up
from oskaar.spark.steps import is_null


def keyed(
    df: Any,
    learner: OnlineLearner,
    key: Any,
    x: Any,
    y: str,
    time: str | None = None,
    id: str | None = None,
    ticket: str | None = None,
    label: Callable[[Any], Any] | None = None,
    type: str | None = None,
    delay: Any = None,
    timeout: Any = None,
    expire: Any = None,
) -> Any:
    """Answers and losses of one learner for each key: a row is answered, then learned, in the order of its time.

    df: a table, or a stream (`isStreaming`): the same code, and the same numbers where rows come in order. The frame
    that comes back has the key, `time`, `id` or `ticket`, `answer`, `loss`, and `error`, the reason where a row is
    refused. Each key starts with a copy of the learner, and so with what that has learned.

    key: a column, or several. x, y, label: see `oskaar.spark.columns.Columns`. A row without y is only answered; with
    an id it is a question, and its label comes in a row of its own, with y and without x. ticket: a column of text
    for labels of which no id is known: it is null in a question, the frame that comes back has the question's ticket
    there, and the row with the label brings it again.
    delay, timeout, expire: see `KeyedStream`; durations such as "10 minutes", or numbers where time is one.
    type: Spark's name for the type of answers; None: that of y, or double where numbers are estimated. `budget=` and
    `max_open` bound the state of a key.
    """
    set_up(df.sparkSession)
    if not isinstance(learner, OnlineLearner):
        raise TypeError(f"learner must be a learner of oskaar, such as OSKAAR, got {shorten(learner)}.")
    keys = (key,) if isinstance(key, str) else tuple(key)
    columns, types = Columns.of(df, x, y, label), dict(df.dtypes)
    if id is not None and ticket is not None:
        raise ValueError(f"labels come by id or by ticket, got id={id!r} and ticket={ticket!r}.")
    id, tickets = ticket if id is None else id, ticket is not None
    _require_columns(df, keys, columns, time, id, tickets)
    clock = None if time is None else Clock.of(time, types[time])
    limits = {"delay": delay, "timeout": timeout, "expire": expire}
    limits = {name: None if value is None else _limit(name, value, clock) for name, value in limits.items()}
    kind = type or answer_type(learner.like_new(), types[y], label)
    in_time = clock is not None and clock.microseconds
    stream = KeyedStream(learner, columns, keys, time, id, tickets=tickets, type=kind, clock=in_time, **limits)
    sent, back = _sent(df, keys, columns, clock, id), _back(keys, clock, id, types)
    cells = {name: types[name] for name in keys} | ({} if clock is None else {clock.name: clock.sent})
    cells |= ({} if id is None else {id: "string"}) | {"answer": kind, "loss": "double", "error": "string"}
    schema = ", ".join(f"`{name}` {kind}" for name, kind in cells.items())
    if not df.isStreaming:
        return sent.groupBy(*keys).applyInPandas(_table(stream), schema).select(*back)
    learner.to_bytes()  # what cannot be in a file is refused here, not in a worker
    idle = limits["expire"]
    ttl = None if idle is None or not in_time else max(1, int(idle / 1000))
    if ttl is not None:  # else batches without data would follow each other for ever, as processing time goes on
        df.sparkSession.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    out = sent.groupBy(*keys).transformWithStateInPandas(
        statefulProcessor=_processor(stream, ttl),
        outputStructType=schema,
        outputMode="Append",
        timeMode="None" if ttl is None else "ProcessingTime",
    )
    return out.select(*back)


def _require_columns(
    df: Any, keys: tuple[str, ...], columns: Columns, time: str | None, id: str | None, tickets: bool
) -> None:
    """Refuse columns that are not there, that are two things at once, or that have no order or no equality."""
    given, types = [name for name in (*keys, time, id) if name is not None], dict(df.dtypes)
    missing = [name for name in given if name not in df.columns]
    if missing or not keys:
        raise ValueError(f"key, time and id must be columns, {missing} are not there: {', '.join(df.columns)}.")
    once = [*given, columns.y, *([] if id is None else [name for name in columns.names if name == id])]
    twice = sorted({str(name) for name in once if once.count(name) > 1})
    if twice:
        raise ValueError(f"key, time, id and y must be columns of their own, {', '.join(twice)} is two of them.")
    if time in columns.others:
        raise ValueError(f"time = {time!r} orders the rows and cannot be in x, too: give x a copy of the column.")
    taken = sorted({"answer", "loss", "error"} & set(given))
    if taken:
        raise ValueError(f"answer, loss and error are columns of what comes back: rename {', '.join(taken)}.")
    if id is not None and tickets and types[id] != "string":
        raise ValueError(f"ticket must be a column of text, {id!r} is {types[id]}.")
    if id is not None and types[id].startswith(("array", "map", "struct", "binary", "variant")):
        raise ValueError(f"id must be a column of text, numbers or times, {id!r} is {types[id]}.")


@dataclass(frozen=True)
class Clock:
    """A column of times as numbers, in which a null is ABSENT: to and fro, exactly, whatever the time zone."""

    name: str
    there: str
    back: str
    sent: str = "bigint"
    microseconds: bool = True

    @staticmethod
    def of(name: str, type: str) -> Clock:
        """How a type of column is sent."""
        at = "`" + name.replace("`", "``") + "`"
        if type == "timestamp":
            return Clock(name, f"unix_micros({at})", f"timestamp_micros({at})")
        if type == "timestamp_ntz":
            zero = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
            return Clock(
                name, f"timestampdiff(MICROSECOND, {zero}, {at})", f"timestampadd(MICROSECOND, {at}, {zero})"
            )
        if type == "date":
            day = 24 * 3600 * 10**6
            return Clock(name, f"unix_date({at}) * {day}", f"date_from_unix_date(cast({at} div {day} as int))")
        if type in WHOLE:
            return Clock(name, at, f"cast({at} as {type})", microseconds=False)
        if type in ("float", "double") or type.startswith("decimal"):
            return Clock(name, at, f"cast({at} as {type})", "double", False)
        raise ValueError(f"time must be a column of timestamps, dates or numbers, {name!r} is {type}.")


def _sent(df: Any, keys: tuple[str, ...], columns: Columns, clock: Clock | None, id: str | None) -> Any:
    """The frame that workers see: whole numbers that may be null have ABSENT there, and ids are text."""
    from pyspark.sql import functions as F

    parts = {name: F.col(f"`{name}`") for name in (*keys, *columns.names, columns.y)}
    absent = F.lit(ABSENT).cast("bigint")
    if dict(df.dtypes)[columns.y] in WHOLE:
        parts[columns.y] = F.coalesce(parts[columns.y].cast("bigint"), absent)
    if clock is not None:
        there = F.expr(clock.there).cast(clock.sent)
        parts[clock.name] = F.coalesce(there, absent) if clock.sent == "bigint" else there
    if id is not None:
        parts[id] = F.col(f"`{id}`").cast("string")
    return df.select(*(column.alias(name) for name, column in parts.items()))


def _back(keys: tuple[str, ...], clock: Clock | None, id: str | None, types: dict[str, str]) -> list[Any]:
    """What comes back, in the types that went there."""
    from pyspark.sql import functions as F

    parts = [F.col(f"`{name}`") for name in keys]
    if clock is not None:
        time = F.col(f"`{clock.name}`")
        found = F.expr(clock.back)
        parts.append((F.when(time != F.lit(ABSENT), found) if clock.sent == "bigint" else found).alias(clock.name))
    if id is not None:
        parts.append(F.col(f"`{id}`").cast(types[id]).alias(id))
    return [*parts, F.col("answer"), F.col("loss"), F.col("error")]


def _table(stream: KeyedStream) -> Callable[[Any, Any], Any]:
    def run(key: tuple[Any, ...], frame: Any) -> Any:
        return stream.step(stream.fresh(), frame, key)[0]

    return run


def _processor(stream: KeyedStream, ttl: int | None) -> Any:
    """A stateful processor: one state for each key, which Spark forgets when the key is idle for long."""
    from pyspark.sql.streaming import StatefulProcessor

    class Keys(StatefulProcessor):
        """The learner of each key, in Spark's state store."""

        def init(self, handle: Any) -> None:
            self.state = handle.getValueState("stream", "state binary", ttl)

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            import pandas as pd

            held = self.state.get()
            state = stream.restored(held[0] if held else None, key)
            answers, state = stream.step(state, pd.concat(list(rows), ignore_index=True), key)
            if not is_null(key):
                self.state.update((state.to_bytes(stream.settings),))
            yield answers

        def close(self) -> None:
            pass

    return Keys()


def _limit(name: str, value: Any, clock: Clock | None) -> float:
    """A duration in the units of time: microseconds of timestamps."""
    if clock is None:
        raise ValueError(f"{name} needs time=, the column that says when a row came.")
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not clock.microseconds:
        if not number or not value >= 0:
            raise ValueError(f"{name} must be a number >= 0, as the time column has numbers, got {value!r}.")
        return float(value)
    import pandas as pd

    try:
        span = None if number else pd.Timedelta(value)
    except ValueError:
        span = None
    if span is None or not span >= pd.Timedelta(0):
        raise ValueError(f"{name} must be a duration >= 0 such as '10 minutes', got {value!r}.")
    return float(span.total_seconds() * 1e6)

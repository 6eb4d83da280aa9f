"""One learner for each key of a frame, in a batch or in a stream that never ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from oskaar.learners.learner import OnlineLearner
from oskaar.spark.columns import Columns
from oskaar.spark.keys import KeyedStream
from oskaar.spark.session import set_up


def keyed(
    df: Any,
    learner: OnlineLearner,
    key: Any,
    x: Any,
    y: str,
    time: str | None = None,
    id: str | None = None,
    label: Callable[[Any], Any] | None = None,
    type: str | None = None,
    delay: Any = None,
    timeout: Any = None,
    expire: Any = None,
) -> Any:
    """Answers and losses of one learner for each key: a row is answered, then learned, in the order of its time.

    df: a table, or a stream (`isStreaming`): the same code, and the same numbers where rows come in order. The frame
    that comes back has the key, `time`, `id`, `answer`, `loss`, and `error`, the reason where a row is refused.

    key: a column, or several. x, y, label: see `oskaar.spark.columns.Columns`. A row without y is only answered; with
    an id it is a question, and its label comes in a row of its own, with y and without x.
    delay, timeout, expire: see `KeyedStream`; durations such as "10 minutes", or numbers where time is one.
    type: Spark's name for the type of answers; None: that of y. `budget=` and `max_open` bound the state of a key.
    """
    set_up(df.sparkSession)
    keys = (key,) if isinstance(key, str) else tuple(key)
    columns = Columns.of(df, x, y, label)
    given = [name for name in (*keys, time, id) if name is not None]
    missing = [name for name in given if name not in df.columns]
    if missing or not keys:
        raise ValueError(f"key, time and id must be columns, {missing} are not there: {', '.join(df.columns)}.")
    types = dict(df.dtypes)
    limits = [
        _duration(name, value, time and types[time])
        for name, value in (("delay", delay), ("timeout", timeout), ("expire", expire))
    ]
    stream = KeyedStream(learner, columns, keys, time, id, *limits)
    schema = ", ".join(f"`{name}` {types[name]}" for name in given)
    schema += f", answer {type or types[y]}, loss double, error string"
    part = df.select(*dict.fromkeys([*given, *columns.names, y])).groupBy(*keys)
    if not df.isStreaming:
        return part.applyInPandas(_table(stream), schema)
    learner.to_bytes()  # what cannot be in a file is refused here, not in a worker
    ttl = _idle_ms(expire)
    if ttl is not None:  # else batches without data would follow each other for ever, as processing time goes on
        df.sparkSession.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    return part.transformWithStateInPandas(
        statefulProcessor=_processor(stream, ttl),
        outputStructType=schema,
        outputMode="Append",
        timeMode="None" if ttl is None else "ProcessingTime",
    )


def _table(stream: KeyedStream) -> Callable[[Any, Any], Any]:
    def run(key: tuple[Any, ...], frame: Any) -> Any:
        return stream.step(stream.fresh(), frame, key)[0]

    return run


def _idle_ms(expire: Any) -> int | None:
    """How long Spark keeps the state of an idle key, in milliseconds: `expire`, where that is a duration."""
    if expire is None or isinstance(expire, (int, float)):
        return None
    import pandas as pd

    return max(1, int(pd.Timedelta(expire).total_seconds() * 1000))


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
            self.state.update((state.to_bytes(stream.settings),))
            yield answers

        def close(self) -> None:
            pass

    return Keys()


def _duration(name: str, value: Any, time: Any) -> float | None:
    """A duration in the units of time: microseconds of timestamps."""
    if value is None:
        return None
    if not time:
        raise ValueError(f"{name} needs time=, the column that says when a row came.")
    if time.startswith("timestamp"):
        import pandas as pd

        return float(pd.Timedelta(value).total_seconds() * 1e6)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise ValueError(f"{name} must be a number >= 0, as the time column has numbers, got {value!r}.")
    return float(value)

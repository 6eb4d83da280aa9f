"""One model over many rows: sums by partition, added up in a tree, and answers as a column."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from oskaar.learners.merging import require_sums
from oskaar.learners.oskaar import OSKAAR
from oskaar.learners.saving import from_bytes
from oskaar.requirements import require_whole
from oskaar.spark.columns import Columns, Unreadable, allowed, plain, read, type_of
from oskaar.spark.session import set_up

FAN_IN = 16
"""So many states are merged at a time, and in at most so many places before the last."""

STATES = "state binary, bad bigint, reason string"


def fit(
    df: Any,
    learner: OSKAAR,
    x: Any,
    y: str,
    label: Callable[[Any], Any] | None = None,
    sample: int = 1000,
    skip_bad: bool = False,
) -> OSKAAR:
    """A learner that has learned the rows of a frame too: equal to `learn_batch` on one machine, to 1e-8.

    Each partition adds up its rows, and their states are merged, however the rows are dealt out. A map that would
    learn by itself (`budget=`, Nystrom, units) is agreed on first, from `sample` rows: those with the smallest
    hashes, the same for every partitioning. x, y, label: see `Columns`. Rows that cannot be learned are an error that
    names the first of them, or are left out (skip_bad). The learner that is given stays as it is.
    """
    set_up(df.sparkSession)
    columns = Columns.of(df, x, y, label)
    start = agreed(df, learner, columns, sample)
    states = shards(df, columns, start.like_new(), skip_bad)
    return OSKAAR.merged([start, *states]) if states else copy.deepcopy(start)


def agreed(df: Any, learner: OSKAAR, columns: Columns, sample: int = 1000) -> OSKAAR:
    """The learner itself if its map is fixed, else one with the map of a sample that no partitioning changes."""
    map = getattr(learner.estimator, "features", None)
    if learner.rounds or map is None or learner.shifted or (map.fixed and not _text_in(df, columns)):
        require_sums(learner, "oskaar.spark.fit")
        return learner
    from pyspark.sql import functions as F

    rows = df.select(*columns.names).na.drop().orderBy(F.xxhash64(*columns.names), *columns.names)
    found = rows.limit(require_whole("sample", sample)).toPandas()
    if not len(found):
        raise ValueError(f"there must be rows to learn, columns {columns.names} have none without nulls.")
    return learner.prepared(columns.rows(found))


def _text_in(df: Any, columns: Columns) -> bool:
    """Whether rows are dicts: their names have to be agreed on."""
    types = dict(df.dtypes)
    one = isinstance(columns.x, str)
    return any(types[name].startswith("map") if one else types[name] == "string" for name in columns.names)


def shards(df: Any, columns: Columns, start: OSKAAR, skip_bad: bool = False, before: Any = None) -> list[OSKAAR]:
    """What the partitions have learned, merged in a few places.

    before: the model whose answers to these rows are judged; the shards have its losses.
    """
    allow = allowed(start)
    start.to_bytes()  # what cannot be in a file is refused here, not in a worker
    parts = df.select(*columns.names, columns.y).mapInPandas(_learned(columns, start, before), STATES)
    places = min(FAN_IN, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    found = parts.repartition(places).mapInPandas(_merged(allow), STATES).collect()
    bad, reason = sum(row.bad for row in found), next((row.reason for row in found if row.reason), None)
    if bad and not skip_bad:
        raise ValueError(f"{bad} rows cannot be learned, such as one with {reason} Mend them, or pass skip_bad=True.")
    return [from_bytes(bytes(row.state), allow) for row in found if row.state is not None]


def _learned(columns: Columns, start: OSKAAR, before: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The state of one partition, in one row."""

    def run(frames: Iterable[Any]) -> Iterator[Any]:
        learner, bad, reason = copy.deepcopy(start), 0, None
        for frame in frames:
            rounds = read(columns, learner, columns.rows(frame), columns.labels(frame))
            bad += len(rounds.bad)
            reason = reason or next(iter(rounds.bad.values()), None)
            learner.learn_batch(rounds.xs, rounds.ys, answered_by=before)
        yield _frame(learner.to_bytes() if learner.rounds else None, bad, reason)

    return run


def _merged(allow: list[str]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The states of one partition as one."""

    def run(frames: Iterable[Any]) -> Iterator[Any]:
        states: list[OSKAAR] = []
        bad, reason = 0, None
        for row in (row for frame in frames for row in frame.itertuples()):
            bad, reason = bad + int(row.bad), reason or row.reason
            states += [] if row.state is None else [from_bytes(bytes(row.state), allow)]
            if len(states) == FAN_IN:
                states = [OSKAAR.merged(states)]
        yield _frame(OSKAAR.merged(states).to_bytes() if states else None, bad, reason)

    return run


def _frame(state: bytes | None, bad: int, reason: str | None) -> Any:
    import pandas as pd

    return pd.DataFrame({"state": [state], "bad": [bad], "reason": [reason]})


def predict(
    df: Any, learner: Any, x: Any, into: str = "answer", type: str | None = None, errors: str | None = None
) -> Any:
    """The frame with a column of answers: sets are sorted arrays, tuples arrays.

    type: Spark's name for the type of answers; None: that of an answer of this learner. A row that cannot be read is
    an error, or, where `errors` names a column for it, a null answer with its reason there.
    """
    set_up(df.sparkSession)
    kind = type or type_of(learner.space.decode_rounds(np.zeros((1, learner.space.p)), [1])[0])
    return answered(df, Columns.of(df, x), learner, into, kind, errors)


def answered(df: Any, columns: Columns, learner: Any, into: str, kind: str, errors: str | None) -> Any:
    """The frame with answers; with y among the columns, `errors` has what is wrong with labels, too."""
    more = f", `{errors}` string" if errors else ""
    schema = f"{_ddl(df)}, `{into}` {kind}{more}"
    return df.mapInPandas(_answered(columns, learner, into, errors), schema)


def _ddl(df: Any) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in df.dtypes)


def _answered(
    columns: Columns, learner: Any, into: str, errors: str | None
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(frames: Iterable[Any]) -> Iterator[Any]:
        for frame in frames:
            xs = columns.rows(frame)
            try:
                answers, reasons = learner.predict_many(xs) if len(xs) else [], [None] * len(xs)
            except (ValueError, TypeError) as error:
                if errors is None:
                    raise ValueError(columns.told("x", error)) from error
                answers, reasons = _one_by_one(columns, learner, xs)
            if errors is not None and columns.y is not None:
                reasons = _with_labels(columns, learner, columns.labels(frame), reasons)
            new = {into: _cells([plain(z) for z in answers])} | ({errors: reasons} if errors else {})
            yield frame.assign(**new)

    return run


def _with_labels(columns: Columns, learner: Any, ys: list[Any], reasons: list[Any]) -> list[Any]:
    """The reasons, and why labels cannot be learned."""
    for i, y in enumerate(ys):
        if y is None or reasons[i] is not None:
            continue
        try:
            if isinstance(y, Unreadable):
                raise ValueError(y.why)
            learner.loss.check(y)
        except (ValueError, TypeError, OverflowError) as error:
            reasons[i] = columns.told("y", error)
    return reasons


def _one_by_one(columns: Columns, learner: Any, xs: Any) -> tuple[list[Any], list[Any]]:
    answers: list[Any] = []
    reasons: list[Any] = []
    for x in xs:
        try:
            answers.append(learner.predict_one(x))
            reasons.append(None)
        except (ValueError, TypeError) as error:
            answers.append(None)
            reasons.append(columns.told("x", error))
    return answers, reasons


def _cells(values: list[Any]) -> Any:
    """A column as it is: whole numbers with nulls among them stay whole."""
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        column[i] = value
    return column

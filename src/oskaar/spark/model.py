"""One model over many rows: sums by partition, added up in a tree, and answers as a column."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from oskaar.learners.merging import require_sums
from oskaar.learners.oskaar import OSKAAR
from oskaar.learners.saving import from_bytes
from oskaar.requirements import require_whole
from oskaar.spark.columns import Columns, Unreadable, allowed, answer_type, cell_of, read
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
    if start is None:
        raise ValueError(f"there must be rows to learn, columns {columns.names} have none that can be read.")
    states = shards(df, columns, start.like_new(), skip_bad)
    return OSKAAR.merged([start, *states]) if states else copy.deepcopy(start)


def agreed(df: Any, learner: OSKAAR, columns: Columns, sample: int = 1000) -> OSKAAR | None:
    """The learner itself if its map is fixed, else one with the map of a sample that no partitioning changes.

    None where no row can be read.
    """
    require_mergeable(learner, "oskaar.spark.fit")
    map: Any = getattr(learner.estimator, "features", None)
    if learner.rounds or (map.fixed and not _text_in(df, columns)):
        require_sums(learner, "oskaar.spark.fit")
        return learner
    from pyspark.sql import functions as F

    rows = df.select(*(f"`{name}`" for name in columns.names)).na.drop()
    cells = [F.col(f"`{name}`") for name in columns.names]
    if isinstance(columns.x, str) and dict(df.dtypes)[columns.x].startswith("map"):  # which have no hash and no order
        cells = [F.array_sort(F.map_entries(cell)) for cell in cells]
    rows = rows.orderBy(F.xxhash64(*cells), *cells)
    found = _readable(columns, learner, columns.rows(rows.limit(require_whole("sample", sample)).toPandas()))
    return learner.prepared(found) if len(found) else None


def require_mergeable(learner: Any, what: str) -> None:
    """Refuse a learner that is no pair of sums over its rows, and will be none when its map is agreed on."""
    if not isinstance(learner, OSKAAR) or learner.shifted or getattr(learner.estimator, "features", None) is None:
        require_sums(learner, what)


def _readable(columns: Columns, learner: OSKAAR, xs: Any) -> Any:
    """The rows of a sample that the learner can read; errors of the others are reported when they are learned."""
    try:
        learner.like_new()._inputs.parse_many(xs)
        return xs
    except (ValueError, TypeError, OverflowError):
        rounds = read(columns, learner.like_new(), xs, None)
        return rounds.xs


def _text_in(df: Any, columns: Columns) -> bool:
    """Whether rows are dicts: their names have to be agreed on."""
    return bool(columns.others) or (isinstance(columns.x, str) and dict(df.dtypes)[columns.x].startswith("map"))


def shards(df: Any, columns: Columns, start: OSKAAR, skip_bad: bool = False, before: Any = None) -> list[OSKAAR]:
    """What the partitions have learned, merged in a few places.

    before: the model whose answers to these rows are judged; the shards have its losses.
    """
    allow = allowed(start)
    start.to_bytes()  # what cannot be in a file is refused here, not in a worker
    names = (f"`{name}`" for name in (*columns.names, columns.y))
    parts = df.select(*names).mapInArrow(_learned(columns, start, before), STATES)
    places = min(FAN_IN, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    found = parts.repartition(places).mapInArrow(_merged(allow), STATES).collect()
    bad, reason = sum(row.bad for row in found), next((row.reason for row in found if row.reason), None)
    if bad and not skip_bad:
        raise ValueError(f"{bad} rows cannot be learned, such as one with {reason} Mend them, or pass skip_bad=True.")
    return [from_bytes(bytes(row.state), allow) for row in found if row.state is not None]


def _learned(columns: Columns, start: OSKAAR, before: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The state of one partition, in one row."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        learner, bad, reason = copy.deepcopy(start), 0, None
        for batch in batches:
            rounds = read(columns, learner, _rows(columns, batch), _labels(columns, batch))
            refused = [*rounds.bad.values(), *_learn(columns, learner, rounds.xs, rounds.ys, before)]
            bad, reason = bad + len(refused), reason or next(iter(refused), None)
        yield _state(learner.to_bytes() if learner.rounds else None, bad, reason)

    return run


def _learn(columns: Columns, learner: OSKAAR, xs: Any, ys: list[Any], before: Any) -> list[str]:
    """Learn rounds; what is wrong with those that are refused, which are found by halves."""
    try:
        learner.learn_batch(xs, ys, answered_by=before)
        return []
    except (ValueError, TypeError, OverflowError) as error:
        half = len(ys) // 2
        if not half:
            return [columns.message("x", error)]
    return _learn(columns, learner, xs[:half], ys[:half], before) + _learn(
        columns, learner, xs[half:], ys[half:], before
    )


def _merged(allow: list[str]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The states of one partition as one."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        states: list[OSKAAR] = []
        bad, reason = 0, None
        for row in (row for batch in batches for row in batch.to_pylist()):
            bad, reason = bad + row["bad"], reason or row["reason"]
            states += [] if row["state"] is None else [from_bytes(row["state"], allow)]
            if len(states) == FAN_IN:
                states = [OSKAAR.merged(states)]
        yield _state(OSKAAR.merged(states).to_bytes() if states else None, bad, reason)

    return run


def _state(state: bytes | None, bad: int, reason: str | None) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(
        {"state": pa.array([state], pa.binary()), "bad": [bad], "reason": pa.array([reason], pa.string())}
    )


def _rows(columns: Columns, batch: Any) -> Any:
    return columns.rows(batch.select(columns.names).to_pandas())


def _labels(columns: Columns, batch: Any) -> list[Any]:
    return columns.labels(batch.column(columns.y).to_pylist())


def predict(
    df: Any, learner: Any, x: Any, into: str = "answer", type: str | None = None, errors: str | None = None
) -> Any:
    """The frame with a column of answers: sets are sorted arrays, tuples arrays.

    type: Spark's name for the type of answers; None: that of an answer of this learner. A row that cannot be read is
    an error, or, where `errors` names a column for it, a null answer with its reason there.
    """
    set_up(df.sparkSession)
    return answered(df, Columns.of(df, x), learner, into, type or answer_type(learner), errors)


def answered(df: Any, columns: Columns, learner: Any, into: str, kind: str, errors: str | None) -> Any:
    """The frame with answers; with y among the columns, `errors` has what is wrong with labels, too."""
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import DataType, StringType, StructType

    taken = [name for name in (into, errors) if name is not None and name in df.columns]
    if taken or into == errors:
        raise ValueError(f"answers and errors need new columns, {', '.join(taken) or into} is there already.")
    cells = StructType(list(df.schema)).add(into, DataType.fromDDL(kind))
    schema = cells.add(errors, StringType()) if errors else cells
    return df.mapInArrow(
        _answered(columns, learner, into, errors, kind, to_arrow_type(DataType.fromDDL(kind))), schema
    )


def _answered(
    columns: Columns, learner: Any, into: str, errors: str | None, kind: str, type: Any
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Batches with answers; the other columns are what they were, bit for bit."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        cell = cell_of(kind)
        for batch in batches:
            xs = _rows(columns, batch)
            try:
                answers, reasons = learner.predict_many(xs) if len(xs) else [], [None] * len(xs)
                cells = [cell(z) for z in answers]
            except (ValueError, TypeError, OverflowError) as error:
                if errors is None:
                    raise ValueError(columns.message("x", error)) from error
                cells, reasons = _one_by_one(columns, learner, xs, cell)
            new = {into: pa.array(cells, type)}
            if errors is not None:
                if columns.y is not None:
                    reasons = _with_labels(columns, learner, _labels(columns, batch), reasons)
                new[errors] = pa.array(reasons, pa.string())
            yield pa.RecordBatch.from_arrays([*batch.columns, *new.values()], [*batch.schema.names, *new])

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
            reasons[i] = columns.message("y", error)
    return reasons


def _one_by_one(columns: Columns, learner: Any, xs: Any, cell: Any) -> tuple[list[Any], list[Any]]:
    cells: list[Any] = []
    reasons: list[Any] = []
    for x in xs:
        try:
            cells.append(cell(learner.predict_one(x)))
            reasons.append(None)
        except (ValueError, TypeError, OverflowError) as error:
            cells.append(None)
            reasons.append(columns.message("x", error))
    return cells, reasons

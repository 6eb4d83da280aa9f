"""`oskaar predict MODEL FILE`: answers for rows without labels, with the columns of the file beside them."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import PurePath
from typing import IO, Any

import numpy as np

from oskaar.cli.checkpoint import Checkpoint, read_checkpoint, require_same_columns
from oskaar.cli.console import say
from oskaar.cli.settings import COLUMNS, reads_by_schema
from oskaar.display import jsonable
from oskaar.schema.cells import as_number, as_time
from oskaar.state.writing import replaced
from oskaar.tabular import ReadError, Record, RoundOptions, read_table
from oskaar.tabular.labels import make_labels
from oskaar.tabular.rounds import Unlabelled

CHUNK = 256
"""Rounds that are answered at a time."""

CODE = re.compile(r"[+-]?0\d+")
"""Digits that are a name, not a number."""

INTERVAL = 0.9
"""The part of labels that lies in an interval."""

Rows = Iterator[dict[str, Any]]


def run(options: Any) -> int:
    """Write the answers; the exit code."""
    if options.json and options.out in (None, "-"):
        raise ReadError("--json goes with --out: answers are on standard output without it.")
    kept = read_checkpoint(options.model)
    write = _writer(options.out)
    rows = _Answered(kept, options)
    write(rows)
    if options.json:
        result = {"rounds": rows.rounds, "skipped": rows.skipped, "out": options.out, "columns": rows.answers}
        print(json.dumps(result))
    more = f", {rows.skipped} with missing values were not (--missing skip)" if rows.skipped else ""
    say(f"{rows.rounds} rounds answered{f' in {options.out}' if options.out not in (None, '-') else ''}{more}")
    return 0


class _Answered:
    """Rows of the file, each with the answer for its round."""

    def __init__(self, kept: Checkpoint, options: Any) -> None:
        chosen = RoundOptions(**{name: kept.settings[name] for name in COLUMNS})
        encoding, decimal = options.encoding or kept.settings["encoding"], kept.settings["decimal"]
        table = read_table(options.file, options.format, encoding, decimal=decimal)
        self._rounds = Unlabelled(table, chosen, kept.about, reads_by_schema(kept.settings))
        require_same_columns(self._rounds.about(), kept, table.name)
        require_same_kinds(kept, self._rounds.sample, table.name)
        self.columns = list(table.columns or ())
        self._learner = kept.learner
        self._show = make_labels(type(kept.learner.loss).__name__, kept.about["y"], chosen).show
        self.rounds = self.skipped = 0
        self._ways: Ways = WAYS
        self.answers = ["prediction", WAYS[0][0]]
        for name in ("prediction", *(name for name, _ in WAYS)):
            if name in self.columns:
                raise ReadError(f"{table.name} has a column {name!r}, which answers need: rename it, and learn anew.")
        ending = PurePath(options.out or "-").suffix.lower()
        self._cells = as_written if ending in ("", ".csv") else as_values

    def __iter__(self) -> Rows:
        rounds = iter(self._rounds)
        while chunk := list(islice(rounds, CHUNK)):
            xs = [x for _, x in chunk if x is not None]
            many = getattr(self._learner, "predict_many", None)
            found = list(many(xs)) if many and xs else [self._learner.predict_one(x) for x in xs]
            answers, sure = iter(found), iter(self._how_sure(xs, found))
            for records, x in chunk:
                if x is None:
                    self.skipped += 1
                    yield from self._rows(records, None, dict.fromkeys(self.answers[1:]))
                    continue
                self.rounds += 1
                yield from self._rows(records, self._show(next(answers)), next(sure))

    def _rows(self, records: list[Record], z: Any, more: dict[str, Any]) -> Rows:
        """A row for each record; the parts of an answer to several go to one each, where there are as many."""
        n = len(records)
        for i, record in enumerate(records):
            both = {"prediction": z, **more}
            yield {
                **self._cells(record),
                **{k: v[i] if isinstance(v, list) and len(v) == n > 1 else v for k, v in both.items()},
            }

    def _how_sure(self, xs: list[Any], answers: list[Any]) -> list[dict[str, Any]]:
        """What says how sure each answer is, as a column; no column for a loss that has nothing of the kind."""
        while xs and self._ways:
            name, way = self._ways[0]
            try:
                found = [{name: jsonable_shares(one)} for one in way(self._learner, xs, answers, self._show)]
            except (TypeError, ValueError, AttributeError, NotImplementedError):
                self._ways = self._ways[1:]
                self.answers = ["prediction", *(name for name, _ in self._ways[:1])]
            else:
                return found
        return [{} for _ in xs]


def _probabilities(learner: Any, xs: list[Any], answers: list[Any], show: Callable[[Any], Any]) -> Any:
    return learner.predict_proba(xs)


def _scores(learner: Any, xs: list[Any], answers: list[Any], show: Callable[[Any], Any]) -> list[dict[Any, float]]:
    """Those of the items of a ranking, larger is better."""
    found = [learner.scores_one(x) for x in xs]
    return [dict(zip(show(tuple(scores)), scores.values(), strict=True)) for scores in found]


def _intervals(learner: Any, xs: list[Any], answers: list[Any], show: Callable[[Any], Any]) -> list[Any]:
    """(low, high) around each number, for 9 labels of 10: as far from one answer as from the others."""
    first = learner.interval_one(xs[0], INTERVAL)
    if first is None:
        return [None] * len(xs)
    ends = [np.asarray(end) - np.asarray(answers[0]) for end in first]
    found = [[jsonable(np.asarray(z) + end) for end in ends] for z in answers]
    return [[end[0] if isinstance(end, list) and len(end) == 1 else end for end in both] for both in found]


Ways = tuple[tuple[str, Callable[..., Any]], ...]
WAYS: Ways = (("probabilities", _probabilities), ("scores", _scores), ("interval", _intervals))
"""What says how sure an answer is, by the kind of loss."""


def require_same_kinds(kept: Checkpoint, sample: list[Record], name: str) -> None:
    """Refuse a file where a column that was numbers or times has none in its first rows."""
    schema = getattr(kept.learner, "schema", None)
    reads: dict[str, Callable[[str], Any]] = {"number": as_number, "time": as_time}
    for column in schema.columns if schema is not None and sample else ():
        cells = [cell for record in sample if (cell := record.cells.get(column.name)) is not None]
        if (
            column.kind in reads
            and cells
            and all(isinstance(c, str) and reads[column.kind](c) is None for c in cells)
        ):
            raise ReadError(
                f"{name}: column {column.name!r} must be a {column.kind}, as it was in {kept.file}, from which the "
                f"model was learned, got {cells[0][:40]!r}."
            )


def as_written(record: Record) -> dict[str, Any]:
    """The cells of a record as they are in the file.

    >>> as_written(Record(2, {"id": 7, "amount": 1.5}, texts=["007", "1.50"]))
    {'id': '007', 'amount': '1.50'}
    """
    return record.cells if record.texts is None else dict(zip(record.cells, record.texts, strict=True))


def as_values(record: Record) -> dict[str, Any]:
    """The cells of a record as numbers and texts; codes such as 007 stay texts.

    >>> as_values(Record(2, {"id": 7, "amount": 1.5}, texts=["007", "1.50"]))
    {'id': '007', 'amount': 1.5}
    """
    if record.texts is None:
        return record.cells
    pairs = zip(record.cells.items(), record.texts, strict=True)
    return {
        name: text if type(cell) is int and CODE.fullmatch(text.strip()) else cell for (name, cell), text in pairs
    }


def jsonable_shares(shares: Any) -> Any:
    """Probabilities by label as JSON knows them.

    >>> jsonable_shares({"a": 0.25, 3: 0.75})
    {'a': 0.25, '3': 0.75}
    """
    if isinstance(shares, dict):
        return {str(label): round(float(share), 6) for label, share in shares.items()}
    return jsonable(shares)


def _writer(path: str | None) -> Callable[[_Answered], None]:
    """What writes answers in the format that a name ends with; to a file in one step, when all are there."""
    if path is None or path == "-":
        return lambda rows: _csv(rows, sys.stdout)
    kinds: dict[str, Callable[[_Answered, IO[bytes]], None]] = {
        ".csv": lambda rows, file: _text(_csv, rows, file),
        ".jsonl": lambda rows, file: _text(_json, rows, file),
        ".parquet": _parquet,
    }
    ending = PurePath(path).suffix.lower()
    if ending not in kinds:
        raise ReadError(f"--out must end with .csv, .jsonl or .parquet, got {path}.")

    def write(rows: _Answered) -> None:
        try:
            with replaced(path) as file:
                kinds[ending](rows, file)
        except OSError as error:
            raise ReadError(f"--out {path} cannot be written: {error.strerror or error}.") from None

    return write


def _text(write: Callable[[_Answered, IO[str]], None], rows: _Answered, file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    write(rows, text)
    text.detach()


def _csv(rows: _Answered, file: IO[str]) -> None:
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(file, [*row], extrasaction="ignore", restval="", lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(name, cell) for name, cell in row.items()})
    if writer is None and rows.columns:
        csv.writer(file, lineterminator="\n").writerow([*rows.columns, *rows.answers])


def _cell(name: str, cell: Any) -> Any:
    """A cell as CSV has it: tags with semicolons, what has names as JSON."""
    if name == "prediction" and isinstance(cell, list) and not any(isinstance(part, list) for part in cell):
        return ";".join(map(str, cell))
    return json.dumps(cell, default=str) if isinstance(cell, (list, dict)) else cell


def _json(rows: _Answered, file: IO[str]) -> None:
    for row in rows:
        file.write(json.dumps(row, default=str) + "\n")


def _parquet(rows: _Answered, file: IO[bytes]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ReadError("Parquet needs pyarrow: pip install 'oskaar[parquet]', or end --out with .csv.") from None
    made = [{name: json.dumps(c) if isinstance(c, dict) else c for name, c in row.items()} for row in rows]
    names = list(dict.fromkeys(name for row in made for name in row)) or [*rows.columns, *rows.answers]

    def column(name: str) -> Any:
        cells = [row.get(name) for row in made]
        try:
            return pa.array(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and texts
            return pa.array([None if cell is None else str(cell) for cell in cells])

    pq.write_table(pa.table({name: column(name) for name in names}), file)

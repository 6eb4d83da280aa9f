"""`oskaar predict MODEL FILE`: answers for rows without labels, with the columns of the file beside them."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import PurePath
from typing import IO, Any

from oskaar.cli.checkpoint import Checkpoint, read_checkpoint, require_same_columns
from oskaar.cli.console import say
from oskaar.cli.settings import COLUMNS, reads_by_schema
from oskaar.state.writing import replaced
from oskaar.tabular import ReadError, Record, RoundOptions, read
from oskaar.tabular.labels import jsonable, make_labels
from oskaar.tabular.rounds import Unlabelled

CHUNK = 256
"""Rounds that are answered at a time."""

Rows = Iterator[dict[str, Any]]


def run(options: Any) -> int:
    """Write the answers; the exit code."""
    kept = read_checkpoint(options.model)
    write = _writer(options.out)
    rows = _Answered(kept, options)
    written = write(rows)
    if options.json:
        print(json.dumps({"rounds": rows.rounds, "out": options.out, "columns": rows.answers}))
    say(f"{rows.rounds} rounds answered{f' in {options.out}' if written else ''}")
    return 0


class _Answered:
    """Rows of the file, each with the answer for its round."""

    def __init__(self, kept: Checkpoint, options: Any) -> None:
        chosen = RoundOptions(**{name: kept.settings[name] for name in COLUMNS})
        encoding, decimal = options.encoding or kept.settings["encoding"], kept.settings["decimal"]
        table = read(options.file, options.format, encoding, decimal=decimal)
        self._rounds = Unlabelled(table, chosen, kept.about, reads_by_schema(kept.settings))
        require_same_columns(self._rounds.about(), kept, table.name)
        self._learner = kept.learner
        self._show = make_labels(type(kept.learner.loss).__name__, kept.about["y"], chosen).show
        self._sure: Callable[[Any], Any] | None = getattr(kept.learner, "predict_proba", None)
        self.rounds = 0
        self.answers = ["prediction", *(["probabilities"] if self._sure else [])]

    def __iter__(self) -> Rows:
        rounds = iter(self._rounds)
        while chunk := list(islice(rounds, CHUNK)):
            xs = [x for _, x in chunk]
            many = getattr(self._learner, "predict_many", None)
            answers = many(xs) if many else [self._learner.predict_one(x) for x in xs]
            for (records, _), z, more in zip(chunk, answers, self._probabilities(xs), strict=True):
                self.rounds += 1
                yield from self._rows(records, self._show(z), more)

    def _rows(self, records: list[Record], z: Any, more: dict[str, Any]) -> Rows:
        """A row for each record; the parts of an answer to several go to one each, where there are as many."""
        parts = z if isinstance(z, list) and len(z) == len(records) > 1 else [z] * len(records)
        for record, part in zip(records, parts, strict=True):
            yield {**record.cells, "prediction": part, **more}

    def _probabilities(self, xs: list[Any]) -> list[dict[str, Any]]:
        """Those of each round, as a column; no column for a loss without any."""
        try:
            if self._sure:
                return [{"probabilities": jsonable_shares(shares)} for shares in self._sure(xs)]
        except (TypeError, ValueError, NotImplementedError):
            self._sure = None
            self.answers = ["prediction"]
        return [{} for _ in xs]


def jsonable_shares(shares: Any) -> Any:
    """Probabilities by label as JSON knows them.

    >>> jsonable_shares({"a": 0.25, 3: 0.75})
    {'a': 0.25, '3': 0.75}
    """
    if isinstance(shares, dict):
        return {str(label): round(float(share), 6) for label, share in shares.items()}
    return jsonable(shares)


def _writer(path: str | None) -> Callable[[_Answered], bool]:
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

    def write(rows: _Answered) -> bool:
        try:
            with replaced(path) as file:
                kinds[ending](rows, file)
        except OSError as error:
            raise ReadError(f"--out {path} cannot be written: {error.strerror or error}.") from None
        return True

    return write


def _text(write: Callable[[_Answered, IO[str]], bool], rows: _Answered, file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, "utf-8", newline="")
    write(rows, text)
    text.flush()
    text.detach()


def _csv(rows: _Answered, file: IO[str]) -> bool:
    writer = None
    for row in rows:
        if writer is None:
            writer = csv.DictWriter(file, [*row], extrasaction="ignore", restval="", lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: _cell(name, cell) for name, cell in row.items()})
    return False


def _cell(name: str, cell: Any) -> Any:
    """A cell as CSV has it: tags with semicolons, what has names as JSON."""
    if name == "prediction" and isinstance(cell, list) and not any(isinstance(part, list) for part in cell):
        return ";".join(map(str, cell))
    return json.dumps(cell, default=str) if isinstance(cell, (list, dict)) else cell


def _json(rows: _Answered, file: IO[str]) -> bool:
    for row in rows:
        file.write(json.dumps(row, default=str) + "\n")
    return False


def _parquet(rows: _Answered, file: IO[bytes]) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ReadError("Parquet needs pyarrow: pip install 'oskaar[parquet]', or end --out with .csv.") from None
    made = [{name: json.dumps(c) if isinstance(c, dict) else c for name, c in row.items()} for row in rows]
    pq.write_table(pa.Table.from_pylist(made), file)

"""Records to rounds: which cells are x, which are y, checked row by row with the line in every error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oskaar.tabular.contradictions import (
    LabelContradictions,
    dirty_numbers,
    odd_numbers,
    require_one_header,
    require_plain_numbers,
)
from oskaar.tabular.infer import infer_loss, infer_y
from oskaar.tabular.inputs import InputColumns, arc_rows, error_at, lag_names, with_lags
from oskaar.tabular.labels import GROUPED, SUBSETS, loss_name, make_labels
from oskaar.tabular.readers import ReadError, Record, Table, read_table
from oskaar.tabular.round_options import RoundOptions, few, matching

SAMPLE = 100
"""What was not given is inferred from so many rows."""


class Round(NamedTuple):
    """The line where it was read, x, y, whether it is learned only, not judged; the file, where there are several."""

    line: int
    x: Any
    y: Any
    warm: bool
    part: str = ""


def read(
    path: str | Path,
    y: str | None = None,
    *,
    format: str | None = None,
    encoding: str = "utf-8",
    decimal: str | None = None,
    named: bool = True,
    **options: Any,
) -> TableStream:
    r"""The rounds of a file or a directory, read as they are asked for: what `oskaar learn` learns.

    y: the columns of the label; None infers them. options: those of `RoundOptions`. named: rows are cells by name,
    for the default kernels; False makes numbers of them.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tickets.csv"
    ...     lines = ["subject,tags", "no invoice,billing", "login fails,login;urgent", "login twice,login;billing"]
    ...     _ = path.write_text("\n".join(lines))
    ...     rounds = read(path, y="tags")
    ...     [(r.line, r.x["subject"], sorted(r.y)) for r in rounds][1]
    (3, 'login fails', ['login', 'urgent'])
    """
    return TableStream(read_table(path, format, encoding, decimal=decimal), RoundOptions(y=y, **options), named)


class TableStream:
    """The rounds of a table, made as they are asked for; `notes` say what was inferred.

    named: x is cells by name, as they are in the file, for learners with a schema; else numbers where all are.
    """

    def __init__(self, table: Table, options: RoundOptions, named: bool = False) -> None:
        self.table, self.options = table, options
        self.notes, self.skipped = list(table.notes), 0
        records = self._counted(self._ordered())
        self._used = self._read = self._done = 0
        sample, self._digests = [], [table.digest()]
        for record in islice(records, min(SAMPLE, options.limit or SAMPLE)):
            sample.append(record)
            self._digests.append(table.digest())
        if not sample:
            raise ReadError(f"{table.name} has no rows: there is nothing to learn.")
        self._records: Iterator[Record] = chain(sample, records)
        columns = list(table.columns or dict.fromkeys(name for record in sample for name in record.cells))
        require_one_header(table, columns, sample)
        self._choose_y(columns, sample)
        others = [name for name in columns if name not in self.y]
        self.notes += odd_numbers(table, others, sample)
        if named and table.columns:
            self.notes += dirty_numbers(others, sample)
        sample = self._with_lags(sample)
        not_x = {*self.y, *(name for name in (self.group, options.order, table.group) if name)}
        lags = lag_names(self.y, options.lags or 0)
        self._inputs = InputColumns(table, options, columns, sample, not_x, lags, named, self.notes)
        self.dense = self._inputs.dense and not self._tree
        n = len(self._inputs.names)
        if self._tree:
            self.notes.append("x is every arc that a tree might have: many rows a sentence, --budget 256 helps")
        elif self._inputs.named:
            self.notes.append(f"x is {n} column{'s' * (n > 1)}: {few(self._inputs.names)}")
        elif self.dense:
            self.notes.append(f"x is {n} number{'s' * (n > 1)}")
        else:
            self.notes.append("x is named values, text one-hot, what is not there 0")

    @property
    def names(self) -> list[str] | None:
        """What the numbers of x are called; None for named values."""
        return list(self._inputs.names) if self.dense or self._inputs.named else None

    @property
    def width(self) -> int | None:
        """How many numbers x has; None for named values."""
        return len(self._inputs.names) if self.dense else None

    @property
    def largest(self) -> float:
        """The largest number of x in the first rows; 0 for named values."""
        return self._inputs.largest

    # ---------------------------------------------------------------- the options

    def _ordered(self) -> Iterator[Record]:
        """The records in the order of a column, which takes reading all of them; as they are where it is None."""
        name, column = self.table.name, self.options.order
        if column is None:
            return iter(self.table)
        records = list(self.table)
        for record in records:
            if record.cells.get(column) is None:
                raise error_at(self.table, record, f"there is no value of {column!r} to order by")
        try:
            records.sort(key=lambda record: record.cells[column])
        except TypeError:
            raise ReadError(f"{name}: values of {column!r} are numbers in some rows and text in others.") from None
        self.notes.append(f"all {len(records)} rows were read and put in the order of {column!r}")
        return iter(records)

    def _choose_y(self, columns: list[str], sample: list[Record]) -> None:
        options = self.options
        self.group = options.group or self.table.group
        for option, name in (("--group", options.group), ("--order", options.order)):
            if name:
                matching(name, columns, option)
        others = [name for name in columns if name not in (self.group, options.order)]
        asked = loss_name(options.loss) if options.loss else None
        self._tree = asked == "DependencyTree"
        if options.y:
            self.y = matching(options.y, columns, "--y")
        else:
            heads = self._tree and "head" in columns
            self.y = ["head"] if heads else infer_y(self.table, others, sample, self.notes)
        if asked in GROUPED and not self.group:
            raise ReadError(f"--loss {options.loss} needs --group, the column that says which rows belong together.")
        if asked and asked not in GROUPED and self.group:
            if options.group:
                raise ReadError(f"--group goes with documents, sequence and dependencytree, not {options.loss}.")
            self.group = None
        if asked is None and not options.tags_separator:
            require_plain_numbers(self.table, self.y, sample)
        known = [cell for record in sample for name in self.y if (cell := self._cell(record, name)) is not None]
        given = (options.levels or options.classes) if asked == "Ordinal" else options.low is not None
        found = infer_loss(
            self.y, known, bool(self.group), asked, options.tags_separator, [] if given else self.notes
        )
        self._head = 0 if given or not found.not_judged else found.not_judged + (options.delay or 0)
        self._loss, self._separator = found.loss, found.separator
        self._later = LabelContradictions(self.y[0], found.doubt, self.notes, found.separator)
        self.labels = make_labels(found.loss, self.y, replace(options, tags_separator=found.separator))
        self._tags = found.loss in SUBSETS and len(self.y) == 1

    def _with_lags(self, sample: list[Record]) -> list[Record]:
        """The last labels as columns, where they are wanted: in all records, and in these."""
        n = self.options.lags or 0
        if not n:
            return sample
        if self.group:
            raise ReadError("--lags is for rows that are rounds by themselves: it does not go with groups.")
        cells = [self._cell(record, name) for record in sample for name in self.y]
        start = 0 if all(isinstance(cell, (int, float, type(None))) for cell in cells) else None
        delay = self.options.delay or 0
        self._records = with_lags(self._records, self.y, n, start, delay)
        self.notes.append(f"the last {n} labels are inputs too: {self.y[0]}_lag1 to {self.y[-1]}_lag{n}")
        return list(with_lags(iter(sample), self.y, n, start, delay))

    # ---------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[Round]:
        rounds = self._grouped() if self.group else self._single()
        if not self.options.limit:
            return rounds
        return islice(rounds, max(0, self.options.limit - self._done))

    def _counted(self, records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            self._read += 1
            yield record

    def _single(self) -> Iterator[Round]:
        for record in self._records:
            self._used += 1
            cells = [self._cell(record, name) for name in self.y]
            if self._tags and cells[0] is None:
                cells = [()]  # no tags
            self._later.label(record, cells[0])
            x = self._inputs.row(record) if None not in cells or self._fills(record, cells) else None
            if x is None:
                self.skipped += 1
                continue
            y = self._label(cells, record)
            self._done += 1
            yield Round(record.line, x, y, self._used <= self._head, record.part)

    def _grouped(self) -> Iterator[Round]:
        for _, members in groupby(self._records, key=lambda record: self._cell(record, str(self.group))):
            records = list(members)
            self._used += len(records)
            cells = [self._cell(record, self.y[0]) for record in records]
            for record, cell in zip(records, cells, strict=True):
                if cell is None:
                    self._fills(record, [cell])
            rows = arc_rows(records) if self._tree else [self._inputs.row(record) for record in records]
            if None in cells or any(row is None for row in rows):
                self.skipped += 1
                continue
            x = np.array(rows) if self.dense else rows
            y = self._label(cells, records[-1])
            self._done += 1
            yield Round(records[-1].line, x, y, False, records[-1].part)

    def _cell(self, record: Record, name: str) -> Any:
        return record.cells.get(name, 0 if self.table.sparse else None)

    def _label(self, cells: list[Any], record: Record) -> Any:
        try:
            return self.labels.loss.check(self.labels.of(cells))
        except (ValueError, TypeError) as error:
            raise error_at(self.table, record, str(error)) from None

    def _fills(self, record: Record, cells: list[Any]) -> bool:
        return self._inputs.fills(record, cells, self.y, is_x=False)

    # ---------------------------------------------------------------- checkpoints

    def about(self) -> dict[str, Any]:
        """What was inferred, which must be inferred again from the same file."""
        about = {"loss": self._loss, "separator": self._separator, "y": self.y, "group": self.group}
        return {**about, "tree": self._tree, "x": self.names if not self._tree else None}

    def state(self) -> dict[str, Any]:
        """How far the records have been used, and what has been learned of them."""
        counts = {"used": self._used, "pulled": self._read, "done": self._done}
        return {**counts, "skipped": self.skipped, "digest": self.table.digest()}

    def restore(self, state: dict[str, Any]) -> None:
        """Skip what has been used, and go on from there; refused where the records are others."""
        used = sum(1 for _ in islice(self._records, state["used"]))
        unused = list(islice(self._records, state["pulled"] - state["used"]))
        name, rows = self.table.name, state["pulled"]
        if used + len(unused) < rows:
            raise ReadError(
                f"{name} has {used + len(unused)} rows and the checkpoint has read {rows}: give all of it."
            )
        digest = self._digests[rows] if rows < len(self._digests) else self.table.digest()
        if digest != state["digest"]:
            raise ReadError(
                f"{name} is not what the checkpoint has read, it differs in the first {rows} rows: give the file as "
                "it was, or start anew without --resume."
            )
        self._records = chain(unused, self._records)
        self._used, self._done = used, state["done"]
        self.skipped = state["skipped"]


class Unlabelled:
    """Rounds without labels of a table, for a model: pairs of their records and x, None where the round is skipped.

    about: `TableStream.about` of the file that the model was learned from.
    """

    def __init__(self, table: Table, options: RoundOptions, about: dict[str, Any], named: bool = False) -> None:
        if options.lags:
            raise ReadError("the model needs the last labels (--lags), which rows without labels do not have.")
        self.table, self._about = table, about
        records = iter(table)
        sample = list(islice(records, SAMPLE))
        self.sample, self._records = sample, chain(sample, records)
        self._group = about["group"]
        columns = list(table.columns or dict.fromkeys(name for record in sample for name in record.cells))
        not_x = {*about["y"], *(name for name in (self._group, options.order) if name)}
        self._inputs = InputColumns(table, options, columns, sample, not_x, [], named) if sample else None

    def about(self) -> dict[str, Any]:
        return {"x": self._inputs.names if self._inputs and self._about["x"] is not None else None}

    def __iter__(self) -> Iterator[tuple[list[Record], Any]]:
        if self._inputs is None:
            return
        for records in self._rounds():
            rows = arc_rows(records) if self._about["tree"] else [self._inputs.row(record) for record in records]
            if any(row is None for row in rows):
                yield records, None
                continue
            dense = self._inputs.dense and not self._about["tree"]
            x = rows[0] if not self._group else np.array(rows) if dense else rows
            yield records, x

    def _rounds(self) -> Iterator[list[Record]]:
        if not self._group:
            return ([record] for record in self._records)
        return (list(members) for _, members in groupby(self._records, key=lambda r: r.cells.get(self._group)))

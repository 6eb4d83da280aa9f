"""Records to rounds: which cells are x, which are y, checked row by row with the line in every error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

import numpy as np

from oskaar.cli.columns import matches, matching
from oskaar.cli.guesses import guess_loss, guess_y
from oskaar.cli.labels import GROUPED, as_floats, loss_name, make_labels
from oskaar.cli.ordering import ordered
from oskaar.cli.scaling import Online, Plain, flat
from oskaar.readers import ReadError, Record, Table

SAMPLE = 100
"""So many rows are looked at for guesses."""


class Round(NamedTuple):
    """The line where it was read, x, y, and whether it only warms up: learned, not judged."""

    line: int
    x: Any
    y: Any
    warm: bool


class Rounds:
    """The rounds of a table, made as they are asked for; `notes` are the guesses."""

    def __init__(self, table: Table, options: Any) -> None:
        self.table, self.options = table, options
        self.notes, self.skipped, self.clipped = list(table.notes), 0, 0
        records = ordered(table, options.order, self.notes)
        sample = list(islice(records, min(SAMPLE, options.limit or SAMPLE)))
        if not sample:
            raise ReadError(f"{table.name} has no rows: there is nothing to replay.")
        self._records = chain(sample, records)
        columns = list(table.columns or dict.fromkeys(name for record in sample for name in record.cells))
        self._columns = columns
        self._choose_y(columns, sample)
        self._choose_x(columns, sample)

    @property
    def width(self) -> int | None:
        """How many numbers x has; None for named values."""
        return len(self._names) if self.dense else None

    @property
    def names(self) -> list[str] | None:
        """What the numbers of x are called; None for named values."""
        return list(self._names) if self.dense else None

    def _choose_y(self, columns: list[str], sample: list[Record]) -> None:
        options = self.options
        self.group = options.group or self.table.group
        for option, name in (("--group", options.group), ("--order", options.order)):
            if name:
                matching(name, columns, option)
        others = [name for name in columns if name not in (self.group, options.order)]
        self.y = matching(options.y, columns, "--y") if options.y else guess_y(self.table, others, self.notes)
        asked = loss_name(options.loss) if options.loss else None
        if asked in GROUPED and not self.group:
            raise ReadError(f"--loss {options.loss} needs --group, the column that says which rows belong together.")
        if asked and asked not in GROUPED and self.group:
            if options.group:
                raise ReadError(f"--group goes with --loss documents or sequence, not {options.loss}.")
            self.group = None
        head = len(sample) if len(sample) == SAMPLE else max(1, len(sample) // 5)
        known = [cell for record in sample for name in self.y if (cell := self._cell(record, name)) is not None]
        given = (options.levels or options.classes) if asked == "Ordinal" else options.low is not None
        guess = guess_loss(self.y, known, head, bool(self.group), asked, [] if given else self.notes)
        self._range: tuple[Any, Any] | None = None
        self._head = 0
        if not given and guess.warmed:
            options.low, options.high, options.levels = guess.low, guess.high, guess.levels or options.levels
            self._range, self._head = (guess.low, guess.high), head
        self.labels = make_labels(guess.loss, self.y, options)

    def _choose_x(self, columns: list[str], sample: list[Record]) -> None:
        options = self.options
        self._not_x = {*self.y, *(name for name in (self.group, options.order, self.table.group) if name)}
        self._x = options.x or (",".join(self.table.inputs) if self.table.inputs else None)
        self._is_x: dict[str, bool] = {}
        if self._x:
            chosen = set(matching(self._x, columns, "--x"))
            self._is_x = {name: name in chosen and name not in self.y for name in columns}
        self._scale: Plain = Online() if options.standardise else Plain()
        rows = [self._pairs(record) for record in sample]
        names = [name for name, _ in rows[0]]
        same = not self.table.sparse and all([name for name, _ in row] == names for row in rows)
        self.dense = (
            same and bool(names) and all(isinstance(c, (int, float, type(None))) for row in rows for _, c in row)
        )
        self._names = names
        if self.dense:
            self.notes.append(f"x is {len(names)} numbers")
            self._advise_scaling(rows)
        elif not any(rows):
            raise ReadError("there is no column left for x: name some with --x.")
        else:
            self.notes.append("x is named values, text one-hot, what is not there 0")

    def _advise_scaling(self, rows: list[list[tuple[str, Any]]]) -> None:
        largest = max((abs(cell) for row in rows for _, cell in row if cell is not None), default=0.0)
        if largest > 10 and not self.options.standardise:
            self.notes.append(f"numbers of x reach {largest:g}: --standardise scales them as they come")

    # ---------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[Round]:
        rounds = self._grouped() if self.group else self._single()
        return islice(rounds, self.options.limit) if self.options.limit else rounds

    def _single(self) -> Iterator[Round]:
        for i, record in enumerate(self._records):
            cells = [self._cell(record, name) for name in self.y]
            x = self._row(record) if None not in cells or self._refused(record, cells) else None
            if x is None:
                self.skipped += 1
                continue
            yield Round(record.line, x, self._label(cells, record), i < self._head)

    def _grouped(self) -> Iterator[Round]:
        for _, members in groupby(self._records, key=lambda record: self._cell(record, str(self.group))):
            records = list(members)
            cells = [self._cell(record, self.y[0]) for record in records]
            for record, cell in zip(records, cells, strict=True):
                if cell is None:
                    self._refused(record, [cell])
            rows = [self._row(record) for record in records]
            if None in cells or any(row is None for row in rows):
                self.skipped += 1
                continue
            x = np.array(rows) if self.dense else rows
            yield Round(records[-1].line, x, self._label(cells, records[-1]), False)

    def _cell(self, record: Record, name: str) -> Any:
        return record.cells.get(name, 0 if self.table.sparse else None)

    def _label(self, cells: list[Any], record: Record) -> Any:
        if self._range:
            low, high = self._range
            moved = [min(max(cell, low), high) if isinstance(cell, (int, float)) else cell for cell in cells]
            self.clipped += moved != cells
            cells = moved
        try:
            return self.labels.loss.check(self.labels.of(cells))
        except (ValueError, TypeError) as error:
            raise self._error(record, str(error)) from None

    def _pairs(self, record: Record) -> list[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = []
        for name, cell in record.cells.items():
            if self._is_x.get(name) is None:
                wanted = self._x is None or matches(name, self._x)
                self._is_x[name] = wanted and name not in self._not_x
            if self._is_x[name]:
                pairs += flat(name, cell) if isinstance(cell, (list, tuple, dict)) else [(name, cell)]
        return pairs

    def _row(self, record: Record) -> Any:
        """x of a record; None where it is to be skipped."""
        pairs = self._pairs(record)
        for name, cell in pairs:
            if isinstance(cell, float) and not math.isfinite(cell):
                raise self._error(record, f"column {name!r} must be finite, got {cell}")
        if not self.dense:
            return self._scale.named(
                {n: c if isinstance(c, (int, float)) else str(c) for n, c in pairs if c is not None}
            )
        if [name for name, _ in pairs] != self._names:
            found = dict(pairs)
            extra = [name for name, _ in pairs if name not in set(self._names)]
            if extra:
                raise self._error(record, f"{extra[0]!r} is not in the first rows: choose columns with --x")
            pairs = [(name, found.get(name)) for name in self._names]
        row = [cell for _, cell in pairs]
        if None in row:
            if self._refused(record, row, [name for name, _ in pairs]):
                row = [0.0 if cell is None else cell for cell in row]
            else:
                return None
        try:
            return self._scale.dense(as_floats(row))
        except ValueError:
            name = next(n for n, c in pairs if not isinstance(c, (int, float)))
            raise self._error(
                record, f"column {name!r} must be a number, as in the first rows, got {dict(pairs)[name]!r}"
            ) from None

    def _refused(self, record: Record, cells: list[Any], names: list[str] | None = None) -> bool:
        """What becomes of a missing value: True fills an x with 0, False skips the row."""
        if self.options.missing == "skip":
            return False
        if self.options.missing == "zero" and names:
            return True
        name = (names or self.y)[cells.index(None)]
        advice = "--missing skip leaves such rows out" + (", --missing zero fills in 0" if names else "")
        raise self._error(record, f"column {name!r} has no value: {advice}")

    def _error(self, record: Record, message: str) -> ReadError:
        return ReadError(f"{self.table.name}, line {record.line}: {message.rstrip('.')}.")

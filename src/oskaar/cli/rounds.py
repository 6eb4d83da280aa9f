"""Records to rounds: which cells are x, which are y, checked row by row with the line in every error."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

import numpy as np

from oskaar.cli.arcs import arc_rows
from oskaar.cli.columns import matching
from oskaar.cli.guesses import guess_loss, guess_y
from oskaar.cli.inputs import Inputs, error_at
from oskaar.cli.labels import GROUPED, loss_name, make_labels
from oskaar.cli.lagging import lag_names, lagged
from oskaar.cli.ordering import ordered
from oskaar.cli.settings import settings_of
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
        self.settings = settings_of(options)  # before guesses fill them in
        self.notes, self.skipped, self.clipped = list(table.notes), 0, 0
        records = self._pulled(ordered(table, options.order, self.notes))
        self._used = self._taken = self._done = 0
        sample = list(islice(records, min(SAMPLE, options.limit or SAMPLE)))
        if not sample:
            raise ReadError(f"{table.name} has no rows: there is nothing to replay.")
        self._records: Iterator[Record] = chain(sample, records)
        columns = list(table.columns or dict.fromkeys(name for record in sample for name in record.cells))
        self._columns = columns
        self._choose_y(columns, sample)
        sample = self._with_lags(sample)
        not_x = {*self.y, *(name for name in (self.group, options.order, table.group) if name)}
        lags = lag_names(self.y, options.lags or 0)
        self._inputs = Inputs(table, options, columns, sample, not_x, lags, self.notes)
        self.dense = self._inputs.dense and not self._tree
        if self._tree:
            self.notes[-1] = "x is every arc that a tree might have: many rows a sentence, --budget 256 helps"

    @property
    def width(self) -> int | None:
        """How many numbers x has; None for named values."""
        return len(self._inputs.names) if self.dense else None

    @property
    def names(self) -> list[str] | None:
        """What the numbers of x are called; None for named values."""
        return list(self._inputs.names) if self.dense else None

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
            self.y = ["head"] if heads else guess_y(self.table, others, sample, self.notes)
        if asked in GROUPED and not self.group:
            raise ReadError(f"--loss {options.loss} needs --group, the column that says which rows belong together.")
        if asked and asked not in GROUPED and self.group:
            if options.group:
                raise ReadError(f"--group goes with documents, sequence and dependencytree, not {options.loss}.")
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

    def _with_lags(self, sample: list[Record]) -> list[Record]:
        """The last labels as columns, where they are wanted: in all records, and in these."""
        n = self.options.lags or 0
        if not n:
            return sample
        if self.group:
            raise ReadError("--lags is for rows that are rounds by themselves: it does not go with groups.")
        cells = [self._cell(record, name) for record in sample for name in self.y]
        start = 0 if all(isinstance(cell, (int, float, type(None))) for cell in cells) else None
        self._records = lagged(self._records, self.y, n, start)
        self.notes.append(f"the last {n} labels are inputs too: {self.y[0]}_lag1 to {self.y[-1]}_lag{n}")
        return list(lagged(iter(sample), self.y, n, start))

    # ---------------------------------------------------------------- reading

    def __iter__(self) -> Iterator[Round]:
        rounds = self._grouped() if self.group else self._single()
        if not self.options.limit:
            return rounds
        return islice(rounds, max(0, self.options.limit - self._done))

    def _pulled(self, records: Iterator[Record]) -> Iterator[Record]:
        for record in records:
            self._taken += 1
            yield record

    def _single(self) -> Iterator[Round]:
        for record in self._records:
            self._used += 1
            cells = [self._cell(record, name) for name in self.y]
            x = self._inputs.row(record) if None not in cells or self._fills(record, cells) else None
            if x is None:
                self.skipped += 1
                continue
            y = self._label(cells, record)
            self._done += 1
            yield Round(record.line, x, y, self._used <= self._head)

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
            yield Round(records[-1].line, x, y, False)

    # ---------------------------------------------------------------- checkpoints

    def about(self) -> dict[str, Any]:
        """What the first rows said, to see whether they say it again."""
        return {"loss": repr(self.labels.loss), "y": self.y, "x": self._inputs.names if self.dense else None}

    def state(self) -> dict[str, Any]:
        """How far the records have been used, and what has been learned of them."""
        counts = {"used": self._used, "pulled": self._taken, "done": self._done}
        seen = {"skipped": self.skipped, "clipped": self.clipped, "scale": self._inputs.scale.state()}
        return {**counts, **seen, "digest": self.table.digest()}

    def restore(self, state: dict[str, Any]) -> None:
        """Skip what has been used, and go on from there; refused where the records are others."""
        used = sum(1 for _ in islice(self._records, state["used"]))
        ahead = list(islice(self._records, state["pulled"] - state["used"]))
        name, rows = self.table.name, state["pulled"]
        if used + len(ahead) < rows:
            raise ReadError(
                f"{name} has {used + len(ahead)} rows and the checkpoint has read {rows}: give all of it."
            )
        if self.table.digest() != state["digest"]:
            raise ReadError(
                f"{name} is not what the checkpoint has read, it differs in the first {rows} rows: give the file as "
                "it was, or start anew without --resume."
            )
        self._records = chain(ahead, self._records)
        self._used, self._done = used, state["done"]
        self.skipped, self.clipped = state["skipped"], state["clipped"]
        self._inputs.scale.restore(state["scale"])

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
            raise error_at(self.table, record, str(error)) from None

    def _fills(self, record: Record, cells: list[Any]) -> bool:
        return self._inputs.fills(record, cells, self.y, is_x=False)

"""Records to inputs: which columns are x, rows of numbers or of named values, the last labels (lags), arcs."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from oskaar.losses import arcs
from oskaar.tabular.contradictions import Contradictions
from oskaar.tabular.labels import as_floats
from oskaar.tabular.readers import ReadError, Record, Table
from oskaar.tabular.round_options import RoundOptions, matches, matching

HUGE = 1e300
"""Numbers are below it: they, and their sums, are finite."""


def error_at(table: Table, record: Record, message: str) -> ReadError:
    """An error that names the file and the line.

    >>> error_at(Table("a.csv", iter(())), Record(3, {}), "no")
    ReadError('a.csv, line 3: no.')
    """
    return ReadError(f"{record.part or table.name}, line {record.line}: {message.rstrip('.')}.")


class InputColumns:
    """x of records. `columns` are those of the file, `sample` its first records; `always` are x in any case.

    named: rows are cells by name, as they are in the file, for a learner that reads them by a schema of its own.
    Else they are numbers, or, where there is text, numbers by name with text one-hot.
    """

    def __init__(
        self,
        table: Table,
        options: RoundOptions,
        columns: list[str],
        sample: list[Record],
        not_x: set[str],
        always: list[str],
        named: bool = False,
        notes: list[str] | None = None,
    ) -> None:
        self._table, self._options, self._not_x = table, options, not_x
        self._x = options.x or (",".join(table.inputs) if table.inputs else None)
        self._is_x: dict[str, bool] = {}
        self.named, self._always = named and not table.sparse, frozenset(always)
        if options.drop:
            self._not_x = {*not_x, *matching(options.drop, columns, "--drop")}
        if self._x:
            chosen = set(matching(self._x, columns, "--x"))
            self._is_x = {name: name in chosen and name not in self._not_x for name in columns}
            self._is_x |= dict.fromkeys(always, True)
        rows = [self._pairs(record) for record in sample]
        if not any(rows):
            raise ReadError("there is no column left for x: name some with --x.")
        self.names = [name for name, _ in rows[0]]
        if self.named and not table.columns:
            self.names = list(dict.fromkeys(name for row in rows for name, _ in row))
        same = not table.sparse and bool(self.names) and all([n for n, _ in row] == self.names for row in rows)
        self.dense = (
            not self.named and same and all(isinstance(c, (int, float, type(None))) for row in rows for _, c in row)
        )
        self._later = Contradictions([dict(row) for row in rows], [] if notes is None else notes)
        self._direct = self.dense and bool(table.columns) and set(self.names) <= set(sample[0].cells)
        self.largest = max((abs(c) for row in rows for _, c in row if c is not None), default=0) if self.dense else 0
        """The largest number of x in the sample."""

    def _pairs(self, record: Record) -> list[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = []
        for name, cell in record.cells.items():
            if self._is_x.get(name) is None:
                wanted = self._x is None or matches(name, self._x)
                self._is_x[name] = wanted and name not in self._not_x
            if self._is_x[name]:
                nested = isinstance(cell, (list, tuple, dict)) and not (self.named and is_tokens(cell))
                pairs += flat(name, cell) if nested else [(name, cell)]
        return pairs

    def row(self, record: Record) -> Any:
        """x of a record; None where it is to be skipped."""
        if self._direct:  # most files: nothing but numbers in columns that stay
            cells: list[Any] = [record.cells.get(name) for name in self.names]
            if set(map(type, cells)) <= {int, float} and max(map(abs, cells), default=0) < HUGE:
                return np.array(cells, dtype=float)
        pairs = self._pairs(record)
        for name, cell in pairs:
            if isinstance(cell, (int, float)) and not abs(cell) < HUGE:
                raise error_at(self._table, record, f"column {name!r} must be finite, got {cell!s:.20}")
            if type(cell) is str and self.named:
                self._later.input(record, name, cell)
        if self.named:
            return self._cells(record, pairs)
        if not self.dense:
            return {n: c if isinstance(c, (int, float)) else str(c) for n, c in pairs if c is not None}
        if [name for name, _ in pairs] != self.names:
            found = dict(pairs)
            extra = [name for name, _ in pairs if name not in set(self.names)]
            if extra:
                raise error_at(self._table, record, f"{extra[0]!r} is not in the first rows: choose columns with --x")
            pairs = [(name, found.get(name)) for name in self.names]
        row = [cell for _, cell in pairs]
        if None in row:
            if not self.fills(record, row, self.names):
                return None
            row = [0.0 if cell is None else cell for cell in row]
        try:
            return as_floats(row)
        except ValueError:
            name, cell = next((n, c) for n, c in pairs if not isinstance(c, (int, float)))
            what = f"column {name!r} must be a number, as in the first rows, got {cell!r}"
            raise error_at(self._table, record, what) from None

    def _cells(self, record: Record, pairs: list[tuple[str, Any]]) -> Any:
        """Cells by name, with what is to be done with those that are missing; None where the row is to be skipped."""
        known = [(name, cell) for name, cell in pairs if name not in self._always]
        cells = [cell for _, cell in known]
        if self._options.missing != "learn" and None in cells:
            if not self.fills(record, cells, [name for name, _ in known]):
                return None
            return {name: 0.0 if cell is None else cell for name, cell in pairs}
        return dict(pairs)

    def fills(self, record: Record, cells: list[Any], names: list[str], is_x: bool = True) -> bool:
        """What becomes of a missing value: True fills an x with 0, False skips the row."""
        if self._options.missing == "skip":
            return False
        if self._options.missing == "zero" and is_x:
            return True
        advice = "--missing skip leaves such rows out" + (", --missing zero fills in 0" if is_x else "")
        raise error_at(self._table, record, f"column {names[cells.index(None)]!r} has no value: {advice}")


def is_tokens(cell: Any) -> bool:
    """Whether a cell is a list of texts."""
    return isinstance(cell, (list, tuple)) and bool(cell) and all(isinstance(part, str) for part in cell)


def flat(name: str, cell: Any) -> list[tuple[str, Any]]:
    """A cell, or the cells inside a list or an object, by name.

    >>> flat("x", [1, {"a": 2}])
    [('x.0', 1), ('x.1.a', 2)]
    """
    if isinstance(cell, dict):
        return [pair for key, inner in cell.items() for pair in flat(f"{name}.{key}", inner)]
    if isinstance(cell, (list, tuple)):
        return [pair for i, inner in enumerate(cell) for pair in flat(f"{name}.{i}", inner)]
    return [(name, cell)]


def lag_names(y: list[str], n: int) -> list[str]:
    """The names of the columns.

    >>> lag_names(["wind"], 2)
    ['wind_lag1', 'wind_lag2']
    """
    return [f"{name}_lag{k}" for k in range(1, n + 1) for name in y]


def with_lags(records: Iterator[Record], y: list[str], n: int, start: Any, delay: int = 0) -> Iterator[Record]:
    """The records with the labels of the n records before them that had one; before there are any, `start`.

    delay: a label is known after so many more records.

    >>> rows = [Record(1, {"y": 5}), Record(2, {"y": None}), Record(3, {"y": 7}), Record(4, {"y": 8})]
    >>> [record.cells["y_lag1"] for record in with_lags(iter(rows), ["y"], 1, 0)]
    [0, 5, 5, 7]
    >>> [list(record.cells.values())[1:] for record in with_lags(iter(rows), ["y"], 2, 0)]
    [[0, 0], [5, 0], [5, 0], [7, 5]]
    >>> [record.cells["y_lag1"] for record in with_lags(iter(rows), ["y"], 1, 0, delay=2)]
    [0, 0, 0, 5]
    """
    past: deque[dict[str, Any]] = deque([dict.fromkeys(y, start)] * n, maxlen=n)
    names, waiting = lag_names(y, n), deque[dict[str, Any]]()
    for record in records:
        before = [past[-k][name] for k in range(1, n + 1) for name in y]
        yield record._replace(cells={**record.cells, **dict(zip(names, before, strict=True))})
        waiting.append({name: record.cells.get(name) for name in y})
        label = waiting.popleft() if len(waiting) > delay else {"": None}
        if None not in label.values():
            past.append(label)


_TAGS = ("upos", "pos", "tag")
_STEPS = (2, 3, 4, 6, 10, 20)


def arc_rows(records: list[Record]) -> list[dict[str, str]]:
    """A sentence as rows for `DependencyTree`: each arc by the tags and forms of its ends, as `losses.arcs` has them.

    >>> rows = arc_rows([Record(1, {"form": "cats", "upos": "NOUN"}), Record(2, {"form": "sleep", "upos": "VERB"})])
    >>> len(rows), rows[1]["tags"], rows[1]["dependent"]
    (4, 'VERB NOUN left', 'NOUN left 1')
    """
    cells = [record.cells for record in records]
    forms = ["", *(str(cell.get("form", "")).lower() for cell in cells)]
    named = [next((str(cell[name]) for name in _TAGS if name in cell), None) for cell in cells]
    tags = ["ROOT", *(form if tag is None else tag for tag, form in zip(named, forms[1:], strict=True))]
    return [_arc(int(h), int(d), tags, forms) for h, d in zip(*arcs(len(records)), strict=True)]


def _arc(h: int, d: int, tags: list[str], forms: list[str]) -> dict[str, str]:
    side = "right" if h < d else "left"
    step = f"{side} {1 + bisect_right(_STEPS, abs(h - d))}"
    return {
        "tags": f"{tags[h]} {tags[d]} {side}",
        "dependent": f"{tags[d]} {step}",
        "head": f"{tags[h]} {step}",
        "word": f"{tags[h]} {forms[d]} {side}",
    }

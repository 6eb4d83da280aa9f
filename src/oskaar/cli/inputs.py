"""Records to inputs: which columns are x, and rows of numbers or of named values made of their cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.cli.columns import matches, matching
from oskaar.cli.labels import as_floats
from oskaar.cli.scaling import Online, Plain, flat
from oskaar.readers import ReadError, Record, Table

HUGE = 1e300
"""Numbers are below it: they, and their sums, are finite."""


def error_at(table: Table, record: Record, message: str) -> ReadError:
    """An error that names the file and the line.

    >>> error_at(Table("a.csv", iter(())), Record(3, {}), "no")
    ReadError('a.csv, line 3: no.')
    """
    return ReadError(f"{table.name}, line {record.line}: {message.rstrip('.')}.")


class Inputs:
    """x of records. `columns` are those of the file, `sample` its first records; `always` are x in any case."""

    def __init__(
        self,
        table: Table,
        options: Any,
        columns: list[str],
        sample: list[Record],
        not_x: set[str],
        always: list[str],
        notes: list[str],
    ) -> None:
        self._table, self._options, self._not_x = table, options, not_x
        self._x = options.x or (",".join(table.inputs) if table.inputs else None)
        self._is_x: dict[str, bool] = {}
        if self._x:
            chosen = set(matching(self._x, columns, "--x"))
            self._is_x = {name: name in chosen and name not in not_x for name in columns}
            self._is_x |= dict.fromkeys(always, True)
        self.scale: Plain = Online() if options.standardise else Plain()
        rows = [self._pairs(record) for record in sample]
        self.names = [name for name, _ in rows[0]]
        same = not table.sparse and bool(self.names) and all([n for n, _ in row] == self.names for row in rows)
        self.dense = same and all(isinstance(c, (int, float, type(None))) for row in rows for _, c in row)
        self._plain = self.dense and bool(table.columns) and set(self.names) <= set(sample[0].cells)
        if self.dense:
            notes.append(f"x is {len(self.names)} numbers")
            self._advise_scaling(rows, notes)
        elif not any(rows):
            raise ReadError("there is no column left for x: name some with --x.")
        else:
            notes.append("x is named values, text one-hot, what is not there 0")

    def _advise_scaling(self, rows: list[list[tuple[str, Any]]], notes: list[str]) -> None:
        largest = max((abs(cell) for row in rows for _, cell in row if cell is not None), default=0.0)
        if largest > 10 and self._options.kernel and not self._options.standardise:
            notes.append(f"numbers of x reach {min(largest, HUGE):g}: --standardise scales them as they come")

    def _pairs(self, record: Record) -> list[tuple[str, Any]]:
        pairs: list[tuple[str, Any]] = []
        for name, cell in record.cells.items():
            if self._is_x.get(name) is None:
                wanted = self._x is None or matches(name, self._x)
                self._is_x[name] = wanted and name not in self._not_x
            if self._is_x[name]:
                pairs += flat(name, cell) if isinstance(cell, (list, tuple, dict)) else [(name, cell)]
        return pairs

    def row(self, record: Record) -> Any:
        """x of a record; None where it is to be skipped."""
        if self._plain:  # most files: nothing but numbers in columns that stay
            cells: list[Any] = [record.cells.get(name) for name in self.names]
            if set(map(type, cells)) <= {int, float} and max(map(abs, cells), default=0) < HUGE:
                return self.scale.dense(np.array(cells, dtype=float))
        pairs = self._pairs(record)
        for name, cell in pairs:
            if isinstance(cell, (int, float)) and not abs(cell) < HUGE:
                raise error_at(self._table, record, f"column {name!r} must be finite, got {cell!s:.20}")
        if not self.dense:
            return self.scale.named(
                {n: c if isinstance(c, (int, float)) else str(c) for n, c in pairs if c is not None}
            )
        if [name for name, _ in pairs] != self.names:
            found = dict(pairs)
            extra = [name for name, _ in pairs if name not in set(self.names)]
            if extra:
                raise error_at(self._table, record, f"{extra[0]!r} is not in the first rows: choose columns with --x")
            pairs = [(name, found.get(name)) for name in self.names]
        row = [cell for _, cell in pairs]
        if None in row:
            if self.fills(record, row, [name for name, _ in pairs]):
                row = [0.0 if cell is None else cell for cell in row]
            else:
                return None
        try:
            return self.scale.dense(as_floats(row))
        except ValueError:
            name, cell = next((n, c) for n, c in pairs if not isinstance(c, (int, float)))
            what = f"column {name!r} must be a number, as in the first rows, got {cell!r}"
            raise error_at(self._table, record, what) from None

    def fills(self, record: Record, cells: list[Any], names: list[str], is_x: bool = True) -> bool:
        """What becomes of a missing value: True fills an x with 0, False skips the row."""
        if self._options.missing == "skip":
            return False
        if self._options.missing == "zero" and is_x:
            return True
        advice = "--missing skip leaves such rows out" + (", --missing zero fills in 0" if is_x else "")
        raise error_at(self._table, record, f"column {names[cells.index(None)]!r} has no value: {advice}")

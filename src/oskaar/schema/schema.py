r"""Schema: which columns rows have, of which kind each is, and rows as numbers.

A schema starts empty and is read from rows: those so far, never later ones. Reading more of them makes another one.
Until the next reading a column that is new is not seen, a new value of a category is 0 in all its places, and a cell
of another kind is missing. Rows become

    a matrix of floats                      where all columns are dense: numbers, booleans, categories, times
    sparse rows of hashed tokens            where all are sparse: text, tokens, categories of many values
    MixedRows, both of these                else

**Bags.** Dict rows of numbers, booleans and categories are read as sparse rows by name, where an absent one is 0, as
they are in River's bags of words, when there are 5 columns or more and less than a third of the cells is there; or
when there are only categories and booleans, and some category has more than 32 values.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.rows import MixedRows
from oskaar.saved import require, require_count, saved
from oskaar.schema.columns import BUCKETS, BooleanColumn, CategoryColumn, Column, HashedCategoryColumn, NumberColumn
from oskaar.schema.kinds import KINDS, column_of
from oskaar.schema.tables import MOST_COLUMNS, Columns, Records, Table

_PLAIN = {float, int, np.float64}

BAG_COLUMNS, BAG_DENSITY = 5, 1 / 3
"""With so many columns or more, and a smaller part of the cells there, dict rows are a bag."""


@saved("schema/schema")
class Schema:
    """Columns by name.

    given: kinds that columns have, by name: "number", "boolean", "category", "text", "tokens", "time" or "left out";
        those that are not given are decided from the rows.
    dirty: what a cell of another kind is in a column of numbers or times: "missing", or "refuse" for an error. In
        rows without names it is always refused.

    >>> from oskaar import Ensemble, losses
    >>> learner = Ensemble(losses.ZeroOne("ab"))
    >>> for t in range(20):
    ...     row = {"amount": 2.0 * t, "channel": "web" if t % 3 else "shop", "id": f"no-{t}"}
    ...     learner.learn_one(row, "ab"[t % 2])
    >>> learner.schema
    amount: number; channel: category, 2 values; id: left out, 16 different values in 16 rows
    """

    def __init__(self, given: Mapping[Any, str] | None = None, dirty: str = "missing") -> None:
        if dirty not in ("missing", "refuse"):
            raise ValueError(
                f"dirty must be 'missing' or 'refuse', got {dirty!r}: it is about cells of another kind."
            )
        if not isinstance(given or {}, Mapping):
            raise TypeError(f"a schema must be a dict of kinds by column, got {given!r}.")
        for name, kind in (given or {}).items():
            if kind not in KINDS:
                raise ValueError(f"column {name!r} must be one of {', '.join(KINDS)}, got {kind!r}.")
        self.given, self.dirty = dict(given or {}), dirty
        self.columns: tuple[Column, ...] = ()
        self.rows = 0
        self.bag = False
        self.names = ""  # "places" for rows without names, "open" for dicts, "closed" for frames
        self.known: list[Any] = []
        self.simple = self.settled = False

    # ---------------------------------------------------------------- reading

    def read(self, table: Table) -> Schema:
        """The schema of these rows, which are all those so far."""
        other = copy.copy(self)
        other.rows = table.n
        unnamed = isinstance(table.names, range)
        other.names = self.names or ("open" if isinstance(table, Records) else "places" if unnamed else "closed")
        names = list(table.names)
        if isinstance(table, Records) and self._is_wide(table, names):
            other.columns, other.known, other.bag, other.simple = (), [], True, False
            return other
        for name in self.given if other.names != "open" else ():
            if name not in names:
                raise ValueError(
                    f"the schema has a column {name!r}, and the rows have none: they have {_few(names)}."
                )
        other.known = names
        other.columns = tuple(column_of(name, table.column(name), self.given.get(name)) for name in names)
        kinds, categories = set(map(type, other.columns)), {HashedCategoryColumn, CategoryColumn, BooleanColumn}
        other.bag = other.names == "open" and not self.given and {HashedCategoryColumn} <= kinds <= categories
        other.simple = other.only_numbers and not any(column.gaps for column in other.columns)
        return other

    def _is_wide(self, table: Records, names: list[Any]) -> bool:
        """Whether so few of the cells are there that rows are a bag, or there are too many columns for a table."""
        cells = sum(map(len, table.rows))
        wide = len(names) >= BAG_COLUMNS and cells < BAG_DENSITY * len(names) * table.n
        if self.given or not (wide or len(names) > MOST_COLUMNS):
            if len(names) > MOST_COLUMNS:
                raise ValueError(
                    f"a table has at most {MOST_COLUMNS:,} columns, {names[MOST_COLUMNS]!r} is one more."
                )
            return False
        for row in table.rows:
            for name, cell in row.items():
                if cell is not None and not isinstance(cell, (float, bool, str)):
                    if len(names) > MOST_COLUMNS:
                        raise ValueError(f"a bag has numbers and texts, got {cell!r:.60} in column {name!r}.")
                    return False
        return True

    def at_last(self) -> Schema:
        """The same, which will not be read again."""
        other = copy.copy(self)
        other.settled = True
        return other

    def like(self, other: Schema) -> bool:
        """Whether rows become the same numbers as with another schema, but for means of columns without gaps."""
        return (self.bag, self._layout()) == (other.bag, other._layout())

    def _layout(self) -> list[Any]:
        return [(c.name, c.kind) if isinstance(c, NumberColumn) and not c.gaps else c for c in self.columns]

    # ---------------------------------------------------------------- rows as numbers

    @property
    def only_numbers(self) -> bool:
        """Whether there is nothing but numbers; `simple`: and none has ever been missing."""
        return bool(self.columns) and all(isinstance(column, NumberColumn) for column in self.columns)

    def numbers(self, row: dict[Any, Any]) -> Array | None:
        """A row by name that is nothing but numbers, as an array; None for all others."""
        if not self.simple or len(row) != len(self.known):
            return None
        try:
            values = [row[name] for name in self.known]
        except KeyError:
            return None
        if not set(map(type, values)) <= _PLAIN:
            return None
        numbers = np.array([values], dtype=float)
        return numbers if np.isfinite(numbers).all() else None

    def encode(self, table: Table) -> Any:
        """The rows as a matrix, as sparse rows, or as both."""
        matrix = getattr(table, "matrix", None) if self.simple else None
        if matrix is not None and list(table.names) == self.known and not np.isnan(matrix).any():
            return matrix
        refuse = self.dirty == "refuse" or self.names == "places"
        self._require_known(table)
        cells = {c.name: table.column(c.name) for c in self.columns}
        dense = [c.dense(cells[c.name], refuse) for c in self.columns if not c.sparse]
        numbers = np.hstack([np.zeros((table.n, 0)), *dense])
        sparse = [c.entries(cells[c.name], refuse) for c in self.columns if c.sparse]
        if not sparse:
            return numbers
        tokens = _sparse_rows(sparse, table.n)
        return MixedRows(numbers, tokens) if numbers.shape[1] else tokens

    def _require_known(self, table: Table) -> None:
        """Rows without any column that is known are of another stream."""
        if self.names != "open" or not isinstance(table, Records):
            return
        for row in table.rows if self.settled else ():
            if row and not any(name in row for name in self.known):
                raise ValueError(f"x must have some of the columns {_few(self.known)}, got {_few(list(row))}.")

    @property
    def fixed(self) -> Any:
        """For each number of a dense row, whether its unit is fixed."""
        return np.array([unit for column in self.columns for unit in column.fixed], dtype=bool)

    @property
    def features(self) -> int:
        """As how many features a dense row counts."""
        return sum(column.features for column in self.columns)

    # ---------------------------------------------------------------- names

    def takes(self, table: Table) -> bool:
        """Whether rows have names, or none, as those that were read."""
        named = isinstance(table, Records) or not isinstance(table.names, range)
        return not self.rows or named == (self.names != "places")

    def aligned(self, table: Columns) -> Columns:
        """The columns of a frame in the order of the schema; others, and missing ones, are refused."""
        if not self.rows or self.bag:
            return table
        known, got = self.known, list(table.names)
        require_names(known, got)
        if known == got:
            return table
        order = [got.index(name) for name in known]
        matrix = None if table.matrix is None else table.matrix[:, order]
        return Columns(known, [table.columns[i] for i in order] if table.columns else [], table.n, matrix)

    def check_saved(self) -> None:
        Schema(self.given, self.dirty)
        require_count(self.rows, "rows")
        require(isinstance(self.columns, tuple) and all(isinstance(c, Column) for c in self.columns), "columns")
        require([column.name for column in self.columns] == self.known, "a name for each column")
        require(self.names in ("", "places", "open", "closed"), "how columns are named")
        require(all(type(flag) is bool for flag in (self.bag, self.simple, self.settled)), "true or false")
        require(not self.simple or self.only_numbers, "a simple schema has numbers alone")

    @property
    def counted(self) -> bool:
        """Whether what is shown has counts of the cells that were read: values, gaps."""
        shown = (column.describe() for column in self.columns)
        return not self.bag and any(character.isdigit() for text in shown for character in text)

    def __repr__(self) -> str:
        if self.bag:
            return f"a bag of numbers and texts by name, after {self.rows:,} rows"
        if not self.columns:
            given = "; ".join(f"{name}: {kind}" for name, kind in self.given.items())
            return f"no rows yet{'; ' * bool(given)}{given}"
        shown = [f"{column.name}: {column.describe()}" for column in self.columns[:50]]
        more = [f"{len(self.columns) - 50:,} more columns"] if len(self.columns) > 50 else []
        return "; ".join([*shown, *more])


def as_schema(schema: Any) -> Schema:
    """A schema that has read nothing, out of what a learner is given."""
    if isinstance(schema, Schema):
        return Schema(schema.given, schema.dirty)
    return Schema(schema)


def require_names(known: list[Any], got: list[Any]) -> None:
    """The columns of a frame are those that are known, in any order."""
    missing, more = [n for n in known if n not in set(got)], [n for n in got if n not in set(known)]
    if missing or more:
        raise ValueError(
            f"a frame must have the columns of the first, {_few(known)}: "
            + "; ".join(
                [f"{_few(missing)} missing"] * bool(missing) + [f"{_few(more)} must not be there"] * bool(more)
            )
            + ". The feature names should match those that were passed during fit."
        )


def _few(names: list[Any]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _sparse_rows(columns: list[list[dict[int, float]]], n: int) -> Any:
    """The entries of sparse columns as a CSR array; those of one row in one bucket add up."""
    from scipy.sparse import csr_array

    data: list[float] = []
    indices: list[int] = []
    starts = [0]
    for i in range(n):
        for column in columns:
            indices += column[i].keys()
            data += column[i].values()
        starts.append(len(data))
    rows = csr_array((np.array(data, dtype=float), np.array(indices, dtype=np.int32), starts), shape=(n, BUCKETS))
    rows.sum_duplicates()
    return rows

"""The kind of a column, inferred from its cells.

More than half of the cells that are not missing decide:

- lists of texts: tokens; times, or texts such as 2024-02-29 12:30: time; True and False alone: boolean;
- numbers, or texts that are numbers (not codes such as 007): number. The other cells are dirty: missing, or refused;
- other texts: text where most differ and have three words or more; a category where values come again, hashed where
  there are more than 32 of them; left out where, in 16 rows or more, nine of ten differ: names and numbers of rows.

Rare values of a category, seen fewer than 3 times in 128 rows or more and once in 32 or more, share one place. Where
there are more than 32 values, and a fifth of the cells is of rare ones, the category is hashed too.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, islice
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.schema.cells import as_number, as_time
from oskaar.schema.columns import (
    BooleanColumn,
    CategoryColumn,
    Column,
    HashedCategoryColumn,
    LeftOutColumn,
    NumberColumn,
    TextColumn,
    TimeColumn,
    TokensColumn,
    clock,
    hashed,
    value_of,
)

KINDS = ("number", "boolean", "category", "text", "tokens", "time", "left out")
"""The kinds that a column may be given."""

MOST_VALUES = 32
"""A category with more values is hashed."""

MOST_TEXTS = 1024
"""How common a word is is told by at most so many texts, evenly spaced."""

_WORDS_OF_TEXT, _IDENTITY, _LEAST_ROWS = 2.5, 0.9, 16


def column_of(name: Any, cells: Any, given: str | None = None) -> Column:
    """The column that cells make, of the kind that is given or that they look like.

    >>> column_of("a", ["red", "blue", "red", None]).describe()
    'category, 2 values, 1 missing'
    >>> column_of("n", [1.0, "n/a", 3.0]).describe()
    'number, 1 missing'
    """
    if given is None and (isinstance(cells, np.ndarray) or set(map(type, cells)) == {float}):
        return _number(name, np.asarray(cells))
    listed = [None if cell != cell else cell for cell in (cells.tolist() if isinstance(cells, np.ndarray) else cells)]
    there = [cell for cell in listed if cell is not None]
    kind = given or kind_of(there)
    if kind == "number" or kind == "boolean":
        empty = NumberColumn(name, 0, 0.0)
        return _number(name, empty.floats(listed, refuse=False), BooleanColumn if kind == "boolean" else NumberColumn)
    if kind == "time":
        return _time(name, listed)
    gaps = len(listed) - len(there)
    if kind in ("text", "tokens"):
        return _text(name, listed, gaps, TokensColumn if kind == "tokens" else TextColumn)
    if kind == "category":
        return _category(name, there, gaps)
    if given is not None:
        return LeftOutColumn(name, gaps, "as asked")
    if not there:
        return LeftOutColumn(name, gaps, "no values")
    return LeftOutColumn(name, gaps, f"{len(set(there)):,} different values in {len(there):,} rows")


def kind_of(cells: list[Any]) -> str:
    """The kind that cells without gaps look like."""
    if not cells:
        return "left out"
    types, half = Counter(map(type, cells)), len(cells) / 2
    if types[tuple] > half:
        return "tokens"
    if types[bool] == len(cells):
        return "boolean"
    texts = [cell for cell in cells if isinstance(cell, str)]
    numbers = len(cells) - len(texts) - types[tuple] - types[np.datetime64]
    if not texts:
        return "time" if types[np.datetime64] > half else "number"
    if numbers > half or numbers + sum(as_number(text) is not None for text in texts) > half:
        return "number"
    if types[np.datetime64] + sum(as_time(text) is not None for text in texts) > half:
        return "time"
    n, different = len(texts), len(set(texts))
    words = sum(len(text.split()) for text in texts) / n
    if words >= _WORDS_OF_TEXT and different > n / 2:
        return "text"
    return "left out" if n >= _LEAST_ROWS and different > _IDENTITY * n else "category"


def _number(name: Any, values: Array, kind: type[NumberColumn] = NumberColumn) -> NumberColumn:
    missing = np.isnan(values)
    gaps = int(missing.sum())
    if gaps == len(values):
        return kind(name, gaps, 0.0)
    known = values[~missing] if gaps else values
    size = float(np.abs(known).max()) or 1.0  # sums of the largest numbers would overflow
    return kind(name, gaps, size * float((known / size).mean()))


def _category(name: Any, there: list[Any], gaps: int) -> Column:
    counts = Counter(value_of(cell) for cell in there)
    least = 1 if len(there) < 32 else 2 if len(there) < 128 else 3
    common = [value for value, count in counts.items() if count >= least and value is not None]
    rare = len(there) - sum(counts[value] for value in common)
    if len(common) > MOST_VALUES or (len(counts) > MOST_VALUES and rare > len(there) / 5):
        return HashedCategoryColumn(name, gaps, len(counts))
    places = {value: place for place, value in enumerate(common)}
    return CategoryColumn(
        name, gaps, {value: places.get(value, len(common)) for value in counts if value is not None}
    )


def _text(name: Any, cells: list[Any], gaps: int, kind: type[TextColumn]) -> TextColumn:
    empty, there = kind(name, gaps, 0, {}), [cell for cell in cells if cell is not None]
    found = [empty.tokens(cell, refuse=False) for cell in there[:: -(-len(there) // MOST_TEXTS) or 1]]
    buckets, seen = iter(hashed(name, chain.from_iterable(found))[0]), Counter[int]()
    for tokens in found:
        seen.update(set(islice(buckets, len(tokens))))
    return kind(name, gaps, len(found), dict(seen))


def _time(name: Any, cells: list[Any]) -> TimeColumn:
    empty = TimeColumn(name, 0, np.datetime64(0, "us"), 0.0, ())
    times = empty.times(cells, refuse=False)
    missing = np.isnat(times)
    known = times[~missing]
    if not len(known):
        return TimeColumn(name, len(times), empty.start, 0.0, ())
    start = known[0]
    days = (known - start) / np.timedelta64(1, "D")
    parts = tuple(part for part, turns in clock(known).items() if len(set(turns.tolist())) > 1)
    return TimeColumn(name, int(missing.sum()), start, float(days.mean()), parts)

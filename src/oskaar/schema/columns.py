r"""Kinds of columns, and their cells as numbers.

    number, boolean     x, and its mean where it is missing
    category            e_v / sqrt(2), 0 for a value that was not seen; rare values share one place             (1)
    time                sin and cos of hour, weekday and month, those that vary, and days since the start
    category of many values, tokens, text    sparse: hashed, each cell of norm 1; words weighted by idf         (2)

Where a column has had gaps, one more number says whether the cell is missing. In (1) two cells that differ are 1
apart, which is one standard deviation of a number. In (2) a word in m of n texts has the weight
log((1 + n) / (1 + m)) + 1 times 1 + log of how often it is in the text. A column is a value; reading more rows
makes another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np

from oskaar.arrays import Array, mix
from oskaar.saved import require, require_count, require_kind, require_number, saved
from oskaar.schema.cells import as_number, as_time

BUCKETS = 2**16
"""The sparse part of a row has so many columns."""

MISMATCH = 0.5**0.5
"""The size of a category's one entry: two different ones are at distance 1."""

PARTS = ("hour", "weekday", "month")
"""What comes round in a time."""

_WORDS = re.compile(r"\w+")
_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Column:
    """A named column; `gaps` of the rows read had no value in it."""

    name: Any
    gaps: int

    kind = ""
    sparse = False
    features = 1
    """As how many features it counts in the kernel of the numbers."""

    def describe(self) -> str:
        return f"{self._described()}, {self.gaps:,} missing" if self.gaps else self._described()

    def _described(self) -> str:
        return self.kind

    @property
    def fixed(self) -> list[bool]:
        """For each number that it makes, whether its unit is fixed, not taken from the rows."""
        return []

    def dense(self, cells: Any, refuse: bool) -> Array:
        """(n, numbers) for cells; refuse: cells of another kind are an error, not missing."""
        return np.zeros((len(cells), 0))

    def entries(self, cells: Any, refuse: bool) -> list[dict[int, float]]:
        """For each cell of a sparse column, its entries by bucket."""
        return []

    def with_gaps(self, missing: Any, numbers: Array) -> Array:
        """Numbers, and whether they are missing, where the column has had gaps."""
        return np.column_stack([numbers, missing.astype(float)]) if self.gaps else numbers

    def check_saved(self) -> None:
        """Refuse a column from a file that no rows make."""
        require_count(self.gaps, "missing cells")
        require_number(getattr(self, "mean", 0.0), "the mean of a column")
        for name in ("texts", "values"):
            require_count(getattr(self, name, 0), f"{name} of a column")

    def dirty(self, cell: Any, refuse: bool) -> None:
        if refuse and cell is not None:
            raise ValueError(
                f"column {self.name!r} must be a {self.kind}, got {cell!r:.80}: correct it, or drop the round."
            )


@saved("column/number")
@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers; texts that are numbers too."""

    mean: float
    kind = "number"

    @property
    def fixed(self) -> list[bool]:
        return [False, True] if self.gaps else [False]

    def dense(self, cells: Any, refuse: bool) -> Array:
        values = self.floats(cells, refuse)
        missing = np.isnan(values)
        if missing.any():
            values = np.where(missing, self.mean, values)
        return self.with_gaps(missing, values[:, None])

    def floats(self, cells: Any, refuse: bool) -> Array:
        """The numbers, NaN where there are none."""
        if isinstance(cells, np.ndarray):
            return cells
        if set(map(type, cells)) <= {float}:
            return np.array(cells)
        return np.array([self._float(cell, refuse) for cell in cells])

    def _float(self, cell: Any, refuse: bool) -> float:
        if isinstance(cell, (bool, float)):
            return float(cell)
        number = as_number(cell) if isinstance(cell, str) else None
        if number is None:
            self.dirty(cell, refuse)
        return np.nan if number is None else number


@saved("column/boolean")
@dataclass(frozen=True)
class BooleanColumn(NumberColumn):
    """True and False, as 1 and 0."""

    kind = "boolean"


@saved("column/category")
@dataclass(frozen=True)
class CategoryColumn(Column):
    """Few values, each in a place of its own (1); `places` has the values that were read, and where they are."""

    places: dict[str, int]
    kind = "category"

    def check_saved(self) -> None:
        super().check_saved()
        require(isinstance(self.places, dict) and all(type(v) is str for v in self.places), "values must be texts")
        places = sorted(set(self.places.values()))
        require(places == list(range(len(places))), "values must have the places 0, 1, ...")

    @property
    def width(self) -> int:
        return 1 + max(self.places.values(), default=-1)

    @property
    def fixed(self) -> list[bool]:
        return [True] * (self.width + bool(self.gaps))

    def dense(self, cells: Any, refuse: bool) -> Array:
        values = [value_of(cell) for cell in _listed(cells)]
        places = [-1 if value is None else self.places.get(value, -1) for value in values]
        here, E = np.array(places), np.zeros((len(values), self.width))
        rows = np.flatnonzero(here >= 0)
        E[rows, here[rows]] = MISMATCH  # (1)
        return self.with_gaps(np.array([value is None for value in values]), E)

    def _described(self) -> str:
        values, joined = len(self.places), len(self.places) - self.width
        return f"category, {values:,} value{'s' * (values != 1)}" + (
            f", {joined + 1:,} rare ones as one" if joined else ""
        )


class SparseColumn(Column):
    """Cells as hashed tokens (2)."""

    sparse = True
    features = 0

    def entries(self, cells: Any, refuse: bool) -> list[dict[int, float]]:
        tokens = [self.tokens(cell, refuse) for cell in _listed(cells)]
        buckets, signs = hashed(self.name, (token for found in tokens for token in found))
        weights = signs * self.weights(buckets, [count for found in tokens for count in found.values()])
        entries, rows = zip(buckets, weights.tolist(), strict=True), []
        for found in tokens:
            row: dict[int, float] = {}
            for bucket, weight in islice(entries, len(found)):
                row[bucket] = row.get(bucket, 0.0) + weight
            norm = sum(value * value for value in row.values()) ** 0.5
            rows.append({bucket: value / norm for bucket, value in row.items() if value} if norm else {})
        return rows

    def tokens(self, cell: Any, refuse: bool) -> Counter[str]:
        """The tokens of a cell, and how often each is there."""
        raise NotImplementedError

    def weights(self, buckets: list[int], counts: list[int]) -> Array:
        """Of tokens that are there so often."""
        return 1.0 + np.log(counts)


@saved("column/hashed-category")
@dataclass(frozen=True)
class HashedCategoryColumn(SparseColumn):
    """More values than have places of their own, and new ones all the time: one hashed token each."""

    values: int
    kind = "category"

    def tokens(self, cell: Any, refuse: bool) -> Counter[str]:
        value = value_of(cell)
        return Counter() if value is None else Counter([value])

    def _described(self) -> str:
        return f"category, {self.values:,} values, hashed"


@saved("column/text")
@dataclass(frozen=True)
class TextColumn(SparseColumn):
    """Words, in lower case; `seen` counts the texts that each bucket was in, of `texts`."""

    texts: int
    seen: dict[int, int]
    kind = "text"

    def tokens(self, cell: Any, refuse: bool) -> Counter[str]:
        if isinstance(cell, tuple):
            return Counter(cell)
        return Counter(_WORDS.findall(cell.lower())) if isinstance(cell, str) else Counter(self._other(cell))

    def _other(self, cell: Any) -> list[str]:
        value = value_of(cell)
        return [] if value is None else [value]

    def check_saved(self) -> None:
        super().check_saved()
        require_kind(self.seen, dict, "texts by bucket")
        for bucket, texts in self.seen.items():
            require(require_count(bucket, "a bucket") < BUCKETS and 0 <= texts <= self.texts, "buckets must fit")

    def weights(self, buckets: list[int], counts: list[int]) -> Array:
        seen = np.array([self.seen.get(bucket, 0) for bucket in buckets], dtype=float)
        return (np.log((1 + self.texts) / (1 + seen)) + 1) * super().weights(buckets, counts)

    def _described(self) -> str:
        return f"{self.kind}, hashed{' words' * (self.kind == 'text')}"


@saved("column/tokens")
@dataclass(frozen=True)
class TokensColumn(TextColumn):
    """Lists of texts."""

    kind = "tokens"


@saved("column/time")
@dataclass(frozen=True)
class TimeColumn(Column):
    """Times; `parts` of hour, weekday and month vary in the rows that were read; `mean` is of days since `start`."""

    start: np.datetime64
    mean: float
    parts: tuple[str, ...]
    kind = "time"

    def check_saved(self) -> None:
        super().check_saved()
        require(isinstance(self.start, np.datetime64) and not np.isnat(self.start), "times must start somewhere")
        require(isinstance(self.parts, tuple) and set(self.parts) <= set(PARTS), "parts of a time")

    @property
    def features(self) -> int:  # type: ignore[override]
        return 1 + len(self.parts)

    @property
    def fixed(self) -> list[bool]:
        return [False] + [True] * (2 * len(self.parts) + bool(self.gaps))

    def dense(self, cells: Any, refuse: bool) -> Array:
        times = self.times(cells, refuse)
        missing = np.isnat(times)
        known = np.where(missing, self.start, times)
        days = np.where(missing, self.mean, (known - self.start) / _DAY)
        turns = np.array([clock(known)[part] for part in self.parts]).reshape(len(self.parts), len(times))
        angles = 2 * np.pi * turns.T
        circles = np.where(missing[:, None], 0.0, np.hstack([np.cos(angles), np.sin(angles)]))
        return self.with_gaps(missing, np.column_stack([days, circles]))

    def times(self, cells: Any, refuse: bool) -> Any:
        return np.array([self._time(cell, refuse) for cell in _listed(cells)], dtype="datetime64[us]")

    def _time(self, cell: Any, refuse: bool) -> np.datetime64:
        time = as_time(cell) if isinstance(cell, str) else cell if isinstance(cell, np.datetime64) else None
        if time is None:
            self.dirty(cell, refuse)
        return np.datetime64("NaT", "us") if time is None else time

    def _described(self) -> str:
        return f"time ({', '.join([*self.parts, 'trend'])})"


@saved("column/left-out")
@dataclass(frozen=True)
class LeftOutColumn(Column):
    """A column that the learner does not see."""

    reason: str
    kind = "left out"
    features = 0

    def describe(self) -> str:
        return f"left out, {self.reason}" if self.reason else "left out"


def clock(times: Any) -> dict[str, Array]:
    """Hour, weekday and month as parts of a turn.

    >>> {part: turn.tolist() for part, turn in clock(np.array(["2024-07-01T06:00"], "datetime64[us]")).items()}
    {'hour': [0.25], 'weekday': [0.0], 'month': [0.5]}
    """
    days = times.astype("datetime64[D]")
    return {
        "hour": (times - days) / _DAY,
        "weekday": (days.astype(np.int64) + 3) % 7 / 7,  # 1970 began on a Thursday
        "month": times.astype("datetime64[M]").astype(np.int64) % 12 / 12,
    }


def value_of(cell: Any) -> str | None:
    """A cell as the value of a category; a number is the text of it.

    >>> value_of("red"), value_of(3.0), value_of(True), value_of(None), value_of(("a", "b"))
    ('red', '3', 'True', None, 'a b')
    """
    if isinstance(cell, str) or cell is None:
        return cell
    if isinstance(cell, float):
        return None if cell != cell else f"{cell:.15g}"
    return " ".join(cell) if isinstance(cell, tuple) else str(cell)


def hashed(name: Any, tokens: Iterable[str]) -> tuple[list[int], Array]:
    """The bucket and the sign of each token of a column."""
    salt = crc32(repr(name).encode())
    codes = np.array([crc32(token.encode("utf-8", "surrogatepass"), salt) for token in tokens], dtype=np.uint64)
    bits = mix(codes ^ np.uint64(salt << 32))
    buckets: list[int] = (bits % np.uint64(BUCKETS)).tolist()
    return buckets, 1.0 - 2.0 * (bits >> np.uint64(63)).astype(float)


def _listed(cells: Any) -> Any:
    return cells.tolist() if isinstance(cells, np.ndarray) else cells

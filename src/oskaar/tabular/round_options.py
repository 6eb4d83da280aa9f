"""How records become rounds: which columns are x and y, and what y means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from oskaar.tabular.readers import ReadError


@dataclass(frozen=True)
class RoundOptions:
    """How records become rounds. What is None is inferred from the first rows; columns are patterns (`matching`).

    The fields are the options of `oskaar learn` with the same names.
    """

    y: str | None = None
    """The columns of the label."""
    x: str | None = None
    """The columns of the input; None: all others. `!hour` is all others but this one."""
    drop: str | None = None
    """Columns that are neither x nor y."""
    group: str | None = None
    """Consecutive records with the same value in this column make one round of several rows."""
    order: str | None = None
    """The column to sort by; None: the order of the file."""
    missing: str = "learn"
    """What a missing input does: "learn" that it is (rows are then read by the learner's schema), "error", "skip" the
    row, or "zero"."""
    tags_separator: str | None = None
    """Between the tags of a cell; "json" for lists. None: inferred."""
    lags: int | None = None
    """So many previous labels are inputs too."""
    delay: int | None = None
    """The label of a row is known after so many more rows: lags are of labels known by then."""
    loss: str | None = None
    classes: str | None = None
    levels: str | None = None
    low: float | None = None
    high: float | None = None
    n_labels: int | None = None
    k: int | None = None
    quantile: float = 0.5
    degrees: bool = False
    costs: str | None = None
    limit: int | None = None
    """At most so many rounds."""


def split(patterns: str) -> list[str]:
    """The parts between commas.

    >>> split("a, b_*")
    ['a', 'b_*']
    """
    return [part.strip() for part in patterns.split(",") if part.strip()]


def matching(patterns: str, columns: Sequence[str], option: str) -> list[str]:
    """The columns that patterns name, in the order of the file; each pattern must find one.

    A pattern is a name, a name with * and ?, or first:n and last:n; where each has a ! before it, all others.

    >>> matching("b*,last:1", ["a", "b1", "b2", "c"], "--y")
    ['b1', 'b2', 'c']
    """
    found: set[str] = set()
    listed = split(patterns)
    if listed and all(pattern.startswith("!") for pattern in listed):
        return [column for column in columns if column not in matching(patterns.replace("!", ""), columns, option)]
    for pattern in listed:
        hits = _hits(pattern, columns)
        if not hits:
            raise ReadError(
                f"{option} {pattern!r} names no column{meant(pattern, columns)}: the columns are {few(columns)}."
            )
        found.update(hits)
    return [column for column in columns if column in found]


def meant(name: str, known: Sequence[str]) -> str:
    """The name that was probably meant, in words; nothing where none is like it.

    >>> meant("tagz", ["id", "tags"])
    ', did you mean tags'
    """
    close = get_close_matches(name, list(known), n=1)
    return f", did you mean {close[0]}" if close else ""


def few(names: Sequence[str]) -> str:
    """The first names.

    >>> few("abc")
    'a, b, c'
    """
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def matches(name: str, patterns: str) -> bool:
    """Whether a column is named by patterns, for files whose columns differ from record to record."""
    listed = split(patterns)
    if listed and all(pattern.startswith("!") for pattern in listed):
        return not matches(name, patterns.replace("!", ""))
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in listed)


def _hits(pattern: str, columns: Sequence[str]) -> Sequence[str]:
    if pattern in columns:
        return [pattern]
    ends = re.fullmatch(r"(first|last):([1-9]\d*)", pattern)
    if ends:
        n = int(ends[2])
        if n > len(columns):
            return []
        return columns[:n] if ends[1] == "first" else columns[len(columns) - n :]
    return [column for column in columns if fnmatchcase(column, pattern)]

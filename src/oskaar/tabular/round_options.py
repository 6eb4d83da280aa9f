"""Options of a stream: which columns are x and y, what y means, and how columns are named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from oskaar.tabular.readers import ReadError


@dataclass(frozen=True)
class RoundOptions:
    """How records become rounds. What is None is inferred from the first rows; columns are patterns (`matching`).

    The fields are the options of `oskaar replay` with the same names.
    """

    y: str | None = None
    """The columns of the label."""
    x: str | None = None
    """The columns of the input; None: all others."""
    group: str | None = None
    """Consecutive records with the same value in this column make one round of several rows."""
    order: str | None = None
    """The column to sort by; None: the order of the file."""
    missing: str = "error"
    """What a missing value does: "error", "skip" the row, or "zero" for inputs."""
    standardise: bool = False
    """Scale x by the rows so far."""
    lags: int | None = None
    """So many previous labels are inputs too."""
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

    A pattern is a name, a name with * and ?, or first:n and last:n.

    >>> matching("b*,last:1", ["a", "b1", "b2", "c"], "--y")
    ['b1', 'b2', 'c']
    """
    found: set[str] = set()
    for pattern in split(patterns):
        hits = _hits(pattern, columns)
        if not hits:
            shown = ", ".join(columns[:8]) + (", ..." if len(columns) > 8 else "")
            raise ReadError(f"{option} {pattern!r} names no column: the columns are {shown}.")
        found.update(hits)
    return [column for column in columns if column in found]


def matches(name: str, patterns: str) -> bool:
    """Whether a column is named by patterns, for files whose columns differ from record to record."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in split(patterns))


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

"""Which columns are meant: names, patterns, and the first or last few."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from oskaar.readers import ReadError

LIKELY = ("label_*", "label", "labels", "y", "target", "class", "tags")
"""Names that mostly are labels, tried in this order."""


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
    """Whether a column is named by patterns, for files whose columns come and go."""
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

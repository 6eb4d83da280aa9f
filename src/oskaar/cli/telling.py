"""Words on standard error, tables on standard output."""

from __future__ import annotations

import sys
from collections.abc import Iterator


def say(text: str) -> None:
    """A word on standard error, apart from results."""
    print(f"oskaar: {text}", file=sys.stderr)


def table(rows: list[list[str]]) -> Iterator[str]:
    """Lines with aligned columns, the first to the left, the others to the right.

    >>> list(table([["a", "loss"], ["oskaar", "0.5"]]))
    ['a       loss', 'oskaar   0.5']
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(cells).rstrip()

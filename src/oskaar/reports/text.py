"""Inputs and labels as short texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oskaar.rows import count

FEW = 12
"""Values of a row that are shown."""

LONG = 120
"""Letters of a value that are shown."""

PARTS = 40
"""Parts of a round that are shown."""


def value(thing: Any) -> str:
    """A number as it is written, a text cut where it is long, a list with commas.

    >>> value(0.123456), value(1234567.89), value("a" * 199)[-5:], value([1, 2.0]), value(None)
    ('0.123456', '1234567.89', 'aa...', '1, 2', 'no answer yet')
    """
    if thing is None:
        return "no answer yet"
    if isinstance(thing, np.ndarray):
        thing = thing.tolist()
    if isinstance(thing, (float, np.floating)):
        return f"{thing:.10g}"
    if isinstance(thing, (list, tuple, set, frozenset)):
        items = sorted(thing, key=str) if isinstance(thing, (set, frozenset)) else list(thing)
        more = [f"... {len(items)} in all"] if len(items) > PARTS else []
        return ", ".join([*map(value, items[:PARTS]), *more]) or "none"
    return cut(str(thing))


def cut(text: str, most: int = LONG) -> str:
    """At most so many letters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def row(x: Any, names: Sequence[str] | None = None) -> str:
    """A row of numbers, a sparse row or a dict; where it is wide, what is not 0 comes first.

    >>> row([1.0, 0.25], ["a", "b"]), row({"form": "The"}), row("any object")
    ('a = 1, b = 0.25', 'form = The', 'any object')
    """
    if hasattr(x, "tocoo"):
        found = x.tocoo()
        pairs = [(str(j), v) for j, v in zip(found.coords[-1].tolist(), found.data.tolist(), strict=True)]
    elif isinstance(x, dict):
        pairs = [(str(key), v) for key, v in x.items()]
    elif isinstance(x, (list, tuple, np.ndarray)) and np.ndim(x) == 1:
        cells = np.asarray(x).tolist()
        pairs = [(str(names[j]) if names and j < len(names) else "", v) for j, v in enumerate(cells)]
    else:
        return cut(" ".join(str(x).split()))
    shown = pairs if len(pairs) <= FEW else [(name, v) for name, v in pairs if v != 0][:FEW]
    cells = [(name, "empty" if v is None else value(v)) for name, v in shown]
    texts = [f"{cut(name)} = {text}" if name else text for name, text in cells]
    return ", ".join(texts) + (f", ... {len(pairs)} in all" if len(pairs) > len(shown) else "")


def rows(x: Any, names: Sequence[str] | None = None) -> list[str]:
    """A text for each row of a round of parts, and how many there are if that is more than are shown.

    >>> rows([[1.0], [2.0]])
    ['1', '2']
    """
    n = count(x)
    return [row(x[i], names) for i in range(min(n, PARTS))] + ([f"... {n} in all"] if n > PARTS else [])


def parts(label: Any, n: int) -> Any:
    """A text for each part of a label that has n of them, as many as `rows` has; one text for any other label.

    >>> parts(("a", "b"), 2), parts((0, 1, 2), 2)
    (['a', 'b'], '0, 1, 2')
    """
    if isinstance(label, np.ndarray):
        label = label.tolist()
    if not isinstance(label, (list, tuple)) or len(label) != n:
        return value(label)
    return [value(each) for each in label[:PARTS]] + (["..."] if n > PARTS else [])

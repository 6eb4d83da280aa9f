"""Sentences as rows for `DependencyTree`: every arc that a tree might have, by the tags and forms of its ends."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from oskaar.losses import arcs
from oskaar.readers import Record

_TAGS = ("upos", "pos", "tag")
_STEPS = (2, 3, 4, 6, 10, 20)


def arc_rows(records: list[Record]) -> list[dict[str, str]]:
    """A dict for each arc, in the order of `losses.arcs`.

    >>> rows = arc_rows([Record(1, {"form": "cats", "upos": "NOUN"}), Record(2, {"form": "sleep", "upos": "VERB"})])
    >>> len(rows), rows[1]["tags"], rows[1]["dependent"]
    (4, 'VERB NOUN left', 'NOUN left 1')
    """
    tags = ["ROOT", *(_tag(record.cells) for record in records)]
    forms = ["", *(str(record.cells.get("form", "")).lower() for record in records)]
    heads, dependents = arcs(len(records))
    return [_arc(int(h), int(d), tags, forms) for h, d in zip(heads, dependents, strict=True)]


def _tag(cells: dict[str, Any]) -> str:
    return next((str(cells[name]) for name in _TAGS if name in cells), str(cells.get("form", "")).lower())


def _arc(h: int, d: int, tags: list[str], forms: list[str]) -> dict[str, str]:
    step = f"{'right' if h < d else 'left'} {1 + bisect_right(_STEPS, abs(h - d))}"
    side = step.split()[0]
    return {
        "tags": f"{tags[h]} {tags[d]} {side}",
        "dependent": f"{tags[d]} {step}",
        "head": f"{tags[h]} {step}",
        "word": f"{tags[h]} {forms[d]} {side}",
    }

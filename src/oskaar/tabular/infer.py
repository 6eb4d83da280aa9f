"""Inferring the schema: which columns are y, and which loss fits them. Each inference is noted for the user.

The kind of y is inferred from the first rows. Where the *values* of y in them set something (a range, the levels),
those rows are learned but not judged: no figure depends on its own labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oskaar.tabular.labels import NUMBERS, SUBSETS
from oskaar.tabular.readers import ReadError, Record, Table
from oskaar.tabular.schema import matching

LIKELY = ("label_*", "label", "labels", "y", "target", "class", "tags", "upos", "tag")
"""Names that mostly are labels, tried in this order."""

FEW = 20
"""So many different whole numbers are levels; more are numbers."""


@dataclass
class Inferred:
    """A loss by name, with the range of y that goes with it; `warmed`: values of y were used."""

    loss: str
    low: float | None = None
    high: float | None = None
    levels: str | None = None
    warmed: bool = False


def infer_y(table: Table, columns: list[str], sample: list[Record], notes: list[str]) -> list[str]:
    """The columns that are y: those that the format says, those with a likely name, ranks, or the last."""
    if table.labels:
        notes.append(f"{_columns(list(table.labels))}, as the file says")
        return list(table.labels)
    for pattern in LIKELY:
        try:
            found = matching(pattern, columns, "--y")
        except ValueError:
            continue
        notes.append(f"{_columns(found)}, by its name" if len(found) == 1 else f"{_columns(found)} named {pattern}")
        return found
    ranks = ranked_columns(columns, sample)
    if ranks:
        notes.append(f"{_columns(ranks)}, which hold the ranks 1 to {len(ranks)} in every row")
        return ranks
    notes.append(f"{_columns([columns[-1]])}, the last column")
    return [columns[-1]]


def ranked_columns(columns: list[str], sample: list[Record]) -> list[str]:
    """The last columns named alike with numbers, L1, L2, ..., if each row ranks them 1 to n; none otherwise.

    >>> ranked_columns(["x", "L1", "L2"], [Record(2, {"x": 0, "L1": 2, "L2": 1})])
    ['L1', 'L2']
    """
    stem = columns[-1].rstrip("0123456789")
    found = [name for name in columns if name != stem and name.rstrip("0123456789") == stem]
    if stem == columns[-1] or len(found) < 2:
        return []
    every = list(range(1, len(found) + 1))
    rows = [[record.cells.get(name) for name in found] for record in sample]
    whole = all(type(cell) is int for row in rows for cell in row)
    return found if whole and all(set(row) == set(every) for row in rows) else []


def infer_loss(
    y: list[str], known: list[Any], head: int, grouped: bool, asked: str | None, notes: list[str]
) -> Inferred:
    """What y is, by its first values `known`; those of the first `head` rows may set ranges.

    asked: the loss, where it was given.
    """
    if not known:
        raise ReadError(f"{y[0]!r} has no value in the first rows: name the columns of y with --y.")
    kind = _kind(known)
    first = known[: head * len(y)]
    what = f"{len(y)} columns are" if len(y) > 1 else f"{y[0]!r} is"
    if grouped and asked is None:
        text = kind == "text"
        notes.append(f"rows come in groups: {'a sequence, loss Sequence' if text else 'documents, loss Documents'}")
        return Inferred("Sequence" if text else "Documents")
    if asked in SUBSETS or (asked is None and (kind == "lists" or (len(y) > 1 and kind == "bits"))):
        if asked is None:
            notes.append(f"{what} {'0/1' if kind == 'bits' else 'a list'}: treated as a subset, loss F1")
        return Inferred(asked or "F1")
    if asked is None and len(y) == 1 and kind in ("text", "bits"):
        notes.append(f"{what} {'text' if kind == 'text' else '0/1'}: treated as a class, loss ZeroOne")
        return Inferred("ZeroOne")
    if asked is None and kind == "text":
        odd = next((cell for cell in known if not isinstance(cell, (int, float))), None)
        raise ReadError(
            f"no loss fits {len(y)} columns of y with text in them, such as {odd!r}: name one, or give --loss."
        )
    n = len(y)
    if asked is None and n > 1 and kind == "whole":
        rows = [sorted(known[i : i + n]) for i in range(0, len(known), n)]
        if all(row == list(range(1, n + 1)) for row in rows):
            notes.append(f"{what} the ranks 1 to {n} in every row: treated as a ranking, loss Kendall")
            return Inferred("Kendall")
    few = kind == "whole" and len(y) == 1 and len(set(known)) <= FEW
    if asked == "Ordinal" or (asked is None and few):
        return _levels(what, first, head, notes)
    if asked in (None, *NUMBERS) and kind in ("bits", "whole", "numbers"):
        return _range(what, asked or "Squared", first, head, notes)
    return Inferred(asked or "ZeroOne")


def _levels(what: str, known: list[Any], rows: int, notes: list[str]) -> Inferred:
    if not known or _kind(known) not in ("bits", "whole"):
        return Inferred("Ordinal")
    low, high = min(known), max(known)
    span = max(1, high - low)
    low, high = (low - span if low < 0 else max(0, low - span)), high + span
    notes.append(
        f"{what} whole numbers in few levels: treated as levels {low} to {high}, loss Ordinal (--levels sets them); "
        f"the first {rows} rows, which say so, are learned but not judged"
    )
    return Inferred("Ordinal", low, high, f"{low}..{high}", warmed=True)


def _range(what: str, loss: str, known: list[Any], rows: int, notes: list[str]) -> Inferred:
    low, high = float(min(known)), float(max(known))
    span = max(high - low, 1e-9 * max(abs(low), abs(high)), 1e-12)
    low, high = low - span, high + span
    notes.append(
        f"{what} numbers: treated as a vector in [{low:g}, {high:g}], loss {loss} (--low and --high set the range); "
        f"the first {rows} rows, which say so, are learned but not judged, and values outside are moved to the ends"
    )
    return Inferred(loss, low, high, warmed=True)


def _kind(cells: list[Any]) -> str:
    if any(isinstance(cell, (list, tuple)) for cell in cells):
        return "lists"
    if not cells or any(not isinstance(cell, (int, float)) for cell in cells):
        return "text"
    if all(cell in (0, 1) for cell in cells):
        return "bits"
    return "whole" if all(isinstance(cell, int) for cell in cells) else "numbers"


def _columns(y: list[str]) -> str:
    return f"y is {y[0]!r}" if len(y) == 1 else f"y is the {len(y)} columns {y[0]!r} to {y[-1]!r}"

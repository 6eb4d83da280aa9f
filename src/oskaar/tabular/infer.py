"""Inferring which columns are y, and which loss fits them. Each inference is noted for the user.

The kind of y is inferred from the first rows. Its range, levels, classes and tags are learned as they come: no label
is ever moved. The first number or level is learned but not judged, as there is nothing to answer before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oskaar.tabular.labels import NUMBERS, SUBSETS
from oskaar.tabular.readers import ReadError, Record, Table
from oskaar.tabular.round_options import matching

LIKELY = ("label_*", "label", "labels", "y", "target", "class", "tags", "upos", "tag")
"""Names that mostly are labels, tried in this order."""

SEVERAL, AGAIN, LONGEST, MOST_TAGS = 0.1, 0.8, 60, 4
"""Texts are lists of tags where so many have several parts, so few of the parts differ, and none is longer; with
spaces or commas they have no more than so many tags on average."""

FEW = 20
"""So many different whole numbers are levels; more are numbers."""


@dataclass
class Inferred:
    """A loss by name; how many rows are learned and not judged, as their labels set something; what parts tags."""

    loss: str
    not_judged: int = 0
    separator: str | None = None
    doubt: str = ""
    """What later labels might contradict: "bits", "levels", "text" or "tags"; nothing where the loss was given."""


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
    y: list[str], known: list[Any], grouped: bool, asked: str | None, separator: str | None, notes: list[str]
) -> Inferred:
    """What y is, by its first values `known`; asked: the loss, where it was given; separator: of tags, likewise."""
    if not known:
        raise ReadError(f"{y[0]!r} has no value in the first rows: name the columns of y with --y.")
    kind = _kind(known)
    if len(y) == 1 and kind == "text" and not grouped and (asked in SUBSETS or asked is None):
        separator = separator or tags_separator(known)
        if separator and asked is None:
            how = "a JSON list" if separator == "json" else f"several tags with {separator!r} between them"
            notes.append(f"{y[0]!r} is {how}: a subset, loss F1 (--tags-separator and --loss say otherwise)")
        if separator or asked:
            return Inferred(asked or "F1", separator=separator, doubt="tags" if separator else "")
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
        return Inferred("ZeroOne", doubt=kind)
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
    if kind in ("bits", "whole") and (asked == "Ordinal" or (asked is None and few)):
        notes.append(f"{what} whole numbers in few levels: loss Ordinal, levels are learned (--levels sets them)")
        return Inferred("Ordinal", not_judged=1, doubt="" if asked else "levels")
    if asked in (None, *NUMBERS) and kind in ("bits", "whole", "numbers"):
        notes.append(f"{what} numbers: loss {asked or 'Squared'}, their range is learned (--low and --high set it)")
        return Inferred(asked or "Squared", not_judged=1)
    return Inferred(asked or "ZeroOne")


def tags_separator(cells: list[Any]) -> str | None:
    """What parts the tags in texts, if they are lists of tags that come again; None for texts of another kind.

    >>> [tags_separator(texts) for texts in (["A1;B2", "B2", "A1;C"], ["red", "blue"], ['["a"]', '["b", "a"]'])]
    [';', None, 'json']
    """
    texts = [cell for cell in cells if isinstance(cell, str)]
    if texts and all(text.startswith("[") and text.endswith("]") for text in texts):
        return "json"
    for separator in ";|, ":
        parts = [[part.strip() for part in text.split(separator) if part.strip()] for text in texts]
        several = sum(len(row) > 1 for row in parts)
        tags = [tag for row in parts for tag in row]
        again = len(set(tags)) <= AGAIN * len(tags) and max(map(len, tags), default=0) <= LONGEST
        if separator in ", ":  # texts have them too: tags are combined in more ways than there are tags
            again = again and len(set(texts)) >= len(set(tags)) and sum(map(len, parts)) <= MOST_TAGS * len(parts)
        if several >= SEVERAL * len(texts) > 0 and again:
            return separator
    return None


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

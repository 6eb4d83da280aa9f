"""Cells to labels: for every loss whose labels fit into columns, how y is written in them; cost matrices."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar import losses
from oskaar.display import jsonable
from oskaar.losses import Loss
from oskaar.tabular.readers import ReadError
from oskaar.tabular.readers.base import text_cell
from oskaar.tabular.round_options import RoundOptions, meant, split

UNIVERSAL_TAGS = [
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
]
"""The tags of Universal Dependencies."""

SUBSETS = ("F1", "SubsetHamming", "Jaccard", "SubsetZeroOne", "PrecisionAtK")
NUMBERS = ("Squared", "Absolute", "Pinball", "Huber")
RANKINGS = ("Kendall", "Spearman", "Footrule", "PositionHamming")
SHARES = ("SimplexL2", "Hellinger", "TotalVariation", "OrderedWasserstein", "Sphere", "SphereGeodesic")
"""Losses on one number a column."""
COSTLY = ("CostMatrix", "Wasserstein")
ANGLES = ("Circular", "Geodesic", "Angles")
GROUPED = ("Documents", "Sequence", "DependencyTree")
OTHERS = ("ZeroOne", "Ordinal", "NDCG", "SequenceHamming", "Matching", "Rotation")
KNOWN = {name.lower(): name for name in (*SUBSETS, *NUMBERS, *RANKINGS, *SHARES, *ANGLES, *COSTLY, *GROUPED, *OTHERS)}

Costs = tuple[list[list[float]], list[Any] | None, list[Any] | None]
"""The numbers, the names of the outputs (rows) and of the labels (columns), where there are any."""


@dataclass
class LabelFormat:
    """A loss, and the way from the cells of a round's y columns to a label of it, and back to something to print."""

    loss: Loss
    of: Callable[[list[Any]], Any]
    show: Callable[[Any], Any] = jsonable


def loss_name(text: str) -> str:
    """The loss of a name, however it is written.

    >>> loss_name("subset-hamming"), loss_name("f1")
    ('SubsetHamming', 'F1')
    """
    key = text.lower().replace("-", "").replace("_", "")
    if key in KNOWN:
        return KNOWN[key]
    if any(key == name.lower() for name in losses.__all__):
        raise ReadError(f"--loss {text} needs Python, as its labels do not fit into columns: see oskaar losses.")
    raise ReadError(f"--loss must be one of {', '.join(sorted(KNOWN))}, got {text!r}{meant(key, [*KNOWN])}.")


def make_labels(name: str, columns: list[str], options: RoundOptions) -> LabelFormat:
    """The labels for a loss; `columns` are those of y, `options` says the rest."""
    if name in SUBSETS:
        return _subsets(name, columns, options)
    if name in RANKINGS:
        return LabelFormat(
            getattr(losses, name)(columns), lambda cells: tuple(columns[i] for i in losses.order_from_ranks(cells))
        )
    if name in NUMBERS:
        return _numbers(name, columns, options)
    if name in ANGLES:
        return _angles(name, columns, options)
    if name in SHARES:
        return LabelFormat(getattr(losses, name)(len(columns)), as_floats)
    if name in GROUPED:
        require_one(name, columns)
        return _grouped(name, columns, options)
    if name in COSTLY:
        return _costly(name, columns, options)
    if name == "Matching":
        return LabelFormat(losses.Matching(_listed(options) or len(columns)), tuple)
    if name == "Rotation":
        n = math.isqrt(len(columns))
        return LabelFormat(losses.Rotation(n), lambda cells: as_floats(cells).reshape(n, -1))
    if name == "NDCG":
        return LabelFormat(losses.NDCG(columns, k=options.k), lambda cells: tuple(as_floats(cells)))
    if name == "SequenceHamming":
        return LabelFormat(losses.SequenceHamming(len(columns), _listed(options)), tuple)
    require_one(name, columns)
    if name == "Ordinal":
        text = options.levels or options.classes
        return LabelFormat(losses.Ordinal(levels(text) if text else None), lambda cells: cells[0])
    return LabelFormat(losses.ZeroOne(_listed(options)), lambda cells: cells[0])


def _grouped(name: str, columns: list[str], options: RoundOptions) -> LabelFormat:
    if name == "Documents":
        return LabelFormat(losses.Documents(options.k or 10), as_floats)
    if name == "DependencyTree":
        return LabelFormat(losses.DependencyTree(), lambda cells: tuple(text_cell(str(cell)) for cell in cells))
    alphabet = UNIVERSAL_TAGS if columns == ["upos"] and not options.classes else _listed(options)
    return LabelFormat(losses.Sequence(alphabet), tuple)


def _costly(name: str, columns: list[str], options: RoundOptions) -> LabelFormat:
    costs, outputs, truths = read_costs(options.costs, name.lower())
    if name == "Wasserstein":
        return LabelFormat(losses.Wasserstein(costs), as_floats)
    require_one(name, columns)
    listed = _listed(options)
    return LabelFormat(losses.CostMatrix(costs, outputs or listed, truths or listed), lambda cells: cells[0])


def _subsets(name: str, columns: list[str], options: RoundOptions) -> LabelFormat:
    names: Sequence[Any] | None = columns if len(columns) > 1 else _listed(options)
    if len(columns) == 1 and options.n_labels:
        names = range(options.n_labels)
    if names is None and name == "PrecisionAtK":
        raise ReadError("PrecisionAtK needs all the labels that there are: --classes a,b,c, or --n-labels.")

    def of(cells: list[Any]) -> frozenset[Any]:
        if len(columns) == 1:
            return _members(cells[0], options.tags_separator)
        for column, cell in zip(columns, cells, strict=True):
            if cell not in (0, 1):
                raise ValueError(f"column {column!r} must be 0 or 1, got {cell!r}")
        return frozenset(column for column, cell in zip(columns, cells, strict=True) if cell)

    more = {"k": options.k or 1} if name == "PrecisionAtK" else {}
    loss = getattr(losses, name)(None if names is None else list(names), **more)
    order = {} if names is None else {label: i for i, label in enumerate(names)}
    return LabelFormat(loss, of, lambda z: None if z is None else sorted(z, key=lambda v: (order.get(v, 0), str(v))))


def _members(cell: Any, separator: str | None) -> frozenset[Any]:
    """The labels of a cell: a list, or a text with separators, commas where none is known; "json" for lists."""
    if isinstance(cell, str) and separator == "json":
        try:
            cell = json.loads(cell)
        except ValueError:
            raise ValueError(f"tags must be a JSON list, got {cell[:60]!r}") from None
    if isinstance(cell, str):
        cell = [text_cell(part) for part in cell.split(separator or ",") if part.strip()]
    return frozenset(cell) if isinstance(cell, (list, tuple)) else frozenset([cell])


def _numbers(name: str, columns: list[str], options: RoundOptions) -> LabelFormat:
    if (options.low is None) != (options.high is None):
        raise ReadError("--low and --high go together: give both, or neither to learn the range of y.")
    more = {"quantile": options.quantile} if name == "Pinball" else {}
    return LabelFormat(getattr(losses, name)(len(columns), options.low, options.high, **more), as_floats)


def _angles(name: str, columns: list[str], options: RoundOptions) -> LabelFormat:
    unit = math.pi / 180 if options.degrees else 1.0

    def turned(cells: list[Any]) -> Any:
        return as_floats(cells) * unit

    if name == "Angles":
        return LabelFormat(losses.Angles(len(columns)), turned, lambda z: jsonable(z / unit))
    require_one(name, columns)
    return LabelFormat(
        getattr(losses, name)(), lambda cells: float(turned(cells)[0]), lambda z: None if z is None else z / unit
    )


def levels(text: str) -> list[Any]:
    """Levels as written: `1..5`, or a list from the lowest to the highest.

    >>> levels("1..4"), levels("low,high")
    ([1, 2, 3, 4], ['low', 'high'])
    """
    first, dots, last = text.partition("..")
    if dots:
        try:
            return list(range(int(first), int(last) + 1))
        except ValueError:
            raise ReadError(f"--levels must be two whole numbers with .. between them, got {text!r}.") from None
    return [text_cell(part) for part in split(text)]


def _listed(options: RoundOptions) -> list[Any] | None:
    return [text_cell(part) for part in split(options.classes)] if options.classes else None


def require_one(name: str, columns: list[str]) -> None:
    """A loss on one column."""
    if len(columns) != 1:
        raise ReadError(f"{name} has one column for y, --y names {len(columns)}: {', '.join(columns[:5])}.")


def as_floats(cells: list[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers, or an error that shows what is not one."""
    try:
        return np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        bad = next(cell for cell in cells if not isinstance(cell, (int, float)))
        raise ValueError(f"y must be a number, got {bad!r}") from None
    except OverflowError:
        raise ValueError("a number must be smaller than 1e308") from None


def read_costs(text: str | None, name: str) -> Costs:
    """`[[0, 5], [1, 0]]`, or a CSV file: a row for each answer, a column for each truth, with or without names.

    >>> read_costs("[[0, 5], [1, 0]]", "costmatrix")
    ([[0.0, 5.0], [1.0, 0.0]], None, None)
    """
    if not text:
        raise ReadError(f"--loss {name} needs --costs: a CSV file, or [[0, 5], [1, 0]] with a row for each answer.")
    if text.lstrip().startswith("["):
        try:
            return _cost_rows(json.loads(text), "--costs"), None, None
        except (json.JSONDecodeError, TypeError):
            raise ReadError(f"--costs must be rows of numbers, [[0, 5], [1, 0]], got {text[:60]!r}.") from None
    try:
        with open(text, encoding="utf-8-sig", newline="") as handle:
            rows = [row for row in csv.reader(handle) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReadError(f"--costs {text} cannot be read: {error}.") from None
    if len(rows) > 1 and any(isinstance(text_cell(cell), str) for cell in rows[0][1:]):
        labels = [text_cell(cell) for cell in rows[0][1:]]
        outputs = [text_cell(row[0]) for row in rows[1:]]
        return _cost_rows([row[1:] for row in rows[1:]], f"--costs {text}"), outputs, labels
    return _cost_rows(rows, f"--costs {text}"), None, None


def _cost_rows(rows: list[list[Any]], where: str) -> list[list[float]]:
    try:
        found = [[float(cell) for cell in row] for row in rows]
    except ValueError as error:
        raise ReadError(f"{where} must hold numbers: {error}.") from None
    if not found or any(len(row) != len(found[0]) for row in found):
        raise ReadError(f"{where} must have rows of one length, got lengths {[len(row) for row in found][:5]}.")
    return found

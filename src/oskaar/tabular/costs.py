"""Cost matrices: what answering z costs when the truth is y, from a file or written out."""

from __future__ import annotations

import csv
import json
from typing import Any

from oskaar.tabular.readers import ReadError
from oskaar.tabular.readers.base import text_cell

Costs = tuple[list[list[float]], list[Any] | None, list[Any] | None]
"""The numbers, the names of the outputs (rows) and of the labels (columns), where there are any."""


def read_costs(text: str | None, name: str) -> Costs:
    """`[[0, 5], [1, 0]]`, or a CSV file: a row for each answer, a column for each truth, with or without names.

    >>> read_costs("[[0, 5], [1, 0]]", "costmatrix")
    ([[0.0, 5.0], [1.0, 0.0]], None, None)
    """
    if not text:
        raise ReadError(f"--loss {name} needs --costs: a CSV file, or [[0, 5], [1, 0]] with a row for each answer.")
    if text.lstrip().startswith("["):
        try:
            return _numbers(json.loads(text), "--costs"), None, None
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
        return _numbers([row[1:] for row in rows[1:]], f"--costs {text}"), outputs, labels
    return _numbers(rows, f"--costs {text}"), None, None


def _numbers(rows: list[list[Any]], where: str) -> list[list[float]]:
    try:
        found = [[float(cell) for cell in row] for row in rows]
    except ValueError as error:
        raise ReadError(f"{where} must hold numbers: {error}.") from None
    if not found or any(len(row) != len(found[0]) for row in found):
        raise ReadError(f"{where} must have rows of one length, got lengths {[len(row) for row in found][:5]}.")
    return found

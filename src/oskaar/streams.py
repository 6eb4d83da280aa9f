"""Streams: reading them from files, making them up, and preparing their inputs from past rows."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oskaar.arrays import Array
from oskaar.drifts import Drifting, drifting
from oskaar.features.scaling import Moments
from oskaar.tabular.inputs import error_at
from oskaar.tabular.readers import Record, Table, read_table
from oskaar.tabular.readers.base import text_cell

__all__ = ["Drifting", "Sentence", "drifting", "read_arff", "read_conllu", "standardised"]


def standardised(X: Array) -> Array:
    """Each row less the mean of the rows up to it, over their deviation: later rows play no part.

    A feature that has not varied yet is 0.

    >>> standardised(np.array([[1.0], [3.0], [2.0]])).ravel()
    array([0., 1., 0.])
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix of rows, got shape {X.shape}.")
    return Moments.start(X).seen(X)[0] if len(X) else X.copy()


def read_arff(path: str | Path, n_labels: int) -> tuple[Any, list[frozenset[int]]]:
    """A multi-label ARFF file, as Mulan and MEKA write them: inputs, and the set of labels of each row.

    n_labels: how many of the columns are labels: the first n, or, when negative, the last -n.
    Dense rows give an array, sparse rows a CSR array; nominal columns count from 0 in the order declared.
    """
    table = read_table(path, "arff")
    columns = list(table.columns or ())
    if not 0 < abs(n_labels) < len(columns):
        raise ValueError(f"{path} has {len(columns)} columns, of which {n_labels} cannot be the labels.")
    listed = columns[:n_labels] if n_labels > 0 else columns[n_labels:]
    label_of = {name: i for i, name in enumerate(listed)}
    place_of = {name: j for j, name in enumerate(name for name in columns if name not in label_of)}
    codes = {name: _codes(values) for name, values in table.nominal.items()}
    ys: list[frozenset[int]] = []
    data: list[float] = []
    indices: list[int] = []
    starts = [0]
    for record in table:
        row = {name: v for name, cell in record.cells.items() if (v := _number(table, record, name, cell, codes))}
        ys.append(frozenset(label_of[name] for name in row if name in label_of))
        indices += [place_of[name] for name in row if name in place_of]
        data += [v for name, v in row.items() if name in place_of]
        starts.append(len(data))
    from scipy.sparse import csr_array

    X = csr_array((data, indices, starts), shape=(len(ys), len(place_of)), dtype=float)
    return (X if table.sparse else X.toarray()), ys


def _codes(values: tuple[str, ...]) -> dict[Any, float]:
    """What each value of a nominal column is as a number: itself where all are numbers, else its place."""
    cells = [text_cell(text) for text in values]
    numeric = all(isinstance(cell, (int, float)) for cell in cells)
    return {cell: float(cell) if numeric else float(i) for i, cell in enumerate(cells)}


def _number(table: Table, record: Record, name: str, cell: Any, codes: dict[str, dict[Any, float]]) -> float:
    if name in codes and cell in codes[name]:
        return codes[name][cell]
    if name in codes or not isinstance(cell, (int, float)):
        what = f"one of {', '.join(table.nominal[name][:8])}" if name in codes else "a number"
        raise error_at(table, record, f"column {name!r} must be {what}, got {cell!r}")
    return float(cell)


class Sentence(NamedTuple):
    """A sentence with its dependency tree: `heads` are what `losses.DependencyTree` takes."""

    forms: tuple[str, ...]
    pos: tuple[str, ...]
    heads: tuple[int, ...]


def read_conllu(path: str | Path) -> list[Sentence]:
    """The sentences of a CoNLL-U file (Universal Dependencies), compressed or not: forms, universal POS and heads.

    Ranges of words that are written as one (3-4) and empty nodes (5.1) are left out: no head points at them.
    """
    table = read_table(path, "conll")
    sentences: list[Sentence] = []
    for _, group in groupby(table, key=lambda record: record.cells["sentence"]):
        rows = [_token(table, record, number) for number, record in enumerate(group, start=1)]
        sentences.append(Sentence(*zip(*rows, strict=True)))
    return sentences


def _token(table: Table, record: Record, number: int) -> tuple[str, str, int]:
    """(form, POS, head) of the token that must be this one of its sentence."""
    cells = record.cells
    if "head" not in cells:
        raise error_at(table, record, "a token must have 10 fields with tabs between them")
    if cells["id"] != str(number):
        raise error_at(table, record, f"token {number} must come next, got {cells['id']!r}")
    if not cells["head"].isdecimal():
        raise error_at(table, record, f"the head of token {number} must be a number, got {cells['head']!r}")
    return cells["form"], cells["upos"], int(cells["head"])

"""Streams: reading them from files, making them up, and preparing their inputs without looking ahead."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oskaar.arrays import Array
from oskaar.drifts import Drifting, drifting

__all__ = ["Drifting", "Sentence", "drifting", "read_arff", "read_conllu", "standardised"]


def standardised(X: Array) -> Array:
    """Each row less the mean of the rows up to it, over their deviation: nothing looks ahead.

    A feature that has not varied yet is 0.

    >>> standardised(np.array([[1.0], [3.0], [2.0]])).ravel()
    array([0., 1., 0.])
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"X must be a matrix of rows, got shape {X.shape}.")
    if len(X) == 0:
        return X.copy()
    moved = X - X[0]  # sums of squares of small numbers keep their digits
    counts = np.arange(1, len(X) + 1)[:, None]
    means = np.cumsum(moved, axis=0) / counts
    spread = np.sqrt(np.maximum(np.cumsum(moved**2, axis=0) / counts - means**2, 0.0))
    still = spread <= 1e-9 * (1e-300 + np.maximum.accumulate(np.abs(moved), axis=0))
    scaled: Array = np.divide(moved - means, spread, out=np.zeros_like(moved), where=~still)
    return scaled


def read_arff(path: str | Path, n_labels: int) -> tuple[Any, list[frozenset[int]]]:
    """A multi-label ARFF file, as Mulan and MEKA write them: inputs, and the set of labels of each row.

    n_labels: how many of the columns are labels: the first n, or, when negative, the last -n.
    Dense rows give an array, sparse rows a CSR array; nominal columns count from 0 in the order declared.
    """
    width, sparse, rows = _arff_rows(Path(path))
    if not 0 < abs(n_labels) < width:
        raise ValueError(f"{path} has {width} columns, of which {n_labels} cannot be the labels.")
    first = 0 if n_labels > 0 else width + n_labels
    is_label = np.zeros(width, dtype=bool)
    is_label[first : first + abs(n_labels)] = True
    places = np.where(is_label, np.cumsum(is_label) - 1, np.cumsum(~is_label) - 1)
    labels: list[frozenset[int]] = []
    data: list[float] = []
    indices: list[int] = []
    starts = [0]
    for row in rows:
        labels.append(frozenset(int(places[j]) for j, v in row if is_label[j] and v))
        kept = [(int(places[j]), v) for j, v in row if not is_label[j]]
        indices += [j for j, _ in kept]
        data += [v for _, v in kept]
        starts.append(len(data))
    from scipy.sparse import csr_array

    X = csr_array((data, indices, starts), shape=(len(labels), width - abs(n_labels)), dtype=float)
    return (X if sparse else X.toarray()), labels


def _arff_rows(path: Path) -> tuple[int, bool, list[list[tuple[int, float]]]]:
    opener = gzip.open if path.suffix == ".gz" else open
    codes: list[dict[str, float]] = []
    rows: list[list[tuple[int, float]]] = []
    sparse, in_data = False, False
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            line = line.strip()
            if not line or line.startswith("%"):
                continue
            if in_data:
                sparse = sparse or line.startswith("{")
                try:
                    rows.append(list(_arff_values(line, codes)))
                except (ValueError, KeyError, IndexError) as error:
                    raise ValueError(f"{path}, line {number}: cannot read {line[:60]!r} ({error}).") from None
            elif line.lower().startswith("@attribute"):
                codes.append(_nominal_codes(line))
            in_data = in_data or line.lower().startswith("@data")
    if not in_data:
        raise ValueError(f"{path} has no @data line: it is not an ARFF file, or it was cut short.")
    return len(codes), sparse, rows


def _arff_values(line: str, codes: list[dict[str, float]]) -> Iterator[tuple[int, float]]:
    if line.startswith("{"):
        items = (item.split(None, 1) for item in line.strip("{} ").split(",") if item.strip())
        cells = [(int(j), text.strip()) for j, text in items]
    else:
        cells = list(enumerate(text.strip() for text in line.split(",")))
        if len(cells) != len(codes):
            raise ValueError(f"{len(codes)} values are declared, {len(cells)} are there")
    for j, text in cells:
        known = codes[j]
        value = known[text.strip("'\"")] if known else float(text)
        if value:
            yield j, value


def _nominal_codes(line: str) -> dict[str, float]:
    """{'0': 0.0, '1': 1.0} for "@attribute name {0,1}"; empty for numbers."""
    if not line.endswith("}"):
        return {}
    values = [v.strip().strip("'\"") for v in line[line.rindex("{") + 1 : -1].split(",")]
    numeric = all(v.lstrip("+-").replace(".", "", 1).isdigit() for v in values)
    return {v: float(v) if numeric else float(i) for i, v in enumerate(values)}


class Sentence(NamedTuple):
    """A sentence with its dependency tree: `heads` are what `losses.DependencyTree` takes."""

    forms: tuple[str, ...]
    pos: tuple[str, ...]
    heads: tuple[int, ...]


def read_conllu(path: str | Path) -> list[Sentence]:
    """The sentences of a CoNLL-U file (Universal Dependencies), gzipped or not: forms, universal POS and heads.

    Ranges of words that are written as one (3-4) and empty nodes (5.1) are left out: no head points at them.
    """
    path = Path(path)
    opener = gzip.open if path.suffix == ".gz" else open
    sentences: list[Sentence] = []
    rows: list[tuple[str, str, int]] = []
    with opener(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate([*lines, "\n"], start=1):
            line = line.rstrip("\r\n")
            if not line.strip():
                if rows:
                    sentences.append(Sentence(*zip(*rows, strict=True)))
                    rows = []
            elif not line.startswith("#"):
                row = _conllu_row(line, len(rows) + 1, f"{path}, line {number}")
                rows += [row] if row else []
    return sentences


def _conllu_row(line: str, token: int, where: str) -> tuple[str, str, int] | None:
    """(form, POS, head) of a token; None for what is no token of its own."""
    fields = line.split("\t")
    if len(fields) != 10:
        raise ValueError(f"{where}: a token must have 10 fields with tabs between them, got {len(fields)}.")
    if "-" in fields[0] or "." in fields[0]:
        return None
    if fields[0] != str(token):
        raise ValueError(f"{where}: token {token} must come next, got {fields[0]!r}.")
    if not fields[6].isdecimal():
        raise ValueError(f"{where}: the head of token {token} must be a number, got {fields[6]!r}.")
    return fields[1], fields[3], int(fields[6])

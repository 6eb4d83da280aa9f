"""Thirteen streams of several kinds, each an .npz file of rows, labels and the name of a loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from oskaar import losses
from study.protocol import Stream
from study.streams.entries import Entry

KINDS = {
    "SEA": "class",
    "bike-hour": "vector",
    "chessboard": "class",
    "diamonds-cut": "ordinal",
    "enron": "subset",
    "german": "class",
    "ionosphere": "class",
    "keystroke": "class",
    "ohsumed": "subset",
    "phoneme": "class",
    "rank-calhousing": "ranking",
    "rank-cold": "ranking",
    "rank-housing": "ranking",
}
IN_TIME = ("SEA", "bike-hour", "chessboard", "keystroke")


def _rows(file: Any) -> Any:
    if "X" in file.files:
        return np.asarray(file["X"], dtype=float)
    return csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))


def _label(kind: str, y: Any) -> Any:
    made = {"subset": frozenset, "ranking": tuple, "vector": np.array}
    return made[kind](y) if kind in made else y


def _entry(name: str, kind: str) -> Entry:
    file = f"more/{name}.npz"

    def load(folder: Path, rounds: int | None) -> Stream:
        with np.load(folder / file) as found:
            X, ys = _rows(found), json.loads(str(found["ys"]))
            cls, *arguments = json.loads(str(found["loss"]))
        loss = getattr(losses, cls)(*arguments)
        return Stream(name, kind, X, [_label(kind, y) for y in ys], loss, "file order", file)

    return Entry(name, kind, load, file=file, lag=name in IN_TIME)


ENTRIES = [_entry(name, kind) for name, kind in KINDS.items()]

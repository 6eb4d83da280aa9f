"""Label ranking: files with features A* and the ranks L* of each label."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from oskaar import losses
from study.protocol import Stream
from study.streams.entries import SEED, Entry, benchmark, shuffled

TAUS = {"iris": 0.970, "glass": 0.832, "wine": 0.887, "vowel": 0.863}
"""Batch kernel ridge with Kemeny, cross-validated Kendall tau."""
IN_ORDER = {"stock": ".csv", "spo": ".csv.gz", "fried": ".csv.gz"}


def _entry(name: str, suffix: str, order: str, lagged: bool = False) -> Entry:
    file = f"label_ranking/{name}{suffix}"
    called = f"rank-{name}" + ("-lagged" if lagged else "")

    def load(folder: Path, rounds: int | None) -> Stream:
        X, ys = benchmark("rankings").read(folder / file)
        if order == "shuffled":
            X, ys = shuffled(X, ys)
        if lagged:  # the ranks of the round before, in the middle before the first
            ranks = np.argsort(np.array(ys), axis=1).astype(float)
            X = np.hstack([X, np.vstack([np.full(ranks.shape[1], (ranks.shape[1] - 1) / 2), ranks[:-1]])])
        note = f"shuffled, seed {SEED}" if order == "shuffled" else order
        note += "; the last ranking is among the features" if lagged else ""
        figures = {"kernel ridge with Kemeny, batch, cross-validated": (1 - TAUS[name]) / 2} if name in TAUS else {}
        return Stream(called, "ranking", X, ys, losses.Kendall(len(ys[0])), note, file, figures)

    return Entry(called, "ranking", load, file=file, family=f"rank-{name}", lag=name == "stock" and not lagged)


ENTRIES = [_entry(name, ".csv", "shuffled") for name in TAUS]
ENTRIES += [_entry(name, suffix, "file order") for name, suffix in IN_ORDER.items()]
ENTRIES += [_entry("stock", ".csv", "file order", lagged=True)]

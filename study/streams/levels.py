"""Ordered levels: wine quality, two ratings of teachers and jobs, and hourly pollution in Beijing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from oskaar import losses
from study.protocol import Stream
from study.streams.entries import SEED, Entry, benchmark, shuffled, unscaled

FILES = {"winequality": ("winequality-red.csv", 0, False), "era": ("era.csv", 1, True), "lev": ("lev.csv", 1, True)}
"""Name: file, header rows, whether it is sorted by class."""


def _entry(name: str, file: str, header: int, is_sorted: bool) -> Entry:
    def load(folder: Path, rounds: int | None) -> Stream:
        table = np.loadtxt(folder / "ordinal" / file, delimiter=",", skiprows=header)
        X, ys = table[:, :-1], table[:, -1].astype(int).tolist()
        loss = losses.Ordinal(list(range(min(ys), max(ys) + 1)))
        if is_sorted:
            X, ys = shuffled(X, ys)
        note = f"sorted by class in the file: shuffled, seed {SEED}" if is_sorted else "file order"
        return Stream(name, "ordinal", X, ys, loss, note, f"ordinal/{file}")

    return Entry(name, "ordinal", load, file=f"ordinal/{file}")


def _pollution(name: str, lagged: bool) -> Entry:
    file = "ordinal/pollution.csv.gz"

    def load(folder: Path, rounds: int | None) -> Stream:
        hours = 10**9 if rounds is None else rounds
        X, ys = benchmark("drift").pollution(folder, hours, scale=unscaled)
        note = "hourly, from weather and time of day alone"
        if lagged:
            X = np.column_stack([X, [0.0, *ys[:-1]]])
            note = "hourly, from weather, time of day and the level of the hour before"
        return Stream(name, "ordinal", X, ys, losses.Ordinal(6), note, file)

    return Entry(name, "ordinal", load, file=file, family="pollution", lag=not lagged)


ENTRIES = [_entry(name, *rest) for name, rest in FILES.items()]
ENTRIES += [_pollution("pollution", False), _pollution("pollution-lagged", True)]

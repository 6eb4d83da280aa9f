"""Streams that scikit-learn and River bring with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oskaar import losses
from study.protocol import Stream
from study.streams.entries import SEED, Entry, shuffled

RANGES = {  # name: low and high of each target, known beforehand; targets are brought to [0, 1]
    "diabetes": ([0.0], [400.0]),
    "linnerud": ([100.0, 20.0, 40.0], [300.0, 60.0, 100.0]),
    "TrumpApproval": ([30.0], [60.0]),
    "ChickWeights": ([0.0], [500.0]),
    "AirlinePassengers": ([0.0], [1000.0]),
    "WaterFlow": ([0.0], [150.0]),
    "SP500Stocks": ([-10.0], [10.0]),
    "SolarFlare": ([0.0, 0.0, 0.0], [10.0, 10.0, 10.0]),
}
IN_TIME = ("TrumpApproval", "AirlinePassengers", "WaterFlow", "SP500Stocks")
"""Streams in time, whose last label is among the features."""


def _vectors(name: str, X: Any, Y: Any, note: str, source: str) -> Stream:
    low, high = (np.array(end) for end in RANGES[name])
    targets = np.clip((np.asarray(Y, dtype=float).reshape(len(X), -1) - low) / (high - low), 0.0, 1.0)
    if name in IN_TIME:
        X = np.hstack([X, np.vstack([np.full(targets.shape[1], 0.5), targets[:-1]])])
        note += "; the last label is among the features"
    return Stream(name, "vector", X, list(targets), losses.Squared(len(low), 0.0, 1.0), note, source)


def _classes(name: str, X: Any, ys: Iterable[Any], note: str, source: str) -> Stream:
    ys = [y.item() if hasattr(y, "item") else y for y in ys]
    names = sorted(set(ys), key=str)
    return Stream(name, "class", np.asarray(X, dtype=float), ys, losses.ZeroOne(names), note, source)


def _sklearn(name: str, kind: str, order: str) -> Entry:
    def load(folder: Path, rounds: int | None) -> Stream:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        note = order
        if order == "shuffled":
            X, y = shuffled(X, list(y))
            note = f"no order of its own: shuffled, seed {SEED}"
        if kind == "vector":
            return _vectors(name, X, y, note, "scikit-learn")
        return _classes(name, X, list(y), note, "scikit-learn")

    return Entry(name, kind, load, package="sklearn")


def _numbers(rows: list[Mapping[str, Any]]) -> Any:
    """Numbers as they are, dates as day, month and hour, words as indicators of those in the file."""
    columns: list[Any] = []
    for key in rows[0]:
        values = [row[key] for row in rows]
        if hasattr(values[0], "timetuple"):
            columns.append([v.toordinal() + v.hour / 24 for v in values])
            columns += [[f(2 * np.pi * v.hour / 24) for v in values] for f in (np.cos, np.sin)]
            columns += [[f(2 * np.pi * v.month / 12) for v in values] for f in (np.cos, np.sin)]
        elif isinstance(values[0], str):
            columns += [[float(v == word) for v in values] for word in sorted(set(values))]
        else:
            columns.append([float(v) for v in values])
    return np.array(columns).T


def _river(name: str, kind: str) -> Entry:
    def load(folder: Path, rounds: int | None) -> Stream:
        from river import datasets

        seen = list(getattr(datasets, name)())
        X = _numbers([x for x, _ in seen])
        labels = [y for _, y in seen]
        if kind == "vector":
            Y = [list(y.values()) if isinstance(y, dict) else [y] for y in labels]
            return _vectors(name, X, Y, "file order", "River")
        return _classes(name, X, labels, "file order", "River")

    return Entry(name, kind, load, package="river", lag=name == "Shuttle")


ENTRIES = [_sklearn("digits", "class", "file order")]
ENTRIES += [_sklearn(name, "class", "shuffled") for name in ("wine", "breast_cancer", "iris")]
ENTRIES += [_sklearn(name, "vector", "shuffled") for name in ("diabetes", "linnerud")]
ENTRIES += [_river(name, "class") for name in ("Phishing", "Bananas", "ImageSegments", "Shuttle")]
ENTRIES += [_river(name, "vector") for name in RANGES if name not in ("diabetes", "linnerud")]

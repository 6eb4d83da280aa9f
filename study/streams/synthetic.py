"""Synthetic streams: stationary, with abrupt changes, and with drift."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oskaar import losses
from oskaar.streams import drifting
from study.protocol import Stream
from study.streams.entries import SEED, Entry, benchmark

ROUNDS = 3000
"""How long a synthetic stream is: its changes are at fixed shares of this, however many rounds are run."""
STREAMS: dict[str, tuple[str, Callable[[], Any], dict[str, Any]]] = {
    "class-still": ("class", lambda: losses.ZeroOne(5), {"sites": 40, "noise": 0.1, "labels": 5}),
    "class-change": ("class", lambda: losses.ZeroOne(5), {"sites": 40, "noise": 0.1, "labels": 5, "changes": 4}),
    "class-drift": ("class", lambda: losses.ZeroOne(4), {"sites": 40, "labels": 4, "drift": 3.0}),
    "levels-change": ("ordinal", lambda: losses.Ordinal(6), {"sites": 40, "noise": 0.1, "labels": 6, "changes": 3}),
    "subset-change": (
        "subset",
        lambda: losses.SubsetHamming(6),
        {"sites": 40, "noise": 0.1, "labels": 8, "changes": 3},
    ),
    "subset-drift": ("subset", lambda: losses.SubsetHamming(6), {"sites": 40, "labels": 8, "drift": 2.0}),
    "ranking-change": ("ranking", lambda: losses.Kendall(4), {"sites": 40, "noise": 0.1, "labels": 8, "changes": 3}),
}


def _entry(name: str, kind: str, loss: Callable[[], Any], options: dict[str, Any]) -> Entry:
    called = f"synthetic-{name}"

    def load(folder: Path, rounds: int | None) -> Stream:
        made = drifting(loss(), ROUNDS, seed=SEED, **options)
        note = f"oskaar.streams.drifting, seed {SEED}, V_0 = {made.V_0}"
        return Stream(called, kind, made.x, list(made.y), made.loss, note, "synthetic")

    return Entry(called, kind, load)


def _sines(name: str, change: bool) -> Entry:
    def load(folder: Path, rounds: int | None) -> Stream:
        X, ys = benchmark("drift").classes(seed=SEED, change=change, T=2000)
        note = f"5 classes of 10 normal features, {'W redrawn half way' if change else 'no change'}, seed {SEED}"
        return Stream(name, "class", X, ys, losses.ZeroOne(5), note, "benchmarks/drift.py")

    return Entry(name, "class", load, family="synthetic-sines-still")


ENTRIES = [_entry(name, *rest) for name, rest in STREAMS.items()]
ENTRIES += [_sines("synthetic-sines-still", False), _sines("synthetic-sines-change", True)]

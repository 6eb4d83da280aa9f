"""A stream by name: what it is before anything is read."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.sparse import issparse

from study.protocol import Stream

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
"""Where the real streams are looked for; they do not ship with the project."""
SEED = 0
"""Of every shuffle and every synthetic stream."""


@dataclass(frozen=True)
class Entry:
    """A stream that can be read: `load(folder, rounds)`; it may give more rounds than asked for, not fewer if it can.

    needs: the file below the folder of real streams, or the package, without which it is left out.
    """

    name: str
    kind: str
    load: Callable[[Path, int | None], Stream]
    file: str | None = None
    package: str | None = None
    family: str | None = None
    """The first name of the streams that share its rows, where it is another."""
    lag: bool = False
    """Whether rows follow one another in time and lack the last label."""

    @property
    def kept_apart(self) -> bool:
        """Whether no default may be chosen on it: SHA-256 of the name of its family is odd. Split once, for good."""
        return hashlib.sha256((self.family or self.name).encode()).digest()[-1] % 2 == 1

    def missing(self, folder: Path) -> str | None:
        """Why it cannot be read here; None where it can."""
        if self.file is not None and not (folder / self.file).exists():
            return f"no {self.file} in {folder}"
        if self.package is not None and importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed"
        return None

    def read(self, folder: Path, rounds: int | None) -> Stream:
        """The first rounds of it, with labels in the loss's standard form."""
        stream = replace(self.load(folder, rounds).first(rounds), lag=self.lag)
        if stream.name != self.name or stream.kind != self.kind:
            raise ValueError(f"{self.name} ({self.kind}) was read as {stream.name} ({stream.kind}).")
        stream.ys[:] = [stream.loss.check(y) for y in stream.ys]
        for X in stream.xs if isinstance(stream.xs, list) else [stream.xs]:
            narrow(X)
        return stream


def narrow(X: Any) -> None:
    """Indices of csr arrays in 32 bits, in place: some packages take no others."""
    if issparse(X):
        X.indices, X.indptr = (part.astype(np.int32) for part in (X.indices, X.indptr))


def benchmark(name: str) -> ModuleType:
    """A module of benchmarks/, which has the readers of the real streams."""
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.append(folder)
    return importlib.import_module(name)


def shuffled(X: Any, ys: list[Any]) -> tuple[Any, list[Any]]:
    """Rows in an order of chance, for files that are sorted by label or have no order."""
    order = np.random.default_rng(SEED).permutation(len(ys))
    return X[order], [ys[i] for i in order]


def unscaled(X: Any) -> Any:
    """As it is: in place of the standardisation of the benchmarks."""
    return np.asarray(X, dtype=float)

"""Inputs as other packages take them: blocks of rows, dicts, text; scaled with what was seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from oskaar.arrays import Array


def narrow(x: Any) -> csr_array:
    """x as a csr array with 32-bit indices, the only ones that scikit-learn's forests take."""
    x = csr_array(x)
    parts = (x.data.astype(float, copy=False), x.indices.astype(np.int32), x.indptr.astype(np.int32))
    return csr_array(parts, shape=x.shape)


def block_of(x: Any) -> Any:
    """x as rows: an (n, d) array or csr array, n = 1 for a plain row."""
    if issparse(x):
        return narrow(x)
    return np.atleast_2d(np.asarray(x, dtype=float))


def dense_of(x: Any) -> Array:
    """x as an (n, d) array."""
    block = block_of(x)
    return np.asarray(block.toarray() if issparse(block) else block)


def pairs_of(x: Any) -> list[tuple[list[int], list[float]]]:
    """(columns, values) of each row; of csr rows the entries that are not 0, of dense rows all."""
    block = block_of(x)
    if not issparse(block):
        columns = list(range(block.shape[1]))
        return [(columns, row) for row in block.tolist()]
    spans = zip(block.indptr[:-1], block.indptr[1:], strict=True)
    return [
        ([j for j, v in row if v], [v for _, v in row if v])
        for row in (
            list(zip(block.indices[lo:hi].tolist(), block.data[lo:hi].tolist(), strict=True)) for lo, hi in spans
        )
    ]


def dicts_of(x: Any) -> list[dict[int, float]]:
    """A dict for each row, as River takes it.

    >>> dicts_of(np.array([1.0, 0.0])), dicts_of(csr_array(np.array([[0.0, 2.0]])))
    ([{0: 1.0, 1: 0.0}], [{1: 2.0}])
    """
    return [dict(zip(columns, values, strict=True)) for columns, values in pairs_of(x)]


def texts_of(x: Any) -> list[str]:
    """Features of each row as Vowpal Wabbit reads them; entries that are 0 say nothing and are left out.

    >>> texts_of(np.array([1.0, 0.0, -2.5]))
    ['| 0:1 2:-2.5']
    """
    return [
        "| " + " ".join(f"{j}:{v:.7g}" for j, v in zip(columns, values, strict=True) if v)
        for columns, values in pairs_of(x)
    ]


def spread_of(variance: Array) -> Array:
    """Standard deviations to divide by: 1 for columns that have not moved."""
    return np.where(variance > 1e-12, np.sqrt(np.maximum(variance, 1e-12)), 1.0)


class Scaler:
    """Means and deviations of all rows seen (Welford). Csr rows pass as they are, as they mostly do elsewhere.

    >>> scaler = Scaler(1)
    >>> scaler.learn(np.array([[0.0], [2.0]]))
    >>> scaler.scaled(np.array([[3.0]]))
    array([[2.]])
    """

    def __init__(self, width: int) -> None:
        self.n = 0
        self.mean, self.squares = np.zeros(width), np.zeros(width)

    def learn(self, block: Any) -> None:
        """Sees rows."""
        if issparse(block):
            return
        n, mean = len(block), block.mean(axis=0)
        step = mean - self.mean
        self.squares += ((block - mean) ** 2).sum(axis=0) + step**2 * (self.n * n / (self.n + n))
        self.mean += step * (n / (self.n + n))
        self.n += n

    def scaled(self, block: Any) -> Any:
        """Rows less the means, over the deviations."""
        if issparse(block) or not self.n:
            return block
        return (block - self.mean) / spread_of(self.squares / self.n)


class History:
    """All rounds seen, for models that are fitted again: blocks and targets, the last `most` rows of them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.blocks: list[Any] = []
        self.targets: list[Array] = []
        self.rounds = 0
        self._rows = 0

    def append(self, block: Any, target: Array) -> None:
        """One round more; the oldest are dropped where there are too many rows."""
        self.blocks.append(block)
        self.targets.append(target)
        self.rounds += 1
        self._rows += len(target)
        drop = 0
        while self._rows > self.most and drop < len(self.blocks) - 1:
            self._rows -= len(self.targets[drop])
            drop += 1
        if drop:
            del self.blocks[:drop], self.targets[:drop]

    def rows(self) -> Any:
        """All rows kept."""
        return narrow(vstack(self.blocks)) if issparse(self.blocks[0]) else np.concatenate(self.blocks)

    def values(self) -> Array:
        """All targets kept, (n, p)."""
        return np.concatenate(self.targets)

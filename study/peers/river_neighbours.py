"""River's nearest neighbours: one search in a window gives the mean of all outputs of the neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oskaar.arrays import Array
from study.peers.river_heads import RiverModel
from study.peers.river_linear import scalers
from study.peers.targets import ONE_ROW, Target, target_of
from study.protocol import Peer, Stream


class Neighbours:
    """KNNClassifier's and KNNRegressor's rule for p outputs at once, over River's own search."""

    def __init__(self, target: Target, n: int, window: int, weighted: bool) -> None:
        from river import neighbors

        self.engine = neighbors.LazySearch(window_size=window)
        neighbors.KNNClassifier(engine=self.engine)  # gives the engine the fast distance on (x, y)
        self.p, self.n, self.weighted = target.p, n, weighted

    def scores(self, row: dict[Any, float]) -> Array:
        """Means over the neighbours, by the inverse distance where weighted; an equal row decides alone."""
        found, distances = self.engine.search((row, None), n_neighbors=self.n)
        if not found:
            return np.zeros(self.p)
        Y, far = np.array([y for _, y in found]), np.array(distances)
        if not self.weighted:
            return np.asarray(Y.mean(axis=0))
        if far[0] == 0:
            return np.asarray(Y[0])
        return np.asarray((Y / far[:, None]).sum(axis=0) / (1 / far).sum())

    def learn(self, row: dict[Any, float], values: Array) -> None:
        """Into the window."""
        self.engine.append((dict(row), values.copy()))


def _make(stream: Stream, setting: Mapping[str, Any], seed: int) -> RiverModel:
    target = target_of(stream, setting.get("as_classes", False))
    n, window = setting.get("n", 5), setting.get("window", 1000)
    return RiverModel(target, scalers(stream), Neighbours(target, n, window, setting.get("weighted", True)))


PEERS = (
    Peer(
        "River kNN",
        "river",
        (*ONE_ROW, "sequence", "documents"),
        (
            {},
            {"n": 15},
            {"n": 15, "window": 300, "weighted": False},
            {"n": 5, "as_classes": True},
            {"n": 30, "window": 2000, "as_classes": True},
        ),
        _make,
    ),
)

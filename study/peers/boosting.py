"""LightGBM, refitted: lambdarank for the documents of queries; boosted trees for classes, levels and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oskaar.arrays import Array
from study.peers.refitting import Refitted
from study.peers.targets import NUMBERS, target_of
from study.protocol import Peer, Stream

QUIET: dict[str, Any] = {"verbose": -1, "n_jobs": 1, "deterministic": True, "force_row_wise": True}


class Ranker(Refitted):
    """LGBMRanker on all queries kept. Relevances are rounded to whole grades, which lambdarank asks for."""

    growth = 0.1

    def __init__(self, stream: Stream, setting: Mapping[str, Any], seed: int) -> None:
        from lightgbm import LGBMRanker

        super().__init__(target_of(stream), most=30_000)
        self.model = LGBMRanker(random_state=seed, **QUIET, **setting)
        self.ready = False

    def fit(self, X: Any, Y: Array) -> None:
        """Fits where the queries kept have two grades."""
        grades = np.rint(Y[:, 0]).astype(int)
        self.ready = bool((grades != grades[0]).any())
        if self.ready:
            sizes = [len(part) for part in self.history.targets]
            gains = [2.0**grade - 1 for grade in range(int(grades.max()) + 1)]
            self.model.set_params(label_gain=gains).fit(X, grades, group=sizes)

    def scores(self, X: Any) -> Array:
        """The ranker's; 0, the order of the rows, where it was not fitted."""
        return _booster(self.model, X)[:, None] if self.ready else np.zeros((X.shape[0], 1))


class Boosted(Refitted):
    """LGBMClassifier for classes and for each label, an LGBMRegressor for each number."""

    def __init__(self, stream: Stream, setting: Mapping[str, Any], seed: int) -> None:
        from lightgbm import LGBMClassifier, LGBMRegressor

        options = dict(setting)
        super().__init__(target_of(stream, options.pop("as_classes", True)), most=20_000)
        self.one_hot = self.target.type == "one-hot"
        make = LGBMRegressor if self.target.type == "number" else LGBMClassifier
        self.models = [
            make(random_state=seed, **QUIET, **options) for _ in range(1 if self.one_hot else self.target.p)
        ]
        self.constants: list[float | None] = []
        """Of columns that have not moved."""

    def fit(self, X: Any, Y: Array) -> None:
        """Fits columns that have two values; before that, what there is."""
        columns = [np.argmax(Y, axis=1)] if self.one_hot else list(Y.T)
        self.constants = [float(column[0]) if (column == column[0]).all() else None for column in columns]
        for model, column, constant in zip(self.models, columns, self.constants, strict=True):
            if constant is None:
                model.fit(X, column)

    def scores(self, X: Any) -> Array:
        """Probabilities or predictions."""
        if not self.one_hot:
            pairs = zip(self.models, self.constants, strict=True)
            return np.stack([_booster(m, X) if c is None else np.full(X.shape[0], c) for m, c in pairs], axis=1)
        V = np.zeros((X.shape[0], self.target.p))
        if self.constants[0] is not None:
            V[:, int(self.constants[0])] = 1.0
            return V
        shares = _booster(self.models[0], X)
        V[:, self.models[0].classes_] = np.stack([1 - shares, shares], axis=1) if shares.ndim == 1 else shares
        return V


def _booster(model: Any, X: Any) -> Array:
    """The raw booster: the face of scikit-learn checks every call, which costs more than the trees."""
    return np.asarray(model.booster_.predict(X, num_threads=1))


PEERS = (
    Peer(
        "LightGBM lambdarank",
        "lightgbm",
        ("documents",),
        (
            {},
            {"n_estimators": 50, "num_leaves": 7},
            {"n_estimators": 200, "learning_rate": 0.03, "num_leaves": 7},
            {"n_estimators": 100, "min_child_samples": 50, "reg_lambda": 10.0},
        ),
        Ranker,
    ),
    Peer(
        "LightGBM",
        "lightgbm",
        ("class", "subset", *NUMBERS),
        (
            {"num_leaves": 15, "min_child_samples": 5},
            {},
            {"num_leaves": 7, "n_estimators": 50, "min_child_samples": 10, "as_classes": False},
        ),
        Boosted,
        lambda stream: not stream.sparse,
    ),
)

"""scikit-learn's KernelRidge and RandomForest, refitted (the rule is in refitting.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oskaar.arrays import Array
from study.peers.refitting import Refitted
from study.peers.targets import ONE_ROW, Target, target_of
from study.protocol import Peer, Stream


class Ridge(Refitted):
    """KernelRidge on the numbers of the target less their mean: it has no intercept of its own."""

    def __init__(self, target: Target, options: Mapping[str, Any]) -> None:
        from sklearn.kernel_ridge import KernelRidge

        super().__init__(target, most=2000)
        self.model = KernelRidge(**options)
        self.middle = np.zeros(target.p)

    def fit(self, X: Any, Y: Array) -> None:
        """Fits what is left of the mean."""
        self.middle = Y.mean(axis=0)
        self.model.fit(X, Y - self.middle)

    def scores(self, X: Any) -> Array:
        """Predictions."""
        return np.asarray(self.model.predict(X)).reshape(X.shape[0], -1) + self.middle


class Forest(Refitted):
    """RandomForestClassifier for classes and labels, RandomForestRegressor for numbers."""

    def __init__(self, target: Target, options: Mapping[str, Any], seed: int) -> None:
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        super().__init__(target, most=5000)
        make = RandomForestRegressor if target.type == "number" else RandomForestClassifier
        self.model = make(random_state=seed, n_jobs=1, **options)

    def fit(self, X: Any, Y: Array) -> None:
        """Classes as positions, labels as columns of 0 and 1, numbers as they are."""
        if self.target.type == "one-hot":
            Y = np.argmax(Y, axis=1)
        self.model.fit(X, Y[:, 0] if Y.ndim == 2 and Y.shape[1] == 1 else Y)

    def scores(self, X: Any) -> Array:
        """Probabilities, or predictions."""
        if self.target.type == "number":
            return np.asarray(self.model.predict(X)).reshape(X.shape[0], -1)
        shares, classes = self.model.predict_proba(X), self.model.classes_
        if self.target.type == "one-hot":
            V = np.zeros((X.shape[0], self.target.p))
            V[:, classes.astype(int)] = shares
            return V
        pairs = zip(shares, classes, strict=True) if isinstance(shares, list) else [(shares, classes)]
        return np.stack([share @ np.asarray(names, dtype=float) for share, names in pairs], axis=1)


def _ridge(stream: Stream, setting: Mapping[str, Any], seed: int) -> Ridge:
    target = target_of(stream, setting.get("as_classes", False), setting.get("rule", "half"))
    options = {"kernel": setting.get("kernel", "rbf"), "alpha": setting.get("alpha", 1.0)}
    if "scale" in setting:
        options["gamma"] = setting["scale"] / stream.n_columns  # None, the default, is 1 / n_columns
    return Ridge(target, options)


def _forest(stream: Stream, setting: Mapping[str, Any], seed: int) -> Forest:
    target = target_of(stream, setting.get("as_classes", False), setting.get("rule", "half"))
    return Forest(target, setting.get("options", {}), seed)


PEERS = (
    Peer(
        "KernelRidge",
        "scikit-learn",
        (*ONE_ROW, "documents", "sequence"),
        (
            {},
            {"alpha": 0.1},
            {"alpha": 0.3, "scale": 0.3, "rule": "f1"},
            {"alpha": 1.0, "scale": 3.0, "rule": "f1", "as_classes": True},
            {"alpha": 10.0, "kernel": "linear", "rule": "f1"},
        ),
        _ridge,
    ),
    Peer(
        "RandomForest",
        "scikit-learn",
        (*ONE_ROW, "documents", "sequence"),
        (
            {},
            {"rule": "f1", "as_classes": True},
            {"rule": "f1", "options": {"min_samples_leaf": 5}},
            {"rule": "f1", "as_classes": True, "options": {"max_features": 0.5, "min_samples_leaf": 2}},
        ),
        _forest,
    ),
)

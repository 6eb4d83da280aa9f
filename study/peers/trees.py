"""scikit-learn's forests and histogram-based gradient boosting, refitted (the rule is in refitting.py).

Levels are classes: the answer is the median of the predicted distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from study.peers.scikit import Estimators
from study.peers.targets import ONE_ROW, target_of
from study.protocol import Peer, Stream

A_THIRD = 1 / 3
"""Of the features are tried at a split, where numbers are regressed; the square root of their number for classes."""


def _trees(stream: Stream, setting: Mapping[str, Any], seed: int, name: str) -> Estimators:
    from sklearn import ensemble

    options = {"random_state": seed, "n_jobs": 1, **setting.get("options", {})}

    def make(classifier: bool, rows: int) -> Any:
        if classifier:
            return getattr(ensemble, f"{name}Classifier")(**options)
        return getattr(ensemble, f"{name}Regressor")(**{"max_features": A_THIRD, **options})

    return Estimators(target_of(stream, setting.get("as_classes", True)), make, joint=True)


def _forest(stream: Stream, setting: Mapping[str, Any], seed: int) -> Estimators:
    return _trees(stream, setting, seed, "RandomForest")


def _extra(stream: Stream, setting: Mapping[str, Any], seed: int) -> Estimators:
    return _trees(stream, setting, seed, "ExtraTrees")


def _boosted(stream: Stream, setting: Mapping[str, Any], seed: int) -> Estimators:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    options = {"random_state": seed, "early_stopping": False, **setting.get("options", {})}

    def make(classifier: bool, rows: int) -> Any:
        return (HistGradientBoostingClassifier if classifier else HistGradientBoostingRegressor)(**options)

    return Estimators(target_of(stream, setting.get("as_classes", True)), make, joint=False)


def few_outputs(stream: Stream) -> bool:
    """A model for each output: at most 8 of them, on dense rows."""
    return not stream.sparse and target_of(stream, as_classes=True).p <= 8


SETTINGS: tuple[Mapping[str, Any], ...] = (
    {},
    {"options": {"min_samples_leaf": 5}},
    {"options": {"max_features": 0.5, "min_samples_leaf": 2}},
)
PEERS = (
    Peer("RandomForest", "scikit-learn", (*ONE_ROW, "sequence"), SETTINGS, _forest),
    Peer("ExtraTrees", "scikit-learn", (*ONE_ROW, "sequence"), SETTINGS, _extra),
    Peer(
        "HistGradientBoosting",
        "scikit-learn",
        ONE_ROW,
        ({}, {"options": {"learning_rate": 0.05}}, {"options": {"max_leaf_nodes": 7, "min_samples_leaf": 5}}),
        _boosted,
        few_outputs,
    ),
)

"""River's trees and forests: Hoeffding adaptive trees, adaptive random forests, iSOUP trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from study.peers.river_heads import Joint, OneClassifier, PerOutput, RiverModel
from study.peers.river_linear import scalers
from study.peers.targets import NUMBERS, ONE_ROW, Target, target_of
from study.protocol import Peer, Stream


def _head(
    target: Target, setting: Mapping[str, Any], classifier: Callable[[], Any], regressor: Callable[[], Any]
) -> Any:
    from river import multioutput

    if target.type == "one-hot":
        return OneClassifier(classifier(), target)
    if target.type == "binary" and setting.get("powerset"):
        return Joint(multioutput.MultiClassEncoder(classifier()), target)
    return PerOutput(classifier if target.type == "binary" else regressor, target)


def _model(
    stream: Stream, setting: Mapping[str, Any], classifier: Callable[[], Any], regressor: Callable[[], Any]
) -> RiverModel:
    target = target_of(stream, setting.get("as_classes", False))
    return RiverModel(target, [], _head(target, setting, classifier, regressor))


def _hat(stream: Stream, setting: Mapping[str, Any], seed: int) -> RiverModel:
    from river import tree

    grace = setting.get("grace_period", 200)
    return _model(
        stream,
        setting,
        lambda: tree.HoeffdingAdaptiveTreeClassifier(grace_period=grace, seed=seed),
        lambda: tree.HoeffdingAdaptiveTreeRegressor(grace_period=grace, seed=seed),
    )


def _arf(stream: Stream, setting: Mapping[str, Any], seed: int) -> RiverModel:
    from river import forest

    n, grace = setting.get("n_models", 10), setting.get("grace_period", 50)
    return _model(
        stream,
        setting,
        lambda: forest.ARFClassifier(n_models=n, grace_period=grace, seed=seed),
        lambda: forest.ARFRegressor(n_models=n, grace_period=grace, seed=seed),
    )


def _isoup(stream: Stream, setting: Mapping[str, Any], seed: int) -> RiverModel:
    from river import tree

    target = target_of(stream)
    tree_ = tree.ISOUPTreeRegressor(
        grace_period=setting.get("grace_period", 200), leaf_prediction=setting.get("leaf", "adaptive")
    )
    return RiverModel(target, scalers(stream), Joint(tree_, target))


PEERS = (
    Peer(
        "River HAT",
        "river",
        (*ONE_ROW, "sequence"),
        (
            {},
            {"grace_period": 50},
            {"powerset": True, "as_classes": True},
            {"grace_period": 50, "as_classes": True},
        ),
        _hat,
    ),
    Peer(
        "River ARF",
        "river",
        ONE_ROW,
        (
            {"as_classes": True},
            {"powerset": True, "grace_period": 25},
            {"n_models": 3},
        ),
        _arf,
        lambda stream: not stream.sparse,
    ),
    Peer(
        "River iSOUP",
        "river",
        ("subset", *(kind for kind in NUMBERS if kind != "ordinal")),
        ({}, {"grace_period": 50}, {"leaf": "mean", "grace_period": 50}),
        _isoup,
    ),
)

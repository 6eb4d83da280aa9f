"""River's linear models, on standardised features: logistic per output, softmax, least squares; chains; RBF features.

Csr rows are not standardised: River's scaler centres the entries that are there, and an indicator becomes 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from study.peers.river_heads import Joint, OneClassifier, PerOutput, RiverModel, names_of_outputs
from study.peers.targets import ONE_ROW, Target, target_of
from study.protocol import Peer, Stream


def scalers(stream: Stream) -> list[Any]:
    """StandardScaler for dense rows."""
    from river import preprocessing

    return [] if stream.sparse else [preprocessing.StandardScaler()]


def _head(target: Target, setting: Mapping[str, Any]) -> Any:
    from river import linear_model, multiclass, optim, preprocessing

    rate = setting.get("rate", 0.01)  # River's default

    def logistic() -> Any:
        return linear_model.LogisticRegression(optim.SGD(rate))

    def squares() -> Any:
        model = linear_model.LinearRegression(optim.SGD(rate))
        return preprocessing.TargetStandardScaler(model) if setting.get("scale_target") else model

    if target.type == "one-hot":
        softmax = linear_model.SoftmaxRegression(optim.SGD(rate))
        chosen = multiclass.OneVsRestClassifier(logistic()) if setting.get("one_vs_rest") else softmax
        return OneClassifier(chosen, target)
    return PerOutput(logistic if target.type == "binary" else squares, target)


def _target(stream: Stream, setting: Mapping[str, Any]) -> Target:
    return target_of(stream, setting.get("as_classes", False))


def _linear(stream: Stream, setting: Mapping[str, Any], seed: int) -> RiverModel:
    target = _target(stream, setting)
    return RiverModel(target, scalers(stream), _head(target, setting))


def _chain(stream: Stream, setting: Mapping[str, Any], seed: int) -> RiverModel:
    from river import linear_model, multioutput, optim

    target = _target(stream, setting)
    model = linear_model.LogisticRegression(optim.SGD(setting.get("rate", 0.01)))
    chain = multioutput.ClassifierChain(model, order=names_of_outputs(target))
    return RiverModel(target, scalers(stream), Joint(chain, target))


def _rbf(stream: Stream, setting: Mapping[str, Any], seed: int) -> RiverModel:
    from river import feature_extraction

    target = _target(stream, setting)
    n = setting.get("n", 100)
    sampler = feature_extraction.RBFSampler(gamma=setting.get("gamma", 1.0), n_components=n, seed=seed)
    if "step" in setting:  # the sampler gives n cosines for each column: |features|^2 is about n columns / 2
        setting = {**setting, "rate": 2 * setting["step"] / (n * stream.n_columns)}
    return RiverModel(target, [*scalers(stream), sampler], _head(target, setting))


PEERS = (
    Peer(
        "River linear",
        "river",
        (*ONE_ROW, "documents", "sequence", "tree"),
        (
            {},
            {"rate": 0.1},
            {"rate": 0.1, "one_vs_rest": True, "scale_target": True},
            {"rate": 0.01, "as_classes": True, "scale_target": True},
            {"rate": 0.03, "as_classes": True, "one_vs_rest": True},
        ),
        _linear,
    ),
    Peer(
        "River chain",
        "river",
        ("subset",),
        ({}, {"rate": 0.1}, {"rate": 0.03}),
        _chain,
    ),
    Peer(
        "River RBF + linear",
        "river",
        (*ONE_ROW, "documents"),
        (
            {},
            {"step": 0.3},
            {"step": 0.3, "gamma": 0.1, "scale_target": True},
            {"step": 0.1, "gamma": 0.1, "n": 30, "as_classes": True, "scale_target": True},
        ),
        _rbf,
        lambda stream: not stream.sparse,
    ),
)

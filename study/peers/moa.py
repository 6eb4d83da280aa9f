"""CapyMOA (MOA's adaptive random forests and streaming patches), where it fits: classes, levels, few numbers.

It needs Java. Without it, or without the package, `make` raises the ImportError that the study reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from study.peers.rows import dense_of
from study.peers.targets import NUMBERS, Target, target_of
from study.protocol import Peer, Stream

CLASSIFIERS = {"ARF": "AdaptiveRandomForestClassifier", "SRP": "StreamingRandomPatches", "LB": "LeveragingBagging"}
REGRESSORS = {"ARF": "AdaptiveRandomForestRegressor", "SRP": "SOKNL", "LB": "AdaptiveRandomForestRegressor"}


def _package() -> Any:
    try:
        import capymoa.classifier
        import capymoa.core
        import capymoa.regressor
        import capymoa.stream
    except ImportError:
        raise
    except Exception as problem:  # no Java, or a Java that does not start
        raise ImportError(f"CapyMOA does not start: {problem}.") from problem
    return capymoa


class Moa:
    """A classifier, or a regressor for each number, on dense rows."""

    def __init__(self, target: Target, width: int, options: Mapping[str, Any], seed: int) -> None:
        package = _package()
        self.core, self.target = package.core, target
        columns = [f"x{j}" for j in range(width)]
        if target.type == "one-hot":
            classes = {"y": [str(i) for i in range(target.p)]}
            self.schema = package.stream.Schema.from_custom([*columns, "y"], "y", classes)
            make = getattr(package.classifier, CLASSIFIERS[options.get("model", "ARF")])
            self.models = [make(self.schema, random_seed=seed + 1, ensemble_size=options.get("n", 100))]
        else:
            self.schema = package.stream.Schema.from_custom([*columns, "y"], "y")
            make = getattr(package.regressor, REGRESSORS[options.get("model", "ARF")])
            self.models = [
                make(self.schema, random_seed=seed + 1, ensemble_size=options.get("n", 100)) for _ in range(target.p)
            ]
        self.seen = False

    def predict_one(self, x: Any) -> Any:
        """The answer, None before the first label."""
        if not self.seen:
            return None
        instance = self.core.Instance.from_array(self.schema, dense_of(x)[0])
        found = [model.predict(instance) for model in self.models]
        if self.target.type == "number":
            return self.target.read([0.0 if value is None else value for value in found])
        V = np.zeros(self.target.p)
        V[found[0] or 0] = 1.0
        return self.target.read(V)

    def learn_one(self, x: Any, y: Any) -> None:
        """Each model sees its number."""
        row, values = dense_of(x)[0], self.target.rows(y)[0]
        if self.target.type == "one-hot":
            labels, make = [int(np.argmax(values))], self.core.LabeledInstance
        else:
            labels, make = values.tolist(), self.core.RegressionInstance
        for model, label in zip(self.models, labels, strict=True):
            model.train(make.from_array(self.schema, row, label))
        self.seen = True


def _make(stream: Stream, setting: Mapping[str, Any], seed: int) -> Moa:
    return Moa(target_of(stream, setting.get("as_classes", False)), stream.n_columns, setting, seed)


PEERS = (
    Peer(
        "CapyMOA",
        "capymoa",
        ("class", *NUMBERS),
        ({}, {"model": "SRP", "n": 30, "as_classes": True}, {"model": "LB", "n": 30}),
        _make,
        lambda stream: not stream.sparse,
    ),
)

"""Vowpal Wabbit through its Python workspace: oaa, csoaa, multilabel_oaa, search for sequences, least squares.

Features go in raw, as its users send them: its updates are normalised by themselves. One learn call a round (a row).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from study.peers.rows import texts_of
from study.peers.targets import NUMBERS, Target, names_of, target_of
from study.protocol import Peer, Stream


def _workspace(options: str, setting: Mapping[str, Any], seed: int) -> Any:
    from vowpalwabbit import Workspace

    return Workspace(f"{options} {setting.get('options', '')} --random_seed {seed + 1} --quiet")


class Rows:
    """Workspaces that give each row of a round a prediction; `learn` lists their labels for a row, as text."""

    def __init__(
        self,
        workspaces: list[Any],
        labels: Callable[[Any], list[list[str]]],
        answer: Callable[[list[list[Any]]], Any],
    ) -> None:
        self.workspaces, self.labels, self.answer = workspaces, labels, answer
        self.seen = False

    def predict_one(self, x: Any) -> Any:
        """The answer, None before the first label."""
        if not self.seen:
            return None
        return self.answer([[space.predict(text) for space in self.workspaces] for text in texts_of(x)])

    def learn_one(self, x: Any, y: Any) -> None:
        """Each workspace sees each row once."""
        for text, labels in zip(texts_of(x), self.labels(y), strict=True):
            for space, label in zip(self.workspaces, labels, strict=True):
                space.learn(f"{label} {text}")
        self.seen = True


def _places(target: Target, y: Any) -> list[int]:
    return [int(i) for i in np.argmax(target.rows(y), axis=1)]


def _one_hot(target: Target, predictions: list[int]) -> np.ndarray:
    V = np.zeros((len(predictions), target.p))
    V[np.arange(len(predictions)), np.clip(np.array(predictions, dtype=int) - 1, 0, target.p - 1)] = 1.0
    return V


def _oaa(stream: Stream, setting: Mapping[str, Any], seed: int) -> Rows:
    target = target_of(stream, as_classes=True)
    return Rows(
        [_workspace(f"--oaa {target.p}", setting, seed)],
        lambda y: [[str(i + 1)] for i in _places(target, y)],
        lambda found: target.read(_one_hot(target, [row[0] for row in found])),
    )


def _csoaa(stream: Stream, setting: Mapping[str, Any], seed: int) -> Rows:
    target = target_of(stream, as_classes=True)
    names = names_of(stream.loss)
    costs = {y: " ".join(f"{i + 1}:{stream.loss(z, y):g}" for i, z in enumerate(names)) for y in stream.loss.labels()}
    return Rows(
        [_workspace(f"--csoaa {target.p}", setting, seed)],
        lambda y: [[costs[y]]],
        lambda found: target.read(_one_hot(target, [row[0] for row in found])),
    )


def _multilabel(stream: Stream, setting: Mapping[str, Any], seed: int) -> Rows:
    target = target_of(stream)

    def answer(found: list[list[list[int]]]) -> Any:
        V = np.zeros((1, target.p))
        V[0, [i for i in found[0][0] if i < target.p]] = 1.0
        return target.read(V)

    return Rows(
        [_workspace(f"--multilabel_oaa {target.p}", setting, seed)],
        lambda y: [[",".join(map(str, np.flatnonzero(target.rows(y)[0]).tolist()))]],
        answer,
    )


def _labels(stream: Stream, setting: Mapping[str, Any], seed: int) -> Rows:
    """A logistic regression for each label; the set is chosen from their probabilities."""
    target = target_of(stream)
    options = "--loss_function logistic --link logistic"
    return Rows(
        [_workspace(options, setting, seed) for _ in range(target.p)],
        lambda y: [["1" if v > 0.5 else "-1" for v in row] for row in target.rows(y).tolist()],
        lambda found: target.read(found),
    )


def _squares(stream: Stream, setting: Mapping[str, Any], seed: int) -> Rows:
    target = target_of(stream)
    return Rows(
        [_workspace("", setting, seed) for _ in range(target.p)],
        lambda y: [[f"{v:.9g}" for v in row] for row in target.rows(y).tolist()],
        lambda found: target.read(found),
    )


class Search:
    """Learning to search (--search_task sequence): a round is one multi-line example, a line for each place."""

    def __init__(self, stream: Stream, setting: Mapping[str, Any], seed: int) -> None:
        self.target = target_of(stream)
        self.space = _workspace(f"--search {self.target.p} --search_task sequence", setting, seed)
        self.seen = False

    def predict_one(self, x: Any) -> Any:
        """The answer, None before the first label."""
        if not self.seen:
            return None
        return self.target.read(_one_hot(self.target, self._tags(texts_of(x))))

    def learn_one(self, x: Any, y: Any) -> None:
        """One learn call for the whole sequence."""
        places = _places(self.target, y)
        self.space.learn([f"{i + 1} {text}" for i, text in zip(places, texts_of(x), strict=True)])
        self.seen = True

    def _tags(self, texts: list[str]) -> list[int]:
        """The workspace returns the last place's tag alone: the others stand in its examples."""
        examples = self.space.parse(texts)
        self.space.predict(examples)
        tags = [example.get_multiclass_prediction() for example in examples]
        self.space.finish_example(examples)
        return tags


PEERS = (
    Peer(
        "VW oaa",
        "vowpalwabbit",
        ("class", "ordinal", "sequence"),
        (
            {},
            {"options": "--loss_function logistic"},
            {"options": "--loss_function logistic -l 2"},
            {"options": "-q ::"},
            {"options": "--nn 10"},
        ),
        _oaa,
    ),
    Peer(
        "VW csoaa",
        "vowpalwabbit",
        ("class", "ordinal"),
        ({}, {"options": "-l 0.1"}, {"options": "-l 2"}, {"options": "-q ::"}),
        _csoaa,
    ),
    Peer(
        "VW multilabel_oaa",
        "vowpalwabbit",
        ("subset",),
        (
            {},
            {"options": "--loss_function logistic"},
            {"options": "--loss_function logistic -l 2"},
            {"options": "-l 0.1"},
        ),
        _multilabel,
    ),
    Peer(
        "VW one-vs-rest",
        "vowpalwabbit",
        ("subset",),
        ({}, {"options": "-l 2"}, {"options": "-l 0.1"}),
        _labels,
    ),
    Peer(
        "VW search",
        "vowpalwabbit",
        ("sequence",),
        (
            {},
            {"options": "--search_history_length 2 --search_rollin learn --search_rollout none"},
            {"options": "-l 0.1"},
            {"options": "-l 2"},
        ),
        Search,
    ),
    Peer(
        "VW regression",
        "vowpalwabbit",
        (*NUMBERS, "documents", "tree"),
        ({}, {"options": "-l 0.1"}, {"options": "-l 2"}, {"options": "-q ::"}),
        _squares,
    ),
)

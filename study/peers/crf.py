"""python-crfsuite, refitted: a chain CRF on the rows of each sequence, L-BFGS, features by column with real values.

The rule is that of refitting.py, but at least a quarter more rounds each time: a CRF takes long to fit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from study.peers.refitting import next_fit
from study.peers.rows import pairs_of
from study.protocol import Peer, Stream


class Crf:
    """pycrfsuite's Trainer on all sequences seen, its Tagger on the next."""

    def __init__(self, stream: Stream, setting: Mapping[str, Any], seed: int) -> None:
        import pycrfsuite

        self.suite = pycrfsuite
        self.symbols = stream.loss.symbols  # type: ignore[attr-defined]
        self.options = {"c1": 0.0, "c2": 1.0, "max_iterations": 50, **setting}
        self.sequences: list[tuple[list[dict[str, float]], list[str]]] = []
        self.due = 1
        self.tagger: Any = None

    def predict_one(self, x: Any) -> Any:
        """The most probable sequence, None before the first fit."""
        if self.tagger is None:
            return None
        names = self.symbols.names
        return tuple(names[int(tag)] for tag in self.tagger.tag(self.suite.ItemSequence(_items(x))))

    def learn_one(self, x: Any, y: Any) -> None:
        """Keeps the sequence, and fits where it is due."""
        self.sequences.append((_items(x), [str(self.symbols.positions[item]) for item in y]))
        if len(self.sequences) >= self.due:
            self.due = next_fit(len(self.sequences), growth=0.25)
            self._fit()

    def _fit(self) -> None:
        trainer = self.suite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params(self.options)
        for items, tags in self.sequences:
            trainer.append(self.suite.ItemSequence(items), tags)
        self.tagger = None  # it reads the bytes of its model for as long as it lives
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.crfsuite"
            trainer.train(str(path))
            self._model = path.read_bytes()
        self.tagger = self.suite.Tagger()
        self.tagger.open_inmemory(self._model)


def _items(x: Any) -> list[dict[str, float]]:
    """The columns that are not 0, and a constant, for each place."""
    rows = pairs_of(x)
    return [{"1": 1.0, **{f"f{j}": v for j, v in zip(columns, values, strict=True) if v}} for columns, values in rows]


PEERS = (
    Peer(
        "CRFsuite",
        "python-crfsuite",
        ("sequence",),
        ({}, {"c2": 0.1}, {"c2": 0.01}, {"c1": 0.1, "c2": 0.1}),
        Crf,
    ),
)

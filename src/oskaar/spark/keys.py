"""The stream of one key: how its rows are read, and what is known of it, in memory and as bytes.

Nothing here needs Spark: `KeyedStream.step` takes the rows of one key as a pandas frame and what was known before,
and gives answers and what is known after. Batch and streaming jobs both run it.
"""

from __future__ import annotations

import copy
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from oskaar.alike import difference
from oskaar.learners.learner import OnlineLearner
from oskaar.learners.saving import from_bytes
from oskaar.requirements import shorten
from oskaar.spark.columns import Columns, allowed, cell_of
from oskaar.spark.steps import Step

FORMAT = 2


@dataclass
class KeyState:
    """What is known of one key: its learner, the time of its last row, and the questions that wait for a label."""

    learner: OnlineLearner
    last: float | None = None
    open: dict[Any, tuple[int, float]] = field(default_factory=dict)
    """The ticket and the time of each question, by its id."""

    again: Callable[[], OnlineLearner] | None = None
    """Makes the learner as it is, while it has not changed since it was made or read."""

    def to_bytes(self, settings: str) -> bytes:
        """A header in JSON, then the learner's file."""
        waiting = [[id, *asked] for id, asked in self.open.items()]
        header = json.dumps({"format": FORMAT, "settings": settings, "last": self.last, "open": waiting}).encode()
        return struct.pack("<I", len(header)) + header + self.learner.to_bytes()

    @staticmethod
    def from_bytes(data: bytes, stream: KeyedStream, key: Any) -> KeyState:
        """What `to_bytes` wrote with the same settings."""
        size = struct.unpack("<I", data[:4])[0]
        header = json.loads(data[4 : 4 + size])

        def learner() -> OnlineLearner:
            found: OnlineLearner = from_bytes(data[4 + size :], stream.allow)
            return found

        differs = None
        if header["format"] != FORMAT:
            differs = f"format {header['format']}, and now it is {FORMAT}"
        elif header["settings"] != stream.settings:
            differs = f"{header['settings']}, and now they are {stream.settings}"
        else:
            made = learner()
            differs = unlike(made, stream.learner)
        if differs:
            raise ValueError(
                f"the state of key {shorten(key)} was made with other settings: {differs}. Start with a new "
                "checkpointLocation, or with the old columns and learner."
            )
        waiting = {id: (int(ticket), asked) for id, ticket, asked in header["open"]}
        return KeyState(made, header["last"], waiting, learner)


@dataclass(frozen=True)
class KeyedStream:
    """How the rows of a key are answered and learned.

    learner: what each key starts with, and with what it has learned; it stays as it is. time: the column that orders
    rows; None: as they come.
    id: the column that joins a question with its label, which comes in a row of its own, without x.
    delay: rows that are older by more than this than the key's last row are refused. timeout: a question is
    forgotten when a row of its key is younger by more than this. expire: the key is forgotten when it was idle for
    longer. All three are in the units of `time`; None is no limit. tickets: questions bring no id, they get one.
    type: Spark's name for the type of answers. clock: time is in microseconds.
    """

    learner: OnlineLearner
    columns: Columns
    key: tuple[str, ...]
    time: str | None = None
    id: str | None = None
    delay: float | None = None
    timeout: float | None = None
    expire: float | None = None
    tickets: bool = False
    type: str = "string"
    clock: bool = False

    @cached_property
    def settings(self) -> str:
        """What a state must have been made with, but for the settings of its learner."""
        names = {"x": self.columns.names, "y": self.columns.y, "time": self.time, "id": self.id}
        return json.dumps({"learner": repr(self.learner.like_new()), **names})

    @cached_property
    def allow(self) -> list[str]:
        """Modules that the learner's file may name."""
        return allowed(self.learner)

    @cached_property
    def cell(self) -> Callable[[Any], Any]:
        """Answers as cells."""
        return cell_of(self.type)

    def fresh(self) -> KeyState:
        """A key that nothing is known of."""
        return KeyState(self._first(), again=self._first)

    def _first(self) -> OnlineLearner:
        return copy.deepcopy(self.learner) if self.learner.rounds else self.learner.like_new()

    def restored(self, data: bytes | None, key: Any) -> KeyState:
        """A key as it was."""
        return self.fresh() if data is None else KeyState.from_bytes(bytes(data), self, key)

    def step(self, state: KeyState, frame: Any, key: tuple[Any, ...]) -> tuple[Any, KeyState]:
        """Answers to the rows of a frame, and what is known after them."""
        run = Step(self, state, frame, key)
        return run.answers(), run.state


def unlike(learner: Any, other: Any) -> str | None:
    """Where the settings of two learners differ."""
    if type(learner) is not type(other):
        return difference(learner, other, "the learner")
    return difference(learner.get_params(deep=False), other.get_params(deep=False), "the learner")

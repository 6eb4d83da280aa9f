"""`--delay N`: the label of a row is known once N more rows are answered; losses are those of the answers given."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Loss
from oskaar.replays import Replay, first_answer
from oskaar.tabular import Round


class Waiting(NamedTuple):
    """A pending round: its ticket, where the learner gives any, and what each baseline answered."""

    round: Round
    ticket: int | None
    answer: Any
    others: dict[str, Any]


class Delayed:
    """Rounds that are answered at once and learned `delay` rounds later, by a learner and by baselines alike.

    >>> from oskaar import RepeatLast, losses
    >>> loss = losses.ZeroOne("ab")
    >>> delayed = Delayed(RepeatLast(loss), {}, loss, 1)
    >>> rounds, happened, _ = delayed.learned([Round(i, [0.0], y, False) for i, y in enumerate("bbba")])
    >>> [r.line for r in rounds], happened.predictions
    ([0, 1, 2], [None, None, 'b'])
    """

    def __init__(self, learner: Any, baselines: dict[str, Any], loss: Loss, delay: int) -> None:
        self.learner, self.baselines, self.loss, self.delay = learner, baselines, loss, delay
        self.waiting: deque[Waiting] = deque()
        self.seconds = 0.0
        """What the learner took for the last rounds."""
        if isinstance(learner, OnlineLearner):
            learner.max_open = max(learner.max_open, delay + 1)

    def learned(self, rounds: list[Round], last: bool = False) -> tuple[list[Round], Replay, dict[str, Any]]:
        """Answer some rounds; those whose labels have come, what the learner did, and the losses of the baselines.

        last: no round follows, and all labels come.
        """
        self.seconds, labelled = 0.0, []
        for r in rounds:
            self.waiting.append(self._asked(r))
            if len(self.waiting) > self.delay:
                labelled.append(self._labelled(self.waiting.popleft()))
        while last and self.waiting:
            labelled.append(self._labelled(self.waiting.popleft()))
        done = [one for one, _ in labelled]
        losses, optima, surrogate = np.array([numbers for _, numbers in labelled]).reshape(-1, 3).T
        happened = Replay([one.answer for one in done], losses, optima, surrogate, None)
        others = {name: np.array([self._loss(d.others[name], d.round.y) for d in done]) for name in self.baselines}
        return [one.round for one in done], happened, others

    def _asked(self, r: Round) -> Waiting:
        others = {name: one.predict_one(r.x) for name, one in self.baselines.items()}
        start = time.perf_counter()
        if isinstance(self.learner, OnlineLearner):
            ticket, z = self.learner.ask(r.x)
        else:
            ticket, z = None, self.learner.predict_one(r.x)
        self.seconds += time.perf_counter() - start
        return Waiting(r, ticket, z, others)

    def _labelled(self, one: Waiting) -> tuple[Waiting, tuple[float, float, float]]:
        """Learn a round; its loss, the least there could be, and its surrogate loss."""
        x, y = one.round.x, one.round.y
        for baseline in self.baselines.values():
            baseline.learn_one(x, y)
        start, surrogate = time.perf_counter(), 0.0
        if one.ticket is None:
            self.learner.learn_one(x, y)
        else:
            before = self.learner.surrogate_loss
            self.learner.tell(one.ticket, y)
            surrogate = self.learner.surrogate_loss - before
        self.seconds += time.perf_counter() - start
        return one, (self._loss(one.answer, y), self.loss.optimum(y), surrogate)

    def _loss(self, z: Any, y: Any) -> float:
        return float(self.loss(first_answer(self.loss, y) if z is None else z, y))

    def state(self) -> list[list[Any]]:
        """The pending rounds, for a model."""
        return [[list(one.round), one.ticket, one.answer, dict(one.others)] for one in self.waiting]

    def restore(self, state: list[list[Any]]) -> None:
        """Restore the pending rounds; the learner must have their tickets."""
        self.waiting = deque(Waiting(Round(*parts), *others) for parts, *others in state)

"""The record of a run for its report, chunk by chunk in bounded memory."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from oskaar import losses, theory
from oskaar.arrays import Array
from oskaar.guards import uninterrupted
from oskaar.losses import Documents
from oskaar.replays import Replay, replay
from oskaar.reports import text
from oskaar.reports.history import Bad, Blocks, WeightHistory, Worst
from oskaar.rows import count

GROWTH = 1.15
"""Costs and dimensions are looked at when the stream is so many times as long: some 100 times in a million rounds."""

SHARE = 64
"""Chunks of a run whose weights are recorded are a 64th of the rounds so far: there is something to see early on."""

WARM_UP = 100
"""The first rounds, in which any learner errs, are not among the worst of a stream that is twice as long."""

AT_MOST_1 = (
    *(losses.ZeroOne, losses.SubsetLoss, losses.Kendall, losses.Spearman, losses.Footrule, losses.PositionHamming),
    *(losses.NDCG, losses.Documents, losses.Sequence, losses.SequenceHamming, losses.DependencyTree),
)
"""Losses of which no round costs more than 1."""

SMALL, PROBES = 200, 32
"""Up to 200 rows the effective dimension is exact; then it has a standard error of sqrt(2 d_eff / 32) or less."""

OWN = ("judged", "regret", "surrogate", "seconds")

PLAIN = ("name", "baselines", "samples", "changes", "diameter", "most", "gap", "rows")
PARTS: dict[str, Any] = {"blocks": Blocks, "weights": WeightHistory, "worst": Worst, "early": Worst}
"""What `to_dict` has of a recorder."""


@dataclass
class RecordedRounds:
    """Consecutive rounds that were predicted and learned."""

    learner: Any
    xs: Any
    ys: Sequence[Any]
    happened: Replay
    others: dict[str, Array] = field(default_factory=dict)
    """The losses of baselines."""
    seconds: float = 0.0
    """What the learner took for them."""
    judged: Any = None
    """Which rounds count; None for all of them."""
    lines: Sequence[int] | None = None
    """Where they were read."""


class Recorder:
    """The observer of a run: `add` each chunk, then `reports.write`. Plain data, for `to_dict` and back.

    name: what the learner is called. baselines: the names of the others. columns: names of the numbers of x.
    show: from a label or an answer to what is printed.

    >>> from oskaar import OSKAAR, losses, reports
    >>> recorder = reports.record(OSKAAR(losses.ZeroOne("ab")), [[0.0], [1.0]] * 8, "ab" * 8)
    >>> recorder.rounds, recorder.mean("learner")
    (16, 0.0625)
    >>> Recorder.from_dict(recorder.to_dict()).to_dict() == recorder.to_dict()
    True
    """

    def __init__(
        self,
        name: str = "learner",
        baselines: Sequence[str] = (),
        columns: Sequence[str] | None = None,
        show: Callable[[Any], Any] = lambda label: label,
    ) -> None:
        self.name, self.baselines, self.columns, self.show = name, list(baselines), columns, show
        self.blocks = Blocks([*OWN, "loss", *(f"loss of {other}" for other in self.baselines)])
        self.weights, self.worst, self.early = WeightHistory(), Worst(), Worst()
        self.samples: list[dict[str, Any]] = []
        self.changes: list[list[float]] = []
        self.diameter: float | None = None
        self.most = 0.0
        """What a round may cost at most, where a bound is known."""
        self.experts: dict[str, float] = {}
        """The weights of the ensemble's experts at the end."""
        self.gap = 0.0
        self.rows = 0

    @property
    def rounds(self) -> int:
        """How many rounds were recorded, judged or not."""
        return self.blocks.rounds

    def chunk(self, most: int) -> int:
        """How many rounds to do at a time, at most so many: fewer at the start where weights are to be seen."""
        if self.rounds and not self.weights.rounds:
            return most
        return min(most, max(8, self.rounds // SHARE))

    def mean(self, name: str) -> float | None:
        """The mean loss of the learner or of a baseline over the judged rounds; None where there were none."""
        judged = float(self.blocks["judged"].sum())
        key = "loss" if name == self.name else f"loss of {name}"
        return float(self.blocks[key].sum()) / judged if judged else None

    def add(self, chunk: RecordedRounds) -> None:
        """Add rounds that were learned; interrupts are delayed."""
        if not chunk.happened.rounds:
            return
        with uninterrupted():
            before = self.rounds
            parts = getattr(getattr(chunk.learner, "loss", None), "parts", False)
            self.rows += sum(map(count, chunk.xs)) if parts else chunk.happened.rounds
            self._add_curves(chunk)
            self._add_worst(chunk, before)
            self._add_learner(chunk.learner)

    def _add_curves(self, chunk: RecordedRounds) -> None:
        n = chunk.happened.rounds
        judged = np.ones(n) if chunk.judged is None else np.asarray(chunk.judged, dtype=float)
        surrogate = chunk.happened.surrogate_losses
        each = [chunk.happened.losses, *(chunk.others[name] for name in self.baselines)]
        own = [
            judged,
            np.diff(chunk.happened.regret, prepend=0.0),
            np.zeros(n) if surrogate is None else surrogate,
            np.full(n, chunk.seconds / n),
        ]
        self.blocks.add(np.array([*own, *(judged * one for one in each)]))

    def _add_worst(self, chunk: RecordedRounds, before: int) -> None:
        happened, surrogate = chunk.happened, chunk.happened.surrogate_losses
        loss = getattr(chunk.learner, "loss", None)

        def make(i: int) -> Bad:
            line = None if chunk.lines is None else int(chunk.lines[i])
            x, y, z = chunk.xs[i], self.show(chunk.ys[i]), happened.predictions[i]
            answer = None if z is None else self.show(z)
            bad = Bad(0.0, 0.0, before + i + 1, line)
            if loss is None or not loss.parts:
                return replace(bad, x=text.row(x, self.columns), y=text.value(y), z=text.value(answer))
            n = count(x)
            ranked = (
                isinstance(loss, Documents) and z is not None
            )  # z is an order: the place of each document says more
            shown = text.parts([f"place {place + 1}" for place in np.argsort(z)] if ranked else answer, n)
            return replace(bad, x=text.rows(x, self.columns), y=text.parts(y, n), z=shown, alike=not ranked)

        found = happened.losses if chunk.judged is None else np.where(chunk.judged, happened.losses, 0.0)
        ties = np.zeros(len(found)) if surrogate is None else surrogate
        first = max(0, min(len(found), WARM_UP - before))
        self.early.add(found[:first], ties[:first], make)
        self.worst.add(found[first:], ties[first:], lambda i: make(first + i))

    def worst_rounds(self) -> list[Any]:
        """The worst judged rounds, from the worst on; those of the warm-up where there are few others."""
        if self.rounds >= 2 * WARM_UP:
            return self.worst.sorted()
        both = Worst.from_dict({"most": self.worst.most, "rounds": []})
        both.join(self.early, self.worst)
        return both.sorted()

    def finish(self, learner: Any) -> None:
        """Take the figures of the learner at the end."""
        if self.rounds:
            self._add_learner(learner, last=True)

    def _add_learner(self, learner: Any, last: bool = False) -> None:
        if hasattr(learner, "regret_bound") and np.isfinite(diameter := learner.space.diameter):
            self.diameter = float(diameter)
            self.most = min(self.diameter, 1.0) if isinstance(learner.loss, AT_MOST_1) else self.diameter
            exact = theory.comparison_bound(learner.rounds, self.diameter / 2, learner.surrogate_loss)
            self.gap = max(0.0, learner.regret_bound() - exact)
        if hasattr(learner, "restart_weights"):
            self.changes = [[change.round, change.detected, change.evidence] for change in learner.change_points()]
            if self.weights.due(self.rounds) or (last and self.rounds > self.weights.rounds[-1]):
                self.weights.add(self.rounds, *learner.restart_weights())
        if last and hasattr(learner, "expert_weights"):
            self.experts = dict(learner.expert_weights())
        before = self.samples[-1]["round"] if self.samples else 0
        if self.rounds >= GROWTH * before or (last and self.rounds > before):
            self.samples.append(_sample(learner, self.rounds, self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain Python, as JSON knows it, for a checkpoint."""
        plain = {name: copy.deepcopy(getattr(self, name)) for name in PLAIN}
        return {**plain, **{name: getattr(self, name).to_dict() for name in PARTS}}

    @classmethod
    def from_dict(
        cls,
        data: dict[str, Any],
        columns: Sequence[str] | None = None,
        show: Callable[[Any], Any] = lambda label: label,
    ) -> Recorder:
        """From `to_dict`, to go on with."""
        recorder = cls(data["name"], data["baselines"], columns, show)
        vars(recorder).update({name: copy.deepcopy(data[name]) for name in PLAIN})
        vars(recorder).update({name: part.from_dict(data[name]) for name, part in PARTS.items()})
        return recorder


def _sample(learner: Any, rounds: int, rows: int) -> dict[str, Any]:
    """Figures that are taken now and then, because they take time."""
    sample: dict[str, Any] = {"round": rounds}
    if hasattr(learner, "cost"):
        cost = learner.cost()
        sample |= {"bytes": int(cost.bytes), "operations": int(cost.operations)}
    if hasattr(learner, "effective_dimension"):
        kernel = getattr(learner, "budget", None) is None and getattr(learner, "features", None) is None
        sample["probes"] = PROBES if kernel and rows > SMALL else None
        sample["dimension"] = float(learner.effective_dimension(sample["probes"]))
    return sample


def record(
    learner: Any, xs: Any, ys: Any, *, baselines: dict[str, Any] | None = None, chunk: int = 64, **more: Any
) -> Recorder:
    """Replay a stream and record it; `more` goes to `Recorder`.

    baselines: other learners, by name, that are run beside it.

    >>> from oskaar import OSKAAR, RepeatLast, losses, reports
    >>> loss = losses.ZeroOne("ab")
    >>> baselines = {"repeat-last": RepeatLast(loss)}
    >>> recorder = reports.record(OSKAAR(loss), [[0.0], [1.0]] * 20, "ab" * 20, baselines=baselines)
    >>> recorder.mean("learner") < recorder.mean("repeat-last")
    True
    """
    others = baselines or {}
    recorder = Recorder(baselines=list(others), **more)
    total, start = count(xs), 0
    while start < total:
        here = slice(start, start + recorder.chunk(chunk))
        started = time.perf_counter()
        happened = replay(learner, xs[here], ys[here], keep_estimates=False)
        seconds = time.perf_counter() - started
        beside = {name: replay(one, xs[here], ys[here], loss=learner.loss).losses for name, one in others.items()}
        recorder.add(RecordedRounds(learner, xs[here], ys[here], happened, beside, seconds))
        start = here.stop
    recorder.finish(learner)
    return recorder

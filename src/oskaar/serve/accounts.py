"""Figures of a stream, for `GET /streams/{name}` and the page: losses, baselines, open tickets, the last rounds.

The accounts follow from the operations, so that they are the same after a recovery, and are bounded in memory.
"""

from __future__ import annotations

import copy
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from oskaar.display import jsonable
from oskaar.losses import Loss
from oskaar.reports.history import Blocks, rolling, running
from oskaar.serve.operations import encode
from oskaar.serve.values import to_label

if TYPE_CHECKING:
    from oskaar.serve.core import Core
    from oskaar.serve.stream import Stream

CURVE, RECENT, LAST, DISTINCT = 256, 100, 20, 1000
"""Points of a curve; rounds of the loss now; rounds that are shown; labels that are counted for the majority."""

TOGETHER = 64
"""Rounds that are added to the curves at once."""

SHOWN = 8
"""Values of x in the list of the last rounds."""

NAMES = ["loss", "repeat-last", "majority"]


class Baselines:
    """The last label, and the most frequent one, as answers; off where labels are no answers or too many."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.last: Any = None
        self.most: Any = None
        self.counts: dict[str, int] = {}
        self.top = 0
        self.on = True
        self.counting = True

    def answers(self, x: Any) -> list[Any]:
        """Repeat-last's and majority's; None where there is none."""
        found = [self.last, self.most if self.counting else None]
        if self.loss.parts and self.on:
            try:
                return [None if z is None else self.loss.repeated(z, len(x)) for z in found]
            except Exception:
                self.on = False
        return found if self.on else [None, None]

    def judged(self, answers: list[Any], y: Any) -> list[float]:
        """What the answers cost; 1 before there is one, as they have none to give."""
        if not self.on:
            return [0.0, 0.0]
        try:
            return [1.0 if z is None else float(self.loss(z, y)) for z in answers]
        except Exception:  # labels of this loss are no answers
            self.on = False
            return [0.0, 0.0]

    def learn(self, y: Any) -> None:
        for part in y if self.loss.parts else [y]:
            self.last = part
            if not self.counting:
                continue
            key = encode(jsonable(part)).decode()
            self.counts[key] = self.counts.get(key, 0) + 1
            if self.counts[key] >= self.top:
                self.most, self.top = part, self.counts[key]
            if len(self.counts) > DISTINCT:
                self.counting, self.counts, self.most = False, {}, None


class Accounts:
    """The figures of one stream."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.blocks = Blocks(NAMES, CURVE)
        self._new: list[list[float]] = []
        """Rounds that are not in `blocks` yet."""
        self.now: deque[list[float]] = deque(maxlen=RECENT)
        self.recent: deque[dict[str, Any]] = deque(maxlen=LAST)
        self.open: dict[int, list[Any]] = {}
        """Of each open ticket: when it was asked, x as it is shown, the answer, and those of the baselines."""
        self.asked = self.refused = self.forgotten = 0
        self.baselines = Baselines(loss)

    def ask(self, ticket: int, when: float, x: Any, z: Any) -> None:
        """A ticket was given with the answer z, as JSON."""
        self.asked += 1
        self.open[ticket] = self.question(when, x, z)

    def question(self, when: float, x: Any, z: Any) -> list[Any]:
        """What is kept of a question until its label comes."""
        return [when, _shown(x), z, *self.baselines.answers(x)]

    def tell(self, asked: list[Any], y: Any, cost: float, row: dict[str, Any]) -> None:
        """A round was learned that cost so much; y is the label as the loss has it, `row` what is shown of it."""
        when, x, z, *answers = asked
        costs = [cost, *self.baselines.judged(answers, y)]
        self._new.append(costs)
        if len(self._new) == TOGETHER:
            self._settle()
        self.now.append(costs)
        self.recent.append({"asked": when, "x": x, "z": z, "loss": cost, **row})
        self.baselines.learn(y)

    def _settle(self) -> None:
        if self._new:
            self.blocks.add(np.array(self._new).T)
            self._new = []

    def forget(self, ticket: int) -> None:
        self.forgotten += 1
        del self.open[ticket]

    def age(self) -> float | None:
        """Seconds since the oldest open ticket was given, by the clock, which may have jumped; None for no ticket."""
        if not self.open:
            return None
        return max(0.0, time.time() - float(next(iter(self.open.values()))[0]))

    def figures(self) -> dict[str, Any]:
        """What the page draws."""
        self._settle()
        shown = NAMES[: 1 + 2 * self.baselines.on]
        if self.baselines.on and not self.baselines.counting:
            shown = NAMES[:2]
        ends = self.blocks.ends
        counts = np.diff(ends, prepend=0)
        window = max(1, len(ends) // 12)
        sums = {name: self.blocks[name] for name in shown}
        return {
            "rounds": ends.tolist(),
            "mean": {name: running(each, counts).round(6).tolist() for name, each in sums.items()},
            "rolling": {name: rolling(each, counts, window).round(6).tolist() for name, each in sums.items()},
            "now": {name: float(np.mean([row[i] for row in self.now])) for i, name in enumerate(shown) if self.now},
            "recent": list(self.recent),
        }

    def to_dict(self) -> dict[str, Any]:
        b = self.baselines
        self._settle()
        return {
            "blocks": self.blocks.to_dict(),
            "now": list(self.now),
            "recent": list(self.recent),
            "open": [[ticket, *row[:3], *map(jsonable, row[3:])] for ticket, row in self.open.items()],
            "counts": [self.asked, self.refused, self.forgotten],
            "baselines": [jsonable(b.last), jsonable(b.most), b.counts, b.on, b.counting],
        }

    @classmethod
    def from_dict(cls, loss: Loss, data: dict[str, Any]) -> Accounts:
        def label(y: Any) -> Any:
            return None if y is None else loss.check(to_label(loss, y))

        found = cls(loss)
        found.blocks = Blocks.from_dict(data["blocks"])
        found.now.extend(data["now"])
        found.recent.extend(data["recent"])
        found.asked, found.refused, found.forgotten = data["counts"]
        b = found.baselines

        def part(y: Any) -> Any:
            return to_label(getattr(loss, "row", loss), y) if loss.parts else label(y)

        last, most, b.counts, b.on, b.counting = data["baselines"]
        b.last, b.most = part(last), part(most)
        b.top = max(b.counts.values(), default=0)
        found.open = {ticket: [*row[:3], *map(label, row[3:])] for ticket, *row in data["open"]}
        return found

    def copied(self) -> Accounts:
        """A copy; what its containers hold is never changed."""
        other = copy.copy(self)
        other._new = list(self._new)
        other.blocks, other.baselines = copy.deepcopy(self.blocks), copy.copy(self.baselines)
        other.baselines.counts = dict(self.baselines.counts)
        other.now, other.recent, other.open = self.now.copy(), self.recent.copy(), dict(self.open)
        return other


def _shown(x: Any) -> Any:
    if isinstance(x, dict):
        return dict(list(x.items())[:SHOWN])
    return x[:SHOWN] if isinstance(x, list) else x


def brief(stream: Stream) -> dict[str, Any]:
    """A line of the list of streams."""
    return {
        "name": stream.name,
        "rounds": stream.rounds,
        "mean_loss": stream.total_loss / stream.rounds if stream.rounds else None,
        "open_tickets": stream.open_tickets,
        "waiting": stream.waiting,
        "problem": stream.problem,
    }


def inspected(stream: Stream, core: Core) -> dict[str, Any]:
    """Everything but curves; for the thread that works for the stream."""
    learner, accounts = core.learner, core.accounts
    spec = msgspec.json.decode(stream.spec)
    rounds, total = learner.rounds, float(learner.total_loss)
    return {
        "name": stream.name,
        "loss": spec["loss"],
        "learner": spec["learner"],
        "max_open": spec["max_open"],
        "created": stream.created,
        "rounds": rounds,
        "total_loss": total,
        "mean_loss": total / rounds if rounds else None,
        "regret": float(learner.regret),
        "open_tickets": len(accounts.open),
        "oldest_ticket_age": accounts.age(),
        "asked": accounts.asked,
        "refused": accounts.refused,
        "forgotten": accounts.forgotten,
        "waiting": stream.waiting,
        "operations": core.seq,
        "checkpoint": {
            "operation": stream.checkpoints.seq,
            "written": stream.checkpoints.written,
            "pause": stream.checkpoints.pause,
            "seconds": stream.checkpoints.took,
            "problem": stream.checkpoints.problem,
        },
        "log_bytes": stream.log_bytes,
        "memory_bytes": stream.bytes,
        "expert_weights": getattr(learner, "expert_weights", dict)(),
        "change_points": [jsonable(change) for change in getattr(learner, "change_points", list)()],
    }


def watched(stream: Stream, core: Core) -> dict[str, Any]:
    """All that the page shows."""
    open_tickets = list(core.accounts.open.items())[:20]
    now = time.time()
    return {
        **inspected(stream, core),
        "figures": core.accounts.figures(),
        "tickets": [
            {"ticket": n, "age": max(0.0, now - row[0]), "x": row[1], "z": row[2]} for n, row in open_tickets
        ],
    }

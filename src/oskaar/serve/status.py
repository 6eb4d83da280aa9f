"""The figures of a stream, for `GET /streams/{name}` and for the page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from oskaar.display import jsonable
from oskaar.serve.core import Core

if TYPE_CHECKING:
    from oskaar.serve.stream import Stream


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

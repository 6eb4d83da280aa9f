"""A replay that is recorded, in one call."""

from __future__ import annotations

import time
from typing import Any

from oskaar.replays import replay
from oskaar.reports.recorder import Chunk, Recorder


def record(
    learner: Any, xs: Any, ys: Any, *, baselines: dict[str, Any] | None = None, chunk: int = 64, **more: Any
) -> Recorder:
    """Replay a stream and record it; `more` goes to `Recorder`.

    baselines: other learners, by name, that are run beside it.

    >>> from oskaar import OSKAAR, RepeatLast, losses, reports
    >>> loss = losses.ZeroOne("ab")
    >>> company = {"repeat-last": RepeatLast(loss)}
    >>> recorder = reports.record(OSKAAR(loss), [[0.0], [1.0]] * 20, "ab" * 20, baselines=company)
    >>> recorder.mean("learner") < recorder.mean("repeat-last")
    True
    """
    company = baselines or {}
    recorder = Recorder(baselines=list(company), **more)
    total, start = xs.shape[0] if hasattr(xs, "shape") else len(xs), 0
    while start < total:
        here = slice(start, start + recorder.chunk(chunk))
        begun = time.perf_counter()
        happened = replay(learner, xs[here], ys[here], keep_estimates=False)
        seconds = time.perf_counter() - begun
        others = {name: replay(one, xs[here], ys[here], loss=learner.loss).losses for name, one in company.items()}
        recorder.add(Chunk(learner, xs[here], ys[here], happened, others, seconds))
        start = here.stop
    recorder.finish(learner)
    return recorder

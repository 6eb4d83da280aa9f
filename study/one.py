"""Runs, each in a process of its own: python -m study.one SPEC OUT SPEC OUT ...

The first process imports what the methods need and reads the stream, then forks once for each run.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from study.methods import Method, all_methods, first_answer
from study.protocol import Stream
from study.store import load, save
from study.streams import STREAMS

TUNING = 0.2
"""The share of a stream on which settings are compared; each may take this share of the cap."""


EVERY = 100
"""Rounds between two marks of CPU time, by which the first rounds of a longer run have a time of their own."""

SHORT = 0.2
"""Clocks of CPU time are coarse on some systems: a run that is over in so many seconds has its wall time."""


class Capped(BaseException):
    """The CPU seconds of a run are spent."""


def _ring(number: int, frame: Any) -> None:
    raise Capped


def timed(chunks: Iterator[Any], cap: float) -> tuple[Any, float, bool, list[tuple[int, float]]]:
    """Losses, CPU seconds, whether the cap was hit (the losses up to there are kept), and CPU seconds by rounds."""
    losses: list[Any] = []
    marks: list[tuple[int, float]] = []
    capped, rounds = False, 0
    start, begun = time.process_time(), time.perf_counter()
    signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, cap, 0.5)  # again, where something has swallowed the first
    try:
        for chunk in chunks:
            losses.append(np.asarray(chunk, dtype=float))
            rounds += len(losses[-1])
            if rounds >= EVERY + (marks[-1][0] if marks else 0):
                marks.append((rounds, time.process_time() - start))
    except Capped:
        capped = True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
    cpu, wall = time.process_time() - start, time.perf_counter() - begun
    return np.concatenate(losses) if losses else np.zeros(0), wall if wall < SHORT else cpu, capped, marks


def tune(method: Method, stream: Stream, seed: int, cap: float) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    """The setting with the least mean loss on the first rounds, over those that all settings compared have done.

    Settings that hit the cap are compared only where none got through.
    """
    part = stream.first(max(1, int(TUNING * len(stream))))
    settings = [setting for setting in method.settings if not method.skips(stream, setting)]
    tried = [(setting, *timed(method.losses(part, setting, seed), TUNING * cap)) for setting in settings]
    through = [run for run in tried if not run[3]] or tried
    rounds = min(len(run[1]) for run in through)
    means = [float(run[1][:rounds].mean()) if rounds else 0.0 for run in through]
    table = [
        {"setting": s, "mean": float(v.mean()) if len(v) else None, "cpu": c, "capped": k} for s, v, c, k, _ in tried
    ]
    return through[int(np.argmin(means))][0], table


def peak() -> int:
    """The largest memory of this process so far, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak() -> None:
    """Count the peak from here on, where the system lets us (Linux)."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        return


def read(spec: Mapping[str, Any]) -> Stream:
    """The stream, read once by a process."""
    return _read(spec["stream"], spec["folder"], spec["rounds_asked"])


@cache
def _read(name: str, folder: str, rounds: int | None) -> Stream:
    return STREAMS[name].read(Path(folder), rounds)


def content(stream: Stream) -> str:
    """A short name for what a run depends on: rows, labels, and what the loss says of them, to nine digits.

    A run of a peer stays valid while the library changes; runs on other rows or by another loss are not compared.
    """
    seen = hashlib.sha256(repr(stream.loss).encode())
    for X in stream.xs if isinstance(stream.xs, list) else [stream.xs]:
        for part in (X.data, X.indices, X.indptr) if stream.sparse else (X,):
            seen.update(np.ascontiguousarray(part).tobytes())
    first = first_answer(stream.loss, stream.x(0))
    seen.update("".join(digits_of(y) for y in stream.ys).encode())
    if not stream.loss.parts:
        answers = [first, *stream.ys[:-1]]
        seen.update(np.round([stream.loss(z, y) for z, y in zip(answers, stream.ys, strict=True)], 9).tobytes())
    return seen.hexdigest()[:16]


def digits_of(y: Any) -> str:
    """A label as text; numbers to nine digits."""
    return (
        repr(sorted(y))
        if isinstance(y, frozenset)
        else repr(np.round(y, 9))
        if isinstance(y, np.ndarray)
        else repr(y)
    )


def run(spec: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """What came of it, and the losses."""
    method = all_methods()[spec["method"]]
    stream = read(spec)
    found: dict[str, Any] = {"total": len(stream), "kind": stream.kind, "note": stream.note, "source": stream.source}
    found |= {"published": dict(stream.published), "loss": repr(stream.loss), "content": content(stream)}
    try:
        if not method.fits(stream):
            return {**found, "status": "unfit"}, np.zeros(0)
        method.warm(stream, spec["seed"])
    except ImportError as error:
        return {**found, "status": "missing", "error": str(error)}, np.zeros(0)
    setting: Mapping[str, Any] = method.settings[0]
    if spec["variant"] == "tuned":
        setting, found["tuning"] = tune(method, stream, spec["seed"], spec["cap"])
        found["tuning_cpu"] = sum(row["cpu"] for row in found["tuning"])
    if setting == method.settings[0] and (again := untuned(spec)):
        return {**found, **again[0], "reused": True}, again[1]
    forget_peak()
    before = peak()
    losses, cpu, capped, marks = timed(method.losses(stream, setting, spec["seed"]), spec["cap"])
    if not np.isfinite(losses).all():
        raise ValueError(f"losses must be numbers, got {losses[~np.isfinite(losses)][0]}.")
    found |= {"status": "ok", "setting": dict(setting), "cpu": cpu, "capped": capped, "rounds": len(losses)}
    found["marks"] = marks
    return {**found, "memory": max(0, peak() - before)}, losses


def untuned(spec: Mapping[str, Any]) -> tuple[dict[str, Any], Any] | None:
    """What the default setting has done, for a tuned run that has chosen it: the same run need not be run twice."""
    path = Path(spec["results"]) / "runs" / f"{spec.get('default_key')}.npz"
    if not path.exists() or (run := load(path))["status"] != "ok":
        return None
    return {name: run[name] for name in ("status", "setting", "cpu", "capped", "rounds", "memory", "marks")}, run[
        "losses"
    ]


def main(arguments: list[str]) -> int:
    """Run what each SPEC says; its OUT is written whole or not at all."""
    warnings.simplefilter("ignore")
    specs = [json.loads(Path(path).read_text(encoding="utf-8")) for path in arguments[::2]]
    if len(specs) == 1:
        return kept(specs[0], Path(arguments[1]))
    worst = 0
    for spec in specs:
        prepare(spec)
    for spec, out in zip(specs, arguments[1::2], strict=True):
        child = os.fork()
        if not child:
            os._exit(kept(spec, Path(out)))
        worst = max(worst, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    return worst


def prepare(spec: Mapping[str, Any]) -> None:
    """Imports what a run needs, if it can: the run itself says why it cannot."""
    with contextlib.suppress(Exception):
        method, stream = all_methods()[spec["method"]], read(spec)
        if method.fits(stream):
            method.warm(stream, spec["seed"])


def kept(spec: Mapping[str, Any], out: Path) -> int:
    """Runs what SPEC says and writes what came of it."""
    try:
        found, losses = run(spec)
    except Exception as error:
        lines = traceback.format_exc().splitlines()
        found, losses = {"status": "failed", "error": f"{type(error).__name__}: {error}", "trace": lines}, np.zeros(0)
    save(out, {**spec, **found}, losses)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

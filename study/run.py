"""The plan of a study, and running it: one process for each run, those that are done are not done again."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from study.methods import Method, all_methods
from study.ours import PARTS
from study.store import code, digest, load, save, versions
from study.streams import DATA, STREAMS
from study.streams.entries import ROOT

RESULTS = ROOT / "study" / "results"
CAP = 20.0
"""CPU seconds of a run, for all methods alike."""
PATIENCE = 10.0
"""A run is ended from outside after so many times its cap in wall time, tuning included, and a minute."""
MOST_TOGETHER = 12
"""So many runs on a stream share what is read and imported."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""One thread for all methods alike."""
LIBRARY = (
    "learners",
    "kernels",
    "losses",
    "features",
    "inputs",
    "solvers",
    "schema",
    "rows.py",
    "arrays.py",
    "alike.py",
)
OUR_CODE = (*(f"src/oskaar/{name}" for name in LIBRARY), "study/ours.py", "study/baselines.py")
"""What the numbers of oskaar's learners depend on."""
HARNESS = ("study/protocol.py", "study/methods.py", "study/one.py")

TOO_LONG = ("trees",)
"""Open streams that are run only where they are named: 341,000 rows in 511 rounds."""
LONGEST = ("Shuttle", "rank-fried", "energy-hour")
"""Streams that are run for 20,000 rounds too, with methods whose time allows it."""
QUICK = ("Ensemble", "OSKAAR", "repeat-last", "majority", "River linear", "River kNN", "River iSOUP", "VW oaa")
QUICK += ("VW regression", "Linear", "Neighbours", "LightGBM")
LEFT_OUT = {
    "River chain": "VW one-vs-rest stands for it",
    "River RBF + linear": "the lowest peer only where it was tuned",
    "River HAT": "River ARF is a forest of such trees",
    "VW multilabel_oaa": "its threshold is its own: VW one-vs-rest has one for F1",
    "CapyMOA": "it needs Java; its adaptive forests are those of River ARF",
    "Fenchel-Young OGD": "it was never the lowest peer",
}
"""Peers that are run only where they are named, and why."""


@dataclass(frozen=True)
class Options:
    """What to run."""

    streams: tuple[str, ...] = ()
    """None named: all that can be read."""
    methods: tuple[str, ...] = ()
    rounds: int | None = 1000
    variants: tuple[str, ...] = ("default", "tuned")
    jobs: int = 1
    cap: float = CAP
    seed: int = 0
    folder: Path = DATA
    results: Path = RESULTS
    retry: bool = False
    stored: bool = False
    """Run nothing: give what is there."""


def passes(options: Options) -> list[Options]:
    """The study whole: all methods on the streams kept apart, the ensemble without its parts, the open streams."""
    kept = tuple(name for name, entry in STREAMS.items() if entry.kept_apart)
    rest = tuple(name for name, entry in STREAMS.items() if not entry.kept_apart and name not in TOO_LONG)
    parts = (*PARTS, "SALAMI")
    main = tuple(name for name in all_methods() if name not in (*LEFT_OUT, *parts))
    return [
        replace(options, streams=kept, methods=main, rounds=4000, cap=100.0),
        replace(options, streams=kept, methods=parts, rounds=1000, cap=100.0),
        replace(options, streams=LONGEST, methods=QUICK, rounds=20_000, cap=100.0),
        replace(options, streams=rest, methods=main, rounds=1000, cap=40.0),
    ]


def chosen(names: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    """The names, or all that are known where none is named.

    >>> chosen([], ["a", "b"], "stream"), chosen(["b"], ["a", "b"], "stream")
    (['a', 'b'], ['b'])
    """
    names, known = list(names), list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}: it must be one of {', '.join(known)}.")
    return names or known


def plan(options: Options) -> tuple[list[dict[str, Any]], list[str]]:
    """The specifications of all runs, defaults before tuned ones, and what has to be left out."""
    methods = all_methods()
    specs, left_out = [], []
    for name in chosen(options.streams, STREAMS, "stream"):
        why = STREAMS[name].missing(options.folder)
        if why:
            left_out.append(f"{name}: {why}")
            continue
        for title in chosen(options.methods or [name for name in methods if name not in LEFT_OUT], methods, "method"):
            if STREAMS[name].kind in methods[title].kinds:
                specs += [
                    specify(name, methods[title], v, options) for v in options.variants if _has(methods[title], v)
                ]
    return sorted(specs, key=lambda spec: spec["variant"] == "tuned"), left_out


def _has(method: Method, variant: str) -> bool:
    return variant == "default" or len(method.settings) > 1


def specify(stream: str, method: Method, variant: str, options: Options) -> dict[str, Any]:
    """A run in plain words; its key changes with anything that may change its numbers.

    A peer's does not change with the library: rows, labels and losses are in the `content` of a run.
    """
    source = {"name": stream, "rounds": options.rounds, "code": code("study/streams")}
    ours = method.package == "oskaar"
    spec: dict[str, Any] = {
        "stream": stream,
        "stream_key": f"{stream}-{digest(source)}",
        "method": method.name,
        "role": method.role,
        "package": method.package,
        "variant": variant,
        "settings": [dict(s) for s in method.settings[: 1 if variant == "default" else None]],
        "rounds_asked": options.rounds,
        "seed": options.seed,
        "cap": options.cap,
        "code": code(*(OUR_CODE if ours else ("study/peers",)), *HARNESS),
        "versions": versions([] if ours else [method.package]),
    }
    spec |= {"key": digest(spec), "folder": str(options.folder), "results": str(options.results)}
    if variant == "tuned":
        spec["default_key"] = specify(stream, method, "default", options)["key"]
    return spec


def path_of(spec: dict[str, Any]) -> Path:
    """Where a run is kept."""
    return Path(spec["results"]) / "runs" / f"{spec['key']}.npz"


def finished(spec: dict[str, Any], retry: bool) -> bool:
    """Whether there is nothing to do; failures count as finished unless they are to be tried again."""
    path = path_of(spec)
    return path.exists() and (not retry or load(path)["status"] in ("ok", "unfit"))


class Workers:
    """Processes of runs; `stop` ends those that are alive, and none of them counts as a failure."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.alive: set[subprocess.Popen[str]] = set()

    def execute(self, specs: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Runs on one stream, one after the other, each in a process of its own with one thread."""
        arguments = []
        for spec in specs:
            path = path_of(spec)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".json").write_text(json.dumps(spec), encoding="utf-8")
            arguments += [str(path.with_suffix(".json")), str(path)]
        try:
            error = "" if self.stopping.is_set() else self._ended(specs, arguments)
        finally:
            for spec in specs:
                path_of(spec).with_suffix(".json").unlink(missing_ok=True)
        for spec in specs:
            if not self.stopping.is_set() and not path_of(spec).exists():
                save(path_of(spec), {**spec, "status": "failed", "error": error or "nothing was written"}, [])
        return specs

    def _ended(self, specs: list[dict[str, Any]], arguments: list[str]) -> str:
        """What went wrong with the process; nothing where all is well."""
        environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONHASHSEED": "0"}
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "study.one", *arguments]
        pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, errors="replace", start_new_session=True, **pipes
        ) as process:
            self.alive.add(process)
            try:
                patience = 60 + PATIENCE * sum(spec["cap"] for spec in specs)
                _, said = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                end(process)
                return f"the process was ended after {patience:.0f} s"
            finally:
                self.alive.discard(process)
        return f"the process ended with {process.returncode}: {said[-500:]}" if process.returncode else ""

    def stop(self) -> None:
        """End what is alive."""
        self.stopping.set()
        for process in list(self.alive):
            end(process)


def end(process: subprocess.Popen[str]) -> None:
    """End a process and those it has forked: they are a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run(options: Options, say: Callable[[str], None] = print) -> list[dict[str, Any]]:
    """Everything that is planned; a study that was interrupted goes on. Gives the runs, with their losses."""
    specs, left_out = plan(options)
    for line in left_out:
        say(f"left out: {line}")
    if options.stored:
        specs = [spec for spec in specs if path_of(spec).exists()]
    waiting = [spec for spec in specs if not finished(spec, options.retry and not options.stored)]
    say(f"{len(specs)} runs, {len(specs) - len(waiting)} of them done before")
    start, done = time.monotonic(), 0

    workers = Workers()
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            for spec in chain.from_iterable(pool.map(workers.execute, together(waiting))):
                done += 1
                left = (time.monotonic() - start) / done * (len(waiting) - done)
                say(f"[{done}/{len(waiting)}, {clock(left)} left] {_line(load(path_of(spec)))}")
        except BaseException:
            workers.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [load(path_of(spec)) for spec in specs]


def together(specs: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Runs that follow one another on a stream, a few at a time.

    >>> together([{"stream": "a", "n": 1}, {"stream": "a", "n": 2}, {"stream": "b", "n": 3}])
    [[{'stream': 'a', 'n': 1}, {'stream': 'a', 'n': 2}], [{'stream': 'b', 'n': 3}]]
    """
    return [
        list(part)
        for _, group in groupby(specs, key=lambda spec: spec["stream"])
        for part in batched(list(group), MOST_TOGETHER)
    ]


def batched(items: list[Any], n: int) -> list[list[Any]]:
    """Runs of n, the last one shorter."""
    return [items[i : i + n] for i in range(0, len(items), n)]


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(3725.2), clock(59)
    ('1:02:05', '0:59')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _line(found: dict[str, Any]) -> str:
    name = f"{found['stream']}, {found['method']} ({found['variant']})"
    if found["status"] != "ok":
        return f"{name}: {found['status']} {found.get('error', '')}"
    capped = f", capped after {found['rounds']} rounds" if found["capped"] else ""
    mean = found["losses"].mean() if found["rounds"] else float("nan")
    return f"{name}: {mean:.4f}, {found['cpu']:.1f} s{capped}"

"""python -m study: run what is missing, then write the table, the plots and the JSON file."""

from __future__ import annotations

import argparse
from pathlib import Path

from study import report
from study.methods import all_methods
from study.run import CAP, LEFT_OUT, RESULTS, Options, passes, run
from study.streams import DATA, STREAMS
from study.streams.entries import ROOT

QUICK_STREAMS = ("iris", "synthetic-levels-change")
QUICK_METHODS = ("Ensemble", "repeat-last", "majority", "best constant")
QUICK_PEERS = 2
"""How many peers the quick subset has: the first of those that fit."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m study", description=__doc__)
    made.add_argument("--streams", nargs="+", default=[], metavar="NAME", help="only these")
    made.add_argument("--methods", nargs="+", default=[], metavar="NAME", help="only these")
    made.add_argument("--roles", nargs="+", default=[], choices=("ours", "peer", "baseline", "hindsight"))
    made.add_argument("--rounds", help="of each stream, from its first; all: everything. Without it the whole study")
    made.add_argument("--variants", nargs="+", default=["default"], choices=("default", "tuned"))
    made.add_argument("--jobs", type=int, default=1, help="processes at once")
    made.add_argument("--cap", type=float, default=CAP, help="CPU seconds of a run")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--folder", type=Path, default=DATA, help="where the real streams are")
    made.add_argument("--results", type=Path, default=RESULTS)
    made.add_argument("--retry", action="store_true", help="run again what has failed")
    made.add_argument("--stored", action="store_true", help="run nothing, report what is there")
    made.add_argument("--quick", action="store_true", help="two tiny streams, a few methods")
    made.add_argument("--docs", action="store_true", help="write docs/study.md and docs/study.svg too")
    made.add_argument("--no-plots", action="store_true")
    made.add_argument("--list", action="store_true", help="name the streams and the methods")
    return made


def quick_methods() -> tuple[str, ...]:
    """Ours, the baselines, and a few peers that take classes and levels."""
    peers = [m.name for m in all_methods().values() if m.role == "peer" and {"class", "ordinal"} <= set(m.kinds)]
    return (*QUICK_METHODS, *peers[:QUICK_PEERS])


def main(arguments: list[str] | None = None) -> int:
    """Do it."""
    given = parser().parse_args(arguments)
    if given.list:
        print("streams: " + ", ".join(STREAMS) + "\nmethods: " + ", ".join(all_methods()))
        return 0
    methods = given.methods
    if given.roles:
        methods = [
            m.name
            for m in all_methods().values()
            if m.role in given.roles and (m.name in methods if methods else m.name not in LEFT_OUT)
        ]
    options = Options(
        streams=QUICK_STREAMS if given.quick and not given.streams else tuple(given.streams),
        methods=quick_methods() if given.quick and not methods else tuple(methods),
        rounds=120 if given.quick else None if given.rounds == "all" else int(given.rounds or 1000),
        variants=("default",) if given.quick else tuple(given.variants),
        jobs=max(2, given.jobs) if given.quick else given.jobs,
        cap=given.cap,
        seed=given.seed,
        folder=given.folder.resolve(),
        results=given.results.resolve(),
        retry=given.retry,
        stored=given.stored,
    )
    whole = not (given.rounds or given.quick or given.streams or methods)
    runs = [
        found
        for part in (passes(options) if whole else [options])
        for found in run(part, say=lambda line: print(line, flush=True))
    ]
    docs = ROOT / "docs" if given.docs else None
    for path in report.write(runs, options.results, docs, plots=not given.no_plots):
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The page, its plots, and one JSON file of every run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from study.methods import all_methods
from study.run import LEFT_OUT
from study.streams import STREAMS
from study.tables import all_runs, further, goals, in_words, lost, main_table, parts_table, ranking
from study.verdicts import Verdict, summary, verdicts

LENGTHS = (1000, 4000)
"""Rounds of which the page has a table. A run of 4000 rounds is one of 1000 too: no answer depends on the future."""
LONG = 2000
"""A stream with fewer rounds is not among those of 4000."""

TEMPLATE = Path(__file__).with_name("page.md")
"""The words of the page, with fields for its figures."""


def page(runs: Sequence[dict[str, Any]], pictures: bool) -> str:
    """docs/study.md."""
    kept = [run for run in runs if STREAMS[run["stream"]].kept_apart]
    lengths = at_lengths(kept)
    names = {side: [n for n, e in STREAMS.items() if e.kept_apart is side] for side in (True, False)}
    lines = [
        TEMPLATE.read_text(encoding="utf-8").format(
            goals="\n".join(goals({f"{n} rounds": found for n, found in lengths.items()})),
            further="\n".join(further(lengths[LENGTHS[0]])),
            lengths=LENGTHS[0],
            caps=" or ".join(f"{cap:g}" for cap in sorted({run["cap"] for run in runs})),
            kept=len(names[True]),
            open=len(names[False]),
            names_kept=", ".join(names[True]),
            names_open=", ".join(names[False]),
            lagged=", ".join(n for n, e in STREAMS.items() if e.lag),
            not_run=not_run(kept) or "none",
            left_out="; ".join(f"{name} ({why})" for name, why in LEFT_OUT.items()),
        )
    ]
    for n, found in lengths.items():
        more = "" if n == LENGTHS[0] else f" Streams of at least {LONG} rounds, at most {n} of each."
        lines += [f"## Kept apart, {n} rounds", "", f"What is lost, the most first.{more}", "", *lost(found), ""]
        lines += [*([] if n == LENGTHS[0] else [*further(found), ""]), *main_table(found), ""]
    lines += [*longest(kept), *ranked(lengths[LENGTHS[0]], pictures)]
    lines += ["## The ensemble without its parts", "", f"Kept apart, {LENGTHS[0]} rounds.", ""]
    lines += [*parts_table(lengths[LENGTHS[0]]), "", *open_streams(runs)]
    if pictures:
        lines += ["![Loss against CPU time, stream by stream](study.svg)", ""]
    return "\n".join(lines)


def not_run(runs: Sequence[dict[str, Any]]) -> str:
    """Peers that are neither left out nor run, by stream."""
    there = {(run["stream"], run["method"]) for run in runs}
    peers = [m for m in all_methods().values() if m.role == "peer" and m.name not in LEFT_OUT]
    found = {}
    for name in dict.fromkeys(run["stream"] for run in runs):
        kind = STREAMS[name].kind
        found[name] = [m.name for m in peers if kind in m.kinds and (name, m.name) not in there]
    return "; ".join(f"{', '.join(names)} on {stream}" for stream, names in found.items() if names)


def at_lengths(runs: Sequence[dict[str, Any]]) -> dict[int, list[Verdict]]:
    """Verdicts at each length, on the streams that are long enough."""
    runs = [run for run in runs if not much_longer(run)]  # OSKAAR has a budget there
    long = [run for run in runs if run.get("total", 0) >= LONG]
    return {n: verdicts(runs if n == LENGTHS[0] else long, n) for n in LENGTHS}


def longest(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The table of the streams that were run for much longer."""
    found = verdicts([run for run in runs if much_longer(run)])
    if not found:
        return []
    lines = [
        "## Kept apart, 20,000 rounds",
        "",
        "Online peers, and batch ones that are quick to refit, every 100 rounds.",
    ]
    return [*lines, "", *main_table(found), ""]


def much_longer(run: dict[str, Any]) -> bool:
    """Whether a run is one of the third length."""
    return run["rounds_asked"] is not None and run["rounds_asked"] > max(LENGTHS)


def ranked(found: Sequence[Verdict], pictures: bool) -> list[str]:
    """Mean ranks in words."""
    what = ranking(found)
    if what is None:
        return []
    names, ranks, streams, difference = what
    order = sorted(range(len(names)), key=lambda i: float(ranks[i]))
    listed = ", ".join(f"{names[i]} {ranks[i]:.2f}" for i in order)
    lines = [
        "## Ranks",
        "",
        f"Mean ranks of the methods that ran on most of these streams, on the {streams} that all of",
    ]
    lines += [f"them ran on: {listed}. Two that are {difference:.2f} apart differ at 5% (Nemenyi).", ""]
    return [*lines, "![Critical-difference diagram](study-ranks.svg)", ""] if pictures else lines


def open_streams(runs: Sequence[dict[str, Any]]) -> list[str]:
    """The table of the streams that defaults may be chosen on."""
    found = verdicts([run for run in runs if not STREAMS[run["stream"]].kept_apart], LENGTHS[0])
    if not found:
        return []
    lines = [f"## Open streams, {LENGTHS[0]} rounds", "", "No test of the defaults: they may be chosen on these.", ""]
    return [*lines, *further(found), "", *main_table(found), ""]


def write(runs: Sequence[dict[str, Any]], results: Path, docs: Path | None = None, plots: bool = True) -> list[Path]:
    """table.md, study.json and plots below results; docs: also study.md and its plots there."""
    results.mkdir(parents=True, exist_ok=True)
    found = verdicts(runs)
    text = page(runs, plots)
    written = [results / "table.md", results / "study.json"]
    written[0].write_text("\n".join([text, "## Every run", *all_runs(found), ""]), encoding="utf-8")
    lengths = at_lengths([run for run in runs if STREAMS[run["stream"]].kept_apart])
    words = in_words({f"{n} rounds": these for n, these in lengths.items()})
    record = {"words": words, "runs": [summary(run) for run in runs], "streams": [judged(v) for v in found]}
    written[1].write_text(json.dumps(record, indent=1, default=str), encoding="utf-8")
    if plots and found:
        from study.plots import draw, draw_ranks

        first = lengths[LENGTHS[0]]
        written.append(draw(first or found, results / "study.svg"))
        what = ranking(first)
        if what is not None:
            written.append(draw_ranks(what[0], what[1], what[3], results / "study-ranks.svg"))
    if docs is not None:
        (docs / "study.md").write_text(text, encoding="utf-8")
        for picture in written[2:]:
            (docs / picture.name).write_bytes(picture.read_bytes())
    return written


def judged(verdict: Verdict) -> dict[str, Any]:
    """A verdict for the JSON file."""
    return {
        "stream": verdict.stream,
        "kept_apart": STREAMS[verdict.stream].kept_apart,
        "lowest": verdict.lowest,
        "lowest_late": verdict.lowest_late,
        "best_rival": verdict.best_rival,
        "log_ratio": verdict.ratio(verdict.best_rival),
        "picked": verdict.picked,
        "log_ratio_picked_late": verdict.ratio(verdict.picked, verdict.half),
        "time_ratio": verdict.time_ratio,
        "significantly_worse_than": verdict.significantly_worse_than,
        "on_front": verdict.on_front,
        "repeat_last_wins": verdict.repeat_last_wins,
        "differences": dict(verdict.differences),
        "p_holm": dict(verdict.adjusted),
        "not_run": dict(verdict.others),
    }

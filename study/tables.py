"""The tables of the page: goals, streams, parts of the ensemble, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from study.ours import PARTS
from study.statistics import critical_difference, interval, mean_ranks
from study.verdicts import OURS, Verdict, gap, log_ratio, seconds

GOALS = {"lowest": 0.9, "late": 0.85, "ratio": -0.15, "time": 3.0, "text": 0.003}
"""Shares of streams with the lowest loss, overall and on second halves; mean log ratio; ratio of CPU times; and how
much higher than that of plain OSKAAR the loss may be on text."""
TEXT = ("20ng", "enron", "medical", "ohsumed", "slashdot")
"""Streams of bags of words."""
SHARE = 2 / 3
"""Methods are ranked that ran on so many of the streams, on the streams that all of them ran on."""


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """A markdown table, its first row the head.

    >>> table_lines([["a", "b"], ["1", "2"]])
    ['| a | b |', '|---|---|', '| 1 | 2 |']
    """
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def digits(loss: float) -> str:
    """A loss to four places, small ones to three digits.

    >>> digits(0.25), digits(0.00041812)
    ('0.2500', '0.000418')
    """
    return f"{loss:.4f}" if abs(loss) >= 0.01 or loss == 0 else f"{loss:.3g}"


def figure(run: Any) -> str:
    """A mean loss, with a star where the run hit its cap."""
    return "" if run is None else digits(float(np.mean(run["losses"]))) + ("*" if run["capped"] else "")


def with_interval(run: Any) -> str:
    """A mean loss and its interval."""
    low, high = interval(run["losses"])
    return f"{figure(run)} [{digits(low)}, {digits(high)}]"


def halves(run: Any, half: int) -> str:
    """The mean losses of both halves."""
    early, late = run["losses"][:half], run["losses"][half:]
    return " / ".join(digits(float(np.mean(part))) if len(part) else "" for part in (early, late))


def share(part: int, whole: int) -> str:
    """A count, its whole and percent.

    >>> share(9, 10)
    '9 of 10 (90%)'
    """
    return f"{part} of {whole} ({part / max(whole, 1):.0%})"


def goals(lengths: dict[str, Sequence[Verdict]]) -> list[str]:
    """How the goals stand, at each length; those that are missed first."""
    rows: list[tuple[bool, list[str]]] = []

    def add(goal: str, values: list[str], met: list[bool]) -> None:
        word = "yes" if all(met) else "no"
        rows.append((all(met), [goal, *values, word]))

    every = list(lengths.values())
    lowest = [sum(v.lowest for v in found) for found in every]
    add(
        f"lowest loss on at least {GOALS['lowest']:.0%} of the streams",
        [share(n, len(found)) for n, found in zip(lowest, every, strict=True)],
        [n >= GOALS["lowest"] * len(found) for n, found in zip(lowest, every, strict=True)],
    )
    late = [sum(v.lowest_late for v in found) for found in every]
    add(
        f"lowest on the second half of at least {GOALS['late']:.0%}",
        [share(n, len(found)) for n, found in zip(late, every, strict=True)],
        [n >= GOALS["late"] * len(found) for n, found in zip(late, every, strict=True)],
    )
    worse = [[v.stream for v in found if v.significantly_worse_than] for found in every]
    add("significantly worse on none", [", ".join(names) or "none" for names in worse], [not n for n in worse])
    ratios = [mean([v.ratio(v.best_rival) for v in found]) for found in every]
    add(
        f"mean log ratio to the best rival in hindsight at most {GOALS['ratio']:g}",
        [f"{r:+.3f}" for r in ratios],
        [r <= GOALS["ratio"] for r in ratios],
    )
    times = [float(np.median([v.time_ratio for v in found if v.time_ratio is not None] or [0])) for found in every]
    add(
        f"CPU time at most {GOALS['time']:g} times that of the best peer, median",
        [f"{t:.1f}" for t in times],
        [t <= GOALS["time"] for t in times],
    )
    texts = [{v.stream: over_oskaar(v) for v in found if v.stream in TEXT and "OSKAAR" in v.runs} for found in every]
    add(
        f"on text at most {GOALS['text']:.1%} above OSKAAR",
        [", ".join(f"{name} {excess:+.1%}" for name, excess in found.items()) for found in texts],
        [all(excess <= GOALS["text"] for excess in found.values()) for found in texts],
    )
    head = ["goal, on the streams kept apart", *lengths, "met"]
    return table_lines([head, *[row for _, row in sorted(rows, key=lambda row: row[0])]])


def over_oskaar(verdict: Verdict) -> float:
    """How much higher our loss is than OSKAAR's, as a share of it."""
    return float(np.expm1(compared(verdict.runs[OURS], verdict.runs["OSKAAR"])))


def mean(values: Sequence[float]) -> float:
    """The mean, 0 of nothing."""
    return float(np.mean(values)) if len(values) else 0.0


def in_words(lengths: dict[str, Sequence[Verdict]]) -> str:
    """The goals in a few sentences, for pages that name the study: what was lost, what was won, and against whom."""
    sentences = []
    for name, found in lengths.items():
        n, lowest, late = len(found), sum(v.lowest for v in found), sum(v.lowest_late for v in found)
        worse = [v.stream for v in found if v.significantly_worse_than]
        named = f" ({', '.join(worse)})" if worse else ""
        sentences.append(
            f"At {name} some peer or baseline is lower on {n - lowest} of {n} streams and significantly so on "
            f"{len(worse)}{named}; the ensemble has the lowest loss on {share(lowest, n)}, on {share(late, n)} of "
            f"second halves, and a mean log ratio of {mean([v.ratio(v.best_rival) for v in found]):+.3f} to the best "
            f"rival in hindsight."
        )
    return " ".join(sentences)


def further(found: Sequence[Verdict]) -> list[str]:
    """Figures beside the goals."""
    picked = [v for v in found if v.picked is not None]
    behind = [v.ratio(v.picked, v.half) for v in picked]
    not_behind = sum(gap(v.runs[OURS], v.runs[v.picked], v.half) <= 1e-12 for v in picked if v.picked)
    wins: dict[str, int] = {}
    for v in found:
        winner = OURS if v.lowest else str(v.best_rival)
        wins[winner] = wins.get(winner, 0) + 1
    counted = ", ".join(f"{name} {count}" for name, count in sorted(wins.items(), key=lambda item: -item[1]))
    late = [v.ratio(v.best_late, v.half) for v in found]
    off = [v.stream for v in found if not v.on_front]
    last = [v.stream for v in found if v.repeat_last_wins]
    return [
        f"- Against the rival that a user could have picked on the first half, on the second half: not behind on "
        f"{share(not_behind, len(picked))}, mean log ratio {mean(behind):+.3f}.",
        f"- Against the best rival of the second half in hindsight, on that half: mean log ratio {mean(late):+.3f}.",
        f"- Lowest: {counted}.",
        f"- Off the Pareto front of loss and CPU time on {len(off)}: {', '.join(off) or 'none'}.",
        f"- Repeat-last is the lowest of all on {len(last)}: {', '.join(last) or 'none'}.",
    ]


def main_table(found: Sequence[Verdict]) -> list[str]:
    """A row for each stream."""
    names = ["OSKAAR", "SALAMI", "repeat-last"]
    rows = [["stream", "kind", "rounds", OURS, "halves", *names, "best rival", "its halves", "log ratio"]]
    rows[0] += [
        "picked on the first half",
        "log ratio, second half",
        "lowest",
        "worse",
        "CPU ratio",
        "rounds a second",
    ]
    for v in found:
        ours, best, picked = v.runs[OURS], v.best_rival, v.picked
        row = [v.stream, ours["kind"], str(v.rounds), with_interval(ours), halves(ours, v.half)]
        row += [figure(v.runs.get(name)) for name in names]
        row += [f"{figure(v.runs[best])} {best}", halves(v.runs[best], v.half)] if best else ["", ""]
        row += [f"{v.ratio(best):+.3f}", str(picked or ""), f"{v.ratio(picked, v.half):+.3f}"]
        row += ["both" if v.lowest and v.lowest_late else "all" if v.lowest else "late" if v.lowest_late else "no"]
        row += [", ".join(v.significantly_worse_than) or "none"]
        row += ["" if v.time_ratio is None else f"{v.time_ratio:.1f}", f"{1 / max(seconds(ours), 1e-9):.0f}"]
        rows.append(row)
    return table_lines(rows)


def lost(found: Sequence[Verdict]) -> list[str]:
    """Where some rival is lower, the largest first."""
    behind = sorted((v for v in found if not v.lowest), key=lambda v: -v.ratio(v.best_rival))
    lines = []
    for v in behind:
        ours, best = v.runs[OURS], v.runs[str(v.best_rival)]
        ahead = ", ".join(sorted(name for name, d in v.differences.items() if d > 1e-12))
        lines.append(
            f"- {v.stream} ({ours['loss'].split('(')[0]}): {figure(ours)}, {v.best_rival} {figure(best)} "
            f"(log ratio {v.ratio(v.best_rival):+.3f}, p = {v.adjusted[str(v.best_rival)]:.3f} by Holm). "
            f"Lower than ours: {ahead}."
        )
    return lines or ["- Nothing."]


def parts_table(found: Sequence[Verdict]) -> list[str]:
    """The ensemble without each of its parts, SALAMI and OSKAAR: mean log ratios of their losses to its own."""
    rows = [["method", "streams", "mean log ratio to the ensemble", "lower than it on", "higher on", "CPU ratio"]]
    for name in [*PARTS, "SALAMI", "OSKAAR"]:
        there = [v for v in found if name in v.runs]
        if not there:
            continue
        pairs = [(v.runs[name], v.runs[OURS]) for v in there]
        ratios = [compared(a, b) for a, b in pairs]
        times = [seconds(a) / max(seconds(b), 1e-9) for a, b in pairs]
        counted = [str(sum(r < 0 for r in ratios)), str(sum(r > 0 for r in ratios))]
        rows.append([name, str(len(there)), f"{mean(ratios):+.4f}", *counted, f"{np.median(times):.2f}"])
    return table_lines(rows)


def compared(a: Any, b: Any) -> float:
    """The log ratio of two runs, on the rounds that both have done."""
    n = min(len(a["losses"]), len(b["losses"]))
    return log_ratio(a["losses"][:n], b["losses"][:n])


def ranking(found: Sequence[Verdict]) -> tuple[list[str], Any, int, float] | None:
    """Methods, their mean ranks, on how many streams, and the critical difference; None with too few."""
    counts: dict[str, int] = {}
    for v in found:
        for name, run in v.runs.items():
            if run["role"] != "hindsight" and not run["capped"] and name not in PARTS:
                counts[name] = counts.get(name, 0) + 1
    names = [name for name, n in counts.items() if n >= SHARE * len(found)]
    full = [v for v in found if all(name in v.runs and not v.runs[name]["capped"] for name in names)]
    if len(names) < 2 or len(full) < 2:
        return None
    losses = np.array([[float(np.mean(v.runs[name]["losses"])) for name in names] for v in full])
    return names, mean_ranks(losses), len(full), critical_difference(len(names), len(full))


def all_runs(found: Sequence[Verdict]) -> list[str]:
    """Every method on every stream."""
    lines = []
    for v in found:
        ours = v.runs[OURS]
        lines += ["", f"### {v.stream}", "", f"{ours['loss']}; {ours['note']} ({ours['source']})."]
        rows = [["", "mean loss", "halves", "Ensemble less this", "p (Holm)", "rounds", "rounds a second", "MB"]]
        for name, run in sorted(v.runs.items(), key=lambda item: float(np.mean(item[1]["losses"]))):
            less = f"{v.differences[name]:+.4f}" if name in v.differences else ""
            p = f"{v.adjusted[name]:.3f}" if name in v.adjusted else ""
            row = [name, with_interval(run), halves(run, v.half), less, p, f"{run['rounds']}/{run['total']}"]
            rows.append([*row, f"{1 / max(seconds(run), 1e-9):.0f}", f"{run['memory'] / 1e6:.0f}"])
        rows += [[f"published: {n}", f"{value:.4f}", *[""] * 6] for n, value in sorted(ours["published"].items())]
        rows += [[name, (why.splitlines() or [""])[0][:100], *[""] * 6] for name, why in v.others.items()]
        lines += ["", *table_lines(rows)]
    return lines

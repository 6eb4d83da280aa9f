"""One page of plots: loss against CPU time on each stream with its Pareto front, and ranks over streams."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from study.ours import PARTS
from study.statistics import not_apart
from study.verdicts import OURS, Verdict, gap, seconds

COLOURS = {"ours": "tab:blue", "peer": "tab:orange", "baseline": "tab:grey", "hindsight": "lightgrey"}
ACROSS = 4


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The points (time, loss) that no other point beats in both, by rising time.

    >>> front([(1.0, 3.0), (2.0, 2.0), (3.0, 2.5), (4.0, 1.0)])
    [0, 1, 3]
    """
    kept: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: points[i]):
        if not kept or points[i][1] < points[kept[-1]][1]:
            kept.append(i)
    return kept


def shown(name: str, run: Any) -> bool:
    """Whether a run is drawn: not the ensemble without its parts, nor baselines in hindsight."""
    return run["role"] != "hindsight" and name not in PARTS


def ranks(verdict: Verdict) -> dict[str, float]:
    """The place of each method on a stream, 1 the best, by its distance from the ensemble on common rounds."""
    ours = verdict.runs[OURS]
    losses = {n: -gap(ours, run) for n, run in verdict.runs.items() if shown(n, run)}
    values = np.array(list(losses.values()))
    return {name: float(1 + (values < v).sum() + ((values == v).sum() - 1) / 2) for name, v in losses.items()}


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "study"
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters as letters, and one name of a font: a quarter of the size
    matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans"]
    from matplotlib import pyplot

    return pyplot


def _saved(plt: Any, page: Any, path: Path) -> Path:
    page.savefig(path, format="svg", metadata={"Date": None})
    plt.close(page)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(line.strip() for line in lines if line.strip()) + "\n", encoding="utf-8")
    return path


def draw_ranks(names: Sequence[str], mean: Any, difference: float, path: Path) -> Path:
    """The critical-difference diagram: mean ranks, bars over those that do not differ at 5%."""
    plt = _pyplot()
    order = np.argsort(mean, kind="stable")
    places = np.asarray(mean)[order]
    page, ax = plt.subplots(figsize=(9, 0.28 * len(names) + 1), layout="constrained")
    for row, i in enumerate(order):
        ax.plot(
            mean[i], row, "s" if names[i] == OURS else "o", color="tab:blue" if names[i] == OURS else "tab:orange"
        )
        ax.annotate(f"{names[i]} {mean[i]:.2f}", (mean[i], row), (6, -3), textcoords="offset points", fontsize=8)
    for first, last in not_apart(places, difference):
        ax.plot([places[first]] * 2, [first, last], color="black", linewidth=0.8)
    ax.plot([1, 1 + difference], [-1, -1], color="black", linewidth=2)
    ax.annotate(f"critical difference {difference:.2f}", (1, -1), (0, 4), textcoords="offset points", fontsize=8)
    ax.set_ylim(len(names), -2)
    ax.set_yticks([])
    ax.set_xlim(0.8, max(len(names), 2) + 1)
    ax.set_xlabel("mean rank, 1 is the lowest loss; lines join ranks that do not differ at 5% (Nemenyi)", fontsize=8)
    return _saved(plt, page, path)


def draw(found: Sequence[Verdict], path: Path) -> Path:
    """The page, as SVG."""
    plt = _pyplot()
    down = -(-len(found) // ACROSS)
    page = plt.figure(figsize=(4 * ACROSS, 3 * down + 5), layout="constrained")
    above, below = np.ravel(np.asarray(page.subfigures(2, 1, height_ratios=[3 * down, 5])))
    axes = np.atleast_1d(above.subplots(down, ACROSS, squeeze=False)).ravel()
    for ax, verdict in zip(axes, found, strict=False):
        _stream(ax, verdict)
    for ax in axes[len(found) :]:
        ax.set_axis_off()
    _ranks(below.subplots(), found)
    return _saved(plt, page, path)


def _stream(ax: Any, verdict: Verdict) -> None:
    runs = {name: run for name, run in verdict.runs.items() if shown(name, run)}
    points = [(max(seconds(run), 1e-7), float(np.mean(run["losses"]))) for run in runs.values()]
    alike: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for (name, run), point in zip(runs.items(), points, strict=True):
        marker = "s" if name == OURS else "^" if run["variant"] == "tuned" else "o"
        alike.setdefault((marker, COLOURS[run["role"]], 7 if name == OURS else 4), []).append(point)
    for (marker, colour, size), these in alike.items():
        ax.plot(*zip(*these, strict=True), marker, color=colour, markersize=size)
    best = [points[i] for i in front(points)]
    ax.step([x for x, _ in best], [y for _, y in best], where="post", color="black", linewidth=0.6)
    for i in front(points):
        ax.annotate(list(runs)[i], points[i], fontsize=5)
    ax.set_xscale("log")
    if min(y for _, y in points) > 0:
        ax.set_yscale("log", subs=[])
        ax.yaxis.get_major_locator().set_params(subs=(1.0, 2.0, 5.0))
    ax.set_title(verdict.stream, fontsize=8)
    ax.tick_params(labelsize=6)
    ax.minorticks_off()
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda value, place: f"{value:g}")
    ax.set_xlabel("CPU seconds a round", fontsize=6)
    ax.set_ylabel("mean loss", fontsize=6)


def _ranks(ax: Any, found: Sequence[Verdict]) -> None:
    places: dict[str, list[float]] = {}
    for verdict in found:
        for name, place in ranks(verdict).items():
            places.setdefault(name, []).append(place)
    names = sorted(places, key=lambda name: float(np.mean(places[name])))
    ax.boxplot([places[name] for name in names], showfliers=False)
    ax.set_xticks(
        range(1, len(names) + 1), [f"{n} ({len(places[n])})" for n in names], rotation=60, ha="right", fontsize=6
    )
    ax.set_title("Places over the streams that a method ran on (how many), 1 is the lowest loss", fontsize=8)

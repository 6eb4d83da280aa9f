"""The figures of a report, as plain plotly objects {data, layout}.

Colours are names, such as "@learner", which the page puts in for the light or the dark scheme (`page.css`). Every
line has a dash of its own as well, so that no colour is needed to tell them apart.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.reports.history import rolling, running
from oskaar.reports.recorder import Recorder

Figure = dict[str, Any]

DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot")

DRAWN = 30
"""Changes that are marked: those with the most evidence."""


def losses(recorder: Recorder, window: int | None = None) -> Figure:
    """Mean losses of the learner and the baselines so far, or of the last `window` blocks."""
    blocks = recorder.blocks
    data = []
    for i, name in enumerate([recorder.name, *recorder.baselines]):
        sums, counts = blocks["loss" if i == 0 else f"loss of {name}"], blocks["judged"]
        means = running(sums, counts) if window is None else rolling(sums, counts, window)
        data.append(line(blocks.ends, means, name, i))
    return {"data": data, "layout": {**axes("round", "mean loss"), **marks(recorder)}}


def window(recorder: Recorder) -> int:
    """How many blocks the rolling mean is over: a twentieth of the stream, 20 rounds or more."""
    rounds = recorder.rounds
    return max(1, round(min(rounds, max(20, rounds / 20)) / recorder.blocks.size))


def regret(recorder: Recorder) -> Figure:
    """The regret, and what it cannot exceed where that is known and less than all that could be lost."""
    blocks = recorder.blocks
    data = [line(blocks.ends, np.cumsum(blocks["regret"]), "regret", 0)]
    if bound_says(recorder):
        data.append(line(blocks.ends, bound(recorder), "bound", 1))
    return {"data": data, "layout": {**axes("round", "regret"), **marks(recorder)}}


def bound_says(recorder: Recorder) -> bool:
    """Whether there is a bound, and it is below what the rounds could cost at most."""
    return recorder.diameter is not None and bool(bound(recorder)[-1] < recorder.most * recorder.rounds)


def bound(recorder: Recorder) -> Array:
    """diameter sqrt(t sum_{s<=t} |phi_s - g_s|^2) + gap at the end of each block, with the last diameter and gap."""
    t, surrogate = recorder.blocks.ends, np.cumsum(recorder.blocks["surrogate"])
    found: Array = float(recorder.diameter or 0.0) * np.sqrt(t * surrogate) + recorder.gap
    return found


def weights(recorder: Recorder) -> Figure:
    """Restart weights over time: a column for each time, a row for each bin of restart rounds."""
    found = recorder.weights
    picture = found.picture()
    firsts = 1 + found.width * np.arange(len(picture))
    later = firsts[:, None] > np.array(found.rounds)[None, :] + 1  # not born yet
    ticks = [0.0, 0.01, 0.1, 0.25, 0.5, 1.0]
    image = {
        "type": "heatmap",
        "x": found.rounds,
        "y": json_numbers(firsts + (found.width - 1) / 2),
        "z": json_numbers(np.where(later, np.nan, np.sqrt(picture))),  # light weights are seen as well
        "customdata": json_numbers(np.where(later, np.nan, picture)),
        "hovertemplate": "after round %{x}<br>restart about %{y}<br>weight %{customdata:.3f}<extra></extra>",
        "colorscale": "Cividis",
        "zmin": 0.0,
        "zmax": 1.0,
        "hoverongaps": False,
        "colorbar": {
            "tickvals": json_numbers(np.sqrt(ticks)),
            "ticktext": [f"{tick:g}" for tick in ticks],
            "thickness": 12,
            "outlinewidth": 0,
            "title": {"text": "weight"},
        },
    }
    shown = strongest(recorder)
    cross = {
        "type": "scatter",
        "mode": "markers",
        "name": "change noticed",
        "x": [change[1] for change in shown],
        "y": [change[0] for change in shown],
        "marker": {"symbol": "x", "size": 12, "color": "@change", "line": {"width": 1.5, "color": "#ffffff"}},
        "hovertemplate": "changed at %{y}<br>noticed after %{x}<extra></extra>",
    }
    layout = {**axes("round", "restarted at round"), **marks(recorder)}
    return {"data": [image, *([cross] if shown else [])], "layout": layout}


def dimension(recorder: Recorder) -> Figure:
    """The effective dimension, looked at now and then."""
    points = [(s["round"], s["dimension"]) for s in recorder.samples if s.get("dimension") is not None]
    data = [line([t for t, _ in points], [d for _, d in points], "effective dimension", 0, dots=True)]
    return {"data": data, "layout": {**axes("round", "effective dimension"), **marks(recorder)}}


def cost(recorder: Recorder) -> Figure:
    """Milliseconds a round, measured, and what the learner holds."""
    blocks = recorder.blocks
    counts = np.diff(blocks.ends, prepend=0).astype(float)
    over = max(1, window(recorder) // 2)
    data = [line(blocks.ends, 1e3 * rolling(blocks["seconds"], counts, over), "milliseconds a round", 0)]
    layout = axes("round", "ms a round")
    layout["yaxis"]["range"] = [0, 1.25 * float(np.quantile(data[0]["y"], 0.97)) or 1.0]  # the first calls are slow
    held = [(s["round"], s["bytes"] / 1e6) for s in recorder.samples if "bytes" in s]
    if held:
        more = line([t for t, _ in held], [size for _, size in held], "megabytes held", 1, dots=True)
        data.append({**more, "yaxis": "y2"})
        right = {
            "overlaying": "y",
            "side": "right",
            "showgrid": False,
            "rangemode": "tozero",
            "tickmode": "auto",
            "nticks": 5,
        }
        layout["yaxis2"] = {**right, "title": {"text": "MB"}, "color": "@text", "automargin": True}
    return {"data": data, "layout": layout}


def strongest(recorder: Recorder) -> list[list[float]]:
    """The changes that are drawn."""
    kept = sorted(recorder.changes, key=lambda change: -change[2])[:DRAWN]
    return sorted(kept)


def marks(recorder: Recorder) -> Figure:
    """A line at each change."""
    shapes = [
        {
            "type": "line",
            "x0": change[0],
            "x1": change[0],
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "line": {"color": "@change", "width": 1.5, "dash": "dot"},
        }
        for change in strongest(recorder)
    ]
    return {"shapes": shapes}


def line(x: Any, y: Any, name: str, i: int, dots: bool = False) -> Figure:
    """A line; the first is the learner's, thick and whole."""
    style = {"color": "@learner" if i == 0 else f"@other{1 + (i - 1) % 5}", "width": 2.5 if i == 0 else 2.0}
    style["dash"] = "solid" if i == 0 else DASHES[(i - 1 + (i - 1) // 5) % len(DASHES)]  # 25 pairs of dash and colour
    few = len(np.atleast_1d(x)) < 3
    mode = "lines+markers" if dots or few else "lines"
    return {"type": "scatter", "mode": mode, "name": name, "x": json_numbers(x), "y": json_numbers(y), "line": style}


def axes(x: str, y: str) -> Figure:
    """What all figures share."""
    axis = {
        "gridcolor": "@grid",
        "zerolinecolor": "@grid",
        "linecolor": "@grid",
        "color": "@text",
        "automargin": True,
    }
    return {
        "xaxis": {**axis, "title": {"text": x}, "tickformat": ",d"},
        "yaxis": {**axis, "title": {"text": y}, "rangemode": "tozero"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "@text", "size": 13},
        "hoverlabel": {"bgcolor": "@paper", "font": {"color": "@text"}},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "bgcolor": "rgba(0,0,0,0)"},
        "showlegend": True,
        "margin": {"l": 10, "r": 10, "t": 40, "b": 10},
        "dragmode": False,
        "uirevision": "same",
    }


def json_numbers(values: Any) -> list[Any]:
    """Numbers for JSON, with seven digits of the largest; None for NaN.

    >>> json_numbers(np.array([1 / 3, 200 / 3, np.nan]))
    [0.33333, 66.66667, None]
    """
    values = np.asarray(values)
    if values.dtype.kind == "i" or not values.size:
        return list(values.tolist())
    known = np.isfinite(values)
    largest = float(np.abs(values[known]).max(initial=0.0))
    digits = 6 - math.floor(math.log10(largest)) if largest > 0 else 0
    rounded = np.round(values, min(max(digits, 0), 300))
    if not known.all():
        rounded = rounded.astype(object)
        rounded[~known] = None
    return list(rounded.tolist())

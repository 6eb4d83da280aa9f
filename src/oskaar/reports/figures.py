"""The figures of a report, as plain plotly objects {data, layout}.

Colours are names, such as "@learner", which the page puts in for the light or the dark scheme (`page.css`). Every
line has a dash of its own as well, so that no colour is needed to tell them apart.
"""

from __future__ import annotations

import numpy as np

from oskaar.arrays import Array
from oskaar.reports.blocks import rolling, running
from oskaar.reports.drawing import Figure, axes, line, plain
from oskaar.reports.recorder import Recorder

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
    """The regret, and what it cannot exceed where that is known."""
    blocks = recorder.blocks
    data = [line(blocks.ends, np.cumsum(blocks["regret"]), "regret", 0)]
    if recorder.diameter is not None:
        data.append(line(blocks.ends, bound(recorder), "bound", 1))
    return {"data": data, "layout": {**axes("round", "regret"), **marks(recorder)}}


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
        "y": plain(firsts + (found.width - 1) / 2),
        "z": plain(np.where(later, np.nan, np.sqrt(picture))),  # light weights are seen as well
        "customdata": plain(np.where(later, np.nan, picture)),
        "hovertemplate": "after round %{x}<br>restart about %{y}<br>weight %{customdata:.3f}<extra></extra>",
        "colorscale": "Cividis",
        "zmin": 0.0,
        "zmax": 1.0,
        "hoverongaps": False,
        "colorbar": {
            "tickvals": plain(np.sqrt(ticks)),
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
    """A line at each change, and the range of rounds, the same in every figure."""
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

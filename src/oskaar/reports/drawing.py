"""Lines, axes and numbers of figures, as plotly knows them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Figure = dict[str, Any]

DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot")


def line(x: Any, y: Any, name: str, i: int, dots: bool = False) -> Figure:
    """A line; the first is the learner's, thick and whole."""
    style = {"color": "@learner" if i == 0 else f"@other{1 + (i - 1) % 5}", "width": 2.5 if i == 0 else 2.0}
    style["dash"] = "solid" if i == 0 else DASHES[(i - 1 + (i - 1) // 5) % len(DASHES)]  # 25 pairs of dash and colour
    few = len(np.atleast_1d(x)) < 3
    mode = "lines+markers" if dots or few else "lines"
    return {"type": "scatter", "mode": mode, "name": name, "x": plain(x), "y": plain(y), "line": style}


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


def plain(values: Any) -> list[Any]:
    """Numbers for JSON, with seven digits of the largest; None for NaN.

    >>> plain(np.array([1 / 3, 200 / 3, np.nan]))
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

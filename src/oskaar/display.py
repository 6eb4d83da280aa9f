"""Learners, replays and certificates as notebooks show them, all text escaped; labels and answers as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np


def html_table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """A title, and names with values.

    >>> html_table("<x>", [("rounds", 3)])
    '<div><b>&lt;x&gt;</b><table><tr><th style="text-align:left">rounds</th><td>3</td></tr></table></div>'
    """
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td>{escape(_shown(value))}</td></tr>'
        for name, value in rows
    )
    return f"<div><b>{escape(title)}</b><table>{cells}</table></div>"


def _shown(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def jsonable(z: Any) -> Any:
    """A label or an answer as JSON knows it.

    >>> jsonable((np.float64(1.0), frozenset({2, 1})))
    [1.0, [1, 2]]
    """
    if isinstance(z, (np.ndarray, np.generic)):
        return jsonable(z.tolist())
    if isinstance(z, (set, frozenset)):
        return [jsonable(item) for item in sorted(z, key=lambda item: (type(item).__name__, item))]
    if isinstance(z, dict):
        return {str(key): jsonable(value) for key, value in z.items()}
    return [jsonable(item) for item in z] if isinstance(z, (tuple, list)) else z

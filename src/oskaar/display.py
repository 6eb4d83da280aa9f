"""Learners, replays and certificates as notebooks show them. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


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

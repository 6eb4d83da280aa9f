"""A page of several learners on one stream: `oskaar compare --report report.html`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.reports.page import losses_html, page
from oskaar.reports.parts import escaped, settings
from oskaar.reports.recorder import OWN, Recorder

DRAWN = 12
"""Learners that are drawn: the best."""


def comparison(
    losses: dict[str, Array],
    rows: Sequence[dict[str, Any]],
    *,
    judged: Any = None,
    result: dict[str, Any] | None = None,
    title: str = "Learners on one stream",
    command: str = "",
) -> str:
    """The page as a text.

    losses: of each learner, round by round. rows: `name`, `mean_loss`, `worse_by` and `interval` of each, the best
    first. judged: which rounds count; None for all. result, command: as in `html`.

    >>> rows = [{"name": "a", "mean_loss": 0.5, "worse_by": 0.0, "interval": [0.0, 0.0]}]
    >>> "95% interval" in comparison({"a": np.array([0.0, 1.0])}, rows)
    True
    """
    names = [row["name"] for row in rows][:DRAWN]
    recorder = Recorder(names[0], names[1:])
    counted = np.ones(len(losses[names[0]])) if judged is None else np.asarray(judged, dtype=float)
    blank = np.zeros((len(OWN) - 1, len(counted)))
    recorder.blocks.add(np.concatenate([[counted], blank, [counted * losses[name] for name in names]]))
    head = [f"<h1>{escaped(title)}</h1>", *_table(rows, round(float(counted.sum())))]
    return page(title, [*head, *losses_html(recorder), *settings(result or {}, command)])


def _table(rows: Sequence[dict[str, Any]], judged: int) -> Iterator[str]:
    yield f'<p class="soft">{judged:,} rounds were judged. The best of many settings looks better than it is.</p>'
    titles = "".join(f"<th>{name}</th>" for name in ("", "mean loss", "worse by", "95% interval"))
    yield f"<table><thead><tr>{titles}</tr></thead><tbody>"
    for i, row in enumerate(rows):
        low, high = row["interval"]
        numbers = (f"{row['mean_loss']:.4f}", f"{row['worse_by']:.4f}", f"[{low:.4f}, {high:.4f}]")
        cells = "".join(f'<td class="n">{number}</td>' for number in numbers)
        first = ' class="first"' if i == 0 else ""
        yield f"<tr{first}><th>{escaped(row['name'])}</th>{cells}</tr>"
    yield "</tbody></table>"
    if len(rows) > DRAWN:
        yield f'<p class="soft">Lines are drawn for the best {DRAWN}.</p>'

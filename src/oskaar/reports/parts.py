"""The parts of a page that are text: the table on top, the worst rounds, the settings. All of it is escaped."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
import scipy

from oskaar.metrics import verdict
from oskaar.reports.history import Bad
from oskaar.reports.recorder import WARM_UP, Recorder
from oskaar.reports.text import cut, value

MOST, HEAVIEST, LISTED = 50, 10, 60
"""Labels, experts and columns that are shown."""


def escaped(text: object) -> str:
    """A text with HTML's characters escaped.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return escape(str(text), quote=True)


def warnings(recorder: Recorder, result: dict[str, Any]) -> Iterator[str]:
    """Warnings on top of the page."""
    if not recorder.rounds:
        yield '<p class="warn">There were no rounds: there is nothing to show.</p>'
    if result.get("interrupted"):
        yield f'<p class="warn">The run was interrupted: this is of the first {recorder.rounds:,} rounds.</p>'


def summary(recorder: Recorder, result: dict[str, Any]) -> Iterator[str]:
    """Mean losses, and a few numbers."""
    judged = round(float(recorder.blocks["judged"].sum()))
    seconds = result.get("seconds", float(recorder.blocks["seconds"].sum()))
    tiles = [("rounds judged", f"{judged:,}"), ("seconds", f"{seconds:.3g}")]
    if recorder.rounds > judged:
        tiles.insert(1, ("learned, not judged", f"{recorder.rounds - judged:,}"))
    if result.get("skipped"):
        tiles.append(("rows skipped", f"{result['skipped']:,}"))
    if recorder.changes:
        tiles.append(("changes found", str(len(recorder.changes))))
    own = recorder.mean(recorder.name)
    means = {name: recorder.mean(name) for name in recorder.baselines}
    if words := result.get("verdict") or verdict(None, own, means):
        yield f'<p class="verdict">{escaped(words)}</p>'
    if own is None:
        yield '<p class="soft">No round was judged.</p>'
    else:
        yield "<table><caption>Lower is better.</caption>"
        yield "<thead><tr><td></td><th>mean loss</th><th>worse by</th></tr></thead><tbody>"
        yield f'<tr class="first"><th>{escaped(recorder.name)}</th><td class="n">{own:.4f}</td><td></td></tr>'
        for name in recorder.baselines:
            mean = recorder.mean(name) or 0.0
            cells = "".join(f'<td class="n">{cell}</td>' for cell in (f"{mean:.4f}", f"{mean - own:+.4f}"))
            yield f"<tr><th>{escaped(name)}</th>{cells}</tr>"
        yield "</tbody></table>"
    yield '<div class="tiles">'
    yield from (f"<div><b>{number}</b><span>{what}</span></div>" for what, number in tiles)
    yield "</div>"
    if result.get("metrics"):
        named = ", ".join(f"{escaped(name)} {value:.4g}" for name, value in result["metrics"].items())
        yield f"<p>{named}</p>"
    if result.get("loss"):
        yield f'<p class="soft">{escaped(result["loss"])}. Every answer was given before its label was seen.</p>'


def by_label(result: dict[str, Any]) -> Iterator[str]:
    """How each class, level or tag fared, the most frequent first: result["labels"], as `Metrics.label_counts`."""
    counts = {name: each for name, each in (result.get("labels") or {}).items() if name is not None}
    if not counts:
        return
    shown = sorted(counts.items(), key=lambda item: (-item[1][0], str(item[0])))
    yield "<section><h2>By label</h2>"
    more = f" The {MOST} most frequent of {len(shown):,}." if len(shown) > MOST else ""
    yield (
        '<p class="soft">Precision: of the answers that had it, how many were right. Recall: of the labels that had '
        f"it, how many were found. F1: both in one number. Higher is better.{more}</p>"
    )
    titles = "".join(f"<th>{title}</th>" for title in ("label", "labels", "answers", "precision", "recall", "F1"))
    yield f'<div class="scroll" tabindex="0"><table><thead><tr>{titles}</tr></thead><tbody>'
    for name, (labels, answers, hits) in shown[:MOST]:
        ratios = (
            hits / answers if answers else None,
            hits / labels if labels else None,
            2 * hits / (labels + answers),
        )
        cells = [f"{labels:,}", f"{answers:,}", *("-" if ratio is None else f"{ratio:.3f}" for ratio in ratios)]
        numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
        yield f'<tr><th class="label">{escaped(value(name))}</th>{numbers}</tr>'
    yield "</tbody></table></div></section>"


def columns(result: dict[str, Any]) -> Iterator[str]:
    """What the columns were read as, and what was inferred."""
    read = [part for part in str(result.get("columns") or "").split("; ") if part]
    notes = [*result.get("inferred", []), *read]
    if notes:
        yield "<section><h2>Columns</h2>"
        yield '<p class="soft">Inferred from the file: --y, --x, --loss and --as say otherwise.</p><ul>'
        yield from (f"<li>{escaped(cut(note, 400))}</li>" for note in notes[:LISTED])
        yield f"<li>... {len(notes):,} in all</li></ul></section>" if len(notes) > LISTED else "</ul></section>"


def experts(recorder: Recorder) -> Iterator[str]:
    """The heaviest experts of the ensemble at the end."""
    if not recorder.experts:
        return
    yield "<section><h2>Experts</h2>"
    yield '<p class="soft">What the answers were made of at the end: weights add up to 1.</p>'
    yield "<table><thead><tr><th>expert</th><th>weight</th></tr></thead><tbody>"
    heaviest = sorted(recorder.experts.items(), key=lambda item: -item[1])[:HEAVIEST]
    for name, weight in [each for each in heaviest if each[1] >= 0.0005]:
        yield f'<tr><th>{escaped(name)}</th><td class="n">{weight:.3f}</td></tr>'
    yield "</tbody></table></section>"


def worst(recorder: Recorder) -> Iterator[str]:
    """A card for each of the worst rounds."""
    found = recorder.worst_rounds()
    yield "<section><h2>Worst rounds</h2>"
    if not found:
        yield '<p class="soft">No judged round had a loss above 0.</p></section>'
        return
    early = f" The first {WARM_UP} rounds are left out: any learner errs in them." * (recorder.rounds >= 2 * WARM_UP)
    yield (
        '<p class="soft">The largest losses; among equal ones, those whose estimate was farthest from the label. '
        f"x is the row, y the label, z the answer.{early}</p>"
        '<div class="cards">'
    )
    yield from map(_card, found)
    yield "</div></section>"


def _card(bad: Bad) -> str:
    line = "" if bad.line is None else f", line {bad.line:,}"
    head = f"<article><h3>loss {bad.loss:.4g} in round {bad.round:,}{line}</h3>"
    if all(isinstance(each, list) for each in (bad.x, bad.y, bad.z)):
        rows = "".join(_part(*each, bad.alike) for each in zip(bad.x, bad.y, bad.z, strict=True))
        titles = "<thead><tr><th>x</th><th>y</th><th>z</th></tr></thead>"
        return f"{head}<table>{titles}<tbody>{rows}</tbody></table></article>"
    pairs = [(key, getattr(bad, key)) for key in "xyz"]
    inside = "".join(f"<dt>{key}</dt><dd>{_lines(value)}</dd>" for key, value in pairs)
    return f"{head}<dl>{inside}</dl></article>"


def _part(x: str, y: str, z: str, alike: bool) -> str:
    """A part of a round; those that differ have a class, and a cross by it."""
    miss = "" if y == z or not alike else ' class="miss"'
    return f"<tr{miss}><td>{escaped(x)}</td><td>{escaped(y)}</td><td>{escaped(z)}</td></tr>"


def _lines(value: Any) -> str:
    return "<br>".join(map(escaped, value)) if isinstance(value, list) else escaped(value)


def settings(result: dict[str, Any], command: str) -> Iterator[str]:
    """What to type to do it again, and with what it was done."""
    import oskaar

    yield "<section><h2>Settings to reproduce it</h2>"
    if command:
        yield f"<pre>{escaped(command)}</pre>"
    facts = [(key, result.get(key)) for key in ("file", "loss", "learner")]
    versions = f"oskaar {oskaar.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
    facts.append(("seeds", "fixed: where inputs are drawn, for features, the same file gives the same numbers again"))
    facts.append(("versions", versions + f"Python {platform.python_version()}"))
    yield "<table><tbody>"
    yield from (f"<tr><th>{key}</th><td>{escaped(value)}</td></tr>" for key, value in facts if value)
    yield "</tbody></table>"
    yield "</section>"

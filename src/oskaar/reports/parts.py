"""The parts of a page that are text: the table on top, the worst rounds, the settings. All of it is escaped."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np
import scipy

from oskaar.reports.recorder import Recorder
from oskaar.reports.worst import Bad


def escaped(text: object) -> str:
    """A text that can do nothing but be read.

    >>> escaped("<b>")
    '&lt;b&gt;'
    """
    return escape(str(text), quote=True)


def warnings(recorder: Recorder, result: dict[str, Any]) -> Iterator[str]:
    """What must be known before reading on."""
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
    regret = float(recorder.blocks["regret"].sum())
    tiles.append(("regret of all rounds", f"{regret:.4g}"))
    if recorder.changes:
        tiles.append(("changes found", str(len(recorder.changes))))
    own = recorder.mean(recorder.name)
    if own is None:
        yield '<p class="soft">No round was judged.</p>'
    else:
        yield "<table><thead><tr><th></th><th>mean loss</th><th>worse by</th></tr></thead><tbody>"
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


def worst(recorder: Recorder, result: dict[str, Any]) -> Iterator[str]:
    """A card for each of the worst rounds."""
    found = recorder.worst.sorted()
    yield "<section><h2>Worst rounds</h2>"
    if not found:
        yield '<p class="soft">No judged round had a loss above 0.</p></section>'
        return
    yield (
        '<p class="soft">The largest losses; among equal ones, those whose estimate was farthest from the label. '
        "x is as the learner saw it, y the label, z the answer.</p>"
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
    facts.append(("versions", versions + f"Python {platform.python_version()}"))
    yield "<table><tbody>"
    yield from (f"<tr><th>{key}</th><td>{escaped(value)}</td></tr>" for key, value in facts if value)
    yield "</tbody></table>"
    if result.get("inferred"):
        yield '<p class="soft">Inferred from the file:</p><ul class="soft">'
        yield from (f"<li>{escaped(note)}</li>" for note in result["inferred"])
        yield "</ul>"
    yield "</section>"

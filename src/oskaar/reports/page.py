"""The page: one file with its own style and script, and plotly in it: it needs no network."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from importlib.util import find_spec
from typing import IO, Any

import numpy as np

from oskaar.arrays import Array
from oskaar.reports import figures
from oskaar.reports.parts import by_label, columns, escaped, experts, settings, summary, warnings, worst
from oskaar.reports.recorder import OWN, SMALL, Recorder
from oskaar.state.writing import replaced

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
"""Nothing is loaded, whatever is in the file that the run was about."""

DRAWN = 12
"""Learners that are drawn: the best."""


def write(
    recorder: Recorder, path: str | os.PathLike[str], result: dict[str, Any] | None = None, **more: Any
) -> None:
    """Write the report of a run to a file; see `html`.

    >>> import pathlib, tempfile
    >>> from oskaar import Ensemble, losses, reports
    >>> recorder = reports.record(Ensemble(losses.ZeroOne("ab")), [[0.0]] * 60, "a" * 30 + "b" * 30)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     reports.write(recorder, path, title="a to b")
    ...     "<h1>a to b</h1>" in path.read_text(encoding="utf-8")
    True
    """
    Destination(path).write(html(recorder, result, **more))


def html(
    recorder: Recorder, result: dict[str, Any] | None = None, *, title: str = "A run of oskaar", command: str = ""
) -> str:
    """The page as a text.

    result: what `oskaar learn --json` prints, for the table on top and the settings.
    command: what to type to do it again. All texts are escaped.
    """
    result = result or {}
    body = [f"<h1>{escaped(title)}</h1>", *warnings(recorder, result), *summary(recorder, result)]
    if recorder.rounds:
        body += [*losses_html(recorder), *by_label(result), *worst(recorder), *columns(result), *experts(recorder)]
        body += [*_restarts(recorder), _cost(recorder), *_theory(recorder)]
    return page(title, [*body, *settings(result, command)], plots=bool(recorder.rounds))


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


def page(title: str, body: Iterable[str], plots: bool = True) -> str:
    """A page around pieces of HTML; its figures are `figure_html`."""
    require_plotly()
    from plotly.offline import get_plotlyjs

    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escaped(title)}</title><link rel="icon" href="data:,"><style>{_own("page.css")}</style>'
    )
    scripts = f"<script>{get_plotlyjs()}</script><script>{_own('page.js')}</script>" if plots else ""
    main = "\n".join(body)
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head>\n<body>\n{main}\n{scripts}\n</body></html>\n'


def _own(name: str) -> str:
    return files("oskaar.reports").joinpath(name).read_text(encoding="utf-8")


def losses_html(recorder: Recorder) -> Iterator[str]:
    """Running and rolling mean losses, side by side where there is room."""
    last = min(recorder.rounds, figures.window(recorder) * recorder.blocks.size)
    yield '<div class="two">'
    about = "Of all judged rounds up to each; lower is better."
    yield figure_html("running", "Mean loss so far", figures.losses(recorder), about)
    rolled = figures.losses(recorder, figures.window(recorder))
    yield figure_html(
        "rolling", "Rolling mean loss", rolled, f"Of the last {last:,} rounds, fewer at the start; lower is better."
    )
    yield "</div>"


def _restarts(recorder: Recorder) -> Iterator[str]:
    if not recorder.weights.rounds:
        return
    found = recorder.changes
    where = ", ".join(f"{int(change[0]):,}" for change in figures.strongest(recorder))
    less = f", the {figures.DRAWN} with the most evidence" if len(found) > figures.DRAWN else ""
    changed = f"{len(found)} found{less}: from round {where}" if found else "none found"
    about = (
        "Each column has the weights of the restarts after that round. They say what the estimate is made of; the "
        "change points are a test of their own, with few false alarms "
        f"(dotted lines; crosses where they were noticed): {changed}."
    )
    yield figure_html("weights", "Restart weights and change points", figures.weights(recorder), about, " tall")


def _cost(recorder: Recorder) -> str:
    last: dict[str, Any] = next((s for s in reversed(recorder.samples) if "operations" in s), {})
    about = "Time of the learner alone."
    if last:
        about += f" After round {last['round']:,} a round took about {last['operations']:.3g} operations."
    return figure_html("cost", "Cost of a round", figures.cost(recorder), about)


def _theory(recorder: Recorder) -> Iterator[str]:
    """Regret, its bound, and the effective dimension."""
    yield '<div class="two">'
    yield figure_html("regret", "Regret and its bound", figures.regret(recorder), _bound(recorder))
    if any(sample.get("dimension") is not None for sample in recorder.samples):
        about = _dimension(recorder)
        yield figure_html("dimension", "Effective dimension", figures.dimension(recorder), about)
    yield "</div>"


def _bound(recorder: Recorder) -> str:
    if recorder.diameter is None:
        return "No bound is known for this learner or this loss. The best possible answer to each label has regret 0."
    about = "The losses less those of the best possible answer to each label. "
    formula = f"d &radic;T &radic;(sum of surrogate losses), d = {recorder.diameter:.4g} the diameter of the loss"
    if not figures.bound_says(recorder):
        last, most = float(figures.bound(recorder)[-1]), recorder.most * recorder.rounds
        return f"{about}The bound, {formula}, is {last:,.4g}: it says nothing, as at most {most:,.4g} could be lost."
    return (
        f"{about}The bound holds for any data: {formula}. Tap a name to hide its line"
        '<span class="mouse">; drag to zoom, double-click to go back</span>.'
    )


def _dimension(recorder: Recorder) -> str:
    about = "How many directions of the input space there are to learn: Tr K (K + &lambda;I)<sup>-1</sup>"
    about += ", of the rows since each restart by its weight." if recorder.weights.rounds else "."
    last = recorder.samples[-1]
    if last["probes"]:
        off = (2 * last["dimension"] / last["probes"]) ** 0.5
        about += f" Estimated after {SMALL} rows; at the end the standard error is at most {off:.2g}."
    return about


def figure_html(key: str, title: str, figure: figures.Figure, about: str, kind: str = "") -> str:
    """A section with a figure that the script of the page draws; title and about are HTML."""
    text = json.dumps(figure, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<section><h2>{title}</h2><figure><figcaption>{about}</figcaption><div class="plot{kind}" id="{key}">'
        f"<noscript>Scripts are off: figures are not drawn.</noscript></div></figure>"
        f'<script type="application/json" data-figure="{key}">{text}</script></section>'
    )


def require_plotly() -> None:
    """Refuse to draw figures without plotly."""
    if find_spec("plotly") is None:
        raise ValueError("a report needs plotly, which is not installed: pip install 'oskaar[report]'.")


class Destination:
    """A file that is replaced in one step. Raises ValueError where it cannot be written, before a long run.

    >>> Destination("no such folder/report.html")
    Traceback (most recent call last):
    ...
    ValueError: the report no such folder/report.html cannot be written: No such file or directory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with contextlib.suppress(_Possible), self._replaced():
            raise _Possible

    def write(self, content: str) -> None:
        """All of it, or nothing."""
        with self._replaced() as file:
            file.write(content.encode("utf-8"))

    @contextlib.contextmanager
    def _replaced(self) -> Iterator[IO[bytes]]:
        try:
            with replaced(self.path) as file:
                yield file
        except OSError as error:
            raise ValueError(f"the report {self.path} cannot be written: {error.strerror}.") from None


class _Possible(Exception):
    """A file can be written, and is not."""

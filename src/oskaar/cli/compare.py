"""`oskaar compare FILE`: several learners, kernels and lams on one stream, beside the baselines.

Differences from the best come with a 95% interval by a circular block bootstrap of the paired losses: blocks of
neighbouring rounds, so that rounds that resemble their neighbours do not count as independent.
"""

from __future__ import annotations

import json
from argparse import Namespace
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.cli.console import say, table
from oskaar.cli.models import make_baselines, make_learner
from oskaar.cli.river_learners import LEARNERS, have_river, make_river_learner, suits
from oskaar.cli.settings import open_stream
from oskaar.losses import Loss
from oskaar.replays import replay
from oskaar.tabular import ReadError
from oskaar.tabular.round_options import split

RESAMPLES = 2000


def run(options: Any) -> int:
    """Run them, and print a table from the best to the worst."""
    report = None
    if options.report:
        from oskaar.cli.report import Report

        report = Report(options)
    stream = open_stream(options)
    loss = stream.labels.loss
    settings = _settings(options, loss)
    for setting in settings.values():
        _made(setting.learner, loss, setting, stream.width)  # errors before the long part
    rounds = list(stream)
    for note in stream.notes:
        say(note)
    judged = np.array([not r.warm for r in rounds], dtype=bool)
    if not judged.any():
        raise ReadError(f"{stream.table.name} has no rounds to judge.")
    say(f"{len(settings)} settings on {len(rounds)} rounds: the best of many looks better than it is")
    xs: Any = [r.x for r in rounds]
    xs = np.array(xs) if stream.dense and not stream.group else xs
    found = _losses(settings, loss, stream.width, xs, [r.y for r in rounds], options.jobs)
    rows = ranked({name: losses[judged] for name, losses in found.items()})
    if report:
        facts = {"loss": repr(loss), "file": stream.table.name, "inferred": stream.notes}
        say(f"the report is {report.write_comparison(found, rows, judged, facts)}")
    if options.json:
        print(json.dumps({"rounds": int(judged.sum()), "loss": repr(loss), "learners": rows}))
        return 0
    lines = [["", "mean loss", "worse by", "95% interval"]]
    for row in rows:
        low, high = row["interval"]
        lines.append([row["name"], f"{row['mean_loss']:.4f}", f"{row['worse_by']:.4f}", f"[{low:.4f}, {high:.4f}]"])
    print(f"{loss!r}, {int(judged.sum())} rounds\n\n" + "\n".join(table(lines)))
    return 0


def _settings(options: Any, loss: Loss) -> dict[str, Namespace]:
    """Every combination, by name; River's learners have one setting each."""
    river = [name for name in split(options.learner) if name.startswith("river-")]
    if options.river and not have_river():
        say("River is not installed, its learners are left out: pip install 'oskaar[river]'")
    elif options.river and not suits(loss):
        say(f"River has no learner for {loss!r}: its learners are left out")
    elif options.river:
        river += [name for name in LEARNERS if name not in river]
    kernels: list[str | None] = [*split(options.kernel or "")] or [None]
    lams: list[str | None] = [*split(options.lam or "")] or [None]
    found = {}
    for learner, kernel, lam in product(split(options.learner), kernels, lams):
        if learner not in river:
            name = " ".join(filter(None, [learner, kernel, lam and f"lam={lam}"]))
            found[name] = Namespace(**{**vars(options), "learner": learner, "kernel": kernel, "lam": lam})
    return found | {name: Namespace(**{**vars(options), "learner": name}) for name in river}


def _made(name: str, loss: Loss, setting: Any, width: int | None) -> Any:
    return make_river_learner(name, loss) if name.startswith("river-") else make_learner(name, loss, setting, width)


def _losses(
    settings: dict[str, Namespace], loss: Loss, width: int | None, xs: Any, ys: list[Any], jobs: int
) -> dict[str, Array]:
    tasks = [(setting.learner, loss, setting, width, xs, ys) for setting in settings.values()]
    if jobs > 1:
        from multiprocessing import get_context

        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            done = list(pool.map(_one, tasks))
    else:
        done = [_one(task) for task in tasks]
    baselines = {name: replay(one, xs, ys, loss=loss).losses for name, one in make_baselines(loss).items()}
    return {**dict(zip(settings, done, strict=True)), **baselines}


def _one(task: tuple[Any, ...]) -> Array:
    learner, loss, setting, width, xs, ys = task
    return replay(_made(learner, loss, setting, width), xs, ys, loss=loss, keep_estimates=False).losses


def ranked(losses: dict[str, Array]) -> list[dict[str, Any]]:
    """From the least mean loss to the largest, with the difference from the least and its interval.

    >>> [row["name"] for row in ranked({"a": np.ones(9), "b": np.zeros(9)})]
    ['b', 'a']
    """
    names = sorted(losses, key=lambda name: float(losses[name].mean()))
    best = losses[names[0]]
    rows = []
    for name in names:
        worse = losses[name] - best
        means = {"mean_loss": float(losses[name].mean()), "worse_by": float(worse.mean())}
        rows.append({"name": name, **means, "interval": list(bootstrap(worse))})
    return rows


def bootstrap(
    values: Array, resamples: int = RESAMPLES, seed: int = 0, length: int | None = None
) -> tuple[float, float]:
    """A 95% interval for the mean of values that depend on their neighbours.

    >>> bootstrap(np.full(50, 0.5))
    (0.5, 0.5)
    """
    low, high = np.quantile(resampled(values, resamples, seed, length), [0.025, 0.975])
    return float(low), float(high)


def resampled(values: Array, resamples: int = RESAMPLES, seed: int = 0, length: int | None = None) -> Array:
    """Means of `resamples` draws of T values: circular blocks are drawn with replacement until there are T of them.

    length: of a block; None is about 2 T^(1/3), at most T.

    >>> resampled(np.arange(5.0), resamples=3, length=5)
    array([2., 2., 2.])
    """
    T = len(values)
    length = min(T, round(2 * T ** (1 / 3)) if length is None else length)
    blocks = -(-T // length)
    sums = np.cumsum(np.concatenate([[0.0], values, values[: length - 1]]))
    of_block = (sums[length:] - sums[:-length]) / length  # the mean of the block that starts at each round
    starts = np.random.default_rng(seed).integers(0, T, size=(resamples, blocks))
    means: Array = of_block[starts].mean(axis=1)
    return means

"""What the runs of a stream say: who is lowest, who is significantly worse, who stands on the Pareto front.

Pairs are compared on the rounds that both have done, so that a run that hit its cap is judged on its prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from study.statistics import LEVEL, common, holm, interval, worse

OURS = "Ensemble"


@dataclass(frozen=True)
class Verdict:
    """How our untuned method stands on a stream."""

    stream: str
    runs: Mapping[str, Mapping[str, Any]]
    """All runs that went well, by title."""
    others: Mapping[str, str]
    """Runs that did not, and why."""
    differences: Mapping[str, float]
    """Our mean loss less that of each rival, on their common rounds."""
    adjusted: Mapping[str, float]
    """p-values of "ours is no worse", Holm's, over peers and baselines."""

    @property
    def lowest(self) -> bool:
        """No peer and no baseline has a lower mean loss."""
        return all(d <= 1e-12 for d in self.differences.values())

    @property
    def best_rival(self) -> str | None:
        """The peer or baseline that is the furthest ahead of us, or the least behind."""
        return max(self.differences, key=lambda name: self.differences[name], default=None)

    @property
    def significantly_worse_than(self) -> list[str]:
        """The rivals that we are significantly worse than."""
        return [name for name, p in self.adjusted.items() if p < LEVEL]

    @property
    def on_front(self) -> bool:
        """No peer and no baseline has both a loss and a time a round as low as ours, one of them lower."""
        ours = seconds(self.runs[OURS])
        return not any(
            d >= 0 and seconds(self.runs[name]) <= ours and (d > 0 or seconds(self.runs[name]) < ours)
            for name, d in self.differences.items()
        )

    @property
    def repeat_last_wins(self) -> bool:
        """Nobody who answers before the label has a lower loss than repeat-last."""
        rivals = [run for run in self.runs.values() if run["role"] in ("ours", "peer", "baseline")]
        last = self.runs.get("repeat-last")
        return last is not None and all(gap(last, run) <= 0 for run in rivals)


def title(run: Mapping[str, Any]) -> str:
    """A method, and whether it was tuned.

    >>> title({"method": "a", "variant": "default"}), title({"method": "a", "variant": "tuned"})
    ('a', 'a, tuned')
    """
    return str(run["method"]) + (", tuned" if run["variant"] == "tuned" else "")


def seconds(run: Mapping[str, Any]) -> float:
    """CPU seconds a round."""
    return float(run["cpu"]) / max(1, int(run["rounds"]))


def gap(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
    """The mean loss of a less that of b, on their common rounds."""
    first, second = common(a["losses"], b["losses"])
    return float(np.mean(first - second)) if len(first) else 0.0


def verdicts(runs: Iterable[Mapping[str, Any]]) -> list[Verdict]:
    """One for each stream on which our method was run."""
    by_stream: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        by_stream.setdefault(run["stream"], []).append(run)
    return [v for name, group in by_stream.items() if (v := verdict(name, group)) is not None]


def verdict(stream: str, runs: Iterable[Mapping[str, Any]]) -> Verdict | None:
    """What the runs of one stream say; None without ours."""
    runs = list(runs)
    well = {title(run): run for run in runs if run["status"] == "ok" and run["rounds"]}
    others = {title(run): f"{run['status']}: {run.get('error', '')}" for run in runs if title(run) not in well}
    if OURS not in well:
        return None
    ours = well[OURS]
    rivals = {name: run for name, run in well.items() if run["role"] in ("peer", "baseline")}
    differences = {name: gap(ours, run) for name, run in rivals.items()}
    tests = {name: worse(np.subtract(*common(ours["losses"], run["losses"]))) for name, run in rivals.items()}
    return Verdict(stream, well, others, differences, holm(tests))


def summary(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run for the JSON file: everything but its losses, with their mean and its interval."""
    found = {name: value for name, value in run.items() if name not in ("losses", "results", "folder")}
    if run["status"] == "ok" and run["rounds"]:
        found |= {"mean": float(np.mean(run["losses"])), "interval": list(interval(run["losses"]))}
        found["rounds_a_second"] = run["rounds"] / max(run["cpu"], 1e-9)
    return found

"""What the runs of a stream say: who is lowest, who is significantly worse, who stands on the Pareto front.

Pairs are compared on the rounds that both have done, so that a run that hit its cap is judged on its prefix. Rivals
are peers and baselines. The best rival in hindsight is the one with the lowest mean loss over all rounds; the picked
one has the lowest over the first half, which a user could have known, and is judged on the second half.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    late: Mapping[str, float]
    """The same on the second half."""
    adjusted: Mapping[str, float]
    """p-values of "ours is no worse", Holm's, over peers and baselines."""

    @property
    def rounds(self) -> int:
        """How many rounds we have done."""
        return int(self.runs[OURS]["rounds"])

    @property
    def half(self) -> int:
        """The round at which the second half begins."""
        return self.rounds // 2

    @property
    def lowest(self) -> bool:
        """No peer and no baseline has a lower mean loss."""
        return all(d <= 1e-12 for d in self.differences.values())

    @property
    def lowest_late(self) -> bool:
        """The same on the second half."""
        return all(d <= 1e-12 for d in self.late.values())

    @property
    def best_rival(self) -> str | None:
        """The peer or baseline that is the furthest ahead of us, or the least behind."""
        return max(self.differences, key=lambda name: self.differences[name], default=None)

    @property
    def best_peer(self) -> str | None:
        """The same among peers alone."""
        peers = [name for name in self.differences if self.runs[name]["role"] == "peer"]
        return max(peers, key=lambda name: self.differences[name], default=None)

    @property
    def best_late(self) -> str | None:
        """The best rival of the second half."""
        return max(self.late, key=lambda name: self.late[name], default=None)

    @property
    def picked(self) -> str | None:
        """The rival with the lowest mean loss on the first half."""
        ours = self.runs[OURS]["losses"][: self.half]
        done = [name for name in self.differences if self.runs[name]["rounds"] > self.half]
        early = {name: float(np.mean(self.runs[name]["losses"][: self.half])) for name in done} if len(ours) else {}
        return min(early, key=lambda name: early[name], default=None)

    def ratio(self, rival: str | None, start: int = 0) -> float:
        """The logarithm of our mean loss over that of a rival, on their common rounds from `start` on."""
        if rival is None:
            return 0.0
        return log_ratio(*common(self.runs[OURS]["losses"][start:], self.runs[rival]["losses"][start:]))

    @property
    def significantly_worse_than(self) -> list[str]:
        """The rivals that we are significantly worse than."""
        return [name for name, p in self.adjusted.items() if p < LEVEL]

    @property
    def time_ratio(self) -> float | None:
        """Our CPU seconds a round over those of the best peer."""
        best = self.best_peer
        return None if best is None else seconds(self.runs[OURS]) / max(seconds(self.runs[best]), 1e-9)

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


def gap(a: Mapping[str, Any], b: Mapping[str, Any], start: int = 0) -> float:
    """The mean loss of a less that of b, on their common rounds from `start` on."""
    first, second = common(a["losses"][start:], b["losses"][start:])
    return float(np.mean(first - second)) if len(first) else 0.0


def log_ratio(a: Any, b: Any) -> float:
    """log of the sum of a over that of b, each with half of the least loss that is not 0 added: sums may be 0.

    >>> round(log_ratio(np.array([1.0, 0.0]), np.array([1.0, 1.0])), 3), log_ratio(np.zeros(2), np.zeros(2))
    (-0.511, 0.0)
    """
    both = np.concatenate([a, b])
    if not (both > 0).any():
        return 0.0
    least = both[both > 0].min() / 2
    return float(np.log((np.sum(a) + least) / (np.sum(b) + least)))


def cut(run: Mapping[str, Any], rounds: int) -> dict[str, Any]:
    """A run after its first rounds: its answers do not depend on those that follow. CPU time is that of its marks."""
    if run["status"] != "ok" or run["total"] <= rounds:
        return dict(run)
    marks = [(0, 0.0), *run.get("marks", []), (run["rounds"], run["cpu"])]
    done = min(rounds, run["rounds"])
    cpu = float(np.interp(done, [n for n, _ in marks], [t for _, t in marks]))
    found = {"losses": run["losses"][:done], "rounds": done, "cpu": cpu, "capped": done < rounds}
    return {**run, **found, "total": rounds}


def verdicts(runs: Iterable[Mapping[str, Any]], rounds: int | None = None) -> list[Verdict]:
    """One for each stream on which our method was run; rounds: on its first rounds."""
    by_stream: dict[str, dict[str, Mapping[str, Any]]] = {}
    for run in runs:
        found = by_stream.setdefault(run["stream"], {})
        before = found.get(title(run))
        if before is None or run.get("rounds", 0) > before.get("rounds", 0):  # the longest run of a method
            found[title(run)] = run if rounds is None else cut(run, rounds)
    made = [verdict(name, list(group.values())) for name, group in by_stream.items()]
    return [v for v in made if v is not None]


def verdict(stream: str, runs: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """What the runs of one stream say; None without ours."""
    well = {title(run): run for run in runs if run["status"] == "ok" and run["rounds"]}
    others = {title(run): f"{run['status']}: {run.get('error', '')}" for run in runs if title(run) not in well}
    if OURS not in well:
        return None
    require_same_rows(stream, well)
    ours = well[OURS]
    half = ours["rounds"] // 2
    rivals = {name: run for name, run in well.items() if run["role"] in ("peer", "baseline")}
    differences = {name: gap(ours, run) for name, run in rivals.items()}
    late = {name: gap(ours, run, half) for name, run in rivals.items() if run["rounds"] > half}
    tests = {name: worse(np.subtract(*common(ours["losses"], run["losses"]))) for name, run in rivals.items()}
    return Verdict(stream, well, others, differences, late, holm(tests))


def require_same_rows(stream: str, runs: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse to compare runs on other rows, other labels or another loss (runs of one length have one content)."""
    by_length: dict[Any, set[Any]] = {}
    for run in runs.values():
        by_length.setdefault(run.get("rounds_asked"), set()).add(run.get("content"))
    if any(len(contents) > 1 for contents in by_length.values()):
        raise ValueError(f"runs on {stream} saw different rows or losses: remove the old ones and run them again.")


def summary(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run for the JSON file: everything but its losses, with their mean and its interval."""
    found = {name: value for name, value in run.items() if name not in ("losses", "results", "folder", "marks")}
    if run["status"] == "ok" and run["rounds"]:
        found |= {"mean": float(np.mean(run["losses"])), "interval": list(interval(run["losses"]))}
        found["rounds_a_second"] = run["rounds"] / max(run["cpu"], 1e-9)
    return found

"""Familiar metrics beside the loss, online: accuracy, F1, MAE, RMSE, R2, tau, by the kind of label.

>>> from oskaar import losses
>>> metrics = Metrics(losses.ZeroOne())
>>> for z, y in zip("aab", "abb"):
...     metrics.update(z, y)
>>> {name: round(value, 3) for name, value in metrics.scalars().items()}
{'accuracy': 0.667, 'macro F1': 0.667}
>>> metrics.values()["confusion"]
{'a': {'a': 1}, 'b': {'a': 1, 'b': 1}}
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from oskaar import losses
from oskaar.losses import Loss

LEAST = 1e-15
"""The least probability in a log loss."""


class Metrics:
    """Metrics of answers z to labels y, as they come: each update takes constant time.

    loss: says what labels are. Losses of kinds that have no metrics of their own have none here.

    | labels | metrics |
    |---|---|
    | classes | accuracy, F1 (macro, by class), confusion, log loss |
    | levels | accuracy, MAE and RMSE in steps, confusion, log loss |
    | tags | subset accuracy, F1 (micro, macro, by example, by label), log loss |
    | numbers | MAE, RMSE, R2; pinball for Pinball |
    | rankings | tau; NDCG for NDCG and Documents |
    | sequences | accuracy of places and of whole sequences |
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.rounds = 0
        self._kind = _kind(loss)
        self._sums: dict[str, float] = {}
        self._pairs: dict[tuple[Any, Any], int] = {}

    def update(self, z: Any, y: Any, probabilities: Any = None) -> None:
        """One round; y as the loss writes it. probabilities: as `predict_proba_one` gives them."""
        self.rounds += 1
        {
            "classes": self._count,
            "levels": self._level,
            "tags": self._tags,
            "numbers": self._numbers,
            "rankings": self._ranking,
            "relevance": self._ranking,
            "sequences": self._sequence,
        }.get(self._kind, lambda z, y: None)(z, y)
        if isinstance(probabilities, Mapping):
            self._add("log loss", self._surprise(probabilities, y))
            self._add("sure", 1.0)

    def scalars(self) -> dict[str, float]:
        """The metrics that are one number."""
        if not self.rounds:
            return {}
        found: dict[str, float] = {}
        if self._kind in ("classes", "levels"):
            found["accuracy"] = sum(n for (y, z), n in self._pairs.items() if y == z) / self.rounds
        if self._kind == "classes":
            found["macro F1"] = _mean(self.by_label().values())
        if self._kind == "tags":
            found |= self._tag_scalars()
        for name in ("MAE", "pinball", "tau", "NDCG", "accuracy of places", "accuracy of sequences"):
            if name in self._sums:
                found[name] = self._sums[name] / self.rounds
        if "square" in self._sums:
            found["RMSE"] = math.sqrt(self._sums["square"] / self.rounds)
        if self._sums.get("spread", 0.0) > 0 and self._kind == "numbers":
            found["R2"] = 1 - self._sums["square"] / self._sums["spread"]
        if self._sums.get("sure"):
            found["log loss"] = self._sums["log loss"] / self._sums["sure"]
        return found

    def values(self) -> dict[str, Any]:
        """All metrics: the scalars, and F1 by label and the confusion where there are some."""
        found: dict[str, Any] = dict(self.scalars())
        if self._kind in ("classes", "tags") and self.rounds:
            found["F1 by label"] = self.by_label()
        if self._kind in ("classes", "levels") and self.rounds:
            table: dict[Any, dict[Any, int]] = {}
            for (y, z), n in self._pairs.items():
                table.setdefault(y, {})[z] = n
            found["confusion"] = table
        return found

    def by_label(self) -> dict[Any, float]:
        """F1 of each class or tag that was a label or an answer: 2 hits / (labels + answers)."""
        counts = self.label_counts().items()
        return {name: 2 * hits / (labels + answers) for name, (labels, answers, hits) in counts if name is not None}

    def label_counts(self) -> dict[Any, tuple[int, int, int]]:
        """Of each class, level or tag: how often it was a label, how often an answer, and how often both at once."""
        found: dict[Any, list[int]] = {}
        if self._kind not in ("classes", "levels", "tags"):
            return {}
        for (y, z), n in self._pairs.items():
            tag = self._kind == "tags"
            places = {y: (z != "wrong", z != "missed", z == "hit")} if tag else {y: (1, y == z, y == z)}
            if not tag and y != z:
                places[z] = (0, 1, 0)
            for name, place in places.items():
                found[name] = [old + n * new for old, new in zip(found.get(name, [0, 0, 0]), place, strict=True)]
        return {name: (labels, answers, hits) for name, (labels, answers, hits) in found.items()}

    def to_dict(self) -> dict[str, Any]:
        """The state, for `restored`: plain lists and numbers, and names as they are."""
        return {"rounds": self.rounds, "sums": dict(self._sums), "pairs": [[*k, n] for k, n in self._pairs.items()]}

    def restored(self, state: dict[str, Any]) -> Metrics:
        """Metrics of the same loss that go on from a state."""
        other = Metrics(self.loss)
        other.rounds, other._sums = state["rounds"], dict(state["sums"])
        other._pairs = {(y, z): n for y, z, n in state["pairs"]}
        return other

    # ---------------------------------------------------------------- rounds

    def _add(self, name: str, value: float) -> None:
        self._sums[name] = self._sums.get(name, 0.0) + value

    def _count(self, z: Any, y: Any) -> None:
        self._pairs[y, z] = self._pairs.get((y, z), 0) + 1

    def _level(self, z: Any, y: Any) -> None:
        self._count(z, y)
        steps = self.loss(z, y)
        self._add("MAE", steps)
        self._add("square", steps**2)

    def _tags(self, z: Any, y: Any) -> None:
        for name in y | z:
            self._count("hit" if name in y and name in z else "missed" if name in y else "wrong", name)
        both = len(y) + len(z)
        self._add("exact", float(y == z))
        self._add("examples", 2 * len(y & z) / both if both else 1.0)

    def _numbers(self, z: Any, y: Any) -> None:
        off = np.subtract(z, y, dtype=float).ravel()
        self._add("MAE", float(np.abs(off).mean()))
        self._add("square", float(off @ off) / len(off))
        if isinstance(self.loss, losses.Pinball):
            self._add("pinball", self.loss(z, y))
        self._spread(np.asarray(y, dtype=float).ravel())

    def _spread(self, y: Any) -> None:
        """The sum of squares about the mean of each target, as labels come (Welford)."""
        for i, value in enumerate(y.tolist()):
            mean = self._sums.get(f"mean {i}", 0.0)
            self._sums[f"mean {i}"] = after = mean + (value - mean) / self.rounds
            self._add("spread", (value - mean) * (value - after) / len(y))

    def _ranking(self, z: Any, y: Any) -> None:
        cost = self.loss(z, y)
        self._add(*(("NDCG", 1 - cost) if self._kind == "relevance" else ("tau", 1 - 2 * cost)))

    def _sequence(self, z: Any, y: Any) -> None:
        right = [a == b for a, b in zip(z, y, strict=True)]
        self._add("accuracy of places", sum(right) / len(right))
        self._add("accuracy of sequences", float(all(right)))

    def _surprise(self, probabilities: Mapping[Any, float], y: Any) -> float:
        """-log P(y); for tags the mean over those known, and over new ones as if they had had 1/2."""
        if self._kind != "tags":
            return -math.log(max(probabilities.get(y, 0.0), LEAST))
        names = dict.fromkeys([*probabilities, *y])
        each = [probabilities.get(name, 0.5) for name in names]
        costs = [-math.log(max(p if name in y else 1 - p, LEAST)) for name, p in zip(names, each, strict=True)]
        return _mean(costs)

    # ---------------------------------------------------------------- totals

    def _tag_scalars(self) -> dict[str, float]:
        counts = self.label_counts().values()
        n = sum(labels + answers for labels, answers, _ in counts)
        return {
            "subset accuracy": self._sums.get("exact", 0.0) / self.rounds,
            "micro F1": 2 * sum(hits for _, _, hits in counts) / n if n else 1.0,
            "macro F1": _mean(self.by_label().values()),
            "F1 of examples": self._sums.get("examples", 0.0) / self.rounds,
        }


IN_WORDS = {
    "repeat-last": "repeating the last label",
    "most-frequent": "the most frequent label",
    "mean": "the mean so far",
    "as-listed": "the order of the file",
    "head-to-the-left": "hanging each word on the one before it",
}
"""Baselines by what they answer."""


def verdict(loss: Loss | None, mean: float | None, baselines: Mapping[str, float | None]) -> str:
    """How a mean loss compares with the best baseline, in words; nothing where there is nothing to compare.

    >>> verdict(losses.ZeroOne(), 0.26, {"repeat-last": 0.4, "most-frequent": 0.6})
    '35% fewer errors than repeating the last label, the best baseline (lower is better).'
    >>> verdict(losses.F1(), 0.5, {"mean": 0.4})
    '25% more loss than the mean so far, the best baseline (lower is better): the inputs tell little of the labels.'
    """
    known = {name: value for name, value in baselines.items() if value is not None}
    if mean is None or not known:
        return ""
    name = min(known, key=lambda baseline: known[baseline])
    best, words = known[name], f"{IN_WORDS.get(name, name)}, the best baseline"
    errors = isinstance(loss, (losses.ZeroOne, losses.SubsetZeroOne))
    if abs(mean - best) <= 0.005 * best:
        return f"As {'many errors' if errors else 'much loss'} as {words}."
    how = ("fewer errors" if errors else "less loss") if mean < best else f"more {'errors' if errors else 'loss'}"
    much = f"{abs(1 - mean / best):.0%} {how} than {words} (lower is better)" if best else f"{how} than {words}, 0"
    return f"{much[0].upper()}{much[1:]}{'' if mean < best else ': the inputs tell little of the labels'}."


def _kind(loss: Loss) -> str:
    """What labels of a loss are."""
    kinds: dict[str, tuple[Any, ...]] = {
        "classes": (losses.ZeroOne, losses.CostMatrix),
        "tags": (losses.SubsetLoss,),
        "relevance": (losses.NDCG, losses.Documents),
        "levels": (losses.Ordinal,),
        "rankings": (losses.Kendall,),
        "sequences": (losses.Sequence, losses.SequenceHamming),
    }
    found = next((kind for kind, classes in kinds.items() if isinstance(loss, classes)), "other")
    return "numbers" if hasattr(loss, "dim") and hasattr(loss, "learned") else found


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 1.0

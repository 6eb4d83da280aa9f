"""`oskaar losses`: the losses, with an example of y for each."""

from __future__ import annotations

import inspect
import json
import math
from difflib import get_close_matches
from typing import Any

from oskaar import losses
from oskaar.display import jsonable
from oskaar.tabular.labels import KNOWN

NOT_LISTED = ("Loss", "SubsetLoss")
"""Base classes."""

EXAMPLES: dict[str, tuple[str, Any, Any, float]] = {
    "Absolute": ("Absolute()", [7.0], [5.0], 2),
    "Angles": ("Angles(2)", [0.5, -1.0], [0.5, -0.5], 0.0612),
    "Circular": ("Circular()", math.pi / 2, math.pi, 1),
    "CostMatrix": ("CostMatrix([[0, 5], [1, 0]])", 1, 0, 5),
    "DependencyTree": ("DependencyTree()", (2, 0, 2), (2, 0, 1), 1 / 3),
    "Documents": ("Documents(10)", (0, 2, 1), (1, 0, 2), 0.0361),
    "F1": ("F1(5)", [0, 1, 0, 0, 1], [0, 1, 1, 0, 0], 0.5),
    "Footrule": ("Footrule(3)", (2, 0, 1), (0, 2, 1), 0.5),
    "Geodesic": ("Geodesic()", math.pi / 2, math.pi, 1.5708),
    "Hellinger": ("Hellinger(3)", [0.5, 0.3, 0.2], [0.5, 0.5, 0.0], 0.1127),
    "Huber": ("Huber(2, low=0, high=10)", [1.5, 7.0], [1.5, 5.0], 0.75),
    "Jaccard": ("Jaccard(5)", [0, 1, 0, 0, 1], [0, 1, 1, 0, 0], 2 / 3),
    "Kendall": ("Kendall(3)", (2, 0, 1), (0, 2, 1), 1 / 3),
    "LogEuclidean": ("LogEuclidean(2, bound=3.0)", [[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 1.0]], 0.0189),
    "LossTrick": ("LossTrick(lambda z, y: abs(len(z) - len(y)))", "a text", "text", 2),
    "Matching": ("Matching(3)", (1, 0, 2), (1, 2, 0), 2 / 3),
    "NDCG": ("NDCG(3)", (0.0, 2.0, 1.0), (2, 1, 0), 0.1403),
    "OrderedWasserstein": ("OrderedWasserstein(3)", [0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 0.3),
    "Ordinal": ("Ordinal(range(1, 6))", 4, 2, 2),
    "PerRow": ("PerRow(losses.ZeroOne('ab'))", ["a", "b"], ["a", "a"], 0.5),
    "Pinball": ("Pinball(1, low=0, high=10, quantile=0.9)", [7.0], [5.0], 1.8),
    "PositionHamming": ("PositionHamming(3)", (2, 0, 1), (0, 2, 1), 2 / 3),
    "PrecisionAtK": ("PrecisionAtK(5, k=2)", [0, 1, 0, 0, 1], [0, 1, 1, 0, 0], 0.5),
    "Rotation": ("Rotation(2)", [[0.0, -1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], 0.5),
    "Sequence": ("Sequence(['NOUN', 'VERB'])", ("NOUN", "VERB", "NOUN"), ("NOUN", "NOUN", "NOUN"), 1 / 3),
    "SequenceHamming": ("SequenceHamming(3, 'ab')", ("a", "b", "a"), ("a", "a", "a"), 1 / 3),
    "SimplexL2": ("SimplexL2(3)", [0.5, 0.3, 0.2], [0.5, 0.5, 0.0], 0.04),
    "Spearman": ("Spearman(3)", (2, 0, 1), (0, 2, 1), 0.25),
    "Sphere": ("Sphere(3)", [0.0, 0.6, 0.8], [0.0, 0.0, 1.0], 0.1),
    "SphereGeodesic": ("SphereGeodesic(3)", [0.0, 0.6, 0.8], [0.0, 0.0, 1.0], 0.042),
    "Squared": ("Squared(2, low=0, high=10)", [1.5, 7.0], [1.5, 5.0], 2),
    "SubsetHamming": ("SubsetHamming(5)", [0, 1, 0, 0, 1], [0, 1, 1, 0, 0], 0.4),
    "SubsetZeroOne": ("SubsetZeroOne(5)", [0, 1, 0, 0, 1], [0, 1, 1, 0, 0], 1),
    "TotalVariation": ("TotalVariation(3)", [0.5, 0.3, 0.2], [0.5, 0.5, 0.0], 0.2),
    "Wasserstein": ("Wasserstein([[0, 1], [1, 0]])", [0.5, 0.5], [1.0, 0.0], 0.5),
    "ZeroOne": ("ZeroOne(['cat', 'dog'])", "cat", "dog", 1),
}
"""How each loss is made, a label of it, an answer to that, and what it loses."""

IN_WORDS = {
    "Absolute": "For numbers: how far off the answer is, in their own unit. Few large errors weigh little.",
    "Angles": "For several angles at once, in radians: 0 is the same way, 2 the opposite way.",
    "Circular": "For an angle, in radians: 0 is the same way, 1 a quarter turn off, 2 the opposite way.",
    "CostMatrix": "For classes whose mistakes cost different amounts: what this mistake costs.",
    "DependencyTree": "For the tree of a sentence: the share of words that hang on the wrong one.",
    "Documents": (
        "For documents of a query: how much worse than the best order, the first places count most; answers "
        "are orders, best first."
    ),
    "F1": "For a set of tags: how little the answer overlaps with the truth. 0 is the same set, 1 none in common.",
    "Footrule": "For a ranking: how many places items are off, 1 is the most there can be.",
    "Geodesic": "For an angle: by how much it is off, in radians.",
    "Hellinger": "For shares that add up to 1: a distance; wrongly ruling out weighs much.",
    "Huber": "For numbers: squared for small errors, absolute for large ones, so outliers weigh less.",
    "Jaccard": "For a set of tags: 1 minus the tags in common over all tags in either.",
    "Kendall": "For a ranking, best first: the share of pairs in the wrong order.",
    "LogEuclidean": "For covariance matrices: the distance of their logarithms.",
    "LossTrick": "For anything: a function of your own that says how bad an answer is.",
    "Matching": "For who goes with whom: the share with the wrong partner.",
    "NDCG": "For a ranking of items by relevance: how much worse than the best order, the first places count most.",
    "OrderedWasserstein": "For shares over ordered outcomes: how far shares must be moved.",
    "Ordinal": "For levels, as of a rating: by how many steps the answer is off.",
    "PerRow": "For several rows at once: the mean of another loss over them.",
    "Pinball": (
        "For a number that should be exceeded only so often (quantile): too low and too high cost different amounts."
    ),
    "PositionHamming": "For a ranking: the share of places with the wrong item.",
    "PrecisionAtK": "For the k best tags: the share of them that is wrong.",
    "Rotation": "For rotations: a squared distance, 1 for the farthest.",
    "Sequence": "For sequences of any length, as the tags of a sentence: the share of places that is wrong.",
    "SequenceHamming": "For sequences of one length: the share of places that is wrong.",
    "SimplexL2": "For shares that add up to 1: half the squared differences.",
    "Spearman": "For a ranking: squared differences of places; far off costs much, 1 is upside down.",
    "Sphere": "For directions: the squared straight distance, 1 for the opposite.",
    "SphereGeodesic": "For directions or places on a globe: the squared way along it, 1 for the opposite.",
    "Squared": "For numbers: the squared error, so large errors weigh much.",
    "SubsetHamming": "For a set of tags: the share of all tags that is wrong, missing or too many.",
    "SubsetZeroOne": "For a set of tags: 0 where it is exactly right, else 1.",
    "TotalVariation": "For shares that add up to 1: the part that is in the wrong place.",
    "Wasserstein": "For shares, where moving them has costs: the least cost of making one out of the other.",
    "ZeroOne": "For a class: 0 where it is right, 1 where it is wrong.",
}
"""What each loss is, in plain words."""


def listed() -> list[str]:
    """The names of all losses of the package."""
    found = [name for name in losses.__all__ if inspect.isclass(getattr(losses, name))]
    return sorted(name for name in found if issubclass(getattr(losses, name), losses.Loss) and name not in NOT_LISTED)


def described() -> list[dict[str, Any]]:
    """Each loss: its name, what it is, how it is made, an example of y, and its name for --loss, if any."""
    rows = []
    for name in listed():
        text = (inspect.getdoc(getattr(losses, name)) or "").splitlines()[0]
        made, y, z, value = EXAMPLES[name]
        option = name.lower() if name.lower() in KNOWN else None
        row = {"name": name, "words": IN_WORDS[name], "about": text, "made": f"losses.{made}", "y": jsonable(y)}
        rows.append({**row, "answer": jsonable(z), "loss": round(value, 4), "option": option})
    return rows


def run(options: Any) -> int:
    """Print the losses in plain words, or one of them with an example and all that its documentation says."""
    rows = described()
    if options.name:
        rows = [row for row in rows if row["name"] == _named(options.name)]
    if options.json:
        print(json.dumps({"losses": rows}))
        return 0
    for row in rows:
        option = f"--loss {row['option']}" if row["option"] else "in Python"
        print(f"{row['name']} ({option}): {row['words']}\n    {row['made']}    y = {row['y']!r}")
    if options.name:
        row, how = rows[0], "oskaar learn FILE --y COLUMNS --loss"
        print(f"    answer {row['answer']!r}: loss {row['loss']:.4g}. Lower is better, 0 is right.")
        print(f"    {how} {row['option']}\n" if row["option"] else "")
        print("In formulas: " + (inspect.getdoc(getattr(losses, row["name"])) or ""))
    return 0


def _named(text: str) -> str:
    """The loss of a name, however it is written.

    >>> _named("subset-hamming")
    'SubsetHamming'
    """
    names = {name.lower(): name for name in listed()}
    key = text.lower().replace("-", "").replace("_", "")
    if key in names:
        return names[key]
    close = get_close_matches(key, list(names), n=1)
    meant = f" Did you mean {names[close[0]]}?" if close else ""
    raise ValueError(f"there is no loss {text!r}.{meant} oskaar losses lists all of them.")

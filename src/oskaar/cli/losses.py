"""`oskaar losses`: what there is, with an example of y for each."""

from __future__ import annotations

import inspect
import json
import math
from difflib import get_close_matches
from typing import Any

from oskaar import losses
from oskaar.tabular.labels import KNOWN, jsonable

NOT_LISTED = ("Loss", "SubsetLoss")
"""Base classes."""

EXAMPLES: dict[str, tuple[str, Any]] = {
    "Absolute": ("Absolute()", [7.0]),
    "Angles": ("Angles(2)", [0.5, -1.0]),
    "Circular": ("Circular()", math.pi / 2),
    "CostMatrix": ("CostMatrix([[0, 5], [1, 0]])", 1),
    "DependencyTree": ("DependencyTree()", (2, 0, 2)),
    "Documents": ("Documents(10)", (0, 2, 1)),
    "F1": ("F1(5)", [0, 1, 0, 0, 1]),
    "Footrule": ("Footrule(3)", (2, 0, 1)),
    "Geodesic": ("Geodesic()", math.pi / 2),
    "Hellinger": ("Hellinger(3)", [0.5, 0.3, 0.2]),
    "Huber": ("Huber(2, low=0, high=10)", [1.5, 7.0]),
    "Jaccard": ("Jaccard(5)", [0, 1, 0, 0, 1]),
    "Kendall": ("Kendall(3)", (2, 0, 1)),
    "LogEuclidean": ("LogEuclidean(2, bound=3.0)", [[2.0, 0.5], [0.5, 1.0]]),
    "LossTrick": ("LossTrick(lambda z, y: abs(len(z) - len(y)))", "a text"),
    "Matching": ("Matching(3)", (1, 0, 2)),
    "NDCG": ("NDCG(3)", (0.0, 2.0, 1.0)),
    "OrderedWasserstein": ("OrderedWasserstein(3)", [0.5, 0.3, 0.2]),
    "Ordinal": ("Ordinal(range(1, 6))", 4),
    "PerRow": ("PerRow(losses.ZeroOne('ab'))", ["a", "b"]),
    "Pinball": ("Pinball(1, low=0, high=10, quantile=0.9)", [7.0]),
    "PositionHamming": ("PositionHamming(3)", (2, 0, 1)),
    "PrecisionAtK": ("PrecisionAtK(5, k=2)", [0, 1, 0, 0, 1]),
    "Rotation": ("Rotation(2)", [[0.0, -1.0], [1.0, 0.0]]),
    "Sequence": ("Sequence(['NOUN', 'VERB'])", ("NOUN", "VERB", "NOUN")),
    "SequenceHamming": ("SequenceHamming(3, 'ab')", ("a", "b", "a")),
    "SimplexL2": ("SimplexL2(3)", [0.5, 0.3, 0.2]),
    "Spearman": ("Spearman(3)", (2, 0, 1)),
    "Sphere": ("Sphere(3)", [0.0, 0.6, 0.8]),
    "SphereGeodesic": ("SphereGeodesic(3)", [0.0, 0.6, 0.8]),
    "Squared": ("Squared(2, low=0, high=10)", [1.5, 7.0]),
    "SubsetHamming": ("SubsetHamming(5)", [0, 1, 0, 0, 1]),
    "SubsetZeroOne": ("SubsetZeroOne(5)", [0, 1, 0, 0, 1]),
    "TotalVariation": ("TotalVariation(3)", [0.5, 0.3, 0.2]),
    "Wasserstein": ("Wasserstein([[0, 1], [1, 0]])", [0.5, 0.5]),
    "ZeroOne": ("ZeroOne(['cat', 'dog'])", "cat"),
}
"""How each loss is made, and a label of it."""


def listed() -> list[str]:
    """The names of all losses of the package."""
    found = [name for name in losses.__all__ if inspect.isclass(getattr(losses, name))]
    return sorted(name for name in found if issubclass(getattr(losses, name), losses.Loss) and name not in NOT_LISTED)


def described() -> list[dict[str, Any]]:
    """Each loss: its name, what it is, how it is made, an example of y, and its name for --loss, if any."""
    rows = []
    for name in listed():
        text = (inspect.getdoc(getattr(losses, name)) or "").splitlines()[0]
        made, example = EXAMPLES.get(name, ("", None))
        option = name.lower() if name.lower() in KNOWN else None
        rows.append({"name": name, "about": text, "made": f"losses.{made}", "y": jsonable(example), "option": option})
    return rows


def run(options: Any) -> int:
    """Print the losses, or one of them with all that its documentation says."""
    rows = described()
    if options.name:
        rows = [row for row in rows if row["name"] == _named(options.name)]
    if options.json:
        print(json.dumps({"losses": rows}))
        return 0
    for row in rows:
        option = f"--loss {row['option']}" if row["option"] else "in Python"
        print(f"{row['name']} ({option}): {row['about']}\n    {row['made']}    y = {row['y']!r}")
    if options.name:
        print("\n" + (inspect.getdoc(getattr(losses, rows[0]["name"])) or ""))
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

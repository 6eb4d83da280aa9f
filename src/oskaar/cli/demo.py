"""`oskaar demo`: tags on a made-up stream whose law changes half way; nothing to download.

`make demo` runs on real data, and needs River for it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from oskaar import OSKAAR, Ensemble, MostFrequent, RepeatLast, losses, replay
from oskaar.cli.console import table

ROUNDS, TAGS, NUMBERS = 800, 6, 4


def made(rounds: int = ROUNDS, seed: int = 0) -> tuple[Any, list[frozenset[int]]]:
    """Inputs and sets of tags; from the middle on, the tags follow another law.

    >>> X, ys = made(10)
    >>> X.shape, len(ys)
    ((10, 4), 10)
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rounds, NUMBERS))
    weights = rng.normal(size=(2, NUMBERS, TAGS))
    half = rounds // 2
    scores = np.concatenate([X[:half] @ weights[0], X[half:] @ weights[1]])
    noisy = scores + 0.3 * rng.normal(size=scores.shape) > 0.8
    return X, [frozenset(np.flatnonzero(row).tolist()) for row in noisy]


def run(options: Any) -> int:
    """Print the mean loss of each quarter."""
    X, ys = made()
    loss = losses.F1(TAGS)
    ensemble = Ensemble(loss)
    learners = {
        "ensemble": ensemble,
        "oskaar": OSKAAR(loss, lam=0.5),
        "most-frequent": MostFrequent(loss),
        "repeat-last": RepeatLast(loss),
    }
    found = {name: replay(learner, X, ys, loss=loss).losses for name, learner in learners.items()}
    quarters = {name: [float(part.mean()) for part in np.split(each, 4)] for name, each in found.items()}
    changes = [change.round for change in ensemble.change_points()]
    if options.json:
        print(json.dumps({"rounds": ROUNDS, "quarters": quarters, "change_points": changes}))
        return 0
    print(f"{ROUNDS} rounds: sets of {TAGS} tags out of {NUMBERS} numbers. Their law changes at {ROUNDS // 2 + 1}.")
    print("Mean F1 loss (0 is best) of each quarter, every answer given before its label was seen:\n")
    rows = [[name, *(f"{q:.3f}" for q in each)] for name, each in quarters.items()]
    print("\n".join(table([["", "1st", "2nd", "3rd", "4th"], *rows])))
    print(f"\nThe ensemble found a change at round {', '.join(map(str, changes)) or 'none'}.")
    print("Your own file:  oskaar learn FILE --y COLUMNS     what y can be:  oskaar losses")
    return 0

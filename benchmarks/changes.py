"""Change points: how often SALAMI cries wolf on a world that stays, and how soon it sees one that changes.

Beside it two dummies: one that fires every 100 rounds, and one that never does. A change is found when an alarm
places it within 50 rounds; precision, recall and their F1 are over all streams. The threshold was chosen on other
seeds of the same kinds of stream.
"""

import numpy as np
from common import report

from oskaar import SALAMI, losses
from oskaar.learners.changes import THRESHOLD

ROUNDS, SEEDS, TOLERANCE, HELD_OUT = 600, 30, 50, 2000


def coin(rng, change):
    """Labels that do not depend on x: 0 with probability 0.3, and 0.8 after a change."""
    odds = np.where(np.arange(ROUNDS) < change, 0.3, 0.8)
    return losses.ZeroOne(2), rng.normal(size=(ROUNDS, 2)), (rng.random(ROUNDS) < odds).astype(int).tolist()


def levels(rng, change):
    """Five levels that follow a direction in x, with noise; after a change another direction."""
    X, w, late = rng.normal(size=(ROUNDS, 3)), *rng.normal(size=(2, 3))
    late -= w * (late @ w) / (w @ w)  # a direction that has nothing of the first
    z = np.where(np.arange(ROUNDS) < change, X @ w, X @ late * np.linalg.norm(w) / np.linalg.norm(late))
    return losses.Ordinal(5), X, np.clip(np.round(z + 2 + 0.5 * rng.normal(size=ROUNDS)), 0, 4).astype(int).tolist()


def classes(rng, change):
    """Five classes, argmax sin(x W); after a change another W."""
    X, W, late = rng.normal(size=(ROUNDS, 6)), *rng.normal(size=(2, 6, 5))
    scores = np.where(np.arange(ROUNDS)[:, None] < change, np.sin(X @ W / 2), np.sin(X @ late / 2))
    return losses.ZeroOne(5), X, np.argmax(scores, axis=1).tolist()


def f1(alarms, truths):
    """Alarms and truths are lists of rounds, one list for each stream."""
    hits = sum(
        any(abs(a - c) <= TOLERANCE for a in found) for found, true in zip(alarms, truths, strict=True) for c in true
    )
    fired, wanted = sum(map(len, alarms)), sum(map(len, truths))
    return 2 * hits / (fired + wanted) if fired + wanted else 1.0


def main():
    print(f"     {SEEDS} streams of {ROUNDS} rounds of each kind, with and without a change; threshold {THRESHOLD:g}")
    all_found, all_true, quiet = [], [], []
    for make in (coin, levels, classes):
        delays, found_here, false = [], 0, 0
        for seed in range(HELD_OUT, HELD_OUT + SEEDS):
            for change in (ROUNDS + 1, 300):
                loss, X, ys = make(np.random.default_rng([seed, change]), change)
                found = SALAMI(loss).partial_fit(X, ys).change_points()
                all_found.append([c.round for c in found])
                all_true.append([change + 1] if change < ROUNDS else [])
                if change > ROUNDS:
                    false += bool(found)
                    quiet.append(not found)
                else:
                    near = [c for c in found if abs(c.round - change - 1) <= TOLERANCE]
                    found_here += bool(near)
                    delays += [c.detected - change for c in near[:1]]
        delay = f"{np.median(delays):.0f}" if delays else "-"
        print(
            f"     {make.__name__}: false alarms on {false} of {SEEDS}, {found_here} of {SEEDS} changes found, "
            f"median delay {delay} rounds"
        )
    report("streams that stay on which it cries wolf", 1 - np.mean(quiet), 0.05)
    always = [list(range(100, ROUNDS, 100)) for _ in all_true]
    never = [[] for _ in all_true]
    ours = f1(all_found, all_true)
    print(
        f"     F1 of changes placed within {TOLERANCE} rounds: always firing {f1(always, all_true):.3f}, never "
        f"{f1(never, all_true):.3f}"
    )
    report("F1 of SALAMI's change points", ours, 0.8, at_least=True)


if __name__ == "__main__":
    main()

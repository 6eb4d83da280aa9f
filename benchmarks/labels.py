"""Sets of many labels: what the ensemble costs beside OSKAAR on synthetic documents, F1 over 159 labels.

Goal: at most 5 times OSKAAR's time, replayed and one at a time, at a lower loss. Where all topics change half way,
the loss of restarts on few rows is shown beside that of all rows.
"""

import time
from unittest import mock

import numpy as np
from common import report
from scipy.sparse import csr_array

from oskaar import OSKAAR, Ensemble, losses, replay

LABELS, WORDS, LENGTH, TOPIC = 159, 2000, 40, 25


def documents(rounds=1000, seed=0, change=False):
    """Bags of 40 words out of 2000, three of four from the topics of the 1 to 7 labels of a document."""
    rng = np.random.default_rng(seed)
    topics = [rng.choice(WORDS, size=(LABELS, TOPIC)) for _ in range(1 + change)]
    popular, common = (1 / np.arange(1, n + 1) for n in (LABELS, WORDS))
    X, ys = np.zeros((rounds, WORDS)), []
    for t, row in enumerate(X):
        tags = rng.choice(LABELS, size=rng.integers(1, 8), replace=False, p=popular / popular.sum())
        mine = topics[t * len(topics) // rounds]
        words = mine[rng.choice(tags, LENGTH), rng.integers(TOPIC, size=LENGTH)]
        noise = rng.choice(WORDS, LENGTH, p=common / common.sum())
        np.add.at(row, np.where(rng.random(LENGTH) < 0.75, words, noise), 1.0)
        ys.append(frozenset(tags.tolist()))
    return csr_array(X), ys


def in_turn(learner, X, ys):
    for i, y in enumerate(ys):
        learner.predict_one(X[[i]])
        learner.learn_one(X[[i]], y)


def seconds(run, make, *stream):
    """Time of the process, the best of two."""
    found = []
    for _ in range(2):
        learner, start = make(), time.process_time()
        run(learner, *stream)
        found.append(time.process_time() - start)
    return min(found)


def main():
    loss = losses.F1(LABELS)
    X, ys = documents()
    found = {cls.__name__: replay(cls(loss), X, ys).mean_loss for cls in (Ensemble, OSKAAR)}
    print("     mean loss: " + ", ".join(f"{name} {value:.4f}" for name, value in found.items()))
    report("loss of Ensemble over OSKAAR's", found["Ensemble"] / found["OSKAAR"], 1)
    for how, run in (("replay", replay), ("one at a time", in_turn)):
        ours, plain = (seconds(run, lambda cls=cls: cls(loss), X, ys) for cls in (Ensemble, OSKAAR))
        print(f"     {how}: Ensemble {ours:.1f} s, OSKAAR {plain:.1f} s")
        report(f"{how}, Ensemble over OSKAAR", ours / plain, 5)
    for seed in (1, 2):
        stream = documents(seed=seed, change=True)
        few, plain = (replay(cls(loss), *stream).mean_loss for cls in (Ensemble, OSKAAR))
        with mock.patch("oskaar.learners.ensemble.NUMBERS", 2**40):
            all_rows = replay(Ensemble(loss), *stream).mean_loss
        found = f"Ensemble {few:.4f}, with all rows {all_rows:.4f}, OSKAAR {plain:.4f}"
        print(f"     all topics change, seed {seed}: {found}")


if __name__ == "__main__":
    main()

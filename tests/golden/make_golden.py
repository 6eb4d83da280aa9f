"""Writes the golden files of the present format. Run once for each format, before a release; never again."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import saved  # noqa: E402

from oskaar import OSKAAR, SALAMI, BatchILE, features, kernels, losses  # noqa: E402
from oskaar.state.files import FORMAT  # noqa: E402


def golden():
    X = saved.rows(6, 2)
    sets = [frozenset({i % 3}) for i in range(6)]
    dicts = [{"a": float(x[0]), f"b{i % 2}": 1.0} for i, x in enumerate(X)]
    words = ["ab", "b", "abc", "ab", "c", "ac"]
    fourier = features.Standardised(features.RandomFourier(None, 5))
    yield "oskaar", OSKAAR(losses.F1(3), kernels.Gaussian(0.8) + 1.0, lam=0.1), X, sets
    yield "dicts", OSKAAR(losses.ZeroOne(), shifted=True), dicts, words
    yield "budget", OSKAAR(losses.LossTrick(losses.edit_distance, losses.edits("abc")), budget=3), X, words
    yield "fourier", OSKAAR(losses.Ordinal(3), features=fourier), X, [0, 1, 2, 0, 1, 2]
    yield "salami", SALAMI(losses.Jaccard(3), lam=0.5), X, sets
    yield "restarts", SALAMI(losses.ZeroOne("abc"), budget=2, lam=0.5), X, "abcabc"
    yield "batch", BatchILE(losses.Kendall(3)), X, [(0, 1, 2), (2, 1, 0), (0, 1, 2), (1, 0, 2), (2, 0, 1), (0, 2, 1)]


if __name__ == "__main__":
    answers = {}
    for name, learner, xs, ys in golden():
        learner.fit(xs, ys)
        learner.save(HERE / f"format{FORMAT}-{name}.oskaar")
        estimates = [learner.estimate(x).tolist() for x in xs]
        answers[name] = {"predictions": [repr(z) for z in learner.predict_many(xs)], "estimates": estimates}
    (HERE / f"format{FORMAT}.json").write_text(json.dumps(answers, indent=1) + "\n")

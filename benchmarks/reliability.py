"""How well probabilities are calibrated: expected calibration error, log loss and Brier score, peers in the same run.

    python benchmarks/reliability.py [stream ...]
    python benchmarks/reliability.py frames

Each round is predicted before it is learned. Peers from River learn online on standardised rows; those from
scikit-learn are refitted every 100 rounds on all rows so far. Smaller is better everywhere. Probabilities below 1e-6
count as 1e-6 in the log loss, for everyone. The calibration error has 10 bins of the probability of the answer.

frames: the Ensemble's probabilities with and without calibration on the classes of the frames of rows.py.
"""

import sys
import time
import warnings

import numpy as np
from river import datasets, forest, linear_model, multiclass, naive_bayes, preprocessing
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oskaar import OSKAAR, Ensemble, losses, replay
from oskaar.learners.calibration import Calibration

ROUNDS, EVERY = 1200, 100


def from_river(dataset):
    rows = list(dataset.take(ROUNDS))
    names = sorted(rows[0][0])
    return np.array([[float(x[n]) for n in names] for x, _ in rows]), [y for _, y in rows]


def from_sklearn(load):
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))[:ROUNDS]
    return X[order], y[order].tolist()


STREAMS = {
    "phishing": lambda: from_river(datasets.Phishing()),
    "bananas": lambda: from_river(datasets.Bananas()),
    "segments": lambda: from_river(datasets.ImageSegments()),
    "cancer": lambda: from_sklearn(load_breast_cancer),
    "digits": lambda: from_sklearn(load_digits),
    "wine": lambda: from_sklearn(load_wine),
}


def ours(make):
    """Of the estimates of a replay: those that each round was answered with."""

    def run(X, ys):
        result = replay(make(sorted(set(ys), key=str)), X, ys)
        return result.probabilities()

    return run


def river_model(make):
    def run(X, ys):
        model, found = preprocessing.StandardScaler() | make(), []
        for x, y in zip(X.tolist(), ys, strict=True):
            row = dict(enumerate(x))
            found.append(model.predict_proba_one(row))
            model.learn_one(row, y)
        return found

    return run


def refitted(make):
    def run(X, ys):
        found, classes = [], sorted(set(ys), key=str)
        uniform = dict.fromkeys(classes, 1 / len(classes))
        for lo in range(0, len(X), EVERY):
            part = X[lo : lo + EVERY]
            if lo == 0 or len(set(ys[:lo])) < 2:
                found += [uniform] * len(part)
                continue
            model = make().fit(X[:lo], ys[:lo])
            found += [dict(zip(model.classes_.tolist(), p, strict=True)) for p in model.predict_proba(part)]
        return found

    return run


MODELS = {
    "Ensemble": ours(lambda classes: Ensemble(losses.ZeroOne(classes))),
    "Ensemble, classes learned": ours(lambda classes: Ensemble(losses.ZeroOne())),
    "OSKAAR": ours(lambda classes: OSKAAR(losses.ZeroOne(), lam=0.1)),
    "River logistic": river_model(lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression())),
    "River naive Bayes": river_model(naive_bayes.GaussianNB),
    "River ARF": river_model(lambda: forest.ARFClassifier(seed=1)),
    "logistic, refitted": refitted(lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))),
    "forest, refitted": refitted(lambda: RandomForestClassifier(random_state=0)),
}


def judged(proba, ys):
    """Calibration error, log loss, Brier score, error rate."""
    classes = sorted(set(ys), key=str)
    P = np.array([[p.get(c, 0.0) if p else 1 / len(classes) for c in classes] for p in proba])
    P /= np.maximum(P.sum(axis=1, keepdims=True), 1e-12)
    truth = np.array([classes.index(y) for y in ys])
    right, sure = P.argmax(axis=1) == truth, P.max(axis=1)
    bins = np.minimum((sure * 10).astype(int), 9)
    error = sum(abs(right[bins == b].mean() - sure[bins == b].mean()) * (bins == b).mean() for b in set(bins))
    log = -np.log(np.maximum(P[np.arange(len(ys)), truth], 1e-6)).mean()
    brier = ((P - np.eye(len(classes))[truth]) ** 2).sum(axis=1).mean()
    return float(error), float(log), float(brier), float(1 - right.mean())


def on_frames():
    """Probabilities as they are, and before calibration."""
    import rows

    calibrated = Calibration.applied
    for name, frame, ys, numbers in rows.frames():
        gaps = {f"{name}, 20% missing": rows.with_gaps(frame)} if name in ("cars-origin", "fair-affairs") else {}
        for label, table in ({} if numbers else {name: frame, **gaps}).items():
            result, found = replay(Ensemble(losses.ZeroOne(sorted(set(ys), key=str))), table, ys), []
            for applied in (lambda self, marginals, rounds: marginals.smoothed(rounds), calibrated):
                Calibration.applied = applied
                found.append(judged(result.probabilities(), ys)[:3])
            shown = [", ".join(f"{value:.3f}" for value in values) for values in found]
            print(f"{label:26} calibration error, log loss, Brier: {shown[0]}; calibrated {shown[1]}", flush=True)


def main(names):
    warnings.simplefilter("ignore")
    if names == ["frames"]:
        return on_frames()
    for name in names or STREAMS:
        X, ys = STREAMS[name]()
        print(f"{name}: {len(X)} rounds, {X.shape[1]} features, {len(set(ys))} classes")
        print(f"  {'':26} {'calibration':>11} {'log loss':>9} {'Brier':>7} {'error':>7} {'CPU s':>7}")
        for model, run in MODELS.items():
            start = time.process_time()
            found = judged(run(X, ys), ys)
            cpu = time.process_time() - start
            print(
                f"  {model:26} {found[0]:11.3f} {found[1]:9.3f} {found[2]:7.3f} {found[3]:7.3f} {cpu:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])

"""Ordered levels on real tables, every answer before its label.

The files do not ship with the project: name the folder that holds them, or put it at ../shared/data. Figures are mean
absolute errors in levels, against the running median and scikit-learn's Ridge, rounded, standardised and fitted again
on the rows before: every 50 rounds, and every round, which is the stronger rival. era and lev are sorted by class
in their files, so that file order only asks when the class changes: it is printed, and the goals are for the mean of
five shuffles with fixed seeds.

OSKAAR and the ensemble have their defaults, and rows as they are: the default kernel standardises them. Rows
standardised online beforehand were tried too (docs/how-it-works.md).
"""

import time

import numpy as np
from common import arguments_with_folder, report

from oskaar import OSKAAR, Ensemble, MostFrequent, RepeatLast, losses, replay

FILES = [("winequality-red.csv", 0, False), ("era.csv", 1, True), ("lev.csv", 1, True)]  # file, header rows, sorted
EVERY = 50


def running_median(y, levels):
    """The middle of the labels before each round; the middle level before the first."""
    answers = [levels[(len(levels) - 1) // 2]]
    answers += [np.sort(y[:t])[(t - 1) // 2] for t in range(1, len(y))]
    return np.array(answers)


def rounded_ridge(X, y, levels, every):
    """Ridge with its default penalty on the rows before, rounded to a level; the running median until then."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    answers = running_median(y, levels).astype(float)
    for t in range(max(every, 2), len(y), every):
        fitted = make_pipeline(StandardScaler(), Ridge()).fit(X[:t], y[:t])
        answers[t : t + every] = np.clip(np.rint(fitted.predict(X[t : t + every])), levels[0], levels[-1])
    return answers


def measure(name, table):
    X, y = table[:, :-1], table[:, -1]
    levels = np.arange(int(y.min()), int(y.max()) + 1)
    loss = losses.Ordinal(levels.tolist())
    ys = y.astype(int).tolist()
    figures = {}
    start = time.perf_counter()
    for learner in (Ensemble(loss), OSKAAR(loss), RepeatLast(loss), MostFrequent(loss)):
        figures[type(learner).__name__] = replay(learner, X, ys, keep_estimates=False).mean_loss
    seconds = time.perf_counter() - start
    figures["median"] = np.abs(running_median(y, levels) - y).mean()
    figures["ridge"] = np.abs(rounded_ridge(X, y, levels, EVERY) - y).mean()
    figures["ridge of every round"] = np.abs(rounded_ridge(X, y, levels, 1) - y).mean()
    shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
    print(f"     {name}: {len(y)} rounds in {seconds:.1f} s; {shown}")
    return figures


def main():
    arguments = arguments_with_folder(__doc__)
    folder = arguments.parse_args().folder / "ordinal"
    if not folder.is_dir():
        print(f"     no tables in {folder}: nothing to measure")
        return
    for file, header, is_sorted in FILES:
        table = np.loadtxt(folder / file, delimiter=",", skiprows=header)
        figures = measure(f"{file}, file order", table)
        if is_sorted:
            shuffles = [np.random.default_rng(seed).permutation(table) for seed in range(5)]
            runs = [measure(f"{file}, shuffle {seed}", rows) for seed, rows in enumerate(shuffles)]
            figures = {key: np.mean([run[key] for run in runs]) for key in figures}
        for learner in ("Ensemble", "OSKAAR"):
            report(f"{file}: {learner} over the running median", figures[learner] / figures["median"], 1)
            report(f"{file}: {learner} over rounded ridge", figures[learner] / figures["ridge"], 1)
            report(
                f"{file}: {learner} over ridge of every round", figures[learner] / figures["ridge of every round"], 1
            )


if __name__ == "__main__":
    main()

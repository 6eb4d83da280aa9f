"""oskaar's River estimators beside River's own, on the streams that ship inside River.

Every model gets rows standardised online by River, and is scored by River: predict, then learn. One setting for all
streams, fixed by rule: Gaussian(sqrt(d)) + 1 for d features, lam = 0.1, budget = 256; and the default of the faces,
Cosine() + 1. Nothing else was tried on whole streams.
"""

import math
import time

from river import (
    datasets,
    dummy,
    evaluate,
    linear_model,
    metrics,
    multiclass,
    multioutput,
    neighbors,
    preprocessing,
    stats,
    tree,
)

from oskaar import OSKAAR, MostFrequent, RepeatLast, kernels, losses
from oskaar import river as faces

LAM, BUDGET = 0.1, 256
logistic = linear_model.LogisticRegression


def kernel(d):
    return kernels.Gaussian(math.sqrt(d)) + 1.0


class Blind:
    """A baseline that ignores x, for sets of labels."""

    _supervised = True

    def __init__(self, learner, names):
        self.learner, self.names = learner, names

    def predict_one(self, x):
        z = self.learner.predict_one(x) or frozenset()
        return {name: i in z for i, name in enumerate(self.names)}

    def learn_one(self, x, y):
        self.learner.learn_one(x, frozenset(i for i, name in enumerate(self.names) if y[name]))


def show(title, data, models, metric):
    print(f"\n{title}")
    for name, model in models.items():
        scored, start = metric(), time.perf_counter()
        for x, y in data:
            z = model.predict_one(x)
            if z is not None and z != {}:
                scored.update(y, z)
            model.learn_one(x, y)
        print(f"  {name:42} {scored!r:42} {time.perf_counter() - start:6.1f} s", flush=True)


def scaled(model):
    return preprocessing.StandardScaler() | model


def classes(name, data, d):
    river_logistic = logistic() if name == "Phishing" else multiclass.OneVsRestClassifier(logistic())
    models = {
        "majority": dummy.PriorClassifier(),
        "repeat the last": dummy.NoChangeClassifier(),
        "River: logistic regression": scaled(river_logistic),
        "River: Hoeffding tree": tree.HoeffdingTreeClassifier(),
        "River: nearest neighbours": scaled(neighbors.KNNClassifier()),
        "oskaar: Classifier(), all defaults": scaled(faces.Classifier()),
        "oskaar: Gaussian": scaled(faces.Classifier(OSKAAR(losses.ZeroOne(), kernel(d), LAM, budget=BUDGET))),
    }
    show(f"{name}: accuracy, larger is better", data, models, metrics.Accuracy)


def sets():
    data = list(datasets.Yeast())
    names, loss = list(data[0][1]), losses.F1(14)
    models = {
        "majority": Blind(MostFrequent(loss), names),
        "repeat the last": Blind(RepeatLast(loss), names),
        "River: chain of logistic regressions": scaled(multioutput.ClassifierChain(logistic(), order=names)),
        "oskaar: MultiLabelClassifier(), all defaults": scaled(faces.MultiLabelClassifier()),
        "oskaar: Gaussian": scaled(faces.MultiLabelClassifier(OSKAAR(loss, kernel(103), LAM, budget=BUDGET))),
    }
    show(
        "Yeast: F1 of the sets, larger is better",
        data,
        models,
        lambda: metrics.multioutput.SampleAverage(metrics.F1()),
    )


def numbers():
    loss = losses.Squared(1, 0, 100)
    models = {
        "the mean so far": dummy.StatisticRegressor(stats.Mean()),
        "repeat the last": dummy.StatisticRegressor(stats.Shift(0)),
        "River: linear regression": scaled(linear_model.LinearRegression(intercept_lr=0.1)),
        "River: nearest neighbours": scaled(neighbors.KNNRegressor()),
        "oskaar: Gaussian, percent in [0, 100]": scaled(faces.Regressor(OSKAAR(loss, kernel(6), LAM, budget=BUDGET))),
    }
    show("TrumpApproval: mean absolute error, smaller is better", list(datasets.TrumpApproval()), models, metrics.MAE)


def late():
    """Classes are listed, so that every round has an answer: River leaves out rounds without one."""
    print("\nPhishing with labels that come 100 rounds late: accuracy by River's delay=")
    learner = OSKAAR(losses.ZeroOne([False, True]), kernel(9), LAM, budget=BUDGET)
    models = {"River: logistic regression": logistic(), "oskaar: Gaussian": faces.Classifier(learner)}
    for name, model in models.items():
        scored = evaluate.progressive_val_score(datasets.Phishing(), scaled(model), metrics.Accuracy(), delay=100)
        print(f"  {name:42} {scored}")


if __name__ == "__main__":
    classes("Phishing", list(datasets.Phishing()), 9)
    classes("ImageSegments", list(datasets.ImageSegments()), 18)
    sets()
    numbers()
    late()

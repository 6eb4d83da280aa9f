"""oskaar inside River: River's own checks, its metrics, pipelines and delays, and exactly the same learners."""

import pickle

import numpy as np
import pytest

from oskaar import OSKAAR, SALAMI, features, kernels, losses

pytest.importorskip("river", reason="River is not installed: pip install 'oskaar[river]'")

from river import base, checks, compose, datasets, evaluate, linear_model, metrics, preprocessing, stream, utils
from river.checks import common

from oskaar import river as faces

RBF = kernels.Gaussian(3.0) + 1.0
LIGHT = features.RandomFourier(kernels.Gaussian(3.0) + 1.0, 9)
MODELS = {
    "Classifier": lambda: faces.Classifier(OSKAAR(losses.ZeroOne(), features=LIGHT)),
    "MultiLabelClassifier": lambda: faces.MultiLabelClassifier(OSKAAR(losses.F1(14), features=LIGHT)),
    "Regressor": lambda: faces.Regressor(OSKAAR(losses.Squared(1, 0, 100), features=LIGHT)),
    "MultiTargetRegressor": lambda: faces.MultiTargetRegressor(OSKAAR(losses.Squared(3, 0, 500), features=LIGHT)),
    "Structured": lambda: faces.Structured(OSKAAR(losses.Kendall(3), features=LIGHT)),
    "Features": lambda: faces.Features(LIGHT),
}
HEAVY = {
    "default classifier": faces.Classifier,
    "exact classifier": lambda: faces.Classifier(OSKAAR(losses.ZeroOne())),
    "salami classifier": lambda: faces.Classifier(SALAMI(losses.ZeroOne(), budget=16)),
    "default labels": faces.MultiLabelClassifier,
    "quantiles": lambda: faces.Regressor(OSKAAR(losses.Pinball(1, 0, 100, 0.9), budget=16)),
    "nystrom": lambda: faces.Features(features.Nystrom(kernels.Gaussian(), 32)),
    "scaled": lambda: faces.Features(features.Standardised(LIGHT)),
}
DOWNLOADS = {  # all checks with data
    "check_learn_one",
    "check_pickling",
    "check_shuffle_features_no_impact",
    "check_emerging_features",
    "check_disappearing_features",
    "check_radically_disappearing_features",
    "check_predict_one_pure",
    "check_predict_one_before_any_learn",
    "check_no_state_aliasing_with_input",
    "check_clone_is_independent",
    "check_bounded_memory_growth",
}
"""For multi-label estimators River runs these on datasets.Music, which it downloads. They are skipped as they are,
and run on datasets.Yeast, which ships with River."""


def names_of(model):
    return [check.__name__ for check in checks.yield_checks(model)]


LONG = {"check_bounded_memory_growth"}
"""Streams of 2000 rows: with the slow tests."""


def run_checks(model, monkeypatch, but=frozenset()):
    """River's checks, on the first of its streams; returns the names of those with other data than River's."""
    pytest.importorskip("sklearn", reason="River's checks take a dataset from scikit-learn")
    moved = set()
    if isinstance(model, base.MultiLabelClassifier):
        monkeypatch.setattr(datasets, "Music", datasets.Yeast)
        moved = {name for name in names_of(model) if name in DOWNLOADS}
    done = set(but)
    for check in checks.yield_checks(model):  # each once; River has several streams for some
        if check.__name__ not in done:
            check(model.clone())
            done.add(check.__name__)
    assert not model._unit_test_skips()
    return moved


@pytest.mark.parametrize("name", MODELS)
def test_rivers_own_checks(name, monkeypatch):
    moved = run_checks(MODELS[name](), monkeypatch, but=LONG)
    assert moved == (DOWNLOADS if name == "MultiLabelClassifier" else set())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, *HEAVY])
def test_rivers_own_checks_in_full(name, monkeypatch):
    if isinstance((MODELS | HEAVY)[name](), base.MultiLabelClassifier):
        monkeypatch.setattr(datasets, "Music", datasets.Yeast)
    checks.check_estimator((MODELS | HEAVY)[name]())


def rankings(n=40):
    """Rows whose names come and go, and rankings that depend on them."""
    rng = np.random.default_rng(1)
    for i in range(n):
        x = {f"f{j}": float(v) for j, v in enumerate(rng.normal(size=3)) if rng.random() < 0.8}
        order = np.argsort([-x.get(f"f{j}", 0.0) for j in range(3)], kind="stable")
        yield x | {"kind": "ab"[i % 2]} | ({f"late{i}": 1.0} if i > 20 else {}), tuple(order.tolist())


@pytest.mark.parametrize(
    "check",
    [
        common.check_learn_one,
        common.check_pickling,
        common.check_shuffle_features_no_impact,
        common.check_predict_one_pure,
        common.check_clone_is_independent,
        common.check_no_state_aliasing_with_input,
    ],
)
def test_rivers_checks_on_structures(check):
    """River has no data for a bare Estimator: here are rankings."""
    check(MODELS["Structured"](), list(rankings()))


def score(data, model, metric, **settings):
    return evaluate.progressive_val_score(data, model, metric, **settings)


def test_classifier_is_the_learner():
    """The same answers, regret and state as the learner by itself on the same rows."""
    learner = OSKAAR(losses.ZeroOne(), RBF, lam=0.1)
    model, metric = faces.Classifier(learner), metrics.Accuracy()
    bare = OSKAAR(losses.ZeroOne(), RBF, lam=0.1)
    for x, y in datasets.Phishing().take(120):
        row = {name: x[name] for name in sorted(x)}
        z = model.predict_one(x)
        assert z == bare.predict_one(row)
        if z is not None:
            metric.update(y, z)
        assert model.learn_one(x, y) is None
        bare.learn_one(row, y)
    assert model.inner.regret == bare.regret
    assert learner.rounds == 0
    again = score(datasets.Phishing().take(120), model.clone(), metrics.Accuracy())
    assert again.get() == metric.get()
    assert model.clone().inner.rounds == 0
    np.testing.assert_array_equal(model.inner.estimate(row), bare.estimate(row))


@pytest.mark.parametrize("loss", [losses.ZeroOne(), losses.ZeroOne([True, False])], ids=repr)
def test_probabilities_are_the_learners(loss):
    model = faces.Classifier(OSKAAR(loss, RBF, lam=0.1))
    if loss.classes is None:
        assert model.predict_proba_one({"a": 1.0}) == {}
        assert model.predict_one({"a": 1.0}) is None
    else:
        assert model.predict_proba_one({"a": 1.0}) == {True: 0.5, False: 0.5}
    data = list(datasets.Phishing().take(150))
    for x, y in data[:100]:
        model.learn_one(x, y)
    for x, _ in data[100:]:
        p = model.predict_proba_one(x)
        assert max(p, key=p.get) == model.predict_one(x)
        assert p == model.inner.predict_proba_one(dict(sorted(x.items())))
        assert 0 < p[True] < 1  # no class is out of the question
    assert score(data, model.clone(), metrics.ROCAUC()).get() > 0.85


def test_three_classes_are_a_distribution():
    model = faces.Classifier(OSKAAR(losses.ZeroOne(), RBF, lam=0.1))
    for x, y in datasets.ImageSegments().take(60):
        model.learn_one(x, y)
    p = model.predict_proba_one(x)
    assert len(p) == len(set(p)) > 2
    assert sum(p.values()) == pytest.approx(1)
    assert min(p.values()) >= 0
    with pytest.raises(NotImplementedError, match="no probabilities"):
        faces.Classifier(OSKAAR(losses.CostMatrix(1 - np.eye(3)))).predict_proba_one({"a": 1.0})
    levels = faces.Classifier(OSKAAR(losses.Ordinal(3))).predict_proba_one({"a": 1.0})
    assert list(levels) == [0, 1, 2]


def test_multi_label_with_rivers_metrics():
    """River's metrics take the answers as they are, and agree with the learner's own account."""
    loss, data = losses.F1(14), list(datasets.Yeast().take(60))
    metric = (
        metrics.multioutput.SampleAverage(metrics.F1()),
        metrics.multioutput.MacroAverage(metrics.F1()),
        metrics.multioutput.MicroAverage(metrics.F1()),
        metrics.multioutput.ExactMatch(),
        metrics.multioutput.SampleAverage(metrics.Jaccard()),
        faces.LossMetric(loss),
    )
    model = faces.MultiLabelClassifier(OSKAAR(loss, RBF, lam=0.1), labels=list(data[0][1]))
    for each in metric:
        fresh = model.clone()
        assert each.works_with(fresh)
        assert 0 < score(data, fresh, each).get() < 1
    assert metric[0].get() == pytest.approx(1 - metric[-1].get())
    assert metric[-1].get() == pytest.approx(fresh.inner.total_loss / 60)
    assert fresh.predict_one(data[0][0]).keys() == data[0][1].keys()
    assert all(type(value) is bool for value in fresh.predict_one(data[0][0]).values())


def test_multi_label_names():
    model = faces.MultiLabelClassifier()
    x = {"a": 1.0}
    assert model.predict_one(x) == model.predict_proba_one(x) == {}
    with pytest.raises(ValueError, match="must be True or False, got 'yes'"):
        model.learn_one(x, {"u": True, "v": "yes"})
    with pytest.raises(ValueError, match="x must be finite"):
        model.learn_one({"a": float("inf")}, {"u": True, "v": False})
    assert model.predict_one(x) == {}  # nothing was learned of a refused round, not even the names
    model.learn_one(x, {"u": np.True_, "v": 0})
    before = pickle.dumps(model)
    fixed = faces.MultiLabelClassifier(labels=["u", "v"])
    with pytest.raises(ValueError, match=r"unknown label 'w'.*give labels="):
        fixed.learn_one(x, {"u": True, "w": True})
    with pytest.raises(TypeError, match="y must be a dict"):
        model.learn_one(x, True)
    assert pickle.dumps(model) == before
    model.learn_one(x, {"u": True})
    assert model.predict_one(x) == {"u": True, "v": False}
    assert model.predict_proba_one(x)["u"][True] > 0.5
    model.learn_one(x, {"u": True, "w": False})
    assert model.predict_one(x) == {"u": True, "v": False, "w": False}
    with pytest.raises(ValueError, match=r"for 3 labels, and there are 2.*n_labels=2"):
        faces.MultiLabelClassifier(OSKAAR(losses.F1(3)), labels=["u", "v"])
    with pytest.raises(ValueError, match="different names"):
        faces.MultiLabelClassifier(labels=["u", "u"])
    with pytest.raises(TypeError, match="a list of names"):
        faces.MultiLabelClassifier(labels="uv")
    marginal = faces.MultiLabelClassifier(OSKAAR(losses.SubsetHamming(2), lam=0.01))
    marginal.learn_one(x, {"u": True, "v": False})
    p = marginal.predict_proba_one(x)
    assert p["u"][True] > 0.6 > 0.4 > p["v"][True]
    assert p["u"][True] + p["u"][False] == 1


def test_regressors():
    data = list(datasets.TrumpApproval().take(150))
    model = preprocessing.StandardScaler() | faces.Regressor(OSKAAR(losses.Squared(1, 30, 60), RBF, lam=0.1))
    mae, own = metrics.MAE(), faces.LossMetric(losses.Squared(1, 30, 60))
    assert score(data, model, mae).get() < 2.0
    assert score(data, model.clone(), own).get() < 8.0
    assert isinstance(model.predict_one(data[0][0]), float)
    angle = faces.Regressor(OSKAAR(losses.Circular()))
    angle.learn_one({"a": 1.0}, 3.0)
    assert angle.predict_one({"a": 1.0}) == pytest.approx(3.0)
    with pytest.raises(ValueError, match="see MultiTargetRegressor"):
        faces.Regressor(OSKAAR(losses.Squared(2, 0, 1)))
    with pytest.raises(ValueError, match=r"must be in \[0, 1\], got 7"):
        faces.Regressor(OSKAAR(losses.Squared(1, 0, 1))).learn_one({"a": 1.0}, 7.0)


def test_several_targets():
    data = [({"a": float(i % 5)}, {"u": float(i % 5), "v": 10.0 - i % 5}) for i in range(40)]
    model = faces.MultiTargetRegressor(OSKAAR(losses.Squared(2, [0, 5], [5, 10]), kernels.Gaussian() + 1.0, lam=0.1))
    assert model.predict_one({"a": 1.0}) == {}
    assert score(data, model, metrics.multioutput.MacroAverage(metrics.MAE())).get() < 1.0
    own = score(data, model.clone(), faces.LossMetric(losses.Squared(2, [0, 5], [5, 10])))
    rmse = score(data, model.clone(), metrics.multioutput.MacroAverage(metrics.MSE()))
    assert own.get() == pytest.approx(rmse.get())
    assert {name: type(z) for name, z in model.predict_one({"a": 1.0}).items()} == {"u": float, "v": float}
    before = pickle.dumps(model)
    for y, message in [({"u": 1.0}, "'v' is missing"), ({"u": 1.0, "v": 6.0, "w": 1.0}, "unknown target 'w'")]:
        with pytest.raises(ValueError, match=message):
            model.learn_one({"a": 1.0}, y)
    with pytest.raises(ValueError, match="for 2 targets, and there are 3"):
        model.clone().learn_one({"a": 1.0}, {"u": 1.0, "v": 6.0, "w": 1.0})
    with pytest.raises(ValueError, match="dim=1"):
        model.clone({"targets": ["u"]})
    assert pickle.dumps(model) == before


STRUCTURES = {
    "ranking": (losses.Kendall(3), lambda y: y),
    "vector": (losses.Squared(3, 0, 2), lambda y: [float(v) for v in y]),
    "distribution": (losses.SimplexL2(3), lambda y: np.eye(3)[y[0]]),
    "hellinger": (losses.Hellinger(3), lambda y: np.eye(3)[y[0]]),
    "sphere": (losses.Sphere(3), lambda y: np.eye(3)[y[0]]),
    "rotation": (losses.Rotation(3), lambda y: np.eye(3) if y[0] else np.diag([1.0, -1.0, -1.0])),
    "angles": (losses.Angles(3), lambda y: [float(v) for v in y]),
    "level": (losses.Ordinal(3), lambda y: y[0]),
    "set": (losses.Jaccard(3), lambda y: {y[0], y[1]}),
    "sequence": (losses.SequenceHamming(3, 3), lambda y: y),
    "any": (losses.LossTrick(lambda z, y: abs(len(z) - len(y))), lambda y: "x" * (1 + y[0])),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_any_structure_is_scored(name):
    """progressive_val_score takes every kind of answer, and the metric is the learner's own mean loss."""
    loss, label = STRUCTURES[name]
    data = [(x, label(y)) for x, y in rankings(25)]
    model = faces.Structured(OSKAAR(loss, lam=0.1))
    metric = score(data, model, faces.LossMetric(loss))
    bare, paid = OSKAAR(loss, lam=0.1), []
    for x, y in data:
        z = bare.predict_one({name: x[name] for name in sorted(x)})
        paid += [] if z is None else [loss(z, loss.check(y))]  # River leaves out rounds without an answer
        bare.learn_one({name: x[name] for name in sorted(x)}, y)
    assert metric.get() == pytest.approx(np.mean(paid))
    assert len(paid) >= len(data) - 1
    assert not isinstance(model.predict_one(data[0][0]), np.ndarray)


def test_rounds_of_parts():
    """A block of dict rows, each with its letter."""
    loss = losses.Sequence("ab")
    data = [([{"v": 0.0, "w": 1.0}, {"v": 1.0}], "ab"), ([{"v": 1.0}], "b")] * 10
    model = faces.Structured(OSKAAR(loss, kernels.Gaussian() + 1.0, lam=0.1))
    assert score(data, model, faces.LossMetric(loss)).get() < 0.2
    assert model.predict_one(data[0][0]) == ("a", "b")


@pytest.mark.parametrize("name", ["Features", "nystrom", "scaled"])
def test_every_kind_of_map_transforms(name):
    model = {**MODELS, **HEAVY}[name]()
    for row in ({"a": 1.0, "b": 2.0}, {"a": 0.5}, {"c": 1.0, "b": -1.0}):
        model.learn_one(row)
        assert all(isinstance(value, float) for value in model.transform_one(row).values())
    assert model.transform_one({"a": 1.0})


def test_features_appear_and_vanish():
    """A name that comes later, and rows without it, equal to rows that had it as 0 from the start."""
    whole, ragged = (faces.Classifier(OSKAAR(losses.ZeroOne(), RBF, lam=0.1)) for _ in range(2))
    for i, (x, y) in enumerate(datasets.Phishing().take(60)):
        short = {name: value for name, value in x.items() if value or i > 40}
        assert whole.predict_one(x) == ragged.predict_one(short)
        whole.learn_one(x, y)
        ragged.learn_one(short, y)
    p, q = whole.predict_proba_one(x), ragged.predict_proba_one(short)
    assert p == pytest.approx(q, abs=1e-9)


def test_pipelines_and_unions():
    data = list(datasets.Phishing().take(150))
    nystrom = faces.Features(features.Nystrom(kernels.Gaussian(3.0), 40), prefix="n")
    fourier = faces.Features(features.RandomFourier(kernels.Gaussian(3.0), 40), prefix="f")
    for model in (
        preprocessing.StandardScaler() | nystrom | linear_model.LogisticRegression(),
        preprocessing.StandardScaler() | (nystrom.clone() + fourier) | linear_model.LogisticRegression(),
        compose.Discard("empty_server_form_handler") | faces.Classifier(OSKAAR(losses.ZeroOne(), RBF, lam=0.1)),
    ):
        assert score(data, model, metrics.Accuracy()).get() > 0.65
        assert pickle.loads(pickle.dumps(model)).predict_one(data[0][0]) == model.predict_one(data[0][0])


def test_transformer_is_the_map():
    data = [x for x, _ in datasets.Phishing().take(60)]
    model = faces.Features(features.Nystrom(kernels.Gaussian(1.0), 30), prefix="k")
    assert model.transform_one(data[0]) == {}  # nothing has been seen yet
    for x in data[:50]:
        assert model.learn_one(x) is None
    names = sorted(data[0])
    X = np.array([[x[name] for name in names] for x in data])
    Z = features.Nystrom(kernels.Gaussian(1.0), 30).seen(X[:50])[1](X[50:])
    for x, z in zip(data[50:], Z):
        features_of_x = model.transform_one(x)
        assert list(features_of_x) == [f"k{i}" for i in range(len(z))]
        np.testing.assert_allclose(list(features_of_x.values()), z, atol=1e-7)
    model = faces.Features(features.RandomFourier(kernels.Gaussian(1.0), 6))
    model.learn_one({"b": 1.0})
    before = model.transform_one({"b": 1.0})
    model.learn_one({"a": 1.0, "b": 2.0})
    assert model.transform_one({"b": 1.0}) == before  # the column of a name stays
    assert model.transform_one({"a": 1.0}) != before
    with pytest.raises(TypeError, match="map must be a feature map"):
        faces.Features(kernels.Gaussian())


def test_delays_and_steps():
    """River's delayed labels, by hand, and by tickets of the learner itself."""
    data = list(datasets.Phishing().take(80))
    make = lambda: faces.Classifier(OSKAAR(losses.ZeroOne([True, False]), RBF, lam=0.1))  # noqa: E731
    late = score(data, make(), metrics.Accuracy(), delay=10)
    learner, by_hand, tickets, wrong = make().inner, metrics.Accuracy(), {}, 0
    for i, x, y in stream.simulate_qa(data, None, 10):
        if y is None:
            tickets[i] = learner.ask(dict(sorted(x.items())))
        else:
            ticket, z = tickets[i]
            by_hand.update(y, z)
            wrong += z != y
            learner.tell(ticket, y)
    assert by_hand.get() == late.get() == 1 - wrong / 80
    assert learner.total_loss == wrong
    assert late.get() < score(data, make(), metrics.Accuracy()).get()
    steps = list(
        evaluate.iter_progressive_val_score(
            data, make(), faces.LossMetric(losses.ZeroOne()), step=20, yield_predictions=True, measure_memory=True
        )
    )
    assert [step["Step"] for step in steps] == [20, 40, 60, 80]
    assert all(step["Prediction"] in (True, False) for step in steps)


def test_loss_metric():
    metric = faces.LossMetric(losses.Ordinal(5))
    assert metric.get() == 0.0
    for y, z in [(0, 4), (1, 1), (2, 3)]:
        metric.update(y, z)
    mean = metric.get()
    assert mean == pytest.approx((losses.Ordinal(5)(4, 0) + losses.Ordinal(5)(3, 2)) / 3)
    metric.update(4, 0)
    metric.revert(4, 0)
    assert metric.get() == pytest.approx(mean)
    weighted = faces.LossMetric(losses.ZeroOne())
    weighted.update("a", "b", w=3.0)
    weighted.update("a", "a")
    assert weighted.get() == 0.75
    skewed = faces.LossMetric(losses.F1(3, beta=2.0))
    skewed.update({"a": True, "b": False, "c": False}, {"b": False, "c": True, "a": True})  # in another order
    assert skewed.get() == pytest.approx(1 - 5 * 1 / (2 + 4 * 1))  # z has 2 labels, y has 1
    assert str(weighted) == "LossMetric(ZeroOne): 0.75"
    assert not metric.bigger_is_better
    assert metric.clone().get() == 0.0
    better = faces.LossMetric(losses.Ordinal(5))
    assert better.is_better_than(metric)
    assert metric.works_with(faces.Structured(OSKAAR(losses.Ordinal(5))))
    assert not metric.works_with(faces.Features(LIGHT))
    rolling = utils.Rolling(faces.LossMetric, window_size=2, loss=losses.ZeroOne())
    for z in "bba":
        rolling.update("a", z)
    assert rolling.get() == 0.5
    both = faces.LossMetric(losses.ZeroOne()) + metrics.Accuracy()
    score(datasets.Phishing().take(30), MODELS["Classifier"](), both)
    assert both.get()[0] == pytest.approx(1 - both.get()[1])
    with pytest.raises(TypeError, match="y_pred must be one"):
        faces.LossMetric(losses.F1(2)).update({"a": True, "b": False}, {0})
    with pytest.raises(TypeError, match="loss must be a Loss"):
        faces.LossMetric(losses.F1)


def test_settings():
    for bad in (OSKAAR, losses.ZeroOne(), "oskaar"):
        with pytest.raises(TypeError, match="learner must be an oskaar learner"):
            faces.Classifier(bad)
    trained = OSKAAR(losses.ZeroOne(), lam=0.1)
    trained.learn_one({"a": 1.0}, "x")
    assert faces.Classifier(trained).predict_one({"a": 1.0}) is None
    assert trained.rounds == 1
    grid = utils.expand_param_grid(
        faces.Classifier(), {"learner": [OSKAAR(losses.ZeroOne(), lam=lam) for lam in (0.1, 1.0)]}
    )
    assert [model.learner.lam for model in grid] == [0.1, 1.0]

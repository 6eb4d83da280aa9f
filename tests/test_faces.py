"""What the River and scikit-learn estimators have beside their base: many rows, probabilities, levels, rankings."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, kernels, losses
from oskaar.sklearn import Classifier, MultiLabelClassifier, OrdinalClassifier, Ranker, VectorRegressor


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 3))


@pytest.mark.parametrize("make", [OSKAAR, SALAMI, Ensemble, BatchILE])
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("rbf", r"the text 'rbf': write kernels.Gaussian\(1.0\) \+ 1.0"),
        ("linear", r"write kernels.Linear\(\)"),
        (kernels.Gaussian, r"make one, kernels.Gaussian\(\)"),
        (3.0, "a function of two inputs, got 3.0"),
    ],
)
def test_kernels_that_are_none(make, kernel, message):
    with pytest.raises(TypeError, match=message):
        make(losses.ZeroOne("ab"), kernel=kernel)
    if make is SALAMI:
        with pytest.raises(TypeError, match=message):
            SALAMI(losses.ZeroOne("ab"), kernel=[kernels.Gaussian(), kernel])
    if make is OSKAAR:
        with pytest.raises(TypeError, match=message):
            Classifier(kernel=kernel).fit([[0.0], [1.0]], ["a", "b"])


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (OSKAAR, {"lam": "0.1"}, "lam must be a number, got '0.1'"),
        (OSKAAR, {"lam": True}, "lam must be a number, got True"),
        (SALAMI, {"window": "5"}, "window must be a whole number >= 1, or None for all rows, got '5'"),
        (Ensemble, {"false_alarms": "no"}, "false_alarms must be from"),
        (Ensemble, {"eta": "fast"}, "eta must be a number, got 'fast'"),
        (Ensemble, {"budget": "64"}, "budget must be a whole number"),
    ],
)
def test_settings_of_wrong_types(make, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(losses.ZeroOne("ab"), **given)


def test_probabilities(X):
    y = np.where(X[:, 0] > 0, "up", "down")
    model = make_pipeline(StandardScaler(), Classifier("oskaar", lam=0.1)).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (60, 2)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X)).all()
    assert log_loss(y, P, labels=model.classes_) < 0.5
    Y = (X > 0).astype(int)
    for loss in ("f1", "hamming", "jaccard"):
        tags = MultiLabelClassifier(loss, "oskaar", lam=0.1).fit(X, Y)
        assert tags.predict_proba(X).shape == (60, 3)
        assert ((tags.predict_proba(X) > 0.5) == Y).mean() > 0.9


def test_levels(X):
    names = np.array(["low", "mid", "high"])
    y = names[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = OrdinalClassifier(names.tolist(), "oskaar", lam=0.1).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.8
    assert model.predict_proba(X).shape == (60, 3)
    assert clone(model).get_params()["levels"] == names.tolist()
    with pytest.raises(ValueError, match="among the levels"):
        model.partial_fit(X[:1], ["top"])
    assert list(OrdinalClassifier().fit(X, np.digitize(X[:, 0], [0])).classes_) == [0, 1]


@pytest.mark.slow
def test_scikit_learns_checks_of_levels():
    """All but one: the answer is the median of the levels, not the most probable one."""
    results = check_estimator(OrdinalClassifier(learner="oskaar"), on_fail=None, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "failed"} == {"check_classifiers_train"}


def test_rankings(X):
    Y = np.argsort(np.argsort(-X, axis=1), axis=1) + 1
    for loss in ("kendall", "spearman", "footrule"):
        model = Ranker(loss, "oskaar", lam=0.1).fit(X, Y)
        assert model.predict(X).shape == (60, 3)
        assert model.score(X, Y) > 0.8
    model = Ranker("kendall", "oskaar", lam=0.1).fit(X, Y)
    order = np.argsort(-model.decision_function(X), axis=1)
    assert (np.argsort(order, axis=1) + 1 == model.predict(X)).mean() > 0.95
    with pytest.raises(ValueError, match="must rank 3 items"):
        model.partial_fit(X, Y[:, :2])


def test_weights_are_counts(X):
    """A row of weight 2 comes twice, one of weight 0 never; nothing else has a meaning in a stream."""
    y, counts = np.where(X[:, 0] > 0, "up", "down"), np.arange(60) % 3
    repeated = Classifier("oskaar").fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    for model in (
        Classifier("oskaar").fit(X, y, sample_weight=counts),
        Classifier("oskaar").partial_fit(X, y, ["down", "up"], sample_weight=counts.tolist()),
    ):
        np.testing.assert_array_equal(model.predict_proba(X), repeated.predict_proba(X))
    kinds = {MultiLabelClassifier: X > 0, VectorRegressor: X[:, 0], Ranker: X.argsort(axis=1) + 1}
    for kind, labels in kinds.items():
        weighted = kind("oskaar") if kind is VectorRegressor else kind(learner="oskaar")
        weighted.fit(X, labels.astype(float), sample_weight=counts)
        assert weighted.learner_.rounds == counts.sum()
        assert np.isfinite(weighted.score(X, labels, sample_weight=counts))
    for wrong, message in (
        (np.full(60, 0.5), "whole numbers >= 0, got 0.5"),
        (-counts, "whole numbers >= 0, got -1"),
        (np.zeros(60), "at least one non-zero"),
        (counts[:3], "sample_weight.shape"),
    ):
        before = model.__dict__.copy()
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, sample_weight=wrong)
        assert model.__dict__ == before
    with pytest.raises(TypeError, match=r"takes X, y and sample_weight, got groups"):
        model.fit(X, y, groups=counts)


def mixed_frame(X):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.where(X[:, 1] > 0, "red", "blue")
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)), "D")
    frame.loc[frame["c"] > 1, ["c", "kind"]] = None
    return frame


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_mixed_frames_need_no_column_transformer(X, package):
    frame, y = mixed_frame(X), np.where(X[:, 1] > 0, "up", "down")
    wanted = Ensemble(losses.ZeroOne(["down", "up"])).fit(frame, y)
    other = frame
    if package != "pandas":
        module = pytest.importorskip(package)
        other = module.from_pandas(frame) if package == "polars" else module.Table.from_pandas(frame)
    model = Classifier().fit(other, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "kind", "day"]
    assert model.predict(other).tolist() == wanted.predict(frame)
    assert model.predict_proba(other)[:, 1].tolist() == pytest.approx([p["up"] for p in wanted.predict_proba(frame)])
    assert "kind: category, 2 values" in repr(model.learner_.schema)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert (model.predict(frame.astype(object).to_numpy()) == model.predict(other)).all()
    assert model.score(other, y) > 0.9
    for kind, labels in ((VectorRegressor, X[:, 0]), (Ranker, X.argsort(axis=1) + 1), (MultiLabelClassifier, X > 0)):
        made = kind().fit(other, labels.astype(float), sample_weight=np.ones(60))
        assert len(made.predict(other)) == 60
    assert made.predict_proba(other).shape == (60, 3)
    if package == "pandas":
        for wrong, message in ((frame[list("abc")], "now missing"), (frame.assign(d=1), "unseen at fit time")):
            with pytest.raises(ValueError, match=message):
                model.predict(wrong)
        with pytest.raises(ValueError, match="must be in the same order"):
            model.predict(frame[frame.columns[::-1]])
        with pytest.raises(ValueError, match="could not convert"):
            Classifier(kernel=kernels.Gaussian(1.0)).fit(frame, y)


def test_missing_values_of_arrays(X):
    y = np.where(X[:, 0] > 0, "up", "down")
    gone = np.where(X > 1, np.nan, X)
    model = Classifier().fit(gone, y)
    assert model.predict(gone).tolist() == Ensemble(losses.ZeroOne(["down", "up"])).fit(gone, y).predict(gone)
    with pytest.raises(ValueError, match="NaN"):
        Classifier(kernel=kernels.Gaussian(1.0)).fit(gone, y)
    with pytest.raises(ValueError, match="infinity"):
        Classifier().fit(np.where(X > 1, np.inf, X), y)


def test_intervals(X):
    numbers = VectorRegressor("oskaar").fit(X, X[:, 0])
    ends = numbers.predict_interval(X[:4])
    assert ends.shape == (4, 2)
    assert ends[0].tolist() == pytest.approx(np.ravel(numbers.learner_.interval_one(X[0])))
    assert VectorRegressor("oskaar").fit(X, X).predict_interval(X[:4], 0.8).shape == (4, 2, 3)
    with pytest.raises(ValueError, match="60 rows are too few for intervals"):
        numbers.predict_interval(X, 0.99)
    levels = OrdinalClassifier(["low", "mid", "high"], "oskaar").fit(X, np.repeat(["low", "mid", "high"], 20))
    assert set(levels.predict_interval(X[:5]).ravel()) <= {"low", "mid", "high"}


def test_later_targets_may_be_larger(X):
    model = VectorRegressor("oskaar").partial_fit(X[:5], X[:5, 0]).partial_fit(X[5:], 1e4 * X[5:, 0])
    assert np.abs(model.predict(X)).max() > 1e3


def test_river_frames(X):
    pd, faces = pytest.importorskip("pandas"), pytest.importorskip("oskaar.river")
    frame = pd.DataFrame(X, columns=list("abc"))
    y = pd.Series(np.where(X[:, 0] > 0, "up", "down"))
    many, one = faces.Classifier(), faces.Classifier()
    many.learn_many(frame, y)
    for row, label in zip(frame.to_dict(orient="records"), y):
        one.learn_one(row, label)
    assert many.inner.to_bytes() == one.inner.to_bytes()
    assert many.predict_many(frame).tolist() == [one.predict_one(row) for row in frame.to_dict(orient="records")]
    assert many.predict_proba_many(frame).shape == (60, 2)
    regressor = faces.Regressor()
    assert regressor.predict_one({"a": 1.0}) == 0.0
    regressor.learn_many(frame, pd.Series(1e5 * X[:, 0]))
    assert regressor.predict_many(frame).abs().max() > 1e4
    low, high = regressor.interval_one({"a": 1.0, "b": 0.0, "c": 0.0})
    assert low < high
    targets = faces.MultiTargetRegressor()
    targets.learn_one({"a": 1.0}, {"u": 1e6, "v": 1.0})
    assert targets.predict_one({"a": 1.0}) == {"u": 1e6, "v": 1.0}


@pytest.mark.parametrize("package", ["polars", "pyarrow"])
def test_river_frames_of_every_package(X, package):
    faces, module = pytest.importorskip("oskaar.river"), pytest.importorskip(package)
    frame, y = mixed_frame(X), np.where(X[:, 0] > 0, "up", "down")
    other = module.from_pandas(frame) if package == "polars" else module.Table.from_pandas(frame)
    labels = module.Series(y) if package == "polars" else module.array(y)
    many, one = faces.Classifier(), faces.Classifier()
    many.learn_many(other, labels)
    one.learn_many(frame, y)
    assert many.inner.to_bytes() == one.inner.to_bytes()
    assert many.predict_many(other).tolist() == one.predict_many(frame).tolist()


def test_river_says_how_sure(X):
    faces = pytest.importorskip("oskaar.river")
    rows = [dict(zip("abc", x)) for x in X.tolist()]
    tags, ranks = faces.MultiLabelClassifier(), faces.Structured(OSKAAR(losses.Kendall("xyz")))
    numbered = faces.MultiLabelClassifier(OSKAAR(losses.F1(2)), labels=["u", "v"])
    levels = faces.Classifier(OSKAAR(losses.Ordinal(3)))
    assert tags.top_one(rows[0]) == []
    for row, x in zip(rows, X):
        for model in (tags, numbered):
            model.learn_one(row, {"u": x[0] > 0, "v": x[1] > 0})
        ranks.learn_one(row, tuple("xyz"[i] for i in np.argsort(-x)))
        levels.learn_one(row, int(np.digitize(x[0], [-0.5, 0.5])))
    for model in (tags, numbered):
        assert model.top_one(rows[0], 1)[0] == max(
            ((name, p[True]) for name, p in model.predict_proba_one(rows[0]).items()), key=lambda pair: pair[1]
        )
    assert tuple(name for name, _ in ranks.top_one(rows[0])) == ranks.predict_one(rows[0])
    assert list(ranks.scores_one(rows[0])) == list("xyz")
    low, high = levels.interval_one(rows[0])
    assert 0 <= low <= levels.predict_one(rows[0]) <= high <= 2


def test_river_tags_that_appear(X):
    faces = pytest.importorskip("oskaar.river")
    model = faces.MultiLabelClassifier()
    assert model.predict_one({"a": 1.0}) == {}
    for t, x in enumerate(X):
        model.learn_one(dict(zip("abc", x)), {"up": x[0] > 0, **({"late": x[1] > 0} if t > 3 else {})})
    answer = model.predict_one({"a": 2.0, "b": 2.0, "c": 0.0})
    assert (set(answer), answer["up"]) == ({"up", "late"}, True)
    assert model.predict_proba_one({"a": 2.0, "b": 2.0, "c": 0.0})["up"][True] > 0.7
    with pytest.raises(ValueError, match="loss on sets"):
        faces.MultiLabelClassifier(OSKAAR(losses.ZeroOne()))
    with pytest.raises(NotImplementedError):
        faces.Classifier(OSKAAR(losses.Circular())).predict_proba_one({"a": 1.0})

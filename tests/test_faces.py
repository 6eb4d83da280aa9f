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


def test_weights_are_refused_with_a_sentence(X):
    with pytest.raises(TypeError, match=r"sample_weight: rows of a stream count alike\. Repeat a row"):
        Classifier().fit(X, X[:, 0] > 0, sample_weight=np.ones(60))


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

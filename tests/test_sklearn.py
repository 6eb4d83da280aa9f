"""The learners in scikit-learn's tools, and the estimators in its own shapes."""

import os
import pickle
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from unittest import SkipTest

import numpy as np
import pytest
from scipy import sparse

from oskaar import OSKAAR, SALAMI, BatchILE, MostFrequent, RepeatLast, features, kernels, losses

pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn, an extra, is not installed")

from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, hamming_loss, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from oskaar.sklearn import Classifier, MultiLabelClassifier, VectorRegressor

# ------------------------------------------------------------------ scikit-learn's own checks

ONE_CLASS = "y is an (n, k) matrix of 0 and 1, never one class a row"
STRUCTURES = "answers and probabilities are those of structures, not a column for each class"
BEST = "the answer is the one with the least expected loss, not each label above one half"
COUNTED = "regret, rounds and losses are counted from the start, in public"
EARLY = "a setting that makes no sense is refused when it is given"
ROWS = "the error is worded for rows of any kind"
NOTHING = "no rounds, and rows without features, are allowed"

WHOLE = [VectorRegressor("oskaar", lam=0.1), Classifier("oskaar")]
SLOWER = [
    VectorRegressor(),
    Classifier(),
    VectorRegressor("salami", lam=0.1),
    Classifier("salami"),
    Classifier("salami", lam=0.1, options={"window": 30}),
]
FREE = {
    "check_do_not_raise_errors_in_init_or_set_params": EARLY,
    "check_n_features_in_after_fitting": ROWS,
    "check_estimators_empty_data_messages": NOTHING,
    "check_estimator_sparse_array": STRUCTURES,
    "check_estimator_sparse_matrix": STRUCTURES,
}
BY_NAME = [
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit_idempotent",
    "check_estimators_pickle",
]
ONLINE = {
    **FREE,
    "check_no_attributes_set_in_init": COUNTED,
    "check_dont_overwrite_parameters": COUNTED,
    **dict.fromkeys(BY_NAME, STRUCTURES),
}
FAIL = {
    OSKAAR: ONLINE,
    SALAMI: ONLINE,
    BatchILE: FREE,
    MultiLabelClassifier: dict.fromkeys(
        [
            "check_estimators_dtypes",
            "check_classifier_data_not_an_array",
            "check_classifiers_one_label",
            "check_classifiers_one_label_sample_weights",
            "check_classifiers_classes",
            "check_classifiers_train",
            "check_classifier_not_supporting_multiclass",
            "check_fit2d_1feature",
        ],
        ONE_CLASS,
    )
    | {
        "check_estimator_sparse_array": STRUCTURES,
        "check_estimator_sparse_matrix": STRUCTURES,
        "check_classifier_multioutput": BEST,
    },
}


@parametrize_with_checks(WHOLE)
def test_every_check_of_scikit_learn(estimator, check):
    try:
        check(estimator)
    except SkipTest as reason:  # test_no_check_is_skipped has what is left out for this reason, and for no other
        if "SCIPY_ARRAY_API" not in str(reason) and find_spec("pandas"):
            pytest.fail(f"skipped: {reason}")
        raise


@pytest.mark.slow
@parametrize_with_checks(SLOWER)
def test_every_check_of_scikit_learn_on_slower_ones(estimator, check):
    check(estimator)


def test_no_check_is_skipped():
    """With array API inputs, which scikit-learn skips where SciPy is not ready; fewer of them for the ensemble."""
    code = """
from functools import partial
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator
from oskaar.sklearn import Classifier, VectorRegressor
for estimator in (VectorRegressor("oskaar"), Classifier("oskaar"), Classifier()):
    if estimator.learner != "oskaar":
        estimator_checks.make_classification = partial(estimator_checks.make_classification, n_samples=24)
    for fresh, check in estimator_checks_generator(estimator):
        if "array_api" in check.func.__name__:
            check(fresh)
            print("passed")
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["passed"] * 3


FREE_FORMS = [
    OSKAAR(losses.ZeroOne()),
    pytest.param(SALAMI(losses.ZeroOne(), lam=0.1), marks=pytest.mark.slow),
    pytest.param(SALAMI(losses.ZeroOne()), marks=pytest.mark.slow),
    BatchILE(losses.ZeroOne()),
    MultiLabelClassifier(learner="oskaar"),
]


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit:UserWarning")
@pytest.mark.filterwarnings("ignore:.* occurred during set_params:UserWarning")
@pytest.mark.parametrize("estimator", FREE_FORMS, ids=lambda e: type(e).__name__)
def test_checks_of_free_forms(estimator):
    """All pass but those listed, and those do fail."""
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "failed"} == FAIL[type(estimator)].keys()
    assert sum(r["status"] == "passed" for r in results) > 25


def test_documentation_lists_the_checks_that_fail():
    text = (Path(__file__).parents[1] / "docs" / "scikit-learn.md").read_text()
    listed = {row[0]: row[1].strip() for row in re.findall(r"^\| `(check_\w+)` \|[^|]*\|([^|]*)\|$", text, re.M)}
    assert listed == {name: reason for checks in FAIL.values() for name, reason in checks.items()}


# ------------------------------------------------------------------ settings

LEARNERS = [
    OSKAAR(losses.F1(3), lam=1, shifted=True, max_bytes=10**9),
    OSKAAR(losses.F1(3), kernels.Gaussian(2.0) + 1.0, lam=np.float64(0.3), budget=5),
    OSKAAR(losses.F1(3), features=features.RandomFourier(kernels.Gaussian(), 10)),
    SALAMI(losses.F1(3)),
    SALAMI(losses.F1(3), [kernels.Gaussian(1.0) + 1.0, kernels.Linear()], lam=(1, 2), budget=5, window=3),
    SALAMI(losses.F1(3), lam=1, eta="theory", restarts=None, project=True),
    BatchILE(losses.F1(3), lam=1),
    RepeatLast(losses.F1(3)),
    MostFrequent(losses.F1(3)),
    VectorRegressor("salami", kernels.Gaussian(2.0), low=[0.0, 1.0], options={"window": 5}),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_clone(learner):
    """clone itself checks that every argument is kept as it was given."""
    copy = clone(learner)
    assert type(copy) is type(learner)
    assert repr(copy) == repr(learner)
    assert list(learner.get_params(deep=False)) == list(copy.get_params(deep=False))


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (OSKAAR, {"lam": 1, "shifted": np.True_, "max_bytes": 1e9, "kernel": kernels.Linear(), "budget": 5.0}),
        (SALAMI, {"lam": 2, "window": 5.0, "restarts": "all", "budget": 3, "project": 1, "eta": 1, "shifted": 0}),
        (SALAMI, {"lam": [1, 2], "kernel": [kernels.Linear(), kernels.Gaussian()], "bound": 2}),
        (BatchILE, {"lam": 1, "kernel": None}),
    ],
)
def test_arguments_are_kept_as_given(kind, given):
    params = kind(losses.F1(3), **given).get_params(deep=False)
    assert all(params[name] is value for name, value in given.items())


def test_clone_has_learned_nothing(rng):
    X, sets = rows_and_sets(rng)
    learner = OSKAAR(losses.F1(3)).fit(X, sets)
    copy = clone(learner)
    assert (learner.rounds, copy.rounds) == (60, 0)
    assert copy.fit(X, sets).predict(X) == learner.predict(X)


def test_params_by_name():
    loss, kernel = losses.F1(3), kernels.Gaussian(2.0) + 1.0
    params = SALAMI(loss, kernel, budget=4).get_params()
    assert params["loss"] is loss
    assert params["kernel"] is kernel
    assert params["lam"] == (0.05, 0.5)
    assert params["restarts"] == "all"
    assert params["kernel__left__lengthscale"] == 2.0
    assert params["kernel__right__value"] == 1.0
    assert params["loss__beta"] == 1.0
    assert "loss__n_labels" not in params


CHANGES = [
    ({"lam": 0.3}, lambda: OSKAAR(losses.F1(3), kernels.Gaussian(2.0), lam=0.3)),
    ({"kernel__lengthscale": 0.3}, lambda: OSKAAR(losses.F1(3), kernels.Gaussian(0.3))),
    ({"loss__beta": 2.0}, lambda: OSKAAR(losses.F1(3, beta=2.0), kernels.Gaussian(2.0))),
    ({"loss": losses.Jaccard(3)}, lambda: OSKAAR(losses.Jaccard(3), kernels.Gaussian(2.0))),
    ({"budget": 7}, lambda: OSKAAR(losses.F1(3), kernels.Gaussian(2.0), budget=7)),
    (
        {"kernel__nu": 2.5, "kernel": kernels.Matern(3.0)},
        lambda: OSKAAR(losses.F1(3), kernels.Matern(3.0, nu=2.5)),
    ),
]


@pytest.mark.parametrize(("changes", "wanted"), CHANGES, ids=[", ".join(c[0]) for c in CHANGES])
def test_set_params_takes_effect(rng, changes, wanted):
    X, sets = rows_and_sets(rng)
    kernel = kernels.Gaussian(2.0)
    learner = OSKAAR(losses.F1(3), kernel).fit(X, sets)
    before = learner.estimate(X[0])
    assert learner.set_params(**changes) is learner
    assert learner.rounds == 0
    learner.fit(X, sets)
    assert np.array_equal(learner.estimate(X[0]), wanted().fit(X, sets).estimate(X[0]))
    assert changes.keys() == {"loss__beta"} or "loss" in changes or not np.array_equal(before, learner.estimate(X[0]))
    assert kernel == kernels.Gaussian(2.0)


def test_set_params_of_features(rng):
    X, sets = rows_and_sets(rng)
    learner = OSKAAR(losses.F1(3), features=features.RandomFourier(kernels.Gaussian(), 10)).fit(X, sets)
    learner.set_params(features__seed=3, features__kernel__lengthscale=0.5)
    twin = OSKAAR(losses.F1(3), features=features.RandomFourier(kernels.Gaussian(0.5), 10, seed=3))
    assert np.array_equal(learner.fit(X, sets).estimate(X[0]), twin.fit(X, sets).estimate(X[0]))


def test_set_params_of_salami_and_batch(rng):
    X, sets = rows_and_sets(rng)
    salami = SALAMI(losses.F1(3)).fit(X, sets).set_params(lam=0.2, window=10, kernel=kernels.Linear() + 1.0)
    twin = SALAMI(losses.F1(3), kernels.Linear() + 1.0, lam=0.2, window=10)
    assert salami.lams == [0.2]
    assert np.array_equal(salami.fit(X, sets).estimate(X[0]), twin.fit(X, sets).estimate(X[0]))
    batch = BatchILE(losses.F1(3)).fit(X, sets).set_params(lam=0.2)
    with pytest.raises(NotFittedError):
        batch.predict(X)
    assert np.array_equal(
        batch.fit(X, sets).estimate(X[0]), BatchILE(losses.F1(3), lam=0.2).fit(X, sets).estimate(X[0])
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"lam": 0.0}, "lam must be finite and > 0"),
        ({"lamb": 1.0}, "OSKAAR has no setting 'lamb': it must be one of loss, kernel, lam"),
        ({"kernel__width": 1.0}, "has no setting 'width': it must be one of lengthscale"),
        ({"kernel__lengthscale": -1.0}, "lengthscale must be finite and > 0"),
        ({"lam": 0.1, "kernel__lengthscale": -1.0}, "lengthscale must be"),
        ({"loss__n_labels": 4}, "has no setting 'n_labels'"),
        ({"features__dim": 4}, "features = None has no settings .* give features= whole"),
        ({"max_bytes": np.inf}, "max_bytes must be a whole number"),
        ({"budget": np.inf}, "budget must be a whole number"),
    ],
)
def test_refused_settings_change_nothing(rng, changes, words):
    X, sets = rows_and_sets(rng)
    learner = OSKAAR(losses.F1(3), kernels.Gaussian(2.0)).fit(X, sets)
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match=words):
        learner.set_params(**changes)
    assert pickle.dumps(learner) == before
    assert pickle.dumps(learner.set_params()) == before


def test_settings_of_losses_rebuild_them():
    """Whatever a loss lists, setting it to what it is gives the same loss."""
    several = [
        losses.F1(4, beta=2.0, at_least=1),
        losses.Jaccard(4, at_most=2),
        losses.SubsetHamming(4),
        losses.SubsetZeroOne(4),
        losses.PrecisionAtK(4, 2),
        losses.Pinball(2, 0.0, 1.0, quantile=0.2),
        losses.Huber(2, 0.0, 1.0),
        losses.NDCG(4, k=2),
        losses.Kendall(4),
        losses.ZeroOne("ab"),
        losses.Ordinal(3),
        losses.Sequence("ab"),
        losses.CostMatrix(np.eye(2)),
    ]
    changeable = 0
    for loss in several:
        learner = OSKAAR(loss)
        for name, value in learner.get_params().items():
            if name.startswith("loss__"):
                changeable += 1
                assert repr(clone(learner).set_params(**{name: value}).loss) == repr(loss)
    assert changeable == 13


def test_tags():
    tags = get_tags(SALAMI(losses.F1(3)))
    assert tags.target_tags.required
    assert tags.input_tags.sparse
    assert not tags.requires_fit
    assert not is_classifier(SALAMI(losses.F1(3)))
    assert get_tags(BatchILE(losses.F1(3))).requires_fit
    check_is_fitted(OSKAAR(losses.F1(3)))
    with pytest.raises(NotFittedError):
        check_is_fitted(BatchILE(losses.F1(3)))
    assert is_regressor(VectorRegressor())
    assert is_classifier(Classifier())
    assert get_tags(MultiLabelClassifier()).classifier_tags.multi_label


def test_without_scikit_learn():
    """Settings need nothing; `oskaar.sklearn` says what to install."""
    code = """
import sys
sys.modules["sklearn"] = None
from oskaar import OSKAAR, BatchILE, losses
assert OSKAAR(losses.F1(3)).set_params(lam=0.5).get_params()["lam"] == 0.5
try:
    BatchILE(losses.F1(3)).predict([[0.0]])
except ValueError as error:
    assert type(error) is ValueError
try:
    import oskaar.sklearn
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "oskaar.sklearn needs scikit-learn: pip install 'oskaar[sklearn]'."


# ------------------------------------------------------------------ structures in pipelines and searches


def rows_and_sets(rng, n=60):
    X = rng.normal(size=(n, 3))
    return X, [frozenset(np.flatnonzero(x > 0).tolist()) for x in X]


def by_hand(learner, xs, ys, splits):
    """cross_val_score, the long way."""
    scores = []
    for train, test in splits:
        fresh = clone(learner)
        for i in train:
            fresh.learn_one(xs[i], ys[i])
        scores.append(-np.mean([fresh.loss(fresh.predict_one(xs[i]), fresh.loss.check(ys[i])) for i in test]))
    return scores


def ragged(rng, form):
    xs = [rng.normal(size=(n, 2)) for n in (1, 3, 2, 4) * 6]
    return OSKAAR(losses.Sequence("ab")), xs, [form(["ab"[int(row[0] > 0)] for row in x]) for x in xs]


def cases(rng):
    X, sets = rows_and_sets(rng, 36)
    f1 = OSKAAR(losses.F1(3), lam=0.1)
    tuples = [tuple("ab"[int(v > 0)] for v in x) for x in X]
    hamming = OSKAAR(losses.SequenceHamming(3, "ab"))
    squared = OSKAAR(losses.Squared(2, -9.0, 9.0))
    S = sparse.csr_array(np.where(X > 0.3, X, 0.0))
    words = ["".join(rng.choice(list("abc"), size=3)) for _ in X]
    letters = [frozenset("abc".index(c) for c in word) for word in words]
    shared = OSKAAR(losses.F1(3), kernels.Pairwise(lambda a, b: len(set(a) & set(b))))
    holder = np.empty(len(sets), dtype=object)
    holder[:] = sets
    return {
        "frozensets": (f1, X, sets),
        "sets": (f1, X, [set(y) for y in sets]),
        "a tuple of frozensets": (f1, X, tuple(sets)),
        "an array of frozensets": (f1, X, holder),
        "indicators": (f1, X, (X > 0).astype(int)),
        "tuples": (hamming, X, tuples),
        "an array of text": (hamming, X, np.array(tuples)),
        "vectors": (squared, X, X[:, :2]),
        "a list of vectors": (squared, X, list(X[:, :2])),
        "ragged lists": ragged(rng, list),
        "ragged tuples": ragged(rng, tuple),
        "ragged arrays": ragged(rng, np.array),
        "sparse rows": (f1, S, sets),
        "dicts": (f1, [dict(zip("abc", x.tolist())) for x in X], sets),
        "words": (shared, words, letters),
        "an array of words": (shared, np.array(words), letters),
        "SALAMI": (SALAMI(losses.F1(3)), X[:30], sets[:30]),
    }


CASES = list(cases(np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("name", "cv"), [*((name, TimeSeriesSplit(3)) for name in CASES), ("frozensets", KFold(3)), ("words", KFold(3))]
)
def test_cross_val_score_with_structures(rng, name, cv):
    learner, xs, ys = cases(rng)[name]
    scores = cross_val_score(learner, xs, ys, cv=cv, error_score="raise")
    rows = [xs[[i], :] for i in range(xs.shape[0])] if sparse.issparse(xs) else xs
    np.testing.assert_allclose(scores, by_hand(learner, rows, ys, cv.split(np.zeros(len(ys)))), atol=1e-12)
    assert learner.rounds == 0


@pytest.mark.parametrize("name", ["frozensets", "ragged lists", "sparse rows", "words"])
def test_grid_search_with_structures(rng, name):
    learner, xs, ys = cases(rng)[name]
    grid = [0.01, 1.0, 100.0]
    search = GridSearchCV(learner, {"lam": grid}, cv=TimeSeriesSplit(3), error_score="raise").fit(xs, ys)
    means = [
        cross_val_score(clone(learner).set_params(lam=lam), xs, ys, cv=TimeSeriesSplit(3)).mean() for lam in grid
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means)
    assert search.best_params_ == {"lam": grid[int(np.argmax(means))]}
    assert search.best_estimator_.rounds == len(ys)
    assert search.score(xs, ys) == search.best_estimator_.score(xs, ys)


def test_pipeline(rng):
    X, sets = rows_and_sets(rng, 30)
    X = 100.0 + 50.0 * X
    pipeline = make_pipeline(StandardScaler(), SALAMI(losses.F1(3), lam=0.1))
    scaled = StandardScaler().fit(X)
    alone = SALAMI(losses.F1(3), lam=0.1).fit(scaled.transform(X), sets)
    assert pipeline.fit(X, sets).predict(X) == alone.predict(scaled.transform(X))
    assert pipeline.score(X, sets) == alone.score(scaled.transform(X), sets)
    assert pipeline.n_features_in_ == alone.n_features_in_ == 3
    assert "SALAMI(F1(3)" in repr(pipeline)
    assert "SALAMI" in pipeline._repr_html_()


def test_search_in_a_pipeline(rng):
    X, sets = rows_and_sets(rng, 30)
    pipeline = make_pipeline(StandardScaler(), SALAMI(losses.F1(3), kernels.Gaussian(1.0) + 1.0))
    grid = {"salami__kernel__left__lengthscale": [0.01, 2.0], "salami__lam": [0.1, (0.1, 1.0)]}
    search = GridSearchCV(pipeline, grid, cv=TimeSeriesSplit(2), error_score="raise").fit(X, sets)
    assert search.best_params_["salami__kernel__left__lengthscale"] == 2.0
    assert search.best_estimator_[-1].kernel == kernels.Gaussian(2.0) + 1.0


def test_data_frames(rng):
    pandas = pytest.importorskip("pandas")
    X, sets = rows_and_sets(rng)
    frame, series = pandas.DataFrame(X, columns=list("abc")), pandas.Series(sets)
    learner = OSKAAR(losses.F1(3))
    assert np.array_equal(cross_val_score(learner, frame, series, cv=3), cross_val_score(learner, X, sets, cv=3))


def test_other_tools(rng):
    X, sets = rows_and_sets(rng)
    learner = OSKAAR(losses.F1(3), lam=0.1)
    _, _, past, future = train_test_split(X, sets, shuffle=False)
    assert past + future == sets
    exact = make_scorer(lambda y, z: np.mean([a == b for a, b in zip(y, z)]))
    assert 0 < cross_val_score(learner, X, sets, cv=3, scoring=exact).mean() <= 1
    answers = cross_val_predict(learner, X, sets, cv=3)
    assert answers.shape == (60,)
    assert isinstance(answers[0], frozenset)


def test_errors_of_the_free_faces():
    learner = OSKAAR(losses.ZeroOne())
    with pytest.raises(ValueError, match="requires y to be passed"):
        learner.fit([[0.0]], None)
    complex_rows = [np.array([[1j]]), [np.array([1j])], sparse.csr_array([[1j]])]
    for X in complex_rows:
        with pytest.raises(ValueError, match="Complex data not supported"):
            learner.fit(X, ["a"])
    assert not hasattr(learner, "n_features_in_")
    assert not hasattr(learner.fit([{"a": 1.0}], ["a"]), "n_features_in_")
    assert learner.fit([[1.0, 2.0]], ["a"]).n_features_in_ == 2


# ------------------------------------------------------------------ estimators in scikit-learn's shapes


@pytest.mark.parametrize("name", ["oskaar", "salami"])
def test_vectors_are_the_learners(rng, name):
    X = rng.normal(size=(40, 3))
    Y = np.tanh(X[:, :2])
    model = VectorRegressor(name, kernels.Gaussian(1.0) + 1.0, lam=0.1, low=-2.0, high=[2.0, 3.0]).fit(X, Y)
    kind = OSKAAR if name == "oskaar" else SALAMI
    learner = kind(losses.Squared(2, -2.0, [2.0, 3.0]), kernels.Gaussian(1.0) + 1.0, lam=0.1).fit(X, Y)
    assert np.array_equal(model.predict(X), np.array(learner.predict(X)))
    assert clone(model).set_params(options={"max_bytes": 10**9}, budget=3).fit(X, Y).learner_.max_bytes == 10**9
    halves = clone(model).partial_fit(X[:7], Y[:7]).partial_fit(X[7:], Y[7:])
    np.testing.assert_allclose(halves.predict(X), model.predict(X), atol=1e-9)


def test_vectors_of_one_target_and_sparse_rows(rng):
    X = rng.normal(size=(50, 3))
    model = VectorRegressor("oskaar", lam=0.01).fit(X, X[:, 0])
    assert model.predict(X).shape == (50,)
    assert model.score(X, X[:, 0]) > 0.9
    lowest, highest = X[:, 0].min(), X[:, 0].max()
    assert model.learner_.space.range.low[0] < lowest < highest < model.learner_.space.range.high[0]
    model.partial_fit(X[:2], [lowest - 90.0, highest + 90.0])  # no label is refused for its size
    assert model.learner_.space.range.high[0] > highest + 90.0
    assert (
        model.set_params(kernel=kernels.Gaussian(1.0)).set_params(kernel__lengthscale=3.0).kernel.lengthscale == 3.0
    )
    assert VectorRegressor().fit(sparse.csr_array(X), X[:, 0]).predict(sparse.csr_array(X[:5])).shape == (5,)


def test_a_label_outside_the_range_changes_nothing(rng):
    X = rng.normal(size=(20, 2))
    for model in (VectorRegressor(low=-9.0, high=9.0), VectorRegressor("salami", low=-9.0)):
        model.partial_fit(X, X[:, 0])
        before, answers = pickle.dumps(model), model.predict(X)
        with pytest.raises(ValueError, match=r"target 0 must be in \[.*got 1000: widen low and high"):
            model.partial_fit(X, [*X[:19, 0], 1000.0])
        with pytest.raises(ValueError, match="y must have 1 targets"):
            model.partial_fit(X, X)
        with pytest.raises(ValueError, match="target 0 must be in"):
            clone(model).set_params(high=0.0).fit(X, np.arange(20.0) - 1)
        assert pickle.dumps(model) == before
        assert np.array_equal(model.predict(X), answers)


def test_a_refused_fit_keeps_the_old_one(rng):
    X = rng.normal(size=(20, 2))
    model = VectorRegressor(low=-9.0, high=9.0).fit(X, X)
    answers = model.predict(X)
    with pytest.raises(ValueError, match="target 0 must be in"):
        model.fit(np.ones((2, 5)), [1.0, 1000.0])
    assert np.array_equal(model.predict(X), answers)
    fresh = VectorRegressor(low=-9.0, high=9.0)
    before = dict(vars(fresh))
    with pytest.raises(ValueError, match="target 0 must be in"):
        fresh.partial_fit([[0.0], [1.0]], [1.0, 1000.0])
    assert vars(fresh) == before


def test_a_constant_target_and_wrong_settings():
    X = [[0.0], [1.0]]
    np.testing.assert_allclose(VectorRegressor().fit(X, [5.0, 5.0]).predict(X), 5.0)
    np.testing.assert_allclose(VectorRegressor().fit(X, [0.0, 0.0]).predict(X), 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="learner must be one of ensemble, salami, oskaar, got 'ridge'"):
        VectorRegressor("ridge").fit(X, [0.0, 1.0])
    with pytest.raises(ValueError, match="loss must be one of f1, hamming, jaccard, got 'f2'"):
        MultiLabelClassifier("f2").fit(X, [[0, 1], [1, 0]])


def test_classes(rng):
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, "up", "down")
    model = Classifier("oskaar", lam=0.1).fit(X, y)
    assert list(model.classes_) == ["down", "up"]
    assert list(model.predict(X)) == OSKAAR(losses.ZeroOne(["down", "up"]), lam=0.1).fit(X, y).predict(X)
    first = Classifier("oskaar", lam=0.1)
    with pytest.raises(ValueError, match="needs classes="):
        first.partial_fit(X, y)
    first.partial_fit(X[:5], y[:5], classes=["up", "down"]).partial_fit(X[5:], y[5:])
    assert np.array_equal(first.predict(X), model.predict(X))
    before = pickle.dumps(first)
    with pytest.raises(ValueError, match="y must be among the classes"):
        first.partial_fit(X[:1], ["left"])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        first.partial_fit(X[:1], ["up"], classes=["up", "left"])
    assert pickle.dumps(first) == before


@pytest.mark.parametrize(
    ("name", "loss"), [("f1", losses.F1), ("hamming", losses.SubsetHamming), ("jaccard", losses.Jaccard)]
)
def test_multi_label_metrics_as_they_are(rng, name, loss):
    X = rng.normal(size=(60, 4))
    Y = (X + 0.5 * rng.normal(size=X.shape) > 0).astype(int)
    Y[0] = 0
    model = MultiLabelClassifier(name, "oskaar", lam=0.1).fit(X[:40], Y[:40])
    learner = OSKAAR(loss(4), lam=0.1).fit(X[:40], Y[:40])
    Z, answers = model.predict(X[40:]), learner.predict(X[40:])
    assert Z.dtype == np.int64
    assert [frozenset(np.flatnonzero(z)) for z in Z] == answers
    mine = {
        "f1": f1_score(Y[40:], Z, average="samples", zero_division=1.0),
        "hamming": 1 - hamming_loss(Y[40:], Z),
    }
    if name in mine:
        np.testing.assert_allclose(mine[name], 1 + learner.score(X[40:], Y[40:]))
    samples = make_scorer(f1_score, average="samples", zero_division=1.0)
    scores = cross_val_score(model, X, Y, cv=3, scoring=samples, error_score="raise")
    assert scores.shape == (3,)
    assert (scores > 0.6).all()
    again = clone(model).partial_fit(X[:20], sparse.csr_array(Y[:20])).partial_fit(X[20:40], Y[20:40])
    assert np.array_equal(again.predict(X[40:]), Z)
    assert 0 < model.score(X, Y) <= 1
    assert cross_val_score(model, X, Y, cv=3, scoring="f1_micro", error_score="raise").min() > 0.6


def test_multi_label_errors():
    X = [[0.0], [1.0]]
    model = MultiLabelClassifier().fit(X, [[0, 1], [1, 0]])
    for y in ([0, 1], [[0, 2], [1, 0]]):
        with pytest.raises(ValueError, match=r"y must be an \(n, k\) matrix of 0 and 1"):
            model.partial_fit(X, y)
    with pytest.raises(ValueError, match="y must have 2 columns"):
        model.partial_fit(X, [[0, 1, 1], [1, 0, 1]])
    assert model.learner_.rounds == 2

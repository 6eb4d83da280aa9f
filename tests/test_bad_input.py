"""A refused round says what is wrong, leaves the state bit for bit as it was, and the next one goes on."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from oskaar import OSKAAR, BatchILE, kernels, losses, replay

X = np.random.default_rng(3).normal(size=(12, 3))
YS = [0, 1, 2] * 4


def flip(X, Y):
    """Not positive semidefinite: similar inputs repel."""
    return -kernels.Gaussian()(X, Y)


class Moody(kernels.Kernel):
    """A kernel that misbehaves for rows that start with a large number."""

    def __init__(self, how):
        self.how = how

    def __call__(self, X, Y):
        K = kernels.Gaussian()(X, Y)
        if np.any(np.asarray(X)[:, 0] > 100):
            return {"shape": K[:, :0], "nan": K * np.nan, "inf": K + np.inf, "not psd": K + 50.0}[self.how]
        return K

    def diag(self, X):
        return np.ones(len(X))


BAD_ROUNDS = {
    "inf": ([0, np.inf, 0], 0, "x must be finite, got inf in feature 1"),
    "too narrow": ([0, 1], 0, "must have 3 features, as the first row had, got 2"),
    "too wide": ([0, 1, 2, 3], 0, "must have 3 features"),
    "text": (["a", "b", "c"], 0, "must be a row of numbers"),
    "a scalar": (1.0, 0, "must be a row of numbers"),
    "two rows": (np.zeros((2, 3)), 0, "must be a row of numbers"),
    "a dict": ({"a": 1.0}, 0, "must be a row of numbers"),
    "unknown class": ([0, 0, 0], 7, "unknown class 7"),
    "no label": ([0, 0, 0], None, "unknown class None"),
    "nan label": ([0, 0, 0], np.nan, "unknown class nan"),
    "wide sparse": (csr_array(np.ones((1, 4))), 0, "must have 3 features"),
    "sparse rows": (csr_array(np.ones((2, 3))), 0, "must be one row"),
}


@pytest.mark.parametrize("name", BAD_ROUNDS)
def test_refused_round(name):
    x, y, message = BAD_ROUNDS[name]
    learner, untouched = OSKAAR(losses.ZeroOne(3)), OSKAAR(losses.ZeroOne(3))
    for each in (learner, untouched):
        each.learn_many(X[:6], YS[:6])
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match=message):
        learner.learn_one(x, y)
    assert pickle.dumps(learner) == before
    with pytest.raises(ValueError, match=message):
        learner.learn_many([*X[:2].tolist(), x], [0, 0, y])
    assert pickle.dumps(learner) == before
    if "label" not in name and "class" not in name:
        with pytest.raises(ValueError, match=message):
            learner.predict_one(x)
    for each in (learner, untouched):
        each.learn_many(X[6:], YS[6:])
    assert pickle.dumps(learner) == pickle.dumps(untouched)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("shape", r"must return shape \(1, 6\)"),
        ("nan", "finite numbers"),
        ("inf", "finite numbers"),
        ("not psd", "positive semidefinite"),
    ],
)
def test_refused_kernel(how, message):
    """The kernel fails at one round, alone and in the middle of a replay; the rounds before it stay learned."""
    bad = np.array([200.0, 0, 0])
    learner = OSKAAR(losses.ZeroOne(3), Moody(how))
    learner.learn_many(X[:6], YS[:6])
    before = pickle.dumps(learner)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        learner.learn_one(bad, 0)
    assert pickle.dumps(learner) == before
    learner.learn_one(X[6], YS[6])
    assert learner.rounds == 7


def test_not_positive_semidefinite_in_a_replay():
    """Rounds that were good are learned; the refused one and those after it are not."""
    learner = OSKAAR(losses.ZeroOne(3), kernels.Rowwise(flip), lam=0.1)
    with pytest.raises(ValueError, match="positive semidefinite"):
        replay(learner, X, YS)
    assert learner.rounds == learner._estimator.solver.rounds == learner._inputs.n
    with pytest.raises(ValueError, match="positive semidefinite"):
        BatchILE(losses.ZeroOne(3), kernels.Rowwise(flip), lam=0.01).fit(X, YS)


@pytest.mark.parametrize("lam", [0, -1.0, np.nan, np.inf, "much", None])
def test_lam(lam):
    for make in (OSKAAR, BatchILE):
        with pytest.raises((ValueError, TypeError), match="lam must be"):
            make(losses.ZeroOne(3), lam=lam)


def test_loss_and_kernel_arguments():
    with pytest.raises(TypeError, match="make one, as in"):
        OSKAAR(losses.F1)
    with pytest.raises(TypeError, match=r"wrap a function in losses\.LossTrick"):
        OSKAAR(lambda z, y: 0.0)
    with pytest.raises(TypeError, match="Kernel or a function"):
        OSKAAR(losses.ZeroOne(3), kernel="gaussian").learn_one([0.0], 0)


def test_mismatched_lengths():
    learner = OSKAAR(losses.ZeroOne(3))
    before = pickle.dumps(learner)
    for learn in (learner.learn_many, learner.partial_fit, learner.fit, lambda x, y: replay(learner, x, y)):
        with pytest.raises(ValueError, match="12 inputs and 11 labels"):
            learn(X, YS[:-1])
    assert pickle.dumps(learner) == before
    with pytest.raises(ValueError, match="12 inputs and 11 labels"):
        BatchILE(losses.ZeroOne(3)).fit(X, YS[:-1])


def test_a_replay_checks_everything_first():
    learner = OSKAAR(losses.ZeroOne(3))
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match="unknown class 9"):
        replay(learner, X, [*YS[:-1], 9])
    with pytest.raises(ValueError, match="feature 2 of row 11"):
        replay(learner, np.vstack([X[:-1], [0, 0, np.inf]]), YS)
    assert pickle.dumps(learner) == before


def test_flat_arrays_are_refused():
    with pytest.raises(ValueError, match="reshape"):
        replay(OSKAAR(losses.ZeroOne(3)), np.zeros(12), YS)
    with pytest.raises(TypeError, match="sequence of rows"):
        replay(OSKAAR(losses.ZeroOne(3)), 3, YS)


def test_rounds_of_parts():
    learner = OSKAAR(losses.PerRow(losses.ZeroOne(3)))
    learner.learn_one(X[:2], [0, 1])
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match="3 parts for 2 rows"):
        learner.learn_one(X[:2], [0, 1, 2])
    with pytest.raises(ValueError, match="at least one row"):
        learner.learn_one(np.zeros((0, 3)), [0])
    with pytest.raises(ValueError, match="round 1: y must have a part"):
        replay(learner, [X[:2], X[2:5]], [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="round 0 has no rows"):
        replay(learner, [np.zeros((0, 3))], [[0]])
    assert pickle.dumps(learner) == before


def test_delta_that_fails_loses_nothing():
    def delta(z, y):
        if "bad" in (z, y):
            raise RuntimeError("no such thing")
        return float(z != y)

    learner = OSKAAR(losses.LossTrick(delta))
    learner.learn_one([0.0], "a")
    learner.learn_one([1.0], "b")
    with pytest.raises(RuntimeError, match="no such thing"):
        learner.learn_one([2.0], "bad")
    assert learner.rounds == learner._inputs.n == learner._estimator.solver.factor.n == 2
    learner.learn_one([2.0], "c")
    assert learner.estimate([2.0]).shape == (3,)


def test_dict_rows():
    learner = OSKAAR(losses.ZeroOne(2), kernels.Gaussian())
    learner.learn_one({"a": 1.0, "color": "red"}, 0)
    learner.learn_one({"b": 2.0, "color": "blue", "on": True}, 1)
    before = pickle.dumps(learner)
    learner.predict_one({"never": 3.0})
    for bad, message in (
        ({"a": np.nan}, "got nan in feature 'a'"),
        ({"a": None}, "feature 'a' must be a number or a text"),
        ({"a": [1]}, "feature 'a' must be"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.learn_one({"new": 1.0, **bad}, 0)
    with pytest.raises(TypeError, match="must be a dict, as the first row was"):
        learner.learn_one([1.0], 0)
    assert pickle.dumps(learner) == before
    assert list(learner._inputs.store.names) == ["a", "color=red", "b", "color=blue", "on"]
    assert learner.predict_one({"color": "red", "a": 0.9}) == 0


def test_batch_before_fit():
    with pytest.raises(ValueError, match="call fit"):
        BatchILE(losses.ZeroOne(2)).predict_one([0.0])
    with pytest.raises(ValueError, match="at least one example"):
        BatchILE(losses.ZeroOne(2)).fit(np.zeros((0, 2)), [])
    with pytest.raises(ValueError, match="at least one round"):
        OSKAAR(losses.ZeroOne(2)).score(np.zeros((0, 2)), [])

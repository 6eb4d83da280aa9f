"""Restarts on features when targets are known: in blocks of any size, whatever happens between them."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oskaar import SALAMI, features, kernels, losses, replay
from oskaar.solvers.knownblocks import lanes_of
from oskaar.solvers.stacks import LEAST_OPEN

LAMS, ETA = [0.3, 2.0], 0.4


def made(width=2, **settings):
    return SALAMI(losses.ZeroOne(2), features=features.Identity(width), lam=LAMS, eta=ETA, **settings)


def stream(T, seed=0, width=2):
    X = np.random.default_rng(seed).normal(size=(T, width))
    X[:40] /= 8.0  # dictionaries grow later
    return X, [int(x[0] > 0) for x in X]


def in_turn(learner, X, ys):
    estimates = []
    for x, y in zip(X, ys):
        estimates.append(learner.estimate(x))
        learner.learn_one(x, y)
    return np.array(estimates)


@settings(max_examples=6)
@given(
    st.lists(st.tuples(st.sampled_from([1, 3, 20, 32, 50]), st.integers(0, 3)), min_size=2, max_size=3),
    st.sampled_from([None, 40]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 60]),
)
@example([(50, 0), (50, 0)], None, 0, 2)  # a chunk that stays open after one that is folded in
@example([(100, 0), (32, 0)], None, 0, 60)  # one that ends before some that were put off
def test_pieces_of_any_size_are_salami(pieces, window, seed, width):
    """Some pieces go one round at a time; between pieces the learner may be asked, or be saved and loaded."""
    X, ys = stream(sum(n for n, _ in pieces), seed, width)
    learner, found, lo = made(width, window=window), [], 0
    for n, what in pieces:
        part = X[lo : lo + n], ys[lo : lo + n]
        found.append(in_turn(learner, *part) if what == 1 else replay(learner, *part).estimates)
        if what == 2:
            learner = pickle.loads(pickle.dumps(learner))
        if what == 3:
            learner.predict_one(X[0])
        lo += n
    geometric = naive.lives("geometric")

    def lives(s, t):
        return geometric(s, t) and (window is None or t - s <= window)

    Phi = losses.ZeroOne(2).embed_many(ys)
    expected, _, _ = naive.salami([X @ X.T], Phi, np.arange(1, len(X) + 1), LAMS, ETA, project=True, lives=lives)
    np.testing.assert_allclose(np.concatenate(found), expected, atol=1e-8)


GROWING = {
    "features": made,
    "a dictionary": lambda: SALAMI(losses.ZeroOne(2), kernels.Gaussian() + 1.0, budget=15),
    "classes": lambda: SALAMI(losses.ZeroOne(), features=features.Identity(2), lam=LAMS),
}


@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_between_two_chunks_a_learner_is_whole(name, chunks):
    """What is put off from chunk to chunk shows nowhere: not in answers, nor dimensions, nor files."""
    X, ys = stream(200)
    ys[40:50] = [2] * 10  # a class that comes later
    ys = ys if name == "classes" else [y % 2 for y in ys]
    learners = [GROWING[name]() for _ in range(3)]
    for learner in learners:
        rounds = learner.stream(X, ys)
        for _ in range(chunks):
            next(rounds)
        assert any(solver.stack.put_off for solver in learner._estimator.restarts.starts)
    saved, measured, asked = learners
    loop = GROWING[name]()
    loop.learn_many(X[: saved.rounds], ys[: saved.rounds])
    np.testing.assert_allclose(measured.effective_dimension(), loop.effective_dimension(), atol=1e-8)
    np.testing.assert_allclose(asked.estimate(X[0]), loop.estimate(X[0]), atol=1e-8)
    loaded = pickle.loads(pickle.dumps(saved))
    a, b = (replay(learner, X[-50:], ys[-50:]).estimates for learner in (saved, loaded))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(a, replay(loop, X[-50:], ys[-50:]).estimates, atol=1e-8)


def test_after_a_stream_nothing_is_put_off():
    """Asking and saving between two streams do not change a bit of what comes."""
    X, ys = stream(4 * LEAST_OPEN)
    half = 2 * LEAST_OPEN
    asked, left = made(), made()
    for learner in (asked, left):
        learner.partial_fit(X[:half], ys[:half])
        assert not learner._estimator.restarts.starts[0].stack.put_off
    asked.predict_one(X[0])
    pickle.dumps(asked)
    a, b = (replay(learner, X[half:], ys[half:]).estimates for learner in (asked, left))
    np.testing.assert_array_equal(a, b)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=20))
def test_lanes_are_as_few_as_can_be(intervals):
    intervals = sorted(intervals)
    lanes = lanes_of([first for first, _ in intervals], [length for _, length in intervals])
    spans = [set(range(first, first + length)) for first, length in intervals]
    for i, lane in enumerate(lanes):
        assert not any(lanes[j] == lane and spans[i] & spans[j] for j in range(i))
    assert len(set(lanes)) == max((sum(t in span for span in spans) for t in range(30)), default=0)

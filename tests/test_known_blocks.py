"""Restarts on features when targets are known: in blocks of any size, whatever happens between them."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oskaar import SALAMI, features, kernels, losses, replay
from oskaar.learners.mixture import Mixture
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
        assert any(solver.stack.put_off for solver in learner._experts.starts)
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
        assert not learner._experts.starts[0].stack.put_off
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


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, -2.0]), st.sampled_from([(), (-1.0, 0.5)]))
def test_several_rounds_of_a_mixture_are_its_rounds_in_turn(seed, scaled, later, guests):
    rng = np.random.default_rng(seed)
    n, J, K, p = 9, 2, len(guests), 3
    first = int(rng.integers(0, 5))
    ends = first + rng.integers(1, 6, size=first + n) + np.arange(first + n) - first
    ends[0] = first + n
    alive = [[s for s in range(t + 1) if s in (0, t) or t < ends[s]] for t in range(first + n)]
    mixture = Mixture(0.7, J, [0.0, -1.0], scaled, later, guests)
    for t in range(first):
        mixture = mixture.after(np.array(alive[t]), rng.random((J, len(alive[t]))), rng.random(), rng.random(K))
    S = max(map(len, alive[first:]))
    restarts = np.array([s + [-1] * (S - len(s)) for s in alive[first:]])
    E, Phi = rng.normal(size=(n, J, S, p)), rng.normal(size=(n, p))
    losses = ((Phi[:, None, None] - E) ** 2).sum(axis=3)
    said = rng.normal(size=(n, K, p))
    charged = ((Phi[:, None] - said) ** 2).sum(axis=2)
    paid = []

    def own(i, g):
        paid.append(g)
        return float(np.sum((Phi[i] - g) ** 2))

    after, gains, block, logs = mixture.through(restarts, E, losses, own, said, charged, [p] * n)
    for i in range(n):
        here = restarts[i][restarts[i] >= 0]
        k = len(here)
        experts, others = mixture.shares(here)
        mean = np.einsum("js,jsp->p", experts, E[i, :, :k])
        np.testing.assert_allclose(block[i], mean / experts.sum(), atol=1e-10)
        if K:
            np.testing.assert_allclose(np.exp(logs[i, 1:] - logs[i, 0]), others / experts.sum(), atol=1e-10)
        expected = mean + others @ said[i]
        np.testing.assert_allclose(paid[i], expected, atol=1e-10)
        mixture = mixture.after(here, losses[i, :, :k], float(np.sum((Phi[i] - expected) ** 2)), charged[i])
        np.testing.assert_allclose(gains[i, :, :k], mixture.gains, atol=1e-10)
    np.testing.assert_array_equal(after.restarts, mixture.restarts)
    np.testing.assert_allclose(after.gains, mixture.gains, atol=1e-10)
    np.testing.assert_allclose(after.guest_gains, mixture.guest_gains, atol=1e-10)
    np.testing.assert_allclose(after.weights(after.restarts), mixture.weights(mixture.restarts), atol=1e-10)

"""Geometric restarts, in blocks of any size, whatever happens between them."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from strategies import few

from oskaar import SALAMI, features, kernels, losses, replay
from oskaar.solvers import geometric_restarts
from oskaar.solvers.geometric_restarts import FeatureRows, GeometricRestarts, GramRows

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


@settings(max_examples=3)
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
@pytest.mark.parametrize("chunks", few([3, 2, 1], 2))
def test_between_two_chunks_a_learner_is_whole(name, chunks, monkeypatch):
    """In the middle of a stream it answers, is measured and saved as a learner that learned round by round."""
    monkeypatch.setattr(geometric_restarts, "RECENT", 32)
    X, ys = stream(200)
    ys[40:50] = [2] * 10  # a class that comes later
    ys = ys if name == "classes" else [y % 2 for y in ys]
    learners = [GROWING[name]() for _ in range(3)]
    for learner in learners:
        rounds = learner.stream(X, ys)
        for _ in range(chunks):
            next(rounds)
        assert any(len(solver.solvers) for solver in learner._estimator.restarts.solvers[0].values()) == (chunks > 1)
    saved, measured, asked = learners
    loop = GROWING[name]()
    loop.learn_many(X[: saved.rounds], ys[: saved.rounds])
    np.testing.assert_allclose(measured.effective_dimension(), loop.effective_dimension(), atol=1e-8)
    np.testing.assert_allclose(asked.estimate(X[0]), loop.estimate(X[0]), atol=1e-8)
    loaded = pickle.loads(pickle.dumps(saved))
    a, b = (replay(learner, X[-50:], ys[-50:]).estimates for learner in (saved, loaded))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(a, replay(loop, X[-50:], ys[-50:]).estimates, atol=1e-8)


@pytest.mark.parametrize("recent", few([8, 128, 32], 3))
@pytest.mark.parametrize("window", [None, 50])
def test_each_expert_is_kaar_on_its_rows(recent, window, rng, monkeypatch):
    """With a solver or without, on kernel values and features, in chunks and one by one, with targets that widen."""
    monkeypatch.setattr(geometric_restarts, "RECENT", recent)
    T, lams = 150, [0.05, 2.0]
    X, H = rng.normal(size=(T, 3)), rng.normal(size=(T, 3))
    H[:70, 2] = 0.0
    K, alive = X @ X.T, naive.lives("geometric")
    for kind in (GramRows, FeatureRows):
        solver, t = GeometricRestarts(lams, kind, window), 0
        while t < T:
            m = min(solver.room if t % 3 else 1, T - t)
            rows = GramRows(K[t - solver.rows : t, t : t + m], K[t : t + m, t : t + m])
            targets = H[t : t + m, : 2 if t + m <= 70 else 3]
            rows = rows if kind is GramRows else FeatureRows(X[t : t + m])
            block = solver.begin(rows, range(1, m + 1), targets if m > 1 else None)
            for i in range(m):
                now = t + i
                block.observe(i, targets[i : i + 1])
                if now % 6:
                    continue
                expected = [s for s in range(now + 1) if alive(s, now) and (window is None or now - s <= window)]
                assert block.births[block.alive[i]].tolist() == expected
                for lam, G in zip(lams, block.G[i][:, block.alive[i]], strict=True):
                    for s, g in zip(expected, G, strict=True):
                        one = naive.expert(K, H, np.arange(s, now), np.array([now]), lam)
                        np.testing.assert_allclose(g, one[:, : g.shape[1]], atol=1e-8)
                        np.testing.assert_allclose(one[:, g.shape[1] :], 0.0, atol=1e-12)
            solver.commit(block)
            t += m
        assert set(solver.solvers) < set(solver.births.tolist())


@pytest.mark.parametrize("kind", [GramRows, FeatureRows])
def test_a_forecast_changes_nothing(kind, rng, monkeypatch):
    """Nor does a block that is observed and dropped, of one round, of several, or of a round of many rows."""
    monkeypatch.setattr(geometric_restarts, "RECENT", 16)
    X, H = rng.normal(size=(60, 3)), rng.normal(size=(60, 2))
    K, solver = X @ X.T, GeometricRestarts([0.5], kind)

    def rows(t, m):
        gram = GramRows(K[t - solver.rows : t, t : t + m], K[t : t + m, t : t + m])
        return gram if kind is GramRows else FeatureRows(X[t : t + m])

    for t in range(40):
        before = pickle.dumps(solver)
        for ends in ([1], [1, 2, 3], [20]):
            block = solver.begin(rows(t, ends[-1]), ends, H[t : t + ends[-1]] if len(ends) > 1 else None)
            block.observe(0, H[t : t + ends[0]])
        assert pickle.dumps(solver) == before
        block = solver.begin(rows(t, 1), [1])
        block.observe(0, H[t : t + 1])
        solver.commit(block)

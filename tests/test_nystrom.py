"""Nystrom features: the dictionary of KORS, the projections, and what happens to odd streams."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import KERNELS, lams, rows

from oskaar import OSKAAR, BatchILE, checks, features, kernels, losses, replay
from oskaar.arrays import uniforms

BUDGETS = st.integers(1, 9)
BETAS = st.sampled_from([0.5, 3.0, 1e9])


@given(rows(20), st.sampled_from(sorted(KERNELS)), BUDGETS, lams(), BETAS, st.integers(0, 5))
def test_atoms_and_features_are_those_of_the_definition(X, name, budget, ridge, beta, seed):
    kernel, twin = KERNELS[name]
    Z, after = features.Nystrom(kernel, budget, ridge=ridge, beta=beta, seed=seed).seen(X)
    atoms, sizes = naive.kors(twin, X, budget, ridge, beta, uniforms(seed, 0, len(X)))
    assert after.size == len(atoms) <= budget
    if not atoms:
        return
    np.testing.assert_allclose(after.atoms, X[atoms])
    expected = naive.projected_gram(twin, X, atoms, sizes)
    np.testing.assert_allclose(Z @ Z.T, expected, atol=1e-8 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("pieces", [1, 4])
def test_factors_in_strips_are_the_same(pieces, rng, monkeypatch):
    """Products with triangular factors leave out the zeros above strips of 3 atoms; features are projections."""
    monkeypatch.setattr("oskaar.features.nystrom.STRIP", 3)
    X, kernel = rng.normal(size=(24, 3)), kernels.Gaussian(0.5)
    after, parts = features.Nystrom(kernel, 17, beta=1e9), []
    for rows_ in np.split(X, pieces):
        parts.append(after.seen(rows_)[0])
        after = after.seen(rows_)[1]
    assert after.size == 17
    Z = after(X)
    K = kernel(X, X[:17])
    np.testing.assert_allclose(Z @ Z.T, K @ np.linalg.solve(kernel(X[:17], X[:17]), K.T), atol=1e-10)
    for lo, part in zip(range(0, 24, 24 // pieces), parts):
        np.testing.assert_allclose(part, Z[lo : lo + len(part), : part.shape[1]], atol=1e-10)


@given(rows(16, width=2), BUDGETS, st.lists(st.integers(1, 5), max_size=16))
def test_chunks_of_any_size_take_up_the_same_rows(X, budget, sizes):
    Z, after = features.Nystrom(kernels.Gaussian(0.7), budget, beta=2.0).seen(X)
    looped, start = features.Nystrom(kernels.Gaussian(0.7), budget, beta=2.0), 0
    for n in [*sizes, len(X)]:
        part, looped = looped.seen(X[start : start + n])
        np.testing.assert_allclose(part, Z[start : start + n, : part.shape[1]], atol=1e-9)
        start += n
    assert looped.size == after.size
    assert looped.rows == after.rows or after.full


@pytest.mark.parametrize("beta", [1.0, 10.0])
def test_contract(rng, beta):
    X = rng.normal(size=(30, 3))
    checks.check_features(features.Nystrom(kernels.Gaussian(1.5) + 1.0, 12, beta=beta), X)
    checks.check_features(features.Nystrom(None, 12, beta=beta), csr_array(X * (X > 0.5)))
    checks.check_features(features.Standardised(features.Nystrom(None, 12, beta=beta)), X)


def test_contract_on_objects():
    words = ["on", "line", "online", "liner", "no", "nil", "on"]
    checks.check_features(features.Nystrom(kernels.Pairwise(_shared), 4), words)


def _shared(a, b):
    return float(len(set(a) & set(b)))


def test_rows_that_are_all_alike_make_one_atom():
    X = np.ones((50, 3))
    Z, after = features.Nystrom(kernels.Gaussian(), 10).seen(X)
    assert after.size == 1
    np.testing.assert_allclose(Z @ Z.T, np.ones((50, 50)))
    learner = OSKAAR(losses.ZeroOne("ab"), budget=10, lam=0.1)
    learner.partial_fit(X, "a" * 40 + "b" * 10)
    assert learner.predict_one(X[0]) == "a"


def test_rows_of_zeros_have_no_features_under_a_linear_kernel():
    Z, after = features.Nystrom(kernels.Linear(), 4).seen(np.zeros((5, 2)))
    assert Z.shape == (5, 0)
    assert after.size == 0
    learner = OSKAAR(losses.ZeroOne(2), kernels.Linear(), budget=4)
    assert replay(learner, np.zeros((5, 2)), [1, 1, 1, 1, 1]).predictions[0] == 0


@given(rows(25, width=3), st.sampled_from(["gaussian", "intercept", "matern"]), st.booleans())
def test_a_budget_larger_than_the_stream_is_the_exact_learner(X, name, shifted):
    kernel, _ = KERNELS[name]
    ys = [i % 3 for i in range(len(X))]
    map = features.Nystrom(kernel, 100, beta=1e9)
    a = replay(OSKAAR(losses.ZeroOne(3), features=map, lam=0.5, shifted=shifted), X, ys)
    b = replay(OSKAAR(losses.ZeroOne(3), kernel, lam=0.5, shifted=shifted), X, ys)
    np.testing.assert_allclose(a.estimates, b.estimates, atol=1e-8)


@given(rows(14, width=2), BUDGETS, st.booleans(), st.sampled_from([1.0, 1e9]))
def test_reprojected_is_pkawv_to_the_letter(X, budget, shifted, beta):
    """At every round all rows so far are projected on the atoms of that round."""
    kernel, twin = KERNELS["intercept"]
    ys = [i % 3 for i in range(len(X))]
    loss = losses.ZeroOne(3)
    map = features.Nystrom(kernel, budget, ridge=0.3, beta=beta, reproject=True)
    result = replay(OSKAAR(loss, features=map, lam=0.3, shifted=shifted), X, ys)
    atoms, sizes = naive.kors(twin, X, budget, 0.3, beta, uniforms(0, 0, len(X)))
    Phi, G = loss.embed_many(ys), np.zeros((len(X), 3))
    for t in range(len(X)):
        K = naive.projected_gram(twin, X[: t + 1], atoms[: sizes[t]], [sizes[t]] * (t + 1))
        past, lam = (2 * Phi[:t] - G[:t], 1.2) if shifted else (Phi[:t], 0.3)
        G[t] = naive.expert(K, past, np.arange(t), np.array([t]), lam)[0]
    np.testing.assert_allclose(result.estimates, G.reshape(result.estimates.shape), atol=1e-8)


def test_reprojected_one_by_one_and_many(rng):
    X = rng.normal(size=(40, 2))
    map = features.Nystrom(kernels.Gaussian(), 15, reproject=True)
    checks.check_learner(OSKAAR(losses.ZeroOne(2), features=map), X, [int(x[0] > 0) for x in X])


def test_a_fresh_map_has_seen_recent_rows_only(rng):
    old, new = rng.normal(size=(20, 2)), 50 + rng.normal(size=(20, 2))
    map = features.Nystrom(kernels.Gaussian(), 5).seen(old)[1]
    assert (map.fresh(new).atoms > 40).all()
    assert map.fresh().size == 0
    assert map.fresh(old).size == 5


def test_names_that_appear_later(rng):
    """Dict rows: a dictionary of rows that had fewer names."""
    rounds = [{"a": 1.0}, {"a": -1.0}, {"b": 2.0}, {"a": 1.0, "c": 1.0}, {}, {"c": 3.0, "d": 1.0}] * 4
    ys = [0, 1, 0, 1, 0, 1] * 4
    budgeted = OSKAAR(losses.ZeroOne(2), kernels.Linear() + 1.0, lam=0.2, budget=20)
    exact = OSKAAR(losses.ZeroOne(2), kernels.Linear() + 1.0, lam=0.2)
    a, b = replay(budgeted, rounds, ys), replay(exact, rounds, ys)
    np.testing.assert_allclose(a.estimates, b.estimates, atol=1e-8)
    assert budgeted.cost().bytes > 0


@pytest.mark.parametrize("budget", [0, -1, 2.5, True])
def test_budgets_that_make_no_sense(budget):
    with pytest.raises(ValueError, match="budget must be a whole number >= 1"):
        OSKAAR(losses.ZeroOne(2), budget=budget)


def test_settings_that_make_no_sense():
    map = features.Nystrom(None, 5)
    with pytest.raises(ValueError, match="not both"):
        OSKAAR(losses.ZeroOne(2), features=map, budget=5)
    with pytest.raises(TypeError, match="features must be a FeatureMap"):
        OSKAAR(losses.ZeroOne(2), features=features.Nystrom)
    with pytest.raises(ValueError, match="ridge must be finite and > 0"):
        features.Nystrom(None, 5, ridge=0.0)
    with pytest.raises(ValueError, match="beta must be finite and > 0"):
        features.Nystrom(None, 5, beta=-1.0)
    with pytest.raises(ValueError, match="projected again"):
        features.Standardised(features.Nystrom(None, 5, reproject=True))
    with pytest.raises(ValueError, match="label_weights needs the past rows"):
        OSKAAR(losses.ZeroOne(2), budget=5).label_weights([0.0])
    assert BatchILE(losses.ZeroOne(2)).lam > 0


def test_draws_are_uniform_and_differ_between_seeds():
    a, b = uniforms(0, 0, 4000), uniforms(1, 0, 4000)
    for draws in (a, b):
        assert draws.min() >= 0
        assert draws.max() < 1
        np.testing.assert_allclose(np.histogram(draws, 8, (0, 1))[0] / 500, 1, atol=0.2)
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.06
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.06


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_atoms_count_by_the_weight_of_their_turn(rng, seed):
    """Many rows that are taken up with small probability: the weights 1 / sqrt(p) decide about later ones."""
    X = rng.normal(size=(150, 1))
    kernel, twin = KERNELS["gaussian"]
    after = features.Nystrom(kernel, 100, ridge=0.3, beta=0.4, seed=seed).seen(X)[1]
    atoms, _ = naive.kors(twin, X, 100, 0.3, 0.4, uniforms(seed, 0, len(X)))
    np.testing.assert_array_equal(after.atoms, X[atoms])


def test_a_row_that_comes_again_has_the_same_features_bit_for_bit(rng, monkeypatch):
    """Rows of late labels are remembered, the last few; files and answers are those of a map that forgets."""
    X = rng.normal(size=(60, 3))
    made = features.Nystrom(kernels.Gaussian(2.0), 8).seen(X[:30])[1]
    before = made.__getstate__()
    for x in [*X, X[2], X[50], X[59]]:
        Z, same = made.seen(x[None])
        assert same is made
        assert Z.tobytes() == made(x[None]).tobytes() == made(x[None].astype(object).astype(float)).tobytes()
    assert made.seen(X[59:])[0] is Z
    assert made.__getstate__() == before

    def learned():
        learner = OSKAAR(losses.ZeroOne("ab"), budget=8)
        tickets = [learner.ask(x)[0] for x in X]
        for ticket in tickets:
            learner.tell(ticket, "ab"[ticket % 2])
        return learner

    remembering = learned()
    monkeypatch.setattr("oskaar.features.nystrom.RECENT", 0)
    assert learned().to_bytes() == remembering.to_bytes()
    assert remembering.cost().bytes == learned().cost().bytes

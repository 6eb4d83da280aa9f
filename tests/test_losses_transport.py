"""Transport: on a line exactly, with any costs through POT."""

import pickle
import sys

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import decoded, space_of

from oskaar import OSKAAR, SALAMI, BatchILE, checks, losses, replay

SEEDS = st.integers(0, 2**32 - 1)
COSTS = np.array([[0.0, 1.0, 4.0, 2.0], [1.0, 0.0, 3.0, 2.0], [5.0, 3.0, 0.0, 1.0], [2.0, 2.0, 1.0, 0.0]])


def drawn(rng, count, n, coarse=False):
    Y = rng.dirichlet(np.full(n, 0.5), size=count)
    return list(rng.multinomial(6, Y[0], size=count) / 6 if coarse else Y)


# ------------------------------------------------------------------ on a line


@given(SEEDS, st.integers(1, 5), st.booleans())
def test_line_is_the_linear_programme(seed, n, even):
    rng = np.random.default_rng(seed)
    places = np.arange(float(n)) if even else np.cumsum(rng.uniform(0.1, 3, size=n))
    loss = losses.OrderedWasserstein(n if even else places)
    z, y = drawn(rng, 2, n)
    costs = np.abs(np.subtract.outer(places, places)) / max(places[-1] - places[0], 1e-300)
    assert loss(z, y) == pytest.approx(naive.transport(z, y, costs), abs=1e-9)


def simplex_grid(n, parts):
    """All distributions with shares in 1 / parts."""
    cuts = naive.sequences(n - 1, range(parts + 1))
    return [np.diff([0, *c, parts]) / parts for c in cuts if list(c) == sorted(c)]


@given(SEEDS, st.integers(1, 6), st.integers(2, 4))
def test_line_is_exact_over_the_simplex(seed, count, n):
    """Labels in sixths: the minimum over all distributions in sixths is that over all, for weights of any sign."""
    rng = np.random.default_rng(seed)
    loss = losses.OrderedWasserstein(np.cumsum(rng.uniform(0.1, 3, size=n)))
    labels = [loss.check(y) for y in drawn(rng, count, n, coarse=True)]
    weights = rng.normal(size=count)
    z = decoded(loss, labels, weights)
    rivals = [*simplex_grid(n, 6), *drawn(rng, 30, n)]
    mine = naive.risk(loss, z, weights, labels)
    assert mine == pytest.approx(naive.least_risk(loss, rivals, weights, labels), abs=1e-9)


@given(SEEDS, st.integers(1, 6))
def test_line_geometry(seed, count):
    """|g|^2 is the quadratic form of 1 - 2 Delta(y, y')."""
    rng = np.random.default_rng(seed)
    loss = losses.OrderedWasserstein(4)
    labels = [loss.check(y) for y in drawn(rng, count, 4)]
    space = space_of(loss, labels)
    Q = np.array([[1 - 2 * loss(a, b) for a in labels] for b in labels])
    V = rng.normal(size=(2, 3, space.p))
    np.testing.assert_allclose(space.squared_norms(V), np.einsum("abp,pq,abq->ab", V, Q, V), atol=1e-10)


def test_line_of_one_outcome_and_before_the_first_round():
    assert losses.OrderedWasserstein(1).space().decode_many(np.zeros((1, 0)))[0].tolist() == [1.0]
    loss = losses.OrderedWasserstein(1)
    assert space_of(loss, [np.ones(1)]).decode_many(np.ones((1, 1)))[0].tolist() == [1.0]
    assert losses.OrderedWasserstein(4).space().decode_many(np.zeros((1, 0)))[0].tolist() == [0.25] * 4


# ------------------------------------------------------------------ any costs


def with_pot():
    pytest.importorskip("ot", reason="POT, the extra `transport`, is not installed", exc_type=ImportError)


@given(SEEDS, st.booleans())
def test_pot_is_the_linear_programme(seed, coarse):
    with_pot()
    rng = np.random.default_rng(seed)
    loss = losses.Wasserstein(COSTS)
    z, y = drawn(rng, 2, 4, coarse)
    assert loss(z, y) == pytest.approx(naive.transport(z, y, COSTS / COSTS.max()), abs=1e-9)


@settings(max_examples=15)
@given(SEEDS, st.integers(1, 5))
def test_decoder_is_exact_over_its_candidates(seed, count):
    with_pot()
    rng = np.random.default_rng(seed)
    loss = losses.Wasserstein(COSTS)
    labels = [loss.check(y) for y in drawn(rng, count, 4)]
    weights = rng.normal(size=count)
    z = decoded(loss, labels, weights)
    candidates = [np.full(4, 0.25), *np.eye(4), *labels]
    literal = {(id(a), id(b)): naive.transport(a, b, COSTS / 5) for a in candidates for b in labels}
    least = min(sum(w * literal[id(a), id(b)] for w, b in zip(weights, labels)) for a in candidates)
    assert naive.risk(loss, z, weights, labels) == pytest.approx(least, abs=1e-8)


def test_contract_and_learners(rng):
    with_pot()
    loss = losses.Wasserstein(COSTS)
    labels = [loss.check(y) for y in drawn(rng, 6, 4)]
    checks.check_loss(loss, labels, [np.full(4, 0.25), *np.eye(4), *labels])
    X = np.concatenate([rng.normal(-2, 0.3, size=(10, 2)), rng.normal(2, 0.3, size=(10, 2))])
    ys = [[0.5, 0.5, 0.0, 0.0]] * 10 + [[0.0, 0.0, 0.5, 0.5]] * 10
    for learner in (OSKAAR(loss, lam=0.1), SALAMI(loss, lam=0.1)):
        checks.check_learner(learner, X, ys)
        assert replay(learner, X, ys).losses[-5:].max() == 0
    assert loss(BatchILE(loss, lam=1e-3).fit(X, ys).predict_one([-2.0, -2.0]), ys[0]) == 0


def test_certainties_need_no_extra_and_other_pairs_name_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    loss = losses.Wasserstein(COSTS)
    assert loss([0, 0, 1, 0], [0.5, 0.5, 0, 0]) == pytest.approx((5 + 3) / 2 / 5)
    assert loss([0.5, 0.5, 0, 0], [0, 0, 1, 0]) == pytest.approx((4 + 3) / 2 / 5)
    assert loss([0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0]) == 0
    with pytest.raises(ImportError, match=r"pip install 'oskaar\[transport\]'"):
        loss([0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5])
    learner = OSKAAR(loss)
    learner.learn_one([0.0], [0, 1, 0, 0])
    before = pickle.dumps(learner)
    with pytest.raises(ImportError, match="transport"):
        learner.learn_one([1.0], [0, 0, 0.5, 0.5])
    assert pickle.dumps(learner) == before


def test_answers_cannot_be_changed():
    learner = OSKAAR(losses.Wasserstein(COSTS))
    learner.learn_one([0.0], [0, 1, 0, 0])
    with pytest.raises(ValueError, match="read-only"):
        learner.predict_one([0.0])[0] = 7.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: losses.Wasserstein([[0, 1], [-1, 0]]), "from 1 to 0 it is -1"),
        (lambda: losses.Wasserstein([[0, 1], [1, 2]]), "from 1 to 1 it is 2"),
        (lambda: losses.Wasserstein([[0, 1, 2], [1, 0, 2]]), r"shape \(2, 3\)"),
        (lambda: losses.Wasserstein("ab"), "square matrix"),
        (lambda: losses.Wasserstein(COSTS).check([0.5, 0.4, 0, 0]), "must sum to 1, got 0.9"),
        (lambda: losses.OrderedWasserstein(3).check([0.5, 0.4, 0]), "must sum to 1, got 0.9"),
        (lambda: losses.OrderedWasserstein([0, 2, 1]), "places that rise"),
        (lambda: losses.OrderedWasserstein(0), "whole number >= 1, got 0"),
        (lambda: losses.OrderedWasserstein("abc"), "places that rise, got 'abc'"),
        (lambda: losses.OrderedWasserstein(3).embed([1, 0, 0]), "as they are seen"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, NotImplementedError), match=message):
        call()

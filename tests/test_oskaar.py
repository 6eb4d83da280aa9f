"""OSKAAR against Algorithm 1 written the long way: the estimates, not only the answers."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import KERNELS, blocks, few, labels_of, lams, rows, small_losses

from oskaar import OSKAAR, checks, kernels, losses, replay, theory

kernel_names = st.sampled_from(sorted(KERNELS))


def draw_stream(data, loss, X):
    return data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))


@given(st.data(), rows(), kernel_names, lams(), st.booleans())
def test_estimate_is_the_argmin(data, X, name, lam, shifted):
    """g_hat_t(x_t) solves the paper's argmin at every round, and z_t is its enumerated decoding."""
    kernel, twin = KERNELS[name]
    loss = data.draw(small_losses())
    ys = draw_stream(data, loss, X)
    learner = OSKAAR(loss, kernel, lam=lam, shifted=shifted)
    Phi = [loss.embed(y)[None, :] for y in ys]
    expected = (naive.shifted_oskaar if shifted else naive.oskaar)(twin, [[x] for x in X], Phi, lam) if ys else []
    total = 0.0
    for x, y, g in zip(X, ys, expected, strict=True):
        np.testing.assert_allclose(learner.estimate(x), g[0], atol=1e-8)
        z = learner.predict_one(x)
        assert loss.decode(learner.estimate(x)) == z
        total += loss(z, y) - min(loss(v, y) for v in loss.outputs())
        learner.learn_one(x, y)
    assert learner.rounds == len(ys)
    assert learner.regret == pytest.approx(total, abs=1e-9)
    surrogate = sum(((phi - g) ** 2).sum() for phi, g in zip(Phi, expected, strict=True))
    assert learner.surrogate_loss == pytest.approx(surrogate, abs=1e-7)
    assert learner.regret <= learner.certificate().bound + 1e-9


@given(blocks(), blocks(max_rounds=1), lams(), st.booleans(), st.integers(0, 10**6))
def test_rounds_of_several_rows(rounds, last, lam, shifted, seed):
    """The rows of a round are hedged together, and learned together: block KAAR."""
    kernel, twin = KERNELS["gaussian"]
    loss = losses.PerRow(losses.ZeroOne(3))
    rng = np.random.default_rng(seed)
    ys = [rng.integers(3, size=len(x)).tolist() for x in rounds]
    Phi = [loss.embed(y) for y in ys]
    learner = OSKAAR(loss, kernel, lam=lam, shifted=shifted)
    expected = (naive.shifted_oskaar if shifted else naive.oskaar)(twin, rounds, Phi, lam)
    for x, y, g in zip(rounds, ys, expected, strict=True):
        np.testing.assert_allclose(learner.estimate(x), g, atol=1e-8)
        learner.learn_one(x, y)
    means = [((phi - g) ** 2).sum() / len(g) for phi, g in zip(Phi, expected, strict=True)]
    assert learner.surrogate_loss == pytest.approx(sum(means), abs=1e-7)
    assert learner.regret <= learner.certificate().bound + 1e-9
    average = naive.shifted_average if shifted else naive.average
    np.testing.assert_allclose(learner.average_estimate(last[0]), average(twin, rounds, Phi, lam, last[0]), atol=1e-8)
    weights = learner.label_weights(last[0])
    np.testing.assert_allclose(weights @ np.vstack(Phi), learner.estimate(last[0]), atol=1e-8)


@given(rows(), rows(max_rounds=1), kernel_names, lams(), st.booleans())
def test_average(X, new, name, lam, shifted):
    """g_bar_T is the mean of the functions, at any x; f_bar_T decodes it."""
    if len(X) == 0 or len(new) == 0 or new.shape[1] != X.shape[1]:
        return
    kernel, twin = KERNELS[name]
    loss = losses.Ordinal(4)
    ys = [i % 4 for i in range(len(X))]
    learner = OSKAAR(loss, kernel, lam=lam, shifted=shifted)
    learner.learn_many(X, ys)
    Phi = [loss.embed(y)[None, :] for y in ys]
    average = naive.shifted_average if shifted else naive.average
    expected = average(twin, [[x] for x in X], Phi, lam, new)[0]
    np.testing.assert_allclose(learner.average_estimate(new[0]), expected, atol=1e-8)
    assert learner.predict_average(new[0]) == loss.decode(learner.average_estimate(new[0]))


@given(rows(), lams(), st.booleans())
def test_label_weights(X, lam, shifted):
    """beta of Algorithm 1; for both variants the estimate is beta^T Phi."""
    kernel, twin = KERNELS["intercept"]
    loss = losses.ZeroOne(3)
    ys = [i % 3 for i in range(len(X))]
    learner = OSKAAR(loss, kernel, lam=lam, shifted=shifted)
    learner.learn_many(X, ys)
    x = np.full(X.shape[1], 0.3)
    beta = learner.label_weights(x)
    assert beta.shape == (len(X),)
    np.testing.assert_allclose(beta @ loss.embed_many(ys), learner.estimate(x), atol=1e-8)
    if not shifted:
        np.testing.assert_allclose(beta, naive.label_weights(twin, list(X), x, lam), atol=1e-8)


@given(rows(max_rounds=20), lams(), st.booleans())
def test_effective_dimension(X, lam, shifted):
    kernel, twin = KERNELS["gaussian"]
    learner = OSKAAR(losses.ZeroOne(2), kernel, lam=lam, shifted=shifted)
    scale = 4 * lam if shifted else lam
    for i, x in enumerate(X):
        learner.learn_one(x, 0)
        if i % 3 == 0:  # asked now and then, it counts only what is new
            K = naive.gram(twin, X[: i + 1], X[: i + 1])
            assert learner.effective_dimension() == pytest.approx(naive.effective_dimension(K, scale), abs=1e-7)
            assert theory.effective_dimension(K, scale) == pytest.approx(learner.effective_dimension(), abs=1e-7)
    if len(X):
        K = naive.gram(twin, X, X)
        expected = np.linalg.slogdet(np.eye(len(X)) + K / scale)[1]
        assert learner._estimator.solver.log_determinant() == pytest.approx(expected, abs=1e-6)


def test_regret_bound_of_the_theorem(rng):
    """Theorem 1 on random labels: regret <= 2 c sqrt(T) sqrt(log(...) d_eff + min L)."""
    X, ys = rng.normal(size=(60, 2)), rng.integers(3, size=60).tolist()
    loss, kernel, lam = losses.ZeroOne(3), kernels.Gaussian(), 0.5
    learner = OSKAAR(loss, kernel, lam=lam)
    learner.learn_many(X, ys)
    K, Phi = kernel(X, X), loss.embed_many(ys)
    best = lam * np.sum(Phi * np.linalg.solve(K + lam * np.eye(60), Phi))  # min_g L_T(g)
    bound = theory.oskaar_bound(60, loss.c_delta, kernel.kappa, lam, learner.effective_dimension(), best)
    assert learner.regret <= learner.certificate().bound <= bound


@pytest.mark.parametrize("shifted", few([True, False], 2))
def test_many_is_one_by_one(shifted, rng):
    """Across panel borders, bit for bit; predict changes nothing; replay leaves the same learner."""
    X = rng.normal(size=(600, 3))
    X[100] = X[50]
    ys = [frozenset(np.flatnonzero(row).tolist()) for row in rng.random((600, 5)) < 0.3]
    one, many = (OSKAAR(losses.F1(5), kernels.Gaussian() + 1.0, lam=0.1, shifted=shifted) for _ in range(2))
    many.learn_many(X[:251], ys[:251])
    many.learn_many(X[251:], ys[251:])
    for x, y in zip(X, ys, strict=True):
        one.learn_one(x, y)
    assert pickle.dumps(one) == pickle.dumps(many)
    state = pickle.dumps(one)
    one.predict_one(X[0] + 1)
    one.predict_many(X[:300])
    one.estimate(X[0])
    one.label_weights(X[0])
    one.average_estimate(X[0])
    one.predict_average(X[0])
    assert pickle.dumps(one) == state


def test_predict_many_is_predict_one(rng):
    X, ys = rng.normal(size=(300, 3)), rng.integers(4, size=300).tolist()
    learner = OSKAAR(losses.ZeroOne(4), lam=0.3)
    assert learner.predict(X[:2]) == [0, 0]
    learner.learn_many(X, ys)
    new = rng.normal(size=(270, 3))
    assert learner.predict_many(new) == [learner.predict_one(x) for x in new]
    assert learner.predict_many(np.zeros((0, 3))) == []
    assert learner.score(new, [0] * 270) == -np.mean([z != 0 for z in learner.predict(new)])
    blocks_ = OSKAAR(losses.PerRow(losses.ZeroOne(4)), lam=0.3)
    blocks_.learn_one(X[:5], ys[:5])
    assert blocks_.predict([new[:2], new[2:5]]) == [blocks_.predict_one(new[:2]), blocks_.predict_one(new[2:5])]


def test_fit_forgets_and_partial_fit_does_not(rng):
    X, ys = rng.normal(size=(20, 2)), rng.integers(3, size=20)
    once = OSKAAR(losses.ZeroOne(3), lam=0.3).fit(X, ys)
    twice = OSKAAR(losses.ZeroOne(3), lam=0.3).fit(X[::-1], ys).fit(X, ys)
    parts = OSKAAR(losses.ZeroOne(3), lam=0.3).partial_fit(X[:7], ys[:7]).partial_fit(X[7:], ys[7:])
    loop = OSKAAR(losses.ZeroOne(3), lam=0.3)
    loop.learn_many(X, ys)
    for learner in (once, twice, parts):
        assert learner.rounds == 20
        np.testing.assert_allclose(learner.estimate(X[0]), loop.estimate(X[0]), atol=1e-12)


def test_a_refused_fit_keeps_what_was_learned(rng):
    learner = OSKAAR(losses.ZeroOne(3)).fit(rng.normal(size=(5, 2)), [0, 1, 2, 0, 1])
    state = pickle.dumps(learner)
    with pytest.raises(ValueError, match="unknown class"):
        learner.fit(np.zeros((2, 2)), [0, 9])
    assert pickle.dumps(learner) == state


def test_columns_that_appear_late_are_zero_before(rng):
    """F1's blocks and open classes: the same estimates as with every coordinate from the start."""
    X = rng.normal(size=(30, 2))
    closed, open_ = losses.SubsetHamming(3), losses.ZeroOne()
    names = ["a", "b", "c", "d"]
    ys = [names[min(i // 8, 3)] for i in range(30)]
    learner = OSKAAR(open_, kernels.Gaussian() + 1.0, lam=0.2)
    Phi = [np.eye(4)[[names.index(y)]] for y in ys]
    twin = lambda x, y: naive.gaussian(x, y) + 1  # noqa: E731
    expected = naive.oskaar(twin, [[x] for x in X], Phi, 0.2)
    assert learner.predict_one(X[0]) is None
    for t, (x, y, g) in enumerate(zip(X, ys, expected, strict=True)):
        seen = len(set(ys[:t]))
        np.testing.assert_allclose(learner.estimate(x), g[0, :seen], atol=1e-8)
        learner.learn_one(x, y)
    assert closed.c_delta == 0.5


@settings(max_examples=10)
@given(st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=10), st.integers(0, 100))
def test_strings_in_strings_out(words, seed):
    """A kernel on strings and a loss on strings, with nothing but two functions."""

    def shared(a, b):
        return float(len(set(a) & set(b)))

    def delta(z, y):
        return abs(len(z) - len(y)) + float(z[0] != y[0])

    learner = OSKAAR(losses.LossTrick(delta), kernel=shared, lam=0.5)
    seen = []
    for word in words:
        z = learner.predict_one(word)
        if seen:
            beta = naive.label_weights(shared, [x for x, _ in seen], word, 0.5)
            labels = [y for _, y in seen]
            assert naive.risk(delta, z, beta, labels) <= naive.least_risk(delta, labels, beta, labels) + 1e-8
        else:
            assert z is None
        learner.learn_one(word, word[::-1])
        seen.append((word, word[::-1]))


def test_duplicates_and_a_tiny_lam(rng):
    """Equal rows make K singular: answers stay finite with a small lam, and are refused with one below rounding."""
    X, ys = np.repeat(rng.normal(size=(4, 2)), 30, axis=0), [0, 1] * 60
    for learn in ("learn_many", "partial_fit"):
        learner = OSKAAR(losses.ZeroOne(2), kernels.Gaussian(), lam=1e-6)
        getattr(learner, learn)(X, ys)
        estimate = learner.estimate(X[0])
        assert np.isfinite(estimate).all()
        assert np.abs(estimate).max() < 2
        learner = OSKAAR(losses.ZeroOne(2), kernels.Gaussian(), lam=1e-12)
        with pytest.raises(ValueError, match="lam is too small"):
            getattr(learner, learn)(X, ys)
        assert learner.rounds == learner._inputs.n == 1
    learner = OSKAAR(losses.PerRow(losses.ZeroOne(2)), kernels.Gaussian(), lam=1e-15)
    with pytest.raises(ValueError, match="lam is too small"):
        learner.learn_one(np.zeros((5, 1)), [0, 1, 0, 1, 0])


@pytest.mark.parametrize("shifted", [False, True])
def test_contract(shifted, rng):
    X, ys = rng.normal(size=(40, 2)), rng.integers(3, size=40).tolist()
    checks.check_learner(OSKAAR(losses.Ordinal(3), lam=0.3, shifted=shifted), X, ys)
    checks.check_learner(OSKAAR(losses.F1(4), lam=0.3, shifted=shifted), X, [{y} for y in ys])


def test_the_default_kernel(rng):
    """Gaussian(sqrt(d)) + 1 for rows of numbers, in dicts too, Cosine() + 1 for sparse rows, none for objects.

    Rows of numbers are compared as they are until there are 4 of them (test_untuned.py has what comes then).
    """
    X, ys = rng.normal(size=(10, 4)), rng.integers(2, size=10).tolist()
    dicts = [{f"f{j}": float(v) for j, v in enumerate(x)} for x in X]
    cosine, gaussian = kernels.Cosine() + 1.0, kernels.Gaussian(2.0) + 1.0
    for xs, kernel in ((X[:4], gaussian), (csr_array(X), cosine), (dicts[:4], gaussian)):
        silent, given_ = OSKAAR(losses.ZeroOne(2)), OSKAAR(losses.ZeroOne(2), kernel)
        expected = replay(given_, xs, ys[: len(xs) if isinstance(xs, list) else xs.shape[0]]).estimates
        np.testing.assert_allclose(replay(silent, xs, ys[: len(expected)]).estimates, expected, atol=1e-12)
    with pytest.raises(ValueError, match="no default kernel for objects"):
        OSKAAR(losses.ZeroOne(2)).learn_one("text", 0)


def test_one_label_all_the_way(rng):
    result = replay(OSKAAR(losses.ZeroOne("a")), rng.normal(size=(10, 2)), ["a"] * 10)
    assert result.losses.sum() == 0


@given(rows(max_rounds=9, width=2), lams(), st.booleans())
def test_hedged_average_is_the_mean_of_hedged_estimates(X, lam, shifted):
    """1/T sum_t of the estimate at x after t - 1 rounds, each hedged at x."""
    loss, x = losses.Ordinal(4), np.array([0.3, -0.2])
    ys = [(3 * i) % 4 for i in range(len(X))]
    learner = OSKAAR(loss, kernels.Gaussian(), lam, shifted)
    hedged = []
    for row, y in zip(X, ys):
        hedged.append(learner.estimate(x))
        learner.learn_one(row, y)
    block = learner._inputs.parse(x)
    G = learner._estimator.solver.hedged_average(learner._inputs.against(block), learner._inputs.diagonal(block))
    if hedged:
        np.testing.assert_allclose(G[0], np.mean(hedged, axis=0), atol=1e-10)
        assert learner.predict_average(x, hedged=True) == loss.decode(G[0])


def test_a_row_that_is_written_over_after_its_answer_is_another_one(rng):
    """A row is parsed once for its answer and its label; what counts is what is in it."""
    X, x, row = rng.normal(size=(20, 3)), rng.normal(size=3), np.zeros(3)
    learners = [OSKAAR(losses.ZeroOne("ab"), budget=4).partial_fit(X, "ab" * 10) for _ in range(2)]
    learners[0].predict_one(row)
    row[:] = x
    learners[0].learn_one(row, "b")
    row[:] = 0.0
    learners[1].learn_one(x, "b")
    assert learners[0].to_bytes() == learners[1].to_bytes()

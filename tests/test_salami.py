"""SALAMI against Algorithms 2 and 3 written the long way: estimates and weights, not only answers."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import KERNELS, blocks, labels_of, lams, rows, small_losses

from oskaar import OSKAAR, SALAMI, Ensemble, checks, kernels, losses, replay, theory
from oskaar.arrays import fit_columns
from oskaar.learners.mixture import Mixture, _loss
from oskaar.solvers import geometric_restarts, suffix_factor
from oskaar.solvers.cholesky import PANEL

MODES = st.sampled_from(["all", "geometric", None])


@given(st.data(), rows(max_rounds=14), MODES, st.booleans(), st.booleans(), st.sampled_from([0.125, 0.5, 3.0]))
def test_estimates_and_weights_are_the_algorithm(data, X, restarts, shifted, project, eta):
    """Every g_hat_t, every p_t and every answer, for a grid of lams."""
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    kernel, twin = KERNELS["intercept"]
    grid = [0.3, 2.0]
    project = project and not shifted
    learner = SALAMI(loss, kernel, grid, eta=eta, restarts=restarts, shifted=shifted, project=project)
    if not ys:
        return
    K, Phi = naive.gram(twin, X, X), np.array([loss.embed(y) for y in ys])
    ends = list(range(1, len(X) + 1))
    G, weights, _ = naive.salami([K], Phi, ends, grid, eta, project, shifted, lives=naive.lives(restarts))
    for t, (x, y) in enumerate(zip(X, ys)):
        np.testing.assert_allclose(learner.estimate(x), G[t], atol=1e-9)
        started, p = learner.restart_weights()
        np.testing.assert_allclose(p, weights[t].reshape(-1, 2).sum(axis=1), atol=1e-9)
        alive = [s for s in range(t + 1) if restarts == "all" or naive.lives(restarts)(s, t)]
        assert started.tolist() == [s + 1 for s in alive]
        np.testing.assert_allclose(learner.expert_weights()[0], weights[t].reshape(-1, 2).sum(axis=0), atol=1e-9)
        assert learner.predict_one(x) == loss.decode(learner.estimate(x))
        learner.learn_one(x, y)
    assert learner.regret <= learner.certificate().bound + 1e-9
    assert learner.surrogate_loss == pytest.approx(((Phi - G) ** 2).sum(), abs=1e-7)


@given(rows(max_rounds=12, width=2), st.booleans())
def test_several_kernels(X, shifted):
    names = ["gaussian", "linear"]
    loss, grid = losses.Ordinal(3), [0.1, 1.0]
    ys = [i % 3 for i in range(len(X))]
    learner = SALAMI(loss, [KERNELS[n][0] for n in names], grid, eta=0.5, shifted=shifted)
    if not ys:
        return
    Ks, Phi = [naive.gram(KERNELS[n][1], X, X) for n in names], loss.embed_many(ys)
    G, _, _ = naive.salami(Ks, Phi, list(range(1, len(X) + 1)), grid, 0.5, not shifted, shifted)
    result = replay(learner, X, ys)
    np.testing.assert_allclose(result.estimates, G, atol=1e-9)
    assert learner.expert_weights().shape == (2, 2)
    assert learner.expert_weights().sum() == pytest.approx(1)


@given(blocks(), lams(), MODES, st.booleans())
def test_rounds_of_several_rows(rounds, lam, restarts, shifted):
    loss = losses.PerRow(losses.ZeroOne(3))
    ys = [[(i + j) % 3 for j in range(len(x))] for i, x in enumerate(rounds)]
    X = np.vstack(rounds)
    ends = np.cumsum([len(x) for x in rounds]).tolist()
    Phi = np.vstack([loss.embed(y) for y in ys])
    G, _, _ = naive.salami(
        [naive.gram(naive.gaussian, X, X)], Phi, ends, [lam], 0.5, not shifted, shifted, lives=naive.lives(restarts)
    )
    fast, slow = (
        SALAMI(loss, kernels.Gaussian(), lam, eta=0.5, restarts=restarts, shifted=shifted) for _ in range(2)
    )
    result = replay(fast, rounds, ys)
    np.testing.assert_allclose(np.vstack(result.estimates), G, atol=1e-9)
    for x, y, g in zip(rounds, ys, np.split(G, ends[:-1])):
        np.testing.assert_allclose(slow.estimate(x), g, atol=1e-9)
        slow.learn_one(x, y)


@given(rows(max_rounds=30, width=2), st.integers(1, 11))
def test_window(X, window):
    """Only experts with at most `window` rows; the memory stays bounded."""
    loss = losses.ZeroOne(3)
    ys = [i % 3 for i in range(len(X))]
    learner = SALAMI(loss, kernels.Gaussian(), 0.5, eta=0.5, window=window)
    if not ys:
        return
    K = naive.gram(naive.gaussian, X, X)
    G, _, _ = naive.salami([K], loss.embed_many(ys), list(range(1, len(X) + 1)), [0.5], 0.5, True, window=window)
    for x, y, g in zip(X, ys, G):
        np.testing.assert_allclose(learner.estimate(x), g, atol=1e-9)
        learner.learn_one(x, y)
        assert learner._inputs.n <= window
    other = SALAMI(loss, kernels.Gaussian(), 0.5, eta=0.5, window=window)
    np.testing.assert_allclose(replay(other, X, ys).estimates, G, atol=1e-9)


@pytest.mark.parametrize("restarts", ["all", "geometric", None])
@pytest.mark.parametrize(("T", "panel"), [(100, 32), pytest.param(280, PANEL, marks=pytest.mark.slow)])
def test_replay_is_the_loop_over_many_panels(restarts, T, panel, rng, monkeypatch):
    """Small panels, so that several experts have several of them."""
    monkeypatch.setattr(suffix_factor, "PANEL", panel)
    monkeypatch.setattr(geometric_restarts, "RECENT", panel)
    X = rng.normal(size=(T, 2))
    ys = [frozenset(rng.choice(4, size=min(1 + 4 * i // T, 3), replace=False).tolist()) for i in range(T)]
    fast, slow = (SALAMI(losses.F1(4), lam=[0.1, 1.0], restarts=restarts) for _ in range(2))
    result = replay(fast, X, ys)
    for x, y, g in zip(X, ys, result.estimates):
        np.testing.assert_allclose(slow.estimate(x), g, atol=1e-9)
        slow.learn_one(x, y)
    np.testing.assert_allclose(fast.restart_weights()[1], slow.restart_weights()[1], atol=1e-9)
    if restarts != "all":
        assert fast._estimator.restarts.solvers[0].solvers[0][0].factor.n == T


def test_only_the_first_start_with_one_lam_is_oskaar(rng):
    """A mixture of one expert is that expert."""
    X, ys = rng.normal(size=(40, 2)), rng.integers(3, size=40).tolist()
    mixed = replay(SALAMI(losses.ZeroOne(3), lam=0.3, restarts=None), X, ys)
    plain = replay(OSKAAR(losses.ZeroOne(3), lam=0.3), X, ys)
    norms = np.maximum(1, np.linalg.norm(plain.estimates, axis=1, keepdims=True))
    np.testing.assert_allclose(mixed.estimates, plain.estimates / norms, atol=1e-10)


def test_labels_without_an_embedding(rng):
    """Weights on labels with a label kernel equal an explicit embedding with that Gram matrix."""
    X = rng.normal(size=(25, 2))
    codes = np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8]])
    ys = rng.integers(3, size=25).tolist()
    trick = losses.LossTrick(lambda z, y: float(z != y), label_kernel=lambda a, b: float(codes[a] @ codes[b]))
    learner = SALAMI(trick, kernels.Gaussian() + 1.0, lam=[0.1, 1.0])
    twin_gram = naive.gram(lambda x, y: naive.gaussian(x, y) + 1, X, X)
    G, weights, _ = naive.salami([twin_gram], codes[ys], list(range(1, 26)), [0.1, 1.0], 0.5, True)
    order = list(dict.fromkeys(ys))
    for t, (x, y) in enumerate(zip(X, ys)):
        seen = codes[[k for k in order if k in ys[:t]]]
        np.testing.assert_allclose(learner.estimate(x) @ seen.reshape(-1, 2), G[t], atol=1e-9)
        np.testing.assert_allclose(learner.restart_weights()[1], weights[t].reshape(-1, 2).sum(axis=1), atol=1e-9)
        learner.learn_one(x, y)


@pytest.mark.parametrize("restarts", ["all", "geometric"])
def test_contract(restarts, rng):
    X, ys = rng.normal(size=(24, 2)), rng.integers(3, size=24).tolist()
    checks.check_learner(SALAMI(losses.Ordinal(3), restarts=restarts), X, ys)
    checks.check_learner(SALAMI(losses.F1(4), window=10, shifted=True, restarts=restarts), X, [{y} for y in ys])


def test_follows_a_change(rng):
    """After the labels swap, the weight moves to restarts at the change and OSKAAR is left behind."""
    X = rng.normal(size=(400, 2))
    ys = [int((x[0] > 0) ^ (t >= 200)) for t, x in enumerate(X)]
    learner = SALAMI(losses.ZeroOne(2))
    ours, plain = replay(learner, X, ys), replay(OSKAAR(losses.ZeroOne(2), lam=0.3), X, ys)
    assert ours.losses[200:].mean() < 0.7 * plain.losses[200:].mean()
    started, p = learner.restart_weights()
    assert p[(started > 190) & (started < 240)].sum() > 0.9


class Watched(Mixture):
    """Notes what each expert is charged, and what it would be for the estimate before projection."""

    def _inside(self, E, space):
        inside = super()._inside(E, space)
        self.pairs.append((E, inside))
        return inside

    def _charge(self, pending, i, labels):
        Phi, space = labels.targets(i), labels.spaces[i + 1]
        G = fit_columns(pending.current[2], Phi.shape[1])
        for pair in self.pairs:
            self.charged.append([_loss(self._charged(fit_columns(E, Phi.shape[1]), G), Phi, space) for E in pair])
        self.pairs.clear()
        super()._charge(pending, i, labels)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("restarts", ["all", "geometric", None])
@given(small_losses(), st.integers(0, 2**32 - 1), st.sampled_from([None, 3]), st.booleans())
@settings(max_examples=10)
def test_projection_never_raises_the_loss_of_an_expert(restarts, shifted, loss, seed, window, more):
    """Inputs of all sizes and a small lam, so that estimates leave the ball; labels at random."""
    rng, labels = np.random.default_rng(seed), list(loss.labels())
    kernel = kernels.Linear() + 1.0
    learner = (
        Ensemble(loss, kernel, selection=False, stacking=False)
        if more and not shifted
        else SALAMI(loss, kernel, 0.01, restarts=restarts, shifted=shifted, window=window)
    )
    mixture = learner._estimator
    mixture.__class__, mixture.pairs, mixture.charged = Watched, [], []
    for x in rng.normal(size=(10, 2)) * 10.0 ** rng.integers(-1, 2, size=(10, 1)):
        learner.learn_one(x, labels[rng.integers(len(labels))])
    assert mixture.charged
    for before, after in mixture.charged:
        assert (after <= before + 1e-9 * (1 + before)).all()


def test_shifted_experts_are_not_projected():
    """Estimates outside of the ball stay there: their targets 2 phi - g may be farther out."""
    with pytest.raises(ValueError, match="project=True goes with shifted=False"):
        SALAMI(losses.ZeroOne(2), shifted=True, project=True)
    for project in (None, False):
        learner = SALAMI(losses.Ordinal(2), kernels.Linear(), 0.01, shifted=True, restarts=None, project=project)
        learner.partial_fit([[1.0]] * 50, [1] * 50)
        assert learner.estimate([3.0])[0] > 1.5
        assert learner.certificate().surrogate_bound is None


def test_eta_of_the_theory():
    assert SALAMI(losses.ZeroOne(2), eta="theory").rate == 0.125
    with pytest.raises(ValueError, match="needs bound="):
        SALAMI(losses.ZeroOne(2), eta="theory", shifted=True)
    shifted = SALAMI(losses.ZeroOne(2), kernels.Gaussian(), eta="theory", shifted=True, bound=3.0)
    assert shifted.rate == theory.salami_eta(1.0, 3.0)
    free = SALAMI(losses.ZeroOne(2), kernels.Gaussian(), eta="theory", project=False, bound=3.0)
    assert free.rate == theory.salami_eta(1.0, 3.0) == 1 / 32
    with pytest.raises(ValueError, match="needs bound="):
        SALAMI(losses.ZeroOne(2), eta="theory", project=False)
    with pytest.raises(ValueError, match="finite"):
        SALAMI(losses.ZeroOne(2), kernels.Linear(), eta="theory", project=False, bound=1.0)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"eta": 0}, "eta must be finite and > 0"),
        ({"eta": -1.0}, "eta must be"),
        ({"eta": np.nan}, "eta must be"),
        ({"eta": "fast"}, "eta must be a number"),
        ({"lam": []}, "must not be empty"),
        ({"lam": [1.0, 1.0]}, "in the grid once"),
        ({"lam": [1.0, 0.0]}, "lam must be finite and > 0"),
        ({"window": 0}, "window must be"),
        ({"window": 2.5}, "window must be"),
        ({"restarts": "some"}, "restarts must be"),
        ({"kernel": []}, "must not be empty"),
        ({"kernel": [kernels.Linear(), kernels.Linear()]}, "in the list once"),
    ],
)
def test_bad_settings(settings_, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SALAMI(losses.ZeroOne(2), **settings_)


@pytest.mark.parametrize("restarts", ["all", "geometric"])
def test_a_refused_round_leaves_no_trace(restarts, rng):
    X, ys = rng.normal(size=(12, 3)), [0, 1, 2] * 4
    learner, untouched = (SALAMI(losses.ZeroOne(3), restarts=restarts) for _ in range(2))
    for each in (learner, untouched):
        each.learn_many(X[:6], ys[:6])
    before = pickle.dumps(learner)
    for x, y in (([0, np.inf, 0], 0), ([0, 0], 0), ([0, 0, 0], 7)):
        with pytest.raises(ValueError, match=r"finite|features|unknown"):
            learner.learn_one(x, y)
    assert pickle.dumps(learner) == before
    for each in (learner, untouched):
        each.learn_many(X[6:], ys[6:])
    assert pickle.dumps(learner) == pickle.dumps(untouched)


def test_not_positive_semidefinite():
    learner = SALAMI(losses.ZeroOne(3), kernels.Rowwise(lambda X, Y: -kernels.Gaussian()(X, Y)), lam=0.1)
    with pytest.raises(ValueError, match="positive semidefinite"):
        replay(learner, np.eye(3), [0, 1, 2])
    assert learner.rounds == learner._inputs.n


@settings(max_examples=5)
@given(st.sampled_from(["all", "geometric", None]))
def test_extremes_stay_finite(restarts):
    """One label for ever, equal rows, losses that underflow: no NaN, and weights sum to 1."""
    for eta in (0.5, 1e6):
        learner = SALAMI(losses.ZeroOne(2), eta=eta, restarts=restarts)
        learner.partial_fit(np.zeros((60, 1)), [0] * 50 + [1] * 10)
        started, p = learner.restart_weights()
        assert np.isfinite(p).all()
        assert p.sum() == pytest.approx(1)
        assert (np.diff(started) > 0).all()
        assert np.isfinite(learner.estimate([0.0])).all()


def test_empty_stream():
    learner = SALAMI(losses.F1(3))
    assert len(replay(learner, [], [])) == 0
    started, p = learner.restart_weights()
    assert started.tolist() == [1]
    assert p.tolist() == [1.0]


@pytest.mark.slow
def test_a_hundred_thousand_rounds(rng):
    """Geometric restarts in a window: bounded memory, finite weights."""
    learner = SALAMI(losses.ZeroOne(2), lam=0.3, restarts="geometric", window=64)
    for t in range(100_000):
        learner.learn_one(rng.normal(size=1), int(t // 1000 % 2))
    started, p = learner.restart_weights()
    assert p.sum() == pytest.approx(1)
    assert np.isfinite(p).all()
    assert len(started) < 64
    assert learner._inputs.n <= 64

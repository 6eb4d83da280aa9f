"""Synthetic streams: the truth is as documented."""

import numpy as np
import pytest

from oskaar import OSKAAR, kernels, losses, replay, streams, theory

LOSSES = [
    losses.ZeroOne(3),
    losses.SubsetHamming(4),
    losses.F1(3),
    losses.Kendall(4),
    losses.Ordinal(5),
    losses.SequenceHamming(2, 3),
    losses.NDCG(3),
]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize(
    "how", [{"changes": 3, "sites": 12}, {"drift": 1.7}, {"drift": 0.6, "sites": 9}, {"noise": 0.4}]
)
def test_the_truth_is_the_mean_of_the_labels(loss, how):
    """g*_t(x_t) = sum_j pi_j phi(y_j), laws are laws, and the path's lengths are those of the functions."""
    stream = streams.drifting(loss, 60, seed=3, **how)
    Phi = loss.embed_many(stream.labels)
    assert stream.laws.min() >= 0
    np.testing.assert_allclose(stream.laws.sum(axis=1), 1.0)
    for t in (1, 20, 60):
        truth = stream.truth(t, stream.x[t - 1 : t])[0]
        np.testing.assert_allclose(truth, stream.laws[t - 1] @ Phi, atol=1e-7)
        np.testing.assert_allclose(stream.means[t - 1], truth, atol=1e-7)
    # norms by the long way: b + k(., S) A, and its differences
    K, mean = stream.base(stream.sites, stream.sites), Phi.mean(axis=0)
    A = [np.einsum("w,wnj,jp->np", c, stream.weights, Phi) for c in stream.path]
    norms = [np.sqrt(mean @ mean + np.trace(a.T @ K @ a)) for a in A]
    np.testing.assert_allclose(stream.norms, norms, rtol=1e-6)
    moved = [np.sqrt(max(np.trace((a - b).T @ K @ (a - b)), 0)) for a, b in zip(A[1:], A)]
    assert pytest.approx(norms[0] + sum(moved), rel=1e-5) == stream.V_G
    assert 1 + sum(step > 1e-6 for step in moved) == stream.V_0


def test_norm_bounds_the_least_interpolant():
    """No function of the RKHS through g*(x_1), ..., g*(x_T) can be longer than g* itself."""
    stream = streams.drifting(losses.Ordinal(4), 40, seed=1)
    K, G = stream.kernel(stream.x, stream.x), stream.means
    least = np.trace(G.T @ np.linalg.lstsq(K, G, rcond=1e-10)[0])
    assert 0 < least <= stream.norms[0] ** 2 * (1 + 1e-6)


def test_realisable_streams_obey_theorem_1_with_the_known_norm():
    """phi_t = g*(x_t), so min_g L_T(g) <= lam |g*|^2."""
    stream = streams.drifting(losses.SubsetHamming(4), 150, sites=15, seed=2)
    np.testing.assert_allclose(stream.means, stream.loss.embed_many(stream.y), atol=1e-7)
    learner = OSKAAR(stream.loss, stream.kernel, lam=1.0)
    replay(learner, stream.x, stream.y)
    found = learner.certificate()
    assert found.hindsight.best_fit <= stream.norms[0] ** 2 + 1e-6
    kappa = stream.kernel.kappa
    bound = theory.oskaar_bound(150, stream.loss.c_delta, kappa, 1.0, found.effective_dimension, stream.norms[0] ** 2)
    assert found.prior_bound <= bound + 1e-6


def test_changes_are_where_they_are_said_to_be():
    stream = streams.drifting(losses.ZeroOne(3), 100, sites=20, changes=3, seed=5)
    assert stream.V_0 == 4
    assert stream.changes == [26, 51, 76]
    regimes = stream.path.argmax(axis=1)
    assert np.bincount(regimes).tolist() == [25] * 4


def test_labels_follow_the_law(rng):
    """20 000 rounds at one site, noise 0.5 over 4 labels: the certain one has 5/8."""
    stream = streams.drifting(losses.ZeroOne(4), 20000, sites=1, noise=0.5, seed=0)
    shares = np.bincount([stream.labels.index(y) for y in stream.y], minlength=4) / 20000
    np.testing.assert_allclose(np.sort(shares), [1 / 8, 1 / 8, 1 / 8, 5 / 8], atol=0.02)


def test_excess_is_the_conditional_regret():
    """By enumeration: no answer has less risk than the best, whose excess is 0."""
    stream = streams.drifting(losses.F1(3), 30, noise=0.2, seed=4)
    best = stream.best_answers()
    assert stream.excess(best) == pytest.approx(np.zeros(30))
    outputs = list(stream.loss.outputs())
    costs = np.array([[stream.loss(z, y) for y in stream.labels] for z in outputs])
    risks = costs @ stream.laws.T
    for z, risk in zip(outputs, risks):
        np.testing.assert_allclose(stream.excess([z] * 30), risk - risks.min(axis=0), atol=1e-12)


def test_seeds_and_settings():
    a, b, c = (streams.drifting(losses.ZeroOne(3), 20, seed=s) for s in (1, 1, 2))
    assert a.y == b.y
    np.testing.assert_array_equal(a.x, b.x)
    assert not np.array_equal(a.x, c.x)
    given = streams.drifting(losses.ZeroOne("abc"), 20, labels=["a", "c"], kernel=kernels.Matern(1.0))
    assert set(given.y) == {"a", "c"}
    assert given.kernel.kappa == pytest.approx(2**0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rounds": 0}, "more rounds than changes"),
        ({"changes": 5, "drift": 1.0}, "not both"),
        ({"noise": 1.0}, "noise must be"),
        ({"labels": ["a"]}, "two labels"),
        ({"loss": losses.LossTrick(lambda z, y: 0.0)}, "fixed coordinates"),
        ({"loss": losses.PerRow(losses.ZeroOne(2))}, "fixed coordinates"),
    ],
)
def test_bad_settings(arguments, message):
    with pytest.raises(ValueError, match=message):
        streams.drifting(**{"loss": losses.ZeroOne("ab"), "rounds": 10, **arguments})

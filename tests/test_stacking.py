"""The regression on what the experts say, by itself; tests/test_defaults.py has it inside the ensemble."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oskaar import OSKAAR, Ensemble, kernels, losses, replay
from oskaar.learners.labels import Labels
from oskaar.learners.stacking import DISCOUNTS, SHRINKAGE, Stacking, Sums, _weights

SPACES = {
    "vectors": (losses.Squared(2), [[0.1, 0.9], [0.7, -0.2], [0.3, 0.3]]),
    "no range yet": (losses.Squared(1), [0.5, 0.5, 0.5]),
    "tags": (losses.F1(["a", "b", "c"]), [["a"], ["b", "c"], []]),
    "tags as they come": (losses.F1(), [["a"], ["b", "c"], []]),
    "sets": (losses.Jaccard(["a", "b", "c"]), [["a"], ["b", "c"], ["a", "b", "c"]]),
    "angles": (losses.Geodesic(), [0.1, 2.0, -1.5]),
    "points": (losses.SphereGeodesic(2), [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]),
    "numbers": (losses.Absolute(1), [0.1, 0.4, 0.2]),
    "by a function": (losses.LossTrick(lambda z, y: abs(z - y) / 5, candidates=[0, 1, 2, 5]), [0, 2, 5]),
    "shares": (losses.TotalVariation(3), [[0.2, 0.3, 0.5], [1, 0, 0], [0, 0.5, 0.5]]),
    "shares on a line": (losses.OrderedWasserstein(3), [[0.2, 0.3, 0.5], [1, 0, 0], [0, 0.5, 0.5]]),
    "classes": (losses.ZeroOne(), ["a", "b", "a"]),
}


def space_of(name):
    loss, ys = SPACES[name]
    return Labels(loss, loss.space(), [loss.check(y) for y in ys], [1, 2, 3]).space


@pytest.mark.parametrize("name", SPACES)
def test_products_are_those_of_the_norms(name, rng):
    """Symmetric, linear, and squared norms on the diagonal."""
    space = space_of(name)
    V = rng.normal(size=(4, 5, space.p))
    V[3] = 2 * V[0] - V[1]
    products = space.products(V)
    assert products.shape == (4, 4, 5)
    np.testing.assert_allclose(products, products.swapaxes(0, 1))
    np.testing.assert_allclose(np.diagonal(products).T, space.squared_norms(V), atol=1e-10)
    np.testing.assert_allclose(products[3, 2], 2 * products[0, 2] - products[1, 2], atol=1e-8)


@given(st.integers(0, 12), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_weights_are_the_argmin(rounds, experts, seed):
    """Least squares on the rows of all rounds, with the square root of mu times the identity below them."""
    rng = np.random.default_rng(seed)
    R, D = rng.normal(size=(rounds, 3)), rng.normal(size=(rounds, experts, 3))
    sums = Sums.of(experts)
    for r, d in zip(R, D):
        both = np.vstack([r, d])
        sums = sums.after(both @ both.T)
    for w, kept, shrinkage in zip(_weights([sums])[:, 0], DISCOUNTS, SHRINKAGE, strict=True):
        ages = kept ** np.arange(rounds)[::-1]
        mean = (kept**rounds + ages @ (R**2).sum(axis=1)) / (kept**rounds + ages.sum())
        mu = shrinkage * mean + 1e-6 * (ages @ (D**2).sum(axis=(1, 2))) / experts + 1e-12
        rows = [math.sqrt(a) * d.T for a, d in zip(ages, D)]
        right = [math.sqrt(a) * r for a, r in zip(ages, R)]
        A = np.vstack([*rows, math.sqrt(mu) * np.eye(experts)])
        b = np.concatenate([*right, np.zeros(experts)])
        np.testing.assert_allclose(w, np.linalg.lstsq(A, b, rcond=None)[0], atol=1e-8)


def test_sums_go_to_experts_by_name():
    """Those that are new have none."""
    stack, rng = Stacking(["restarts", "a", "b"]), np.random.default_rng(0)
    V = rng.normal(size=(4, 3))
    stack.sums = stack.sums.after(V @ V.T)
    other = Stacking(["restarts", "b", "c"]).fitted(None, (stack.names, stack.sums))
    places = [0, 1, 3]
    np.testing.assert_array_equal(
        other.sums.products[:, :3, :3], stack.sums.products[np.ix_(range(2), places, places)]
    )
    assert not other.sums.products[:, 3].any()
    np.testing.assert_array_equal(other.sums.rounds, stack.sums.rounds)


def test_experts_that_agree_are_no_trouble():
    """One label only: all differences and all errors go to nothing."""
    learner = Ensemble(losses.ZeroOne("ab"), kernels.Gaussian() + 1.0)
    result = replay(learner, np.zeros((300, 2)), "a" * 300)
    assert result.losses[1:].sum() == 0
    assert np.isfinite(result.estimates).all()


def test_two_experts_together(rng):
    """Each sees one half of the target: a regression on both has three quarters of the loss of the mixture."""
    X = rng.normal(size=(300, 2))
    y = (np.sin(X[:, 0]) + np.cos(2 * X[:, 1])) / 2
    loss = losses.Squared(1, -1.0, 1.0)

    class Half(kernels.Kernel):
        def __init__(self, column):
            self.column = column

        def __call__(self, A, B):
            a, b = np.asarray(A)[:, [self.column]], np.asarray(B)[:, [self.column]]
            return np.exp(-((a - b.T) ** 2)) + 1.0

        def diag(self, A):
            return np.full(len(A), 2.0)

    def run(**asked):
        own = {name: OSKAAR(loss, Half(i), lam=0.1) for i, name in enumerate("ab")}
        return replay(Ensemble(loss, Half(0), own, selection=False, **asked), X, y).losses[100:].mean()

    assert run() < 0.75 * run(stacking=False)

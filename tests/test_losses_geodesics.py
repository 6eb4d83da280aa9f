"""Squared arcs on spheres: the circle exactly, larger spheres against fine grids, Karcher's mean."""

import math
import pickle

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from strategies import decoded, signed_weights, space_of

from oskaar import OSKAAR, losses

SEEDS = st.integers(0, 2**32 - 1)


def points(rng, count, dim, spread=1.0):
    """Unit vectors, near the first axis where the spread is small."""
    Y = spread * rng.normal(size=(count, dim))
    Y[:, 0] += 1 if spread < 1 else 0
    return Y / np.linalg.norm(Y, axis=1, keepdims=True)


def risks(Z, weights, Y):
    """Weighted squared angles, for many z."""
    return (np.arccos(np.clip(Z @ Y.T, -1, 1)) / math.pi) ** 2 @ weights


@given(SEEDS, st.integers(1, 4))
def test_loss_is_the_squared_angle(seed, dim):
    rng = np.random.default_rng(seed)
    loss = losses.SphereGeodesic(dim)
    z, y = points(rng, 2, dim)
    assert loss(z, y) == pytest.approx(naive.squared_arc(z, y), abs=1e-7)
    assert loss(z, -z) == pytest.approx(1.0)
    assert loss(z, z) == 0


def test_small_angles_keep_their_digits():
    y = np.array([1.0, 0.0, 0.0])
    assert losses.SphereGeodesic(3)(np.array([math.cos(1e-9), math.sin(1e-9), 0.0]), y) == pytest.approx(
        (1e-9 / math.pi) ** 2, rel=1e-9
    )


@given(SEEDS, st.integers(1, 8), st.booleans())
def test_circle_is_exact(seed, count, whole):
    """Against 3600 angles, the labels and their opposites; labels on a coarse grid meet their antipodes."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-math.pi, math.pi, size=count)
    if whole:
        angles = np.round(angles / (math.pi / 6)) * (math.pi / 6)
    Y = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    grid = np.concatenate([np.linspace(-math.pi, math.pi, 3601), angles, angles + math.pi])
    rivals = np.stack([np.cos(grid), np.sin(grid)], axis=1)
    weights = signed_weights(rng, count)
    z = decoded(losses.SphereGeodesic(2), Y, weights)
    assert risks(z[None], weights, Y)[0] <= risks(rivals, weights, Y).min() + 1e-7 * np.abs(weights).sum()


def fibonacci(n):
    """n points spread evenly over the sphere."""
    i = np.arange(n) + 0.5
    height, turn = 1 - 2 * i / n, math.pi * (1 + math.sqrt(5)) * i
    r = np.sqrt(1 - height**2)
    return np.stack([r * np.cos(turn), r * np.sin(turn), height], axis=1)


GRID = fibonacci(6000)


@given(SEEDS, st.integers(1, 12), st.sampled_from([1.0, 0.3]))
def test_sphere_against_a_fine_grid(seed, count, spread):
    """No claim of exactness, but on small problems no grid point, label or opposite has a smaller risk."""
    rng = np.random.default_rng(seed)
    Y = points(rng, count, 3, spread)
    weights = signed_weights(rng, count)
    z = decoded(losses.SphereGeodesic(3), Y, weights)
    least = risks(np.concatenate([GRID, Y, -Y]), weights, Y).min()
    assert risks(z[None], weights, Y)[0] <= least + 1e-7 * np.abs(weights).sum()


@given(SEEDS, st.integers(1, 10), st.integers(3, 5))
def test_positive_weights_nearby_give_karchers_mean(seed, count, dim):
    """The mean's first-order condition, sum_j g_j log_z(y_j) = 0, and a descent by SciPy that ends no lower."""
    rng = np.random.default_rng(seed)
    Y = points(rng, count, dim, 0.2)
    weights = rng.uniform(0.1, 1, size=count)
    z = decoded(losses.SphereGeodesic(dim), Y, weights)
    cosines = np.clip(Y @ z, -1, 1)
    logs = Y - cosines[:, None] * z
    lengths = np.linalg.norm(logs, axis=1, keepdims=True)
    logs = np.divide(logs, lengths, out=np.zeros_like(logs), where=lengths > 1e-12)
    np.testing.assert_allclose(weights @ (logs * np.arctan2(lengths, cosines[:, None])), 0, atol=1e-7)
    found = minimize(lambda v: risks(v[None] / np.linalg.norm(v), weights, Y)[0], Y[0] + 0.01)
    assert risks(z[None], weights, Y)[0] <= found.fun + 1e-9


@given(SEEDS, st.sampled_from([2, 3]))
def test_geometry_is_that_of_the_loss(seed, dim):
    """Delta(z, y) is linear in phi(y) with |phi| = 1: the label kernel's two parts give the loss back."""
    rng = np.random.default_rng(seed)
    loss, Y = losses.SphereGeodesic(dim), points(rng, 6, dim)
    space = space_of(loss, Y)
    T = np.clip(Y @ Y.T, -1, 1)
    mean = {2: math.pi**2 / 12, 3: math.pi**2 / 4 - 2}[dim]
    share, rest = 0.5 / loss.c_delta, math.pi**2 / 4 - mean
    Q = share * np.arcsin(T) * 2 / math.pi + (1 - share) * (np.arcsin(T) ** 2 - mean) / rest
    assert np.linalg.eigvalsh(Q)[0] > -1e-9
    assert loss.c_delta == pytest.approx(0.5 + rest / math.pi**2)
    V = rng.normal(size=(4, 6))
    np.testing.assert_allclose(space.squared_norms(V), np.einsum("rp,pq,rq->r", V, Q, V), atol=1e-6)
    np.testing.assert_allclose(space.squared_norms(np.eye(6)), 1, atol=1e-12)


def test_many_rows_are_each_decoded_alone(rng):
    """Rows of a block do not know of each other, also where the block is cut into chunks."""
    Y = points(rng, 40, 3)
    space = space_of(losses.SphereGeodesic(3), Y)
    G = rng.normal(size=(60, 40))
    G[7] = 0.0
    many = space.decode_many(G)
    np.testing.assert_array_equal(many[7], [1.0, 0.0, 0.0])
    for z, g in zip(many, G):
        np.testing.assert_allclose(z, space.decode_many(g[None, :])[0], atol=1e-9)


def test_labels_are_told_apart(rng):
    loss = losses.SphereGeodesic(2)
    space = space_of(loss, [loss.check([1.0, 0.0]), loss.check([1.0, -0.0])])
    assert space.p == 1
    for call in (loss.embed, loss.embed_many, loss.decode, loss.decode_many):
        with pytest.raises(NotImplementedError, match=r"labels seen|as they are seen"):
            call(np.ones(2))


@pytest.mark.parametrize(
    ("y", "message"),
    [([1.0, 0.0], "shape"), ([1.0, 1.0, 0.0], "norm 1"), ("abc", "got 'abc'"), ([np.nan, 0, 1], "finite")],
)
def test_a_refused_round_leaves_no_trace(y, message):
    learner = OSKAAR(losses.SphereGeodesic(3), lam=0.1)
    learner.learn_one([0.0], [1.0, 0.0, 0.0])
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match=message):
        learner.learn_one([1.0], y)
    assert pickle.dumps(learner) == before


def test_the_search_on_a_sphere_is_not_exact():
    """A grid finds a point of less risk than the search: `exact` must be False, and the certificate has a gap."""
    Y = np.array(
        [
            [0.569, -0.285, 0.772],
            [-0.156, 0.517, 0.841],
            [-0.476, 0.725, 0.498],
            [0.974, -0.175, 0.147],
            [0.26, 0.144, 0.955],
            [0.869, -0.195, -0.454],
            [-0.514, 0.813, 0.273],
            [0.083, -0.98, -0.182],
            [-0.172, 0.985, 0.035],
            [0.789, -0.288, 0.542],
            [-0.153, 0.606, 0.781],
        ]
    )
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    g = np.array([0.881, 0.101, -0.771, 1.064, 0.529, -0.193, 0.919, -1.122, 0.194, 0.766, -1.641])
    loss = losses.SphereGeodesic(3)
    space = space_of(loss, map(loss.check, Y))
    grid = fibonacci(20_000)
    z = space.decode_many(g[None])[0]
    found, *others = risks(np.vstack([z, grid]), g, Y)
    assert min(others) < found - 1e-4
    assert space.gap(z, grid[np.argmin(others)], g) == pytest.approx(found - min(others), rel=1e-3)
    assert not space.exact
    assert losses.SphereGeodesic(2).space().exact

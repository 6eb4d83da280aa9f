"""Angles, spheres, rotations, positive definite matrices, distributions and vectors."""

import math
import warnings

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm, logm
from scipy.optimize import minimize
from strategies import decoded, few, signed_weights, space_of

from oskaar import OSKAAR, SALAMI, BatchILE, MostFrequent, RepeatLast, checks, losses, replay

# ------------------------------------------------------------------ labels and fine grids of outputs


def unit(rng, dim, n):
    points = rng.normal(size=(n, dim))
    return list(points / np.linalg.norm(points, axis=1, keepdims=True))


def rotation(rng, n):
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    Q[:, 0] *= np.sign(np.linalg.det(Q))
    return Q


def positive(rng, n, bound):
    S = rng.normal(size=(n, n))
    S = S + S.T
    return expm(S * bound * rng.uniform(0, 1) / np.linalg.norm(S))


CANDIDATES_ONLY = {"total variation"}
"""Decoders that do not claim to be exact over all outputs."""

FAMILIES = {
    "circular": (lambda: losses.Circular(), lambda rng: rng.uniform(-math.pi, math.pi)),
    "angles": (lambda: losses.Angles(3), lambda rng: rng.uniform(-math.pi, math.pi, size=3)),
    "geodesic": (lambda: losses.Geodesic(), lambda rng: rng.uniform(-math.pi, math.pi)),
    "sphere": (lambda: losses.Sphere(3), lambda rng: unit(rng, 3, 1)[0]),
    "line": (lambda: losses.Sphere(1), lambda rng: unit(rng, 1, 1)[0]),
    "rotation2": (lambda: losses.Rotation(2), lambda rng: rotation(rng, 2)),
    "rotation3": (lambda: losses.Rotation(3), lambda rng: rotation(rng, 3)),
    "rotation4": (lambda: losses.Rotation(4), lambda rng: rotation(rng, 4)),
    "logs": (lambda: losses.LogEuclidean(2, bound=2.0), lambda rng: positive(rng, 2, 2.0)),
    "l2": (lambda: losses.SimplexL2(4), lambda rng: rng.dirichlet(np.full(4, 0.5))),
    "l2 of one": (lambda: losses.SimplexL2(1), lambda rng: np.ones(1)),
    "hellinger": (lambda: losses.Hellinger(4), lambda rng: rng.dirichlet(np.full(4, 0.5))),
    "hellinger of one": (lambda: losses.Hellinger(1), lambda rng: np.ones(1)),
    "total variation": (lambda: losses.TotalVariation(4), lambda rng: rng.dirichlet(np.full(4, 0.5))),
    "arcs on the line": (lambda: losses.SphereGeodesic(1), lambda rng: unit(rng, 1, 1)[0]),
    "arcs on the circle": (lambda: losses.SphereGeodesic(2), lambda rng: unit(rng, 2, 1)[0]),
    "arcs on the sphere": (lambda: losses.SphereGeodesic(3), lambda rng: unit(rng, 3, 1)[0]),
    "ordered transport": (lambda: losses.OrderedWasserstein(4), lambda rng: rng.dirichlet(np.full(4, 0.5))),
    "uneven transport": (lambda: losses.OrderedWasserstein([0, 1, 5]), lambda rng: rng.dirichlet(np.full(3, 0.5))),
    "squared": (lambda: losses.Squared(2, [0, -1], [10, 1]), lambda rng: rng.uniform([0, -1], [10, 1])),
    "pinball": (lambda: losses.Pinball(2, [0, -1], [10, 1], 0.8), lambda rng: rng.uniform([0, -1], [10, 1])),
    "huber": (lambda: losses.Huber(2, [0, -1], [10, 1], 0.7), lambda rng: rng.uniform([0, -1], [10, 1])),
}
"""A loss, and how to draw a label; labels are outputs too."""


def named(every=1):
    return pytest.mark.parametrize("name", few(FAMILIES, every))


def drawn(name, seed, count):
    make, draw = FAMILIES[name]
    loss, rng = make(), np.random.default_rng(seed)
    return loss, [loss.check(draw(rng)) for _ in range(count)], rng


@named()
@settings(max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 7))
def test_no_output_beats_decode(name, seed, count):
    """The risk of decode is at most that of labels and of random outputs, for weights of any sign."""
    loss, labels, rng = drawn(name, seed, count)
    weights = signed_weights(rng, count)
    z = decoded(loss, labels, weights)
    mine = naive.risk(loss, z, weights, labels)
    rivals = labels + [loss.check(FAMILIES[name][1](rng)) for _ in range(40 if name not in CANDIDATES_ONLY else 0)]
    assert mine <= naive.least_risk(loss, rivals, weights, labels) + 1e-8 * (1 + np.abs(weights).sum())
    loss.check(z)


@named()
def test_contract(name):
    """check_loss on labels, which are outputs too, and on answers to signed weights: these are the extreme ones."""
    loss, labels, rng = drawn(name, 1, 30)
    space = space_of(loss, labels)
    extreme = space.decode_many(rng.normal(size=(60, len(labels))) @ space.embed_many(labels))
    checks.check_loss(loss, labels, labels + extreme)


@named()
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 5))
def test_decode_many_is_a_loop(name, seed, n):
    loss, labels, rng = drawn(name, seed, 4)
    space = space_of(loss, labels)
    G = rng.normal(size=(n, space.p))
    before = G.copy()
    many = space.decode_many(G)
    assert len(many) == n
    for z, g in zip(many, G):
        np.testing.assert_array_equal(z, space.decode_many(g[None, :])[0])
        if loss.p:
            np.testing.assert_array_equal(z, loss.decode(g))
    np.testing.assert_array_equal(G, before)


@named()
def test_decoding_ignores_scale_and_finds_the_label(name):
    """decode(phi(y)) is y, also for tiny and huge estimates."""
    loss, labels, _ = drawn(name, 2, 6)
    space = space_of(loss, labels)
    for y, phi in zip(labels, space.embed_many(labels)):
        for scale in (1e-200, 1.0, 1e100):
            np.testing.assert_allclose(space.decode_many(scale * phi[None, :])[0], y, atol=1e-7)
        assert loss(y, y) == space.optimum(y) == loss.optimum(y) == 0


# ------------------------------------------------------------------ decoders against fine grids and optimisers

TURN = np.linspace(-math.pi, math.pi, 361)
NEAR = np.linspace(-0.02, 0.02, 41)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_circle_on_a_grid(seed, count, whole):
    """Both losses on the circle against 360 angles, 40 near the answer, labels and their antipodes, where arcs bend.

    Labels on a coarse grid meet their antipodes.
    """
    rng = np.random.default_rng(seed)
    labels = rng.uniform(-math.pi, math.pi, size=count)
    if whole:
        labels = np.round(labels / (math.pi / 6)) * (math.pi / 6)
    weights = signed_weights(rng, count)
    for loss in (losses.Circular(), losses.Geodesic()):
        ys = [loss.check(y) for y in labels]
        z = decoded(loss, ys, weights)
        literal = naive.one_minus_cos if isinstance(loss, losses.Circular) else naive.arc
        assert literal(z, ys[0]) == pytest.approx(loss(z, ys[0]), abs=1e-12)
        rivals = np.concatenate([TURN, z + NEAR, ys, np.add(ys, math.pi)])
        assert naive.risk(literal, z, weights, ys) <= naive.least_risk(literal, rivals, weights, ys) + 1e-9


def test_geodesic_geometry(rng):
    """|g|^2 is the quadratic form of 1 - 2 |y - y'| / pi, also when labels are opposite to each other."""
    loss = losses.Geodesic()
    ys = [0.0, math.pi, 0.3, -2.0, math.pi / 2, -math.pi / 2]
    space = space_of(loss, ys)
    Q = np.array([[1 - 2 * naive.arc(a, b) / math.pi for a in ys] for b in ys])
    V = rng.normal(size=(3, 5, len(ys)))
    np.testing.assert_allclose(space.squared_norms(V), np.einsum("abp,pq,abq->ab", V, Q, V), atol=1e-12)
    np.testing.assert_allclose(space.squared_norms(np.array([[1.0, 1.0, 0, 0, 0, 0]])), 0, atol=1e-12)
    assert space.extended(0.3) is space


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_simplex_on_a_grid(seed, count):
    """SimplexL2 and Hellinger against all distributions with shares in twentieths, and a descent from the answer."""
    rng = np.random.default_rng(seed)
    grid = [np.array([i, j, 20 - i - j]) / 20 for i in range(21) for j in range(21 - i)]
    labels = list(rng.dirichlet(np.full(3, 0.5), size=count))
    weights = signed_weights(rng, count)
    for loss, literal in ((losses.SimplexL2(3), naive.half_square), (losses.Hellinger(3), naive.hellinger)):
        z = loss.decode(weights @ loss.embed_many(labels))
        mine = naive.risk(literal, z, weights, labels)
        assert mine <= naive.least_risk(literal, grid, weights, labels) + 1e-9
        assert z.sum() == pytest.approx(1)
        assert z.min() >= 0
        near = [np.abs(z + 1e-4 * step) for step in rng.normal(size=(20, 3))]
        assert mine <= naive.least_risk(literal, [q / q.sum() for q in near], weights, labels) + 1e-9


def test_projection_is_the_optimiser_s(rng):
    loss = losses.SimplexL2(5)
    for _ in range(5):
        labels, weights = rng.dirichlet(np.ones(5), size=4), np.array([2.0, 1.5, -0.7, -1.0])
        found = minimize(
            lambda z, labels=labels, weights=weights: naive.risk(naive.half_square, z, weights, labels),
            np.full(5, 0.2),
            bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(loss.decode(weights @ loss.embed_many(labels)), found.x, atol=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.booleans())
def test_vectors_on_a_grid(seed, count, whole):
    """Each target against 2001 values of its range, for every loss on vectors."""
    rng = np.random.default_rng(seed)
    labels = rng.uniform(0, 10, size=(count, 1))
    labels = np.round(labels) if whole else labels
    weights = signed_weights(rng, count)
    grid = np.linspace(0, 10, 2001)[:, None]
    for loss, literal in (
        (losses.Squared(1, 0, 10), lambda z, y: (z[0] - y[0]) ** 2),
        (losses.Pinball(1, 0, 10, 0.3), lambda z, y: naive.pinball(z[0], y[0], 0.3)),
        (losses.Huber(1, 0, 10, 1.5), lambda z, y: naive.huber(z[0], y[0], 1.5)),
    ):
        ys = [loss.check(y) for y in labels]
        z = decoded(loss, ys, weights)
        assert naive.risk(literal, z, weights, ys) <= naive.least_risk(literal, grid, weights, ys) + 1e-8
        assert loss(z, ys[0]) == pytest.approx(literal(z, ys[0]), abs=1e-12)


@pytest.mark.parametrize("loss", [losses.Pinball(2, [0, -1], [10, 1], 0.8), losses.Huber(2, 0, 5, 0.7)])
def test_slope_geometry(loss, rng):
    """|g|^2 is the integral of the squared slope of the risk, by the midpoint rule."""
    ys = [loss.check(rng.uniform(loss.low, loss.high)) for _ in range(4)]
    space, V = space_of(loss, ys), rng.normal(size=(3, 4))
    total = 0.0
    for i in range(2):
        edges = np.linspace(loss.low[i], loss.high[i], 4001)
        risks = np.zeros((len(edges), 4))
        for j, y in enumerate(ys):
            for k, theta in enumerate(edges):
                z = y.copy()
                z[i] = theta
                risks[k, j] = 2 * loss(z, y)
        step = edges[1] - edges[0]
        total = total + ((np.diff(risks, axis=0) / step @ V.T) ** 2).sum(axis=0) * step
    scale = loss.steepest**2 * (loss.high - loss.low).sum()
    np.testing.assert_allclose(space.squared_norms(V), total / scale, rtol=5e-3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_total_variation_is_the_best_candidate(seed, count):
    """The least risk among labels seen and certainties, for weights of any sign, and v^T Q v for norms."""
    rng = np.random.default_rng(seed)
    loss = losses.TotalVariation(4)
    labels = [loss.check(y) for y in rng.dirichlet(np.full(4, 0.5), size=count)]
    space = space_of(loss, [*labels, labels[0]])
    weights = signed_weights(rng, count)
    z = space.decode_many((weights @ space.embed_many(labels))[None, :])[0]
    known = [*labels, *np.eye(4)]
    least = naive.least_risk(naive.total_variation, known, weights, labels)
    assert naive.risk(naive.total_variation, z, weights, labels) <= least + 1e-9
    assert not weights.any() or any(np.array_equal(z, q) for q in known)
    Q = np.array([[1 - naive.total_variation(a, b) for a in labels] for b in labels])
    np.testing.assert_allclose(space.squared_norms(weights[None, :]), max(weights @ Q @ weights, 0), atol=1e-9)
    if count > 4:
        checks.check_loss(loss, labels, known)


# ------------------------------------------------------------------ losses against literal definitions


def test_losses_are_their_definitions(rng):
    for _ in range(20):
        a, b = unit(rng, 4, 2)
        assert losses.Sphere(4)(a, b) == pytest.approx(sum((a - b) ** 2) / 4)
        angles = rng.uniform(-9, 9, size=(2, 3))
        expected = sum(naive.one_minus_cos(z, y) for z, y in zip(*angles)) / 3
        assert losses.Angles(3)(*angles) == pytest.approx(expected)
        Z, Y = positive(rng, 3, 2.0), positive(rng, 3, 2.0)
        assert losses.LogEuclidean(3, 2.0)(Z, Y) == pytest.approx(np.sum((logm(Z) - logm(Y)) ** 2) / 16)
        p, q = rng.dirichlet(np.ones(3), size=2)
        assert losses.SimplexL2(3)(p, q) == pytest.approx(naive.half_square(p, q))
        assert losses.TotalVariation(3)(p, q) == pytest.approx(naive.total_variation(p, q))
        assert losses.Hellinger(3)(p, q) == pytest.approx(naive.hellinger(p, q))


def test_rotations_are_measured_by_their_angle(rng):
    """In the plane and in space the loss is (1 - cos angle) / 2; the largest loss is 1 in every dimension."""
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    assert losses.Rotation(2)(np.eye(2), turn) == pytest.approx((1 - np.cos(angle)) / 2)
    space = np.eye(3)
    space[1:, 1:] = turn
    assert losses.Rotation(3)(np.eye(3), space) == pytest.approx((1 - np.cos(angle)) / 2)
    for n in (2, 3, 4, 5):
        loss = losses.Rotation(n)
        Y = rotation(rng, n)
        assert loss(loss.decode(-loss.embed(Y)), Y) == pytest.approx(1)


def test_worst_losses():
    """1 at worst, but for angles and vectors."""
    assert losses.Sphere(3)([0, 0, 1], [0, 0, -1]) == 1
    assert losses.SimplexL2(3)([0, 0, 1], [1, 0, 0]) == 1
    assert losses.Hellinger(3)([0, 0, 1], [1, 0, 0]) == 1
    logs = losses.LogEuclidean(2, bound=np.sqrt(2))
    assert logs(np.eye(2) * np.e, np.eye(2) / np.e) == pytest.approx(1)


def test_concave_risks_have_their_minimum_on_the_border():
    """Weights that sum to less than 0 push the answer away from the labels, to a vertex or an end."""
    l2, squared = losses.SimplexL2(3), losses.Squared(2, 0, 1)
    np.testing.assert_array_equal(l2.decode(-l2.embed([0.5, 0.3, 0.2])), [0, 0, 1])
    np.testing.assert_array_equal(squared.decode(-squared.embed([0.4, 0.6])), [1, 0])
    np.testing.assert_array_equal(losses.Hellinger(3).decode(-np.sqrt([0.5, 0.3, 0.2])), [0, 0, 1])
    differ = l2.embed([0.5, 0.3, 0.2]) - l2.embed([0.4, 0.5, 0.1])  # weights that sum to 0: a linear risk
    np.testing.assert_array_equal(l2.decode(differ), [1, 0, 0])


def test_before_anything_is_seen():
    """A zero estimate decodes to the documented default."""
    assert losses.Circular().decode(np.zeros(2)) == 0.0
    assert losses.Circular().decode(np.array([-0.0, 0.0])) == 0.0
    assert losses.Geodesic().space().decode_many(np.zeros((1, 0))) == [0.0]
    for loss, answer in (
        (losses.Angles(2), [0, 0]),
        (losses.Sphere(3), [1, 0, 0]),
        (losses.Rotation(3), np.eye(3)),
        (losses.LogEuclidean(2, 1.0), np.eye(2)),
        (losses.SimplexL2(4), np.full(4, 0.25)),
        (losses.Hellinger(4), np.full(4, 0.25)),
        (losses.TotalVariation(4), np.full(4, 0.25)),
        (losses.Squared(2, 0, [10, 20]), [5, 10]),
        (losses.Pinball(2, 0, [10, 20]), [5, 10]),
        (losses.Huber(2, 0, [10, 20]), [5, 10]),
    ):
        space = loss.space()
        np.testing.assert_allclose(space.decode_many(np.zeros((1, space.p)))[0], answer, atol=1e-12)
        with pytest.raises(NotImplementedError):
            loss.outputs()
    for loss in (losses.Geodesic(), losses.TotalVariation(2), losses.Pinball(1, 0, 1), losses.Huber(1, 0, 1)):
        for method in (loss.embed, loss.decode):
            with pytest.raises(NotImplementedError, match="space"):
                method(np.zeros(1))
        assert loss.space().squared_norms(np.zeros((2, 0))).shape == (2,)


# ------------------------------------------------------------------ labels as users write them


def test_angles_beyond_two_pi_warn():
    for loss, y in ((losses.Circular(), 90), (losses.Geodesic(), -180.0), (losses.Angles(2), [0.0, 270.0])):
        with pytest.warns(UserWarning, match="radians, use np.deg2rad"):
            loss.check(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (2 * math.pi, -2 * math.pi, 0, np.float32(3.0)):
            assert abs(losses.Circular().check(y)) <= math.pi
    assert losses.Circular().check(2 * math.pi) == 0


def test_labels_as_users_write_them():
    np.testing.assert_array_equal(losses.SimplexL2(2).check((1, 0)), [1.0, 0.0])
    assert losses.Hellinger(3).check([1 / 3 + 1e-8] * 3).sum() == pytest.approx(1, abs=1e-15)
    assert losses.Sphere(2).check([0.6, 0.8]).dtype == float
    assert losses.Squared(1, 0, 1).check(0.5).shape == (1,)
    y = np.array([0.5, 0.5])
    assert losses.SimplexL2(2).check(y) is not y


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (losses.Circular(), "east", "an angle must be a number, got 'east'"),
        (losses.Circular(), None, "an angle must be a number"),
        (losses.Circular(), math.nan, "finite"),
        (losses.Circular(), [1.0, 2.0], "shape"),
        (losses.Geodesic(), math.inf, "finite"),
        (losses.Angles(2), [1.0], "array of 2 numbers, got shape"),
        (losses.Angles(2), [1.0, math.nan], "number 1 is nan"),
        (losses.Sphere(3), [1, 1, 0], "norm 1, got norm 1.41421: divide it by its norm"),
        (losses.Sphere(3), [0, 0, 0], "norm 1, got norm 0"),
        (losses.Sphere(3), [1, 0], "array of 3 numbers"),
        (losses.Rotation(2), [[1, 1], [0, 1]], "orthogonal"),
        (losses.Rotation(2), [[1, 0], [0, -1]], "determinant 1, got -1"),
        (losses.Rotation(2), [1, 0, 0, 1], "array of 2 x 2 numbers"),
        (losses.LogEuclidean(2, 1.0), [[1, 0.5], [0, 1]], "symmetric"),
        (losses.LogEuclidean(2, 1.0), [[1, 2], [2, 1]], "eigenvalues > 0, the least is -1"),
        (losses.LogEuclidean(2, 1.0), [[9, 0], [0, 1]], "raise bound"),
        (losses.SimplexL2(3), [0.5, 0.4, 0.2], "sum to 1, got 1.1: divide it by its sum"),
        (losses.SimplexL2(3), [1.2, -0.2, 0], "share 1 is -0.2"),
        (losses.SimplexL2(3), [0.5, 0.5], "array of 3 numbers"),
        (losses.Hellinger(3), [0.5, 0.5, math.nan], "number 2 is nan"),
        (losses.Hellinger(2), {0.5}, "array of 2 numbers"),
        (losses.Hellinger(2), "ab", "array of 2 numbers"),
        (losses.Squared(2, 0, 1), [0.5, 1.5], "target 1 must be in .0, 1., got 1.5: widen"),
        (losses.Squared(2, 0, 1), ["a", "b"], "array of 2 numbers"),
        (losses.Pinball(1, 0, 1), -1, "target 0 must be in"),
        (losses.Huber(1, 0, 1), None, "array of 1 numbers"),
    ],
)
def test_a_label_outside_the_space_is_named(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check(y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.Angles(0), "n must be a whole number >= 1"),
        (lambda: losses.Sphere(2.5), "dim must be a whole number >= 1"),
        (lambda: losses.Sphere("3"), "dim must be a whole number >= 1"),
        (lambda: losses.Rotation(1), "n must be a whole number >= 2"),
        (lambda: losses.LogEuclidean(2, 0), "bound must be finite and > 0"),
        (lambda: losses.SimplexL2(0), "n must be"),
        (lambda: losses.Squared(2, 1, [2, 1]), "low must be < high, got 1 and 1 for target 1"),
        (lambda: losses.Squared(2, 0, [1, 2, 3]), "high must be a finite number, or 2 of them"),
        (lambda: losses.Squared(2, -math.inf, 1), "low must be a finite number"),
        (lambda: losses.Pinball(2, 0, 1, quantile=1), "quantile must be between 0 and 1"),
        (lambda: losses.Huber(2, 0, 1, delta=0), "delta must be finite and > 0"),
    ],
)
def test_what_is_no_loss_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ------------------------------------------------------------------ in learners


@named(2)
def test_in_learners(name):
    """OSKAAR, SALAMI, their replays and BatchILE take labels as drawn and answer in kind."""
    loss, labels, rng = drawn(name, 3, 9)
    xs = rng.normal(size=(9, 2))
    plain = [y.tolist() if isinstance(y, np.ndarray) else y for y in labels]
    for learner in (OSKAAR(loss, lam=0.1), SALAMI(loss, lam=[0.1, 1.0])):
        checks.check_learner(learner, xs, plain)
        result = replay(learner, xs, plain)
        assert np.isfinite(result.losses).all()
        assert np.all(result.surrogate_losses <= 4 + 1e-9)
        for z in result.predictions:
            loss.check(z)
    model = BatchILE(loss, lam=1e-6).fit(xs, plain)
    assert -model.score(xs, plain) < 1e-2 * (1 + max(loss(a, b) for a in labels for b in labels))
    for rival in (RepeatLast, MostFrequent):
        assert np.isfinite(replay(rival(loss), xs, plain).losses).all()


def test_learning_a_turn(rng):
    """The angle is the direction of x: both losses on the circle learn it, across the cut at pi."""
    xs = rng.normal(size=(300, 2))
    ys = np.arctan2(xs[:, 1], xs[:, 0])
    for loss in (losses.Circular(), losses.Geodesic()):
        assert replay(OSKAAR(loss, lam=0.01), xs, ys).losses[200:].mean() < 0.15


def test_learning_quantiles(rng):
    """Pinball answers the quantile of what it has seen."""
    ys = rng.uniform(0, 1, size=400)
    learner = OSKAAR(losses.Pinball(1, 0, 1, quantile=0.9), lam=0.1)
    learner.learn_many(np.zeros((400, 1)), ys)
    assert learner.predict_one([0.0])[0] == pytest.approx(np.quantile(ys, 0.9), abs=0.01)

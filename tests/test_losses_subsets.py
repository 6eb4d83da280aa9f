"""Subsets beyond F1 and Hamming, and limits on the size of an answer. Decoders are also compared with enumeration
in test_losses.py, through `small_losses`."""

import itertools
import pickle
import tracemalloc

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import decoded, space_of

from oskaar import OSKAAR, SALAMI, BatchILE, checks, kernels, losses, replay
from oskaar.losses import fscore
from oskaar.losses.fscore import cross
from oskaar.losses.subsets import top

LIMITS = [(0, 5), (1, 5), (0, 2), (2, 3), (3, 3), (0, 0), (5, 5), (4, 5)]


def test_losses_are_their_definitions():
    jaccard, precision = losses.Jaccard(4), losses.PrecisionAtK(4, k=2)
    exact = losses.SubsetZeroOne(4)
    for z, y in itertools.product(naive.subsets(4), repeat=2):
        assert jaccard(z, y) == pytest.approx(naive.jaccard(z, y), abs=1e-15)
        assert exact(z, y) == float(z != y)
        if len(z) == 2:
            assert precision(z, y) == naive.precision_at_k(z, y)
    assert list(precision.outputs()) == [z for z in naive.subsets(4) if len(z) == 2]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kind", [losses.SubsetHamming, losses.F1, losses.Jaccard])
def test_limits(kind, limits, rng):
    """Outputs, optimum and decoder know only sets within the limits; labels may be any set."""
    loss = kind(5, at_least=limits[0], at_most=limits[1])
    allowed = [z for z in naive.subsets(5) if limits[0] <= len(z) <= limits[1]]
    assert list(loss.outputs()) == allowed
    assert list(loss.labels()) == naive.subsets(5)
    for y in naive.subsets(5):
        assert loss.optimum(y) == pytest.approx(min(loss(z, y) for z in allowed), abs=1e-12)
    labels = [naive.subsets(5)[i] for i in rng.integers(32, size=8)]
    for weights in rng.normal(size=(30, 8)):
        z = loss.decode(weights @ loss.embed_many(labels))
        assert z in allowed
        assert naive.risk(loss, z, weights, labels) <= naive.least_risk(loss, allowed, weights, labels) + 1e-9
    checks.check_loss(loss)
    assert len(loss.decode(np.zeros(loss.p))) == limits[0]


@pytest.mark.parametrize("n_labels", [1, 2, 5, 6])
def test_precision_at_k(n_labels):
    for k in range(1, n_labels + 1):
        loss = losses.PrecisionAtK(n_labels, k)
        checks.check_loss(loss)
        assert loss.decode(np.zeros(n_labels)) == frozenset(range(k))
        for y in naive.subsets(n_labels):
            assert loss.optimum(y) == pytest.approx(1 - min(len(y), k) / k)


def test_c_delta_is_the_radius():
    """The constants of the docstrings are radii of the smallest ball that holds psi, up to the walk's accuracy."""
    for loss in (losses.PrecisionAtK(5, 2), losses.SubsetHamming(5, 0, 1), losses.SubsetHamming(5, 4, 5)):
        assert loss.c_delta == pytest.approx(psi_radius(loss), rel=2e-2)
    assert losses.Jaccard(4).c_delta == 0.8
    for loss in (losses.Jaccard(4), losses.F1(4, at_least=2, at_most=2), losses.SubsetHamming(4, 3, 3)):
        assert loss.c_delta == pytest.approx(psi_radius(loss), rel=2e-2)


def psi_radius(loss):
    """By Badoiu and Clarkson's walk over psi, found by least squares."""
    zs, ys = list(loss.outputs()), list(loss.labels())
    D = np.array([[loss(z, y) for y in ys] for z in zs])
    psi = np.linalg.lstsq(loss.embed_many(ys), (D - D.mean(axis=0)).T, rcond=1e-10)[0].T
    centre = psi.mean(axis=0)
    for i in range(1, 2000):
        distances = np.linalg.norm(psi - centre, axis=1)
        centre = centre + (psi[distances.argmax()] - centre) / (i + 1)
    return np.linalg.norm(psi - centre, axis=1).max()


def test_nothing_in_phi_is_hidden_from_decoding():
    """Answers of one size see no constant: their phi has none."""
    for loss in (losses.PrecisionAtK(5, 2), losses.SubsetHamming(5, 2, 2)):
        np.testing.assert_allclose(loss.embed_many(naive.subsets(5)).sum(axis=1), 0, atol=1e-12)
    loss = losses.F1(4, at_least=2, at_most=2)
    np.testing.assert_allclose(loss.embed_many(naive.subsets(4)).sum(axis=1), 0, atol=1e-12)
    assert not losses.F1(4, at_least=1).embed(set()).any()


# ------------------------------------------------------------------ Jaccard


def test_jaccard_codes_have_the_stated_geometry():
    loss = losses.Jaccard(4)
    sets = naive.subsets(4)
    J = np.array([[1 - naive.jaccard(z, y) for y in sets] for z in sets])
    Phi = loss.embed_many(sets)
    np.testing.assert_allclose(Phi @ Phi.T, (J - 1 / 5) / (4 / 5), atol=1e-12)
    space = space_of(loss, sets[::-1])
    V = np.random.default_rng(0).normal(size=(6, 16))
    np.testing.assert_allclose(space.squared_norms(V), (space.full(V) ** 2).sum(axis=1), atol=1e-12)
    assert space.decode_many(V) == loss.decode_many(space.full(V))
    np.testing.assert_allclose(space.full(space.embed_many(sets)), Phi)


@given(st.integers(0, 10**6), st.sampled_from([(0, 14), (1, 14), (0, 3), (2, 2), (0, 0)]))
def test_jaccard_of_many_labels_beats_every_set_seen(seed, limits):
    """14 labels: not exact, but within the limits and as good as any set seen and any neighbour of the answer."""
    rng = np.random.default_rng(seed)
    loss = losses.Jaccard(14, at_least=limits[0], at_most=limits[1])
    ys = [frozenset(rng.choice(14, size=rng.integers(0, 6), replace=False).tolist()) for _ in range(8)]
    weights = rng.normal(size=8)
    z = decoded(loss, ys, weights)
    assert limits[0] <= len(z) <= limits[1]
    near = [z ^ {j} for j in range(14)] + [z - {i} | {j} for i in z for j in range(14)]
    rivals = [r for r in [*ys, *near] if limits[0] <= len(r) <= limits[1]]
    for rival in rivals:
        risks = [naive.risk(naive.jaccard, a, weights, ys) for a in (z, rival)]
        assert risks[0] <= risks[1] + 1e-9


def test_jaccard_search_is_often_exact(rng, monkeypatch):
    """On 8 labels, where the truth is known, the search for many labels finds it nearly always."""
    exact = losses.Jaccard(8)
    monkeypatch.setattr("oskaar.losses.overlap._EXACT", 3)
    search = losses.Jaccard(8)
    ys = [naive.subsets(8)[i] for i in rng.integers(256, size=12)]
    a, b = space_of(exact, ys), space_of(search, ys)
    G = rng.normal(size=(100, a.p))
    found = [naive.risk(naive.jaccard, z, g, list(b.positions)) for z, g in zip(b.decode_many(G), G)]
    least = [naive.risk(naive.jaccard, z, g, list(a.positions)) for z, g in zip(a.decode_many(G), G)]
    assert np.mean(np.array(found) <= np.array(least) + 1e-9) >= 0.9


def test_jaccard_of_many_labels_has_no_list_of_coordinates():
    loss = losses.Jaccard(40)
    with pytest.raises(NotImplementedError, match=r"space\(\)\.extended"):
        loss.embed({1})
    assert loss.space().decode_many(np.zeros((1, 0))) == [frozenset()]


# ------------------------------------------------------------------ exact match


def test_exact_match_with_candidates():
    loss = losses.SubsetZeroOne(4, candidates=[{0}, [1, 1, 0, 0], set()])
    assert loss.outputs() == [frozenset({0}), frozenset({0, 1}), frozenset()]
    checks.check_loss(loss)
    assert [loss.optimum(y) for y in ({0}, {3})] == [0.0, 1.0]
    assert not loss.embed({3}).any()
    assert loss.decode(np.zeros(3)) == frozenset({0})


def test_exact_match_with_the_sets_seen():
    loss = losses.SubsetZeroOne(4, at_least=1, at_most=2)
    assert loss.space().decode_many(np.zeros((2, 0))) == [frozenset({0})] * 2
    seen = [frozenset({1}), frozenset({2, 3})]
    checks.check_loss(loss, labels=seen, outputs=seen)
    space = loss.space().extended(seen[0]).extended(frozenset()).extended(frozenset({0, 1, 2}))
    assert space.p == 1
    assert space.optimum(frozenset()) == 1.0
    np.testing.assert_array_equal(space.embed_many([frozenset(), seen[0]]), [[0.0], [1.0]])
    with pytest.raises(ValueError, match="learns its candidates"):
        loss.decode(np.zeros(2))
    with pytest.raises(NotImplementedError, match="list candidates"):
        loss.outputs()


# ------------------------------------------------------------------ F1 with many labels


def literal_f1(loss, g, allowed):
    """The least risk -sum_n q_mn <g_n, z> over sets: the top m for each m, one m at a time."""
    k = loss.n_labels
    H, n = g[1:].reshape(k, k), np.arange(1, k + 1)
    values = {0: -g[0]}
    for m in range(1, k + 1):
        q = literal_gains(loss, m, n)
        values[m] = -np.sort(q @ H)[::-1][:m].sum()
    return min(values[m] for m in allowed)


def literal_gains(loss, m, n):
    centred = np.sqrt(1 - n / loss.n_labels) if loss.at_least == loss.at_most else 1.0
    return (1 + loss.beta**2) * np.sqrt(n) / (m + loss.beta**2 * n) * centred


def value(loss, g, z):
    k, m = loss.n_labels, len(z)
    if m == 0:
        return -g[0]
    n = np.arange(1, k + 1)
    q = literal_gains(loss, m, n)
    return -(q @ g[1:].reshape(k, k))[list(z)].sum()


@pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("at_least", "at_most"), [(0, 150), (3, 140), (7, 7)])
def test_f1_with_all_sizes_of_many_labels(beta, at_least, at_most, rng):
    """150 sizes go through the factorised gains: the same minimum."""
    loss = losses.F1(150, beta, at_least=at_least, at_most=at_most)
    for g in rng.normal(size=(4, loss.p)) + np.linspace(-0.1, 0.1, 4)[:, None]:
        z = loss.decode(g)
        assert at_least <= len(z) <= at_most
        least = literal_f1(loss, g, range(at_least, at_most + 1))
        assert value(loss, g, z) == pytest.approx(least, rel=1e-10)


@pytest.mark.parametrize("beta", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("k", [1, 2, 10, 400])
def test_cross_is_the_matrix(k, beta):
    Q = losses.F1(k, beta).gains(np.arange(1, k + 1), np.arange(1, k + 1))
    U, V = cross(Q)
    assert np.abs(U @ V - Q).max() <= 1e-13 * Q.max()
    assert U.shape[1] <= 60


def test_top_takes_the_first_of_equals(rng):
    S = rng.integers(0, 3, size=(50, 6)) * 0.1
    sizes = rng.integers(0, 7, size=50)
    expected = [sorted(range(6), key=lambda j: (-row[j], j))[:m] for row, m in zip(S, sizes)]
    noisy = S + rng.uniform(-1e-16, 1e-16, size=S.shape)
    assert [np.flatnonzero(row).tolist() for row in top(noisy, sizes)] == [sorted(e) for e in expected]


# ------------------------------------------------------------------ bad input, learners


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: losses.F1(4, at_least=3, at_most=2),
            r"at_least must be a whole number from 0 to 2 \(at_most\), got 3",
        ),
        (lambda: losses.Jaccard(4, at_most=5), r"at_most must be a whole number from 0 to 4 \(n_labels\), got 5"),
        (lambda: losses.SubsetHamming(4, at_least=-1), "at_least must be .* got -1"),
        (lambda: losses.SubsetHamming(4, at_least=1.5), "whole number"),
        (lambda: losses.PrecisionAtK(4, 5), r"from 1 to 4 \(n_labels\), got 5"),
        (lambda: losses.PrecisionAtK(4, 0), "got 0"),
        (lambda: losses.Jaccard(0), "whole number >= 1"),
        (lambda: losses.SubsetZeroOne(3, []), "at least one"),
        (lambda: losses.SubsetZeroOne(3, [{0}, {0}]), "there twice"),
        (lambda: losses.SubsetZeroOne(3, [{7}]), "unknown label 7"),
        (lambda: losses.SubsetZeroOne(3, [{0, 1}], at_most=1), "2 labels, the limits allow 0 to 1"),
        (lambda: losses.Jaccard(3).check({3}), "unknown label 3"),
        (lambda: losses.PrecisionAtK(3, 1).check("a"), "a subset must be"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_representations():
    assert repr(losses.F1(4, 2.0, at_most=3)) == "F1(4, beta=2, at_most=3)"
    assert repr(losses.Jaccard(4, at_least=1)) == "Jaccard(4, at_least=1)"
    assert repr(losses.PrecisionAtK(4, 2)) == "PrecisionAtK(4, k=2)"


@pytest.mark.parametrize("at_least", [0, 1])
@pytest.mark.parametrize("sizes", [1, 2, 3])
def test_f1_tries_sizes_until_no_larger_set_can_be_better(sizes, at_least, rng, monkeypatch):
    """In steps of any number of sizes, for any signs, with labels that no estimate knows, and ties."""
    monkeypatch.setattr(fscore, "_SIZES", sizes)
    loss = losses.F1(7, at_least=at_least)
    allowed = [z for z in naive.subsets(7) if len(z) >= at_least]
    labels = [{0}, {1, 3}, {0, 1, 2}, {2, 3, 4}, set(), {0, 1, 2, 3, 4}]
    costs = np.array([[loss(z, y) for y in labels] for z in allowed])
    weights = np.concatenate([rng.normal(size=(60, 6)), rng.exponential(size=(60, 6)), np.eye(6), np.zeros((1, 6))])
    found = loss.decode_many(weights @ loss.embed_many(labels))
    for w, z in zip(weights, found, strict=True):
        risks = costs @ w
        assert risks[allowed.index(z)] <= risks.min() + 1e-9
        assert len(z) == len(allowed[np.flatnonzero(risks <= risks.min() + 1e-12)[0]])


def test_f1_of_many_labels_takes_little_memory(rng):
    """All sizes of 5,000 labels at once would be 200 MB."""
    k = 5_000
    space = losses.F1(k).space().extended({1, 2}).extended({5, 7, k - 1})
    Phi = space.embed_many([{1, 2}, {5, 7, k - 1}, {8, 9}])
    G = np.stack([Phi[0], 0.8 * Phi[1] + 0.2 * Phi[2], -Phi[2], 0.001 * rng.random(space.p)])
    tracemalloc.start()
    try:
        found = space.decode_many(G)
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()
    assert found[:3] == [{1, 2}, {5, 7, k - 1}, set()]
    assert space.diameter < 2


LEARNED = [
    losses.Jaccard(4),
    losses.Jaccard(14, at_least=1),
    losses.PrecisionAtK(4, k=2),
    losses.SubsetZeroOne(4),
    losses.SubsetZeroOne(4, candidates=[{0}, {1, 2}, {3}]),
    losses.F1(4, at_least=1, at_most=2),
    losses.SubsetHamming(4, at_least=2, at_most=2),
]


@pytest.mark.parametrize("loss", LEARNED, ids=repr)
@pytest.mark.parametrize("make", [OSKAAR, SALAMI], ids=["OSKAAR", "SALAMI"])
def test_in_the_learners(loss, make, rng):
    """Sets in, sets out; the loop, the replay and a copy agree; what is learnt is what is asked."""
    X = rng.normal(size=(24, 2))
    sides = [{0}, {1, 2}]
    ys = [sides[int(x[0] > 0)] if i % 2 else {*sides[int(x[0] > 0)], 3} for i, x in enumerate(X)]
    learner = make(loss, kernels.Gaussian(1.0) + 1.0, lam=0.1)
    checks.check_learner(learner, X, ys)
    result = replay(learner, X, ys)
    assert all(isinstance(z, frozenset) for z in result.predictions)
    assert all(loss.allows(z) for z in result.predictions)
    assert np.all(np.diff(result.regret) >= -1e-12)
    again = pickle.loads(pickle.dumps(learner))
    assert again.predict_one(X[0]) == learner.predict_one(X[0])


@pytest.mark.parametrize("loss", LEARNED, ids=repr)
def test_in_the_batch(loss, rng):
    X = np.array([[-1.0], [1.0]] * 8) + rng.normal(scale=0.01, size=(16, 1))
    ys = [{0}, {1, 2}] * 8
    model = BatchILE(loss, kernels.Gaussian(1.0) + 1.0, lam=1e-3).fit(X, ys)
    for x, y in (([-1.0], {0}), ([1.0], {1, 2})):
        assert loss(model.predict_one(x), y) == pytest.approx(loss.optimum(y))

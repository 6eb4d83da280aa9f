"""Shards: learners that saw different rows are merged into one, exactly, and taken apart again."""

import copy
import threading

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few, labels_of, small_losses

from oskaar import OSKAAR, SALAMI, Ensemble, features, from_bytes, kernels, losses
from oskaar.alike import difference
from oskaar.arrays import fit_columns
from oskaar.solvers.sums import added, appended, taken_away

RNG = np.random.default_rng(0)
GAUSSIAN = kernels.Gaussian(1.0) + 1.0
MAPS = {
    "fourier": lambda: features.RandomFourier(GAUSSIAN, 21, seed=3),
    "default": lambda: features.RandomFourier(None, 21),
    "orthogonal": lambda: features.Orthogonal(GAUSSIAN, 16),
    "taylor": lambda: features.Taylor(GAUSSIAN, 3, width=2),
    "hashing": lambda: features.Hashing(8),
    "linear": lambda: features.LinearMap(),
    "nystrom": lambda: features.Nystrom(GAUSSIAN, 12).fitted(np.random.default_rng(1).normal(size=(30, 2))),
    "units": lambda: features.Standardised(features.Identity()).fitted(np.random.default_rng(1).normal(size=(9, 2))),
}


def shards(rng, n, k):
    """n rounds dealt out to k shards, some of which may be empty."""
    where = rng.integers(k, size=n)
    return [np.flatnonzero(where == i) for i in range(k)]


def learned(make, X, ys, rows):
    return make().partial_fit([X[i] for i in rows], [ys[i] for i in rows])


def close(a, b, X, atol=1e-10):
    """The estimates of two learners in the coordinates of a."""
    assert a.space.joined(b.space).p == a.space.p
    mine, theirs = (
        fit_columns(one.estimator.each(*one._inputs.parse_each(X), one.space), one.space.p) for one in (a, b)
    )
    np.testing.assert_allclose(mine, a.space.carried(b.space, theirs), atol=atol)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("k", few([5, 2], 2))
def test_merged_is_one_learner_over_all_rows(name, k):
    """Estimates at other rows are those of the definition, over the rows of all shards."""
    rng, lam = np.random.default_rng(k), 0.3
    X, ys = rng.normal(size=(90, 2)), rng.integers(4, size=90).tolist()
    loss = losses.ZeroOne(4)
    parts = [learned(lambda: OSKAAR(loss, features=MAPS[name](), lam=lam), X, ys, s) for s in shards(rng, 90, k)]
    before = [part.to_bytes() for part in parts]
    merged = OSKAAR.merged(parts)
    assert [part.to_bytes() for part in parts] == before
    assert merged.rounds == 90
    for account in ("total_loss", "regret", "surrogate_loss"):
        assert getattr(merged, account) == pytest.approx(sum(getattr(part, account) for part in parts))
    assert merged.certificate().bound >= merged.regret
    z = merged.estimator.features
    for x in rng.normal(size=(5, 2)):
        g = naive.kaar(naive.linear, z(X), loss.embed_many(ys), z(x[None]), lam)[0]
        np.testing.assert_allclose(merged.estimate(x), g, atol=1e-10)


@settings(max_examples=20)
@given(small_losses(), st.data(), st.integers(0, 2**32 - 1))
def test_all_losses(loss, data, seed):
    """Any structure, in any order of arrival: coordinates that shards meet in another order are matched."""
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(0, 25))
    X, ys = rng.normal(size=(n, 2)), [data.draw(labels_of(loss)) for _ in range(n)]

    def make():
        return OSKAAR(loss, features=features.LinearMap(2), lam=0.5)

    one = learned(make, X, ys, range(n))
    merged = OSKAAR.merged([learned(make, X, ys, s) for s in shards(rng, n, 3)])
    close(merged, one, rng.normal(size=(4, 2)))
    assert merged.rounds == n
    assert merged.space.diameter == pytest.approx(one.space.diameter)


GROWING = {
    "classes": (losses.ZeroOne(), list("abcdef")),
    "tags": (losses.F1(), [frozenset(s) for s in ("", "a", "bc", "cd", "dab")]),
    "symbols": (losses.SequenceHamming(2), [tuple(s) for s in ("ab", "ba", "cc", "ad")]),
    "f1": (losses.F1(4), [frozenset(s) for s in ((), (0,), (1, 2), (0, 3), (0, 1, 2))]),
    "jaccard": (losses.Jaccard(4), [frozenset(s) for s in ((), (0,), (1, 2), (0, 3), (0, 1, 2))]),
    "sets": (losses.SubsetZeroOne(3), [frozenset(s) for s in ((), (0,), (1, 2), (0, 2))]),
    "trick": (losses.LossTrick(lambda z, y: abs(len(z) - len(y))), ["", "a", "bb", "ccc"]),
    "pinball": (losses.Pinball(2, 0.0, 1.0), [[0.0, 0.5], [0.25, 1.0], [0.1, 0.2]]),
    "geodesic": (losses.Geodesic(), [0.1, -2.0, 3.0, 0.0]),
    "sphere": (losses.SphereGeodesic(3), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]),
    "variation": (losses.TotalVariation(3), [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]),
    "wasserstein": (losses.OrderedWasserstein(3), [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]]),
}


@pytest.mark.parametrize("name", GROWING)
def test_labels_that_one_side_has_not_seen(name):
    """Columns are matched by label: the shards meet the labels in opposite orders."""
    loss, labels = GROWING[name]
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(40, 2))
    ys = [labels[i % len(labels)] for i in range(20)] + [labels[-1 - i % (len(labels) - 1)] for i in range(20)]

    def make():
        return OSKAAR(loss, features=features.LinearMap(2), lam=0.5)

    a, b = learned(make, X, ys, range(1)), learned(make, X, ys, range(39, 0, -1))
    one = learned(make, X, ys, range(40))
    merged = OSKAAR.merged([a, b])
    close(merged, one, rng.normal(size=(4, 2)))
    assert [repr(z) for z in merged.predict(X[:9])] == [repr(z) for z in one.predict(X[:9])]
    again = from_bytes(merged.to_bytes()) if name != "trick" else copy.deepcopy(merged)
    again.learn_one(X[0], ys[0])
    merged.learn_one(X[0], ys[0])
    np.testing.assert_array_equal(again.estimate(X[1]), merged.estimate(X[1]))
    close(merged.subtract(b), OSKAAR.merged([a, learned(make, X, ys, [0])]), rng.normal(size=(4, 2)), atol=1e-8)


TAGS = st.frozensets(st.sampled_from(["red", "green", "blue", "x", 4]), max_size=4)
NUMBERS = st.floats(-1e3, 1e3).map(lambda y: round(y, 2))
OPEN = {
    "jaccard": (losses.Jaccard(), TAGS, lambda key, y: float(key == y)),
    "hamming": (losses.SubsetHamming(), TAGS, lambda key, y: float(key in y)),
    "f1": (losses.F1(), TAGS, lambda key, y: (key[0] == len(y)) * (key[1] in y)),
    "levels": (losses.Ordinal(), st.integers(-9, 9), lambda key, y: float(y > key)),
    "number": (losses.Squared(), NUMBERS, lambda key, y: y),
    "numbers": (losses.Squared(2), st.tuples(NUMBERS, st.integers(0, 1)), lambda key, y: y[key]),
    "absolute": (losses.Absolute(), NUMBERS, lambda key, y: float(key == y)),
    "symbols": (
        losses.Sequence(),
        st.sampled_from(["aa", "b", "cc"]).map(lambda s: (s,)),
        lambda key, y: float(key == y[0]),
    ),
}
"""Labels that nothing is listed of: the loss, its labels, and functions f(key, y) of them that are learned."""


def columns_of(name, space, G):
    """Estimates (n,) of each f(key, y), and of 1, out of those in the coordinates of a space."""
    if name == "jaccard":
        return dict(zip(space.seen(), G.T, strict=True))
    if name == "hamming":
        return {key: G[:, i] for i, key in enumerate(space.names, 1)} | {"1": G[:, 0]}
    if name == "f1":
        return {(n, j): np.sqrt(n) * G[:, i] for (n, j), i in space.positions.items() if n}
    if name == "levels":
        passed = {t: G[:, i] if t >= space.first else G[:, 0] - G[:, i] for t, i in space.thresholds.items()}
        return passed | {"1": G[:, 0]}
    if name in ("number", "numbers"):
        held = {i: space.origin[i] * G[:, 0] for i in range(space.loss.dim)} | {"1": G[:, 0]}
        return held | {i: held[i] + unit * G[:, place] for place, (i, unit) in enumerate(space.units, 1)}
    if name == "absolute":
        return {key[0]: G[:, i] for key, i in space.positions.items()}
    return {key: G[:, i] for key, i in space.positions.items()}


@pytest.mark.parametrize("name", OPEN)
@settings(max_examples=30)
@given(st.data(), st.integers(0, 2**32 - 1))
def test_labels_that_are_learned_by_each_shard(name, data, seed):
    """Tags, levels and ranges: each shard has coordinates of its own, and the sums are those of all rows.

    The reference is the definition of KAAR, for each function of the labels by itself.
    """
    loss, labels, f = OPEN[name]
    ys = data.draw(st.lists(labels, min_size=1, max_size=12))
    rng, n, lam = np.random.default_rng(seed), len(ys), 0.5
    X, new = rng.normal(size=(n, 2)), rng.normal(size=(3, 2))
    rows = [x[None] for x in X] if name == "symbols" else X

    def make():
        return OSKAAR(loss, features=features.LinearMap(2), lam=lam)

    parts = [learned(make, rows, ys, s) for s in shards(rng, n, 3)]
    merged, one = OSKAAR.merged(parts), learned(make, rows, ys, range(n))
    asked = [x[None] for x in new] if name == "symbols" else new

    def estimated(learner):
        G = learner.estimator.each(*learner._inputs.parse_each(asked), learner.space)
        return columns_of(name, learner.space, fit_columns(G, learner.space.p))

    z, found, alone = merged.estimator.features, estimated(merged), estimated(one)
    assert found.keys() == alone.keys()
    for key, column in found.items():
        phi = np.array([[1.0 if key == "1" else f(key, y)] for y in ys])
        g = np.array([naive.kaar(naive.linear, z(X), phi, z(x[None]), lam)[0, 0] for x in new])
        scale = max(1.0, np.abs(phi).max())
        np.testing.assert_allclose(column / scale, g / scale, atol=1e-10)
        np.testing.assert_allclose(column / scale, alone[key] / scale, atol=1e-10)
    assert merged.rounds == n
    assert merged.certificate().bound >= merged.regret - 1e-9
    if name in ("number", "absolute"):
        assert all(merged.space.range.low <= y <= merged.space.range.high for y in ys)
    again = from_bytes(merged.to_bytes()).partial_fit(rows[:2], ys[:2])
    np.testing.assert_array_equal(again.estimate(asked[0]), merged.partial_fit(rows[:2], ys[:2]).estimate(asked[0]))


@pytest.mark.parametrize("name", OPEN)
def test_shards_with_labels_of_their_own_are_taken_away(name):
    loss, labels = OPEN[name][0], UNALIKE[name]
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(40, 2))
    rows = [x[None] for x in X] if name == "symbols" else X
    ys = [labels[i % 3] for i in range(20)] + [labels[2 + i % (len(labels) - 2)] for i in range(20)]

    def make(part):
        return learned(lambda: OSKAAR(loss, features=features.LinearMap(2)), rows, ys, part)

    a, b, one = make(range(20)), make(range(39, 19, -1)), make(range(40))
    merged = OSKAAR.merged([a, b])
    close(merged, one, rows[:5])
    for z, expected in zip(merged.predict(rows), one.predict(rows), strict=True):
        if name.startswith(("number", "absolute")):
            np.testing.assert_allclose(z, expected, atol=1e-9)
        else:
            assert z == expected
    merged.subtract(b)
    close(merged, a, rows[:5], atol=1e-8)
    assert merged.rounds == 20


UNALIKE = {
    "jaccard": [frozenset(s) for s in ("", "a", "bc", "cd", "dab")],
    "hamming": [frozenset(s) for s in ("a", "bc", "", "cd", "dab")],
    "f1": [frozenset(s) for s in ("", "a", "bc", "cd", "dab")],
    "levels": [3, 4, 2, -5, 9],
    "number": [1.0, 1.5, 0.0, 40.0, -7.0],
    "numbers": [(1.0, 5.0), (2.0, 5.0), (3.0, 5.0), (-40.0, 7.0), (3.0, 0.5)],
    "absolute": [1.0, 1.5, 0.0, 40.0, -7.0],
    "symbols": [("aa",), ("b",), ("cc",), ("dd",), ("e",)],
}


def test_sequences_with_learned_transitions():
    """Rounds of several rows; counts of transitions add up, and are taken away."""
    rng = np.random.default_rng(4)
    loss = losses.Sequence("ab", transitions="learned")
    X = [rng.normal(size=(n, 2)) for n in rng.integers(1, 6, size=30)]
    ys = [tuple(rng.choice(["a", "b"], size=len(x))) for x in X]

    def make(rows):
        return learned(lambda: OSKAAR(loss, features=features.LinearMap(2)), X, ys, rows)

    a, b, one = make(range(13)), make(range(13, 30)), make(range(30))
    merged = OSKAAR.merged([a, b])
    np.testing.assert_array_equal(merged.space.counts(), one.space.counts())
    np.testing.assert_allclose(merged._paid, a._paid + b._paid)
    merged._paid = one._paid  # which decoder answers is chosen by what those of the shards paid
    assert merged.predict(X) == one.predict(X)
    np.testing.assert_allclose(merged.estimate(X[0]), one.estimate(X[0]), atol=1e-10)
    merged.subtract(b)
    np.testing.assert_array_equal(merged.space.counts(), a.space.counts())
    np.testing.assert_allclose(merged.estimate(X[0]), a.estimate(X[0]), atol=1e-8)


def test_sized_rounds():
    tree = losses.DependencyTree()
    small, large = (tree.space().extended(tuple(range(n))) for n in (1, 3))
    assert small.joined(large).largest == large.joined(small).largest == 3


# ---------------------------------------------------------------- rounding


def long_kaar(Z, H, x, lam):
    """KAAR's estimate in 80 bits, from the sums."""
    Z, H, x = (np.asarray(part, dtype=np.longdouble) for part in (Z, H, x))
    A = lam * np.eye(Z.shape[1], dtype=np.longdouble) + Z.T @ Z
    L = A.copy()
    for j in range(len(L)):
        L[j, j] = np.sqrt(L[j, j])
        L[j + 1 :, j] /= L[j, j]
        L[j + 1 :, j + 1 :] -= np.outer(L[j + 1 :, j], L[j + 1 :, j])
    both = np.concatenate([Z.T @ H, x.T], axis=1)
    for j in range(len(L)):
        both[j] = (both[j] - L[j, :j] @ both[:j]) / L[j, j]
    Theta, U = both[:, : H.shape[1]], both[:, H.shape[1] :]
    return U.T @ Theta / (1 + (U**2).sum(axis=0))[:, None]


def factor_of(Z, H, lam):
    D = Z.shape[1]
    return appended(np.concatenate([np.sqrt(lam) * np.eye(D), np.zeros((D, H.shape[1]))], axis=1), np.hstack([Z, H]))


def estimates(S, x):
    D = len(S)
    U, Theta = np.linalg.solve(S[:, :D].T, x.T), S[:, D:]
    return U.T @ Theta / (1 + (U**2).sum(axis=0))[:, None]


def ill_conditioned(rng, n, D, spread):
    """Features whose directions, which are no coordinates, have sizes from 1 to 10^-spread."""
    Q = np.linalg.qr(rng.normal(size=(D, D)))[0]
    Z = rng.normal(size=(n, D)) * 10.0 ** (-spread * np.arange(D) / (D - 1)) @ Q
    return Z / np.abs(Z).max(), np.sign(rng.normal(size=(n, 2)) + Z[:, :2])


@pytest.mark.parametrize("lam", [1.0, 1e-3, 1e-6, 1e-7])
@pytest.mark.parametrize("spread", [0, 2, 4])
def test_ill_conditioned_sums_against_80_bits(lam, spread):
    rng = np.random.default_rng(spread)
    Z, H = ill_conditioned(rng, 2000, 8, spread)
    parts = [factor_of(Z[i::6], H[i::6], lam) for i in range(6)]
    merged, x = added(parts, lam), Z[:7]
    np.testing.assert_allclose(estimates(merged, x), long_kaar(Z, H, x, lam).astype(float), atol=1e-12)
    rest = np.arange(2000) % 6 > 0
    left = taken_away(merged, parts[0], lam)
    np.testing.assert_allclose(estimates(left, x), long_kaar(Z[rest], H[rest], x, lam).astype(float), atol=1e-10)


@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_what_is_taken_away_is_exact_or_refused(share):
    """Almost all of a direction is in the part: either right to 1e-8, or an error that says so."""
    rng = np.random.default_rng(7)
    Z, H = ill_conditioned(rng, 400, 6, 0)
    large = Z[:200] / np.sqrt(share)
    lam = 3e-8 / share
    whole, part = factor_of(np.vstack([large, Z[200:]]), H, lam), factor_of(large, H[:200], lam)
    try:
        left = taken_away(whole, part, lam)
    except ValueError as error:
        assert "too little would be left" in str(error)  # noqa: PT017
        assert share < 1e-5
        return
    exact = long_kaar(Z[200:], H[200:], Z[200:205], lam).astype(float)
    np.testing.assert_allclose(estimates(left, Z[200:205]), exact, atol=1e-8)


def test_merging_again_and_again_does_not_drift():
    """A thousand merges, one shard after the other."""
    rng, lam = np.random.default_rng(3), 0.1
    Z, H = ill_conditioned(rng, 3000, 5, 3)
    S = factor_of(Z[:0], H[:0], lam)
    for i in range(1000):
        S = added([S, factor_of(Z[3 * i : 3 * i + 3], H[3 * i : 3 * i + 3], lam)], lam)
    np.testing.assert_allclose(estimates(S, Z[:5]), long_kaar(Z, H, Z[:5], lam).astype(float), atol=1e-10)


# ---------------------------------------------------------------- unlearning


def test_subtract_is_as_if_the_rows_had_never_come():
    rng = np.random.default_rng(5)
    X, ys = rng.normal(size=(300, 3)), rng.integers(3, size=300).tolist()

    def make(rows):
        return learned(lambda: OSKAAR(losses.ZeroOne(3), features=MAPS["fourier"](), lam=0.1), X, ys, rows)

    customer, others = make(range(40, 90)), make([*range(40), *range(90, 300)])
    both = OSKAAR.merged([customer, others])
    both.subtract(customer)
    assert both.rounds == 250
    assert both.total_loss == others.total_loss
    assert both.surrogate_loss == pytest.approx(others.surrogate_loss)
    np.testing.assert_allclose([both.estimate(x) for x in X[:9]], [others.estimate(x) for x in X[:9]], atol=1e-8)
    both.subtract(others)
    assert both.rounds == 0
    assert not both.estimate(X[0]).any()


def test_subtract_refuses_what_is_no_part():
    rng = np.random.default_rng(6)
    X, ys = rng.normal(size=(60, 2)), rng.integers(2, size=60).tolist()

    def make(rows, y=ys):
        return learned(lambda: OSKAAR(losses.ZeroOne(), features=features.LinearMap(2)), X, y, rows)

    whole = make(range(50))
    before = whole.to_bytes()
    for other, reason in (
        (make(range(60)), "60 rounds"),
        (make(range(50, 60), [7] * 60), "other labels"),
        (learned(lambda: make([]), 100 * X, ys, range(20)), "learned more"),
        (learned(lambda: make([]), 2 * X, ys, range(50)), "as many rounds"),
        (make([]).learn_batch(X[:3], ys[:3]), "3 of them without"),
    ):
        with pytest.raises(ValueError, match=reason):
            whole.subtract(other)
        assert whole.to_bytes() == before
    assert whole.subtract(make([])).to_bytes() != b""
    assert whole.rounds == 50


# ---------------------------------------------------------------- batches and threads


@pytest.mark.parametrize("jobs", [1, 2, 3, 80])
@pytest.mark.parametrize("name", ["fourier", "default", "hashing", "nystrom"])
def test_batches_learn_what_partial_fit_does(name, jobs):
    rng = np.random.default_rng(jobs)
    X, ys = rng.normal(size=(70, 2)), [frozenset(np.flatnonzero(row)) for row in rng.integers(2, size=(70, 3))]

    def make():
        return OSKAAR(losses.F1(3), features=MAPS[name](), lam=0.2)

    one, batch = make().partial_fit(X, ys), make().partial_fit(X[:9], ys[:9]).learn_batch(X[9:], ys[9:], jobs=jobs)
    close(batch, one, X[:8])
    assert (batch.rounds, batch.unanswered, one.unanswered) == (70, 61, 0)
    assert batch.certificate().rounds == 9
    fitted = make().learn_batch(X[:5], ys[:5]).fit(X, ys, jobs=jobs)
    close(fitted, one, X[:8])
    assert (fitted.rounds, fitted.unanswered, fitted.total_loss) == (70, 70, 0.0)
    fitted.partial_fit(X[:3], ys[:3])
    one.partial_fit(X[:3], ys[:3])
    close(fitted, one, X[:8])
    assert fitted.certificate().rounds == 3
    assert fitted.certificate().bound >= fitted.regret


def test_batches_of_more_rows_than_are_done_at_a_time(monkeypatch):
    monkeypatch.setattr("oskaar.learners.merging.BATCH", 16)
    X, ys = RNG.normal(size=(500, 1)), RNG.integers(2, size=500).tolist()
    one, batch = (OSKAAR(losses.ZeroOne(2), features=features.LinearMap(1)) for _ in range(2))
    close(batch.learn_batch(X, ys, jobs=2), one.partial_fit(X, ys), X[:5])


def test_sparse_and_dict_rows():
    from scipy.sparse import csr_array

    rng = np.random.default_rng(8)
    rows = [{f"w{j}": 1.0 for j in rng.integers(9, size=3)} for _ in range(40)]
    ys = rng.integers(2, size=40).tolist()
    X = csr_array((rng.random((40, 12)) < 0.2).astype(float))
    for map, x in ((features.Hashing(16), X), (features.RandomFourier(GAUSSIAN, 16), X)):
        a, b, one = (OSKAAR(losses.ZeroOne(2), features=map) for _ in range(3))
        a.partial_fit(x[:15], ys[:15])
        b.learn_batch(x[15:], ys[15:], jobs=2)
        close(a.merge(b), one.partial_fit(x, ys), x[:6])
    for map in (features.Hashing(16), features.Nystrom(kernels.Cosine() + 1.0, 8)):
        start = OSKAAR(losses.ZeroOne(2), features=map).prepared([*rows[:20], {"text": "new"}])
        a, b, one = (from_bytes(start.to_bytes()) for _ in range(3))
        a.partial_fit(rows[:15], ys[:15])
        b.learn_batch(rows[:14:-1], ys[:14:-1])
        close(a.merge(b), one.partial_fit(rows, ys), rows[:6])
        np.testing.assert_array_equal(a.estimate({**rows[0], "never seen": 5.0}), a.estimate(rows[0]))
        close(a.fit(rows, ys), one, rows[:6])  # the names of the sample stay


def test_columns_that_are_named_otherwise_are_refused():
    a, b = (OSKAAR(losses.ZeroOne(2), features=features.Hashing(9)) for _ in range(2))
    a.learn_one({"x": 1.0, "y": 2.0}, 0)
    b.learn_one({"y": 1.0}, 0)
    with pytest.raises(ValueError, match=r"column 0 alike, got 'x' and 'y'.*prepared"):
        a.merge(b)
    with pytest.raises(ValueError, match="columns, got 1 and 2"):
        OSKAAR(losses.ZeroOne(2), features=features.Hashing(9)).partial_fit([[1.0]], [0]).merge(
            OSKAAR(losses.ZeroOne(2), features=features.Hashing(9)).partial_fit([[1.0, 2.0]], [0])
        )
    with pytest.raises(ValueError, match="one kind"):
        a.merge(OSKAAR(losses.ZeroOne(2), features=features.Hashing(9)).partial_fit([[1.0]], [0]))


def test_a_budget_agreed_on_from_a_sample():
    """Units and dictionary are those of the sample; without it each shard would have its own."""
    rng = np.random.default_rng(9)
    X, ys = rng.normal(size=(200, 3)) * [1.0, 100.0, 1e-3] + 50, rng.integers(2, size=200).tolist()
    learner = OSKAAR(losses.ZeroOne(2), budget=20, lam=0.1)
    with pytest.raises(ValueError, match="goes on learning"):
        learner.partial_fit(X[:9], ys[:9]).merge(copy.deepcopy(learner))
    start = learner.prepared(X[::4])
    assert start.rounds == 0
    parts = [copy.deepcopy(start).partial_fit(X[s], np.array(ys)[s]) for s in shards(rng, 200, 4)]
    merged, one = OSKAAR.merged(parts), copy.deepcopy(start).partial_fit(X, ys)
    close(merged, one, X[:9])
    close(start.prepared(X[:2]).fit(X, ys, jobs=2), one, X[:9])
    z = one.estimator.features
    g = naive.kaar(naive.linear, z(X), losses.ZeroOne(2).embed_many(ys), z(X[:1]), 0.1)[0]
    np.testing.assert_allclose(merged.estimate(X[0]), g, atol=1e-9)


# ---------------------------------------------------------------- what cannot be merged


def refused(a, b, reason):
    before = a.to_bytes(), b.to_bytes()
    with pytest.raises((ValueError, TypeError), match=reason):
        a.merge(b)
    assert (a.to_bytes(), b.to_bytes()) == before


def test_different_settings_are_refused_with_the_reason():
    def make(map=None, loss=None, **settings):
        learner = OSKAAR(loss or losses.ZeroOne(2), features=map or features.RandomFourier(GAUSSIAN, 9), **settings)
        return learner.partial_fit([[0.0], [1.0]], [0, 1])

    a = make()
    refused(a, make(features.RandomFourier(GAUSSIAN, 9, seed=1)), r"features.seed is 0 in one and 1 in the other")
    refused(a, make(features.Orthogonal(GAUSSIAN, 9)), "features is RandomFourier")
    refused(a, make(features.RandomFourier(kernels.Gaussian(2.0) + 1.0, 9)), "lengthscale")
    refused(a, make(lam=2.0), "same lam")
    refused(a, make(loss=losses.ZeroOne(3)), "same loss")
    refused(a, OSKAAR(losses.ZeroOne(2)).partial_fit([[0.0]], [0]), "whose rows are sums")
    shifted = make(shifted=True)
    refused(shifted, make(shifted=True), "shifted=False")
    refused(make(features.Nystrom(GAUSSIAN, 4)), make(features.Nystrom(GAUSSIAN, 4)), "goes on learning")
    refused(make(features.Nystrom(GAUSSIAN, 4, reproject=True)), a, "whose rows are sums")
    atoms = [make(features.Nystrom(GAUSSIAN, 4).fitted(np.array([[x]]))) for x in (0.0, 1.0)]
    refused(*atoms, "atoms holds different numbers")
    refused(a, a, "itself")
    refused(a, SALAMI(losses.ZeroOne(2)), "got a SALAMI")
    asked = make()
    asked.ask([0.0])
    refused(a, asked, "open tickets")
    with pytest.raises(ValueError, match="keeps every row"):
        OSKAAR(losses.ZeroOne(2)).prepared([[0.0]])
    with pytest.raises(ValueError, match="at least one row"):
        a.prepared([])
    assert not hasattr(Ensemble, "merge")


def test_what_a_space_cannot_join_is_refused():
    """Levels that are too far apart; a space of the user's own that does not say how to join it."""

    class Open(losses.ZeroOne):
        def space(self):
            return Kept()

    class Kept(losses.Space):
        p, c_delta = 1, 1.0

        def extended(self, y):
            return self

        def embed_many(self, ys):
            return np.ones((len(ys), 1))

        def decode_many(self, G):
            return ["a"] * len(G)

    loss = losses.Ordinal()
    a, b = (OSKAAR(loss, features=features.LinearMap(1)).partial_fit([[0.0]], [i]) for i in (1, 2000))
    refused(a, b, "at most 1000 levels, this label makes 2000")
    loss = Open()
    a, b = (OSKAAR(loss, features=features.LinearMap(1)).partial_fit([[0.0]], ["a"]) for _ in range(2))
    before = a.estimate([1.0])
    with pytest.raises(ValueError, match="list the labels, or give their range"):
        a.merge(b)
    assert (a.rounds, a.estimate([1.0])) == (1, before)


def test_after_a_merge_there_is_no_average():
    a, b = (OSKAAR(losses.ZeroOne(2), features=features.LinearMap(1)).partial_fit([[0.0]], [i]) for i in (0, 1))
    for one in (a.merge(b), from_bytes(a.to_bytes())):
        with pytest.raises(ValueError, match="no average"):
            one.average_estimate([0.0])
        assert one.certificate().surrogate_bound is None
        assert one.effective_dimension() == pytest.approx(2 / 3)


def test_bad_batches_change_nothing():
    learner = OSKAAR(losses.ZeroOne(2), features=features.LinearMap(1)).partial_fit([[0.0]], [1])
    before = learner.to_bytes()
    for X, ys, reason in (
        ([[1.0], [np.nan]], [0, 1], "finite"),
        ([[1.0], [2.0]], [0, 7], "unknown class"),
        ([[1.0]], [0, 1], "one label for each"),
        ([[1.0], [1e9]], [0, 1], "lam is too small"),
    ):
        with pytest.raises(ValueError, match=reason):
            learner.learn_batch(X, ys)
    with pytest.raises(ValueError, match="jobs must be"):
        learner.learn_batch([[1.0]], [0], jobs=0)
    learner.learn_batch([], [])
    assert learner.to_bytes() == before
    learner.max_bytes = 1000
    with pytest.raises(MemoryError):
        learner.learn_batch([[1.0]], [0])


def test_a_batch_answered_by_a_model_with_a_schema():
    """Losses are those of the model's answers, for every kind of map that is agreed on."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2)) * [1.0, 50.0]
    ys = ["up" if x[0] > 0 else "down" for x in X]
    dicts = [{"a": float(a), "word": "u" if b > 0 else "v"} for a, b in X]
    for rows in (X, dicts):
        start = OSKAAR(losses.ZeroOne(), budget=8).prepared(rows[:20])
        before = copy.deepcopy(start).learn_batch(rows[:30], ys[:30])
        after = start.like_new().learn_batch(rows[30:], ys[30:], answered_by=before)
        assert after.total_loss == -30 * before.score(rows[30:], ys[30:])
        assert (after.rounds, after.unanswered) == (30, 0)


def test_merges_in_threads():
    """Two learners may be merged into each other at once: no lock waits for the other."""
    pair = [OSKAAR(losses.ZeroOne(2), features=features.LinearMap(1)).partial_fit([[0.0]], [i]) for i in (0, 1)]
    threads = [threading.Thread(target=pair[i].merge, args=(pair[1 - i],)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(one.rounds for one in pair) in ([2, 2], [2, 3])


def test_differences_are_named():
    assert difference([1, "a", np.zeros(2)], [1, "a", np.zeros(2)], "x") is None
    assert difference(losses.F1(3), losses.F1(3), "loss") is None
    assert difference({"a": 1}, {"b": 1}, "x") == "x has ['a', 'b'] in one alone"
    assert difference(np.zeros(2), np.ones(2), "x") == "x holds different numbers"
    assert "in one and" in difference(lambda: 1, lambda: 2.5, "f")
    assert (
        difference(frozenset("a"), frozenset("b"), "x")
        == "x is frozenset({'a'}) in one and frozenset({'b'}) in the other"
    )

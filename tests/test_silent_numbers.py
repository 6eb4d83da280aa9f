"""No number goes wrong in silence: a round is right, to six digits, or is refused and leaves no trace."""

import decimal
import fractions
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array
from strategies import few

import oskaar
from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, features, kernels, losses
from oskaar.features import FeatureMap
from oskaar.inputs import Compared, Inputs
from oskaar.learners.experts import Ridges
from oskaar.learners.labels import Labels

Long = np.longdouble
BINARY = losses.ZeroOne(2)


# ---------------------------------------------------------------- a twin in 80 bits


def divided(L, B):
    """L^-1 B by forward substitution, in the precision of L."""
    X = B.astype(L.dtype)
    for j in range(len(L)):
        X[j] = (X[j] - L[j, :j] @ X[:j]) / L[j, j]
    return X


def rooted(M):
    """L lower triangular with L L^T = M, in the precision of M."""
    L = M.copy()
    for j in range(len(L)):
        L[j, j] = np.sqrt(L[j, j])
        L[j + 1 :, j] /= L[j, j]
        L[j + 1 :, j + 1 :] -= np.outer(L[j + 1 :, j], L[j + 1 :, j])
    return np.tril(L)


def kaar(K, Phi, lam):
    """g_hat_t(x_t) at every round t, for a kernel matrix of 80 bits."""
    L = rooted(K + Long(lam) * np.eye(len(K), dtype=Long))
    C, d = divided(L, Phi), np.diagonal(L)
    return np.array([lam / d[t] ** 2 * (L[t, :t] @ C[:t]) for t in range(len(K))])


def linear(X):
    return X.astype(Long) @ X.T.astype(Long) + 1


def gaussian(X):
    D = ((X.astype(Long)[:, None] - X.astype(Long)) ** 2).sum(axis=2)
    return np.exp(-D / 2) + 1


# ---------------------------------------------------------------- lam far below k(x, x)


def rows(kind, T, size):
    """Rows whose |x|^2 is at most `size`, for the linear kernel; the Gaussian ones have size 2."""
    rng = np.random.default_rng(len(kind) + T)
    X = {
        "spread": lambda: rng.normal(size=(T, 3)),
        "offset": lambda: 1 + 1e-3 * rng.normal(size=(T, 3)),
        "walk": lambda: np.cumsum(rng.normal(size=(T, 3)), axis=0),
        "graded": lambda: rng.normal(size=(T, 3)) * 10.0 ** rng.uniform(-6, 0, size=(T, 1)),
        "smooth": lambda: rng.normal(size=(T, 1)),
        "equal": lambda: rng.normal(size=(T, 2)).round(),
    }[kind]()
    return X if kind in ("smooth", "equal") else X * np.sqrt(size / (X**2).sum(axis=1).max())


MIXED = {"eta": 1e-12, "project": False}
MODES = {
    "exact": lambda k, z, lam: OSKAAR(BINARY, k, lam),
    "features": lambda k, z, lam: OSKAAR(BINARY, features=z, lam=lam),
    "all": lambda k, z, lam: SALAMI(BINARY, k, lam, **MIXED),
    "first": lambda k, z, lam: SALAMI(BINARY, k, lam, restarts=None, **MIXED),
    "first, features": lambda k, z, lam: SALAMI(BINARY, features=z, lam=lam, restarts=None, **MIXED),
}


def first_expert(learner, x):
    """What KAAR since the first round says of x."""
    pending = learner._estimator.forecast(learner._inputs.parse(x), learner.space)
    G = pending.current[0][0][0] if isinstance(learner, SALAMI) else pending.G
    return G[0]


def estimates(learner, X, ys, chunks):
    """g_hat_t(x_t) up to the first round that is refused, which leaves no trace."""
    G = []
    try:
        if chunks:
            for happened in learner.stream(X, ys):
                G += list(happened.estimates)
        else:
            for x, y in zip(X, ys, strict=True):
                G.append(first_expert(learner, x))
                learner.learn_one(x, y)
    except ValueError:
        before = pickle.dumps(learner)
        with pytest.raises(ValueError, match=r"lam is too small for an input of this size.*Standardise"):
            learner.learn_one(X[learner.rounds], ys[learner.rounds])
        assert pickle.dumps(learner) == before
        G = G[: learner.rounds]
    p = max([len(g) for g in G], default=0)
    return np.array([np.pad(g, (0, p - len(g))) for g in G]).reshape(len(G), p)


def largest_error(mode, kind, ratio, T, chunks=False):
    """Of the rounds that are accepted, and how many are; lam is this part of the largest k(x, x)."""
    curved = kind in ("smooth", "equal")
    lam = 2 * ratio if curved else 1.0
    X = rows(kind, T, 1 / ratio)
    K = gaussian(X) if curved else linear(X)
    k = kernels.Gaussian() + 1 if curved else kernels.Linear() + 1
    z = features.LinearMap(X.shape[1])
    if curved and "features" in mode:
        z = features.RandomFourier(k, 41, width=X.shape[1])
        K = z(X).astype(Long) @ z(X).astype(Long).T
    ys = (X[:, 0] + X[:, 0].std() * np.random.default_rng(7).normal(size=T) > X[:, 0].mean()).astype(int).tolist()
    expected = kaar(K, BINARY.space().embed_many(ys), lam)
    G = estimates(MODES[mode](k, z, lam), X, ys, chunks)
    if not G.size:
        return 0.0, len(G)
    return float(np.abs(G - expected[: len(G), : G.shape[1]]).max()), len(G)


RATIOS = (1e-5, 2e-6, 2e-7, 5e-8, 2e-9, 1e-10, 1e-13, 1e-17)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["offset", "graded", "smooth"])
def test_an_accepted_round_is_right(mode, kind):
    """Whatever lam / k(x, x) is, six digits or an error; 5e-8 k(x, x) is enough, with all restarts 2e-6."""
    for ratio in RATIOS:
        for chunks in (False, True) if mode in ("exact", "features") else (False,):
            error, accepted = largest_error(mode, kind, ratio, 40, chunks)
            assert error < 1e-6, (ratio, chunks, error)
            if ratio > (1e-6 if mode == "all" else 4e-8):
                assert accepted == 40
            if ratio < 1e-8 and kind != "graded":
                assert accepted < 40


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["spread", "offset", "walk", "graded", "smooth", "equal"])
def test_long_accepted_rounds_are_right(mode, kind):
    """At the limit, for 400 rounds."""
    for ratio in (1.1e-6, 3.1e-8):
        for chunks in (False, True) if mode in ("exact", "features") else (False,):
            assert largest_error(mode, kind, ratio, 400, chunks)[0] < (1e-5 if mode == "all" else 1e-6)


@pytest.mark.parametrize("spread", [1.0, 80.0])
def test_features_around_a_thousand(spread):
    """A linear kernel and lam = 0.1, against fractions: accepted, and right."""
    rng = np.random.default_rng(0)
    X = (1000 + spread * rng.normal(size=(24, 2))).round(3)
    ys = (X[:, 0] > X[:, 1]).astype(int).tolist()
    learner, G = OSKAAR(BINARY, kernels.Linear() + 1.0, lam=0.1), []
    for x, y in zip(X, ys, strict=True):
        G.append(learner.estimate(x))
        learner.learn_one(x, y)
    rows_ = [[fractions.Fraction(float(v)) for v in x] for x in X]
    K = [[1 + sum(a * b for a, b in zip(x, z, strict=True)) for z in rows_] for x in rows_]
    expected = kaar_of_fractions(K, BINARY.space().embed_many(ys).tolist(), fractions.Fraction(0.1))
    np.testing.assert_allclose(np.array(G), expected, atol=1e-7)


def kaar_of_fractions(K, Phi, lam):
    """g_hat_t(x_t) at every round t, without rounding: L D L^T of K + lam I row by row, and C = L^-1 Phi."""
    L, D, C, G = [], [], [], []
    for t, k in enumerate(K):
        row = []
        for s in range(t):
            row.append((k[s] - sum(row[j] * D[j] * L[s][j] for j in range(s))) / D[s])
        m = [sum(row[j] * C[j][i] for j in range(t)) for i in range(len(Phi[0]))]
        d = k[t] + lam - sum(row[j] ** 2 * D[j] for j in range(t))
        G.append([float(lam / d * v) for v in m])
        L.append(row)
        D.append(d)
        C.append([fractions.Fraction(v) - u for v, u in zip(Phi[t], m, strict=True)])
    return np.array(G)


def test_nystrom_is_right():
    """Features on a dictionary, at the limit, against the same dictionary in 80 bits."""
    X, lam = rows("smooth", 80, 1.0), 6.2e-8
    ys = (np.sin(3 * X[:, 0]) > 0).astype(int).tolist()
    learner = OSKAAR(BINARY, kernels.Gaussian() + 1, lam, budget=40)
    atoms, Z = [], np.zeros((80, 80), dtype=Long)
    G, K = [], gaussian(X)
    for t, (x, y) in enumerate(zip(X, ys, strict=True)):
        G.append(first_expert(learner, x))
        learner.learn_one(x, y)
        if learner._estimator.features.size > len(atoms):
            atoms.append(t)
        L = rooted(K[np.ix_(atoms, atoms)])
        Z[t, : len(atoms)] = divided(L, K[atoms, t])
    expected = kaar(Z @ Z.T, BINARY.space().embed_many(ys), lam)
    assert 5 < len(atoms) < 40
    G = np.array([np.pad(g, (0, expected.shape[1] - len(g))) for g in G])
    np.testing.assert_allclose(G, expected.astype(float), atol=1e-6)


@pytest.mark.parametrize("ratio", [1e-5, 2e-7, 1e-9, 1e-13])
def test_batches_and_ridges(ratio):
    """Ridge regression is right, or refused, as KAAR is."""
    X = rows("offset", 40, 1 / ratio)
    ys, k = (X[:, 0] > X[:, 0].mean()).astype(int).tolist(), kernels.Linear() + 1
    Phi, K = BINARY.space().embed_many(ys), linear(X)
    L = rooted(K[:39, :39] + np.eye(39, dtype=Long))
    expected = (divided(L, K[:39, 39:]).T @ divided(L, Phi[:39])).astype(float)
    batch = BatchILE(BINARY, k, lam=1 / 39)
    inputs = Inputs(k)
    ridges = Ridges(inputs, 0, None, [1.0], "linear", labels=True, differences=False)
    if ratio < 1e-8:
        with pytest.raises(ValueError, match="lam is too small"):
            batch.fit(X[:39], ys[:39])
        with pytest.raises(ValueError, match="lam is too small"):
            learned(ridges, inputs, X, ys)
        return
    np.testing.assert_allclose(batch.fit(X[:39], ys[:39]).estimate(X[39]), expected[0], atol=1e-6)
    learned(ridges, inputs, X[:39], ys[:39])
    found = ridges.forecast(Compared(inputs, inputs.parse(X[39])), None, None).estimates
    np.testing.assert_allclose(found[0], expected, atol=1e-6)


def learned(ridges, inputs, X, ys):
    for x, y in zip(X, ys, strict=True):
        block = inputs.parse(x)
        pending = ridges.forecast(Compared(inputs, block), None, None)
        inputs.append(block)
        ridges.commit(ridges.observe(pending, Labels(BINARY, BINARY.space(), [y], [1])))


def test_rows_projected_again():
    """PKAWV refuses what it cannot resolve, too."""
    map = features.Nystrom(kernels.Linear() + 1, 10, reproject=True)
    learner = OSKAAR(BINARY, features=map, lam=0.1)
    with pytest.raises(ValueError, match="lam is too small"):
        learner.learn_many(rows("spread", 20, 1e12), [0, 1] * 10)
    assert learner.rounds == learner._inputs.n


COLUMNS = {
    "unix time": lambda rng, n: 1.7e9 + 60.0 * np.arange(n),
    "milliseconds": lambda rng, n: 1.7e9 + 1e-3 * np.arange(n),
    "far away": lambda rng, n: 1e9 + rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, 3.7e8),
    "huge": lambda rng, n: 1e200 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-200 * rng.normal(size=n),
    "subnormal": lambda rng, n: 5e-324 * rng.integers(0, 9, size=n),
    "largest": lambda rng, n: np.finfo(float).max * rng.choice([-1.0, 1.0], size=n),
}
DEFAULTS = {
    "OSKAAR": lambda: OSKAAR(losses.ZeroOne(2), lam=0.1),
    "a budget": lambda: OSKAAR(losses.ZeroOne(2), lam=0.1, budget=30),
    "SALAMI": lambda: SALAMI(losses.ZeroOne(2)),
    "SALAMI, a budget": lambda: SALAMI(losses.ZeroOne(2), budget=30),
}


@pytest.mark.parametrize("name", few(COLUMNS, 2))
@pytest.mark.parametrize("learner", DEFAULTS)
def test_the_default_kernel_takes_columns_of_any_size(learner, name):
    """From the first row on, and a column that says nothing takes nothing away from one that says all."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=80)
    X, ys = np.column_stack([COLUMNS[name](rng, 80), signal]), (signal > 0).astype(int)
    made = DEFAULTS[learner]()
    paid = np.concatenate([r.losses for r in made.stream(X, ys)])
    assert np.isfinite(made.estimate(X[0])).all()
    assert paid[40:].mean() < 0.15
    if learner == "OSKAAR":
        made = BatchILE(losses.ZeroOne(2)).fit(X, ys)
        assert made.score(X, ys) > -0.1


@pytest.mark.parametrize("name", ["milliseconds", "far away", "huge", "tiny"])
def test_a_column_of_any_size_can_be_learned_from(name):
    rng = np.random.default_rng(1)
    column = COLUMNS[name](rng, 80)
    late = rng.permutation(80)
    X, ys = column[late, None], (column > np.median(column)).astype(int)[late]
    for learner in ("OSKAAR", "a budget"):
        paid = np.concatenate([r.losses for r in DEFAULTS[learner]().stream(X, ys)])
        assert paid[40:].mean() < 0.15


def test_directions_of_rows_of_any_size():
    """Cosines, hashed and linear features look at directions alone, in every form of rows."""
    X = np.array([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 2.0, 2.0]])
    k, expected = kernels.Cosine(), kernels.Cosine()(X, X)
    maps = (features.Hashing(9), features.LinearMap(3, normalise=True))
    for size in (1e-310, 1e-200, 1e-160, 1e160, 4e307):
        for form in (np.asarray, csr_array):
            np.testing.assert_allclose(k(form(X * size), form(X)), expected, atol=1e-12 if size > 1e-300 else 1e-6)
            np.testing.assert_array_equal(k.diag(form(X * size)), [1, 0, 1])
            for map in maps:
                if size < 1e150:
                    np.testing.assert_allclose(map(form(X * size)), map(X), atol=1e-6)
    learner = OSKAAR(BINARY)
    learner.learn_many([{"a": 1e200}, {"b": 1e-200}, {"a": 1e-310}], [0, 1, 0])
    assert [learner.predict_one({"a": 3e250}), learner.predict_one({"b": 1e-320})] == [0, 1]


# ---------------------------------------------------------------- numbers that are none


class Broken(kernels.Kernel):
    """Gaussian + 1, but for rows that begin with 7."""

    def __init__(self, value, diagonal=True):
        self.value, self.diagonal = value, diagonal

    def __call__(self, X, Y):
        bad = (np.asarray(X)[:, :1] == 7) | (np.asarray(Y)[:, 0] == 7)
        return np.where(bad, self.value, kernels.Gaussian()(X, Y) + 1)

    def diag(self, X):
        return np.where((np.asarray(X)[:, 0] == 7) & self.diagonal, self.value, 2.0)


class BrokenMap(FeatureMap):
    """(x, 1), but for rows that begin with 7."""

    dim = 3

    def __init__(self, value):
        self.value = value

    def __call__(self, X):
        Z = np.column_stack([X, np.ones(len(X))])
        Z[X[:, 0] == 7] = self.value
        return Z


class BrokenLoss(losses.ZeroOne):
    """0-1, but for the last class."""

    def __init__(self, broken):
        super().__init__(3)
        self.broken = broken

    def loss(self, z, y):
        return np.nan if y == 2 and self.broken == "loss" else super().loss(z, y)

    def embed_many(self, ys):
        Phi = super().embed_many(ys)
        if self.broken == "embed":
            Phi[[y == 2 for y in ys]] = np.nan
        return Phi


def kernel_learners(k):
    yield OSKAAR(losses.ZeroOne(3), k)
    yield OSKAAR(losses.ZeroOne(3), k, shifted=True)
    yield OSKAAR(losses.ZeroOne(3), k, budget=20)
    yield OSKAAR(losses.ZeroOne(3), k, budget=3)
    yield OSKAAR(losses.ZeroOne(3), features=features.Nystrom(k, 20, reproject=True))
    yield Ensemble(losses.ZeroOne(3), k)
    yield SALAMI(losses.ZeroOne(3), k, restarts="geometric")
    yield SALAMI(losses.ZeroOne(3), k, budget=20)


def broken_learners():
    for value in (np.nan, np.inf, -np.inf):
        yield from kernel_learners(Broken(value))
        yield from kernel_learners(Broken(value, diagonal=False))
        for make in (OSKAAR, SALAMI):
            yield make(losses.ZeroOne(3), features=BrokenMap(value))
    for broken in ("loss", "embed"):
        yield OSKAAR(BrokenLoss(broken))
        yield SALAMI(BrokenLoss(broken))
        yield OSKAAR(BrokenLoss(broken), budget=20)


@pytest.mark.parametrize("learner", few(broken_learners(), 2), ids=lambda learner: type(learner).__name__)
def test_a_number_that_is_none_leaves_no_trace(learner):
    """One by one and in a chunk: the round is refused, those before it are learned, those after go on."""
    rng = np.random.default_rng(2)
    X, ys = rng.normal(size=(20, 2)), ([0, 1] * 10)
    X[12, 0], ys[12] = 7.0, 2
    fresh = pickle.dumps(learner)
    message = r"embed\(y\) must be finite" if getattr(learner.loss, "broken", "") == "embed" else "finite"
    learner.learn_many(X[:12], ys[:12])
    before = pickle.dumps(learner)
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            learner.learn_one(X[12], ys[12])
        assert pickle.dumps(learner) == before
    learner.learn_many(X[13:], ys[13:])
    assert np.isfinite(learner.estimate(X[0])).all()
    assert np.isfinite(learner.total_loss + learner.surrogate_loss)
    chunked = pickle.loads(fresh)
    with pytest.raises(ValueError, match=message):
        chunked.partial_fit(X, ys)
    assert chunked.rounds == 12
    chunked.partial_fit(X[13:], ys[13:])
    np.testing.assert_allclose(chunked.estimate(X[0]), learner.estimate(X[0]), atol=1e-9)


def test_a_row_too_large_for_a_budget():
    """1e200 squared is inf: refused, and what was learned stays."""
    rng = np.random.default_rng(0)
    for make in (OSKAAR, SALAMI):
        learner = make(losses.ZeroOne(2), kernels.Linear() + 1, lam=1.0, budget=5)
        learner.learn_many(rng.normal(size=(10, 2)), [0, 1] * 5)
        before = pickle.dumps(learner)
        for x in ([1e200, 0.0], [1e5, 0.0]):
            with pytest.raises(ValueError, match=r"finite|lam is too small"):
                learner.learn_one(x, 1)
            with pytest.raises(ValueError, match=r"finite|lam is too small"):
                learner.predict_one(x)
        assert pickle.dumps(learner) == before


def negative(X, Y):
    return -kernels.Gaussian()(X, Y) - 1


def indefinite(X, Y):
    """k(x, x) = 1, and more than that between inputs that differ."""
    return 1 + 5 * np.abs(np.asarray(X)[:, :1] - np.asarray(Y)[:, 0])


@pytest.mark.parametrize("k", [negative, indefinite])
def test_a_kernel_that_is_none(k):
    """Not positive semidefinite: refused by every learner, not only by those on kernel values."""
    rng = np.random.default_rng(0)
    for learner in kernel_learners(kernels.Rowwise(k)):
        with pytest.raises(ValueError, match="must be positive semidefinite"):
            learner.partial_fit(rng.normal(size=(20, 2)), [0, 1] * 10)
        assert learner.rounds <= 2


def test_a_user_s_matrix_stays_as_it_is():
    """A kernel may hand out an array of its own; sparse rows belong to the caller."""
    K = np.eye(3) + 1

    def kept(X, Y):
        return K if len(X) == len(Y) == 3 else kernels.Linear()(X, Y)

    BatchILE(BINARY, kernels.Rowwise(kept)).fit(np.eye(3), [0, 1, 0])
    np.testing.assert_array_equal(K, np.eye(3) + 1)
    twice = csr_array((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 3))
    learner = OSKAAR(BINARY, kernels.Linear())
    learner.learn_one(twice, 0)
    assert (twice.data.tolist(), twice.indices.tolist()) == ([1.0, 2.0, 4.0], [1, 1, 0])
    assert learner._inputs.store.rows_for(learner._inputs.parse(twice)).toarray().tolist() == [[4.0, 3.0, 0.0]]


# ---------------------------------------------------------------- many as one by one

NAMED = [{f"w{i % 7}": 1.0 + i % 3, "n": i / 10, "text": "ab"[i % 2]} for i in range(30)]
UNSEEN = [{f"new{i}": 2.0, "n": 1.5, f"w{i}": 1.0} for i in range(6)]
MAPS = {
    "nothing": lambda: {},
    "a budget": lambda: {"budget": 12},
    "a small budget": lambda: {"budget": 3},
    "nystrom": lambda: {"features": features.Nystrom(kernels.Gaussian() + 1, 15, beta=0.3, seed=5)},
    "fourier": lambda: {"features": features.RandomFourier(kernels.Gaussian() + 1, 21)},
    "orthogonal": lambda: {"features": features.Orthogonal(kernels.Gaussian() + 1, 21)},
    "hashing": lambda: {"features": features.Hashing(16)},
    "linear": lambda: {"features": features.LinearMap(24)},
    "taylor": lambda: {"features": features.Taylor(None, 1, 24)},
    "standardised": lambda: {"features": features.Standardised(features.Identity(24))},
    "standardised fourier": lambda: {
        "features": features.Standardised(features.RandomFourier(kernels.Gaussian(), 20))
    },
    "standardised nystrom": lambda: {"features": features.Standardised(features.Nystrom(kernels.Gaussian() + 1, 15))},
    "reprojected": lambda: {"features": features.Nystrom(kernels.Gaussian() + 1, 15, reproject=True)},
}


BOTH = [(OSKAAR, name) for name in MAPS] + [(SALAMI, name) for name in ("a budget", "hashing", "standardised")]


@pytest.mark.parametrize(("make", "name"), BOTH)
@pytest.mark.parametrize("rows", few(["dense", "sparse", "dicts"], 2))
def test_many_are_as_one_by_one(make, name, rows):
    """predict_many, predict and score as predict_one; estimates of many rows as of one; learn_many as a loop."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(36, 24)) * 10.0 ** np.arange(-2, 1).repeat(8) + (rows == "dense")
    X[rng.random(X.shape) < 0.5] = 0.0
    xs = {"dense": list(X), "sparse": [csr_array(x[None, :]) for x in X], "dicts": NAMED + UNSEEN}[rows]
    ys = rng.uniform(-1, 1, size=(30, 2))
    learner = make(losses.Squared(2, -1.0, 1.0), **MAPS[name]())
    learner.learn_many(xs[:25], ys[:25])
    looped = make(losses.Squared(2, -1.0, 1.0), **MAPS[name]())
    for x, y in zip(xs[:25], ys[:25], strict=True):
        looped.learn_one(x, y)
    assert pickle.dumps(learner) == pickle.dumps(looped)
    late = xs[22:]
    alone = np.array([learner.predict_one(x) for x in late])
    for many in (learner.predict_many(late), learner.predict(late)):
        np.testing.assert_allclose(np.array(many), alone, atol=1e-9)
    paid = [learner.loss(z, y) for z, y in zip(alone, ys[:14], strict=True)]
    assert learner.score(late, ys[:14]) == pytest.approx(-np.mean(paid))
    if make is OSKAAR:
        block, ends = learner._inputs.parse_each(late)
        each = learner._estimator.each(block, ends, learner.space)
        np.testing.assert_allclose(each, [learner.estimate(x) for x in late], atol=1e-9)
    assert pickle.dumps(learner) == pickle.dumps(looped)


def test_each_of_a_map_of_one_s_own():
    """A map that learns and says nothing of `each` is asked row by row."""

    class Counting(FeatureMap):
        dim = 2

        def __init__(self, n=0):
            self.n = n

        def __call__(self, X):
            return np.column_stack([X[:, 0], np.full(len(X), float(self.n))])

        def seen(self, X):
            counts = self.n + 1.0 + np.arange(len(X))
            return np.column_stack([X[:, 0], counts]), Counting(self.n + len(X))

    learner = OSKAAR(losses.Squared(1, -1.0, 1.0), features=Counting())
    learner.learn_many(np.ones((5, 1)), np.linspace(-1, 1, 5)[:, None])
    xs = np.arange(4.0)[:, None]
    np.testing.assert_allclose(learner.predict_many(xs), [learner.predict_one(x) for x in xs], atol=1e-12)


# ---------------------------------------------------------------- what is no number, and who is who


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "masked"),
        (["1", "2"], "row of numbers"),
        ([1.0, "2"], "row of numbers"),
        (np.array([1.0, "2"], dtype=object), "row of numbers"),
        (np.array([b"1", b"2"]), "row of numbers"),
        (np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"), "row of numbers"),
        (np.array([1, 2], dtype="timedelta64[s]"), "row of numbers"),
        ([1 + 0j, 2.0], "row of numbers"),
        (np.array([np.longdouble(10) ** 400, 1.0]), "finite"),
        (pd.array([1, None], dtype="Int64"), "finite"),
        (np.array([np.inf, 1.0], dtype=np.float16), "finite"),
    ],
)
def test_rows_that_are_not_numbers(x, message):
    learner = OSKAAR(BINARY, kernels.Gaussian())
    for first in (False, True):
        if first:
            learner.learn_one([0.0, 1.0], 0)
        before = pickle.dumps(learner)
        for act in (
            lambda: learner.learn_one(x, 1),
            lambda: learner.predict_one(x),
            lambda: learner.predict_many([x]),
            lambda: learner.partial_fit([[0.0, 2.0], x], [0, 1]),
        ):
            with pytest.raises(ValueError, match=message):
                act()
        assert pickle.dumps(learner) == before


def test_masked_tables_and_labels():
    X = np.ma.array(np.eye(3), mask=np.eye(3))
    for learner in (OSKAAR(BINARY), BatchILE(BINARY)):
        with pytest.raises(ValueError, match="masked"):
            learner.fit(X, [0, 1, 0])
    OSKAAR(BINARY).fit(np.ma.array(np.eye(3)), [0, 1, 0])
    with pytest.raises(ValueError, match="masked"):
        OSKAAR(losses.Squared(2, -1.0, 1.0)).learn_one([0.0], np.ma.array([0.0, 0.5], mask=[1, 0]))


@pytest.mark.parametrize(
    "x",
    [
        np.array([1.5, 2.0], dtype=np.float32),
        np.array([1.5, 2.0], dtype=np.float16),
        np.array([1.5, 2.0], dtype=np.longdouble),
        np.array([1.5, 2.0], dtype=object),
        np.ma.array([1.5, 2.0], mask=[0, 0]),
        [decimal.Decimal("1.5"), fractions.Fraction(2)],
        pd.Series([1.5, 2.0], dtype="Float64"),
        (1.5, np.int8(2)),
    ],
)
def test_rows_of_numbers_of_any_kind(x):
    inputs = OSKAAR(BINARY)._inputs
    assert inputs.parse(x).rows.tolist() == [[1.5, 2.0]]
    assert inputs.part(inputs.parse_many([x])[0], 0, 1).rows.tolist() == [[1.5, 2.0]]


def test_sparse_rows_of_any_form():
    """Duplicates are summed, explicit zeros are zeros, and a sum that overflows is refused."""
    learner, wanted = OSKAAR(BINARY, kernels.Linear() + 1), OSKAAR(BINARY, kernels.Linear() + 1)
    for each, twice in (
        (learner, coo_array((np.array([1.0, 2.0, 0.0]), (np.zeros(3, int), np.array([1, 1, 2]))), shape=(1, 3))),
        (wanted, csr_array(np.array([[0.0, 3.0, 0.0]]))),
    ):
        each.learn_one(twice, 1)
        each.learn_one(csr_array(np.array([[1.0, 0.0, 2.0]])), 0)
    x = csr_array(np.array([[1.0, 1.0, 1.0]]))
    np.testing.assert_array_equal(learner.estimate(x), wanted.estimate(x))
    for values in ([np.inf, -np.inf], [1e308, 1e308], [np.nan, 1.0]):
        bad = csr_array((np.array(values), np.array([0, 0]), np.array([0, 2])), shape=(1, 3))
        with pytest.raises(ValueError, match="finite"):
            learner.learn_one(bad, 0)
    far = csr_array((np.ones(1), np.array([2**40]), np.array([0, 1])), shape=(1, 2**41))
    inputs = oskaar.inputs.Inputs(kernels.Linear())
    inputs.append(inputs.parse(far))
    assert inputs.store.rows_for(inputs.parse(far)).indices.tolist() == [2**40]


@pytest.mark.parametrize(
    "value", [b"12", None, 1 + 0j, np.complex64(1), np.ma.masked, pd.NA, np.datetime64("2020"), np.ones(1), 10**400]
)
def test_features_that_are_not_numbers(value):
    """With a kernel of one's own; test_rows.py has what the default ones make of them."""
    learner = OSKAAR(BINARY, kernels.Linear() + 1)
    with pytest.raises(ValueError, match="feature 'a' must be a number or a text"):
        learner.learn_one({"a": value}, 0)
    with pytest.raises(ValueError, match="must be a number or a text"):
        learner.predict_many([{"b": 1.0}, {"a": value}])


def test_names_are_told_apart(tmp_path):
    """1 is not "1", in a row, across rows, hashed, and in a file; np.int64(1) is 1."""
    for settings in ({"kernel": kernels.Linear() + 1}, {"features": features.Hashing(64)}, {}):
        learner = OSKAAR(BINARY, **settings)
        for _ in range(5):
            learner.learn_one({1: 1.0}, 0)
            learner.learn_one({"1": 1.0}, 1)
            learner.learn_one({("a", 1): 1.0, ("a", "1"): 2.0, 2: "text"}, 1)
            learner.learn_one({"2": "text"}, 0)
        rows = [{1: 1.0}, {"1": 1.0}, {2: "text"}, {"2": "text"}, {np.int64(1): 1.0}, {True: 1.0}, {1: 1.0, "1": 0.0}]
        assert [learner.predict_one(x) for x in rows] == [0, 1, 1, 0, 0, 0, 0]
        assert learner.predict_many(rows) == [0, 1, 1, 0, 0, 0, 0]
        learner.save(tmp_path / "named")
        again = oskaar.load(tmp_path / "named")
        assert again.predict_many(rows) == [0, 1, 1, 0, 0, 0, 0]
        assert len(again._inputs.store.names) == 6
    with pytest.raises(ValueError, match="two features that are named 'a=b'"):
        learner.learn_one({"a": "b", "a=b": 1.0}, 0)
    with pytest.raises(ValueError, match="equal to itself"):
        learner.learn_one({float("nan"): 1.0}, 0)


def test_equal_objects_that_differ():
    """1, 1.0 and True are equal, and a kernel may tell them apart: an answer is not remembered for another."""
    learner = OSKAAR(BINARY, kernels.Pairwise(lambda a, b: float(repr(a) == repr(b))))
    learner.learn_one(1, 0)
    learner.learn_one(True, 1)
    assert [learner.predict_one(x) for x in (1, True, 1, True)] == [0, 1, 0, 1]


def test_rows_that_are_split_otherwise():
    """Two rounds of parts with the same numbers in other rows are two rounds."""
    learner = OSKAAR(losses.PerRow(BINARY), kernels.Linear() + 1)
    learner.learn_one([{"a": 1.0}, {"b": 1.0}], [0, 1])
    one, other = [{"a": 1.0}, {"b": 1.0}], [{"a": 1.0, "b": 1.0}, {}]
    fresh = pickle.loads(pickle.dumps(learner)).predict_one(other)
    learner.predict_one(one)
    assert learner.predict_one(other) == fresh
    assert learner._inputs.parse(one).fingerprint() != learner._inputs.parse(other).fingerprint()

import copy
import math
import pickle
from itertools import product

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from strategies import few

from oskaar import checks, features, kernels
from oskaar.arrays import mix
from oskaar.inputs import DictStore

GAUSSIAN = kernels.Gaussian(1.5) + 1.0
MAPS = {
    "fourier": features.RandomFourier(GAUSSIAN, 32, 3),
    "fourier of a sum": features.RandomFourier(0.5 * kernels.Gaussian(2.0) + kernels.Matern(2.0) * 2.0, 33),
    "fourier laplacian": features.RandomFourier(kernels.Laplacian(4.0) + 0.25, 20),
    "orthogonal": features.Orthogonal(GAUSSIAN, 32, 3),
    "orthogonal of a width": features.Orthogonal(kernels.Matern(3.0, nu=2.5), 32, 3, width=5),
    "taylor": features.Taylor(GAUSSIAN, degree=4, width=5),
    "identity": features.Identity(),
    "linear": features.LinearMap(),
    "linear of a width": features.LinearMap(width=5),
    "cosine": features.LinearMap(5, normalise=True),
    "hashing": features.Hashing(7, seed=2),
    "hashing as it is": features.Hashing(7, intercept=False, normalise=False),
    "standardised": features.Standardised(features.LinearMap(5)),
    "standardised fourier": features.Standardised(features.RandomFourier(GAUSSIAN, 32)),
    "standardised twice": features.Standardised(features.Standardised(features.LinearMap(5, normalise=True))),
}
DENSE = {"fourier of d columns": features.RandomFourier(None, 9), "taylor of d": features.Taylor(None, 3, 5)}


class Counting(features.FeatureMap):
    """A map that learns: how many rows it has seen."""

    dim = 1

    def __init__(self, rows=0, total=0.0):
        self.rows, self.total = rows, total

    def __call__(self, X):
        return np.full((X.shape[0], 1), float(self.rows))

    def seen(self, X):
        return self.rows + np.arange(1.0, X.shape[0] + 1)[:, None], Counting(self.rows + X.shape[0])

    def fresh(self, recent=None):
        return Counting() if recent is None else Counting(recent.shape[0], recent.sum())


def rows_of(rng, n=12, d=5):
    X = rng.normal(size=(n, d)) * [1.0, 3.0, 0.1, 1.0, 1.0]
    X[X < -0.5] = 0.0
    X[:, 3] = 2.0
    X[4] = 0.0
    return X


# ------------------------------------------------------------------ the contract


@pytest.mark.parametrize("name", {**MAPS, **DENSE})
def test_contract_dense(name, rng):
    checks.check_features({**MAPS, **DENSE}[name], rows_of(rng))


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_contract_sparse(name, kind, rng):
    checks.check_features(MAPS[name], kind(rows_of(rng)))


def test_contract_of_a_map_that_learns(rng):
    checks.check_features(features.Standardised(Counting()), rows_of(rng))
    checks.check_features(Counting(), csr_array(rows_of(rng)))


@pytest.mark.parametrize("name", MAPS)
def test_one_row_none_and_integers(name):
    map = MAPS[name]
    for X in (np.zeros((0, 5)), csr_array((0, 5))):
        Z, after = map.seen(X)
        assert len(Z) == len(map(X)) == 0
        assert after.seen(np.ones((2, 5)))[0].shape[0] == 2
    np.testing.assert_array_equal(map(np.ones((1, 5), dtype=int)), map(np.ones((1, 5))))


@pytest.mark.parametrize("name", {**MAPS, **DENSE})
def test_bad_rows_are_refused(name):
    map = {**MAPS, **DENSE}[name]
    before = pickle.dumps(map)
    for bad in (np.nan, np.inf, 1e200):
        X = np.ones((3, 5))
        X[1, 2] = bad
        for call in (map, map.seen):
            with pytest.raises(ValueError, match="finite"):
                call(X)
            with pytest.raises(ValueError, match="column 2"):
                call(csr_array(X))
    with pytest.raises(TypeError, match="Nystrom"):
        map(["some", "text"])
    with pytest.raises(ValueError, match="dimensions"):
        map(np.ones(5))
    assert pickle.dumps(map) == before


@pytest.mark.parametrize("name", {**MAPS, **DENSE})
def test_other_widths_are_refused(name):
    map = {**MAPS, **DENSE}[name].seen(np.ones((2, 5)))[1]
    if isinstance(map, features.Hashing):
        return  # any width
    for width in (4, 6):
        with pytest.raises(ValueError, match=f"5 columns.* got {width}"):
            map(np.ones((1, width)))
        with pytest.raises(ValueError, match=f"5 columns.* got {width}"):
            map.seen(np.ones((1, width)))


identity_call, identity_seen = features.Identity.__call__, features.Identity.seen
BROKEN = {
    "kappa": {"kappa": 0.1},
    "columns, more than dim": {"dim": 4},
    "loop|other rows": {"__call__": lambda self, X: identity_call(self, X) - identity_call(self, X).mean(axis=0)},
    "float64": {"__call__": lambda self, X: identity_call(self, X).astype(np.float32)},
    "contiguous": {"__call__": lambda self, X: np.asfortranarray(identity_call(self, X))},
    "shape": {"__call__": lambda self, X: identity_call(self, X)[:-1]},
    "change the map": {"seen": lambda self, X: (identity_seen(self, X)[0], self.counted())},
    "equal the loop": {"seen": lambda self, X: (identity_seen(self, X)[0] * len(X), self)},
    "same features": {"seen": lambda self, X: (identity_seen(self, X)[0] + self.counted().calls, self)},
}


class Broken(features.Identity):
    """A map with one thing wrong."""

    calls = 0

    def counted(self):
        self.calls += 1
        return self


@pytest.mark.parametrize("message", BROKEN)
def test_broken_maps_fail_the_check(message, rng, monkeypatch):
    for name, wrong in BROKEN[message].items():
        monkeypatch.setattr(Broken, name, wrong, raising=False)
    with pytest.raises(checks.CheckFailed, match=message):
        checks.check_features(Broken(5), rows_of(rng))


def test_the_map_that_is_broken_there_is_right(rng):
    checks.check_features(Broken(5), rows_of(rng))


# ------------------------------------------------------------------ Fourier


SPECTRA = {
    "gaussian": (kernels.Gaussian(1.3), lambda x, y: naive.gaussian(x, y, 1.3)),
    "laplacian": (kernels.Laplacian(2.5), lambda x, y: naive.laplacian(x, y, 2.5)),
    "matern 1/2": (kernels.Matern(1.5, nu=0.5), lambda x, y: naive.matern(x, y, 1.5, 0.5)),
    "matern 3/2": (kernels.Matern(1.5, nu=1.5), lambda x, y: naive.matern(x, y, 1.5, 1.5)),
    "matern 5/2": (kernels.Matern(1.5, nu=2.5), lambda x, y: naive.matern(x, y, 1.5, 2.5)),
    "with a constant": (3.0 * kernels.Gaussian(2.0) + 0.5, lambda x, y: 3 * naive.gaussian(x, y, 2.0) + 0.5),
    "a scaled sum": (
        3.0 * (kernels.Gaussian(2.0) + 0.25) * 0.5,
        lambda x, y: 1.5 * (naive.gaussian(x, y, 2.0) + 0.25),
    ),
    "a sum": (
        kernels.Gaussian(0.5) + kernels.Matern(3.0, nu=0.5) * 2.0 + 1.0,
        lambda x, y: naive.gaussian(x, y, 0.5) + 2 * naive.matern(x, y, 3.0, 0.5) + 1,
    ),
}


@pytest.mark.parametrize("name", few(SPECTRA, 2))
@pytest.mark.parametrize("map", [features.RandomFourier, features.Orthogonal])
def test_fourier_approaches_the_kernel(name, map, rng):
    """The mean over seeds goes to k at the rate 1 / sqrt(features), for dense rows and for groups of columns."""
    kernel, twin = SPECTRA[name]
    if map is features.Orthogonal and name == "laplacian":
        return
    X = rng.normal(size=(6, 3))
    K = naive.gram(twin, X, X)
    for rows in (X, csr_array(X)):
        Zs = [map(kernel, 401, seed)(rows) for seed in range(40)]
        error = np.abs(np.mean([Z @ Z.T for Z in Zs], axis=0) - K).max()
        assert error < 4 * kernel.kappa**2 / math.sqrt(2 * 40 * 200)
        np.testing.assert_allclose((Zs[0] ** 2).sum(axis=1), kernel.diag(X))


@pytest.mark.parametrize("map", [features.RandomFourier, features.Orthogonal])
def test_fourier_of_many_columns(map, rng):
    """More columns than frequencies, and than a group: still the kernel, also between columns of two groups."""
    X = np.zeros((5, 150))
    X[0, 0] = X[1, 64] = X[2, 128] = 1.0
    X[3:] = rng.normal(size=(2, 150)) / 10
    k = kernels.Gaussian(0.8)
    for rows in (X, csr_array(X)):
        Zs = [map(k, 40, seed)(rows) for seed in range(200)]
        error = np.abs(np.mean([Z @ Z.T for Z in Zs], axis=0) - k(X, X)).max()
        assert error < 4 / math.sqrt(2 * 20 * 200)


@pytest.mark.parametrize("map", [features.RandomFourier, features.Orthogonal])
def test_fourier_does_not_depend_on_earlier_calls(map, rng):
    """A map that has been called with rows of other widths and kinds gives what a new one gives."""
    used = map(GAUSSIAN, 21)
    for width, kind in product((7, 3, 5, 90, 5), (np.asarray, csr_array, np.asarray)):
        X = kind(rng.normal(size=(2, width)))
        np.testing.assert_allclose(used(X), map(GAUSSIAN, 21)(X), atol=1e-12)


def test_fourier_features_are_counted():
    X = np.ones((1, 2))
    Z = features.RandomFourier(kernels.Gaussian() + 4.0, 8)(X)
    assert Z.shape == (1, 7)  # three pairs and the constant
    assert Z[0, -1] == 2.0
    assert features.RandomFourier(kernels.Gaussian(), 8)(X).shape == (1, 8)
    assert features.RandomFourier(kernels.Gaussian() + kernels.Matern() + 1.0, 5)(X).shape == (1, 5)
    assert features.RandomFourier(kernels.Gaussian() + kernels.Constant(0.0), 2)(X).shape == (1, 2)
    for kernel, dim in ((kernels.Gaussian(), 1), (GAUSSIAN, 2), (GAUSSIAN + kernels.Matern(), 4), (None, 2)):
        with pytest.raises(ValueError, match=f"dim must be at least {dim + 1}"):
            features.RandomFourier(kernel, dim)


def test_columns_keep_their_frequencies(rng):
    """As names appear the old columns stay; a map that saw them appear equals one that knew them all along."""
    X = rng.normal(size=(4, 150))
    for map in (features.RandomFourier, features.Orthogonal):
        grown = map(GAUSSIAN, 21, 5)
        for width in (1, 3, 64, 65, 100, 150):
            part = X.copy()
            part[:, width:] = 0.0
            expected = map(GAUSSIAN, 21, 5)(csr_array(part))
            Z, grown = grown.seen(csr_array(X[:, :width]))
            np.testing.assert_allclose(Z, expected, atol=1e-12)
    np.testing.assert_allclose(
        features.RandomFourier(GAUSSIAN, 21)(X), features.RandomFourier(GAUSSIAN, 21)(csr_array(X)), atol=1e-12
    )


def test_dict_rows():
    store, map = DictStore(), features.RandomFourier(GAUSSIAN, 16)
    first = store.parse([{"a": 1.0}])
    before, map = map.seen(first.rows)
    store.append(first)
    later = store.parse([{"a": 1.0}, {"b": 2.0, "colour": "red"}])
    np.testing.assert_allclose(map(later.rows)[0], before[0], atol=1e-14)
    assert np.abs(map(later.rows)[1] - before[0]).max() > 0.01


def test_orthogonal_frequencies(rng):
    """d at a time are orthogonal, for dense rows and sparse ones of a declared width; groups are in themselves."""
    d = 6
    dense, sparse = features.Orthogonal(kernels.Gaussian(), 30), features.Orthogonal(kernels.Gaussian(), 30, 0, d)
    grouped = features.Orthogonal(kernels.Gaussian(), 2 * 70)
    X = rng.normal(size=(3, d))
    np.testing.assert_allclose(dense(X), sparse(csr_array(X)), atol=1e-12)
    W = dense._frequencies
    for lo in range(0, 15, d):
        block = W[:, lo : lo + d]
        gram = block.T @ block
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert len(set(np.diag(W.T @ W).round(6))) == 15  # lengths differ
    grouped(csr_array((1, 128)))
    for rows in (slice(0, 64), slice(64, 128)):
        block = grouped._frequencies[rows, :64]
        gram = block.T @ block
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9)


def test_orthogonal_has_less_error(rng):
    X = rng.normal(size=(40, 16))
    k = kernels.Gaussian(4.0)
    errors = {}
    for map in (features.RandomFourier, features.Orthogonal):
        Zs = [map(k, 64, seed)(X) for seed in range(10)]
        errors[map] = np.mean([(Z @ Z.T - k(X, X)) ** 2 for Z in Zs])
    assert errors[features.Orthogonal] < 0.5 * errors[features.RandomFourier]


def test_seeds():
    X = np.ones((1, 3))
    for map in (features.RandomFourier, features.Orthogonal):
        one, same, other = (map(GAUSSIAN, 12, seed)(X) for seed in (1, 1, 2))
        assert np.array_equal(one, same)
        assert not np.allclose(one, other)
    one, same, other = (features.Hashing(50, seed)(np.arange(1.0, 9)[None, :]) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_terms_of_one_map_have_frequencies_of_their_own():
    map = features.RandomFourier(kernels.Gaussian() + kernels.Gaussian(), 8)
    Z = map(np.ones((1, 2)))
    assert not np.allclose(Z[:, :4], Z[:, 4:])


def test_the_default_kernel(rng):
    X = rng.normal(size=(4, 9))
    expected = features.RandomFourier(kernels.Gaussian(3.0) + 1.0, 11, 4)
    map = features.RandomFourier(None, 11, 4)
    np.testing.assert_array_equal(map(X), expected(X))
    Z, settled = map.seen(X)
    np.testing.assert_array_equal(Z, expected(X))
    assert settled.kernel == kernels.Gaussian(3.0) + 1.0
    assert map.kernel is None
    assert map.kappa == settled.kappa == math.sqrt(2)
    with pytest.raises(ValueError, match=r"Cosine.*no Fourier features.*Hashing"):
        map(csr_array(X))
    with pytest.raises(ValueError, match="4 columns, got 9"):
        features.RandomFourier(None, 11, width=4).seen(X)


@pytest.mark.parametrize("map", [features.RandomFourier, features.Orthogonal])
def test_other_kernels_are_refused(map):
    for kernel in (kernels.Linear(), kernels.Cosine() + 1.0, kernels.Gaussian() * kernels.Gaussian()):
        with pytest.raises(ValueError, match=r"Gaussian.*Matern.*got.*Nystrom"):
            map(kernel, 16)
    with pytest.raises(TypeError, match="kernel"):
        map(lambda x, y: 1.0, 16)
    with pytest.raises(ValueError, match="not constant"):
        map(kernels.Constant(1.0), 16)
    with pytest.raises(ValueError, match=r"RandomFourier takes it"):
        features.Orthogonal(kernels.Laplacian(), 16)


@pytest.mark.parametrize("dim", [0, -1, 2.5, "8", None, True])
def test_bad_settings_are_refused(dim):
    for make in (
        lambda: features.RandomFourier(GAUSSIAN, dim),
        lambda: features.Orthogonal(GAUSSIAN, dim),
        lambda: features.Hashing(dim),
        lambda: features.LinearMap(width=dim) if dim is not None else features.Hashing(dim),
        lambda: features.Taylor(GAUSSIAN, dim, 2),
        lambda: features.Taylor(GAUSSIAN, 2, dim),
    ):
        with pytest.raises(ValueError, match="must be a whole number"):
            make()
    with pytest.raises(ValueError, match="seed"):
        features.RandomFourier(GAUSSIAN, 8, seed=-1)


# ------------------------------------------------------------------ Taylor


@given(
    d=st.integers(1, 4),
    degree=st.integers(1, 6),
    lengthscale=st.floats(0.3, 3.0),
    seed=st.integers(0, 1000),
)
def test_taylor_is_the_definition_and_keeps_its_bound(d, degree, lengthscale, seed):
    X = np.random.default_rng(seed).normal(size=(3, d))
    k = kernels.Gaussian(lengthscale)
    map = features.Taylor(2.0 * k + 0.25, degree, d)
    Z = map(X)
    assert Z.shape[1] == map.dim == math.comb(d + degree, degree) + 1
    exponents = [a for a in product(range(degree + 1), repeat=d) if sum(a) <= degree]
    expected = np.array([[naive.taylor(x, a, lengthscale) for a in exponents] for x in X])
    np.testing.assert_allclose(np.sort(Z[:, :-1]), np.sort(math.sqrt(2) * expected), atol=1e-12)
    np.testing.assert_allclose(Z @ Z.T, 2 * expected @ expected.T + 0.25, atol=1e-10)
    norms = np.linalg.norm(X, axis=1) / lengthscale
    bound = 2 * np.outer(norms, norms) ** (degree + 1) / math.factorial(degree + 1)
    assert (np.abs(Z @ Z.T - 2 * k(X, X) - 0.25) <= bound + 1e-12).all()
    narrow = csr_array(np.where(np.arange(d) < d - 1, X, 0.0))
    np.testing.assert_allclose(map(narrow[:, : d - 1]) if d > 1 else map(narrow), map(narrow.toarray()), atol=1e-12)


def test_taylor_refuses():
    with pytest.raises(ValueError, match="more than 10000"):
        features.Taylor(GAUSSIAN, 5, 50)
    for kernel in (kernels.Matern(), kernels.Gaussian() + kernels.Gaussian(2.0), kernels.Constant()):
        with pytest.raises(ValueError, match=r"one Gaussian.*Nystrom"):
            features.Taylor(kernel, 2, 2)
    with pytest.raises(ValueError, match="at most 2 columns, got 3"):
        features.Taylor(GAUSSIAN, 2, 2)(csr_array((1, 3)))
    far = features.Taylor(kernels.Gaussian(1e-8), 3, 2)(np.array([[1e149, -1e149]]))
    np.testing.assert_array_equal(far, np.zeros((1, 10)))


# ------------------------------------------------------------------ linear and hashed


def test_linear_features_are_exact(rng):
    X = rows_of(rng)
    cases = [
        (features.Identity(), kernels.Linear()),
        (features.LinearMap(), kernels.Linear() + 1.0),
        (features.LinearMap(8 - 3, intercept=False), kernels.Linear()),
        (features.LinearMap(5, normalise=True), kernels.Cosine() + 1.0),
        (features.LinearMap(5, intercept=False, normalise=True), kernels.Cosine()),
    ]
    for (map, kernel), rows in product(cases, (X, csr_array(X))):
        Z = map(rows)
        np.testing.assert_allclose(Z @ Z.T, kernel(X, X), atol=1e-12)
        assert map.kappa == pytest.approx(kernel.kappa)


@pytest.mark.parametrize("name", MAPS)
def test_entries_of_one_column_add_up(name):
    """A sparse row may have several entries for a column; it is left as it was."""
    twice = csr_array(([1.0, 2.0, 4.0], [0, 0, 3], [0, 3]), shape=(1, 5))
    once = csr_array([[3.0, 0, 0, 4.0, 0]])
    map = MAPS[name]
    np.testing.assert_allclose(map.seen(twice)[0], map.seen(once)[0], atol=1e-12)
    assert twice.nnz == 3


def test_linear_widths():
    wide = features.LinearMap(width=4)
    np.testing.assert_array_equal(wide(csr_array([[1.0, 2.0]])), [[1, 2, 0, 0, 1]])
    with pytest.raises(ValueError, match=r"at most 4 columns, got 5.*Hashing"):
        wide(csr_array((1, 5)))
    with pytest.raises(ValueError, match="not known before its first row"):
        _ = features.LinearMap().dim
    after = features.LinearMap().seen(csr_array([[1.0, 2.0]]))[1]
    assert after.dim == 3
    with pytest.raises(ValueError, match=r"the first had 2.*Hashing"):
        after.seen(csr_array((1, 3)))


def test_mix_is_splitmix64():
    """The first numbers of splitmix64 seeded with 0, as published: state 0, then once and twice its increment."""
    step = 0x9E3779B97F4A7C15
    states = np.array([0, step, 2 * step % 2**64], dtype=np.uint64)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert mix(states).tolist() == expected


def test_hashing_adds_up_what_collides(rng):
    """z is linear in x, each column goes to one bucket with one sign, and all rows agree about it."""
    for kind in (np.asarray, csr_array):
        map = features.Hashing(4, seed=1, intercept=False, normalise=False)
        H = map(kind(np.eye(40)))
        assert (np.abs(H).sum(axis=1) == 1).all()
        assert ((H != 0).sum(axis=0) > 2).all()  # every bucket is used
        assert {-1.0, 1.0} <= set(H.ravel())
        X = rng.normal(size=(5, 40))
        np.testing.assert_allclose(map(kind(X)), X @ H, atol=1e-12)
        narrow = np.where(np.arange(40) < 7, X, 0.0)
        np.testing.assert_allclose(map(kind(X[:, :7])), map(kind(narrow)), atol=1e-12)


@pytest.mark.parametrize("name", ["fourier", "taylor", "linear", "cosine", "hashing", "hashing as it is"])
def test_sparse_rows_have_the_features_of_dense_ones(name, rng):
    X = rows_of(rng)
    np.testing.assert_allclose(MAPS[name](csr_array(X)), MAPS[name](X), atol=1e-12)


def test_hashing_is_unbiased(rng):
    x, y = rng.normal(size=(2, 30))
    for normalise, intercept in product([False, True], repeat=2):
        maps = [features.Hashing(9, seed, intercept, normalise) for seed in range(800)]
        Z = np.array([map(np.stack([x, y])) for map in maps])
        inner = np.einsum("sd,sd->s", Z[:, 0], Z[:, 1])
        exact = (naive.cosine(x, y) if normalise else naive.linear(x, y)) + intercept
        assert abs(inner.mean() - exact) < 4 * inner.std() / math.sqrt(len(maps))
        squares = np.einsum("sd,sd->s", Z[:, 0], Z[:, 0])
        size = (1.0 if normalise else naive.linear(x, x)) + intercept
        assert abs(squares.mean() - size) < 4 * squares.std() / math.sqrt(len(maps))


# ------------------------------------------------------------------ standardisation


@st.composite
def chunked(draw):
    n = draw(st.integers(1, 25))
    X = np.random.default_rng(draw(st.integers(0, 10**6))).normal(size=(n, 4)) * [1.0, 1e-3, 1e4, 0.0]
    X[:, 1] += draw(st.sampled_from([0.0, 1e6]))
    X[:, 3] = 0.1
    X[: n // 2, 2] = draw(st.sampled_from([5.0, 0.0]))
    return X, sorted(draw(st.lists(st.integers(0, n), max_size=4)))


@given(chunked())
def test_standardised_is_the_definition(case):
    """Row t is scaled with mean and deviation of rows 1..t, however the stream is cut; sparse rows by their size."""
    X, cuts = case
    for rows, twin in ((X, naive.standardised), (csr_array(np.where(X > 0, X, 0.0)), naive.divided_by_size)):
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        map, parts = features.Standardised(features.Identity(4)), []
        for lo, hi in zip([0, *cuts], [*cuts, len(X)]):
            Z, map = map.seen(rows[lo:hi])
            parts.append(Z)
        whole, after = features.Standardised(features.Identity(4)).seen(rows)
        np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(map(rows), after(rows), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(whole, twin(dense), atol=1e-6)
        if rows is X:
            assert (whole[:, 3] == 0).all()


def test_standardised_keeps_its_digits(rng):
    """A large offset costs nothing, and a chunk equals its rows to 1e-10 after many."""
    noise = rng.integers(-8, 9, size=(3000, 2)) / 8
    far, near = noise + 2.0**40, noise
    a, after_a = features.Standardised(features.Identity(2)).seen(far)
    b, after_b = features.Standardised(features.Identity(2)).seen(near)
    np.testing.assert_allclose(a, b, atol=1e-10)
    map = features.Standardised(features.Identity(2))
    for lo in range(0, 3000, 7):
        z, map = map.seen(far[lo : lo + 7])
        np.testing.assert_allclose(z, a[lo : lo + 7], atol=1e-10)
    np.testing.assert_allclose(map._state.squares, after_b._state.squares, rtol=1e-10)
    np.testing.assert_allclose(after_a._state.squares / 3000, near.var(axis=0), rtol=1e-10)


def test_standardised_passes_seen_on(rng):
    """The inner map sees each scaled row once, and a fresh one starts from the recent rows, scaled."""
    X = rows_of(rng)
    Z, after = features.Standardised(Counting()).seen(X)
    np.testing.assert_array_equal(Z.ravel(), np.arange(1.0, 13))
    assert after.map.rows == 12
    assert after.fresh().map.rows == 0
    assert after.fresh(X[:3]).map.rows == 3
    assert after.fresh(X[:3]).map.total == pytest.approx(naive.standardised(X[:3]).sum())
    new = features.Standardised(features.Identity(5)).seen(X)[1].fresh(X[:6])
    np.testing.assert_allclose(new(X), features.Standardised(features.Identity(5)).seen(X[:6])[1](X), atol=1e-12)
    np.testing.assert_array_equal(new.fresh()(X[:1]), np.zeros((1, 5)))


def test_standardised_columns_that_appear():
    map = features.Standardised(features.LinearMap(3, intercept=False))
    Z, map = map.seen(csr_array([[2.0]]))
    np.testing.assert_allclose(Z, [[1, 0, 0]])
    Z, map = map.seen(csr_array([[0.0, 0.0, 3.0]]))
    np.testing.assert_allclose(Z, [[0, 0, math.sqrt(2)]])
    np.testing.assert_allclose(map(csr_array([[2.0]])), [[math.sqrt(2), 0, 0]])  # narrower than what was seen
    assert map.nbytes == 3 * 8


def test_standardised_refuses():
    with pytest.raises(TypeError, match="feature map"):
        features.Standardised(kernels.Gaussian())
    objects = Counting()
    objects.objects = True
    with pytest.raises(TypeError, match="objects"):
        features.Standardised(objects)
    after = features.Standardised(features.Identity()).seen(np.ones((1, 2)))[1]
    with pytest.raises(ValueError, match="one kind"):
        after(csr_array(np.ones((1, 2))))


# ------------------------------------------------------------------ all of them


def test_repr_and_bytes():
    map = features.RandomFourier(kernels.Gaussian(), 8, seed=1)
    assert repr(map) == "RandomFourier(Gaussian(lengthscale=1.0), dim=8, seed=1)"
    assert map.nbytes == 0
    map(np.ones((1, 3)))
    assert map.nbytes == 3 * 4 * 8
    assert copy.deepcopy(map).nbytes == 0
    assert features.Hashing(8).nbytes == 0
    assert repr(features.Standardised(features.Identity(3))) == "Standardised(Identity(width=3))"
    for each in MAPS.values():
        assert repr(each).startswith(type(each).__name__ + "(")
        assert each.fresh() is each or isinstance(each, features.Standardised)

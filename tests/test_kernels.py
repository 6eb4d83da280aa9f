import math
from unittest.mock import patch

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from strategies import KERNELS, rows

from oskaar import checks, kernels
from oskaar.kernels.kept import KeptRows
from oskaar.rows import sparse_inner

LOW, HIGH = (-0.5, 0.0, 0.3), (0.5, 0.0, 9.0)


def cut(x):
    return [min(max(v, low), high) for v, low, high in zip(x, LOW, HIGH)]


ALL = {
    **KERNELS,
    "matern 1/2": (kernels.Matern(0.7, nu=0.5), lambda x, y: naive.matern(x, y, 0.7, 0.5)),
    "matern 3/2": (kernels.Matern(0.7, nu=1.5), lambda x, y: naive.matern(x, y, 0.7, 1.5)),
    "cosine": (kernels.Cosine(), naive.cosine),
    "cubic": (kernels.Polynomial(3, offset=0.5, scale=0.2), lambda x, y: naive.polynomial(x, y, 3, 0.5, 0.2)),
    "within": (
        kernels.Within(kernels.Laplacian(2.0), LOW, HIGH) + kernels.Linear(),
        lambda x, y: naive.laplacian(cut(x), cut(y), 2.0) + naive.linear(x, y),
    ),
    "mixed": (
        2.0 * kernels.Gaussian() * kernels.Linear() + kernels.Cosine(),
        lambda x, y: 2 * naive.gaussian(x, y) * naive.linear(x, y) + naive.cosine(x, y),
    ),
}


@pytest.mark.parametrize("name", ALL)
@given(X=rows(width=3), Y=rows(width=3))
def test_equals_the_definition(name, X, Y):
    """Dense, sparse and mixed rows give k(x, y) pair by pair; diag is the diagonal."""
    kernel, twin = ALL[name]
    X[:, 0] *= X[:, 0] > 0  # some zeros
    expected = naive.gram(twin, X, Y)
    for left in (X, csr_array(X), csr_matrix(X)):
        for right in (Y, csr_array(Y)):
            np.testing.assert_allclose(kernel(left, right), expected, atol=1e-10)
        np.testing.assert_allclose(kernel.diag(left), [twin(x, x) for x in X], atol=1e-10)


@pytest.mark.parametrize("name", ALL)
def test_contract(name, rng):
    X = rng.normal(size=(30, 3))
    X[3] = X[7]
    checks.check_kernel(ALL[name][0], X)
    checks.check_kernel(ALL[name][0], csr_array(X))


@given(st.integers(33, 60))
def test_wide_rows_take_the_product_form(d):
    """Past 32 columns distances come from one matrix product: an offset must not eat the digits."""
    X = np.random.default_rng(d).normal(size=(9, d))
    X[4] = X[2]
    expected = naive.gram(lambda x, y: naive.gaussian(x, y, 5.0), X, X)
    np.testing.assert_allclose(kernels.Gaussian(5.0)(X, X), expected, atol=1e-12)
    np.testing.assert_allclose(kernels.Gaussian(5.0)(X + 1e6, X + 1e6), expected, atol=1e-8)
    assert kernels.Gaussian(5.0)(X, X)[4, 2] == 1.0
    assert kernels.Matern(5.0)(X, X)[4, 2] == 1.0


def test_limits_that_are_none():
    inside = kernels.Within(kernels.Gaussian(), (0.0, -1.0), (1.0, 1.0))
    assert inside([[5.0, 0.0]], [[1.0, 0.0]]).item() == 1.0
    assert inside.kappa == 1.0
    assert repr(inside) == "Within(Gaussian(lengthscale=1.0), 2 features)"
    with pytest.raises(ValueError, match="2 features, as Within has, got 3"):
        inside([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="got 1 lows and 2 highs"):
        kernels.Within(kernels.Gaussian(), (0.0,), (1.0, 1.0))
    for low in (2.0, np.nan):
        with pytest.raises(ValueError, match="each low must be <= its high"):
            kernels.Within(kernels.Gaussian(), (low,), (1.0,))
    with pytest.raises(TypeError, match="rows of numbers"):
        kernels.Within(kernels.Pairwise(lambda x, y: 1.0), (0.0,), (1.0,))


def test_sparse_duplicates_are_at_distance_zero(rng):
    X = csr_array(rng.normal(size=(1, 500)) * (rng.random((1, 500)) < 0.3))
    assert kernels.Matern(1.0, nu=0.5)(X, X)[0, 0] == 1.0


def test_kappa():
    assert kernels.Gaussian().kappa == 1
    assert kernels.Linear().kappa == np.inf
    assert (kernels.Gaussian() + 3.0).kappa == pytest.approx(2.0)
    assert (4.0 * kernels.Cosine()).kappa == pytest.approx(2.0)


def test_equality_and_repr():
    assert kernels.Gaussian(2.0) + 1.0 == kernels.Gaussian(2.0) + 1.0
    assert kernels.Gaussian(2.0) + 1.0 != kernels.Gaussian(2.0) * 1.0
    assert len({kernels.Gaussian(2.0) + 1.0, kernels.Gaussian(2.0) + 1.0}) == 1
    assert repr(1.0 + kernels.Gaussian()) == "Sum(Constant(value=1.0), Gaussian(lengthscale=1.0))"


def test_functions_are_recognised(rng):
    X = rng.normal(size=(4, 3))
    assert isinstance(kernels.as_kernel(lambda X, Y: X @ Y.T, X), kernels.Rowwise)
    assert isinstance(kernels.as_kernel(lambda x, y: float(x @ y), X), kernels.Pairwise)
    assert isinstance(kernels.as_kernel(lambda x, y: len(set(x) & set(y)), ["abc"]), kernels.Pairwise)
    both = kernels.Rowwise(lambda X, Y: X @ Y.T), kernels.Pairwise(lambda x, y: float(x @ y))
    np.testing.assert_allclose(both[0](X, X), both[1](X, X))
    np.testing.assert_allclose(both[0].diag(X), both[1].diag(X))
    with pytest.raises(ValueError, match=r"must give an \(n, m\) matrix"):
        kernels.as_kernel(lambda X, Y: np.zeros(7), X)
    with pytest.raises(TypeError, match="Kernel or a function"):
        kernels.as_kernel(3, X)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kernels.Gaussian(0.0),
        lambda: kernels.Gaussian(np.nan),
        lambda: kernels.Laplacian(-1.0),
        lambda: kernels.Matern(1.0, nu=2.0),
        lambda: kernels.Polynomial(0),
        lambda: kernels.Polynomial(2, offset=-1.0),
        lambda: kernels.Gaussian() + -1.0,
        lambda: -1.0 * kernels.Gaussian(),
        lambda: kernels.Gaussian() + kernels.Pairwise(lambda a, b: 1.0),
    ],
)
def test_what_is_no_kernel_is_refused(make):
    with pytest.raises(ValueError, match=r"must|different inputs"):
        make()


def test_check_kernel_finds_what_is_wrong(rng):
    X = rng.normal(size=(12, 2))

    class Broken(kernels.Kernel):
        def __init__(self, matrix, diagonal=None, kappa=np.inf):
            self.matrix, self.diagonal, self._kappa = matrix, diagonal, kappa

        kappa = property(lambda self: self._kappa)

        def __call__(self, X, Y):
            return self.matrix(np.asarray(X), np.asarray(Y))

        def diag(self, X):
            return np.diagonal(self(X, X)) if self.diagonal is None else self.diagonal(X)

    good = kernels.Gaussian()
    checks.check_kernel(Broken(good, kappa=1.0), X)
    wrong = {
        "positive semidefinite": Broken(lambda X, Y: np.tanh(3 * X @ Y.T - 1)),
        "equal k": Broken(lambda X, Y: good(X, Y) + 0.1 * X[:, :1]),
        "shape": Broken(lambda X, Y: good(X, Y)[:, :1]),
        "diagonal": Broken(good, diagonal=lambda X: np.full(len(X), 2.0)),
        "kappa": Broken(good, kappa=0.5),
        "finite": Broken(lambda X, Y: good(X, Y) * np.nan),
        "other rows": Broken(lambda X, Y: good(X, Y) * len(X)),
    }
    for message, kernel in wrong.items():
        with pytest.raises(checks.CheckFailed, match=message):
            checks.check_kernel(kernel, X)


@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 3), st.integers(0, 2**31))
def test_relevance_is_the_slope_of_the_regression(d, n, p, seed):
    rng = np.random.default_rng(seed)
    U, Phi = rng.integers(-3, 4, size=(n, d)) / 2, rng.normal(size=(n, p))
    weights = kernels.relevance(U, Phi)
    np.testing.assert_allclose(weights, naive.relevance(U, Phi), rtol=1e-8)
    assert weights.sum() == pytest.approx(1.5)
    assert weights.min() >= 0.1 * 1.5 / d - 1e-12


def test_relevance_of_many_rows_uses_some_of_them(rng):
    U = rng.normal(size=(2000, 4))
    weights = kernels.relevance(U, np.sin(2 * U[:, 1:2]))
    assert weights.argmax() == 1
    assert weights[1] > 1.0
    np.testing.assert_array_equal(weights, kernels.relevance(U, np.sin(2 * U[:, 1:2])))


@pytest.mark.parametrize("rows", [np.zeros((0, 2)), np.zeros((3, 2)), np.array([[1.0, 2.0]])])
def test_relevance_where_nothing_can_be_told(rows):
    np.testing.assert_allclose(kernels.relevance(rows, np.ones((len(rows), 1))), [0.75, 0.75])


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=20), st.lists(st.integers(-12, 12), min_size=1, max_size=5))
def test_ranks_are_the_distribution_function(column, values):
    rows = np.array([column, [7.0 * v for v in column]], dtype=float).T
    kernel = kernels.Ranks(kernels.Gaussian(), rows)
    X = np.array([values, [7.0 * v for v in values]], dtype=float).T / 2
    expected = [[naive.ranks(x, c) for x, c in zip(row, rows.T)] for row in X]
    np.testing.assert_allclose(kernel.mapped(X), expected, atol=1e-12)


def test_ranks_do_not_move_with_units(rng):
    rows, X = rng.normal(size=(1000, 3)), rng.normal(size=(50, 3))
    kernel = kernels.Ranks(kernels.Laplacian(), rows)
    scaled = kernels.Ranks(kernels.Laplacian(), rows * 1e150 + 1e140)
    np.testing.assert_allclose(scaled(X * 1e150 + 1e140, X * 1e150 + 1e140), kernel(X, X), atol=1e-9)
    uniform = np.linspace(0.0, 1.0, 1000)[:, None]
    near = kernels.Ranks(kernels.Laplacian(), uniform).mapped(uniform)
    np.testing.assert_allclose(near, math.sqrt(12) * (uniform - 0.5), atol=2e-3)
    checks.check_kernel(kernel, X)
    checks.check_kernel(kernels.Relevance(kernels.Laplacian(), (1.0, 0.5, 0.0)), X)


def test_learned_kernels_that_are_none():
    with pytest.raises(ValueError, match=">= 0, got"):
        kernels.Relevance(kernels.Laplacian(), (1.0, -1.0))
    with pytest.raises(TypeError, match="rows of numbers"):
        kernels.Ranks(kernels.Pairwise(lambda x, y: 1.0), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="2 features, as Ranks has, got 1"):
        kernels.Ranks(kernels.Laplacian(), np.zeros((2, 2))).mapped([[1.0]])


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 9), st.integers(0, 10**6))
def test_sparse_products_are_those_of_scipy(n, m, width, seed):
    """Rows with empty ones and with entries that come twice among them, laid out or not."""
    rng = np.random.default_rng(seed)

    def rows(count):
        sizes = rng.integers(0, 4, size=count)
        entries = rng.integers(0, width, size=sizes.sum())
        return csr_array((rng.normal(size=sizes.sum()), entries, np.append(0, np.cumsum(sizes))), (count, width))

    X, Y = rows(n), rows(m)
    product = X.toarray() @ Y.toarray().T
    np.testing.assert_allclose(sparse_inner(X, Y), product, atol=1e-12)
    with patch("oskaar.rows.MOST_SCATTERED", 0):
        np.testing.assert_allclose(sparse_inner(X, Y), product, atol=1e-12)


@pytest.mark.parametrize("name", [*ALL, "scaled"])
@given(X=rows(width=3), Y=rows(width=3))
def test_against_rows_that_stay(name, X, Y):
    """To the last bit: what depends on Y alone is only computed earlier."""
    scaled = kernels.Scaled(kernels.Gaussian() + 0.1 * kernels.Linear(), (0.5, 0.0, 1.0), (2.0, 1.0, 0.1)) + 1.0
    kernel = ALL[name][0] if name in ALL else scaled
    values = kernel.over(KeptRows(lambda: Y)).values
    assert np.array_equal(kernels.gram(kernel, X, Y, values), kernel(X, Y))

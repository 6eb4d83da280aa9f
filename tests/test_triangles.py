"""Triangular factors against numpy's, for arrays in every order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar.solvers.triangles import divide, factor, root, unit_root


def written(order, *shape):
    """An array to write to: contiguous rows, contiguous columns, or neither."""
    return np.full((*shape, 2), np.nan)[..., 0] if order == "strided" else np.full(shape, np.nan, order=order)


ORDERS = st.sampled_from(["C", "F", "strided"])


@given(st.integers(0, 2**32), st.integers(0, 9), st.sampled_from([1e-3, 1.0, 50.0]), ORDERS)
def test_factor_is_cholesky(seed, n, lam, order):
    Z, A = np.random.default_rng(seed).normal(size=(3, n)), written(order, n, n)
    A[:] = Z.T @ Z
    before = A.copy()
    np.testing.assert_allclose(factor(A, lam), np.linalg.cholesky(A + lam * np.eye(n)), atol=1e-10)
    np.testing.assert_array_equal(A, before)


def test_factor_of_what_rounding_takes_for_singular():
    a = np.array([[1.0], [2.0], [3.0]]) * 1e8
    F = factor(a @ a.T, 1e-12)
    np.testing.assert_allclose(F @ F.T, a @ a.T, rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        factor(-9.0 * np.eye(3), 1.0)


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 4), st.sampled_from("CF"), ORDERS)
def test_divide_reads_the_lower_triangle_only(seed, n, p, order, rows):
    rng = np.random.default_rng(seed)
    F = np.asarray(rng.normal(size=(n, n)) + 5 * n * np.eye(n), order=order)
    B, C = rng.normal(size=(n, p)), written(rows, n, p)
    C[:] = B
    divide(F, C)
    np.testing.assert_allclose(C, np.linalg.solve(np.tril(F), B), atol=1e-12)


@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(0, 3))
def test_roots(seed, n, m):
    rng = np.random.default_rng(seed)
    U = rng.normal(size=(n, 5))
    W = U @ np.linalg.qr(rng.normal(size=(5, 5)))[0][:, :m]  # of a projection: U U^T - W W^T is not negative
    np.testing.assert_allclose(root(U, W), np.linalg.cholesky(np.eye(n) + U @ U.T - W @ W.T), atol=1e-10)
    S = np.asfortranarray(U @ U.T)
    above, R = np.triu(S, 1), unit_root(S)
    np.testing.assert_allclose(np.tril(R), np.linalg.cholesky(np.eye(n) + U @ U.T), atol=1e-10)
    np.testing.assert_array_equal(np.triu(R, 1), above)

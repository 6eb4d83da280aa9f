import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar.arrays import Growing
from oskaar.solvers.cholesky import PanelCholesky


@given(st.integers(1, 7), st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_grown_equals_whole(panel, steps, seed):
    """However the rows come in, and wherever panels end, L is LAPACK's and so are its solves."""
    rng = np.random.default_rng(seed)
    n = sum(steps)
    A = rng.normal(size=(n, n))
    L = np.linalg.cholesky(A @ A.T + n * np.eye(n))
    factor = PanelCholesky(panel)
    start = 0
    for m in steps:
        factor.append(L[start : start + m, :start], L[start : start + m, start : start + m])
        start += m
        B, b, k = rng.normal(size=(start, 3)), rng.normal(size=start), rng.integers(1, start + 1)
        top = L[:start, :start]
        np.testing.assert_allclose(factor.forward(B.T), np.linalg.solve(top, B).T, atol=1e-9)
        np.testing.assert_allclose(factor.forward(b), np.linalg.solve(top, b), atol=1e-9)
        np.testing.assert_allclose(factor.backward(B.T), np.linalg.solve(top.T, B).T, atol=1e-9)
        np.testing.assert_allclose(factor.backward(b), np.linalg.solve(top.T, b), atol=1e-9)
        np.testing.assert_allclose(factor.forward(b[:k]), np.linalg.solve(L[:k, :k], b[:k]), atol=1e-9)
        np.testing.assert_allclose(factor.backward(b[:k]), np.linalg.solve(L[:k, :k].T, b[:k]), atol=1e-9)
        np.testing.assert_array_equal(factor.diagonal(), np.diagonal(top))
    for lo in range(n):
        np.testing.assert_array_equal(factor.rows(lo, n), L[lo:n])


def test_empty_factor():
    factor = PanelCholesky()
    assert factor.forward(np.zeros(0)).shape == (0,)
    assert factor.backward(np.zeros((4, 0))).shape == (4, 0)
    assert factor.diagonal().shape == (0,)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8))
def test_growing_pads_with_zeros(shapes):
    grown, rows, width = Growing(0), [], 0
    for i, (n, p) in enumerate(shapes):
        block = np.full((n, p), i + 1.0)
        grown.append(block)
        width = max(width, p)
        rows += list(block)
    expected = np.array([np.pad(r, (0, width - len(r))) for r in rows]).reshape(len(rows), width)
    np.testing.assert_array_equal(grown.view, expected)


def test_memory_is_that_of_a_triangle():
    n = 2000
    factor = PanelCholesky()
    for lo in range(0, n, 100):
        factor.append(np.zeros((100, lo)), np.eye(100))
    held = sum(P.nbytes for P in factor.panels) + sum(D.nbytes for D in factor.corners)
    assert held == pytest.approx(8 * n * n / 2, rel=0.2)

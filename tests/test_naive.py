"""The naive twins themselves: what they return is the minimum that the paper asks for."""

import ast
from pathlib import Path

import naive
import numpy as np
import pytest


@pytest.mark.parametrize("shifted", [False, True])
def test_argmin_is_the_argmin(rng, shifted):
    """No other theta has a smaller objective, and the objective is the paper's, in g and its RKHS norm."""
    X, Phi, G = rng.normal(size=(6, 2)), rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    K, past, now = naive.gram(naive.gaussian, X, X), np.arange(4), np.arange(4, 6)
    Z = naive.coordinates(K)
    squares = naive.shifted_squares(6, past, now, Phi, G) if shifted else naive.kaar_squares(6, past, now, Phi)
    theta = naive.argmin(Z, *squares, 0.3)
    best = naive.objective(Z, theta, *squares, 0.3)
    for _ in range(200):
        other = theta + rng.normal(size=theta.shape) * 10.0 ** rng.integers(-4, 1)
        assert naive.objective(Z, other, *squares, 0.3) > best
        g, a = Z @ other, np.linalg.solve(K, Z @ other)
        norm = np.trace(a.T @ K @ a)
        if shifted:
            printed = ((g[:4] / 2 + G / 2 - Phi) ** 2).sum() + 0.3 * norm + (g[4:] ** 2).sum() / 4
        else:
            printed = ((g[:4] - Phi) ** 2).sum() + 0.3 * norm + (g[4:] ** 2).sum()
        assert naive.objective(Z, other, *squares, 0.3) == pytest.approx(printed, rel=1e-6)


def test_rows_that_no_term_sees_change_nothing(rng):
    """The same g from a larger span: what lets a twin ask for values at fresh rows."""
    X, Phi = rng.normal(size=(7, 2)), rng.normal(size=(4, 3))
    K = naive.gram(naive.gaussian, X, X)
    values = []
    for rows in (7, 5):
        Z = naive.coordinates(K[:rows, :rows])
        theta = naive.argmin(Z, *naive.kaar_squares(rows, np.arange(4), np.arange(4, 5), Phi), 0.3)
        values.append((Z @ theta)[:5])
    np.testing.assert_allclose(*values, atol=1e-12)


def test_many_experts_at_once_are_one_at_a_time(rng):
    X, Phi, G = rng.normal(size=(9, 2)), rng.normal(size=(9, 3)), rng.normal(size=(9, 3))
    K, now = naive.gram(naive.gaussian, X, X), np.arange(7, 9)
    for mixture in (None, G):
        for s, g in enumerate(naive.experts(K, Phi, range(8), 7, 9, 0.3, mixture)):
            past = np.arange(s, 7)
            one = naive.expert(K, Phi, past, now, 0.3) if mixture is None else None
            one = naive.shifted_expert(K, Phi, G, past, now, 0.3) if one is None else one
            np.testing.assert_allclose(g, one, atol=1e-12)


def test_nothing_comes_from_the_package():
    tree = ast.parse((Path(__file__).parent / "naive.py").read_text(encoding="utf-8"))
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.startswith("oskaar")]


def test_nearest_distribution_is_nearest(rng):
    for _ in range(50):
        v = rng.normal(size=4)
        found = naive.nearest_distribution(v)
        assert found.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(4), size=200)
        assert ((found - v) ** 2).sum() <= ((others - v) ** 2).sum(axis=1).min()


def test_f_beta_is_the_textbook_formula():
    assert naive.f_beta_loss({0, 1, 2}, {2, 3}) == 1 - 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)
    assert naive.f_beta_loss(set(), set()) == 0
    assert naive.f_beta_loss({1}, set()) == 1

"""The naive twins themselves: what they return is the minimum that the paper asks for."""

import naive


def test_kaar_is_the_argmin(rng):
    X, Phi = rng.normal(size=(6, 2)), rng.normal(size=(4, 3))
    K = naive.gram(naive.gaussian, X, X)
    a = naive.kaar_coefficients(K, Phi, 0.3, hedged=2)
    best = naive.kaar_objective(K, a, Phi, 0.3, hedged=2)
    for _ in range(200):
        other = a + rng.normal(size=a.shape) * 10.0 ** rng.integers(-4, 1)
        assert naive.kaar_objective(K, other, Phi, 0.3, hedged=2) > best


def test_f_beta_is_the_textbook_formula():
    assert naive.f_beta_loss({0, 1, 2}, {2, 3}) == 1 - 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)
    assert naive.f_beta_loss(set(), set()) == 0
    assert naive.f_beta_loss({1}, set()) == 1

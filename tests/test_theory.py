"""Every bound against numbers worked out by hand, and every inequality against matrices."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import KERNELS, lams, rows

from oskaar import kernels, theory
from oskaar.theory import Capacity

E = math.e


def log_e(x):
    """log(e + e x), as printed."""
    return math.log(E + E * x)


@pytest.fixture
def spectrum():
    """A kernel matrix with eigenvalues 4, 1, 1/4."""
    Q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    return Q @ np.diag([4.0, 1.0, 0.25]) @ Q.T


# ------------------------------------------------------------------ dimension


def test_effective_dimension_by_hand(spectrum):
    by_hand = Fraction(4, 6) + Fraction(1, 3) + Fraction(1, 4) / (Fraction(1, 4) + 2)
    assert theory.effective_dimension(spectrum, 2.0) == pytest.approx(float(by_hand), abs=1e-12)
    assert theory.log_determinant(spectrum, 2.0) == pytest.approx(math.log(3 * 1.5 * 1.125), abs=1e-12)
    assert theory.effective_dimension(np.zeros((0, 0)), 1.0) == 0.0


def test_interval_is_the_middle_block():
    K = np.diag([1.0, 2.0, 3.0, 4.0])
    K[0, 3] = K[3, 0] = 1.0
    assert theory.interval_effective_dimension(K, 1.0, 1, 3) == pytest.approx(2 / 3 + 3 / 4)
    assert theory.interval_effective_dimension(K, 1.0, 2, 2) == 0.0
    with pytest.raises(ValueError, match="start <= stop"):
        theory.interval_effective_dimension(K, 1.0, 3, 5)


@given(rows(max_rounds=12), lams(), st.sampled_from(["gaussian", "intercept", "matern", "laplacian"]))
def test_sandwich(X, lam, name):
    """d_eff <= sum of hedged leverages <= log det <= log factor times d_eff, and d_eff <= kappa^2 T / lam."""
    kernel = KERNELS[name][0]
    K = kernel(X, X) if len(X) else np.zeros((0, 0))
    d, leverages = theory.effective_dimension(K, lam), theory.online_leverages(K, lam).sum()
    logdet = theory.log_determinant(K, lam)
    assert d <= leverages + 1e-8
    assert leverages <= logdet + 1e-8
    assert logdet <= theory.log_factor(len(X), kernel.kappa, lam) * d + 1e-8
    assert d <= theory.dimension_bound(len(X), kernel.kappa, lam) + 1e-8


def test_leverages_by_hand():
    """Row t of t equal rows: C_t has one eigenvalue t, so l_t = 1 / (t + lam)."""
    np.testing.assert_allclose(theory.online_leverages(np.ones((4, 4)), 0.5), [1 / (t + 0.5) for t in (1, 2, 3, 4)])


@given(rows(max_rounds=25, width=2), lams(), st.sampled_from([1e-6, 0.05, 0.5]), st.integers(1, 6))
def test_sketch_holds_the_truth(X, lam, tolerance, most):
    """The bar holds for all rows and for those since a mark, however coarse the dictionary is."""
    kernel = kernels.Gaussian(0.8) + 1.0
    sketch = theory.DimensionSketch(kernel, lam, tolerance, most)
    half = len(X) // 2
    sketch.add(X[:half])
    mark = sketch.mark()
    sketch.add(X[half:])
    K = kernel(X, X) if len(X) else np.zeros((0, 0))
    for found, start in ((sketch.estimate(), 0), (sketch.since(mark), half)):
        exact = theory.interval_effective_dimension(K, lam, start, len(X))
        assert found.low - 1e-7 <= exact <= found.high + 1e-7


def test_sketch_is_sharp_where_the_kernel_is_smooth(rng):
    X = rng.uniform(-1, 1, size=(300, 2))
    kernel = kernels.Gaussian(1.0)
    sketch = theory.DimensionSketch(kernel, lam=1.0, tolerance=1e-9)
    sketch.add(X)
    found = sketch.estimate()
    assert len(sketch.L) < 80
    assert found.high - found.low < 0.05
    assert found.low <= theory.effective_dimension(kernel(X, X), 1.0) <= found.high


# ------------------------------------------------------------------ capacity


def test_polynomial_capacity_and_the_printed_slip():
    """Eigenvalues T j^-2: sum_j 1 / (1 + j^2 lam / T) passes the printed Q = c = 1, and stays below pi / 2."""
    T, lam = 1000, 1.0
    K = T * np.diag(1.0 / np.arange(1, T + 1) ** 2)
    capacity = theory.polynomial_capacity(1.0, 2.0)
    assert pytest.approx(math.pi / 2) == capacity.Q
    assert capacity.beta == 0.5
    d = theory.effective_dimension(K, lam)
    assert math.sqrt(T / lam) < d <= capacity.dimension(T, lam)
    assert d > 0.9 * capacity.dimension(T, lam)


@given(rows(max_rounds=15, width=2), st.sampled_from([None, 0.0, 0.3, 1.0]))
def test_fitted_capacity_holds_for_all_lam(X, beta):
    if len(X) < 2:
        return
    K = kernels.Matern(1.0, nu=0.5)(X, X)
    capacity = theory.fit_capacity(K, beta)
    values = np.linalg.eigvalsh(K)
    least = values[values > 0].min()  # rounding may make one of an eigenvalue that is 0
    grid = np.geomspace(min(1e-8, 1e-3 * least), 1e8, 997)
    dimensions = np.array([np.sum(values / (values + lam)) for lam in grid])
    assert np.all(dimensions <= [capacity.dimension(len(X), lam) * (1 + 1e-6) for lam in grid])
    if beta is not None:
        tight = np.max(dimensions * (grid / len(X)) ** beta)
        assert 1.02 * tight >= capacity.Q


@pytest.mark.parametrize("beta", [0.0, 0.05, 0.5, 1.0, None])
@pytest.mark.parametrize("values", [[1.0, 1e-20], [5.0, 1e-3, 1e-14, 1e-30], [1.0] * 4, [1e12, 1.0], [1e-60, 1e-61]])
def test_a_capacity_holds_below_the_smallest_eigenvalue(values, beta):
    """At every lam, however small: no eigenvalue > 0 is left out."""
    capacity = theory.fit_capacity(np.diag(values), beta)
    for lam in np.geomspace(1e-80, 1e30, 700):
        d_eff = sum(v / (v + lam) for v in values)
        assert d_eff <= capacity.dimension(len(values), lam) * (1 + 1e-9)


def test_fit_finds_the_exponent():
    """Eigenvalues T j^-3 have beta = 1/3."""
    T = 2000
    capacity = theory.fit_capacity(T * np.diag(1.0 / np.arange(1, T + 1) ** 3.0))
    assert capacity.beta == pytest.approx(1 / 3, abs=0.06)


def test_capacity_pieces_by_hand():
    assert Capacity(2.0, 0.5).pieces(T=100, lam=4.0, m=9) == 2 * 3 * 5
    assert Capacity(2.0, 1.0).pieces(T=100, lam=4.0, m=9) == 50


@given(rows(max_rounds=25, width=2), st.sampled_from([0.01, 1.0, 20.0]), st.sampled_from([0.7, 2.0]))
def test_gaussian_dimension(X, lam, lengthscale):
    if not len(X):
        return
    K = kernels.Gaussian(lengthscale)(X, X)
    radius = np.linalg.norm(X, axis=1).max()
    bound = theory.gaussian_dimension_bound(len(X), lam, 2, radius, lengthscale)
    assert theory.effective_dimension(K, lam) <= bound + 1e-9


def test_gaussian_dimension_by_hand():
    """width 1, rho = 1, T / lam = 10: rank M, and a tail P(Poisson(1) >= M) that is 1 - 2.5 / e for M = 3."""
    by_hand = min(M + 10 * (1 - total / E) for M, total in ((3, 2.5), (4, 2.5 + 1 / 6), (2, 2.0)))
    assert theory.gaussian_dimension_bound(10, 1.0, 1, 1.0, 1.0) == pytest.approx(by_hand, abs=1e-9)


def test_printed_gaussian_dimension_is_too_small():
    """(log(T / lam))^d at T = lam is 0, and d_eff is not."""
    assert theory.effective_dimension(np.ones((10, 10)), 10.0) == pytest.approx(0.5)


# ------------------------------------------------------------------ bounds by hand


def test_stationary_bounds_by_hand():
    """T = 9, c = 1/3, kappa = 2, lam = 3, d_eff = 5, fit = 7."""
    surrogate = 5 * log_e(12.0) + 7
    assert theory.kaar_bound(9, 2.0, 3.0, 5.0, 7.0) == pytest.approx(surrogate)
    assert theory.kaar_bound(9, 2.0, 3.0, 5.0, 7.0, B=3.0) == pytest.approx(45 * log_e(12.0) + 7)
    assert theory.oskaar_bound(9, 1 / 3, 2.0, 3.0, 5.0, 7.0) == pytest.approx(2 * math.sqrt(surrogate))
    expected = theory.expected_oskaar_bound(9, 1 / 3, 2.0, 3.0, 5.0, norm=1.0, misfit=4.0)
    assert expected == pytest.approx(2 * math.sqrt(surrogate))
    corollary = theory.expected_oskaar_corollary(16, 0.5, 2.0, 3.0)
    assert corollary == pytest.approx(8 * math.sqrt(4 * log_e(16.0) + 9))


def test_high_probability_bounds_by_hand():
    """T = 16, c = 1/2, kappa = 2, sup = 1: B = 4, gamma = 72; lam = 4, d_eff(16) = 3, |g*| = 1, delta = e^-2."""
    surrogate = 4 * 3 * log_e(4.0) + 4
    assert theory.shifted_kaar_bound(16, 2.0, 4.0, 3.0, 4.0, 4.0) == pytest.approx(surrogate)
    risk = 2 * surrogate + 2 * 72 * 2
    arguments = {"norm": 1.0, "sup_norm": 1.0, "delta": E**-2}
    cumulative = theory.cumulative_risk_bound(16, 0.5, 2.0, 4.0, 3.0, **arguments)
    assert cumulative == pytest.approx(4 * math.sqrt(risk))
    excess = theory.excess_risk_bound(16, 0.5, 2.0, **arguments, lam=4.0, d_eff=3.0)
    assert excess == pytest.approx(math.sqrt(risk) / 4)
    average = theory.average_cumulative_risk_bound(16, 0.5, 2.0, **arguments)
    by_hand = math.sqrt(16 * 4 / 8 * log_e(4.0) + 2) / 2 + math.sqrt(2 * 72 * 2) / 4
    assert average == pytest.approx(by_hand)
    assert theory.excess_risk_bound(16, 0.5, 2.0, **arguments) <= average
    misfit = theory.excess_risk_bound(16, 0.5, 2.0, **arguments, lam=4.0, d_eff=3.0, misfit=0.7)
    assert misfit == pytest.approx(math.sqrt(risk / 16 + 0.7))


def test_data_dependent_bounds_by_hand():
    """The same with B = 4 observed: 4 in place of 2 gamma = 144; then 4 / (1 - 1/e) for the ball of reach 2."""
    regret = 4 * 3 * log_e(4.0) + 4
    assert theory.shifted_kaar_regret(16, 2.0, 4.0, 3.0, 1.0, 4.0) == pytest.approx(regret)
    assert theory.feature_risk_bound(regret, E**-2, misfit=1.0) == pytest.approx(2 * regret + 8 + 1)
    arguments = {"norm": 1.0, "largest_target": 4.0, "delta": E**-2}
    cumulative = theory.data_dependent_cumulative_risk_bound(16, 0.5, 2.0, 4.0, 3.0, **arguments, misfit=1.0)
    assert cumulative == pytest.approx(4 * math.sqrt(2 * regret + 9))
    excess = theory.data_dependent_excess_risk_bound(16, 0.5, 2.0, 4.0, 3.0, **arguments, reach=2.0)
    assert excess == pytest.approx(math.sqrt(4 / (1 - 1 / E) * (regret / 2 + 2) / 16))


def test_remarks_by_hand():
    """T = 16, kappa = 2, |g*| = 4: lam = 1, d_eff <= 64."""
    realisable = theory.realisable_oskaar_bound(16, 0.5, 2.0, 4.0)
    assert realisable == pytest.approx(4 * math.sqrt(64 * log_e(64.0) + 16))
    assert realisable == pytest.approx(8 * math.sqrt(4 * (4 * log_e(4 * 4 * 4.0) + 1)))  # the same, as printed
    assert theory.nystrom_cost(2.0, 1.0) == math.inf
    assert theory.batch_comparison_bound(1.5, 4.0) == 6.0
    assert theory.batch_rate(81, E**-3) == pytest.approx(1.0)


def test_unknown_drift_is_the_best_m():
    """min over m of R_T(T^(1/3), m), by enumeration; V_G^(1/4) T^(5/6) up to logarithms."""
    for T, V_G, norm in ((50, 0.0, 1.0), (200, 3.0, 1.5), (1000, 400.0, 0.5), (27, 1e6, 1.0)):
        lam = T ** (1 / 3)
        every = [
            theory.dynamic_regret(T, lam, m, 1.5, 1 / 8, 1.5**2 * T / lam, norm, V_G, kinds=2, sup_value=1.2)
            for m in range(1, T + 2)
        ]
        found = theory.salami_unknown_drift_bound(T, 0.5, 1.5, V_G, norm, kinds=2, sup_value=1.2, misfit=3.0)
        assert found == pytest.approx(math.sqrt(T * (min(every) + 3)))
    bounds = [theory.salami_unknown_drift_bound(T, 0.5, 1, 1, 1) for T in (10**16, 10**14)]
    assert math.log(bounds[0] / bounds[1]) / math.log(100) == pytest.approx(5 / 6, abs=0.02)
    bounds = [theory.salami_unknown_drift_bound(10**14, 0.5, 1, V, 1) for V in (10**6, 10**4)]
    assert math.log(bounds[0] / bounds[1]) / math.log(100) == pytest.approx(1 / 4, abs=0.02)


def test_prescriptions_by_hand():
    assert theory.salami_eta(2.0, 1.0) == 1 / 18
    assert theory.loss_range(2.0, 1.0) == 18
    assert theory.gamma(2.0, 1.0) == 72
    assert theory.target_bound(2.0, 1.5) == 5
    assert theory.drift_pieces(1000, 8.0, 1.0) == 40  # 4 * 10
    assert theory.drift_pieces(1000, 8.0, 8.0) == 10
    assert theory.drift_pieces(1001, 8.0, 8.0) == 11
    assert theory.drift_pieces(100, 4.0, 1.0, beta=0.0) == 20  # sqrt(4) sqrt(100)
    assert theory.drift_lam(1000, 10, beta=0.0) == 1.0
    assert theory.drift_lam(80, 10, beta=0.5) == pytest.approx(2.0)
    assert theory.gaussian_pieces(100, 3.0, 2.0) == 10
    assert theory.gaussian_pieces(100, 0.0, 2.0) == 1


def test_dynamic_regret_by_hand():
    """T = 16, lam = 2, m = 3, kappa = 2, eta = 1/8, d_eff = 5, |g*| = 3, V_G = 6."""
    mixture = 3 * math.log(16) * 8
    stationary = 5 * log_e(32.0) + 2 * 3 * 9
    printed = theory.dynamic_regret(16, 2.0, 3, 2.0, 1 / 8, 5.0, 3.0, 6.0, sup_value=1.0)
    assert printed == pytest.approx(mixture + stationary + 4 * 2 * 6 * 16 / 3)
    proved = theory.dynamic_regret(16, 2.0, 3, 2.0, 1 / 8, 5.0, 3.0, 6.0)  # kappa norm = 6
    assert proved == pytest.approx(mixture + stationary + 14 * 2 * 6 * 16 / 3)
    looser = theory.dynamic_regret(16, 2.0, 3, 2.0, 1 / 8, 5.0, 3.0, 6.0, sup_value=6.0, kinds=2)
    assert looser == pytest.approx(3 * math.log(32) * 8 + stationary + 14 * 2 * 6 * 16 / 3)
    assert theory.abrupt_regret(16, 2.0, 3, 2.0, 1 / 8, 5.0, 27.0) == pytest.approx(mixture + stationary)
    shifted = mixture + 16 * 5 * log_e(8.0) + 2 * 3 * 9  # B = 8
    assert theory.shifted_abrupt_regret(16, 2.0, 3, 2.0, 1 / 8, 5.0, 27.0, sup_norm=3.0) == pytest.approx(shifted)
    drifting = theory.shifted_dynamic_regret(16, 2.0, 3, 2.0, 1 / 8, 5.0, 3.0, 6.0, sup_norm=3.0)
    assert drifting == pytest.approx(shifted + 7 * 2 * 6 * 16 / 3)


def test_salami_bounds_are_below_the_printed_ones():
    """The paper bounds the rounding of m; with kappa = 1 its last lines are above ours, by less than 40%."""
    for T, V in ((1000, 1.0), (5000, 7.3), (200, 30.0)):
        m, norm, eta = math.ceil(V ** (2 / 3) * T ** (1 / 3)), 1.5, 1 / 8
        root = math.sqrt(V ** (2 / 3) * T ** (4 / 3) + T)
        regret = m * math.log(T) / eta + 4 * V ** (1 / 3) * T ** (2 / 3) + root * (log_e(root) + norm**2)
        printed = math.sqrt(T * regret)
        ours = theory.salami_drift_bound(T, 0.5, 1.0, V, norm, eta, sup_value=1.0)
        assert printed / 1.4 <= ours <= printed
        assert ours < theory.salami_drift_bound(T, 0.5, 1.0, V, norm, eta)
    T, V_0 = 400, 4
    by_hand = math.sqrt(T) * math.sqrt(V_0 * math.log(T) * 8 + 40 * (log_e(40.0) + 2.25))
    assert theory.salami_abrupt_bound(T, 0.5, 1.0, V_0, 1.5) == pytest.approx(by_hand)
    high = math.sqrt(2 * T) * math.sqrt(V_0 * math.log(T) * 18 + 16 * 40 / 16 * log_e(10.0) + 90 + 72 * 2 + 3.5)
    found = theory.shifted_salami_abrupt_bound(T, 0.5, 1.0, V_0, 1.5, sup_norm=2.0, delta=E**-2, misfit=7.0)
    assert found == pytest.approx(high)  # eta = 1/18, B = 4, gamma = 72
    with_eta = theory.shifted_salami_abrupt_bound(T, 0.5, 1.0, V_0, 1.5, 2.0, E**-2, eta=1 / 18, misfit=7.0)
    assert found == with_eta


def test_refined_bounds_by_hand():
    """T = 100, beta = 0, Q = 3, V = 4, kappa = 1: m = 20, lam = 1, sum of d_eff = 60."""
    room = Capacity(3.0, 0.0)
    regret = 20 * math.log(100) * 8 + 60 * log_e(100.0) + 20 * 4.0 + 6 * 4 * 100 / 20
    found = theory.salami_drift_bound(100, 0.5, 1.0, 4.0, 2.0, capacity=room, misfit=11.0)
    assert found == pytest.approx(10 * math.sqrt(regret + 11))
    shifted = 20 * math.log(100) * 18 + 16 / 4 * 60 * log_e(25.0) + 20 * 4.0 + 3 * 4 * 100 / 20  # eta = 1/18, B = 4
    found = theory.shifted_salami_drift_bound(100, 0.5, 1.0, 4.0, 2.0, 2.0, 1.0, capacity=room, misfit=11.0)
    assert found == pytest.approx(10 * math.sqrt(2 * shifted + 11))
    gaussian = 10 * math.log(100) * 8 + 70 * log_e(100.0) + 10 * 4.0 + 6 * 2 * 100 / 10
    found = theory.salami_gaussian_bound(100, 0.5, 1.0, 2.0, 2.0, lam=1.0, d_eff=7.0, misfit=11.0)
    assert found == pytest.approx(10 * math.sqrt(gaussian + 11))


@pytest.mark.parametrize(("beta", "exponent"), [(1.0, 5 / 6), (0.5, 0.8), (0.0, 0.75)])
def test_rates_in_T(beta, exponent):
    """T^((2 beta + 3) / (2 (beta + 2))), up to logarithms."""
    bounds = [theory.salami_drift_bound(T, 0.5, 1, 1, 1, capacity=Capacity(1.0, beta)) for T in (10**16, 10**14)]
    assert math.log(bounds[0] / bounds[1]) / math.log(100) == pytest.approx(exponent, abs=0.02)


def test_expected_bounds_are_false_against_the_label_seen():
    """A fair coin at one x: g* = 0 fits E[phi], yet every answer misses half of the labels. See docs/errata.md, 1."""
    T = 2000
    printed = theory.expected_oskaar_corollary(T, c_delta=0.5, kappa=1.0, norm=0.0)
    assert printed < T / 2


# ------------------------------------------------------------------ variations


@given(st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.0]), max_size=20), st.integers(1, 8))
def test_pieces_vary_little(steps, m):
    """At most m intervals, none of which varies by more than V_G / m inside."""
    starts = theory.pieces(steps, m)
    assert len(starts) <= m
    ends = [*starts[1:], len(steps) + 2]
    V_G = theory.variations(0.0, steps)[1]
    for lo, hi in zip(starts, ends):
        assert sum(steps[t - 2] for t in range(lo + 1, hi)) <= V_G / m + 1e-9


def test_interval_means_are_the_argmin(rng):
    """g_bar_i is the least-squares fit of a constant to the g*_t of its interval."""
    G, starts = rng.normal(size=(9, 2, 3)), [1, 4, 5]
    means = theory.interval_means(G, starts)
    for (lo, hi), mean in zip(((0, 3), (3, 4), (4, 9)), means, strict=True):
        fit = np.linalg.lstsq(np.ones((hi - lo, 1)), G[lo:hi].reshape(hi - lo, -1), rcond=None)[0]
        np.testing.assert_allclose(mean.ravel(), fit[0], atol=1e-12)


def test_no_default_is_unproved():
    """sup_value is kappa norm, and Algorithm 3's eta is that of sup_norm: the parent of both was a constant."""
    for norm in (0.3, 1.0, 4.0):
        default = theory.salami_drift_bound(100, 0.5, 2.0, 3.0, norm)
        assert default == theory.salami_drift_bound(100, 0.5, 2.0, 3.0, norm, sup_value=2.0 * norm)
        default = theory.salami_gaussian_bound(100, 0.5, 2.0, 3.0, norm, 1.0, 5.0)
        assert default == theory.salami_gaussian_bound(100, 0.5, 2.0, 3.0, norm, 1.0, 5.0, sup_value=2.0 * norm)
        eta = theory.salami_eta(2.0, norm)
        default = theory.shifted_salami_drift_bound(100, 0.5, 2.0, 3.0, norm, norm, 0.1)
        assert default == theory.shifted_salami_drift_bound(100, 0.5, 2.0, 3.0, norm, norm, 0.1, eta=eta)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.effective_dimension(np.eye(2), 0.0), "lam must be finite and > 0"),
        (lambda: theory.effective_dimension(np.ones(3), 1.0), "square"),
        (lambda: theory.excess_risk_bound(9, 1, 1, 1, 1, delta=0.0), "delta must be in"),
        (lambda: Capacity(1.0, 1.5), "beta must be in"),
        (lambda: theory.polynomial_capacity(1.0, 1.0), "mu must be finite and > 1"),
        (lambda: theory.variations(1.0, [-1.0]), "steps must be"),
        (lambda: theory.abrupt_lam(10, 0), "V_0 must be"),
        (lambda: theory.mixture_regret(3, 0.0), "eta must be"),
        (lambda: theory.cumulative_risk_bound(9, 1, 1, 1, 1, 2.0, 1.0, 0.1), "norm must be at most sup_norm"),
        (lambda: theory.average_cumulative_risk_bound(9, 1, 1, 2.0, 1.0, 0.1), "norm must be at most sup_norm"),
        (lambda: theory.excess_risk_bound(9, 1, 1, 2.0, 1.0, 0.1), "norm must be at most sup_norm"),
        (lambda: theory.shifted_salami_abrupt_bound(9, 1, 1, 2, 2.0, 1.0, 0.1), "norm must be at most sup_norm"),
        (lambda: theory.shifted_salami_drift_bound(9, 1, 1, 2.0, 2.0, 1.0, 0.1), "norm must be at most sup_norm"),
        (lambda: theory.shifted_abrupt_regret(9, 1, 2, 1, 1, 1, 8.0, 1.0), "norm must be at most sup_norm"),
        (lambda: theory.interval_means(np.ones(3), [1, 4]), "starts must rise"),
        (lambda: theory.interval_means(np.ones(3), [2]), "starts must rise"),
        (lambda: theory.geometric_cover(5, 4), "last must be finite and >= 5"),
        (lambda: theory.data_dependent_excess_risk_bound(9, 1, 1, 1, 1, 1, 1, 0.1, reach=0.0), "reach must be"),
        (lambda: theory.feature_risk_bound(1.0, 0.1, misfit=-1.0), "misfit must be"),
    ],
)
def test_bad_numbers_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_sketch_error_by_hand():
    """One row kept, (1, 0); the next, (3, 4), has |z| = 3 and r = 4: the bar is (2 * 3 * 4 + 16) / lam."""
    sketch = theory.DimensionSketch(kernels.Linear(), lam=100.0, most=1)
    sketch.add(np.array([[1.0, 0.0], [3.0, 4.0]]))
    found = sketch.estimate()
    assert found.value == pytest.approx(10 / 110)
    assert found.high == pytest.approx(10 / 110 + 40 / 100)


def test_polynomial_capacity_by_hand():
    assert pytest.approx(3 * math.pi / 2) == theory.polynomial_capacity(9.0, 2.0).Q

r"""OSKAAR: the comparison inequalities and the regret on any data, and in expectation; batch estimators.

The regret of the first two results is R_T = sum_t Delta(z_t, y_t) - min_z Delta(z, y_t). Those in expectation hold
for a baseline f*_t(x_t) that does not depend on y_t, such as the Bayes answer argmin_z E[Delta(z, y_t) | past, x_t];
with min_z Delta(z, y_t) they are false (docs/errata.md, 1).
"""

from __future__ import annotations

import math

from oskaar.requirements import require_exponent, require_numbers, require_probability
from oskaar.theory.dimension import dimension_bound, log_factor
from oskaar.theory.prescriptions import realisable_lam, stationary_lam


def comparison_bound(rounds: int, c_delta: float, surrogate_loss: float) -> float:
    """R_T <= 2 c_delta sqrt(T) sqrt(sum_t |phi_t - g_t(x_t)|^2), Lemma (online CI).

    Assumes nothing of the data, nor of the estimates: only that z_t = argmin_z <psi(z), g_t(x_t)>. Here and in every
    bound of this package half of `loss.diameter`, which is never larger, serves for c_delta: the proof bounds
    |psi(z) - psi(z')|.

    The same formula is Lemma (CI expectancy) for E[R_T] and Lemma (CI cumulative risk) for the cumulative risk,
    where surrogate_loss is sum_t E|g_t(x_t) - E[phi_t | past, x_t]|^2 and the baseline does not see y_t.

    0 before the first round; inf where c_delta is: then nothing is claimed, whatever the surrogate loss.

    >>> comparison_bound(4, 0.5, 1.0), comparison_bound(0, math.inf, 0.0), comparison_bound(1, math.inf, 0.0)
    (2.0, 0.0, inf)
    """
    if not rounds or math.isinf(c_delta):
        return c_delta if rounds else 0.0
    return 2 * c_delta * math.sqrt(rounds) * math.sqrt(surrogate_loss)


def kaar_bound(T: int, kappa: float, lam: float, d_eff: float, best_fit: float, B: float = 1.0) -> float:
    """sum_t |h_t - g_t(x_t)|^2 <= B^2 log(e + e kappa^2 T / lam) d_eff(lam) + min_g L_T(g), Lemma (regret vawk).

    Assumes |h_t| <= B; any data. best_fit is min_g L_T(g) = sum_t |h_t - g(x_t)|^2 + lam |g|^2.

    >>> kaar_bound(T=0, kappa=1.0, lam=1.0, d_eff=3.0, best_fit=5.0, B=2.0)
    17.0
    """
    require_numbers(d_eff=d_eff, best_fit=best_fit, B=B)
    return B**2 * log_factor(T, kappa, lam) * d_eff + best_fit


def oskaar_bound(T: int, c_delta: float, kappa: float, lam: float, d_eff: float, best_fit: float) -> float:
    """R_T <= 2 c_delta sqrt(T) sqrt(log(e + e kappa^2 T / lam) d_eff(lam) + min_g L_T(g)).

    Theorem (FirstRegretBound), for any data and any lam.

    best_fit is min_g L_T(g) = sum_t |phi_t - g(x_t)|^2 + lam |g|^2 of the best g in hindsight.

    >>> round(oskaar_bound(T=100, c_delta=0.5, kappa=1.0, lam=10.0, d_eff=5.0, best_fit=20.0), 3)
    60.819
    """
    return comparison_bound(T, c_delta, kaar_bound(T, kappa, lam, d_eff, best_fit))


def realisable_oskaar_bound(T: int, c_delta: float, kappa: float, norm: float) -> float:
    """R_T <= 2 c_delta T^(3/4) sqrt(|g*| (kappa^2 log(e + e kappa^2 |g*| sqrt(T)) + 1)), on any data.

    The remark after Theorem (FirstRegretBound): that theorem for a g* with g*(x_t) = phi_t for all t, |g*| = norm,
    lam = sqrt(T) / |g*| (`theory.realisable_lam`) and d_eff <= kappa^2 T / lam.

    >>> round(realisable_oskaar_bound(T=16, c_delta=0.5, kappa=1.0, norm=1.0), 3)     # 8 sqrt(2 + log 5)
    15.199
    """
    lam = realisable_lam(T, norm)
    return oskaar_bound(T, c_delta, kappa, lam, dimension_bound(T, kappa, lam), lam * norm**2)


def expected_oskaar_bound(
    T: int, c_delta: float, kappa: float, lam: float, d_eff: float, norm: float, misfit: float = 0.0
) -> float:
    """E[R_T] <= 2 c_delta sqrt(T) sqrt(d_eff log(e + e kappa^2 T / lam) + lam |g*|^2 + misfit).

    Theorem (expectancy regret bound), for any g* in the RKHS with |g*| = norm, any lam, and any way in which the
    data are made, with the baseline of the module's docstring. d_eff is E[d_eff(lam)] where the x_t are random.
    misfit: E sum_t |g*(x_t) - E[phi_t | past, x_t]|^2.

    >>> round(expected_oskaar_bound(T=100, c_delta=0.5, kappa=1.0, lam=10.0, d_eff=5.0, norm=1.0, misfit=10.0), 3)
    60.819
    """
    require_numbers(norm=norm, misfit=misfit)
    return oskaar_bound(T, c_delta, kappa, lam, d_eff, lam * norm**2 + misfit)


def expected_oskaar_corollary(T: int, c_delta: float, kappa: float, norm: float) -> float:
    """E[R_T] <= 2 c_delta T^(3/4) sqrt(kappa^2 log(e + e kappa^2 sqrt(T)) + |g*|^2), Corollary (expectancy applied).

    Assumes lam = sqrt(T) and a g* in the RKHS with g*(x_t) = E[phi_t | past, x_t] for all t.

    >>> round(expected_oskaar_corollary(T=16, c_delta=0.5, kappa=1.0, norm=1.0), 3)     # 8 sqrt(2 + log 5)
    15.199
    """
    lam = stationary_lam(T)
    return expected_oskaar_bound(T, c_delta, kappa, lam, dimension_bound(T, kappa, lam), norm)


def batch_comparison_bound(c_delta: float, surrogate_excess: float) -> float:
    """E(f) - E(f*) <= 2 c_delta sqrt(R(g) - R(g*)), for f(x) = argmin_z <psi(z), g(x)> (Section 2, after ILE).

    surrogate_excess: R(g) - R(g*) = E_x |g(x) - E[phi(y) | x]|^2.

    >>> batch_comparison_bound(0.5, 0.25)
    0.5
    """
    require_numbers(surrogate_excess=surrogate_excess)
    return comparison_bound(1, c_delta, surrogate_excess)


def batch_rate(n: int, delta: float) -> float:
    """n^(-1/4) log(1 / delta), the order of the excess risk of the batch estimator f_n (Section 2, after ILE).

    With probability 1 - delta, on n i.i.d. rounds, for a g* in the RKHS. An order, not a bound: the constant, which
    the paper leaves out, does not depend on n nor delta. `BatchILE` is that estimator.

    >>> batch_rate(16, delta=math.exp(-2))
    1.0
    """
    require_numbers(n=n, least=1)
    require_probability(delta)
    return float(n**-0.25 * math.log(1 / delta))


def nystrom_cost(d_eff: float, beta: float) -> float:
    """d_eff(lam)^(4 / (1 - beta)), the order of the operations a round with Nystrom features (Computation time).

    Enough for the same regret, after Jezequel, Gaillard and Rudi (2019), where the capacity condition holds with
    beta < 1; the paper prints 1 - lambda (docs/errata.md, 12). An order, without its constant: compare with t^2.

    >>> nystrom_cost(3.0, beta=0.0), nystrom_cost(2.0, beta=0.5)
    (81.0, 256.0)
    """
    require_numbers(d_eff=d_eff)
    require_exponent(beta)
    return math.inf if beta == 1 else float(d_eff ** (4 / (1 - beta)))

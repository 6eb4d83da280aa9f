r"""Shifted OSKAAR: bounds that hold with probability 1 - delta (appendix C), and some with no bound on the estimates.

Appendix C assumes sup_norm, a bound on |g| in the RKHS for g* *and for every estimate g_t*. The paper takes it for
granted; nothing in the algorithm enforces it, and the data-dependent bounds do without.
d_eff is always d_eff(4 lam), what `OSKAAR(shifted=True)` reports.
The baseline does not see y_t, as for the bounds in expectation (docs/errata.md, 1).

These follow from two inequalities. Let F be the past and x_t, g_t = g_t(x_t) and g*_t = g*_t(x_t) be known given F,
|phi_t| <= 1, e_t = E[phi_t | F], and

    R_T = sum_t |g_t - phi_t|^2 - |g*_t / 2 + g_t / 2 - phi_t|^2        the shifted regret, of any estimates at all.

Then with probability 1 - delta, for all T at once,

    sum_t |g_t - e_t|^2  <=  2 R_T + 4 log(1 / delta) + sum_t |g*_t - e_t|^2                                      (1)

Proof. Let u = g_t - e_t, v = g*_t - e_t, n = phi_t - e_t. Then g_t - phi_t = u - n and the other is (u + v) / 2 - n:

    2 (|u - n|^2 - |(u + v) / 2 - n|^2)  =  3/2 |u|^2 - <u, v> - 1/2 |v|^2 - 2 <n, u - v>                          (2)

Given F, <phi_t, u - v> lies in an interval of length 2 |u - v|. By Hoeffding's lemma E[exp(<n, u - v> / 2) | F] <=
exp(|u - v|^2 / 8), so exp(sum_t <n, u - v> / 2 - |u - v|^2 / 8) is a supermartingale that starts at 1. By Ville's
inequality it stays below 1 / delta for all T with probability 1 - delta: 2 sum_t <n, u - v> <= 1/2 sum_t |u - v|^2 +
4 log(1 / delta). In (2), summed, this leaves 2 R_T >= sum_t |u|^2 - |v|^2 - 4 log(1 / delta).

On i.i.d. rounds, with g_t a function that the past decides, |P g - e(x)| <= reach for the values P g_t(x) that
are averaged, and |P g - e(x)| <= |g - e(x)|, such as g itself, or g projected on the unit ball (reach 2, since
|e(x)| <= 1): with probability 1 - delta, for all T at once,

    sum_t E_x |P g_t(x) - e(x)|^2  <=  reach^2 / (1 - exp(-reach^2 / 4)) (R_T / 2 + log(1 / delta))               (3)

for g* = e. Proof. Call r_t the term of R_T and W = |P g_t(x_t) - e(x_t)|^2 <= b = reach^2. With v = 0, (2) and
Hoeffding's lemma give E[exp(-r_t / 2) | F] <= exp(-|u|^2 / 4) <= exp(-W / 4), which is convex in W and so below its
chord: its mean over x_t is at most 1 - (1 - exp(-b / 4)) E W / b <= exp(-(1 - exp(-b / 4)) E W / b). Then Ville's
inequality as before.
"""

from __future__ import annotations

import math

from oskaar.requirements import require_ball, require_numbers, require_probability
from oskaar.theory.dimension import dimension_bound, log_factor
from oskaar.theory.prescriptions import gamma, stationary_lam, target_bound
from oskaar.theory.stationary import comparison_bound, kaar_bound


def shifted_kaar_bound(T: int, kappa: float, lam: float, d_eff: float, best_fit: float, B: float) -> float:
    """sum_t |phi_t - g_t(x_t)|^2 <= B^2 / 4 log(e + e kappa^2 T / (4 lam)) d_eff(4 lam) + best_fit.

    Step 2 of Theorem (Avg cumulative risk), on any data with |2 phi_t - g_t(x_t)| <= B.
    best_fit: min_g sum_t |g(x_t) / 2 + g_t(x_t) / 2 - phi_t|^2 + lam |g|^2.

    >>> shifted_kaar_bound(T=0, kappa=1.0, lam=1.0, d_eff=4.0, best_fit=1.0, B=3.0)
    10.0
    """
    return kaar_bound(T, kappa, 4 * lam, d_eff, 4 * best_fit, B) / 4


def cumulative_risk_bound(
    T: int,
    c_delta: float,
    kappa: float,
    lam: float,
    d_eff: float,
    norm: float,
    sup_norm: float,
    delta: float,
    misfit: float = 0.0,
) -> float:
    r"""The cumulative risk of shifted OSKAAR, in the proof of Theorem (Avg cumulative risk), for any lam.

        sum_t E_t[Delta(f_t(x_t), y_t) - Delta(f*_t(x_t), y_t)]  <=  2 c_delta sqrt(T)
            sqrt(B^2 / 2 d_eff(4 lam) log(e + e kappa^2 T / (4 lam)) + 2 lam |g*|^2 + 2 gamma log(1 / delta) + misfit)

    misfit: sum_t |g*(x_t) - E[phi_t | past, x_t]|^2.

    >>> cumulative_risk_bound(1, 0.5, 1.0, 0.25, d_eff=0.0, norm=1.0, sup_norm=1.0, delta=1.0, misfit=3.5)
    2.0
    """
    require_numbers(misfit=misfit)
    return comparison_bound(T, c_delta, _risk(T, kappa, lam, d_eff, norm, sup_norm, delta) + misfit)


def average_cumulative_risk_bound(
    T: int, c_delta: float, kappa: float, norm: float, sup_norm: float, delta: float
) -> float:
    r"""Theorem (Avg cumulative risk): the cumulative risk over T, for lam = sqrt(T) and a g* that fits.

        <= 2 c_delta T^(-1/4) sqrt(B^2 kappa^2 / 8 log(e + e kappa^2 sqrt(T) / 4) + 2 |g*|^2)
           + 2 c_delta T^(-1/2) sqrt(2 gamma log(1 / delta))

    >>> round(average_cumulative_risk_bound(16, 0.5, 1.0, 1.0, 1.0, 1.0), 4)     # sqrt(9/8 (1 + log 2) + 2) / 2
    0.988
    """
    require_numbers(T=T, least=1)
    require_numbers(kappa=kappa)
    require_ball(norm, sup_norm)
    require_probability(delta)
    root = math.sqrt(T)
    slow = target_bound(kappa, sup_norm) ** 2 * kappa**2 / 8 * log_factor(T, kappa, 4 * root) + 2 * norm**2
    fast = 2 * gamma(kappa, sup_norm) * math.log(1 / delta)
    return comparison_bound(1, c_delta, slow / root) + comparison_bound(1, c_delta, fast / T)


def excess_risk_bound(
    T: int,
    c_delta: float,
    kappa: float,
    norm: float,
    sup_norm: float,
    delta: float,
    lam: float | None = None,
    d_eff: float | None = None,
    misfit: float = 0.0,
) -> float:
    r"""Theorem (excess risk aggregate): E[Delta(f_bar_T(x), y) - Delta(f*(x), y)] on i.i.d. data.

        <= 2 c_delta sqrt((B^2 / 2 d_eff(4 lam) log(e + e kappa^2 T / (4 lam)) + 2 lam |g*|^2
                          + 2 gamma log(1 / delta)) / T + misfit)

    Assumes i.i.d. rounds and a g* in the RKHS; misfit is E_x |g*(x) - E[phi(y) | x]|^2, 0 in the theorem, as in the
    last but one line of its proof. lam is sqrt(T) and d_eff its bound
    kappa^2 T / (4 lam) where they are not given; then it is at most the sum of two roots that the paper prints,
    `average_cumulative_risk_bound`. Mind that the proof is of the average of x -> g_t(x) hedged *at x*, and
    the paper's g_bar_T hedges each g_t at its own x_t (docs/errata.md, 3).

    >>> round(excess_risk_bound(16, 0.5, 1.0, 1.0, 1.0, 1.0), 4)
    0.988
    """
    require_numbers(T=T, least=1)
    require_numbers(misfit=misfit)
    lam = stationary_lam(T) if lam is None else lam
    d_eff = dimension_bound(T, kappa, 4 * lam) if d_eff is None else d_eff
    return comparison_bound(1, c_delta, _risk(T, kappa, lam, d_eff, norm, sup_norm, delta) / T + misfit)


def feature_risk_bound(regret: float, delta: float, misfit: float = 0.0) -> float:
    """sum_t |g_t(x_t) - E[phi_t | past, x_t]|^2 <= 2 R_T + 4 log(1 / delta) + misfit, by (1).

    With probability 1 - delta, for all T at once; for any estimates g_t that do not see y_t, OSKAAR's or not.

    regret: sum_t |g_t - phi_t|^2 - |g*_t / 2 + g_t / 2 - phi_t|^2, or a bound on it, such as `shifted_kaar_regret`,
        `theory.shifted_abrupt_regret` or `theory.shifted_dynamic_regret`. g*_t may depend on the past and x_t,
        not on y_t nor on what comes after.
    misfit: sum_t |g*_t(x_t) - E[phi_t | past, x_t]|^2, 0 where g* is the conditional mean.

    >>> feature_risk_bound(3.0, delta=math.exp(-1), misfit=0.5)
    10.5
    """
    require_numbers(misfit=misfit)
    require_probability(delta)
    return max(0.0, 2 * regret + 4 * math.log(1 / delta) + misfit)


def shifted_kaar_regret(T: int, kappa: float, lam: float, d_eff: float, norm: float, largest_target: float) -> float:
    """R_T <= B^2 / 4 log(e + e kappa^2 T / (4 lam)) d_eff(4 lam) + lam |g*|^2, for shifted OSKAAR on any data.

    Step 2 of Theorem (Avg cumulative risk), against any g* with |g*| = norm.
    largest_target: B, the largest |2 phi_t - g_t(x_t)| there was: observed, not assumed.

    >>> shifted_kaar_regret(T=0, kappa=1.0, lam=2.0, d_eff=4.0, norm=1.0, largest_target=3.0)
    11.0
    """
    require_numbers(norm=norm)
    return shifted_kaar_bound(T, kappa, lam, d_eff, lam * norm**2, largest_target)


def data_dependent_cumulative_risk_bound(
    T: int,
    c_delta: float,
    kappa: float,
    lam: float,
    d_eff: float,
    norm: float,
    largest_target: float,
    delta: float,
    misfit: float = 0.0,
) -> float:
    r"""The cumulative risk of shifted OSKAAR, with no bound on the estimates, for any lam.

        sum_t E_t[Delta(f_t(x_t), y_t) - Delta(f*_t(x_t), y_t)]  <=  2 c_delta sqrt(T)
            sqrt(B^2 / 2 d_eff(4 lam) log(e + e kappa^2 T / (4 lam)) + 2 lam |g*|^2 + 4 log(1 / delta) + misfit)

    With probability 1 - delta, for all T at once at the same lam. The paper's, `theory.cumulative_risk_bound`, has
    2 gamma >= 16 in place of 4 and assumes sup|g|. What is assumed here: a g* with |g*| <= norm, whose misfit is
    sum_t |g*(x_t) - E[phi_t | past, x_t]|^2. largest_target: B = max_t |2 phi_t - g_t(x_t)|, observed.

    >>> data_dependent_cumulative_risk_bound(1, 0.5, 1.0, 0.25, 0.0, 1.0, largest_target=3.0, delta=1.0, misfit=3.5)
    2.0
    """
    regret = shifted_kaar_regret(T, kappa, lam, d_eff, norm, largest_target)
    return comparison_bound(T, c_delta, feature_risk_bound(regret, delta, misfit))


def data_dependent_excess_risk_bound(
    T: int,
    c_delta: float,
    kappa: float,
    lam: float,
    d_eff: float,
    norm: float,
    largest_target: float,
    delta: float,
    reach: float,
) -> float:
    r"""E[Delta(f_bar(x), y) - Delta(f*(x), y)] of an average of shifted OSKAAR's functions, on i.i.d. data.

        <= 2 c_delta sqrt(reach^2 / (1 - exp(-reach^2 / 4)) (R_T / 2 + log(1 / delta)) / T)

    With probability 1 - delta, for all T at once at the same lam, by (3) and Jensen's inequality; R_T as in
    `shifted_kaar_regret`. f_bar decodes 1/T sum_t P g_t(x), every g_t hedged at the x that is asked
    (docs/errata.md, 3). reach: a bound on |P g_t(x) - E[phi(y) | x]| for all x: 2 where each g_t(x) is projected on
    the unit ball before the average is taken, which needs no assumption; 1 + kappa sup|g| where it is not.
    Assumes i.i.d. rounds and a g* with g*(x) = E[phi(y) | x], |g*| <= norm.

    >>> bound = data_dependent_excess_risk_bound(4, 0.5, 1.0, 2.0, 0.0, 1.0, largest_target=3.0, delta=1.0, reach=2.0)
    >>> bound == math.sqrt(4 / (1 - math.exp(-1)) / 4)
    True
    """
    require_numbers(T=T, least=1)
    require_numbers(reach=reach, above=True)
    require_probability(delta)
    regret = shifted_kaar_regret(T, kappa, lam, d_eff, norm, largest_target)
    scale = reach**2 / -math.expm1(-(reach**2) / 4)
    return comparison_bound(1, c_delta, scale * (regret / 2 + math.log(1 / delta)) / T)


def _risk(T: int, kappa: float, lam: float, d_eff: float, norm: float, sup_norm: float, delta: float) -> float:
    """2 R_T + 2 gamma log(1 / delta), where R_T is the regret of shifted KAAR against g*."""
    require_probability(delta)
    require_ball(norm, sup_norm)
    regret = shifted_kaar_bound(T, kappa, lam, d_eff, lam * norm**2, target_bound(kappa, sup_norm))
    return 2 * regret + 2 * gamma(kappa, sup_norm) * math.log(1 / delta)

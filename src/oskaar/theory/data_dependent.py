r"""Shifted OSKAAR in high probability, with no bound on the estimates.

Let F be the past and x_t, g_t = g_t(x_t) and g*_t = g*_t(x_t) be known given F, |phi_t| <= 1, e_t = E[phi_t | F], and

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

from oskaar.requirements import require_numbers, require_probability
from oskaar.theory.high_probability import shifted_kaar_bound
from oskaar.theory.stationary import comparison_bound


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

r"""Shifted OSKAAR: bounds that hold with probability 1 - delta (appendix C).

All assume sup_norm, a bound on |g| in the RKHS for g* *and for every estimate g_t*. The paper takes it for granted;
nothing in the algorithm enforces it, and `theory.data_dependent_cumulative_risk_bound` does without.
d_eff is always d_eff(4 lam), what `OSKAAR(shifted=True)` reports.
The baseline does not see y_t, as for the bounds in expectation (docs/errata.md, 1).
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


def _risk(T: int, kappa: float, lam: float, d_eff: float, norm: float, sup_norm: float, delta: float) -> float:
    """2 R_T + 2 gamma log(1 / delta), where R_T is the regret of shifted KAAR against g*."""
    require_probability(delta)
    require_ball(norm, sup_norm)
    regret = shifted_kaar_bound(T, kappa, lam, d_eff, lam * norm**2, target_bound(kappa, sup_norm))
    return 2 * regret + 2 * gamma(kappa, sup_norm) * math.log(1 / delta)

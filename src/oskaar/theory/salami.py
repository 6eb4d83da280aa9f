r"""SALAMI: the expected regret, and the cumulative risk in high probability, at the prescribed lam and m.

Theorem (expected regret non stationary environment), its version of appendix E, and the refined ones under the
capacity condition. All assume a sequence g*_t of the RKHS with g*_t(x_t) = E[phi_t | past, x_t], |g*_t| <= norm, an
eta that is an exp-concavity constant (`theory.salami_eta`; 1/8 for projected experts), and a baseline
that does not see y_t. The rounding of m is kept instead of bounded, so each is at most what the paper prints.
"""

from __future__ import annotations

import math

from oskaar.theory.capacity import Capacity
from oskaar.theory.dimension import dimension_bound
from oskaar.theory.dynamic import abrupt_regret, dynamic_regret, shifted_abrupt_regret, shifted_dynamic_regret
from oskaar.theory.numbers import require_probability
from oskaar.theory.prescriptions import abrupt_lam, drift_lam, drift_pieces, gamma, gaussian_pieces
from oskaar.theory.stationary import comparison_bound


def salami_abrupt_bound(
    T: int, c_delta: float, kappa: float, V_0: int, norm: float, eta: float = 1 / 8, kinds: int = 1
) -> float:
    r"""E[R_T] for V_0 - 1 abrupt changes and lam = sqrt(T / V_0): of order V_0^(1/4) T^(3/4).

        2 c_delta sqrt(T) sqrt(V_0 log(T) / eta + (log(e + e kappa^2 sqrt(T V_0)) kappa^2 + norm^2) sqrt(T V_0))

    >>> round(salami_abrupt_bound(T=4, c_delta=0.5, kappa=1.0, V_0=1, norm=1.0), 3)   # 2 sqrt(8 log 4 + 2 log 3 + 4)
    8.316
    """
    lam = abrupt_lam(T, V_0)
    d_eff = dimension_bound(T, kappa, lam)
    return comparison_bound(T, c_delta, abrupt_regret(T, lam, V_0, kappa, eta, d_eff, V_0 * norm**2, kinds))


def salami_drift_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    eta: float = 1 / 8,
    capacity: Capacity | None = None,
    sup_value: float = 1.0,
    kinds: int = 1,
) -> float:
    r"""E[R_T] for a drift of length V_G: of order V_G^(1/6) T^(5/6), or V_G^(1/(2(b+2))) T^((2b+3)/(2(b+2))).

    2 c_delta sqrt(T R_T(lam, m)) with m = `drift_pieces` and lam = `drift_lam`. capacity: Q and b = beta of the
    refined bound, which has to hold on every interval; None is b = 1, Q = kappa^2, which always holds.

    >>> round(salami_drift_bound(T=8, c_delta=0.5, kappa=1.0, V_G=1.0, norm=1.0), 9)    # m = 2, lam = 2
    22.575883826
    >>> round(math.sqrt(8 * (16 * math.log(8) + 4 * (1 + math.log(5)) + 4 + 16)), 9)
    22.575883826
    """
    room = Capacity(kappa**2, 1.0) if capacity is None else capacity
    m = drift_pieces(T, V_G, kappa, room.beta)
    lam = drift_lam(T, m, room.beta)
    regret = dynamic_regret(T, lam, m, kappa, eta, room.pieces(T, lam, m), norm, V_G, sup_value, kinds)
    return comparison_bound(T, c_delta, regret)


def salami_gaussian_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    lam: float,
    d_eff: float,
    eta: float = 1 / 8,
    sup_value: float = 1.0,
    kinds: int = 1,
) -> float:
    """E[R_T] for a small d_eff, as of the Gaussian kernel: of order T^(3/4) V_G^(1/4) (lam + 1)^(1/4), for any lam.

    2 c_delta sqrt(T R_T(lam, m)) with m = `gaussian_pieces`. d_eff: a bound for every interval, such as
    `theory.gaussian_dimension_bound`.

    >>> salami_gaussian_bound(T=1, c_delta=0.5, kappa=0.0, V_G=0.0, norm=1.0, lam=2.0, d_eff=2.0)
    2.0
    """
    m = gaussian_pieces(T, V_G, lam)
    return comparison_bound(T, c_delta, dynamic_regret(T, lam, m, kappa, eta, m * d_eff, norm, V_G, sup_value, kinds))


def shifted_salami_abrupt_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_0: int,
    norm: float,
    sup_norm: float,
    delta: float,
    eta: float = 1 / 8,
    kinds: int = 1,
) -> float:
    r"""The cumulative risk of Algorithm 3, for abrupt changes, lam = sqrt(T / V_0), with probability 1 - delta.

        2 c_delta sqrt(2 T) sqrt(V_0 log(T) / eta + B^2 kappa^2 sqrt(T V_0) / 16 log(e + e kappa^2 sqrt(T V_0) / 4)
                                 + sqrt(T V_0) norm^2 + gamma log(1 / delta))

    >>> shifted_salami_abrupt_bound(T=1, c_delta=0.5, kappa=1e-9, V_0=1, norm=2**-0.5, sup_norm=1.0, delta=1.0)
    1.0
    """
    lam = abrupt_lam(T, V_0)
    d_eff = dimension_bound(T, kappa, 4 * lam)
    regret = shifted_abrupt_regret(T, lam, V_0, kappa, eta, d_eff, V_0 * norm**2, sup_norm, kinds)
    return comparison_bound(T, c_delta, _with_confidence(regret, kappa, sup_norm, delta))


def shifted_salami_drift_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    sup_norm: float,
    delta: float,
    eta: float = 1 / 8,
    capacity: Capacity | None = None,
    kinds: int = 1,
) -> float:
    """The cumulative risk of Algorithm 3, for a drift of length V_G, with probability 1 - delta; also refined.

    2 c_delta sqrt(2 T (R_T(lam, m) + gamma log(1 / delta))), R_T as in `theory.shifted_dynamic_regret`.

    >>> shifted_salami_drift_bound(1, 0.5, 1.0, 1.0, 0.0, 1.0, 1.0, capacity=Capacity(0.0, 1.0))    # sqrt(2 * 2)
    2.0
    """
    room = Capacity(kappa**2, 1.0) if capacity is None else capacity
    m = drift_pieces(T, V_G, kappa, room.beta)
    lam = drift_lam(T, m, room.beta)
    d_eff = room.pieces(T, 4 * lam, m)
    regret = shifted_dynamic_regret(T, lam, m, kappa, eta, d_eff, norm, V_G, sup_norm, kinds)
    return comparison_bound(T, c_delta, _with_confidence(regret, kappa, sup_norm, delta))


def _with_confidence(regret: float, kappa: float, sup_norm: float, delta: float) -> float:
    """2 R_T + 2 gamma log(1 / delta), Lemma (Dynamic Cumulative Risk of the Feature Predictors)."""
    require_probability(delta)
    return 2 * regret + 2 * gamma(kappa, sup_norm) * math.log(1 / delta)

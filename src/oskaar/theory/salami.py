r"""SALAMI: the expected regret, and the cumulative risk in high probability, at the prescribed lam and m.

Theorem (expected regret non stationary environment), its version of appendix E, and the refined ones under the
capacity condition. All assume a sequence g*_t of the RKHS, |g*_t| <= norm, an eta that is an exp-concavity constant,
and a baseline that does not see y_t. misfit is what the sequence leaves, 0 in the theorems:
E sum_t |g*_t(x_t) - E[phi_t | past, x_t]|^2, without the E in high probability. The eta of Algorithm 2 is 1/8 by
default, which holds on any data where experts are projected on the unit ball; that of Algorithm 3 is
salami_eta(kappa, sup_norm), where experts are not projected. The rounding of m is kept instead of bounded, so each is
at most what the paper prints, but for |g*_s(x_t)| <= kappa norm where the paper has 1 (docs/errata.md, 7).
"""

from __future__ import annotations

import math

from oskaar.requirements import require_numbers, require_probability
from oskaar.theory.dimension import Capacity, dimension_bound
from oskaar.theory.dynamic import (
    abrupt_regret,
    dynamic_regret,
    mixture_regret,
    shifted_abrupt_regret,
    shifted_dynamic_regret,
)
from oskaar.theory.prescriptions import (
    abrupt_lam,
    drift_lam,
    drift_pieces,
    gamma,
    gaussian_pieces,
    salami_eta,
    unknown_drift_lam,
)
from oskaar.theory.stationary import comparison_bound

PROJECTED_ETA = salami_eta(1.0, 1.0)
"""1/8, for experts projected on the unit ball, which holds every phi: |phi - g| <= 2 on any data."""


def salami_abrupt_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_0: int,
    norm: float,
    eta: float = PROJECTED_ETA,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    r"""E[R_T] for V_0 - 1 abrupt changes and lam = sqrt(T / V_0): of order V_0^(1/4) T^(3/4).

        2 c_delta sqrt(T) sqrt(V_0 log(T) / eta + (log(e + e kappa^2 sqrt(T V_0)) kappa^2 + norm^2) sqrt(T V_0)
                               + misfit)

    >>> round(salami_abrupt_bound(T=4, c_delta=0.5, kappa=1.0, V_0=1, norm=1.0), 3)   # 2 sqrt(8 log 4 + 2 log 3 + 4)
    8.316
    """
    lam = abrupt_lam(T, V_0)
    d_eff = dimension_bound(T, kappa, lam)
    regret = abrupt_regret(T, lam, V_0, kappa, eta, d_eff, V_0 * norm**2, kinds)
    return _expected(T, c_delta, regret, misfit)


def salami_drift_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    eta: float = PROJECTED_ETA,
    capacity: Capacity | None = None,
    sup_value: float | None = None,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    r"""E[R_T] for a drift of length V_G: of order V_G^(1/6) T^(5/6), or V_G^(1/(2(b+2))) T^((2b+3)/(2(b+2))).

    2 c_delta sqrt(T (R_T(lam, m) + misfit)) with m = `drift_pieces` and lam = `drift_lam`. capacity: Q and b = beta
    of the refined bound, which has to hold on every interval; None is b = 1, Q = kappa^2, which always holds.
    sup_value: as in `theory.dynamic_regret`.

    >>> round(salami_drift_bound(T=8, c_delta=0.5, kappa=1.0, V_G=1.0, norm=1.0), 9)    # m = 2, lam = 2
    22.575883826
    >>> round(math.sqrt(8 * (16 * math.log(8) + 4 * (1 + math.log(5)) + 4 + 16)), 9)
    22.575883826
    """
    room = Capacity(kappa**2, 1.0) if capacity is None else capacity
    m = drift_pieces(T, V_G, kappa, room.beta)
    lam = drift_lam(T, m, room.beta)
    regret = dynamic_regret(T, lam, m, kappa, eta, room.pieces(T, lam, m), norm, V_G, sup_value, kinds)
    return _expected(T, c_delta, regret, misfit)


def salami_unknown_drift_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    eta: float = PROJECTED_ETA,
    lam: float | None = None,
    sup_value: float | None = None,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    r"""E[R_T] for a lam that was chosen without V_G: of order V_G^(1/4) T^(5/6) (Calibration of lambda).

    2 c_delta sqrt(T (min_m R_T(lam, m) + misfit)), d_eff <= kappa^2 T / lam: m serves the proof alone, so it may be
    the best. lam: None is `theory.unknown_drift_lam`, T^(1/3).

    >>> round(salami_unknown_drift_bound(T=8, c_delta=0.5, kappa=1.0, V_G=1.0, norm=1.0), 9)    # lam = 2, m = 1
    22.103987691
    >>> round(math.sqrt(8 * (8 * math.log(8) + 4 * (1 + math.log(5)) + 2 + 32)), 9)
    22.103987691
    """
    lam = unknown_drift_lam(T) if lam is None else lam
    d_eff = dimension_bound(T, kappa, lam)

    def regret(m: int) -> float:
        return dynamic_regret(T, lam, m, kappa, eta, d_eff, norm, V_G, sup_value, kinds)

    # R_T(lam, m) = a + b m + c / m is least next to m = sqrt(c / b).
    slope, drift = mixture_regret(T * kinds, eta) + lam * norm**2, regret(1) - regret(2)
    best = math.sqrt(max(0.0, 2 * (drift + slope)) / slope) if slope else float(T)
    low = max(1, min(T, math.floor(best)))
    return _expected(T, c_delta, min(regret(low), regret(low + 1)), misfit)


def salami_gaussian_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    lam: float,
    d_eff: float,
    eta: float = PROJECTED_ETA,
    sup_value: float | None = None,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    """E[R_T] for a small d_eff, as of the Gaussian kernel: of order T^(3/4) V_G^(1/4) (lam + 1)^(1/4), for any lam.

    2 c_delta sqrt(T (R_T(lam, m) + misfit)) with m = `gaussian_pieces`. d_eff: a bound for every interval, such as
    `theory.gaussian_dimension_bound`.

    >>> salami_gaussian_bound(T=1, c_delta=0.5, kappa=0.0, V_G=0.0, norm=1.0, lam=2.0, d_eff=2.0)
    2.0
    """
    m = gaussian_pieces(T, V_G, lam)
    regret = dynamic_regret(T, lam, m, kappa, eta, m * d_eff, norm, V_G, sup_value, kinds)
    return _expected(T, c_delta, regret, misfit)


def shifted_salami_abrupt_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_0: int,
    norm: float,
    sup_norm: float,
    delta: float,
    eta: float | None = None,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    r"""The cumulative risk of Algorithm 3, for abrupt changes, lam = sqrt(T / V_0), with probability 1 - delta.

        2 c_delta sqrt(2 T) sqrt(V_0 log(T) / eta + B^2 kappa^2 sqrt(T V_0) / 16 log(e + e kappa^2 sqrt(T V_0) / 4)
                                 + sqrt(T V_0) norm^2 + gamma log(1 / delta) + misfit / 2)

    eta: None is salami_eta(kappa, sup_norm).

    >>> shifted_salami_abrupt_bound(T=1, c_delta=0.5, kappa=1e-9, V_0=1, norm=2**-0.5, sup_norm=1.0, delta=1.0)
    1.0
    """
    eta = salami_eta(kappa, sup_norm) if eta is None else eta
    lam = abrupt_lam(T, V_0)
    d_eff = dimension_bound(T, kappa, 4 * lam)
    regret = shifted_abrupt_regret(T, lam, V_0, kappa, eta, d_eff, V_0 * norm**2, sup_norm, kinds)
    return _confident(T, c_delta, regret, kappa, sup_norm, delta, misfit)


def shifted_salami_drift_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    sup_norm: float,
    delta: float,
    eta: float | None = None,
    capacity: Capacity | None = None,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    """The cumulative risk of Algorithm 3, for a drift of length V_G, with probability 1 - delta; also refined.

    2 c_delta sqrt(T (2 R_T(lam, m) + 2 gamma log(1 / delta) + misfit)), R_T as in `theory.shifted_dynamic_regret`.
    eta: None is salami_eta(kappa, sup_norm).

    >>> shifted_salami_drift_bound(1, 0.5, 1.0, 1.0, 0.0, 1.0, 1.0, capacity=Capacity(0.0, 1.0))    # sqrt(2 * 2)
    2.0
    """
    room = Capacity(kappa**2, 1.0) if capacity is None else capacity
    m = drift_pieces(T, V_G, kappa, room.beta)
    lam = drift_lam(T, m, room.beta)
    eta = salami_eta(kappa, sup_norm) if eta is None else eta
    d_eff = room.pieces(T, 4 * lam, m)
    regret = shifted_dynamic_regret(T, lam, m, kappa, eta, d_eff, norm, V_G, sup_norm, kinds)
    return _confident(T, c_delta, regret, kappa, sup_norm, delta, misfit)


def _expected(T: int, c_delta: float, regret: float, misfit: float) -> float:
    """2 c_delta sqrt(T (R_T + misfit)), step 1 of Theorem (expected regret non stationary environment)."""
    require_numbers(misfit=misfit)
    return comparison_bound(T, c_delta, regret + misfit)


def _confident(
    T: int, c_delta: float, regret: float, kappa: float, sup_norm: float, delta: float, misfit: float
) -> float:
    """2 c_delta sqrt(T (2 R_T + 2 gamma log(1 / delta) + misfit)), step 1 of the theorem of appendix E."""
    require_probability(delta)
    risk = 2 * regret + 2 * gamma(kappa, sup_norm) * math.log(1 / delta)
    return _expected(T, c_delta, risk, misfit)

"""What the theorems prescribe: eta, lam, the number m of restarts, and the constants B, m and gamma."""

from __future__ import annotations

import math

from oskaar.requirements import require_exponent, require_numbers


def salami_eta(kappa: float, bound: float) -> float:
    """eta = 1 / (2 (kappa sup|g| + 1)^2), an exp-concavity constant of |phi - g(x)|^2 where |g| <= bound.

    exp(-eta |phi - g|^2) is concave in g where 2 eta |phi - g|^2 <= 1. For estimates that are projected on the
    unit ball (kappa sup|g| = 1) it is 1/8, on any data.

    >>> salami_eta(1.0, 1.0)
    0.125
    """
    if not (kappa > 0 and bound >= 0 and math.isfinite(kappa * bound)):
        raise ValueError(f"kappa and the bound on |g| must be finite, got {kappa} and {bound}.")
    return 1 / (2 * (kappa * bound + 1) ** 2)


def loss_range(kappa: float, sup_norm: float) -> float:
    """The constant m = 2 (kappa sup|g| + 1)^2 >= l(g) - l(g') of appendix C; half of it would do (docs/errata.md).

    >>> loss_range(1.0, 1.0)
    8.0
    """
    return 1 / salami_eta(kappa, sup_norm)


def gamma(kappa: float, sup_norm: float) -> float:
    """gamma = 4 max(1 / eta, m) = 8 (kappa sup|g| + 1)^2, equation (gamma).

    >>> gamma(1.0, 1.0)
    32.0
    """
    return 4 * max(1 / salami_eta(kappa, sup_norm), loss_range(kappa, sup_norm))


def target_bound(kappa: float, sup_norm: float) -> float:
    """B = 2 + kappa sup|g| >= |2 phi_t - g_t(x_t)|, the largest target of shifted KAAR.

    >>> target_bound(1.0, 1.0)
    3.0
    """
    require_numbers(kappa=kappa, sup_norm=sup_norm)
    return 2 + kappa * sup_norm


def realisable_lam(T: int, norm: float) -> float:
    """lam = sqrt(T) / |g*|, for a g* with g*(x_t) = phi_t (after Theorem FirstRegretBound).

    >>> realisable_lam(100, 2.0)
    5.0
    """
    require_numbers(T=T, least=1)
    require_numbers(norm=norm, above=True)
    return math.sqrt(T) / norm


def stationary_lam(T: int) -> float:
    """lam = sqrt(T), where |g*| is not known (Corollary expectancy, Theorems Avg cumulative risk and excess risk).

    >>> stationary_lam(100)
    10.0
    """
    require_numbers(T=T, least=1)
    return math.sqrt(T)


def abrupt_lam(T: int, V_0: float) -> float:
    """lam = sqrt(T / V_0), for V_0 - 1 abrupt changes (Theorem expected regret non stationary).

    >>> abrupt_lam(100, 4)
    5.0
    """
    require_numbers(T=T, V_0=V_0, least=1)
    return math.sqrt(T / V_0)


def drift_pieces(T: int, V_G: float, kappa: float, beta: float = 1.0) -> int:
    """m = ceil(V_G^((b+1)/(b+2)) T^(1/(b+2)) kappa^(-(b+1)/(b+2))), b the capacity exponent; at least 1.

    With b = 1 it is the m of Theorem (expected regret non stationary), ceil(V_G^(2/3) T^(1/3) kappa^(-2/3)).

    >>> drift_pieces(1000, 1.0, 1.0)
    10
    """
    require_numbers(T=T, least=1)
    require_numbers(V_G=V_G)
    require_numbers(kappa=kappa, above=True)
    require_exponent(beta)
    pieces = float((V_G / kappa) ** ((beta + 1) / (beta + 2)) * T ** (1 / (beta + 2)))
    return max(1, math.ceil(pieces - 1e-9))


def drift_lam(T: int, m: int, beta: float = 1.0) -> float:
    """lam = (T / m)^(b/(b+1)), for m restarts; sqrt(T / m) for b = 1.

    The theorem prints V_G^(-1/3) T^(1/3), which is this for kappa = 1 and an m that needs no rounding.

    >>> drift_lam(1000, 10)
    10.0
    """
    require_numbers(T=T, m=m, least=1)
    require_exponent(beta)
    return float((T / m) ** (beta / (beta + 1)))


def unknown_drift_lam(T: int) -> float:
    """lam = T^(1/3), where V_G is not known (Calibration of lambda): E[R_T] is of order V_G^(1/4) T^(5/6).

    The paper writes Omega(T^(1/3)); a larger lam has a larger bound (docs/errata.md).

    >>> unknown_drift_lam(1000)
    10.0
    """
    require_numbers(T=T, least=1)
    return math.cbrt(T)


def gaussian_pieces(T: int, V_G: float, lam: float) -> int:
    """m = ceil(sqrt(V_G T / (lam + 1))), for the Gaussian kernel; at least 1.

    >>> gaussian_pieces(100, 2.0, 1.0)
    10
    """
    require_numbers(T=T, least=1)
    require_numbers(V_G=V_G, lam=lam)
    return max(1, math.ceil(math.sqrt(V_G * T / (lam + 1)) - 1e-9))

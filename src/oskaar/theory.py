r"""Quantities and bounds of the paper, named by their theorems.

*Structured Prediction in Online Learning*, Boudart, Rudi, Gaillard (2024).
"""

from __future__ import annotations

import math

import numpy as np

from oskaar.arrays import Array


def effective_dimension(K: Array, lam: float) -> float:
    """d_eff(lam) = Tr(K (K + lam I)^-1), equation (effective_dimension).

    >>> effective_dimension(np.eye(4), 1.0)
    2.0
    """
    if not (math.isfinite(lam) and lam > 0):
        raise ValueError(f"lam must be finite and > 0, got {lam}.")
    K = np.asarray(K, dtype=float)
    if K.size == 0:
        return 0.0
    values = np.maximum(np.linalg.eigvalsh(K), 0.0)
    return float(np.sum(values / (values + lam)))


def salami_eta(kappa: float, bound: float) -> float:
    """eta = 1 / (2 (kappa sup|g| + 1)^2), an exp-concavity constant of |phi - g(x)|^2 where |g| <= bound.

    For estimates in the unit ball (kappa sup|g| = 1) it is 1/8.

    >>> salami_eta(1.0, 1.0)
    0.125
    """
    if not (kappa > 0 and bound >= 0 and math.isfinite(kappa * bound)):
        raise ValueError(f"kappa and the bound on |g| must be finite, got {kappa} and {bound}.")
    return 1 / (2 * (kappa * bound + 1) ** 2)


def comparison_bound(rounds: int, c_delta: float, surrogate_loss: float) -> float:
    """R_T <= 2 c_delta sqrt(T) sqrt(sum_t |phi_t - g_t(x_t)|^2), Lemma (online CI): it holds on any data.

    >>> comparison_bound(4, 0.5, 1.0)
    2.0
    """
    return 2 * c_delta * math.sqrt(rounds) * math.sqrt(surrogate_loss)


def oskaar_bound(T: int, c_delta: float, kappa: float, lam: float, d_eff: float, best_fit: float) -> float:
    """R_T <= 2 c_delta sqrt(T) sqrt(log(e + e kappa^2 T / lam) d_eff(lam) + min_g L_T(g)).

    Theorem (FirstRegretBound), for any data and any lam.

    best_fit is min_g L_T(g) = sum_t |phi_t - g(x_t)|^2 + lam |g|^2 of the best g in hindsight.

    >>> round(oskaar_bound(T=100, c_delta=0.5, kappa=1.0, lam=10.0, d_eff=5.0, best_fit=20.0), 3)
    60.819
    """
    regret = math.log(math.e + math.e * kappa**2 * T / lam) * d_eff
    return comparison_bound(T, c_delta, regret + best_fit)

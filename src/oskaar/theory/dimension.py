r"""Effective dimensions of the rows of a stream.

    d_eff(lam) = Tr(K (K + lam I)^-1)                                               equation (effective_dimension)

It lies between two sums that an online learner meets. With C_t = sum_{s<=t} k(x_s, .) (x) k(x_s, .), the hedged
leverage of row t is l_t = <k(x_t, .), (C_t + lam)^-1 k(x_t, .)>, and for every lam > 0

    d_eff(lam)  <=  sum_t l_t  <=  log det(I + K / lam)  <=  log(e + e kappa^2 T / lam) d_eff(lam)            (1)

Proof. (C_t + lam)^-1 falls with t, so l_t is at least its value at t = T, and those sum to d_eff. The factor
det(C_t + lam) / det(C_{t-1} + lam) is 1 / (1 - l_t), and l <= -log(1 - l). With a an eigenvalue of K / lam,
log(1 + a) <= a / (1 + a) (1 + log(1 + a)), and a <= kappa^2 T / lam.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import cholesky

from oskaar.arrays import Array
from oskaar.requirements import require_numbers


def effective_dimension(K: Array, lam: float) -> float:
    """d_eff(lam) = Tr(K (K + lam I)^-1), equation (effective_dimension), for a positive semidefinite K (T, T).

    It falls from rank(K) at lam = 0 to 0, and is at most kappa^2 T / lam.

    >>> effective_dimension(np.eye(4), 1.0)
    2.0
    """
    require_numbers(lam=lam, above=True)
    values = _spectrum(K)
    return float(np.sum(values / (values + lam)))


def interval_effective_dimension(K: Array, lam: float, start: int, stop: int) -> float:
    """d_eff(lam) of rows start, ..., stop - 1, counted from 0: what a restart at `start` has to learn.

    The paper's d_eff(lam, t_{i+1} - t_i), whose matrix has t_{i+1} - t_i rows (docs/errata.md).

    >>> interval_effective_dimension(np.diag([1.0, 1.0, 3.0]), 1.0, 1, 3)
    1.25
    """
    if not 0 <= start <= stop <= len(K):
        raise ValueError(f"rows must have 0 <= start <= stop <= {len(K)}, got {start} and {stop}.")
    return effective_dimension(np.asarray(K)[start:stop, start:stop], lam)


def log_determinant(K: Array, lam: float) -> float:
    """Log det(I + K / lam), between d_eff(lam) and its product with `log_factor`, by (1).

    >>> log_determinant(np.eye(3), 1.0) == 3 * math.log(2)
    True
    """
    require_numbers(lam=lam, above=True)
    return float(np.sum(np.log1p(_spectrum(K) / lam)))


def online_leverages(K: Array, lam: float) -> Array:
    """l_t = <k(x_t, .), (C_t + lam)^-1 k(x_t, .)> = 1 - lam / d_t^2 for K + lam I = L L^T, d the diagonal of L.

    The price of round t in the regret of KAAR (Lemma regret vawk).

    >>> online_leverages(np.ones((2, 2)), 1.0)     # 1 / (1 + 1), then 1 / (2 + 1)
    array([0.5       , 0.33333333])
    """
    require_numbers(lam=lam, above=True)
    d = np.diagonal(cholesky(np.asarray(K, dtype=float) + lam * np.eye(len(K)), lower=True))
    return 1 - lam / d**2


def dimension_bound(T: int, kappa: float, lam: float) -> float:
    """d_eff(lam) <= kappa^2 T / lam, for any rows, where k(x, x) <= kappa^2.

    >>> dimension_bound(100, 2.0, 10.0)
    40.0
    """
    require_numbers(T=T, kappa=kappa)
    require_numbers(lam=lam, above=True)
    return kappa**2 * T / lam


def log_factor(T: int, kappa: float, lam: float) -> float:
    """log(e + e kappa^2 T / lam), the factor of d_eff in every bound.

    >>> log_factor(0, 1.0, 1.0)
    1.0
    """
    return 1 + math.log1p(dimension_bound(T, kappa, lam))


def _spectrum(K: Array) -> Array:
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be a square matrix, got shape {K.shape}.")
    return np.maximum(np.linalg.eigvalsh(K), 0.0) if K.size else np.zeros(0)

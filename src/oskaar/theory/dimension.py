r"""Effective dimensions of the rows of a stream, and the capacity condition on them (Refined Regret Bounds).

    d_eff(lam) = Tr(K (K + lam I)^-1)                                               equation (effective_dimension)

It lies between two sums that an online learner meets. With C_t = sum_{s<=t} k(x_s, .) (x) k(x_s, .), the hedged
leverage of row t is l_t = <k(x_t, .), (C_t + lam)^-1 k(x_t, .)>, and for every lam > 0

    d_eff(lam)  <=  sum_t l_t  <=  log det(I + K / lam)  <=  log(e + e kappa^2 T / lam) d_eff(lam)            (1)

Proof. (C_t + lam)^-1 falls with t, so l_t is at least its value at t = T, and those sum to d_eff. The factor
det(C_t + lam) / det(C_{t-1} + lam) is 1 / (1 - l_t), and l <= -log(1 - l). With a an eigenvalue of K / lam,
log(1 + a) <= a / (1 + a) (1 + log(1 + a)), and a <= kappa^2 T / lam.

The capacity condition is d_eff(lam) <= Q (T / lam)^beta for all lam > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky

from oskaar.arrays import Array
from oskaar.requirements import require_exponent, require_numbers


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


@dataclass(frozen=True)
class Capacity:
    """d_eff(lam) <= Q (T / lam)^beta. beta = 1 and Q = kappa^2 hold for every bounded kernel.

    >>> Capacity(Q=2.0, beta=0.5).dimension(T=100, lam=4.0)
    10.0
    """

    Q: float
    beta: float

    def __post_init__(self) -> None:
        require_numbers(Q=self.Q)
        require_exponent(self.beta)

    def dimension(self, T: int, lam: float) -> float:
        """Q (T / lam)^beta."""
        require_numbers(lam=lam, above=True)
        return float(self.Q * (T / lam) ** self.beta)

    def pieces(self, T: int, lam: float, m: int) -> float:
        """A bound on the sum of d_eff over m intervals of T rounds: Q m^(1 - beta) (T / lam)^beta, by Jensen.

        The condition has to hold on every interval, which one on all T rounds does not imply (docs/errata.md).
        """
        return float(m ** (1 - self.beta) * self.dimension(T, lam))


def polynomial_capacity(c: float, mu: float) -> Capacity:
    r"""The capacity of eigenvalues sigma_j <= c j^-mu, mu > 1, of K / T.

        d_eff(lam) <= sum_j 1 / (1 + j^mu lam / (c T)) <= int_0^inf = (c T / lam)^(1/mu) (pi / mu) / sin(pi / mu)

    so beta = 1 / mu and Q = c^(1/mu) (pi / mu) / sin(pi / mu); the paper prints -1 / mu and c (docs/errata.md).

    >>> polynomial_capacity(4.0, 2.0) == Capacity(Q=math.pi, beta=0.5)
    True
    """
    require_numbers(c=c)
    require_numbers(mu=mu, least=1.0, above=True)
    return Capacity(c ** (1 / mu) * (math.pi / mu) / math.sin(math.pi / mu), 1 / mu)


def fit_capacity(K: Array, beta: float | None = None, least: float = 1.0, most: float | None = None) -> Capacity:
    r"""Q and beta of a kernel matrix (T, T): beta is fitted, and then Q is such that the condition holds.

    beta: given, or the slope of log d_eff on log(T / lam) over lam in [least, most], most = T by default, the
    range that the prescriptions use. Q is the least number, up to 1%, for which d_eff(lam) <= Q (T / lam)^beta
    for *all* lam > 0: log d_eff has a slope in [-1, 0] in log lam, so between points of a grid with steps h it
    exceeds none by more than h beta (1 - beta); below the grid d_eff is at most the rank, above it at most Tr(K) /
    lam. The spectrum is that of `theory.effective_dimension`, to the smallest eigenvalue > 0: where beta is near 0, Q
    is near their number, and eigenvalues that are rounding errors count.

    >>> fit_capacity(np.eye(50), beta=1.0)      # d_eff = 50 / (1 + lam) <= 50 / lam
    Capacity(Q=1.0, beta=1.0)
    """
    values = _spectrum(K)
    values = values[values > 0.0]
    T = len(K)
    if not len(values):
        return Capacity(0.0, 1.0 if beta is None else beta)
    if beta is None:
        lams = np.geomspace(least, T if most is None else most, 60)
        slope = np.polyfit(np.log(T / lams), np.log(_dimensions(values, lams)), 1)[0]
        beta = float(np.clip(slope, 0.0, 1.0))
    require_exponent(beta)
    h = 0.02
    first = max(np.log(values.min()) + math.log(1e-4), math.log(np.finfo(float).tiny))
    grid = np.exp(np.arange(first, np.log(values.max()) + math.log(1e9) + h, h))
    shares = _dimensions(values, grid) * (grid / T) ** beta
    ends = [len(values) * (grid[0] / T) ** beta, values.sum() / T * (grid[-1] / T) ** (beta - 1)]
    return Capacity(max(float(shares.max()) * math.exp(h * beta * (1 - beta)), *map(float, ends)), beta)


def gaussian_dimension_bound(T: int, lam: float, width: int, radius: float, lengthscale: float) -> float:
    r"""d_eff(lam) of the Gaussian kernel on T rows of `width` numbers in a ball: about log(T / lam)^width.

        d_eff(lam) <= min_M  binom(M - 1 + width, width) + (T / lam) P(Poisson(radius^2 / lengthscale^2) >= M)

    Proof. exp(-|x - y|^2 / 2) = exp(-|x|^2 / 2) exp(-|y|^2 / 2) sum_k <x, y>^k / k!, for lengthscale 1. The terms
    of degree < M have rank binom(M - 1 + width, width); the diagonal of the rest is a Poisson tail, which grows
    with |x|. And d_eff(A + B) <= d_eff(A) + d_eff(B) <= rank(A) + Tr(B) / lam. The paper's (log(T / lam))^d,
    after Altschuler and others (2019), leaves out constants and is below d_eff where T / lam is near 1.

    >>> gaussian_dimension_bound(100, 1.0, width=1, radius=0.0, lengthscale=1.0)     # one point: rank 1
    1.0
    """
    require_numbers(lam=lam, lengthscale=lengthscale, above=True)
    require_numbers(T=T, radius=radius)
    require_numbers(width=width, least=1)
    rho = (radius / lengthscale) ** 2
    best, tail, term = T / lam, 1.0, math.exp(-rho)
    rounding = 1e-14 if rho else 0.0  # of the tail, which is found by subtraction
    for M in range(1, 10_000):
        tail = max(0.0, tail - term)
        term *= rho / M
        rank = math.comb(M - 1 + width, width)
        best = min(best, rank + T / lam * (tail + rounding))
        if rank >= best:
            break
    return float(min(best, T))


def _spectrum(K: Array) -> Array:
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"K must be a square matrix, got shape {K.shape}.")
    return np.maximum(np.linalg.eigvalsh(K), 0.0) if K.size else np.zeros(0)


def _dimensions(values: Array, lams: Array) -> Array:
    return np.array([np.sum(values / (values + lam)) for lam in lams])

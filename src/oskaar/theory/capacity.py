r"""The capacity condition, d_eff(lam) <= Q (T / lam)^beta for all lam > 0 (appendix, Refined Regret Bounds)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oskaar.arrays import Array
from oskaar.requirements import require_exponent, require_numbers
from oskaar.theory.dimension import _spectrum


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


def _dimensions(values: Array, lams: Array) -> Array:
    return np.array([np.sum(values / (values + lam)) for lam in lams])

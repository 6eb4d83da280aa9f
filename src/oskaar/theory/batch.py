"""What is known of batch estimators on i.i.d. data, and what a sketch costs: results that the paper cites."""

from __future__ import annotations

import math

from oskaar.requirements import require_exponent, require_numbers, require_probability
from oskaar.theory.stationary import comparison_bound


def batch_comparison_bound(c_delta: float, surrogate_excess: float) -> float:
    """E(f) - E(f*) <= 2 c_delta sqrt(R(g) - R(g*)), for f(x) = argmin_z <psi(z), g(x)> (Section 2, after ILE).

    surrogate_excess: R(g) - R(g*) = E_x |g(x) - E[phi(y) | x]|^2.

    >>> batch_comparison_bound(0.5, 0.25)
    0.5
    """
    require_numbers(surrogate_excess=surrogate_excess)
    return comparison_bound(1, c_delta, surrogate_excess)


def batch_rate(n: int, delta: float) -> float:
    """n^(-1/4) log(1 / delta), the order of the excess risk of the batch estimator f_n (Section 2, after ILE).

    With probability 1 - delta, on n i.i.d. rounds, for a g* in the RKHS. An order, not a bound: the constant, which
    the paper leaves out, does not depend on n nor delta. `BatchILE` is that estimator.

    >>> batch_rate(16, delta=math.exp(-2))
    1.0
    """
    require_numbers(n=n, least=1)
    require_probability(delta)
    return float(n**-0.25 * math.log(1 / delta))


def nystrom_cost(d_eff: float, beta: float) -> float:
    """d_eff(lam)^(4 / (1 - beta)), the order of the operations a round with Nystrom features (Computation time).

    Enough for the same regret, after Jezequel, Gaillard and Rudi (2019), where the capacity condition holds with
    beta < 1; the paper prints 1 - lambda (docs/errata.md, 12). An order, without its constant: compare with t^2.

    >>> nystrom_cost(3.0, beta=0.0), nystrom_cost(2.0, beta=0.5)
    (81.0, 256.0)
    """
    require_numbers(d_eff=d_eff)
    require_exponent(beta)
    return math.inf if beta == 1 else float(d_eff ** (4 / (1 - beta)))

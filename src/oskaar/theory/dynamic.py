r"""SALAMI: regret on streams that change (Section 5, appendices D and E).

g*_1, ..., g*_T are functions of the RKHS with g*_t(x_t) = E[phi_t | past, x_t]. They vary by

    V_0 = 1 + sum_{t>1} [g*_t != g*_{t-1}],        V_G = |g*_1| + sum_{t>1} |g*_t - g*_{t-1}|

R_T(lam, m) bounds sum_t |g_t(x_t) - phi_t|^2 - |g*_t(x_t) - phi_t|^2, on any data; the regret of the answers follows
by `theory.comparison_bound`, in expectation and for a baseline that does not see y_t (docs/errata.md, 1).
Where the g*_t depend on the data, as with an adversary, V_0, V_G and the intervals are random, and so is R_T(lam, m).
The shifted functions are Algorithm 3. Their sup_norm enters only through kappa sup|g|, a bound on |g*_t(x_t)| and on
the values of the experts at x_t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oskaar.arrays import Array
from oskaar.requirements import require_ball, require_numbers
from oskaar.theory.dimension import log_factor
from oskaar.theory.high_probability import shifted_kaar_bound
from oskaar.theory.prescriptions import target_bound


def variations(first: float, steps: Sequence[float]) -> tuple[int, float]:
    """(V_0, V_G) from |g*_1| and the steps |g*_t - g*_{t-1}|, t = 2..T.

    >>> variations(1.0, [0.0, 0.5, 0.0, 0.25])
    (3, 1.75)
    """
    require_numbers(first=first)
    if any(not (math.isfinite(step) and step >= 0) for step in steps):
        raise ValueError(f"steps must be finite and >= 0, got {list(steps)}.")
    return 1 + sum(step > 0 for step in steps), float(first + sum(steps))


def pieces(steps: Sequence[float], m: int) -> list[int]:
    """The first rounds t_1 = 1 < t_2 < ... of at most m intervals that each vary by V_G / m or less.

    steps: |g*_t - g*_{t-1}|, t = 2..T. Equation (definition m): an interval ends before the step that would make it
    vary by more than a share 1 / m of all steps, so that fewer than m end. V_G also counts |g*_1|, which makes
    its share larger.

    >>> pieces([1.0, 0.0, 1.0, 0.0, 2.0], 2)
    [1, 6]
    """
    require_numbers(m=m, least=1)
    share = sum(steps) / m * (1 + 1e-12)
    starts, inside = [1], 0.0
    for t, step in enumerate(steps, start=2):
        inside += step
        if inside > share:
            starts.append(t)
            inside = 0.0
    return starts


def interval_means(G: Array, starts: Sequence[int]) -> Array:
    """g_bar_i = argmin_g sum_t |g - g*_t|^2 over interval i, the mean of its g*_t, equation (discrete approx of ht).

    G: (T, ...), the g*_t in any coordinates that are linear in g, such as their values at fixed points.
    starts: the first rounds of the intervals, counted from 1, as `pieces` gives them. Returns (m, ...).

    >>> interval_means(np.array([1.0, 3.0, 5.0]), [1, 3])
    array([2., 5.])
    """
    G, ends = np.asarray(G, dtype=float), [*starts[1:], len(G) + 1]
    if not len(starts) or starts[0] != 1 or any(lo >= hi for lo, hi in zip(starts, ends, strict=True)):
        raise ValueError(f"starts must rise from 1 to at most {len(G)}, got {list(starts)}.")
    return np.stack([G[lo - 1 : hi - 1].mean(axis=0) for lo, hi in zip(starts, ends, strict=True)])


def mixture_regret(experts: float, eta: float) -> float:
    """log(N) / eta: what the mixture pays more than one of N experts while that is awake (proposition, step 2).

    Assumes that eta is an exp-concavity constant of the losses. N counts all experts born so far: T restarts
    for each lam and kernel, whichever are still alive. Where experts have prior weights, N is the sum of these over
    that of the one expert.

    >>> mixture_regret(1, 0.125)
    0.0
    """
    require_numbers(eta=eta, above=True)
    require_numbers(experts=experts, least=1)
    return math.log(experts) / eta


def dynamic_regret(
    T: int,
    lam: float,
    m: int,
    kappa: float,
    eta: float,
    d_eff: float,
    norm: float,
    V_G: float,
    sup_value: float | None = None,
    kinds: int = 1,
) -> float:
    r"""R_T(lam, m), Proposition (dynamic regret vawk), for m restarts chosen by `pieces`.

        R_T(lam, m) = m log(T) / eta + log(e + e kappa^2 T / lam) sum_i d_eff(lam, interval i)
                      + lam m max_t |g*_t|^2 + 2 (1 + sup|g*|) kappa V_G T / m

    d_eff: the sum over the m intervals; at most kappa^2 T / lam. norm: max_t |g*_t| in the RKHS.
    sup_value: a bound on |g*_s(x_t)| for *all* s and t in one interval; None is kappa norm, which always holds. The
    paper's 4 kappa is for 1, which g*_s(x_s) = E[phi] does not imply at other rounds' x_t (docs/errata.md, 7).
    kinds: how many lams and kernels are mixed; log(T) becomes log(T kinds).

    >>> dynamic_regret(T=1, lam=1.0, m=1, kappa=1.0, eta=0.125, d_eff=0.5, norm=1.0, V_G=1.0, kinds=1) == (
    ...     0.5 * (1 + math.log(2)) + 1 + 4)
    True
    """
    sup_value = kappa * norm if sup_value is None else sup_value
    require_numbers(d_eff=d_eff, norm=norm, V_G=V_G, sup_value=sup_value)
    require_numbers(m=m, least=1)
    drift = 2 * (1 + sup_value) * kappa * V_G * T / m
    return abrupt_regret(T, lam, m, kappa, eta, d_eff, m * norm**2, kinds) + drift


def abrupt_regret(
    T: int, lam: float, V_0: int, kappa: float, eta: float, d_eff: float, squared_norms: float, kinds: int = 1
) -> float:
    r"""R^0_T(lam, V_0), Theorem (expected regret non stationary), case 2: restarts at the true changes.

        R^0_T = V_0 log(T) / eta + log(e + e kappa^2 T / lam) sum_i d_eff(lam, interval i) + lam sum_i |g*_i|^2

    d_eff: the sum over the V_0 intervals. squared_norms: the sum of |g*_i|^2 over them.

    >>> abrupt_regret(T=1, lam=2.0, V_0=1, kappa=0.0, eta=0.125, d_eff=3.0, squared_norms=4.0)
    11.0
    """
    require_numbers(squared_norms=squared_norms, d_eff=d_eff)
    require_numbers(V_0=V_0, T=T, least=1)
    return V_0 * mixture_regret(T * kinds, eta) + log_factor(T, kappa, lam) * d_eff + lam * squared_norms


def shifted_dynamic_regret(
    T: int,
    lam: float,
    m: int,
    kappa: float,
    eta: float,
    d_eff: float,
    norm: float,
    V_G: float,
    sup_norm: float,
    kinds: int = 1,
) -> float:
    r"""R_T(lam, m) of Algorithm 3 (appendix E), for shifted losses; d_eff is the sum of d_eff(4 lam) over intervals.

        m log(T) / eta + B^2 / 4 log(e + e kappa^2 T / (4 lam)) d_eff + lam m max_t |g*_t|^2
            + (1 + kappa sup|g|) kappa V_G T / m

    >>> shifted_dynamic_regret(T=1, lam=1.0, m=1, kappa=1.0, eta=0.125, d_eff=0.0, norm=1.0, V_G=2.0, sup_norm=1.0)
    5.0
    """
    require_numbers(V_G=V_G)
    require_numbers(m=m, least=1)
    require_ball(norm, sup_norm)
    drift = (1 + kappa * sup_norm) * kappa * V_G * T / m
    return shifted_abrupt_regret(T, lam, m, kappa, eta, d_eff, m * norm**2, sup_norm, kinds) + drift


def shifted_abrupt_regret(
    T: int,
    lam: float,
    V_0: int,
    kappa: float,
    eta: float,
    d_eff: float,
    squared_norms: float,
    sup_norm: float,
    kinds: int = 1,
) -> float:
    r"""R^0_T(lam, V_0) of Algorithm 3; d_eff is the sum of d_eff(4 lam) over intervals.

        V_0 log(T) / eta + B^2 / 4 log(e + e kappa^2 T / (4 lam)) d_eff + lam sum_i |g*_i|^2

    >>> shifted_abrupt_regret(T=1, lam=1.0, V_0=1, kappa=0.0, eta=0.125, d_eff=4.0, squared_norms=1.0, sup_norm=1.0)
    5.0
    """
    require_numbers(V_0=V_0, T=T, least=1)
    require_numbers(squared_norms=squared_norms)
    require_ball(math.sqrt(squared_norms / V_0), sup_norm)
    kaar = shifted_kaar_bound(T, kappa, lam, d_eff, lam * squared_norms, target_bound(kappa, sup_norm))
    return V_0 * mixture_regret(T * kinds, eta) + kaar

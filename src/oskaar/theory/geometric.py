r"""Geometric restarts: how many of them cover an interval, and the regret of SALAMI(restarts="geometric").

Rounds are counted from 1. The expert that starts at round r = odd 2^k is awake for 4 2^k rounds, the first for ever.
Some expert that started in the first half of [s, t], and not before s, is awake at t. And n rounds in a row are
covered by a chain of restarts, the first at the first of them, each followed until the next starts. For any n rounds

    J(n) = 1 + ceil(log_4((3 n + 1) / 13)) restarts, at least 1, are enough; from round 1 on, one is.              (1)

Proof. After r = odd 2^k comes r + 2^k or r + 3 2^k, whichever is a multiple of 4 2^k: one of them is, and r is awake
until r + 4 2^k - 1. So 2^k grows fourfold or more from one to the next. After j restarts the next starts at least
1 + 4 + ... + 4^(j-1) rounds after s, and is awake for 4 4^j rounds: J restarts reach n = (4^(J-1) - 1) / 3 + 4^J.

The weights treat an expert that has ended as one that sleeps again, so the mixture pays at most log(N) / eta more
than any expert while that is awake (`theory.mixture_regret`), N counting all that were ever born. In the proofs
of Section 5, each interval becomes J(n) of them, on each of which the same g*_t or g_bar is followed. Nothing else
changes: the d_eff of the parts still sum to at most kappa^2 T / lam.
"""

from __future__ import annotations

from oskaar.requirements import require_numbers
from oskaar.theory.dimension import dimension_bound
from oskaar.theory.dynamic import abrupt_regret
from oskaar.theory.prescriptions import drift_lam, drift_pieces
from oskaar.theory.salami import PROJECTED_ETA, salami_abrupt_bound
from oskaar.theory.stationary import comparison_bound


def geometric_cover(first: int, last: int) -> list[int]:
    """The starts of restarts that cover rounds first, ..., last, each followed until the next starts: proof of (1).

    >>> geometric_cover(5, 40), geometric_cover(1, 40)
    ([5, 8, 32], [1])
    """
    require_numbers(first=first, least=1)
    require_numbers(last=last, least=first)
    starts = [first]
    while starts[-1] > 1:
        r = starts[-1]
        unit = r & -r
        if r + 4 * unit > last:
            break
        starts.append(r + unit if (r + unit) % (4 * unit) == 0 else r + 3 * unit)
    return starts


def geometric_pieces(rounds: int) -> int:
    """J(n) of (1): how many restarts cover any n rounds in a row.

    >>> [geometric_pieces(n) for n in (1, 4, 5, 17, 18, 1000, 10**6)]
    [1, 1, 2, 2, 3, 5, 10]
    """
    require_numbers(rounds=rounds, least=1)
    pieces, reach = 1, 4
    while reach < rounds:
        reach = (4**pieces - 1) // 3 + 4 ** (pieces + 1)
        pieces += 1
    return pieces


def geometric_abrupt_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_0: int,
    norm: float,
    eta: float = PROJECTED_ETA,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    r"""E[R_T] of SALAMI with geometric restarts, for V_0 - 1 abrupt changes: of order (V_0 log T)^(1/4) T^(3/4).

    `theory.salami_abrupt_bound` with P = 1 + (V_0 - 1) J(T - V_0 + 1) intervals in place of V_0, also in
    lam = sqrt(T / P): the first interval starts at round 1, and no other is longer than T - V_0 + 1 rounds.

    >>> geometric_abrupt_bound(100, 0.5, 1.0, V_0=1, norm=1.0) == salami_abrupt_bound(100, 0.5, 1.0, V_0=1, norm=1.0)
    True
    >>> geometric_abrupt_bound(100, 0.5, 1.0, V_0=3, norm=1.0) == salami_abrupt_bound(100, 0.5, 1.0, V_0=9, norm=1.0)
    True
    """
    require_numbers(V_0=V_0, least=1)
    require_numbers(T=T, least=V_0)
    P = min(T, 1 + (V_0 - 1) * geometric_pieces(T - V_0 + 1))
    return salami_abrupt_bound(T, c_delta, kappa, P, norm, eta, kinds, misfit)


def geometric_drift_bound(
    T: int,
    c_delta: float,
    kappa: float,
    V_G: float,
    norm: float,
    eta: float = PROJECTED_ETA,
    sup_value: float | None = None,
    kinds: int = 1,
    misfit: float = 0.0,
) -> float:
    r"""E[R_T] of SALAMI with geometric restarts, for a drift of length V_G: V_G^(1/6) T^(5/6), up to logarithms.

    As `theory.salami_drift_bound`: m intervals that each vary by V_G / m, cut into P = 1 + (m - 1) J(T - m + 1)
    restarts, lam = sqrt(T / P). The drift costs 2 (1 + sup|g*|) kappa V_G T / m as before.

    >>> from oskaar.theory import salami_drift_bound
    >>> geometric_drift_bound(9, 0.5, 1.0, V_G=0.0, norm=1.0) == salami_drift_bound(9, 0.5, 1.0, V_G=0.0, norm=1.0)
    True
    """
    sup_value = kappa * norm if sup_value is None else sup_value
    require_numbers(V_G=V_G, norm=norm, sup_value=sup_value, misfit=misfit)
    m = min(T, drift_pieces(T, V_G, kappa))
    P = min(T, 1 + (m - 1) * geometric_pieces(T - m + 1))
    lam = drift_lam(T, P)
    regret = abrupt_regret(T, lam, P, kappa, eta, dimension_bound(T, kappa, lam), P * norm**2, kinds)
    return comparison_bound(T, c_delta, regret + 2 * (1 + sup_value) * kappa * V_G * T / m + misfit)

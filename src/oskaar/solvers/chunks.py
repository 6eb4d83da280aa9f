r"""KAAR on a chunk of rounds, each predicted after the labels of those before it, from one Cholesky factor.

R R^T is the covariance of the chunk's rows given the past, plus lam I; `past` is what the past says of them.
For the round with rows b, and C the coordinates of the targets of the rounds before it:

    M_b = past_b + R[b, :b] C,    E_b = R_bb^-1 M_b,    G_b = lam R_bb^-T E_b,    C_b = R_bb^-1 (phi_b - M_b)

Both solvers use it: the dual one with its lam, the one in feature space with lam = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from oskaar.arrays import Array, spans


def in_turn(R: Array, past: Array, Phi: Array, ends: Any, lam: float, shifted: bool) -> tuple[Array, Array, Array]:
    """C, E and the estimates G of the rounds that end at rows `ends`; `shifted` has targets 2 phi - G.

    >>> in_turn(np.array([[2.0]]), np.array([[4.0]]), np.array([[6.0]]), [1], lam=1.0, shifted=False)
    (array([[1.]]), array([[2.]]), array([[1.]]))
    """
    return (_rows if len(ends) == len(Phi) else _blocks)(R, past, Phi, ends, lam, shifted)


def _rows(R: Array, past: Array, Phi: Array, ends: Any, lam: float, shifted: bool) -> tuple[Array, Array, Array]:
    """Rounds of one row: one triangular solve for all of them."""
    d = np.diagonal(R)[:, None].copy()
    below = np.tril(R, -1)
    if shifted:  # d_t C_t = 2 phi_t - (1 + lam / d_t^2) m_t, with m_t = sum_{j<t} L_tj C_j
        scale = 1 + lam / d**2
        system = scale * below
        np.fill_diagonal(system, d)
        C = solve_triangular(system, 2 * Phi - scale * past, lower=True, check_finite=False)
    else:
        C = solve_triangular(R, Phi - past, lower=True, check_finite=False)
    E = (past + below @ C) / d
    return C, E, lam / d * E


def _blocks(R: Array, past: Array, Phi: Array, ends: Any, lam: float, shifted: bool) -> tuple[Array, Array, Array]:
    """Rounds of any number of rows."""
    C, E, G = np.zeros_like(Phi), np.zeros_like(Phi), np.zeros_like(Phi)
    for lo, hi in spans(ends):
        corner, M = R[lo:hi, lo:hi], past[lo:hi] + R[lo:hi, :lo] @ C[:lo]
        E[lo:hi] = solve_triangular(corner, M, lower=True)
        G[lo:hi] = lam * solve_triangular(corner, E[lo:hi], lower=True, trans=1)
        target = 2 * Phi[lo:hi] - G[lo:hi] if shifted else Phi[lo:hi]
        C[lo:hi] = solve_triangular(corner, target - M, lower=True)
    return C, E, G

r"""KAAR on a chunk of rounds, each predicted after the labels of those before it, from one Cholesky factor.

R R^T is the covariance of the chunk's rows given the past, plus lam I; `past` is what the past says of them.
For the round with rows b, and C the coordinates of the targets of the rounds before it:

    M_b = past_b + R[b, :b] C,    E_b = R_bb^-1 M_b,    G_b = lam R_bb^-T E_b,    C_b = R_bb^-1 (phi_b - M_b)

Both solvers use it: the dual one with its lam, the one in feature space with lam = 1.

No estimate depends on its own label or on later ones, to the last bit. Labels may bring columns, and BLAS rounds
differently at another width, so columns that the past does not have go in tiles of a width of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from oskaar.arrays import Array, fit_columns, spans
from oskaar.solvers.triangles import times_below

TILE = 16
"""Columns that are new go through BLAS so many at a time, with zeros for those that are missing to it."""

Solve = Callable[[Array, Array], tuple[Array, Array, Array]]


def target_of(Phi: Array, G: Array, shifted: bool) -> Array:
    """What rounds with the estimates G are learned with: phi, or 2 phi - g_hat where KAAR is shifted.

    >>> target_of(np.array([[3.0, 1.0]]), np.array([[1.0]]), shifted=True)
    array([[5., 2.]])
    """
    return 2 * Phi - fit_columns(G, Phi.shape[1]) if shifted else Phi


def tiles(known: int, p: int) -> list[slice]:
    """Columns 0..p-1, and some more: those known, which come first, and tiles for the others.

    >>> tiles(10, 10), tiles(10, 27)
    ([slice(0, 10, None)], [slice(0, 10, None), slice(10, 26, None), slice(26, 42, None)])
    """
    new = [slice(lo, lo + TILE) for lo in range(known, p, TILE)]
    return [slice(0, known), *new] if known or not new else new


def in_turn(R: Array, past: Array, Phi: Array, ends: Any, lam: float, shifted: bool) -> tuple[Array, Array, Array]:
    """C, E and the estimates G of the rounds that end at rows `ends`; `shifted` has targets 2 phi - G.

    Phi may have columns that `past` does not have.

    >>> in_turn(np.array([[2.0]]), np.array([[4.0]]), np.array([[6.0]]), [1], lam=1.0, shifted=False)
    (array([[1.]]), array([[2.]]), array([[1.]]))
    """
    solve = (_rows if len(ends) == len(Phi) else _blocks)(R, ends, lam, shifted)
    p, parts = Phi.shape[1], tiles(past.shape[1], Phi.shape[1])
    if len(parts) == 1 and p == past.shape[1]:
        return solve(past, Phi)
    past, Phi = fit_columns(past, parts[-1].stop), fit_columns(Phi, parts[-1].stop)
    found = [solve(past[:, part].copy(), Phi[:, part].copy()) for part in parts]
    C, E, G = (np.concatenate(columns, axis=1)[:, :p] for columns in zip(*found, strict=True))
    return C, E, G


def means(R: Array, E: Array, ends: Any = None) -> Array:
    """M of the rounds that end at rows `ends` of E, or of one round; above its diagonal R may have anything.

    >>> means(np.array([[2.0, 9.0], [1.0, 3.0]]), np.array([[1.0], [1.0]])).tolist()
    [[2.0], [4.0]]
    """
    if len(E) == 1:
        M: Array = R[0, 0] * E
        return M
    if ends is not None and len(E) == len(ends):
        M = np.diagonal(R)[:, None] * E
        return M
    rounds = [(0, len(E))] if ends is None else spans(ends)
    return np.concatenate([np.tril(R[lo:hi, lo:hi]) @ E[lo:hi] for lo, hi in rounds])


def _rows(R: Array, ends: Any, lam: float, shifted: bool) -> Solve:
    """Rounds of one row: one triangular solve for all of them."""
    R = np.asfortranarray(R)
    d = np.diagonal(R)[:, None].copy()
    scale = 1 + lam / d**2
    system = R
    if shifted:  # d_t C_t = 2 phi_t - (1 + lam / d_t^2) m_t, with m_t = sum_{j<t} L_tj C_j
        system = scale * np.tril(R, -1)
        np.fill_diagonal(system, d)

    def solve(past: Array, Phi: Array) -> tuple[Array, Array, Array]:
        targets = 2 * Phi - scale * past if shifted else Phi - past
        C = solve_triangular(system, targets, lower=True, check_finite=False)
        E = (past + times_below(R, C)) / d
        return C, E, lam / d * E

    return solve


def _blocks(R: Array, ends: Any, lam: float, shifted: bool) -> Solve:
    """Rounds of any number of rows."""

    def solve(past: Array, Phi: Array) -> tuple[Array, Array, Array]:
        C, E, G = np.zeros((3, *Phi.shape))
        for lo, hi in spans(ends):
            corner, M = R[lo:hi, lo:hi], past[lo:hi] + R[lo:hi, :lo] @ C[:lo]
            E[lo:hi] = solve_triangular(corner, M, lower=True)
            G[lo:hi] = lam * solve_triangular(corner, E[lo:hi], lower=True, trans=1)
            target = target_of(Phi[lo:hi], G[lo:hi], shifted)
            C[lo:hi] = solve_triangular(corner, target - M, lower=True)
        return C, E, G

    return solve

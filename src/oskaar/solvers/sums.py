r"""Sums over rows that were learned in several places: added, and taken away again.

A solver on features is a pair of sums over its rows, whatever their order, held as a factor and its right side:

    A = lam I + sum z z^T = R^T R,   B = sum z phi^T = R^T Theta                                      (1)

Rows [Z, H] are appended, and sums added, by a QR factorisation of what is stacked:

    Q^T [R_1  Theta_1]   [R  Theta]
        [R_2  Theta_2] = [0    *  ],    R^T R = A_1 + A_2,   R^T Theta = B_1 + B_2                    (2)

k sums have lam I in them k times. With R = U diag(s) V^T, s^2 >= k lam, what is left after k - 1 of these is

    s'^2 = s^2 - (k - 1) lam >= lam,   R' = diag(s') V^T,   Theta' = diag(s / s') U^T Theta           (3)

which no cancellation spoils: s / s' <= sqrt(k). Singular values are right to a rounding of the largest one, so that
the smallest eigenvalue of A is right to about eps sqrt(cond A), where a sum of the A would have eps cond A.

To take A_b away, in the coordinates in which A is the identity, with W = R_b R^-1:

    M = I - W^T W + lam R^-T R^-1 = C^T C,   R' = C R,   Theta' = C^-T (Theta - W^T Theta_b)          (4)

The smallest eigenvalue m of M is the share of A that is left in some direction; rounding of W is about eps cond R,
and changes estimates by about eps cond R / m. If b is a part of the rows, I - W^T W has no eigenvalue below 0.
Equivalent to tests/naive.py::kaar over the rows together, and over those that are left.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dgeqrf, dpotrf, dtrcon

from oskaar.arrays import Array

ACCURACY = 1e-9
"""How much of an estimate rounding may change where rows are taken away; more is refused."""

_EPS = float(np.finfo(float).eps)


def appended(S: Array, rows: Array) -> Array:
    """(2): [R, Theta] with rows [Z, H], or with another [R, Theta], below it; any number of rows, none included.

    >>> np.abs(appended(np.array([[3.0, 6.0]]), np.array([[4.0, 13.0]])))
    array([[ 5., 14.]])
    """
    if not len(rows) or not len(S):
        return S
    stacked = np.empty((len(S) + len(rows), S.shape[1]), order="F")
    stacked[: len(S)], stacked[len(S) :] = S, rows
    factored = dgeqrf(stacked, lwork=64 * S.shape[1], overwrite_a=1)[0][: len(S)]
    triangle: Array = np.triu(factored)
    return triangle


def added(parts: list[Array], lam: float) -> Array:
    """(3): [R, Theta] of all rows of some [R, Theta], which have the same shape.

    >>> part = np.array([[2.0, 3.0]])            # lam = 1, z^2 sums up to 3, z phi to 6
    >>> np.abs(added([part, part], lam=1.0))     # 1 + 3 + 3 = sqrt(7)^2 and 6 + 6
    array([[2.64575131, 4.53557368]])
    """
    S, D = parts[0], len(parts[0])
    for part in parts[1:]:
        S = appended(S, part)
    if len(parts) == 1 or not D:
        return S
    U, s, Vt = np.linalg.svd(S[:, :D])
    left = np.sqrt(np.maximum(s**2 - (len(parts) - 1) * lam, lam))
    right = (s / left)[:, None] * (U.T @ S[:, D:])
    return appended(np.zeros(S.shape), np.concatenate([left[:, None] * Vt, right], axis=1))


def taken_away(S: Array, part: Array, lam: float) -> Array:
    """(4): [R, Theta] without the rows of a part. ValueError where they are no part of it, or rounding would show.

    >>> np.abs(taken_away(np.array([[7.0**0.5, 12 / 7.0**0.5]]), np.array([[2.0, 3.0]]), lam=1.0)).round(12)
    array([[2., 3.]])
    """
    D = len(S)
    R = np.asfortranarray(S[:, :D])
    W = dtrsm(1.0, R, part[:, :D], side=1)
    P = dtrsm(1.0, R, np.sqrt(lam) * np.eye(D), side=1)
    noise = 8 * _EPS / max(float(dtrcon(R)[0]), _EPS)
    least = 1.0 - float(np.linalg.norm(W, 2)) ** 2
    if least < -D * noise:
        raise ValueError(
            "the learner that is taken away must be a part of this one: it has learned more than this one has, by a "
            f"factor of {1 - least:.6g} in some direction."
        )
    M = np.eye(D) - W.T @ W + P.T @ P
    share = float(np.linalg.eigvalsh(M)[0])
    if noise > ACCURACY * share:
        raise ValueError(
            f"too little would be left: in some direction {max(share, 0.0):.3g} of what is known comes from other "
            f"rows, so that rounding may change estimates by {min(noise / max(share, noise), 1.0):.1g} of them. "
            "Learn the other rows again."
        )
    C = dpotrf(M, lower=0)[0]
    right = dtrsm(1.0, C, S[:, D:] - W.T @ part[:, D:], trans_a=1)
    return np.concatenate([np.triu(C @ R), right], axis=1)

"""An orthonormal basis of what targets span, for targets with many more coordinates than there are rows.

    Q (r, p),  Q Q^T = I,      c = Q h,   h = c Q,   |h - g| = |c - Q g|      for h and g in the span of Q     (1)

What is linear in targets, and inner products, cost r numbers for each target in place of p.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from oskaar.arrays import Array, fit_columns

LEAST = 1e-12
"""A target has no direction of its own where less of it, by its norm, is outside the span."""


class Basis:
    """A basis that grows by targets: `coordinates` takes them in. p is the number of its vectors.

    H (n, p) are targets that it spans; room: as many more may come.

    >>> basis = Basis(np.array([[0.0, 2.0, 0.0]]), 1)
    >>> basis.coordinates(np.array([[3.0, 4.0, 0.0]])).round(12).tolist(), basis.p
    ([[-4.0, 3.0]], 2)
    >>> basis.vectors(np.array([[-4.0, 3.0]])).round(12).tolist()
    [[3.0, 4.0, 0.0]]
    """

    def __init__(self, H: Array, room: int) -> None:
        Q = qr(H.T, mode="economic", check_finite=False)[0].T
        self.p: int = len(Q)
        self._Q: Array = np.concatenate([Q, np.empty((room, Q.shape[1]))])

    @property
    def Q(self) -> Array:
        """The vectors (r, p)."""
        return self._Q[: self.p]

    @property
    def columns(self) -> int:
        """The number of coordinates that targets have."""
        return int(self._Q.shape[1])

    def coordinates(self, H: Array) -> Array:
        """Q h of a target (1, p), after h is in the span; h may have more columns than all before."""
        self._Q, h = fit_columns(self._Q, H.shape[1]), H[0]
        c: Array = self.Q @ h
        rest = h - c @ self.Q
        whole, left = h @ h, rest @ rest
        if left < whole / 4:  # what is left of rounding has to go too
            again = self.Q @ rest
            rest -= again @ self.Q
            c, left = c + again, rest @ rest
        if left <= LEAST**2 * whole:
            return c[None]
        self._Q[self.p] = rest / np.sqrt(left)
        self.p += 1
        return np.append(c, np.sqrt(left))[None]

    def vectors(self, C: Array) -> Array:
        """c Q for each row of C."""
        vectors: Array = C @ self.Q[: C.shape[-1]]
        return vectors

    def squared_norms(self, C: Array) -> Array:
        """|c|^2 of each C[..., :]."""
        norms: Array = np.einsum("...p,...p->...", C, C)
        return norms

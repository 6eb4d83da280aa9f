r"""Rounds to come for a stack of experts that are folded in at once: nothing is open before or after them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.linalg.blas import dtrsm

from oskaar.arrays import Array, fit_columns
from oskaar.solvers.stackblocks import StackBlock
from oskaar.solvers.stacks import MOST_OPEN, Stack, open_rows
from oskaar.solvers.triangles import factor, whitened_wider, whole_root


class HedgedBlock(StackBlock):
    """One round of many rows: every expert is hedged in feature space, (3) of `FeatureSolver`.

    Experts with one version of the features share Z^T Z and one product with Z.
    """

    @property
    def opens(self) -> int:
        """None."""
        return 0

    def _prepare(self, stack: Stack) -> None:
        k, D, d = self.slots, self.dim, stack.Gram.shape[1]
        E = k + len(self.births)
        self.Gram, self.B = np.zeros((E, D, D)), np.zeros((E, D, stack.B.shape[2]))
        self.Gram[:k, :d, :d], self.B[:k, :d] = stack.Gram[:k], stack.B[:k]
        for e in np.flatnonzero(stack.starts >= 0):
            open_rows = slice(stack.born[e], stack.open)
            Z, H = stack.Z[stack.versions[e]][open_rows], stack.H[open_rows]
            self.Gram[e, :d, :d] += Z.T @ Z
            self.B[e, :d] += Z.T @ H
        used = [*stack.versions[:k].tolist(), *[self.newest] * len(self.births)]
        self.used = np.array([v if v in self.features else self.newest for v in used])  # empty slots have old ones
        for version, Z in self.features.items():
            self.Gram[self.used == version] += Z.T @ Z
        self.F = np.array([[factor(G, lam) for lam in stack.lams] for G in self.Gram])

    def estimates(self, i: int) -> Array:
        """(E, L, n, p)."""
        functions = np.array(
            [[cho_solve((F, True), B) for F in mine] for mine, B in zip(self.F, self.B, strict=True)]
        )
        G = np.empty((*functions.shape[:2], self.n, functions.shape[3]))
        for version, Z in self.features.items():
            mine = np.flatnonzero(self.used == version)
            together = Z @ functions[mine].transpose(2, 0, 1, 3).reshape(self.dim, -1)
            G[mine] = together.reshape(self.n, len(mine), *functions.shape[1::2]).transpose(1, 2, 0, 3)
        return G

    def observe(self, i: int, H: Array) -> None:
        """Give the round its targets."""
        self.H = H

    def write(self, stack: Stack, places: Any, newborn: list[int]) -> int:
        """Every expert's Gram and B with the round in them; nothing is open."""
        k, here = self.slots, [self.slots + b for b in newborn]
        B = fit_columns(self.B, self.p).copy()
        for version, Z in self.features.items():
            B[self.used == version] += Z.T @ self.H
        for array, mine in ((stack.Gram, self.Gram), (stack.F, self.F), (stack.B, B)):
            array[:k], array[places] = mine[:k], mine[here]
        for e in [*range(k), *places]:
            stack.whiten(e)
        for version in self.features:
            stack.Z.setdefault(version, np.zeros((len(stack.H), self.dim)))
        return 0


class FoldedBlock(StackBlock):
    r"""As many rounds of one row as are folded in at a time, their targets known: no inverse is kept.

    With U = Z F^-T and M = U Theta, for each expert,

        R R^T = I + U U^T,   C = R^-1 (H - M),   G_i = (M_i + sum_{j<i} R_ij C_j) / R_ii^2

    and the births have F = sqrt(lam) I and Theta = 0. No expert needs rows after the last one it lives for.
    lives: how many of the rounds each expert, a slot or a birth, lives for.
    """

    def __init__(
        self, stack: Stack, features: dict[int, Array], ends: Any, births: Any, H: Array, lives: NDArray[np.int64]
    ) -> None:
        self.lives = lives
        super().__init__(stack, features, ends, births, H)

    def _prepare(self, stack: Stack) -> None:
        self.stack = stack

    def _observe_all(self, H: Array) -> None:
        stack, self.H = self.stack, H
        self.G = np.zeros((self.slots + len(self.births), len(stack.lams), *H.shape))
        self.divisors = np.ones(self.G.shape[:3])
        for slot in np.flatnonzero(self.lives[: self.slots]):
            rows = self.lives[slot]
            Z, Theta = self.features[stack.versions[slot]][:rows], fit_columns(stack.Theta[slot], H.shape[1])
            for l, lam in enumerate(stack.lams):
                U = whitened_wider(stack.F[slot, l], Z, lam)
                R = whole_root(U)
                self.divisors[slot, l, :rows] = np.diagonal(R) ** 2
                self.G[slot, l, :rows] = _estimates(R, U[:, : Theta.shape[1]] @ Theta[l], H[:rows])
        self._births(stack.lams, H)
        del self.stack

    def _births(self, lams: Array, H: Array) -> None:
        """Births that live for as many rows are alike."""
        n, first = self.n, np.array(self.births, dtype=np.int64)
        gram, targets = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, H.shape[1]))  # with rows of zeros to go on
        gram[:n, :n], targets[:n] = self.features[self.newest] @ self.features[self.newest].T, H
        lengths = np.minimum(2 ** np.ceil(np.log2(self.lives[self.slots :])).astype(np.int64), n)
        for length in np.unique(lengths):
            mine = np.flatnonzero(lengths == length)
            rows = first[mine, None] + np.arange(length)
            S = gram[rows[:, :, None], rows[:, None, :]][:, None] / lams[:, None, None] + np.eye(length)
            R, own = np.linalg.cholesky(S), targets[rows][:, None]
            C = np.linalg.solve(R, np.broadcast_to(own, (*R.shape[:3], H.shape[1])))
            d = np.diagonal(R, axis1=2, axis2=3)[..., None]
            G = (np.tril(R, -1) @ C / d**2).swapaxes(1, 2)
            birth, row = np.nonzero(rows < n)
            self.G[self.slots + mine[birth], :, rows[birth, row]] = G[birth, row]
            self.divisors[self.slots + mine[birth], :, rows[birth, row]] = d[birth, :, row, 0] ** 2

    def write(self, stack: Stack, places: Any, newborn: list[int]) -> int:
        """Only what folding needs: the rows."""
        self._write_rows(stack)
        return self.n


def _estimates(R: Array, M: Array, H: Array) -> Array:
    """G of `FoldedBlock`; R is overwritten."""
    C = dtrsm(1.0, R.T, H - M, lower=0, trans_a=1)
    d = np.diagonal(R)[:, None].copy()
    np.fill_diagonal(R, 0.0)
    G: Array = (M + R @ C) / d**2
    return G


def begin(
    stack: Stack, features: dict[int, Array], ends: Any, births: Any, H: Array | None, lives: NDArray[np.int64]
) -> StackBlock:
    """Rounds to come, with their targets H where these are known and depend on no estimate.

    lives: how many of the rounds each expert, a slot or a birth, lives for.
    """
    n, D = features[max(features)].shape
    if len(ends) == 1 and n > max(MOST_OPEN, D // 2):  # the cheaper way: D^3 rather than n D^2 and n^3
        return HedgedBlock(stack, features, ends, births, None)
    if H is not None and len(ends) == n >= open_rows(max(D, stack.Gram.shape[1])) and not stack.open:
        return FoldedBlock(stack, features, ends, births, H, lives)
    return StackBlock(stack, features, ends, births, H)

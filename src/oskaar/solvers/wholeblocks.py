r"""Rounds to come for a stack of experts, in the way that suits them: a round of many rows is folded in at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from oskaar.arrays import Array, fit_columns
from oskaar.solvers.knownblocks import KnownBlock
from oskaar.solvers.stackblocks import StackBlock
from oskaar.solvers.stacks import Stack
from oskaar.solvers.triangles import factor

FEW, MANY = 12, 96
"""Rounds of one row that go in turn, though their targets are known; rows of a round that are not hedged at once."""


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


def begin(
    stack: Stack, features: dict[int, Array], ends: Any, births: Any, H: Array | None, lives: NDArray[np.int64]
) -> StackBlock:
    """Rounds to come, with their targets H where these are known and depend on no estimate.

    lives: how many of the rounds each expert, a slot or a birth, lives for.
    """
    n, D = features[max(features)].shape
    if len(ends) == 1 and n > max(MANY, D // 2):  # the cheaper way: D^3 rather than n D^2 and n^3
        return HedgedBlock(stack, features, ends, births)
    if H is not None and len(ends) == n > FEW:
        return KnownBlock(stack, features, births, H, lives)
    return StackBlock(stack, features, ends, births)

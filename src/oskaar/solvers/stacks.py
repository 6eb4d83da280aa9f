r"""Several KAARs on the same features, started at different rounds, side by side in stacked arrays.

Each expert e is a `solvers.features.FeatureSolver` on the rows since its start; one that has seen nothing has
A = lam I, P = I / sqrt(lam) and Theta = 0. Open rows are factorised for all experts at once:

    U_e = Z P_e,   L_e L_e^T = I + U_e U_e^T,   J_e = L_e^-1                        (E, m, D), (E, m, m)

with rows of zeros in U_e before e started. Experts live in slots, which are used again when one has gone.
Equivalent to tests/naive.py::kaar for each expert on its own rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array, fit_columns, spans
from oskaar.solvers.features import inverse_factor

OPEN_ROWS = 64
"""Rows that are open before they are folded in."""


class Stack:
    """Experts on the features of one map.

    `starts` has the round at which the expert of each slot started, -1 for an empty slot; `born` its first open row.
    """

    def __init__(self, lam: float) -> None:
        self.lam = lam
        self.starts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.born: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.open = 0
        self.Z, self.H = np.zeros((OPEN_ROWS, 0)), np.zeros((OPEN_ROWS, 0))
        self.A, self.P, self.B, self.Theta = (np.zeros((0, 0, 0)) for _ in range(4))
        self.U, self.J, self.C = np.zeros((0, OPEN_ROWS, 0)), np.zeros((0, OPEN_ROWS, OPEN_ROWS)), self._no_targets()

    @staticmethod
    def _no_targets() -> Array:
        return np.zeros((0, OPEN_ROWS, 0))

    @property
    def nbytes(self) -> int:
        """The memory of the state."""
        return sum(a.nbytes for a in vars(self).values() if isinstance(a, np.ndarray))

    def begin(self, Z: Array, ends: Any, births: Any) -> StackBlock:
        """Rounds to come, with features Z; `births` are those of them that bring a new expert. Changes nothing."""
        Z = fit_columns(Z, max(Z.shape[1], self.A.shape[1]))
        if len(ends) == 1 and len(Z) > 2 * max(OPEN_ROWS, Z.shape[1]):
            return HedgedBlock(self, Z, ends, births)
        return StackBlock(self, Z, ends, births)

    def commit(self, block: StackBlock, starts: Any, newborn: dict[int, int]) -> None:
        """Learn a block. `starts` of the slots from now on, -1 for those that end; `newborn` are the births, by
        their number in the block, that live on, with their starts.
        """
        table = np.concatenate([starts, np.full(len(newborn), -1)]).astype(np.int64)
        places = np.flatnonzero(table < 0)[: len(newborn)]
        table[places] = list(newborn.values())
        table = table[: 1 + max(np.flatnonzero(table >= 0), default=-1)]
        self._reserve(max(len(table), len(self.starts)), self.open + block.n, block.Z.shape[1], block.p)
        for place in places:
            self.A[place], self.P[place] = _scaled_eye(len(self.A[place]), self.lam)
            self.B[place] = self.Theta[place] = 0.0
        born = np.zeros(len(table), dtype=np.int64)
        born[: len(self.born)] = self.born[: len(table)]
        born[places] = [self.open + block.spans[block.births[b]][0] for b in newborn]
        self.open = block.write(self, places, list(newborn))
        self.starts, self.born = table, born if self.open else np.zeros_like(born)
        if self.open >= OPEN_ROWS:
            self.fold()

    def fold(self) -> None:
        """Fold the open rows into A and B of every expert, and factorise afresh."""
        Z, H = self.Z[: self.open], self.H[: self.open]
        gram, moments = Z.T @ Z, Z.T @ H
        for slot in np.flatnonzero(self.starts >= 0):
            first = self.born[slot]
            self.A[slot] += Z[first:].T @ Z[first:] if first else gram
            self.B[slot] += Z[first:].T @ H[first:] if first else moments
            self.P[slot] = inverse_factor(self.A[slot])
            self.Theta[slot] = self.P[slot].T @ self.B[slot]
        self.open = 0
        self.born = np.zeros_like(self.born)

    def _reserve(self, slots: int, rows: int, dim: int, p: int) -> None:
        """Room in all arrays; new features have lam I in A, new coordinates are 0."""
        have, D = self.A.shape[:2]
        slots = have if slots <= have else max(slots, have + 8)
        rows, dim, p = max(self.U.shape[1], rows), max(D, dim), max(self.B.shape[2], p)
        shapes = {"A": (dim, dim), "P": (dim, dim), "B": (dim, p), "Theta": (dim, p)}
        shapes |= {"U": (rows, dim), "J": (rows, rows), "C": (rows, p)}
        for name, shape in shapes.items():
            setattr(self, name, _resized(getattr(self, name), (slots, *shape)))
        self.Z, self.H = _resized(self.Z, (rows, dim)), _resized(self.H, (rows, p))
        new = np.arange(D, dim)
        self.A[:have, new, new], self.P[:have, new, new] = self.lam, 1 / np.sqrt(self.lam)


class StackBlock:
    """Rounds to come: `estimates` of round i, then `observe` its targets. Made by `begin`.

    Experts are the slots of the stack, then the births of the block.
    """

    def __init__(self, stack: Stack, Z: Array, ends: Any, births: Any) -> None:
        self.Z, self.n, self.spans, self.births = Z, len(Z), spans(ends), list(births)
        self.slots, self.starts = len(stack.starts), stack.starts
        self.H = np.zeros((0, 0))
        self._prepare(stack)

    @property
    def p(self) -> int:
        """How many coordinates the targets have."""
        return self.H.shape[1]

    def _prepare(self, stack: Stack) -> None:
        k, m, (n, D), d = self.slots, stack.open, self.Z.shape, stack.A.shape[1]
        U = np.zeros((k + len(self.births), n, D))
        U[:k, :, :d] = self.Z[:, :d] @ stack.P[:k]
        U[:k, :, d:] = self.Z[:, d:] / np.sqrt(stack.lam)
        U[k:] = self.Z / np.sqrt(stack.lam)
        for e, birth in enumerate(self.births, start=k):
            U[e, : self.spans[birth][0]] = 0.0
        self.U, self.J = U, stack.J[:k, :m, :m]
        self.W = U[:k, :, :d] @ stack.U[:k, :m].transpose(0, 2, 1) @ self.J.transpose(0, 2, 1)
        S = U @ U.transpose(0, 2, 1)
        S[:k] -= self.W @ self.W.transpose(0, 2, 1)
        S[:, np.arange(n), np.arange(n)] += 1.0
        self.R = np.sqrt(S) if n == 1 else np.linalg.cholesky(S)
        self.M = np.zeros((len(U), n, stack.C.shape[2]))
        self.M[:k] = U[:k, :, :d] @ stack.Theta[:k] + self.W @ stack.C[:k, :m]
        self.C = np.zeros_like(self.M)

    def estimates(self, i: int) -> Array:
        """(E, n_i, p): what each expert says of round i."""
        lo, hi = self.spans[i]
        M = self._mean(lo, hi)
        if hi - lo == 1:
            estimate: Array = M / self.R[:, lo, lo, None, None] ** 2
            return estimate
        corner = self.R[:, lo:hi, lo:hi]
        return np.linalg.solve(corner @ corner.transpose(0, 2, 1), M)

    def observe(self, i: int, H: Array) -> None:
        """Give round i its targets (n_i, q)."""
        lo, hi = self.spans[i]
        self.H = np.concatenate([fit_columns(self.H, H.shape[1]), H])
        self.M, self.C = fit_columns(self.M, H.shape[1]), fit_columns(self.C, H.shape[1])
        gap = H - self._mean(lo, hi)
        if hi - lo == 1:
            self.C[:, lo] = gap[:, 0] / self.R[:, lo, lo, None]
        else:
            self.C[:, lo:hi] = np.linalg.solve(self.R[:, lo:hi, lo:hi], gap)
        unborn = [e for e, birth in enumerate(self.births, start=self.slots) if birth > i]
        self.C[unborn, lo:hi] = 0.0

    def _mean(self, lo: int, hi: int) -> Array:
        """What each expert's own past, up to row lo, says of rows lo..hi-1."""
        mean = self.M[:, lo:hi]
        if lo:
            mean = mean + self.R[:, lo:hi, :lo] @ self.C[:, :lo]
        return mean

    def write(self, stack: Stack, places: Any, newborn: list[int]) -> int:
        """Open the rows of the block in the stack, with newborn experts at their places; how many are open then."""
        k, m, n, p = self.slots, stack.open, self.n, self.p
        rows, here = slice(m, m + n), [k + b for b in newborn]
        inverse = 1.0 / self.R if n == 1 else np.tril(np.linalg.inv(self.R))
        stack.J[:k, rows, :m] = -(inverse[:k] @ self.W) @ self.J
        stack.J[places, :, :m] = np.eye(len(stack.Z))[:, :m]
        for array, mine in ((stack.U, self.U), (stack.C, self.C)):
            array[:k, rows] = 0.0
            array[:k, rows, : mine.shape[2]] = mine[:k]
            array[places, :m] = 0.0
            array[places, rows] = 0.0
            array[places, rows, : mine.shape[2]] = mine[here]
        stack.J[:k, rows, rows] = inverse[:k]
        stack.J[places, rows, rows] = inverse[here]
        stack.Z[rows], stack.H[rows] = fit_columns(self.Z, stack.Z.shape[1]), 0.0
        stack.H[rows, :p] = self.H
        return m + n


class HedgedBlock(StackBlock):
    """One round of many more rows than features: every expert is hedged in feature space, (3) of `FeatureSolver`."""

    def _prepare(self, stack: Stack) -> None:
        k, D = self.slots, self.Z.shape[1]
        E = k + len(self.births)
        self.A, self.B = np.zeros((E, D, D)), np.zeros((E, D, stack.B.shape[2]))
        self.A[:, np.arange(D), np.arange(D)] = stack.lam
        d, gram = stack.A.shape[1], self.Z.T @ self.Z
        self.A[:k, :d, :d], self.B[:k, :d] = stack.A[:k], stack.B[:k]
        for e in range(k):
            Z, H = stack.Z[stack.born[e] : stack.open], stack.H[stack.born[e] : stack.open]
            self.A[e, :d, :d] += Z.T @ Z
            self.B[e, :d] += Z.T @ H
        self.A += gram
        self.P = np.array([inverse_factor(a) for a in self.A]).reshape(self.A.shape)

    def estimates(self, i: int) -> Array:
        """(E, n, p)."""
        functions: Array = self.P @ (self.P.transpose(0, 2, 1) @ self.B)
        return self.Z @ functions

    def observe(self, i: int, H: Array) -> None:
        """Give the round its targets."""
        self.H = H

    def write(self, stack: Stack, places: Any, newborn: list[int]) -> int:
        """Every expert's A and B with the round in them; nothing is open."""
        k, here = self.slots, [self.slots + b for b in newborn]
        B = fit_columns(self.B, self.p) + self.Z.T @ self.H
        for array, mine in ((stack.A, self.A), (stack.P, self.P), (stack.B, B)):
            array[:k], array[places] = mine[:k], mine[here]
        stack.Theta[:] = stack.P.transpose(0, 2, 1) @ stack.B
        return 0


def _scaled_eye(D: int, lam: float) -> tuple[Array, Array]:
    eye = np.eye(D)
    return lam * eye, eye / np.sqrt(lam)


def _resized(array: Array, shape: tuple[int, ...]) -> Array:
    """The array itself, or a copy with zeros where it has grown."""
    if array.shape == shape:
        return array
    grown = np.zeros(shape)
    grown[tuple(slice(n) for n in array.shape)] = array
    return grown

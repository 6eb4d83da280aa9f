"""Rounds to come for a stack of experts, on top of the rows that are open."""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array, fit_columns, spans
from oskaar.solvers.rounding import require_rows
from oskaar.solvers.stacks import Stack
from oskaar.solvers.triangles import whitened_wider


class StackBlock:
    """Rounds to come: `estimates` of round i, then `observe` its targets.

    features: the rows in each version that is in use; births: the rounds that bring a new slot, which takes the
    newest version. Experts are the slots of the stack, then the births. Making a block changes nothing.
    """

    def __init__(self, stack: Stack, features: dict[int, Array], ends: Any, births: Any) -> None:
        for Z in features.values():
            require_rows(stack.lams.min(), Z)
        self.dim = max(stack.Gram.shape[1], *(Z.shape[1] for Z in features.values()))
        self.features = {version: fit_columns(Z, self.dim) for version, Z in features.items()}
        self.newest, self.spans, self.births = max(features), spans(ends), list(births)
        self.slots, self.starts, self.n = len(stack.starts), stack.starts, int(ends[-1])
        self.H = np.zeros((0, 0))
        self.folds = self._folds(stack)
        if not self.folds:
            stack.settle()
        self._prepare(stack)

    def _folds(self, stack: Stack) -> bool:
        """Whether the rows are folded in at once, though there may be room for them."""
        return False

    @property
    def p(self) -> int:
        """How many coordinates the targets have."""
        return self.H.shape[1]

    @property
    def opens(self) -> int:
        """How many rows are open for it once it is learned."""
        return self.n

    def _whitened(self, stack: Stack) -> Array:
        """Z F^-T (k, L, n, D), with the version of Z that each slot has; features that are new have lam I."""
        U = np.zeros((self.slots, len(stack.lams), self.n, self.dim))
        for slot in np.flatnonzero(stack.starts >= 0):
            for l, lam in enumerate(stack.lams):
                U[slot, l] = whitened_wider(stack.F[slot, l], self.features[stack.versions[slot]], lam)
        return U

    def _prepare(self, stack: Stack) -> None:
        k, m, n, d = self.slots, stack.open, self.n, stack.Gram.shape[1]
        U = self._whitened(stack)
        self.U, self.J = U, stack.J[:k, :, :m, :m]
        self.W = U[..., :d] @ stack.U[:k, :, :m].swapaxes(2, 3) @ self.J.swapaxes(2, 3)
        S = np.empty((k + len(self.births), len(stack.lams), n, n))
        S[:k] = U @ U.swapaxes(2, 3) - self.W @ self.W.swapaxes(2, 3)
        S[k:] = self._newborn(stack)
        S[:, :, np.arange(n), np.arange(n)] += 1.0
        self.R = np.sqrt(np.maximum(S, 1.0)) if n == 1 else np.linalg.cholesky(S)
        self.M = np.zeros((*S.shape[:3], stack.C.shape[3]))
        self.M[:k] = U[..., :d] @ stack.Theta[:k] + self.W @ stack.C[:k, :, :m]
        self.C = np.zeros_like(self.M)
        self.inverse = 1.0 / self.R if n == 1 else np.tril(np.linalg.inv(self.R))

    def _newborn(self, stack: Stack) -> Array:
        """U U^T of the births: Z Z^T / lam, 0 for rows before the birth."""
        Z = self.features[self.newest]
        gram = Z @ Z.T / stack.lams[:, None, None]
        born = np.array([self.spans[birth][0] for birth in self.births], dtype=np.int64)
        lives = np.arange(self.n) >= born[:, None]
        masked: Array = gram * (lives[:, :, None] & lives[:, None, :])[:, None]
        return masked

    def estimates(self, i: int) -> Array:
        """(E, L, n_i, p): what each expert says of round i."""
        lo, hi = self.spans[i]
        M = self._mean(lo, hi)
        if hi - lo == 1:
            estimate: Array = M / self.R[:, :, lo, lo, None, None] ** 2
            return estimate
        corner = self.R[:, :, lo:hi, lo:hi]
        joint: Array = np.linalg.solve(corner @ corner.swapaxes(2, 3), M)
        return joint

    def observe(self, i: int, H: Array) -> None:
        """Give round i its targets (n_i, q)."""
        lo, hi = self.spans[i]
        self.H = np.concatenate([fit_columns(self.H, H.shape[1]), H])
        self.M, self.C = fit_columns(self.M, H.shape[1]), fit_columns(self.C, H.shape[1])
        gap = H - self._mean(lo, hi)
        if hi - lo == 1:
            self.C[:, :, lo] = gap[:, :, 0] / self.R[:, :, lo, lo, None]
        else:
            self.C[:, :, lo:hi] = np.linalg.solve(self.R[:, :, lo:hi, lo:hi], gap)

    def _mean(self, lo: int, hi: int) -> Array:
        """What each expert's own past, up to row lo, says of rows lo..hi-1."""
        mean = self.M[:, :, lo:hi]
        if lo:
            mean = mean + self.R[:, :, lo:hi, :lo] @ self.C[:, :, :lo]
        return mean

    def _write_rows(self, stack: Stack) -> None:
        """The rows themselves and their targets, after those that are open."""
        rows, (dim, p) = slice(stack.open, stack.open + self.n), (stack.Gram.shape[1], stack.H.shape[1])
        for version, Z in self.features.items():
            stack.Z.setdefault(version, np.zeros((len(stack.H), dim)))[rows] = fit_columns(Z, dim)
        stack.H[rows] = fit_columns(self.H, p)

    def write(self, stack: Stack, places: Any, newborn: list[int]) -> int:
        """Open the rows of the block in the stack, with newborn experts at their places; how many are open then."""
        k, m, n = self.slots, stack.open, self.n
        rows, here = slice(m, m + n), [self.slots + b for b in newborn]
        stack.clear(places)
        self._write_rows(stack)
        stack.J[:k, :, rows, :m] = -(self.inverse[:k] @ self.W) @ self.J
        stack.U[:k, :, rows], stack.C[:k, :, rows] = self.U, fit_columns(self.C[:k], stack.C.shape[3])
        stack.U[places, :, :m] = stack.C[places, :, :m] = 0.0
        stack.C[places, :, rows] = fit_columns(self.C[here], stack.C.shape[3])
        for place, birth in zip(places, newborn, strict=True):
            stack.U[place, :, rows] = self.features[self.newest] / np.sqrt(stack.lams)[:, None, None]
            stack.U[place, :, m : m + self.spans[self.births[birth]][0]] = 0.0
        stack.J[:k, :, rows, rows] = self.inverse[:k]
        stack.J[places, :, : m + n, :m] = np.eye(m + n)[:, :m]
        stack.J[places, :, rows, rows] = self.inverse[here]
        return m + n

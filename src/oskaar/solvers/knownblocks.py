r"""Rounds of one row to come for a stack of experts, when their targets are known: a stream that is on file.

Over the rows that an expert lives for, with U = Z F^-T and the mean M of `StackBlock`, all at once:

    R R^T = I + U U^T - W W^T,   C = R^-1 (H - M),   d = diag R,   G_i = (M_i + sum_{j<i} R_ij C_j) / d_i^2   (1)

M_i + sum_{j<i} R_ij C_j is also H_i - d_i C_i, but that leaves rounding of the row's own target, which decides ties.

Births have F = sqrt(lam) I and nothing before them. Those that follow one another share a lane, in which U U^T is
block diagonal: one R for all of them. Experts that a stack has put off are as if born before the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri

from oskaar.arrays import Array, fit_columns
from oskaar.solvers.chunks import tiles
from oskaar.solvers.stackblocks import StackBlock
from oskaar.solvers.stacks import LEAST_OPEN, Stack, open_rows
from oskaar.solvers.triangles import divide, root, times_below, unit_root, whitened_wider


class KnownBlock(StackBlock):
    """Rounds of one row with targets H; inverse factors are made only if the rows stay open.

    lives: how many of the rounds each expert, a slot or a birth, lives for.
    """

    def __init__(
        self, stack: Stack, features: dict[int, Array], births: Any, H: Array, lives: NDArray[np.int64]
    ) -> None:
        self.columns = tiles(stack.B.shape[2], H.shape[1])
        self.targets, self.lives = fit_columns(H, self.columns[-1].stop), lives
        super().__init__(stack, features, range(1, len(H) + 1), births)
        self.H = H

    def _folds(self, stack: Stack) -> bool:
        return self.n >= max(LEAST_OPEN, self.dim // 4) or stack.open + self.n >= open_rows(self.dim)

    def _prepare(self, stack: Stack) -> None:
        self.lanes = np.array(lanes_of(self.births, self.lives[self.slots :]), dtype=np.int64)
        shape = (self.slots + 1 + max(self.lanes, default=-1), len(stack.lams), self.n)
        self.C, self.means = np.zeros((2, *shape, self.targets.shape[1]))
        self.d = np.ones(shape)
        self.kept: dict[tuple[int, int], tuple[Array, Array]] = {}
        self.roots: dict[tuple[int, int], Array] = {}
        for slot in np.flatnonzero(self.lives[: self.slots]).tolist():
            (self._live_out if slot in stack.put_off else self._live_on)(stack, slot, int(self.lives[slot]))
        self._be_born(stack.lams)

    def _live_on(self, stack: Stack, slot: int, n: int) -> None:
        """(1) for the experts of a slot, over n rows."""
        Z, m = self.features[stack.versions[slot]][:n], stack.open
        d, known = stack.B.shape[1:]
        for l, lam in enumerate(stack.lams):
            U = whitened_wider(stack.F[slot, l], Z, lam)
            old, W, M = U[:, :d], U[:, :0], self.means[slot, l, :n, :known]
            M += old @ stack.Theta[slot, l]
            if m:
                W = old @ stack.U[slot, l, :m].T @ stack.J[slot, l, :m, :m].T
                M += W @ stack.C[slot, l, :m]
            self._divide(slot, l, root(U, W))
            if n == self.n and not self.folds:
                self.kept[slot, l] = U, W

    def _live_out(self, stack: Stack, slot: int, n: int) -> None:
        """(1) for the experts of a slot that was put off, from all of its rows and n more."""
        Z, H = (
            np.concatenate([fit_columns(A, B.shape[1]), B[:n]])
            for A, B in zip(stack.rows_of(slot), (self.features[stack.versions[slot]], self.targets), strict=True)
        )
        grams = (Z @ Z.T / stack.lams[:, None, None]).swapaxes(1, 2)
        for l, gram in enumerate(grams):
            R, C = unit_root(gram), H.copy()
            self.means[slot, l, :n] = self._solved(R, C)[-n:]
            self.C[slot, l, :n], self.d[slot, l, :n] = C[-n:], R.diagonal()[-n:]

    def _be_born(self, lams: Array) -> None:
        """(1) for the births, lane by lane: rows of different owners have nothing to do with each other."""
        owners = np.full((len(self.C) - self.slots, self.n), -1)
        for birth, lane, lives in zip(self.births, self.lanes, self.lives[self.slots :], strict=True):
            owners[lane, birth : birth + lives] = birth
        Z = self.features[self.newest]
        grams = Z @ Z.T / lams[:, None, None]
        for lane, owner in enumerate(owners, start=self.slots):
            mine = (owner[:, None] == owner).astype(float)
            for l, gram in enumerate(grams):
                self._divide(lane, l, unit_root((gram * mine).T))

    def _divide(self, where: int, l: int, R: Array) -> None:
        """C = R^-1 (H - M), d, and the means M_i + sum_{j<i} R_ij C_j, for which M is there."""
        n = len(R)
        C, means = self.C[where, l, :n], self.means[where, l, :n]
        np.subtract(self.targets[:n], means, out=C)
        means += self._solved(R, C)
        self.d[where, l, :n] = R.diagonal()
        if not self.folds:
            self.roots[where, l] = R

    def _solved(self, R: Array, C: Array) -> Array:
        """Turn C into R^-1 C; the sums over j < i of R_ij C_j."""
        if len(self.columns) == 1:
            divide(R, C)
            return times_below(R, C)
        sums = np.empty(C.shape)
        for part in self.columns:
            tile = C[:, part].copy()
            divide(R, tile)
            C[:, part], sums[:, part] = tile, times_below(R, tile)
        return sums

    def known_estimates(self, who: Any) -> Array:
        """What experts `who` (n, S) say of each row, (n, L, S, p)."""
        where = np.append(np.arange(self.slots), self.slots + self.lanes)[who]
        (_, L, n, p), i = self.C.shape, np.arange(self.n)[:, None, None]
        each = (where[:, None] * L + np.arange(L)[:, None]) * n + i
        d = self.d.ravel().take(each)[..., None]
        estimates: Array = self.means.reshape(self.d.size, p).take(each, axis=0)
        estimates /= d * d  # (1)
        return estimates[..., : self.p]

    def observe(self, i: int, H: Array) -> None:
        """Nothing that is not known."""

    def write(self, stack: Stack, places: Any, newborn: list[int]) -> int:
        """The rows, which is all that folding needs; what else is open of them if they are not folded."""
        self._write_rows(stack)
        if self.folds:
            stack.Gram[places] = stack.B[places] = 0.0
            return stack.open + self.n
        for slot, l in self.kept:
            self._write_slot(stack, slot, l)
        stack.clear(places)
        for place, birth in zip(places, newborn, strict=True):
            self._write_birth(stack, place, self.births[birth], self.slots + self.lanes[birth])
        return stack.open + self.n

    def _write_slot(self, stack: Stack, slot: int, l: int) -> None:
        m, rows = stack.open, slice(stack.open, stack.open + self.n)
        (U, W), J = self.kept[slot, l], _inverse(self.roots[slot, l])
        stack.J[slot, l, rows, :m], stack.J[slot, l, rows, rows] = -(J @ W) @ stack.J[slot, l, :m, :m], J
        stack.U[slot, l, rows], stack.C[slot, l, rows] = U, fit_columns(self.C[slot, l], stack.C.shape[3])

    def _write_birth(self, stack: Stack, place: int, first: int, lane: int) -> None:
        """A newborn at its place: rows before its first play no part, whatever J has there."""
        stop = stack.open + self.n
        rows = slice(stack.open + first, stop)
        stack.U[place, :, :stop] = stack.C[place, :, :stop] = 0.0
        stack.C[place, :, rows] = fit_columns(self.C[lane, :, first:], stack.C.shape[3])
        for l, lam in enumerate(stack.lams):
            stack.U[place, l, rows] = self.features[self.newest][first:] / np.sqrt(lam)
            stack.J[place, l, rows, rows] = _inverse(self.roots[lane, l][first:, first:])


def _inverse(R: Array) -> Array:
    """Of the lower triangle of R."""
    J: Array = np.tril(dtrtri(R, lower=1)[0])
    return J


def lanes_of(firsts: Any, lengths: Any) -> list[int]:
    """Numbers for intervals, in order of their beginnings, so that those with the same number do not overlap.

    >>> lanes_of([0, 1, 2, 3], [3, 1, 5, 1])
    [0, 1, 1, 0]
    """
    lanes: list[int] = []
    ends: list[int] = []
    for first, length in zip(firsts, lengths, strict=True):
        lane = next((j for j, end in enumerate(ends) if end <= first), len(ends))
        ends[lane : lane + 1] = [first + length]
        lanes.append(lane)
    return lanes

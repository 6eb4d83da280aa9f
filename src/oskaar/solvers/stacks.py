r"""Several KAARs in feature space, started at different rounds, for several lams, side by side in stacked arrays.

Each is a `solvers.features.FeatureSolver` on the rows since its start. A slot s holds the experts that started
together, one for each lam l; they share Gram = Z^T Z and B = Z^T Phi. Open rows are factorised for all at once:

    P_sl P_sl^T = (Gram_s + lam_l I)^-1,   U_sl = Z P_sl,   L_sl L_sl^T = I + U_sl U_sl^T,   J_sl = L_sl^-1

with rows of zeros in U before a slot's start, so that they play no part. A slot has a version of the features.
Slots are used again when their experts have gone.
Equivalent to tests/naive.py::kaar for each expert on its own rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array, fit_columns, spans
from oskaar.solvers.features import inverse_factor

LEAST_OPEN, MOST_OPEN = 32, 96
"""Rows that are open before they are folded in: about D, between these."""


class Stack:
    """Experts in slots. `starts` has the round at which a slot started, -1 for an empty one; `born` its first open
    row; `versions` its features.
    """

    def __init__(self, lams: list[float]) -> None:
        self.lams = np.array(lams)
        self.starts, self.born, self.versions = (np.zeros(0, dtype=np.int64) for _ in range(3))
        self.open = 0
        self.Z: dict[int, Array] = {}
        self.H = np.zeros((LEAST_OPEN, 0))
        self.Gram, self.B = np.zeros((0, 0, 0)), np.zeros((0, 0, 0))
        shape, rows = (0, len(lams)), LEAST_OPEN
        self.P, self.Theta = np.zeros((*shape, 0, 0)), np.zeros((*shape, 0, 0))
        self.U, self.J, self.C = (np.zeros((*shape, rows, n)) for n in (0, rows, 0))

    @property
    def nbytes(self) -> int:
        """The memory of the state."""
        arrays = [*vars(self).values(), *self.Z.values()]
        return sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))

    @property
    def room(self) -> int:
        """How many rows may be open."""
        return max(LEAST_OPEN, min(self.Gram.shape[1], MOST_OPEN))

    def commit(self, block: StackBlock, starts: Any, newborn: dict[int, int]) -> None:
        """Learn a block. `starts` of the slots from now on, -1 for those that end; `newborn` are the births, by
        their number in the block, that live on, with their starts.
        """
        table = np.concatenate([starts, np.full(len(newborn), -1)]).astype(np.int64)
        places = np.flatnonzero(table < 0)[: len(newborn)]
        table[places] = list(newborn.values())
        table = table[: 1 + max(np.flatnonzero(table >= 0), default=-1)]
        born, versions = _longer(self.born, len(table)), _longer(self.versions, len(table))
        born[places] = [self.open + block.spans[block.births[b]][0] for b in newborn]
        versions[places] = block.newest
        self._reserve(max(len(table), len(self.starts)), self.open + block.opens, block.dim, block.p)
        self._clear(places)
        self.open = block.write(self, places, list(newborn))
        self.starts, self.versions = table, versions
        self.born = born if self.open else np.zeros_like(born)
        if self.open >= self.room:
            self.fold()
        used = set(versions[table >= 0].tolist())
        self.Z = {version: Z for version, Z in self.Z.items() if version in used}

    def fold(self) -> None:
        """Fold the open rows into Gram and B of every slot, and factorise afresh."""
        H = self.H[: self.open]
        Z = {version: rows[: self.open] for version, rows in self.Z.items()}
        whole = {version: (rows.T @ rows, rows.T @ H) for version, rows in Z.items()}
        for slot in np.flatnonzero(self.starts >= 0):
            first, version = self.born[slot], self.versions[slot]
            rows = Z[version][first:]
            gram, moments = (rows.T @ rows, rows.T @ H[first:]) if first else whole[version]
            self.Gram[slot] += gram
            self.B[slot] += moments
            for l, lam in enumerate(self.lams):
                self.P[slot, l] = inverse_factor(self.Gram[slot], lam)
        k = len(self.starts)
        self.Theta[:k] = self.P[:k].swapaxes(2, 3) @ self.B[:k, None]
        self.open = 0
        self.born = np.zeros_like(self.born)

    def _clear(self, places: Any) -> None:
        """Empty slots for newborn experts."""
        self.Gram[places] = self.B[places] = 0.0
        self.Theta[places] = self.P[places] = 0.0
        D = np.arange(self.Gram.shape[1])
        for place in places:
            self.P[place][:, D, D] = 1 / np.sqrt(self.lams)[:, None]

    def _reserve(self, slots: int, rows: int, dim: int, p: int) -> None:
        """Room in all arrays; new features have lam I, new coordinates are 0."""
        have, D = self.Gram.shape[:2]
        slots = have if slots <= have else max(slots, have + 4)
        dim, p = max(D, dim), max(self.B.shape[2], p)
        rows = max(self.U.shape[2], rows, LEAST_OPEN + max(LEAST_OPEN, min(dim, MOST_OPEN)))
        L = len(self.lams)
        self.Gram, self.B = _resized(self.Gram, slots, dim, dim), _resized(self.B, slots, dim, p)
        self.P, self.Theta = _resized(self.P, slots, L, dim, dim), _resized(self.Theta, slots, L, dim, p)
        self.U, self.C = _resized(self.U, slots, L, rows, dim), _resized(self.C, slots, L, rows, p)
        self.J, self.H = _resized(self.J, slots, L, rows, rows), _resized(self.H, rows, p)
        self.Z = {version: _resized(Z, rows, dim) for version, Z in self.Z.items()}
        new = np.arange(D, dim)
        self.P[:have, :, new, new] = 1 / np.sqrt(self.lams)[:, None]


class StackBlock:
    """Rounds to come: `estimates` of round i, then `observe` its targets; or all targets at once.

    features: the rows in each version that is in use; births: the rounds that bring a new slot, which takes the
    newest version. Experts are the slots of the stack, then the births. Making a block changes nothing.
    """

    def __init__(self, stack: Stack, features: dict[int, Array], ends: Any, births: Any, H: Array | None) -> None:
        self.dim = max(stack.Gram.shape[1], *(Z.shape[1] for Z in features.values()))
        self.features = {version: fit_columns(Z, self.dim) for version, Z in features.items()}
        self.newest, self.spans, self.births = max(features), spans(ends), list(births)
        self.slots, self.starts, self.n = len(stack.starts), stack.starts, int(ends[-1])
        self.H = np.zeros((0, 0))
        self._prepare(stack)
        self.known = H is not None and len(ends) == self.n
        if H is not None and self.known:
            self._observe_all(H)

    @property
    def p(self) -> int:
        """How many coordinates the targets have."""
        return self.H.shape[1]

    @property
    def opens(self) -> int:
        """How many rows are open for it once it is learned."""
        return self.n

    def _rows(self, stack: Stack) -> Array:
        """The features (k, 1, n, D) of the rows in the version of each slot."""
        known = sorted(self.features)
        every = np.stack([self.features[version] for version in known])
        return every[np.minimum(np.searchsorted(known, stack.versions), len(known) - 1)][:, None]

    def _prepare(self, stack: Stack) -> None:
        k, m, n, d = self.slots, stack.open, self.n, stack.Gram.shape[1]
        Z, roots = self._rows(stack), np.sqrt(stack.lams)[:, None, None]
        U = (
            np.concatenate([Z[..., :d] @ stack.P[:k], Z[..., d:] / roots], axis=3)
            if self.dim > d
            else Z @ stack.P[:k]
        )
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

    def _observe_all(self, H: Array) -> None:
        """Targets of rounds of one row that depend on no estimate: all rounds at once."""
        self.H = H
        M = fit_columns(self.M, H.shape[1])
        self.C = self.inverse @ (H - M)
        d = np.diagonal(self.R, axis1=2, axis2=3)[..., None]
        self.G = (M + self.R @ self.C - d * self.C) / d**2

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
        if self.known:
            return
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

    def write(self, stack: Stack, places: Any, newborn: list[int]) -> int:
        """Open the rows of the block in the stack, with newborn experts at their places; how many are open then."""
        k, m, n = self.slots, stack.open, self.n
        rows, here = slice(m, m + n), [self.slots + b for b in newborn]
        for version, Z in self.features.items():
            if version not in stack.Z:
                stack.Z[version] = np.zeros((len(stack.H), stack.Gram.shape[1]))
            stack.Z[version][rows] = fit_columns(Z, stack.Gram.shape[1])
        stack.H[rows] = fit_columns(self.H, stack.H.shape[1])
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
        self.P = np.array([[inverse_factor(G, lam) for lam in stack.lams] for G in self.Gram])

    def estimates(self, i: int) -> Array:
        """(E, L, n, p)."""
        functions: Array = self.P @ (self.P.swapaxes(2, 3) @ self.B[:, None])
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
        for array, mine in ((stack.Gram, self.Gram), (stack.P, self.P), (stack.B, B)):
            array[:k], array[places] = mine[:k], mine[here]
        stack.Theta[:] = stack.P.swapaxes(2, 3) @ stack.B[:, None]
        for version in self.features:
            stack.Z.setdefault(version, np.zeros((len(stack.H), self.dim)))
        return 0


def begin(stack: Stack, features: dict[int, Array], ends: Any, births: Any, H: Array | None = None) -> StackBlock:
    """Rounds to come, with their targets H where these are known and depend on no estimate."""
    n, D = features[max(features)].shape
    hedged = len(ends) == 1 and n > max(MOST_OPEN, D // 2)  # the cheaper way: D^3 rather than n D^2 and n^3
    return (HedgedBlock if hedged else StackBlock)(stack, features, ends, births, None if hedged else H)


def _longer(values: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    longer = np.zeros(n, dtype=np.int64)
    longer[: min(n, len(values))] = values[:n]
    return longer


def _resized(array: Array, *shape: int) -> Array:
    """The array itself, or a copy with zeros where it has grown."""
    if array.shape == shape:
        return array
    grown = np.zeros(shape)
    grown[tuple(slice(n) for n in array.shape)] = array
    return grown

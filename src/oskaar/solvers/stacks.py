r"""Several KAARs in feature space, started at different rounds, for several lams, side by side in stacked arrays.

Each is a `solvers.kaar_features.FeatureSolver` on the rows since its start. A slot s holds the experts that started
together, one for each lam l; they share Gram = Z^T Z and B = Z^T Phi. Open rows are factorised for all at once:

    F_sl F_sl^T = Gram_s + lam_l I,   U_sl = Z F_sl^-T,   L_sl L_sl^T = I + U_sl U_sl^T,   J_sl = L_sl^-1

with rows of zeros in U before a slot's start, so that they play no part. A slot has a version of the features.
Slots are used again when their experts have gone. Those with few rows and little time left may be put off when
rows are folded in: the rows, which are all that they have learned from, tell what they say.
Equivalent to tests/naive.py::kaar for each expert on its own rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.saved import require, require_count, require_floats, saved
from oskaar.solvers.triangles import divide, factor_into

if TYPE_CHECKING:
    from oskaar.solvers.stackblocks import StackBlock

LEAST_OPEN, MOST_OPEN = 32, 128
"""Rows that are open before they are folded in: about D, between these."""


@saved("solver/stack")
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
        self.F, self.Theta = np.zeros((*shape, 0, 0)), np.zeros((*shape, 0, 0))
        self.U, self.J, self.C = (np.zeros((*shape, rows, n)) for n in (0, rows, 0))
        self.put_off: dict[int, tuple[int, int]] = {}

    @property
    def nbytes(self) -> int:
        """The memory of the state."""
        arrays = [*vars(self).values(), *self.Z.values()]
        return sum(a.nbytes for a in arrays if isinstance(a, np.ndarray))

    @property
    def room(self) -> int:
        """How many rows may be open."""
        return open_rows(self.Gram.shape[1])

    def commit(self, block: StackBlock, starts: Any, newborn: dict[int, int], leaving: Any = ()) -> None:
        """Learn a block. `starts` of the slots from now on, -1 for those that end; `newborn` are the births, by
        their number in the block, that live on, with their starts; `leaving` those of them that soon end.
        """
        self.put_off = {slot: rows for slot, rows in self.put_off.items() if starts[slot] >= 0}
        self.settle()
        table = np.concatenate([starts, np.full(len(newborn), -1)]).astype(np.int64)
        places = np.flatnonzero(table < 0)[: len(newborn)]
        table[places] = list(newborn.values())
        table = table[: 1 + max(np.flatnonzero(table >= 0), default=-1)]
        born, versions = _longer(self.born, len(table)), _longer(self.versions, len(table))
        born[places] = [self.open + block.spans[block.births[b]][0] for b in newborn]
        versions[places] = block.newest
        self._reserve(max(len(table), len(self.starts)), self.open + block.opens, block.dim, block.p)
        self.open = block.write(self, places, list(newborn))
        self.starts, self.versions = table, versions
        self.born = born if self.open else np.zeros_like(born)
        if self.open >= self.room or block.folds:
            put_off = [slot for slot, birth in zip(places.tolist(), newborn, strict=True) if birth in leaving]
            self.fold(put_off if block.folds else ())
        used = set(versions[table >= 0].tolist())
        self.Z = {version: Z for version, Z in self.Z.items() if version in used}

    def fold(self, put_off: Any = ()) -> None:
        """Fold the open rows into Gram and B of every slot but those put off, and factorise afresh."""
        H = self.H[: self.open]
        Z = {version: rows[: self.open] for version, rows in self.Z.items()}
        whole = {version: (rows.T @ rows, rows.T @ H) for version, rows in Z.items()}
        self.put_off = {slot: (int(self.born[slot]), self.open) for slot in put_off}
        for slot in np.flatnonzero(self.starts >= 0).tolist():
            if slot in self.put_off:
                continue
            first, version = self.born[slot], self.versions[slot]
            rows = Z[version][first:]
            gram, moments = (rows.T @ rows, rows.T @ H[first:]) if first else whole[version]
            self.Gram[slot] += gram
            self.B[slot] += moments
            self._factorise(slot)
        self.open = 0
        self.born = np.zeros_like(self.born)

    def settle(self) -> None:
        """Fold in what was put off. What the experts say stays as it is."""
        for slot in list(self.put_off):
            Z, H = self.rows_of(slot)
            self.Gram[slot], self.B[slot] = Z.T @ Z, Z.T @ H
            self._factorise(slot)
            del self.put_off[slot]

    def gram_of(self, slot: int) -> Array:
        """Z^T Z of all rows of a slot, with those that are open or put off."""
        late = self.rows_of(slot)[0] if slot in self.put_off else np.zeros((0, self.Gram.shape[1]))
        rows = self.Z.get(int(self.versions[slot]), late[:0])[self.born[slot] : self.open]
        gram: Array = (0.0 if slot in self.put_off else self.Gram[slot]) + late.T @ late + rows.T @ rows
        return gram

    def rows_of(self, slot: int) -> tuple[Array, Array]:
        """All rows and targets of a slot that was put off; they are there until the next rows are written."""
        first, stop = self.put_off[slot]
        return self.Z[int(self.versions[slot])][first:stop], self.H[first:stop]

    def __getstate__(self) -> dict[str, Any]:
        self.settle()
        return {name: value for name, value in vars(self).items() if name != "put_off"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.put_off = {}

    def _factorise(self, slot: Any) -> None:
        """F, and Theta = F^-1 B, of Gram and B."""
        for l, lam in enumerate(self.lams):
            factor_into(self.F[slot, l], self.Gram[slot], lam)
        self.whiten(slot)

    def whiten(self, slot: Any) -> None:
        """Theta of F and B."""
        self.Theta[slot] = self.B[slot]
        for F, Theta in zip(self.F[slot], self.Theta[slot], strict=True):
            divide(F, Theta)

    def clear(self, places: Any) -> None:
        """Empty slots for newborn experts."""
        self.Gram[places] = self.B[places] = 0.0
        self.Theta[places] = self.F[places] = 0.0
        D = np.arange(self.Gram.shape[1])
        for place in places:
            self.F[place][:, D, D] = np.sqrt(self.lams)[:, None]

    def _reserve(self, slots: int, rows: int, dim: int, p: int) -> None:
        """Room in all arrays; new features have lam I, new coordinates are 0."""
        have, D = self.Gram.shape[:2]
        slots = have if slots <= have else max(slots, have + 4)
        dim, p = max(D, dim), max(self.B.shape[2], p)
        rows = max(self.U.shape[2], rows, LEAST_OPEN + open_rows(dim))
        L = len(self.lams)
        self.Gram, self.B = _resized(self.Gram, slots, dim, dim), _resized(self.B, slots, dim, p)
        self.F, self.Theta = _resized(self.F, slots, L, dim, dim), _resized(self.Theta, slots, L, dim, p)
        self.U, self.C = _resized(self.U, slots, L, rows, dim), _resized(self.C, slots, L, rows, p)
        self.J, self.H = _resized(self.J, slots, L, rows, rows), _resized(self.H, rows, p)
        self.Z = {version: _resized(Z, rows, dim) for version, Z in self.Z.items()}
        new = np.arange(D, dim)
        self.F[:have, :, new, new] = np.sqrt(self.lams)[:, None]

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        arrays = (self.Gram, self.B, self.F, self.Theta, self.U, self.J, self.C, self.H, self.lams)
        require_floats(*arrays, *self.Z.values())
        slots, D = self.Gram.shape[:2]
        rows, p, lams = len(self.H), self.B.shape[2], len(self.lams)
        require(self.Gram.shape == (slots, D, D) and self.B.shape == (slots, D, p), "moments must fit")
        require(self.F.shape == (slots, lams, D, D) and self.Theta.shape == (slots, lams, D, p), "factors must fit")
        require(self.U.shape == (slots, lams, rows, D) and self.C.shape == (slots, lams, rows, p), "rows must fit")
        require(self.J.shape == (slots, lams, rows, rows) and self.H.shape == (rows, p), "open rows must fit")
        require(0 <= require_count(self.open, "open rows") <= rows, "open rows must fit")
        for whole in (self.starts, self.born, self.versions):
            require(isinstance(whole, np.ndarray) and whole.dtype == np.int64, "starts must be whole numbers")
            require(whole.shape == self.starts.shape and len(whole) <= slots, "each slot must have a start")


def open_rows(dim: int) -> int:
    """How many rows may be open with so many features.

    >>> open_rows(4), open_rows(50), open_rows(1000)
    (32, 50, 128)
    """
    return max(LEAST_OPEN, min(dim, MOST_OPEN))


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

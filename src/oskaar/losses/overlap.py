r"""Sets of labels without a short embedding: the Jaccard distance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from oskaar.arrays import Array, Sheet
from oskaar.losses.base import GrowingSpace, Space, first_best, near
from oskaar.losses.certainty import Marginals, separate
from oskaar.losses.subsets import SubsetLoss
from oskaar.saved import saved
from oskaar.threads import one_thread

_EXACT = 12
"""Up to so many labels, Jaccard's decoder looks at every set."""


@saved("loss/jaccard")
class Jaccard(SubsetLoss):
    r"""1 - |z & y| / |z | y|;  0 for two empty sets.

    The similarity J(z, y) is a positive definite kernel on the 2^k sets, so no embedding is shorter than about
    that, and J itself is the geometry of phi. The mean of the codes of {} and of the k sets of one label has the
    same product 1 / (k + 1) with every code (J(z, {j}) = [j in z] / |z| adds up to 1 over j, for z not empty), so it
    is dropped:

        <phi(z), phi(y)> = (J(z, y) - tau) / (1 - tau),   tau = 1 / (k + 1),   psi(z) = -(1 - tau) phi(z)

    and c_delta = 1 - tau, since <psi(z), phi(y)> = tau - J(z, y). |psi(z) - psi(z')|^2 = 2 (1 - tau) (1 - J(z, z'))
    is largest for disjoint sets, or for the smallest ones where none are disjoint. Learners keep signed weights on
    the distinct sets seen. Decoding maximises sum_y g_y J(z, y), which is nonlinear in z:

    - up to 12 labels over all sets: exact for any sign, O(2^k) for each set seen; the smallest set wins among equals;
    - above, **not exact**: the best of the sets seen, improved by adding, removing and exchanging labels while that
      helps. `embed` and `decode` then need the sets seen: they are in `space()`.

    Limits on |z| (see `SubsetLoss`) hold in both. {}, or the first labels, is the answer before the first round.

    >>> loss = Jaccard(4)
    >>> round(loss({0, 1}, {1, 2}), 3), loss(set(), set()), sorted(loss.decode(loss.embed({1, 3})))
    (0.667, 0.0, [1, 3])
    """

    def _measure(self) -> None:
        self.every = 0 < self.n_labels <= _EXACT
        self.p = 2**self.n_labels if self.every else 0
        self.tau = 1 / (self.n_labels + 1)
        self.c_delta = 1 - self.tau

    @property
    def diameter(self) -> float:
        m, k = self.at_least, self.n_labels
        if self.at_most == 0 or m == k:
            return 0.0  # one answer
        return float(np.sqrt(2 * self.c_delta * (1 - max(0, 2 * m - k) / k)))

    def loss(self, z: Any, y: Any) -> float:
        z, y = self.check(z), self.check(y)
        return 1 - len(z & y) / len(z | y) if z or y else 0.0

    def embed_many(self, ys: Sequence[Any]) -> Array:
        return self._codes[[sum(1 << j for j in self.places(self.check(y))) for y in ys]]

    @one_thread
    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        places = self.grid @ (1 << np.arange(self.n_labels))
        return self.sets(self.grid[first_best((G @ self._codes.T)[:, places], near(G))] > 0)

    def space(self) -> Space:
        if self.names is None:
            from oskaar.losses.tags import OpenSets

            return OpenSets(self)
        rows = len(self.grid) if self.every else 0
        Y, gains, gram = (Sheet(np.zeros(shape)) for shape in ((0, self.n_labels), (rows, 0), (0, 0)))
        return SeenSets(self, {}, Y, gains, gram)

    @cached_property
    def grid(self) -> Any:
        """All sets within the limits as rows of 0 and 1, small ones first."""
        return self.indicators(list(self.outputs())).astype(int)

    @cached_property
    def _codes(self) -> Array:
        """phi of every set, in binary order: a triangular root of J, centred."""
        if not self.every:
            raise NotImplementedError(
                f"{self!r} has 2^{self.n_labels} coordinates: use loss.space().extended(y), which has those seen."
            )
        Z = (np.arange(self.p)[:, None] >> np.arange(self.n_labels) & 1).astype(float)
        L = np.linalg.cholesky(similarity(Z, Z))
        centre = L[np.append(0, 1 << np.arange(self.n_labels))].mean(axis=0)
        codes: Array = (L - centre) / np.sqrt(1 - self.tau)
        return codes

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("grid", "_codes")}


@saved("space/sets")
class SeenSets(GrowingSpace):
    """Weights on the distinct sets seen: Y holds them, `gains` is J(z, y) for all z, where those are listed."""

    def __init__(self, loss: Jaccard, positions: dict[Any, int], Y: Sheet, gains: Sheet, gram: Sheet) -> None:
        self.loss, self.positions = loss, positions
        self.Y, self.gains, self.gram = Y, gains, gram
        self.p, self.c_delta = len(positions), loss.c_delta
        self.exact = bool(loss.every)

    @property
    def diameter(self) -> float:
        return self.loss.diameter

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        p = self.p + 1
        Y, gram = self.Y.extended(p, self.loss.n_labels), self.gram.extended(p, p)
        gains = self.gains.extended(len(self.gains.view), p)
        Y.view[-1] = self.loss.indicators([y])[0]
        gram.view[-1] = gram.view[:, -1] = similarity(Y.view, Y.view[-1:])[:, 0]
        if self.loss.every:
            gains.view[:, -1] = similarity(self.loss.grid, Y.view[-1:])[:, 0]
        return SeenSets(self.loss, positions, Y, gains, gram)

    @one_thread
    def decode_many(self, G: Array) -> list[frozenset[Any]]:
        if not self.loss.every:
            return [self._search(g) for g in G]
        best = first_best(G @ self.gains.view.T, near(G))
        return self.loss.sets(self.loss.grid[best] > 0)

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """What the best answer to y is better by than the one that the search found, for the weights g."""
        gains = similarity(self.loss.indicators([z, self.loss.nearest(y)]), self.Y.view[: len(g)]) @ g
        return max(0.0, float(gains[1] - gains[0]))

    def probabilities(self, G: Array) -> Marginals:
        """Of each label: those of the sets seen that hold it."""
        return separate(self.loss.listed().names, self.weights(G) @ self.Y.view)

    def squared_norms(self, V: Array) -> Array:
        J = (self.gram.view - self.loss.tau) / (1 - self.loss.tau)
        norms: Array = np.einsum("...p,...p->...", V @ J, V)
        return np.maximum(norms, 0.0)

    def full(self, G: Array) -> Array:
        if not self.loss.every:
            return G
        wide = np.zeros((len(G), self.loss.p))
        for g, phi in zip(G.T, self.loss.embed_many(list(self.positions)), strict=True):
            wide += g[:, None] * phi  # in turn: a sum over sets that are seen later is not rounded differently
        return wide

    def _search(self, g: Array) -> frozenset[Any]:
        """The best of the sets seen and the default, and where better neighbours lead from it."""
        allowed = [i for y, i in self.positions.items() if self.loss.allows(y)]
        default = self.loss.indicators([self.loss.nearest(frozenset())])
        starts = np.vstack([default, self.Y.view[allowed]])
        z = starts[first_best((similarity(starts, self.Y.view) @ g)[None, :], near(g[None, :]))[0]]
        columns = np.vstack([self.Y.view.T, np.zeros((1, self.p))])  # the last is no label
        while self._improve(z, g, columns):
            pass
        return self.loss.sets(z[None, :] > 0)[0]

    def _improve(self, z: Array, g: Array, columns: Array) -> bool:
        """Take one step from z that gains more than rounding, if there is one."""
        hits, sizes = z @ columns[:-1], columns.sum(axis=0)
        for removed, added in self._moves(z):
            after = hits - columns[removed] + columns[added]
            m = z.sum() - (removed >= 0) + (added >= 0)
            union = m[:, None] + sizes - after
            J = np.divide(after, union, out=np.ones_like(after), where=union > 0)
            best = int(first_best((J @ g)[None, :], near(g[None, :]))[0])
            if best > 0:
                z[removed[best]] *= removed[best] < 0
                z[added[best]] += added[best] >= 0
                return True
        return False

    def _moves(self, z: Array) -> Iterator[tuple[Any, Any]]:
        """Labels to remove and to add, -1 for none: single ones first, then exchanges; each begins with no move."""
        inside, outside = np.flatnonzero(z), np.flatnonzero(z == 0)
        fewer = inside if len(inside) > self.loss.at_least else inside[:0]
        more = outside if len(inside) < self.loss.at_most else outside[:0]
        none = np.full(self.loss.n_labels + 1, -1)
        yield np.r_[-1, fewer, none[: len(more)]], np.r_[-1, none[: len(fewer)], more]
        for i in inside:
            yield np.r_[-1, np.full(len(outside), i)], np.r_[-1, outside]


def similarity(Z: Any, Y: Any) -> Array:
    """J(z, y) for rows of 0 and 1, (n, m); 1 for two empty sets."""
    hits = np.asarray(Z, dtype=float) @ np.asarray(Y, dtype=float).T
    union = Z.sum(axis=1)[:, None] + Y.sum(axis=1) - hits
    J: Array = np.divide(hits, union, out=np.ones_like(hits), where=union > 0)
    return J

r"""Nystrom features on a dictionary of inputs that is chosen online by ridge leverage scores.

With atoms D, K_DD = L L^T:    z(x) = L^-1 k(D, x),   <z(x), z(x')> = k(x, D) K_DD^-1 k(D, x')            (1)
the inner product of the projections of k(x, .) and k(x', .) on the span of the atoms.

KORS (Calandriello, Lazaric, Valko 2017; Jezequel, Gaillard, Rudi 2019) takes x up with probability

    p = min(1, beta tau),   r = (k(x, x) - k_D^T S (S^T K_DD S + mu I)^-1 S^T k_D) / mu,   tau = r / (1 + r)  (2)

where tau is the leverage of x beside the atoms, weighted by S = diag(1 / sqrt(p)) of their own turn. A new atom
is a new coordinate: nothing changes in the features of the rows before it, which are 0 there. At the budget the
dictionary stays as it is.
Equivalent to tests/naive.py::nystrom, which projects every row on the atoms of its time.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.linalg.lapack import dtrtri

from oskaar.arrays import Array, Rows, Sheet, fit_columns, uniforms
from oskaar.features.base import FeatureMap
from oskaar.kernels import Kernel, as_kernel, diagonal, gram
from oskaar.kernels.base import as_rows
from oskaar.kernels.kept import KeptRows
from oskaar.requirements import require_positive, require_whole
from oskaar.rows import count, joined, nbytes, pick, widened
from oskaar.saved import saved

RESOLUTION = 1e-4
"""A row whose residual is a smaller part of k(x, x) than this is in the span of the atoms already.

Rounding of the kernel is amplified by the coefficients of a row in the atoms, which grow as residuals fall: features
are right to about 1e-13 / RESOLUTION."""

TOGETHER = 256
"""Kernel values of so many rows with each other are computed at once."""

STRIP = 128
"""Rows of a triangular factor that are multiplied at once."""

RECENT = 64
"""Rows whose features are remembered."""

NOISE = 1e-3
"""A residual that is below 0 by more than this part of k(x, x) is not rounding, even of a kernel in 32 bits."""


@saved("features/nystrom")
class Nystrom(FeatureMap):
    """Features on at most `budget` inputs, taken up as they come.

    kernel: as a learner takes it; None is `kernels.default_kernel`, for standardised rows (a learner's `budget=`
        standardises by itself).
    budget: how many atoms there may be, and so the number of features.
    ridge: mu, the scale below which a direction does not matter; the learner's lam is right.
    beta: how eagerly inputs are taken up; 10 keeps all but those that are well represented.
    seed: of the draws, one for each row.
    reproject: True projects past rows on every new atom too, as PKAWV's theorem asks: the learner then keeps
        all rows, and a round that brings an atom costs t times the dictionary.

    >>> map = Nystrom(budget=2)
    >>> Z, map = map.seen(np.array([[0.0], [0.0], [2.0], [9.0]]))
    >>> Z.shape, map.size      # the second row is the first again; at the third the budget is spent
    ((4, 2), 2)
    """

    renews = True
    _prepared: Any = None
    """k(., atoms) as a function, once they stay; not part of the state."""
    _recall: Any = None
    """The features of single rows as a function that remembers the last, once atoms stay; not part of the state."""

    def __init__(
        self,
        kernel: Any = None,
        budget: int = 256,
        ridge: float = 1.0,
        beta: float = 10.0,
        seed: int = 0,
        reproject: bool = False,
    ) -> None:
        self.kernel, self.seed, self.reproject = kernel, int(seed), bool(reproject)
        self.dim = self.budget = require_whole("budget", budget, note=", the number of atoms")
        self.ridge, self.beta = require_positive("ridge", ridge), require_positive("beta", beta)
        self._clear()

    def _clear(self) -> None:
        self.objects = bool(getattr(self.kernel, "objects", False))
        self.atoms: Rows = None
        self.size = 0
        self.rows = 0
        self._chosen: Kernel | None = None
        self._inverse = Sheet(np.zeros((0, 0)))  # L^-1
        self._leverage = Sheet(np.zeros((0, 0)))  # inverse factor of S^T K_DD S + mu I
        self._weights = np.zeros(0)

    @property
    def full(self) -> bool:
        """Whether the budget is spent."""
        return self.size >= self.budget

    @property
    def kappa(self) -> float:
        """The kernel's: projections are not longer."""
        kernel = self._chosen or self.kernel
        return kernel.kappa if isinstance(kernel, Kernel) else float("inf")

    @property
    def nbytes(self) -> int:
        factors = self._inverse.view.nbytes + self._leverage.view.nbytes + self._weights.nbytes
        return int(factors + (nbytes(self.atoms) if self.size else 0))

    def growth(self, rows: int) -> int:
        size = min(self.size + rows, self.budget)
        if self.full:
            return 0
        return sum(sheet.growth(size, size, self.budget) for sheet in (self._inverse, self._leverage))

    def __call__(self, X: Rows) -> Array:
        if not self.size:
            return np.zeros((count(X), 0))
        return _times_lower(self._against(X), self._inverse.view)

    def seen(self, X: Rows) -> tuple[Array, FeatureMap]:
        """Features of rows that come one after the other, each of them first taken up where (2) says so."""
        if self.full and type(X) is np.ndarray and len(X) == 1:
            self._recall = self._recall or _recalling()
            return self._recall(X, self), self
        if self.full or not count(X):
            return self(X), self
        growth = _Growth(self, X)
        growth.run()
        return np.ascontiguousarray(growth.Z), self._grown(growth, X)

    def each(self, X: Rows) -> Array:
        """Features of rows each of which may come next, with the coordinate of its own where (2) takes it up."""
        if self.full or not count(X):
            return self(X)
        growth = _Growth(self, X)
        growth.draws[:] = growth.draws[0]
        own = np.where(growth.wanted(0)[1], np.sqrt(np.maximum(growth.left, 0.0)), 0.0)
        return np.column_stack([growth.Z, own]) if own.any() else growth.Z

    def fresh(self, recent: Rows | None = None) -> FeatureMap:
        """An empty dictionary that has seen the recent rows only."""
        new = copy.copy(self)
        new._clear()
        return new if recent is None or not count(recent) else new.seen(recent)[1]

    def truncated(self, size: int, rows: int) -> Nystrom:
        """The first atoms alone, with room for others: the features of a row are the first ones that it had (1).

        rows: how many rows there have been, for the draws of those to come.
        """
        new = copy.copy(self)
        new.atoms, new.size, new.rows = pick(self.atoms, slice(0, size)), size, rows
        new._inverse = Sheet(self._inverse.view[:size, :size].copy())
        new._weights = self._weights[:size]
        assert self._chosen is not None
        K = new._weights[:, None] * gram(self._chosen, new.atoms, new.atoms) * new._weights
        new._leverage = Sheet(dtrtri(np.linalg.cholesky(K + self.ridge * np.eye(size)), lower=1)[0])
        return new

    def _against(self, X: Rows) -> Array:
        """k(X, atoms); atoms that stay are prepared once."""
        assert self._chosen is not None
        if self.full and type(X) is type(self.atoms) is np.ndarray:
            if self._prepared is None:
                atoms = as_rows(self.atoms)
                self._prepared = self._chosen.over(KeptRows(lambda: atoms)).values
            return gram(self._chosen, X, self.atoms, self._prepared)
        return gram(self._chosen, X, widened(self.atoms, X))

    def _grown(self, growth: _Growth, X: Rows) -> Self:
        """The map after the rows of a growth."""
        new = copy.copy(self)
        new.rows += count(X)
        new._chosen = growth.kernel
        new.objects = growth.kernel.objects
        if growth.taken:
            chosen = pick(X, growth.taken)
            new.atoms = joined(self.atoms, chosen) if self.size else chosen
            new.size += len(growth.taken)
            new._inverse = _bordered(self._inverse, growth.Z[growth.taken], self.budget)
            new._leverage = _bordered(self._leverage, growth.S_rows(), self.budget)
            new._weights = np.append(self._weights, growth.weights)
        if new.full:
            new._leverage = Sheet(np.zeros((0, 0)))  # nothing is taken up any more
        return new

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_prepared", "_recall")}

    def __repr__(self) -> str:
        return f"Nystrom({self.kernel!r}, budget={self.budget}, ridge={self.ridge:g}, seed={self.seed})"


class _Growth:
    """Rows met in turn: their features Z, their leverage coordinates S, which of them are taken up."""

    def __init__(self, map: Nystrom, X: Rows) -> None:
        self.map, self.X, self.n = map, X, count(X)
        self.kernel = map._chosen or as_kernel(map.kernel, X)
        self.taken: list[int] = []
        self.weights: list[float] = []
        self._roots: list[float] = []
        self._gram: Array | None = None
        self.draws = uniforms(map.seed, map.rows, self.n)
        K = map._against(X) if map.size else np.zeros((self.n, 0))
        self.diagonal = diagonal(self.kernel, X)
        Z, S = _times_lower(K, map._inverse.view), _times_lower(K * map._weights, map._leverage.view)
        self.left = self.diagonal - np.einsum("ij,ij->i", Z, Z)
        self.spread = self.diagonal - np.einsum("ij,ij->i", S, S)
        most = map.size + min(self.n, map.budget - map.size)
        self._Z, self._S = fit_columns(Z, most), fit_columns(S, most)
        self._require_positive()

    @property
    def Z(self) -> Array:
        """Features (n, atoms)."""
        return self._Z[:, : self.map.size + len(self.taken)]

    def run(self) -> None:
        """Take rows up until the rows or the budget end."""
        i = 0
        while self.map.size + len(self.taken) < self.map.budget:
            p, wanted = self.wanted(i)
            first = int(np.argmax(wanted)) if len(wanted) else 0
            if not len(wanted) or not wanted[first]:
                break
            self._take(i + first, float(p[first]))
            i += first + 1
        self._require_positive()

    def wanted(self, i: int) -> tuple[Array, Any]:
        """The probabilities (2) of rows i and later, and which of them would be taken up."""
        r = np.maximum(self.spread[i:], 0.0) / self.map.ridge
        p = np.minimum(1.0, self.map.beta * r / (1 + r))  # (2)
        return p, (self.draws[i:] < p) & (self.left[i:] > RESOLUTION * self.diagonal[i:])

    def _require_positive(self) -> None:
        low = self.left < -NOISE * self.diagonal
        if low.any():
            i = int(np.argmax(low))
            raise ValueError(
                f"the kernel must be positive semidefinite, but with k(x, x) = {self.diagonal[i]:.6g} what the atoms "
                f"leave of an input is {self.left[i]:.3g} < 0: check it with oskaar.checks.check_kernel."
            )

    def _take(self, i: int, p: float) -> None:
        """Row i is an atom: a coordinate more for it and for the rows after it."""
        k, m = self._column(i), self.map.size + len(self.taken)
        k[0] = self.diagonal[i]
        Z, S = self._Z[i:], self._S[i:]
        column = (k - Z[:, :m] @ Z[0, :m]) / math.sqrt(self.left[i])
        Z[:, m] = column
        weight = 1 / math.sqrt(p)
        root = math.sqrt(max(self.map.ridge + weight**2 * self.spread[i], self.map.ridge))
        self.left[i:] -= column * column
        column = (k - S[:, :m] @ S[0, :m]) * (weight / root)
        S[:, m] = column
        self.spread[i:] -= column * column
        self.taken.append(i)
        self.weights.append(weight)
        self._roots.append(root)

    def _column(self, i: int) -> Array:
        """k(x_j, x_i) for j >= i; those of few rows are computed once for all that are taken up."""
        if self.n > TOGETHER or self.kernel.objects:
            return gram(self.kernel, pick(self.X, slice(i, None)), pick(self.X, [i]))[:, 0]
        if self._gram is None:
            self._gram = gram(self.kernel, self.X, self.X)
        return self._gram[i:, i].copy()

    def S_rows(self) -> Array:
        """The rows that the new atoms add to the factor of S^T K_DD S + mu I."""
        m = self.map.size
        rows = np.array(self.weights)[:, None] * self._S[self.taken, : m + len(self.taken)]
        rows[:, m:].flat[:: len(self.taken) + 1] = self._roots
        return rows


def _recalling() -> Callable[[Array, Nystrom], Array]:
    """z of one row: what is asked comes again with its label, after other rounds, and is the same bit for bit."""
    known: dict[tuple[Any, bytes], Array] = {}  # in the order of arrival

    def recalled(x: Array, map: Nystrom) -> Array:
        key = (x.dtype, x.tobytes())
        found = known.get(key)
        if found is None:
            found = known[key] = map(x)
            found.setflags(write=False)
            if len(known) > RECENT:
                del known[next(iter(known))]
        return found

    return recalled


def _times_lower(K: Array, L: Array) -> Array:
    """K L^T for L lower triangular, without most of the zeros above its diagonal.

    >>> _times_lower(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [4.0, 5.0]]))
    array([[ 3., 14.]])
    """
    if len(L) <= STRIP:
        whole: Array = L.dot(K[0])[None] if len(K) == 1 else K @ L.T
        return whole
    product = np.empty((len(K), len(L)))
    for lo in range(0, len(L), STRIP):
        hi = min(lo + STRIP, len(L))
        np.matmul(K[:, :hi], L[lo:hi, :hi].T, out=product[:, lo:hi])
    return product


def _negative_times(W: Array, L: Array, out: Array) -> None:
    """-W L for L lower triangular, without most of the zeros above its diagonal."""
    W = -W
    for lo in range(0, len(L), STRIP):
        hi = min(lo + STRIP, len(L))
        out[:, lo:hi] = W[:, lo:] @ L[lo:, lo:hi]


def _bordered(inverse: Sheet, rows: Array, most: int) -> Sheet:
    """The inverse of a triangular factor that grows by the rows [W, R], up to so many."""
    m, n = inverse.view.shape[0], len(rows)
    W, R = rows[:, :m], rows[:, m:]
    corner = np.linalg.inv(R) if n > 1 else 1.0 / R
    grown = inverse.extended(m + n, m + n, most)
    _negative_times(corner @ W, inverse.view, grown.view[m:, :m])
    grown.view[m:, m:] = np.tril(corner)
    grown.view[:m, m:] = 0.0
    return grown

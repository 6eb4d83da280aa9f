r"""Distributions compared by transport: the least cost of moving one into the other, through POT."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from oskaar.arrays import Array, Sheet
from oskaar.losses.base import Space
from oskaar.losses.simplex import as_distribution
from oskaar.losses.trick import LossTrick, SeenLabels, label_key
from oskaar.saved import saved


@saved("loss/wasserstein")
class Wasserstein(LossTrick):
    r"""The least cost of moving z into y, over the largest cost: min_T sum_ij T_ij costs_ij / max(costs).

    T >= 0 has the row sums z and the column sums y; costs (n, n), >= 0 and 0 on the diagonal, say what it costs to
    move a unit from outcome i to outcome j. The linear programme is solved by POT, an extra:
    `pip install oskaar[transport]`. For outcomes on a line `OrderedWasserstein` needs no extra and is exact.

    There is no embedding: the vectors are weights g on the distinct labels seen, which are orthogonal (`LossTrick`).
    The decoder minimises sum_j g_j Delta(z, y_j) over the uniform distribution, the n certainties and the labels
    seen, and tries them all: exact over these for any sign, NOT over the whole simplex. The first of equals wins,
    so g = 0 gives the uniform distribution. A new label costs two programmes, a fraction of a millisecond each, for
    each label before it: round labels if they are many. Answers are arrays that cannot be written to.

    >>> loss = Wasserstein([[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    >>> loss([1, 0, 0], [0, 0.5, 0.5])          # a certainty has one plan; other pairs need POT
    0.625
    """

    def __init__(self, costs: Any) -> None:
        self.costs = _as_costs(costs)
        self.n = len(self.costs)
        super().__init__(partial(_transported, self.costs))

    def check(self, y: Any) -> Array:
        return _fixed(as_distribution(y, self.n))

    def optimum(self, y: Any) -> float:
        return 0.0

    def space(self) -> Space:
        """No label seen: the uniform distribution and the certainties are the candidates."""
        pool = [_fixed(z) for z in (np.full(self.n, 1 / self.n), *np.eye(self.n))]
        pooled = {label_key(z): i for i, z in enumerate(pool)}
        return SeenLabels(self, {}, [], pool, pooled, Sheet(np.zeros((len(pool), 0))), Sheet(np.zeros((0, 0))))

    def __repr__(self) -> str:
        return f"Wasserstein({self.n} outcomes)"


@saved("function/transported")
def _transported(costs: Array, z: Any, y: Any) -> float:
    """The cost of the best plan from z to y."""
    a, b = np.asarray(z, dtype=float), np.asarray(y, dtype=float)
    if np.array_equal(a, b):
        return 0.0
    if np.count_nonzero(a) == 1 or np.count_nonzero(b) == 1:
        return float(a @ costs @ b)  # to or from a certainty there is one plan
    return float(_emd2()(a, b, costs))


def _as_costs(costs: Any) -> Array:
    """A square matrix of costs, the largest 1."""
    try:
        C = np.array(costs, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"costs must be a square matrix of numbers, got {costs!r}.") from None
    if C.ndim != 2 or C.shape[0] != C.shape[1] or not C.size:
        raise ValueError(f"costs must be a square matrix with a row for each outcome, got shape {C.shape}.")
    if not np.isfinite(C).all() or (C < 0).any():
        i, j = np.argwhere(~(np.isfinite(C) & (C >= 0)))[0].tolist()
        raise ValueError(f"costs must be finite and >= 0, from {i} to {j} it is {C[i, j]:g}.")
    if C.diagonal().any():
        i = int(np.flatnonzero(C.diagonal())[0])
        raise ValueError(f"costs must be 0 where nothing moves, from {i} to {i} it is {C[i, i]:g}.")
    return np.asarray(C / (C.max() or 1.0))


def _fixed(z: Array) -> Array:
    z.setflags(write=False)  # labels are candidates: an answer must not be changed behind the learner's back
    return z


@cache
def _emd2() -> Callable[[Array, Array, Array], float]:
    try:
        from ot import emd2
    except ImportError:
        raise ImportError("Wasserstein needs POT, which is not installed: pip install 'oskaar[transport]'.") from None
    solver: Callable[[Array, Array, Array], float] = emd2
    return solver

r"""Distributions compared by transport, the least cost of moving one into the other: on a line, and by any costs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from oskaar.arrays import Array, Sheet
from oskaar.losses.base import GrowingSpace, SeenLoss, Space
from oskaar.losses.simplex import as_distribution
from oskaar.losses.trick import LossTrick, SeenLabels, label_key
from oskaar.requirements import numbers_of, require_whole
from oskaar.saved import saved

_CHUNK = 1_000_000
"""Numbers in an array of the dynamic programme."""


@saved("loss/ordered-wasserstein")
class OrderedWasserstein(SeenLoss):
    r"""The transport cost (Wasserstein-1) of distributions on n ordered outcomes, over the way from first to last.

    With F_k the share of the first k outcomes and w_k the k-th step of the way (they sum to 1), just as much as
    |F_k(z) - F_k(y)| has to pass step k:

        Delta(z, y) = sum_{k<n} w_k |F_k(z) - F_k(y)|

    As for Ordinal, |a - b| = integral_0^1 (1 - s_theta(a) s_theta(b)) / 2 dtheta with s_theta(a) = 1 where a > theta,
    else -1:

        phi(y)(k, theta) = s_theta(F_k(y)),   psi(z) = -phi(z) / 2   in L2(w x [0, 1]),   c_delta = 1/2

    and |psi(z) - psi(z')|^2 = Delta(z, z'): the diameter is 1, from first to last.
    No finite embedding does it: the vectors are weights g on the distinct labels seen (`space()`), with
    <phi(y), phi(y')> = 1 - 2 Delta(y, y').

    Decoding minimises sum_j g_j Delta(z, y_j) over the whole simplex, exactly, for any sign. Between values that some
    F_k(y_j) has, the risk is linear in each F_k and in each run of equal ones, which may thus be moved to such a
    value, 0 or 1, at no loss. Over these values, sorted, F_1 <= F_2 <= ... is found by dynamic programming,

        h_k(v) = w_k sum_j g_j |v - F_k(y_j)| + min_{u <= v} h_{k-1}(u)                                       (1)

    O(n^2 p) for p distinct labels. Of equal answers the one with the least F is taken; g = 0 gives the uniform one.

    outcomes: how many, one step apart; or their places on the line, rising.

    >>> loss = OrderedWasserstein(3)
    >>> loss([1, 0, 0], [0, 0, 1]), loss([1, 0, 0], [0, 1, 0]), OrderedWasserstein([0, 1, 10])([1, 0, 0], [0, 1, 0])
    (1.0, 0.5, 0.1)
    >>> space = loss.space()
    >>> for y in ([1, 0, 0], [0, 1, 0], [0, 0, 1]):
    ...     space = space.extended(loss.check(y))
    >>> space.decode_many(np.array([[1.0, 1.0, 1.0], [-1.0, 0.0, 0.0]]))
    [array([0., 1., 0.]), array([0., 0., 1.])]
    """

    zero_optimum = True
    c_delta = 0.5

    def __init__(self, outcomes: Any) -> None:
        if isinstance(outcomes, (int, float, np.number)):
            outcomes = np.arange(float(require_whole("outcomes", outcomes)))
        places = numbers_of(outcomes)
        vector = places is not None and places.ndim == 1 and places.size > 0 and np.isfinite(places).all()
        if places is None or not vector or (np.diff(places) <= 0).any():
            raise ValueError(f"outcomes must be a whole number >= 1 or finite places that rise, got {outcomes!r}.")
        self.places, self.n = places, len(places)
        self.steps: Array = np.diff(places) / ((places[-1] - places[0]) or 1.0)

    def loss(self, z: Any, y: Any) -> float:
        passed = np.cumsum(np.subtract(z, y, dtype=float))[:-1]
        return float(np.abs(passed) @ self.steps)

    def check(self, y: Any) -> Array:
        return as_distribution(y, self.n)

    def space(self) -> Space:
        return SeenChains(self, {}, Sheet(np.zeros((0, self.n - 1))))

    def __repr__(self) -> str:
        even = np.array_equal(self.places, np.arange(self.n))
        return f"OrderedWasserstein({self.n if even else self.places.tolist()})"


@saved("space/chains")
class SeenChains(GrowingSpace):
    """Weights on the distinct distributions seen, and the F_k of these, (p, n - 1)."""

    c_delta = 0.5

    def __init__(self, loss: OrderedWasserstein, positions: dict[bytes, int], shares: Sheet) -> None:
        self.loss, self.positions, self._shares = loss, positions, shares
        self.p = len(positions)

    def key(self, y: Any) -> bytes:
        return bytes(y.tobytes())

    def seen(self) -> list[Array]:
        return [np.frombuffer(key) for key in self.positions]

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        shares = self._shares.extended(self.p + 1, self.loss.n - 1)
        shares.view[-1] = np.clip(np.cumsum(y)[:-1], 0.0, 1.0)
        return SeenChains(self.loss, positions, shares)

    def decode_many(self, G: Array) -> list[Array]:
        answers = np.full((len(G), self.loss.n), 1 / self.loss.n)
        some = np.flatnonzero(G.any(axis=1))
        values = np.unique(np.concatenate([[0.0, 1.0], self._shares.view.ravel()]))
        step = max(1, _CHUNK // (len(values) * self.loss.n))
        for lo in range(0, len(some), step):
            rows = some[lo : lo + step]
            W = G[rows] / np.abs(G[rows]).max(axis=1, keepdims=True)
            F = values[self._best_places(W, values)]
            answers[rows] = np.diff(F, axis=1, prepend=0.0, append=1.0)
        return list(answers)

    def squared_norms(self, V: Array) -> Array:
        """v^T Q v with Q = 1 - 2 Delta(y, y'): the integral of (sum_j v_j s_theta)^2, in O(n p)."""
        norms: Array = np.zeros(V.shape[:-1])
        for w, F in zip(self.loss.steps, self._shares.view.T, strict=True):
            order = np.argsort(F, kind="stable")
            gaps = np.diff(F[order], prepend=0.0, append=1.0)
            below = np.concatenate([np.zeros((*V.shape[:-1], 1)), np.cumsum(V[..., order], axis=-1)], axis=-1)
            norms += w * ((below[..., -1:] - 2 * below) ** 2 @ gaps)
        return norms

    def _best_places(self, W: Array, values: Array) -> Any:
        """Equation (1) for weights W (m, p): where in `values` the best F_1 <= ... <= F_{n-1} are, (m, n - 1)."""
        m, everything = len(W), np.arange(len(values))
        tilt = 1e-10 * np.abs(W).sum(axis=1, keepdims=True) * values  # what is equal up to rounding: the least
        least, firsts = np.zeros((m, 1)), []
        for w, F in zip(self.loss.steps, self._shares.view.T, strict=True):
            h = w * _distances(W, F, values) + tilt + least  # (1)
            least = np.minimum.accumulate(h, axis=1)
            new = np.concatenate([np.ones((m, 1), dtype=bool), h[:, 1:] < least[:, :-1]], axis=1)
            firsts.append(np.maximum.accumulate(np.where(new, everything, 0), axis=1))  # where `least` is attained
        places = np.full((m, len(firsts)), len(values) - 1)
        for k in range(len(firsts) - 1, -1, -1):
            last = places[:, k + 1] if k + 1 < len(firsts) else places[:, k]
            places[:, k] = firsts[k][np.arange(m), last]
        return places


def _distances(W: Array, F: Array, values: Array) -> Array:
    """sum_j W_j |v - F_j| for all v: (m, values), by cumulative sums.

    >>> _distances(np.array([[1.0, -2.0]]), np.array([0.5, 0.0]), np.array([0.0, 1.0]))
    array([[ 0.5, -1.5]])
    """
    order = np.argsort(F, kind="stable")
    edge = np.zeros((len(W), 1))
    counts = np.concatenate([edge, np.cumsum(W[:, order], axis=1)], axis=1)
    sums = np.concatenate([edge, np.cumsum(W[:, order] * F[order], axis=1)], axis=1)
    passed = np.searchsorted(F[order], values, side="right")
    distances: Array = values * (2 * counts[:, passed] - counts[:, -1:]) - (2 * sums[:, passed] - sums[:, -1:])
    return distances


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
    try:
        from ot import emd2
    except ImportError:
        raise ImportError("Wasserstein needs POT, which is not installed: pip install 'oskaar[transport]'.") from None
    return float(emd2(a, b, costs))


def _as_costs(costs: Any) -> Array:
    """A square matrix of costs, the largest 1."""
    C = numbers_of(costs)
    if C is None:
        raise ValueError(f"costs must be a square matrix of numbers, got {costs!r}.")
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

r"""The radius and the diameter of psi for F-scores, in O(k log k) memory.

Both need sums over the sizes n of y, up to the number of labels k, of

    q_mn q_m'n = (1 + beta^2)^2 n / ((m + beta^2 n) (m' + beta^2 n)),  times 1 - n/k where all answers have one size.

`quadrature` takes such sums over few nodes in place of many sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh_tridiagonal

from oskaar.arrays import Array

Gains = Callable[[Any, Any], Array]
"""q for sizes m of z and n of y, a row for each m."""

_NODES = 16
"""Nodes for the sizes from 2^j to 2^(j+1)."""

_ROWS = 64
"""Set sizes in a run; the pairs of two runs are tried at a time."""

_STEPS = 200


def quadrature(sizes: Any) -> tuple[Array, Array]:
    """Nodes and weights > 0 with sum_n h(n) = sum_i weights_i h(nodes_i) over sizes n >= 1, h the sums above.

    Gauss quadrature with 16 nodes of the measure that counts the sizes in [a, 2a), a = 1, 2, 4, ...; up to 16 sizes
    are their own nodes. It is exact for polynomials of degree 31. h has its poles at n <= 0, and in the ellipse
    with foci a, 2a and half axes that add up to 2a, where Re n >= 0.43 a, |h| is at most 60 times its least value
    between the foci: some polynomial is within 2 * 60 * 4^-31 / 3 of h, and the sum within 1e-16 of itself.

    >>> nodes, weights = quadrature(np.arange(1, 10_001))
    >>> exact = sum(n / (7 + n) ** 2 for n in range(1, 10_001))
    >>> len(nodes) < 200, bool(abs(weights @ (nodes / (7 + nodes) ** 2) / exact - 1) < 1e-13)
    (True, True)
    """
    sizes = np.sort(np.asarray(sizes, dtype=float))
    parts = np.split(sizes, np.searchsorted(sizes, 2.0 ** np.arange(1, 64)))
    found = [_gauss(part) for part in parts if len(part)]
    if not found:
        return np.zeros(0), np.zeros(0)
    return np.concatenate([nodes for nodes, _ in found]), np.concatenate([weights for _, weights in found])


def _gauss(places: Array) -> tuple[Array, Array]:
    """Gauss's nodes and weights for a unit mass at each place: eigenvalues of Lanczos's tridiagonal matrix."""
    if len(places) <= _NODES:
        return places, np.ones(len(places))
    basis = np.zeros((_NODES, len(places)))
    basis[0] = 1 / np.sqrt(len(places))
    middle, diagonal, beside = places.mean(), np.zeros(_NODES), np.zeros(_NODES - 1)
    for i in range(_NODES):
        v = (places - middle) * basis[i]
        diagonal[i] = basis[i] @ v
        if i + 1 < _NODES:
            for _ in range(2):  # once more, against rounding
                v -= (basis[: i + 1] @ v) @ basis[: i + 1]
            beside[i] = np.sqrt(v @ v)
            basis[i + 1] = v / beside[i]
    values, vectors = eigh_tridiagonal(diagonal, beside)
    return values + middle, len(places) * vectors[0] ** 2


def radius(gains: Gains, k: int, m: Any) -> float:
    """The radius of a ball that holds psi of answers of sizes m, with a centre that treats labels alike.

    For such a centre (-a_n on every label of block n, -b on the empty set) the distance depends on |z| = m
    alone: sum_n [m (q_mn - a_n)^2 + (k - m) a_n^2] + ([m = 0] - b)^2. Badoiu and Clarkson's walk: every centre on it
    gives a ball that holds all, and the smallest is taken.
    """
    Q = _weighted(gains, m, np.arange(1, k + 1))
    squares = m * np.einsum("mn,mn->m", Q, Q)
    a, b, best = m[-1] / k * Q[-1], float(m[-1] == 0), np.inf
    for i in range(1, _STEPS):
        distances = squares - 2 * m * (Q @ a) + k * (a @ a) + ((m == 0) - b) ** 2
        far = int(np.argmax(distances))
        best = min(best, float(distances[far]))
        a = a + (m[far] / k * Q[far] - a) / (i + 1)
        b += (float(m[far] == 0) - b) / (i + 1)
    return float(np.sqrt(max(best, 0.0)))


def span(gains: Gains, k: int, m: Any, sizes: Iterable[int]) -> float:
    """max |psi(z) - psi(z')| for answers of sizes m, in the blocks of some sizes of y.

    For |z| = m, |z'| = m' and i labels in common its square is m |q_m|^2 + m' |q_m'|^2 - 2 i <q_m, q_m'>, where
    q > 0: it is largest for the least i, m + m' - k or 0. The coordinate of the empty set adds 1 for z = {}, z'
    not. The block of n = k has one phi, all labels, which sees sums alone: it adds (m q_mk - m' q_m'k)^2 / k.
    """
    held = set(sizes)
    Q = _weighted(gains, m, sorted(held - {0, k}))
    norms = np.einsum("mn,mn->m", Q, Q)
    squares = m * norms
    whole = m * gains(np.maximum(m, 1), [k])[:, 0] / np.sqrt(k) * (k in held)
    if m[0] == 0 and 0 in held and m[-1] > 0:
        squares[0] = 1.0
    most = 0.0
    for bound, few, others in _pairs(k, m, squares, norms):
        if bound + np.ptp(whole) ** 2 <= most:
            break
        common = np.maximum(np.add.outer(m[few], m[others]) - k, 0)
        apart = np.add.outer(squares[few], squares[others]) - 2 * common * (Q[few] @ Q[others].T)
        most = max(most, float((apart + np.subtract.outer(whole[few], whole[others]) ** 2).max()))
    return float(np.sqrt(most)) if len(m) > 1 or 0 < m[0] < k else 0.0


def _pairs(k: int, m: Any, squares: Array, norms: Array) -> Iterator[tuple[float, slice, slice]]:
    """Pairs of runs of sizes, with a bound on m |q_m|^2 + m' |q_m'|^2 - 2 i <q_m, q_m'> in them, largest bound first.

    q falls with m, so <q_m, q_m'> is at least |q|^2 of the largest size in either run.
    """
    starts = np.arange(0, len(m), _ROWS)
    tops, least = np.maximum.reduceat(squares, starts), m[starts]
    last = norms[np.append(starts[1:], len(m)) - 1]
    common = np.maximum(np.add.outer(least, least) - k, 0)
    bounds = np.add.outer(tops, tops) - 2 * common * np.minimum.outer(last, last)
    for place in np.argsort(-bounds, axis=None, kind="stable"):
        i, j = divmod(int(place), len(starts))
        if i <= j:
            few, others = (slice(starts[h], starts[h] + _ROWS) for h in (i, j))
            yield float(bounds[i, j]), few, others


def _weighted(gains: Gains, m: Any, sizes: Any) -> Array:
    """q (sizes m, nodes) times the roots of the weights; 0 for the empty set."""
    nodes, weights = quadrature(sizes)
    Q = gains(m, nodes)
    Q *= np.sqrt(weights)
    Q[np.asarray(m) == 0] = 0.0
    return Q

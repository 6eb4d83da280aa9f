r"""Sequences s_1, ..., s_n over k symbols: the best one, and how probable each symbol is at each place.

    best_path:  argmax_s  start[s_1] + sum_i scores[i, s_i] + sum_i pair[s_i, s_{i+1}] + end[s_n]        (Viterbi)
    marginals:  P(s_i = s) for  P(s_1..n) ~ start[s_1] prod_i factors[i, s_i] prod_i pair[s_i, s_{i+1}] end[s_n]

Both take n steps of k^2. Numbers of any sign, and -inf (in best_path) or 0 (in marginals) for what is forbidden.
Equivalent to tests/naive.py::best_sequence and sequence_marginals, which list all k^n sequences.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.losses.base import near

_ROOM = 2**17
"""How many sums of pairs are kept at a time to look for the first best."""


def best_path(scores: Array, pair: Array, start: Array, end: Array) -> Any:
    """The places (n,) of the best symbols; of paths that are equal up to rounding, always the same one.

    Raises ValueError where every path has a score of -inf.

    >>> pair = np.array([[-np.inf, 0.0], [0.0, 0.0]])
    >>> best_path(np.array([[1.0, 0.0], [1.0, 0.9]]), pair, np.zeros(2), np.zeros(2))
    array([0, 1])
    """
    n, k = scores.shape
    into = np.ascontiguousarray(pair.T)
    slack = n * float(near(scores.reshape(1, -1))[0, 0])
    back = np.zeros((n, k), dtype=np.intp)
    value = scores[0] + start
    for lo in range(1, n, step := max(1, _ROOM // k**2)):
        hi = min(lo + step, n)
        sums, best = into + scores[lo:hi, :, None], np.empty((hi - lo, k))
        for here, most in zip(sums, best, strict=True):
            here += value  # to each symbol (row) from each before it (column)
            value = np.maximum.reduce(here, axis=1, out=most)
        np.argmax(sums >= (best - slack)[:, :, None], axis=2, out=back[lo:hi])
    value = value + end
    highest = value.max()
    if highest == -np.inf:
        raise ValueError(f"the transitions allow no sequence of length {n}.")
    path = [int(np.argmax(value >= highest - slack))]
    for row in back[:0:-1].tolist():
        path.append(row[path[-1]])
    return np.array(path[::-1])


def marginals(factors: Array, pair: Array, start: Array, end: Array) -> Array:
    """P(s_i = s), (n, k), for factors >= 0, by one pass forwards and one back; each is scaled as it goes.

    Several chains at once: factors (n, m, k), pair (m, k, k), start and end (m, k) give (n, m, k).

    >>> marginals(np.ones((2, 2)), np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2), np.ones(2)).round(3)
    array([[0.333, 0.667],
           [0.667, 0.333]])
    """
    forward, backward = np.empty_like(factors), np.empty_like(factors)
    v = start
    for i, factor in enumerate(factors):
        v = factor * (v if i == 0 else (v[..., None, :] @ pair)[..., 0, :])
        v = v / np.add.reduce(v, axis=-1, keepdims=True)
        forward[i] = v
    backward[-1] = v = end
    for i in range(len(factors) - 1, 0, -1):
        v = (pair @ (factors[i] * v)[..., None])[..., 0]
        v = v / np.add.reduce(v, axis=-1, keepdims=True)
        backward[i - 1] = v
    P: Array = forward * backward
    P /= P.sum(axis=-1, keepdims=True)
    return P


def reachable(n: int, allowed: Any, starts: Any, ends: Any) -> bool:
    """Whether some sequence of length n is allowed.

    >>> reachable(2, np.eye(2, dtype=bool), np.array([True, False]), np.array([False, True]))
    False
    """
    here = starts
    for _ in range(n - 1):
        here = here @ allowed
    return bool(np.any(here & ends))


def bio_transitions(tags: Iterable[str]) -> NDArray[np.int64]:
    """The (k + 1, k + 1) matrix of transitions for tags "O", "B-x", "I-x", and "E-x", "S-x" where they are used.

    I-x and E-x may only continue what B-x or I-x of the same x began; where E or S tags are listed, what B-x
    began must be ended by E-x.

    >>> bio_transitions(["O", "B-city", "I-city"])     # I-city follows B-city or I-city, and never comes first
    array([[1, 1, 0, 1],
           [1, 1, 1, 1],
           [1, 1, 1, 1],
           [1, 1, 0, 0]])
    """
    parsed = [_tag(tag) for tag in tags]
    closing = any(kind in "ES" for kind, _ in parsed)

    def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
        continued = after[0] in "IE"
        if continued and not (before[0] in "BI" and before[1] == after[1]):
            return False
        return continued or not (closing and before[0] in "BI")

    outside = ("O", "")
    table = [[follows(a, b) for b in [*parsed, outside]] for a in [*parsed, outside]]
    matrix = np.array(table, dtype=np.int64)
    matrix[-1, -1] = 0
    return matrix


def _tag(tag: Any) -> tuple[str, str]:
    if tag == "O":
        return "O", ""
    if not (isinstance(tag, str) and len(tag) > 2 and tag[0] in "BIES" and tag[1] == "-"):
        raise ValueError(f"a tag must be 'O' or look like 'B-city' (B, I, E or S), got {tag!r}.")
    return tag[0], tag[2:]

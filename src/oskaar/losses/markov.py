r"""Markov chains of symbols s_1, ..., s_n: the best path, how probable each symbol is at each place, and counts.

    best_path:  argmax_s  start[s_1] + sum_i scores[i, s_i] + sum_i pair[s_i, s_{i+1}] + end[s_n]        (Viterbi)
    marginals:  P(s_i = s) for  P(s_1..n) ~ start[s_1] prod_i factors[i, s_i] prod_i pair[s_i, s_{i+1}] end[s_n]

Both take n steps of k^2. Numbers of any sign, and -inf (in best_path) or 0 (in marginals) for what is forbidden.
Equivalent to tests/naive.py::best_sequence and sequence_marginals, which list all k^n sequences.

Learned transitions are a chain of counts, joined with estimates by Bayes' rule. The estimate of a one-hot code
estimates P(s | x_i), the probabilities of the symbols at place i given its row. If rows are independent given their
symbols, and symbols are a Markov chain with a start and an end, Bayes' rule is

    P(s_1..n | x_1..n)  ~  P(s_1 | start) prod_i P(s_i | x_i) / P(s_i)  prod_i P(s_{i+1} | s_i)  P(end | s_n)    (1)

so that the chain enters with weight 1. Where rows contain what their neighbours are, (1) counts that twice, and less
of the chain is better: with weight w it is

    P(s_1 | start)^w prod_i P(s_i | x_i) / P(s_i)^w  prod_i P(s_{i+1} | s_i)^w  P(end | s_n)^w                    (w)

and w = 0 is row by row. Each w in WEIGHTS is a decoder, and a learner answers with the one whose answers have cost
least so far: nothing is to be tuned. Every probability is smoothed alike, as if each symbol had been seen once more
(Laplace): the chain's rows, the shares P(s), and, with t symbols seen,

    P(s | x_i) = (t [estimate on the simplex]_s + k P(s)) / (t + k)                                              (2)

The answer is the symbol with the largest marginal of (1) at each place, which is the best under Hamming loss, or
its largest sequence, which is the best under the 0-1 loss of whole sequences. Where answers have to be allowed, it is
the allowed z with the largest sum_i P(s_i = z_i | x), or the largest (1), by Viterbi: again the best of either loss.
The chain is that of the labels, which need not be allowed.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Several
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array, spans
from oskaar.losses.base import FixedSpace, Space, first_best, near
from oskaar.losses.certainty import projections
from oskaar.saved import saved

if TYPE_CHECKING:
    from oskaar.losses.sequences import Sequence

WEIGHTS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Of the chain, one for each decoder."""

_TAIL = 256
"""How many of the last symbols are kept as they came, so that not every round copies the table of counts."""

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


@saved("space/transitions")
class LearnedChain(FixedSpace):
    """The counts of transitions in the labels so far, start and end included; c_delta = inf, nothing is claimed.

    >>> from oskaar.losses import Sequence
    >>> space = Sequence("ab", transitions="learned").space().extended(("a", "b", "b"))
    >>> space.counts()          # from a, b, start; to a, b, end
    array([[0., 1., 0.],
           [0., 1., 1.],
           [1., 0., 0.]])
    """

    loss: Sequence
    grows = True
    decoders = len(WEIGHTS)
    weight = WEIGHTS[0]

    def __init__(self, loss: Sequence, table: Array | None = None, tail: Any = None) -> None:
        super().__init__(loss)
        k = len(loss.symbols)
        self._table = np.zeros((k + 1, k + 1)) if table is None else table
        self._tail = np.array([k]) if tail is None else tail  # symbols, with k between labels

    def extended(self, y: Any) -> Space:
        """With the transitions of y; decoded by the first decoder."""
        places = [self.loss.symbols.position(item) for item in y]
        end = len(self.loss.symbols)
        if len(self._tail) > _TAIL:
            return LearnedChain(self.loss, self.counts(), np.array([end, *places, end]))
        return LearnedChain(self.loss, self._table, np.append(self._tail, [*places, end]))

    def joined(self, other: Any) -> Space:
        return LearnedChain(self.loss, self.counts() + other.counts())

    def without(self, other: Any) -> Space:
        left = self.counts() - other.counts()
        if left.min() < 0:
            raise ValueError("the learner that is taken away must be a part of this one: it has seen other labels.")
        return LearnedChain(self.loss, left)

    def counts(self) -> Array:
        """How often each symbol followed each, (k + 1, k + 1): the last row is the start, the last column the end."""
        m = len(self._table)
        recent = np.bincount(self._tail[:-1] * m + self._tail[1:], minlength=m * m)
        return self._table + recent.reshape(m, m)

    def decode_round(self, G: Array) -> Any:
        return self.decode_rounds(G, [len(G)])[0]

    def decode_rounds(self, G: Array, ends: Any) -> list[Any]:
        return self._answers(G, ends, [self.weight])[0]

    def decode_each(self, G: Array, ends: Any) -> list[list[Any]]:
        return self._answers(G, ends, WEIGHTS)

    def decoded_by(self, decoder: int) -> Space:
        other = LearnedChain(self.loss, self._table, self._tail)
        other.weight = WEIGHTS[decoder]
        return other

    def _answers(self, G: Array, ends: Any, weights: Several[float]) -> list[list[Any]]:
        """The answers for sequences that end at rows `ends` of G, with each of the weights."""
        counts, w = self.counts(), np.array(weights)[:, None]
        chain = counts + 1
        chain[-1, -1] = 0  # a sequence has a symbol
        chain /= chain.sum(axis=1, keepdims=True)
        chains = chain ** w[:, :, None]
        parts = chains[:, :-1, :-1], chains[:, -1, :-1], chains[:, :-1, -1]
        factors = self._factors(G, counts[:, :-1].sum(axis=0), w)
        rounds = [self._places(factors[lo:hi], parts) for lo, hi in spans(ends)]
        return [[self.loss.named(places[i]) for places in rounds] for i in range(len(w))]

    def _places(self, factors: Array, chains: tuple[Array, Array, Array]) -> list[Any]:
        """The places of the best symbols of one sequence with factors (n, m, k), for each of m chains."""
        penalties, m = self.loss.penalties(), factors.shape[1]
        if self.loss.whole:
            scores, *logs = (np.log(part) for part in (factors, *chains))
            ways = [[part[i] for part in logs] for i in range(m)]
            if penalties is not None:
                ways = [list(map(np.add, way, penalties)) for way in ways]
            return [best_path(scores[:, i], *way) for i, way in enumerate(ways)]
        P = marginals(factors, *chains)
        if penalties is None:
            return list(first_best(P.reshape(-1, P.shape[2])).reshape(len(P), m).T)
        return [best_path(P[:, i], *penalties) for i in range(m)]

    def _factors(self, G: Array, seen: Array, w: Array) -> Array:
        """P(s | x_i) / P(s)^w of (w), (n, m, k) for each row and each weight w (m, 1)."""
        t, k = seen.sum(), len(seen)
        shares = (seen + 1) / (t + k)
        one_hots = self.loss.one_hots(G)
        known = np.isfinite(one_hots).all(axis=1)
        P = np.tile(shares, (len(G), 1))
        P[known] = projections(one_hots[known])
        factors: Array = ((t * P + k * shares) / (t + k))[:, None] / shares**w  # (2)
        return factors

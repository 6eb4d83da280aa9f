r"""Learned transitions: a Markov chain of counts, joined with estimates by Bayes' rule.

The estimate of a one-hot code estimates P(s | x_i), the probabilities of the symbols at place i given its row.
If rows are independent given their symbols, and symbols are a Markov chain with a start and an end, Bayes' rule is

    P(s_1..n | x_1..n)  ~  P(s_1 | start) prod_i P(s_i | x_i) / P(s_i)  prod_i P(s_{i+1} | s_i)  P(end | s_n)    (1)

so that the chain enters with weight 1. Where rows contain what their neighbours are, (1) counts that twice, and less
of the chain is better: with weight w it is

    P(s_1 | start)^w prod_i P(s_i | x_i) / P(s_i)^w  prod_i P(s_{i+1} | s_i)^w  P(end | s_n)^w                    (w)

and w = 0 is row by row. Each w in WEIGHTS is a decoder, and a learner answers with the one whose answers have cost
least so far: nothing is to be tuned. Every probability is smoothed alike, as if each
symbol had been seen once more (Laplace): the chain's rows, the shares P(s), and, with t symbols seen,

    P(s | x_i) = (t [estimate on the simplex]_s + k P(s)) / (t + k)                                              (2)

The answer is the symbol with the largest marginal of (1) at each place, which is the best under Hamming loss, or
its largest sequence, which is the best under the 0-1 loss of whole sequences. Where answers have to be allowed, it is
the allowed z with the largest sum_i P(s_i = z_i | x), or the largest (1), by Viterbi: again the best of either loss.
The chain is that of the labels, which need not be allowed.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from typing import TYPE_CHECKING, Any

import numpy as np

from oskaar.arrays import Array, spans
from oskaar.losses.base import FixedSpace, Space, first_best
from oskaar.losses.certainty import projections
from oskaar.losses.viterbi import best_path, marginals
from oskaar.saved import saved

if TYPE_CHECKING:
    from oskaar.losses.sequences import Sequence

WEIGHTS = (1.0, 0.75, 0.5, 0.25, 0.0)
"""Of the chain, one for each decoder."""

_TAIL = 256
"""How many of the last symbols are kept as they came, so that not every round copies the table of counts."""


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

r"""What has been learned of transitions: a Markov chain of counts, joined with estimates by Bayes' rule.

The estimate of a one-hot code estimates P(s | x_i), the probabilities of the symbols at place i given its row.
If rows are independent given their symbols, and symbols are a Markov chain with a start and an end, Bayes' rule is

    P(s_1..n | x_1..n)  ~  P(s_1 | start) prod_i P(s_i | x_i) / P(s_i)  prod_i P(s_{i+1} | s_i)  P(end | s_n)    (1)

so that the chain enters with weight 1: nothing is to be tuned. Every probability is smoothed alike, as if each
symbol had been seen once more (Laplace): the chain's rows, the shares P(s), and, with t symbols seen,

    P(s | x_i) = (t [estimate on the simplex]_s + k P(s)) / (t + k)                                              (2)

The answer is the symbol with the largest marginal of (1) at each place, which is the best under Hamming loss, or
its largest sequence, which is the best under the 0-1 loss of whole sequences. Where answers have to be allowed, it is
the allowed z with the largest sum_i P(s_i = z_i | x), or the largest (1), by Viterbi: again the best of either loss.
The chain is that of the labels, which need not be allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from oskaar.arrays import Array, spans
from oskaar.losses.base import FixedSpace, Space, first_best
from oskaar.losses.simplex import projections
from oskaar.losses.viterbi import best_path, marginals
from oskaar.saved import saved

if TYPE_CHECKING:
    from oskaar.losses.chains import Sequence

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

    def __init__(self, loss: Sequence, table: Array | None = None, tail: Any = None) -> None:
        super().__init__(loss)
        k = len(loss.symbols)
        self._table = np.zeros((k + 1, k + 1)) if table is None else table
        self._tail = np.array([k]) if tail is None else tail  # symbols, with k between labels

    def extended(self, y: Any) -> Space:
        """With the transitions of y."""
        places = [self.loss.symbols.position(item) for item in y]
        end = len(self.loss.symbols)
        if len(self._tail) > _TAIL:
            return LearnedChain(self.loss, self.counts(), np.array([end, *places, end]))
        return LearnedChain(self.loss, self._table, np.append(self._tail, [*places, end]))

    def joined(self, other: Space) -> Space:
        """With the transitions of both."""
        assert isinstance(other, LearnedChain)
        return LearnedChain(self.loss, self.counts() + other.counts())

    def without(self, other: Space) -> Space:
        """Without the transitions of the other."""
        assert isinstance(other, LearnedChain)
        left = self.counts() - other.counts()
        if left.min() < 0:
            raise ValueError("the learner that is taken away must be a part of this one: it has seen other labels.")
        return LearnedChain(self.loss, left)

    def counts(self) -> Array:
        """How often each symbol followed each, (k + 1, k + 1): the last row is the start, the last column the end."""
        m = len(self._table)
        recent = np.bincount(self._tail[:-1] * m + self._tail[1:], minlength=m * m)
        counts: Array = self._table + recent.reshape(m, m)
        return counts

    def decode_round(self, G: Array) -> Any:
        """The answer for one sequence."""
        return self.decode_rounds(G, [len(G)])[0]

    def decode_rounds(self, G: Array, ends: Any) -> list[Any]:
        """The answers for sequences that end at rows `ends` of G."""
        counts = self.counts()
        chain = counts + 1
        chain[-1, -1] = 0  # a sequence has a symbol
        chain /= chain.sum(axis=1, keepdims=True)
        factors = self._factors(G, counts[:, :-1].sum(axis=0))
        parts = chain[:-1, :-1], chain[-1, :-1], chain[:-1, -1]
        return [self.loss.named(self._answer(factors[lo:hi], parts)) for lo, hi in spans(ends)]

    def _answer(self, factors: Array, chain: tuple[Array, Array, Array]) -> Any:
        """The places of the best symbols for the factors (n, k) of one sequence."""
        penalties = self.loss.penalties()
        if self.loss.whole:
            logs = [np.log(part) for part in chain]
            return best_path(np.log(factors), *(logs if penalties is None else map(np.add, logs, penalties)))
        P = marginals(factors, *chain)
        return first_best(P) if penalties is None else best_path(P, *penalties)

    def _factors(self, G: Array, seen: Array) -> Array:
        """P(s | x_i) / P(s) of (1), for each row."""
        t, k = seen.sum(), len(seen)
        shares = (seen + 1) / (t + k)
        one_hots = self.loss.one_hots(G)
        known = np.isfinite(one_hots).all(axis=1)
        P = np.tile(shares, (len(G), 1))
        P[known] = projections(one_hots[known])
        factors: Array = (t * P / shares + k) / (t + k)  # (2)
        return factors

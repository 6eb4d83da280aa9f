r"""The choice among the decoders of a space: follow the leader.

Some spaces decode an estimate in several ways (`Space.decoders`: learned transitions of more or less weight). With
Delta_s(i) the loss of decoder i's answer in round s, which was given or not, the answer of round t is that of

    argmin_i  sum_{s<t} Delta_s(i)        the first of equals                                                      (1)

Nothing is to be tuned. If one decoder is better by d a round on average, and the differences are independent, others
answer in a bounded number of rounds, of the order of the variance over d^2. After a change of the law the old leader
answers until another has made up for all that it was behind.

Equivalent to tests/naive.py::leader.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.learners.labels import Labels
from oskaar.losses.base import first_best


def leader(paid: Array) -> int:
    """The decoder that has paid least so far.

    >>> leader(np.array([2.0, 0.5, 0.3 + 0.2]))
    1
    """
    return int(first_best(-paid[None])[0])


def answers_in_turn(paid: Array, labels: Labels, G: Array) -> tuple[list[Any], Array]:
    """The answer to each round with estimates G, and what each decoder pays in these rounds; paid: before them."""
    answers = labels.answers_of_each(G)
    losses = labels.losses_of_each(answers)
    before = np.cumsum(np.concatenate([paid[None], losses[:-1]]), axis=0)
    chosen = first_best(-before).tolist()  # (1)
    return [answers[i][t] for t, i in enumerate(chosen)], losses.sum(axis=0)

r"""Judging parts of a mixture by what is paid in the end.

The weights of a mixture come from the squared loss of estimates; what is paid is Delta of the answers. Mostly they
agree. Where they do not, a panel, a part of the mixture on its own, answers better than the whole. So each panel's
answers are judged too. With d_s = Delta(whole) - Delta(panel) in round s, and m the largest Delta of any so far,

    z = sum_s d_s / sqrt(m^2 + sum_s d_s^2),      v ~ exp(-3 + z |z|) for a panel,  1 for the whole,

are the shares of the panels in the estimate: hardly any until the difference is more than luck, then nearly all.
Estimates are judged to about 1e-8 (`steady`): rounding errors must not choose among answers that are tied.
"""

from __future__ import annotations

import numpy as np

from oskaar.arrays import Array

PANEL = -3.0
"""The logarithm of the prior weight of a panel."""


MARKS = 2.0**25 * np.pi
"""Estimates are judged to 1 / MARKS, about 1e-8; irrational, so that no fraction lies half way between two marks."""


class Jury:
    """Tallies of panels, the whole first. A value that never changes; `after` makes the next one.

    >>> jury = Jury(2)
    >>> for _ in range(30):
    ...     jury = jury.after(np.array([[1.0, 0.0]]))[1]
    >>> jury.shares().round(2)
    array([0., 1.])
    """

    def __init__(self, panels: int) -> None:
        self.sums, self.squares, self.worst = np.zeros(panels), np.zeros(panels), 0.0

    def shares(self) -> Array:
        """What each panel has to say in the next round."""
        shares: Array = _shares(self.sums[None], self.squares[None], np.array([self.worst]))[0]
        return shares

    def after(self, losses: Array) -> tuple[Array, Jury]:
        """The shares in each of some rounds whose losses were (rounds, panels), and the jury after them."""
        d = losses[:, :1] - losses
        sums = np.cumsum(np.concatenate([self.sums[None], d]), axis=0)
        squares = np.cumsum(np.concatenate([self.squares[None], d**2]), axis=0)
        worst = np.maximum.accumulate(np.append(self.worst, losses.max(axis=1)))
        other = Jury(len(self.sums))
        other.sums, other.squares, other.worst = sums[-1], squares[-1], float(worst[-1])
        return _shares(sums[:-1], squares[:-1], worst[:-1]), other


def panels_of(groups: list[list[int]], logs: Array, estimates: Array) -> Array:
    """Estimates (panels, rounds, p): of all experts, and of each group by itself.

    logs (rounds, K): logarithms of the experts' weights; estimates (K, rounds, p).

    >>> panels_of([[1]], np.zeros((1, 2)), np.array([[[0.0]], [[1.0]]])).ravel()
    array([0.5, 1. ])
    """
    everyone = list(range(logs.shape[1]))
    return np.stack([mixed(_softmax(logs[:, group]), estimates[group]) for group in [everyone, *groups]])


def mixed(shares: Array, estimates: Array) -> Array:
    """The mean (rounds, p) of estimates (K, rounds, p) with shares (rounds, K).

    Added up one estimate after the other, so that a coordinate's rounding does not depend on how many there are.
    """
    mean: Array = np.add.reduce(np.multiply(shares.T[:, :, None], estimates, order="C"), axis=0)
    return mean


def steady(G: Array) -> Array:
    """Estimates without their last digits: answers that are tied are then the same, however G was computed.

    >>> steady(np.array([0.5, 0.5 + 1e-16, -1e-16])).round(6)
    array([0.5, 0.5, 0. ])
    """
    marks: Array = np.round(G * MARKS) / MARKS + 0.0
    return marks


def _shares(sums: Array, squares: Array, worst: Array) -> Array:
    scale = np.sqrt(worst[:, None] ** 2 + squares)
    z = np.divide(sums, scale, out=np.zeros_like(sums), where=scale > 0)
    logs = PANEL + z * np.abs(z)
    logs[:, 0] = 0.0
    return _softmax(logs)


def _softmax(logs: Array) -> Array:
    """Weights that add up to 1 in each row."""
    weights: Array = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights

r"""Calibration: probabilities raised to a power, weighted by past log losses.

Estimates that regularisation pulls to the middle make probabilities that are too cautious, and those that follow
noise make them too sure. For each power a of a small grid

    q_a = p^a / sum p^a            over names of which one holds; p^a / (p^a + (1 - p)^a) of a name by itself      (1)
    w_a ~ min(a, 1 / a) exp(S_a),  S_a = sum over past rounds of 0.99^age times the mean of log q_a of the truth   (2)

and the answer is q = sum_a w_a q_a. The order of the names stays. The rounds of (2) are the first 512, and then one
in 32. p and q are smoothed (`losses.certainty`), so that none is 0. Equivalent to tests/naive.py::calibrated.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np

from oskaar.arrays import Array, fit_columns, spans
from oskaar.learners.labels import Labels
from oskaar.losses.certainty import Marginals
from oskaar.saved import require, saved

POWERS = 2.0 ** (np.arange(-2, 5) / 2)
"""1/2, 0.71, 1, 1.41, 2, 2.83, 4."""

PRIOR = np.log(np.minimum(POWERS, 1 / POWERS))
"""log min(a, 1 / a) of (2)."""

AGEING = 0.99
"""By how much an older round counts less."""

FIRST, EVERY = 512, 32
"""After the first rounds only some are looked at, which saves time."""

LEAST = 1e-12
"""A smaller probability counts as this."""


@saved("learner/calibration")
class Calibration:
    """S_a for each power. A value; `after` makes the next one.

    >>> from oskaar.losses.certainty import Marginals
    >>> cautious = Marginals("ab", np.array([[0.7, 0.3]]))
    >>> calibration = Calibration()
    >>> for t in range(50):
    ...     calibration = calibration.after(cautious, t, np.array([[True, False]]), [1])
    >>> calibration.applied(cautious, 50).P.round(2)
    array([[0.95, 0.05]])
    """

    def __init__(self, gains: Array | None = None) -> None:
        self.gains = np.zeros(len(POWERS)) if gains is None else gains

    @property
    def weights(self) -> Array:
        """Of the powers, which add up to 1."""
        logs = self.gains + PRIOR
        w = np.exp(logs - logs.max())
        shares: Array = w / w.sum()
        return shares

    def applied(self, found: Marginals, rounds: Any) -> Marginals:
        """Calibrated probabilities after so many rounds, one number or one for each row."""
        smoothed = found.smoothed(rounds)
        if not found.P.size:
            return smoothed
        Q = np.exp(_powered(smoothed)).reshape(len(POWERS), -1)
        return found.with_shares(self.weights.dot(Q).reshape(found.P.shape)).smoothed(rounds)

    def after(self, found: Marginals, rounds: Any, truth: Any, ends: Any) -> Calibration:
        """With rounds that end at rows `ends`, where `truth` (n, k) holds; rows without a known name do not count."""
        if not found.P.size:
            return self
        gains, known = self.gains, truth.any(axis=1) | (not found.exclusive)
        scores = _scores(_powered(found.smoothed(rounds)), truth, found.exclusive)
        for lo, hi in spans(ends):
            if known[lo:hi].any():
                mean = scores[:, lo] if hi - lo == 1 else scores[:, lo:hi][:, known[lo:hi]].mean(axis=1)
                gains = AGEING * gains + mean  # (2)
        return Calibration(gains)

    def after_rounds(self, G: Array, labels: Labels, start: int) -> Calibration:
        """With rounds that had estimates G, of which the first came after `start` others."""
        if len(labels.ys) < rounds_alike(start):
            return self  # none of them is looked at
        calibration, rows = self, labels.rows
        for space, rounds in _groups(labels, start):
            alone = len(rounds) == 1
            inside: Any = slice(*rows[rounds[0]]) if alone else np.concatenate([np.arange(*rows[i]) for i in rounds])
            found = space.probabilities(fit_columns(G[inside], space.p))
            if found is None:
                return self
            sizes = [(rows[i][1] - rows[i][0]) * found.places for i in rounds]
            truth = found.truth([labels.ys[i] for i in rounds], labels.loss.parts)
            before = start + rounds[0] if alone else np.repeat(start + np.array(rounds), sizes)
            calibration = calibration.after(found, before, truth, accumulate(sizes))
        return calibration

    def __repr__(self) -> str:
        return f"Calibration(power {float(self.weights @ POWERS):.2f})"

    def check_saved(self) -> None:
        """A number for each power, none above 0."""
        kept = isinstance(self.gains, np.ndarray) and self.gains.shape == POWERS.shape
        require(
            kept and self.gains.dtype == np.float64 and (self.gains <= 0).all(), "a gain for each power, at most 0"
        )


def rounds_alike(start: int) -> int:
    """How many rounds from `start` on have the same calibration: the last of them is looked at.

    >>> [rounds_alike(t) for t in (0, 511, 512, 513, 520)]
    [1, 1, 1, 32, 25]
    """
    return 1 if start < FIRST else -start % EVERY + 1


def _groups(labels: Labels, start: int) -> Iterator[tuple[Any, list[int]]]:
    """Rounds that are looked at, those together that knew the same names."""
    group: list[int] = []
    for i in range(len(labels.ys)):
        if start + i >= FIRST and (start + i) % EVERY:
            continue
        if group and labels.spaces[i] is not labels.spaces[group[0]]:
            yield labels.spaces[group[0]], group
            group = []
        group.append(i)
    if group:
        yield labels.spaces[group[0]], group


def _powered(found: Marginals) -> Array:
    """log q_a (powers, n, k) of (1)."""
    logs = POWERS[:, None, None] * np.log(np.maximum(found.P, LEAST))
    if found.exclusive:
        sums: Array = np.exp(logs).sum(axis=2, keepdims=True)
        return logs - np.log(sums)
    others = POWERS[:, None, None] * np.log(np.maximum(1 - found.P, LEAST))
    return logs - np.logaddexp(logs, others)


def _scores(log_q: Array, truth: Any, exclusive: bool) -> Array:
    """log q_a of what holds (powers, n); the mean over names that hold or not."""
    if exclusive:
        scores: Array = np.where(truth, log_q, 0.0).sum(axis=2)
    else:
        scores = np.where(truth, log_q, np.log(np.maximum(-np.expm1(log_q), LEAST))).mean(axis=2)
    return scores

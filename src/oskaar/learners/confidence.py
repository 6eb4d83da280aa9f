r"""Probabilities, scores, the best few answers, and intervals of learners.

Probabilities come from the estimate (`losses.certainty`), without KAAR's factor lam / s where one solver makes it,
and are calibrated by past ones (`learners.calibration`).

An interval for numbers comes from the residuals y - z of the last rounds, as they were when the answers were given.
If n residuals and the next one come in any order with equal probability, the next lies between the j-th smallest and
the j-th largest of the n with probability at least 1 - 2 j / (n + 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array, batches, fit_columns
from oskaar.guards import exclusive
from oskaar.inputs import Block, Inputs
from oskaar.learners.calibration import Calibration
from oskaar.learners.estimators import Estimator, Pending
from oskaar.learners.labels import Labels
from oskaar.losses import Loss, Space
from oskaar.saved import require, saved
from oskaar.solvers.cholesky import PANEL

WINDOW = 500
"""Residuals that are kept."""


@saved("learner/residuals")
class Residuals:
    """The residuals (n, dim) of the last rounds, the latest last. A value; `after` makes the next one.

    >>> residuals = Residuals().after(np.arange(19.0)[:, None])
    >>> [end.tolist() for end in residuals.ends(0.9)]
    [[0.0], [18.0]]
    >>> residuals.ends(0.95) is None
    True
    """

    def __init__(self, values: Array | None = None) -> None:
        self.values = values

    def after(self, more: Array) -> Residuals:
        """With those of more rounds."""
        return Residuals(more[-WINDOW:] if self.values is None else np.concatenate([self.values, more])[-WINDOW:])

    def ends(self, coverage: float) -> tuple[Array, Array] | None:
        """Between these the next residual lies with the probability asked for; None where there are too few."""
        n = 0 if self.values is None else len(self.values)
        j = math.floor((1 - coverage) * (n + 1) / 2 + 1e-9)
        if self.values is None or j < 1:
            return None
        ordered = np.sort(self.values, axis=0)
        return ordered[j - 1], ordered[n - j]

    def check_saved(self) -> None:
        """Numbers, if any."""
        kept = self.values is None or (isinstance(self.values, np.ndarray) and self.values.ndim == 2)
        require(kept, "residuals must be an array of rows")


class Confidence:
    """Methods of a learner for probabilities, scores and intervals."""

    loss: Loss
    rounds: int
    _inputs: Inputs
    _space: Space
    _estimator: Estimator
    _residuals: Residuals
    _calibration = Calibration()

    @property
    def calibration(self) -> Calibration:
        """The calibration from past rounds."""
        return self._calibration

    @exclusive
    def predict_proba_one(self, x: Any) -> Any:
        """Probabilities for x by name: of classes and levels, which add up to 1, or of each tag.

        For sequences and rounds of parts a list, with a dict for each place. {} before a name is known.

        >>> from oskaar import OSKAAR, losses
        >>> learner = OSKAAR(losses.F1(), lam=0.1)
        >>> learner.partial_fit([[0.0], [1.0]] * 20, [["a"], ["a", "b"]] * 20)
        OSKAAR(F1(), kernel=None, lam=0.1)
        >>> {tag: round(p, 2) for tag, p in learner.predict_proba_one([1.0]).items()}
        {'a': 0.98, 'b': 0.98}
        """
        block = self._inputs.parse(x)
        return self._probabilities(self._unhedged(block), [block.n])[0]

    @exclusive
    def predict_proba(self, X: Any) -> Any:
        """`predict_proba_one` for each row of X."""
        block, ends = self._inputs.parse_each(X)
        found: list[Any] = []
        for (first, last), inside in batches(ends, PANEL):
            part = block.part(first, last)
            ridge = getattr(self._estimator, "ridge_each", None) if len(inside) == part.n else None
            G = ridge(part, self._space) if ridge else self._estimator.each(part, inside, self._space)
            found += self._probabilities(G, inside)
        return found

    @exclusive
    def scores_one(self, x: Any) -> dict[Any, float]:
        """The score of each item of a ranking for x, larger is better."""
        found = self.loss.scores(self._widened(self._estimator.forecast(self._inputs.parse(x), self._space).G))
        if found is None:
            raise ValueError(f"{self.loss!r} has no scores of items: Kendall, Spearman and NDCG have.")
        names, S = found
        return dict(zip(names, S[0].tolist(), strict=True))

    @exclusive
    def top_one(self, x: Any, k: int = 3) -> list[tuple[Any, float]]:
        """The k best names for x with their probabilities, or their scores for rankings, best first.

        >>> from oskaar import OSKAAR, losses
        >>> learner = OSKAAR(losses.ZeroOne(), lam=0.1).partial_fit([[0.0], [1.0], [2.0]] * 9, list("abc") * 9)
        >>> [name for name, _ in learner.top_one([0.9], 2)]
        ['b', 'a']
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError(f"k must be a whole number >= 1, got {k!r}.")
        ranked = self.loss.scores(np.zeros((1, self.loss.p))) is not None if self.loss.p else False
        found = self.scores_one(x) if ranked else self.predict_proba_one(x)
        if not isinstance(found, dict):
            raise ValueError(f"{self.loss!r} has an answer for each place: predict_proba_one says how sure each is.")
        return sorted(found.items(), key=lambda item: -item[1])[:k]

    @exclusive
    def interval_one(self, x: Any, coverage: float = 0.9) -> Any:
        """(low, high): the label of x lies between them with about this probability.

        For numbers: the answer and the residuals of the last 500 rounds; None where they are too few (19 for 0.9).
        For levels: the quantiles of their probabilities.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1, got {coverage!r}.")
        block = self._inputs.parse(x)
        z = self._decode(self._estimator.forecast(block, self._space).G)
        if self.loss.residual(z, z) is not None:
            ends = self._residuals.ends(coverage)
            return None if ends is None else (z + ends[0], z + ends[1])
        if not hasattr(self.loss, "levels"):
            raise ValueError(f"{self.loss!r} has no intervals: losses on numbers and levels have.")
        shares = self._probabilities(self._unhedged(block), [1])[0]
        if not shares:
            return None
        below, names = np.cumsum(list(shares.values())), list(shares)
        tail = (1 - coverage) / 2
        last = len(names) - 1
        low, high = (int(np.searchsorted(below, q)) for q in (tail, 1 - tail - 1e-12))
        return names[min(low, last)], names[min(high, last)]

    # ---------------------------------------------------------------- inside

    def _decode(self, G: Array) -> Any:
        raise NotImplementedError

    def _remembered(self, block: Block) -> tuple[Pending, Any] | None:
        raise NotImplementedError

    def _confidence_after(self, answers: Sequence[Any], G: Any, labels: Labels) -> dict[str, Any]:
        """What rounds change here: the residuals, for losses on numbers, or the calibration of probabilities."""
        if not answers:
            return {}
        if self.loss.residual(answers[0], labels.ys[0]) is None:
            return {"_calibration": self._calibration.after_rounds(G, labels, self.rounds)}
        found: list[Any] = [self.loss.residual(z, y) for z, y in zip(answers, labels.ys, strict=True)]
        return {"_residuals": self._residuals.after(np.stack(found))}

    def _unhedged(self, block: Block) -> Array:
        """The estimate for one round, without KAAR's factor."""
        remembered = self._remembered(block)  # of predict_one
        return unhedged(remembered[0] if remembered else self._estimator.forecast(block, self._space), 1)

    def _widened(self, G: Array) -> Array:
        return fit_columns(G, self._space.p)

    def _probabilities(self, G: Array, ends: Any) -> list[Any]:
        """The probabilities of the answers of each round."""
        return named_probabilities(self.loss, self._space, self._widened(G), ends, self.rounds, self._calibration)


def unhedged(pending: Any, rounds: int) -> Array:
    """Estimates of so many rounds, without KAAR's factor where one solver makes it and each round is one row."""
    G: Array = pending.G
    return getattr(pending, "ridge", G) if len(G) == rounds else G


def named_probabilities(
    loss: Loss, space: Space, G: Array, ends: Any, rounds: Any, calibration: Calibration
) -> list[Any]:
    """Of rounds with estimates G that end at rows `ends`: a dict, or a list of dicts, for each.

    rounds: how many there were before them, or before each.
    """
    found = space.probabilities(G)
    if found is None:
        raise ValueError(
            f"{loss!r} has no probabilities: losses on classes, levels, tags and sequences have; scores_one "
            "is for rankings, interval_one for numbers."
        )
    if np.ndim(rounds):
        rounds = np.repeat(rounds, np.diff(ends, prepend=0) * found.places)
    rows = calibration.applied(found, rounds).by_name()
    if found.places > 1 or loss.parts:
        stops = [int(end) * found.places for end in ends]
        return [rows[lo:hi] for lo, hi in zip([0, *stops], stops, strict=False)]
    return rows

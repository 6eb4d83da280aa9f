r"""Selection among groups of experts by the task's own loss.

The weights of a mixture come from the squared loss of estimates; what is paid is Delta of the answers. Mostly they
agree. Where they do not, a group of experts on its own answers better than the whole mixture. So the answers of
some groups are judged too. With d_s = Delta(whole) - Delta(group) in round s, and m the largest Delta of any so far,

    z = sum_s d_s / sqrt(m^2 + sum_s d_s^2),      share ~ exp(-3 + z |z|) for a group,  1 for the whole            (1)

A group has hardly any share until its difference is more than luck, and then nearly all. m never falls: after one
loss m that is far above all others, a group that is better by d a round has half of the share after about 1.7 m / d
rounds, and until then the answer is nearly that of the whole (docs/defaults.md says what to do). Estimates are judged
to about 1e-8 (`_rounded`): rounding errors must not choose among answers that are tied.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array, Rows, fit_columns, weighted_mean, weighted_means
from oskaar.inputs import Block, Inputs
from oskaar.learners.corrected import Corrected, PendingCorrected
from oskaar.learners.labels import Labels
from oskaar.learners.mixture import Carried, Mixture, PendingMixture
from oskaar.learners.outer import Outer
from oskaar.losses import Loss, Space
from oskaar.saved import saved

PRIOR = -3.0
"""The logarithm of the prior share of a group."""

MARKS = 2.0**25 * np.pi
"""Estimates are judged to 1 / MARKS, about 1e-8; irrational, so that no fraction lies half way between two marks."""


@saved("mixture/selection")
class Selection:
    """The shares of the whole, which comes first, and of groups. A value that never changes; `after` makes the next.

    >>> selection = Selection(2)
    >>> for _ in range(30):
    ...     selection = selection.after(np.array([[1.0, 0.0]]))[1]
    >>> selection.shares().round(2)
    array([0., 1.])
    """

    def __init__(self, candidates: int) -> None:
        self.sums, self.squares, self.largest = np.zeros(candidates), np.zeros(candidates), 0.0

    def shares(self) -> Array:
        """The shares in the next round."""
        shares: Array = _shares(self.sums[None], self.squares[None], np.array([self.largest]))[0]
        return shares

    def updated(self, losses: Array) -> Selection:
        """After a round with these losses (candidates,)."""
        d, other = losses[0] - losses, Selection(len(losses))
        other.sums, other.squares = self.sums + d, self.squares + d**2
        other.largest = max(self.largest, float(losses.max()))
        return other

    def after(self, losses: Array) -> tuple[Array, Selection]:
        """The shares in each of some rounds whose losses were (rounds, candidates), and the selection after them."""
        d = losses[:, :1] - losses
        sums = np.cumsum(np.concatenate([self.sums[None], d]), axis=0)
        squares = np.cumsum(np.concatenate([self.squares[None], d**2]), axis=0)
        largest = np.maximum.accumulate(np.append(self.largest, losses.max(axis=1)))
        other = Selection(len(self.sums))
        other.sums, other.squares, other.largest = sums[-1], squares[-1], float(largest[-1])
        return _shares(sums[:-1], squares[:-1], largest[:-1]), other


@dataclass
class PendingSelection:
    """Rounds to come: those of the mixture, candidates (C, rows, p), the estimate, and the selection after them."""

    inner: Any
    candidates: Array
    G: Array
    selection: Selection


@saved("estimator/selected-mixture")
class SelectedMixture(Outer):
    """An estimator: a mixture and some groups of its experts, with shares by what their own answers cost.

    inner: the mixture, or one that is corrected (`learners.corrected`): then the whole comes first as corrected, and
        stands without the last correction too.
    groups: places in each group; 0 is all restarts together, 1, 2, ... are the experts that are always there.
    scored: of the whole (0) and the groups (1, 2, ...), those that also stand as what scores can say of them
        (`Loss.scored`).
    For rounds of one row.
    """

    def __init__(self, inner: Mixture | Corrected, groups: list[list[int]], loss: Loss, scored: list[int]) -> None:
        self.inner, self.groups, self.loss, self.scored = inner, groups, loss, scored
        self.selection = Selection(self._count)

    @property
    def _count(self) -> int:
        """How many candidates there are."""
        return 1 + (self.inner is not self.mixture) + len(self.groups) + len(self.scored)

    def forecast(self, block: Block, space: Space) -> PendingSelection:
        return self._selected(self.inner.forecast(block, space))

    def forecast_each(self, block: Block, space: Space) -> PendingSelection:
        """Rounds all from the present state. They cannot be observed."""
        return self._selected(self.inner.forecast_each(block, space))

    def observe(self, pending: PendingSelection, labels: Labels) -> PendingSelection:
        """Judge the candidates of a round."""
        self.inner.observe(pending.inner, labels)
        pending.selection = self.selection.updated(self._losses(pending.candidates, labels)[0])
        return pending

    def forecast_chunk(self, block: Block, labels: Labels) -> PendingSelection:
        inner = self.inner.forecast_chunk(block, labels)
        candidates = self._candidates(inner)
        shares, after = self.selection.after(self._losses(candidates, labels))
        return PendingSelection(inner, candidates, weighted_mean(shares, candidates), after)

    def commit(self, pending: PendingSelection) -> None:
        """Learn rounds that were observed."""
        self.inner.commit(pending.inner)
        self.selection = pending.selection

    def carried(self, pending: PendingSelection) -> Carried:
        """The accounts after rounds that were observed."""
        known: Carried = self.inner.carried(pending.inner)
        return replace(known, selection=pending.selection)

    def fitted(self, mixture: Mixture, rows: Rows, accounts: Carried) -> SelectedMixture:
        """As the mixture inside; the selection stays where it is among as many."""
        new, before = copy.copy(self), accounts.selection
        new.inner = self.inner.fitted(mixture, rows, accounts)
        new.selection = before if before is not None and len(before.sums) == self._count else Selection(self._count)
        return new

    def check_state(self, inputs: Inputs, space: Space, rounds: int) -> None:
        """Refuse a selection from a file that is not among these groups."""
        state.require_kind(self.inner, (Mixture, Corrected), "the mixture")
        self.inner.check_state(inputs, space, rounds)
        state.require_kind(self.selection, Selection, "the selection")
        count = len(self.selection.sums) if np.isfinite(self.selection.largest) else 0
        state.require(count == self._count, "a share for each group")

    def _selected(self, inner: Any) -> PendingSelection:
        """Rounds of the mixture that may come next."""
        candidates = self._candidates(inner)
        return PendingSelection(
            inner, candidates, weighted_mean(self.selection.shares()[None], candidates), self.selection
        )

    def _candidates(self, pending: PendingMixture | PendingCorrected) -> Array:
        """Estimates (C, rows, p): of the whole, without its last correction, of each group, of some by scores."""
        members, whole = pending.mixture.members, [pending.G]
        if isinstance(pending, PendingCorrected):
            whole.append(pending.inner.G)
        p = max(self.loss.p if self.scored else 0, members.shape[2], *(G.shape[1] for G in whole))
        groups = weighted_means(_softmax(np.array(pending.mixture.logs) + self._others), fit_columns(members, p))
        found = np.concatenate([*(fit_columns(G, p)[None] for G in whole), groups])
        if not self.scored:
            return found
        places = [0, *range(len(whole), len(found))]
        scores: list[Any] = [self.loss.scored(found[places[i]]) for i in self.scored]
        return np.concatenate([found, scores])

    @cached_property
    def _others(self) -> Array:
        """-inf for those that are not in a group, else 0: (groups, 1, members). Not part of the state."""
        others = np.full((len(self.groups), 1, 1 + len(self.mixture.names)), -np.inf)
        for i, group in enumerate(self.groups):
            others[i, 0, group] = 0.0
        return others

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_others"}

    def _losses(self, candidates: Array, labels: Labels) -> Array:
        """Delta (rounds, C) of the answer of each candidate."""
        return labels.losses_of(_rounded(candidates))


def _rounded(G: Array) -> Array:
    """Estimates without their last digits: answers that are tied are then the same, however G was computed.

    >>> _rounded(np.array([0.5, 0.5 + 1e-16, -1e-16])).round(6)
    array([0.5, 0.5, 0. ])
    """
    marks: Array = np.round(G * MARKS) / MARKS + 0.0
    return marks


def _shares(sums: Array, squares: Array, largest: Array) -> Array:
    scale = np.sqrt(largest[:, None] ** 2 + squares)
    z = np.divide(sums, scale, out=np.zeros_like(sums), where=scale > 0)
    logs = PRIOR + z * np.abs(z)  # (1)
    logs[:, 0] = 0.0
    return _softmax(logs)


def _softmax(logs: Array) -> Array:
    """Weights that add up to 1 in each row."""
    weights: Array = np.exp(logs - np.maximum.reduce(logs, axis=-1, keepdims=True))
    weights /= np.add.reduce(weights, axis=-1, keepdims=True)
    return weights

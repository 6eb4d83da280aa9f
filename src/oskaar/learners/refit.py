r"""A mixture on features that is made of many rows at once, and not of one after the other.

`learners.relearning` learns all rounds again, and its weights are what they would have been. Where a mixture goes
over from kernels to features, or to newer ones, its experts stay the same but for units and for what a dictionary
leaves out. So they alone learn the rows, and weights, shares and errors are carried over from the mixture before it
when it takes over. Of the rows there is needed

    R^T R = lam I + Z^T Z,   Theta = R^-T Z^T Phi       of each regression, Z the features of all rows           (1)
    M^-1 = V^T diag(q) V,    M = K + lam I              of the restarts, on the last rows                        (2)

Dictionaries are shown rows evenly spaced over all of them, then the next to these, and so on; all rows are projected
on what they hold at last. This is done in pieces, some in each round; how many changes no number. A `Refit` is a
value: `advanced` makes the next.
Equivalent to tests/naive.py::dictionary_grams, and mixture_with_experts with the record of another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dtrtrs

from oskaar import state
from oskaar.arrays import Array, Rows
from oskaar.features import FeatureMap
from oskaar.inputs import Block, Inputs
from oskaar.kernels import gram
from oskaar.learners.experts import PastLabels, Ridges, followed
from oskaar.learners.mixture import Carried, Mixture
from oskaar.learners.restarts import KernelRestarts
from oskaar.learners.since_change import SinceChange
from oskaar.rows import count, joined, pick
from oskaar.saved import saved

TAKEN, SUMMED = 32, 64
"""Rows shown to a dictionary, and added up, in a piece; more of them are added up where features are few."""

SHOW, HEAVY = 2, 3
"""Pieces count as so many: rows shown to a dictionary, and factorisations; others as 1."""


@saved("refit/regressions")
@dataclass(frozen=True)
class RefitRegressions:
    """Regressions with one feature map: its dictionary, then the sums over all rows, then each solver.

    shown: pieces shown to the dictionary; summed: rows added up.
    """

    ridges: Ridges
    rows: Rows
    targets: Array
    features: FeatureMap
    ZZ: Array
    ZT: Array
    shown: int = 0
    summed: int = 0
    solvers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, ridges: Ridges, rows: Rows, Phi: Array) -> RefitRegressions:
        """Of regressions that have seen nothing."""
        assert ridges.features is not None
        targets = ridges.targets(Phi)
        return cls(ridges, rows, targets, ridges.features, np.zeros((0, 0)), np.zeros((0, targets.shape[1])))

    @property
    def left(self) -> int:
        """What is left, at most, as a number of pieces."""
        sums = -(-(count(self.rows) - self.summed) // self._together)
        return SHOW * self._to_show + sums + HEAVY * (len(self.ridges.solvers) - len(self.solvers))

    @property
    def weight(self) -> int:
        """As how many pieces the next one counts."""
        return SHOW if self._to_show else 1 if self.summed < count(self.rows) else HEAVY

    @property
    def _to_show(self) -> int:
        return 0 if self.features.full else -(-count(self.rows) // TAKEN) - self.shown

    @property
    def _together(self) -> int:
        """Rows that are added up in a piece."""
        return SUMMED * max(1, 256 // self.features.dim)

    def advanced(self) -> RefitRegressions:
        """With the next piece."""
        if self._to_show:
            spaced = pick(self.rows, slice(self.shown, None, -(-count(self.rows) // TAKEN)))
            return replace(self, features=self.features.seen(spaced)[1], shown=self.shown + 1)
        if self.summed < count(self.rows):
            return self._with_sums()
        return replace(self, solvers=(*self.solvers, self._solved(self.ridges.solvers[len(self.solvers)])))

    def learned(self) -> Ridges:
        """The regressions, when all pieces are done."""
        return self.ridges.fitted(self.features, list(self.solvers), self.targets)

    def _with_sums(self) -> RefitRegressions:
        """With the sums over the next rows, of Z^T Z the upper triangle."""
        here = slice(self.summed, min(self.summed + self._together, count(self.rows)))
        before = followed(self.ridges.last, self.targets[: here.stop - 1])
        Z = self.ridges.with_lags(self.features(pick(self.rows, here)), before)
        ZZ, ZT = (dsyrk(1.0, Z.T, 1.0, self.ZZ) if here.start else dsyrk(1.0, Z.T)), Z.T @ self.targets[here]
        return replace(self, ZZ=ZZ, ZT=self.ZT + ZT if here.start else ZT, summed=here.stop)

    def _solved(self, solver: Any) -> Any:
        """A solver with the sums (1)."""
        A = self.ZZ.copy(order="F")
        A.reshape(-1, order="F")[:: len(A) + 1] += solver.lam
        R, failed = dpotrf(A, clean=1, overwrite_a=1)
        if failed:
            raise ValueError("features must be finite, got inf or nan.")
        return solver.with_sums(np.concatenate([R, dtrtrs(R, self.ZT, trans=1)[0]], axis=1), count(self.rows))


@saved("refit/restarts")
@dataclass(frozen=True)
class RefitRestarts:
    """Restarts on the last rows: the Gram matrix of their kernel, then each solver, by its factor L."""

    restarts: KernelRestarts
    rows: Rows
    Phi: Array
    rounds: int
    K: Array | None = None
    L: Array | None = None
    solvers: tuple[Any, ...] = ()

    @property
    def left(self) -> int:
        """What is left, as a number of pieces."""
        halves = 2 * (len(self.restarts.solvers) - len(self.solvers)) - (self.L is not None)
        return (self.K is None) + HEAVY * halves

    @property
    def weight(self) -> int:
        """As how many pieces the next one counts."""
        return 1 if self.K is None else HEAVY

    def advanced(self) -> RefitRestarts:
        """With the next piece."""
        if self.K is None:
            return replace(self, K=gram(self.restarts.inputs.kernels[0], self.rows, self.rows))
        solver = self.restarts.solvers[len(self.solvers)]
        if self.L is None:
            return replace(self, L=solver.reversed_factor(self.K))
        return replace(self, L=None, solvers=(*self.solvers, solver.fitted(self.L, self.Phi, self.rounds)))

    def learned(self) -> KernelRestarts:
        """The restarts, when all pieces are done."""
        return self.restarts.fitted(list(self.solvers))


@saved("refit/labels")
@dataclass(frozen=True)
class RefitLabels:
    """The last label and the mean, or regressions that wait for a change: nothing to be done in pieces."""

    expert: PastLabels | SinceChange
    Phi: Array
    left = 0

    def learned(self) -> PastLabels | SinceChange:
        """After the labels."""
        return self.expert.fitted(self.Phi)


@saved("learner/refit")
@dataclass(frozen=True)
class Refit:
    """Inputs and an estimator that have seen nothing, and how far what they are to know of some rounds is.

    parts: of the restarts, and of each expert; none when all is done.
    """

    inputs: Inputs
    estimator: Any
    rows: Rows
    parts: tuple[Any, ...]

    @classmethod
    def of(cls, inputs: Inputs, estimator: Any, block: Block, Phi: Array) -> Refit:
        """For rounds of one row each, read by these inputs, with labels Phi."""
        mixture, n = estimator.mixture, block.n
        most = mixture.restarts.solvers[0].most_rows(Phi.shape[1])
        first = max(0, n - most)
        inputs.append(inputs.part(block, first, n))
        last = RefitRestarts(mixture.restarts, pick(block.rows, slice(first, n)), Phi[first:], n)
        experts = [
            RefitRegressions.of(e, block.rows, Phi) if isinstance(e, Ridges) else RefitLabels(e, Phi)
            for e in mixture.experts
        ]
        return cls(inputs, estimator, block.rows, (last, *experts))

    @property
    def left(self) -> int:
        """What is left, at most, as a number of pieces."""
        return sum(part.left for part in self.parts)

    @property
    def growth(self) -> int:
        """About the memory that the next pieces take: a few matrices of the largest regression."""
        return 64 * max(part.features.dim for part in self.parts if isinstance(part, RefitRegressions)) ** 2

    def advanced(self, share: float) -> Refit:
        """With so much of what is left done: at least a piece, and then those that this has room for."""
        parts, room, begun = list(self.parts), math.ceil(share * self.left), False
        for i, part in enumerate(parts):
            while part.left and (part.weight <= room or not begun):
                part, room, begun = part.advanced(), room - part.weight, True
            parts[i] = part
            if part.left:
                break
        return replace(self, parts=tuple(parts))

    def learned(self) -> tuple[Refit, Mixture]:
        """When all pieces are done: the mixture, which has no accounts yet, and what is needed to go on with it."""
        restarts, *experts = (part.learned() for part in self.parts)
        mixture: Mixture = self.estimator.mixture.with_experts(restarts, experts, count(self.rows))
        return replace(self, parts=()), mixture

    def finished(self, mixture: Mixture, later: Rows, accounts: Carried) -> Any:
        """The estimator, when the experts of the mixture know later rows too, with the accounts of the one before."""
        return self.estimator.fitted(mixture, joined(self.rows, later), accounts)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        state.require_kind(self.inputs, Inputs, "the inputs")
        kinds = RefitRestarts, RefitRegressions, RefitLabels
        state.require(all(isinstance(part, kinds) for part in self.parts), "parts of a refit")

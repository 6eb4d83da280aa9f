r"""A mixture that is made of many rows at once, and not of one after the other.

`learners.relearning` learns all rounds again, and its weights are what they would have been. Where units are taken
from many rows, or a mixture goes over from kernels to features, its experts stay the same but for units and for what
a dictionary leaves out. So they alone learn the rows, and weights, shares and errors are carried over from the
mixture before it when it takes over. Of the rows there is needed

    R^T R = lam I + Z^T Z,   Theta = R^-T Z^T Phi       of each regression, Z the features of all rows           (1)
    L L^T = lam I + K,       C = L^-1 Phi               of one with a kernel, K the Gram matrix of all rows      (2)
    M^-1 = V^T diag(q) V,    M = lam I + K              of the restarts, on their rows                           (3)

Dictionaries are shown rows evenly spaced over all of them, then the next to these, and so on; all rows are projected
on what they hold at last, and so are the rows that come meanwhile, until the refit is closed. Then the factors are
made. This is done in pieces, some in each round; how many changes no number. A `Refit` is a value: `advanced` and
`with_rows` make the next.
Equivalent to tests/naive.py::dictionary_grams, and mixture_with_experts with the record of another.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dtrtri

from oskaar import state
from oskaar.arrays import Array, Rows, fit_columns
from oskaar.features import FeatureMap
from oskaar.inputs import Block, Inputs
from oskaar.kernels import gram
from oskaar.learners.experts import PastLabels, Ridges, followed
from oskaar.learners.mixture import Carried, Mixture
from oskaar.learners.restarts import KernelRestarts
from oskaar.learners.since_change import SinceChange
from oskaar.rows import count, joined, pick
from oskaar.saved import saved
from oskaar.solvers.panel_sums import PanelFactor, PanelSums, costs

TAKEN, SUMMED = 16, 64
"""Rows shown to a dictionary, and added up, in a piece; with other numbers of features than 512 fewer or more."""

SUM, GRAM, SOLVE = 4, 8, 6
"""What pieces cost, about, in units of 2^23 multiplications: rows added up; kernel values of all rows, factors."""

SHARED = np.ndarray, FeatureMap, PanelSums, PanelFactor
"""What a refit has in common with the one before it."""


@saved("refit/regressions")
@dataclass(frozen=True)
class RefitRegressions:
    """Regressions with one feature map: its dictionary, then the sums over all rows, then each solver.

    known: rows that had come when it was begun; shown: pieces of them shown to the dictionary; summed: rows added up;
    whole: whether all rows are there.
    """

    ridges: Ridges
    rows: Rows
    targets: Array
    features: FeatureMap
    known: int
    sums: PanelSums = field(default_factory=PanelSums)
    shown: int = 0
    summed: int = 0
    factor: PanelFactor | None = None
    solvers: tuple[Any, ...] = ()
    whole: bool = False

    @classmethod
    def of(cls, ridges: Ridges, rows: Rows, Phi: Array) -> RefitRegressions:
        """Of regressions that have seen nothing."""
        assert ridges.features is not None
        return cls(ridges, rows, ridges.targets(Phi), ridges.features, count(rows))

    @property
    def left(self) -> int:
        """What is left, about, as a number of pieces: a dictionary takes up most of what it is shown."""
        sums = -(-(count(self.rows) - self.summed) // self._together)
        room = 0 if self.features.full else self.features.dim - self._size
        shown, factors = min(self._to_show, 1 + 5 * room // (4 * TAKEN)), sum(self._panels) if self.whole else 0
        return _show(self.features.dim - room // 2) * shown + self._sum * sums + factors

    @property
    def weight(self) -> int:
        """As how many pieces the next one counts."""
        if self._to_show:
            return _show(self._size)
        return self._sum if self.summed < count(self.rows) else self._panels[0]

    @property
    def growth(self) -> int:
        """About the memory that the next pieces take: a few matrices of features."""
        return 64 * self.features.dim**2

    @property
    def _size(self) -> int:
        return int(getattr(self.features, "size", 0))

    @property
    def _to_show(self) -> int:
        return 0 if self.features.full or self.summed else -(-self.known // TAKEN) - self.shown

    @property
    def _grows(self) -> bool:
        """Whether rows that are added up are shown to the dictionary too: those that come late, if it has room."""
        return self.summed >= self.known and not self.features.full

    @property
    def _together(self) -> int:
        """Rows that are added up in a piece."""
        most = max(TAKEN, min(SUMMED * 512**2 // max(1, self.features.dim) ** 2, 2 * SUMMED))
        return TAKEN if self._grows else most

    @property
    def _sum(self) -> int:
        return SUM + _show(self._size) if self._grows else SUM

    @property
    def _panels(self) -> list[int]:
        """As how many pieces each panel counts that is left of the factors, the next one first."""
        D, done = len(self.sums.targets), 0 if self.factor is None else self.factor.done
        each, left = costs(D) or [1], len(self.ridges.solvers) - len(self.solvers)
        return (costs(D, done) or each) + each * (left - 1) if left else []

    def advanced(self) -> RefitRegressions:
        """With the next piece."""
        if self._to_show:
            spaced = pick(self.rows, slice(self.shown, self.known, -(-self.known // TAKEN)))
            return replace(self, features=self.features.seen(spaced)[1], shown=self.shown + 1)
        if self.summed < count(self.rows):
            return self._with_sums()
        solver = self.ridges.solvers[len(self.solvers)]
        factor = self.factor or PanelFactor.of(self.sums)
        if factor.left:
            factor = factor.advanced(self.sums, solver.lam)
        if factor.left:
            return replace(self, factor=factor)
        return replace(self, factor=None, solvers=(*self.solvers, solver.with_sums(factor.S, count(self.rows))))

    def with_rows(self, rows: Rows, Phi: Array, whole: bool) -> RefitRegressions:
        """With those that have come meanwhile, which are learned one after the other."""
        return replace(self, rows=rows, targets=self.ridges.targets(Phi), whole=whole)

    def learned(self) -> Ridges:
        """The regressions, when all pieces are done."""
        return self.ridges.fitted(self.features, list(self.solvers), self.targets)

    def _with_sums(self) -> RefitRegressions:
        """With the sums over the next rows."""
        late = self.summed >= self.known
        here = slice(self.summed, min(self.summed + self._together, count(self.rows) if late else self.known))
        rows = pick(self.rows, here)
        Z, features = self.features.seen(rows) if late else (self.features(rows), self.features)
        Z = self.ridges.with_lags(Z, followed(self.ridges.last, self.targets[: here.stop - 1]))
        return replace(self, sums=self.sums.with_rows(Z, self.targets[here]), features=features, summed=here.stop)


class OfKernelValues:
    """What is made of a Gram matrix K, the first piece."""

    rows: Rows
    K: Array | None

    @property
    def weight(self) -> int:
        """As how many pieces the next one counts."""
        return GRAM if self.K is None else SOLVE

    @property
    def growth(self) -> int:
        """About the memory that the next pieces take: a few matrices of the rows."""
        return 32 * count(self.rows) ** 2


@saved("refit/kernel-regressions")
@dataclass(frozen=True)
class RefitKernelRegressions(OfKernelValues):
    """Regressions with one kernel: once all rows are there, its Gram matrix, then each solver."""

    ridges: Ridges
    rows: Rows
    targets: Array
    K: Array | None = None
    solvers: tuple[Any, ...] = ()
    whole: bool = False

    @property
    def left(self) -> int:
        """What is left, as a number of pieces."""
        solvers = len(self.ridges.solvers) - len(self.solvers)
        return GRAM * (self.K is None) + SOLVE * solvers if self.whole else 0

    def advanced(self) -> RefitKernelRegressions:
        """With the next piece."""
        if self.K is None:
            kernel = self.ridges.inputs.kernels[self.ridges.kernel]
            return replace(self, K=gram(kernel, self.rows, self.rows))
        solver = self.ridges.solvers[len(self.solvers)]
        return replace(self, solvers=(*self.solvers, solver.fitted(self.K, self.targets)))

    def with_rows(self, rows: Rows, Phi: Array, whole: bool) -> RefitKernelRegressions:
        """With those that have come meanwhile."""
        return replace(self, rows=rows, targets=self.ridges.targets(Phi), whole=whole)

    def learned(self) -> Ridges:
        """The regressions, when all pieces are done."""
        return self.ridges.fitted(None, list(self.solvers), self.targets)


@saved("refit/restarts")
@dataclass(frozen=True)
class RefitRestarts(OfKernelValues):
    """Restarts on their rows, the last: the Gram matrix of their kernel, then each solver, by its factor L."""

    restarts: KernelRestarts
    rows: Rows
    Phi: Array
    rounds: int
    K: Array | None = None
    L: Array | None = None
    inverse: Array | None = None
    solvers: tuple[Any, ...] = ()

    @property
    def left(self) -> int:
        """What is left, as a number of pieces."""
        solvers = len(self.restarts.solvers) - len(self.solvers)
        done = (self.L is not None) + (self.inverse is not None)
        return GRAM * (self.K is None) + SOLVE * (3 * solvers - done)

    def advanced(self) -> RefitRestarts:
        """With the next piece."""
        if self.K is None:
            return replace(self, K=gram(self.restarts.inputs.kernels[0], self.rows, self.rows))
        solver = self.restarts.solvers[len(self.solvers)]
        if self.L is None:
            return replace(self, L=solver.reversed_factor(self.K))
        if self.inverse is None:
            return replace(self, inverse=dtrtri(self.L, lower=1)[0])
        solved = solver.fitted(self.inverse, self.Phi, self.rounds)
        return replace(self, L=None, inverse=None, solvers=(*self.solvers, solved))

    def learned(self) -> KernelRestarts:
        """The restarts, when all pieces are done."""
        return self.restarts.fitted(list(self.solvers))


@saved("refit/labels")
@dataclass(frozen=True)
class RefitLabels:
    """The last label and the mean, or regressions that wait for a change: nothing to be done in pieces."""

    expert: PastLabels | SinceChange
    Phi: Array
    left = growth = 0

    def with_rows(self, rows: Rows, Phi: Array, whole: bool) -> RefitLabels:
        """With the labels that have come meanwhile."""
        return replace(self, Phi=Phi)

    def learned(self) -> PastLabels | SinceChange:
        """After the labels."""
        return self.expert.fitted(self.Phi)


@saved("learner/refit")
@dataclass(frozen=True)
class Refit:
    """Inputs and an estimator that have seen nothing, and how far what they are to know of some rounds is.

    Phi: their labels; parts: of each expert; of the restarts too, first, once all rows are there;
        none when all is done. whole: whether all rows are there.
    """

    inputs: Inputs
    estimator: Any
    rows: Rows
    Phi: Array
    parts: tuple[Any, ...]
    whole: bool = False

    @classmethod
    def of(cls, inputs: Inputs, estimator: Any, block: Block, Phi: Array) -> Refit:
        """For rounds of one row each, read by these inputs, with labels Phi."""
        inputs.append(inputs.part(block, block.n - _kept(estimator, block.n, Phi), block.n))
        return cls(inputs, estimator, block.rows, Phi, tuple(_part(e, block, Phi) for e in estimator.mixture.experts))

    def with_rows(self, block: Block, Phi: Array, whole: bool) -> Refit:
        """With the rows and labels that have come meanwhile; whole: they are the last."""
        values = [value for part in (self, *self.parts) for value in vars(part).values()]
        same = {id(value): value for value in values if isinstance(value, SHARED)}
        new = copy.deepcopy(self, {id(self.rows): self.rows, **same})  # with inputs of its own
        rows, Phi = joined(self.rows, block.rows), np.concatenate([fit_columns(self.Phi, Phi.shape[1]), Phi])
        n, restarts = count(rows), new.estimator.mixture.restarts
        new.inputs.append(block)
        new.inputs.forget(new.inputs.n - _kept(new.estimator, n, Phi))
        parts = tuple(part.with_rows(rows, Phi, whole) for part in new.parts)
        if whole:
            last = slice(n - min(n, restarts.most_rows(Phi.shape[1]) or n), n)
            parts = RefitRestarts(restarts, pick(rows, last), Phi[last], n), *parts
        return replace(new, rows=rows, Phi=Phi, parts=parts, whole=whole)

    @property
    def left(self) -> int:
        """What is left, at most, as a number of pieces."""
        return sum(part.left for part in self.parts)

    @property
    def growth(self) -> int:
        """About the memory that the next pieces take: those of the largest part."""
        return int(max(part.growth for part in self.parts))

    def advanced(self, rows: int, of: int) -> Refit:
        """When so many rows have come, of those at whose end all is done: as much of what is left.

        Where less than the next piece is due in a round, it is done in some rounds only, evenly spaced.
        """
        parts, begun = list(self.parts), False
        room = math.ceil(self.left * rows / of) if rows < of else math.inf
        for i, part in enumerate(parts):
            while part.left and (part.weight <= room or not (begun or of % max(1, round(part.weight / room)))):
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

    def finished(self, mixture: Mixture, later: list[Rows], accounts: Carried) -> Any:
        """The estimator, when the experts of the mixture know later rows too, with the accounts of the one before."""
        return self.estimator.fitted(mixture, joined(self.rows, *later), accounts)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        state.require_kind(self.inputs, Inputs, "the inputs")
        kinds = RefitRestarts, RefitRegressions, RefitKernelRegressions, RefitLabels
        state.require(all(isinstance(part, kinds) for part in self.parts), "parts of a refit")


def _show(size: int) -> int:
    """As how many pieces it counts to show rows to a dictionary of this size."""
    return 2 + 5 * size * size // 512**2


def _part(expert: Any, block: Block, Phi: Array) -> Any:
    """An expert that has seen nothing yet, with the rows that it is to know."""
    if not isinstance(expert, Ridges):
        return RefitLabels(expert, Phi)
    if expert.features is None:
        return RefitKernelRegressions(expert, block.rows, expert.targets(Phi))
    return RefitRegressions.of(expert, block.rows, Phi)


def _kept(estimator: Any, rows: int, Phi: Array) -> int:
    """How many of the rows the inputs keep: all of them, or those of the restarts."""
    restarts = estimator.mixture.restarts
    return rows if restarts.window is None else min(rows, restarts.most_rows(Phi.shape[1]))

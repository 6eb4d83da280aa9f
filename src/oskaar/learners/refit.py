r"""A mixture on features that is made of many rows at once, and not of one after the other.

`learners.relearning` learns all rounds again, and its weights are what they would have been. Where a mixture goes
over from kernels to features, or to newer ones, its experts stay the same but for units and for what a dictionary
leaves out. So weights, shares and errors are carried over from the mixture before it. Of the rows there is needed

    R^T R = lam I + Z^T Z,   Theta = R^-T Z^T Phi       of each regression, Z the features of all rows           (1)
    M^-1 = V^T diag(q) V,    M = K + lam I              of the restarts, on the last rows                        (2)

Dictionaries are shown rows evenly spaced over all of them, then the next to these, and so on; all rows are projected
on what they hold at last. This is done in pieces, some in each round; how many changes no number. A `Refit` is a
value: `advanced` makes the next.
Equivalent to tests/naive.py::dictionary_grams, and mixture_with_experts with the record of another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from oskaar import state
from oskaar.arrays import Array, Rows
from oskaar.features import FeatureMap
from oskaar.inputs import Block, Inputs
from oskaar.kernels import gram
from oskaar.learners.experts import PastLabels, Ridges
from oskaar.learners.mixture import Carried
from oskaar.learners.restarts import KernelRestarts
from oskaar.rows import count, pick
from oskaar.saved import saved

TAKEN, SUMMED, HEAVY = 32, 64, 5
"""Rows shown to a dictionary, and added up, in a piece; pieces that a solver of restarts counts as."""


@saved("refit/regressions")
@dataclass(frozen=True)
class RefitRegressions:
    """Regressions with one feature map: its dictionary, then the sums over all rows, then each solver."""

    ridges: Ridges
    rows: Rows
    targets: Array
    features: FeatureMap
    done: int
    ZZ: Array
    ZT: Array
    solvers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, ridges: Ridges, rows: Rows, Phi: Array) -> RefitRegressions:
        """Of regressions that have seen nothing."""
        assert ridges.features is not None
        targets = ridges.targets(Phi)
        return cls(ridges, rows, targets, ridges.features, 0, np.zeros((0, 0)), np.zeros((0, targets.shape[1])))

    @property
    def pieces(self) -> int:
        """How many there are."""
        n = count(self.rows)
        return -(-n // TAKEN) + -(-n // SUMMED) + len(self.ridges.solvers)

    def advanced(self) -> RefitRegressions:
        """With the next piece."""
        n, after = count(self.rows), replace(self, done=self.done + 1)
        taken, summed = -(-n // TAKEN), -(-n // SUMMED)
        if self.done < taken:
            spaced = pick(self.rows, slice(self.done, None, taken))
            return after if self.features.full else replace(after, features=self.features.seen(spaced)[1])
        if self.done < taken + summed:
            return self._summed(after, SUMMED * (self.done - taken))
        return replace(after, solvers=(*self.solvers, self._solved(self.ridges.solvers[len(self.solvers)])))

    def learned(self) -> Ridges:
        """The regressions, when all pieces are done."""
        return self.ridges.fitted(self.features, list(self.solvers), self.targets)

    def _summed(self, after: RefitRegressions, first: int) -> RefitRegressions:
        """With the sums over the next rows."""
        here = slice(first, first + SUMMED)
        Z = self.features(pick(self.rows, here))
        ZZ, ZT = Z.T @ Z, Z.T @ self.targets[here]
        return replace(after, ZZ=self.ZZ + ZZ, ZT=self.ZT + ZT) if first else replace(after, ZZ=ZZ, ZT=ZT)

    def _solved(self, solver: Any) -> Any:
        """A solver with the sums (1)."""
        A = np.array(self.ZZ, order="F")
        A.flat[:: len(A) + 1] += solver.lam
        R, failed = dpotrf(A, clean=1, overwrite_a=1)
        if failed:
            raise ValueError("features must be finite, got inf or nan.")
        return solver.with_sums(np.concatenate([R, dtrtrs(R, self.ZT, trans=1)[0]], axis=1), count(self.rows))


@saved("refit/restarts")
@dataclass(frozen=True)
class RefitRestarts:
    """Restarts on the last rows: the Gram matrix of their kernel, then each solver."""

    restarts: KernelRestarts
    rows: Rows
    Phi: Array
    rounds: int
    done: int
    K: Array
    solvers: tuple[Any, ...] = ()

    @classmethod
    def of(cls, restarts: KernelRestarts, rows: Rows, Phi: Array, rounds: int) -> RefitRestarts:
        """Of restarts that have seen nothing, with one kernel."""
        return cls(restarts, rows, Phi, rounds, 0, np.zeros((0, 0)))

    @property
    def pieces(self) -> int:
        """How many there are: a solver counts as several."""
        return 1 + HEAVY * len(self.restarts.solvers)

    def advanced(self) -> RefitRestarts:
        """With the next piece."""
        after = replace(self, done=self.done + 1)
        if self.done == 0:
            return replace(after, K=gram(self.restarts.inputs.kernels[0], self.rows, self.rows))
        if self.done % HEAVY:
            return after
        solver = self.restarts.solvers[len(self.solvers)].fitted(self.K, self.Phi, self.rounds)
        return replace(after, solvers=(*self.solvers, solver))

    def learned(self) -> KernelRestarts:
        """The restarts, when all pieces are done."""
        return self.restarts.fitted(list(self.solvers))


@saved("refit/labels")
@dataclass(frozen=True)
class RefitLabels:
    """The last label and the mean: nothing to be done in pieces."""

    expert: PastLabels
    Phi: Array
    done, pieces = 0, 0

    def learned(self) -> PastLabels:
        """After the labels."""
        return self.expert.fitted(self.Phi)


@saved("learner/refit")
@dataclass(frozen=True)
class Refit:
    """Inputs and an estimator that have seen nothing, and how far what they are to know of some rounds is.

    parts: of the restarts, and of each expert; carried: the accounts of the mixture before it.
    """

    inputs: Inputs
    estimator: Any
    rows: Rows
    carried: Carried
    parts: tuple[Any, ...]

    @classmethod
    def of(cls, inputs: Inputs, estimator: Any, block: Block, Phi: Array, carried: Carried) -> Refit:
        """For rounds of one row each, read by these inputs, with labels Phi."""
        mixture, n = estimator.mixture, block.n
        first = max(0, n - mixture.restarts.window)
        inputs.append(inputs.part(block, first, n))
        last = RefitRestarts.of(mixture.restarts, pick(block.rows, slice(first, n)), Phi[first:], n)
        experts = [
            RefitLabels(e, Phi) if isinstance(e, PastLabels) else RefitRegressions.of(e, block.rows, Phi)
            for e in mixture.experts
        ]
        return cls(inputs, estimator, block.rows, carried, (last, *experts))

    @property
    def pieces(self) -> int:
        """How many there are."""
        return sum(part.pieces for part in self.parts)

    @property
    def done(self) -> int:
        """Pieces that are done."""
        return sum(part.done for part in self.parts)

    @property
    def growth(self) -> int:
        """About the memory that the next pieces take: a few matrices of the largest regression."""
        return 64 * max(part.features.dim for part in self.parts if isinstance(part, RefitRegressions)) ** 2

    def advanced(self, pieces: int) -> Refit:
        """With so many pieces done."""
        parts, left = list(self.parts), pieces - self.done
        for i, part in enumerate(parts):
            while left > 0 and part.done < part.pieces:
                part, left = part.advanced(), left - 1
            parts[i] = part
        return replace(self, parts=tuple(parts))

    def learned(self) -> Any:
        """The estimator, when all pieces are done."""
        restarts, *experts = (part.learned() for part in self.parts)
        return self.estimator.fitted(restarts, experts, self.rows, self.carried)

    def check_saved(self) -> None:
        """Refuse a state from a file that does not fit together."""
        state.require_kind(self.inputs, Inputs, "the inputs")
        state.require_kind(self.carried, Carried, "the accounts")
        kinds = RefitRestarts, RefitRegressions, RefitLabels
        state.require(all(isinstance(part, kinds) for part in self.parts) and len(self.parts) > 1, "parts of a refit")

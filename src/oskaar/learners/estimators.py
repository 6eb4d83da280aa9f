r"""Estimators: g_hat(x_t) in R^p out of the rows and the labels before round t.

`Estimator` is the protocol between learners and solvers. A round goes through it once:

    pending = estimator.forecast(block, space)           g_hat is pending.G; nothing changes
    pending = estimator.observe(pending, labels)         the label has come; still nothing changes
    estimator.commit(pending)                            the round is learned

Everything that can be refused is refused before `commit`. `forecast_chunk(block, labels)` does the first two steps
for several rounds whose labels are known, each after the labels of those before it. KAAR's estimators are here; a
mixture of them is in `learners.mixture`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from oskaar import state, theory
from oskaar.arrays import Array, Growing, fit_columns, spans
from oskaar.features import FeatureMap, Nystrom
from oskaar.inputs import Block, Inputs
from oskaar.learners.certificate import Hindsight
from oskaar.learners.labels import Labels
from oskaar.losses import Space
from oskaar.saved import saved
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.chunks import target_of
from oskaar.solvers.exact import ExactSolver
from oskaar.solvers.kaar_features import FeatureSolver

CHUNK = 4 * PANEL
"""Rows that a stream predicts and learns at a time: large enough that the work is matrix products."""


class Pending(Protocol):
    """Rounds that are forecast and not learned yet."""

    @property
    def G(self) -> Array:
        """The estimates g_hat, (rows, p)."""


class Estimator(Protocol):
    """What a learner is made of, beside a loss and accounts."""

    @property
    def advice(self) -> str:
        """What to do when memory ends."""

    @property
    def room(self) -> int:
        """How many rows the next chunk may have."""

    @property
    def operations(self) -> int:
        """About how many operations the next round takes."""

    def growth(self, rows: int) -> int:
        """An upper bound of the memory that so many more rows take."""

    def forecast(self, block: Block, space: Space) -> Any:
        """The estimate for one round, as a `Pending`. Changes nothing."""

    def forecast_chunk(self, block: Block, labels: Labels) -> Any:
        """Several rounds, each after the labels of those before it, observed. Changes nothing.

        To the last bit, the estimate of a round does not depend on its own label or on later ones.
        Raises LinAlgError where the rounds have to go in turn.
        """

    def observe(self, pending: Any, labels: Labels) -> Any:
        """The label of a round that was forecast from this very state. Changes nothing but the pending round."""

    def commit(self, pending: Any) -> None:
        """Learn rounds that were observed; their rows are kept in the inputs by now."""

    def each(self, block: Block, ends: Any, space: Space) -> Array:
        """The estimates for several rounds, all from the present state."""

    def hindsight(self, space: Space, rounds: int) -> Hindsight | None:
        """The theorem's bound on the surrogate loss; None where its assumptions do not hold."""

    def effective_dimension(self, probes: int | None = None) -> float:
        """d_eff of the rows seen."""

    def check_state(self, inputs: Inputs, space: Space, rounds: int) -> None:
        """Refuse an estimator from a file that cannot have seen these rounds."""


@dataclass(slots=True)
class PendingKaar:
    """A solver's forecast of some rounds, the map that has seen them, and Phi once it is observed."""

    inner: Any
    solver: Any
    features: FeatureMap | None = None
    Phi: Array | None = None
    chunk: bool = False

    @property
    def G(self) -> Array:
        G: Array = self.inner.G
        return G

    @property
    def ridge(self) -> Array:
        """The estimates without KAAR's factor lam / s, for rounds of one row."""
        R, E = self.inner.R, self.inner.E
        ridge: Array = E * R.item() if len(E) == 1 else np.diagonal(R)[:, None] * E
        return ridge

    def commit(self) -> None:
        """Append the rounds to the solver, or update it with the one round and its label."""
        if self.chunk:
            self.solver.append(self.inner)
        else:
            self.solver.update(self.inner, self.Phi)


@saved("estimator/kaar")
class Kaar:
    """KAAR on kernel values: all rows are kept, and a round costs O(t^2)."""

    advice = "give budget= for constant memory, or raise the limit"

    def __init__(self, inputs: Inputs, lam: float, shifted: bool) -> None:
        self.inputs = inputs
        self.solver = ExactSolver(lam, shifted)

    @property
    def room(self) -> int:
        """Up to the end of a panel of the factor, three panels on."""
        return CHUNK - self.inputs.n % PANEL

    @property
    def operations(self) -> int:
        return self.inputs.n**2 + 4 * self.inputs.n * self.solver.C.shape[1]

    def growth(self, rows: int) -> int:
        """Rows of the factor and their targets."""
        targets = 2 * self.solver.C.shape[1] * max(rows, self.inputs.n // 2)
        return self.solver.factor.growth(rows) + 8 * targets

    def forecast(self, block: Block, space: Space) -> PendingKaar:
        return PendingKaar(self.solver.forecast(self.inputs.against(block), self.inputs.corner(block)), self.solver)

    def forecast_chunk(self, block: Block, labels: Labels) -> PendingKaar:
        """Several rounds, from one Cholesky factor."""
        B, D = self.inputs.against(block), self.inputs.corner(block)
        return PendingKaar(self.solver.forecast_chunk(B, D, labels.Phi, labels.ends), self.solver, chunk=True)

    def observe(self, pending: PendingKaar, labels: Labels) -> PendingKaar:
        pending.Phi = labels.Phi
        return pending

    def commit(self, pending: PendingKaar) -> None:
        pending.commit()

    def each(self, block: Block, ends: Any, space: Space) -> Array:
        """One solve for all rows."""
        if len(ends) == block.n:
            M, hedge = self.solver.forecast_each(self.inputs.against(block), self.inputs.diagonal(block))
            return hedge * M
        return self.solver.forecast_rounds(self.inputs.against(block), self.inputs.corner(block), ends)

    def ridge_each(self, block: Block, space: Space) -> Array:
        """`each` of rounds of one row, without KAAR's factor lam / s."""
        return self.solver.forecast_each(self.inputs.against(block), self.inputs.diagonal(block))[0]

    def average(self, block: Block, space: Space) -> Array:
        """The mean of the functions so far, at the rows of a block."""
        return self.solver.average(self.forecast(block, space).inner)

    def hedged_average(self, block: Block) -> Array:
        """The mean of the functions so far, each hedged at the row of a block."""
        return self.solver.hedged_average(self.inputs.against(block), self.inputs.diagonal(block))

    def label_weights(self, block: Block, space: Space) -> Array:
        """beta, a weight for each past row."""
        return self.solver.label_weights(self.forecast(block, space).inner)

    def effective_dimension(self, probes: int | None = None) -> float:
        """Tr(K (K + lam I)^-1)."""
        return self.solver.effective_dimension(probes)

    def hindsight(self, space: Space, rounds: int) -> Hindsight | None:
        """Lemma (regret vawk), or its shifted version with the largest target there was, for rounds of one row."""
        solver, T = self.solver, rounds
        if not T or solver.factor.n != T:
            return None
        d_eff, lam = solver.effective_dimension(), solver.lam / (4 if solver.shifted else 1)
        fit = lam * float(space.squared_norms(fit_columns(solver.C.view, space.p)).sum())
        kappa = math.sqrt(max(solver.trace(), 0.0) / T)  # Tr(K) bounds the eigenvalues, as kappa^2 T does
        if not solver.shifted:
            return Hindsight(theory.kaar_bound(T, kappa, lam, d_eff, fit), d_eff, fit)
        H = fit_columns(solver.targets(), space.p)
        B = math.sqrt(float(space.squared_norms(H).max()))
        return Hindsight(theory.shifted_kaar_bound(T, kappa, lam, d_eff, fit, B), d_eff, fit)

    def check_state(self, inputs: Inputs, space: Space, rounds: int) -> None:
        state.require_kind(self.solver, ExactSolver, "the solver")
        state.require(self.solver.rounds == rounds, "the solver must have learned as many rounds")
        state.require(self.inputs is inputs, "the estimator must have the learner's inputs")
        state.require(self.solver.factor.n == inputs.n, "there must be as many rows as in the factor")
        state.require(self.solver.C.shape[1] <= space.p, "each coordinate must be known")


@saved("estimator/feature-kaar")
class FeatureKaar:
    """KAAR on features: no row is kept, and a round costs the same for ever."""

    advice = "take a smaller budget, or raise the limit"

    def __init__(self, features: FeatureMap, lam: float, shifted: bool) -> None:
        self.features = features
        self.solver = FeatureSolver(lam, shifted)

    @property
    def room(self) -> int:
        """About as many rows as there are features."""
        return max(PANEL, min(self.solver.dim, CHUNK))

    @property
    def operations(self) -> int:
        """Features, one row, and its part of a fold."""
        return self.solver.dim**2 + self.solver.operations

    def growth(self, rows: int) -> int:
        """More features, and rows that are pending."""
        before = self.solver.dim
        D = before if self.features.full else before + rows
        more = 8 * 3 * (D * D - before * before) + self.features.growth(rows)
        return self.solver.growth(rows, self.features.full) + more

    def forecast(self, block: Block, space: Space) -> PendingKaar:
        Z, after = self.features.seen(block.rows)
        return PendingKaar(self.solver.forecast(Z), self.solver, after)

    def forecast_chunk(self, block: Block, labels: Labels) -> PendingKaar:
        Z, after = self.features.seen(block.rows)
        return PendingKaar(self.solver.forecast_chunk(Z, labels.Phi, labels.ends), self.solver, after, chunk=True)

    def observe(self, pending: PendingKaar, labels: Labels) -> PendingKaar:
        pending.Phi = labels.Phi
        return pending

    def commit(self, pending: PendingKaar) -> None:
        """Learn the rows, and go on with the map that has seen them."""
        assert pending.features is not None
        pending.commit()
        self.solver, self.features = pending.solver, pending.features

    def each(self, block: Block, ends: Any, space: Space) -> Array:
        """Each as `forecast` has it alone."""
        if len(ends) == block.n:
            M, hedge = self.solver.forecast_each(self.features.each(block.rows))
            return hedge * M
        return np.concatenate([self.forecast(block.part(lo, hi), space).G for lo, hi in spans(ends)])

    def ridge_each(self, block: Block, space: Space) -> Array:
        """`each` of rounds of one row, without KAAR's factor lam / s."""
        return self.solver.forecast_each(self.features.each(block.rows))[0]

    def average(self, block: Block, space: Space) -> Array:
        """The mean of the functions so far, at the rows of a block."""
        return self.solver.average(self.features.seen(block.rows)[0])

    def hedged_average(self, block: Block) -> Array:
        """There is none: it needs every round's factor."""
        raise ValueError("the hedged average needs the past rows, and features keep none: leave out hedged=True.")

    def label_weights(self, block: Block, space: Space) -> Array:
        """There are none: past rows are not kept."""
        raise ValueError("label_weights needs the past rows, and features keep none: use OSKAAR without a budget.")

    def effective_dimension(self, probes: int | None = None) -> float:
        """D - lam Tr(A^-1)."""
        return self.solver.effective_dimension(probes)

    def hindsight(self, space: Space, rounds: int) -> Hindsight | None:
        """None: the kernel changes as the map learns."""
        return None

    def check_state(self, inputs: Inputs, space: Space, rounds: int) -> None:
        state.require_kind(self.solver, FeatureSolver, "the solver")
        state.require(self.solver.rounds == rounds, "the solver must have learned as many rounds")
        state.require_kind(self.features, FeatureMap, "the map")
        state.require(self.solver.targets <= space.p, "each coordinate must be known")


@saved("estimator/reprojected-kaar")
class ReprojectedKaar(FeatureKaar):
    """PKAWV (Jezequel, Gaillard, Rudi 2019) to the letter: past rows are projected on every new atom as well."""

    room = 1

    def __init__(self, features: FeatureMap, inputs: Inputs, lam: float, shifted: bool) -> None:
        super().__init__(features, lam, shifted)
        self.inputs = inputs
        self.targets = Growing(0)

    def growth(self, rows: int) -> int:
        """Rows and targets are kept too."""
        return super().growth(rows) + 8 * 2 * max(rows, self.inputs.n // 2) * self.targets.shape[1]

    def forecast(self, block: Block, space: Space) -> PendingKaar:
        """One round, on the atoms that it may bring."""
        Z, after = self.features.seen(block.rows)
        solver = self.solver
        if Z.shape[1] > solver.dim and self.inputs.n:
            past = after(self.inputs.latest(self.inputs.n, block))
            solver = self.solver.rebuilt(past, self.targets.view)
        return PendingKaar(solver.forecast(Z), solver, after)

    def forecast_chunk(self, block: Block, labels: Labels) -> PendingKaar:
        """One round at a time."""
        return self.observe(self.forecast(block, labels.spaces[0]), labels)

    def commit(self, pending: PendingKaar) -> None:
        """Learn the round, and keep its targets."""
        assert pending.Phi is not None
        super().commit(pending)
        self.targets.append(target_of(pending.Phi, pending.G, self.solver.shifted))

    def each(self, block: Block, ends: Any, space: Space) -> Array:
        """One after the other: each may bring an atom."""
        return np.concatenate([self.forecast(block.part(lo, hi), space).G for lo, hi in spans(ends)])

    def ridge_each(self, block: Block, space: Space) -> Array:
        """One after the other."""
        return np.concatenate([self.forecast(block.part(i, i + 1), space).ridge for i in range(block.n)])


def kaar_for(inputs: Inputs, features: FeatureMap | None, lam: float, shifted: bool) -> Any:
    """KAAR on kernel values, or on features where there are some."""
    if features is None:
        return Kaar(inputs, lam, shifted)
    if isinstance(features, Nystrom) and features.reproject:
        return ReprojectedKaar(features, inputs, lam, shifted)
    return FeatureKaar(features, lam, shifted)

r"""OSKAAR, Algorithm 1: Online Structured prediction with Kernel Aggregating Algorithm Regression.

g_t = argmin_g  sum_{s<t} |g(x_s) - phi(y_s)|^2 + lam |g|^2 + |g(x_t)|^2
z_t = argmin_z  <psi(z), g_t(x_t)>  =  argmin_z  sum_{s<t} beta_s Delta(z, y_s)
"""

from __future__ import annotations

import math
from typing import Any

from oskaar import state, theory
from oskaar.arrays import Array, fit_columns, panels, without_rounding
from oskaar.features import FeatureMap
from oskaar.guards import exclusive
from oskaar.inputs import Block, Inputs
from oskaar.learners.base import features_for, inputs_for, require_lam, require_loss
from oskaar.learners.certificate import Hindsight
from oskaar.learners.engines import ExactEngine, FeatureEngine, make_engine
from oskaar.learners.online import OnlineLearner
from oskaar.losses import Loss, Space
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.exact import ExactSolver
from oskaar.solvers.kaar_features import FeatureSolver


class OSKAAR(OnlineLearner):
    r"""Online structured prediction by kernel regression, exact, with regret bounds on any data.

    loss: what a mistake costs, and so what the outputs are (`oskaar.losses`).
    kernel: similarity of inputs (`oskaar.kernels`, or any function). None is a smooth one on
        standardised features (`kernels.standardised_kernels`) for numbers, Cosine() + 1 for sparse and dict rows.
    lam: regularisation, > 0. With kernels of size 1, 0.1 to 1 is a good start.
    shifted: the variant with guarantees in high probability (Theorem Avg cumulative risk).
    features: a map to vectors of a fixed dimension (`oskaar.features`), in place of the kernel.
    budget: the same in a word: Nystrom features on at most so many inputs. Cost and memory of a round are then
        constant, for streams that never end.
    max_bytes: refuse to grow past this much memory; `cost()` says what is held.

    A round costs one triangular solve, O(t^2), and memory is t^2 / 2 numbers; with D features O(D^2) and D^2.
    Equivalent to tests/naive.py::oskaar. Regret: Theorem FirstRegretBound, `theory.oskaar_bound`.

    >>> from oskaar import OSKAAR, kernels, losses
    >>> learner = OSKAAR(losses.F1(3), kernel=kernels.Gaussian(1.0) + 1.0, lam=0.1)
    >>> stream = [([0.0], {0}), ([1.0], {1, 2}), ([0.1], {0}), ([0.9], {1, 2})]
    >>> for x, y in stream:
    ...     z = learner.predict_one(x)
    ...     learner.learn_one(x, y)
    >>> sorted(learner.predict_one([0.95])), learner.rounds
    ([1, 2], 4)
    """

    def __init__(
        self,
        loss: Loss,
        kernel: Any = None,
        lam: float = 1.0,
        shifted: bool = False,
        features: FeatureMap | None = None,
        budget: int | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self.lam, self.shifted, self.features, self.budget = lam, shifted, features, budget
        super().__init__(require_loss(loss), kernel, max_bytes)

    @exclusive
    def predict_many(self, xs: Any) -> list[Any]:
        """The answers for many x, each as `predict_one` would give it now, in one solve for every few rows."""
        block, ends = self._inputs.parse_each(xs)
        answers: list[Any] = []
        for (first, last), inside in panels(ends, PANEL):
            G = self._engine.each(block.part(first, last), inside)
            answers += self._space.decode_rounds(without_rounding(fit_columns(G, self._space.p)), inside)
        return answers

    @exclusive
    def label_weights(self, x: Any) -> Array:
        """beta(x), a weight for each past row, signed: z = argmin_z sum_s beta_s Delta(z, y_s).

        (t,), or (n, t) for a block of n rows.
        """
        weights: Array = self._engine.label_weights(self._inputs.parse(x))
        return weights if self.loss.parts else weights[0]

    @exclusive
    def average_estimate(self, x: Any) -> Array:
        """g_bar_T(x), the mean of the T functions g_1, ..., g_T learned so far, at x (section C.1)."""
        return self._public(self._average(x))

    @exclusive
    def predict_average(self, x: Any, hedged: bool = False) -> Any:
        """f_bar_T(x), the answer of the averaged estimate: one function for i.i.d. data (Theorem excess risk).

        hedged: average x -> g_t(x) with every g_t hedged at x, as at its own round, which is what the proof of the
        theorem is about (docs/errata.md, 3); for rounds of one row. The paper hedges g_t at x_t.
        """
        if not hedged:
            return self._decode(self._space, self._average(x))
        if self.loss.parts:
            raise ValueError("the hedged average is for rounds of one row: leave out hedged=True.")
        return self._decode(self._space, self._engine.hedged_average(self._inputs.parse(x)))

    @exclusive
    def effective_dimension(self, probes: int | None = None) -> float:
        """d_eff = Tr(K (K + lam I)^-1) over the rows seen, with 4 lam in place of lam when shifted.

        probes: an estimate from so many random vectors, in O(t^2) each, where t^3 would take long; None is exact.
        """
        return float(self._engine.solver.effective_dimension(probes))

    def _takes_scales(self) -> bool:
        return self.kernel is None and self.features is None

    def _make_maps(self) -> None:
        self._map = features_for(self._own_kernel(), self.features, self.budget, require_lam(self.lam))

    def _new_inputs(self) -> Inputs:
        return inputs_for([self._own_kernel()], [self._map], self.loss.parts)

    def _own_kernel(self) -> Any:
        return self._scaled[0] if self.kernel is None and self._scaled else self.kernel

    def _hindsight(self) -> Hindsight | None:
        """Lemma (regret vawk), or its shifted version with the largest target there was, for rounds of one row."""
        solver, T = self._engine.solver, self.rounds
        if not T or not isinstance(self._engine, ExactEngine) or solver.factor.n != T:
            return None
        d_eff, lam = self.effective_dimension(), solver.lam / (4 if solver.shifted else 1)
        fit = lam * float(self._space.squared_norms(fit_columns(solver.C.view, self._space.p)).sum())
        kappa = math.sqrt(max(solver.trace(), 0.0) / T)  # Tr(K) bounds the eigenvalues, as kappa^2 T does
        if not solver.shifted:
            return Hindsight(theory.kaar_bound(T, kappa, lam, d_eff, fit), d_eff, fit)
        H = fit_columns(solver.targets(), self._space.p)
        B = math.sqrt(float(self._space.squared_norms(H).max()))
        return Hindsight(theory.shifted_kaar_bound(T, kappa, lam, d_eff, fit, B), d_eff, fit)

    def _restart(self) -> None:
        self._engine = make_engine(self._inputs, self._map, float(self.lam), bool(self.shifted))

    def _room(self) -> int:
        return int(self._engine.room)

    def _operations(self) -> int:
        return int(self._engine.operations)

    def _growth(self, rows: int) -> int:
        return int(self._engine.growth(rows))

    @property
    def advice(self) -> str:  # type: ignore[override]
        """What to do when memory ends."""
        return str(self._engine.advice)

    def _forecast(self, block: Block) -> Any:
        return self._engine.forecast(block)

    def _update(self, forecast: Any, Phi: Array, space: Space) -> None:
        self._engine.learn(forecast, Phi)

    def _forecast_chunk(self, chunk: Block, Phi: Array, ends: Any, spaces: list[Space]) -> Any:
        return self._engine.forecast_chunk(chunk, Phi, ends)

    def _append(self, ahead: Any) -> None:
        self._engine.learn_chunk(ahead)

    def _average(self, x: Any) -> Array:
        average: Array = self._engine.average(self._inputs.parse(x))
        return average

    def _check_state(self) -> None:
        super()._check_state()
        engine = self._engine
        state.require_kind(engine, (ExactEngine, FeatureEngine), "the engine")
        state.require(engine.solver.rounds == self.rounds, "the solver must have learned as many rounds")
        if isinstance(engine, ExactEngine):
            state.require_kind(engine.solver, ExactSolver, "the solver")
            state.require(engine.inputs is self._inputs, "the engine must have the learner's inputs")
            state.require(engine.solver.factor.n == self._inputs.n, "there must be as many rows as in the factor")
            state.require(engine.solver.C.shape[1] <= self._space.p, "each coordinate must be known")
        else:
            state.require_kind(engine.solver, FeatureSolver, "the solver")
            state.require_kind(engine.map, FeatureMap, "the map")
            state.require(engine.solver.targets <= self._space.p, "each coordinate must be known")

    def __repr__(self) -> str:
        shifted = ", shifted=True" if self.shifted else ""
        return f"OSKAAR({self.loss!r}, kernel={self.kernel!r}, lam={float(self.lam):g}{shifted})"

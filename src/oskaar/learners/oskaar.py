r"""OSKAAR, Algorithm 1: Online Structured prediction with Kernel Aggregating Algorithm Regression.

g_t = argmin_g  sum_{s<t} |g(x_s) - phi(y_s)|^2 + lam |g|^2 + |g(x_t)|^2
z_t = argmin_z  <psi(z), g_t(x_t)>  =  argmin_z  sum_{s<t} beta_s Delta(z, y_s)
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Self

from oskaar.arrays import Array
from oskaar.features import FeatureMap
from oskaar.guards import exclusive
from oskaar.inputs import Inputs
from oskaar.learners.base import features_for, inputs_for, require_kernel, require_lam, require_loss
from oskaar.learners.estimators import kaar_for
from oskaar.learners.learner import OnlineLearner, Rounds
from oskaar.learners.merging import judged, learn_batch, merge, prepared, require_other, subtract
from oskaar.learners.reading import Reading
from oskaar.learners.relearning import units_of_rows
from oskaar.losses import Loss
from oskaar.saved import saved
from oskaar.schema import Schema


@saved("learner/oskaar")
class OSKAAR(OnlineLearner):
    r"""Online structured prediction by kernel regression, exact, with regret bounds on any data.

    loss: what a mistake costs, and so what the outputs are (`oskaar.losses`).
    kernel: similarity of inputs (`oskaar.kernels`, or any function). None is a smooth one on the columns of rows,
        standardised (`kernels.default_kernels`), Cosine() + 1 for sparse rows.
    lam: regularisation, > 0. With kernels of size 1, 0.1 to 1 is a good start.
    shifted: the variant with guarantees in high probability (Theorem Avg cumulative risk).
    features: a map to vectors of a fixed dimension (`oskaar.features`), in place of the kernel.
    budget: the same in a word: Nystrom features on at most so many inputs. Cost and memory of a round are then
        constant, for streams that never end.
    max_bytes: refuse to grow past this much memory; `cost()` says what is held.
    schema: kinds of columns by name, where they are not to be decided from the rows (docs/rows.md).

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

    _estimator: Any  # Kaar, FeatureKaar or ReprojectedKaar

    def __init__(
        self,
        loss: Loss,
        kernel: Any = None,
        lam: float = 1.0,
        shifted: bool = False,
        features: FeatureMap | None = None,
        budget: int | None = None,
        max_bytes: int | None = None,
        schema: Mapping[Any, str] | Schema | None = None,
    ) -> None:
        require_kernel(kernel)
        self.kernel, self.lam, self.shifted, self.features, self.budget = kernel, lam, shifted, features, budget
        relearning = units_of_rows(require_loss(loss)) if kernel is None and features is None else None
        super().__init__(require_loss(loss), max_bytes, relearning, schema)

    def _assemble(self, reading: Reading) -> tuple[Inputs, Any]:
        kernel = reading.first or self.kernel
        lam = require_lam(self.lam)
        features = features_for(kernel, self.features, self.budget, lam)
        inputs = inputs_for([kernel], [features], self.loss.parts, schema=reading.schema)
        return inputs, kaar_for(inputs, features, lam, bool(self.shifted))

    # ---------------------------------------------------------------- shards (docs/spark.md)

    def prepared(self, xs: Any) -> Self:
        """A learner like this one that has seen nothing, with a map that learns nothing any more: from a sample xs.

        A dictionary, units and the names in dict rows are those of the sample; names that it lacks are ignored.
        Learners that were prepared once, and copied or saved, can be merged.
        """
        made: Self = prepared(self, xs)
        return made

    def merge(self, *others: OSKAAR) -> Self:
        """Learn what others have learned from other rows: as one learner over the rows of all, exactly.

        Estimates agree to about 1e-12 of their size. For OSKAAR with a fixed feature map that all have (`prepared`);
        labels are matched by what they are, rounds and losses add up, and the others stay as they are.

        >>> from oskaar import OSKAAR, features, losses
        >>> a, b, both = (OSKAAR(losses.ZeroOne(), features=features.LinearMap(1)) for _ in range(3))
        >>> _ = a.partial_fit([[0.0], [1.0]], "no"), b.partial_fit([[2.0], [3.0]], "oh")
        >>> _ = both.partial_fit([[0.0], [1.0], [2.0], [3.0]], "nooh")
        >>> a.merge(b).estimate([2.5]).round(9) == both.estimate([2.5]).round(9), a.rounds
        (array([ True,  True,  True]), 4)
        """
        copies = [copy.deepcopy(require_other(self, other)) for other in others]
        self._with_shards(copies)
        return self

    @classmethod
    def merged(cls, learners: Iterable[OSKAAR]) -> OSKAAR:
        """One learner over the rows of all; none of them changes."""
        first, *others = learners
        return copy.deepcopy(first).merge(*others)

    def subtract(self, other: OSKAAR) -> Self:
        """Unlearn what another has learned from a part of the rows: as if these rows had never come.

        Exact to about 1e-9, or refused, where the other is no part of this one or too little would be left. Losses
        are those of the answers that remain. Labels that only the other brought stay known, with estimates of 0.
        """
        self._without_shard(copy.deepcopy(require_other(self, other)))
        return self

    def fit(self, X: Any, y: Any, jobs: int | None = None) -> Self:
        """Forget everything and learn these rounds; jobs: as `learn_batch`, None: one after the other, answered."""
        if jobs is None:
            return super().fit(X, y)
        fresh = self.like_new()
        fresh.learn_batch(X, y, jobs)
        with self._lock:
            self.__dict__.update({**fresh.__dict__, "_lock": self._lock})  # in one step
        return self

    @exclusive
    def learn_batch(self, X: Any, y: Any, jobs: int = 1, answered_by: OSKAAR | None = None) -> Self:
        """Learn these rounds without answering them: the estimates of `partial_fit`, with less work and in threads.

        jobs: how many threads share the rows. There is no loss without an answer: `unanswered` counts such rounds.
        answered_by: another learner, whose answers to them are judged: losses are those of its present state.
        """
        learn_batch(self, X, y, jobs, answered_by)
        return self

    @exclusive
    def _judged(self, X: Any, y: Any) -> Rounds:
        return judged(self, X, y)

    @exclusive
    def _with_shards(self, others: list[OSKAAR]) -> None:
        merge(self, others)

    @exclusive
    def _without_shard(self, other: OSKAAR) -> None:
        subtract(self, other)

    # ---------------------------------------------------------------- what is known of x

    @exclusive
    def label_weights(self, x: Any) -> Array:
        """beta(x), a weight for each past row, signed: z = argmin_z sum_s beta_s Delta(z, y_s).

        (t,), or (n, t) for a block of n rows.
        """
        weights: Array = self._estimator.label_weights(self._inputs.parse(x), self._space)
        return weights if self.loss.parts else weights[0]

    @exclusive
    def average_estimate(self, x: Any) -> Array:
        """g_bar_T(x), the mean of the T functions g_1, ..., g_T learned so far, at x (section C.1)."""
        return self._public(self._estimator.average(self._inputs.parse(x), self._space))

    @exclusive
    def predict_average(self, x: Any, hedged: bool = False) -> Any:
        """f_bar_T(x), the answer of the averaged estimate: one function for i.i.d. data (Theorem excess risk).

        hedged: average x -> g_t(x) with every g_t hedged at x, as at its own round, which is what the proof of the
        theorem is about (docs/errata.md, 3); for rounds of one row. The paper hedges g_t at x_t.
        """
        if not hedged:
            return self._decode(self._estimator.average(self._inputs.parse(x), self._space))
        if self.loss.parts:
            raise ValueError("the hedged average is for rounds of one row: leave out hedged=True.")
        return self._decode(self._estimator.hedged_average(self._inputs.parse(x)))

    @exclusive
    def effective_dimension(self, probes: int | None = None) -> float:
        """d_eff = Tr(K (K + lam I)^-1) over the rows seen, with 4 lam in place of lam when shifted.

        probes: an estimate from so many random vectors, in O(t^2) each, where t^3 would take long; None is exact.
        """
        return float(self._estimator.effective_dimension(probes))

    def __repr__(self) -> str:
        shifted = ", shifted=True" if self.shifted else ""
        return f"OSKAAR({self.loss!r}, kernel={self.kernel!r}, lam={float(self.lam):g}{shifted})"

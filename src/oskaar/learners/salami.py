r"""SALAMI, Algorithms 2 and 3: Structured prediction ALgorithm with Aggregating MIxture.

Experts are OSKAAR restarted at every round s = 1..t, for each lam of a grid and each kernel of a list; their
estimates g_{s:t} are mixed with exponential weights p_t(s), and the mixture is decoded:

    g_t = sum_s p_t(s) g_{s:t}(x_t),     z_t = argmin_z <psi(z), g_t>

Algorithm 2, line by line: x_t comes (line 2); `restarts` have the g_{s:t} (lines 3 and 4); `mixture.Weights` are w_t
and p_t (lines 5 to 7), `Mixture` is g_t (line 8); the learner decodes it (line 9) and sees y_t. The weights use
losses up to t - 1: printed before y_t is seen, they are updated after it (docs/errata.md). Algorithm 3 has the same
lines; its experts get the targets 2 phi - g_t, and pay for half of their estimate and half of the mixture's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.features import FeatureMap
from oskaar.guards import exclusive
from oskaar.inputs import Inputs
from oskaar.learners.base import inputs_for, require_kernel, require_loss
from oskaar.learners.change_points import RATE, Change, ChangeDetector
from oskaar.learners.learner import OnlineLearner
from oskaar.learners.mixture import Mixture, Weights
from oskaar.learners.reading import Reading
from oskaar.learners.relearning import units_of_rows
from oskaar.learners.restarts import FeatureRestarts, GeometricKernelRestarts, KernelRestarts, Restarts
from oskaar.learners.settings import (
    grid_of,
    kernels_of,
    maps_of,
    rate_of,
    rate_of_alarms,
    require_projection,
    restarts_of,
    window_of,
)
from oskaar.losses import Loss
from oskaar.saved import saved
from oskaar.schema import Schema

LAMS, ETA = (0.05, 0.5), 0.5
"""The default grid, and the default rate."""


@saved("learner/salami")
class SALAMI(OnlineLearner):
    r"""Online structured prediction on streams whose distribution changes.

    loss: what a mistake costs (`oskaar.losses`).
    kernel: similarity of inputs, or a list of kernels to mix. None is a smooth one on standardised features
        (`kernels.default_kernels`); Cosine() + 1 for sparse rows. Give every kernel an intercept
        (`+ 1.0`): a newborn expert knows nothing else.
    lam: regularisation, or a grid of them to mix.
    eta: learning rate of the mixture. 1/8 is what the theorem asks of estimates in the unit ball; larger ones
        adapt faster and are often better, and have no theorem. "theory" is 1/8 for projected experts, else the
        paper's 1 / (2 (kappa bound + 1)^2).
    restarts: "all" rounds, exactly; "geometric", O(log t) of them; None, the first only (a mixture over lam).
    shifted: Algorithm 3. The theorem in high probability asks for eta="theory" and for a bound= on |g| that holds of
        every estimate, which nothing enforces; with other settings nothing is proved, and `certificate()` gives no
        surrogate bound. OSKAAR(shifted=True) needs neither.
    features: a feature map (`oskaar.features`) or a list of them to mix, in place of the kernel.
    budget: Nystrom features on at most so many inputs for each kernel, for streams that never end. With features
        or a budget restarts are geometric, and new experts choose their inputs anew.
    window: keep only the last so many rows, for ever in bounded memory.
    max_bytes: refuse to grow past this much memory; `cost()` says what is held.
    project: experts' estimates on the unit ball, which holds every phi, so that no loss can grow; False is the paper
        to the letter. None is True, and False when shifted, where the targets 2 phi - g lie in no such ball.
    bound: a bound on |g| in the RKHS, for eta="theory" without projection.
    false_alarms: change points a round on a stream whose law does not change; 0.0001 to 0.01. Measured are fewer, and
        up to 1.6 times as many where rare bursts come and go; no stream gets more than 5 times as many.
        `change_points` needs about 72 + 0.2 / false_alarms rounds before it can find one.
    schema: kinds of columns by name, where they are not to be decided from the rows (docs/rows.md).

    A round costs O(t^2) for all t restarts together. Equivalent to tests/naive.py::salami. `Ensemble` adds experts
    that never restart, and has nothing to set.

    >>> from oskaar import SALAMI, losses
    >>> learner = SALAMI(losses.ZeroOne("ab"))
    >>> for y in "a" * 20 + "b" * 20:
    ...     learner.learn_one([0.0], y)
    >>> learner.predict_one([0.0])
    'b'
    """

    _derived = ("lams", "kernels", "rate")
    _estimator: Mixture

    def __init__(
        self,
        loss: Loss,
        kernel: Any = None,
        lam: float | Iterable[float] = LAMS,
        eta: float | Literal["theory"] = ETA,
        restarts: Literal["all", "geometric"] | None = "all",
        shifted: bool = False,
        features: FeatureMap | list[FeatureMap] | None = None,
        window: int | None = None,
        project: bool | None = None,
        bound: float | None = None,
        budget: int | None = None,
        max_bytes: int | None = None,
        false_alarms: float = RATE,
        schema: Mapping[Any, str] | Schema | None = None,
    ) -> None:
        require_kernel(kernel)
        self.kernel, self.lam, self.eta = kernel, lam, eta
        self.lams, self.kernels = grid_of(lam), kernels_of(kernel)
        self.features, self.budget = features, budget
        self.restarts, self.window, self._window = restarts_of(restarts), window, window_of(window)
        require_projection(project, shifted)
        self.shifted, self.project, self.bound = shifted, project, bound
        self._projects = not shifted if project is None else bool(project)
        self.rate = rate_of(eta, self._projects, self.kernels, bound)
        self.false_alarms = rate_of_alarms(false_alarms)
        rescales = features is None and any(k is None for k in self.kernels)
        relearning = units_of_rows(require_loss(loss)) if rescales else None
        super().__init__(require_loss(loss), max_bytes, relearning, schema)

    def _assemble(self, reading: Reading) -> tuple[Inputs, Mixture]:
        asked = [reading.first if k is None else k for k in self.kernels]
        lams = [4 * lam if self.shifted else lam for lam in self.lams]
        maps = maps_of(asked, self.features, self.budget, min(self.lams))
        restarts: Restarts
        if maps:
            schedule = "geometric" if self.restarts == "all" else self.restarts
            keep = schedule is not None and any(m.renews for m in maps)
            inputs = inputs_for([None] * len(maps), [*maps], self.loss.parts, keep, reading.schema)
            restarts = FeatureRestarts(inputs, maps, lams, schedule, self._window)
        else:
            inputs = inputs_for(asked, [None] * len(asked), self.loss.parts, schema=reading.schema)
            restarts = KernelRestarts(inputs, lams, self._window)
            if self.restarts != "all":
                restarts = GeometricKernelRestarts(inputs, lams, self._window, self.restarts is None)
        weights, changes = Weights(self.rate, restarts.kinds), ChangeDetector(self.false_alarms)
        return inputs, Mixture(inputs, restarts, [], weights, self._projects, self.shifted, changes)

    @exclusive
    def restart_weights(self) -> tuple[NDArray[np.int64], Array]:
        """(rounds, p_t): the weights of the restarts s = 1..t for the next round, the newborn t included.

        Exponential weights, summed over lams and kernels. They say which restarts the estimate is made of. They are
        no probabilities of when the law changed: they scale with eta, before it began a restart is charged what the
        mixture paid, and restarts whose estimates are equally good share the weight, so that on a stream without a
        change much of it is on late ones. `change_points` tests.
        """
        return self._estimator.restart_weights()

    @exclusive
    def change_points(self) -> list[Change]:
        """When the law of the stream changed: the first round of each new law, when the alarm came, and the evidence.

        A calibrated test on the losses of restarts, with fewer than `false_alarms` a round where nothing changes, up
        to 1.6 times as many where rare bursts come and go (`learners.change_points` says what is proved and what is
        measured). It needs about 72 + 0.2 / false_alarms rounds since the first, or the last alarm, and restarts that
        live for more than 72 rounds.

        >>> from oskaar import SALAMI, losses
        >>> learner = SALAMI(losses.ZeroOne("ab"))
        >>> learner.partial_fit([[0.0]] * 320, "a" * 300 + "b" * 20).change_points()[0].round
        301
        """
        return list(self._estimator.changes.found)

    @exclusive
    def expert_weights(self) -> Array:
        """The weights (kernels or feature maps, lams), summed over restarts."""
        mixture = self._estimator
        weights: Array = mixture.weights.of_restarts(mixture.births).sum(axis=1)
        return weights.reshape(-1, len(self.lams))

    @exclusive
    def effective_dimension(self, probes: int | None = None) -> float:
        """sum_s p_t(s) d_eff(rows since s), over lams and kernels too: how much there is to learn now.

        It falls when the mixture turns to a younger restart. probes: an estimate from so many random vectors, in
        O(t^2) each, where t^3 would take long; None is exact.

        >>> from oskaar import SALAMI, kernels, losses
        >>> learner = SALAMI(losses.ZeroOne("ab"), kernels.Constant(), lam=1.0, restarts=None)
        >>> round(learner.partial_fit([[0.0]] * 3, "aaa").effective_dimension(), 12)                # 3 / (3 + 1)
        0.75
        """
        return self._estimator.effective_dimension(probes)

    def __repr__(self) -> str:
        settings = f"lam={self.lam!r}, eta={self.eta!r}, restarts={self.restarts!r}"
        return f"SALAMI({self.loss!r}, kernel={self.kernel!r}, {settings})"

r"""SALAMI, Algorithms 2 and 3: Structured prediction ALgorithm with Aggregating MIxture.

Experts are OSKAAR restarted at every round s = 1..t, for each lam of a grid and each kernel of a list; their
estimates g_{s:t} are mixed with exponential weights p_t(s), and the mixture is decoded:

    g_t = sum_s p_t(s) g_{s:t}(x_t),     z_t = argmin_z <psi(z), g_t>
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from oskaar import state, theory
from oskaar.arrays import Array, fit_columns, spans
from oskaar.features import FeatureMap
from oskaar.features.straight import Straight
from oskaar.guards import exclusive, writing
from oskaar.inputs import Block, Inputs
from oskaar.learners.ahead import Ahead, charge, mix, rows_of
from oskaar.learners.base import inputs_for, require_loss
from oskaar.learners.certificate import Hindsight
from oskaar.learners.change_points import RATE, Change, ChangeDetector
from oskaar.learners.company import Company, Ridges
from oskaar.learners.dimensions import mixed_dimension
from oskaar.learners.experts import FeatureExperts, KernelExperts, first_expert
from oskaar.learners.growing import charges, together
from oskaar.learners.jury import Jury, mixed, panels_of, steady
from oskaar.learners.mixture import Mixture, softmax
from oskaar.learners.online import OnlineLearner
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
from oskaar.losses import Loss, Space
from oskaar.memory import held

GRID, RIDGES = (0.05, 0.5), (0.05, 0.5, 2.0)
"""The default lams, and those of company where nothing is given."""


ETA, SCALED = 0.5, 0.5
"""The default rate with a kernel of one's own, and the scaled one (`learners.mixture`) without."""

STRAIGHT = 256
"""Up to so many features the linear kernel of company is features itself."""

LATER = -4.0
"""The logarithm of the prior weight of restarts after the first, where nothing is given."""

RIDGE, OTHERS = -1.0, -3.0
"""Logarithms of prior weights in company: of ridge regressions, and of others."""


class SALAMI(OnlineLearner):
    r"""Online structured prediction on streams whose distribution changes.

    loss: what a mistake costs (`oskaar.losses`).
    kernel: similarity of inputs, or a list of kernels to mix. None is a smooth one on standardised features
        (`kernels.standardised_kernels`); Cosine() + 1 for sparse and dict rows. Give every kernel an intercept
        (`+ 1.0`): a newborn expert knows nothing else.
    lam: regularisation, or a grid of them to mix; None is (0.05, 0.5).
    eta: learning rate of the mixture. 1/8 is what the theorem asks of estimates in the unit ball; larger ones
        adapt faster and are often better, and have no theorem. "theory" is 1/8 for projected experts, else the
        paper's 1 / (2 (kappa bound + 1)^2); "scaled" is 0.5 over the mean loss so far. None is "scaled" where nothing
        else is given either, else 0.5.
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
    company: experts that the paper does not have, with less weight to begin with (`learners.company`): ridge
        regressions that never restart, also with a rough kernel and a linear one where none is given, differences
        of labels, the last label and the mean. None is True where neither kernel, lam, eta nor features are given.
        With a window there are no regressions. Where there is company, and a round is one row, parts of the mixture
        are also judged by what their own answers cost (`learners.jury`).
    false_alarms: change points a round on a stream whose law does not change, at most about; 0.0001 to 0.01.
        `change_points` needs about 72 + 0.2 / false_alarms rounds before it can find one.

    A round costs O(t^2) for all t restarts together. Equivalent to tests/naive.py::salami,
    and to untuned_salami there where nothing is given.

    >>> from oskaar import SALAMI, losses
    >>> learner = SALAMI(losses.ZeroOne("ab"))
    >>> for y in "a" * 20 + "b" * 20:
    ...     learner.learn_one([0.0], y)
    >>> learner.predict_one([0.0])
    'b'
    """

    _derived = ("lams", "kernels", "rate")
    _scales = _untuned = _sociable = False
    false_alarms = RATE
    _world: Mixture | None = None
    _guests: Company | None = None
    _jury: Jury | None = None

    def __init__(
        self,
        loss: Loss,
        kernel: Any = None,
        lam: float | Iterable[float] | None = None,
        eta: float | Literal["theory", "scaled"] | None = None,
        restarts: Literal["all", "geometric"] | None = "all",
        shifted: bool = False,
        features: FeatureMap | list[FeatureMap] | None = None,
        window: int | None = None,
        project: bool | None = None,
        bound: float | None = None,
        budget: int | None = None,
        max_bytes: int | None = None,
        company: bool | None = None,
        false_alarms: float = RATE,
    ) -> None:
        self.lam, self.eta = lam, eta
        self._untuned = kernel is None and lam is None and eta is None and features is None and not shifted
        self.lams = grid_of(GRID if lam is None else lam)
        self.kernels = kernels_of(kernel)
        self.features, self.budget = features, budget
        self.restarts = restarts_of(restarts)
        with_features = features is not None or budget is not None
        self._schedule = "geometric" if with_features and restarts == "all" else restarts
        require_projection(project, shifted)
        self.shifted, self.project, self.bound = shifted, project, bound
        self.window, self._kept = window, window_of(window)
        self._scales = eta == "scaled" or self._untuned
        self.rate = (
            SCALED if self._scales else rate_of(ETA if eta is None else eta, self._projects, self.kernels, bound)
        )
        self.company, self.false_alarms = company, rate_of_alarms(false_alarms)
        self._sociable = bool(self._untuned if company is None else company) and not shifted
        super().__init__(require_loss(loss), kernel, max_bytes)

    @exclusive
    def restart_weights(self) -> tuple[NDArray[np.int64], Array]:
        """(rounds, p_t): the weights of the restarts s = 1..t for the next round, the newborn t included.

        Exponential weights, summed over lams and kernels; `company` apart. They say which restarts the estimate of
        the paper's mixture is made of. They are no probabilities of when the law changed: they scale with eta,
        before it began a restart is charged what the mixture paid, and restarts whose estimates are equally good
        share the weight, so that on a stream without a change much of it is on late ones. `change_points` tests.
        """
        alive = self._alive()
        return alive + 1, (self._world or self._mixture).weights(alive).sum(axis=0)

    @exclusive
    def change_points(self) -> list[Change]:
        """When the law of the stream changed: the first round of each new law, when the alarm came, and the evidence.

        A calibrated test on the losses of restarts, with about `false_alarms` a round or fewer where nothing changes
        (`learners.change_points` says what is proved and what is measured). It needs about 72 + 0.2 /
        false_alarms rounds since the first, or the last alarm, and restarts that live for more than 72 rounds.

        >>> from oskaar import SALAMI, losses
        >>> learner = SALAMI(losses.ZeroOne("ab"))
        >>> learner.partial_fit([[0.0]] * 320, "a" * 300 + "b" * 20).change_points()[0].round
        301
        """
        return list(self._changes.found)

    @exclusive
    def expert_weights(self) -> Array:
        """The weights (kernels or feature maps, lams), summed over restarts; what is missing to 1 is `company`'s."""
        weights: Array = self._mixture.weights(self._alive()).sum(axis=1)
        return weights.reshape(-1, len(self.lams))

    @exclusive
    def company_weights(self) -> dict[str, float]:
        """The weights of `company`, by name; none without it.

        They come from the squared loss, like `expert_weights`, and with these add up to 1. What a jury makes of the
        parts of the mixture is not in them (docs/defaults.md).

        >>> from oskaar import SALAMI, losses
        >>> list(SALAMI(losses.ZeroOne("ab")).company_weights())[-2:]
        ['the last label', 'the mean']
        """
        if self._guests is None:
            return {}
        names = [_name(expert, self._kernel_names, self._ridge_lams) for expert in self._guests.names]
        return dict(zip(names, self._mixture.shares(self._alive())[1].tolist(), strict=True))

    @exclusive
    def effective_dimension(self, probes: int | None = None) -> float:
        """sum_s p_t(s) d_eff(rows since s), over lams and kernels too: how much there is to learn now.

        probes: an estimate from so many random vectors, in O(t^2) each, where t^3 would take long; None is exact.

        >>> from oskaar import SALAMI, kernels, losses
        >>> learner = SALAMI(losses.ZeroOne("ab"), kernels.Constant(), lam=1.0, restarts=None)
        >>> round(learner.partial_fit([[0.0]] * 3, "aaa").effective_dimension(), 12)                # 3 / (3 + 1)
        0.75
        """
        alive = self._experts.starts_alive
        if not len(alive):
            return 0.0
        weights = (self._world or self._mixture).weights(self._alive())
        return mixed_dimension(self._experts, weights[:, : len(alive)], probes)

    # ---------------------------------------------------------------- the five methods of a learner

    @property
    def _projects(self) -> bool:
        return (self.project is None or bool(self.project)) and not self.shifted

    def _takes_scales(self) -> bool:
        return self.features is None and any(kernel is None for kernel in self.kernels)

    def _kernels(self) -> list[Any]:
        """The kernels, with those of standardised features in place of None once there are some."""
        scaled: list[Any] = [None] if self._scaled is None else self._scaled[: None if self._ridged else 1]
        return [k for kernel in self.kernels for k in (scaled if kernel is None else [kernel])]

    @property
    def _ridged(self) -> bool:
        """Whether there is company with more kernels than the paper's experts have."""
        return self._untuned and self._sociable and self._kept is None

    @property
    def _ridge_lams(self) -> list[float]:
        return list(RIDGES) if self._untuned else self.lams

    @property
    def _kernel_names(self) -> list[str]:
        return ["smooth", "linear", "rough"] if self._ridged and self._scaled else []

    def _make_maps(self) -> None:
        self._maps = maps_of(self._kernels(), self.features, self.budget, min(self.lams))

    def _new_inputs(self) -> Inputs:
        maps: list[FeatureMap | None] = [*self._maps] or [None] * len(self._kernels())
        kernels = [None] * len(maps) if self._maps else self._kernels()
        renewed = self._schedule is not None and any(m.renews for m in self._maps)
        return inputs_for(kernels, maps, self.loss.parts, keep=renewed)

    def _restart(self) -> None:
        lams = [4.0 * lam if self.shifted else lam for lam in self.lams]
        self._experts: KernelExperts | FeatureExperts
        mine = 1 if self._ridged else None
        if self._maps:
            self._experts = FeatureExperts(self._inputs, self._maps[:mine], lams, self._schedule, self._kept)
        else:
            self._experts = KernelExperts(self._inputs, lams, self._schedule, self._kept, mine)
        self._guests = self._new_company() if self._sociable else None
        names = self._guests.names if self._guests else []
        guests = [RIDGE if kind == "ridge" else OTHERS for kind, _, _ in names]
        later = LATER if self._untuned else 0.0
        self._mixture = Mixture(self.rate, self._experts.kinds, 0.0, self._scales, later, guests)
        eta = ETA if self._scales else self.rate
        self._world = Mixture(eta, self._experts.kinds) if self._guests or self._scales else None
        self._changes = ChangeDetector(self.false_alarms)
        self._jury = Jury(self._tallies) if self._panels else None

    @property
    def _tallies(self) -> int:
        """How many the jury judges: the whole, the panels, and those that also speak by scores."""
        return 1 + len(self._panels) + len(self._scorers)

    @property
    def _panels(self) -> dict[tuple[str, int | None], list[int]]:
        """Parts of the mixture that are judged on their own: each kernel, those of the paper with the first; others.

        Places among the paper's experts together, 0, and company, 1, 2, ...
        """
        if self._guests is None or self.loss.parts:
            return {}
        panels: dict[tuple[str, int | None], list[int]] = {("ridge", 0): [0]}
        for place, (kind, k, _) in enumerate(self._guests.names):
            panels.setdefault((kind, k), []).append(place + 1)
        return panels

    @property
    def _scorers(self) -> list[int]:
        """Who also speaks by scores where the loss has some: the whole, 0, and the panel of the linear kernel."""
        if not self._panels or self.loss.scored(np.zeros((0, self.loss.space().p))) is None:
            return []
        linear = ("ridge", self._kernel_names.index("linear")) if self._kernel_names else None
        return [0, *(i for i, panel in enumerate(self._panels, 1) if panel == linear)]

    def _new_company(self) -> Company:
        """Ridge regressions with each kernel or map; where rounds are made of parts, with those the paper's lack."""
        sources: list[FeatureMap | None] = [*self._maps] or [None] * len(self._inputs.kernels)
        scaled: Any = self._scaled
        if self._kernel_names and (features := Straight(scaled[1].left)).dim <= STRAIGHT:
            sources[1] = features
        first = 1 if self.loss.parts else 0
        ridges = (
            []
            if self._kept is not None
            else [Ridges(self._inputs, k, sources[k], self._ridge_lams) for k in range(first, len(sources))]
        )
        return Company(ridges, labels=not self.loss.parts)

    def _room(self) -> int:
        return self._experts.room

    def _operations(self) -> int:
        return self._experts.operations + (self._guests.operations if self._guests else 0)

    def _growth(self, rows: int) -> int:
        if self._guests is None:
            return self._experts.growth(rows)
        more = self._ridged and self._scaled is None and self._early is not None and self._early.until_due <= rows
        company = self._guests.growth(rows) + (2 * held(self._guests) if more else 0)  # one kernel becomes three
        return self._experts.growth(rows) + company

    @property
    def advice(self) -> str:  # type: ignore[override]
        """What to do when memory ends."""
        return self._experts.advice

    def _forecast(self, block: Block) -> Ahead:
        ahead = self._estimate(self._begin(block, [block.n], None, [self._space]), 0, self._space)
        ahead.G = ahead.whole
        if self._jury is not None:
            ahead.G = mixed(self._jury.shares()[None], self._said_by_panels(ahead))
        return ahead

    def _update(self, forecast: Ahead, Phi: Array, space: Space) -> None:
        self._observe(forecast, 0, Phi, space)
        forecast.Phi = Phi
        self._append(forecast)

    def _forecast_chunk(self, chunk: Block, Phi: Array, ends: Any, spaces: list[Space]) -> Ahead:
        ahead = self._begin(chunk, ends, None if self.shifted else Phi, spaces)
        everything = self._experts.everything(ahead.begun)
        if everything is not None:
            return self._mixed(ahead, *everything, Phi, spaces)
        estimates = []
        for i, (lo, hi) in enumerate(spans(ends)):
            self._estimate(ahead, i, spaces[i])
            estimates.append(fit_columns(ahead.whole, Phi.shape[1]))
            self._observe(ahead, i, np.ascontiguousarray(Phi[lo:hi, : spaces[i + 1].p]), spaces[i + 1])
        ahead.G = np.concatenate(estimates)
        return ahead

    def _hear(self, ahead: Ahead, spaces: list[Space], ys: list[Any], ends: Any) -> None:
        """Judge the panels, and mix them as they stand in each round."""
        if self._jury is None:
            return
        said = self._said_by_panels(ahead)
        answers = [self._answers(spaces, steady(G), ends) for G in said]
        losses = np.array([[self.loss(z, y) for z, y in zip(zs, ys, strict=True)] for zs in answers])
        shares, ahead.jury = self._jury.after(losses.T)
        ahead.G = mixed(shares, said)

    def _said_by_panels(self, ahead: Ahead) -> Array:
        """(tallies, rows, p): the whole, each panel, and some of them by scores."""
        scorers = self._scorers
        p = max(ahead.said.shape[2], self.loss.p if scorers else 0, *(G.shape[1] for G in ahead.blocks))
        block = np.concatenate([fit_columns(G, p) for G in ahead.blocks])
        everyone = np.concatenate([block[None], fit_columns(ahead.said, p)])
        said = panels_of(list(self._panels.values()), np.array(ahead.logs), everyone)
        scored: list[Any] = [self.loss.scored(said[i]) for i in scorers]
        return np.concatenate([said, scored]) if scored else said

    @exclusive
    def _end_stream(self) -> None:
        with writing(self):
            self._experts.settle()

    def _append(self, ahead: Ahead) -> None:
        self._experts.commit(ahead.begun)
        if self._guests is not None and ahead.visit is not None:
            self._guests.commit(ahead.visit, ahead.Phi)
        self._mixture, self._world, self._changes = ahead.mixture, ahead.world, ahead.changes
        self._jury = ahead.jury

    def _commit(self, block: Block, space: Space, happened: Any) -> None:
        super()._commit(block, space, happened)
        self._experts.tidy(block)

    def _hindsight(self) -> Hindsight | None:
        """The price of the mixture, and of KAAR from the first round on, for the best lam and kernel in hindsight.

        With log det(I + K / lam) in place of its bound by d_eff. Asks for eta <= 1/8 and projected experts, which
        make the losses exp-concave; for no jury, which moves the estimate; for all rows since the first; and for
        rounds of one row.
        """
        T, kinds, guests = self.rounds, self._experts.kinds, len(self._mixture.guests)
        if not isinstance(self._experts, KernelExperts):
            return None
        fixed = not self._mixture.scaled and self._mixture.eta <= theory.salami_eta(1.0, 1.0)
        covered = self._projects and fixed and self._jury is None
        if not T or not covered or self._inputs.n != T or self._kept is not None:
            return None
        fits = [first_expert(solver, self._space) for solver in self._experts.solvers]
        price = theory.mixture_regret((kinds if self._schedule is None else kinds * T) + guests, self._mixture.eta)
        spread, fit = min(fits, key=sum)
        return Hindsight(price + spread + fit, None, fit)

    # ---------------------------------------------------------------- inside

    def _begin(self, chunk: Block, ends: Any, targets: Array | None, spaces: list[Space]) -> Ahead:
        begun = self._experts.begin(chunk, ends, targets)
        visit = self._guests.forecast(chunk, ends, targets) if self._guests else None
        said = np.zeros((0, chunk.n, 0))
        if visit:
            said = self._inside_each(visit.estimates.swapaxes(0, 1), spaces, ends).swapaxes(0, 1)
        Phi = np.zeros((0, 0)) if targets is None else targets
        return Ahead(begun, visit, self._mixture, self._world, self._changes, self._jury, said, ends, Phi)

    def _estimate(self, ahead: Ahead, i: int, space: Space) -> Ahead:
        """Mix the experts of round i, and remember them until its label is observed."""
        ahead.restarts = ahead.begun.blocks[0].restarts(i)
        ahead.experts = [self._inside(E, space) for E in self._experts.estimates(ahead.begun, i)]
        logs, guests = ahead.mixture.log_shares(ahead.restarts)
        weights, mass = softmax(logs)
        ahead.blocks.append(mix(weights, ahead.experts))
        ahead.logs.append(np.append(mass, guests))
        ahead.whole = ahead.blocks[-1]
        if len(guests):
            shares, _ = softmax(ahead.logs[-1])
            said = np.tensordot(shares[1:], ahead.said[:, rows_of(ahead.ends, i), : space.p], axes=1)
            p = max(ahead.whole.shape[1], said.shape[1])
            ahead.whole = shares[0] * fit_columns(ahead.whole, p) + fit_columns(said, p)
        return ahead

    def _observe(self, ahead: Ahead, i: int, Phi: Array, space: Space) -> None:
        """Charge the experts of round i, give all solvers their targets."""
        G = fit_columns(ahead.whole, Phi.shape[1])
        target = 2 * Phi - G if self.shifted else Phi
        losses = np.array([charge(self._shift(E, G), Phi, space) for E in ahead.experts])
        own = float(space.squared_norms(Phi - G).sum()) / len(Phi)
        guests = charge(ahead.said[:, rows_of(ahead.ends, i)], Phi, space)
        ahead.mixture = ahead.mixture.after(ahead.restarts, losses, own, guests)
        if ahead.world is not None:
            G = fit_columns(mix(ahead.world.weights(ahead.restarts), ahead.experts), Phi.shape[1])
            own = float(space.squared_norms(Phi - G).sum()) / len(Phi)
            ahead.world = ahead.world.after(ahead.restarts, losses, own)
        ahead.changes = ahead.changes.after(self.rounds + i + 1, ahead.restarts, losses)
        for block in ahead.begun.blocks:
            block.observe(i, target)

    def _mixed(self, ahead: Ahead, starts: Any, E: Array, Phi: Array, spaces: list[Space]) -> Ahead:
        """`_estimate` and `_observe` for rounds of one row whose estimates (rounds, kinds, S, p) are known."""
        E = self._inside_each(E, spaces, ahead.ends)
        losses = charges(E, Phi, spaces[1:], ahead.ends)
        said = np.ascontiguousarray(fit_columns(ahead.said, Phi.shape[1]).transpose(1, 0, 2))
        charged = charges(said, Phi, spaces[1:], ahead.ends)
        known = [space.p for space in spaces]

        def own(i: int, G: Array) -> float:
            p = known[i + 1]
            return float(spaces[i + 1].squared_norms(Phi[i, :p] - fit_columns(G, p)))

        ahead.mixture, _, block, logs = ahead.mixture.through(starts, E, losses, own, said, charged, known)
        ahead.blocks, ahead.logs, ahead.G = [block], list(logs), block
        if len(ahead.said):
            ahead.G = panels_of([], logs, np.concatenate([block[None], said.swapaxes(0, 1)]))[0]
        if ahead.world is not None:
            ahead.world, _, _, _ = ahead.world.through(starts, E, losses, own, said[:, :0], charged[:, :0], known)
        ahead.changes = ahead.changes.through(self.rounds, starts, losses)
        return ahead

    def _shift(self, E: Array, G: Array) -> Array:
        """What an expert is charged for: its estimate, or, in Algorithm 3, half way to the mixture's."""
        if not self.shifted:
            return E
        return (fit_columns(E, G.shape[1]) + G) / 2

    def _inside(self, E: Array, space: Space) -> Array:
        """Estimates (..., p) on the unit ball, which holds every phi: their loss cannot grow."""
        if not self._projects or E.size == 0:
            return E
        E = fit_columns(E, space.p)
        norms = np.sqrt(space.squared_norms(E))
        if norms.max() <= 1.0:
            return E
        inside: Array = E / np.maximum(norms, 1.0)[..., None]
        return inside

    def _inside_each(self, E: Array, spaces: list[Space], ends: Any) -> Array:
        """`_inside` for estimates (rows, ..., p) of several rounds, in the coordinates known before each of them."""
        if not (self._projects and spaces[0].grows):
            return self._inside(E, spaces[0])
        inside, rows = E.copy(), spans(ends)
        for space, first, stop, end in together(spaces[: len(rows)]):
            lo, kept, hi = rows[first][0], rows[stop - 1][1], rows[end - 1][1]
            here = self._inside(fit_columns(E[lo:hi], space.p), space)
            inside[lo:kept, ..., : space.p] = fit_columns(here[: kept - lo], inside[..., : space.p].shape[-1])
        return inside

    def _alive(self) -> NDArray[np.int64]:
        """The restarts of the next round."""
        alive = self._experts.starts_alive
        if self._schedule is None and len(alive):
            return alive
        return np.append(alive, self.rounds)

    def _check_state(self) -> None:
        super()._check_state()
        state.require_kind(self._mixture, Mixture, "the mixture")
        state.require_kind(self._changes, ChangeDetector, "the change detector")
        self._changes.check_state()
        state.require_kind(self._experts, (KernelExperts, FeatureExperts), "the experts")
        state.require(self._experts.inputs is self._inputs, "the experts must have the learner's inputs")
        self._experts.check_state(self.rounds)
        here = (self._experts.kinds, len(self._mixture.restarts))
        state.require(self._mixture.gains.shape == here, "a weight for each expert")
        if self._guests is not None:
            state.require_kind(self._guests, Company, "the company")
            self._guests.check_state(self.rounds)
        names = self._guests.names if self._guests else []
        state.require(len(self._mixture.guest_gains) == len(names), "a weight for each of the company")
        state.require_kind(self._world, (Mixture, type(None)), "the world")
        state.require_kind(self._jury, (Jury, type(None)), "the jury")
        tallies = len(self._jury.sums) if self._jury and np.isfinite(self._jury.worst) else 0
        state.require(tallies == (self._tallies if self._panels else 0), "a tally for each panel")

    def __repr__(self) -> str:
        settings = f"lam={GRID if self.lam is None else self.lam!r}, eta={self.eta!r}, restarts={self._schedule!r}"
        return f"SALAMI({self.loss!r}, kernel={self.kernel!r}, {settings})"


def _name(expert: tuple[str, int | None, int | None], kernels: list[str], lams: list[float]) -> str:
    kind, k, l = expert
    if k is None or l is None:
        return f"the {kind} label" if kind == "last" else f"the {kind}"
    return f"{kind}, {kernels[k] if kernels else f'kernel {k}'}, lam {lams[l]:g}"

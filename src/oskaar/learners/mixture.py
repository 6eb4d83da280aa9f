r"""A mixture of experts with exponential weights, among them some that are born at every round.

    p_t(e) ~ w_e exp(-eta (A_{s-1} + sum_{r=s}^{t-1} loss_r(e))),   A_{s-1} the mixture's own loss before s       (1)

for an expert e born at round s with prior weight w_e. Kept as what an expert has gained on the mixture since it was
born, so that a newborn has 0, nothing grows with t, and no horizon has to be known:

    gain_e <- gain_e + loss_t(mixture) - loss_t(e),      p_t(e) ~ w_e exp(eta gain_e)                              (2)

A scaled rate is eta over the mixture's own mean loss so far (with one loss of 1 before the first): a stream whose
losses are a thousand times smaller is then weighed in the same way.

SALAMI is the mixture of `learners.restarts` alone. `learners.experts` are there from the first round on.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar import state, theory
from oskaar.arrays import Array, Rows, carried, fit_columns, spans
from oskaar.inputs import Block, Compared, Inputs
from oskaar.learners.certificate import Hindsight
from oskaar.learners.change_points import ChangeDetector
from oskaar.learners.labels import Labels
from oskaar.losses import Space
from oskaar.rows import count
from oskaar.saved import saved
from oskaar.solvers.chunks import target_of

LEAST = 1e-12
"""The least mean loss that is distinguished from 0."""

HOPELESS = 20.0
"""The logarithm of how many times the weight of the best expert is that of one that may sleep."""

AT_ONCE = 2**20
"""Numbers of the estimates of restarts that are held at once."""


@saved("mixture/weights")
class Weights:
    """Weights of restarts (j, s), kind j born at round s, and of experts that are always there.

    A value that never changes; `after` makes the next one.

    later: the logarithm of the prior weight of restarts after the first.
    priors: logarithms of the prior weights of the experts that are always there.

    >>> weights = Weights(eta=1.0, kinds=1)
    >>> weights.of_restarts(np.array([0]))
    array([[1.]])
    >>> weights = weights.after(np.array([0]), np.array([[1.0]]), np.zeros(0), own=1.0)
    >>> weights.of_restarts(np.array([0, 1]))
    array([[0.5, 0.5]])
    """

    def __init__(
        self, eta: float, kinds: int, scaled: bool = False, later: float = 0.0, priors: Sequence[float] = ()
    ) -> None:
        self.eta, self.scaled, self.later = eta, scaled, later
        self.priors = np.array(priors, dtype=float)
        self.births: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.gains = np.zeros((kinds, 0))
        self.expert_gains = np.zeros(len(self.priors))
        self.paid, self.rounds = 1.0, 1

    @property
    def rate(self) -> float:
        """eta, or eta over the mean loss."""
        return scaled_rate(self.eta, self.paid, self.rounds) if self.scaled else self.eta

    def at(self, births: Any) -> Weights:
        """The same weights, of the restarts of the next round."""
        other = object.__new__(Weights)
        other.__dict__.update(self.__dict__)
        other.births, other.gains = births, carried(self.gains, self.births, births)
        return other

    def logs(self, births: Any, asleep: Sequence[int] = ()) -> tuple[Array, Array]:
        """Logarithms of the weights of restarts (J, S) and of experts (K,), some asleep, but for a constant."""
        rate = self.rate
        logs = rate * carried(self.gains, self.births, births)
        if self.later:
            logs += self.later * (births > 0)
        experts: Array = rate * self.expert_gains + self.priors
        if asleep:
            experts[asleep] = -np.inf
        return logs, experts

    def shares(self, births: Any, asleep: Sequence[int] = ()) -> tuple[Array, Array]:
        """p_t of restarts (J, S) and of experts (K,), some asleep, which add up to 1."""
        logs, experts = self.logs(births, asleep)
        weights, _ = softmax(np.append(logs, experts))
        return weights[: logs.size].reshape(logs.shape), weights[logs.size :]

    def of_restarts(self, births: Any) -> Array:
        """The weights (J, S) of restarts among themselves."""
        return softmax(self.logs(births)[0])[0]

    def after(self, births: Any, losses: Array, experts: Array, own: float) -> Weights:
        """When restarts (J, S) and experts (K,) have had these losses, and the mixture its own."""
        other = self.at(births)
        other.gains = other.gains + (own - losses)  # (2)
        other.expert_gains = self.expert_gains + (own - experts)
        other.paid, other.rounds = self.paid + own, self.rounds + 1
        return other

    def with_gains(self, other: Weights, places: list[int | None]) -> Weights:
        """These priors, with what others have gained: experts are at these places among the others, or nowhere."""
        new = copy.copy(other)
        new.eta, new.scaled, new.later, new.priors = self.eta, self.scaled, self.later, self.priors
        new.expert_gains = np.array([0.0 if i is None else other.expert_gains[i] for i in places])
        return new

    def born(self, places: Sequence[int]) -> Weights:
        """When the experts at these places begin anew: they have gained nothing."""
        new = copy.copy(self)
        new.expert_gains = self.expert_gains.copy()
        new.expert_gains[places] = 0.0
        return new

    def check_state(self, kinds: int, experts: int) -> None:
        """Refuse weights from a file that are not of so many experts."""
        state.require(self.gains.shape == (kinds, len(self.births)), "a weight for each restart")
        state.require(len(self.expert_gains) == len(self.priors) == experts, "a weight for each expert")


@saved("mixture/carried")
@dataclass(frozen=True)
class Carried:
    """The accounts of a mixture after some rounds, for one with the same experts (`learners.refit`).

    corrections: by name, the accounts and the knowledge of those of `learners.corrected`; selection: that of
    `learners.selection`, None where there is none.
    """

    names: list[str]
    weights: Weights
    changes: ChangeDetector
    corrections: dict[str, Any] = field(default_factory=dict)
    selection: Any = None


@dataclass
class PendingMixture:
    """Rounds to come: the experts' estimates, and the weights after the rounds that were observed."""

    restarts: Any
    experts: list[Any]
    E: Array
    """Estimates of the experts that are always there (K, rows, p)."""
    rows: list[tuple[int, int]]
    weights: Weights
    changes: ChangeDetector
    asleep: list[int] = field(default_factory=list)
    """The places of the experts that sleep: they say what the mixture says."""
    basis: Any = None
    """That of the estimates of restarts; None is that of labels."""
    G: Array = field(default_factory=lambda: np.zeros((0, 0)))
    births: Any = None
    current: Any = None
    """Estimates of the present round: of restarts (J, S, n, p); of experts (K, n, p); of the whole (n, p)."""
    logs: list[Array] = field(default_factory=list)
    """By round, logarithms (1 + K,) of the weight of all restarts together and of each expert."""
    means: list[Array] = field(default_factory=list)
    """By round, the mean (n, p) of the restarts."""
    each: list[Array] = field(default_factory=list)
    """By round, the estimates (K, n, p) of the experts."""

    @property
    def mixture(self) -> PendingMixture:
        """Itself: corrected ones have one inside."""
        return self

    @cached_property
    def members(self) -> Array:
        """The estimates (1 + K, rows, p) of all restarts together and of each expert, when all rounds are mixed."""
        return joined([joined(self.means, 0)[None], joined(self.each, 1)], 0)


@saved("estimator/mixture")
class Mixture:
    """An estimator: the mean of the experts' estimates, weighted by their losses.

    restarts: the experts that are born at every round; experts: those that are always there.
    project: estimates are moved into the unit ball, which holds every phi, so that no loss can grow.
    shifted: Algorithm 3.
    """

    def __init__(
        self,
        inputs: Inputs,
        restarts: Any,
        experts: list[Any],
        weights: Weights,
        project: bool,
        shifted: bool,
        changes: ChangeDetector,
    ) -> None:
        self.inputs, self.restarts, self.experts, self.weights = inputs, restarts, experts, weights
        self.project, self.shifted, self.changes = project, shifted, changes
        self.rounds = 0

    @property
    def mixture(self) -> Mixture:
        """Itself: `learners.selection` and `learners.corrected` have one inside."""
        return self

    @property
    def advice(self) -> str:
        """What to do when memory ends."""
        return str(self.restarts.advice)

    @property
    def room(self) -> int:
        """As many rows as each of them takes at a time."""
        return min(int(group.room) for group in (self.restarts, *self.experts))

    @property
    def operations(self) -> int:
        """Those of all experts."""
        return sum(group.operations for group in (self.restarts, *self.experts))

    @property
    def births(self) -> NDArray[np.int64]:
        """The restarts of the next round, by the round at which each was born, counted from 0."""
        births: NDArray[np.int64] = self.restarts.births(self.rounds)
        return births

    @property
    def names(self) -> list[str]:
        """What each expert that is always there is called."""
        return [name for group in (self.restarts, *self.experts) for name in group.names]

    @property
    def asleep(self) -> list[int]:
        """The places, among these, of those that sleep."""
        groups = [(group, name) for group in self.experts for name in group.names]
        return [i for i, (group, _) in enumerate(groups, len(self.restarts.names)) if group.asleep]

    def shares(self) -> tuple[Array, Array]:
        """The weights in the next round of restarts (kinds, births) and of the experts that are always there."""
        return self.weights.shares(self.births, self.asleep)

    def restart_weights(self) -> tuple[NDArray[np.int64], Array]:
        """(rounds, counted from 1, weights): those of restarts among themselves, summed over kinds."""
        births = self.births
        return births + 1, self.weights.of_restarts(births).sum(axis=0)

    def growth(self, rows: int) -> int:
        """What all experts take."""
        return sum(group.growth(rows) for group in (self.restarts, *self.experts))

    def forecast(self, block: Block, space: Space) -> PendingMixture:
        pending = self._begin(block, [block.n], None, space)
        self._mix(pending, 0, space)
        pending.G = pending.current[2]
        return pending

    def observe(self, pending: PendingMixture, labels: Labels) -> PendingMixture:
        """The label of a round."""
        self._charge(pending, 0, labels)
        pending.experts = [e.observe(one, labels) for e, one in zip(self.experts, pending.experts, strict=True)]
        self._begin_anew(pending)
        return pending

    def forecast_chunk(self, block: Block, labels: Labels) -> PendingMixture:
        """Several rounds: each is mixed, then its label is observed."""
        pending, estimates = self._begin(block, labels.ends, labels, labels.spaces[0]), []
        if labels.spaces[0].euclidean and not self.shifted:
            pending.basis = self.restarts.compress(pending.restarts)
        for i in range(len(labels.ys)):
            self._mix(pending, i, labels.spaces[i])
            estimates.append(fit_columns(pending.current[2], labels.Phi.shape[1]))
            self._charge(pending, i, labels)
        self._begin_anew(pending)
        pending.G = np.concatenate(estimates)
        return pending

    def forecast_experts(self, block: Block, labels: Labels) -> PendingMixture:
        """Several rounds for the experts alone, each after the labels of those before it: weights stay."""
        pending = self._begin(block, labels.ends, labels, labels.spaces[0])
        for i in range(len(labels.ys)):
            self.restarts.observe(pending.restarts, i, labels.targets(i))
        return pending

    def commit(self, pending: PendingMixture) -> None:
        """Learn rounds that were observed."""
        self.restarts.commit(pending.restarts)
        for expert, one in zip(self.experts, pending.experts, strict=True):
            expert.commit(one)
        self.weights, self.changes = pending.weights, pending.changes
        self.rounds += len(pending.rows)

    def carried(self, pending: PendingMixture) -> Carried:
        """The accounts after rounds that were observed."""
        return Carried(self.names, pending.weights, pending.changes)

    def with_experts(self, restarts: Any, experts: list[Any], rounds: int) -> Mixture:
        """The same mixture with restarts and experts that have seen so many rounds."""
        new = copy.copy(self)
        new.restarts, new.experts, new.rounds = restarts, experts, rounds
        return new

    def fitted(self, mixture: Mixture, rows: Rows, accounts: Carried) -> Mixture:
        """A mixture whose experts have seen rounds with these rows, with the accounts of another.

        Groups of experts that are hopeless by weight, and are not judged by Delta, sleep from here on.
        """
        new = mixture.with_experts(mixture.restarts, mixture.experts, count(rows))
        here = {name: i for i, name in enumerate(accounts.names)}
        new.weights = self.weights.with_gains(accounts.weights, [here.get(name) for name in self.names])
        new.changes = accounts.changes
        new.experts = new._without_hopeless()
        return new

    def continue_from(self, other: Mixture) -> None:
        """Experts that were born at a change go on with what those of another mixture know, after as many rounds."""
        self.experts = [expert.continued(other.experts, self.rounds) for expert in self.experts]

    def each(self, block: Block, ends: Any, space: Space) -> Array:
        """Some rounds at a time, all from the present state."""
        return estimates_of_each(self, block, ends, space)

    def forecast_each(self, block: Block, space: Space) -> PendingMixture:
        """Rounds of one row each, all from the present state. They cannot be observed."""
        compared, rounds = Compared(self.inputs, block), [(0, block.n)]
        E = _stacked([expert.each(compared, space) for expert in self.experts], block.n)
        pending = PendingMixture(None, [], E, rounds, self.weights, self.changes, self.asleep)
        births, estimates, ridges = self.restarts.each(compared)
        self._mixed(pending, 0, births, estimates, ridges, space)
        pending.G = pending.current[2]
        return pending

    def effective_dimension(self, probes: int | None = None) -> float:
        """sum_s p_t(s) d_eff(rows since s), over kinds of restarts too."""
        alive = self.restarts.starts_alive
        if not len(alive):
            return 0.0
        weights = self.weights.of_restarts(self.births)
        return float(self.restarts.effective_dimension(weights[:, : len(alive)], probes))

    def hindsight(self, space: Space, rounds: int) -> Hindsight | None:
        """The price of the mixture, and of KAAR from the first round on, for the best lam and kernel in hindsight.

        With log det(I + K / lam) in place of its bound by d_eff. Asks for eta <= 1/8 and estimates in the unit ball,
        which make the losses exp-concave; for all rows since the first; and for rounds of one row.
        """
        covered = self.project and not self.weights.scaled and self.weights.eta <= theory.salami_eta(1.0, 1.0)
        fits = self.restarts.hindsight(space, rounds) if rounds and covered else []
        if not fits:
            return None
        later = 0 if self.restarts.first_only else rounds - 1
        lives = [1 for _ in self.restarts.names] + [group.lives for group in self.experts for _ in group.names]
        mass = self.restarts.kinds * (1 + later * math.exp(self.weights.later)) + float(
            np.exp(self.weights.priors) @ lives
        )
        spread, fit = min(fits, key=sum)  # of the first restart, whose prior weight is 1
        return Hindsight(theory.mixture_regret(mass, self.weights.eta) + spread + fit, None, fit)

    def check_state(self, inputs: Inputs, space: Space, rounds: int) -> None:
        """Refuse a mixture from a file that cannot have seen these rounds."""
        state.require(self.inputs is inputs is self.restarts.inputs, "experts must have the learner's inputs")
        state.require(self.rounds == rounds, "the mixture must have learned as many rounds")
        state.require_kind(self.weights, Weights, "the weights")
        state.require_kind(self.changes, ChangeDetector, "the change detector")
        self.changes.check_state()
        self.restarts.check_state(rounds)
        for expert in self.experts:
            expert.check_state(inputs, rounds)
        self.weights.check_state(self.restarts.kinds, len(self.names))

    # ---------------------------------------------------------------- inside

    def _begin(self, block: Block, ends: Any, labels: Labels | None, space: Space) -> PendingMixture:
        """Rounds to come; with labels, their targets are known but for Algorithm 3, whose targets hold g_t."""
        compared = Compared(self.inputs, block)
        restarts = self.restarts.begin(compared, ends, None if labels is None or self.shifted else labels.Phi)
        experts = [expert.forecast(compared, space, labels) for expert in self.experts]
        E = _stacked([one.estimates for one in experts], block.n)
        return PendingMixture(restarts, experts, E, spans(ends), self.weights, self.changes, self.asleep)

    def _mix(self, pending: PendingMixture, i: int, space: Space) -> None:
        """The estimate of round i, from the weights after the rounds before it."""
        births, estimates = self.restarts.births_of(pending.restarts, i), self.restarts.estimates(pending.restarts, i)
        ridges = [self.restarts.ridges(pending.restarts, i)] if self.restarts.names else []
        self._mixed(pending, i, births, estimates, ridges, space)

    def _mixed(
        self, pending: PendingMixture, i: int, births: Any, estimates: list[Array], ridges: list[Array], space: Space
    ) -> None:
        """The estimate, from those of restarts, (S, n, p) by kind, of their ridge regressions, and of experts."""
        lo, hi = pending.rows[i]
        basis = pending.basis
        pending.births, restarts = births, self._inside(_kinds(estimates), basis or space)
        experts = pending.E[:, lo:hi, : space.p]
        if ridges:
            experts = _stacked([*ridges, experts], hi - lo)
        experts = self._inside(experts, space)
        pending.weights = pending.weights.at(births)
        logs, expert_logs = pending.weights.logs(births, pending.asleep)
        p, mass = softmax(logs)
        all_logs = np.concatenate([[mass], expert_logs])
        mean = _mean(p, restarts)  # Algorithm 2, line 8
        whole = mean = mean if basis is None else basis.vectors(mean)
        if len(experts):
            shares, _ = softmax(all_logs)
            q = max(mean.shape[1], experts.shape[2])
            others = (shares[1:] @ experts.reshape(len(experts), -1)).reshape(experts.shape[1:])
            whole = shares[0] * fit_columns(mean, q) + fit_columns(others, q)
        if pending.asleep:
            experts = fit_columns(experts, whole.shape[1]).copy()
            experts[pending.asleep] = whole
        pending.current = restarts, experts, whole
        pending.logs.append(all_logs)
        pending.means.append(mean)
        pending.each.append(experts)

    def _charge(self, pending: PendingMixture, i: int, labels: Labels) -> None:
        """Every expert pays its loss in round i, and the restarts get their targets."""
        Phi, space = labels.targets(i), labels.spaces[i + 1]
        restarts, experts, whole = pending.current
        G = fit_columns(whole, Phi.shape[1])
        targets, basis = target_of(Phi, G, self.shifted), pending.basis
        if basis is None:
            losses = _loss(self._charged(restarts, G), Phi, space)
        else:
            targets = basis.coordinates(Phi)
            losses = _loss(restarts, targets, basis)
        own = float(_loss(G, Phi, space))
        pending.weights = pending.weights.after(pending.births, losses, _loss(experts, Phi, space), own)  # line 6
        pending.changes = pending.changes.after(self.rounds + i + 1, pending.births, losses)
        self.restarts.observe(pending.restarts, i, targets)

    def _without_hopeless(self) -> list[Any]:
        """The experts, of which groups that have hardly any weight sleep: until others are made in their place."""
        restarts, experts = self.weights.logs(self.births, self.asleep)
        least = max(restarts.max(), experts.max()) - HOPELESS
        first, found = len(self.restarts.names), []
        for expert in self.experts:
            last = first + len(expert.names)
            hopeless = expert.sleeps and experts[first:last].max() < least
            found.append(expert.put_to_sleep() if hopeless else expert)
            first = last
        return found

    def _begin_anew(self, pending: PendingMixture) -> None:
        """Experts that begin anew after these rounds have gained nothing yet."""
        rounds, changes = self.rounds + len(pending.rows), len(pending.changes.found)
        for i, (expert, one) in enumerate(zip(self.experts, pending.experts, strict=True)):
            if expert.begins(one, rounds, changes):
                first = sum(len(group.names) for group in (self.restarts, *self.experts[:i]))
                pending.weights = pending.weights.born(range(first, first + len(expert.names)))

    def _charged(self, E: Array, G: Array) -> Array:
        """What an expert is charged for: its estimate, or, in Algorithm 3, half way to the mixture's."""
        return (fit_columns(E, G.shape[1]) + G) / 2 if self.shifted else E

    def _inside(self, E: Array, space: Space) -> Array:
        """Estimates (..., p) moved into the unit ball: their loss cannot grow."""
        if not self.project or E.size == 0:
            return E
        E = fit_columns(E, space.p)
        squares = space.squared_norms(E)
        if np.maximum.reduce(squares, axis=None) <= 1.0:
            return E
        inside: Array = E / np.sqrt(np.maximum(squares, 1.0))[..., None]
        return inside


def estimates_of_each(estimator: Any, block: Block, ends: Any, space: Space) -> Array:
    """Of rounds all from the present state: those of one row some at a time, others one after the other."""
    if len(ends) != block.n:
        return np.concatenate([estimator.forecast(block.part(lo, hi), space).G for lo, hi in spans(ends)])
    mixture = estimator.mixture
    rows = max(1, AT_ONCE // (mixture.restarts.kinds * len(mixture.births) * max(1, space.p)))
    starts = range(0, block.n, rows)
    return np.concatenate([estimator.forecast_each(block.part(i, min(i + rows, block.n)), space).G for i in starts])


def scaled_rate(eta: float, paid: float, rounds: float) -> float:
    """eta over the mean loss of so many rounds.

    >>> scaled_rate(0.5, paid=20.0, rounds=10)
    0.25
    """
    return eta * rounds / max(paid, LEAST * rounds)


def softmax(logs: Array) -> tuple[Array, float]:
    """Weights that add up to 1, and the logarithm of what they added up to.

    >>> softmax(np.log([1.0, 3.0]))[0]
    array([0.25, 0.75])
    """
    top = np.maximum.reduce(logs, axis=None)
    weights = np.exp(logs - top)
    mass = np.add.reduce(weights, axis=None)
    normalised: Array = weights / mass
    return normalised, float(top + np.log(mass))


def _kinds(estimates: list[Array]) -> Array:
    """(J, S, n, p) of J kinds of restarts."""
    return np.concatenate([E[None] for E in estimates]) if len(estimates) > 1 else estimates[0][None]


def _mean(weights: Array, restarts: Array) -> Array:
    """The mean (n, p) of estimates (J, S, n, p) with weights (J, S)."""
    J, S, n, p = restarts.shape
    mean: Array = restarts.reshape(J * S, n, p).transpose(1, 2, 0) @ weights.ravel()
    return mean


def _loss(E: Array, Phi: Array, space: Space) -> Array:
    """The losses (...) of estimates (..., n, p): the mean over rows of |phi - g|^2."""
    errors = space.squared_norms(Phi - fit_columns(E, Phi.shape[1]))
    return errors[..., 0] if len(Phi) == 1 else errors.sum(axis=-1) / len(Phi)


def _stacked(estimates: list[Array], rows: int) -> Array:
    """(K, rows, p) of several groups."""
    return joined(estimates, 0) if estimates else np.zeros((0, rows, 0))


def joined(estimates: list[Array], axis: int) -> Array:
    """Estimates (..., p) beside each other, which may know of different numbers of coordinates."""
    if len(estimates) == 1:
        return estimates[0]
    widths = {E.shape[-1] for E in estimates}
    if len(widths) > 1:
        p = max(widths)
        estimates = [E if E.shape[-1] == p else fit_columns(E, p) for E in estimates]
    return np.concatenate(estimates, axis=axis)

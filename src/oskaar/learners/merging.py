r"""Learners that saw different rows, merged into one; rows learned as a batch; a shard taken away again.

With a fixed feature map what OSKAAR has learned is a pair of sums over its rows (`solvers.sums`), so that

    merged(a, b)  =  one learner over the rows of both,   in any order and from any number of shards

in its estimates, its counts and what it knows of the labels. total_loss, regret and surrogate_loss add up to those of
the answers that the shards gave; the comparison inequality holds of each round, and so of their sum. Where there
are several decoders, what each has paid adds up too.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from oskaar.alike import difference
from oskaar.arrays import Array, fit_columns, reach, without_rounding
from oskaar.features import FeatureMap, Frozen, Nystrom
from oskaar.guards import writing
from oskaar.inputs import Block
from oskaar.learners.decoders import leader
from oskaar.learners.estimators import FeatureKaar
from oskaar.learners.labels import Labels
from oskaar.learners.learner import Rounds, _happened
from oskaar.learners.reading import read_whole
from oskaar.losses import Space
from oskaar.memory import require_space
from oskaar.requirements import require_whole
from oskaar.rows import pick
from oskaar.solvers.rounding import require_rows
from oskaar.solvers.sums import added, appended, taken_away

BATCH = 2048
"""Rows that are appended to a factor at a time; 8 times as many as there are features where that is more."""

ACCOUNTS = ("rounds", "unanswered", "total_loss", "regret", "surrogate_loss", "_gap", "_drift", "_paid")


def merge(learner: Any, others: Sequence[Any]) -> None:
    """Add to a learner what others have learned, of whom no one else has hold."""
    for other in others:
        require_same(learner, other, "merge")
    everyone, lam = [learner, *others], learner._estimator.solver.lam
    space, inputs = learner._space, copy.copy(learner._inputs)
    for other in others:
        space = space.joined(other._space)
        inputs.store = _joined_store(inputs, other._inputs)
    D = max(one._estimator.solver.dim for one in everyone)
    S = added([_carried(one, D, space) for one in everyone], lam)
    accounts = {name: sum(getattr(one, name) for one in everyone) for name in ACCOUNTS}
    seen = next((one for one in everyone if one._inputs.store is not None), learner)
    _write(learner, S, seen._estimator.features, space, inputs, accounts)


def subtract(learner: Any, other: Any) -> None:
    """Take away from a learner what another has learned, of whom no one else has hold."""
    require_same(learner, other, "subtract")
    space = learner._space.joined(other._space)
    if space.p > learner._space.p or any(getattr(other, n) > getattr(learner, n) for n in ("rounds", "unanswered")):
        raise ValueError(
            "the learner that is taken away must be a part of this one: it has learned "
            f"{other.rounds} rounds, {other.unanswered} of them without an answer, and this one {learner.rounds} and "
            f"{learner.unanswered}" + (", and it has seen other labels." if space.p > learner._space.p else ".")
        )
    _joined_store(learner._inputs, other._inputs)
    solver, lam = learner._estimator.solver, learner._estimator.solver.lam
    S, part = (_carried(one, solver.dim, space) for one in (learner, other))
    without = learner._space.without(other._space)
    accounts = {name: getattr(learner, name) - getattr(other, name) for name in ACCOUNTS}
    if accounts["rounds"]:
        S = taken_away(S, part, lam)
    else:
        S = _nothing_left(S, part, lam)
        accounts = dict.fromkeys(ACCOUNTS, 0) | {"_paid": np.zeros(without.decoders)}
    _write(learner, S, learner._estimator.features, without, learner._inputs, accounts)


def learn_batch(learner: Any, xs: Any, ys: Any, jobs: int, answered_by: Any) -> None:
    """Learn rounds without answering them, in so many threads: sums over their rows."""
    require_whole("jobs", jobs)
    require_sums(learner, "learn_batch")
    block, ends, labels = learner._checked(xs, ys)
    if not labels:
        return
    block = learner._inputs.part(block, 0, block.n)
    space = learner._space
    for y in labels:
        space = space.extended(y)
    batch = _Batch(learner._estimator, block, ends, labels, space, jobs)
    if learner.max_bytes is not None:
        require_space(learner._held() + batch.working, learner.max_bytes, learner._estimator.advice)
    S = batch.sums()
    inputs = copy.copy(learner._inputs)
    inputs.store = copy.copy(inputs.store)
    inputs.append(block)
    counts = dict.fromkeys(ACCOUNTS, 0.0) | {"rounds": len(labels), "unanswered": len(labels)}
    if answered_by is not None:
        counts |= _accounts(answered_by._judged(xs, ys))
    accounts = {name: getattr(learner, name) + more for name, more in counts.items()}
    _write(learner, S, batch.map, space, inputs, accounts)


def judged(learner: Any, xs: Any, ys: Any) -> Rounds:
    """What it costs to answer rounds from the present state, all from the same one; nothing is learned."""
    block, ends, labels = learner._checked(xs, ys)
    block = learner._inputs.part(block, 0, block.n)
    G = learner._estimator.each(block, ends, learner._space)
    known = Labels(learner.loss, learner._space, labels, ends)
    known.spaces = [learner._space, *[known.space] * len(labels)]  # no answer knows any of these labels
    each = learner._space.decode_each(without_rounding(fit_columns(G, learner._space.p)), ends)
    paid = known.losses_of_each(each).sum(axis=0) if len(each) > 1 else None
    return _happened(known, each[leader(learner._paid)], G, paid=paid)


def _accounts(rounds: Rounds) -> dict[str, Any]:
    return {
        "unanswered": 0,
        "total_loss": float(rounds.losses.sum()),
        "regret": float((rounds.losses - rounds.optima).sum()),
        "surrogate_loss": float(rounds.surrogate_losses.sum()),
        "_gap": rounds.gap,
        "_paid": 0.0 if rounds.paid is None else rounds.paid,
    }


class _Batch:
    """Rounds to learn at once: each of some threads takes a share of them."""

    def __init__(
        self, estimator: FeatureKaar, block: Block, ends: Any, ys: list[Any], space: Space, jobs: int
    ) -> None:
        self.solver, self.block, self.ends, self.ys, self.space, self.jobs = (
            estimator.solver,
            block,
            ends,
            ys,
            space,
            jobs,
        )
        Z, self.map = estimator.features.seen(pick(block.rows, slice(0, 1)))  # which may settle its width
        self.D = max(Z.shape[1], self.solver.dim)
        self.rows = max(BATCH, 8 * self.D)

    @property
    def working(self) -> int:
        """The memory that it takes."""
        rows = self.D + min(self.rows, self.block.n)
        return int(8 * self.jobs * 2 * rows * (self.D + self.space.p))

    def sums(self) -> Array:
        """[R, Theta] with the rounds."""
        sums = self.solver.sums
        S = _wide(sums, self.D, fit_columns(sums[:, len(sums) :], self.space.p), self.solver.lam)
        if self.jobs == 1:
            return self._appended(S, 0, len(self.ys))
        cuts = np.linspace(0, len(self.ys), self.jobs + 1).astype(int)
        with ThreadPoolExecutor(self.jobs) as pool:
            nothing = np.zeros(S.shape)
            parts = list(pool.map(lambda lo, hi: self._appended(nothing, lo, hi), cuts[:-1], cuts[1:]))
        for part in parts:
            S = appended(S, part)
        return S

    def _appended(self, S: Array, start: int, end: int) -> Array:
        """[R, Theta] with rounds start..end-1."""
        while start < end:
            first, stop = reach(self.ends, start, self.rows)
            stop = min(stop, end)
            Z = self.map(pick(self.block.rows, slice(first, int(self.ends[stop - 1]))))
            require_rows(self.solver.lam, Z)
            S = appended(S, np.concatenate([Z, self.space.embed_many(self.ys[start:stop])], axis=1))
            start = stop
        return S


def prepared(learner: Any, xs: Any) -> Any:
    """A learner that has seen nothing and whose map is that of a sample, for shards to agree on."""
    fresh = learner.like_new()
    block, _ = fresh._inputs.parse_many(xs)
    if not isinstance(fresh._estimator, FeatureKaar):
        raise ValueError(f"{learner!r} keeps every row and cannot be merged: give features= or budget=.")
    if not block.n:
        raise ValueError("the sample must have at least one row, got none.")
    map = _fitted(fresh, block)
    return type(learner)(**{**learner.get_params(deep=False), "kernel": None, "budget": None, "features": map})


def _fitted(learner: Any, block: Block) -> FeatureMap:
    """The map that has seen a block; it has the schema of its rows, too, or the names of dict rows."""
    map: Any = learner._estimator.features
    if learner._unread is None:
        block = learner._inputs.part(block, 0, block.n)
    else:
        block, reading = read_whole(learner._inputs, block)
    if learner._unread is not None and reading.encoded is not None:
        map = Nystrom(reading.first, learner.budget, ridge=map.ridge)
    after: FeatureMap = map.seen(block.rows)[1]
    schema = None if block.schema is None or block.schema.bag else block.schema
    if after.fixed and block.names is None and schema is None:
        return after
    inner = after.map if isinstance(after, Frozen) else after
    return Frozen(inner, None if block.names is None else list(block.names), schema)


def require_sums(learner: Any, what: str) -> None:
    """Refuse a learner that is not a pair of sums over its rows."""
    estimator = getattr(learner, "_estimator", None)
    if type(estimator) is not FeatureKaar:
        raise ValueError(
            f"{what} needs OSKAAR on features, whose rows are sums, got {learner!r}: give features= or budget=."
        )
    if learner.shifted:
        raise ValueError(f"{what} needs shifted=False: shifted targets 2 phi - g depend on the rounds before each.")
    if not estimator.features.fixed:
        raise ValueError(
            f"{what} needs a map that is the same for all rows, and {estimator.features!r} goes on learning: agree "
            "on it first, learner.prepared(sample), or features=map.fitted(sample)."
        )


def require_other(learner: Any, other: Any) -> Any:
    """Another learner of the same class."""
    if other is learner or type(other) is not type(learner):
        what = "itself" if other is learner else f"a {type(other).__name__}"
        raise TypeError(f"{type(learner).__name__} needs another {type(learner).__name__} here, got {what}.")
    return other


def require_same(learner: Any, other: Any, what: str) -> None:
    """Refuse learners that are not sums over rows in the same coordinates."""
    for one in (learner, other):
        require_sums(one, what)
    settings = [(one.loss, one._estimator.solver.lam, one.features) for one in (learner, other)]
    for name, mine, theirs in zip(("loss", "lam", "features"), *settings, strict=True):
        found = difference(mine, theirs, name)
        if found:
            raise ValueError(f"{what} needs learners with the same {name}: {found}.")
    if learner._inputs.store is not None and other._inputs.store is not None:
        found = difference(learner._estimator.features, other._estimator.features, "features")
        if found:
            raise ValueError(f"{what} needs the same feature map, as it is after the rows: {found}.")
    if other.open_tickets:
        raise ValueError(f"the other learner has {len(other.open_tickets)} open tickets: tell or forget them first.")


def _joined_store(inputs: Any, others: Any) -> Any:
    try:
        return inputs.joined(others)
    except ValueError as error:
        raise ValueError(f"{error} Make the learners of all shards with one learner.prepared(sample).") from None


def _nothing_left(S: Array, part: Array, lam: float) -> Array:
    """[R, Theta] of no rows, where a part is all."""
    D = len(S)
    all, some = (T[:, :D].T @ T for T in (S, part))
    if not np.allclose(all, some, rtol=1e-8, atol=1e-8 * float(np.abs(all).max(initial=0.0))):
        raise ValueError("the learner that is taken away must be a part of this one: as many rounds, but others.")
    return np.concatenate([np.sqrt(lam) * np.eye(D), np.zeros((D, S.shape[1] - D))], axis=1)


def _carried(learner: Any, D: int, space: Space) -> Array:
    """[R, Theta] of a learner with D features, in the coordinates of a space that holds its labels."""
    solver = learner._estimator.solver
    Theta = fit_columns(solver.sums[:, len(solver.sums) :], learner._space.p)
    return _wide(solver.sums, D, space.carried(learner._space, Theta), solver.lam)


def _wide(S: Array, D: int, Theta: Array, lam: float) -> Array:
    """[R, Theta] with D features, and another Theta."""
    d = len(S)
    if d > D:
        raise ValueError(
            f"the learner that is taken away must be a part of this one: it has {d} features, this one {D}."
        )
    wide = np.zeros((D, D + Theta.shape[1]))
    wide[:d, :d] = S[:, :d]
    wide[:d, D:] = Theta
    new = np.arange(d, D)
    wide[new, new] = np.sqrt(lam)
    return wide


def _write(learner: Any, S: Array, map: FeatureMap, space: Space, inputs: Any, accounts: dict[str, Any]) -> None:
    estimator = copy.copy(learner._estimator)
    sums = np.asfortranarray(np.pad(S, ((0, 0), (0, S.shape[1] - len(S)))))
    estimator.features, estimator.solver = map, estimator.solver.with_sums(sums, accounts["rounds"])
    with writing(learner):
        learner._estimator, learner._space, learner._inputs, learner._memo = estimator, space, inputs, None
        for name, value in accounts.items():
            setattr(learner, name, value)

"""The online learner: inputs, a solver and a loss, assembled.

    x_t --kernel--> k(X, x_t) --solver--> g_hat in R^p --loss.decode--> z_t
    y_t --loss.embed--> phi(y_t) --solver--> next state ;  Delta(z_t, y_t) --> regret

A round is checked and computed whole before anything is changed, so a refused one leaves no trace; ctrl-C waits
while it is written down. Threads take turns at the public methods.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import numpy as np

from oskaar import state
from oskaar.arrays import Array, batches, fit_columns, reach, spans, without_rounding
from oskaar.display import html_table
from oskaar.guards import exclusive, writing
from oskaar.inputs import Block, Inputs
from oskaar.learners.base import Predictor, as_labels, require_same_length, schema_for
from oskaar.learners.calibration import Calibration
from oskaar.learners.certificate import Certificate
from oskaar.learners.confidence import Confidence, Residuals, unhedged
from oskaar.learners.decoders import answers_in_turn, leader
from oskaar.learners.estimators import Estimator, Pending
from oskaar.learners.labels import Labels
from oskaar.learners.reading import Reading, reading_of
from oskaar.learners.refit import Refit
from oskaar.learners.relearning import Advance, KeptRounds, Prepared, Relearning
from oskaar.learners.tickets import Asked, Tickets, require_max_open
from oskaar.losses import Loss, Space
from oskaar.memory import Cost, held, require_max_bytes, require_space
from oskaar.schema import Schema
from oskaar.solvers.cholesky import PANEL


@dataclass
class Rounds:
    """What happened in some consecutive rounds."""

    predictions: list[Any]
    losses: Array
    optima: Array
    surrogate_losses: Array
    estimates: Array
    """g_hat, a row for each input."""
    ends: Any
    """Where each round ends in the rows of `estimates`."""
    gap: float = 0.0
    """What decoding that is not exact may have cost, over all these rounds."""
    drift: float = 0.0
    """The surrogate losses less those of the estimates when the labels came."""
    unhedged: Array | None = None
    """The estimates when the labels came, without KAAR's factor where it is known: for probabilities."""
    paid: Array | None = None
    """What the answers of each decoder cost, over all these rounds; None where there is one."""

    def without_estimates(self) -> Rounds:
        """All but the estimates, which may be large."""
        return replace(self, estimates=np.zeros((0, 0)), unhedged=None)


class OnlineLearner(Confidence, Predictor):
    """A loss, inputs, an estimator and accounts: predict, see the truth, learn. Subclasses assemble the parts."""

    max_open: int = 10_000
    """How many tickets of `ask` may be open; past it the oldest is dropped. Set it on a learner at any time."""

    unanswered: int = 0
    """Rounds that were learned without an answer: total_loss, regret and surrogate_loss are those of the others."""

    _tickets: Tickets
    _resets = 0

    def __init__(
        self, loss: Loss, max_bytes: Any = None, relearning: Relearning | None = None, schema: Any = None
    ) -> None:
        """relearning: when estimators are made of the rounds so far."""
        self.loss = loss
        self._unread = schema_for(schema, relearning is not None and relearning.units)
        self._given_schema = schema
        require_max_bytes(max_bytes)
        self.max_bytes = max_bytes
        self._first = relearning
        self.reset()

    @abstractmethod
    def _assemble(self, reading: Reading) -> tuple[Inputs, Estimator]:
        """Inputs and an estimator that have seen nothing, for rows that are read so."""

    def reset(self) -> None:
        """Forget everything that was learned."""
        with self._lock, writing(self):
            self._inputs, self._estimator = self._assemble(Reading(self._unread))
            self._space: Space = self.loss.space()
            self._relearning = self._first
            self._behind = 0.0
            self._resets += 1
            self.rounds = 0
            self.unanswered = 0
            self.total_loss = 0.0
            self.regret = 0.0
            self.surrogate_loss = 0.0
            self._gap = 0.0
            self._drift = 0.0
            self._paid = np.zeros(self._space.decoders)
            self._residuals = Residuals()
            self._calibration = Calibration()
            self._memo: tuple[int, Block, Pending, Any] | None = None
            self._tickets = getattr(self, "_tickets", Tickets()).emptied()  # numbers go on

    @property
    def space(self) -> Space:
        """The coordinates in use."""
        return self._space

    @property
    def schema(self) -> Schema | None:
        """How rows are read: the columns, and what each is taken for.

        None with a kernel or features given, and for sparse rows, which are taken as they are.
        """
        return self._inputs.schema

    @property
    def estimator(self) -> Estimator:
        """What makes the estimates."""
        return self._estimator

    @property
    def room(self) -> int:
        """How many rows the next chunk may have."""
        room = self._estimator.room
        return room if self._relearning is None else min(room, self._relearning.room)

    @exclusive
    def commit(self, block: Block, labels: Labels, pending: Pending) -> None:
        """Learn rounds that the estimator has forecast and observed for someone else, who answered them."""
        nothing = np.zeros(len(labels.ys))
        surrogates = labels.surrogate_losses(pending.G)
        self._commit(block, labels, pending, Rounds([], nothing, nothing, surrogates, pending.G, labels.ends))

    @exclusive
    def certificate(self) -> Certificate:
        """The regret and the surrogate loss so far, and what neither can exceed: see `Certificate`."""
        hindsight = self._estimator.hindsight(self._space, self.rounds) if self._space.steady else None
        if hindsight is not None:
            late = self._behind + self._drift
            hindsight = replace(hindsight, surrogate_bound=hindsight.surrogate_bound + late)
        return replace(self._totals(), hindsight=hindsight)

    @exclusive
    def regret_bound(self) -> float:
        """`certificate().bound`, alone."""
        return self._totals().bound

    @exclusive
    def _repr_html_(self) -> str:
        mean = self.total_loss / self.rounds if self.rounds else float("nan")
        rows = [("loss", repr(self.loss)), ("rounds", self.rounds), ("mean loss", mean), ("regret", self.regret)]
        settings = {**self.get_params(deep=False), "schema": self.schema}
        rows += [(name, repr(value)) for name, value in settings.items() if name != "loss"]
        return html_table(type(self).__name__, rows)

    def _totals(self) -> Certificate:
        totals = self.rounds - self.unanswered, self.regret, self.surrogate_loss
        return Certificate(*totals, self._space.diameter, self._gap, delay_drift=self._drift)

    @exclusive
    def cost(self) -> Cost:
        """The bytes that are held, and about how many operations the next round takes.

        >>> from oskaar import OSKAAR, losses
        >>> learner = OSKAAR(losses.ZeroOne("ab"), budget=8)
        >>> learner.partial_fit([[0.0], [1.0]] * 500, "ab" * 500).cost().bytes < 50_000
        True
        """
        return Cost(self._held(), self._estimator.operations)

    # ---------------------------------------------------------------- one round

    @exclusive
    def predict_one(self, x: Any) -> Any:
        """The answer z for x; the state stays as it is.

        Before the first round the estimate is 0 and every answer ties; the loss says which one it gives
        (the empty set, the middle level, the first class; None where no answer is known yet).
        """
        return self._answered(self._inputs.parse(x))[1]

    @exclusive
    def learn_one(self, x: Any, y: Any) -> None:
        """Learn that the truth for x was y."""
        answered = None if self._memo is None else self._memo[1]
        self._learn_round(self._inputs.parse(x, answered), self.loss.check(y))

    @exclusive
    def estimate(self, x: Any) -> Array:
        """g_hat(x), (p,), or (n, p) for a block of rows: what KAAR would predict if x came next.

        Losses that learn their coordinates from the stream have one for each label seen, in order.
        """
        return self._public(self._estimator.forecast(self._inputs.parse(x), self._space).G)

    # ---------------------------------------------------------------- labels that come late, or never

    @exclusive
    def ask(self, x: Any) -> tuple[int, Any]:
        """A ticket, and the answer z for x, whose label may come at any time, or never (docs/late-labels.md).

        A ticket keeps x, z and the estimate. At most `max_open` are open: past that the oldest is dropped.

        >>> from oskaar import OSKAAR, losses
        >>> learner = OSKAAR(losses.ZeroOne("ab"))
        >>> (first, z), (second, _) = learner.ask([0.0]), learner.ask([1.0])
        >>> learner.tell(second, "b")
        >>> learner.tell(first, "b")
        >>> z, learner.rounds, learner.total_loss
        ('a', 2, 2.0)
        """
        block, rows = self._inputs.parse_to_keep(x)
        most = require_max_open(self.max_open)
        pending, z = self._answered(block)
        asked = Asked(rows, z.copy() if isinstance(z, np.ndarray) else z, pending.G.copy())
        if self.max_bytes is not None:
            require_space(self._held() + held(asked), self.max_bytes, "tell or forget tickets, or lower max_open")
        return self._tickets.add(asked, most), z

    @exclusive
    def tell(self, ticket: int, y: Any) -> None:
        """The label for a ticket: learn it now; the answer that is judged is the one that was given with the ticket.

        The state is that of `learn_one(x, y)` now; loss, regret and surrogate loss are those of what `ask` answered.
        A label that is refused leaves the ticket open.
        """
        asked = self._tickets[ticket]
        self._learn_round(self._inputs.parse_kept(asked.rows), self.loss.check(y), asked, ticket)

    @exclusive
    def forget(self, ticket: int) -> None:
        """Close a ticket whose label will not come."""
        self._tickets.close(ticket)

    @property
    @exclusive
    def open_tickets(self) -> list[int]:
        """The tickets that wait for their labels, oldest first."""
        return list(self._tickets.open)

    # ---------------------------------------------------------------- many rounds

    @exclusive
    def predict_many(self, xs: Any) -> list[Any]:
        """The answers for many x, each as `predict_one` would give it now."""
        block, ends = self._inputs.parse_each(xs)
        answers: list[Any] = []
        for (first, last), inside in batches(ends, PANEL):
            G = self._estimator.each(block.part(first, last), inside, self._space)
            answers += self._decoding.decode_rounds(without_rounding(fit_columns(G, self._space.p)), inside)
        return answers

    @exclusive
    def learn_many(self, xs: Any, ys: Any) -> None:
        """Learn many rounds in turn: bit for bit the same as a loop of `learn_one`.

        `partial_fit` and `replay` give the same numbers to about 1e-12 and are much faster.
        """
        block, ends, labels = self._checked(xs, ys)
        for (lo, hi), y in zip(spans(ends), labels, strict=True):
            self._learn_round(self._inputs.part(block, lo, hi), y)

    def stream(self, xs: Any, ys: Any) -> Iterator[Rounds]:
        """Predict, then learn, round after round, in chunks: what `replay` and `partial_fit` run.

        All inputs and labels are checked before the first round is learned. Other threads may predict between
        two chunks; a learner that has learned something else in between is refused.
        """
        with self._lock:
            block, ends, labels = self._checked(xs, ys)
            start, rounds, resets = 0, self.rounds, self._resets
        while start < len(labels):
            happened = self._next_chunk((rounds + start, resets), block, ends, labels, start)
            start += sum(len(part.losses) for part in happened)
            yield from happened

    @exclusive
    def _next_chunk(self, where: tuple[int, int], block: Block, ends: Any, ys: list[Any], start: int) -> list[Rounds]:
        """Learn a chunk of a stream that has come so far, from round `start` of it on."""
        if where != (self.rounds, self._resets):
            raise RuntimeError(
                f"the learner was at round {where[0]} when this stream left it and is at {self.rounds} now: it must "
                "not learn anything else before the stream ends."
            )
        first, stop = reach(ends, start, self.room)
        chunk = self._inputs.part(block, first, int(ends[stop - 1]))
        return self._learn_chunk(chunk, ends[start:stop] - first, ys[start:stop])

    # ---------------------------------------------------------------- the scikit-learn face

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn these rounds."""
        fresh = self.like_new()
        fresh.partial_fit(X, y)
        with self._lock:
            self.__dict__.update(fresh.__dict__)  # in one step
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn these rounds after those before them, in fast blocks.

        Inputs and labels are checked before the first round. Where a round is refused later, by a kernel or a loss,
        those before it stay learned: `rounds` says how many.
        """
        for _ in self.stream(X, y):
            pass
        return self

    # ---------------------------------------------------------------- inside

    def _held(self, **others: Any) -> int:
        """The memory behind this learner, with other attributes in the place of its own, or beside them."""
        return held({**self.__dict__, "_memo": None, **others})

    def _require_space(self, block: Block) -> None:
        if self.max_bytes is None:
            return
        wanted = self._held() + self._estimator.growth(block.n) + self._inputs.size_of(block)
        if self._relearning is not None:
            wanted += self._relearning.growth(block)
        require_space(wanted, self.max_bytes, self._estimator.advice)

    def _require_space_for(self, advance: Advance) -> None:
        """Refuse a round whose new estimator has no room, beside the present one or in its place."""
        made = advance.made
        if self.max_bytes is None or made is None:
            return
        new = {"_made": made} if advance.finished is None else {"_estimator": made.estimator, "_inputs": made.inputs}
        require_space(self._held(**new), self.max_bytes, self._estimator.advice)

    def like_new(self) -> Self:
        """A learner with the same settings that has seen nothing."""
        fresh = object.__new__(type(self))
        fresh.__dict__.update(self.__dict__)
        fresh.reset()
        return fresh

    @exclusive
    def _checked(self, xs: Any, ys: Any) -> tuple[Block, Any, list[Any]]:
        """All rows, where each round ends in them, and all labels, before anything is learned."""
        labels = [self.loss.check(y) for y in as_labels(ys)]
        block, ends = self._inputs.parse_many(xs)
        require_same_length(ends, labels)
        if self.loss.parts:
            for i, (y, n) in enumerate(zip(labels, np.diff(ends, prepend=0), strict=True)):
                _require_parts(len(self.loss.embed(y)), n, f"round {i}: ")
        return block, ends, labels

    def _answered(self, block: Block) -> tuple[Pending, Any]:
        """The forecast and the answer, kept for the `learn_one` that follows a `predict_one`."""
        remembered = self._remembered(block)
        if remembered is not None:
            return remembered
        pending = self._estimator.forecast(block, self._space)
        z = self._decode(pending.G)
        self.__dict__["_memo"] = (self.rounds, block, pending, z)  # no setting: not looked at by __setattr__
        return pending, z

    def _remembered(self, block: Block) -> tuple[Pending, Any] | None:
        """The last forecast and answer, where they are for such rows in this state."""
        memo = self._memo
        return memo[2:] if memo is not None and memo[0] == self.rounds and memo[1].equals(block) else None

    def _decode(self, G: Array) -> Any:
        return self._decoding.decode_round(without_rounding(fit_columns(G, self._space.p)))

    @property
    def _decoding(self) -> Space:
        """The space, with the decoder that answers next."""
        space = self._space
        return space if space.decoders == 1 else space.decoded_by(leader(self._paid))

    def _learn_round(self, block: Block, y: Any, asked: Asked | None = None, ticket: Any = None) -> Rounds:
        """Learn a round; what is accounted is the answer now, or the one that was given when it was asked."""
        if asked is None:
            pending, z = self._answered(block)
            G = pending.G
        else:
            remembered = self._remembered(block)
            pending = remembered[0] if remembered else self._estimator.forecast(block, self._space)
            z, G = asked.z, asked.G
        labels = Labels(self.loss, self._space, [y], [block.n])
        _require_parts(len(labels.Phi), block.n)
        self._require_space(block)
        paid = None if self._space.decoders == 1 else answers_in_turn(self._paid, labels, pending.G)[1]
        happened = _happened(labels, [z], G, unhedged(pending, 1), paid)
        if asked is not None:
            told = _total(labels.surrogate_losses(pending.G))
            happened = replace(happened, drift=_total(happened.surrogate_losses) - told)
        self.__dict__["_memo"] = None  # observing may write to it
        self._commit(block, labels, self._estimator.observe(pending, labels), happened, ticket)
        return happened

    def _learn_chunk(self, chunk: Block, ends: Any, ys: list[Any]) -> list[Rounds]:
        """Predict and learn some rounds at once."""
        labels = Labels(self.loss, self._space, ys, ends)
        self._require_space(chunk)
        try:
            pending = self._estimator.forecast_chunk(chunk, labels)
            answers, paid = self._answers(labels, pending.G)
            happened = _happened(labels, answers, pending.G, unhedged(pending, len(ys)), paid)
        except ValueError:  # a round is refused, or rounding makes the chunk singular: go in turn
            rounds = zip(spans(ends), ys, strict=True)
            return [self._learn_round(self._inputs.part(chunk, lo, hi), y) for (lo, hi), y in rounds]
        self._commit(chunk, labels, pending, happened)
        return [happened]

    def _answers(self, labels: Labels, G: Array) -> tuple[list[Any], Array | None]:
        """The answers to a chunk, each by what is known before its label, and what each decoder pays."""
        if self._space.decoders == 1:
            return labels.answers(G), None
        return answers_in_turn(self._paid, labels, G)

    def _commit(self, block: Block, labels: Labels, pending: Pending, happened: Rounds, ticket: Any = None) -> None:
        """Write rounds down that were forecast and observed."""
        advance = None
        if self._relearning is not None:
            present: Any = self._estimator  # only one that another is made of at once has accounts to carry over
            advance = self._relearning.after(block, labels, self._made_of, lambda: present.carried(pending))
            self._require_space_for(advance)
        kernels = self._inputs.chosen(block)
        confidence = self._confidence_after(happened.predictions, happened.unhedged, labels)
        with writing(self):
            self._inputs.kernels = kernels
            self._inputs.append(block)
            self._estimator.commit(pending)
            self._account(happened, _space=labels.space, **confidence)
            if advance is not None:
                self._take(advance)
            if ticket is not None:
                self._tickets.close(ticket)

    def _account(self, happened: Rounds, **others: Any) -> None:
        loss = _total(happened.losses)
        self.__dict__.update(  # in one step
            rounds=self.rounds + len(happened.losses),
            total_loss=self.total_loss + loss,
            regret=self.regret + (loss - _total(happened.optima)),
            surrogate_loss=self.surrogate_loss + _total(happened.surrogate_losses),
            _gap=self._gap + happened.gap,
            _drift=self._drift + happened.drift,
            _paid=self._paid if happened.paid is None else self._paid + happened.paid,
            **others,
        )

    def _made_of(self, kept: KeptRounds, prepared: Prepared) -> tuple[Inputs, Estimator] | Refit | Prepared | None:
        """The inputs and the estimator that come next; None where rows are read as before, and have no units."""
        reading = self._read_anew(kept, prepared)
        return self._assemble(reading) if isinstance(reading, Reading) else reading

    def _read_anew(self, kept: KeptRounds, prepared: Prepared) -> Reading | Prepared | None:
        """How rows are read from now on, or more of what that needs; None where it is as before, without units."""
        before, rows, columns = kept.schema, kept.rows, self._inputs.columns_kept
        targets = cache(lambda: Labels(self.loss, prepared.space, kept.ys, kept.ends).Phi)
        if self._relearning is None or not self._relearning.units:
            return Reading(before, targets=targets, rows=rows, columns=columns)
        more = prepared.read(kept)
        if more is not None:
            return more
        reading = prepared.reading or reading_of(kept.block(0, rows))
        unchanged = reading.schema is not None and before is not None and reading.schema.like(before)
        if unchanged and reading.encoded is None and rows < (self._relearning.others or self._relearning.last):
            return None
        return replace(reading, targets=targets, rows=rows, columns=columns, weights=prepared.weights)

    def _take(self, advance: Advance) -> None:
        """Write down what was learned again; an estimator that has learned all takes over."""
        advance.write()
        self._relearning = advance.after
        if advance.finished is not None:
            advance.finished.continue_from(self._estimator)
            self._inputs, self._estimator = advance.finished.inputs, advance.finished.estimator
            self._behind = self.surrogate_loss - self._drift - advance.finished.paid
        if self._inputs.schema is not None and (advance.after is None or not advance.after.units):
            self._inputs.schema = self._inputs.schema.at_last()

    def _public(self, G: Array) -> Array:
        G = self._space.full(fit_columns(G, self._space.p))
        return G if self.loss.parts else G[0]

    def _check_state(self) -> None:
        super()._check_state()
        state.require_kind(self._inputs, Inputs, "the inputs")
        state.require_kind(self._space, Space, "the space")
        state.require_kind(self._calibration, Calibration, "the calibration")
        state.require_count(self.rounds, "rounds")
        state.require(state.require_count(self.unanswered, "rounds without an answer") <= self.rounds, "rounds")
        state.require_count(self._space.p, "the coordinates")
        for name in ("total_loss", "regret", "surrogate_loss"):
            state.require_number(getattr(self, name), name)
        paid = np.shape(self._paid) if getattr(self._paid, "dtype", None) == np.float64 else None
        state.require(paid == (self._space.decoders,), "what each decoder paid")
        state.require(self._incomplete is False and self._memo is None, "it was stopped in the middle of a round")
        self._estimator.check_state(self._inputs, self._space, self.rounds)
        if self._relearning is not None:
            state.require_kind(self._relearning, Relearning, "the relearning")
            self._relearning.check_state()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_memo": None}


def _happened(
    labels: Labels, answers: list[Any], G: Array, U: Array | None = None, paid: Array | None = None
) -> Rounds:
    """What rounds with these answers and estimates cost."""
    losses, optima, surrogates = labels.losses(answers), labels.optima(), labels.surrogate_losses(G)
    if not math.isfinite(_total(losses) + _total(optima) + _total(surrogates)):
        _refuse_numbers(losses, optima, surrogates, labels.Phi, answers, labels.ys)
    gap = 0.0 if labels.spaces[0].exact else _gaps(labels, answers, G, losses - optima)
    return Rounds(answers, losses, optima, surrogates, G, labels.ends, gap, unhedged=U, paid=paid)


def _gaps(labels: Labels, answers: list[Any], G: Array, regrets: Array) -> float:
    rounds = zip(labels.spaces, labels.spaces[1:], answers, labels.ys, G, strict=False)
    gaps = [after.gap(z, y, g[: before.p]) for before, after, z, y, g in rounds]
    return float(np.minimum(gaps, np.maximum(regrets, 0.0)).sum())


def _require_parts(parts: int, rows: int, where: str = "") -> None:
    if parts != rows:
        raise ValueError(f"{where}y must have a part for each row of x, got {parts} parts for {rows} rows.")


def _refuse_numbers(
    losses: Array, optima: Array, surrogates: Array, Phi: Array, answers: list[Any], ys: list[Any]
) -> None:
    """Say which of the numbers of some rounds is not finite."""
    if not np.isfinite(Phi).all():
        raise ValueError("embed(y) must be finite, got inf or nan: check the loss with oskaar.checks.check_loss.")
    for what, numbers in (("the loss", losses), ("its optimum", optima), ("the squared error", surrogates)):
        if not np.isfinite(numbers).all():
            i = int(np.argmin(np.isfinite(numbers)))
            raise ValueError(f"{what} must be finite, got {numbers[i]} for the answer {answers[i]!r} to {ys[i]!r}.")


def _total(values: Array) -> float:
    return float(values.item() if values.size == 1 else values.sum())

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
from typing import Any, Protocol, Self

import numpy as np
from scipy.linalg import LinAlgError

from oskaar import state
from oskaar.arrays import Array, fit_columns, reach, spans, without_rounding
from oskaar.guards import exclusive, writing
from oskaar.inputs import Block, Inputs
from oskaar.kernels import Kernel
from oskaar.learners.base import Predictor, as_labels, require_same_length
from oskaar.learners.certificate import Certificate, Hindsight
from oskaar.learners.growing import charges, together
from oskaar.learners.scales import Early, waits_for_scales
from oskaar.learners.tickets import Asked, Tickets, require_max_open
from oskaar.losses import Loss, Space
from oskaar.memory import Cost, held, require_max_bytes, require_space


class Forecast(Protocol):
    """Whatever a solver needs to learn the rounds, and their estimates."""

    @property
    def G(self) -> Array:
        """g_hat, a row for each input."""


@dataclass(frozen=True)
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

    def without_estimates(self) -> Rounds:
        """All but the estimates, which may be large."""
        return replace(self, estimates=np.zeros((0, 0)))


ACCOUNTS = ("rounds", "total_loss", "regret", "surrogate_loss", "_gap", "_drift", "_tickets", "_resets")
"""What stays when all is learned again: what was paid, and what is asked."""


class OnlineLearner(Predictor):
    """Predict, see the truth, learn. Subclasses say which solver."""

    advice = "raise the limit"
    """What to do when memory ends."""

    max_open: int = 10_000
    """How many tickets of `ask` may be open; past it the oldest is dropped. Set it on a learner at any time."""

    _tickets: Tickets
    _scaled: list[Kernel] | None = None
    _early: Early | None = None
    _behind = 0.0
    _drift = 0.0
    _resets = 0

    def __init__(self, loss: Loss, kernel: Any, max_bytes: Any = None) -> None:
        self.loss = loss
        self.kernel = kernel
        require_max_bytes(max_bytes)
        self.max_bytes = max_bytes
        self.reset()

    @abstractmethod
    def _restart(self) -> None:
        """Make a solver that has seen nothing."""

    @abstractmethod
    def _forecast(self, block: Block) -> Forecast:
        """The estimate G for one round, and what learning it needs. Changes nothing."""

    @abstractmethod
    def _update(self, forecast: Any, Phi: Array, space: Space) -> None:
        """Learn the round of a forecast, whose label is Phi in the coordinates of `space`."""

    @abstractmethod
    def _forecast_chunk(self, chunk: Block, Phi: Array, ends: Any, spaces: list[Space]) -> Forecast:
        """The estimates G for several rounds, each after the labels of those before it. Changes nothing.

        spaces[i] is known before label i, spaces[i + 1] after it. To the last bit, the estimate of round i does not
        depend on label i or later ones: no sum goes over coordinates that they bring.
        Raises LinAlgError where the rounds have to go in turn.
        """

    @abstractmethod
    def _append(self, ahead: Any) -> None:
        """Learn the rounds of a chunk's forecast."""

    @abstractmethod
    def _takes_scales(self) -> bool:
        """Whether the kernel is the default one, whose scales are those of the rows (`learners.scales`)."""

    @abstractmethod
    def _make_maps(self) -> None:
        """Make the feature maps, where there are any."""

    @abstractmethod
    def _new_inputs(self) -> Inputs:
        """A store of rows that has seen nothing."""

    @abstractmethod
    def _room(self) -> int:
        """How many rows the next chunk may have."""

    @abstractmethod
    def _operations(self) -> int:
        """About how many operations the next round takes."""

    @abstractmethod
    def _growth(self, rows: int) -> int:
        """An upper bound of the memory that the solver takes for so many more rows."""

    def reset(self) -> None:
        """Forget everything that was learned."""
        with self._lock, writing(self):
            self._start_anew(None)
            self._early = Early() if self._takes_scales() else None
            self._behind = 0.0
            self._resets += 1
            self.rounds = 0
            self.total_loss = 0.0
            self.regret = 0.0
            self.surrogate_loss = 0.0
            self._gap = 0.0
            self._drift = 0.0
            self._memo: tuple[int, Any, Any, Any] | None = None
            self._tickets = getattr(self, "_tickets", Tickets()).emptied()  # numbers go on

    def _start_anew(self, scaled: list[Kernel] | None) -> None:
        self._scaled = scaled
        self._make_maps()
        self._inputs = self._new_inputs()
        self._restart()
        self._space: Space = self.loss.space()

    @property
    def space(self) -> Space:
        """The coordinates in use."""
        return self._space

    @exclusive
    def certificate(self) -> Certificate:
        """The regret and the surrogate loss so far, and what neither can exceed: see `Certificate`."""
        hindsight = self._hindsight()
        if hindsight is not None:
            late = self._behind + self._drift
            hindsight = replace(hindsight, surrogate_bound=hindsight.surrogate_bound + late)
        return replace(self._totals(), hindsight=hindsight)

    @exclusive
    def regret_bound(self) -> float:
        """`certificate().bound`, alone."""
        return self._totals().bound

    def _totals(self) -> Certificate:
        totals = self.rounds, self.regret, self.surrogate_loss
        return Certificate(*totals, self._space.diameter, self._gap, delay_drift=self._drift)

    def _hindsight(self) -> Hindsight | None:
        """What the theorem of this learner says of its surrogate loss, where its assumptions hold."""
        return None

    @exclusive
    def cost(self) -> Cost:
        """The bytes that are held, and about how many operations the next round takes.

        >>> from oskaar import OSKAAR, losses
        >>> learner = OSKAAR(losses.ZeroOne("ab"), budget=8)
        >>> learner.partial_fit([[0.0], [1.0]] * 500, "ab" * 500).cost().bytes < 50_000
        True
        """
        return Cost(self._held(), self._operations())

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
        self._learn_round(self._inputs.parse(x), self.loss.check(y))

    @exclusive
    def estimate(self, x: Any) -> Array:
        """g_hat(x), (p,), or (n, p) for a block of rows: what KAAR would predict if x came next.

        Losses that learn their coordinates from the stream have one for each label seen, in order.
        """
        return self._public(self._forecast(self._inputs.parse(x)).G)

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
        forecast, z = self._answered(block)
        asked = Asked(rows, z.copy() if isinstance(z, np.ndarray) else z, forecast.G.copy())
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
        return [self._decode(self._space, self._forecast(block.part(lo, hi)).G) for lo, hi in spans(ends)]

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
        self._end_stream()

    @exclusive
    def _end_stream(self) -> None:
        """Finish what was put off from chunk to chunk."""

    @exclusive
    def _next_chunk(self, where: tuple[int, int], block: Block, ends: Any, ys: list[Any], start: int) -> list[Rounds]:
        """Learn a chunk of a stream that has come so far, from round `start` of it on."""
        if where != (self.rounds, self._resets):
            raise RuntimeError(
                f"the learner was at round {where[0]} when this stream left it and is at {self.rounds} now: it must "
                "not learn anything else before the stream ends."
            )
        room = min(self._room(), self._early.until_due) if self._early else self._room()
        first, stop = reach(ends, start, room)
        chunk = self._inputs.part(block, first, int(ends[stop - 1]))
        return self._learn_chunk(chunk, ends[start:stop] - first, ys[start:stop])

    # ---------------------------------------------------------------- the scikit-learn face

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn these rounds."""
        fresh = self._like_new()
        fresh.partial_fit(X, y)
        with self._lock:
            self.__dict__.update(fresh.__dict__)  # in one step
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn these rounds after those before them, in fast blocks."""
        for _ in self.stream(X, y):
            pass
        return self

    # ---------------------------------------------------------------- inside

    def _held(self) -> int:
        return held({**self.__dict__, "_memo": None})

    def _require_space(self, block: Block) -> None:
        if self.max_bytes is not None:
            wanted = self._held() + self._growth(block.n) + self._inputs.size_of(block)
            if self._early is not None and waits_for_scales(block):
                wanted += self._early.growth(block, self._space.p)
            require_space(wanted, self.max_bytes, self.advice)

    def _like_new(self) -> Self:
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

    def _answered(self, block: Block) -> tuple[Forecast, Any]:
        """The forecast and the answer, kept for the `learn_one` that follows a `predict_one`."""
        mark = block.fingerprint()
        remembered = self._remembered(mark)
        if remembered is not None:
            return remembered
        forecast = self._forecast(block)
        z = self._decode(self._space, forecast.G)
        self._memo = (self.rounds, mark, forecast, z)
        return forecast, z

    def _remembered(self, mark: Any) -> tuple[Forecast, Any] | None:
        memo = self._memo
        return memo[2:] if memo is not None and mark is not None and memo[:2] == (self.rounds, mark) else None

    def _decode(self, space: Space, G: Array) -> Any:
        return space.decode_round(without_rounding(fit_columns(G, space.p)))

    def _learn_round(self, block: Block, y: Any, asked: Asked | None = None, ticket: Any = None) -> Rounds:
        """Learn a round; what is accounted is the answer now, or the one that was given when it was asked."""
        if asked is None:
            forecast, z = self._answered(block)
            G = forecast.G
        else:
            remembered = self._remembered(block.fingerprint())
            forecast = remembered[0] if remembered else self._forecast(block)
            z, G = asked.z, asked.G
        spaces = [self._space, self._space.extended(y)]
        Phi = spaces[1].embed_many([y])
        _require_parts(len(Phi), block.n)
        self._require_space(block)
        happened = self._account(spaces, [z], G, Phi, [y], [block.n])
        if asked is not None:
            told = _surrogates(forecast.G, Phi, [block.n], spaces)
            happened = replace(happened, drift=_total(happened.surrogate_losses) - _total(told))
        self._hear(forecast, spaces, [y], [block.n])
        early, again = self._scales_after(block, Phi, [block.n], spaces[1], [y])
        kernels = self._inputs.chosen(block)
        with writing(self):
            self._inputs.kernels = kernels
            self._update(forecast, Phi, spaces[1])
            self._commit(block, spaces[1], happened)
            self._take_scales(early, again)
            if asked is not None:
                self._tickets.close(ticket)
        return happened

    def _learn_chunk(self, chunk: Block, ends: Any, ys: list[Any]) -> list[Rounds]:
        spaces = [self._space]
        for y in ys:
            spaces.append(spaces[-1].extended(y))
        Phi = spaces[-1].embed_many(ys)
        self._require_space(chunk)
        try:
            ahead = self._forecast_chunk(chunk, Phi, ends, spaces)
            self._hear(ahead, spaces, ys, ends)
            happened = self._account(spaces, self._answers(spaces, ahead.G, ends), ahead.G, Phi, ys, ends)
        except ValueError:  # a round is refused, or rounding makes the chunk singular: go in turn
            rounds = zip(spans(ends), ys, strict=True)
            return [self._learn_round(self._inputs.part(chunk, lo, hi), y) for (lo, hi), y in rounds]
        early, again = self._scales_after(chunk, Phi, ends, spaces[-1], ys)
        kernels = self._inputs.chosen(chunk)
        with writing(self):
            self._inputs.kernels = kernels
            self._append(ahead)
            self._commit(chunk, spaces[-1], happened)
            self._take_scales(early, again)
        return [happened]

    def _hear(self, ahead: Any, spaces: list[Space], ys: list[Any], ends: Any) -> None:
        """The labels of rounds to come, for learners that judge answers; nothing is learned before `_append`."""

    def _scales_after(
        self, block: Block, Phi: Array, ends: Any, space: Space, ys: list[Any]
    ) -> tuple[Early | None, Self | None]:
        """The rows that wait for scales after these rounds; and, where it is time, a learner in the units of all."""
        if self._early is None or not waits_for_scales(block):
            return None, None
        early = self._early.with_rounds(block, Phi, ends, ys)
        if early.until_due > 0:
            return early, None
        return early.later(), self._learned_again(early, space)

    def _take_scales(self, early: Early | None, again: Self | None) -> None:
        """Go on as the learner that has learned all again; what was paid stays."""
        if again is not None:
            kept = {name: getattr(self, name) for name in ACCOUNTS}
            behind = self.surrogate_loss - self._drift - again.surrogate_loss
            self.__dict__.update({**again.__dict__, **kept, "_behind": behind, "_torn": True})  # in one step
        self._early = early

    def _learned_again(self, early: Early, space: Space) -> Self:
        """A learner that has learned all rounds with the default kernel in the units of their rows."""
        again = self._like_new()
        again._early = None
        again._start_anew(early.kernels())
        block, Phi, ends, ys = early.everything(space.p)
        start = 0
        while start < len(ends):
            first, stop = reach(ends, start, again._room())
            chunk, inside = block.part(first, int(ends[stop - 1])), ends[start:stop] - first
            again._follow(chunk, Phi[first : int(ends[stop - 1])], inside, space, ys[start:stop])
            start = stop
        return again

    def _follow(self, chunk: Block, Phi: Array, ends: Any, space: Space, ys: list[Any]) -> None:
        """Learn rounds whose answers were given already."""
        spaces = [space] * (len(ys) + 1)
        try:
            ahead = self._forecast_chunk(chunk, Phi, ends, spaces)
        except LinAlgError:
            for (lo, hi), y in zip(spans(ends), ys, strict=True):
                block = chunk.part(lo, hi)
                forecast = self._forecast(block)
                self._hear(forecast, [space, space], [y], [hi - lo])
                self._update(forecast, Phi[lo:hi], space)
                self._commit(block, space, _silent(forecast.G, Phi[lo:hi], [hi - lo], [space] * 2))
            return
        self._hear(ahead, spaces, ys, ends)
        self._append(ahead)
        self._commit(chunk, space, _silent(ahead.G, Phi, ends, spaces))

    def _account(
        self, spaces: list[Space], answers: list[Any], G: Array, Phi: Array, ys: list[Any], ends: Any
    ) -> Rounds:
        """What rounds with estimates G cost: spaces[i] is what is known before label i, spaces[i + 1] after it."""
        losses = np.array([self.loss(z, y) for z, y in zip(answers, ys, strict=True)])
        optima = np.array([space.optimum(y) for space, y in zip(spaces[1:], ys, strict=True)])
        surrogates = _surrogates(G, Phi, ends, spaces)
        if not math.isfinite(_total(losses) + _total(optima) + _total(surrogates)):
            _refuse_numbers(losses, optima, surrogates, Phi, answers, ys)
        gap = 0.0 if spaces[0].exact else self._gaps(spaces, answers, G, ys, losses - optima)
        return Rounds(answers, losses, optima, surrogates, G, ends, gap)

    def _gaps(self, spaces: list[Space], answers: list[Any], G: Array, ys: list[Any], regrets: Array) -> float:
        rounds = zip(spaces, spaces[1:], answers, ys, G, strict=False)
        gaps = [after.gap(z, y, g[: before.p]) for before, after, z, y, g in rounds]
        return float(np.minimum(gaps, np.maximum(regrets, 0.0)).sum())

    def _answers(self, spaces: list[Space], G: Array, ends: Any) -> list[Any]:
        answers: list[Any] = []
        rows = spans(ends)
        for space, first, stop, end in together(spaces[:-1]):
            lo, hi = rows[first][0], rows[end - 1][1]
            G_i = without_rounding(fit_columns(G[lo:hi], space.p))
            found = space.decode_rounds(G_i, [hi - lo for _, hi in rows[first:end]])
            answers += found[: stop - first]
        return answers

    def _commit(self, block: Block, space: Space, happened: Rounds) -> None:
        self._inputs.append(block)
        self._space = space
        self.rounds += len(happened.losses)
        self.total_loss += _total(happened.losses)
        self.regret += _total(happened.losses - happened.optima)
        self.surrogate_loss += _total(happened.surrogate_losses)
        self._gap += happened.gap
        self._drift += happened.drift

    def _public(self, G: Array) -> Array:
        G = self._space.full(fit_columns(G, self._space.p))
        return G if self.loss.parts else G[0]

    def _check_state(self) -> None:
        super()._check_state()
        state.require_kind(self._inputs, Inputs, "the inputs")
        state.require_kind(self._space, Space, "the space")
        state.require_count(self.rounds, "rounds")
        state.require_count(self._space.p, "the coordinates")
        for name in ("total_loss", "regret", "surrogate_loss"):
            state.require_number(getattr(self, name), name)
        state.require(self._torn is False and self._memo is None, "it was stopped in the middle of a round")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_memo": None}


def _surrogates(G: Array, Phi: Array, ends: Any, spaces: list[Space]) -> Array:
    """|phi - g|^2 of each round, the mean over its rows."""
    surrogates = charges(G, Phi, spaces[1:], ends)
    if len(ends) == len(surrogates):
        return surrogates
    rows = spans(ends)
    means: Array = np.add.reduceat(surrogates, [lo for lo, _ in rows]) / [hi - lo for lo, hi in rows]
    return means


def _silent(G: Array, Phi: Array, ends: Any, spaces: list[Space]) -> Rounds:
    """Rounds that are not judged."""
    nothing = np.zeros(len(ends))
    return Rounds([], nothing, nothing, _surrogates(G, Phi, ends, spaces), G, ends, 0.0)


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
    return float(values[0]) if len(values) == 1 else float(values.sum())

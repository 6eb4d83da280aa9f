r"""Learning all rounds again with other kernels or features, a few rows at a time, while the learner goes on.

A learner without a kernel of its own compares features in units of their spread over the rows so far, and reads
rows by a schema (`oskaar.schema`). Both are taken anew when there are 4, 8, 16, ..., 256 rows; with fewer than 4 the
schema alone is. An ensemble goes over from kernels to features when there are many rows, and takes no units shortly
before that. These are the same step.
When n rows have come, the next estimator is made of what is known of them (`OnlineLearner._assemble`). It learns them
again, some at a time, and those that come meanwhile. It takes the place of the present one n / 4 rows later, or n / 2
where there are many (`swap_in_turn`); up to 8 rows at once. One that knows many rows is made of these n, and of most
of those that come meanwhile, at once (`learners.refit`), in pieces; then its experts learn the last ones, 2 or more
at a time. It takes the place of the present one n / 8 rows later (`swap_after`), and goes on with the accounts of it.
What many rows say is read before, in rounds of its own, and so is what their kernels have to know of labels, a pass
at a time (`Prepared`).

How many rows are learned again in a round changes no number: a loop, a replay and a run that is resumed agree. The
losses of the rounds before are those of the answers that were given. The surrogate loss of the theorem is that of the
present estimator, plus what was paid less what it would have paid (`Underway.paid`).
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from oskaar import state
from oskaar.arrays import Array, Rows, reach
from oskaar.inputs import Block, Inputs
from oskaar.kernels.learned import PASSES
from oskaar.learners.estimators import Estimator
from oskaar.learners.labels import Labels
from oskaar.learners.mixture import Carried, Mixture
from oskaar.learners.reading import FIRST, Reading, can_change, reading_with
from oskaar.learners.refit import SUMMED, Refit
from oskaar.losses import Loss, Space
from oskaar.rows import count, joined, nbytes, pick
from oskaar.saved import require_floats, saved
from oskaar.schema import Schema, tables

LAST_UNITS = 256
"""Units are taken at 4, 8, ... rows, up to so many."""

AT_ONCE, AT_A_TIME = 8, 8
"""Up to so many rows are learned again in one round; more of them by so many: fewer cost more each."""

GENTLY = 128
"""From so many rows on they are learned again a quarter as many at a time, over more rounds."""

LAST, SHARE = 20, 40
"""A refit is closed when so many rows are to come until the swap, which no solver folds into its factor by then.

And at most a fortieth of all rows.
"""

BLOCKS, MOST_ROWS = 32, 256
"""So many blocks of rows that are kept become one, if it has at most so many rows."""

ENCODED = 1024
"""Rows that become numbers in a round, before there are units of them."""

APART = 2
"""Rows from one pass of what is prepared to the next."""

PER_ROW = 256
"""Bytes that keeping a row takes beside its numbers."""

Assemble = Callable[["KeptRounds", "Prepared"], "tuple[Inputs, Estimator] | Refit | Prepared | None"]
"""From the rounds so far to the inputs and the estimator that come next, which have seen nothing; None: no others.

What is prepared first comes back for the next round.
"""


@saved("learner/kept-rounds")
class KeptRounds:
    """Rounds as they came. A value; `with_rounds` adds.

    >>> from oskaar.losses import ZeroOne
    >>> labels = Labels(ZeroOne("ab"), ZeroOne("ab").space(), ["a", "b"], [1, 2])
    >>> kept = KeptRounds().with_rounds(Block(np.array([[1.0], [3.0]]), 2), labels)
    >>> kept.rows, kept.block(1, 2).rows.tolist(), kept.ys
    (2, [[3.0]], ['a', 'b'])
    """

    def __init__(self) -> None:
        self.ys: list[Any] = []
        self.ends: list[int] = []
        self._blocks: list[Any] = []
        self._starts: list[int] = []
        self._names: dict[Any, int] | None = None
        self._schema: Schema | None = None
        self._columns: list[Any] | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.ends[-1] if self.ends else 0

    @property
    def schema(self) -> Schema | None:
        """That which the last rows were read by; the first ones by their own."""
        return self._schema

    def with_rounds(self, block: Block, labels: Labels) -> KeptRounds:
        """These rounds too: as they came before a schema read them, or in memory of their own."""
        other = KeptRounds()
        other.ys = self.ys + labels.ys
        other.ends = self.ends + [self.rows + int(end) for end in labels.ends]
        blocks = [*self._blocks, block.rows.copy() if block.raw is None else block.raw]
        starts, other._names = [*self._starts, self.rows], block.names
        if len(blocks) >= BLOCKS and self.rows + block.n - starts[-BLOCKS] <= MOST_ROWS:
            blocks[-BLOCKS:], starts[-BLOCKS:] = [_all_of(blocks[-BLOCKS:])], [starts[-BLOCKS]]
        other._blocks, other._starts = blocks, starts
        other._schema, other._columns = block.schema, self._columns or block.columns
        return other

    def first(self, rounds: int) -> KeptRounds:
        """The first rounds alone."""
        other = copy.copy(self)
        other.ys, other.ends = self.ys[:rounds], self.ends[:rounds]
        return other

    def block(self, lo: int, hi: int) -> Block:
        """Rows lo..hi-1, to be read by `Inputs.part`."""
        first, last = bisect_right(self._starts, lo) - 1, bisect_right(self._starts, hi - 1)
        parts = self._blocks[first:last]
        parts[-1] = _some(parts[-1], 0, hi - self._starts[last - 1])
        parts[0] = _some(parts[0], lo - self._starts[first], _size(parts[0]))
        names = None if _raw(parts[-1]) else self._names
        return Block(_all_of(parts), hi - lo, names, None, self._schema, self._columns)


@saved("learner/prepared")
@dataclass(frozen=True)
class Prepared:
    """What is known before the next estimator is made of the first `rounds` rounds, whose labels have this space.

    swap: as of `Underway`.
    schema, encoded: where rows are as they came and many, what they say, and as numbers so far.
    weights: how much each feature matters, after so many passes (`kernels.relevance`).
    """

    rounds: int
    swap: int
    space: Space
    schema: Schema | None = None
    encoded: Rows = None
    weights: Array | None = None
    passes: int = 0

    @property
    def reading(self) -> Reading | None:
        """What the rows say; None: it is not known yet."""
        return None if self.schema is None else reading_with(self.schema, self.encoded)

    def read(self, kept: KeptRounds) -> Prepared | None:
        """With the schema of all rows, then with more rows as numbers; None when all of it is there.

        Few rows are read when they are needed.
        """
        if kept.rows < GENTLY:
            return None
        if self.schema is None:
            block = kept.block(0, kept.rows)
            schema = None if block.is_read or block.schema is None else block.schema.read(block.rows)
            return None if schema is None else replace(self, schema=schema)
        done = 0 if self.encoded is None else count(self.encoded)
        if done >= kept.rows or self.schema.bag:
            return None
        more = self.schema.encode(kept.block(done, min(done + ENCODED, kept.rows)).rows)
        return replace(self, encoded=joined(self.encoded, more) if done else more)

    def check_state(self, kept: KeptRounds) -> None:
        """Refuse what no learner that has these rounds could have."""
        state.require_kind(self.space, Space, "the space")
        rounds = state.require_count(self.rounds, "rounds")
        state.require(0 < rounds <= len(kept.ys), "rounds that are prepared have come")
        state.require_count(self.swap, "the rows at which it takes over")
        state.require(0 <= state.require_count(self.passes, "passes") <= PASSES, "there may be so many passes")
        state.require_kind(self.schema, (Schema, type(None)), "the schema")
        if self.encoded is not None:
            state.require(count(self.encoded) <= kept.ends[rounds - 1], "rows that are encoded have come")
        weights: Any = self.weights
        if self.passes:
            require_floats(weights)
            state.require(weights.ndim == 1 and bool((weights >= 0).all()), "a weight for each feature")


@saved("learner/underway")
@dataclass(frozen=True)
class Underway:
    """The next inputs and estimator, and how far they are.

    swap: when there are so many rows, they take over; known: the rounds that had come when they were made, or when
        the refit was closed.
    space: that of the labels learned; learned: how many rounds; paid: the surrogate loss that they would have had.
    refit: of one that is made of the rounds that had come at once. When that is done, `estimator` is the mixture
        inside, whose experts learn the rounds that have come since it was closed.
    carries: whether experts that were born at a change go on with what those of the present estimator know.
    """

    inputs: Inputs
    estimator: Estimator
    swap: int
    known: int
    space: Space
    learned: int = 0
    paid: float = 0.0
    refit: Refit | None = None
    carries: bool = False

    @property
    def refitting(self) -> bool:
        """Whether it is being made of the rounds that had come."""
        return self.refit is not None and (self.refit.left > 0 or not self.refit.whole)

    def forecast(self, block: Block, labels: Labels) -> Any:
        """Rounds to learn next."""
        estimator: Any = self.estimator
        alone = self.refit is not None
        return estimator.forecast_experts(block, labels) if alone else estimator.forecast_chunk(block, labels)

    def continue_from(self, present: Any) -> None:
        """Take the place of the present estimator."""
        made: Any = self.estimator
        if self.carries:
            made.mixture.continue_from(present.mixture)

    def refitted(self, rows: int, of: int) -> Underway:
        """With what is due of the refit when so many rows come; with all of it, they are learned."""
        assert self.refit is not None
        refit = self.refit.advanced(min(rows, of), of)
        if refit.left or not refit.whole:
            return replace(self, refit=refit)
        refit, mixture = refit.learned()
        return replace(self, estimator=mixture, learned=self.known, refit=refit)


@dataclass(frozen=True)
class Advance:
    """What is to be written down with a round: the relearning after it, an estimator that takes over, or a chunk.

    made: an estimator that there was not before the round.
    """

    after: Relearning | None
    finished: Underway | None = None
    chunk: tuple[Underway, Block, Any] | None = None
    made: Underway | None = None

    def write(self) -> None:
        """Learn the chunk."""
        if self.chunk is not None:
            underway, block, pending = self.chunk
            underway.inputs.append(block)
            underway.estimator.commit(pending)


@saved("learner/relearning")
class Relearning:
    """The rounds so far, when the next estimator is made of them, and the one that is under way.

    A value, but for the estimator under way, which `Advance.write` changes.

    loss: for labels.
    units: whether rows can be read anew: an estimator is made at 4, 8, ..., `last` rows.
    others: of other rows when there are so many, a power of 2, and twice as many, ...; None is never.
    last: the last of these.
    """

    def __init__(self, loss: Loss, units: bool, others: int | None = None, last: int = LAST_UNITS) -> None:
        self.loss, self.units, self.others, self.last = loss, units, others, last
        self.due = 1 if units else others or 0
        self.rounds = KeptRounds()
        self.prepared: Prepared | None = None
        self.underway: Underway | None = None

    @property
    def room(self) -> int:
        """Rows that may come until something has to be done."""
        return (self._due if self.underway is None else self.underway.swap) - self.rounds.rows

    def after(self, block: Block, labels: Labels, assemble: Assemble, carried: Callable[[], Carried]) -> Advance:
        """When these rounds have come; carried: the accounts of the present estimator after them. Changes nothing."""
        if self.units and not can_change(block):
            if not self.others:
                return Advance(None)
            return self._with(units=False, due=self.others).after(block, labels, assemble, carried)
        rounds = self.rounds.with_rounds(block, labels)
        new = self._with(rounds=rounds)
        if self.underway is None:
            return new._begun(labels.space, assemble) if rounds.rows >= new._due else Advance(new)
        underway = self.underway
        if underway.refitting:
            underway = new._refitted(underway, self.rounds.rows)
            if rounds.rows < underway.swap:
                return Advance(new._with(underway=underway))
        aim = new._aim(underway, rounds.rows)
        few = underway.refit is None and underway.swap < GENTLY
        together = min(AT_A_TIME, underway.swap // 5) if few else AT_A_TIME // 4
        if rounds.rows < underway.swap and aim - new._learned_rows(underway) < together:
            return Advance(new)
        underway, chunk = new._towards(underway, aim)
        if rounds.rows < underway.swap:
            return Advance(new._with(underway=underway), chunk=chunk)
        if underway.refit is not None:
            underway = new._with_accounts(underway, underway.refit, carried())
        return Advance(new._with(underway=None) if new.due <= new.last else None, underway, chunk)

    def growth(self, block: Block) -> int:
        """An upper bound of the memory that a block takes here."""
        kept = (nbytes(block.rows) if block.raw is None else block.raw.nbytes) + block.n * PER_ROW
        rows = self.rounds.rows + block.n
        if self.underway is None:
            encoded = self.units and rows >= max(self._due, GENTLY)
            return kept + encoded * min(rows, ENCODED) * nbytes(block.rows) // max(block.n, 1)
        if self.underway.refit is not None and self.underway.refitting:
            return kept + self.underway.refit.growth
        aim = self._aim(self.underway, rows)
        more = max(aim - self._learned_rows(self.underway), 0)
        stored = nbytes(block.rows) * (more + self.underway.inputs.n // 2) // max(block.n, 1)
        return kept + stored + self.underway.estimator.growth(more)

    def check_state(self) -> None:
        """Refuse a relearning from a file that no learner could have."""
        rounds = self.rounds
        state.require_kind(rounds, KeptRounds, "the rounds kept")
        state.require(
            len(rounds.ys) == len(rounds.ends) and len(rounds._blocks) == len(rounds._starts), "kept rounds"
        )
        sizes = [_size(rows) for rows in rounds._blocks]
        state.require(rounds._starts == [sum(sizes[:i]) for i in range(len(sizes))], "where kept rounds start")
        state.require(sum(sizes) == rounds.rows, "as many rows as rounds end with")
        state.require_count(self.due, "the rows at which units are taken")
        state.require_kind(self.prepared, (Prepared, type(None)), "what is prepared")
        if self.prepared is not None:
            self.prepared.check_state(rounds)
        if self.underway is not None:
            state.require_kind(self.underway, Underway, "the estimator under way")
            state.require(0 <= self.underway.learned <= len(rounds.ys), "rounds learned again must have come")
            state.require_kind(self.underway.refit, (Refit, type(None)), "the refit")
            if not self.underway.refitting:
                if self.underway.refit is not None:
                    state.require_kind(self.underway.estimator, Mixture, "the mixture that a refit has made")
                self.underway.estimator.check_state(self.underway.inputs, self.underway.space, self.underway.learned)

    # ---------------------------------------------------------------- inside

    @property
    def _due(self) -> int:
        """The number of rows at which the next estimator is made, or prepared further."""
        prepared = self.prepared
        return self.due if prepared is None else self.rounds.ends[prepared.rounds - 1] + APART * prepared.passes

    def _with(self, **changes: Any) -> Relearning:
        other = object.__new__(Relearning)
        vars(other).update(vars(self), **changes)
        return other

    def _begun(self, space: Space, assemble: Assemble) -> Advance:
        """Make the next estimator; where there are few rows, or too many for the time, it takes over at once."""
        rows = self.rounds.rows
        n = min(1 << (rows.bit_length() - 1), self.last)
        prepared = self.prepared or Prepared(len(self.rounds.ys), swap_after(n), space)
        kept = self.rounds.first(prepared.rounds)
        made = assemble(kept, prepared)
        while isinstance(made, Prepared):
            if rows + AT_A_TIME < prepared.swap:  # else there is no time
                return Advance(self._with(prepared=made))
            made = assemble(kept, made)
        later = self._with(prepared=None, due=rows + 1 if rows < FIRST else 2 * n)
        after = later if later.due <= self.last else None
        if made is None:
            return Advance(after)
        if isinstance(made, Refit):
            parts = made.inputs, made.estimator
            underway = Underway(*parts, prepared.swap, prepared.rounds, prepared.space, refit=made)
            return Advance(later._with(underway=underway), made=underway)
        underway = Underway(*made, swap_in_turn(n), prepared.rounds, prepared.space)
        if n > AT_ONCE and rows < underway.swap:
            return Advance(later._with(underway=underway), made=underway)
        while underway.learned < len(self.rounds.ys):
            underway = self._learn(underway, rows)
        return Advance(after, underway, made=underway)

    def _towards(self, underway: Underway, aim: int) -> tuple[Underway, Any]:
        """The estimator under way when it has learned up to row `aim`, and a chunk that is still to be written.

        One chunk, at the pace of a loop, is only forecast here, and what it leaves can wait for the next round, if it
        is not more than twice what is learned at a time. Where there are several chunks a copy learns them.
        """
        if self._learned_rows(underway) >= aim:
            return underway, None
        wait = 2 * AT_A_TIME if self.rounds.rows < underway.swap else 0
        try:
            block, labels = self._next(underway, aim)
            if aim - self._learned_rows(underway) - block.n <= wait:
                pending = underway.forecast(block, labels)
                return _after(underway, labels, pending), (underway, block, pending)
        except LinAlgError:
            pass
        underway = copy.deepcopy(underway)
        while aim - self._learned_rows(underway) > wait:
            underway = self._learn(underway, aim)
        return underway, None

    def _with_accounts(self, underway: Underway, refit: Refit, accounts: Carried) -> Underway:
        """With the whole estimator around the mixture, whose experts know all rows by now."""
        made, rows, mixture = self.rounds.ends[underway.known - 1], self.rounds.rows, underway.estimator
        later = [underway.inputs.part(self.rounds.block(made, rows), 0, rows - made).rows] if rows > made else []
        assert isinstance(mixture, Mixture)
        return replace(underway, estimator=refit.finished(mixture, later, accounts), refit=None, carries=True)

    def _aim(self, underway: Underway, rows: int) -> int:
        """How many rows are to be learned again when there are so many: none at first, all a row before the swap."""
        made, last = self.rounds.ends[underway.known - 1], underway.swap - 1
        if rows >= last:
            return rows
        if underway.refit is None:
            return last * (rows - made) // (last - made)
        first = self._refit_ends(underway)
        return made + max(0, (last - made) * (rows - first) // (last - first))

    def _refit_ends(self, underway: Underway) -> int:
        """The number of rows at which a refit is closed, or done: some before the swap, and half way from there."""
        assert underway.refit is not None
        if not underway.refit.whole:
            return underway.swap - min(LAST, underway.swap // SHARE)
        return (self.rounds.ends[underway.known - 1] + underway.swap) // 2

    def _refitted(self, underway: Underway, before: int) -> Underway:
        """With the pieces of a refit that are due now, when there were so many rows before."""
        rows, ends = self.rounds.rows, self._refit_ends(underway)
        kept, known = self.rounds, underway.known
        made = kept.ends[known - 1]
        late = 0 if underway.refit is None or underway.refit.whole else (underway.swap - made) // 12
        underway = underway.refitted(rows - before, max(1, ends - late - before))
        if underway.refit is None or underway.refit.whole:
            return underway
        if rows < ends and (underway.refit.left or rows - made < SUMMED // 2):
            return underway
        labels = Labels(self.loss, underway.space, kept.ys[known:], np.array(kept.ends[known:]) - made)
        block = underway.inputs.part(kept.block(made, rows), 0, rows - made)
        refit = underway.refit.with_rows(block, labels.Phi, whole=rows >= ends)
        underway = replace(underway, inputs=refit.inputs, refit=refit, known=len(kept.ys), space=labels.space)
        return underway if rows < underway.swap else underway.refitted(1, 1)

    def _learned_rows(self, underway: Underway) -> int:
        return self.rounds.ends[underway.learned - 1] if underway.learned else 0

    def _next(self, underway: Underway, aim: int) -> tuple[Block, Labels]:
        """The rounds to learn next: up to the one with row `aim`, as many as the estimator takes at a time.

        Rounds that had come when the estimator was made are in the space of that time.
        """
        first, kept = underway.learned, self.rounds
        known = first < underway.known
        lo, stop = reach(kept.ends[: underway.known if known else None], first, underway.estimator.room)
        while stop > first + 1 and kept.ends[stop - 2] >= aim:
            stop -= 1
        ends = np.array(kept.ends[first:stop], dtype=np.intp) - lo
        labels = Labels(self.loss, underway.space, kept.ys[first:stop], ends, known=known)
        block = kept.block(lo, kept.ends[stop - 1])
        return underway.inputs.part(block, 0, block.n), labels

    def _learn(self, underway: Underway, aim: int) -> Underway:
        """Learn a chunk now, or a round of it where rounding makes the chunk singular."""
        block, labels = self._next(underway, aim)
        try:
            pending = underway.forecast(block, labels)
        except LinAlgError:
            known = underway.learned < underway.known
            labels = Labels(self.loss, underway.space, labels.ys[:1], labels.ends[:1], known=known)
            block = underway.inputs.part(block, 0, int(labels.ends[0]))
            pending = underway.estimator.observe(underway.estimator.forecast(block, underway.space), labels)
        underway.inputs.append(block)
        underway.estimator.commit(pending)
        return _after(underway, labels, pending)


def swap_after(n: int) -> int:
    """The number of rows at which an estimator that is made of n takes over: n / 8 later, or up to 16.

    >>> [swap_after(n) for n in (32, 64, 128, 1024)]
    [40, 80, 144, 1152]
    """
    return n + min(n // 4, max(16, n // 8))


def swap_in_turn(n: int) -> int:
    """The number of rows at which one takes over that learns them in turn: few in each round.

    >>> [swap_in_turn(n) for n in (16, 64, 128, 1024)]
    [20, 80, 192, 1536]
    """
    return n + (n // 4 if n < GENTLY else n // 2)


def units_of_rows(loss: Loss) -> Relearning:
    """For kernels in units of the first rows."""
    return Relearning(loss, True)


def _after(underway: Underway, labels: Labels, pending: Any) -> Underway:
    paid = underway.paid
    if underway.refit is None:
        paid += float(labels.surrogate_losses(pending.G).sum())
    return replace(underway, space=labels.space, learned=underway.learned + len(labels.ys), paid=paid)


def _raw(rows: Any) -> bool:
    """Whether rows are as they came, before a schema read them."""
    return isinstance(rows, (tables.Records, tables.Columns))


def _size(rows: Any) -> int:
    return int(rows.n) if _raw(rows) else count(rows)


def _some(rows: Any, lo: int, hi: int) -> Any:
    return rows.part(lo, hi) if _raw(rows) else pick(rows, slice(lo, hi))


def _all_of(parts: list[Any]) -> Any:
    """The rows of several blocks, the last of which has all columns."""
    if len(parts) == 1:
        return parts[0]
    return tables.joined(parts) if _raw(parts[-1]) else joined(*parts)

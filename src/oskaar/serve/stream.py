"""One stream of a service: operations come in, are logged, then applied one after the other.

    submit (event loop) -> Writer: on disk -> `enqueue` -> a thread: Core.apply -> the answer

An operation is applied only after it is on disk, so that memory never knows more than the log. One thread at a time
works for a stream, one of a pool; or the event loop itself, for a few milliseconds at a time, where operations are so
quick that two threads would only wait for each other (Python runs one of them at a time). Predictions ask the learner
directly, between two rounds.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from oskaar.serve.checkpoints import Checkpoints, recovered
from oskaar.serve.core import Broken, Core
from oskaar.serve.errors import Conflict, NotFound, Refused, ServeError, TooBusy, Unavailable
from oskaar.serve.operations import Answer, Operation, error_body
from oskaar.serve.store import Saved, StoreError
from oskaar.threads import one_thread

if TYPE_CHECKING:
    from oskaar.serve.service import Service

TURN = 32
"""Operations in a turn before answers go out."""

MEASURED, SHARE = 256, 100
"""Operations between two looks at the memory of the learner, which take one part in so many of the time at most;
the first looks come after 1, 2, 4, ... operations: a learner grows most when it is new."""

QUICK, SLICE = 0.001, 0.004
"""Seconds: what an operation takes at most that the event loop applies itself, and for how long it does that."""

OVERHEAD = 64
"""Bytes that an operation takes in the log beside its body."""


@dataclass(slots=True)
class Task:
    """Something to do with a stream between two operations."""

    function: Callable[[Any], Any]
    load: bool
    done: Future[Any] = field(default_factory=Future)


class Stream:
    """A stream, in memory or not."""

    def __init__(self, service: Service, saved: Saved) -> None:
        self.service = service
        self.id, self.name, self.spec, self.created = saved.id, saved.name, saved.spec, saved.created
        self.logged, self.log_bytes = saved.last, saved.log_bytes
        self.applied = saved.last
        """The last operation that had its turn."""
        self.core: Core | None = None
        self.rounds, self.total_loss, self.open_tickets = _totals(saved.accounts)
        self.problem: str | None = None
        """Why the stream cannot be used: its log or its checkpoint is damaged."""
        self.closed = False
        self.waiting = 0
        self.bytes = 0
        self.used = time.monotonic()
        self.checkpoints = Checkpoints(self, saved.seq, saved.file)
        self._inflight: dict[str, Operation] = {}
        self._pending: deque[Operation | Task] = deque()
        self._lock = threading.Lock()
        self._working = False
        self._leaving = False
        self._measure_at, self._measure_after, self._measure_in = 0, 0.0, 1
        self._pace = 1.0
        """Seconds that an operation takes, of late."""

    # ---------------------------------------------------------------- the event loop's side

    async def submit(self, operations: list[Operation]) -> list[Answer]:
        """Log and apply operations, in this order; or answer those that were answered before."""
        keys = [operation.key for operation in operations if operation.key is not None]
        if len(set(keys)) != len(keys):
            raise Refused("the idempotency keys of a batch must differ.", "key")
        if keys and self.core is None and self.applied > self.checkpoints.seq:
            await self.loaded()  # which keys were used is in the log
        answers: list[Answer | asyncio.Future[Answer] | None] = [self._known(o) for o in operations]
        new = [o for o, known in zip(operations, answers, strict=True) if known is None]
        if new:
            self.put(new)
        waits: list[Any] = [
            o.future if known is None else known for o, known in zip(operations, answers, strict=True)
        ]
        if keys:  # others may wait for the same answer
            waits = [each if isinstance(each, Answer) else asyncio.shield(each) for each in waits]
        return [each if isinstance(each, Answer) else await each for each in waits]

    def put(self, operations: list[Operation]) -> list[asyncio.Future[Answer]]:
        """Log and apply operations whose keys, if any, are new; their answers to come."""
        self._require_room(operations)
        futures = []
        for operation in operations:
            operation.future = self.service.loop.create_future()
            futures.append(operation.future)
            if operation.key is not None:
                self._inflight[operation.key] = operation
        self.waiting += len(operations)
        self.used = time.monotonic()
        self.service.writer.put([(self, operation) for operation in operations])
        return futures

    def _known(self, operation: Operation) -> Answer | asyncio.Future[Answer] | None:
        """What was answered, or will be, to an earlier request with the same idempotency key."""
        if operation.key is None:
            return None
        found: tuple[bytes, Answer | asyncio.Future[Answer]] | None = None
        earlier = self._inflight.get(operation.key)
        if earlier is not None:
            found = earlier.digest, earlier.future
        elif self.core is not None:
            found = self.core.answers.get(operation.key)
        if found is None and self.checkpoints.seq:
            found = self.service.store.answer(self.id, operation.key)
        if found is None:
            return None
        digest, answer = found
        if operation.digest != digest:
            raise Conflict(f"the idempotency key {operation.key!r} was used for another request.", "key")
        return answer

    def _require_room(self, new: list[Operation]) -> None:
        limits = self.service.limits
        self.require_usable()
        if self.waiting + len(new) > limits.waiting:
            raise TooBusy(
                f"{self.waiting} operations of this stream wait, the limit is {limits.waiting}.", retry_after=1
            )
        if self.service.log_bytes > limits.log:
            self.service.shorten_logs()
            raise TooBusy(
                f"the log has reached its limit of {limits.log} bytes: a checkpoint is due.", "log", retry_after=5
            )
        if self.bytes > limits.stream_memory and any(operation.kind != "forget" for operation in new):
            raise Conflict(
                f"the learner takes {self.bytes} bytes and may take {limits.stream_memory}: it still "
                "predicts, and learns no more. Make a stream with a budget.",
                "memory",
            )

    def require_usable(self) -> None:
        """Refuse where there is nothing to work with."""
        if self.closed:
            raise NotFound(f"there is no stream {self.name!r} any more.")
        if self.service.closing:
            raise Unavailable("the service is shutting down.", "closing", retry_after=2)
        if self.problem is not None:
            raise Unavailable(f"stream {self.name!r} cannot be used: {self.problem}", "damaged")

    def _deliver(self, answers: list[tuple[Operation, Answer]]) -> None:
        """Answers to the requests that wait for them."""
        self.waiting -= len(answers)
        for operation, answer in answers:
            if operation.key is not None:
                self._inflight.pop(operation.key, None)
            if not operation.future.done():
                operation.future.set_result(answer)

    async def do(self, function: Callable[[Core], Any]) -> Any:
        """Something with the stream in memory, between two operations."""
        self.require_usable()
        self.used = time.monotonic()
        return await asyncio.wrap_future(self.later(function))

    async def loaded(self) -> Core:
        """The stream in memory, to read from."""
        self.require_usable()
        self.used = time.monotonic()
        core: Core = self.core or await self.do(lambda core: core)
        return core

    # ---------------------------------------------------------------- the writer's side

    def failed(self, operations: list[Operation], error: ServeError) -> None:
        """These operations are not on disk, and will not be."""
        answer = Answer(error.status, error_body(error))
        self.service.loop.call_soon_threadsafe(self._deliver, [(operation, answer) for operation in operations])

    def later(self, function: Callable[[Any], Any], load: bool = True) -> Future[Any]:
        """Something with the stream in memory, when its turn comes; without `load`, with None if it is not there."""
        task = Task(function, load)
        self.enqueue([task])
        return task.done

    def enqueue(self, items: list[Any]) -> None:
        """Operations that are on disk, or tasks: do them after those before them."""
        with self._lock:
            self._pending.extend(items)
            if self._working:
                return
            self._working = True
        if self._pace < QUICK and isinstance(items[0], Operation):
            self.service.loop.call_soon_threadsafe(self._work_here)
        else:
            self.service.workers.submit(self._work)

    # ---------------------------------------------------------------- the worker's side

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._pending:
                    self._working = False
                    return
                items = [self._pending.popleft() for _ in range(min(TURN, len(self._pending)))]
            answers: list[tuple[Operation, Answer]] = []
            started = time.perf_counter()
            for item in items:
                if isinstance(item, Operation):
                    answers.append((item, self._applied(item)))
                else:
                    self._called(item)
            if answers:
                self._count()
                self.service.loop.call_soon_threadsafe(self._deliver, answers)
                self._took(time.perf_counter() - started, len(answers))
                if self._measure_due:
                    self._measure()
                self.checkpoints.consider()
                if self._is_quick():
                    self.service.loop.call_soon_threadsafe(self._work_here)
                    return

    @one_thread
    def _work_here(self) -> None:
        """As `_work`, in the event loop: operations for a moment; all else goes to a thread."""
        answers: list[tuple[Operation, Answer]] = []
        started = now = time.perf_counter()
        quick = self._is_quick()
        while quick and self.core is not None and now - started < SLICE:
            operation = self._pending.popleft()
            assert isinstance(operation, Operation)
            answers.append((operation, self._applied(operation)))
            now = time.perf_counter()
            quick = bool(self._pending) and isinstance(self._pending[0], Operation)
        if answers:
            self._count()
            self._took(now - started, len(answers))
            self._deliver(answers)
        with self._lock:
            more = self._working = bool(self._pending)
        if more and self._is_quick():
            self.service.loop.call_soon(self._work_here)
        elif more:
            self.service.workers.submit(self._work)

    def _is_quick(self) -> bool:
        """Whether the next thing to do is an operation, and nothing that takes long is due before it."""
        if not self._pending or not isinstance(self._pending[0], Operation) or self.core is None:
            return False
        return self._pace < QUICK and not self.checkpoints.due and not self._measure_due

    def _took(self, seconds: float, operations: int) -> None:
        self.checkpoints.busy += seconds
        self._pace += (seconds / operations - self._pace) / 4

    def _applied(self, operation: Operation) -> Answer:
        try:
            core = self._in_memory()
            self.applied = operation.seq
            answer = core.apply(operation)
            self.log_bytes += len(operation.body) + OVERHEAD
            self.checkpoints.waiting += 1
            return answer
        except Broken as error:
            self.core = None
            problem = Unavailable(
                f"operation {operation.seq} of {self.name!r} failed: {error}.", "failed", retry_after=5
            )
        except Exception as error:
            self.core = None
            self.problem = self.problem or f"operation {operation.seq}: {type(error).__name__}: {error}"
            problem = Unavailable(f"stream {self.name!r} cannot be used: {self.problem}", "damaged")
        self.applied = operation.seq
        return Answer(problem.status, error_body(problem))

    def _called(self, task: Task) -> None:
        try:
            task.done.set_result(task.function(self._in_memory() if task.load else self.core))
        except BaseException as error:
            task.done.set_exception(error)

    def _in_memory(self) -> Core:
        """The stream after its last operation, out of the store where it is not in memory."""
        if self.core is not None:
            return self.core
        try:
            core = recovered(self.service.store, self.id, self.applied)
        except Broken:
            raise
        except Exception as error:
            self.problem = str(error) if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
            self.service.say("error", f"stream {self.name!r} cannot be used: {self.problem}")
            raise Unavailable(f"stream {self.name!r} cannot be used: {self.problem}", "damaged") from error
        self.checkpoints.waiting = core.seq - self.checkpoints.seq
        self.core = core
        self._measure()
        self._count()
        return core

    def _count(self) -> None:
        if self.core is not None:
            learner = self.core.learner
            self.rounds, self.total_loss = learner.rounds, float(learner.total_loss)
            self.open_tickets = len(self.core.accounts.open)

    @property
    def _measure_due(self) -> bool:
        """Whether it is time to look at the memory of the learner."""
        return self.applied >= self._measure_at and self.checkpoints.busy >= self._measure_after

    def _measure(self) -> None:
        if self.core is not None:
            started = time.perf_counter()
            self.bytes = self.core.bytes()
            self._measure_at = self.applied + self._measure_in
            if self._measure_in == MEASURED:
                self._measure_after = self.checkpoints.busy + SHARE * (time.perf_counter() - started)
            self._measure_in = min(2 * self._measure_in, MEASURED)
            self.service.balance()

    def checkpointed(self, core: Core) -> None:
        """Start a checkpoint, where there is something to write."""
        self.checkpoints.consider(force=True)

    def evict(self) -> None:
        """Leave memory when there is nothing to do, with everything on disk."""
        if not self._leaving:
            self._leaving = True
            self.later(self._evicted, load=False)

    def _evicted(self, core: Core | None) -> None:
        self._leaving = False
        if core is not None and not self.waiting and not self._pending and self.checkpoints.now(core):
            self.core, self.bytes = None, 0


class _Blocks(msgspec.Struct):
    rounds: int
    sums: dict[str, list[float]]


class _Accounts(msgspec.Struct):
    blocks: _Blocks
    open: list[msgspec.Raw]


def _totals(accounts: bytes | None) -> tuple[int, float, int]:
    """Rounds, loss and open tickets of a stream that is not in memory."""
    if accounts is None:
        return 0, 0.0, 0
    try:
        found = msgspec.json.decode(accounts, type=_Accounts)
    except msgspec.DecodeError:  # `recovered` says so when the stream is used
        return 0, 0.0, 0
    return found.blocks.rounds, sum(found.blocks.sums["loss"]), len(found.open)

"""Checkpoints of a stream: when, from what, and what goes with them.

Answers wait while a copy of the stream is made (`Core.copied`), not while it is written. A stream that is large, or
whose last copy took long, is not copied: the checkpoint before it and the log make it again, beside the live one.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from oskaar.serve.core import Core
from oskaar.serve.operations import encode
from oskaar.serve.store import Store, StoreError
from oskaar.state.writing import replaced

if TYPE_CHECKING:
    from oskaar.serve.stream import Stream

TRIMMED = 500
"""Operations that are taken out of the log in one transaction."""

AGAIN = 30.0
"""Seconds until a checkpoint that failed is tried again."""


def recovered(store: Store, id: int, last: int) -> Core:
    """A stream after operation `last`: its checkpoint, and the log since then through the path of live rounds."""
    saved = store.stream(id)
    if saved.file is None:
        core = Core.new(saved.spec)
    else:
        try:
            data = (store.checkpoints / saved.file).read_bytes()
            core = Core.loaded(saved.spec, data, saved.accounts or b"", saved.seq)
        except (OSError, ValueError) as error:
            raise StoreError(f"the checkpoint {saved.file} cannot be read: {error}") from error
    for operation in store.operations(id, saved.seq, last):
        core.apply(operation)
    return core


class Checkpoints:
    """The checkpoints of one stream."""

    def __init__(self, stream: Stream, seq: int, file: str | None) -> None:
        self.stream, self.seq, self.file = stream, seq, file
        self.waiting = stream.logged - seq
        """Operations since the last one."""
        self.busy = 0.0
        """Seconds spent on operations."""
        self.written = 0
        self.pause = self.took = 0.0
        """Seconds that the last copy held up answers, and that the last one took in all."""
        self.problem: str | None = None
        self.running = False
        self._busy_then = self._not_before = self._work = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time for one, and none is being written."""
        pace = self.stream.service.pace
        enough = self.waiting >= pace.rounds and self.busy - self._busy_then >= pace.share * self.took
        return (enough or self.waiting >= pace.most) and not self.running and time.monotonic() >= self._not_before

    def consider(self, force: bool = False) -> None:
        pace, core = self.stream.service.pace, self.stream.core
        wanted = force and self.waiting and not self.running and time.monotonic() >= self._not_before
        if core is None or not (wanted or self.due):
            return
        self.running = True
        copy = None
        if self.stream.bytes <= pace.large and self._work <= pace.pause:
            copy = self._copied(core)
        else:
            self._work = 0.0 if self.written % 8 == 7 else self._work  # now and then, see whether it got quicker
        job = (copy, core.seq, self.stream.log_bytes, self.waiting)
        self.waiting, self._busy_then = 0, self.busy
        self.stream.service.background.submit(self._run, *job)

    def _copied(self, core: Core) -> Core:
        wall, work = time.perf_counter(), time.thread_time()
        copy = core.copied()
        self.pause, self._work = time.perf_counter() - wall, time.thread_time() - work
        service = self.stream.service
        service.longest_pause = max(service.longest_pause, self.pause)
        return copy

    def _run(self, copy: Core | None, seq: int, size: int, waiting: int) -> None:
        try:
            started = time.perf_counter()
            core = copy or recovered(self.stream.service.store, self.stream.id, seq)
            self._write(core, size)
            self.took = time.perf_counter() - started
        except BaseException as error:
            self._failed(error, waiting)
        finally:
            self.running = False

    def now(self, core: Core) -> bool:
        """Write one from the stream itself, which waits for it; whether there is one of its last operation."""
        if self.running:
            return False
        if core.seq > self.seq:
            try:
                self._write(core, self.stream.log_bytes)
            except Exception as error:
                self._failed(error, 0)
                return False
        return True

    def _failed(self, error: BaseException, waiting: int) -> None:
        self.problem = f"{type(error).__name__}: {error}"
        self.waiting += waiting
        self._not_before = time.monotonic() + AGAIN
        if not self.stream.closed:
            self.stream.service.say("error", f"no checkpoint of {self.stream.name!r}: {self.problem}")

    def _write(self, core: Core, size: int) -> None:
        stream, store = self.stream, self.stream.service.store
        seq, old = core.seq, self.file
        file = f"{stream.id}-{seq}.oskaar"
        with replaced(store.checkpoints / file) as handle:
            handle.write(core.learner.to_bytes())
        accounts = encode(core.accounts.to_dict())
        answers: list[Any] = [(stream.id, key, a.seq, d, a.status, a.body) for key, (d, a) in core.answers.items()]
        keys = stream.service.limits.keys
        change = stream.service.writer.change
        change(lambda: store.set_checkpoint(stream.id, seq, file, accounts, answers, keys)).result()
        self.seq, self.file, self.problem = seq, file, None
        self.written += 1
        if stream.core is core:
            _forget(core, seq)
        elif stream.core is not None:
            stream.later(lambda live: _forget(live, seq))
        stream.log_bytes -= size
        while change(lambda: store.trim(stream.id, seq, TRIMMED)).result():
            pass
        if stream.closed:
            old = file
        if old is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(store.checkpoints / old)


def _forget(core: Core, seq: int) -> None:
    """Answers that are in the store now."""
    core.answers = {key: found for key, found in core.answers.items() if found[1].seq > seq}

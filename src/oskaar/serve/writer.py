"""The one thread that writes: operations of all streams, as many in one commit as have come since the last."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from oskaar.serve.errors import Unavailable
from oskaar.serve.operations import Operation
from oskaar.serve.store import Store

if TYPE_CHECKING:
    from oskaar.serve.stream import Stream

MOST = 500
"""Operations after which a commit takes no more."""

Change = Callable[[], Any]


Entry = tuple["Stream", Operation] | tuple["Future[Any]", Change]
"""An operation of a stream, or a change and where its result goes."""


class Writer:
    """Takes operations and other changes in the order in which they come, and commits them together."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.commits = self.operations = self.failures = 0
        self.problem: str | None = None
        """Why the last commit failed; None if it did not."""
        self._queue: SimpleQueue[Sequence[Entry] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def put(self, entries: list[tuple[Stream, Operation]]) -> None:
        """Operations to log; their stream is notified when they are."""
        self._queue.put(entries)

    def change(self, change: Change) -> Future[Any]:
        """Another change, in a transaction of its own."""
        done: Future[Any] = Future()
        self._queue.put([(done, change)])
        return done

    def close(self) -> None:
        """Write what is waiting, and end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        entries: Sequence[Entry] | None = ()
        while entries is not None:
            entries = self._queue.get()
            batch = list(entries or ())
            with contextlib.suppress(Empty):
                while entries is not None and len(batch) < MOST:
                    entries = self._queue.get_nowait()
                    batch += entries or ()
            self._write(batch)

    def _write(self, batch: list[Entry]) -> None:
        """Changes one by one, the operations between two of them together."""
        operations: list[tuple[Stream, Operation]] = []
        for first, second in batch:
            if isinstance(first, Future):
                self._log(operations)
                operations = []
                self._make(first, second)  # type: ignore[arg-type]
            else:
                operations.append((first, second))  # type: ignore[arg-type]
        self._log(operations)

    def _log(self, operations: list[tuple[Stream, Operation]]) -> None:
        if not operations:
            return
        now, by_stream = time.time(), dict[Any, list[Operation]]()
        for stream, operation in operations:
            mine = by_stream.setdefault(stream, [])
            mine.append(operation)
            operation.time, operation.seq = now, stream.logged + len(mine)
        try:
            self._commit(lambda: self.store.append((stream.id, operation) for stream, operation in operations))
        except sqlite3.Error as error:
            problem = unavailable(error)
            for stream, mine in by_stream.items():
                stream.failed(mine, problem)
            return
        self.operations += len(operations)
        for stream, mine in by_stream.items():
            stream.logged += len(mine)
            stream.enqueue(mine)

    def _make(self, done: Future[Any], change: Change) -> None:
        try:
            done.set_result(self._commit(change))
        except sqlite3.Error as error:
            done.set_exception(unavailable(error))
        except BaseException as error:
            done.set_exception(error)

    def _commit(self, change: Change) -> Any:
        db = self.store.db
        try:
            db.execute("BEGIN IMMEDIATE")
            result = change()
            db.execute("COMMIT")
        except BaseException as error:
            self.failures += 1
            self.problem = str(error)
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        self.commits += 1
        self.problem = None
        return result


def unavailable(error: sqlite3.Error) -> Unavailable:
    """What a request gets when its operation could not be written."""
    full = "full" in str(error)
    message = "the disk is full" if full else f"the store cannot be written ({error})"
    code = "disk_full" if full else "store"
    return Unavailable(f"{message}: nothing was done, predictions go on. Try again later.", code, retry_after=5)

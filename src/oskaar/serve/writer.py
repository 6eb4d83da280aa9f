"""The one thread that writes: operations of all streams, as many in one commit as have come since the last."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from oskaar.serve.errors import ServeError, Unavailable
from oskaar.serve.operations import Operation
from oskaar.serve.store import Store

MOST = 500
"""Operations in a commit."""

Change = Callable[[], Any]


class Target(Protocol):
    """A stream, as the writer sees it."""

    id: int
    logged: int
    """The last operation in the log."""

    def durable(self, operations: list[Operation]) -> None:
        """These operations are on disk: apply them."""

    def failed(self, operations: list[Operation], error: ServeError) -> None:
        """These operations are not on disk, and will not be."""


class Writer:
    """Takes operations and other changes in the order in which they come, and commits them together."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.commits = self.operations = self.failures = 0
        self.problem: str | None = None
        """Why the last commit failed; None if it did not."""
        self._queue: list[tuple[Target, Operation] | tuple[Future[Any], Change]] = []
        self._wake = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def put(self, entries: list[tuple[Target, Operation]]) -> None:
        """Operations to log; their stream is told when they are."""
        with self._wake:
            self._queue += entries
            self._wake.notify()

    def change(self, change: Change) -> Future[Any]:
        """Another change, in a transaction of its own."""
        done: Future[Any] = Future()
        with self._wake:
            self._queue.append((done, change))
            self._wake.notify()
        return done

    def close(self) -> None:
        """Write what is waiting, and end."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._closing:
                    self._wake.wait()
                batch, self._queue = self._queue[:MOST], self._queue[MOST:]
            if not batch:
                return
            operations: list[tuple[Target, Operation]] = []
            for first, second in batch:
                if isinstance(first, Future):
                    self._log(operations)
                    operations = []
                    self._make(first, second)  # type: ignore[arg-type]
                else:
                    operations.append((first, second))  # type: ignore[arg-type]
            self._log(operations)

    def _log(self, operations: list[tuple[Target, Operation]]) -> None:
        if not operations:
            return
        now, by_stream = time.time(), dict[Target, list[Operation]]()
        for target, operation in operations:
            mine = by_stream.setdefault(target, [])
            mine.append(operation)
            operation.time, operation.seq = now, target.logged + len(mine)
        try:
            self._commit(lambda: self.store.append((target.id, operation) for target, operation in operations))
        except sqlite3.Error as error:
            problem = unavailable(error)
            for target, mine in by_stream.items():
                target.failed(mine, problem)
            return
        self.operations += len(operations)
        for target, mine in by_stream.items():
            target.logged += len(mine)
            target.durable(mine)

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

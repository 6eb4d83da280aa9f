"""Interrupts: control-C never cuts a chunk of rounds in two."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

FIRST = b"\noskaar: these rounds are finished first; control-C once more stops at once, without a checkpoint\n"


class Interrupts:
    """Inside `whole`, the first control-C waits until the end of it, a second one does not; elsewhere none waits.

    >>> interrupts, done = Interrupts(), []
    >>> try:
    ...     with interrupts, interrupts.whole():
    ...         interrupts.asked = True
    ...         done.append("all of it")
    ... except KeyboardInterrupt:
    ...     print(done)
    ['all of it']
    """

    def __init__(self) -> None:
        self.asked = self._inside = False
        self._before: Any = None

    def __enter__(self) -> Self:
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(before):
            self._before = before
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What is inside is done as a whole."""
        self._inside = True
        try:
            yield
        finally:
            self._inside = False
        if self.asked:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._inside or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        os.write(2, FIRST)  # print is not safe in a handler

"""Interrupts: neither control-C nor SIGTERM cuts a chunk of rounds in two."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

FIRST = b"\noskaar: these rounds are finished first; once more stops at once, without a model\n"

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Inside `whole`, the first signal waits until the end of it, a second one does not; elsewhere none waits.

    `number` is that of the signal: 128 + number is what a program that it ended returns.

    >>> interrupts, done = Interrupts(), []
    >>> try:
    ...     with interrupts, interrupts.whole():
    ...         signal.raise_signal(signal.SIGTERM)
    ...         done.append("all of it")
    ... except KeyboardInterrupt:
    ...     print(done, interrupts.number == signal.SIGTERM)
    ['all of it'] True
    """

    def __init__(self) -> None:
        self.asked = self._inside = False
        self.number = int(signal.SIGINT)
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                if before not in (signal.SIG_IGN, None):
                    self._before[number] = before
                    signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

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
        self.number = number
        if not self._inside or self.asked:
            raise KeyboardInterrupt
        self.asked = True
        os.write(2, FIRST)  # print is not safe in a handler

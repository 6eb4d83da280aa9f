"""Learners are never left within a round: interrupts are delayed, threads take a lock, BLAS uses one thread.

Python runs the handler of a signal between two steps of the main thread, anywhere. `uninterrupted` puts a handler
in place that only takes a note, and sends the signal again when the block is over, to the handler before it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import Any, TypeVar, cast

from oskaar.threads import one_thread

Method = TypeVar("Method", bound=Callable[..., Any])

# signal.signal and signal.getsignal without their conversions to enums, which cost more than the calls themselves
_plain: Any = sys.modules.get("_signal", signal)
_set: Callable[[int, Any], Any] = _plain.signal
_get: Callable[[int], Any] = _plain.getsignal
_SIGINT = int(signal.SIGINT)
_main = threading.main_thread()


class uninterrupted:
    """A block of code that ctrl-C does not cut in two: KeyboardInterrupt comes after it.

    Other threads than the main one are never interrupted, so there it does nothing. A few microseconds.

    >>> try:
    ...     with uninterrupted():
    ...         signal.raise_signal(signal.SIGINT)
    ...         finished = True
    ... except KeyboardInterrupt:
    ...     print(finished)
    True
    """

    __slots__ = ("_asked", "_before")

    def __enter__(self) -> None:
        self._asked = False
        self._before: Any = None
        if threading.get_ident() != _main.ident:
            return
        before = _get(_SIGINT)
        if callable(before):  # else the signal ends the process, is ignored, or is not Python's
            try:
                self._before = _set(_SIGINT, self._note)
            except ValueError:  # not the main interpreter, which alone has handlers
                self._before = None

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            _set(_SIGINT, self._before)
            if self._asked:
                signal.raise_signal(signal.SIGINT)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._asked = True


class writing(uninterrupted):
    """A block that changes a learner, uninterrupted: after an error in it the learner is refused.

    >>> class Learner:
    ...     _incomplete = False
    >>> learner = Learner()
    >>> try:
    ...     with writing(learner):
    ...         raise MemoryError
    ... except MemoryError:
    ...     learner._incomplete
    True
    """

    __slots__ = ("_learner",)

    def __init__(self, learner: Any) -> None:
        self._learner = learner

    def __enter__(self) -> None:
        uninterrupted.__enter__(self)
        self._learner.__dict__["_incomplete"] = True  # not by __setattr__, which might fail, the handler in place

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            self._learner.__dict__["_incomplete"] = False
        uninterrupted.__exit__(self)


_owners: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def give_lock(owner: Any) -> None:
    """A reentrant lock of its own, `_lock`, which is a new one in a forked process.

    A thread that held the old one is not there any more; what it was writing stays refused.
    """
    owner._lock = threading.RLock()
    _owners[id(owner)] = owner


def _renew_locks() -> None:
    for owner in list(_owners.values()):
        owner._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def exclusive(method: Method) -> Method:
    """A method that one thread at a time may run on an object, with one BLAS thread (`oskaar.threads`).

    The object holds a reentrant lock `_lock`. A learner that an error has left in the middle of a round is refused.
    """
    return locked(one_thread(method))


def locked(method: Method) -> Method:
    """As `exclusive`, with as many BLAS threads as the user has set: for large factorisations."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            if self._incomplete:
                raise RuntimeError(_TORN.format(type(self).__name__))
            return method(self, *args, **kwargs)

    return cast(Method, guarded)


_TORN = (
    "this {} was stopped in the middle of learning a round, by an error such as a lack of memory, a signal other "
    "than ctrl-C or a fork, and is half way between two states: load a saved one, or call reset()."
)

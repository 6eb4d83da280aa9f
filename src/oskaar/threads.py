"""One thread of BLAS while a learner works: its matrices are small, and more threads are slower.

threadpoolctl finds the libraries (NumPy and SciPy each bring their own); their numbers are set to 1 when work
begins and put back when it ends, in about two microseconds. OpenBLAS has one number for the process: it is put back
when the last thread leaves. The others may have a number for each thread: there each thread puts its own back.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
Library = tuple[Callable[[], int], Callable[[int], Any]]
"""How to get and how to set the number of threads."""


def one_thread(function: Function) -> Function:
    """A function that runs with one BLAS thread; the user's setting is back when it returns, however it does.

    >>> import numpy as np
    >>> @one_thread
    ... def solve(A, b):
    ...     return np.linalg.solve(A, b)
    >>> solve(np.eye(2), np.ones(2))
    array([1., 1.])
    """

    @wraps(function)
    def limited(*args: Any, **kwargs: Any) -> Any:
        work = object()
        try:
            _enter(work)
            return function(*args, **kwargs)
        finally:
            try:
                _leave(work)
            except BaseException:  # ctrl-C at this very moment
                _leave(work)
                raise

    return cast(Function, limited)


class _Limit:
    """Some libraries, the work that is going on in them, and the numbers to put back after it.

    Each step can be repeated: one that is interrupted leaves nothing that the next call of `settle` does not mend.
    """

    def __init__(self, libraries: list[Library]) -> None:
        self.libraries = libraries
        self.inside: dict[object, int] = {}  # work to the thread that does it
        self.before: list[tuple[Library, int]] | None = None

    def settle(self) -> None:
        """1 while there is work; where no one else has set another number meanwhile, the user's after it."""
        if self.inside:
            if self.before is None:
                found = []
                for library in self.libraries:
                    number = library[0]() or 1
                    if number > 1:
                        found.append((library, number))
                if self.before is None:
                    self.before = found
                for (_, put), _ in self.before:
                    put(1)
        elif self.before is not None:
            for (get, put), number in self.before:
                if get() == 1:
                    put(number)
            self.before = None


_get_ident = threading.get_ident
_lock = threading.RLock()
_shared = _Limit([])
_of_all = (_shared,)
_mine = threading.local()
_own: list[Library] = []
_found = False


def _enter(work: object) -> None:
    with _lock:
        if not _found:
            _find()
        for limit in _limits() if _own else _of_all:
            limit.inside[work] = _get_ident()
            limit.settle()


def _leave(work: object) -> None:
    with _lock:
        for limit in _limits() if _own else _of_all:
            limit.inside.pop(work, None)
            limit.settle()


def _limits() -> tuple[_Limit, ...]:
    """That of the process, and that of this thread, where some library has one."""
    if not hasattr(_mine, "limit"):
        _mine.limit = _Limit(_own)
    return (_shared, _mine.limit)


def _find() -> None:
    """Look for the libraries of NumPy and SciPy, which are loaded by then, once: it takes some milliseconds.

    Modules that most rounds need are loaded here, where a fork waits: in a child that is forked while another thread
    loads a module, that module could never be loaded.
    """
    global _found
    import scipy.linalg
    import scipy.spatial.distance  # noqa: F401
    from threadpoolctl import ThreadpoolController

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on mixtures of OpenMP: they are the user's
        found = ThreadpoolController().select(user_api="blas").lib_controllers
    shared, own = [], []
    for library in found:
        calls = _of_process(library)
        if calls is None:
            own.append((library.get_num_threads, library.set_num_threads))
        else:
            shared.append(calls)
    _shared.libraries, _own[:] = shared, own
    _found = True


def _of_process(library: Any) -> Library | None:
    """The two functions of an OpenBLAS with a pool of its own; None for other libraries.

    threadpoolctl's own `set_num_threads` obeys one thread, the first that calls it; any may be the last to leave.
    """
    if library.internal_api != "openblas" or library.threading_layer == "openmp":
        return None
    for prefix in ("", "scipy_"):
        for suffix in ("", "64_", "_64"):
            names = (f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("get", "set"))
            get, put = (getattr(library.dynlib, name, None) for name in names)
            if get is not None and put is not None:
                return get, put
    return None


def _in_child() -> None:
    """After a fork: the work of other threads stayed with the parent."""
    here = threading.get_ident()
    for work in [work for work, thread in _shared.inside.items() if thread != here]:
        _leave(work)
    _lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_child)

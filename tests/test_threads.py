"""One BLAS thread while a learner works, and the user's number before and after."""

import inspect
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl

from oskaar import OSKAAR, SALAMI, BatchILE, kernels, losses, replay, threads
from oskaar.threads import one_thread

USERS = 3


def numbers():
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def users_number():
    """The user has asked for three threads, and has them when a test ends."""
    with threadpoolctl.threadpool_limits(USERS, user_api="blas"):
        if numbers() != {USERS}:
            pytest.skip("threadpoolctl cannot set the threads of this BLAS")
        yield
        assert numbers() == {USERS}


class Kernel(kernels.Kernel):
    """Linear, and takes a note of the threads, or fails."""

    kappa = 2.0

    def __init__(self, fails=False):
        self.seen, self.fails = set(), fails

    def __call__(self, X, Y):
        self.seen |= numbers()
        if self.fails:
            raise ZeroDivisionError
        return np.asarray(X) @ np.asarray(Y).T + 1.0

    def diag(self, X):
        return np.diag(self(X, X)).copy()


X, YS = np.linspace(0, 1, 12).reshape(6, 2), list("ababab")


@pytest.mark.parametrize("make", [OSKAAR, SALAMI])
def test_one_inside_and_the_users_number_outside(make):
    kernel = Kernel()
    learner = make(losses.ZeroOne("ab"), kernel)
    learner.learn_one(X[0], "a")
    assert numbers() == {USERS}
    learner.predict_one(X[1])
    learner.estimate(X[1])
    learner.learn_many(X, YS)
    for _ in learner.stream(X, YS):
        assert numbers() == {USERS}  # between two chunks the user's code runs
    replay(learner, X, YS)
    learner.certificate()
    assert kernel.seen == {1}
    assert numbers() == {USERS}


def test_a_large_fit_has_all(monkeypatch):
    for many, number in ((2000, 1), (6, USERS)):
        monkeypatch.setattr("oskaar.learners.batch._MANY", many)
        kernel = Kernel()
        model = BatchILE(losses.ZeroOne("ab"), kernel).fit(X, YS)
        assert kernel.seen == {number}
        kernel.seen.clear()
        model.predict(X)
        assert kernel.seen == {1}


def test_after_an_exception():
    learner = OSKAAR(losses.ZeroOne("ab"), Kernel(fails=True))
    with pytest.raises(ZeroDivisionError):
        learner.learn_one(X[0], "a")


def test_nested():
    @one_thread
    def inner():
        return numbers()

    @one_thread
    def outer():
        return inner() | numbers()

    assert outer() == {1}


def test_a_number_that_is_set_meanwhile_stays():
    """The user's code may run inside, as a kernel: what it sets is the user's setting."""
    one_thread(lambda: threadpoolctl.threadpool_limits(USERS + 1, user_api="blas"))()
    assert numbers() == {USERS + 1}
    threadpoolctl.threadpool_limits(USERS, user_api="blas")


def overlapping(function):
    """Thread A begins, B begins, A ends, B ends: what `function` says after each step, here and in B."""
    a, b, seen = threading.Event(), threading.Event(), []
    inside = {name: threading.Event() for name in "ab"}
    limited = one_thread(lambda name, end: (inside[name].set(), end.wait(10), seen.append(function())))
    workers = [threading.Thread(target=limited, args=(name, end)) for name, end in (("a", a), ("b", b))]
    here = []
    for worker, name in zip(workers, "ab"):
        worker.start()
        assert inside[name].wait(10)
        here.append(function())
    for worker, end in zip(workers, (a, b)):
        end.set()
        worker.join(10)
        here.append(function())
    return here, seen


def test_the_last_thread_to_leave_puts_the_number_back():
    here, seen = overlapping(numbers)
    assert here == [{1}, {1}, {1}, {USERS}]
    assert seen == [{1}, {1}]
    with threadpoolctl.threadpool_limits(USERS + 2, user_api="blas"):  # a thread of ours does not own the setting
        assert numbers() == {USERS + 2}


class OfThreads:
    """A library with a number for each thread, as MKL has."""

    internal_api, threading_layer = "mkl", "intel"

    def __init__(self):
        self.local = threading.local()

    def get_num_threads(self):
        return getattr(self.local, "number", 8)

    def set_num_threads(self, number):
        self.local.number = number


def test_a_library_with_a_number_for_each_thread(monkeypatch):
    library = OfThreads()
    monkeypatch.setattr(threads, "_shared", threads._Limit([]))
    monkeypatch.setattr(threads, "_own", [])
    monkeypatch.setattr(threads, "_mine", threading.local())
    monkeypatch.setattr(threads, "_found", False)
    found = type("Found", (), {"select": lambda self, user_api: self, "lib_controllers": [library]})
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", found)
    here, seen = overlapping(library.get_num_threads)
    assert here == [8] * 4
    assert seen == [1, 1]
    assert one_thread(lambda: one_thread(library.get_num_threads)() + library.get_num_threads())() == 2
    assert library.get_num_threads() == 8


def free(lock):
    """Whether another thread can have it."""
    taken = []
    worker = threading.Thread(target=lambda: taken.append(lock.acquire(timeout=5) and (lock.release() or True)))
    worker.start()
    worker.join()
    return taken[0]


def test_ctrl_c_at_any_step():
    """KeyboardInterrupt at the k-th step of the code that sets the numbers, for every k."""
    inner = one_thread(lambda: None)
    work = one_thread(lambda: inner())
    work()
    steps = {f.__code__: inspect.getsourcelines(f) for f in (threads._enter, threads._leave, threads._Limit.settle)}

    def can_come(frame, event):
        """Signals come where functions begin and calls end, never between the end of a with block and its exit."""
        if frame.f_code not in steps or event not in ("call", "line"):
            return False
        lines, first = steps[frame.f_code]
        return event == "call" or not lines[frame.f_lineno - first].strip().startswith("with")

    def tracer(after):
        left = [after]

        def trace(frame, event, argument):
            if can_come(frame, event):
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt
            return trace

        return trace

    old = sys.gettrace()
    for after in range(1, 1000):
        try:
            sys.settrace(tracer(after))
            work()
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(old)
        assert numbers() == {USERS}, after
        assert not threads._shared.inside, after
        assert free(threads._lock), after
    assert after > 20


FORK = """
import os, sys, threading
import numpy, scipy.linalg, threadpoolctl
from oskaar.threads import one_thread

def numbers():
    return {library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"}

def in_child(function):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if function() else 1)
    return os.waitpid(pid, 0)[1] == 0

threadpoolctl.threadpool_limits(3, user_api="blas")
begun, end = threading.Event(), threading.Event()
other = threading.Thread(target=one_thread(lambda: (begun.set(), end.wait(60))))
other.start()
begun.wait(60)
assert in_child(lambda: numbers() == {3} and one_thread(numbers)() == {1} and numbers() == {3}), "another thread's"
assert numbers() == {1}
own = one_thread(lambda: os.fork() or numbers())()
if isinstance(own, set):
    os._exit(0 if (own, numbers()) == ({1}, {3}) else 1)
assert os.waitpid(own, 0)[1] == 0, "its own"
end.set()
other.join()
assert numbers() == {3}
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork():
    """In a child the work of other threads is over; that of the thread which forked goes on."""
    source = str(Path(threads.__file__).parents[1])
    subprocess.run([sys.executable, "-c", FORK], check=True, env={"PYTHONPATH": source, "PATH": ""}, timeout=120)


FORK_WHILE_LOADING = """
import os, signal, sys, threading, time
from oskaar import OSKAAR, losses

loading = threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "scipy.spatial":
            loading.set()
            time.sleep(0.5)

sys.meta_path.insert(0, Slow())
learner = OSKAAR(losses.ZeroOne(2))
other = threading.Thread(target=lambda: [learner.learn_one([float(i)], i % 2) for i in range(8)])
other.start()
loading.wait(60)
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    OSKAAR(losses.ZeroOne(2)).fit([[0.0], [1.0]], [0, 1]).predict_one([2.0])
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
other.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_waits_for_what_is_loaded():
    """A child whose parent was loading a module would wait for that module for ever."""
    source = str(Path(threads.__file__).parents[1])
    command = [sys.executable, "-W", "ignore", "-c", FORK_WHILE_LOADING]
    subprocess.run(command, check=True, env={"PYTHONPATH": source, "PATH": ""}, timeout=120)

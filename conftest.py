"""What holds for all tests and doctests."""

import os
import signal

import pytest

# The definitions in tests/naive.py know nothing of oskaar.threads, and tests run side by side: with a BLAS thread for
# each core they take six times as long. tests/test_threads.py sets the number it needs itself.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """Ctrl-C interrupts, also where the tests were started in the background, which ignores it."""
    try:
        old = signal.signal(signal.SIGINT, signal.default_int_handler)
    except ValueError:  # not the main thread
        yield
        return
    yield
    signal.signal(signal.SIGINT, old)

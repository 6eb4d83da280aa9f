"""What holds for all tests and doctests."""

import signal

import pytest


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

"""What holds for all tests and doctests."""

import os
import random
import signal

import pytest

# The definitions in tests/naive.py know nothing of oskaar.threads, and tests run side by side: with a BLAS thread for
# each core they take six times as long. tests/test_threads.py sets the number it needs itself.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_addoption(parser):
    """--shuffle SEED, of `make test-shuffled`."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="files in random order, and the tests of each")


def pytest_collection_modifyitems(config, items):
    """No test may need another to have come before it."""
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    draw, files = random.Random(seed), {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    items.clear()
    for path in draw.sample(sorted(files), len(files)):
        items += draw.sample(files[path], len(files[path]))


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

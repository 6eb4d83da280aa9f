import asyncio
import inspect
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from oskaar.cli import main

COMMON = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("oskaar", derandomize=True, max_examples=16, **COMMON)  # the same examples in every run
settings.register_profile("fuzz", derandomize=False, max_examples=40, print_blob=True, **COMMON)  # new ones
settings.load_profile("oskaar")

MORE = 20
"""How many times the examples of a default run `make fuzz` tries."""


def pytest_collection_modifyitems(config, items):
    """With --hypothesis-profile=fuzz: property tests alone, with more examples each."""
    if config.getoption("--hypothesis-profile") != "fuzz":
        return
    kept = [item for item in items if is_hypothesis_test(getattr(item, "obj", None))]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept
    for item in kept:
        test = getattr(item.obj, "__func__", item.obj)
        own = test._hypothesis_internal_use_settings
        if own.max_examples < 40 * MORE:  # a test with parameters is here several times
            test._hypothesis_internal_use_settings = settings(own, max_examples=MORE * own.max_examples)


def pytest_pyfunc_call(pyfuncitem):
    """A test that is a coroutine runs in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


@pytest.fixture(autouse=True)
def same_handler():
    """Whatever a test does, the next one finds the handler of ctrl-C as it was."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    assert after is before


@pytest.fixture
def run(tmp_path, capsys):
    """Run a command on a text; its exit code, output and errors."""

    def go(text, *arguments, name="a.csv", command="learn"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        code = main([command, str(path), *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return go


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def data():
    """The folder of real streams, which do not ship with the project."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real streams are not beside the project")
    return folder

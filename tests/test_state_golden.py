"""Files that earlier versions wrote still load and answer as they did."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import oskaar

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("format*.oskaar"))
STREAMS = {name: xs for name, _, xs, _ in runpy.run_path(str(GOLDEN / "make_golden.py"))["golden"]()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden(path):
    version, name = path.stem.split("-")
    expected = json.loads((GOLDEN / f"{version}.json").read_text())[name]
    learner, xs = oskaar.load(path), STREAMS[name]
    assert [repr(z) for z in learner.predict_many(xs)] == expected["predictions"]
    for x, estimate in zip(xs, expected["estimates"]):
        np.testing.assert_allclose(learner.estimate(x), estimate, rtol=0, atol=1e-12)


def test_every_format_has_golden_files():
    """But for KAAR on features, whose state is another one since."""
    for version in range(1, oskaar.state.files.FORMAT + 1):
        assert len([path for path in FILES if path.stem.startswith(f"format{version}-")]) >= 5

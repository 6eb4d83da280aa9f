"""Every class that can be in a file has a tag of its own, and no tag changes by accident."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import saved as streams

import oskaar
from oskaar import OSKAAR, StateError, kernels, losses
from oskaar.features import FeatureMap
from oskaar.inputs import Store
from oskaar.kernels import Kernel
from oskaar.learners import Predictor
from oskaar.losses import Loss
from oskaar.losses.base import Space
from oskaar.saved import check_saved, saved, tag_of, tagged, tags
from oskaar.state import names

GOLDEN = Path(__file__).with_name("tags.txt")
"""One tag a line. A tag that is gone or renamed makes old files unreadable: raise FORMAT in state/files.py then.

.venv/bin/python tests/test_saved.py writes it anew.
"""

names.import_parts()
import oskaar.cli.checkpoint  # noqa: E402, its classes have tags, too


def own_tags():
    """Those of the package; tests may have made more."""
    return [tag for tag in tags() if tagged(tag).__module__.startswith("oskaar.")]


def concrete_subclasses(cls):
    below = [one for child in cls.__subclasses__() for one in concrete_subclasses(child)]
    own = cls.__module__.startswith("oskaar.") and not inspect.isabstract(cls)
    return ([cls] if own else []) + below


ABSTRACT = {"Stationary", "SubsetLoss", "RankingLoss", "SizedLoss", "GrowingSpace", "OnlineLearner"}
"""Classes that share code and are never made, though Python does not know."""


@pytest.mark.parametrize("base", [Kernel, FeatureMap, Loss, Space, Store, Predictor])
def test_all_have_tags(base):
    found = concrete_subclasses(base)
    assert len(found) > 3
    untagged = {cls.__name__ for cls in found if tag_of(cls) is None and not cls.__name__.startswith("_")}
    assert untagged <= ABSTRACT


def test_the_golden_list_of_tags():
    assert own_tags() == GOLDEN.read_text().split()


def test_tags_are_unique_and_plain():
    assert all(re.fullmatch(r"[a-z]+/[a-z0-9-]+", tag) for tag in own_tags())
    assert len({tagged(tag) for tag in own_tags()}) == len(own_tags())
    with pytest.raises(ValueError, match="one meaning"):
        saved("kernel/linear")(kernels.Gaussian)
    assert tagged("kernel/linear") is kernels.Linear


def test_reading_knows_all_files_with_tags():
    """A tag is found because `state.names.PARTS` has its part of the package."""
    source = Path(oskaar.__file__).parent
    for file in source.rglob("*.py"):
        if re.search(r"^@saved\(", file.read_text(), re.M):
            part = file.relative_to(source).parts[0].removesuffix(".py")
            assert part in (*names.PARTS, "cli"), f"{file} has tags: add {part!r} to PARTS in state/names.py"


@pytest.mark.parametrize("tag", ["kernel/none", "ZeroOne", "", "kernel/linear "])
def test_unknown_tags_are_refused(tag):
    with pytest.raises(StateError, match="not a part of oskaar"):
        names.resolve(tag, ["oskaar", ""])


def test_a_file_names_no_module_of_oskaar():
    """So that it can be read after a move."""
    learners = streams.learners()
    for name in ("oskaar", "ensemble", "salami budget", "oskaar fourier"):
        learner, xs, ys = learners[name]
        assert b"oskaar." not in learner.partial_fit(xs[:9], ys[:9]).to_bytes()


def test_a_part_of_oskaar_without_a_tag_is_refused():
    learner = OSKAAR(losses.ZeroOne(2), kernels.Pairwise(kernels.gram))
    with pytest.raises(StateError, match=r"kernel\.function.*no tag"):
        learner.to_bytes()


def test_arrays_must_be_finite():
    """Unless the class says otherwise, as losses do."""

    class Plain:
        def __init__(self, **attributes):
            vars(self).update(attributes)

    class Infinite(Plain):
        saved_finite = False

    bad = np.array([1.0, np.inf])
    for attributes in ({"a": bad}, {"a": [bad]}, {"a": {"b": bad}}, {"a": (bad,)}):
        with pytest.raises(StateError, match=r"Plain\.a must be finite"):
            check_saved(Plain(**attributes))
        check_saved(Infinite(**attributes))
    check_saved(Plain(a=bad.astype(np.float32)[:1], b=[1, "x"]))


def test_a_class_moves_and_is_renamed(monkeypatch):
    """A file is read by the class that has the tag now."""
    data = OSKAAR(losses.ZeroOne("ab")).partial_fit([[0.0], [1.0]], "ab").to_bytes()
    moved = type("Renamed", (losses.ZeroOne,), {"__module__": "elsewhere"})
    monkeypatch.setitem(oskaar.saved._tagged, "loss/zero-one", moved)
    monkeypatch.setitem(oskaar.saved._tags, moved, "loss/zero-one")
    learner = oskaar.from_bytes(data)
    assert type(learner.loss) is moved
    assert learner.predict_one([0.9]) == "b"
    assert learner.to_bytes() == data


if __name__ == "__main__":
    GOLDEN.write_text("\n".join(own_tags()) + "\n")

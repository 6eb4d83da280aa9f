"""Rows and labels of any kind are taken, or refused with an error that speaks and leaves the learner as it was."""

import os
import warnings

import numpy as np
import pytest
import saved
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array

from oskaar import OSKAAR, SALAMI, kernels, losses

EXAMPLES = int(os.environ.get("OSKAAR_EXAMPLES", "20"))

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from([10**400, -0.0, 1e308, np.float32(2.0), np.int8(-1)]),
)
PLAIN = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=3), st.binary(max_size=3), st.complex_numbers())


def arrays(more):
    shapes = st.lists(st.integers(0, 3), max_size=3)
    kinds = st.sampled_from([float, int, bool, object, "U2", "S1", "datetime64[s]", *more])
    return st.builds(lambda shape, kind: np.zeros(shape, dtype=kind), shapes, kinds)


def sparse():
    dense = st.builds(lambda n, d: np.eye(n, d), st.integers(0, 3), st.integers(1, 4))
    return st.one_of(
        dense.map(csr_array), dense.map(coo_array), st.sampled_from([csr_array([[np.nan]]), csr_array((1, 3))])
    )


def anything(*more):
    nested = st.recursive(
        PLAIN,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.lists(inner, max_size=4).map(tuple),
            st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), inner, max_size=3),
        ),
        max_leaves=6,
    )
    hashables = st.frozensets(st.one_of(st.integers(-1, 5), st.text(max_size=1)), max_size=4)
    ranges = st.integers(0, 5).map(range)
    return st.one_of(
        nested, arrays(more), sparse(), hashables, hashables.map(set), ranges, st.just(object()), st.just(print)
    )


def started(make, xs=None, **settings):
    learner = make(losses.ZeroOne(3), **settings)
    learner.learn_many(saved.rows(4) if xs is None else xs, [0, 1, 2, 0])
    return learner


ROWS = {
    "fresh": OSKAAR(losses.ZeroOne(3)),
    "dense": started(OSKAAR),
    "sparse": started(OSKAAR, csr_array(np.eye(4, 3))),
    "dicts": started(SALAMI, [{"a": i, "b": 1.0} for i in range(4)]),
    "budget": started(OSKAAR, budget=3),
    "parts": OSKAAR(losses.PerRow(losses.ZeroOne(3))),
    "objects": OSKAAR(losses.ZeroOne(3), kernels.Pairwise(saved.overlap)),
}


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=EXAMPLES)
@given(anything(complex))
def test_rows(name, x):
    learner = ROWS[name]
    if name == "objects" and not isinstance(x, (str, tuple, list, frozenset, dict)):
        return  # the kernel is asked, and it says what it will
    before = learner.to_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ask in (learner.predict_one, learner.estimate, lambda x: learner.predict_many([x])):
            try:
                ask(x)
            except (ValueError, TypeError) as error:
                _speaks(error)
        try:
            learner.learn_one(x, "no such class")
        except (ValueError, TypeError) as error:
            _speaks(error)
    assert learner.to_bytes() == before


@pytest.mark.parametrize("name", saved.LABELS)
@settings(max_examples=EXAMPLES)
@given(anything())
def test_labels(name, y):
    """A label is in its standard form, which is its own, or refused."""
    loss = saved.LABELS[name][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            label = loss.check(y)
        except (ValueError, TypeError) as error:
            _speaks(error)
            return
        loss.check(label)
        try:
            loss.space().extended(label)
        except (ValueError, TypeError) as error:
            _speaks(error)


@pytest.mark.parametrize("name", saved.PARTS)
@settings(max_examples=EXAMPLES)
@given(anything())
def test_labels_of_parts(name, y):
    loss = saved.PARTS[name][0]
    try:
        loss.check(loss.check(y))
    except (ValueError, TypeError) as error:
        _speaks(error)


def _speaks(error):
    assert str(error), f"{error!r} says nothing"

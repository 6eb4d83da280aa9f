"""Strings and series, through LossTrick."""

import pickle
import sys

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar import OSKAAR, SALAMI, BatchILE, checks, losses, replay
from oskaar.losses import alignments

WORDS = st.text("abc", max_size=5)


@given(WORDS, WORDS)
def test_edit_distance_is_the_recursion(z, y):
    expected = naive.levenshtein(z, y)
    assert losses.edit_distance(z, y) == expected
    assert losses.edit_distance(tuple(z), tuple(y)) == expected
    assert alignments._bit_parallel(z, y) == expected
    assert losses.normalised_edit_distance(z, y) == expected / max(len(z), len(y), 1)


SYMBOLS = st.one_of(st.integers(-3, 3), st.sampled_from(["a", 97, "ab", 0, 2**61 - 1, 1.5, True, None, (1, 2), b"a"]))
SPELLED = st.one_of(st.text(max_size=8), st.binary(max_size=8), st.lists(SYMBOLS, max_size=8).map(tuple))


@given(SPELLED, SPELLED)
def test_rapidfuzz_is_the_built_in(z, y):
    """Symbols are equal where Python says so, also those that share a hash."""
    pytest.importorskip("rapidfuzz", reason="rapidfuzz, the extra `strings`, is not installed")
    assert alignments._levenshtein() is not alignments._bit_parallel
    assert losses.edit_distance(z, y) == alignments._bit_parallel(z, y)


@pytest.mark.parametrize(("z", "y"), [(("a",), (97,)), ((0,), (2**61 - 1,)), (b"a", "a"), ((-1,), (-2,))])
def test_different_symbols_with_one_hash(z, y):
    assert losses.edit_distance(z, y) == 1


def test_without_rapidfuzz(monkeypatch):
    """Long words too: the table of whole numbers does what a table of numbers does."""
    monkeypatch.setitem(sys.modules, "rapidfuzz.distance", None)
    alignments._levenshtein.cache_clear()
    z, y = "the quick brown fox " * 20, "the slow brown ox " * 20
    table = np.arange(len(y) + 1)
    for i, a in enumerate(z):
        row = [i + 1]
        for j, b in enumerate(y):
            row.append(min(row[j] + 1, table[j + 1] + 1, table[j] + (a != b)))
        table = np.array(row)
    assert losses.edit_distance(z, y) == table[-1]
    alignments._levenshtein.cache_clear()


@given(st.text("ab", max_size=4))
def test_edits_are_all_words_one_edit_away(y):
    found = losses.edits("ab")(y)
    near = ["".join(w) for n in range(6) for w in naive.sequences(n, "ab") if naive.levenshtein("".join(w), y) <= 1]
    assert found[0] == y
    assert sorted(found) == sorted(near)
    assert losses.edits("ab")(tuple(y)) == [tuple(word) for word in found]


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5), st.sampled_from([None, 1, 3]))
def test_dtw_is_the_recursion(seed, n, m, d):
    rng = np.random.default_rng(seed)
    z, y = (rng.normal(size=size if d is None else (size, d)) for size in (n, m))
    assert losses.dtw(z, y) == pytest.approx(naive.warping(z, y))
    assert losses.dtw(y, z) == pytest.approx(losses.dtw(z, y))
    assert losses.normalised_dtw(z, y) == losses.dtw(z, y) / max(n, m)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: losses.dtw([], [1.0]), "n >= 1"),
        (lambda: losses.dtw([1.0], [np.nan]), "finite"),
        (lambda: losses.dtw("abc", [1.0]), "a series must be"),
        (lambda: losses.dtw([[1.0, 2.0]], [1.0]), "2 and 1 numbers"),
        (lambda: losses.edits(""), "at least one symbol"),
        (lambda: losses.edits("ab")(7), "strings and tuples of symbols, got 7"),
        (lambda: losses.edit_distance("a", 7), "strings or tuples of symbols, got 7"),
        (lambda: losses.edit_distance(None, "a"), "got None"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_contract():
    words = ["ab", "ba", "abb", ""]
    near = list(dict.fromkeys(z for y in words for z in losses.edits("ab")(y)))
    loss = losses.LossTrick(losses.normalised_edit_distance, candidates=losses.edits("ab"))
    checks.check_loss(loss, labels=words, outputs=near)
    series = [(0.0, 1.0), (0.0, 0.0, 1.0), (2.0,)]
    checks.check_loss(losses.LossTrick(losses.dtw), labels=series, outputs=series)


def test_an_answer_between_the_labels():
    """Three words that differ from a fourth in one place each: a neighbour never seen costs less than any of them."""
    loss = losses.LossTrick(losses.edit_distance, candidates=losses.edits("ab"))
    learner = OSKAAR(loss, lam=0.1)
    words = ["baaaa", "aabaa", "aaaab"]
    for y in words:
        learner.learn_one([0.0], y)
    z = learner.predict_one([0.0])
    assert z not in words
    assert sum(losses.edit_distance(z, y) for y in words) == 3


@pytest.mark.parametrize("make", [OSKAAR, SALAMI], ids=["OSKAAR", "SALAMI"])
def test_in_the_learners(make, rng):
    X = rng.normal(scale=0.1, size=(20, 2)) + np.array([[1.0, 0.0], [-1.0, 0.0]] * 10)
    words = ["abba" if x[0] > 0 else "bb" for x in X]
    spelling = losses.LossTrick(losses.normalised_edit_distance, candidates=losses.edits("ab"))
    warped = losses.LossTrick(losses.dtw)
    series = [np.array([0.0, 1.0, 0.0]) if x[0] > 0 else np.array([2.0, 2.0]) for x in X]
    for loss, ys in ((spelling, words), (warped, series)):
        checks.check_learner(make(loss, lam=0.1), X, ys)
        learner = make(loss, lam=0.1)
        replay(learner, X, ys)
        again = pickle.loads(pickle.dumps(learner))
        np.testing.assert_array_equal(again.predict_one(X[0]), learner.predict_one(X[0]))
        model = BatchILE(loss, lam=1e-3).fit(X, ys)
        assert loss(model.predict_one([1.0, 0.0]), ys[0]) == 0

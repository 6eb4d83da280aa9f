"""Dependency trees: the best arborescence against enumeration and networkx, arcs as the rows of a round."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import sentences

from oskaar import OSKAAR, SALAMI, checks, kernels, losses, replay, streams
from oskaar.losses.trees import best_tree

TREES = {n: naive.trees(n) for n in range(1, 6)}


def matrix(kind, n, rng):
    shape = (n + 1, n + 1)
    return {
        "normal": lambda: rng.normal(size=shape),
        "whole": lambda: rng.integers(-2, 3, size=shape).astype(float),
        "negative": lambda: -rng.exponential(size=shape),
        "rooted": lambda: rng.normal(size=shape) + 50.0 * (np.arange(n + 1) == 0)[:, None],
        "wide": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, size=shape),
        "zero": lambda: np.zeros(shape),
    }[kind]()


@given(
    st.sampled_from(["normal", "whole", "negative", "rooted", "wide", "zero"]),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.sampled_from([1.0, 1e-300, 1e300]),
)
def test_best_tree_is_enumeration(kind, n, seed, factor):
    """The sum of scores is the largest over all trees with one root, for scores of any sign and size."""
    S = matrix(kind, n, np.random.default_rng(seed))
    before = S.copy()
    z = best_tree(S * factor)
    scores = {(h, d): S[h, d] for h, d in naive.arcs(n)}
    assert z in TREES[n]
    best = naive.tree_score(naive.best_tree(scores, n), scores)
    assert naive.tree_score(z, scores) == pytest.approx(best, abs=1e-9 * (1 + np.abs(S).max()))
    np.testing.assert_array_equal(S, before)


@pytest.mark.parametrize("kind", ["normal", "negative", "rooted", "whole"])
@pytest.mark.parametrize("n", [6, 13, 30])
def test_best_tree_is_networkx(kind, n, rng):
    """Beyond enumeration; arcs from the root are charged so much that one is used."""
    networkx = pytest.importorskip("networkx")
    S = matrix(kind, n, rng)
    scores = {(h, d): S[h, d] for h, d in naive.arcs(n)}
    graph = networkx.DiGraph()
    graph.add_weighted_edges_from((h, d, s - 1000.0 * (h == 0)) for (h, d), s in scores.items())
    tree = networkx.maximum_spanning_arborescence(graph)
    best = sum(scores[arc] for arc in tree.edges)
    z = best_tree(S)
    assert losses.DependencyTree().check(z) == z
    assert naive.tree_score(z, scores) == pytest.approx(best, abs=1e-8)


def test_nested_cycles():
    """Cycles of cycles: a tree that is found only when each is entered at the right token."""
    n = 7
    S = np.full((n + 1, n + 1), -100.0)
    S[0, 1:] = -60.0
    for h, d, s in [
        (1, 2, 9),
        (2, 1, 9),
        (3, 4, 9),
        (4, 3, 9),
        (2, 3, 5),
        (4, 1, 5),
        (5, 6, 8),
        (6, 7, 8),
        (7, 5, 8),
    ]:
        S[h, d] = s
    S[3, 6], S[6, 4], S[0, 7] = 1, 2, -59
    scores = {(h, d): S[h, d] for h, d in naive.arcs(n)}
    z = best_tree(S)
    assert z == (4, 1, 4, 6, 7, 5, 0)
    moved = [(*z[:i], h, *z[i + 1 :]) for i in range(n) for h in range(n + 1) if h != i + 1]
    better = [t for t in moved if naive.tree_score(t, scores) > naive.tree_score(z, scores)]
    assert not any(t.count(0) == 1 and all(naive.leads_to_root(d, t) for d in range(1, n + 1)) for t in better)


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_equal_scores_up_to_rounding_give_the_same_tree(n, seed):
    rng = np.random.default_rng(seed)
    S = rng.integers(-3, 4, size=(n + 1, n + 1)) / 4
    assert best_tree(S) == best_tree(S * (1 + 1e-15 * rng.normal(size=S.shape)))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_arcs(n):
    heads, dependents = losses.arcs(n)
    assert list(zip(heads.tolist(), dependents.tolist())) == naive.arcs(n)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_arcs_of_no_sentence(n):
    with pytest.raises(ValueError, match="tokens of a sentence must be a whole number >= 1"):
        losses.arcs(n)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_contract(n):
    loss = losses.DependencyTree()
    checks.check_loss(loss, labels=loss.labels(n), outputs=naive.trees(n))
    assert list(loss.outputs(n)) == naive.trees(n)


def test_embedding_marks_the_arcs_of_the_tree():
    loss = losses.DependencyTree()
    for n, trees in TREES.items():
        for y in trees[:70]:
            expected = [(y[d - 1] == h) - 1 / n for h, d in naive.arcs(n)]
            np.testing.assert_allclose(loss.embed(y)[:, 0], expected, atol=1e-15)
            assert loss.decode(loss.embed(y)) == y
    assert loss((2, 0, 2), (0, 1, 2)) == 2 / 3


@given(st.integers(1, 4), st.integers(0, 10**6))
def test_decode_attains_the_minimum_for_signed_weights(n, seed):
    rng = np.random.default_rng(seed)
    loss = losses.DependencyTree()
    ys = [TREES[n][i] for i in rng.integers(len(TREES[n]), size=5)]
    weights = rng.normal(size=5) * rng.choice([0, 1], size=5)
    z = loss.decode(np.tensordot(weights, [loss.embed(y) for y in ys], axes=1))
    risks = [sum(w * naive.sequence_hamming(t, y) for w, y in zip(weights, ys)) for t in TREES[n]]
    assert sum(w * naive.sequence_hamming(z, y) for w, y in zip(weights, ys)) <= min(risks) + 1e-9


def test_decode_needs_a_square_of_arcs():
    with pytest.raises(ValueError, match=r"n\^2 rows"):
        losses.DependencyTree().decode(np.zeros((5, 1)))


BAD = {
    "a cycle": ([0, 3, 2], "cycle: token 2 is above itself, 2 -> 3 -> 2"),
    "a far cycle": ([2, 3, 1, 0], "1 -> 2 -> 3 -> 1"),
    "two roots": ([0, 1, 0], "tokens 1, 3 have"),
    "no root": ([2, 3, 1], "none has"),
    "out of range": ([0, 1, 4], "head of token 3 must be a whole number from 0 to 3"),
    "negative": ([0, -1, 1], "head of token 2 must be a whole number from 0 to 3"),
    "itself": ([0, 2, 1], "head of token 2 must be another"),
    "half": ([0, 1.5, 1], "head of token 2 must be a whole number"),
    "nan": ([0, np.nan, 1], "head of token 2 must be a whole number"),
    "infinite": ([0, np.inf, 1], "head of token 2 must be"),
    "a flag": ([0, True, 1], "head of token 2 must be a whole number"),
    "a word": ([0, "1", 1], "head of token 2 must be a whole number"),
    "missing": ([0, None, 1], "head of token 2 must be a whole number"),
    "nothing": ([], "at least one token"),
    "a number": (0, "sequence of heads"),
    "a text": ("011", "sequence of heads"),
    "a set": ({0, 1}, "sequence of heads"),
    "another length": ([0, 1], "4 parts for 9 rows"),
}


@pytest.mark.parametrize("make", [OSKAAR, SALAMI])
@pytest.mark.parametrize("name", BAD)
def test_a_refused_sentence_leaves_no_trace(make, name, rng):
    y, message = BAD[name]
    xs, ys = sentences(rng)
    learner = make(losses.DependencyTree())
    learner.learn_many(xs, ys)
    before = pickle.dumps(learner)
    x = rng.normal(size=(9, 2))
    with pytest.raises(ValueError, match=message):
        learner.learn_one(x, y)
    with pytest.raises(ValueError, match=message):
        replay(learner, [x, x], [(0, 1, 1), y])
    assert pickle.dumps(learner) == before


def test_rows_that_are_no_arcs_leave_no_trace(rng):
    learner = OSKAAR(losses.DependencyTree())
    learner.learn_one(rng.normal(size=(4, 2)), (0, 1))
    before = pickle.dumps(learner)
    for act in (learner.predict_one, lambda x: learner.learn_one(x, (0, 1))):
        with pytest.raises(ValueError, match=r"n\^2 rows"):
            act(np.zeros((5, 2)))
    assert pickle.dumps(learner) == before


def test_heads_as_users_write_them():
    loss = losses.DependencyTree()
    for y in ([2, 0], (2.0, 0.0), np.array([2, 0]), np.array([2.0, 0.0])):
        assert loss.check(y) == (2, 0)
        assert all(type(h) is int for h in loss.check(y))
    with pytest.raises(ValueError, match="as many heads"):
        loss((0,), (0, 1))


def test_attachment_is_learned(rng):
    """Each token hangs on the next one. Nothing in the features of a root arc tells the last token: the tree does."""
    xs, ys = [], []
    for n in rng.integers(2, 8, 30):
        heads, dependents = losses.arcs(n)
        xs.append(np.column_stack([heads == dependents + 1, heads == 0]).astype(float))
        ys.append((*range(2, n + 1), 0))
    result = replay(OSKAAR(losses.DependencyTree(), kernels.Linear() + 1.0, lam=0.1), xs, ys)
    assert result.losses[0] > 0
    assert not result.losses[3:].any()


@pytest.mark.realdata
def test_a_treebank(data):
    """Every tree of the file is one, and decoding its own embedding gives it back."""
    sentences = streams.read_conllu(data / "tree/en_ewt-ud-dev.conllu.gz")
    loss = losses.DependencyTree()
    assert len(sentences) == 2001
    for sentence in sentences[::5]:
        assert len(sentence.forms) == len(sentence.pos) == len(sentence.heads)
        assert loss.decode(loss.embed(loss.check(sentence.heads))) == sentence.heads

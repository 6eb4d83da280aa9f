"""A query with its documents is one round: embedding, decoding and learning against enumeration."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import queries

from oskaar import OSKAAR, SALAMI, checks, kernels, losses, replay

GRADES = st.one_of(st.integers(0, 3).map(float), st.floats(0, 4))


def documents():
    kinds = st.sampled_from(["exponential", "linear"])
    ks = st.one_of(st.none(), st.integers(1, 7))
    return st.one_of(
        st.builds(losses.Documents, ks, kinds),
        st.builds(losses.Documents, ks, kinds, normalised=st.just(False), top_grade=st.just(4.0)),
    )


def literal(loss, z, y):
    exponential = loss.gain == "exponential"
    if loss.normalised:
        return naive.ndcg_loss(z, y, loss.k, exponential)
    return naive.dcg_regret(z, y, loss.k, loss.top_grade, exponential)


@given(documents(), st.lists(GRADES, min_size=1, max_size=4))
def test_loss_is_the_definition(loss, y):
    """Any size, k above and below it, nothing relevant."""
    y = loss.check(y)
    for z in naive.orders(len(y)):
        assert loss(z, y) == pytest.approx(literal(loss, z, y), abs=1e-9)
    assert 0 <= max(loss(z, y) for z in naive.orders(len(y))) <= 1 + 1e-12
    assert loss.optimum(y) == 0 == pytest.approx(min(loss(z, y) for z in naive.orders(len(y))), abs=1e-12)


@given(documents(), st.integers(1, 4), st.integers(0, 10**6))
def test_decode_attains_the_minimum_for_signed_weights(loss, n, seed):
    """argmin_z sum_s w_s Delta(z, y_s) over all rankings of n documents."""
    rng = np.random.default_rng(seed)
    ys = [tuple((rng.integers(0, 3, n) * rng.choice([0.5, 1.0, 2.0])).tolist()) for _ in range(4)]
    weights = rng.normal(size=4) * rng.choice([0, 1], size=4)
    z = loss.decode(np.tensordot(weights, [loss.embed(y) for y in ys], axes=1))
    least = naive.least_risk(lambda z, y: literal(loss, z, y), naive.orders(n), weights, ys)
    assert naive.risk(lambda z, y: literal(loss, z, y), z, weights, ys) <= least + 1e-9


@given(documents(), st.integers(1, 3))
def test_contract(loss, n):
    """Linear in phi, |phi| <= 1 in each row, c_delta of the largest query holds: for each size."""
    checks.check_loss(loss, labels=loss.labels(n), outputs=naive.orders(n))


def test_default_contract():
    checks.check_loss(losses.Documents())
    assert losses.Documents().c_delta == np.inf


@given(documents(), st.integers(2, 40))
def test_radius_is_that_of_psi(loss, n):
    """All psi(z) of n documents have one norm; the radius is the largest up to n."""
    norms = []
    for m in range(1, n + 1):
        d = np.array([1 / np.log2(j + 2) if loss.k is None or j < loss.k else 0.0 for j in range(m)])
        whole = sum(1 / np.log2(j + 2) for j in range(m if loss.k is None else loss.k))
        psi = -m * (d - d.mean()) / (1 if loss.normalised else whole)
        norms.append(np.sqrt((psi**2).mean()))
    assert loss.radius(n) == pytest.approx(max(norms), abs=1e-6)


def test_space_knows_the_largest_query():
    loss = losses.Documents(k=3)
    space = loss.space()
    assert space.c_delta == 0
    five = space.extended((0.0,) * 5)
    assert five.c_delta == loss.radius(5)
    assert five.extended((0.0,) * 4) is five
    assert five.extended((0.0,) * 5) is five
    assert five.extended((0.0,) * 9).c_delta == loss.radius(9) > loss.radius(5)


def test_nothing_relevant():
    loss = losses.Documents()
    assert not loss.embed((0.0, 0.0, 0.0)).any()
    assert {loss(z, (0.0, 0.0, 0.0)) for z in naive.orders(3)} == {0.0}


def test_equal_documents_stay_in_order():
    loss = losses.Documents()
    assert loss.decode(np.zeros((4, 1))) == (0, 1, 2, 3)
    assert loss.decode(np.array([[0.3], [0.5], [0.1 + 0.2]])) == (1, 0, 2)


def test_huge_and_tiny_relevances():
    loss = losses.Documents()
    assert loss.embed((0.0, 5000.0, 4999.0))[:, 0] + loss.shares((0.0, 5000.0, 4999.0)).mean() == pytest.approx(
        [0, 1 / (1 + 0.5 / np.log2(3)), 0.5 / (1 + 0.5 / np.log2(3))]
    )
    tiny = loss.shares((1e-200, 0.0))
    assert tiny == pytest.approx([1, 0])


BAD = {
    "negative": ([1, -1.0], "got -1 for document 1"),
    "nan": ([np.nan, 1], "got nan for document 0"),
    "infinite": ([0, 1, np.inf], "got inf for document 2"),
    "nothing": ([], "one for each document"),
    "a number": (1, "one for each document"),
    "a text": ("12", "one for each document"),
    "words": (["good", "bad"], "one for each document"),
    "a table": ([[1, 0]], "one for each document"),
    "none": (None, "one for each document"),
    "a set": ({0, 1}, "one for each document"),
    "another length": ([1, 0, 2, 1], "4 parts for 2 rows"),
}


@pytest.mark.parametrize("make", [OSKAAR, SALAMI])
@pytest.mark.parametrize("name", BAD)
def test_a_refused_query_leaves_no_trace(make, name, rng):
    y, message = BAD[name]
    xs, ys = queries(rng)
    learner = make(losses.Documents())
    learner.learn_many(xs, ys)
    before = pickle.dumps(learner)
    x = rng.normal(size=(2, 2))
    with pytest.raises(ValueError, match=message):
        learner.learn_one(x, y)
    with pytest.raises(ValueError, match=message):
        replay(learner, [x, x], [(1, 0), y])
    with pytest.raises(ValueError, match="at least one row"):
        learner.learn_one(np.zeros((0, 2)), (1,))
    assert pickle.dumps(learner) == before


def test_above_the_top_grade():
    with pytest.raises(ValueError, match="at most top_grade=2, got 3 for document 1"):
        losses.Documents(normalised=False, top_grade=2).check((1, 3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "k must be"),
        ({"k": True}, "k must be"),
        ({"gain": "log"}, "gain must be"),
        ({"normalised": False}, "needs top_grade"),
        ({"top_grade": 0}, "top_grade must be"),
        ({"top_grade": np.inf}, "top_grade must be"),
    ],
)
def test_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        losses.Documents(**settings)


@pytest.mark.parametrize("z", [(0, 1), (0, 0, 1), (1, 2, 3), "012"])
def test_what_is_no_ranking(z):
    with pytest.raises(ValueError, match=r"must hold each of 0\.\.2 once"):
        losses.Documents()(z, (1, 0, 2))


def test_relevance_is_learned(rng):
    """The relevant documents are those with a large first feature, in queries of any size."""
    xs = [rng.normal(size=(n, 2)) for n in rng.integers(2, 15, 60)]
    ys = [tuple((x[:, 0] > 0.5).astype(float) + (x[:, 0] > 1.5)) for x in xs]
    losses_ = replay(OSKAAR(losses.Documents(), kernels.Linear(), lam=0.1), xs, ys).losses
    assert losses_[20:].mean() < 0.02

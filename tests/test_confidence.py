"""Probabilities, scores and intervals: what an estimate says, by enumeration; and how often it is right."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import space_of

import oskaar
from oskaar import OSKAAR, SALAMI, Ensemble, kernels, losses, replay
from oskaar.learners.calibration import Calibration
from oskaar.losses.certainty import projections

TAGS = ("billing", "refund", "bug")
SETS = [frozenset(TAGS[j] for j in z) for z in naive.subsets(3)]


def weights_of(n):
    return st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n).map(lambda w: np.array(w) / sum(w))


KINDS = {
    "classes": (losses.ZeroOne("abc"), list("abc")),
    "classes seen": (losses.ZeroOne(), list("abc")),
    "levels": (losses.Ordinal([1, 2, 3, 4]), [1, 2, 3, 4]),
    "levels seen": (losses.Ordinal(), [3, 1, 2, 4]),
    "Hamming": (losses.SubsetHamming(TAGS), SETS),
    "tags counted": (losses.SubsetHamming(), SETS),
    "F1": (losses.F1(TAGS), SETS),
    "F1 of tags seen": (losses.F1(), SETS),
    "Jaccard": (losses.Jaccard(TAGS), SETS),
    "Jaccard of tags seen": (losses.Jaccard(), SETS),
    "sets": (losses.SubsetZeroOne(TAGS, SETS), SETS),
    "sets seen": (losses.SubsetZeroOne(TAGS), SETS),
}


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_an_expected_phi_says_the_probabilities(kind, data):
    """Of g = sum_y P(y) phi(y) they are P itself, or the sum of P(y) over the sets y that hold a tag."""
    loss, labels = KINDS[kind]
    P = data.draw(weights_of(len(labels)))
    space = space_of(loss, map(loss.check, labels))
    G = (P @ space.embed_many([loss.check(y) for y in labels]))[None]
    found = space.probabilities(G)
    for name, p in zip(found.names, found.P[0]):
        true = sum(w for w, y in zip(P, labels) if (y == name if found.exclusive else name in y))
        assert p == pytest.approx(true, abs=1e-7)
    if getattr(space, "steady", True) and kind in ("classes seen", "F1 of tags seen", "tags counted", "levels seen"):
        np.testing.assert_allclose(space.probabilities(0.3 * G).P, found.P, atol=1e-7)  # free of KAAR's factor
    np.testing.assert_allclose(space.probabilities(-G).P.sum() >= 0, True)


@pytest.mark.parametrize("make", [OSKAAR, SALAMI, Ensemble])
def test_probabilities_of_learners(make, rng):
    X = rng.normal(size=(60, 2))
    learner = make(losses.ZeroOne()).partial_fit(X, np.where(X[:, 0] > 0, "up", "down"))
    before = learner.to_bytes()
    proba = learner.predict_proba(X[:5])
    assert [max(p, key=p.get) for p in proba] == learner.predict_many(X[:5])
    for x, p in zip(X, proba):
        assert sum(p.values()) == pytest.approx(1.0)
        assert learner.predict_proba_one(x) == pytest.approx(p)
        assert learner.top_one(x, 1)[0][0] == learner.predict_one(x)
    assert learner.to_bytes() == before
    assert make(losses.ZeroOne()).predict_proba_one([0.0, 1.0]) == {}
    assert make(losses.ZeroOne("ab")).predict_proba_one([0.0, 1.0]) == {"a": 0.5, "b": 0.5}


X = np.random.default_rng(5).normal(size=(60, 2))
SIGNS = ["ab"[int(x[0] + 0.3 * x[1] > 0)] for x in X]
STREAMS = {
    "classes": (losses.ZeroOne("ab"), X, SIGNS),
    "classes seen": (losses.ZeroOne(), X, [*SIGNS[:30], *("c" + y for y in SIGNS[30:])]),
    "levels": (losses.Ordinal(4), X, np.clip(np.round(X[:, 0] + 1.5), 0, 3).astype(int).tolist()),
    "tags": (losses.F1(), X, [["p"] if x[0] > 0 else ["q"] if x[1] > 1 else ["q", "r"] for x in X]),
    "Hamming": (losses.SubsetHamming(2), X, (X > 0).astype(int)),
    "places": (losses.SequenceHamming(2, "ab"), X, [a + b for a, b in zip(SIGNS, [*SIGNS[1:], "a"])]),
    "parts": (
        losses.Sequence(),
        [X[i : i + 2] for i in range(0, 60, 2)],
        [SIGNS[i : i + 2] for i in range(0, 60, 2)],
    ),
}


def truths_of(loss, y):
    y = loss.check(y)
    return [set(y)] if isinstance(y, frozenset) else [{c} for c in y] if isinstance(y, (tuple, list)) else [{y}]


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("make", [OSKAAR, Ensemble])
def test_calibration_the_long_way(make, kind, monkeypatch):
    """Probabilities in a loop are those of the naive twin; also of a replay, of tickets, and after saving."""
    monkeypatch.setattr("oskaar.learners.calibration.FIRST", 20)
    monkeypatch.setattr("oskaar.learners.calibration.EVERY", 8)
    loss, rows, ys = STREAMS[kind]
    learner, rounds, found = make(loss), [], []
    for t, (x, y) in enumerate(zip(rows, ys)):
        G = learner._unhedged(learner._inputs.parse(x))
        raw = learner.space.probabilities(learner._widened(G)).smoothed(t)
        rounds.append((raw.by_name(), truths_of(loss, y)))
        p = learner.predict_proba_one(x)
        found.append(p if isinstance(p, list) else [p])
        if t % 9 == 4:
            ticket, _ = learner.ask(x)
            learner = oskaar.from_bytes(learner.to_bytes())
            learner.tell(ticket, y)
        else:
            learner.learn_one(x, y)
    for mine, wanted in zip(found, naive.calibrated(rounds, raw.exclusive, 20, 8)):
        for p, q in zip(mine, wanted, strict=True):
            assert p == pytest.approx(q, abs=1e-9)
    again = make(loss)
    result = replay(again, rows, ys)
    np.testing.assert_allclose(again.calibration.gains, learner.calibration.gains, rtol=1e-7)
    if kind not in ("classes seen", "tags", "parts"):  # names of the end are those of the start
        for mine, p in zip(found, result.probabilities()):
            for a, b in zip(mine, p if isinstance(p, list) else [p], strict=True):
                assert a == pytest.approx(b, abs=1e-7)


def test_kaar_factor_is_taken_out(rng):
    """What is calibrated are OSKAAR's probabilities by ridge regression, whatever lam / s is at x."""
    X, ys = rng.normal(size=(20, 2)), [("a", "b")[i % 2] for i in range(20)]
    learner = OSKAAR(losses.ZeroOne("ab"), kernel=kernels.Gaussian(1.0) + 1.0, lam=2.0).partial_fit(X, ys)
    K = naive.gram(lambda a, b: naive.gaussian(a, b) + 1, X, X)
    k = naive.gram(lambda a, b: naive.gaussian(a, b) + 1, [[0.3, 0.1]], X)
    codes = np.array([[0.5, -0.5] if y == "a" else [-0.5, 0.5] for y in ys])
    ridge = (k @ np.linalg.solve(K + 2.0 * np.eye(20), codes))[0] + 0.5
    p = dict(zip("ab", (20 * naive.nearest_distribution(ridge) + 0.5) / 21))
    learner._calibration = Calibration()
    expected = list(naive.calibrated([*([([], [])] * 20), ([p], [{"a"}])], True)[-1][0].values())
    assert list(learner.predict_proba_one([0.3, 0.1]).values()) == pytest.approx(expected, abs=1e-9)


def test_probabilities_do_not_look_ahead():
    """Those of the first rounds stay, whatever comes later; and what is refused leaves no trace."""
    loss, rows, ys = STREAMS["classes"]
    whole = replay(OSKAAR(loss), rows, ys).probabilities()
    for n in (1, 7, 33):
        others = [*ys[:n], *("ba"[y == "b"] for y in ys[n:])]
        for p, q in zip(replay(OSKAAR(loss), rows, others).probabilities()[: n + 1], whole):
            assert p == pytest.approx(q, abs=1e-12)
    learner = OSKAAR(loss).partial_fit(rows, ys)
    before = learner.calibration.gains.tobytes()
    with pytest.raises(ValueError, match="unknown class"):
        learner.learn_one(rows[0], "z")
    assert learner.calibration.gains.tobytes() == before
    assert not learner.like_new().calibration.gains.any()


def test_cautious_probabilities_become_surer(rng):
    """Labels that x tells for certain, and an estimate that a large lam pulls to the middle."""
    X = rng.normal(size=(200, 2))
    ys = np.where(X[:, 0] > 0, "up", "down")
    learner = OSKAAR(losses.ZeroOne(["up", "down"]), lam=30.0).partial_fit(X, ys)
    raw = learner.space.probabilities(learner.estimate([1.5, 0.0])[None]).P[0, 0]
    assert raw < 0.88 < 0.95 < learner.predict_proba_one([1.5, 0.0])["up"]
    assert repr(learner.calibration).startswith("Calibration(power ")


def test_sequences_and_parts(rng):
    X = rng.normal(size=(40, 2))
    for loss in (losses.SequenceHamming(2, "ab"), losses.SequenceHamming(2)):
        learner = OSKAAR(loss, lam=0.1).partial_fit(X, ["ab"[int(x[0] > 0)] + "ab"[int(x[1] > 0)] for x in X])
        first, second = learner.predict_proba_one([2.0, -2.0])
        assert first["b"] > 0.7
        assert second["a"] > 0.7
        assert len(learner.predict_proba(X[:3])[2]) == 2
    blocks = [rng.normal(size=(n, 2)) for n in (1, 3, 2, 4, 2) * 4]
    labels = [tuple("ab"[int(r[0] > 0)] for r in b) for b in blocks]
    for loss in (losses.Sequence("ab"), losses.Sequence(), losses.Sequence("ab", transitions="learned")):
        learner = OSKAAR(loss, lam=0.1).partial_fit(blocks, labels)
        found = learner.predict_proba_one([[2.0, 0.0], [-2.0, 0.0]])
        assert [max(p, key=p.get) for p in found] == ["b", "a"]
        assert [len(p) for p in learner.predict_proba(blocks[:3])] == [1, 3, 2]
        with pytest.raises(ValueError, match="for each place"):
            learner.top_one([[2.0, 0.0]])


def test_scores_rank_as_the_answer_does(rng):
    X = rng.normal(size=(50, 3))
    orders = [tuple("xyz"[i] for i in np.argsort(-x)) for x in X]
    for loss in (losses.Kendall("xyz"), losses.Spearman("xyz")):
        learner = OSKAAR(loss, lam=0.1).partial_fit(X, orders)
        for x in X[:10]:
            assert tuple(name for name, _ in learner.top_one(x)) == learner.predict_one(x)
    assert learner.top_one(X[0], 1) == [max(learner.scores_one(X[0]).items(), key=lambda item: item[1])]


def test_intervals_cover_what_they_say(rng):
    """Residuals that come in any order: the share of labels inside is the coverage, to chance."""
    X = rng.normal(size=(700, 2))
    Y = 100 + 20 * X[:, :1] + rng.exponential(5.0, size=(700, 1))
    learner, hits = OSKAAR(losses.Squared(), lam=0.5, budget=32), []
    assert learner.interval_one(X[0]) is None
    for t, (x, y) in enumerate(zip(X, Y)):
        if t >= 200:
            low, high = learner.interval_one(x, 0.8)
            hits.append(low[0] <= y[0] <= high[0])
        learner.learn_one(x, y)
    assert np.mean(hits) == pytest.approx(0.8, abs=0.06)
    again = oskaar.from_bytes(learner.to_bytes())
    assert np.array_equal(again.interval_one(X[0]), learner.interval_one(X[0]))
    many = OSKAAR(losses.Squared(), lam=0.5, budget=32).partial_fit(X, Y)
    np.testing.assert_allclose(many.interval_one(X[0]), learner.interval_one(X[0]), rtol=1e-6)


def test_intervals_of_levels(rng):
    X = rng.normal(size=(300, 1))
    for loss in (losses.Ordinal(), losses.Ordinal(range(-5, 12))):
        learner = OSKAAR(loss, lam=0.5).partial_fit(X, np.round(3 + 2 * X[:, 0] + rng.normal(size=300)).astype(int))
        low, high = learner.interval_one([0.5], 0.9)
        assert low <= 4 <= high
        assert 1 <= high - low <= 7
    assert OSKAAR(losses.Ordinal()).interval_one([0.5]) is None


def test_what_has_no_meaning_is_refused():
    learner = OSKAAR(losses.Circular())
    for call, words in (
        (lambda: learner.predict_proba_one([0.0]), "has no probabilities"),
        (lambda: learner.predict_proba([[0.0]]), "has no probabilities"),
        (lambda: learner.scores_one([0.0]), "has no scores"),
        (lambda: learner.interval_one([0.0]), "has no intervals"),
        (lambda: OSKAAR(losses.F1(3, at_least=2)).predict_proba_one([0.0]), "has no probabilities"),
        (lambda: OSKAAR(losses.Squared()).interval_one([0.0], 1.0), "coverage must be"),
        (lambda: OSKAAR(losses.ZeroOne("ab")).top_one([0.0], 0), "k must be"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=9))
def test_one_distribution_is_that_of_many(z):
    """To the last bit."""
    assert np.array_equal(projections(np.array([z])), projections(np.array([z, z]))[:1])

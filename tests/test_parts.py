"""Rounds made of parts, of ragged sizes: in OSKAAR, SALAMI, replays and BatchILE; and a loss of one's own."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import blocks, few, lams, queries, sentences

from oskaar import OSKAAR, SALAMI, BatchILE, MostFrequent, RepeatLast, checks, features, kernels, losses, replay
from oskaar.losses import Loss
from oskaar.losses.base import first_best

KERNEL = kernels.Gaussian() + 1.0
NEVER_AA = [[0, 1, 1], [1, 1, 1], [1, 1, 1]]
LOSSES = {
    "free": losses.Sequence("abc"),
    "allowed": losses.Sequence("abc", NEVER_AA),
    "learned": losses.Sequence("abc", "learned"),
    "whole": losses.Sequence("abc", "learned", whole=True),
    "rows": losses.PerRow(losses.ZeroOne("abc")),
}
kinds = pytest.mark.parametrize("kind", LOSSES)


def twin(x, y):
    return naive.gaussian(x, y) + 1


def stream(rng, n, most=5, noise=1.0):
    """Ragged rounds: letters that often go a, b, c, a, ..., seen through noise."""
    labels = [["abc"[(s + i) % 3] for i in range(rng.integers(1, most + 1))] for s in rng.integers(3, size=n)]
    return [
        np.array([["abc".index(c), i] for i, c in enumerate(y)]) + noise * rng.normal(size=(len(y), 2))
        for y in labels
    ], labels


def labels_for(rounds, seed):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abc"), size=len(x))) for x in rounds]


@settings(max_examples=15)
@given(blocks(max_rounds=7, max_rows=5), lams(), st.booleans(), st.sampled_from(sorted(LOSSES)), st.integers(0, 99))
def test_oskaar_is_the_argmin(rounds, lam, shifted, kind, seed):
    loss, ys = LOSSES[kind], [list(y) for y in labels_for(rounds, seed)]
    Phi = [loss.embed(y) for y in ys]
    expected = (naive.shifted_oskaar if shifted else naive.oskaar)(twin, rounds, Phi, lam)
    learner = OSKAAR(loss, KERNEL, lam=lam, shifted=shifted)
    for x, y, g in zip(rounds, ys, expected, strict=True):
        np.testing.assert_allclose(learner.estimate(x), g, atol=1e-8)
        assert len(learner.predict_one(x)) == len(x)
        learner.learn_one(x, y)
    assert learner.regret <= learner.regret_bound() + 1e-9


@settings(max_examples=15)
@given(blocks(max_rounds=9, max_rows=5), lams(), st.booleans(), st.sampled_from(sorted(LOSSES)), st.integers(0, 99))
def test_salami_restarts_at_every_round(rounds, lam, shifted, kind, seed):
    """All restarts, each at a round's first row, for a grid of lams: looped and replayed."""
    loss, ys = LOSSES[kind], [list(y) for y in labels_for(rounds, seed)]
    X, Phi = np.vstack(rounds), np.vstack([loss.embed(y) for y in ys])
    ends = np.cumsum([len(x) for x in rounds]).tolist()
    grid = [lam, 3.0]
    G, weights, _ = naive.salami([naive.gram(twin, X, X)], Phi, ends, grid, 0.5, not shifted, shifted)
    slow, fast = (SALAMI(loss, KERNEL, grid, eta=0.5, shifted=shifted) for _ in range(2))
    result = replay(fast, rounds, ys)
    answers = []
    for t, (x, y) in enumerate(zip(rounds, ys, strict=True)):
        mine = G[ends[t] - len(x) : ends[t]]
        np.testing.assert_allclose(slow.estimate(x), mine, atol=1e-8)
        np.testing.assert_allclose(result.estimates[t], mine, atol=1e-8)
        started, p = slow.restart_weights()
        assert started.tolist() == list(range(1, t + 2))
        np.testing.assert_allclose(p, weights[t].reshape(-1, 2).sum(axis=1), atol=1e-8)
        answers.append(slow.predict_one(x))
        slow.learn_one(x, y)
    assert [len(z) for z in result.predictions] == [len(x) for x in rounds]
    np.testing.assert_allclose(result.losses, [loss(z, y) for z, y in zip(answers, ys, strict=True)], atol=1e-9)


@kinds
def test_batch(kind, rng):
    """BatchILE decodes with what the labels taught, and BatchILE and OSKAAR agree on what that is."""
    loss, (xs, ys) = LOSSES[kind], stream(rng, 30)
    model = BatchILE(loss, KERNEL, lam=0.01).fit(xs, ys)
    expected = naive.batch_ile(twin, np.vstack(xs), np.vstack([loss.embed(y) for y in ys]), 0.01, xs[3])
    np.testing.assert_allclose(model.estimate(xs[3]), expected, atol=1e-8)
    assert model.predict(xs) == [model.predict_one(x) for x in xs]
    space = OSKAAR(loss, KERNEL).fit(xs, ys).space
    assert model.predict_one(xs[3]) == space.decode_round(model.estimate(xs[3]))
    with pytest.raises(ValueError, match="one for each row"):
        model.fit(xs[:2], [ys[0], [*ys[1], "a"]])


@kinds
@pytest.mark.parametrize("make", [OSKAAR, SALAMI], ids=["oskaar", "salami"])
def test_contract(kind, make, rng):
    """predict changes nothing, learn_many is the loop bit for bit, replay is the loop."""
    xs, ys = stream(rng, 25)
    checks.check_learner(make(LOSSES[kind], KERNEL), xs, ys)


@pytest.mark.parametrize("kind", few(LOSSES, 2))
def test_replay_across_panels(kind, rng):
    """650 rows in rounds of 1 to 9, two panels and a half: no answer has seen its own label or a later one."""
    xs, ys = stream(rng, 130, most=9)
    fast, slow = (OSKAAR(LOSSES[kind], KERNEL, lam=0.3) for _ in range(2))
    result = replay(fast, xs, ys)
    answers = []
    for x, y in zip(xs, ys, strict=True):
        answers.append(slow.predict_one(x))
        slow.learn_one(x, y)
    assert result.predictions == answers
    new, _ = stream(rng, 70, most=9)
    np.testing.assert_allclose(fast.estimate(new[0]), slow.estimate(new[0]), atol=1e-10)
    before = pickle.dumps(fast)
    assert fast.predict_many(new) == [fast.predict_one(x) for x in new]
    assert pickle.dumps(fast) == before
    later = replay(OSKAAR(LOSSES[kind], KERNEL, lam=0.3), xs, ys[:100] + [["c"] * len(y) for y in ys[100:]])
    assert later.predictions[:101] == answers[:101]


def test_predict_many_with_a_long_round(rng):
    """A round longer than a panel, between short ones, and equal rows with a tiny lam."""
    learner = OSKAAR(LOSSES["learned"], KERNEL, lam=1e-6).fit(*stream(rng, 40))
    xs = [rng.normal(size=(n, 2)) for n in (3, 300, 1, 2)] + [np.zeros((4, 2))]
    assert learner.predict_many(xs) == [learner.predict_one(x) for x in xs]
    assert learner.predict_many([]) == []


BAD = {
    "no rows": (np.zeros((0, 2)), "a", "at least one row|has no rows"),
    "no symbols": (np.zeros((1, 2)), "", "at least one symbol"),
    "y longer": (np.zeros((1, 2)), "ab", "2 parts for 1 rows"),
    "y shorter": (np.zeros((2, 2)), "a", "1 parts for 2 rows"),
    "unknown symbol": (np.zeros((2, 2)), ["a", "z"], "unknown symbol 'z'"),
    "not a sequence": (np.zeros((1, 2)), 7, "must be a tuple"),
    "length not allowed": (np.zeros((3, 2)), "aaa", "no sequence of length 3"),
    "nan": (np.array([[0.0, 1.0], [np.nan, 0.0]]), "ab", "must be finite, got nan"),
    "too wide": (np.zeros((2, 3)), "ab", "must have 2 features"),
    "one row, not a block": ([0.0, 1.0], "a", "must be a row of numbers"),
}


@pytest.mark.parametrize("transitions", ["learned", [[0, 1], [0, 0]]], ids=["learned", "matrix"])
@pytest.mark.parametrize("make", [OSKAAR, SALAMI], ids=["oskaar", "salami"])
@pytest.mark.parametrize("name", BAD)
def test_a_refused_round_leaves_no_trace(name, make, transitions):
    x, y, message = BAD[name]
    if name == "length not allowed" and transitions == "learned":
        return
    learner = make(losses.Sequence("ab", transitions), KERNEL)
    good = np.random.default_rng(0).normal(size=(3, 2, 2))
    learner.learn_many(good, ["ab", "ab", "ba"])
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match=message):
        learner.learn_one(x, y)
    with pytest.raises(ValueError, match=message):
        learner.learn_many([good[0], x], ["ab", y])
    with pytest.raises(ValueError, match=message):
        replay(learner, [good[0], x], ["ab", y])
    assert pickle.dumps(learner) == before
    learner.learn_one(good[1], "ab")
    assert learner.rounds == 4


def test_a_length_without_answer():
    learner = OSKAAR(losses.Sequence("ab", [[0, 1, 0], [1, 0, 1], [1, 0, 0]]), KERNEL)
    learner.learn_one(np.zeros((2, 1)), "ab")
    with pytest.raises(ValueError, match="no sequence of length 3"):
        learner.predict_one(np.zeros((3, 1)))


def test_a_learner_that_does_not_answer(rng):
    """It is judged by the answer of one that knows nothing, with as many parts as the label."""

    class Silent:
        def predict_one(self, x):
            return None

        def learn_one(self, x, y):
            pass

    xs, ys = stream(rng, 6)
    result = replay(Silent(), xs, ys, loss=LOSSES["free"])
    assert result.losses.tolist() == [np.mean([c != "a" for c in y]) for y in ys]


@kinds
def test_baselines_repeat_row_by_row(kind, rng):
    """The last row's label, and the most frequent of all rows so far (the latest of equals), for each row to come."""
    loss, (xs, ys) = LOSSES[kind], stream(rng, 30)
    last, most = (replay(rival(loss), xs, ys) for rival in (RepeatLast, MostFrequent))
    assert last.predictions[0] is None is most.predictions[0]
    before = list(ys[0])
    for x, y, a, b in zip(xs[1:], ys[1:], last.predictions[1:], most.predictions[1:], strict=True):
        top = max(map(before.count, before))
        reached = {c: [i for i, d in enumerate(before) if d == c][top - 1] for c in before if before.count(c) == top}
        for z, symbol in ((a, before[-1]), (b, max(reached, key=reached.get))):
            if kind == "allowed" and symbol == "a":
                assert list(z).count("a") == (len(x) + 1) // 2
                assert "aa" not in "".join(z)
            else:
                assert list(z) == [symbol] * len(x)
        before += y
    sparse = RepeatLast(loss).fit(xs, ys)
    assert sparse.predict([csr_array(x) for x in xs[:3]]) == sparse.predict(xs[:3])


@pytest.mark.parametrize("rival", [RepeatLast, MostFrequent])
@pytest.mark.parametrize("loss", [losses.Documents(), losses.DependencyTree()])
def test_baselines_where_rows_have_no_labels(rival, loss):
    with pytest.raises(ValueError, match=f"{rival.__name__} needs rows with labels of their own.*compare with"):
        rival(loss)
    with pytest.raises(ValueError, match="none can be repeated"):
        loss.repeated(1, 3)


def test_a_refused_label_leaves_a_baseline_as_it_was():
    for rival in (RepeatLast(LOSSES["free"]), MostFrequent(LOSSES["free"])):
        rival.fit([[[0.0]]], ["b"])
        before = pickle.dumps(rival)
        with pytest.raises(ValueError, match="unknown symbol"):
            rival.learn_one([[0.0], [0.0]], ["a", "z"])
        assert pickle.dumps(rival) == before


# ------------------------------------------------------------------ rounds whose size decides how hard they are

SIZED = {"documents": (losses.Documents(k=3), queries), "trees": (losses.DependencyTree(), sentences)}
sized = pytest.mark.parametrize("kind", SIZED)


@given(st.sampled_from(sorted(SIZED)), st.integers(0, 10**6), st.sampled_from([0.1, 1.0]))
@example("documents", 3, 1.0)
def test_oskaar_is_block_kaar(kind, seed, lam):
    """Estimates of every round against the literal definition, and the regret below its bound."""
    loss, make = SIZED[kind]
    xs, ys = make(np.random.default_rng(seed))
    learner = OSKAAR(loss, kernels.Gaussian(), lam=lam)
    Phi = [loss.embed(y) for y in ys]
    for x, y, g in zip(xs, ys, naive.oskaar(naive.gaussian, xs, Phi, lam), strict=True):
        np.testing.assert_allclose(learner.estimate(x), g, atol=1e-8)
        learner.learn_one(x, y)
    assert learner.space.c_delta == loss.radius(max(map(len, ys)))
    assert learner.regret <= learner.regret_bound() + 1e-9


@sized
@pytest.mark.parametrize("shifted", [False, True])
def test_salami_is_the_naive_mixture(kind, shifted, rng):
    loss, make = SIZED[kind]
    xs, ys = make(rng, rounds=8)
    ends, X = np.cumsum([len(x) for x in xs]).tolist(), np.vstack(xs)
    K = naive.gram(naive.gaussian, X, X)
    Phi = np.vstack([loss.embed(y) for y in ys])
    G = naive.salami([K], Phi, ends, [0.5], 0.5, not shifted, shifted)[0]
    result = replay(SALAMI(loss, kernels.Gaussian(), 0.5, eta=0.5, shifted=shifted), xs, ys)
    np.testing.assert_allclose(np.vstack(result.estimates), G, atol=1e-9)


@sized
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("mapped", [False, True], ids=["kernel", "features"])
def test_salami_with_geometric_restarts(kind, mapped, shifted, rng):
    """A restart at s lives for 4 times the largest power of 2 in s; some rounds are long, up to 140 rows."""
    loss, make = SIZED[kind]
    if kind == "documents":
        xs, ys = make(rng, rounds=30 if mapped else 22)
        for t, n in ((7, 140), (20, 70)) if mapped else ((7, 20), (20, 9)):  # on features, 140 are hedged there
            xs[t], ys[t] = rng.normal(size=(n, 2)), tuple(rng.integers(0, 3, n).tolist())
    else:
        xs, ys = make(rng, rounds=20 if mapped else 10)
        for t, n in ((6, 11), (13, 10), (14, 5)) if mapped else ((3, 5), (7, 4), (8, 4)):
            xs[t], ys[t] = rng.normal(size=(n * n, 2)), tuple(range(n))
    ends, X = np.cumsum([len(x) for x in xs]).tolist(), np.vstack(xs)
    K = X @ X.T + 1 if mapped else naive.gram(naive.gaussian, X, X)
    given = {"features": features.LinearMap(2)} if mapped else {"kernel": kernels.Gaussian()}
    lives = lambda s, t: s == 0 or t - s < 4 * ((s + 1) & -(s + 1))  # noqa: E731
    Phi, lams = np.vstack([loss.embed(y) for y in ys]), [0.5, 3.0]
    G = naive.salami([K], Phi, ends, lams, 0.5, not shifted, shifted, lives=lives)[0]
    slow, fast = (SALAMI(loss, lam=lams, eta=0.5, restarts="geometric", shifted=shifted, **given) for _ in range(2))
    np.testing.assert_allclose(np.vstack(replay(fast, xs, ys).estimates), G, atol=1e-8)
    for x, y, end in zip(xs, ys, ends, strict=True):
        np.testing.assert_allclose(slow.estimate(x), G[end - len(x) : end], atol=1e-8)
        slow.learn_one(x, y)


@sized
@pytest.mark.parametrize("learner", [OSKAAR, SALAMI])
def test_contract_of_learners(kind, learner, rng):
    """predict changes nothing, learn_many is the loop bit for bit, replay pays what the loop pays."""
    loss, make = SIZED[kind]
    checks.check_learner(learner(loss, KERNEL), *make(rng, rounds=16))


@pytest.mark.parametrize(
    ("kind", "bad", "message"), [("documents", (0, -1.0), "for document 1"), ("trees", (0, 3, 2), "cycle")]
)
def test_batch_of_sizes(kind, bad, message, rng):
    loss, make = SIZED[kind]
    xs, ys = make(rng, rounds=15)
    model = BatchILE(loss, kernels.Gaussian(), lam=0.01).fit(xs, ys)
    X, Phi = np.vstack(xs), np.vstack([loss.embed(y) for y in ys])
    expected = naive.batch_ile(naive.gaussian, X, Phi, 0.01, xs[-1])
    np.testing.assert_allclose(model.estimate(xs[-1]), expected, atol=1e-8)
    assert model.predict(xs) == [loss.decode(model.estimate(x)) for x in xs]
    with pytest.raises(ValueError, match=message):
        model.fit(xs[:1], [bad])


# ------------------------------------------------------------------ check_loss on parts of one's own


class Wiggle(Loss):
    """+1 or -1 at each place, wrong places counted twice in odd rounds: broken in one way or another."""

    parts, p, c_delta = True, 1, 0.5

    def __init__(self, broken=""):
        self.broken = broken
        self.c_delta = 0.2 if broken == "c_delta" else 0.5

    def loss(self, z, y):
        if self.broken == "loss" and len(y) == 2:
            return float(list(z) != list(y))
        return float(np.mean([a != b for a, b in zip(z, y, strict=True)]))

    def embed(self, y):
        scale = 2.0 if self.broken == "norm" and len(y) == 2 else 1.0
        return scale * np.array(y, dtype=float)[:, None]

    def embed_many(self, ys):
        Phi = super().embed_many(ys)
        return -Phi if self.broken == "embed_many" and len(ys) > 1 else Phi

    def decode(self, g):
        signs = 1 - 2 * first_best(np.hstack([g, -g]))
        if self.broken == "decode" and len(g) == 2:
            signs[1] = signs[0]
        return signs.tolist()

    def optimum(self, y):
        return 0.5 if self.broken == "optimum" and len(y) == 2 else 0.0

    def outputs(self):
        sizes = (1, 2, 3) if self.broken != "sizes" else (1, 3)
        return [[1 - 2 * s for s in path] for n in sizes for path in naive.all_paths(n, 2)]

    def labels(self):
        return [[1 - 2 * s for s in path] for n in (1, 2, 3) for path in naive.all_paths(n, 2)]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("loss", "must be linear"),
        ("norm", "at most 1"),
        ("embed_many", "embed_many must equal"),
        ("decode", "decode must attain"),
        ("optimum", "the minimum is 0"),
        ("c_delta", "2 c_delta"),
        ("sizes", "labels with 2 rows, but no output"),
    ],
)
def test_check_loss_looks_at_every_size(broken, message):
    """Each mistake but c_delta's shows only in rounds of two rows."""
    checks.check_loss(Wiggle())
    with pytest.raises(checks.CheckFailed, match=message):
        checks.check_loss(Wiggle(broken))


def test_mini_batches_are_checked_on_two_rows():
    for row in (losses.ZeroOne(3), losses.Ordinal(4), losses.CostMatrix([[0, 1, 2], [3, 0, 1]]), losses.ZeroOne(25)):
        loss = losses.PerRow(row)
        checks.check_loss(loss)
        assert {len(z) for z in loss.outputs()} == ({1, 2} if len(list(row.outputs())) < 25 else {1})


def test_rows_of_any_kind(rng):
    """Tokens as dicts, sparse rows or objects: a block is a list of them, or a sparse matrix."""
    tags = ["O", "B-x", "I-x"]
    loss = losses.Sequence(tags, losses.bio_transitions(tags))
    sentences = [["in", "new", "york"], ["new", "york"], ["york", "in", "new", "york"], ["in"]]
    labels = [["O", "B-x", "I-x"], ["B-x", "I-x"], ["B-x", "O", "B-x", "I-x"], ["O"]]
    dicts = [[{"word": word, "first": i == 0} for i, word in enumerate(words)] for words in sentences]
    vectors = [csr_array(np.eye(3)[[["in", "new", "york"].index(word) for word in words]]) for words in sentences]
    for xs, kernel in ((dicts, None), (vectors, None), (sentences, kernels.Pairwise(lambda a, b: float(a == b)))):
        learner = OSKAAR(loss, kernel, lam=0.01).fit(xs, labels)
        assert learner.predict_one(xs[0]) == ("O", "B-x", "I-x")
        assert learner.predict(xs) == [learner.predict_one(x) for x in xs]
        assert learner.predict_one(xs[0][-2:])[0] != "I-x"

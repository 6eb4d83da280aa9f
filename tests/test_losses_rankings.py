"""Rankings and matchings against enumeration, and orders never taken for ranks."""

import itertools
import warnings

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oskaar import OSKAAR, SALAMI, BatchILE, checks, kernels, losses, replay
from oskaar.losses import kendall


def ranking_losses(n):
    return [
        losses.Kendall(n),
        losses.Spearman(n),
        losses.Footrule(n),
        losses.PositionHamming(n),
        losses.NDCG(n),
        losses.NDCG(n, k=max(1, n // 2), exponential=True),
        losses.Matching(n),
        losses.Matching(n, weights=np.arange(1, n + 1)),
    ]


def bucket_orders(n):
    """A random ranking of n items with ties."""
    cuts = st.lists(st.booleans(), min_size=n - 1, max_size=n - 1)

    def build(order, cuts):
        groups = [[order[0]]]
        for item, cut in zip(order[1:], cuts, strict=True):
            if cut:
                groups.append([item])
            else:
                groups[-1].append(item)
        return tuple(frozenset(g) if len(g) > 1 else g[0] for g in groups)

    return st.builds(build, st.permutations(range(n)), cuts)


def comparisons(n):
    """Some pairs, each in one direction; cycles may come up."""
    signs = st.lists(st.sampled_from([-1, 0, 1]), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2)

    def build(signs):
        pairs = zip(itertools.combinations(range(n), 2), signs, strict=True)
        return frozenset((i, j) if s > 0 else (j, i) for (i, j), s in pairs if s)

    return signs.map(build)


# ------------------------------------------------------------------ the losses are their definitions


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_losses_are_their_definitions(n):
    weights = list(range(1, n + 1))
    weighted = losses.Matching(n, weights=weights)
    for z, y in itertools.product(naive.orders(n), repeat=2):
        assert losses.Kendall(n)(z, y) == pytest.approx(naive.kendall(z, y), abs=1e-12)
        assert losses.Spearman(n)(z, y) == pytest.approx(naive.spearman(z, y), abs=1e-12)
        assert losses.Footrule(n)(z, y) == pytest.approx(naive.footrule(z, y), abs=1e-12)
        assert losses.PositionHamming(n)(z, y) == pytest.approx(naive.sequence_hamming(z, y), abs=1e-12)
        assert losses.Matching(n)(z, y) == pytest.approx(naive.sequence_hamming(z, y), abs=1e-12)
        assert weighted(z, y) == pytest.approx(naive.matching_loss(z, y, weights), abs=1e-12)


@given(st.lists(st.floats(0, 5), min_size=4, max_size=4), st.sampled_from([None, 1, 2, 4]), st.booleans())
def test_ndcg_is_its_definition(relevance, k, exponential):
    loss = losses.NDCG(4, k=k, exponential=exponential)
    for z in naive.orders(4):
        assert loss(z, relevance) == pytest.approx(naive.ndcg_loss(z, relevance, k, exponential), abs=1e-9)
    assert loss(loss.decode(loss.embed(relevance)), relevance) == pytest.approx(0, abs=1e-9)


def test_ndcg_is_scikit_learns(rng):
    metrics = pytest.importorskip("sklearn.metrics")
    for k in (None, 3):
        loss = losses.NDCG(6, k=k)
        for _ in range(20):
            relevance, scores = rng.integers(0, 4, size=6), rng.normal(size=6)
            z = tuple(np.argsort(-scores).tolist())
            theirs = metrics.ndcg_score([relevance], [scores], k=k) if relevance.any() else 1.0
            assert loss(z, relevance) == pytest.approx(1 - theirs, abs=1e-12)


@settings(max_examples=8)
@given(st.integers(2, 4).flatmap(lambda n: st.tuples(st.just(n), bucket_orders(n), comparisons(n))))
def test_ties_and_comparisons(drawn):
    n, tied, pairs = drawn
    kendall, spearman = losses.Kendall(n), losses.Spearman(n)
    for z in naive.orders(n):
        assert kendall(z, tied) == pytest.approx(naive.kendall(z, tied), abs=1e-12)
        assert kendall(z, pairs) == pytest.approx(naive.kendall(z, pairs), abs=1e-12)
        assert spearman(z, tied) == pytest.approx(naive.spearman(z, tied), abs=1e-12)
    for loss, ys in ((kendall, [tied, pairs]), (spearman, [tied])):
        checks.check_loss(loss, labels=[*naive.orders(n)[:: max(1, n - 2)], *ys])  # test_contracts has all orders
        for y in ys:
            assert loss.optimum(y) == pytest.approx(min(loss(z, y) for z in naive.orders(n)), abs=1e-12)


# ------------------------------------------------------------------ decoders


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(0, 10**6), st.sampled_from(["normal", "whole", "zero"]))
def test_decoders_are_enumeration(n, seed, kind):
    """decode attains min_z sum_s beta_s Delta(z, y_s), for weights of any sign, with many ties."""
    rng = np.random.default_rng(seed)
    orders = naive.orders(n)
    for loss in ranking_losses(n):
        grades = [tuple(row) for row in rng.integers(0, 4, size=(5, n)).tolist()]
        ys = grades if isinstance(loss, losses.NDCG) else [orders[i] for i in rng.integers(len(orders), size=5)]
        if isinstance(loss, (losses.Kendall, losses.Spearman)) and n > 2:
            ys[0] = (frozenset({0, 2}), 1, *range(3, n))
        beta = {"normal": rng.normal(size=5), "whole": rng.integers(-1, 2, size=5), "zero": np.zeros(5)}[kind]
        z = loss.decode(beta @ loss.embed_many(ys))
        D = np.array([[loss(v, y) for y in ys] for v in orders])
        assert D[orders.index(z)] @ beta <= (D @ beta).min() + 1e-9, loss


@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_contracts(n):
    for loss in ranking_losses(n):
        checks.check_loss(loss)
        assert list(loss.outputs()) == naive.orders(n)


@given(st.integers(1, 7), st.integers(0, 6), st.integers(0, 10**6))
def test_many_is_a_loop(n, rows, seed):
    rng = np.random.default_rng(seed)
    for loss in ranking_losses(n):
        G = rng.integers(-2, 3, size=(rows, loss.p)) * rng.choice([1.0, 0.1])
        before = G.copy()
        assert loss.decode_many(G) == [loss.decode(g) for g in G]
        np.testing.assert_array_equal(G, before)


def test_before_anything_is_seen():
    for loss in ranking_losses(5):
        assert loss.decode(np.zeros(loss.p)) == (0, 1, 2, 3, 4)
    assert losses.Kendall(20).decode(np.zeros(190)) == tuple(range(20))


def test_c_delta():
    """The constants of the docstrings are the radius of psi: that of the widest pair, or of the symmetric set."""
    assert losses.Kendall(6).c_delta == losses.Spearman(6).c_delta == 0.5
    assert losses.PositionHamming(5).c_delta == losses.Matching(5, weights=range(1, 6)).c_delta == 0.8
    assert losses.Footrule(20).c_delta == pytest.approx(2 / 3, abs=0.01)
    for loss in (losses.Footrule(4), losses.NDCG(4), losses.NDCG(4, k=2), losses.Matching(4)):
        ys = list(loss.labels())
        D = np.array([[loss(z, y) for y in ys] for z in loss.outputs()])
        psi = np.linalg.lstsq(loss.embed_many(ys), (D - D.mean(axis=0)).T, rcond=1e-10)[0].T
        np.testing.assert_allclose(np.linalg.norm(psi, axis=1), loss.c_delta, atol=1e-9)
        assert np.linalg.norm(loss.embed_many(ys), axis=1).max() == pytest.approx(1)


# ------------------------------------------------------------------ Kemeny


def antisymmetric(rng, m, n, whole=False):
    A = rng.integers(-2, 3, size=(m, n, n)).astype(float) if whole else rng.normal(size=(m, n, n))
    return A - A.transpose(0, 2, 1)


@given(st.integers(1, 6), st.booleans(), st.integers(0, 10**6))
def test_kemeny_is_enumeration(n, whole, seed):
    """All three ways, whatever the size; to 14 items the first of equals in the dictionary."""
    A = antisymmetric(np.random.default_rng(seed), 3, n, whole)
    orders, gaps = kendall.best_orders(A)
    assert not gaps.any()
    for a, order in zip(A, orders):
        gains = [kendall.gain(a, list(z)) for z in naive.orders(n)]
        first = next(z for z, v in zip(naive.orders(n), gains) if v >= max(gains) - 1e-9)
        assert tuple(order.tolist()) == first
        parts, gap = kendall._by_components(a, 1e-12, None)
        assert kendall.gain(a, parts) == pytest.approx(max(gains), abs=1e-9)
        assert gap == 0
        if n > 2:
            whole_problem, gap = kendall.by_programming(a)
            assert kendall.gain(a, whole_problem) == pytest.approx(max(gains), abs=1e-6)
            assert gap == 0


def test_programming_agrees_with_dynamic_programming(rng):
    A = antisymmetric(rng, 1, 15)
    by_subsets = kendall._by_subsets(A, np.zeros(1))[0]
    order, gap = kendall.by_programming(A[0])
    assert kendall.gain(A[0], order) == pytest.approx(kendall.gain(A[0], by_subsets), abs=1e-6)
    assert gap == 0


def test_twenty_items_in_parts(rng):
    """Cycles of 3, 15 and 2 items, one behind the other and shuffled: each is ordered by itself."""
    sizes = [3, 15, 2]
    n, group = sum(sizes), np.repeat(range(3), sizes)
    A = antisymmetric(rng, 1, n)[0]
    for i in range(n):
        for j in range(i + 1, n):
            if group[i] != group[j]:
                A[i, j] = abs(A[i, j])
                A[j, i] = -A[i, j]
    shuffled = rng.permutation(n)
    loss = losses.Kendall(n)
    B = A[np.ix_(shuffled, shuffled)]
    z, gap = loss.decode_with_gap(B[np.triu_indices(n, 1)])
    assert gap == 0
    assert sorted(z) == list(range(n))
    best = sum(kendall.gain(a, kendall._by_subsets(a[None], np.zeros(1))[0]) for a in blocks_of(A, sizes))
    between = sum(A[i, j] for i in range(n) for j in range(i + 1, n) if group[i] != group[j])
    assert kendall.gain(B, list(z)) == pytest.approx(best + between, abs=1e-6)


def blocks_of(A, sizes):
    ends = np.cumsum(sizes)
    return [A[hi - size : hi, hi - size : hi] for size, hi in zip(sizes, ends, strict=True)]


def test_the_gap_is_reported(rng):
    loss = losses.Kendall(40, time_limit=0.05)
    g = rng.normal(size=loss.p)
    z, gap = loss.decode_with_gap(g)
    assert gap > 0
    assert loss.check(z) == z
    with pytest.warns(losses.KemenyGap, match="stopped after 0.05 s"):
        assert sorted(loss.decode(g)) == list(range(40))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = tuple(rng.permutation(40).tolist())
        assert loss.decode(loss.embed(y)) == y


def test_local_search_never_loses(rng):
    for a in antisymmetric(rng, 20, 9):
        start = rng.permutation(9)
        order = kendall.improved(a, start)
        assert kendall.gain(a, order) >= kendall.gain(a, start) - 1e-12
        for i, j in itertools.product(range(9), repeat=2):
            moved = np.insert(np.delete(order, i), j, order[i])
            assert kendall.gain(a, moved) <= kendall.gain(a, order) + 1e-9


# ------------------------------------------------------------------ as users write them


def test_orders_and_ranks():
    """Rank 2 for item 0, rank 3 for item 1, rank 1 for item 2: item 2 is best."""
    assert losses.order_from_ranks([2, 3, 1]) == losses.order_from_ranks(np.array([1, 2, 0])) == (2, 0, 1)
    assert losses.order_from_ranks([2.0, 1.0, 2.0, 7.0], ties=True) == (1, frozenset({0, 2}), 3)
    for ranks in itertools.permutations(range(1, 5)):
        order = losses.order_from_ranks(ranks)
        assert [order.index(item) + 1 for item in range(4)] == list(ranks)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        ([1, 2, 2], "items 1 and 2 both have rank 2"),
        ([1, 2, 4], r"ranks must be 1\.\.3 or 0\.\.2"),
        ([0.5, 0.1, 0.9], "ranks must be 1"),
        ([1, np.nan], "finite"),
        ([[1, 2], [2, 1]], "a vector"),
        ([], "a vector"),
        ("ab", "numbers"),
    ],
)
def test_what_are_no_ranks(ranks, message):
    with pytest.raises(ValueError, match=message):
        losses.order_from_ranks(ranks)


def test_rankings_as_users_write_them():
    loss = losses.Kendall(["tea", "milk", "juice"])
    for y in (("milk", "tea", "juice"), ["milk", "tea", "juice"], np.array(["milk", "tea", "juice"])):
        assert loss.check(y) == ("milk", "tea", "juice")
    assert loss.check(("milk", {"tea", "juice"})) == ("milk", frozenset({"tea", "juice"}))
    assert loss.check(({"milk"}, "tea", "juice")) == ("milk", "tea", "juice")
    assert loss.check({("tea", "milk")}) == frozenset({("tea", "milk")})
    assert loss.decode(loss.embed({("juice", "tea"), ("tea", "milk"), ("juice", "milk")})) == ("juice", "tea", "milk")
    assert losses.Kendall(3).check(np.array([2, 0, 1])) == (2, 0, 1)
    assert losses.NDCG(3).check(np.array([0, 2, 1])) == (0.0, 2.0, 1.0)
    assert losses.NDCG(2, exponential=True)((1, 0), (2000, 0)) == pytest.approx(1 - 1 / np.log2(3))
    assert losses.Matching("xyz").decode(losses.Matching("xyz").embed(("z", "x", "y"))) == ("z", "x", "y")
    assert repr(losses.Kendall(3)) == "Kendall(3)"
    assert repr(losses.NDCG(3, k=2, exponential=True)) == "NDCG(3, k=2, exponential=True)"


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (losses.Kendall(3), (0, 1, 1), "item 1 is there 2 times|item 2 is missing"),
        (losses.Kendall(3), (0, 1), "item 2 is missing from"),
        (losses.Kendall(3), (1, 2, 3), "unknown item 3.*order_from_ranks"),
        (losses.Kendall(3), "012", "must be a tuple of the 3 items, got '012'"),
        (losses.Kendall(3), 5, "must be a tuple of the 3 items"),
        (losses.Kendall(3), None, "must be a tuple of the 3 items"),
        (losses.Kendall(3), (0, {1}), "item 2 is missing"),
        (losses.Kendall(3), (0, {1, 0}, 2), "item 0 is there 2 times"),
        (losses.Kendall(3), {0, 1, 2}, "pairs .better, worse."),
        (losses.Kendall(3), {(0, 1), (1, 0)}, "contradicts"),
        (losses.Kendall(3), {(1, 1)}, "contradicts"),
        (losses.Kendall(3), {(0, 7)}, "unknown item 7"),
        (losses.Kendall(3), np.eye(3), "shape"),
        (losses.Spearman(3), (0, 1), "item 2 is missing"),
        (losses.Footrule(3), (0, {1, 2}), "Footrule takes no ties"),
        (losses.PositionHamming(3), (0, 0, 1), "item 0 is there 2 times"),
        (losses.PositionHamming(3), {0, 1, 2}, "must be a tuple"),
        (losses.NDCG(3), (1, 2), "relevance >= 0 for each of the 3 items"),
        (losses.NDCG(3), (1, 2, -1), "relevance >= 0"),
        (losses.NDCG(3), (1, 2, np.nan), "relevance >= 0"),
        (losses.NDCG(3), "012", "relevance >= 0"),
        (losses.Matching(3), (0, 1, 1), "each partner once: partner 1 is there 2 times"),
        (losses.Matching(3), (0, 1), "partner 2 is missing"),
        (losses.Matching(3), "012", "a matching must be a tuple of the 3 partners"),
    ],
)
def test_what_is_no_ranking_is_named(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check(y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.Kendall(0), "at least one item"),
        (lambda: losses.Kendall(2.5), "whole number"),
        (lambda: losses.Kendall([frozenset({1}), 2]), "sets are ties"),
        (lambda: losses.Kendall(3, time_limit=0), "time_limit"),
        (lambda: losses.Spearman("aba"), "'a' is there twice"),
        (lambda: losses.NDCG(3, k=4), "k must be"),
        (lambda: losses.Matching(3, weights=[1, 2]), "3 finite numbers"),
        (lambda: losses.Matching(2, weights=[1, 0]), "> 0"),
    ],
)
def test_what_is_no_loss_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ------------------------------------------------------------------ in the learners


def test_in_every_learner(rng):
    """Two kinds of input, two structures: all learners tell them apart, and a replay is the loop."""
    X = rng.normal(scale=0.1, size=(30, 2)) + np.arange(30)[:, None] % 2
    kernel = kernels.Gaussian(0.5) + 1.0
    cases = [(loss, [(0, 1, 2, 3), (3, 1, 0, 2)]) for loss in ranking_losses(4) if not isinstance(loss, losses.NDCG)]
    cases += [
        (losses.Kendall("abcd"), [("d", {"a", "b"}, "c"), {("a", "b"), ("b", "d")}]),
        (losses.Spearman("abcd"), [("d", {"a", "b"}, "c"), ["a", "b", "d", "c"]]),
        (losses.NDCG(4), [np.array([0, 1, 2, 3]), [3, 0, 0, 1]]),
    ]
    for loss, kinds in cases:
        ys = [kinds[i % 2] for i in range(30)]
        for learner in (OSKAAR(loss, kernel, lam=0.1), SALAMI(loss, kernel, lam=0.1)):
            checks.check_learner(learner, X[:12], ys[:12])
            result = replay(learner, X, ys)
            assert result.losses[10:].max() == pytest.approx(0, abs=1e-9)
            assert learner.loss(learner.predict_one(X[0]), loss.check(ys[0])) == pytest.approx(0, abs=1e-9)
        model = BatchILE(loss, kernel, lam=1e-3).fit(X, ys)
        assert model.score(X, ys) == pytest.approx(0, abs=1e-9)

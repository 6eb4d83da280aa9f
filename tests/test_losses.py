import itertools

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import labels_of, small_losses, space_of

from oskaar import checks, losses


@given(st.data())
def test_decode_is_the_argmin_for_signed_weights(data):
    """decode attains min_z sum_s beta_s Delta(z, y_s) for weights of any sign, ties and zeros included."""
    loss = data.draw(small_losses())
    labels = data.draw(st.lists(labels_of(loss), min_size=1, max_size=6))
    weights = data.draw(
        st.lists(
            st.one_of(st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 1.0])),
            min_size=len(labels),
            max_size=len(labels),
        )
    )
    g = np.tensordot(weights, [loss.embed(y) for y in labels], axes=1)
    z = loss.decode(g)
    least = naive.least_risk(loss, loss.outputs(), weights, labels)
    scale = max([1.0] + [abs(loss(z, y)) for z in loss.outputs() for y in labels])
    assert naive.risk(loss, z, weights, labels) <= least + 1e-9 * scale
    assert z in list(loss.outputs())


@given(small_losses(), st.integers(0, 1000))
def test_contract(loss, seed):
    """Embedding, decoder, optimum and c_delta belong to one loss (check_loss looks at all of it)."""
    checks.check_loss(loss, seed=seed)


@given(st.data())
def test_decode_many_is_a_loop(data):
    loss = data.draw(small_losses())
    n = data.draw(st.integers(0, 5))
    G = np.random.default_rng(data.draw(st.integers(0, 10**6))).normal(size=(n, loss.p))
    before = G.copy()
    assert loss.decode_many(G) == [loss.decode(g) for g in G]
    np.testing.assert_array_equal(G, before)


@pytest.mark.parametrize("beta", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("k", [1, 3, 5])
def test_f1_is_the_textbook_formula(k, beta):
    loss = losses.F1(k, beta=beta)
    for z, y in itertools.product(naive.subsets(k), repeat=2):
        assert loss(z, y) == pytest.approx(naive.f_beta_loss(z, y, beta), abs=1e-12)
    assert list(loss.outputs()) == naive.subsets(k)


def test_other_losses_are_their_definitions():
    hamming, sequence = losses.SubsetHamming(4), losses.SequenceHamming(3, "AB")
    for z, y in itertools.product(naive.subsets(4), repeat=2):
        assert hamming(z, y) == naive.subset_hamming(z, y, 4)
    for z, y in itertools.product(naive.sequences(3, "AB"), repeat=2):
        assert sequence(z, y) == naive.sequence_hamming(z, y)
    ordinal = losses.Ordinal(["low", "mid", "high"])
    assert [ordinal("low", y) for y in ("low", "mid", "high")] == [0, 1, 2]
    assert losses.ZeroOne("abc")("a", "b") == 1


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_estimates_by_scores(n, seed):
    """Rankings by Borda's scores, levels by the mean; what scores can say stays, and twice is once."""
    G = np.random.default_rng(seed).normal(size=(4, n * (n - 1) // 2))
    kendall, scored = losses.Kendall(n), naive.borda(n)
    np.testing.assert_allclose(kendall.scored(G), [scored(g) for g in G], atol=1e-12)
    np.testing.assert_allclose(kendall.scored(kendall.scored(G)), kendall.scored(G), atol=1e-12)
    for g in G:
        z = kendall.decode(kendall.scored(g[None])[0])
        wins = [sum(g[k] * ((i == a) - (i == b)) for k, (a, b) in enumerate(naive_pairs(n))) for i in range(n)]
        assert [wins[i] for i in z] == sorted(wins, reverse=True)
    ordinal, G = losses.Ordinal(n), np.random.default_rng(seed).normal(size=(4, n - 1))
    np.testing.assert_allclose(ordinal.scored(G), [naive.mean_level(n)(g) for g in G], atol=1e-12)
    np.testing.assert_allclose(ordinal.scored(ordinal.embed_many(range(n))), ordinal.embed_many(range(n)), atol=1e-12)
    for g in G:
        mean = sum((1 + np.sqrt(n - 1) * v) / 2 for v in g)
        assert ordinal.decode(ordinal.scored(g[None])[0]) == min(max(round(mean), 0), n - 1)
    assert losses.ZeroOne(n).scored(np.zeros((1, n))) is None


def naive_pairs(n):
    return [(a, b) for a in range(n) for b in range(a + 1, n)]


def test_c_delta():
    """The constants of the docstrings, and never worse than the simplest code."""
    assert losses.ZeroOne(4).c_delta == 0.75
    assert losses.Ordinal(6).c_delta == 2.5
    assert losses.SubsetHamming(9).c_delta == 0.5
    assert losses.SequenceHamming(5, 4).c_delta == 0.75
    assert losses.CostMatrix(1 - np.eye(4)).c_delta == pytest.approx(0.75, rel=1e-2)
    assert losses.CostMatrix(np.abs(np.subtract.outer(range(6), range(6)))).c_delta <= 2.5 * 1.02
    k = 6
    uncentred = max(np.sqrt(sum(4 * n * m / (m + n) ** 2 for n in range(1, k + 1))) for m in range(1, k + 1))
    assert losses.F1(k).c_delta < 0.85 * uncentred


def test_learned_f1_space_is_the_full_embedding(rng):
    """Blocks in order of appearance, seen in full coordinates, are phi; new blocks are zero columns."""
    loss = losses.F1(4)
    space = loss.space()
    ys = [frozenset({1, 2}), frozenset(), frozenset({3}), frozenset({0, 1, 2, 3})]
    for y in ys:
        wider = space.extended(y)
        assert wider.extended(y) is wider
        space = wider
    np.testing.assert_array_equal(space.full(space.embed_many(ys)), [loss.embed(y) for y in ys])
    G = rng.normal(size=(50, space.p))
    assert space.decode_many(G) == loss.decode_many(space.full(G))


def test_before_anything_is_seen():
    """A zero estimate decodes to the documented default."""
    assert losses.F1(3).decode(np.zeros(10)) == frozenset()
    assert losses.SubsetHamming(3).decode(np.zeros(3)) == frozenset()
    assert losses.Ordinal(5).decode(np.zeros(4)) == 2
    assert losses.ZeroOne("xyz").decode(np.zeros(3)) == "x"
    assert losses.SequenceHamming(2, "ab").decode(np.zeros(4)) == ("a", "a")
    assert losses.ZeroOne().space().decode_many(np.zeros((1, 0))) == [None]
    assert losses.LossTrick(abs).space().decode_many(np.zeros((2, 0))) == [None, None]


def test_subsets_as_users_write_them():
    loss = losses.F1(4)
    expected = frozenset({1, 3})
    for y in ({1, 3}, frozenset({1, 3}), [0, 1, 0, 1], np.array([0, 1, 0, 1]), (False, True, False, True)):
        assert loss.check(y) == expected
    assert loss.check(csr_array([[0, 1, 0, 1]])) == expected
    assert loss.check({np.int64(1), 3}) == expected


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (losses.ZeroOne("abc"), "d", "unknown class 'd'"),
        (losses.ZeroOne("abc"), ["a"], "unknown class"),
        (losses.ZeroOne(), float("nan"), "must not be missing"),
        (losses.ZeroOne(), [1], "hashable"),
        (losses.Ordinal(3), 3, "unknown level 3"),
        (losses.Ordinal(3), None, "unknown level None"),
        (losses.F1(4), {4}, "unknown label 4: labels are indices 0..3"),
        (losses.F1(4), {-1}, "unknown label -1"),
        (losses.F1(4), [1, 3], "0/1 vector of length 4"),
        (losses.F1(4), "0101", "0/1 vector"),
        (losses.F1(4), [0, 1, np.nan, 0], "0/1 vector"),
        (losses.F1(4), {"a"}, "unknown label 'a'"),
        (losses.SubsetHamming(2), [0, 2], "0/1 vector"),
        (losses.SequenceHamming(3, "AB"), "AB", "must have 3 symbols, got 2"),
        (losses.SequenceHamming(3, "AB"), "ABC", "unknown symbol 'C'"),
        (losses.SequenceHamming(3, "AB"), 7, "must be a tuple of 3"),
        (losses.CostMatrix([[0, 1]]), 2, "unknown label 2"),
        (losses.LossTrick(abs), np.array([np.nan]), "NaN"),
        (losses.LossTrick(abs), None, "must not be missing"),
        (losses.PerRow(losses.ZeroOne(3)), [0, 5], "unknown class 5"),
        (losses.PerRow(losses.ZeroOne(3)), [], "at least one"),
        (losses.PerRow(losses.ZeroOne(3)), 1, "sequence of labels"),
    ],
)
def test_a_label_outside_the_space_is_named(loss, y, message):
    with pytest.raises(ValueError, match=message):
        loss.check(y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.ZeroOne([]), "at least one class"),
        (lambda: losses.ZeroOne("aba"), "'a' is there twice"),
        (lambda: losses.Ordinal(0), "at least one level"),
        (lambda: losses.F1(0), "whole number >= 1"),
        (lambda: losses.F1(2.5), "whole number >= 1"),
        (lambda: losses.F1(3, beta=0), "beta must be"),
        (lambda: losses.SequenceHamming(0, 2), "length must be"),
        (lambda: losses.CostMatrix([[np.inf]]), "finite"),
        (lambda: losses.CostMatrix([]), "table of outputs by labels"),
        (lambda: losses.CostMatrix([[1, 2]], labels="abc"), "for 1 outputs and 3 labels"),
        (lambda: losses.LossTrick(abs, candidates=[]), "must not be empty"),
        (lambda: losses.PerRow(losses.ZeroOne()), "no fixed embedding"),
        (lambda: losses.PerRow(losses.PerRow(losses.ZeroOne(2))), "already"),
    ],
)
def test_what_is_no_loss_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# ------------------------------------------------------------------ the loss trick


def edit(z, y):
    return float(sum(a != b for a, b in itertools.zip_longest(z, y)))


@given(
    st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=6),
    st.sampled_from(["seen", "given", "called", "proposed"]),
    st.integers(0, 10**6),
)
def test_loss_trick_is_enumeration(labels, kind, seed):
    pool = ["a", "b", "ab", "bab"]
    candidates = {
        "seen": None,
        "given": iter(pool),
        "called": lambda: pool,
        "proposed": lambda y: [y, y + "a"],
    }[kind]
    loss = losses.LossTrick(edit, candidates=candidates)
    space = space_of(loss, labels)
    known = {"seen": labels, "proposed": [z for y in labels for z in (y, y + "a")]}.get(kind, pool)
    weights = np.random.default_rng(seed).normal(size=len(labels))
    g = weights @ space.embed_many(labels)
    z = space.decode_many(g[None, :])[0]
    assert z in known
    assert naive.risk(edit, z, weights, labels) <= naive.least_risk(edit, known, weights, labels) + 1e-9
    assert space.p == len(set(labels))
    for y in labels:
        assert space.optimum(y) == min(edit(z, y) for z in known)


def test_loss_trick_contract():
    words = ["a", "ab", "abb", "b"]
    checks.check_loss(losses.LossTrick(edit), labels=words, outputs=words)
    checks.check_loss(losses.LossTrick(edit, candidates=words), labels=[*words, "bbb"])
    overlap = losses.LossTrick(edit, label_kernel=lambda y, v: float(y == v) / 2 + 0.5)
    checks.check_loss(overlap, labels=words, outputs=words)


def test_label_kernel_gives_the_norms(rng):
    loss = losses.LossTrick(lambda z, y: (z - y) ** 2, label_kernel=lambda y, v: np.exp(-((y - v) ** 2)))
    space = space_of(loss, (0.0, 1.0, 0.5, 1.0))
    V = rng.normal(size=(5, 3))
    Q = np.exp(-(np.subtract.outer([0, 1, 0.5], [0, 1, 0.5]) ** 2))
    np.testing.assert_allclose(space.squared_norms(V), [v @ Q @ v for v in V])
    with pytest.raises(ValueError, match="label_kernel must be finite"):
        losses.LossTrick(edit, label_kernel=lambda y, v: 2.0).space().extended("a")


def test_loss_trick_on_arrays_and_bad_values():
    loss = losses.LossTrick(lambda z, y: float(np.abs(np.subtract(z, y)).sum()))
    space = loss.space().extended(np.array([1.0, 2.0])).extended(np.array([1.0, 2.0])).extended([3.0, 4.0])
    assert space.p == 2
    with pytest.raises(ValueError, match="delta must be finite"):
        losses.LossTrick(lambda z, y: np.nan).space().extended(1)
    with pytest.raises(TypeError, match="function of"):
        losses.LossTrick(3)


def test_a_refused_label_leaves_the_space_usable():
    """Delta fails on one label: the space before it goes on as if nothing had happened."""
    loss = losses.LossTrick(lambda z, y: {"bad": np.nan}.get(y, float(z != y)))
    space = loss.space().extended("a").extended("b")
    with pytest.raises(ValueError, match="finite"):
        space.extended("bad")
    after = space.extended("c")
    np.testing.assert_array_equal(after.costs, 1 - np.eye(3))


# ------------------------------------------------------------------ check_loss finds what is wrong


class Wrong(losses.ZeroOne):
    """A 0-1 loss with one thing broken at a time."""

    broken = ""

    def embed(self, y):
        return super().embed(y) * {"long": 1.1}.get(self.broken, 1.0)

    def embed_many(self, ys):
        scale = {"long": 1.1}.get(self.broken, 1.0)
        return super().embed_many(["c" if self.broken == "nonlinear" and y == "d" else y for y in ys]) * scale

    def decode_many(self, G):
        if self.broken == "unsigned":
            G = np.abs(G)
        if self.broken == "swapped" and len(G) > 1:
            G = G[::-1]
        return super().decode_many(G)

    def optimum(self, y):
        return 0.5 if self.broken == "optimum" else 0.0


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("long", "at most 1"),
        ("nonlinear", "linear in phi"),
        ("unsigned", "any sign"),
        ("swapped", "decode in a loop"),
        ("optimum", "the minimum is"),
        ("radius", "2 c_delta"),
    ],
)
def test_check_loss_finds(broken, message):
    loss = Wrong("abcd")
    checks.check_loss(loss)
    loss.broken = broken
    if broken == "radius":
        loss.c_delta = 0.5
    with pytest.raises(checks.CheckFailed, match=message):
        checks.check_loss(loss)


def test_a_loss_writes_one_of_each_pair():
    """embed or embed_many, decode or decode_many; with neither the error says so."""

    class Many(losses.Loss):
        p, c_delta = 1, 1.0

        def loss(self, z, y):
            return float(z != y)

        def embed_many(self, ys):
            return np.array([[float(y)] for y in ys])

        def decode_many(self, G):
            return [int(g > 0) for g in G[:, 0]]

    class Neither(losses.Loss):
        p, c_delta = 1, 1.0

        def loss(self, z, y):
            return 0.0

    assert (Many().embed(1).tolist(), Many().decode([0.5])) == ([1.0], 1)
    with pytest.raises(NotImplementedError, match="Neither must have embed"):
        Neither().embed(0)
    with pytest.raises(NotImplementedError, match="Neither must have decode"):
        Neither().decode_many(np.zeros((1, 1)))

"""Labels by name, listed or learned from the stream, and ranges that are learned."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import few, space_of

from oskaar import OSKAAR, SALAMI, Ensemble, checks, kernels, losses, replay

TAGS = ("billing", "refund", "other", "bug")


def tag_sets():
    return st.frozensets(st.sampled_from(TAGS))


def named_subsets(names):
    return [frozenset(names[j] for j in z) for z in naive.subsets(len(names))]


def squared(z, y):
    return np.mean((np.asarray(z) - y) ** 2)


def absolute(z, y):
    return np.mean(np.abs(np.asarray(z) - y))


def counted(z, y):
    return len(z ^ y)


KINDS = {
    "F1": (losses.F1, tag_sets(), naive.f_beta_loss),
    "F2": (lambda: losses.F1(beta=2.0), tag_sets(), lambda z, y: naive.f_beta_loss(z, y, 2.0)),
    "two tags": (lambda: losses.F1(at_most=2), tag_sets(), naive.f_beta_loss),
    "Hamming": (losses.SubsetHamming, tag_sets(), counted),
    "Jaccard": (losses.Jaccard, tag_sets(), naive.jaccard),
    "levels": (losses.Ordinal, st.integers(-3, 4), lambda z, y: abs(z - y)),
    "sequences": (
        lambda: losses.SequenceHamming(2),
        st.tuples(*[st.sampled_from("abc")] * 2),
        naive.sequence_hamming,
    ),
    "squares": (losses.Squared, st.integers(-3, 3).map(lambda y: np.array([float(y)])), squared),
    "absolute": (losses.Absolute, st.integers(-3, 3).map(lambda y: np.array([float(y)])), absolute),
}


def known(kind, labels):
    """All answers to choose from after these labels, or a fine grid of them."""
    if kind in ("F1", "F2", "two tags", "Hamming", "Jaccard"):
        names = sorted(set().union(*labels))
        return [z for z in named_subsets(names) if kind != "two tags" or len(z) <= 2]
    if kind == "levels":
        return list(range(min(labels), max(labels) + 1))
    if kind == "sequences":
        return naive.sequences(2, sorted(set("".join(map("".join, labels)))))
    low, high = naive.learned_range([float(y[0]) for y in labels])
    return list(np.linspace(low, high, 41)[:, None])


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_decoding_is_the_argmin_over_what_is_known(kind, data):
    """For signed weights, over all sets of known labels, levels between the known, a range about the known."""
    make, ys, delta = KINDS[kind]
    loss = make()
    labels = data.draw(st.lists(ys, min_size=1, max_size=5))
    weights = data.draw(st.lists(st.floats(-2, 2), min_size=len(labels), max_size=len(labels)))
    space = loss.space()
    for y in labels:
        before, space = space, space.extended(loss.check(y))
        assert space.extended(loss.check(y)) is space
        if before.p:  # a label brings zero columns
            Phi = space.embed_many(labels[:1])
            assert not Phi[:, before.p :].any()
            np.testing.assert_array_equal(Phi[:, : before.p], before.embed_many(labels[:1]))
    weights = [round(w, 3) for w in weights]
    g = np.tensordot(weights, space.embed_many(labels), axes=1)
    z = space.decode_many(g[None])[0]
    if not g.any():
        return
    least = naive.least_risk(delta, known(kind, labels), weights, labels)
    span = max(delta(a, b) for a in known(kind, labels) for b in labels)
    assert naive.risk(delta, z, weights, labels) <= least + 1e-9 * (1 + span)
    assert all(loss(z, y) == pytest.approx(delta(z, y)) for y in labels)
    norms = space.squared_norms(space.embed_many(labels))
    assert norms.max() <= 1 + 1e-12


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_geometry_is_that_of_the_loss(kind, data):
    """<psi(z) - psi(z'), g> <= diameter |g|, whatever labels g is made of: no psi is farther than the diameter."""
    make, ys, delta = KINDS[kind]
    loss = make()
    labels = data.draw(st.lists(ys, min_size=2, max_size=5))
    weights = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=len(labels), max_size=len(labels))))
    space = space_of(loss, map(loss.check, labels))
    g = weights @ space.embed_many(labels)
    size = np.sqrt(space.squared_norms(g[None])[0])
    answers = known(kind, labels)
    risks = [naive.risk(delta, z, weights, labels) for z in answers]
    assert max(risks) - min(risks) <= space.diameter * size + 1e-7 * (1 + abs(np.array(risks)).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("late", few([True, False], 2))
def test_certificates_hold_when_labels_are_new(kind, late, rng):
    """Regret <= bound in every round, with labels that nobody has seen before, told at once or three rounds late."""
    make = KINDS[kind][0]
    for learner in (OSKAAR(make(), lam=0.01), SALAMI(make())):
        X = rng.normal(size=(30, 2))
        labels = [label_of(kind, x, i) for i, x in enumerate(X)]
        tickets = []
        for x, y in zip(X, labels):
            tickets.append((learner.ask(x)[0], y))
            if len(tickets) > 3 * late:
                learner.tell(*tickets.pop(0))
                certificate = learner.certificate()
                assert certificate.regret <= certificate.bound * (1 + 1e-9)
                if certificate.surrogate_bound is not None:
                    assert certificate.surrogate_loss <= certificate.surrogate_bound * (1 + 1e-9)


def label_of(kind, x, i):
    """Labels that grow with i."""
    if kind in ("levels", "squares", "absolute"):
        y = round(4 * x[0]) * (1 + i // 4) + i
        return y if kind == "levels" else np.array([float(y)])
    if kind == "sequences":
        return tuple("abcdef"[min(5, (i // 8) + (v > 0))] for v in x)
    return frozenset(f"tag {j}" for j in range(2 + i // 6) if x[j % 2] + j % 3 > 0.5)


def test_estimates_are_those_of_the_range_that_is_known_at_the_end(rng):
    """g_hat of Squared() is Algorithm 1's on phi of the final range, to 1e-8: nothing is lost when it widens."""
    X, Y = rng.normal(size=(25, 2)), rng.normal(size=(25, 2)) * [1.0, 1e4] * np.geomspace(1, 100, 25)[:, None]
    learner = OSKAAR(losses.Squared(2), kernel=kernels.Gaussian(0.8) + 1.0, lam=0.3)
    result = replay(learner, X, Y)
    space = learner.space
    closed = losses.Squared(2, space.range.low, space.range.high)
    Phi = np.array([closed.embed(y) for y in Y])
    twin = naive.oskaar(lambda a, b: naive.gaussian(a, b, 0.8) + 1, X[:, None], Phi[:, None], 0.3)
    np.testing.assert_allclose(space.lifted(result.estimates), np.concatenate(twin), atol=1e-8)
    np.testing.assert_allclose(result.losses, [squared(z, y) for z, y in zip(result.predictions, Y)], rtol=1e-12)


def test_learned_tags_are_listed_tags(rng):
    """F1() has the estimates of F1(k), coordinate by coordinate, once all tags are known."""
    X = rng.normal(size=(30, 2))
    ys = [frozenset(TAGS[j] for j in range(4) if x[j % 2] * (1 - 2 * (j > 1)) > 0.2 * j - 0.4) for x in X]
    settings = {"kernel": kernels.Gaussian(0.8) + 1.0, "lam": 0.3}
    for make in (OSKAAR, lambda loss, **s: SALAMI(loss, **s, eta=0.5)):
        open_, listed = make(losses.F1(), **settings), make(losses.F1(TAGS), **settings)
        open_.partial_fit(X, ys), listed.partial_fit(X, ys)
        g, full, space = open_.estimate([0.1, 0.2]), listed.estimate([0.1, 0.2]), open_.space
        for (n, name), column in space.positions.items():
            place = 1 + (n - 1) * 4 + TAGS.index(name) if n else 0
            assert g[column] == pytest.approx(full[place], abs=1e-10)
        assert open_.predict_one([0.1, 0.2]) == listed.predict_one([0.1, 0.2])


def test_labels_as_people_write_them():
    listed, learned = losses.F1(TAGS, separator=";"), losses.F1(separator=";")
    for y in ({"refund", "bug"}, ["refund", "bug"], ("bug", "refund"), "refund; bug;", np.array(["bug", "refund"])):
        assert listed.check(y) == learned.check(y) == {"refund", "bug"}
    for y in ([0, 1, 0, 1], np.array([0.0, 1.0, 0.0, 1.0]), (False, True, False, True)):
        assert listed.check(y) == {"refund", "bug"}
    assert listed.check([]) == learned.check("") == learned.check(set()) == frozenset()
    assert losses.F1(4).check([0, 1, 0, 1]) == losses.F1(4).check({1, 3}) == {1, 3}
    assert repr(losses.F1(TAGS[:2])) == "F1(['billing', 'refund'])"
    assert repr(losses.F1(beta=2.0, at_most=3)) == "F1(beta=2, at_most=3)"
    assert losses.PrecisionAtK(TAGS, k=2).decode([0.0, 1.0, 0.0, 2.0]) == {"refund", "bug"}
    assert losses.SubsetZeroOne(TAGS, [{"bug"}, ["refund"]])({"bug"}, {"bug"}) == 0


@pytest.mark.parametrize(
    ("loss", "y", "message"),
    [
        (losses.F1(TAGS), {"billing", "typo"}, "unknown label 'typo': it must be one of 'billing'"),
        (losses.F1(TAGS), "billing", "separator=';'"),
        (losses.F1(), "billing", r"Write \{'billing'\}"),
        (losses.F1(), [0, 1, 1], r"0/1 vector, which needs the number of labels, F1\(3\)"),
        (losses.F1(), {None}, "must not be missing"),
        (losses.F1(), [["a"]], "must be hashable"),
        (losses.F1(), 3, "a set or a list of labels, got 3"),
        (losses.Ordinal(), 2.5, "whole number where none are listed"),
        (losses.Ordinal(), "high", "list the levels"),
        (losses.Ordinal(), float("nan"), "whole number"),
        (losses.Squared(), 1e200, "at most 1e"),
        (losses.Squared(), float("nan"), "must be finite"),
        (losses.Squared(2), [1.0], "array of 2 numbers"),
        (losses.SequenceHamming(2), "abc", "must have 2 symbols"),
        (losses.Sequence(), (), "at least one symbol"),
    ],
)
def test_refused_labels(loss, y, message):
    learner = OSKAAR(loss)
    before = learner.to_bytes()
    with pytest.raises(ValueError, match=message):
        learner.learn_one([[0.0]] if loss.parts else [0.0], y)
    assert learner.to_bytes() == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: losses.F1("abc"), "a list of names in some order"),
        (lambda: losses.F1({"a", "b"}), "a list of names in some order"),
        (lambda: losses.F1(["a", "a"]), "'a' is there twice"),
        (lambda: losses.F1([]), "at least one label"),
        (lambda: losses.F1(at_least=1), "at_least=1 needs the labels"),
        (lambda: losses.Squared(1, low=0.0), "low is given and high is not"),
        (lambda: losses.Sequence(transitions="learned"), "give the alphabet"),
        (lambda: losses.PrecisionAtK(None, k=1), "n_labels must be"),
        (lambda: losses.F1().decode(np.zeros(3)), "learns its labels from the stream"),
        (lambda: losses.Squared().embed([1.0]), "learns its range from the stream"),
        (lambda: losses.Ordinal().outputs(), "learns its levels"),
    ],
)
def test_refused_losses(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_too_many_levels_are_refused_and_nothing_is_lost():
    learner = OSKAAR(losses.Ordinal())
    learner.learn_one([0.0], 3)
    before = learner.to_bytes()
    with pytest.raises(ValueError, match="at most 1000 levels"):
        learner.learn_one([1.0], 10**9)
    assert learner.to_bytes() == before


def test_named_losses_keep_their_contract():
    for loss in (losses.F1(TAGS), losses.SubsetHamming(TAGS[:3]), losses.Jaccard(TAGS[:3], at_most=2)):
        checks.check_loss(loss)
    for make in KINDS.values():
        if make[0] is losses.F1:
            checks.check_loss(make[0](), named_subsets(TAGS[:3]), named_subsets(TAGS[:3]))


def test_settings_keep_names():
    learner = OSKAAR(losses.F1(TAGS, beta=2.0))
    assert learner.set_params(loss__beta=0.5).loss.names.names == list(TAGS)
    assert OSKAAR(losses.F1(at_most=3)).set_params(loss__beta=0.5).loss.at_most == 3


def test_a_range_far_from_0_and_one_that_grows_a_million_times(rng):
    """Labels are never moved: losses are those of the true labels, whatever came first."""
    X = rng.normal(size=(60, 2))
    for Y in (1e9 + X[:, 0], np.where(np.arange(60) < 30, X[:, 0], 1e6 * X[:, 0]), np.full(60, 7.0)):
        result = replay(Ensemble(losses.Squared()), X, Y)
        np.testing.assert_allclose(result.losses, [(z[0] - y) ** 2 for z, y in zip(result.predictions, Y)])
        assert result.predictions[0][0] == 0.0
        assert result.predictions[1][0] == pytest.approx(Y[0])


def test_sequences_of_symbols_that_appear(rng):
    blocks = [rng.normal(size=(int(n), 2)) for n in rng.integers(1, 5, 40)]
    labels = [tuple("noun" if r[0] > 0 else "verb" if r[1] > 0 else "other" for r in b) for b in blocks]
    open_ = OSKAAR(losses.Sequence(), kernel=kernels.Gaussian(1.0) + 1.0, lam=0.1)
    result = replay(open_, blocks, labels)
    assert result.predictions[0] == (None,) * len(blocks[0])
    assert result.losses[20:].mean() < 0.2
    listed = OSKAAR(losses.Sequence(list(open_.space.positions)), kernel=kernels.Gaussian(1.0) + 1.0, lam=0.1)
    assert listed.partial_fit(blocks, labels).predict_many(blocks) == open_.predict_many(blocks)

"""What a learner does when no kernel is given: the units of the rows, and the ensemble."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import labels_of, lams, rows, small_losses

import oskaar
from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, kernels, losses, replay
from oskaar.arrays import uniforms

MAKE = {
    "oskaar": lambda loss, **settings: OSKAAR(loss, **settings),
    "shifted": lambda loss, **settings: OSKAAR(loss, shifted=True, **settings),
    "oskaar, budget": lambda loss, **settings: OSKAAR(loss, budget=7, **settings),
    "salami": lambda loss, **settings: SALAMI(loss, **settings),
    "salami, geometric": lambda loss, **settings: SALAMI(loss, restarts="geometric", **settings),
    "salami, window": lambda loss, **settings: SALAMI(loss, window=9, **settings),
    "salami, budget": lambda loss, **settings: SALAMI(loss, budget=7, **settings),
    "ensemble": lambda loss, **settings: Ensemble(loss, **settings),
    "ensemble, budget": lambda loss, **settings: Ensemble(loss, budget=7, **settings),
}
makes = pytest.mark.parametrize("make", MAKE)


def one_each(X):
    """Where rounds of one row end."""
    return list(range(1, len(X) + 1))


@st.composite
def odd_rows(draw, max_rounds=20):
    """Rows in any units, some with a column that stays, one row that is far out, or a column that moves late."""
    unit = draw(st.sampled_from([1.0, 1e-6, 1e5]))
    X = draw(rows(max_rounds=max_rounds)) * unit + draw(st.sampled_from([0.0, 3.0]))
    if len(X):
        if draw(st.booleans()):
            X[:, 0] = draw(st.sampled_from([0.0, 3.0, -0.1]))
        if draw(st.booleans()):
            X[draw(st.integers(0, len(X) - 1)), -1] = draw(st.sampled_from([1e7 * unit, -1e100]))
        if draw(st.booleans()):
            X[: len(X) // 2, -1] = 0.25
    return X


def judge_of(loss, ys):
    """Delta of the answer to g in round t, whatever is known."""
    return lambda t, g, known: loss(loss.decode(steady(g)), ys[t])


def scores_of(loss):
    """How an estimate is reduced to scores, for losses that have some."""
    if isinstance(loss, losses.Kendall):
        return naive.borda(loss.n)
    return naive.mean_level(loss.p + 1) if isinstance(loss, losses.Ordinal) else None


def steady(g):
    """g to about 1e-8: which of several tied answers is best must not hang on the last digit."""
    return np.round(np.asarray(g) * 2**25 * np.pi) / (2**25 * np.pi)


def judge_of_classes(ys):
    """The 0-1 loss of the first largest coordinate among classes that are known."""

    def judge(t, g, known):
        seen = len(set(ys[:known]))
        return float(seen == 0 or max(range(seen), key=lambda k: steady(g)[k]) != ys[t])

    return judge


def stream(n, width=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * 10.0 ** np.arange(width) + 5.0
    return X, [int(abs(x[0] - 5.0) * classes) % classes for x in X]


# ------------------------------------------------------------------ against the definitions


@settings(max_examples=20)
@given(st.data(), odd_rows(), lams())
def test_oskaar_is_the_definition(data, X, lam):
    """Every g_hat_t, in turn and in chunks."""
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    if not ys:
        return
    Phi = np.array([loss.embed(y) for y in ys])
    G = naive.untuned_oskaar(X, Phi, one_each(X), lam)
    learner = OSKAAR(loss, lam=lam)
    for x, y, g in zip(X, ys, G):
        np.testing.assert_allclose(learner.estimate(x), g, atol=1e-8)
        learner.learn_one(x, y)
    result = replay(OSKAAR(loss, lam=lam), X, ys)
    np.testing.assert_allclose(result.estimates, G, atol=1e-8)
    assert learner.rounds == len(X)
    assert learner.total_loss == pytest.approx(result.losses.sum(), abs=1e-9)
    assert learner.regret == pytest.approx(result.regret[-1], abs=1e-9)
    assert learner.surrogate_loss == pytest.approx(((Phi - G) ** 2).sum(), abs=1e-6)
    assert learner.regret <= learner.certificate().bound + 1e-9


@settings(max_examples=12)
@given(data=st.data(), X=odd_rows(max_rounds=13))
def test_the_ensemble_is_the_definition(data, X):
    """g_hat_t, the weights of all experts, and those of restarts among themselves."""
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    if not ys:
        return
    Phi, ends = np.array([loss.embed(y) for y in ys]), one_each(X)
    asked = {"draws": uniforms(0, 0, len(X)), "scored": scores_of(loss)}
    G, weights, shares = naive.ensemble(X, Phi, ends, judge_of(loss, ys), **asked)
    learner = Ensemble(loss)
    for t, (x, y) in enumerate(zip(X, ys)):
        np.testing.assert_allclose(learner.estimate(x), G[t], atol=1e-8)
        expected = [*weights[t].sum(axis=0), *shares[t]]
        np.testing.assert_allclose(list(learner.expert_weights().values()), expected, atol=1e-8)
        by_birth = weights[t].sum(axis=1)
        np.testing.assert_allclose(by_birth.sum() * learner.restart_weights()[1], by_birth, atol=1e-8)
        learner.learn_one(x, y)
    np.testing.assert_allclose(replay(Ensemble(loss), X, ys).estimates, G, atol=1e-8)


@pytest.mark.parametrize("loss", [losses.Kendall(4), losses.Ordinal(5)], ids=repr)
def test_groups_that_stand_as_scores(loss, rng):
    """Where scores are linear in x they are chosen; with a kernel of one's own, those of the whole."""
    X = rng.normal(size=(26, 3))
    S = X @ rng.normal(size=(3, 4)) + [0.3, 0.0, -0.2, 0.1]
    ranked = isinstance(loss, losses.Kendall)
    ys = [tuple(np.argsort(-s).tolist()) if ranked else int(np.clip(np.rint(2 + s[0]), 0, 4)) for s in S]
    Phi, ends = loss.embed_many(ys), one_each(X)
    asked = {"lives": naive.lives("all"), "draws": uniforms(0, 0, len(X))}
    G, _, _ = naive.ensemble(X, Phi, ends, judge_of(loss, ys), scored=scores_of(loss), **asked)
    without, _, _ = naive.ensemble(X, Phi, ends, judge_of(loss, ys), **asked)
    result = replay(Ensemble(loss), X, ys)
    np.testing.assert_allclose(result.estimates, G, atol=1e-8)
    assert np.abs(G - without).max() > 0.01
    K = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X)
    asked = {"ridges": [K], "ridge_lams": (0.05, 0.5, 1.0, 2.0), "later": -4.0, "scored": scores_of(loss)}
    G, _, _ = naive.mixture_with_experts([K], Phi, ends, (0.1,), judge_of(loss, ys), **asked)
    given_ = replay(Ensemble(loss, kernels.Linear() + 1.0), X, ys)
    np.testing.assert_allclose(given_.estimates, G, atol=1e-8)


@settings(max_examples=5)
@given(st.lists(st.integers(1, 5), min_size=3, max_size=6), st.integers(0, 2**32 - 1))
def test_rounds_of_parts(sizes, seed):
    """Scales are taken after the round that brings 4, 8, ... rows; restarts are on features."""
    rng = np.random.default_rng(seed)
    rounds = [3.0 + 7.0 * rng.normal(size=(n, 2)) for n in sizes]
    loss = losses.PerRow(losses.ZeroOne(3))
    ys = [rng.integers(3, size=n).tolist() for n in sizes]
    X, Phi, ends = np.vstack(rounds), np.vstack([loss.embed(y) for y in ys]), np.cumsum(sizes).tolist()
    of_parts = {"exact": 4096, "budget": 1024, "draws": uniforms(0, 0, len(X)), "parts": True}
    for make, G in (
        (OSKAAR, naive.untuned_oskaar(X, Phi, ends, 1.0)),
        (Ensemble, naive.ensemble(X, Phi, ends, **of_parts)[0]),
    ):
        learner = make(loss)
        for x, y, g in zip(rounds, ys, np.split(G, ends[:-1])):
            np.testing.assert_allclose(learner.estimate(x), g, atol=1e-8)
            learner.learn_one(x, y)
        np.testing.assert_allclose(np.vstack(replay(make(loss), rounds, ys).estimates), G, atol=1e-8)


def test_salami_is_the_paper(rng):
    """With a kernel and without, shifted or not."""
    X, ys = rng.normal(size=(30, 2)), rng.integers(3, size=30).tolist()
    Phi = losses.ZeroOne(3).embed_many(ys)
    K = naive.gram(lambda x, y: naive.gaussian(x, y) + 1, X, X)
    G, _, _ = naive.salami([K], Phi, one_each(X), (0.05, 0.5), 0.5, True)
    learner = SALAMI(losses.ZeroOne(3), kernels.Gaussian() + 1.0)
    np.testing.assert_allclose(replay(learner, X, ys).estimates, G, atol=1e-9)
    assert learner.expert_weights().sum() == pytest.approx(1)
    shifted = SALAMI(losses.ZeroOne(3), shifted=True)
    Ks = [naive.gram(naive.kernels_in_force(X, taken)[0], X, X) for taken in (0, 4, 8, 16)]
    expected = [naive.salami([K], Phi, one_each(X), (0.05, 0.5), 0.5, False, True)[0] for K in Ks]
    parts = np.split(np.arange(30), [4, 8, 20])  # units of 16 rows are in force from 20 on
    G = np.concatenate([G[part] for G, part in zip(expected, parts)])
    np.testing.assert_allclose(replay(shifted, X, ys).estimates, G, atol=1e-8)


def test_past_256_rows_the_scales_stay():
    """Scales of the first 256 rows, for ever, though the units change."""
    X, ys = stream(600, width=2)
    X[384:] *= 100.0
    learner = OSKAAR(losses.ZeroOne(3))
    learner.partial_fit(X, ys)
    mean, deviation = X[:256].mean(axis=0), X[:256].std(axis=0)
    units = np.clip((X - mean) / deviation, -5, 5)
    smooth = kernels.Gaussian(2**0.5) + 0.05 * kernels.Linear() + 1.0
    given_ = OSKAAR(losses.ZeroOne(3), smooth).partial_fit(units, ys)
    np.testing.assert_allclose(learner.estimate(X[3]), given_.estimate(units[3]), atol=1e-8)
    np.testing.assert_allclose(learner.estimate(X[-1]), given_.estimate(units[-1]), atol=1e-8)
    before = OSKAAR(losses.ZeroOne(3)).partial_fit(X[:383], ys[:383])
    units = np.clip((X - X[:128].mean(axis=0)) / X[:128].std(axis=0), -5, 5)
    given_ = OSKAAR(losses.ZeroOne(3), smooth).partial_fit(units[:383], ys[:383])
    np.testing.assert_allclose(before.estimate(X[3]), given_.estimate(units[3]), atol=1e-8)


def test_batch(rng):
    """Standardised by the examples."""
    X, ys = 40.0 + 9.0 * rng.normal(size=(12, 2)), rng.integers(3, size=12).tolist()
    loss, new = losses.ZeroOne(3), np.array([[41.0, 35.0], [1e9, 40.0]])
    model = BatchILE(loss, lam=0.01).fit(X, ys)
    expected = naive.batch_ile(naive.unit_kernels(X)[0], X, loss.embed_many(ys), 0.01, new)
    for x, g in zip(new, expected):
        np.testing.assert_allclose(model.estimate(x), g, atol=1e-9)


# ------------------------------------------------------------------ classes that appear, labels that come late


@pytest.mark.parametrize("make", [OSKAAR, Ensemble])
def test_classes_that_appear(make, rng):
    """A class is a coordinate from its first round on, also where rounds are learned again."""
    X, ys = 2.0 + rng.normal(size=(22, 2)), [i // 3 for i in range(22)]
    Phi, ends = np.eye(8)[ys], one_each(X)
    if make is OSKAAR:
        G = naive.untuned_oskaar(X, Phi, ends, 1.0)
    else:
        G, _, _ = naive.ensemble(X, Phi, ends, judge_of_classes(ys), draws=uniforms(0, 0, len(X)))
    learner = make(losses.ZeroOne())
    result = replay(make(losses.ZeroOne()), X, ys)
    for t, (x, y) in enumerate(zip(X, ys)):
        seen = len(set(ys[:t]))
        assert len(learner.estimate(x)) == seen
        np.testing.assert_allclose(learner.estimate(x), G[t, :seen], atol=1e-8)
        np.testing.assert_allclose(result.estimates[t][:seen], G[t, :seen], atol=1e-8)
        learner.learn_one(x, y)


@pytest.mark.parametrize("make", [OSKAAR, Ensemble])
@settings(max_examples=3)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_tickets(make, data, seed):
    """Scales are those of the rows that were told, in that order; what is asked is answered with those of then."""
    X, ys = 3.0 + 5.0 * np.random.default_rng(seed).normal(size=(12, 2)), [0, 1, 2] * 4
    loss, told, waiting = losses.ZeroOne(3), [], []
    learner, paid = make(loss), 0.0
    for t, x in enumerate(X):
        so_far = np.vstack([X[told], [x]])
        Phi, ends = np.vstack([loss.embed_many([ys[s] for s in told] + [0])]), one_each(so_far)
        judge = judge_of(loss, [ys[s] for s in told] + [0])
        G = (
            naive.untuned_oskaar(so_far, Phi, ends, 1.0)
            if make is OSKAAR
            else naive.ensemble(so_far, Phi, ends, judge, draws=uniforms(0, 0, len(so_far)))[0]
        )
        np.testing.assert_allclose(learner.estimate(x), G[-1], atol=1e-8)
        waiting.append((t, learner.ask(x)[0], G[-1]))
        while waiting and data.draw(st.booleans()):
            s, ticket, g = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            learner.tell(ticket, ys[s])
            told.append(s)
            paid += ((loss.embed(ys[s]) - g) ** 2).sum()
    assert learner.surrogate_loss == pytest.approx(paid, abs=1e-7)
    assert learner.open_tickets == [ticket for _, ticket, _ in waiting]
    assert learner.rounds == len(told)


# ------------------------------------------------------------------ one learner, however it is run


@makes
def test_however_it_is_run(make):
    """Chunks to 1e-9, `learn_many` and a file or a pickle in between bit for bit."""
    (X, ys), loss = stream(20), losses.ZeroOne()
    learners = [MAKE[make](loss) for _ in range(3)]
    estimates = []
    for i, (x, y) in enumerate(zip(X, ys)):
        estimates.append(learners[0].estimate(x))
        learners[0].learn_one(x, y)
        if i in (2, 3, 7, 12):
            learners[2] = (
                oskaar.from_bytes(learners[2].to_bytes()) if i % 2 else pickle.loads(pickle.dumps(learners[2]))
            )
        learners[2].learn_one(x, y)
    learners[1].learn_many(X[:3], ys[:3])
    learners[1].learn_many(X[3:], ys[3:])
    assert pickle.dumps(learners[0]) == pickle.dumps(learners[1])
    assert learners[0].to_bytes() == learners[2].to_bytes()
    fast = MAKE[make](loss)
    result = replay(fast, X, ys)
    for g, whole in zip(estimates, result.estimates):
        np.testing.assert_allclose(whole[: len(g)], g, atol=1e-9)
    halves = MAKE[make](loss).partial_fit(X[:11], ys[:11]).partial_fit(X[11:], ys[11:])
    for other in (fast, halves):
        np.testing.assert_allclose(other.estimate(X[0]), learners[0].estimate(X[0]), atol=1e-9)
        assert other.surrogate_loss == pytest.approx(learners[0].surrogate_loss, abs=1e-8)
        assert other.total_loss == learners[0].total_loss


@makes
def test_fit_and_reset_start_again(make):
    X, ys = stream(10)
    other = np.random.default_rng(1).normal(size=(9, 3))
    learner, fresh = MAKE[make](losses.ZeroOne(3)), MAKE[make](losses.ZeroOne(3)).partial_fit(X, ys)
    learner.partial_fit(other, [0, 1, 2] * 3).fit(X, ys)
    np.testing.assert_array_equal(learner.estimate(X[0]), fresh.estimate(X[0]))
    learner.reset()
    assert learner._behind == 0.0
    learner.partial_fit(X, ys)
    np.testing.assert_array_equal(learner.estimate(X[0]), fresh.estimate(X[0]))
    assert learner.surrogate_loss == fresh.surrogate_loss
    assert learner.certificate().surrogate_bound == fresh.certificate().surrogate_bound


@makes
@pytest.mark.parametrize("before", [3, 7])
def test_a_refused_round_leaves_no_trace(make, before):
    """Also where it would have been the one after which scales are taken."""
    X, ys = stream(10)
    learner, untouched = MAKE[make](losses.ZeroOne(3)), MAKE[make](losses.ZeroOne(3))
    for each in (learner, untouched):
        each.learn_many(X[:before], ys[:before])
    state = pickle.dumps(learner)
    for x, y in ((X[0] * np.inf, 0), (X[0, :2], 0), (X[0], 7), ({"a": 1.0}, 0), (csr_array(X[:1, :2]), 0)):
        with pytest.raises((ValueError, TypeError), match=r"finite|features|unknown|row of numbers"):
            learner.learn_one(x, y)
        with pytest.raises((ValueError, TypeError), match=r"finite|features|unknown|row of numbers"):
            learner.partial_fit([x], [y])
    assert pickle.dumps(learner) == state
    for each in (learner, untouched):
        each.learn_many(X[before:], ys[before:])
    assert pickle.dumps(learner) == pickle.dumps(untouched)
    assert pickle.dumps(MAKE[make](losses.ZeroOne(3)).fit(X, ys)) != state


@makes
@pytest.mark.parametrize("chunks", [True, False])
def test_an_error_while_all_is_learned_again_leaves_no_trace(make, chunks, monkeypatch):
    X, ys = stream(8)
    learner = MAKE[make](losses.ZeroOne(3))
    learner.learn_many(X[:7], ys[:7])
    state = pickle.dumps(learner)
    learn = learner.partial_fit if chunks else learner.learn_many
    with monkeypatch.context() as patched:
        patched.setattr("oskaar.learners.relearning._after", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            learn(X[7:], ys[7:])
    assert pickle.dumps(learner) == state
    learner.learn_one(X[7], ys[7])
    assert (learner.rounds, learner._relearning.due) == (8, 16)


@makes
def test_rows_are_copied(make):
    """A buffer that the caller fills again does not change what is learned again."""
    X, ys = stream(9)
    buffered, plain = MAKE[make](losses.ZeroOne(3)), MAKE[make](losses.ZeroOne(3))
    buffer = np.empty(3)
    for x, y in zip(X, ys):
        buffer[:] = x
        buffered.learn_one(buffer, y)
        plain.learn_one(x, y)
    np.testing.assert_array_equal(buffered.estimate(X[0]), plain.estimate(X[0]))
    buffered, buffer = MAKE[make](losses.ZeroOne(3)), X[:5].copy()
    buffered.partial_fit(buffer, ys[:5])
    buffer[:] = 7.0
    buffered.partial_fit(X[5:], ys[5:])
    np.testing.assert_allclose(buffered.estimate(X[0]), plain.estimate(X[0]), atol=1e-9)


@makes
def test_asking_changes_nothing(make):
    X, ys = stream(9)
    learner = MAKE[make](losses.ZeroOne(3))
    for x, y in zip(X, ys):
        learner.learn_one(x, y)
        state = pickle.dumps(learner)
        learner.estimate(x), learner.predict_one(x), learner.predict_many(X), learner.cost()
        assert pickle.dumps(learner) == state


# ------------------------------------------------------------------ rows that are not numbers in units


def test_sparse_rows_have_no_scales(rng):
    X, ys = rng.normal(size=(14, 3)), rng.integers(3, size=14).tolist()
    Phi, K = losses.ZeroOne(3).embed_many(ys), naive.gram(lambda x, y: naive.cosine(x, y) + 1, X, X)
    asked = {"ridges": [K], "ridge_lams": (0.05, 0.5, 1.0, 2.0), "later": -4.0, "steps": False}
    G, _, _ = naive.mixture_with_experts([K], Phi, one_each(X), (0.1,), judge_of(losses.ZeroOne(3), ys), **asked)
    silent = Ensemble(losses.ZeroOne(3))
    np.testing.assert_allclose(replay(silent, csr_array(X), ys).estimates, G, atol=1e-8)
    assert silent._relearning.underway is None


def test_one_of_several_kernels(rng):
    """None in a list is the smooth one."""
    X, ys = 5.0 + 3.0 * rng.normal(size=(14, 2)), rng.integers(3, size=14).tolist()
    learner = SALAMI(losses.ZeroOne(3), [None, kernels.Linear() + 1.0], 0.5)
    linear, Phi = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X), losses.ZeroOne(3).embed_many(ys)
    result = replay(learner, X, ys)
    for taken, (lo, hi) in {0: (0, 4), 4: (4, 8), 8: (8, 14)}.items():
        Ks = [naive.gram(naive.kernels_in_force(X, taken)[0], X, X), linear]
        G, _, _ = naive.salami(Ks, Phi, one_each(X), [0.5], 0.5, True)
        np.testing.assert_allclose(result.estimates[lo:hi], G[lo:hi], atol=1e-8)


# ------------------------------------------------------------------ messages


def hostile(n, rng):
    """Labels against the sign of the answer, on rows whose units jump at each power of 2."""
    learner, X = OSKAAR(losses.ZeroOne(2), lam=0.1), rng.normal(size=(n, 2))
    X *= 10.0 ** np.floor(np.log2(np.arange(1, n + 1)))[:, None]
    ys = []
    for x in X:
        ys.append(1 - learner.predict_one(x))
        learner.learn_one(x, ys[-1])
    return X, ys


STREAMS = {
    "hostile": lambda rng: hostile(40, rng),
    "easy": lambda rng: ((X := rng.normal(size=(40, 2))), [int(x[0] > 0) for x in X]),
    "noise": lambda rng: (100.0 * rng.normal(size=(40, 1)), rng.integers(2, size=40).tolist()),
    "constant": lambda rng: (np.full((40, 2), 4.0), [0, 1] * 20),
}
LEARNERS = {
    "oskaar": lambda: OSKAAR(losses.ZeroOne(2), lam=0.1),
    "shifted": lambda: OSKAAR(losses.ZeroOne(2), lam=0.1, shifted=True),
    "salami": lambda: SALAMI(losses.ZeroOne(2), eta="theory"),
    "salami, first only": lambda: SALAMI(losses.ZeroOne(2), eta="theory", restarts=None),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("name", LEARNERS)
def test_the_certificate_holds_at_every_round(kind, name, rng):
    """What was paid with earlier scales is in the surrogate bound, to the digit."""
    X, ys = STREAMS[kind](rng)
    learner = LEARNERS[name]()
    for x, y in zip(X, ys):
        learner.learn_one(x, y)
        certificate = learner.certificate()
        assert certificate.surrogate_bound is not None
        assert certificate.surrogate_loss <= certificate.surrogate_bound + 1e-9
        assert certificate.regret <= certificate.bound + 1e-9


def test_what_the_bound_is(rng):
    """That of a learner that had the present kernel from the start, plus what was paid more, or less, than it."""
    X, ys = hostile(40, rng)
    learner = OSKAAR(losses.ZeroOne(2), lam=0.1).partial_fit(X, ys)
    kernel = kernels.standardised_kernels(X[:32])[0]
    present = OSKAAR(losses.ZeroOne(2), kernel, lam=0.1).partial_fit(X, ys).certificate()
    ours = learner.certificate()
    behind = learner.surrogate_loss - present.surrogate_loss
    assert abs(behind) > 1e-3
    assert ours.surrogate_bound == pytest.approx(present.surrogate_bound + behind, abs=1e-7)


@pytest.mark.parametrize("settings_", [{"lam": (0.05, 0.5)}, {"eta": 0.5}])
def test_a_lam_or_an_eta_is_the_paper_on_one_kernel(settings_, rng):
    X, ys = 4.0 + 9.0 * rng.normal(size=(14, 2)), rng.integers(3, size=14).tolist()
    Phi = losses.ZeroOne(3).embed_many(ys)
    asked = {"ridges": None, "later": 0.0, "scaled": False, "neighbours": False, "lams": (0.05, 0.5)}
    G, _, _ = naive.ensemble(X, Phi, one_each(X), draws=uniforms(0, 0, len(X)), **asked)
    learner = SALAMI(losses.ZeroOne(3), **settings_)
    np.testing.assert_allclose(replay(learner, X, ys).estimates, G, atol=1e-8)
    assert learner.expert_weights().shape == (1, 2)
    assert learner.expert_weights().sum() == pytest.approx(1)


def test_changes_are_those_of_the_restarts(rng):
    """Other experts and the rate decide what is answered, not the change points."""
    X = 10.0 * rng.normal(size=(170, 2))
    ys = [int((x[0] > 0) ^ (t >= 120)) for t, x in enumerate(X)]
    ours = Ensemble(losses.ZeroOne(2), false_alarms=0.01)
    weights = kernels.weights_of_features(X[:128], losses.ZeroOne(2).embed_many(ys[:128]))
    smooth = kernels.standardised_kernels(X[:128], weights=weights)[0]
    paper = SALAMI(losses.ZeroOne(2), smooth, 0.1, false_alarms=0.01)
    for each in (ours, paper):
        each.partial_fit(X, ys)
    np.testing.assert_array_equal(np.array(ours.change_points())[:, :2], np.array(paper.change_points())[:, :2])
    np.testing.assert_allclose(ours.change_points(), paper.change_points(), rtol=0.2)  # with earlier kernels
    assert ours.change_points()
    np.testing.assert_array_equal(ours.restart_weights()[0], paper.restart_weights()[0])
    assert ours.restart_weights()[1].sum() == pytest.approx(1)
    assert ours.surrogate_loss != paper.surrogate_loss
    in_turn = Ensemble(losses.ZeroOne(2), false_alarms=0.01)
    in_turn.learn_many(X, ys)
    assert [c[:2] for c in in_turn.change_points()] == [c[:2] for c in ours.change_points()]


def test_labels_that_hardly_move(rng):
    """What the last label is for: labels that stay, and x that says nothing."""
    X, ys = rng.normal(size=(200, 3)), [(t // 25) % 4 for t in range(200)]
    ours = replay(Ensemble(losses.ZeroOne(4)), X, ys).losses.mean()
    alone = replay(SALAMI(losses.ZeroOne(4)), X, ys).losses.mean()
    repeated = np.mean(np.diff(ys, prepend=-1) != 0)
    assert ours < alone / 1.5
    assert ours < repeated + 0.05


# ------------------------------------------------------------------ extremes


@makes
@pytest.mark.parametrize(
    "column",
    [
        [5.0] * 6 + [1e300] + [5.0] * 3,
        [-1.7e308] * 5 + [1.7e308] * 5,
        [0.0] * 2 + [5e-324] * 4 + [1.7e308] * 4,
        [0.0, 5e-324] * 5,
    ],
    ids=["constant then huge", "across all floats", "from nothing", "denormal"],
)
def test_extreme_columns(make, column):
    """No overflow, no NaN. Scales are taken after 4 and 8 rows."""
    learner = MAKE[make](losses.ZeroOne(2))
    for i, v in enumerate(column):
        assert np.isfinite(learner.estimate([v])).all()
        learner.learn_one([v], i % 2)
    assert np.isfinite(learner.surrogate_loss)


def test_units_do_not_matter():
    """From the 4th row on, answers are the same in metres and in miles."""
    X, ys = stream(60)
    far = X * np.array([2.0**-20, 2.0**9, 2.0**30])
    for make in (OSKAAR, SALAMI, Ensemble):
        here, there = replay(make(losses.ZeroOne(3)), X, ys), replay(make(losses.ZeroOne(3)), far, ys)
        np.testing.assert_allclose(here.estimates[4:], there.estimates[4:], atol=1e-9)


@pytest.mark.parametrize(
    ("settings_", "most"),
    [({}, 760_000), ({"budget": 50}, 300_000)],
)
@pytest.mark.parametrize("chunks", [True, False])
def test_max_bytes_holds(settings_, most, chunks):
    """The rows that wait for scales are counted."""
    X, ys = stream(500, width=40)
    learner = OSKAAR(losses.ZeroOne(3), max_bytes=most, **settings_)
    learn = learner.partial_fit if chunks else learner.learn_many
    with pytest.raises(MemoryError, match="max_bytes allows"):
        learn(X, ys)
    assert 0 < learner.rounds < 500
    assert learner.cost().bytes <= most


@pytest.mark.parametrize("most", [230_000, 240_000, 250_000])
def test_room_for_atoms_is_counted(most):
    """Factors of the atoms get half as much room again when they are full: at 49 rows here."""
    X, ys = stream(100, width=40)
    learner = OSKAAR(losses.ZeroOne(3), max_bytes=most, budget=50)
    with pytest.raises(MemoryError, match="max_bytes allows"):
        all(learner.learn_one(x, y) is None for x, y in zip(X, ys))
    assert learner.cost().bytes <= most


def test_a_row_that_waits_is_counted():
    X, ys = stream(6, width=300)
    learner = OSKAAR(losses.ZeroOne(3), budget=5)
    learner.learn_many(X[:5], ys[:5])
    learner.max_bytes = learner.cost().bytes + learner._estimator.growth(1) + 2000
    with pytest.raises(MemoryError, match="max_bytes allows"):
        learner.learn_one(X[5], ys[5])
    learner.max_bytes += 1000
    learner.learn_one(X[5], ys[5])
    assert learner.cost().bytes <= learner.max_bytes

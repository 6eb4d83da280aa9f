"""The ensemble: experts that never restart, weights, selection, each on its own and together."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oskaar
from oskaar import OSKAAR, SALAMI, Ensemble, features, kernels, losses, replay
from oskaar.arrays import carried, fit_columns
from oskaar.inputs import Compared, Inputs
from oskaar.learners.change_points import ChangeDetector
from oskaar.learners.corrected import Corrected
from oskaar.learners.experts import PastLabels, Ridges
from oskaar.learners.mixture import Mixture, Weights
from oskaar.learners.refit import RefitRegressions
from oskaar.learners.restarts import GeometricKernelRestarts
from oskaar.learners.selection import Selection, _rounded
from oskaar.learners.since_change import SinceChange
from oskaar.learners.stacking import Stacking

KERNELS = [kernels.Gaussian() + 1.0, kernels.Linear() + 1.0]
LAMS = [0.1, 2.0]


def stream(n, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    X = 5.0 + 3.0 * rng.normal(size=(n, 2))
    return X, [int(x[0] > 5) + int(x[1] > 6) if classes == 3 else int(x[0] > 5) for x in X]


# ------------------------------------------------------------------ selection


@settings(max_examples=30)
@given(st.integers(1, 4), st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_selection_is_its_formula(candidates, chunks, seed):
    """In chunks as in turn; a loss of 0 for all, losses in thousands, and signed ones."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([0.0, 1.0, 1e3])
    losses_ = [scale * rng.integers(-1, 3, size=(n, candidates)) for n in chunks]
    selection, history = Selection(candidates), []
    for chunk in losses_:
        before = pickle.dumps(selection)
        shares, after = selection.after(chunk)
        for now, row in zip(shares, chunk):
            expected = naive.shares_of_groups(candidates, [[0.0] * candidates, *history])
            np.testing.assert_allclose(now, expected, atol=1e-12)
            history.append(row.tolist())
        assert pickle.dumps(selection) == before  # a value
        selection = after
        expected = naive.shares_of_groups(candidates, [[0.0] * candidates, *history])
        np.testing.assert_allclose(selection.shares(), expected, atol=1e-12)


def test_a_group_has_a_share_once_it_is_more_than_luck():
    """The prior, and z^2 against 3: after 8 rounds won in a row it has more than the whole."""
    selection, found = Selection(2), []
    for _ in range(12):
        found.append(selection.shares()[1])
        selection = selection.after(np.array([[1.0, 0.0]]))[1]
    z = [n / np.sqrt(1 + n) for n in range(12)]
    np.testing.assert_allclose(found, [1 / (1 + np.exp(3 - v * v)) for v in z], atol=1e-12)


def test_estimates_are_judged_to_1e_8():
    g = np.array([1 / 3, 0.5, -0.25, 1e-17, -1e-17, 0.7])
    np.testing.assert_array_equal(_rounded(g), _rounded(g + np.array([1, -1, 1, 1, -1, 1]) * 1e-15))
    np.testing.assert_allclose(_rounded(g), g, atol=1e-8)
    assert not np.signbit(_rounded(np.array([-1e-17])))[0]
    assert _rounded(np.array([0.1]))[0] != _rounded(np.array([0.1 + 1e-7]))[0]


@pytest.mark.parametrize("ys", [[0, 1] * 30, [0, 1, 2] * 20], ids=["abab", "abcabc"])
@pytest.mark.parametrize("rows", [[[4.0]], [[0.0], [1.0]]], ids=["one row", "two rows"])
def test_ties_are_broken_alike_in_chunks_and_in_turn(ys, rows):
    """Labels that take turns on few rows are tied again and again; rounding must not decide the shares."""
    X = np.array(rows * (60 // len(rows)))
    learner, estimates = Ensemble(losses.ZeroOne(3)), []
    for x, y in zip(X, ys):
        estimates.append(learner.estimate(x))
        learner.learn_one(x, y)
    np.testing.assert_allclose(replay(Ensemble(losses.ZeroOne(3)), X, ys).estimates, estimates, atol=1e-9)


# ------------------------------------------------------------------ weights


@given(
    st.frozensets(st.integers(0, 9)) | st.builds(range, st.integers(0, 5), st.integers(0, 9)),
    st.frozensets(st.integers(0, 9)) | st.builds(range, st.integers(0, 5), st.integers(0, 9)),
)
def test_what_restarts_gained_is_carried_on(before, now):
    """Whichever are gone and whichever are new."""
    gains = {round_: float(round_ + 1) for round_ in before}
    values = np.array([gains[r] * np.array([1.0, -1.0]) for r in sorted(before)]).reshape(-1, 2).T
    found = carried(values, np.array(sorted(before), dtype=np.int64), np.array(sorted(now), dtype=np.int64))
    np.testing.assert_array_equal(found[0], [gains.get(r, 0.0) for r in sorted(now)])
    np.testing.assert_array_equal(found[1], -found[0])


@settings(max_examples=20)
@given(st.integers(0, 3), st.booleans(), st.sampled_from([0.0, -4.0]), st.integers(0, 2**32 - 1))
def test_weights_are_their_definition(experts, scaled, later, seed):
    """Against a sum over all rounds; two kinds, a restart at each round."""
    rng, T, kinds = np.random.default_rng(seed), 6, 2
    prior = rng.normal(size=experts)
    paid, paid_by = rng.random(size=(T, kinds, T)), rng.random(size=(T, experts))
    weights, own = Weights(0.7, kinds, scaled, later, prior), [1.0]
    A = np.zeros((T, T))  # what is charged of a restart before it is born
    for t in range(T):
        rate = 0.7 / np.mean(own) if scaled else 0.7
        total = np.array([[sum(paid[r, j, s] if s <= r else A[s, r] for r in range(t)) for s in range(t + 1)]
                          for j in range(kinds)])  # fmt: skip
        p = np.exp(later * (np.arange(t + 1) > 0) - rate * total)
        q = np.exp(prior - rate * paid_by[:t].sum(axis=0))
        restarts, others = weights.shares(np.arange(t + 1))
        np.testing.assert_allclose(restarts, p / (p.sum() + q.sum()), atol=1e-9)
        np.testing.assert_allclose(others, q / (p.sum() + q.sum()), atol=1e-9)
        np.testing.assert_allclose(weights.of_restarts(np.arange(t + 1)), p / p.sum(), atol=1e-9)
        own.append(rng.random())
        A[:, t] = own[-1]
        before = pickle.dumps(weights)
        after = weights.after(np.arange(t + 1), paid[t, :, : t + 1], paid_by[t], own[-1])
        assert pickle.dumps(weights) == before  # a value
        weights = after


# ------------------------------------------------------------------ experts by themselves


class Targets:
    """Labels that are vectors already."""

    def __init__(self, Phi, ends):
        self.Phi, self.ends = Phi, ends


def new_experts(labels=True, mapped=False, kinds=(0, 1)):
    inputs = Inputs(*([None] * 2 if mapped else KERNELS), parts=not labels, keep=not mapped)
    maps = [features.LinearMap(), features.LinearMap()] if mapped else [None, None]
    made = [Ridges(inputs, k, maps[k], LAMS, f"k{k}", labels, differences=k == kinds[-1]) for k in kinds]
    return inputs, [*made, PastLabels()] if labels else made


@pytest.mark.parametrize("mapped", [False, True], ids=["kernels", "features"])
@pytest.mark.parametrize("chunks", [[20], [1] * 20, [3, 1, 7, 9]], ids=["one", "in turn", "some"])
def test_experts_are_their_definition(mapped, chunks, rng):
    """Estimates in chunks and in turn; asking changes nothing; a coordinate that comes late was 0 before."""
    X, Phi = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    Phi[:7, 2] = 0.0
    inputs, experts = new_experts(mapped=mapped)
    straight = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X)
    Ks = [straight if mapped else naive.gram(lambda x, y: naive.gaussian(x, y) + 1, X, X), straight]
    assert [g for e in experts for g in e.groups] == ["k0"] * 2 + ["k1"] * 2 + ["differences"] * 2 + ["last", "mean"]
    lo = 0
    for n in chunks:
        block, _ = inputs.parse_many(X[lo : lo + n])
        labels = Targets(Phi[lo : lo + n, : 2 if lo + n <= 7 else 3], np.arange(1, n + 1))
        state = pickle.dumps(experts)
        first = Compared(inputs, block.part(0, 1))
        asked = [e.forecast(first, None, None) for e in experts]
        told = [e.forecast(Compared(inputs, block), None, labels) for e in experts]
        assert pickle.dumps(experts) == state
        for i in range(n):
            found = naive.static_experts(Ks, Phi, lo + i, lo + i + 1, LAMS)
            for ours, (_, _, g) in zip([E for one in told for E in one.estimates], found, strict=True):
                np.testing.assert_allclose(ours[i], g[0, : len(ours[i])], atol=1e-9)
            if i == 0:
                for ours, (_, _, g) in zip([E for one in asked for E in one.estimates], found, strict=True):
                    np.testing.assert_allclose(ours[0], g[0, : len(ours[0])], atol=1e-9)
        pending = [e.observe(one, labels) for e, one in zip(experts, asked)] if n == 1 else told
        inputs.append(block)
        for expert, one in zip(experts, pending):
            expert.commit(one)
        lo += n
    assert experts[-1].rounds == 20


@pytest.mark.parametrize("chunks", [[20], [1] * 20, [2, 1, 8, 9]], ids=["one", "in turn", "some"])
def test_lags_are_features_of_their_definition(chunks, rng):
    """Beside a map of rows, in chunks and in turn, many rows at once from the present state, and in a refit."""
    X, Phi = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    Phi[:7, 1] = 0.0
    straight = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X)
    inputs = Inputs(None, keep=False)
    ridges = Ridges(inputs, 0, features.LinearMap(2), [0.1], "a", True, False, lags=3)
    whole = RefitRegressions.of(ridges, X[:12], Phi[:12]).advanced().with_rows(X[:-1], Phi[:-1], whole=True)
    while whole.left:
        whole = whole.advanced()
    lo = 0
    for n in chunks:
        block, _ = inputs.parse_many(X[lo : lo + n])
        labels = Targets(Phi[lo : lo + n, : 1 if lo + n <= 7 else 2], np.arange(1, n + 1))
        state = pickle.dumps(ridges)
        first = ridges.forecast(Compared(inputs, block.part(0, 1)), None, None)
        told = ridges.forecast(Compared(inputs, block), None, labels)
        each = ridges.each(Compared(inputs, block), None)
        assert pickle.dumps(ridges) == state
        expected = [naive.static_experts([straight] * 4, Phi, t, t + 1, (0.1,)) for t in range(lo, lo + n)]
        expected = np.array([[g for name, _, g in of_round if name == "lags"] for of_round in expected])[:, :, 0]
        p = told.estimates.shape[2]
        np.testing.assert_allclose(told.estimates, expected.swapaxes(0, 1)[..., :p], atol=1e-9)
        for found in (first.estimates[:, 0], each[:, 0]):
            np.testing.assert_allclose(found, expected[0][:, : found.shape[1]], atol=1e-9)
        if lo + n == 20:
            fitted = whole.learned().each(Compared(inputs, block.part(n - 1, n)), None)
            np.testing.assert_allclose(fitted[:, 0], expected[-1], atol=1e-9)
        ridges.commit(ridges.observe(first, labels) if n == 1 else told)
        lo += n
    assert ridges.growth(100) > 0


def test_experts_of_rounds_of_parts(rng):
    """Ridge regressions, whose rows of a round are predicted together; no label is the last."""
    X, Phi, ends = rng.normal(size=(11, 2)), rng.normal(size=(11, 3)), [2, 3, 7, 11]
    inputs, (ridges,) = new_experts(labels=False, kinds=(1,))
    K = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X)
    assert ridges.names == ["ridge, k1, lam 0.1", "ridge, k1, lam 2"]
    for lo, hi in zip([0, *ends], ends):
        block, _ = inputs.parse_many([X[lo:hi]])
        pending = ridges.forecast(Compared(inputs, block), None, None)
        for ours, (_, _, g) in zip(pending.estimates, naive.static_experts([K, K], Phi, lo, hi, LAMS, parts=True)):
            np.testing.assert_allclose(ours[:, : g.shape[1] if lo else 0], g[:, : None if lo else 0], atol=1e-9)
        inputs.append(block)
        ridges.commit(ridges.observe(pending, Targets(Phi[lo:hi], [hi - lo])))


# ------------------------------------------------------------------ the ensemble


def test_names_of_experts():
    """Kernels by their names once there are four; the weights of all add up to 1."""
    X, ys = stream(6)
    learner = Ensemble(losses.ZeroOne(3))
    restarts = ["restarts, lam 0.1"]
    few = [f"ridge, kernel, lam {lam}" for lam in ("0.05", "0.5", "1", "2")]
    assert list(learner.expert_weights()) == [*restarts, *few, "the last label", "the mean"]
    given = Ensemble(losses.ZeroOne(3), kernels.Gaussian(1.0)).expert_weights()
    differences = [f"differences, kernel, lam {lam}" for lam in ("0.05", "0.5", "1", "2")]
    assert list(given) == [*restarts, *few, *differences, "the last label", "the mean"]
    learner.partial_fit(X, ys)
    lams = {"smooth": ("0.1",), "linear": ("0.05",), "rough": ("0.01", "0.5")}
    names = [f"ridge, {k}, lam {lam}" for k in lams for lam in lams[k]]
    names += [f"differences, rough, lam {lam}" for lam in lams["rough"]]
    names += ["ridge, ranks, lam 0.03", "ridge, autoregression, lam 0.1"]
    names += ["the last label", "the mean"]
    names += ["since the last change, rough, lam 0.05", "since the last change, ranks, lam 0.03"]
    assert list(learner.expert_weights()) == [*restarts, *names]
    assert sum(learner.expert_weights().values()) == pytest.approx(1)
    parts = Ensemble(losses.PerRow(losses.ZeroOne(3))).partial_fit([X], [ys])
    lams = {"linear": ("0.01", "1"), "rough": ("0.5",), "ranks": ("0.05",)}
    names = [f"ridge, {k}, lam {lam}" for k in lams for lam in lams[k]]
    assert list(parts.expert_weights()) == ["restarts, lam 0.5", *names]


def test_groups_answer_with_what_was_known():
    """An estimate below 0 for the one class there is answers it, though another appears later in the chunk."""
    X, ys = np.array([[1.0], [-1.0], [1.0], [-1.0]] * 5), [0] * 15 + [1] * 5
    K = naive.gram(naive.linear, X, X)

    def judge(t, g, known):
        return float(known == 0 or int(known > 15 and g[1] > g[0] + 1e-8) != ys[t])

    asked = {"later": -4.0, "ridges": [K], "ridge_lams": (0.05, 0.5, 1.0, 2.0)}
    G, _, _ = naive.mixture_with_experts([K], np.eye(2)[ys], list(range(1, 21)), (0.1,), judge, **asked)
    result = replay(Ensemble(losses.ZeroOne(), kernels.Linear()), X, ys)
    for t, g in enumerate(result.estimates):
        np.testing.assert_allclose(g[: 1 + (t > 15)], G[t, : 1 + (t > 15)], atol=1e-8)


@pytest.mark.parametrize("eta", [0.125, 2.0, None])
@pytest.mark.parametrize("selection", [True, False])
def test_a_rate_and_selection_do_what_they_say(eta, selection, rng):
    """Whatever else is given."""
    X, ys = rng.normal(size=(20, 2)), rng.integers(3, size=20).tolist()
    loss = losses.ZeroOne(3)
    K = naive.gram(lambda x, y: naive.gaussian(x, y) + 1, X, X)
    learner = Ensemble(loss, kernels.Gaussian() + 1.0, eta=eta, selection=selection)
    rate = {"eta": 0.5, "scaled": True} if eta is None else {"eta": eta, "scaled": False}
    judge = (lambda t, g, known: loss(loss.decode(_rounded(g)), ys[t])) if selection else None
    asked = {"later": -4.0, "ridges": [K], "ridge_lams": (0.05, 0.5, 1.0, 2.0), **rate}
    ends = list(range(1, 21))
    G, weights, shares = naive.mixture_with_experts([K], loss.embed_many(ys), ends, (0.1,), judge, **asked)
    np.testing.assert_allclose(replay(learner, X[:-1], ys[:-1]).estimates, G[:-1], atol=1e-9)
    np.testing.assert_allclose(learner.estimate(X[-1]), G[-1], atol=1e-9)
    expected = [*weights[-1].sum(axis=0), *shares[-1]]
    np.testing.assert_allclose(list(learner.expert_weights().values()), expected, atol=1e-9)
    np.testing.assert_allclose(learner.restart_weights()[1], weights[-1].sum(axis=1) / weights[-1].sum(), atol=1e-9)


LOSS = losses.ZeroOne(3)
OWN = {
    "a": lambda: OSKAAR(LOSS, kernels.Gaussian() + 1.0, lam=0.3),
    "b": lambda: SALAMI(LOSS, kernels.Linear() + 1.0, lam=1.0),
    "c": lambda: OSKAAR(LOSS, lam=0.5),
    "d": lambda: OSKAAR(LOSS, kernels.Gaussian() + 1.0, budget=5),
}


def test_experts_of_ones_own(rng):
    """The mixture is that of what they answer on their own, with the restarts; chunks are rounds."""
    X, ys = rng.normal(size=(40, 2)), rng.integers(3, size=40).tolist()
    asked = {"selection": False, "stacking": False, "eta": 0.2}
    fast, slow = (
        Ensemble(LOSS, kernels.Gaussian() + 1.0, {name: make() for name, make in OWN.items()}, **asked) for _ in "ab"
    )
    alone = {name: make() for name, make in OWN.items()}
    result = replay(fast, X, ys)
    gains, Phi = np.zeros(4), LOSS.embed_many(ys)
    for t, (x, y) in enumerate(zip(X, ys)):
        G = slow.estimate(x)
        np.testing.assert_allclose(result.estimates[t], G, atol=1e-9)
        shares = list(slow.expert_weights().values())
        E = [naive.projected(alone[name].estimate(x)[None])[0] for name in OWN]
        np.testing.assert_allclose(shares[1:], _own_shares(gains, slow), atol=1e-9)
        mean = _restarts_mean(slow, x)
        np.testing.assert_allclose(G, shares[0] * mean + np.dot(shares[1:], E), atol=1e-9)
        gains += ((Phi[t] - G) ** 2).sum() - ((Phi[t] - np.array(E)) ** 2).sum(axis=1)
        for learner in (slow, *alone.values()):
            learner.learn_one(x, y)
    assert list(slow.expert_weights())[1:] == list(OWN)
    assert sum(slow.expert_weights().values()) == pytest.approx(1)
    again = oskaar.from_bytes(slow.to_bytes())
    np.testing.assert_array_equal(again.estimate(X[0]), slow.estimate(X[0]))


def _own_shares(gains, learner):
    """Weights of experts of one's own, out of their gains and the mass of the restarts."""
    mixture = learner._mixture
    logs, _ = mixture.weights.logs(mixture.births)
    mine = np.exp(0.2 * gains - 3.0)
    return mine / (np.exp(logs).sum() + mine.sum())


def _restarts_mean(learner, x):
    pending = learner._mixture.forecast(learner._inputs.parse(x), learner.space)
    return fit_columns(pending.means[0], 3)[0]


def test_experts_are_refused_where_they_do_not_fit():
    with pytest.raises(ValueError, match="all experts must have the loss"):
        Ensemble(losses.ZeroOne(2), experts=[OSKAAR(losses.ZeroOne(3))])
    with pytest.raises(TypeError, match="learners or estimators"):
        Ensemble(losses.ZeroOne(2), experts=[1.0])
    twice = Ensemble(LOSS, experts=[OSKAAR(LOSS), OSKAAR(LOSS, lam=2.0)])
    assert list(twice.expert_weights())[1:] == ["OSKAAR 1", "OSKAAR 2"]


class LastSeen:
    """An estimator of one's own: the last phi."""

    room, operations = 7, 1

    def __init__(self):
        self.last, self.G = np.zeros((1, 3)), None

    def growth(self, rows):
        return 0

    def forecast(self, block, space):
        pending = LastSeen()
        pending.G = self.last
        return pending

    def forecast_chunk(self, block, labels):
        pending = LastSeen()
        pending.G, pending.last = np.concatenate([self.last, labels.Phi[:-1]]), labels.Phi[-1:]
        return pending

    def observe(self, pending, labels):
        pending.last = labels.Phi
        return pending

    def commit(self, pending):
        self.last = pending.last


def test_an_estimator_of_ones_own(rng):
    """It is the expert that the ensemble has too; what was given is not changed, and `reset` begins anew."""
    X, ys = rng.normal(size=(40, 2)), rng.integers(3, size=40).tolist()
    given_ = LastSeen()
    learner = Ensemble(LOSS, KERNELS[0], [given_])
    result = replay(learner, X, ys)
    assert list(learner.expert_weights())[1:] == ["LastSeen"]
    assert (given_.last == 0).all()
    np.testing.assert_array_equal(learner._mixture.experts[0].expert.last, LOSS.embed_many(ys[-1:]))
    learner.reset()
    for x, y, g in zip(X, ys, result.estimates):
        np.testing.assert_allclose(learner.estimate(x), g, atol=1e-9)
        learner.learn_one(x, y)


def test_experts_that_are_given_stay_as_they_are(rng):
    X, ys = rng.normal(size=(12, 2)), [0, 1, 2] * 4
    given_ = OSKAAR(LOSS).partial_fit(X[:5], ys[:5])
    before = pickle.dumps(given_)
    learner = Ensemble(LOSS, experts=[given_]).partial_fit(X, ys)
    assert pickle.dumps(given_) == before
    fresh = Ensemble(LOSS, experts=[OSKAAR(LOSS)]).partial_fit(X, ys)
    np.testing.assert_array_equal(learner.estimate(X[0]), fresh.estimate(X[0]))


@pytest.mark.parametrize("settings_", [{}, {"budget": 7}, {"selection": False}])
@pytest.mark.parametrize("loss", [losses.ZeroOne(), losses.PerRow(losses.ZeroOne(3))], ids=["classes", "parts"])
def test_saved_in_the_middle_it_goes_on(settings_, loss):
    """Bit for bit, with the selection and the weights."""
    X, ys = stream(26)
    if loss.parts:
        X, ys = [X[i : i + 2] for i in range(0, 26, 2)], [ys[i : i + 2] for i in range(0, 26, 2)]
    half = len(ys) // 2 + 1
    learner = Ensemble(loss, **settings_).partial_fit(X[:half], ys[:half])
    again = oskaar.from_bytes(learner.to_bytes())
    pickled = pickle.loads(pickle.dumps(learner))
    for each in (learner, again, pickled):
        each.learn_many(X[half:-3], ys[half:-3])
        each.partial_fit(X[-3:], ys[-3:])
    for other in (again, pickled):
        assert other.to_bytes() == learner.to_bytes()
        assert other.expert_weights() == learner.expert_weights()
        np.testing.assert_array_equal(other.estimate(X[0]), learner.estimate(X[0]))


@pytest.mark.parametrize("budget", [None, 7])
def test_a_round_that_fails_while_groups_are_judged_leaves_no_trace(budget, monkeypatch):
    X, ys = stream(20)
    learner, untouched = (Ensemble(losses.ZeroOne(3), budget=budget).partial_fit(X[:15], ys[:15]) for _ in range(2))
    state = pickle.dumps(learner)
    for learn in (learner.partial_fit, learner.learn_many):
        with monkeypatch.context() as patched:
            patched.setattr(Selection, "after", lambda *_: 1 / 0)
            patched.setattr(Selection, "updated", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                learn(X[15:], ys[15:])
        assert pickle.dumps(learner) == state
    for each in (learner, untouched):
        each.learn_many(X[15:], ys[15:])
    assert pickle.dumps(learner) == pickle.dumps(untouched)


@pytest.mark.parametrize("settings_", [{}, {"budget": 20}])
def test_experts_are_counted(settings_):
    """`cost` has it, the promise of growth has it, and four kernels are foreseen when the fourth row comes."""
    X, ys = stream(40)
    learner, alone = Ensemble(losses.ZeroOne(3), **settings_), SALAMI(losses.ZeroOne(3), lam=0.1, **settings_)
    for each in (learner, alone):
        each.partial_fit(X[:30], ys[:30])
    assert learner.cost().bytes > alone.cost().bytes
    assert learner._estimator.growth(200) > alone._estimator.growth(200)
    if not settings_:
        assert learner.cost().operations > alone.cost().operations
    early = Ensemble(losses.ZeroOne(3), **settings_).partial_fit(X[:3], ys[:3])
    early.max_bytes = early.cost().bytes + 100_000
    try:
        early.learn_one(X[3], ys[3])
    except MemoryError:
        assert early.rounds == 3
    assert early.cost().bytes <= early.max_bytes


@pytest.mark.parametrize("chunks", [True, False])
def test_max_bytes_holds(chunks):
    X, ys = stream(400)
    learner = Ensemble(losses.ZeroOne(3), max_bytes=6_000_000)
    learn = learner.partial_fit if chunks else learner.learn_many
    with pytest.raises(MemoryError, match="max_bytes allows"):
        learn(X, ys)
    assert 30 < learner.rounds < 400
    assert learner.cost().bytes <= 6_000_000


@pytest.mark.parametrize("bad", [1.0, None, losses.F1])
def test_a_loss_is_a_loss(bad):
    with pytest.raises(TypeError, match="loss must be a Loss"):
        Ensemble(bad)


@pytest.mark.parametrize("name", ["selection", "neighbours", "stacking"])
def test_a_part_is_there_or_not(name):
    assert getattr(Ensemble(losses.ZeroOne(2), **{name: np.False_}), name) is False
    with pytest.raises(TypeError, match=f"{name} must be True or False, got 'yes'"):
        Ensemble(losses.ZeroOne(2), **{name: "yes"})


@pytest.mark.parametrize("eta", [0.125, 0.05])
def test_the_certificate_without_selection(eta, rng):
    """The theorem bounds the mixture, at every round, not what a selection makes of it."""
    y, ys = 0, []
    for _ in range(60):
        y = y if rng.random() < 0.4 else int(rng.integers(21))
        ys.append(y)
    X = rng.normal(size=(60, 1))
    learner = Ensemble(losses.ZeroOne(21), eta=eta, selection=False, neighbours=False, stacking=False)
    for x, y in zip(X, ys):
        learner.learn_one(x, y)
        certificate = learner.certificate()
        assert certificate.surrogate_loss <= certificate.surrogate_bound
    T, weights = 60, learner._mixture.weights
    mass = 1 + (T - 1) * np.exp(-4.0) + np.exp(weights.priors).sum()
    paper = SALAMI(losses.ZeroOne(21), kernels.standardised_kernels(X[:32])[0], 0.1, eta=eta).fit(X, ys).certificate()
    gap = (np.log(mass) - np.log(T)) / eta
    behind = learner._behind
    assert certificate.surrogate_bound == pytest.approx(paper.surrogate_bound + gap + behind, rel=1e-9)
    for asked in ({"eta": eta}, {"selection": False, "neighbours": False, "eta": eta}, {"selection": False}):
        other = Ensemble(losses.ZeroOne(21), **asked)
        assert other.fit(X, ys).certificate().surrogate_bound is None


# ------------------------------------------------------------------ experts that are born at a change


class Changing(Ensemble):
    """An ensemble with kernels that are given, and regressions on the rows since the last change."""

    def _assemble(self, reading):
        inputs = Inputs(kernels.Gaussian() + 1.0)
        restarts = GeometricKernelRestarts(inputs, [0.5], None, False)
        ridges = Ridges(inputs, 0, None, [0.1], "kernel", True, True, None, True)
        since = SinceChange(inputs, features.LinearMap(), [0.1, 2.0], "linear", 10**9)
        weights = Weights(0.5, 1, True, -4.0, [-1.0] + [-3.0] * 5)
        experts = [ridges, PastLabels(), since]
        mixture = Mixture(inputs, restarts, experts, weights, True, False, ChangeDetector(self.false_alarms))
        return inputs, Corrected(mixture, Stacking(["restarts", *mixture.names]))


def changing(T, at, seed=0, columns=1):
    """Two classes on the sides of a plane; which is which changes."""
    X = np.random.default_rng(seed).normal(size=(T, columns))
    return X, [int((x.sum() > 0) != (t >= at)) for t, x in enumerate(X)]


def test_regressions_since_a_change_are_their_definition():
    """They sleep until a change is found, then learn what comes; in chunks, in turn and after a resumption."""
    X, ys = changing(156, 115, columns=4)
    loss, ends = losses.ZeroOne(2), list(range(1, 157))
    K = naive.gram(lambda x, y: naive.gaussian(x, y) + 1, X, X)
    straight = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X)
    asked = {"later": -4.0, "ridges": [K], "ridge_lams": (0.1,), "lives": naive.lives("geometric")}
    since = (0.01, [(straight, 0.1), (straight, 2.0)])
    G, _, shares = naive.mixture_with_experts([K], loss.embed_many(ys), ends, (0.5,), since=since, **asked)
    (born,) = {int(np.flatnonzero([s[k] > 0 for s in shares])[0]) for k in (-2, -1)}
    assert born == 144
    whole = Changing(loss, kernels.Linear(), false_alarms=0.01)
    np.testing.assert_allclose(replay(whole, X, ys).estimates, G, atol=1e-8)
    assert whole._mixture.experts[-1].births == 1
    learner = Changing(loss, kernels.Linear(), false_alarms=0.01)
    for t, (x, y) in enumerate(zip(X, ys)):
        np.testing.assert_allclose(learner.estimate(x), G[t], atol=1e-8)
        if t in (born - 1, born, born + 3):
            before = pickle.dumps(learner)
            learner.predict_many(X[:2])
            assert pickle.dumps(learner) == before
            np.testing.assert_allclose(learner._estimator.each(learner._inputs.parse(x), [1], learner.space)[0], G[t])
            learner = pickle.loads(before)
            np.testing.assert_allclose(
                list(learner.expert_weights().values()), np.append(1 - shares[t].sum(), shares[t]), atol=1e-8
            )
        learner.learn_one(x, y)


def test_regressions_since_a_change_go_on_when_features_take_over():
    """What they know is handed over at 256 + 32 rows and at 512 + 64; a replay and a loop agree before and after."""
    X, ys = changing(600, 130)
    made = [Ensemble(losses.ZeroOne(2), budget=128, false_alarms=0.01) for _ in range(2)]
    made[0].partial_fit(X, ys)
    for t, (x, y) in enumerate(zip(X, ys)):
        made[1].learn_one(x, y)
        since = made[1]._mixture.experts[-2:]
        if t + 1 in (280, 300, 520, 600):
            assert [e.births for e in since] == [1, 1]
            (born,) = {t + 1 - e.ridges.rows for e in since}
            assert born == 144
            assert all(e.inputs is e.ridges.inputs is made[1]._inputs for e in since)
            made[1]._check_state()
    for x in ([0.7], [-0.4]):
        np.testing.assert_allclose(made[0].estimate(x), made[1].estimate(x), atol=1e-8)
    assert list(made[0].expert_weights().values()) == pytest.approx(list(made[1].expert_weights().values()), abs=1e-8)


def test_regressions_since_a_change_are_born_anew():
    """At each change, at a multiple of 24 rounds and not at the alarm, with nothing gained; in chunks and in turn."""
    X = np.random.default_rng(0).normal(size=(340, 4))
    ys = [int((x.sum() > 0) != (120 <= t < 240)) for t, x in enumerate(X)]
    replayed = replay(Changing(losses.ZeroOne(2), kernels.Linear(), false_alarms=0.01), X, ys).estimates
    learner = Changing(losses.ZeroOne(2), kernels.Linear(), false_alarms=0.01)
    born, before = [], 0
    for t, (x, y) in enumerate(zip(X, ys)):
        np.testing.assert_allclose(learner.estimate(x), replayed[t], atol=1e-9)
        mixture = learner._mixture
        since = mixture.experts[-1]
        if since.births > before:
            born, before = [*born, t], since.births
            assert since.ridges.rows == 0
            np.testing.assert_array_equal(mixture.weights.expert_gains[-2:], 0.0)
        learner.learn_one(x, y)
    assert [change.detected for change in learner.change_points()] == [128, 247]
    assert born == [144, 264]
    assert since.ridges.rows == 340 - 264
    assert since.lives == 2

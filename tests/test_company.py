"""Company, its jury, and guests of a mixture, each on its own; learners that have them: saved, refused, limited."""

import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oskaar
from oskaar import SALAMI, features, kernels, losses, replay
from oskaar.inputs import Inputs
from oskaar.learners.company import Company, Ridges
from oskaar.learners.jury import Jury, panels_of, steady
from oskaar.learners.mixture import Mixture

KERNELS = [kernels.Gaussian() + 1.0, kernels.Linear() + 1.0]
LAMS = [0.1, 2.0]


def stream(n, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    X = 5.0 + 3.0 * rng.normal(size=(n, 2))
    return X, [int(x[0] > 5) + int(x[1] > 6) if classes == 3 else int(x[0] > 5) for x in X]


# ------------------------------------------------------------------ the jury


@settings(max_examples=30)
@given(st.integers(1, 4), st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_the_jury_is_its_formula(panels, chunks, seed):
    """In chunks as in turn; a loss of 0 for all, losses in thousands, and signed ones."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([0.0, 1.0, 1e3])
    losses_ = [scale * rng.integers(-1, 3, size=(n, panels)) for n in chunks]
    jury, history = Jury(panels), []
    for chunk in losses_:
        before = pickle.dumps(jury)
        shares, after = jury.after(chunk)
        for now, row in zip(shares, chunk):
            expected = naive.shares_of_panels(panels, [[0.0] * panels, *history])
            np.testing.assert_allclose(now, expected, atol=1e-12)
            history.append(row.tolist())
        assert pickle.dumps(jury) == before  # a value
        jury = after
        expected = naive.shares_of_panels(panels, [[0.0] * panels, *history])
        np.testing.assert_allclose(jury.shares(), expected, atol=1e-12)


def test_a_panel_speaks_once_it_is_more_than_luck():
    """The prior, and z^2 against 3: after 8 rounds won in a row it is heard more than the whole."""
    jury, heard = Jury(2), []
    for _ in range(12):
        heard.append(jury.shares()[1])
        jury = jury.after(np.array([[1.0, 0.0]]))[1]
    z = [n / np.sqrt(1 + n) for n in range(12)]
    np.testing.assert_allclose(heard, [1 / (1 + np.exp(3 - v * v)) for v in z], atol=1e-12)


@settings(max_examples=20)
@given(st.integers(1, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_panels_are_means_of_their_members(rounds, members, seed):
    """Also where a panel has hardly any weight in the whole."""
    rng = np.random.default_rng(seed)
    logs, E = 400.0 * rng.normal(size=(rounds, members)), rng.normal(size=(members, rounds, 3))
    groups = [[0], sorted({members - 1, 0})]
    said = panels_of(groups, logs, E)
    assert said.shape == (3, rounds, 3)
    for q, group in enumerate([list(range(members)), *groups]):
        for t in range(rounds):
            w = [np.exp(logs[t, k] - max(logs[t, j] for j in group)) for k in group]
            mean = sum(v * E[k, t] for v, k in zip(w, group)) / sum(w)
            np.testing.assert_allclose(said[q, t], mean, atol=1e-12)


def test_steady():
    g = np.array([1 / 3, 0.5, -0.25, 1e-17, -1e-17, 0.7])
    np.testing.assert_array_equal(steady(g), steady(g + np.array([1, -1, 1, 1, -1, 1]) * 1e-15))
    np.testing.assert_allclose(steady(g), g, atol=1e-8)
    assert not np.signbit(steady(np.array([-1e-17])))[0]
    assert steady(np.array([0.1]))[0] != steady(np.array([0.1 + 1e-7]))[0]


@pytest.mark.parametrize("ys", [[0, 1] * 30, [0, 1, 2] * 20], ids=["abab", "abcabc"])
@pytest.mark.parametrize("rows", [[[4.0]], [[0.0], [1.0]]], ids=["one row", "two rows"])
def test_ties_are_broken_alike_in_chunks_and_in_turn(ys, rows):
    """Labels that take turns on few rows are tied again and again; rounding must not decide who is heard."""
    X = np.array(rows * (60 // len(rows)))
    learner, estimates = SALAMI(losses.ZeroOne(3)), []
    for x, y in zip(X, ys):
        estimates.append(learner.estimate(x))
        learner.learn_one(x, y)
    np.testing.assert_allclose(replay(SALAMI(losses.ZeroOne(3)), X, ys).estimates, estimates, atol=1e-9)


# ------------------------------------------------------------------ guests of a mixture


@settings(max_examples=20)
@given(st.integers(0, 3), st.booleans(), st.sampled_from([0.0, -4.0]), st.integers(0, 2**32 - 1))
def test_guests_are_experts_from_the_first_round(guests, scaled, later, seed):
    """`after` and `through` against a sum over all rounds; two kinds, a restart at each round."""
    rng, T, kinds = np.random.default_rng(seed), 6, 2
    prior = rng.normal(size=guests)
    E, S, Phi = rng.normal(size=(T, kinds, T, 2)), rng.normal(size=(T, guests, 2)), rng.normal(size=(T, 2))
    paid, said = ((Phi[:, None, None] - E) ** 2).sum(axis=3), ((Phi[:, None] - S) ** 2).sum(axis=2)
    born = np.tri(T, dtype=bool)
    one = whole = Mixture(0.7, kinds, 0.0, scaled, later, prior)
    own, A = [1.0], np.zeros((T, T))  # A[s]: what is charged of a restart that is not there yet
    expected_blocks, expected_logs = [], []
    for t in range(T):
        rate = 0.7 / np.mean(own) if scaled else 0.7
        total = np.array([[sum(paid[r, j, s] if s <= r else A[s, r] for r in range(t)) for s in range(t + 1)]
                          for j in range(kinds)])  # fmt: skip
        logs = later * (np.arange(t + 1) > 0) - rate * total
        visits = prior - rate * said[:t].sum(axis=0)
        p, q = np.exp(logs), np.exp(visits)
        mass = p.sum() + q.sum()
        weights, shares = one.shares(np.arange(t + 1))
        np.testing.assert_allclose(weights, p / mass, atol=1e-9)
        np.testing.assert_allclose(shares, q / mass, atol=1e-9)
        G = (np.einsum("js,jsp->p", p, E[t, :, : t + 1]) + q @ S[t]) / mass
        expected_blocks.append(np.einsum("js,jsp->p", p, E[t, :, : t + 1]) / p.sum())
        logs = np.append(np.log(p.sum()), visits)
        expected_logs.append(logs - logs[0])
        own.append(((Phi[t] - G) ** 2).sum())
        A[:, t] = own[-1]
        one = one.after(np.arange(t + 1), paid[t, :, : t + 1], own[-1], said[t])
    last, gains, blocks, logs = whole.through(
        np.where(born, np.arange(T), -1), E, paid, lambda i, G: float(((Phi[i] - G) ** 2).sum()), S, said, [2] * T
    )
    np.testing.assert_allclose(blocks, expected_blocks, atol=1e-9)
    np.testing.assert_allclose(logs - logs[:, :1], expected_logs, atol=1e-9)
    np.testing.assert_allclose(last.shares(np.arange(T + 1))[0], one.shares(np.arange(T + 1))[0], atol=1e-9)
    np.testing.assert_allclose(last.shares(np.arange(T + 1))[1], one.shares(np.arange(T + 1))[1], atol=1e-9)
    np.testing.assert_allclose(gains[-1], last.gains, atol=1e-9)
    assert whole.paid == 1.0  # a value
    assert (whole.guest_gains == 0).all()


# ------------------------------------------------------------------ company by itself


def new_company(labels=True, mapped=False, kinds=(0, 1)):
    inputs = Inputs(*([None] * 2 if mapped else KERNELS), parts=not labels, keep=not mapped)
    maps = [features.Linear(), features.Linear()] if mapped else [None, None]
    return inputs, Company([Ridges(inputs, k, maps[k], LAMS) for k in kinds], labels)


@pytest.mark.parametrize("mapped", [False, True], ids=["kernels", "features"])
@pytest.mark.parametrize("chunks", [[20], [1] * 20, [3, 1, 7, 9]], ids=["one", "in turn", "some"])
def test_company_is_its_definition(mapped, chunks, rng):
    """Estimates in chunks and in turn; asking changes nothing; a coordinate that comes late was 0 before."""
    X, Phi = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    Phi[:7, 2] = 0.0
    inputs, company = new_company(mapped=mapped)
    straight = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X)
    Ks = [straight if mapped else naive.gram(lambda x, y: naive.gaussian(x, y) + 1, X, X), straight]
    places = [0, 0, 1, 1, "differences", "differences", "last", "mean"]
    assert [kind if kind != "ridge" else k for kind, k, _ in company.names] == places
    lo = 0
    for n in chunks:
        block, _ = inputs.parse_many(X[lo : lo + n])
        targets = Phi[lo : lo + n, : 2 if lo + n <= 7 else 3]
        ends = np.arange(1, n + 1)
        state = pickle.dumps(company)
        asked = company.forecast(block.part(0, 1), [1])
        visit = company.forecast(block, ends, targets)
        assert pickle.dumps(company) == state
        for i in range(n):
            said = naive.company(Ks, Phi, lo + i, lo + i + 1, LAMS)
            assert [name for name, _, _ in said] == places
            for ours, (_, _, g) in zip(visit.estimates, said):
                np.testing.assert_allclose(ours[i], g[0, : len(ours[i])], atol=1e-9)
            if i == 0:
                for ours, (_, _, g) in zip(asked.estimates, said):
                    np.testing.assert_allclose(ours[0], g[0, : len(ours[0])], atol=1e-9)
        if n == 1:
            company.commit(asked, targets)
        else:
            company.commit(visit, targets)
        inputs.append(block)
        lo += n
    assert company.rounds == 20


def test_company_of_rounds_of_parts(rng):
    """KAAR, with all rows of a round hedged; no label is the last."""
    X, Phi, ends = rng.normal(size=(11, 2)), rng.normal(size=(11, 3)), [2, 3, 7, 11]
    inputs, company = new_company(labels=False, kinds=(1,))
    K = naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X)
    assert company.names == [("ridge", 1, 0), ("ridge", 1, 1)]
    for lo, hi in zip([0, *ends], ends):
        block, _ = inputs.parse_many([X[lo:hi]])
        visit = company.forecast(block, [hi - lo])
        for ours, (_, _, g) in zip(visit.estimates, naive.company([K, K], Phi, lo, hi, LAMS, parts=True)):
            np.testing.assert_allclose(ours[:, : g.shape[1] if lo else 0], g[:, : None if lo else 0], atol=1e-9)
        company.commit(visit, Phi[lo:hi])
        inputs.append(block)
    assert company.rounds == 0


# ------------------------------------------------------------------ learners in company


def test_names_of_company():
    """In the order of their weights: kernels by their names once there are three."""
    X, ys = stream(6)
    learner = SALAMI(losses.ZeroOne(3))
    few = [f"ridge, kernel 0, lam {lam}" for lam in ("0.05", "0.5", "2")]
    differences = [f"differences, kernel 0, lam {lam}" for lam in ("0.05", "0.5", "2")]
    assert list(learner.company_weights()) == [*few, *differences, "the last label", "the mean"]
    learner.partial_fit(X, ys)
    names = [f"ridge, {k}, lam {lam}" for k in ("smooth", "linear", "rough") for lam in ("0.05", "0.5", "2")]
    names += [f"differences, rough, lam {lam}" for lam in ("0.05", "0.5", "2")] + ["the last label", "the mean"]
    assert list(learner.company_weights()) == names
    assert sum(learner.company_weights().values()) + learner.expert_weights().sum() == pytest.approx(1)
    assert list(SALAMI(losses.ZeroOne(3), window=5).company_weights()) == ["the last label", "the mean"]
    assert SALAMI(losses.ZeroOne(3), company=False).company_weights() == {}
    assert SALAMI(losses.ZeroOne(3), lam=0.3).company_weights() == {}
    assert SALAMI(losses.ZeroOne(3), shifted=True, company=True).company_weights() == {}
    parts = SALAMI(losses.PerRow(losses.ZeroOne(3))).partial_fit([X], [ys])
    assert list(parts.company_weights()) == names[3:9]


def test_several_kernels_of_ones_own(rng):
    """The paper's experts have all kernels and are heard with the first; differences take the last."""
    X, ys = rng.normal(size=(24, 2)), [0, 1, 1, 2] * 6
    Ks = [
        naive.gram(lambda x, y: naive.gaussian(x, y) + 1, X, X),
        naive.gram(lambda x, y: naive.linear(x, y) + 1, X, X),
    ]
    loss = losses.ZeroOne(3)
    learner = SALAMI(loss, KERNELS, (0.1, 1.0), company=True)
    judge = lambda t, g, known: loss(loss.decode(steady(g)), ys[t])  # noqa: E731
    G, weights, company = naive.company_salami(
        Ks, loss.embed_many(ys), list(range(1, 25)), (0.1, 1.0), judge, scaled=False, guests=Ks
    )
    np.testing.assert_allclose(replay(learner, X[:-1], ys[:-1]).estimates, G[:-1], atol=1e-8)
    np.testing.assert_allclose(learner.estimate(X[-1]), G[-1], atol=1e-8)
    np.testing.assert_allclose(learner.expert_weights().ravel(), weights[-1].sum(axis=0), atol=1e-8)
    np.testing.assert_allclose(list(learner.company_weights().values()), company[-1], atol=1e-8)


def test_panels_answer_with_what_was_known():
    """An estimate below 0 for the one class there is answers it, though another appears later in the chunk."""
    X, ys = np.array([[1.0], [-1.0], [1.0], [-1.0]] * 5), [0] * 15 + [1] * 5
    K = naive.gram(naive.linear, X, X)

    def judge(t, g, known):
        return float(known == 0 or int(known > 15 and g[1] > g[0] + 1e-8) != ys[t])

    G, _, _ = naive.company_salami(
        [K], np.eye(2)[ys], list(range(1, 21)), (0.05, 0.5), judge, scaled=False, guests=[K]
    )
    result = replay(SALAMI(losses.ZeroOne(), kernels.Linear(), company=True), X, ys)
    for t, g in enumerate(result.estimates):
        np.testing.assert_allclose(g[: 1 + (t > 15)], G[t, : 1 + (t > 15)], atol=1e-8)


@pytest.mark.parametrize("settings_", [{}, {"budget": 7}, {"restarts": "geometric"}, {"window": 8}])
@pytest.mark.parametrize("loss", [losses.ZeroOne(), losses.PerRow(losses.ZeroOne(3))], ids=["classes", "parts"])
def test_saved_in_the_middle_it_goes_on(settings_, loss):
    """Bit for bit, with the jury and the weights."""
    X, ys = stream(26)
    if loss.parts:
        X, ys = [X[i : i + 2] for i in range(0, 26, 2)], [ys[i : i + 2] for i in range(0, 26, 2)]
    half = len(ys) // 2 + 1
    learner = SALAMI(loss, **settings_).partial_fit(X[:half], ys[:half])
    again = oskaar.from_bytes(learner.to_bytes())
    pickled = pickle.loads(pickle.dumps(learner))
    for each in (learner, again, pickled):
        each.learn_many(X[half:-3], ys[half:-3])
        each.partial_fit(X[-3:], ys[-3:])
    for other in (again, pickled):
        assert other.to_bytes() == learner.to_bytes()
        assert other.company_weights() == learner.company_weights()
        np.testing.assert_array_equal(other.estimate(X[0]), learner.estimate(X[0]))


@pytest.mark.parametrize("budget", [None, 7])
def test_a_round_that_fails_while_panels_are_judged_leaves_no_trace(budget, monkeypatch):
    X, ys = stream(20)
    learner, untouched = (SALAMI(losses.ZeroOne(3), budget=budget).partial_fit(X[:15], ys[:15]) for _ in range(2))
    state = pickle.dumps(learner)
    for learn in (learner.partial_fit, learner.learn_many):
        with monkeypatch.context() as patched:
            patched.setattr(Jury, "after", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                learn(X[15:], ys[15:])
        assert pickle.dumps(learner) == state
    for each in (learner, untouched):
        each.learn_many(X[15:], ys[15:])
    assert pickle.dumps(learner) == pickle.dumps(untouched)


@pytest.mark.parametrize("settings_", [{}, {"restarts": None}, {"budget": 20}])
def test_company_is_counted(settings_):
    """`cost` has it, the promise of growth has it, and three kernels are foreseen when the fourth row comes."""
    X, ys = stream(40)
    learner, alone = SALAMI(losses.ZeroOne(3), **settings_), SALAMI(losses.ZeroOne(3), lam=(0.05, 0.5), **settings_)
    for each in (learner, alone):
        each.partial_fit(X[:30], ys[:30])
    assert learner.cost().bytes > alone.cost().bytes
    assert learner._growth(200) > alone._growth(200)
    assert learner._operations() > alone._operations()
    early = SALAMI(losses.ZeroOne(3), **settings_).partial_fit(X[:3], ys[:3])
    early.max_bytes = early.cost().bytes + 100_000
    try:
        early.learn_one(X[3], ys[3])
    except MemoryError:
        assert early.rounds == 3
    assert early.cost().bytes <= early.max_bytes


@pytest.mark.parametrize("chunks", [True, False])
def test_max_bytes_holds(chunks):
    X, ys = stream(400)
    learner = SALAMI(losses.ZeroOne(3), max_bytes=6_000_000)
    learn = learner.partial_fit if chunks else learner.learn_many
    with pytest.raises(MemoryError, match="max_bytes allows"):
        learn(X, ys)
    assert 30 < learner.rounds < 400
    assert learner.cost().bytes <= 6_000_000


@pytest.mark.parametrize("bad", [1.0, None, losses.F1])
def test_a_loss_is_a_loss(bad):
    with pytest.raises(TypeError, match="loss must be a Loss"):
        SALAMI(bad)


def test_the_theorem_does_not_know_the_jury(rng):
    """With a rate that the theorem allows it bounds the mixture, not what the jury makes of it."""
    y, ys = 0, []
    for _ in range(60):
        y = y if rng.random() < 0.4 else int(rng.integers(21))
        ys.append(y)
    X = np.zeros((60, 1))
    made = {
        c: SALAMI(losses.ZeroOne(21), kernels.Constant(), lam=1.0, eta="theory", company=c) for c in (True, False)
    }
    bounds = {c: learner.fit(X, ys).certificate().surrogate_bound for c, learner in made.items()}
    assert bounds[True] is None
    assert made[False].surrogate_loss <= bounds[False]

"""The ensemble for ever: kernels, then features; what is learned again a few rows at a time; dictionaries renewed."""

import naive
import numpy as np
import pytest
from scipy.sparse import csr_array
from strategies import few

import oskaar
from oskaar import OSKAAR, SALAMI, Ensemble, kernels, losses, replay
from oskaar.arrays import uniforms
from oskaar.features import Nystrom
from oskaar.inputs import as_rounds
from oskaar.learners.selection import SelectedMixture
from oskaar.solvers.kaar_features import FeatureSolver

LOSS = losses.ZeroOne(3)


@pytest.fixture(autouse=True, scope="module")
def few_restarts():
    """Restarts on the last 20 rows: what holds of them holds of 256."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("oskaar.learners.ensemble.WINDOW", 20)
        yield


def stream(n, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, [int(x[0] > 0) + int(x[1] > 0.5) for x in X]


def steady(g):
    return np.round(np.asarray(g) * 2**25 * np.pi) / (2**25 * np.pi)


def judge(ys):
    return lambda t, g, known: LOSS(LOSS.decode_many(steady(g)[None])[0], ys[t])


def in_turn(learner, xs, ys):
    found = []
    for x, y in zip(as_rounds(xs), ys):
        found.append(learner.estimate(x))
        learner.learn_one(x, y)
    return found


MODES = {
    "numbers": (None, np.asarray, {}),
    "a kernel": (kernels.Gaussian(2.0) + 1.0, np.asarray, {"kernel": lambda x, y: naive.gaussian(x, y, 2.0) + 1}),
    "sparse": (None, csr_array, {"kernel": lambda x, y: naive.cosine(x, y) + 1, "columns": True, "cosine": True}),
    "objects": (kernels.Pairwise(naive.linear), lambda X: [tuple(x) for x in X], {"kernel": naive.linear}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("n", "budget", "exact"), [(40, 3, 8), pytest.param(70, 8, 16, marks=pytest.mark.slow)])
def test_the_ensemble_on_features_is_the_definition(mode, n, budget, exact, monkeypatch):
    """Kernels up to `exact` rows, then features, which are taken anew at 2 and 4 times as many."""
    monkeypatch.setattr("oskaar.learners.refit.TAKEN", 4)
    X, ys = stream(n)
    kernel, rows, settings = MODES[mode]
    settings = {"exact": exact, "budget": budget, "draws": uniforms(0, 0, n), "window": 20, "piece": 4, **settings}
    G, _, _ = naive.ensemble(X, LOSS.embed_many(ys), list(range(1, n + 1)), judge(ys), **settings)
    make = lambda: Ensemble(LOSS, kernel, budget=budget)  # noqa: E731
    np.testing.assert_allclose(in_turn(make(), rows(X), ys), G, atol=1e-8)
    np.testing.assert_allclose(replay(make(), rows(X), ys).estimates, G, atol=1e-8)


@pytest.mark.parametrize("chunks", [[44], [1] * 44, [9, *[1] * 2, 33]], ids=["whole", "in turn", "both"])
def test_units_of_many_rows_are_the_definition(chunks, monkeypatch):
    """On kernels, made of all rows at once at 8, 16 and 32, a factor at a time; the accounts go on."""
    monkeypatch.setattr("oskaar.learners.ensemble.FITTED", 8)
    monkeypatch.setattr("oskaar.learners.relearning.AT_ONCE", 4)
    X, ys = stream(44)
    settings = {"exact": 64, "at_once": 4, "fitted": 8, "draws": uniforms(0, 0, 44)}
    G, _, _ = naive.ensemble(X, LOSS.embed_many(ys), list(range(1, 45)), judge(ys), **settings)
    learner, lo = Ensemble(LOSS), 0
    for n in chunks:
        found = replay(learner, X[lo : lo + n], ys[lo : lo + n]).estimates
        np.testing.assert_allclose(found, G[lo : lo + n], atol=1e-8)
        lo += n
    assert isinstance(learner._estimator, SelectedMixture)


@pytest.mark.parametrize("exact", [64, 16], ids=["on kernels", "on features"])
def test_hopeless_experts_sleep_until_others_are_made(exact, monkeypatch):
    """From 8 or 16 rows on; those on all features for good do not."""
    monkeypatch.setattr("oskaar.learners.ensemble.FITTED", 8)
    monkeypatch.setattr("oskaar.learners.relearning.AT_ONCE", 4)
    monkeypatch.setattr("oskaar.learners.refit.TAKEN", 4)
    monkeypatch.setattr("oskaar.learners.mixture.HOPELESS", 0.5)
    X, ys = stream(80 if exact == 16 else 44)
    settings = {"exact": exact, "at_once": 4, "fitted": 8, "hopeless": 0.5, "piece": 4, "window": 20}
    settings |= {"draws": uniforms(0, 0, len(X)), "budget": exact // 2}
    G, _, _ = naive.ensemble(X, LOSS.embed_many(ys), list(range(1, len(X) + 1)), judge(ys), **settings)
    learner, asleep = Ensemble(LOSS, budget=exact // 2), set()
    for t, (x, y) in enumerate(zip(X, ys)):
        np.testing.assert_allclose(learner.estimate(x), G[t], atol=1e-8)
        each = learner._estimator.forecast_each(learner._inputs.parse(x), learner.space).G
        np.testing.assert_allclose(learner._public(each), G[t], atol=1e-8)
        learner.learn_one(x, y)
        asleep |= {
            learner._mixture.names[i] for i in learner._mixture.asleep if "since" not in learner._mixture.names[i]
        }
        if t % 9 == 0:
            learner = oskaar.from_bytes(learner.to_bytes())
    assert asleep == {"ridge, autoregression, lam 0.1"}
    assert exact == 64 or all("since" in learner._mixture.names[i] for i in learner._mixture.asleep)
    np.testing.assert_allclose(replay(Ensemble(LOSS, budget=exact // 2), X, ys).estimates, G, atol=1e-8)


def test_a_certified_mixture_learns_all_rows_again(monkeypatch):
    """Its weights are what they would have been, as the bound on the surrogate loss asks."""
    monkeypatch.setattr("oskaar.learners.ensemble.FITTED", 4)
    X, ys = stream(30)
    learner = Ensemble(LOSS, selection=False, neighbours=False, stacking=False, eta=1 / 8)
    for x, y in zip(X, ys):
        learner.learn_one(x, y)
        underway = learner._relearning.underway
        assert underway is None or underway.refit is None
        certificate = learner.certificate()
        assert certificate.surrogate_loss <= certificate.surrogate_bound


def sets(n):
    """Sets of labels, of few sizes at first: coordinates come late. Some rows are far out."""
    X, _ = stream(n)
    X[5::6] *= 4
    return X, [frozenset(j for j in range(3) if x[j] > 0.3 or j < t // 9 - x[j]) for t, x in enumerate(X)]


def restarts_of(learner):
    return learner._mixture.restarts.solvers


@pytest.mark.parametrize("mode", ["linear", "sparse"])
@pytest.mark.parametrize("many", [0, 8], ids=["a basis", "no basis"])
def test_restarts_have_fewer_rows_where_labels_have_many_coordinates(mode, many, monkeypatch):
    """Rows times coordinates are bounded, on kernels and on features: in turn, in a replay, and resumed.

    A replay is in coordinates of a basis, or of the labels.
    """
    monkeypatch.setattr("oskaar.learners.restarts.MANY", many)
    monkeypatch.setattr("oskaar.learners.refit.TAKEN", 4)
    monkeypatch.setattr("oskaar.learners.ensemble.NUMBERS", 40)
    monkeypatch.setattr("oskaar.solvers.all_restarts.LEAST_ROWS", 3)
    n, loss, budget, exact = 38, losses.F1(3), 8, 16
    linear = kernels.Linear(), np.asarray, {"kernel": naive.linear}
    (X, ys), (kernel, rows, settings) = sets(n), MODES.get(mode, linear)
    spaces = [loss.space()]
    for y in ys:
        spaces.append(spaces[-1].extended(y))
    most = naive.rows_by_coordinates(40, [space.p for space in spaces], 3)
    assert len({most(t) for t in range(n)}) > 3
    assert most(exact) < exact
    settings = {"exact": exact, "budget": budget, "draws": uniforms(0, 0, n), "piece": 4, **settings}
    settings |= {"early": most, "window": lambda t: min(20, most(t))}
    judged = lambda t, g, known: loss(loss.decode(steady(g)), ys[t])  # noqa: E731
    G, _, _ = naive.ensemble(X, loss.embed_many(ys), list(range(1, n + 1)), judged, **settings)
    whole, loop = (Ensemble(loss, kernel, budget=budget) for _ in range(2))
    np.testing.assert_allclose(replay(whole, rows(X), ys).estimates, G, atol=1e-8)
    for t, (x, y) in enumerate(zip(as_rounds(rows(X)), ys)):
        np.testing.assert_allclose(loop.estimate(x), G[t], atol=1e-8)
        before = loop.to_bytes() if t % 8 == 0 else b""
        with pytest.raises(ValueError, match="label"):
            loop.learn_one(x, {7})
        assert not before or loop.to_bytes() == before
        loop.learn_one(x, y)
        assert {solver.rows for solver in restarts_of(loop)} == {min(t + 1, most(t + 1), 20 if t >= 17 else n)}
        if t in (3, 12, 16, 17, 30):
            loop = oskaar.from_bytes(loop.to_bytes())
    assert [s.rows for s in restarts_of(whole)] == [s.rows for s in restarts_of(loop)]
    np.testing.assert_allclose(loop.estimate(rows(X)[0]), whole.estimate(rows(X)[0]), atol=1e-10)


def test_estimates_in_a_basis_do_not_depend_on_later_labels(monkeypatch):
    """To the last bit, in one chunk; labels to come have other coordinates."""
    monkeypatch.setattr("oskaar.learners.restarts.MANY", 0)
    X, ys = sets(40)
    learner = Ensemble(losses.F1(6), kernels.Gaussian(2.0) + 1.0).partial_fit(X[:20], ys[:20])
    one, other = oskaar.from_bytes(learner.to_bytes()), oskaar.from_bytes(learner.to_bytes())
    G = replay(one, X[20:], ys[20:]).estimates
    H = replay(other, X[20:], [*ys[20:30], *({3}, {1, 3, 4, 5}, {4, 5}) * 3, {0, 1, 3, 4, 5}]).estimates
    for g, h in zip(G[:11], H[:11]):
        np.testing.assert_array_equal(g, h)
    assert np.abs(G[-1] - H[-1]).max() > 0.01


def test_no_surrogate_bound_without_the_first_restart(monkeypatch):
    """The theorem is about KAAR on all rows."""
    monkeypatch.setattr("oskaar.learners.ensemble.NUMBERS", 80)
    X, ys = sets(30)
    settings = {"selection": False, "neighbours": False, "stacking": False, "eta": 0.125}
    learner = Ensemble(losses.F1(3), kernels.Gaussian(2.0) + 1.0, **settings)
    for x, y in zip(X, ys):
        learner.learn_one(x, y)
        dropped = restarts_of(learner)[0].rows < learner.rounds
        assert (learner.certificate().surrogate_bound is None) == dropped
    assert dropped


PARTS_MODES = {
    "four kernels": (None, np.asarray, {}),
    "one kernel": MODES["a kernel"],
    "few columns": (None, csr_array, {"kernel": MODES["sparse"][2]["kernel"], "columns": True, "sparse": True}),
    "many columns": (None, csr_array, {"kernel": MODES["sparse"][2]["kernel"], "sparse": True}),
}


@pytest.mark.parametrize("mode", PARTS_MODES)
@pytest.mark.parametrize(("n", "budget", "exact"), [(18, 4, 16), pytest.param(40, 8, 32, marks=pytest.mark.slow)])
def test_rounds_of_parts_are_the_definition(rng, monkeypatch, mode, n, budget, exact):
    """Kernels up to `exact` rows, then features; restarts on features, and where rows are sparse columns too."""
    kernel, rows, settings = PARTS_MODES[mode]
    if mode == "many columns":
        monkeypatch.setattr("oskaar.learners.ensemble.MOST_COLUMNS", 1)
    sizes = rng.integers(1, 6, size=n)
    xs, loss = [rng.normal(size=(m, 2)) for m in sizes], losses.PerRow(LOSS)
    ys = [[int(x[0] > 0) for x in X] for X in xs]
    ends, draws = np.cumsum(sizes).tolist(), uniforms(0, 0, int(sizes.sum()))
    Phi = np.vstack([loss.embed(y) for y in ys])
    settings = {"parts": True, "exact": exact, "budget": budget, "draws": draws, **settings}
    G, _, _ = naive.ensemble(np.vstack(xs), Phi, ends, **settings)
    make, xs = (lambda: Ensemble(loss, kernel, budget=budget)), [rows(x) for x in xs]
    np.testing.assert_allclose(np.vstack(in_turn(make(), xs, ys)), G, atol=1e-8)
    np.testing.assert_allclose(np.vstack(replay(make(), xs, ys).estimates), G, atol=1e-8)


@pytest.fixture(scope="module")
def defined():
    X, ys = stream(46)
    settings = {"exact": 32, "budget": 16, "draws": uniforms(0, 0, len(X)), "at_once": 4, "window": 20}
    return X, ys, naive.ensemble(X, LOSS.embed_many(ys), list(range(1, len(X) + 1)), judge(ys), **settings)[0]


@pytest.fixture
def slowly(defined, monkeypatch):
    """16 inputs: units of 32 rows are in force, on features, from 40 on, where only 4 rows are learned at once."""
    monkeypatch.setattr("oskaar.learners.relearning.AT_ONCE", 4)
    monkeypatch.setattr("oskaar.learners.relearning.SHARE", 20)
    return defined


@pytest.mark.parametrize("chunks", [[46], [1] * 46, [33, *[1] * 2, 11], [35, *[1] * 11]])
def test_what_is_under_way_changes_no_estimate(slowly, chunks):
    """At any pace: in one stream, in turn, or both."""
    X, ys, G = slowly
    learner, lo = Ensemble(LOSS, budget=16), 0
    for n in chunks:
        if n == 1:
            np.testing.assert_allclose(learner.estimate(X[lo]), G[lo], atol=1e-8)
            learner.learn_one(X[lo], ys[lo])
        else:
            found = replay(learner, X[lo : lo + n], ys[lo : lo + n]).estimates
            np.testing.assert_allclose(found, G[lo : lo + n], atol=1e-8)
        lo += n


def test_units_stay_until_features_take_over(slowly, monkeypatch):
    """Units of 8 rows are in force until those of 32 are, with features."""
    monkeypatch.setattr("oskaar.learners.ensemble.UNITS", 8)
    (X, ys, _), n = slowly, 46
    settings = {"exact": 32, "units": 8, "budget": 16, "draws": uniforms(0, 0, n), "at_once": 4, "window": 20}
    G, _, _ = naive.ensemble(X, LOSS.embed_many(ys), list(range(1, n + 1)), judge(ys), **settings)
    np.testing.assert_allclose(in_turn(Ensemble(LOSS, budget=16), X, ys), G, atol=1e-8)
    np.testing.assert_allclose(replay(Ensemble(LOSS, budget=16), X, ys).estimates, G, atol=1e-8)


def test_a_refit_in_small_panels_is_the_definition(slowly, monkeypatch):
    """A run that is saved in the middle of sums and factors goes on with them."""
    monkeypatch.setattr("oskaar.solvers.panel_sums.WIDTH", 5)
    monkeypatch.setattr("oskaar.learners.relearning.SHARE", 5)
    X, ys, _ = slowly
    X, ys = np.concatenate([X, X + 0.1]), ys * 2
    whole, learner, panels = replay(Ensemble(LOSS, budget=32), X, ys).estimates, Ensemble(LOSS, budget=32), set()
    for t, (x, y) in enumerate(zip(X, ys)):
        np.testing.assert_allclose(learner.estimate(x), whole[t], atol=1e-9)
        learner.learn_one(x, y)
        learner = oskaar.from_bytes(learner.to_bytes()) if t > 60 else learner
        underway = learner._relearning and learner._relearning.underway
        for part in underway.refit.parts if underway and underway.refit else ():
            panels |= {len(part.sums.panels), part.factor and part.factor.done} if hasattr(part, "sums") else set()
    assert 7 in panels  # of 32 features
    assert panels & {5, 10, 15, 20, 25, 30}  # columns of a factor, not all


def test_rows_are_learned_again_some_at_each_round(slowly):
    """About as many as there are over the rounds that there are."""
    X, ys, _ = slowly
    learner, learned = Ensemble(LOSS), []
    learner.partial_fit(X[:32], ys[:32])
    for x, y in zip(X[32:40], ys[32:40]):
        learned.append(learner._relearning.underway.learned)
        learner.learn_one(x, y)
    assert learned == [0, 0, 11, 11, 22, 22, 24, 32]  # a chunk ends at 24: regressions since a change are born there
    assert learner._relearning.underway is None


def test_a_refit_is_done_some_at_each_round(slowly):
    """Dictionaries and sums until it is closed with the rows that came meanwhile; then factors, and the last rows."""
    X, ys, _ = slowly
    X, ys = np.concatenate([X] * 2), ys * 2
    learner, done = Ensemble(LOSS, budget=32), []
    learner.partial_fit(X[:64], ys[:64])
    for x, y in zip(X[64:80], ys[64:80]):
        underway = learner._relearning.underway
        done.append((underway.learned, underway.refit.whole, underway.refit.left))
        learner.learn_one(x, y)
    dictionary, linear, factors = 2 * 3 + 4, 4, 1 + 2 + 1 + 1 + 1  # of smooth, rough, ranks; linear, its lags
    first = 3 * dictionary + 2 * linear
    then = 8 + 3 * 6 + 5 * 4 + factors  # of the restarts, and sums of new rows
    assert [left for _, _, left in done] == [first, 32, 28, 24, 22, 18, 14, 12, 8, 4, 0, 0, then, 26, 0, 0]
    assert [(learned, whole) for learned, whole, _ in done[11:]] == [
        (0, False),
        *[(0, True)] * 2,
        (76, True),
        (79, True),
    ]
    assert learner._relearning.underway is None
    assert learner._mixture.restarts.window == 20


def test_what_matters_is_told_a_pass_at_a_time():
    """By the first 128 rows and their labels, two rows apart; any pace, and a file in between, change nothing."""
    X, ys = stream(160)
    learner = Ensemble(LOSS).partial_fit(X[:128], ys[:128])
    _, seen = kernels.defaults._standardised(X[:128], None)
    passes, resumed = [], None
    for t in range(128, 135):
        prepared = learner._relearning.prepared
        passes.append(None if prepared is None else prepared.passes)
        if t == 131:
            weights = kernels.relevance(seen, LOSS.embed_many(ys[:128]), passes=2)
            np.testing.assert_allclose(prepared.weights, weights, atol=1e-12)
            resumed = oskaar.from_bytes(learner.to_bytes())
        learner.learn_one(X[t], ys[t])
    assert passes == [0, 0, 1, 2, 3, 3, None]
    for each in (learner.partial_fit(X[135:], ys[135:]), resumed.partial_fit(X[131:], ys[131:])):
        whole = Ensemble(LOSS).partial_fit(X, ys)
        np.testing.assert_allclose(each.estimate(X[0]), whole.estimate(X[0]), atol=1e-10)
    rough = learner._inputs.kernels[2].left.kernel.left.kernel
    np.testing.assert_allclose(rough.weights, kernels.relevance(seen, LOSS.embed_many(ys[:128])), atol=1e-12)


@pytest.mark.parametrize("fitted", [128, 8], ids=["learned again", "refitted"])
@pytest.mark.parametrize("stop", few([31, 32, 34, 36, 38, 39, 40], 3))
def test_a_run_is_resumed_while_something_is_under_way(slowly, stop, fitted, monkeypatch):
    monkeypatch.setattr("oskaar.learners.ensemble.FITTED", fitted)
    X, ys, _ = slowly
    learner = Ensemble(LOSS, budget=16)
    learner.learn_many(X[:stop], ys[:stop])
    resumed = oskaar.from_bytes(learner.to_bytes())
    for each in (learner, resumed):
        each.learn_many(X[stop:], ys[stop:])
    for x in X[:3]:
        np.testing.assert_array_equal(learner.estimate(x), resumed.estimate(x))
    assert learner.expert_weights() == resumed.expert_weights()
    assert learner.certificate() == resumed.certificate()


@pytest.mark.parametrize("learn", ["learn_many", "partial_fit"])
@pytest.mark.parametrize("stop", few([39, 32, 35], 3))
def test_an_error_while_something_is_under_way_leaves_no_trace(slowly, learn, stop, monkeypatch):
    X, ys, _ = slowly
    learner = Ensemble(LOSS, budget=16)
    learner.learn_many(X[:stop], ys[:stop])
    state = learner.to_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("oskaar.learners.relearning._after", lambda *_: 1 / 0)
        patched.setattr("oskaar.learners.refit.RefitRestarts.learned", lambda *_: 1 / 0)
        patched.setattr("oskaar.learners.refit.RefitRegressions.advanced", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            getattr(learner, learn)(X[stop : stop + 1], ys[stop : stop + 1])
    assert learner.to_bytes() == state
    learner.learn_many(X[stop:], ys[stop:])
    assert learner.rounds == len(X)


@pytest.mark.parametrize("make", [OSKAAR, SALAMI])
def test_units_under_way_are_the_definition(make):
    """Units of 128 rows are in force from 192 on, at any pace."""
    X, ys = stream(213)
    Phi = LOSS.embed_many(ys)
    learner = make(LOSS)
    before = in_turn(learner, X, ys)
    np.testing.assert_allclose(replay(make(LOSS), X, ys).estimates, before, atol=1e-9)
    smooth = kernels.standardised_kernels(X[:128])[0]
    whole = replay(make(LOSS, smooth), X, ys).estimates
    np.testing.assert_allclose(before[192:], whole[192:], atol=1e-9)
    assert np.abs(before[191] - whole[191]).max() > 1e-6
    assert np.isclose(learner.surrogate_loss, ((Phi - np.array(before)) ** 2).sum())
    if make is OSKAAR:
        certificate = learner.certificate()
        assert certificate.surrogate_loss <= certificate.surrogate_bound


@pytest.mark.parametrize("rows", [np.asarray, csr_array], ids=["numbers", "sparse"])
def test_memory_does_not_grow(rows):
    X, ys = stream(500)
    learner = Ensemble(LOSS, budget=8)
    learner.partial_fit(rows(X[:300]), ys[:300])
    held = learner.cost()
    learner.partial_fit(rows(X[300:]), ys[300:])
    assert learner.cost().bytes <= 1.1 * held.bytes
    assert learner.cost().operations <= 1.1 * held.operations
    assert learner.certificate().surrogate_bound is None


def test_after_a_renewal_inputs_are_recent():
    """The first half of the dictionary stays; the other half comes from rows after the renewal."""
    X, ys = stream(148)
    learner = Ensemble(LOSS, budget=8).partial_fit(X[:128], ys[:128])
    smooth, rough, ranks = (learner._mixture.experts[i].features for i in (0, 2, 3))
    assert [map.size for map in (smooth, rough, ranks)] == [4, 8, 8]  # one after the other
    learner.partial_fit(X[128:130], ys[128:130])
    old = learner._mixture.experts[2].features.atoms
    assert len(old) == 4
    learner.partial_fit(X[130:], ys[130:])
    rough = learner._mixture.experts[2].features
    np.testing.assert_array_equal(rough.atoms[:4], old)
    assert rough.full
    assert all((x == X[130:]).all(axis=1).any() for x in rough.atoms[4:])


def test_truncated_features_are_the_first(rng):
    """A dictionary cut to its first atoms is one that has those alone; a solver, one that has their features."""
    X, Phi = rng.normal(size=(60, 2)), rng.normal(size=(60, 3))
    kernel = kernels.Gaussian() + 1.0
    Z, full = Nystrom(kernel, 8, ridge=0.1).seen(X)
    cut = full.truncated(5, 60)
    np.testing.assert_allclose(cut(X), full(X)[:, :5], atol=1e-12)
    few = Nystrom(kernel, 5, ridge=0.1).seen(X)[1]
    np.testing.assert_array_equal(few.atoms, cut.atoms)
    solver, other = FeatureSolver(0.1), FeatureSolver(0.1)
    for z, phi in zip(Z, Phi):
        solver.update(solver.forecast(z[None]), phi[None])
        other.update(other.forecast(z[None, :5]), phi[None])
    z, truncated = rng.normal(size=(1, 5)), solver.truncated(5)
    np.testing.assert_allclose(truncated.forecast(z).G, other.forecast(z).G, atol=1e-10)
    assert truncated.rounds == other.rounds

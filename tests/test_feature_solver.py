"""KAAR in feature space: equal to KAAR with the kernel <z, z'>, for ever, in constant memory."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few, lams

from oskaar import OSKAAR, SALAMI, checks, features, from_bytes, kernels, losses, replay
from oskaar.arrays import fit_columns, spans
from oskaar.learners import restarts as experts
from oskaar.solvers.geometric_restarts import RECENT, outlives
from oskaar.solvers.kaar_features import BUFFER, COLUMNS, LATER, MANY, FeatureSolver
from oskaar.solvers.qr_update import BLOCK, QRUpdate
from oskaar.threads import one_thread


@st.composite
def wide_blocks(draw):
    """Rounds of features: a few rows, or many more than there are features; columns that come later."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    D = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.sampled_from([1, 1, 2, 3, 40, BUFFER, 2 * MANY + 30]), min_size=1, max_size=5))
    late = draw(st.integers(0, 3))
    widths = [D if i >= late else max(1, D - 1) for i in range(len(sizes))]
    return [rng.normal(size=(n, w)) for n, w in zip(sizes, widths)]


def padded(blocks):
    D = max(Z.shape[1] for Z in blocks)
    return [np.pad(Z, [(0, 0), (0, D - Z.shape[1])]) for Z in blocks]


@settings(max_examples=25)
@given(wide_blocks(), lams(), st.booleans(), st.integers(0, 2**32 - 1))
def test_estimates_are_those_of_the_kernel(blocks, lam, shifted, seed):
    rng = np.random.default_rng(seed)
    Phi = [rng.normal(size=(len(Z), 2)) for Z in blocks]
    twin = naive.shifted_oskaar if shifted else naive.oskaar
    expected = twin(naive.linear, padded(blocks), Phi, lam)
    solver = FeatureSolver(lam, shifted)
    for Z, phi, G in zip(blocks, Phi, expected):
        forecast = solver.forecast(Z)
        if forecast.G.size:
            np.testing.assert_allclose(forecast.G, G, atol=1e-8)
        else:
            np.testing.assert_allclose(G, 0, atol=1e-12)
        solver.update(forecast, phi)


@settings(max_examples=8)
@given(wide_blocks(), lams(), st.booleans(), st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_chunks_and_averages(blocks, lam, shifted, seed, size):
    rng = np.random.default_rng(seed)
    blocks = padded(blocks)
    Phi = [rng.normal(size=(len(Z), 2)) for Z in blocks]
    one, many = FeatureSolver(lam, shifted), FeatureSolver(lam, shifted)
    for Z, phi in zip(blocks, Phi):
        one.update(one.forecast(Z), phi)
    for start in range(0, len(blocks), size):
        Z, phi = blocks[start : start + size], Phi[start : start + size]
        ends = np.cumsum([len(z) for z in Z])
        many.append(many.forecast_chunk(np.concatenate(Z), np.concatenate(phi), ends))
    x = rng.normal(size=(3, blocks[0].shape[1]))
    np.testing.assert_allclose(many.forecast(x).G, one.forecast(x).G, atol=1e-9)
    twin = naive.shifted_average if shifted else naive.average
    expected = twin(naive.linear, blocks, Phi, lam, x)
    np.testing.assert_allclose(one.average(x), expected, atol=1e-8)
    np.testing.assert_allclose(many.average(x), expected, atol=1e-8)
    K = naive.gram(naive.linear, np.concatenate(blocks), np.concatenate(blocks))
    scale = 4 * lam if shifted else lam
    assert one.effective_dimension() == pytest.approx(naive.effective_dimension(K, scale), abs=1e-6)
    expected = np.linalg.slogdet(np.eye(len(K)) + K / scale)[1]
    assert one.log_determinant() == pytest.approx(expected, abs=1e-6)


@st.composite
def short_rounds(draw):
    """Rounds of few rows, over several foldings in small steps; now and then one brings a feature or a coordinate."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    most, D, p = draw(st.sampled_from([1, 1, 3, 7])), draw(st.sampled_from([1, 5, 40])), 1
    Z, Phi = [], []
    for _ in range(draw(st.integers(2, 110 // most))):
        D, p = D + int(rng.random() < 0.1), min(p + int(rng.random() < 0.1), 4)
        n = int(rng.integers(1, most + 1))
        Z.append(rng.normal(size=(n, D)))
        Phi.append(rng.normal(size=(n, p)))
    return Z, Phi


@settings(max_examples=12)
@given(short_rounds(), lams(), st.booleans(), st.integers(0, 2**32 - 1))
def test_folding_in_small_steps(stream, lam, shifted, seed):
    """Features and coordinates that come while rows are being folded in; estimates, average, determinant."""
    blocks, Phi = padded(stream[0]), padded(stream[1])
    twin = naive.shifted_oskaar if shifted else naive.oskaar
    solver = FeatureSolver(lam, shifted)
    for Z, phi, G in zip(*stream, twin(naive.linear, blocks, Phi, lam)):
        forecast = solver.forecast(Z)
        np.testing.assert_allclose(fit_columns(forecast.G, G.shape[1]), G, atol=1e-8)
        solver.update(forecast, phi)
    x = np.random.default_rng(seed).normal(size=(3, blocks[0].shape[1]))
    twin = naive.shifted_average if shifted else naive.average
    np.testing.assert_allclose(solver.average(x), twin(naive.linear, blocks, Phi, lam, x), atol=1e-8)
    K = naive.gram(naive.linear, np.concatenate(blocks), np.concatenate(blocks))
    scale = 4 * lam if shifted else lam
    expected = np.linalg.slogdet(np.eye(len(K)) + K / scale)[1]
    assert solver.log_determinant() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shifted", [False, True])
def test_chunks_at_any_moment_of_folding(rng, shifted):
    """Chunks of any size among single rounds; targets known, rounds of parts."""
    D, p = 70, 3
    one, many = FeatureSolver(0.5, shifted), FeatureSolver(0.5, shifted)
    for size in (1, 17, 3, 1, 30, 1, 1, 5, 60, 20, 1, 2, 200, 1, 16, 12):
        sizes = rng.integers(1, 3, size=size)
        Z, Phi = rng.normal(size=(sizes.sum(), D)), rng.normal(size=(sizes.sum(), p))
        chunk = many.forecast_chunk(Z, Phi, np.cumsum(sizes))
        for lo, hi in spans(np.cumsum(sizes)):
            forecast = one.forecast(Z[lo:hi])
            np.testing.assert_allclose(fit_columns(chunk.G[lo:hi], p), fit_columns(forecast.G, p), atol=1e-10)
            one.update(forecast, Phi[lo:hi])
        many.append(chunk)
    x = rng.normal(size=(4, D))
    for mine, other in zip(many.forecast_each(x), one.forecast_each(x), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-10)
    np.testing.assert_allclose(many.average(x), one.average(x), atol=1e-10)


def test_no_round_does_much_more_than_others(rng, monkeypatch):
    """A row folds COLUMNS columns of R, or a part BUFFER of them, and whitens at most BUFFER + 1 rows."""
    columns, rows = [], []
    advance, whitened = QRUpdate.advance, QRUpdate.whitened

    def counted(self, R, n):
        before = self.done
        advance(self, R, n)
        columns.append(self.done - before)

    monkeypatch.setattr(QRUpdate, "advance", counted)
    monkeypatch.setattr(QRUpdate, "whitened", lambda self, U: rows.append(len(U)) or whitened(self, U))
    for D in (64, 600):
        solver = FeatureSolver(1.0)
        for _ in range(100):
            before = len(columns) + len(rows)
            solver.update(solver.forecast(rng.normal(size=(1, D))), rng.normal(size=(1, 2)))
            assert len(columns) + len(rows) <= before + 1
        assert max(columns) <= max(COLUMNS, D // BUFFER + BLOCK)
        assert 0 < max(rows) <= BUFFER + 1
        assert solver.pending.n <= 2 * BUFFER + 1
        columns.clear()
        rows.clear()


def test_solvers_fold_one_after_the_other(rng):
    """Those that begin later have the same estimates."""
    solvers, begun = [FeatureSolver(0.5, later=later) for later in range(LATER + 1)], [0] * (LATER + 1)
    for t in range(1, 100):
        z, phi = rng.normal(size=(1, 40)), rng.normal(size=(1, 2))
        made = [solver.forecast(z) for solver in solvers]
        for i, (solver, forecast) in enumerate(zip(solvers, made)):
            np.testing.assert_allclose(forecast.G, made[0].G, atol=1e-12)
            solver.update(forecast, phi)
            begun[i] = begun[i] or (t if solver.folding else 0)
    assert begun == [BUFFER + later for later in range(LATER + 1)]


def test_a_saved_solver_goes_on(rng):
    """Bit for bit, at every moment of folding, also from a file."""
    learner = OSKAAR(losses.ZeroOne(3), features=features.Identity(70))
    X = rng.normal(size=(60, 70))
    for t, x in enumerate(X):
        again = from_bytes(learner.to_bytes())
        learner.learn_one(x, t % 3)
        again.learn_one(x, t % 3)
        np.testing.assert_array_equal(again.estimate(X[0]), learner.estimate(X[0]))
        assert again.to_bytes() == learner.to_bytes()


@one_thread
def drift_after(solver, rounds, rng):
    """How far the estimates are from a fresh solve after so many rounds."""
    D, p, lam = 12, 2, 0.5
    A, B = lam * np.eye(D), np.zeros((D, p))
    truth = rng.normal(size=(D, p))
    for _ in range(rounds // 512):
        Z = rng.normal(size=(512, D)) * 3.0 ** -np.arange(D)
        Phi = Z @ truth + rng.normal(size=(512, p))
        solver.append(solver.forecast_chunk(Z[:412], Phi[:412], np.arange(1, 413)))
        for i in range(412, 512):
            solver.update(solver.forecast(Z[i : i + 1]), Phi[i : i + 1])
        A += Z.T @ Z
        B += Z.T @ Phi
    x = rng.normal(size=(5, D))
    expected = [z @ np.linalg.solve(A + np.outer(z, z), B) for z in x]
    return max(np.abs(solver.forecast(z[None, :]).G[0] - G).max() for z, G in zip(x, expected))


def test_nothing_drifts(rng):
    assert drift_after(FeatureSolver(0.5), 20_000, rng) < 1e-9


@pytest.mark.slow
def test_nothing_drifts_in_a_million_rounds(rng):
    assert drift_after(FeatureSolver(0.5), 1_000_000, rng) < 1e-6


def test_a_lam_below_rounding_is_refused(rng):
    """Rows of any number at once: nothing is learned from them."""
    solver = FeatureSolver(1e-14)
    Z = rng.normal(size=(200, 6)) * 1e3
    for rows in (Z[:1], Z[:3], Z):
        with pytest.raises(ValueError, match="lam is too small"):
            solver.forecast(rows)
        with pytest.raises(ValueError, match="lam is too small"):
            solver.forecast_chunk(rows, rows[:, :1], np.arange(1, len(rows) + 1))
    with pytest.raises(ValueError, match="lam is too small"):
        solver.forecast_each(Z)
    assert solver.rounds == 0


LEARNERS = {
    "budget": lambda: OSKAAR(losses.ZeroOne(3), budget=8, lam=0.3),
    "shifted": lambda: OSKAAR(losses.ZeroOne(3), budget=8, lam=0.3, shifted=True),
    "open classes": lambda: OSKAAR(losses.ZeroOne(), budget=8),
    "fourier": lambda: OSKAAR(losses.ZeroOne(3), features=features.RandomFourier(kernels.Gaussian(), 20, 1)),
    "scaled": lambda: OSKAAR(losses.ZeroOne(3), features=features.Standardised(features.Nystrom(None, 9))),
    "hashed": lambda: OSKAAR(losses.ZeroOne(3), features=features.Hashing(16)),
    "salami": lambda: SALAMI(losses.ZeroOne(3), budget=8),
    "salami, shifted": lambda: SALAMI(losses.ZeroOne(3), budget=8, shifted=True),
    "salami, two maps": lambda: SALAMI(
        losses.ZeroOne(), features=[features.Identity(2), features.Nystrom(None, 7)], window=30
    ),
    "salami, first only": lambda: SALAMI(losses.ZeroOne(3), budget=8, restarts=None),
}


@pytest.mark.parametrize("name", few(sorted(LEARNERS), 3))
def test_learners_keep_their_contract(rng, name, monkeypatch):
    """Past blocks that are folded in, and past two renewals of a full dictionary."""
    monkeypatch.setattr(experts, "SOONEST", 32)
    monkeypatch.setattr(experts, "RENEWAL", 4)
    X = rng.normal(size=(80, 2))
    checks.check_learner(LEARNERS[name](), X, [int(x[0] > 0) + int(x[1] > 0) for x in X])


@settings(max_examples=8)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([None, 9]), st.booleans())
def test_salami_on_features_is_salami_on_their_kernel(seed, shifted, window, parts):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=14) if parts else np.ones(40, dtype=int)
    if parts:
        sizes[5] = 110  # more rows than features
    X = [rng.normal(size=(n, 2)) for n in sizes]
    loss = losses.PerRow(losses.ZeroOne(2)) if parts else losses.ZeroOne(2)
    ys = [[int(x[0] > 0) for x in rows] for rows in X]
    Phi = np.concatenate([losses.ZeroOne(2).embed_many(y) for y in ys])
    rows = np.concatenate(X)
    learner = SALAMI(loss, features=features.Identity(2), lam=[0.3, 2.0], eta=0.4, shifted=shifted, window=window)
    result = replay(learner, X if parts else rows, ys if parts else [y[0] for y in ys])

    begins = np.cumsum(sizes) - sizes

    def lives(s, t):
        return bool(outlives(np.array([s]), t)[0]) and (window is None or begins[t] - begins[s] <= window)

    lams = [0.3, 2.0]
    expected, _, _ = naive.salami(
        [rows @ rows.T], Phi, np.cumsum(sizes), lams, 0.4, project=not shifted, shifted=shifted, lives=lives
    )
    estimates = np.concatenate(result.estimates) if parts else result.estimates
    np.testing.assert_allclose(estimates, expected, atol=1e-8)


class Turning(features.FeatureMap):
    """Features that are full after 40 rows, and scaled otherwise in each new version."""

    dim, renews = 2, True

    def __init__(self, scale=1.0, rows=0):
        self.scale, self.rows = scale, rows

    @property
    def full(self):
        return self.rows >= 40

    def __call__(self, X):
        return self.scale * np.asarray(X)

    def seen(self, X):
        return self(X), Turning(self.scale, self.rows + len(X))

    def fresh(self, recent=None):
        assert recent is not None
        return Turning(2.0 if recent[-1, 0] > 0 else 3.0, 0)


@pytest.mark.parametrize("one_by_one", few([True, False], 2))
def test_new_experts_take_new_features(rng, one_by_one, monkeypatch):
    """Experts born before a renewal keep their features; the version of a start is that of its time."""
    monkeypatch.setattr(experts, "SOONEST", 64)
    T = 150
    X = rng.normal(size=(T, 2))
    ys = [int(x[0] > 0) for x in X]
    learner = SALAMI(losses.ZeroOne(2), features=Turning(), lam=0.5)
    period = learner._estimator.restarts.period
    assert 2 * period < T
    if one_by_one:
        estimates = []
        for x, y in zip(X, ys):
            estimates.append(learner.estimate(x))
            learner.learn_one(x, y)
    else:
        estimates = replay(learner, X, ys).estimates
    scales = [1.0] + [2.0 if X[t - 1, 0] > 0 else 3.0 for t in range(period, T, period)]

    def gram(s):
        return scales[s // period] ** 2 * X @ X.T

    def lives(s, t):
        return bool(outlives(np.array([s]), t)[0])

    Phi = losses.ZeroOne(2).embed_many(ys)
    expected, _, _ = naive.salami([gram], Phi, np.arange(1, T + 1), [0.5], 0.5, project=True, lives=lives)
    np.testing.assert_allclose(estimates, expected, atol=1e-8)
    in_use = {s // period for s in learner._estimator.restarts.starts_alive}
    assert len(learner._estimator.restarts.maps[0]) == len(in_use | {T // period})


@pytest.mark.parametrize("window", few([None, 100], 2))
def test_a_replay_finds_the_changes_of_the_loop(rng, window):
    """Whole blocks that are folded in at once, on both sides of rounds one at a time, with several changes."""
    T = 430
    X = np.where(np.arange(T)[:, None] % 2, [[1.0, 0.2]], [[0.1, 1.0]]) + 0.01 * rng.normal(size=(T, 2))
    ys = [(t // 140 + t) % 2 for t in range(T)]
    settings = {"features": features.Identity(2), "window": window, "false_alarms": 0.01}
    loop, blocks = (SALAMI(losses.ZeroOne(2), **settings) for _ in range(2))
    for x, y in zip(X, ys):
        loop.learn_one(x, y)
    blocks.partial_fit(X[:150], ys[:150])
    for x, y in zip(X[150:160], ys[150:160]):
        blocks.learn_one(x, y)
    blocks.partial_fit(X[160:], ys[160:])
    assert loop.restart_weights()[0].tolist() == blocks.restart_weights()[0].tolist()
    np.testing.assert_allclose(loop.restart_weights()[1], blocks.restart_weights()[1], atol=1e-9)
    found = loop.change_points()
    assert len(found) > 2
    assert [c[:2] for c in found] == [c[:2] for c in blocks.change_points()]
    np.testing.assert_allclose([c.evidence for c in found], [c.evidence for c in blocks.change_points()], atol=1e-8)


@pytest.mark.parametrize("shifted", few([False, True], 2))
def test_long_rounds_with_several_versions_of_features(rng, monkeypatch, shifted):
    """Rounds hedged in feature space: experts share products where, and only where, they share features."""
    monkeypatch.setattr(experts, "SOONEST", 8)
    monkeypatch.setattr(experts, "RENEWAL", 4)
    sizes = rng.integers(1, 4, size=32)
    sizes[[3, 12, 20, 27]] = 120  # each fills the newest version
    X = [rng.normal(size=(n, 2)) for n in sizes]
    ys = [[int(x[0] > 0) for x in rows] for rows in X]
    learner = SALAMI(losses.PerRow(losses.ZeroOne(2)), features=Turning(), lam=[0.5, 2.0], shifted=shifted)
    assert learner._estimator.restarts.period == 8
    scales = [1.0] + [2.0 if X[t - 1][-1, 0] > 0 else 3.0 for t in (8, 16, 24)]
    rows, Phi = np.concatenate(X), np.concatenate([losses.ZeroOne(2).embed_many(y) for y in ys])

    def gram(s):
        return scales[s // 8] ** 2 * rows @ rows.T

    def lives(s, t):
        return bool(outlives(np.array([s]), t)[0])

    expected = naive.salami([gram], Phi, np.cumsum(sizes), [0.5, 2.0], 0.5, not shifted, shifted, lives=lives)[0]
    np.testing.assert_allclose(np.concatenate(replay(learner, X, ys).estimates), expected, atol=1e-8)
    assert len(learner._estimator.restarts.maps[0]) == 5
    assert all(solver.recent.n <= RECENT for solver in learner._estimator.restarts.solvers[0].values())


@pytest.mark.parametrize("make", [OSKAAR, SALAMI])
def test_memory_is_flat(rng, make):
    X = rng.normal(size=(1800, 3))
    ys = [int(x[0] > 0) for x in X]
    learner = make(losses.ZeroOne(2), budget=12)
    sizes = []
    for lo in range(0, 1800, 300):
        learner.partial_fit(X[lo : lo + 300], ys[lo : lo + 300])
        sizes.append(learner.cost().bytes)
    # 0 to 128 rows are pending, and SALAMI has O(log t) experts
    assert max(sizes[3:]) < (1.5 if make is OSKAAR else 1.8) * sizes[2]
    assert learner.cost().operations > 0


def test_exact_costs_grow(rng):
    X = rng.normal(size=(800, 3))
    learner = OSKAAR(losses.ZeroOne(2))
    learner.partial_fit(X[:400], [0, 1] * 200)  # units stay: rows are no longer kept as they came
    before = learner.cost()
    learner.partial_fit(X[400:], [0, 1] * 200)
    assert learner.cost().bytes > 2 * before.bytes
    assert learner.cost().operations > 3 * before.operations
    assert before.bytes > 8 * 400 * 400 / 2


@pytest.mark.parametrize(
    ("learner", "advice"),
    [
        (OSKAAR(losses.ZeroOne(2), max_bytes=600_000), "budget="),
        (SALAMI(losses.ZeroOne(2), lam=1.0, max_bytes=900_000), "window="),
        (SALAMI(losses.ZeroOne(2), lam=1.0, restarts="geometric", max_bytes=3_000_000), "window="),
        (OSKAAR(losses.ZeroOne(2), budget=200, max_bytes=600_000), "smaller budget"),
        (SALAMI(losses.ZeroOne(2), budget=100, max_bytes=1_500_000), "smaller budget"),
    ],
)
def test_a_limit_on_memory_is_kept(rng, learner, advice):
    X = rng.normal(size=(900, 3))
    ys = [int(x[0] > 0) for x in X]
    with pytest.raises(MemoryError, match=rf"max_bytes allows .* {advice}"):
        learner.learn_many(X, ys)
    rounds, estimate = learner.rounds, learner.estimate(X[0])
    assert 20 < rounds < 900
    assert learner.cost().bytes <= learner.max_bytes
    with pytest.raises(MemoryError):
        learner.learn_one(X[rounds], ys[rounds])
    assert learner.rounds == rounds
    np.testing.assert_array_equal(learner.estimate(X[0]), estimate)


def test_limits_that_make_no_sense():
    with pytest.raises(ValueError, match="max_bytes must be a whole number"):
        OSKAAR(losses.ZeroOne(2), max_bytes=-5)


@pytest.mark.parametrize("bad", [[-np.inf, 1.0], [np.inf, 1.0], [1.0], ["a", 1.0]])
@pytest.mark.parametrize("make", [OSKAAR, SALAMI])
def test_a_refused_round_leaves_no_trace(rng, make, bad):
    import pickle

    learner = make(losses.ZeroOne(2), budget=6)
    learner.partial_fit(rng.normal(size=(50, 2)), [0, 1] * 25)
    before = pickle.dumps(learner)
    with pytest.raises((ValueError, TypeError)):
        learner.learn_one(bad, 1)
    with pytest.raises(ValueError, match="class"):
        learner.learn_one([0.0, 1.0], 7)
    assert pickle.dumps(learner) == before


def test_predict_many_is_predict_one(rng):
    X = rng.normal(size=(80, 2))
    learner = OSKAAR(losses.F1(3), budget=10, lam=0.2)
    learner.partial_fit(X, [frozenset(np.flatnonzero(rng.random(3) < 0.5)) for _ in X])
    assert learner.predict_many(X) == [learner.predict_one(x) for x in X]

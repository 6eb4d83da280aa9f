"""The restart solver against the literal experts of Algorithm 2."""

import pickle
from types import SimpleNamespace

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oskaar.solvers import suffix_factor
from oskaar.solvers.all_restarts import AllRestarts
from oskaar.solvers.starts import outlives


def literal_salami(K, *settings, **options):
    estimates, weights, experts = naive.salami([K], *settings, **options)
    return SimpleNamespace(estimates=estimates, weights=weights, experts=experts)


def gaussian(X, Y):
    return np.exp(-((X[:, None] - Y[None]) ** 2).sum(-1) / 2)


@st.composite
def streams(draw, max_rounds=30, max_rows=1):
    """K, Phi, ends, lam: inputs with repetitions, targets in the unit ball."""
    sizes = draw(st.lists(st.integers(1, max_rows), min_size=1, max_size=max_rounds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = sum(sizes), draw(st.integers(1, 4))
    X = rng.normal(size=(n, 2))
    X = X[rng.integers(0, n, size=n)] if draw(st.booleans()) else X
    Phi = rng.normal(size=(n, p))
    Phi /= np.maximum(1, np.linalg.norm(Phi, axis=1))[:, None]
    return gaussian(X, X), Phi, np.cumsum(sizes), draw(st.sampled_from([1e-3, 0.1, 1.0, 30.0]))


def run(solver, K, Phi, ends, per_block, width=None):
    """Every round's estimates of all experts, `per_block` rounds at a time; width(i) targets of round i."""
    experts, kept, begins = [], [], np.array([0, *ends[:-1]])
    for first in range(0, len(ends), per_block):
        rounds = range(first, min(first + per_block, len(ends)))
        lo, hi = begins[first], ends[rounds[-1]]
        past = np.arange(lo - solver.rows, lo)
        block = solver.begin(K[np.ix_(past, range(lo, hi))], K[lo:hi, lo:hi], ends[first : rounds[-1] + 1] - lo)
        for i, t in enumerate(rounds):
            experts.append(block.estimates(i).copy())
            H = Phi[begins[t] : ends[t]]
            block.observe(i, H if width is None else H[:, : width(t)])
        solver.commit(block)
        kept.append(solver.starts_alive)
    return experts, kept


def assert_same(experts, literal, atol=1e-9):
    for mine, theirs in zip(experts, literal, strict=True):
        wide = np.zeros_like(theirs)
        wide[:, :, : mine.shape[2]] = mine  # coordinates that were not there yet are 0
        assert mine.shape[:2] == theirs.shape[:2]
        np.testing.assert_allclose(wide, theirs, rtol=0, atol=atol)


def inverse(solver):
    """V^T diag(q) V over all rows kept, open ones too."""
    twin = pickle.loads(pickle.dumps(solver))
    twin._close()
    V = twin.factor.dense()
    return V.T @ (twin.products.q[: twin.rows, None] * V)


@given(streams(), st.sampled_from([1, 2, 5, 24, 100]))
def test_experts_solve_the_argmin(stream, per_block):
    """All experts of all rounds are the argmin of Algorithm 2, whatever the block."""
    K, Phi, ends, lam = stream
    literal = literal_salami(K, Phi, ends, [lam], eta=0.5)
    experts, _ = run(AllRestarts(lam), K, Phi, ends, per_block)
    assert_same(experts, literal.experts)


@given(streams(max_rounds=12, max_rows=5), st.sampled_from([1, 2, 5, 24]))
def test_rounds_of_several_rows(stream, per_block):
    """A round of n rows is predicted jointly, and restarts are at rounds only."""
    K, Phi, ends, lam = stream
    literal = literal_salami(K, Phi, ends, [lam], eta=0.5)
    experts, _ = run(AllRestarts(lam), K, Phi, ends, per_block)
    assert_same(experts, literal.experts)


@given(streams(max_rounds=40, max_rows=3), st.integers(1, 12), st.sampled_from([1, 2, 5, 24]))
def test_window_drops_whole_rounds(stream, window, per_block):
    """With a window, experts are those that have seen at most that many rows, whatever the block."""
    K, Phi, ends, lam = stream
    literal = literal_salami(K, Phi, ends, [lam], eta=0.5, window=window)
    solver = AllRestarts(lam, window)
    experts, kept = run(solver, K, Phi, ends, per_block)
    assert_same(experts, literal.experts)
    begins = np.array([0, *ends[:-1]])
    assert kept[-1].tolist() == [s for s in range(len(ends)) if ends[-1] - begins[s] <= window]
    assert solver.rows == (ends[-1] - begins[kept[-1][0]] if len(kept[-1]) else 0)


@given(streams(max_rows=2), st.sampled_from([1, 3, 7]))
def test_targets_may_grow(stream, per_block):
    """A coordinate that appears late is 0 in the past, exactly."""
    K, Phi, ends, lam = stream
    sizes = np.diff(ends, prepend=0)

    def width(t):
        return min(Phi.shape[1], 1 + t // 3)

    narrow = Phi * (np.arange(Phi.shape[1]) < np.repeat([width(t) for t in range(len(ends))], sizes)[:, None])
    literal = literal_salami(K, narrow, ends, [lam], eta=0.5)
    experts, _ = run(AllRestarts(lam), K, Phi, ends, per_block, width)
    assert_same(experts, literal.experts)


@given(streams(max_rounds=20), st.booleans(), st.booleans())
def test_mixture_is_the_literal_algorithm(stream, shifted, project):
    """Two lams in lockstep, weighted by exp(-eta losses): Algorithm 2, and shifted Algorithm 3."""
    K, Phi, ends, lam = stream
    lams, eta = [lam, 3 * lam], 0.7
    literal = literal_salami(K, Phi, ends, lams, eta, project, shifted)
    solvers = [AllRestarts(4 * each if shifted else each) for each in lams]
    A, cumulated = 0.0, np.zeros((0, 2))  # the mixture's own loss; each expert's, with A before its start
    for t, phi in enumerate(Phi):
        blocks = [solver.begin(K[:t, t : t + 1], K[t : t + 1, t : t + 1], [1]) for solver in solvers]
        G = np.zeros((t + 1, 2, Phi.shape[1]))
        for i, block in enumerate(blocks):
            G[:, i, : block.targets] = block.estimates(0)[:, 0]
        G /= np.maximum(1, np.linalg.norm(G, axis=2, keepdims=True)) if project else 1
        cumulated = np.vstack([cumulated, [[A, A]]])
        weights = np.exp(-eta * (cumulated - cumulated.min()))
        weights /= weights.sum()
        mixture = np.tensordot(weights, G)
        np.testing.assert_allclose(mixture, literal.estimates[t], rtol=0, atol=1e-9)
        np.testing.assert_allclose(weights.ravel(), literal.weights[t], rtol=0, atol=1e-9)
        cumulated += np.sum((phi - (mixture + G) / 2 if shifted else phi - G) ** 2, axis=2)
        A += np.sum((phi - mixture) ** 2)
        for solver, block in zip(solvers, blocks, strict=True):
            block.observe(0, (2 * phi - mixture if shifted else phi)[None])
            solver.commit(block)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 100), st.sampled_from([1, 24, 61]))
def test_factor_matches_a_fresh_solve(seed, per_block):
    """V^T q V = (K + lam I)^-1 after hundreds of rounds and several panels; online is the same as blocks."""
    X = np.random.default_rng(seed).normal(size=(600, 3))
    K, Phi, ends = gaussian(X, X), np.cos(X), np.arange(1, 601)
    solver = AllRestarts(0.01)
    experts, _ = run(solver, K, Phi, ends, per_block)
    fresh = np.linalg.inv(K + 0.01 * np.eye(600))
    np.testing.assert_allclose(inverse(solver), fresh, rtol=0, atol=1e-9 * np.abs(fresh).max())
    now = naive.expert(K, Phi, np.arange(100, 599), np.array([599]), 0.01)
    np.testing.assert_allclose(experts[-1][100], now, rtol=0, atol=1e-9)


def test_window_for_ever(monkeypatch):
    """After many truncations memory is that of the window, and V that of its rows."""
    monkeypatch.setattr(suffix_factor, "PANEL", 64)
    X = np.random.default_rng(0).normal(size=(700, 2))
    K = gaussian(X, X)
    solver = AllRestarts(0.1, window=100)
    experts, _ = run(solver, K, np.sin(X), np.arange(1, 701), 7)
    assert solver.rows == 100
    assert solver.starts_alive.tolist() == list(range(600, 700))
    assert sum(P.size for P in solver.factor.panels) <= (100 + 2 * 64) ** 2
    fresh = np.linalg.inv(K[600:, 600:] + 0.1 * np.eye(100))
    np.testing.assert_allclose(inverse(solver), fresh, rtol=0, atol=1e-10)
    assert len(experts[-1]) == 101
    now = naive.expert(K, np.sin(X), np.arange(599, 699), np.array([699]), 0.1)
    np.testing.assert_allclose(experts[-1][0], now, rtol=0, atol=1e-10)


def test_begin_changes_nothing():
    K = gaussian(*[np.random.default_rng(0).normal(size=(40, 2))] * 2)
    solver = AllRestarts(0.1)
    run(solver, K[:30, :30], np.ones((30, 1)), np.arange(1, 31), 30)
    before = pickle.dumps(solver)
    block = solver.begin(K[:30, 30:], K[30:, 30:], np.arange(1, 11))
    for i in range(10):
        block.estimates(i)
        block.observe(i, np.ones((1, 2)))
    assert pickle.dumps(solver) == before


@pytest.mark.parametrize("lam", [1e-6, 1e-3])
def test_one_input_again_and_again(lam):
    """The same x for 200 rounds: the estimates tend to the mean of the targets, with no error and no NaN."""
    solver = AllRestarts(lam)
    Phi = np.random.default_rng(0).normal(size=(200, 2))
    experts, _ = run(solver, np.ones((200, 200)), Phi, np.arange(1, 201), 10)
    for t in range(1, 200):
        for s in (0, t // 2, t - 1):  # lam / (lam + var) is 1 / (n + 1 + lam) (n + lam)  with n = t - s
            n = t - s
            expected = Phi[s:t].sum(0) / (n + 1 + lam)
            np.testing.assert_allclose(experts[t][s, 0], expected, rtol=0, atol=1e-6)


def test_a_lam_that_rounding_would_eat_is_refused():
    solver = AllRestarts(1e-7)
    block = solver.begin(np.zeros((0, 2)), np.ones((2, 2)), [1, 2])
    block.estimates(0)
    block.observe(0, np.ones((1, 1)))
    with pytest.raises(ValueError, match="less than 1e-06 of it"):
        block.estimates(1)


def test_not_positive_semidefinite():
    """A kernel that is not one is refused when the round is predicted, and the solver stays as it was."""
    solver = AllRestarts(0.1)
    run(solver, np.eye(3), np.ones((3, 1)), np.arange(1, 4), 2)
    before = pickle.dumps(solver)
    for B, D in ((5.0, np.eye(2)), (0.0, np.array([[1.0, 5.0], [5.0, 1.0]])), (0.0, -np.eye(2))):
        block = solver.begin(np.full((3, 2), B), D, [2])
        for _ in range(2):
            with pytest.raises(ValueError, match="positive semidefinite"):
                block.estimates(0)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            solver.begin(np.full((3, 2), bad), np.eye(2), [2])
    assert pickle.dumps(solver) == before


def test_bad_calls():
    with pytest.raises(ValueError, match="lam must be > 0"):
        AllRestarts(0.0)
    with pytest.raises(ValueError, match="window must be >= 1"):
        AllRestarts(1.0, window=0)
    solver = AllRestarts(1.0)
    with pytest.raises(ValueError, match="ends must increase"):
        solver.begin(np.zeros((0, 2)), np.eye(2), [2, 2])
    with pytest.raises(ValueError, match="row kept"):
        solver.begin(np.zeros((1, 2)), np.eye(2), [2])
    block, other = (solver.begin(np.zeros((0, 2)), np.eye(2), [1, 2]) for _ in range(2))
    with pytest.raises(ValueError, match="in turn"):
        block.estimates(1)
    block.observe(0, np.ones((1, 2)))
    with pytest.raises(ValueError, match="no targets yet"):
        solver.commit(block)
    with pytest.raises(ValueError, match="needs targets"):
        block.observe(1, np.ones((1, 1)))
    block.observe(1, np.ones((1, 2)))
    with pytest.raises(ValueError, match="in turn"):
        block.estimates(2)
    solver.commit(block)
    with pytest.raises(ValueError, match="stale"):
        solver.commit(other)


def test_some_expert_started_in_the_first_half_of_every_interval():
    """Not only in its last half, where the newborn always is; and there are O(log t)."""
    for t in range(600):
        alive = np.flatnonzero(outlives(np.arange(t + 1), t))
        s = np.arange(t + 1)
        after = alive[np.searchsorted(alive, s)]  # the first that started at s or later
        assert (after - s <= (t - s) / 2).all()
        assert len(alive) <= 4 * np.log2(t + 2)

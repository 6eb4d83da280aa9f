"""The restart solver against the literal experts of Algorithm 2."""

import pickle
from types import SimpleNamespace

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar.solvers import suffix_factor
from oskaar.solvers.all_restarts import AllRestarts
from oskaar.solvers.basis import Basis
from oskaar.solvers.geometric_restarts import outlives


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
    n, old = solver.rows, solver.factor.n
    pairs = zip(solver.factor.times(np.eye(old, n)), np.eye(n)[old:].T, strict=True)
    V = np.array([solver.products.project(v, k) for v, k in pairs]).T
    return V.T @ (solver.products.q[:n, None] * V)


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


@given(
    streams(max_rounds=40, max_rows=3),
    st.integers(1, 30),
    st.integers(1, 6),
    st.none() | st.integers(1, 12),
    st.sampled_from([1, 2, 5, 24]),
)
def test_rows_by_coordinates(stream, numbers, least, window, per_block):
    """With numbers, the experts are those that have few enough rows for the coordinates known, whatever the block."""
    K, Phi, ends, lam = stream
    sizes, begins = np.diff(ends, prepend=0), np.array([0, *ends[:-1]])

    def width(t):
        return min(Phi.shape[1], 1 + t // 5)

    narrow = Phi * (np.arange(Phi.shape[1]) < np.repeat([width(t) for t in range(len(ends))], sizes)[:, None])
    by_numbers = naive.rows_by_coordinates(numbers, [0, *map(width, range(len(ends)))], least)
    most = by_numbers if window is None else lambda t: min(window, by_numbers(t))
    literal = literal_salami(K, narrow, ends, [lam], eta=0.5, window=most)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("oskaar.solvers.all_restarts.LEAST_ROWS", least)
        experts, kept = run(AllRestarts(lam, window, numbers), K, Phi, ends, per_block, width)
    assert_same(experts, literal.experts)
    assert kept[-1].tolist() == [s for s in range(len(ends)) if ends[-1] - begins[s] <= most(len(ends))]


@given(streams(max_rounds=40), st.integers(2, 24), st.sampled_from([None, 6]), st.booleans())
def test_blocks_in_a_basis(stream, per_block, window, repeated):
    """Estimates and targets of a block are coordinates in a basis that grows; the state is in those of the labels."""
    K, Phi, ends, lam = stream
    many = np.random.default_rng(len(Phi)).normal(size=(len(Phi), 40)) / 7
    Phi = np.sign(Phi) / 2 if repeated else many  # few directions, or many coordinates
    Phi[:, 1:] *= (np.arange(len(Phi)) >= 5)[:, None]
    plain, solver = AllRestarts(lam, window), AllRestarts(lam, window)
    expected, _ = run(plain, K, Phi, ends, per_block)
    for lo in range(0, len(ends), per_block):
        hi = min(lo + per_block, len(ends))
        block = solver.begin(K[lo - solver.rows : lo, lo:hi], K[lo:hi, lo:hi], ends[: hi - lo])
        basis = Basis(solver.targets_span, hi - lo)
        if hi > lo + 1:
            block.in_basis(basis)
        for i in range(hi - lo):
            G, H = block.estimates(i), Phi[lo + i : lo + i + 1, : 1 if lo + i < 5 else None]
            assert_same([basis.vectors(G) if hi > lo + 1 else G], [expected[lo + i]], atol=1e-8)
            block.observe(i, basis.coordinates(H) if hi > lo + 1 else H)
        np.testing.assert_allclose(basis.Q @ basis.Q.T, np.eye(basis.p), atol=1e-12)
        solver.commit(block)
    assert_same([solver.oldest()[1][:, None]], [plain.oldest()[1][:, None]], atol=1e-8)


def test_a_basis_stays_orthonormal(rng):
    """Also where a target is nearly in the span, and where it is in it."""
    H = rng.normal(size=(4, 30))
    basis = Basis(H, 10)
    for i in range(8):
        near = rng.normal(size=(1, 4)) @ H + (1e-9 * rng.normal(size=(1, 30)) if i % 2 else 0.0)
        np.testing.assert_allclose(basis.vectors(basis.coordinates(near)), near, atol=1e-11)
        assert basis.p == 4 + (i + 1) // 2
        np.testing.assert_allclose(basis.Q @ basis.Q.T, np.eye(basis.p), atol=1e-12)


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


@pytest.mark.parametrize(("seed", "per_block"), [(0, 1), (1, 24), (2, 61)])
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


def long_stream(T, seed=0, p=2):
    X = np.random.default_rng(seed).normal(size=(T, 2))
    return gaussian(X, X), np.cos(X @ np.ones((2, p)) + np.arange(p)), np.arange(1, T + 1)


def state(thing):
    """The state, with the bytes of its arrays."""
    if isinstance(thing, np.ndarray):
        return thing.shape, thing.tobytes()
    if isinstance(thing, list):
        return [state(each) for each in thing]
    return {k: state(v) for k, v in thing.__getstate__().items()} if hasattr(thing, "__dict__") else thing


def one_by_one(solver, K, Phi, rounds):
    """Single rounds; the estimates of the last."""
    for t in rounds:
        lo = t - solver.rows
        block = solver.begin(K[lo:t, t : t + 1], K[t : t + 1, t : t + 1], [1])
        G = block.estimates(0)
        block.observe(0, Phi[t : t + 1])
        solver.commit(block)
    return G


@pytest.mark.parametrize("window", [None, 90])
def test_a_fold_under_way(window, monkeypatch):
    """At every stage of a fold the factor is that of the rows, and all experts are the literal ones."""
    monkeypatch.setattr(suffix_factor, "PANEL", 64)
    monkeypatch.setattr(suffix_factor, "SLICE", 16)
    K, Phi, _ = long_stream(160)
    solver, seen = AllRestarts(0.1, window), set()
    for t in range(160):
        G = one_by_one(solver, K, Phi, [t])
        seen.add(solver.factor.shares)
        if not solver.factor.shares and t % 24:
            continue
        lo = t + 1 - solver.rows
        fresh = np.linalg.inv(K[lo : t + 1, lo : t + 1] + 0.1 * np.eye(t + 1 - lo))
        np.testing.assert_allclose(inverse(solver), fresh, rtol=0, atol=1e-10)
        for s in range(0, len(G) - 1, 59):
            now = naive.expert(K, Phi, np.arange(t + 1 - len(G) + s, t), np.array([t]), 0.1)
            np.testing.assert_allclose(G[s], now, rtol=0, atol=1e-8)
    assert seen > {0, suffix_factor.SPREAD}  # put off, about to begin, and in the middle


@pytest.mark.parametrize("per_block", [2, 5, 24, 50])
def test_chunks_are_single_rounds(per_block):
    """Whatever the block, and so whatever is folded when, the numbers are the same to 1e-12."""
    K, Phi, ends = long_stream(200)
    singles, _ = run(AllRestarts(0.1), K, Phi, ends, 1)
    chunks, _ = run(AllRestarts(0.1), K, Phi, ends, per_block)
    for one, other in zip(singles[1:], chunks[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", [None, 70])
def test_saved_in_the_middle_of_a_fold(window, monkeypatch):
    """A state that is saved at any stage goes on bit for bit as one that was not."""
    monkeypatch.setattr(suffix_factor, "SLICE", 16)
    K, Phi, _ = long_stream(150)
    solver, seen = AllRestarts(0.1, window), set()
    for t in range(150):
        one_by_one(solver, K, Phi, [t])
        if t >= 90:
            seen.add(solver.factor.shares)
            solver = pickle.loads(pickle.dumps(solver)) if t % 2 else solver
    other = AllRestarts(0.1, window)
    one_by_one(other, K, Phi, range(150))
    assert state(solver) == state(other)
    assert seen > {0, suffix_factor.SPREAD}


def test_forecasts_in_the_middle_of_a_fold_change_nothing(monkeypatch):
    """Nor does a round that is refused, or one that is begun and dropped, of one row or of several."""
    monkeypatch.setattr(suffix_factor, "SLICE", 16)
    K, Phi, _ = long_stream(120)
    solver, other = AllRestarts(0.1), AllRestarts(0.1)
    for t in range(110):
        before = pickle.dumps(solver)
        for m in (1, 4):
            block = solver.begin(K[:t, t : t + m], K[t : t + m, t : t + m], [m])
            block.estimates(0)
            block.observe(0, np.ones((m, 3)))
        refused = solver.begin(np.full((t, 1), 50.0), np.eye(1), [1])
        if t:
            with pytest.raises(ValueError, match="positive semidefinite"):
                refused.estimates(0)
        assert pickle.dumps(solver) == before
        one_by_one(solver, K, Phi, [t])
        one_by_one(other, K, Phi, [t])
        if t:
            with pytest.raises(ValueError, match="stale"):
                refused.estimates(0)
    assert state(solver) == state(other)


def test_a_window_that_ends_among_open_rows():
    """Whole rounds are dropped at once, more of them than rows are closed."""
    K, Phi, _ = long_stream(120)
    solver = AllRestarts(0.1, window=20)
    ends = np.cumsum([1] * 40 + [15, 15, 3, 20, 1, 1, 24])
    experts, _ = run(solver, K, Phi, ends, 1)
    assert_same(
        experts, literal_salami(K[: ends[-1], : ends[-1]], Phi[: ends[-1]], ends, [0.1], 0.5, window=20).experts
    )


def test_many_rows_of_any_width_in_the_middle_of_a_fold(monkeypatch):
    """Rounds of several rows and targets that grow, at all stages."""
    monkeypatch.setattr(suffix_factor, "SLICE", 16)
    sizes = np.random.default_rng(3).integers(1, 5, size=40)
    ends, begins = np.cumsum(sizes), np.cumsum(sizes) - sizes
    K, Phi, _ = long_stream(int(ends[-1]), p=5)
    Phi *= np.arange(5) < np.repeat(1 + np.arange(40) // 8, sizes)[:, None]
    experts, _ = run(AllRestarts(0.1), K, Phi, ends, 1, lambda t: 1 + t // 8)
    for t in range(1, 40):
        for s in (0, t // 2, t - 1):
            now = naive.expert(K, Phi, np.arange(begins[s], begins[t]), np.arange(begins[t], ends[t]), 0.1)
            np.testing.assert_allclose(experts[t][s], now[:, : 1 + (t - 1) // 8], rtol=0, atol=1e-8)


def test_a_block_with_eight_rows():
    """NumPy 2.4 negates a column of an array of eight columns wrongly, if the result has a stride too."""
    K, Phi, ends = long_stream(40)
    experts, _ = run(AllRestarts(0.1), K, Phi, ends, 8)
    assert_same(experts, literal_salami(K, Phi, ends, [0.1], eta=0.5).experts)


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

"""Features made of many rows at once: restarts from a Gram matrix, rows of every kind, kernels over kept rows."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError

import oskaar
from oskaar import Ensemble, features, kernels, losses, replay
from oskaar.inputs import Compared, Inputs
from oskaar.kernels.kept import KeptRows
from oskaar.learners.experts import Ridges
from oskaar.learners.refit import RefitRegressions
from oskaar.solvers.all_restarts import AllRestarts
from oskaar.solvers.panel_sums import PanelFactor, PanelSums

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]


def learned(solver, K, H, lo, hi):
    """The estimates of rounds lo..hi-1, which are learned."""
    found = []
    for t in range(lo, hi):
        first = t - solver.rows
        block = solver.begin(K[first:t, t : t + 1], K[t : t + 1, t : t + 1], [1])
        found.append(block.estimates(0).copy())
        block.observe(0, H[t : t + 1])
        solver.commit(block)
    return found


@pytest.mark.parametrize(("n", "window"), [(1, None), (40, None), (300, None), (300, 64)])
def test_restarts_from_a_gram_matrix(rng, n, window):
    """As if the rows had been learned one after the other, also when they are dropped or folded in later."""
    X, H = rng.normal(size=(n + 30, 3)), rng.normal(size=(n + 30, 2))
    K = kernels.Gaussian(1.0)(X, X) + 1.0
    one = AllRestarts(0.05, window)
    learned(one, K, H, 0, n)
    first = max(0, n - (window or n))
    other = AllRestarts(0.05, window)
    other = other.fitted(np.linalg.inv(other.reversed_factor(K[first:n, first:n])), H[first:n], n)
    np.testing.assert_array_equal(one.starts_alive, other.starts_alive)
    for a, b in zip(learned(one, K, H, n, n + 30), learned(other, K, H, n, n + 30)):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_a_gram_matrix_that_is_not_positive_is_refused():
    with pytest.raises(LinAlgError, match="positive definite"):
        AllRestarts(0.1).reversed_factor(np.array([[0.0, 2.0], [2.0, 0.0]]))


@pytest.mark.parametrize("stages", [[13, 18], [18]])
def test_rows_that_come_meanwhile_are_taken_up(stages, rng):
    """A dictionary with room takes up rows that come before the refit is closed: kernel ridge regression on all."""
    kernel, X, Phi = kernels.Gaussian(0.7), rng.normal(size=(18, 2)), rng.normal(size=(18, 2))
    X[3:10] = X[rng.integers(3, size=7)]
    inputs = Inputs(None, keep=False)
    ridges = Ridges(inputs, 0, features.Nystrom(kernel, 15, beta=1e9), [0.1], "a", True, False)
    part, n = RefitRegressions.of(ridges, X[:10], Phi[:10]), 10
    for n in stages:
        while part.left:
            part = part.advanced()
        part = part.with_rows(X[:n], Phi[:n], whole=n == 18)
    while part.left:
        part = part.advanced()
    learned = part.learned()
    assert (learned.rows, learned.features.size) == (18, 11)
    block, _ = inputs.parse_many(rng.normal(size=(4, 2)))
    expected = kernel(block.rows, X) @ np.linalg.solve(kernel(X, X) + 0.1 * np.eye(18), Phi)
    np.testing.assert_allclose(learned.each(Compared(inputs, block), None)[0], expected, atol=1e-10)


@pytest.mark.parametrize("sizes", [[1], [128], [129], [100, 300], [0]], ids=str)
def test_a_factor_in_panels_is_that_of_the_whole(rng, sizes):
    """Rows that come in pieces, and bring features; a step that is done again from what was before is the same."""
    parts = [rng.normal(size=(30, D)) for D in sizes]
    D, Phi = sizes[-1], rng.normal(size=(30 * len(sizes), 2))
    sums = PanelSums()
    for part, H in zip(parts, np.split(Phi, len(parts))):
        sums = sums.with_rows(part, H)
    Z = np.concatenate([np.pad(part, ((0, 0), (0, D - part.shape[1]))) for part in parts])
    factor = PanelFactor.of(sums)
    while factor.left:
        before, factor = factor, factor.advanced(sums, 0.1)
        again = before.advanced(sums, 0.1)
        assert again.done == factor.done > before.done
        assert again.S is factor.S  # shared, as what was known before stays
    R = np.linalg.cholesky(Z.T @ Z + 0.1 * np.eye(D)).T
    np.testing.assert_allclose(factor.S[:, :D], R, atol=1e-10)
    np.testing.assert_allclose(factor.S[:, D : D + 2], np.linalg.inv(R).T @ Z.T @ Phi, atol=1e-9)
    assert factor.S.shape == (D, D + 4)
    assert not factor.S[:, D + 2 :].any()


@pytest.mark.parametrize("name", ["smooth", "linear", "rough", "ranks"])
def test_kernels_over_rows_that_stay(rng, name):
    """To the last bit those of all rows at once, when rows are added and the oldest dropped."""
    X = rng.normal(size=(60, 3))
    kernel = kernels.default_kernels(X[:30])[name]
    rows = [X[:20]]
    kept = KeptRows(lambda: np.concatenate(rows))
    over = kernel.over(kept)
    for i in range(20, 60, 8):
        rows.append(X[i : i + 8])
        kept.append(rows[-1])
        if i == 36:
            rows[:] = [np.concatenate(rows)[5:]]
            kept.drop(5)
        np.testing.assert_array_equal(over.values(X[:2]), kernel(X[:2], np.concatenate(rows)))
        np.testing.assert_array_equal(over.diag(X[2:4]), kernel.diag(X[2:4]))


def mixed(rng):
    words = " ".join(rng.choice(WORDS, 3))
    amount = None if rng.random() < 0.1 else float(rng.normal())
    return {"amount": amount, "channel": str(rng.choice(["web", "shop"])), "subject": words}


def bag(rng):
    return {f"w{k}": 1.0 for k in rng.choice(300, 6)}


def numbers(rng):
    return [float(v) for v in rng.normal(size=3)]


@pytest.mark.parametrize("row", [mixed, bag, numbers])
def test_rows_of_every_kind(rng, row, monkeypatch):
    """A loop that is saved and resumed in the middle of each step has the answers and the state of a replay.

    It reads rows anew 50 at a time, the replay all of them at once.
    """
    rows, ys = [row(rng) for _ in range(150)], rng.integers(3, size=150).tolist()
    whole, loop = (Ensemble(losses.ZeroOne(3), budget=16) for _ in range(2))
    told = replay(whole, rows, ys)
    assert whole._mixture.restarts.window is not None
    monkeypatch.setattr("oskaar.learners.relearning.ENCODED", 50)
    for t, (x, y) in enumerate(zip(rows, ys)):
        assert loop.predict_one(x) == told.predictions[t]
        loop.learn_one(x, y)
        if t in (33, 35, 64, 67, 70, 127, 128, 129, 140):
            loop = oskaar.from_bytes(loop.to_bytes())
    np.testing.assert_allclose(loop.estimate(rows[0]), whole.estimate(rows[0]), atol=1e-10)
    assert loop.expert_weights() == pytest.approx(whole.expert_weights(), abs=1e-9)


def test_weights_are_carried_over():
    """What an expert had gained before features took over it has after it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    ys = [int(x[0] > 0) for x in X]
    learner = Ensemble(losses.ZeroOne(2), budget=16).partial_fit(X[:32], ys[:32])
    before = learner._mixture.weights
    learner.partial_fit(X[32:], ys[32:])
    after = learner._mixture.weights
    assert learner._mixture.restarts.window is not None
    assert after.rounds == before.rounds + 8
    assert np.abs(after.expert_gains - before.expert_gains).max() < 8.0
    assert np.corrcoef(after.expert_gains, before.expert_gains)[0, 1] > 0.9

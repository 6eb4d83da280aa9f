"""Ridge regressions by column: sparse rows of parts, without a dictionary."""

import pickle

import naive
import numpy as np
import pytest
from scipy.sparse import csr_array

import oskaar
from oskaar import Ensemble, losses
from oskaar.inputs import Compared, Inputs
from oskaar.learners import columns
from oskaar.learners.columns import ColumnRidges
from oskaar.solvers.diagonal import DiagonalSolver

LAMS = [0.01, 0.05, 0.3]


def sparse_rows(rng, n, width):
    return csr_array(rng.normal(size=(n, width)) * (rng.random((n, width)) < 0.4))


class Targets:
    """Labels that are vectors already."""

    def __init__(self, Phi):
        self.Phi = Phi


class Known:
    """A space of so many coordinates."""

    def __init__(self, p):
        self.p = p


def learned(expert, inputs, rounds, ps):
    """Estimates of each round before it is learned; asking changes nothing."""
    found = []
    for (x, Phi), p in zip(rounds, ps):
        block, _ = inputs.parse_many([x])
        compared, state = Compared(inputs, block), pickle.dumps(expert)
        pending = expert.forecast(compared, Known(p), None)
        again = expert.forecast(compared, Known(p), Targets(Phi))
        np.testing.assert_array_equal(pending.estimates, again.estimates)
        np.testing.assert_array_equal(pending.estimates, expert.each(compared, Known(p)))
        assert pickle.dumps(expert) == state
        inputs.append(block)
        expert.commit(expert.observe(pending, Targets(Phi)))
        found.append(pending.estimates)
    return found


@pytest.mark.parametrize("make", [csr_array, csr_array.toarray], ids=["sparse", "dense"])
def test_it_is_its_definition(rng, make):
    """For each lam; columns and coordinates that come late were 0 before."""
    X, Phi, ends = sparse_rows(rng, 12, 7), rng.normal(size=(12, 3)), [2, 3, 7, 8, 12]
    Phi[:7, 2] = 0.0
    rounds = [(make(X[lo:hi]), Phi[lo:hi, : 2 if hi <= 7 else 3]) for lo, hi in zip([0, *ends], ends)]
    found = learned(ColumnRidges(LAMS), Inputs(None, parts=True), rounds, [2, 2, 2, 2, 3])
    for lo, hi, ours in zip([0, *ends], ends, found):
        for mine, lam in zip(ours, LAMS, strict=True):
            theirs = naive.by_column(X.toarray(), Phi, lo, hi, lam)
            np.testing.assert_allclose(mine, theirs[:, : mine.shape[1]], atol=1e-10)


def test_columns_that_never_meet_are_ridge_regressions():
    """Where no two columns are in one row, no covariance is lost."""
    rng, solver = np.random.default_rng(0), DiagonalSolver([0.3])
    places, H = rng.integers(3, size=20), rng.normal(size=(20, 2))
    solver.update([(np.array([j]), np.array([2.0])) for j in places], H)
    for j in range(3):
        expected = 2 * H[places == j].sum(axis=0) / (4 * np.sum(places == j) + 0.3)
        np.testing.assert_allclose(solver.means([(np.array([j]), np.array([1.0]))], 2)[0, 0], expected)


def test_columns_beyond_the_last_share_weights(rng, monkeypatch):
    """Modulo MOST; two of them in one row add up."""
    monkeypatch.setattr(columns, "MOST", 4)
    X, Phi = sparse_rows(rng, 12, 10), rng.normal(size=(12, 2))
    units = X.toarray() / np.maximum(np.linalg.norm(X.toarray(), axis=1), 1e-300)[:, None]
    folded = sum(np.pad(units[:, j : j + 4], [(0, 0), (0, max(0, j + 4 - 10))]) for j in (0, 4, 8))
    norms = np.linalg.norm(folded, axis=1)
    found = learned(ColumnRidges(LAMS), Inputs(None, parts=True), [(X[:9], Phi[:9]), (X[9:], Phi[9:])], [2, 2])
    rows = [[1.0, *row] for row in folded]
    W, v = np.zeros((5, 2)), np.ones(5)
    for x, phi in zip(np.array(rows[:9]), Phi):
        s = 0.01 + v @ x**2
        W += np.outer(v * x / s, phi - x @ W)
        v -= (v * x) ** 2 / s
    assert norms.max() > 0
    np.testing.assert_allclose(found[1][0], np.array(rows[9:]) @ W, atol=1e-10)


def test_the_ensemble_has_them_for_sparse_rows_of_parts(rng):
    """In a file too, and for dicts; rows of numbers have units, and none."""
    loss = losses.Sequence("ab")
    xs = [[{f"w{j}": 1.0} for j in rng.integers(9, size=3)] for _ in range(8)]
    learner = Ensemble(loss).partial_fit(xs, ["aba"] * 8)
    assert [name for name in learner.expert_weights() if "columns" in name] == [
        f"ridge, columns, lam {lam:g}" for lam in LAMS
    ]
    again = oskaar.from_bytes(learner.to_bytes())
    for each in (learner, again):
        each.learn_one([{"w1": 1.0}, {"new": 2.0}], "ab")
    assert again.to_bytes() == learner.to_bytes()
    numbers = Ensemble(loss).partial_fit(list(rng.normal(size=(8, 3, 2))), ["aba"] * 8)
    assert not any("columns" in name for name in numbers.expert_weights())


def test_memory_is_bounded(rng):
    """Growth covers what a round takes, and ends at MOST columns."""
    expert, inputs = ColumnRidges(LAMS), Inputs(None, parts=True)
    for _ in range(5):
        before, bound = expert.solver.W.nbytes + expert.solver.V.nbytes, expert.growth(8)
        rounds = [(sparse_rows(rng, 8, 400), rng.normal(size=(8, 2)))]
        learned(expert, inputs, rounds, [2])
        assert expert.solver.W.nbytes + expert.solver.V.nbytes <= before + bound or not before
    assert expert.growth(10**9) == expert.growth(10**6)

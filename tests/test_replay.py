import json

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import blocks, few, labels_of, lams, rows, small_losses

from oskaar import OSKAAR, MostFrequent, RepeatLast, kernels, losses, replay


def run_loop(learner, xs, ys):
    predictions, estimates, paid = [], [], []
    for x, y in zip(xs, ys, strict=True):
        estimates.append(learner.estimate(x))
        predictions.append(learner.predict_one(x))
        paid.append(learner.loss(predictions[-1], y))
        learner.learn_one(x, y)
    return predictions, estimates, paid


@given(st.data(), rows(max_rounds=25), lams(), st.booleans(), st.integers(0, 10))
def test_replay_is_the_loop(data, X, lam, shifted, before):
    """Estimates, answers, losses, regret and the learner left behind, also from the middle of a stream."""
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    fast, slow = (OSKAAR(loss, kernels.Gaussian() + 1.0, lam=lam, shifted=shifted) for _ in range(2))
    for learner in (fast, slow):
        learner.learn_many(X[:before], ys[:before])
    result = replay(fast, X[before:], ys[before:])
    predictions, estimates, paid = run_loop(slow, X[before:], ys[before:])
    assert result.estimates.shape == (len(paid), loss.p)
    np.testing.assert_allclose(result.estimates, np.reshape(estimates, (len(paid), loss.p)), atol=1e-10)
    assert len(result.predictions) == len(predictions)
    np.testing.assert_allclose(result.losses, paid, atol=1e-9)
    assert fast.rounds == slow.rounds
    assert fast.regret == pytest.approx(slow.regret, abs=1e-9)
    assert fast.surrogate_loss == pytest.approx(slow.surrogate_loss, abs=1e-9)
    x = np.full(X.shape[1], 0.1)
    np.testing.assert_allclose(fast.estimate(x), slow.estimate(x), atol=1e-10)
    np.testing.assert_allclose(fast.average_estimate(x), slow.average_estimate(x), atol=1e-10)


@given(blocks(max_rounds=8), lams(), st.booleans())
def test_replay_of_rounds_of_several_rows(rounds, lam, shifted):
    loss = losses.PerRow(losses.Ordinal(3))
    ys = [[(i + j) % 3 for j in range(len(x))] for i, x in enumerate(rounds)]
    fast, slow = (OSKAAR(loss, kernels.Matern(), lam=lam, shifted=shifted) for _ in range(2))
    result = replay(fast, rounds, ys)
    predictions, estimates, paid = run_loop(slow, rounds, ys)
    for a, b in zip(result.estimates, estimates, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
    np.testing.assert_allclose(result.losses, paid, atol=1e-10)
    assert result.predictions == predictions
    np.testing.assert_allclose(fast.estimate(rounds[0]), slow.estimate(rounds[0]), atol=1e-10)


@pytest.mark.parametrize("shifted", few([True, False], 2))
def test_replay_across_panels(shifted, rng):
    """700 rounds: three panels, an odd start, sizes of sets that appear late."""
    X = rng.normal(size=(700, 3))
    ys = [frozenset(rng.choice(6, size=min(i // 100, 5), replace=False).tolist()) for i in range(700)]
    fast, slow = (OSKAAR(losses.F1(6), lam=0.2, shifted=shifted) for _ in range(2))
    for learner in (fast, slow):
        learner.learn_many(X[:33], ys[:33])
    seen = []
    result = replay(fast, X[33:], ys[33:], progress=lambda n, loss: seen.append((n, loss)))
    _, estimates, paid = run_loop(slow, X[33:], ys[33:])
    np.testing.assert_allclose(result.estimates, estimates, atol=1e-10)
    np.testing.assert_allclose(result.losses, paid, atol=1e-10)
    np.testing.assert_allclose(result.regret, np.cumsum(paid), atol=1e-8)
    assert seen[-1] == (667, pytest.approx(np.mean(paid)))
    assert fast._estimator.solver.factor.n == 700


def test_labels_seen_so_far_do_not_look_ahead(rng):
    """In a block the answer at round t may only be a label of rounds before t."""
    X, ys = rng.normal(size=(40, 2)), [f"w{i // 2}" for i in range(40)]
    delta = lambda z, y: abs(int(z[1:]) - int(y[1:]))  # noqa: E731
    fast, slow = OSKAAR(losses.LossTrick(delta)), OSKAAR(losses.LossTrick(delta))
    result = replay(fast, X, ys)
    predictions, _, paid = run_loop(slow, X, ys)
    assert result.predictions == predictions
    np.testing.assert_allclose(result.losses, paid)
    for t, z in enumerate(result.predictions):
        assert z is None if t == 0 else z in ys[:t]
    assert result.estimates.shape == (40, 20)


def test_duplicates_and_a_tiny_lam_fall_back_to_the_loop(rng):
    """A chunk with a round that rounding would change: the rounds before it are learned, as in a loop."""
    X = np.concatenate([np.repeat(rng.normal(size=(1, 2)), 2, axis=0), rng.normal(size=(3, 2))])[[0, 2, 3, 1, 4]]
    fast, slow = (OSKAAR(losses.ZeroOne(2), kernels.Gaussian(), lam=1e-14) for _ in range(2))
    for learner, run in ((fast, replay), (slow, run_loop)):
        with pytest.raises(ValueError, match="lam is too small"):
            run(learner, X, [0, 1, 0, 1, 0])
        assert learner.rounds == 3
    np.testing.assert_array_equal(fast.estimate(X[4]), slow.estimate(X[4]))


@pytest.mark.parametrize("form", ["array", "list", "sparse", "dicts", "objects"])
def test_inputs_in_every_form(form, rng):
    X = rng.normal(size=(30, 3)) * (rng.random((30, 3)) < 0.6)
    ys = rng.integers(3, size=30)
    expected = replay(OSKAAR(losses.ZeroOne(3), kernels.Gaussian() + 1.0, lam=0.2), X, ys)
    twin = kernels.Pairwise(lambda x, y: naive.gaussian(x, y) + 1)
    xs = {
        "array": X,
        "list": X.tolist(),
        "sparse": csr_array(X),
        "dicts": [{f"f{j}": v for j, v in enumerate(x) if v} for x in X],
        "objects": [tuple(x) for x in X],
    }[form]
    kernel = twin if form == "objects" else kernels.Gaussian() + 1.0
    result = replay(OSKAAR(losses.ZeroOne(3), kernel, lam=0.2), xs, ys)
    np.testing.assert_allclose(result.estimates, expected.estimates, atol=1e-10)
    loop = OSKAAR(losses.ZeroOne(3), kernel, lam=0.2)
    rows_ = [xs[[i], :] for i in range(30)] if form == "sparse" else xs
    predictions, estimates, _ = run_loop(loop, rows_, ys)
    np.testing.assert_allclose(estimates, expected.estimates, atol=1e-10)
    assert predictions == expected.predictions
    assert loop.predict(xs) == [loop.predict_one(x) for x in rows_]


def test_empty_stream():
    learner = OSKAAR(losses.F1(3))
    result = replay(learner, [], [])
    assert len(result) == 0
    assert np.isnan(result.mean_loss)
    assert result.estimates.shape == (0, 10)
    assert "0 rounds" in repr(result)
    assert learner.rounds == 0


def test_as_a_plain_object(rng):
    result = replay(OSKAAR(losses.ZeroOne("ab")), rng.normal(size=(4, 2)), "abab")
    again = json.loads(json.dumps(result.to_dict()))
    assert again["rounds"] == 4
    assert again["regret"] == result.regret.tolist()
    assert repr(result).startswith("Replay(4 rounds, mean loss")


def test_other_learners_run_in_a_loop():
    loss = losses.ZeroOne("ab")
    result = replay(RepeatLast(loss), [[0]] * 4, "aabb")
    assert result.predictions == [None, "a", "a", "b"]
    assert result.losses.tolist() == [0, 0, 1, 0]  # None counts as the answer of a learner that knows nothing
    assert result.estimates is None
    assert result.surrogate_losses is None
    assert result.to_dict()["surrogate_losses"] is None
    assert replay(MostFrequent(loss), [[0]] * 5, "abbab").predictions == [None, "a", "b", "b", "a"]
    with pytest.raises(TypeError, match="say how to judge it"):
        replay(object(), [[0]], ["a"])


def test_estimates_can_be_left_out(rng):
    result = replay(OSKAAR(losses.ZeroOne(2)), rng.normal(size=(5, 1)), [0, 1, 0, 1, 0], keep_estimates=False)
    assert result.estimates is None
    assert len(result.surrogate_losses) == 5

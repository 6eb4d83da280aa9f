"""Change points: the test as its definition says, the false alarms it may have, the changes it must find."""

import naive
import numpy as np
import pytest

import oskaar
from oskaar import SALAMI, kernels, losses, replay
from oskaar.learners.change_points import KEPT, RATE, ChangeDetector, shift
from oskaar.solvers.geometric_restarts import outlives

GIVEN = {"kernel": kernels.Gaussian(2.0) + 1.0, "lam": 0.3}


def alive_of(T, schedule):
    """The restarts of each round."""
    s = np.arange(T)
    return [s[: t + 1] if schedule == "all" else s[: t + 1][outlives(s[: t + 1], t)] for t in range(T)]


def padded(alive):
    S = max(map(len, alive))
    return np.array([[*here, *[-1] * (S - len(here))] for here in alive])


def restart_losses(Phi, alive, lam=0.3):
    """The losses (T, 1, S) of KAAR with a constant kernel, restarted: means of the labels since."""
    sums, restarts = np.concatenate([np.zeros((1, Phi.shape[1])), np.cumsum(Phi, axis=0)]), padded(alive)
    t = np.arange(len(Phi))[:, None]
    G = (sums[t] - sums[restarts]) / (t - restarts + 1 + lam)[..., None]
    return restarts, np.sum((Phi[:, None] - G) ** 2, axis=2)[:, None]


def detected(detector, restarts, paid):
    """The detector after rounds with restarts (T, S), -1 where there is none, and losses (T, J, S)."""
    for t, (here, losses_) in enumerate(zip(restarts, paid)):
        detector = detector.after(t + 1, here[here >= 0], losses_[:, here >= 0])
    return detector


def chain(rng, T, stay, labels):
    jumps = np.where(rng.random(T) < stay, 0, rng.integers(1, labels, size=T))
    return (rng.integers(labels) + np.cumsum(jumps)) % labels


def autoregressive(rng, T, rho):
    z = rng.normal(size=(T, 2))
    for t in range(1, T):
        z[t] = rho * z[t - 1] + np.sqrt(1 - rho**2) * z[t]
    return 0.2 * z


def sticky(loss, stay, labels):
    return lambda rng, T: loss.embed_many(chain(rng, T, stay, labels).tolist())


STATIONARY = {
    **{f"0-1, {stay}": sticky(losses.ZeroOne(2), stay, 2) for stay in (0.5, 0.8, 0.95, 0.99)},
    **{f"levels, {stay}": sticky(losses.Ordinal(5), stay, 5) for stay in (0.8, 0.95, 0.99)},
    **{f"vectors, {rho}": lambda rng, T, rho=rho: autoregressive(rng, T, rho) for rho in (0.0, 0.5, 0.9)},
}


@pytest.mark.parametrize(("schedule", "seed"), [("all", 0), ("geometric", 1), ("geometric", 2)])
def test_as_defined(schedule, seed):
    """Against the definition written the long way, on a stream with two changes."""
    rng, T, rate = np.random.default_rng(seed), 260, 0.01
    Phi = np.concatenate([0.3 * rng.normal(size=(n, 2)) + m for n, m in ((110, 0.0), (90, 0.9), (60, -0.9))])
    alive = alive_of(T, schedule)
    restarts, paid = restart_losses(Phi, alive)
    named = [dict(zip(restarts[t].tolist(), paid[t, 0].tolist())) for t in range(T)]
    expected = naive.change_points(named, [here.tolist() for here in alive], rate)
    found = detected(ChangeDetector(rate), restarts, paid).found
    assert len(found) >= 1
    assert [c[:2] for c in found] == [c[:2] for c in expected]
    np.testing.assert_allclose([10**-c.evidence for c in found], [p for _, _, p in expected], rtol=1e-6)


@pytest.mark.parametrize("size", [6, 17, 40, 130])
def test_the_p_value_as_defined(size, rng):
    for rho in (0.0, 0.9):
        blocks = autoregressive(rng, size, rho)[:, 0] + 0.5 * (np.arange(size) > size - 4)
        (p, j), (expected, at) = shift(blocks), naive.rise(blocks.tolist())
        assert p == pytest.approx(expected, rel=1e-7)
        assert j == at
        assert shift(blocks, p) == (p, j)
        assert p == 0 or shift(blocks, p / 2)[0] > p / 2


def test_students_law_holds_for_independent_normal_blocks(rng):
    """P(p <= level) <= level: what the module says is proved."""
    p = np.array([shift(rng.normal(size=30))[0] for _ in range(1500)])
    for level in (0.004, 0.02, 0.1):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level / len(p))
    assert np.mean(p <= 0.1) > 0.005  # and it can fire


@pytest.mark.parametrize(
    ("schedule", "seeds"), [("all", 1), ("geometric", 4), pytest.param("geometric", 16, marks=pytest.mark.slow)]
)
def test_false_alarms(schedule, seeds):
    """Fewer than asked for, on independent and on sticky streams."""
    T, alarms = 400, {}
    alive = alive_of(T, schedule)
    for name, draw in STATIONARY.items():
        streams = [draw(np.random.default_rng([seed, 31]), T) for seed in range(seeds)]
        alarms[name] = sum(len(detected(ChangeDetector(), *restart_losses(Phi, alive)).found) for Phi in streams)
    assert sum(alarms.values()) <= RATE * T * seeds * len(STATIONARY), alarms
    Phi = np.where(np.arange(T) < 320, 0.7, -0.7)[:, None] + 0.1 * np.random.default_rng(0).normal(size=(T, 1))
    (change,) = detected(ChangeDetector(), *restart_losses(Phi, alive)).found
    assert abs(change.round - 321) <= (0 if schedule == "all" else 8)


def test_runs_of_a_sticky_chain_are_no_changes():
    """Labels that stay with probability 0.95: one alarm in 1000 rounds at most, here in 3000."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, ys = rng.normal(size=(500, 2)), chain(rng, 500, 0.95, 2).tolist()
        found += SALAMI(losses.ZeroOne(2), **GIVEN, budget=16).partial_fit(X, ys).change_points()
    assert len(found) <= 3


def test_a_change_is_placed_where_the_blocks_stand_out(rng):
    """Not at a restart that has gained for longer, and more."""
    T, alive = 340, alive_of(340, "all")
    t, restarts = np.arange(T)[:, None], padded(alive)
    paid = 0.5 + 0.1 * rng.random((T, T)) - 0.3 * (restarts == 30) + ((t >= 300) & (restarts < 300))
    (change,) = detected(ChangeDetector(), restarts, paid[:, None]).found
    assert abs(change.round - 301) <= 2
    gained = (paid[:, 0] - paid[:, 30])[30 : change.detected].sum()
    assert gained > (paid[:, 0] - paid[:, 300])[300 : change.detected].sum()


def test_no_more_than_five_times_the_rate_whatever_the_stream(rng):
    """Against one who knows the test: losses of the reference are large as soon as they can raise an alarm."""
    detector, alive = ChangeDetector(0.004), alive_of(700, "geometric")
    for t, restarts in enumerate(alive):
        bad = len(detector.blocks) * 8 >= 0.2 / 0.004 - 8
        paid = rng.random((1, len(restarts)))
        paid[0, np.searchsorted(restarts, detector.start)] += 1000.0 * bad
        detector = detector.after(t + 1, restarts, paid)
    detected = [0, *(c.detected for c in detector.found)]
    assert len(detected) > 4
    assert min(np.diff(detected)) >= 0.2 / 0.004


def test_so_many_blocks_are_kept(rng):
    T = 72 + 8 * KEPT + 100
    paid = rng.random((T, 1, 2))
    restarts = np.stack([np.zeros(T, dtype=int), np.maximum(np.arange(T) - 64, 0)], axis=1)
    restarts[:65, 1] = -1
    assert len(detected(ChangeDetector(0.0001), restarts, paid).blocks) == KEPT


def test_the_first_switch_of_a_sticky_stream():
    """Switches come at a pace of `pace` in m = 0.2 / rate rounds. The alarm is at the first, after m rounds or more,
    if it was in their last third or later and before the second: at most 0.2 n alarms by round n m, in expectation.
    """
    pace, n = np.meshgrid(np.geomspace(1e-3, 1e2, 400), np.geomspace(1.0, 1e3, 400))
    alarms = pace / 3 * np.exp(-pace) + np.exp(-pace) - np.exp(-pace * n)
    assert (alarms <= 0.2 * n).all()


def changing(rng, T=420, change=300):
    X = rng.normal(size=(T, 2))
    return X, [int((x[0] > 0) ^ (t >= change)) for t, x in enumerate(X)]


@pytest.mark.parametrize("settings", [{}, {"restarts": "geometric"}, {"budget": 20}, {"window": 100}])
def test_found_in_a_stream(settings, rng):
    """In chunks as in turn, near where it is, and not before."""
    X, ys = changing(rng, 160, 130)
    chunks, loop = (SALAMI(losses.ZeroOne(2), **GIVEN, **settings, false_alarms=0.01) for _ in range(2))
    chunks.partial_fit(X[:130], ys[:130])
    assert chunks.change_points() == []
    replay(chunks, X[130:], ys[130:])
    loop.learn_many(X, ys)
    (change,) = chunks.change_points()
    assert [c[:2] for c in loop.change_points()] == [change[:2]]
    assert abs(change.round - 131) < 12


def test_eta_does_not_matter(rng):
    """To the last bit, with a change and with one rate for another."""
    X, ys, etas = *changing(rng, 160, 130), (0.125, 0.5, 2.0)
    learners = [SALAMI(losses.ZeroOne(2), **GIVEN, eta=eta, false_alarms=0.01) for eta in etas]
    found = [learner.partial_fit(X, ys)._estimator.changes for learner in learners]
    assert found[0].found
    for other in found[1:]:
        assert (other.found, other.blocks, other.gains.tolist()) == (
            found[0].found,
            found[0].blocks,
            found[0].gains.tolist(),
        )


def test_later_labels_do_not_matter(rng):
    X, ys = changing(rng, 345)
    learners = [
        SALAMI(losses.ZeroOne(2), **GIVEN, budget=20).partial_fit(X, ys[:330] + late) for late in ([0] * 15, [1] * 15)
    ]
    ours, theirs = ([c for c in learner.change_points() if c.detected <= 330] for learner in learners)
    assert ours == theirs
    assert ours


def test_without_restarts_there_is_no_change(rng):
    X, ys = changing(rng)
    assert SALAMI(losses.ZeroOne(2), restarts=None, **GIVEN).fit(X, ys).change_points() == []


def test_a_smaller_rate_waits_longer(rng):
    X, ys = changing(rng, 160, 100)
    often, default = (SALAMI(losses.ZeroOne(2), **GIVEN, false_alarms=rate).fit(X, ys) for rate in (0.01, RATE))
    assert [abs(c.round - 101) < 12 for c in often.change_points()] == [True]
    assert default.change_points() == []


@pytest.mark.parametrize("rate", [0.0, 0.02, -1, float("nan")])
def test_a_rate_that_nothing_was_measured_for_is_refused(rate):
    with pytest.raises(ValueError, match="false_alarms must be from"):
        SALAMI(losses.ZeroOne(2), false_alarms=rate)


def test_saved_in_the_middle_of_a_block(rng, tmp_path):
    X, ys = changing(rng)
    whole = SALAMI(losses.ZeroOne(2), **GIVEN, budget=20, false_alarms=0.002)
    whole.partial_fit(X[:301], ys[:301])
    whole.save(tmp_path / "learner")
    again = oskaar.load(tmp_path / "learner")
    for learner in (whole, again):
        learner.partial_fit(X[301:], ys[301:])
    assert again.false_alarms == 0.002
    assert again.change_points() == whole.change_points() != []

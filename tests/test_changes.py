import numpy as np
import pytest

from oskaar import SALAMI, losses, replay
from oskaar.learners.changes import THRESHOLD, Changes


def evidence(*logs):
    return np.array(logs, dtype=float)


def test_no_evidence_no_change():
    quiet = Changes()
    assert quiet.after(1, np.array([0]), evidence(0.0)) is quiet
    assert quiet.after(3, np.array([0, 1, 2]), evidence(0.0, THRESHOLD, 1.0)) is quiet


def test_an_alarm_is_placed_at_the_best_restart():
    changes = Changes().after(30, np.arange(30), evidence(*[0] * 20, THRESHOLD + 1, *[0] * 9))
    assert [(c.round, c.detected) for c in changes.found] == [(21, 30)]
    assert changes.found[0].evidence == THRESHOLD + 1


def test_a_second_alarm_before_the_first_was_noticed_corrects_it():
    first = Changes().after(30, np.arange(30), evidence(*[0] * 20, 8, *[0] * 9))
    corrected = first.after(40, np.arange(40), evidence(*[0] * 25, 9, *[0] * 14))
    assert [c.round for c in corrected.found] == [26]
    later = corrected.after(90, np.arange(90), evidence(*[0] * 70, 9, *[0] * 19))
    assert [c.round for c in later.found] == [26, 71]


def test_forgotten_restarts_leave_the_oldest_as_the_reference():
    """In a window the restart from the last change is gone; the oldest that is left stands for it."""
    changes = Changes().after(100, np.arange(90, 100), evidence(0, *[1] * 9))
    assert changes.found == ()
    assert Changes().after(100, np.arange(90, 100), evidence(0, *[8] * 9)).found[0].round == 92


@pytest.mark.parametrize("restarts", ["all", "geometric"])
def test_found_in_a_stream(restarts, rng):
    """In chunks as in turn, near where it is, and not before."""
    X = rng.normal(size=(120, 2))
    ys = [int((x[0] > 0) ^ (t >= 60)) for t, x in enumerate(X)]
    chunks, loop = (SALAMI(losses.ZeroOne(2), restarts=restarts) for _ in range(2))
    chunks.partial_fit(X[:60], ys[:60])
    assert chunks.change_points() == []
    replay(chunks, X[60:], ys[60:])
    loop.learn_many(X, ys)
    assert [c[:2] for c in chunks.change_points()] == [c[:2] for c in loop.change_points()]
    assert len(chunks.change_points()) == 1
    assert abs(chunks.change_points()[0].round - 61) < 20


def test_without_restarts_there_is_no_change(rng):
    """On a stream where every restart finds one."""
    X = rng.normal(size=(120, 2))
    ys = [int((x[0] > 0) ^ (t >= 60)) for t, x in enumerate(X)]
    settings = {"lam": (0.05, 0.5), "eta": 0.5}
    assert SALAMI(losses.ZeroOne(2), restarts=None, **settings).fit(X, ys).change_points() == []
    assert SALAMI(losses.ZeroOne(2), **settings).fit(X, ys).change_points() != []


@pytest.mark.parametrize("seed", range(30))
def test_several_rounds_at_once_are_the_rounds_in_turn(seed):
    rng = np.random.default_rng(seed)
    n, S = 12, 9
    restarts = np.sort(rng.choice(40, S, replace=False))
    alive = rng.random((n, S)) < 0.7
    alive[:, rng.integers(S)] = True
    logs = rng.normal(0.0, 8.0, size=(n, S))
    turns = Changes()
    for i in range(n):
        turns = turns.after(41 + i, restarts[alive[i]], logs[i, alive[i]])
    assert Changes().through(40, np.where(alive, restarts, -1), logs) == turns
    assert turns.found

"""Real streams of levels, rankings, angles, distributions and points, nothing looking ahead: who is ahead of whom.

The readers are those of the benchmarks, which print the whole figures; here short prefixes have to do.
"""

from pathlib import Path

import numpy as np
import pytest

from oskaar import OSKAAR, SALAMI, losses, replay, streams

pytestmark = [pytest.mark.realdata, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))


@pytest.mark.parametrize("file", ["winequality-red.csv", "era.csv", "lev.csv"])
def test_levels_are_closer_than_the_running_median(data, file):
    import ordinal

    header = {name: rows for name, rows, _ in ordinal.FILES}[file]
    table = np.loadtxt(data / "ordinal" / file, delimiter=",", skiprows=header)
    table = np.random.default_rng(0).permutation(table)[:400]
    y = table[:, -1]
    levels = np.arange(int(y.min()), int(y.max()) + 1)
    loss, X, ys = losses.Ordinal(levels.tolist()), streams.standardised(table[:, :-1]), y.astype(int).tolist()
    median = np.abs(ordinal.running_median(y, levels) - y).mean()
    for learner in (OSKAAR(loss), SALAMI(loss)):
        assert replay(learner, X, ys, keep_estimates=False).mean_loss < 0.9 * median


@pytest.mark.parametrize("rows", [900, pytest.param(1599, marks=pytest.mark.slow)])
def test_wine_levels_are_closer_than_rounded_ridge(data, rows):
    """SALAMI untuned, on rows as they are: its kernels standardise them, as ridge's scaler does.

    SALAMI has 0.399 on all 1599 rows, ridge 0.437; on rows that were standardised online before SALAMI has 0.386.
    """
    pytest.importorskip("sklearn", reason="scikit-learn, of the extra `bench`, is not installed")
    import ordinal

    table = np.loadtxt(data / "ordinal" / "winequality-red.csv", delimiter=",")[:rows]
    y = table[:, -1]
    levels = np.arange(int(y.min()), int(y.max()) + 1)
    learner = SALAMI(losses.Ordinal(levels.tolist()))
    ours = replay(learner, table[:, :-1], y.astype(int).tolist(), keep_estimates=False).mean_loss
    assert ours < np.abs(ordinal.rounded_ridge(table[:, :-1], y, levels, ordinal.EVERY) - y).mean()


@pytest.mark.parametrize(("name", "goal"), [("glass", 0.85), ("wine", 0.94)])
def test_label_ranking(data, monkeypatch, name, goal):
    """lam chosen by folds inside the training rows, among three."""
    import rankings

    monkeypatch.setattr(rankings, "LAMS", (1e-4, 1e-3, 1e-2))
    monkeypatch.setattr(rankings, "SCALES", (1.0,))
    X, ys = rankings.read(data / "label_ranking" / f"{name}.csv")
    (ours, last, most), _ = rankings.cross_validated(X, ys, 0)
    assert ours >= goal
    assert ours > max(last, most)


def test_wind_turns_less_than_persistence_says(data):
    import manifolds

    *ours, persistence = manifolds.winds(data, rounds=1000, stations=("07650",))
    assert max(ours) < persistence


def test_energy_mix_is_closer_than_yesterday_and_last_week(data):
    import manifolds

    ours, yesterday, last_week = manifolds.energies(data, days=20)
    assert ours < min(yesterday, last_week)


def test_storms_leave_their_great_circle(data):
    import manifolds

    ours, great_circle, persistence = manifolds.storm_tracks(data, rounds=1000)
    assert ours < great_circle < persistence

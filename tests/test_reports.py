"""What reports are made of: curves, weights and worst rounds in bounded memory, and the recorder."""

import json
import math
import signal

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar import OSKAAR, SALAMI, RepeatLast, kernels, losses, replay, reports, theory
from oskaar.reports import figures, text
from oskaar.reports.history import Bad, Blocks, WeightHistory, Worst, rolling, running

RNG = np.random.default_rng(5)
X = RNG.normal(size=(200, 2)).round(3)
Y = np.where((X[:, 0] > 0) ^ (np.arange(200) >= 120), "up", "down").tolist()
LOSS = losses.ZeroOne(["up", "down"])

pieces = st.lists(st.lists(st.integers(0, 9), min_size=0, max_size=9), max_size=12)


@given(pieces, st.sampled_from([2, 4, 8]))
def test_blocks_are_sums_of_all_rounds(chunks, most):
    blocks = Blocks(["a", "b"], most)
    for chunk in chunks:
        values = np.array(chunk, dtype=float).reshape(1, -1)
        blocks.add(np.concatenate([values, -2 * values]))
    flat = [v for chunk in chunks for v in chunk]
    size, sums = naive.block_sums(flat, most)
    assert blocks.size == size
    assert blocks["a"].tolist() == sums
    assert blocks["b"].tolist() == [-2 * v for v in sums]
    assert blocks.ends.tolist() == [min(i + size, len(flat)) for i in range(0, len(flat), size)]
    again = Blocks.from_dict(json.loads(json.dumps(blocks.to_dict())))
    again.add(np.ones((2, 3)))
    blocks.add(np.ones((2, 3)))
    assert again.to_dict() == blocks.to_dict()


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=30), st.integers(1, 40))
def test_means_are_of_judged_rounds(rounds, window):
    values, judged = [v * j for v, j in rounds], [float(j) for _, j in rounds]
    so_far, lately = running(np.array(values), np.array(judged)), rolling(np.array(values), np.array(judged), window)
    for t in range(1, len(rounds) + 1):
        for found, first in ((so_far, 0), (lately, max(0, t - window))):
            expected = naive.mean_since(values, judged, first, t)
            assert math.isnan(found[t - 1]) if expected is None else found[t - 1] == pytest.approx(expected)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=40), st.integers(2, 7), st.sampled_from([2, 4, 6]))
def test_weights_are_binned_snapshots(steps, columns, rows):
    """Each kept column is the weights of its time in bins; columns are few, and none is kept when none is due."""
    weights, seen, t = WeightHistory(columns, rows), {}, 0
    for step in steps:
        t += step
        p = np.arange(1.0, t + 2)
        seen[t] = p / p.sum()
        if weights.due(t):
            weights.add(t, np.arange(1, t + 2), seen[t])
    assert 1 <= len(weights.rounds) <= columns
    assert weights.rounds == sorted(set(weights.rounds))
    last = weights.rounds[-1]
    assert rows * weights.width >= last + 1 > (rows * weights.width // 2 if weights.width > 1 else 0)
    for t, column in zip(weights.rounds, weights.picture().T):
        expected = naive.binned(range(1, t + 2), seen[t], weights.width, len(column))
        assert column == pytest.approx(expected)
        assert column.sum() == pytest.approx(1.0)
    assert WeightHistory.from_dict(json.loads(json.dumps(weights.to_dict()))).to_dict() == weights.to_dict()


def test_columns_of_weights_are_evenly_apart():
    weights = WeightHistory()
    for t in range(4, 4000, 4):
        if weights.due(t):
            weights.add(t, np.array([1, t + 1]), np.array([0.5, 0.5]))
    steps = np.diff(weights.rounds)
    assert 150 <= len(weights.rounds) <= 300
    assert steps.max() <= 2 * steps.min()


losses_drawn = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 1000)), max_size=25, unique_by=lambda pair: pair[1]
)


@given(losses_drawn, st.integers(1, 6), st.integers(1, 30))
def test_worst_rounds_are_the_worst(pairs, most, chunk):
    worst = Worst(most)
    for first in range(0, len(pairs), chunk):
        part = np.array(pairs[first : first + chunk], dtype=float)
        worst.add(part[:, 0], part[:, 1], lambda i, first=first: Bad(0, 0, first + i + 1, x=f"x{first + i + 1}"))
    expected = naive.worst_rounds([a for a, _ in pairs], [b for _, b in pairs], most)
    assert [bad.round for bad in worst.sorted()] == expected
    assert all(bad.x == f"x{bad.round}" and bad.loss == pairs[bad.round - 1][0] for bad in worst.sorted())
    assert Worst.from_dict(json.loads(json.dumps(worst.to_dict()))).sorted() == worst.sorted()


def test_texts_are_made_for_the_worst_only():
    worst, made = Worst(3), []
    worst.add(np.arange(100.0), np.zeros(100), lambda i: made.append(i) or Bad(0, 0, i + 1))
    assert sorted(made) == [97, 98, 99]


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_the_recorder_has_the_numbers_of_the_replay(chunk):
    learner = SALAMI(LOSS, kernels.Gaussian(1.0) + 1.0, false_alarms=0.01)
    baselines = {"repeat-last": RepeatLast(LOSS)}
    recorder = reports.record(learner, X, Y, baselines=baselines, chunk=chunk, columns=["a", "b"])
    expected = replay(SALAMI(LOSS, kernels.Gaussian(1.0) + 1.0), X, Y)
    other = replay(RepeatLast(LOSS), X, Y)
    shown = figures.losses(recorder)["data"]
    assert np.allclose(shown[0]["y"], np.cumsum(expected.losses) / np.arange(1, 201), atol=1e-6)
    assert np.allclose(shown[1]["y"], np.cumsum(other.losses) / np.arange(1, 201), atol=1e-6)
    assert recorder.mean("learner") == pytest.approx(expected.mean_loss)
    assert recorder.mean("repeat-last") == pytest.approx(other.mean_loss)
    curves = {trace["name"]: trace["y"] for trace in figures.regret(recorder)["data"]}
    assert np.allclose(curves["regret"], expected.regret)
    assert curves["bound"][-1] == pytest.approx(learner.regret_bound(), rel=1e-5)
    bounds = [
        theory.comparison_bound(t, LOSS.diameter / 2, expected.surrogate_losses[:t].sum()) for t in range(1, 201)
    ]
    assert np.allclose(curves["bound"], bounds, rtol=1e-4)
    assert recorder.changes == [list(change) for change in learner.change_points()]
    assert recorder.changes
    picture = recorder.weights.picture()
    rounds, p = learner.restart_weights()
    assert recorder.weights.rounds[-1] == 200
    assert picture[:, -1] == pytest.approx(naive.binned(rounds, p, recorder.weights.width, len(picture)))
    wrong = np.flatnonzero(expected.losses) + 1
    assert {bad.round for bad in recorder.worst.sorted()} <= set(wrong.tolist())
    bad = recorder.worst.sorted()[0]
    assert bad.x == f"a = {X[bad.round - 1][0]:.4g}, b = {X[bad.round - 1][1]:.4g}"
    assert (bad.y, bad.z) == (Y[bad.round - 1], expected.predictions[bad.round - 1])
    assert recorder.samples[-1] | {"dimension": 0} == {
        "probes": None,
        "round": 200,
        "bytes": learner.cost().bytes,
        "operations": learner.cost().operations,
        "dimension": 0,
    }
    assert recorder.samples[-1]["dimension"] == pytest.approx(learner.effective_dimension())


def test_a_recorder_goes_on_from_plain_data():
    """Through JSON in the middle: the same as without, but for the seconds."""

    def chunks(learner):
        for lo in range(0, 200, 20):
            here = slice(lo, lo + 20)
            yield reports.RecordedRounds(
                learner, X[here], Y[here], replay(learner, X[here], Y[here], keep_estimates=False)
            )

    whole, halved = reports.Recorder(), reports.Recorder()
    for chunk in chunks(SALAMI(LOSS)):
        whole.add(chunk)
    for i, chunk in enumerate(chunks(SALAMI(LOSS))):
        if i == 5:
            halved = reports.Recorder.from_dict(json.loads(json.dumps(halved.to_dict())))
        halved.add(chunk)
    assert halved.to_dict() == whole.to_dict()


def test_control_c_waits_for_a_chunk(monkeypatch):
    """It comes in the middle of a chunk that is written down: all of the chunk is there."""
    recorder, learner = reports.Recorder(), SALAMI(LOSS)
    add = Worst.add

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        add(*given)

    monkeypatch.setattr(Worst, "add", interrupted)
    happened = replay(learner, X[:50], Y[:50], keep_estimates=False)
    with pytest.raises(KeyboardInterrupt):
        recorder.add(reports.RecordedRounds(learner, X[:50], Y[:50], happened))
    assert recorder.rounds == 50
    assert recorder.worst_rounds()
    assert recorder.weights.rounds == [50]
    assert recorder.samples


def test_dimensions_are_estimated_where_rows_are_many():
    """Rows, not rounds: a few rounds may have many. Features are exact at any time."""
    loss = losses.PerRow(LOSS)
    xs, ys = [X] * 4, [Y] * 4
    recorder = reports.record(OSKAAR(loss), xs, ys, chunk=1)
    assert (recorder.rounds, recorder.rows) == (4, 800)
    assert [sample["probes"] for sample in recorder.samples] == [None, 32, 32, 32]
    assert "Estimated after 200 rows" in reports.html(recorder)
    recorder = reports.record(OSKAAR(loss, budget=8), xs, ys, chunk=1)
    assert [sample["probes"] for sample in recorder.samples] == [None] * 4
    assert "Estimated" not in reports.html(recorder).split("<script>", 1)[0]


def test_rounds_that_are_not_judged_are_seen_and_not_counted():
    recorder, learner = reports.Recorder(), OSKAAR(LOSS)
    happened = replay(learner, X, Y)
    judged = np.arange(200) >= 150
    recorder.add(reports.RecordedRounds(learner, X, Y, happened, judged=judged, lines=range(2, 202)))
    assert recorder.mean("learner") == pytest.approx(happened.losses[150:].mean())
    assert figures.losses(recorder)["data"][0]["y"][:150] == [None] * 150
    assert figures.regret(recorder)["data"][0]["y"][-1] == pytest.approx(learner.regret)
    assert all(bad.round > 150 and bad.line == bad.round + 1 for bad in recorder.worst.sorted())


def test_a_million_rounds_take_little_memory():
    """Curves, weights and worst rounds of bounded size, whatever the length."""

    class Made:
        """WeightHistory as SALAMI has them, without the work."""

        loss = LOSS

        def change_points(self):
            return []

        def restart_weights(self):
            return np.array([1, recorder.rounds + 1]), np.array([0.75, 0.25])

    recorder, made, size = reports.Recorder(), Made(), 5000
    xs, ys = np.zeros((size, 2)), ["up"] * size
    zs = RNG.choice(["up", "down"], size=(200, size))
    for z in zs:
        wrong = (z == "down").astype(float)
        recorder.add(
            reports.RecordedRounds(made, xs, ys, reports.recorder.Replay(z.tolist(), wrong, 0 * wrong, wrong, None))
        )
    assert recorder.rounds == 1_000_000
    assert recorder.mean("learner") == pytest.approx((zs == "down").mean())
    assert len(json.dumps(recorder.to_dict())) < 1_000_000
    assert len(reports.html(recorder)) < 6_500_000


@pytest.mark.parametrize(
    ("restarts", "window"), [("all", None), ("all", 40), ("geometric", None), ("geometric", 40), (None, None)]
)
def test_salamis_effective_dimension(restarts, window):
    """The mean over restarts, by their weights, of the dimension of the rows since; nothing changes by asking."""
    kernel, lams = kernels.Gaussian(1.0) + 1.0, [0.1, 1.0]
    learner = SALAMI(LOSS, kernel, lam=lams, restarts=restarts, window=window)
    for n in (1, 30, 59):  # with open rows, and without
        learner.fit(X[:n], Y[:n])
        before = learner.to_bytes()
        found = learner.effective_dimension()
        assert learner.to_bytes() == before or restarts != "all"
        alive = learner._estimator.births
        p = learner._estimator.weights.of_restarts(alive)
        K = naive.gram(lambda x, y: naive.gaussian(x, y) + 1.0, X[:n], X[:n])
        expected = sum(
            p[j, i] * naive.effective_dimension(K[s:, s:], lam)
            for j, lam in enumerate(lams)
            for i, s in enumerate(alive)
            if s < n
        )
        assert found == pytest.approx(expected, rel=1e-8 if restarts == "all" else 0.02)


def test_effective_dimension_on_features():
    learner = SALAMI(LOSS, kernels.Gaussian(1.0) + 1.0, lam=[0.1, 1.0], budget=200).fit(X[:150], Y[:150])
    exact = SALAMI(LOSS, kernels.Gaussian(1.0) + 1.0, lam=[0.1, 1.0], restarts="geometric").fit(X[:150], Y[:150])
    assert learner.effective_dimension() == pytest.approx(exact.effective_dimension(), rel=1e-4)


@pytest.mark.parametrize("make", [OSKAAR, SALAMI])
def test_probes_estimate_the_dimension(make):
    """Within four of the standard errors that the docstring gives, and exact where probes are as many as rows."""
    learner, fresh = (make(LOSS, kernels.Gaussian(0.5) + 1.0, lam=0.1).fit(X, Y) for _ in range(2))
    exact = learner.effective_dimension()
    found = fresh.effective_dimension(100)
    assert found != exact
    assert found == pytest.approx(exact, abs=4 * math.sqrt(2 * exact / 100))
    assert fresh.effective_dimension(200) == pytest.approx(exact)
    assert make(LOSS).effective_dimension() == 0


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (np.arange(30.0) % 2, "1 = 1, 3 = 1"),
        ({"a": "text", "b": 0.25}, "a = text, b = 0.25"),
        ([0.0, 1.0], "0 = 0, 1 = 1"),
        ("an\nobject", "an object"),
        (["z"] * 3, "0 = z"),
    ],
)
def test_rows_are_readable(x, expected):
    names = [str(i) for i in range(40)]
    assert text.row(x, names).startswith(expected)
    if len(x) == 30:
        assert text.row(x, names).endswith("... 30 in all")


def test_long_texts_are_cut():
    assert len(text.value("a" * 10**6)) == text.LONG
    assert len(text.row({"k" * 10**5: "v" * 10**5})) < 2 * text.LONG + 9
    assert text.value(range(3)) == "range(0, 3)"
    assert text.value(tuple(range(1000))).endswith("39, ... 1000 in all")
    assert text.value(frozenset({"b", "a"})) == "a, b"
    assert text.value(frozenset()) == "none"
    assert text.rows([[0.0]] * 50)[-1] == "... 50 in all"
    assert len(text.parts(["a"] * 50, 50)) == len(text.rows([[0.0]] * 50))


def test_refused():
    with pytest.raises(ValueError, match="most must be even"):
        Blocks(["a"], 3)
    with pytest.raises(ValueError, match="even number of rows"):
        WeightHistory(rows=3)

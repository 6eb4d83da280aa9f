"""The study's statistics against the long way."""

import naive_study as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar.cli.compare import bootstrap, resampled
from study import statistics
from study.plots import front
from study.tables import further, goals, in_words, lost, main_table, parts_table, ranking
from study.verdicts import cut, log_ratio, verdict, verdicts

numbers = st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=60)


@given(numbers, st.integers(1, 12), st.integers(0, 3))
def test_resampled_means_are_those_of_joined_blocks(values, length, seed):
    length = min(length, len(values))
    starts = np.random.default_rng(seed).integers(0, len(values), size=(25, -(-len(values) // length)))
    got = resampled(np.array(values), resamples=25, seed=seed, length=length)
    np.testing.assert_allclose(got, naive.block_means(values, starts, length), atol=1e-9)


@given(numbers)
def test_block_length(values):
    assert statistics.block_length(np.array(values)) == naive.block_length(values)


@pytest.mark.parametrize("order", [1, 2, 5, 12, 25, 60])
@pytest.mark.parametrize("seed", range(4))
def test_block_length_of_values_with_memory(order, seed):
    values = naive.moving_average(400, order, seed)
    assert statistics.block_length(np.array(values)) == naive.block_length(values)


def test_longer_memory_makes_longer_blocks_and_wider_intervals():
    quick, slow = (np.array(naive.moving_average(2000, order, seed=1)) for order in (1, 60))
    assert statistics.block_length(slow) > 2 * statistics.block_length(quick)
    low, high = statistics.interval(slow)
    near = bootstrap(slow, length=1)
    assert high - low > 3 * (near[1] - near[0])


def test_intervals_hold_the_mean_about_as_often_as_they_say():
    hits = 0
    for seed in range(200):
        low, high = statistics.interval(np.random.default_rng(seed).normal(size=400))
        hits += low <= 0 <= high
    assert 180 <= hits <= 199


def test_p_values_are_level_under_the_null_and_small_off_it():
    rng = np.random.default_rng(3)
    null = [statistics.worse(rng.normal(size=300)) for _ in range(200)]
    assert 2 <= sum(p < 0.05 for p in null) <= 24
    assert statistics.worse(rng.normal(size=300) + 0.4) < 0.001
    assert statistics.worse(rng.normal(size=300) - 0.4) > 0.99


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.floats(0, 1), max_size=8))
def test_holm_rejects_what_stepping_down_rejects(p_values):
    adjusted = statistics.holm(p_values)
    assert set(adjusted) == set(p_values)
    assert all(adjusted[name] >= p for name, p in p_values.items())
    near = any(abs(adjusted[name] - 0.05) < 1e-9 for name in adjusted)
    if not near:
        assert {name for name, p in adjusted.items() if p < 0.05} == naive.holm_rejects(p_values, 0.05)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12))
def test_front_is_what_nobody_dominates(points):
    kept = {points[i] for i in front(points)}
    assert kept == {p for p in points if not naive.dominated(p, points)}


def made(method, losses, role="peer", variant="default", cpu=1.0, total=100, status="ok"):
    found = {"stream": "s", "method": method, "role": role, "variant": variant, "cpu": cpu, "status": status}
    return {**found, "losses": np.array(losses, dtype=float), "rounds": len(losses), "capped": len(losses) < total}


def test_a_capped_run_is_judged_on_its_prefix():
    """The rival is better over its 50 rounds, though its mean looks worse than ours over 100."""
    ours = [1.0] * 50 + [0.0] * 50
    result = verdict("s", [made("Ensemble", ours, "ours"), made("slow", [0.8] * 50)])
    assert result.differences["slow"] == pytest.approx(0.2)
    assert not result.lowest
    assert result.significantly_worse_than == ["slow"]
    assert result.best_rival == "slow"


def test_hindsight_and_our_other_methods_are_no_rivals():
    runs = [made("Ensemble", [0.5] * 100, "ours"), made("OSKAAR", [0.1] * 100, "ours")]
    runs += [made("best constant", [0.0] * 100, "hindsight"), made("repeat-last", [0.6] * 100, "baseline")]
    result = verdict("s", runs)
    assert set(result.differences) == {"repeat-last"}
    assert result.lowest
    assert not result.repeat_last_wins


@pytest.mark.parametrize(
    ("loss", "cpu", "kept"), [(0.4, 2.0, True), (0.4, 1.0, False), (0.5, 0.9, False), (0.6, 0.1, True)]
)
def test_pareto(loss, cpu, kept):
    result = verdict("s", [made("Ensemble", [0.5] * 100, "ours"), made("a", [loss] * 100, cpu=cpu)])
    assert result.on_front is kept


def test_repeat_last_wins_and_failures_are_kept_apart():
    runs = [made("Ensemble", [0.5] * 100, "ours"), made("repeat-last", [0.1] * 100, "baseline")]
    runs += [{**made("a", [], status="failed"), "error": "no"}]
    (result,) = verdicts(runs)
    assert result.repeat_last_wins
    assert result.others == {"a": "failed: no"}
    assert verdict("s", runs[1:]) is None


def test_a_cut_run_is_its_prefix_with_the_time_of_its_marks():
    run = {**made("a", np.arange(400.0), cpu=9.0, total=400), "total": 400, "marks": [(100, 1.0), (200, 3.0)]}
    short = cut(run, 150)
    assert short["losses"].tolist() == list(range(150))
    assert (short["rounds"], short["total"], short["capped"]) == (150, 150, False)
    assert short["cpu"] == pytest.approx(2.0)
    assert cut(run, 400) == run
    slow = cut({**run, "losses": run["losses"][:120], "rounds": 120, "capped": True}, 150)
    assert (slow["rounds"], slow["capped"]) == (120, True)


def test_the_rival_picked_on_the_first_half_is_judged_on_the_second():
    early, late = [0.1] * 50 + [0.9] * 50, [0.8] * 50 + [0.3] * 50
    result = verdict("s", [made("Ensemble", [0.5] * 100, "ours"), made("early", early), made("late", late)])
    assert result.picked == "early"
    assert result.ratio("early", result.half) == pytest.approx(np.log(0.5 / 0.9), abs=0.01)
    assert result.best_late == "late"
    assert result.lowest
    assert not result.lowest_late


def test_runs_on_other_rows_are_not_compared():
    runs = [{**made("Ensemble", [0.5] * 9, "ours"), "content": "a"}, {**made("b", [0.5] * 9), "content": "b"}]
    with pytest.raises(ValueError, match="different rows"):
        verdict("s", runs)


def test_the_longest_run_of_a_method_counts():
    runs = [{**made("Ensemble", [0.5] * n, "ours", total=n), "total": n, "rounds_asked": n} for n in (20, 40)]
    (result,) = verdicts(runs)
    assert result.rounds == 40
    (result,) = verdicts(runs, 20)
    assert result.rounds == 20


def test_log_ratios_of_no_losses_are_finite():
    assert log_ratio(np.zeros(3), np.array([0.0, 1.0, 0.0])) == pytest.approx(np.log(0.5 / 1.5))


@given(st.integers(2, 6), st.integers(2, 8), st.integers(0, 5))
def test_mean_ranks_are_counted(methods, streams, seed):
    losses = np.random.default_rng(seed).integers(0, 4, size=(streams, methods)).astype(float)
    want = [
        np.mean([1 + (row < row[j]).sum() + ((row == row[j]).sum() - 1) / 2 for row in losses])
        for j in range(methods)
    ]
    np.testing.assert_allclose(statistics.mean_ranks(losses), want)


@given(st.lists(st.floats(1, 9), min_size=1, max_size=9), st.floats(0.1, 5))
def test_bars_join_all_that_are_not_apart(values, difference):
    values = np.sort(values)
    joined = {(i, j) for first, last in statistics.not_apart(values, difference) for i, j in pairs(first, last)}
    wanted = {(i, j) for i, j in pairs(0, len(values) - 1) if values[j] <= values[i] + difference}
    assert joined == wanted


def pairs(first, last):
    return [(i, j) for i in range(first, last + 1) for j in range(i + 1, last + 1)]


def whole(stream, method, losses, role="peer"):
    told = {"kind": "class", "loss": "ZeroOne(3)", "note": "", "source": "", "published": {}, "memory": 0}
    return {**made(method, losses, role), **told, "stream": stream, "total": 100}


def test_tables_say_what_was_missed_first():
    runs = [whole(s, "Ensemble", [loss] * 100, "ours") for s, loss in (("s", 0.5), ("t", 0.2))]
    runs += [whole(s, "a", [0.4] * 100) for s in "st"] + [whole("s", "SALAMI", [0.6] * 100, "ours")]
    found = verdicts(runs)
    lines = goals({"100 rounds": found})
    assert "| 1 of 2 (50%) | no |" in lines[2]
    assert lines[-1].endswith("| yes |")
    assert any("not behind on 1 of 2 (50%)" in line for line in further(found))
    assert [line.split()[1] for line in lost(found)] == ["s"]
    assert len(main_table(found)) == 4
    assert "lower on 1 of 2 streams and significantly so on 1 (s)" in in_words({"100 rounds": found})
    assert "| SALAMI | 1 | +0.18" in parts_table(found)[2]
    names, ranks, streams, difference = ranking(found)
    assert (names, ranks.tolist(), streams) == (["Ensemble", "a"], [1.5, 1.5], 2)
    assert difference > 0

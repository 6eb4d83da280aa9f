"""The study's statistics against the long way."""

import naive_study as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar.cli.compare import bootstrap, resampled
from study import statistics
from study.plots import front
from study.report import counts, standings
from study.verdicts import verdict, verdicts

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
    said = verdict("s", [made("Ensemble", ours, "ours"), made("slow", [0.8] * 50)])
    assert said.differences["slow"] == pytest.approx(0.2)
    assert not said.lowest
    assert said.significantly_worse_than == ["slow"]
    assert said.best_rival == "slow"


def test_hindsight_and_our_other_methods_are_no_rivals():
    runs = [made("Ensemble", [0.5] * 100, "ours"), made("OSKAAR", [0.1] * 100, "ours")]
    runs += [made("best constant", [0.0] * 100, "hindsight"), made("repeat-last", [0.6] * 100, "baseline")]
    said = verdict("s", runs)
    assert set(said.differences) == {"repeat-last"}
    assert said.lowest
    assert not said.repeat_last_wins


@pytest.mark.parametrize(
    ("loss", "cpu", "kept"), [(0.4, 2.0, True), (0.4, 1.0, False), (0.5, 0.9, False), (0.6, 0.1, True)]
)
def test_pareto(loss, cpu, kept):
    said = verdict("s", [made("Ensemble", [0.5] * 100, "ours"), made("a", [loss] * 100, cpu=cpu)])
    assert said.on_front is kept


def test_repeat_last_wins_and_failures_are_kept_apart():
    runs = [made("Ensemble", [0.5] * 100, "ours"), made("repeat-last", [0.1] * 100, "baseline")]
    runs += [{**made("a", [], status="failed"), "error": "no"}]
    (said,) = verdicts(runs)
    assert said.repeat_last_wins
    assert said.others == {"a": "failed: no"}
    assert verdict("s", runs[1:]) is None


def test_tuned_rivals_are_counted_apart():
    """The ensemble beats the rival at its defaults, and not the tuned one."""
    runs = [made("Ensemble", [0.5] * 100, "ours"), made("a", [0.6] * 100), made("a", [0.4] * 100, variant="tuned")]
    lines = [line for line in standings(runs) if "has the lowest loss on" in line and "goal" in line]
    assert [line.split(" on ")[1][:6] for line in lines] == ["1 of 1", "0 of 1"]
    assert standings(runs[:2]) == counts(verdicts(runs[:2]))

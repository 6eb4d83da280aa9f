"""The study from end to end on tiny streams, and its parts."""

import hashlib
import json
from dataclasses import replace
from itertools import islice, repeat

import numpy as np
import pytest
from scipy.sparse import csr_array
from strategies import few

from oskaar import OSKAAR, SALAMI, Ensemble, losses
from study import one
from study.__main__ import QUICK_METHODS, QUICK_STREAMS, main
from study.baselines import BestSoFar, ToTheLeft, best_constant
from study.methods import Method, all_methods, first_answer, in_turn, of_peer
from study.ours import BUDGET, PARTS, learner_for, prepared
from study.peers.lags import with_lag
from study.peers.refitting import Refitted
from study.peers.targets import target_of
from study.protocol import KINDS, Peer, Stream
from study.run import LEFT_OUT, Options, Workers, chosen, finished, passes, path_of, plan, run, specify
from study.store import load
from study.streams import STREAMS

NOWHERE_NEEDED = [entry.name for entry in STREAMS.values() if entry.file is None and entry.name != "Shuttle"]


def tiny(T=40, kind="class", seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(T, 2)), rng.integers(3, size=T).tolist()
    return Stream("tiny", kind, X, y, losses.ZeroOne(3))


@pytest.mark.slow
@pytest.mark.parametrize("peers", [1, 2])
def test_quick_study_end_to_end_goes_on_where_it_stopped(tmp_path, capsys, monkeypatch, peers):
    monkeypatch.setattr("study.__main__.QUICK_PEERS", peers)
    arguments = ["--quick", "--streams", QUICK_STREAMS[1], "--jobs", "2", "--results", str(tmp_path), "--no-plots"]
    assert main(arguments) == 0
    found = json.loads((tmp_path / "study.json").read_text())
    well = [run for run in found["runs"] if run["status"] == "ok"]
    assert {run["stream"] for run in well} == {QUICK_STREAMS[1]}
    assert {*QUICK_METHODS} <= {run["method"] for run in well}
    assert all(run["rounds"] == 120 and run["versions"]["numpy"] and run["seed"] == 0 for run in well)
    assert not [run for run in found["runs"] if run["status"] == "failed"]
    table = (tmp_path / "table.md").read_text()
    assert f"| {QUICK_STREAMS[1]} | ordinal | 120 |" in table
    assert "goal, on the streams kept apart" in table
    gone = next((tmp_path / "runs").glob("*.npz"))
    before = load(gone)
    gone.unlink()
    capsys.readouterr()
    main(arguments)
    text = capsys.readouterr().out
    assert f"{len(found['runs']) - 1} of them done before" in text
    assert text.count("left]") == 1
    np.testing.assert_array_equal(load(gone)["losses"], before["losses"])


@pytest.mark.parametrize("cls", [OSKAAR, Ensemble])
def test_ours_are_the_loop(cls):
    stream = tiny()
    got = np.concatenate(list(all_methods()[cls.__name__].losses(stream, {}, 0)))
    learner, want = cls(stream.loss), []
    for x, y in zip(stream.xs, stream.ys):
        want.append(stream.loss(learner.predict_one(x), y))
        learner.learn_one(x, y)
    np.testing.assert_array_equal(got, want)


def test_many_rows_bring_a_budget_and_sparse_rows_stay_as_they_are():
    small, sparse = tiny(), csr_array(np.eye(4))
    assert learner_for(Ensemble, small, {}).budget is None
    assert learner_for(SALAMI, tiny(5_001), {}).budget == BUDGET
    assert learner_for(Ensemble, tiny(5_001), {}).budget is None
    assert prepared(Stream("s", "class", sparse, [0, 1, 2, 0], losses.ZeroOne(3))) is sparse


@pytest.mark.parametrize("name", PARTS)
def test_an_ensemble_without_a_part_has_a_loss_each_round(name):
    assert sum(len(chunk) for chunk in all_methods()[name].losses(tiny(), PARTS[name], 0)) == 40


def test_settings_of_the_ensemble_are_it_and_the_paper_with_a_kernel_or_lams():
    made = [learner_for(Ensemble, tiny(), setting) for setting in all_methods()["Ensemble"].settings]
    assert [type(learner) for learner in made] == [Ensemble, *[SALAMI] * 5]
    assert all(learner.kernel is not None or learner.lam != (0.05, 0.5) for learner in made[1:])


class Says:
    """Answers what it is told to, and keeps what it was shown."""

    def __init__(self, answers):
        self.answers, self.seen = iter(answers), []

    def predict_one(self, x):
        return next(self.answers)

    def learn_one(self, x, y):
        self.seen.append((x, y))


def test_none_is_judged_as_the_answer_of_a_learner_that_knows_nothing():
    stream = tiny(3)
    model = Says([None, 1, 2])
    got = [loss for chunk in in_turn(model, stream) for loss in chunk]
    first = OSKAAR(stream.loss).predict_one(stream.x(0))
    assert first_answer(stream.loss, stream.x(0)) == first
    assert got == [float(z != y) for z, y in zip([first, 1, 2], stream.ys)]
    assert [y for _, y in model.seen] == stream.ys


def test_the_cap_keeps_what_was_done():
    def slowly():
        for value in (1.0, 2.0):
            yield [value]
        while True:
            sum(range(1000))

    values, seconds, capped, _ = one.timed(slowly(), 0.3)
    assert capped
    assert values.tolist() == [1.0, 2.0]
    assert 0.1 < seconds < 5
    values, _, capped, _ = one.timed(islice(repeat([0.5]), 3), 5.0)
    assert not capped
    assert values.tolist() == [0.5, 0.5, 0.5]


def test_tuning_sees_the_first_fifth_and_takes_the_best():
    lengths = []

    def losses_of(stream, setting, seed):
        lengths.append(len(stream))
        yield np.full(len(stream), setting["loss"])

    settings = ({"loss": 0.5}, {"loss": 0.1}, {"loss": 0.0}, {"loss": 0.3})
    method = Method("m", "", "peer", KINDS, settings, losses_of, skips=lambda stream, s: s["loss"] == 0.0)
    setting, table = one.tune(method, tiny(40), 0, 10.0)
    assert setting == {"loss": 0.1}
    assert lengths == [8, 8, 8]
    assert [row["mean"] for row in table] == [0.5, 0.1, pytest.approx(0.3)]


def test_a_setting_that_does_not_get_through_is_not_chosen():
    def losses_of(stream, setting, seed):
        yield [setting["loss"]]
        while setting["slow"]:
            sum(range(1000))
        yield np.full(len(stream) - 1, setting["loss"])

    settings = ({"loss": 0.5, "slow": False}, {"loss": 0.1, "slow": True})
    method = Method("m", "", "peer", KINDS, settings, losses_of)
    assert one.tune(method, tiny(40), 0, 1.0)[0] == settings[0]


def test_best_constants_are_the_best_by_enumeration():
    rng = np.random.default_rng(0)
    for loss, ys in (
        (losses.Ordinal(4), rng.integers(4, size=30).tolist()),
        (losses.F1(3), [frozenset(np.flatnonzero(row).tolist()) for row in rng.integers(2, size=(30, 3))]),
        (losses.Kendall(3), [tuple(rng.permutation(3).tolist()) for _ in range(30)]),
    ):
        stream = Stream("s", "class", np.zeros((30, 1)), ys, loss)
        z = best_constant(stream)(None)
        totals = [sum(loss(a, y) for y in ys) for a in loss.outputs()]
        assert sum(loss(z, y) for y in ys) == pytest.approx(min(totals))
        running = BestSoFar(loss)
        assert running.predict_one(None) is None
        for y in ys:
            running.learn_one(None, y)
        assert sum(loss(running.predict_one(None), y) for y in ys) == pytest.approx(min(totals))


def test_trees_are_attached_to_the_left():
    assert ToTheLeft().predict_one(np.zeros((9, 1))) == (0, 1, 2)


def peer(make, kinds=("class",)):
    return Peer("stub", "stub", kinds, ({},), make)


def test_a_missing_package_is_said_and_a_failure_is_kept(tmp_path, monkeypatch):
    def broken(stream, setting, seed):
        raise RuntimeError("broken on purpose")

    def missing(stream, setting, seed):
        raise ModuleNotFoundError("no stub here")

    options = Options(rounds=20, results=tmp_path)
    for make, status in ((missing, "missing"), (broken, "failed"), (lambda *a: Says(repeat(0)), "ok")):
        method = of_peer(peer(make))
        monkeypatch.setattr(one, "all_methods", lambda method=method: {"stub": method})
        spec = specify("synthetic-class-still", method, "default", options)
        told = tmp_path / "spec.json"
        told.write_text(json.dumps(spec))
        assert one.main([str(told), str(path_of(spec))]) == 0
        found = load(path_of(spec))
        assert found["status"] == status
        assert finished(spec, retry=True) is (status == "ok")
    assert found["rounds"] == 20
    with pytest.raises(ValueError, match="kinds that there are not"):
        of_peer(peer(missing, kinds=("classes",)))


def test_a_process_that_dies_is_a_failure(tmp_path):
    spec = specify("synthetic-class-still", all_methods()["repeat-last"], "default", Options(results=tmp_path))
    spec["method"] = "nobody"
    Workers().execute([spec])
    assert load(path_of(spec))["status"] == "failed"


@pytest.mark.slow
def test_an_interrupted_study_goes_on_without_failures(tmp_path):
    streams = ("synthetic-class-still", "synthetic-class-drift", "synthetic-class-change")  # runs on one go together
    options = Options(streams, ("repeat-last", "majority"), 20, results=tmp_path)

    def impatient(line):
        if "left]" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(options, say=impatient)
    done = [load(path)["status"] for path in (tmp_path / "runs").iterdir()]
    assert 1 <= len(done) < 6
    assert [found["status"] for found in run(options, say=lambda line: None)] == ["ok"] * 6
    assert set(done) == {"ok"}
    stopped = Workers()
    stopped.stop()
    spec = {**plan(options)[0][0], "key": "never"}
    stopped.execute([spec])
    assert not path_of(spec).exists()


def test_keys_change_with_what_is_run():
    method = all_methods()["Ensemble"]
    keys = {specify(*what)["key"] for what in (
        ("iris", method, "default", Options()),
        ("iris", method, "tuned", Options()),
        ("wine", method, "default", Options()),
        ("iris", method, "default", Options(rounds=10)),
        ("iris", method, "default", Options(seed=1)),
        ("iris", method, "default", Options(cap=1.0)),
        ("iris", all_methods()["OSKAAR"], "default", Options()),
    )}  # fmt: skip
    assert len(keys) == 7
    assert specify("iris", method, "tuned", Options())["default_key"] in keys


def test_plans_leave_out_what_is_not_there(tmp_path):
    specs, left_out = plan(Options(streams=("yeast", "synthetic-class-still"), folder=tmp_path))
    assert {spec["stream"] for spec in specs} == {"synthetic-class-still"}
    assert len(left_out) == 1
    assert "multilabel/yeast" in left_out[0]
    order = [spec["variant"] for spec in specs]
    assert order == sorted(order)
    with pytest.raises(ValueError, match="no stream 'yest'"):
        chosen(["yest"], STREAMS, "stream")
    assert run(Options(streams=("yeast",), folder=tmp_path), say=lambda line: None) == []


def test_streams_are_split_by_the_hash_of_the_name_that_shares_their_rows():
    kept = [name for name, entry in STREAMS.items() if entry.kept_apart]
    assert (len(kept), len(STREAMS)) == (36, 70)
    for name, entry in STREAMS.items():
        family = entry.family or name
        assert STREAMS[family].kept_apart is entry.kept_apart
        assert entry.kept_apart == (int(hashlib.sha256(family.encode()).hexdigest(), 16) % 2 == 1)
        assert entry.file is None or all(
            other.kept_apart is entry.kept_apart for other in STREAMS.values() if other.file == entry.file
        )


def test_a_run_of_a_peer_does_not_depend_on_the_text_of_the_library(monkeypatch):
    asked = []
    monkeypatch.setattr("study.run.code", lambda *folders: asked.extend(folders) or "")
    specify("iris", all_methods()["KernelRidge"], "default", Options())
    assert asked
    assert not [folder for folder in asked if folder.startswith("src")]
    specify("iris", all_methods()["Ensemble"], "default", Options())
    assert "src/oskaar/learners" in asked


def test_the_whole_study_has_every_method_once():
    made = passes(Options())
    assert [part.rounds for part in made] == [4000, 1000, 20_000, 1000]
    assert not set(made[0].streams) & set(made[3].streams)
    assert {*made[0].methods, *made[1].methods, *LEFT_OUT} == set(all_methods())


def test_refitted_models_answer_many_rounds_as_one_by_one():
    class Means(Refitted):
        def fit(self, X, Y):
            self.mean = Y.mean(axis=0)

        def scores(self, X):
            return self.mean + X[:, :1] * [[1.0, 0.0, 0.0]]

    stream = tiny(130)
    at_once = np.concatenate(list(in_turn(Means(target_of(stream)), stream)))
    model, one_by_one = Means(target_of(stream)), []
    for t, y in enumerate(stream.ys):
        z = model.predict_one(stream.x(t))
        one_by_one.append(stream.loss(first_answer(stream.loss, stream.x(t)) if z is None else z, y))
        model.learn_one(stream.x(t), y)
    np.testing.assert_array_equal(at_once, one_by_one)


def test_what_a_run_depends_on_has_a_name():
    stream = tiny()
    changed = Stream("tiny", "class", stream.xs, [*stream.ys[:-1], (stream.ys[-1] + 1) % 3], stream.loss)
    other = Stream("tiny", "class", stream.xs, stream.ys, losses.CostMatrix(2 - 2 * np.eye(3)))
    assert one.content(stream) == one.content(tiny())
    assert len({one.content(s) for s in (stream, changed, other, tiny(seed=1))}) == 4


def test_peers_get_the_last_label_on_streams_in_time():
    stream = tiny(5)
    assert with_lag(stream) is stream
    lagged = with_lag(replace(stream, lag=True))
    np.testing.assert_array_equal(lagged.xs[:, :2], stream.xs)
    np.testing.assert_array_equal(lagged.xs[1:, 2:], np.eye(3)[stream.ys[:-1]])
    sparse = with_lag(replace(stream, xs=csr_array(stream.xs), lag=True))
    np.testing.assert_array_equal(sparse.xs.toarray(), lagged.xs)


def test_streams_refuse_what_they_are_not():
    with pytest.raises(ValueError, match="a kind must be one of"):
        tiny(kind="klass")
    with pytest.raises(ValueError, match="as many inputs as labels"):
        Stream("s", "class", np.zeros((2, 1)), [0], losses.ZeroOne(2))
    with pytest.raises(ValueError, match="lists of blocks"):
        Stream("s", "sequence", np.zeros((1, 1)), [(0,)], losses.Sequence(2))


def same_prefix(entry, folder, few=40, more=60):
    """What is known of the first rounds does not change with how many follow: nothing looks ahead."""
    short, long = entry.read(folder, few), entry.read(folder, more)
    assert len(short) == min(few, len(long))
    assert short.kind == entry.kind
    assert short.n_columns == long.n_columns
    for t in range(len(short)):
        a, b = short.x(t), long.x(t)
        if short.sparse:
            assert a.shape == b.shape
            assert a.indices.dtype == a.indptr.dtype == np.int32
            assert abs(a - b).max() == 0
        else:
            assert a.dtype == float
            np.testing.assert_array_equal(a, b)
            assert np.isfinite(a).all()
        np.testing.assert_equal(short.ys[t], long.ys[t])
    return short


@pytest.mark.parametrize("name", NOWHERE_NEEDED)
def test_streams_that_need_no_files(name, tmp_path):
    entry = STREAMS[name]
    if entry.missing(tmp_path):
        pytest.skip(entry.missing(tmp_path))
    same_prefix(entry, tmp_path)


FILED = [entry.name for entry in STREAMS.values() if entry.file is not None]
BIG = ("20ng", "fried", "wind", "storms", "energy", "trees", "hamming")
"""Parts of the names of streams that take long to read, or are read for another loss anyway."""


@pytest.mark.realdata
@pytest.mark.parametrize("name", few([name for name in FILED if not any(big in name for big in BIG)], 4))
def test_streams_of_files(name, data):
    same_prefix(STREAMS[name], data)


@pytest.mark.slow
def test_a_long_stream_of_a_package(tmp_path):
    pytest.importorskip("river", reason="the stream comes with River")
    same_prefix(STREAMS["Shuttle"], tmp_path)


@pytest.mark.realdata
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILED if any(big in name for big in BIG)])
def test_streams_of_big_files(name, data):
    same_prefix(STREAMS[name], data)


@pytest.mark.realdata
def test_lagged_labels_are_those_of_the_round_before(data):
    levels = STREAMS["pollution-lagged"].read(data, 50)
    assert levels.xs[1:, -1].tolist() == levels.ys[:-1]
    ranks = STREAMS["rank-stock-lagged"].read(data, 50)
    for t in range(1, 50):
        assert tuple(np.argsort(ranks.xs[t, -5:]).tolist()) == ranks.ys[t - 1]


@pytest.mark.realdata
@pytest.mark.slow
def test_the_mix_of_the_hour_before_is_known(data):
    mix = STREAMS["energy-hour"].read(data, 50)
    np.testing.assert_allclose(mix.xs[1:, : len(mix.ys[0])], mix.ys[:-1])

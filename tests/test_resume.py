"""Checkpoints of runs: whatever stops them, going on gives what an uninterrupted run gives."""

import io
import json
import signal
import subprocess
import sys
import zipfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from files import node_of, taken_apart, together
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import oskaar
from oskaar import OSKAAR, SALAMI, Ensemble, losses, state
from oskaar.cli import main
from oskaar.cli import run as runs
from oskaar.cli.checkpoint import read_checkpoint
from oskaar.tabular import TableStream

RNG = np.random.default_rng(8)
N = 115
X = RNG.normal(size=(N, 2)).round(3)
WORDS = {"the": "DET", "cat": "NOUN", "dog": "NOUN", "sleeps": "VERB", "sees": "VERB"}


def table(y, x=X):
    rows = [",".join(map(str, [*a, *np.atleast_1d(b)])) for a, b in zip(x, y)]
    names = ["label_1", "label_2"] if np.ndim(y[0]) else ["y"]
    return "\n".join([",".join(["a", "b", *names]), *rows]) + "\n"


def sentences():
    chosen = [RNG.choice(list(WORDS), size=RNG.integers(1, 4)) for _ in range(N)]
    return "\n\n".join("\n".join(f"{w} {WORDS[w]}" for w in words) for words in chosen) + "\n"


def trees():
    token = "{}\t{}\t_\t{}\t_\t_\t{}\t_\t_\t_\n"
    pairs = [RNG.permutation([["cat", "NOUN"], ["sleeps", "VERB"]]) for _ in range(40)]
    heads = [(2, 0) if second[1] == "VERB" else (0, 1) for _, second in pairs]
    rows = [(token.format(1, *a, h), token.format(2, *b, k)) for (a, b), (h, k) in zip(pairs, heads)]
    return "".join(a + b + "\n" for a, b in rows)


def shuffled():
    text = table((X > 0).astype(int)).splitlines()
    order = RNG.permutation(N)
    return "\n".join(["when," + text[0], *(f"{t},{text[t + 1]}" for t in order)]) + "\n"


def holes():
    lines = table(100 * X[:, 0].round(2) + 0.5).splitlines()
    return "\n".join(line.replace("0", "", 1) if i % 7 == 3 else line for i, line in enumerate(lines)) + "\n"


def named():
    rows = [{"c": "red" if a > 0 else "blue", **({"n": a} if b > 0 else {}), "y": "ud"[a > b]} for a, b in X.tolist()]
    return "\n".join(map(json.dumps, rows)) + "\n"


RUNS = {
    "ensemble": ("a.csv", table((X > 0).astype(int)), []),
    "salami": ("a.csv", table((X > 0).astype(int)), ["--learner", "salami"]),
    "budget": ("a.csv", table((X > 0).astype(int)), ["--budget", "12"]),
    "batch": ("a.csv", table(np.where(X[:, 0] > 0, "u", "d")), ["--learner", "batch"]),
    "range": ("a.csv", table((9 * X[:, 0]).round(2)), ["--learner", "oskaar"]),
    "holes": ("a.csv", holes(), ["--learner", "oskaar", "--missing", "skip", "--limit", "101"]),
    "named": ("a.jsonl", named(), ["--learner", "oskaar"]),
    "sentences": ("a.conll", sentences(), ["--learner", "oskaar", "--classes", "DET,NOUN,VERB"]),
    "queries": ("a.letor", "".join(f"{i % 3} qid:{i // 3} 1:{i % 5}\n" for i in range(N)), ["--learner", "oskaar"]),
    "lags": ("a.csv", table((9 * X[:, 0]).round(2)), ["--learner", "oskaar", "--lags", "3"]),
    "late": ("a.csv", table((9 * X[:, 0]).round(2)), ["--learner", "oskaar", "--delay", "9", "--lags", "1"]),
    "trees": ("a.conllu", trees(), ["--learner", "oskaar", "--loss", "dependencytree"]),
    "order": ("a.csv", shuffled(), ["--learner", "oskaar", "--order", "when"]),
}


def quietly(arguments, stdin=None):
    """Run a command; its exit code, its output and its messages."""
    out, err, before = io.StringIO(), io.StringIO(), sys.stdin
    if stdin is not None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments)
    finally:
        sys.stdin = before
    return code, out.getvalue(), err.getvalue()


def settled(text):
    """A result without what time it took."""
    return {name: v for name, v in json.loads(text).items() if name not in ("seconds", "rounds_per_second")}


def stopping(monkeypatch, where, after):
    """Control-C in the middle of reading a round, or of learning some."""
    learning = [(runs, "replay"), (runs, "replay_until_refused")]
    calls = []

    def stopping_at_last(real):
        def stopped(*args, **more):
            calls.append(0)
            result = real(*args, **more)
            if len(calls) == after:
                signal.raise_signal(signal.SIGINT)
            return result

        return stopped

    for target, name in [(TableStream, "_label")] if where == "reading" else learning:
        monkeypatch.setattr(target, name, stopping_at_last(getattr(target, name)))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What each run gives when nothing stops it."""
    done = {}

    def result(kind, chunk):
        if (kind, chunk) not in done:
            folder = tmp_path_factory.mktemp("whole")
            name, text, more = RUNS[kind]
            (folder / name).write_text(text)
            command = ["learn", str(folder / name), *more, "--json", "--chunk", chunk, "--out", str(folder / "z")]
            code, out, _ = quietly(command)
            assert code == 0
            done[kind, chunk] = settled(out), (folder / "z").read_bytes()
        return done[kind, chunk]

    return result


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", sorted(RUNS))
@settings(max_examples=1, phases=[Phase.generate])  # shrinking would run for minutes
@given(st.data())
def test_going_on_gives_what_an_uninterrupted_run_gives(kind, tmp_path_factory, whole, data):
    """Stopped anywhere, twice: the same numbers to the last bit, and the same answers, none missing or twice."""
    chunk = data.draw(st.sampled_from(["5", "7", "40"]))
    expected, answers = whole(kind, chunk)
    folder = tmp_path_factory.mktemp("stopped")
    name, text, more = RUNS[kind]
    (folder / name).write_text(text)
    out = folder / "z"
    start = ["learn", str(folder / name), "--json", "--out", str(out), *more]
    codes = []
    for arguments in ([*start, "--chunk", chunk], [*start[:5], "--resume", "a.oskaar"]):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            where = data.draw(st.sampled_from(["reading", "learning"]))
            stopping(patch, where, data.draw(st.integers(1, N if where == "reading" else 3 * N // int(chunk))))
            codes.append(quietly(arguments)[0])
        if codes[-1] == 0:
            break
        with out.open("ab") as more_answers:
            more_answers.write(b"written after the checkpoint, by a run that was killed\n")
    if codes[-1] == 130:
        assert (folder / "a.oskaar").exists()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            code, result, _ = quietly([*start[:5], "--resume", "a.oskaar"])
        assert code == 0
        assert settled(result)["mean_loss"] == expected["mean_loss"]
        assert {**settled(result), "file": ""} == {**expected, "file": ""}
    assert out.read_bytes() == answers


@pytest.mark.parametrize(
    "kind", ["range", "ensemble", "named", "batch", "lags", "budget", "sentences", "salami", "order"]
)
def test_rows_that_were_read_and_not_learned_leave_no_trace(kind, here, whole):
    """Control-C in the middle of reading a chunk: its rows are read, and scaled, again."""
    name, text, more = RUNS[kind]
    Path(name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        stopping(patch, "reading", 25)
        assert quietly(["learn", name, "--chunk", "7", "--out", "z", *more])[0] == 130
    code, out, _ = quietly(["learn", name, "--resume", "a.oskaar", "--out", "z", "--json"])
    assert code == 0
    assert ({**settled(out), "file": ""}, Path("z").read_bytes()) == (
        {**whole(kind, "7")[0], "file": ""},
        whole(kind, "7")[1],
    )


def test_standard_input_starts_again(here, monkeypatch, whole):
    text = RUNS["ensemble"][1]
    with pytest.MonkeyPatch.context() as patch:
        stopping(patch, "learning", 5)
        code, _, err = quietly(["learn", "-", "--chunk", "7", "--json"], stdin=text)
    assert code == 130
    assert "go on with: oskaar learn - --resume stdin.oskaar" in err
    code, out, err = quietly(["learn", "-", "--resume", "stdin.oskaar", "--json"], stdin=text)
    assert code == 0
    assert "its first 14 rows are skipped" in err
    assert {**settled(out), "file": ""} == {**whole("ensemble", "7")[0], "file": ""}
    code, _, err = quietly(["learn", "-", "--resume", "stdin.oskaar"], stdin="\n".join(text.splitlines()[:60]))
    assert code == 2
    assert "has 59 rows and the checkpoint has read 100" in err


@pytest.fixture
def stopped(here):
    """A folder with a run that was stopped after 28 rounds, and its checkpoint."""
    name, text, more = RUNS["salami"]
    (here / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        stopping(patch, "learning", 10)
        code, out, _ = quietly(["learn", name, *more, "--chunk", "7", "--lam", "0.3", "--out", "z", "--json"])
    assert code == 130
    assert json.loads(out)["model"] == "a.oskaar"
    assert json.loads(out)["rounds"] == 28
    return here


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lam", "0.5"], "--lam is 0.5 and the run of a.oskaar had 0.3: leave it out"),
        (["--loss", "jaccard"], "--loss is jaccard and the run of a.oskaar had None"),
        (["--degrees"], "--degrees is True and the run of a.oskaar had False"),
        (["--every", "soon"], "--every must be a number of rounds"),
        (["--out", "other"], "--out other cannot be written: No such file"),
        (["--out", "a.csv"], "--out a.csv must begin with the answers so far"),
        (["--out="], "wrote its answers to z: give --out z again"),
    ],
)
def test_other_settings_are_refused(stopped, arguments, message):
    before = {path.name: path.read_bytes() for path in stopped.iterdir()}
    code, _, err = quietly(["learn", "a.csv", "--out", "z", "--resume", "a.oskaar", *arguments])
    assert code == 2
    assert message in err.splitlines()[-1]
    assert {path.name: path.read_bytes() for path in stopped.iterdir()} == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("label_1", "label_0", "y is ['label_0', 'label_2'] and was"),
        (str(X[3, 0]), "9.5", "it differs in the first 100 rows"),
    ],
)
def test_another_file_is_refused(stopped, old, new, message):
    """In one sentence, and nothing is touched."""
    (stopped / "a.csv").write_text((stopped / "a.csv").read_text().replace(old, new, 1))
    before = (stopped / "z").read_bytes()
    code, _, err = quietly(["learn", "a.csv", "--out", "z", "--resume", "a.oskaar"])
    assert code == 2
    assert message in err.splitlines()[-1]
    assert (stopped / "z").read_bytes() == before


def test_a_file_that_has_grown(here):
    """A run that has ended goes on when there are more rows; its last line may have had no end."""
    lines = RUNS["ensemble"][1].splitlines()
    (here / "a.csv").write_text("\n".join(lines[:111]))
    assert quietly(["learn", "a.csv", "--model", "c", "--learner", "oskaar"])[0] == 0
    (here / "a.csv").write_text("\n".join(lines))
    code, out, _ = quietly(["learn", "a.csv", "--resume", "c", "--json"])
    expected = settled(quietly(["learn", "a.csv", "--learner", "oskaar", "--json"])[1])
    assert code == 0
    found = settled(out)
    assert found["rounds"] == N
    assert found["mean_loss"] == pytest.approx(expected["mean_loss"], abs=1e-12)
    assert found["baselines"] == pytest.approx(expected["baselines"], abs=1e-12)


@pytest.mark.parametrize(("every", "written"), [("14", [14, 28, 42, 50]), ("1h", [50]), ("1s", [50])])
def test_regular_checkpoints(here, monkeypatch, every, written):
    (here / "a.csv").write_text(RUNS["ensemble"][1])
    seen, real = [], state.save
    monkeypatch.setattr(state, "save", lambda kept, path: (seen.append(kept["count"]), real(kept, path))[1])
    arguments = ["learn", "a.csv", "--limit", "50", "--chunk", "7", "--learner", "oskaar"]
    assert quietly([*arguments, "--model", "c", "--every", every])[0] == 0
    assert seen == written
    monkeypatch.setattr("time.monotonic", iter(range(0, 10000, 2)).__next__)
    seen.clear()
    if every == "1s":
        quietly([*arguments, "--model", "c", "--every", every])
        assert len(seen) > 4


def test_a_bad_row_keeps_what_came_before_it(here):
    """The row is mended, and the run goes on."""
    lines = RUNS["ensemble"][1].splitlines()
    (here / "a.csv").write_text("\n".join([*lines[:110], "1,,0", *lines[110:]]))
    arguments = ["learn", "a.csv", "--model", "c", "--learner", "oskaar", "--chunk", "40"]
    code, _, err = quietly(arguments)
    assert code == 2
    assert "line 111: there must be 4 values" in err
    assert read_checkpoint("c").count == 109
    (here / "a.csv").write_text(RUNS["ensemble"][1])
    code, out, _ = quietly(["learn", "a.csv", "--resume", "c", "--json"])
    assert code == 0
    at_once = settled(quietly(["learn", "a.csv", "--learner", "oskaar", "--chunk", "40", "--json"])[1])
    result = settled(out)
    for name in ("mean_loss", "baselines"):  # sums of other chunks
        assert result.pop(name) == pytest.approx(at_once.pop(name), abs=1e-9)
    assert result == at_once


def test_no_checkpoint_and_other_names(stopped):
    """One that is asked for, none at all, or a name that is still free."""
    for arguments, expected in (
        (["--no-model"], None),
        (["--model", "c"], "c"),
        ([], "a-2.oskaar"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            stopping(patch, "learning", 2)
            _, out, err = quietly(["learn", "a.csv", "--json", "--chunk", "7", *arguments])
        assert json.loads(out)["model"] == expected
        assert ("go on with" in err) == (expected is not None)
    for place, words in (("no/such/folder", "--model no/such/folder cannot be written"), (".", "Is a directory")):
        code, out, err = quietly(["learn", "a.csv", "--model", place])
        assert (code, out) == (2, "")
        assert words in err


def test_a_full_disk_is_reported(stopped, monkeypatch):
    """Results all the same, and how it is with the checkpoint."""

    def full(*args):
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        stopping(patch, "learning", 2)
        patch.setattr(state, "save", full)
        code, out, err = quietly(["learn", "a.csv", "--json", "--chunk", "7"])
    assert code == 130
    assert json.loads(out)["not_written"] == ["the model"]
    assert "the model could not be written: No space left on device" in err


def test_a_second_control_c_stops_at_once(here):
    """In the middle of learning: results so far, and no checkpoint of half a chunk."""
    (here / "a.csv").write_text(RUNS["ensemble"][1])
    with pytest.MonkeyPatch.context() as patch:
        real, calls = runs.replay_until_refused, []

        def twice(*args, **more):
            calls.append(0)
            if len(calls) == 2:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
            return real(*args, **more)

        patch.setattr(runs, "replay_until_refused", twice)
        code, out, err = quietly(["learn", "a.csv", "--json", "--chunk", "7"])
    assert code == 130
    assert json.loads(out)["rounds"] == 7
    assert json.loads(out)["model"] is None
    assert "there is no model of them" in err
    assert list(here.glob("*.oskaar")) == []


def test_parts_of_others(stopped):
    """What observers give goes into the checkpoint, and comes back."""
    kept = read_checkpoint("a.oskaar")
    kept.extra["report"] = {"points": [1, 2.5, None], "name": "x"}
    kept.save("b.oskaar")
    assert read_checkpoint("b.oskaar").extra["report"] == {"points": [1, 2.5, None], "name": "x"}


def damaged(data):
    """Files that are no checkpoints, with valid checksums where they have any."""
    manifest, arrays = taken_apart(data)
    yield b""
    yield b"not a zip"
    yield data[: len(data) // 2]
    with zipfile.ZipFile(foreign := io.BytesIO(), "w") as archive:
        archive.writestr("a.txt", "hello")
    yield foreign.getvalue()
    root = manifest["nodes"][manifest["root"][0]]["dict"]
    for name, value in [
        *(("kind", "other"), ("count", -1), ("count", None), ("totals", 3), ("total", "much"), ("learner", None)),
        *(("reading", 5), ("baselines", None)),
    ]:
        pairs = [[key, value if key == name else old] for key, old in root]
        nodes = [*manifest["nodes"][:-1], {"dict": pairs}]
        yield together({**manifest, "nodes": nodes}, arrays)
    yield together({**manifest, "nodes": [*manifest["nodes"][:-1], {"dict": root[1:]}]}, arrays)
    node_of(manifest, "RepeatLast")[0]["is"] = "subprocess:Popen"
    yield together(manifest, arrays)


def test_damaged_and_foreign_files(stopped):
    """One sentence, code 2, and nothing from the file is run."""
    for data in damaged((stopped / "a.oskaar").read_bytes()):
        (stopped / "bad").write_bytes(data)
        for arguments in (["learn", "a.csv", "--out", "z", "--resume", "bad"], ["inspect", "bad"]):
            code, out, err = quietly(arguments)
            assert code == 2
            assert out == ""
            assert err.startswith("oskaar: bad is no checkpoint that can be used: ")
            assert len(err.splitlines()) == 1
    assert (
        quietly(["inspect", "none"])[2] == "oskaar: none cannot be read: No such file or directory. Check the path.\n"
    )
    OSKAAR(losses.F1(2)).save("learner")
    code, _, err = quietly(["learn", "a.csv", "--resume", "learner"])
    assert code == 2
    assert "learner is a learner and no checkpoint of a run" in err
    assert oskaar.load("a.oskaar").rounds == read_checkpoint("a.oskaar").learner.rounds


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_real_control_c(here, whole):
    """A process, a signal, a second process: the answers and the numbers of one."""
    name, text, more = RUNS["ensemble"]
    (here / name).write_text(text)
    program = [sys.executable, "-m", "oskaar", "learn"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [*program, "-", *more, "--chunk", "3", "--json", "--out", "-", "--model", "c"], text=True, **pipes
    ) as process:
        process.stdin.write("".join(text.splitlines(keepends=True)[:106]))
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(105)]
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        assert process.wait() == 130
    assert "oskaar: go on with: oskaar learn - --resume c --out -" in err
    done = subprocess.run(
        [*program, "-", "--resume", "c", "--json", "--out", "-"], input=text, text=True, capture_output=True
    )
    assert done.returncode == 0
    expected, answers = whole("ensemble", "3")
    assert "".join(first) + done.stdout == answers.decode()
    assert {**settled(done.stderr.splitlines()[-1]), "file": ""} == {**expected, "file": ""}


def test_killed_runs_go_on_from_the_last_checkpoint(here, whole):
    """kill -9 gives no chance to write: what the last checkpoint has is what there is."""
    name, text, more = RUNS["ensemble"]
    (here / name).write_text(text)
    code = (
        "import os, oskaar.cli as c, oskaar.cli.checkpoint as k; real = k.Checkpointer.after\n"
        "def after(self, run):\n    real(self, run)\n    run.count >= 63 and os._exit(9)\n"
        f"k.Checkpointer.after = after; c.main(['learn', {name!r}, '--chunk', '7', '--out', 'z', '--model', "
        f"'c', '--every', '28', *{more!r}])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 9
    assert read_checkpoint("c").count == 56
    assert len(Path("z").read_text().splitlines()) == 63
    assert quietly(["learn", name, "--resume", "c", "--out", "z"])[0] == 0
    assert Path("z").read_bytes() == whole("ensemble", "7")[1]


def test_inspect(stopped, capsys):
    """What a checkpoint holds, for people and as JSON; also for files of learner.save."""
    assert main(["inspect", "a.oskaar", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kept = read_checkpoint("a.oskaar")
    assert found["what"] == "a model of oskaar learn"
    assert found["version"] == oskaar.__version__
    assert (found["rounds"], found["rows_read"], found["input"], found["answers"]) == (28, 28, "a.csv", "z")
    assert found["loss"] == "F1(['label_1', 'label_2'])"
    assert found["lam"] == [0.3]
    assert found["mean_loss"] == kept.total / 28 == kept.learner.total_loss / 28
    assert found["restarts_alive"] == 29
    rounds, weights = kept.learner.restart_weights()
    best = found["heaviest_restarts"][0]
    assert best["weight"] == weights.max() == weights[list(rounds).index(best["round"])]
    assert found["bytes"] == kept.learner.cost().bytes
    assert found["reproduce"] == "oskaar learn a.csv --learner salami --lam 0.3 --chunk 7"
    assert main(["inspect", "a.oskaar"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("a.oskaar: a model of oskaar learn, written by oskaar ")
    assert "heaviest restarts" in text
    learner = OSKAAR(losses.F1(2), lam=0.5).partial_fit(X[:9], (X[:9] > 0).astype(int))
    learner.save("l")
    assert main(["inspect", "l", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["what"], found["lam"], found["rounds"]) == ("a learner", 0.5, 9)
    assert found["effective_dimension"] == learner.effective_dimension()


def test_inspect_shows_experts(here, capsys):
    """The weights of the ensemble: all, heaviest first, as JSON; the heaviest five for people."""
    learner = Ensemble(losses.F1(2)).partial_fit(X[:40], (X[:40] > 0).astype(int))
    learner.save("l")
    assert main(["inspect", "l", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["experts"]
    assert found == learner.expert_weights()
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert len(found) == 13
    assert main(["inspect", "l"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("experts"))
    assert [part.rsplit(" (", 1)[0] for part in line.removeprefix("experts").strip().split("; ")] == list(found)[:5]
    SALAMI(losses.F1(2), lam=0.3).partial_fit(X[:9], (X[:9] > 0).astype(int)).save("paper")
    assert main(["inspect", "paper"]) == 0
    assert "experts" not in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["batch", "budget", "queries", "range"])
def test_inspect_shows_every_kind(kind, here, capsys):
    name, text, more = RUNS[kind]
    Path(name).write_text(text)
    quietly(["learn", name, "--limit", "30", *more, "--model", "c"])
    for json_too in ([], ["--json"]):
        assert main(["inspect", "c", *json_too]) == 0
        assert "oskaar learn" in capsys.readouterr().out

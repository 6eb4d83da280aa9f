import gzip
import io
import json
import signal
import subprocess
import sys
import tomllib
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar import OSKAAR, SALAMI, BatchILE, kernels, losses, replay, streams
from oskaar.cli import main
from oskaar.cli.compare import bootstrap, ranked
from oskaar.cli.console import Progress
from oskaar.cli.losses import EXAMPLES, IN_WORDS, listed
from oskaar.cli.options import parse
from oskaar.tabular import RoundOptions
from oskaar.tabular.labels import GROUPED, KNOWN, make_labels

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 3)).round(4)
TAGS = (X + 0.2 * RNG.normal(size=X.shape) > 0).astype(int)
NUMBERS = (X[:, 0] * 2 + 0.1 * RNG.normal(size=150)).round(3)
LEVELS = np.clip(np.round(X[:, 0] + 3), 1, 5).astype(int)
CLASSES = np.where(X[:, 0] > 0, "up", "down")


def tagged(rows=150):
    lines = ["x1,x2,x3,label_a,label_b,label_c"]
    lines += [",".join(map(str, [*x, *y])) for x, y in zip(X[:rows], TAGS[:rows])]
    return "\n".join(lines) + "\n"


def with_y(y, rows=150):
    return "x1,x2,x3,y\n" + "".join(",".join(map(str, [*x, v])) + "\n" for x, v in zip(X[:rows], y))


def test_replay_is_the_replay(run):
    """The numbers are those of replay() on the same rounds, and so are the baselines'."""
    code, out, _ = run(tagged(), "--loss", "f1", "--y", "label_*", "--learner", "oskaar", "--lam", "1", "--json")
    result = json.loads(out)
    loss = losses.F1(3)
    assert code == 0
    assert result["rounds"] == 150
    assert result["mean_loss"] == pytest.approx(replay(OSKAAR(loss, lam=1.0), X, TAGS).mean_loss, abs=1e-9)
    assert result["rounds_per_second"] > 0
    last = np.mean([loss(loss.check(a), loss.check(b)) for a, b in pairwise(TAGS)])
    assert result["baselines"]["repeat-last"] == pytest.approx(
        (last * 149 + loss(frozenset(), loss.check(TAGS[0]))) / 150
    )
    assert set(result["baselines"]) == {"repeat-last", "most-frequent"}


@pytest.mark.parametrize("chunk", ["1", "7", "64"])
def test_chunks_change_nothing(run, chunk, tmp_path):
    out = tmp_path / "z.jsonl"
    code, _, _ = run(
        *(tagged(), "--learner", "salami", "--kernel", "gaussian:0.7"),
        *("--lam", "0.3", "--chunk", chunk, "--out", str(out)),
    )
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    expected = replay(SALAMI(losses.F1(3), kernels.Gaussian(0.7) + 1.0, lam=0.3), X, TAGS)
    names = ["label_a", "label_b", "label_c"]
    assert code == 0
    assert [row["prediction"] for row in rows] == [[names[i] for i in sorted(z)] for z in expected.predictions]
    assert np.allclose([row["loss"] for row in rows], expected.losses)
    assert [row["line"] for row in rows] == list(range(2, 152))
    assert [row["round"] for row in rows] == list(range(1, 151))


@pytest.mark.parametrize(
    ("y", "words", "loss"),
    [
        (CLASSES, "'y' is text: treated as a class, loss ZeroOne", "ZeroOne("),
        (TAGS[:, 0], "'y' is 0/1: treated as a class", "ZeroOne("),
        (LEVELS, "whole numbers in few levels: loss Ordinal, levels are learned", "Ordinal()"),
        (NUMBERS, "numbers: loss Squared, their range is learned", "Squared()"),
    ],
)
def test_what_was_inferred_is_printed(run, y, words, loss):
    code, out, err = run(with_y(y), "--json", "--learner", "oskaar")
    result = json.loads(out)
    assert code == 0
    assert words in err
    assert "y is 'y', by its name" in err
    assert result["loss"].startswith(loss)
    means = result["baselines"].values()
    assert result["mean_loss"] < min(means)
    judged = 149 if loss[0] in "OS" else 150
    assert (result["rounds"], result["not_judged"]) == (judged, 150 - judged)


def test_a_subset_is_inferred(run):
    _, _, err = run(tagged())
    assert "y is the 3 columns 'label_a' to 'label_c' named label_*" in err
    assert "3 columns are 0/1: treated as a subset, loss F1" in err


def test_labels_are_judged_as_they_are(run):
    """A label far outside of all before it costs what it costs; a range that was given refuses it."""
    y = NUMBERS.copy()
    y[140] = 1e6
    _, out, _ = run(with_y(y), "--json", "--learner", "oskaar")
    result = json.loads(out)
    true = replay(OSKAAR(losses.Squared(), lam=1.0), X, y).losses[1:]
    assert result["mean_loss"] == pytest.approx(true.mean(), rel=1e-6)
    assert result["mean_loss"] > 1e12 / 200
    code, _, err = run(with_y(y), "--loss", "squared", "--low=-20", "--high", "20")
    assert code == 2
    assert "line 142: target 0 must be in [-20, 20]" in err


def test_only_the_first_number_is_not_judged(run):
    _, out, _ = run(with_y(NUMBERS, 20), "--json")
    result = json.loads(out)
    assert (result["not_judged"], result["rounds"]) == (1, 19)


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("", [], "is empty"),
        ("a,y\n", [], "has no rows"),
        (tagged(), ["--y", "tag_*"], "--y 'tag_*' names no column: the columns are x1"),
        (tagged(), ["--x", "z"], "--x 'z' names no column"),
        (tagged(), ["--order", "when"], "no value of 'when'"),
        (tagged(), ["--loss", "f2"], "--loss must be one of"),
        (tagged(), ["--loss", "losstrick"], "needs Python"),
        (tagged(), ["--loss", "zeroone"], "ZeroOne has one column for y, --y names 3"),
        (tagged(), ["--loss", "documents"], "needs --group"),
        (tagged(), ["--loss", "f1", "--group", "x1"], "--group goes with"),
        (tagged(), ["--learner", "forest"], "--learner must be one of"),
        (tagged(), ["--learner", "batch", "--budget", "9"], "--learner batch keeps all rows"),
        (tagged(), ["--learner", "oskaar", "--lam", "1,2"], "takes one lam"),
        (tagged(), ["--lam", "x"], "--lam must be a number"),
        (tagged(), ["--learner", "salami", "--lam", "0"], "lam must be finite and > 0"),
        (tagged(), ["--lam", "1"], "--lam goes with --learner salami and oskaar"),
        (tagged(), ["--kernel", "square"], "--kernel must be one of"),
        (tagged(), ["--limit", "0"], "must be a whole number >= 1"),
        (tagged(), ["--nonsense"], "unrecognized arguments: --nonsense"),
        (tagged(), ["--out", "/no/such/place"], "cannot be written"),
        (tagged(), ["--config", "/no/such.toml"], "cannot be read"),
        (tagged(), ["--max-bytes", "10000"], "lines"),
        (tagged()[:-4], [], "line 151: there must be 6 values"),
        (tagged() + "1,,3,0,1,1\n", ["--missing", "error"], "line 152: column 'x2' has no value: --missing skip"),
        (tagged() + "1,2,3,0,,1\n", [], "line 152: column 'label_b' has no value"),
        (tagged() + "1,2,3,0,5,1\n", [], "line 152: column 'label_b' must be 0 or 1, got 5"),
        (
            tagged() + "1,x,3,0,1,1\n",
            ["--kernel", "linear"],
            "line 152: column 'x2' must be a number, as in the first rows, got 'x'",
        ),
        (tagged() + "1,inf,3,0,1,1\n", [], "line 152: column 'x2' must be finite"),
        (tagged().encode() + b"\xff\n", [], "line 152: byte 0xff is not utf-8"),
        ("y\n1\n2\n", [], "no column left for x"),
        ("x,label_a,label_b\n1,0,odd\n", [], "no loss fits 2 columns of y with text in them, such as 'odd'"),
        (with_y(CLASSES), ["--loss", "ordinal"], "line 2: a level must be a whole number where none are listed"),
        (with_y(CLASSES), ["--loss", "squared"], "line 2: y must be a number, got"),
        (with_y(CLASSES), ["--loss", "circular"], "line 2: y must be a number, got"),
        (with_y(CLASSES), ["--loss", "zeroone", "--classes", "up"], "unknown class 'down'"),
    ],
)
def test_bad_input_is_one_sentence_and_code_2(run, text, arguments, message):
    code, out, err = run(text, *arguments)
    assert code == 2
    assert not out or "mean loss" in out  # the table of the rows before the bad one
    assert message in err.splitlines()[-1]
    assert "Traceback" not in err


WHOLE = {
    "csv": tagged(12),
    "jsonl": "\n".join(json.dumps({"x": x.tolist(), "y": str(y)}) for x, y in zip(X[:12], CLASSES)),
    "arff": "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute x numeric\n@data\n" + "1,0.5\n{1 2}\n" * 6,
    "svm": "1 qid:1 1:0.5\n0 qid:1 2:1\n" * 6,
    "conll": "the DET\ncat NOUN\n\n" * 6,
    "ssv": "id;subject;created;amount;tags\n"
    + "".join(f'{i:03};"no; {i}\n";2026-01-{i:02} 10:00;{i}.5;a|b\n7;log in now;;;b\n' for i in range(1, 7)),
}
JUNK = st.one_of(
    st.binary(max_size=3), st.sampled_from([b'"', b"\n", b"\r", b";", b",", b"\0", b"1e999", b"\xff\xfe", b"[{"])
)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", sorted(WHOLE))
@given(st.floats(0, 1), st.floats(0, 1), JUNK)
def test_damaged_files_never_end_in_a_traceback(tmp_path_factory, kind, packed, cut, place, junk):
    """Cut short, with odd bytes in the middle, compressed or not: a result or one sentence. 9,600 in `make fuzz`."""
    data = WHOLE[kind].encode()
    at = int(place * len(data))
    data = data[:at] + junk + data[at:]
    data = (gzip.compress(data) if packed else data)[: int(cut * 1.2 * len(data)) + 1]
    path = tmp_path_factory.mktemp("damaged") / f"a.{kind}"
    path.write_bytes(data)
    err = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(err):
        code = main(
            ["learn", str(path), "--learner", "oskaar", "--classes", "DET,NOUN"]
            if kind == "conll"
            else ["learn", str(path), "--learner", "oskaar"]
        )
    assert code in (0, 2)
    assert all(line.startswith("oskaar: ") for line in err.getvalue().splitlines())
    assert "this should not happen" not in err.getvalue()


def test_debug_shows_where(run):
    with pytest.raises(ValueError, match="is empty"):
        run("", "--debug")


def test_missing_values(run):
    text = tagged() + "1,,3,0,1,1\n" + "1,2,3,0,,1\n"
    _, out, _ = run(text, "--missing", "skip", "--json")
    assert (json.loads(out)["rounds"], json.loads(out)["skipped"]) == (150, 2)
    code, _, err = run(text, "--missing", "zero")
    assert code == 2
    assert "line 153: column 'label_b' has no value" in err


def test_order_and_limit(run):
    order = RNG.permutation(150)
    lines = tagged().splitlines()
    text = "time," + lines[0] + "\n" + "".join(f"{t},{lines[t + 1]}\n" for t in order)
    _, out, _ = run(text, "--order", "time", "--limit", "120", "--learner", "oskaar", "--json")
    expected = replay(OSKAAR(losses.F1(3)), X[:120], TAGS[:120]).mean_loss
    assert json.loads(out)["mean_loss"] == pytest.approx(expected, abs=1e-9)


def test_config(run, tmp_path):
    settings = tmp_path / "s.toml"
    settings.write_text(
        'y = "label_*"\nlam = [0.1, 1]\nlearner = "salami"\nbaselines = false\njson = true\nlimit = 50\n'
    )
    _, out, _ = run(tagged(), "--config", str(settings), "--limit", "40")
    result = json.loads(out)
    assert result["rounds"] == 40
    assert result["baselines"] == {}
    assert "lam=[0.1, 1.0]" in result["learner"]
    settings.write_text("colour = 1\n")
    assert run(tagged(), "--config", str(settings))[0] == 2
    settings.write_text("= 1\n")
    assert run(tagged(), "--config", str(settings))[0] == 2
    settings.write_text(f'file = "{tmp_path / "a.csv"}"\n')
    assert parse(["learn", "--config", str(settings)]).file == str(tmp_path / "a.csv")


def test_standard_input_and_output(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(tagged(30).encode())))
    assert main(["learn", "-", "--out", "-", "--json"]) == 0
    captured = capsys.readouterr()
    assert len([json.loads(line) for line in captured.out.splitlines()]) == 30
    assert json.loads(captured.err.splitlines()[-1])["rounds"] == 30


def test_json_rows(run):
    """Lists of numbers are x, lists of names are tags; objects with changing keys are named values."""
    rows = [{"x": x.tolist(), "y": [n for n, t in zip("abc", tags) if t]} for x, tags in zip(X, TAGS)]
    text = "\n".join(map(json.dumps, rows))
    arguments = ["--loss", "f1", "--classes", "a,b,c", "--learner", "oskaar", "--json"]
    _, out, _ = run(text, *arguments, name="a.jsonl")
    expected = replay(OSKAAR(losses.F1(3)), X, TAGS).mean_loss
    assert json.loads(out)["mean_loss"] == pytest.approx(expected, abs=1e-9)
    named = [
        {"colour": "red" if y == "up" else "blue", **({"more": 1.0} if i % 2 else {}), "y": y}
        for i, y in enumerate(CLASSES)
    ]
    _, out, _ = run("\n".join(map(json.dumps, named)), "--json", name="b.jsonl")
    assert json.loads(out)["mean_loss"] < 0.1
    code, _, err = run(text, "--loss", "f1", "--classes", "a,b", name="a.jsonl")
    assert code == 2
    assert "unknown label 'c': it must be one of 'a', 'b'" in err
    _, out, _ = run(text, "--loss", "f1", "--learner", "oskaar", "--json", name="a.jsonl")
    assert json.loads(out)["mean_loss"] == pytest.approx(expected, abs=0.02)  # tags as they appear


def test_queries(run):
    """LETOR: the documents of a query are one round."""
    grades = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)
    rows = [
        f"{g} qid:{i // 5} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x))
        for i, (g, x) in enumerate(zip(grades, X))
    ]
    _, out, _ = run("\n".join(rows), "--learner", "oskaar", "--json", "--limit", "25", name="a.letor")
    result = json.loads(out)
    assert result["rounds"] == 25
    assert result["loss"].startswith("Documents(")
    assert result["mean_loss"] < result["baselines"]["as-listed"]


def test_sentences(run):
    words = {"the": "DET", "cat": "NOUN", "dog": "NOUN", "sleeps": "VERB"}
    sentences = ["the cat sleeps", "the dog sleeps", "cat sleeps"] * 10
    text = "\n\n".join("\n".join(f"{w} {words[w]}" for w in s.split()) for s in sentences)
    _, out, _ = run(text, "--classes", "DET,NOUN,VERB", "--json", name="a.conll")
    result = json.loads(out)
    assert result["rounds"] == 30
    assert result["mean_loss"] < 0.2 < result["baselines"]["most-frequent"]
    _, out, _ = run(text, "--json", name="a.conll")
    assert json.loads(out)["mean_loss"] < 0.2  # symbols as they appear


def test_rankings(run):
    ranks = np.argsort(np.argsort(X, axis=1), axis=1) + 1
    text = "x1,x2,x3,L1,L2,L3\n" + "".join(",".join(map(str, [*x, *r])) + "\n" for x, r in zip(X, ranks))
    _, out, _ = run(text, "--y", "L*", "--loss", "kendall", "--json", "--learner", "oskaar")
    result = json.loads(out)
    ys = [losses.order_from_ranks(r) for r in ranks]
    assert result["mean_loss"] == pytest.approx(replay(OSKAAR(losses.Kendall(3)), X, ys).mean_loss, abs=1e-9)


def test_batch_learner(run):
    """Fitted again whenever there are a tenth more rounds."""
    _, out, _ = run(tagged(60), "--learner", "batch", "--lam", "0.01", "--json")
    loss, fitted, model, paid = losses.F1(3), 0, None, 0.0
    for t in range(60):
        z = model.predict_one(X[t]) if model else frozenset()
        paid += loss(z, loss.check(TAGS[t]))
        if t + 1 >= 1.1 * fitted:
            fitted, model = t + 1, BatchILE(loss, lam=0.01).fit(X[: t + 1], TAGS[: t + 1])
    assert json.loads(out)["mean_loss"] == pytest.approx(paid / 60, abs=1e-9)


def test_degrees(run, tmp_path):
    """Labels and answers in degrees, the loss that of radians."""
    degrees = np.degrees(np.arctan2(X[:, 1], X[:, 0])).round(2)
    where = tmp_path / "z.jsonl"
    _, out, _ = run(
        *(with_y(degrees), "--loss", "circular", "--degrees", "--learner", "oskaar", "--json", "--out", str(where))
    )
    expected = replay(OSKAAR(losses.Circular()), X, np.radians(degrees))
    assert json.loads(out)["mean_loss"] == pytest.approx(expected.mean_loss, abs=1e-9)
    found = [json.loads(line)["prediction"] for line in where.read_text().splitlines()]
    assert np.allclose(found, np.degrees(expected.predictions))


def test_kernel_names(run):
    for name, text in (
        ("gaussian", "Gaussian(lengthscale=1.732"),
        ("matern:2", "lengthscale=2.0"),
        ("linear", "Linear("),
    ):
        _, out, _ = run(tagged(20), "--kernel", name, "--json")
        assert text in json.loads(out)["learner"]


def test_columns_that_come_late(run):
    """By a schema they are read; for a kernel of one's own, those that were in no row of the first are refused."""
    first = [json.dumps({"a": 1.0, "b": 2.0, "y": "u"})] * 100
    late, absent = '{"a": 1, "b": 2, "c": 3, "y": "u"}', '{"b": 2, "y": "u"}'
    for row in (late, absent):
        assert json.loads(run("\n".join([*first, row]), "--json", name="a.jsonl")[1])["rounds"] == 101
    code, _, err = run("\n".join([*first, late]), "--kernel", "linear", name="a.jsonl")
    assert code == 2
    assert "line 101: 'c' is not in the first rows" in err
    code, _, err = run("\n".join([*first, absent]), "--kernel", "linear", name="a.jsonl")
    assert code == 2
    assert "line 101: column 'a' has no value" in err
    more = ["--kernel", "linear", "--missing", "zero", "--json"]
    code, out, _ = run("\n".join([*first, absent]), *more, name="a.jsonl")
    assert json.loads(out)["rounds"] == 101


def test_groups_of_a_table(run):
    """--group makes a round of equal neighbours in any format."""
    lines = ["word,x,y", *(f"{i // 3},{i % 3},{'abc'[i % 3]}" for i in range(60))]
    _, out, _ = run("\n".join(lines), "--group", "word", "--classes", "a,b,c", "--learner", "oskaar", "--json")
    result = json.loads(out)
    rows = [np.array([[0.0], [1.0], [2.0]])] * 20
    assert result["rounds"] == 20
    expected = replay(OSKAAR(losses.Sequence("abc")), rows, ["abc"] * 20)
    assert result["mean_loss"] == pytest.approx(expected.mean_loss, abs=1e-9)


def test_interruption_keeps_what_there_is(run, monkeypatch, tmp_path):
    from oskaar.cli import console

    calls = []
    monkeypatch.chdir(tmp_path)

    def stop(self, run):
        calls.append(run.count)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(console.Progress, "show", stop)
    code, out, err = run(tagged(), "--chunk", "40", "--json", "--learner", "oskaar")
    result = json.loads(out)
    assert code == 130
    assert result["interrupted"]
    assert result["rounds"] == 80
    assert result["mean_loss"] == pytest.approx(replay(OSKAAR(losses.F1(3)), X[:80], TAGS[:80]).mean_loss, abs=1e-9)
    assert "of the first 80 rounds" in err


def test_progress(run):
    _, _, err = run(tagged(), "--progress", "--limit", "150")
    assert "a second, mean loss" in err
    assert "a second" not in run(tagged())[2]


def test_time_is_promised_once_it_was_measured():
    """None in the first seconds, then by the pace of late."""
    progress = Progress(True, None)
    assert [progress._left(seconds, 0.001 * seconds) for seconds in (0.2, 1.0, 3.0)] == ["", "", ""]
    assert progress._left(4.2, 0.0142) == ", about 282 s left"
    assert progress._left(5.0, None) == ""


def test_every_loss_has_an_example():
    """Each is made as it says, and takes its example."""
    assert listed() == sorted(EXAMPLES)
    for name, (made, y, z, value) in EXAMPLES.items():
        if name == "Wasserstein" and find_spec("ot") is None:
            continue
        loss = eval(f"losses.{made}", {"losses": losses})
        assert type(loss).__name__ == name
        y = loss.check(y)
        assert loss(z, y) == pytest.approx(value, abs=1e-4), name
    assert sorted(IN_WORDS) == sorted(EXAMPLES)


def test_losses_command(capsys):
    assert main(["losses"]) == 0
    text = capsys.readouterr().out
    assert main(["losses", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["losses"]
    assert [row["name"] for row in rows] == listed()
    assert all(row["name"] in text and row["about"] for row in rows)


def test_every_loss_of_the_command_line_can_be_made():
    options = parse(
        [
            "learn",
            "f",
            "--classes",
            "a,b",
            "--levels",
            "1..3",
            "--low",
            "0",
            "--high",
            "1",
            "--k",
            "1",
            "--costs",
            "[[0, 2], [1, 0]]",
        ]
    )
    for name in KNOWN.values():
        if name == "Wasserstein" and find_spec("ot") is None:
            continue
        one = (*("ZeroOne", "Ordinal", "Circular", "Geodesic", "CostMatrix"), *GROUPED)
        columns = ["l1"] if name in one else ["l1", "l2", "l3", "l4"] if name == "Rotation" else ["l1", "l2"]
        labels = make_labels(name, columns, options)
        assert type(labels.loss).__name__ == name


def test_compare(run):
    arguments = ["--learner", "oskaar,salami", "--lam", "0.1,1", "--json"]
    code, out, _ = run(tagged(), *arguments, command="compare")
    rows = json.loads(out)["learners"]
    assert code == 0
    means = {row["name"]: row["mean_loss"] for row in rows}
    assert list(means.values()) == sorted(means.values())
    assert set(means) == {f"{a} lam={b}" for a in ("oskaar", "salami") for b in ("0.1", "1")} | {
        "repeat-last",
        "most-frequent",
    }
    expected = replay(OSKAAR(losses.F1(3), lam=0.1), X, TAGS).mean_loss
    assert means["oskaar lam=0.1"] == pytest.approx(expected, abs=1e-9)
    code, out, _ = run(tagged(), *arguments[:-1], command="compare")
    assert "95% interval" in out


def test_compare_judges_what_replay_judges(run):
    arguments = ["--learner", "oskaar", "--lam", "0.5", "--json"]
    one = json.loads(run(with_y(NUMBERS), *arguments)[1])
    many = json.loads(run(with_y(NUMBERS), *arguments, command="compare")[1])
    means = {row["name"]: row["mean_loss"] for row in many["learners"]}
    assert many["rounds"] == one["rounds"] == 149
    assert means == pytest.approx({"oskaar lam=0.5": one["mean_loss"], **one["baselines"]}, abs=1e-9)


def test_bootstrap_is_wider_where_neighbours_are_alike():
    rng = np.random.default_rng(0)
    alone = rng.normal(size=1000)
    alike = np.repeat(rng.normal(size=100), 10)
    low, high = bootstrap(alone)
    assert 0.8 * 3.92 / np.sqrt(1000) < high - low < 1.2 * 3.92 / np.sqrt(1000)
    assert np.subtract(*bootstrap(alike)[::-1]) > 2 * (high - low)
    rows = ranked({"bad": alone + 1, "good": alone})
    assert rows[1]["interval"] == pytest.approx([1.0, 1.0])


def test_demo(capsys):
    assert main(["demo", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (
        result["quarters"]["ensemble"][2] < result["quarters"]["oskaar"][2] < result["quarters"]["most-frequent"][2]
    )


def test_the_library_does_not_bring_the_command_line():
    code = "import sys, oskaar; print([m for m in sys.modules if m.startswith(('oskaar.cli', 'oskaar.tabular'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_round_options_are_those_of_the_command_line():
    """The same names and defaults in Python and on the command line."""
    options = vars(parse(["learn", "a.csv"]))
    assert RoundOptions(**{name: options[name] for name in vars(RoundOptions())}) == RoundOptions()


def test_the_script_is_declared():
    """pyproject.toml names main."""
    settings = Path(__file__).resolve().parents[1] / "pyproject.toml"
    assert tomllib.loads(settings.read_text())["project"]["scripts"] == {"oskaar": f"{main.__module__}:main"}


def test_warnings_are_printed(run, monkeypatch):
    from oskaar.cli import console

    monkeypatch.setattr(console.Progress, "show", lambda self, run: warnings.warn("mind this", stacklevel=1))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        _, _, err = run(tagged(20))
    assert "oskaar: mind this\n" in err


def test_as_a_program(tmp_path):
    """python -m oskaar: help, a pipe that closes, no traceback."""
    done = subprocess.run([sys.executable, "-m", "oskaar", "learn", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--missing" in done.stdout
    (tmp_path / "a.csv").write_text(tagged())
    command = [sys.executable, "-m", "oskaar", "learn", str(tmp_path / "a.csv"), "--out", "-", "--chunk", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 2
    assert "the pipe for results was closed" in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_control_c(tmp_path):
    """A pipe that stays open: answers come at once, and control-C ends with what there is."""
    command = [
        sys.executable,
        "-m",
        "oskaar",
        "learn",
        "-",
        "--out",
        "-",
        "--chunk",
        "1",
        "--json",
        "--limit",
        "9999",
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=tmp_path, **pipes) as process:
        process.stdin.write(tagged(110))
        process.stdin.flush()
        for _ in range(110):
            assert "prediction" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        assert process.wait() == 130
    result = json.loads(err.splitlines()[-1])
    assert result["rounds"] == 110
    assert result["interrupted"]


@pytest.mark.realdata
def test_yeast(data, capsys):
    """The file of Mulan, its labels by the list beside it."""
    path = str(data / "multilabel" / "yeast.arff.gz")
    assert (
        main(
            [
                "learn",
                path,
                "--limit",
                "300",
                "--learner",
                "oskaar",
                "--lam",
                "0.3",
                "--kernel",
                "gaussian:0.5",
                "--json",
            ]
        )
        == 0
    )
    result = json.loads(capsys.readouterr().out)
    rows, ys = streams.read_arff(path, -14)
    expected = replay(OSKAAR(losses.F1(14), kernels.Gaussian(0.5) + 1.0, lam=0.3), rows[:300], ys[:300])
    assert result["mean_loss"] == pytest.approx(expected.mean_loss, abs=1e-9)
    assert result["mean_loss"] < min(result["baselines"].values())

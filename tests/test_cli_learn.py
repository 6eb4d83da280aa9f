"""`oskaar learn` and `oskaar predict`: from a table as people have it to answers for new rows."""

import csv
import json
import random
import shutil
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import oskaar
from oskaar import Ensemble, losses
from oskaar.cli import main
from oskaar.cli.run import _place
from oskaar.metrics import verdict
from oskaar.tabular import Round
from oskaar.tabular.infer import tags_separator

TAGS = {"billing": 0.3, "refund": 0.2, "login": 0.25, "bug": 0.2, "shipping": 0.15, "feature": 0.15}
NAMES = ("id", "subject", "channel", "created", "amount", "tags")
SYLLABLES = ["ka", "ro", "mi", "te", "lu", "ba", "no", "si", "ver", "dan", "pol", "gri"]


def tickets(n, seed=0, labelled=True):
    """A text, a category, a date, a number with gaps, and tags with semicolons: each of the columns tells some."""
    words, rng, when, rows = random.Random(1), random.Random(seed), datetime(2026, 1, 1), []
    vocabulary = ["".join(words.choices(SYLLABLES, k=words.randint(2, 3))) for _ in range(300)]
    own = {tag: words.sample(vocabulary, 6) for tag in TAGS}
    for i in range(n):
        when += timedelta(minutes=rng.randint(1, 60))
        channel, amount = rng.choice(["web", "mail", "phone"]), rng.lognormvariate(3, 1)
        tags = [tag for tag, share in TAGS.items() if rng.random() < share]
        drawn = [word for tag in tags for word in rng.choices(own[tag], k=2)]
        drawn += rng.choices(vocabulary, [1 / (j + 1) for j in range(300)], k=rng.randint(2, 8))
        rng.shuffle(drawn)
        tags += ["vip"] if amount > 50 else []
        tags += ["urgent"] if channel == "phone" and when.weekday() >= 5 else []
        row = [f"T-{i}", " ".join(drawn), channel, when.isoformat(" ")]
        row += ["" if rng.random() < 0.2 else f"{amount:.2f}", *([";".join(tags)] if labelled else [])]
        rows.append(row)
    return rows


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([NAMES[: len(rows[0])], *rows])
    return str(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of 150 tickets, its file, and what learning printed."""
    folder = tmp_path_factory.mktemp("model")
    table, path = write(folder / "tickets.csv", tickets(150)), str(folder / "m.oskaar")
    done = subprocess.run(
        [sys.executable, "-m", "oskaar", "learn", table, "--y", "tags", "--model", path, "--json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return path, table, json.loads(done.stdout), done.stderr


def test_a_table_of_tags_is_learned(model):
    _, _, result, err = model
    assert result["mean_loss"] < 0.8 * min(result["baselines"].values())
    assert "several tags with ';' between them" in err
    for words in ("subject: text", "channel: category, 3 values", "created: time", "amount: number", "id: left out"):
        assert words in result["columns"]


def test_answers_for_new_rows_have_names_and_the_columns_of_the_file(model, tmp_path, capsys):
    path, _, _, _ = model
    new = write(tmp_path / "new.csv", tickets(20, seed=9, labelled=False))
    for ending in ("csv", "jsonl", "parquet"):
        assert main(["predict", path, new, "--out", str(tmp_path / f"a.{ending}")]) == 0
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == [f"T-{i}" for i in range(20)]
    learner, lines = oskaar.load(path), (tmp_path / "a.jsonl").read_text().splitlines()
    lost = 0.0
    for row, line, truth in zip(rows, lines, tickets(20, seed=9), strict=True):
        x = {name: row[name] for name in NAMES[:-1]}
        z = learner.predict_one(x)
        assert row["prediction"] == ";".join(sorted(z))
        assert json.loads(line)["prediction"] == sorted(z)
        lost += losses.F1()(z, frozenset(filter(None, truth[-1].split(";"))))
    assert lost / 20 < 0.4
    capsys.readouterr()
    assert main(["predict", path, new]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("T-0,")


@pytest.mark.slow
def test_2000_tickets(tmp_path):
    """The whole way on one core: learn, then answers to rows without labels, in names and far above the baselines."""
    rows, model = tickets(2200), str(tmp_path / "m.oskaar")
    table = write(tmp_path / "tickets.csv", rows[:2000])
    new, out = write(tmp_path / "new.csv", [row[:-1] for row in rows[2000:]]), tmp_path / "a.csv"
    learn = [sys.executable, "-m", "oskaar", "learn", table, "--y", "tags", "--model", model, "--json"]
    result = json.loads(subprocess.run(learn, capture_output=True, check=True).stdout)
    print(f"{result['rounds']} rounds in {result['seconds']:.1f} s")
    assert result["rounds"] == 2000
    assert result["mean_loss"] < 0.35 * min(result["baselines"].values())
    subprocess.run([sys.executable, "-m", "oskaar", "predict", model, new, "--out", str(out)], check=True)
    with open(out, newline="") as file:
        answers = [frozenset(filter(None, row["prediction"].split(";"))) for row in csv.DictReader(file)]
    truths = [frozenset(filter(None, row[-1].split(";"))) for row in rows[2000:]]
    assert frozenset().union(*answers) <= {*TAGS, "vip", "urgent"}
    assert sum(map(losses.F1(), answers, truths)) / 200 < 0.2


def test_a_file_of_another_schema_is_refused(model, tmp_path, capsys):
    path, _, _, _ = model
    (tmp_path / "odd.csv").write_text("id,subject\n1,hello\n")
    assert main(["predict", path, str(tmp_path / "odd.csv")]) == 2
    assert "column 'channel' is missing" in capsys.readouterr().err
    assert main(["predict", path, str(tmp_path / "odd.csv"), "--out", "a.doc"]) == 2
    assert ".csv, .jsonl or .parquet" in capsys.readouterr().err


def test_a_model_goes_on_with_another_file(model, tmp_path, capsys):
    path, _, _, _ = model
    copy = tmp_path / "m.oskaar"
    copy.write_bytes(Path(path).read_bytes())
    more = write(tmp_path / "more.csv", tickets(30, seed=5))
    assert main(["learn", more, "--model", str(copy), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 30
    both = Ensemble(losses.F1())
    for rows in (tickets(150), tickets(30, seed=5)):
        xs = [{name: cell or None for name, cell in zip(NAMES[:-1], row)} for row in rows]
        both.partial_fit(xs, [frozenset(filter(None, row[-1].split(";"))) for row in rows])
    again = oskaar.load(copy)
    assert again.rounds == both.rounds == 180
    assert again.total_loss == pytest.approx(both.total_loss, abs=1e-8)


def test_a_bad_row_ends_with_the_table_of_the_rows_before_it(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(170)) + "1,a,3\n")
    assert main(["learn", str(path), "--learner", "oskaar"]) == 2
    out, err = capsys.readouterr()
    assert "170 rounds" in out
    assert "mean loss" in out
    assert "line 172: there must be 2 values" in err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full")
def test_a_full_disk_loses_no_table(tmp_path, capsys, monkeypatch):
    from oskaar.cli.checkpoint import Checkpoint

    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(70)))
    assert main(["learn", str(path), "--learner", "oskaar", "--out", "/dev/full", "--json"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["not_written"] == ["the answers"]
    assert json.loads(out)["rounds"] == 70
    assert "takes no more answers" in err

    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Checkpoint, "save", full)
    assert main(["learn", str(path), "--learner", "oskaar", "--model", str(tmp_path / "m")]) == 1
    out, err = capsys.readouterr()
    assert "mean loss" in out
    assert "the model could not be written: No space left on device" in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_sigterm_leaves_a_table_and_a_model(tmp_path):
    command = [sys.executable, "-m", "oskaar", "learn", "-", "--out", "-", "--chunk", "1", "--json"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=tmp_path, **pipes) as process:
        process.stdin.write("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(110)))
        process.stdin.flush()
        for _ in range(110):
            assert "prediction" in process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        err = process.stderr.read()
        assert process.wait() == 128 + signal.SIGTERM
    result = json.loads(err.splitlines()[-1])
    assert result["rounds"] == 110
    assert oskaar.load(tmp_path / result["model"]).rounds == 110


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        (["a;b", "a", "b;c"], ";"),
        (["a|b", "b", "a|c", "c"], "|"),
        (["a, b", "b", "a, c"], ","),
        (["x y", "y", "x", "x z", "y", "z x", "x", "y"], " "),
        (["the cat sat on a mat", "no dog was ever there", "rain falls all day long"], None),
        (["red", "blue", "red"], None),
        (['["a", "b"]', "[]"], "json"),
        ([], None),
    ],
)
def test_what_parts_tags(texts, separator):
    assert tags_separator(texts) == separator


def test_columns_that_are_left_out_and_kinds_that_are_given(tmp_path, capsys):
    path = write(tmp_path / "t.csv", tickets(40))
    more = ["--y", "tags", "--drop", "id", "--x", "!created", "--as", "amount=category", "--learner", "oskaar"]
    assert main(["learn", path, *more, "--json"]) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert "amount: category" in columns
    assert "id" not in columns.replace("different", "")
    assert "created" not in columns
    assert main(["learn", path, "--as", "amount=colour"]) == 2
    assert "one of number" in capsys.readouterr().err


def test_words_of_the_command_line(capsys):
    assert main([]) == 0
    assert "learn" in capsys.readouterr().out
    for arguments, words in (
        (["lern", "a.csv"], "Did you mean learn?"),
        (["learn", "a.csv", "--kernal", "linear"], "Did you mean --kernel?"),
        (["losses", "kendal"], "Did you mean Kendall?"),
    ):
        assert main(arguments) == 2
        assert words in capsys.readouterr().err
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"oskaar {oskaar.__version__}\n"
    assert main(["losses", "subset-hamming"]) == 0
    assert "SubsetHamming (--loss subsethamming)" in capsys.readouterr().out


ASKED = {
    "oskaar comp": {"compare", "completion"},
    "oskaar learn --miss": {"--missing"},
    "oskaar learn a.csv --missing ": {"learn", "error", "skip", "zero"},
    "oskaar predict m --f": {"--format"},
    "oskaar completion ": {"bash", "zsh", "fish"},
}
"""What has been typed, and what may follow."""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, tmp_path, capsys):
    """The script is read without an error, and bash and fish complete what is asked of them."""
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", script], check=True)
    for line, expected in ASKED.items() if shell != "zsh" else ():
        words = [f"'{word}'" for word in line.split(" ")]
        ask = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _oskaar"
        ask += "; IFS=$'\\n'; echo \"${COMPREPLY[*]}\""
        ask = f"complete -C '{line}'" if shell == "fish" else ask
        command = [shell, "-c", f"source '{script}'; {ask}"]
        message = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert {answer.split("\t")[0] for answer in message.splitlines()} == expected, line


def test_quiet(tmp_path, capsys):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(20)))
    assert main(["learn", str(path), "--learner", "oskaar", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert "mean loss" in out
    assert err == ""
    assert main(["learn", str(tmp_path / "none"), "--quiet"]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_the_verdict_compares_with_the_best_baseline():
    loss = losses.Squared()
    assert verdict(loss, 0.0, {"mean": 0.0}) == "As much loss as the mean so far, the best baseline."
    assert verdict(loss, None, {"mean": 1.0}) == ""
    assert verdict(loss, 1.0, {}) == ""
    assert verdict(loss, 0.2, {"mean": 0.4, "repeat-last": None}).startswith("50% less loss than the mean so far")
    assert verdict(losses.ZeroOne(), 0.5, {"most-frequent": 0.0}).startswith("More errors than the most frequent")


def test_answers_of_a_directory_name_the_file_of_each_line(tmp_path, capsys):
    folder, out = tmp_path / "parts", tmp_path / "out.jsonl"
    folder.mkdir()
    for name, few in (("a.csv", tickets(3)), ("b.csv", tickets(2, seed=5))):
        write(folder / name, few)
    assert main(["learn", str(folder), "--y", "tags", "--out", str(out), "--delay", "1", "--quiet"]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["file"] for row in rows] == ["a.csv"] * 3 + ["b.csv"] * 2
    assert [row["line"] for row in rows] == [2, 3, 4, 2, 3]
    capsys.readouterr()


def test_refused_rows_of_a_directory_name_their_files():
    first, last = Round(4, [0.0], "a", False, "parts/a.csv"), Round(2, [0.0], "a", False, "parts/b.csv")
    assert _place("parts", first, last) == "parts/a.csv, line 4, to parts/b.csv, line 2"
    assert _place("parts", first, first) == "parts/a.csv, lines 4 to 4"
    assert _place("t.csv", first._replace(part=""), first._replace(part="")) == "t.csv, lines 4 to 4"


def test_a_report_of_a_model(tmp_path, monkeypatch, capsys):
    """The page of a run is made from its model alone, later, and is refused where there is no record of it."""
    pytest.importorskip("plotly")
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 3},{'uv'[i % 2]},{'abc'[i % 3]}" for i in range(60)]
    Path("data.csv").write_text("\n".join(["x,kind,y", *rows]))
    assert main(["learn", "data.csv", "--y", "y", "--model", "m.oskaar", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    Path("data.csv").unlink()
    assert "x: number; kind: category, 2 values; counted in the first " in result["columns"]
    assert main(["report", "m.oskaar", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": "report.html", "rounds": 60}
    page = Path("report.html").read_text(encoding="utf-8")
    assert "ensemble on data.csv" in page
    assert f"{result['mean_loss']:.4f}" in page
    assert "oskaar learn data.csv --y y" in page
    assert main(["report", "m.oskaar"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert Path("report.html").read_text(encoding="utf-8") == page
    assert main(["report", "m.oskaar", "--out", "no/folder/r.html"]) == 2
    oskaar.Ensemble(oskaar.losses.ZeroOne("ab")).save("bare.oskaar")
    assert main(["report", "bare.oskaar", "--out", "r.html"]) == 2
    assert not Path("r.html").exists()


def test_rounds_before_memory_ends_are_kept(tmp_path, capsys):
    """--max-bytes ends a run in the middle of a chunk: table, model, and more memory to go on with."""
    path, model = tmp_path / "a.csv", str(tmp_path / "m")
    path.write_text("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(400)))
    start = ["learn", str(path), "--learner", "oskaar", "--json", "--kernel", "gaussian"]
    assert main([*start, "--max-bytes", "900k", "--model", model]) == 2
    out, err = capsys.readouterr()
    assert 64 < json.loads(out)["rounds"] < 400
    assert "--max-bytes allows" in err
    assert "--resume" in err
    assert main(["learn", str(path), "--resume", model, "--max-bytes", "100M", "--json"]) == 0
    resumed = json.loads(capsys.readouterr().out)
    assert main(start) == 0
    whole = json.loads(capsys.readouterr().out)
    assert resumed["rounds"] == whole["rounds"] == 400
    assert resumed["mean_loss"] == pytest.approx(whole["mean_loss"], abs=1e-9)
    assert main(["learn", str(path), "--max-bytes", "much"]) == 2
    assert "a number of bytes, such as 500M" in capsys.readouterr().err


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full")
@pytest.mark.parametrize("arguments", [[], ["--json"], ["--out", "-"]])
def test_standard_output_that_takes_nothing(tmp_path, arguments):
    """The model is written all the same, and the reason is one sentence."""
    path, model = tmp_path / "a.csv", tmp_path / "m"
    path.write_text("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(70)))
    command = [sys.executable, "-m", "oskaar", "learn", str(path), "--learner", "oskaar", "--model", str(model)]
    with open("/dev/full", "w") as full:
        done = subprocess.run([*command, *arguments, "--quiet"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("oskaar: standard output: No space left on device.\n")
    assert oskaar.load(model).rounds == (64 if "-" in arguments else 70)


def test_columns_are_said_once_and_again_when_they_change(tmp_path, capsys):
    """One line each after the first rounds, another where a column is read otherwise later."""
    path = tmp_path / "a.csv"
    rows = [f"{i % 7},{i if i < 60 else f'w{i % 5}'},{'xyz'[i % 3]},{'ab'[i % 2]}" for i in range(300)]
    path.write_text("n,m,c,y\n" + "\n".join(rows) + "\n")
    assert main(["learn", str(path), "--learner", "oskaar"]) == 0
    message = capsys.readouterr().err
    assert message.count("x was read as follows in the first ") == 1
    assert "oskaar:   n, m: number\noskaar:   c: category, 3 values\n" in message
    assert message.count("'m' is read as category now, before as number") == 1


@pytest.fixture(scope="module")
def coded(tmp_path_factory):
    """A model of rows with codes and a number with gaps."""
    folder = tmp_path_factory.mktemp("coded")
    rows = [f"{i:05},{i % 7}.50,{'ab'[i % 2]}" for i in range(60)]
    (folder / "a.csv").write_text("id,n,y\n" + "\n".join(rows) + "\n")
    for model, more in (("m", []), ("skipping", ["--missing", "skip"])):
        arguments = ["--learner", "oskaar", "--model", str(folder / model), "--quiet", "--json", "--drop", "id"]
        assert main(["learn", str(folder / "a.csv"), *arguments, *more]) == 0
    (folder / "new.csv").write_text("id,n\n00007,1.50\n00008,oops\n00009,\n")
    return folder


def test_cells_come_back_as_they_were_written(coded, capsys):
    new = str(coded / "new.csv")
    assert main(["predict", str(coded / "m"), new]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "id,n,prediction,probabilities"
    assert [line[:10] for line in lines[1:3]] == ["00007,1.50", "00008,oops"]
    assert main(["predict", str(coded / "m"), new, "--out", str(coded / "z.jsonl")]) == 0
    rows = [json.loads(line) for line in (coded / "z.jsonl").read_text().splitlines()]
    assert [(row["id"], row["n"]) for row in rows] == [("00007", 1.5), ("00008", "oops"), ("00009", None)]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert main(["predict", str(coded / "m"), new, "--out", str(coded / "z.parquet")]) == 0
    table = parquet.read_table(coded / "z.parquet").to_pylist()
    assert [(row["id"], row["n"]) for row in table] == [("00007", "1.5"), ("00008", "oops"), ("00009", None)]


def test_rows_without_an_answer_stay(coded, capsys):
    """Those that --missing skip leaves out; a file without rows has its header."""
    assert main(["predict", str(coded / "skipping"), str(coded / "new.csv"), "--out", str(coded / "z.csv")]) == 0
    assert "2 rounds answered" in capsys.readouterr().err
    assert (coded / "z.csv").read_text().splitlines()[-1] == "00009,,,"
    (coded / "none.csv").write_text("id,n\n")
    assert main(["predict", str(coded / "m"), str(coded / "none.csv")]) == 0
    assert capsys.readouterr().out == "id,n,prediction,probabilities\n"


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("id,n\n1,abc\n2,def\n", [], "column 'n' must be a number, as it was in"),
        ("id,n,prediction\n1,2,3\n", [], "column 'prediction' is new"),
        ("id,n\n1,2\n", ["--json"], "--json goes with --out"),
    ],
)
def test_predict_refuses(coded, capsys, text, arguments, message):
    (coded / "other.csv").write_text(text)
    assert main(["predict", str(coded / "m"), str(coded / "other.csv"), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_model_goes_on_with_a_file_written_in_another_way(tmp_path, capsys):
    """Tags between other signs are reported, and read as asked; what contradicts the model is refused."""
    model, first, then = str(tmp_path / "m"), tmp_path / "a.csv", tmp_path / "b.csv"
    rows = [f"{i},{'a;b' if i % 3 else 'ba'[i % 2]}\n" for i in range(40)]
    first.write_text("x,tags\n" + "".join(rows))
    then.write_text("x,tags\n" + "".join(rows).replace(";", "|"))
    assert main(["learn", str(first), "--model", model, "--learner", "oskaar", "--json"]) == 0
    shutil.copy(model, tmp_path / "other")
    capsys.readouterr()
    assert main(["learn", str(then), "--model", str(tmp_path / "other")]) == 0
    assert "'tags' is 'a|b', tags that were there before: --tags-separator '|' parts them" in capsys.readouterr().err
    assert main(["learn", str(then), "--model", model, "--tags-separator", "|"]) == 0
    assert "tags that were there before" not in capsys.readouterr().err
    assert set(oskaar.load(model).predict_proba_one({"x": 1.0})) == {"a", "b"}
    assert main(["learn", str(then), "--model", model, "--budget", "9"]) == 2
    assert "start anew with another --model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "rows", "new", "column"),
    [
        ("a.csv", "a,L1,L2\n" + "1,1,2\n2,2,1\n" * 15, "a\n1\n", "scores"),
        ("a.csv", "a,y\n" + "".join(f"{i % 7},{i % 7 + 0.5}\n" for i in range(80)), "a\n1\n", "interval"),
        ("a.conll", "the D\ncats N\n\n" * 20, "the X\ncats X\n\n", "probabilities"),
    ],
)
def test_how_sure_an_answer_is(tmp_path, name, rows, new, column):
    """Scores of the items of a ranking by name, an interval around a number, probabilities of each word."""
    path, model, out = tmp_path / name, str(tmp_path / "m"), tmp_path / "z.jsonl"
    path.write_text(rows)
    assert main(["learn", str(path), "--learner", "oskaar", "--model", model, "--quiet", "--json"]) == 0
    path.write_text(new)
    assert main(["predict", model, str(path), "--out", str(out), "--quiet"]) == 0
    found = [json.loads(line)[column] for line in out.read_text().splitlines()]
    if column == "scores":
        assert found[0]["L1"] > found[0]["L2"]
    elif column == "interval":
        assert found[0][0] < 1.5 < found[0][1]
    else:
        assert found[0]["D"] > 0.5 > found[1]["D"]

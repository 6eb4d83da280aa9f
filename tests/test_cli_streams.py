"""Lags, trees, costs, rankings, archives: streams that want a word more than a table of numbers."""

import io
import json
import zipfile

import numpy as np
import pytest

from oskaar import OSKAAR, losses, replay
from oskaar.cli import main
from oskaar.tabular.inputs import arc_rows
from oskaar.tabular.readers import ReadError, Record, read_table

RNG = np.random.default_rng(6)
X = RNG.normal(size=(90, 2)).round(3)


@pytest.fixture
def run(run):
    return lambda text, *arguments, **where: run(text, "--learner", "oskaar", *arguments, **where)


def table(names, *columns):
    return "\n".join([names, *(",".join(map(str, row)) for row in zip(*columns))]) + "\n"


def test_lags_are_the_labels_before(run):
    """The numbers of replay() on inputs that have the last two labels, 0 before there are any."""
    y = np.cumsum(RNG.normal(size=90)).round(3)
    text = table("a,b,y", X[:, 0], X[:, 1], y)
    arguments = ["--loss", "squared", "--low=-30", "--high", "30", "--json"]
    code, out, err = run(text, "--lags", "2", *arguments)
    before = np.column_stack([np.r_[0, y[:-1]], np.r_[0, 0, y[:-2]]])
    expected = replay(OSKAAR(losses.Squared(1, -30, 30)), np.hstack([X, before]), y[:, None])
    assert code == 0
    assert "the last 2 labels are inputs too: y_lag1 to y_lag2" in err
    assert json.loads(out)["mean_loss"] == pytest.approx(expected.mean_loss, abs=1e-9)
    only = replay(OSKAAR(losses.Squared(1, -30, 30)), np.hstack([X[:, :1], before]), y[:, None])
    _, out, _ = run(text, "--lags", "2", "--x", "a", *arguments)
    assert json.loads(out)["mean_loss"] == pytest.approx(only.mean_loss, abs=1e-9)


def test_lags_of_texts_and_of_missing_labels(run):
    """A class that alternates is known from the one before it; a row without a label leaves no trace."""
    text = table("a,y", X[:, 0], ["u", "v"] * 45)
    assert json.loads(run(text, "--lags", "1", "--lam", "0.01", "--json")[1])["mean_loss"] < 0.1
    hole = text.replace("\n", "\n9,\n", 1)
    _, out, _ = run(hole, "--lags", "1", "--lam", "0.01", "--missing", "skip", "--json")
    assert json.loads(out)["mean_loss"] < 0.1
    assert json.loads(out)["skipped"] == 1


def test_labels_that_are_late(run, tmp_path):
    """Answers are those of a loop of ask and tell; baselines get their labels as late; all come in the end."""
    y, out = np.cumsum(RNG.normal(size=90)).round(3), tmp_path / "z"
    text = table("a,b,y", X[:, 0], X[:, 1], y)
    code, result, _ = run(text, "--delay", "7", "--chunk", "5", "--out", str(out), "--json")
    assert code == 0
    learner, tickets, answers = OSKAAR(losses.Squared()), [], []
    for t in range(90):
        ticket, z = learner.ask({"a": X[t, 0], "b": X[t, 1]})
        tickets.append(ticket)
        answers.append(z)
        if t >= 7:
            learner.tell(tickets[t - 7], y[t - 7 : t - 6])
    printed = [json.loads(line)["prediction"] for line in out.read_text().splitlines()]
    np.testing.assert_allclose(printed, answers, atol=1e-9)
    found = json.loads(result)
    assert (found["rounds"], found["not_judged"]) == (82, 8)
    assert found["baselines"]["repeat-last"] == pytest.approx(((y[8:] - y[:-8]) ** 2).mean())


def test_an_answer_to_a_late_label_does_not_know_it(run, tmp_path):
    """A label that is 7 rows late changes no answer before the 8th row after it."""
    y = RNG.integers(0, 2, size=90)
    other = np.where(np.arange(90) < 50, y, 1 - y)
    out, printed = tmp_path / "z", []
    for labels in (y, other):
        run(table("a,b,y", X[:, 0], X[:, 1], labels), "--delay", "7", "--lags", "2", "--out", str(out))
        printed.append([json.loads(line)["prediction"] for line in out.read_text().splitlines()])
    assert printed[0][:58] == printed[1][:58]
    assert printed[0] != printed[1]


def test_lags_do_not_go_with_groups(run):
    code, _, err = run("the DET\ncat NOUN\n\n", "--lags", "1", "--classes", "DET,NOUN", name="a.conll")
    assert code == 2
    assert "--lags is for rows that are rounds by themselves" in err


TREES = "".join(
    "".join(
        f"{i}\t{form}\t_\t{tag}\t_\t_\t{head}\t_\t_\t_\n"
        for i, (form, tag, head) in enumerate([("the", "DET", 2), (noun, "NOUN", 3), ("sleeps", "VERB", 0)], start=1)
    )
    + "\n"
    for noun in ["cat", "dog", "owl", "bee"] * 5
)


def test_trees_of_a_treebank(run, tmp_path):
    """The heads of CoNLL-U; the numbers of replay() on the same arcs."""
    where = tmp_path / "z"
    _, out, _ = run(TREES, "--loss", "dependencytree", "--json", "--out", str(where), name="a.conllu")
    result = json.loads(out)
    sentences = [list(g) for g in np.array_split(np.array(list(read_table(tmp_path / "a.conllu")), dtype=object), 20)]
    xs = [arc_rows([Record(*record) for record in sentence]) for sentence in sentences]
    expected = replay(OSKAAR(losses.DependencyTree()), xs, [(2, 3, 0)] * 20)
    assert result["rounds"] == 20
    assert result["mean_loss"] == pytest.approx(expected.mean_loss, abs=1e-9)
    assert result["mean_loss"] < result["baselines"]["head-to-the-left"] == 1.0
    assert json.loads(where.read_text().splitlines()[-1])["prediction"] == [2, 3, 0]
    code, _, err = run(TREES.replace("\t3\t", "\t1\t"), "--loss", "dependencytree", name="a.conllu")
    assert code == 2
    assert "line 3" in err


def test_costs(run, tmp_path):
    """From a file with names, written out, or in TOML: the same loss."""
    y = np.where(X[:, 0] > 0, "ill", "well")
    text = table("a,b,y", X[:, 0], X[:, 1], y)
    costs = tmp_path / "costs.csv"
    costs.write_text("answer,ill,well\nill,0,1\nwell,10,0\n")
    loss = losses.CostMatrix([[0, 1], [10, 0]], ["ill", "well"], ["ill", "well"])
    expected = replay(OSKAAR(loss), X, [str(v) for v in y]).mean_loss
    settings = tmp_path / "s.toml"
    settings.write_text('costs = [[0, 1], [10, 0]]\nclasses = "ill,well"\n')
    for more in (
        ["--costs", str(costs)],
        ["--costs", "[[0, 1], [10, 0]]", "--classes", "ill,well"],
        ["--config", str(settings)],
    ):
        _, out, _ = run(text, "--loss", "costmatrix", "--json", *more)
        assert json.loads(out)["mean_loss"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        (None, "--loss costmatrix needs --costs"),
        ("[[0, 1], [1]]", "must have rows of one length"),
        ("[0, 1]", "must be rows of numbers"),
        ("[[0, 1]", "must be rows of numbers"),
        ("none.csv", "--costs none.csv cannot be read"),
        ('[["a"]]', "must hold numbers"),
    ],
)
def test_bad_costs(run, costs, message):
    code, _, err = run("x,y\n1,u\n", "--loss", "costmatrix", *(["--costs", costs] if costs else []))
    assert code == 2
    assert message in err


def test_rankings_are_seen(run):
    """Columns that hold 1 to n in every row are y, all of them; not where one row does not."""
    ranks = np.argsort(np.argsort(X, axis=1), axis=1) + 1
    text = table("a,b,L1,L2", X[:, 0], X[:, 1], ranks[:, 0], ranks[:, 1])
    _, out, err = run(text, "--json")
    assert "y is the 2 columns 'L1' to 'L2', which hold the ranks 1 to 2 in every row" in err
    assert json.loads(out)["loss"] == "Kendall(['L1', 'L2'])"
    _, _, err = run(text + "0,0,1,1\n", "--limit", "20")
    assert "treated as a ranking" in err
    _, _, err = run(text.replace("L1,L2\n", "L1,L2\n0,0,1,1\n"), "--limit", "20")
    assert "y is 'L2', the last column" in err


def test_archives_and_counts(run, tmp_path):
    """A zip with one file is that file; a first line that counts rows and columns is not a row."""
    text = table("a,b,y", X[:, 0], X[:, 1], np.where(X[:, 0] > 0, "u", "v"))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.csv", text)
    _, out, _ = run(packed.getvalue(), "--json", name="a.csv.zip")
    assert json.loads(out)["mean_loss"] == json.loads(run(text, "--json")[1])["mean_loss"]
    assert run(packed.getvalue()[:-30], name="a.csv.zip")[0] == 2
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("other.csv", text)
    code, _, err = run(packed.getvalue(), name="a.csv.zip")
    assert code == 2
    assert "is a zip archive of 2 files: unpack the one you mean" in err
    (tmp_path / "counted.csv").write_text("3,2,0,1\n5,6,0\n7,8,1\n9,9,1\n")
    found = read_table(tmp_path / "counted.csv")
    assert found.columns == ("c1", "c2", "c3")
    assert [(r.line, r.cells["c1"]) for r in found] == [(2, 5), (3, 7), (4, 9)]
    (tmp_path / "plain.csv").write_text("3,2,0\n5,6,0\n")
    assert [(r.line, r.cells["c1"]) for r in read_table(tmp_path / "plain.csv")] == [(1, 3), (2, 5)]
    (tmp_path / "odd.csv").write_text("3,2,0,1\n5,6\n")
    with pytest.raises(ReadError, match="line 2: there must be 4 values"):
        list(read_table(tmp_path / "odd.csv"))


def test_y_without_values(run):
    code, _, err = run(table("a,y", X[:, 0], [""] * 90))
    assert code == 2
    assert "'y' has no value in the first rows: name the columns of y with --y" in err


@pytest.mark.realdata
def test_real_files_with_hardly_a_word(data, capsys):
    """What a new user types: the file, and how many rounds."""
    for path, more, loss, better in (
        ("label_ranking/iris.csv", [], "Kendall", True),
        ("ordinal/winequality-red.csv", [], "Ordinal", True),
        ("multilabel/flags.arff", [], "F1", True),
        ("ordinal/era.csv", [], "ZeroOne", False),
        ("histogram/energy_dataset.csv.zip", ["--missing", "zero"], "Squared", False),
        ("tree/en_ewt-ud-dev.conllu.gz", ["--loss", "dependencytree", "--budget", "16"], "DependencyTree", True),
    ):
        limit = "12" if loss == "DependencyTree" else "160"
        assert main(["learn", str(data / path), "--limit", limit, "--learner", "oskaar", "--json", *more]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["loss"].startswith(loss)
        assert (result["mean_loss"] < min(result["baselines"].values())) == better

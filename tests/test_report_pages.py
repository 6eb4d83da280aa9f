"""`--report`: a page for every kind of run, nothing of the file comes alive in it, and a browser has no complaint."""

import json
import re
import shlex
import signal
import subprocess
import sys
from html.parser import HTMLParser

import browser
import numpy as np
import pytest
from strategies import few

from oskaar import OSKAAR, losses, replay, reports
from oskaar.cli import main
from oskaar.cli.options import parse
from oskaar.cli.report import Report, make_recorder
from oskaar.cli.settings import open_stream
from oskaar.reports import figures
from oskaar.reports import page as pages

RNG = np.random.default_rng(11)
X = RNG.normal(size=(160, 2)).round(3)
CHANGED = np.arange(160) >= 80
Y = np.where((X[:, 0] > 0) ^ CHANGED, "up", "down")
EVIL = "</script><script>window.hacked=1</script>"
SECTIONS = ["Mean loss so far", "Rolling mean loss", "Regret and its bound", "Effective dimension", "Cost of a round"]


def table(y=Y, names=("x1", "x2", "y"), rows=160):
    lines = [",".join(names), *(",".join(map(str, [*x, v])) for x, v in zip(X[:rows], y))]
    return "\n".join(lines) + "\n"


@pytest.fixture
def run(run, tmp_path):
    """Run a command on a text; its exit code, output, errors and page."""
    path = tmp_path / "report.html"

    def go(content, *arguments, name="a.csv"):
        done = run(content, "--report", str(path), *arguments, name=name)
        return *done, path.read_text(encoding="utf-8") if path.exists() else None

    return go


class Outline(HTMLParser):
    """The text outside of scripts and styles, tags that are open, and what would be loaded."""

    def __init__(self, page):
        super().__init__()
        self.words, self.open, self.loads, self.figures, self._of = [], [], [], {}, None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.loads += [found[key] for key in ("src", "href", "action", "data") if key in found]
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        self._of = found.get("data-figure") if tag == "script" else None

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            if self._of:
                self.figures[self._of] = json.loads(data)
        elif self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def outline(page):
    """What all pages have in common is looked at here."""
    found = Outline(page)
    assert not found.open
    assert found.loads == ["data:,"]
    assert "default-src 'none'" in page
    assert "Settings to reproduce it" in found.text
    return found


def test_salami_has_it_all(run, tmp_path):
    code, out, err, page = run(table(), "--json")
    found, result = outline(page), json.loads(out)
    assert code == 0
    assert f"the report is {tmp_path / 'report.html'}" in err
    for section in [*SECTIONS, "Restart weights and change points", "Worst rounds"]:
        assert section in found.text
    assert list(found.figures) == ["running", "rolling", "weights", "cost", "regret", "dimension"]
    assert f"ensemble {result['mean_loss']:.4f}" in found.text
    for name, mean in result["baselines"].items():
        assert f"{name} {mean:.4f}" in found.text
    assert re.search(
        r"loss 1 in round \d+, line \d+ x x1 = -?[\d.]+, x2 = -?[\d.]+ y (up|down) z (up|down)", found.text
    )
    assert result["learner"] in found.text
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def test_a_change_is_named(run, rng):
    """The test of changes needs more than 200 rounds before it can find one."""
    X = rng.normal(size=(340, 2)).round(3)
    y = [("up", "down")[int((x[0] > 0) != (t >= 260))] for t, x in enumerate(X)]
    lines = ["x1,x2,y", *(f"{a},{b},{label}" for (a, b), label in zip(X, y))]
    found = outline(run("\n".join(lines) + "\n")[3])
    assert re.search(r"1 found: from round 2(5[5-9]|6\d)", found.text)


def test_the_order_of_a_page(run):
    """The verdict, then losses, labels, rounds, columns, experts and changes; theory last."""
    page = run(table())[3]
    assert re.search(r'</h1>\s*<p class="verdict">\d+% fewer errors than .*, the best baseline', page)
    titles = re.findall(r"<h2>(.*?)</h2>", page)
    assert titles[:5] == ["Mean loss so far", "Rolling mean loss", "By label", "Worst rounds", "Columns"]
    assert titles[5:7] == ["Experts", "Restart weights and change points"]
    assert titles[7:] == [
        "Cost of a round",
        "Regret and its bound",
        "Effective dimension",
        "Settings to reproduce it",
    ]


def test_labels_are_counted(run):
    """Precision, recall and F1 of each class, from its counts."""
    page = run(table(), "--learner", "oskaar", "--out", "-")
    answers = [json.loads(line)["prediction"] for line in page[1].splitlines()]
    for name in ("up", "down"):
        known = [(z, y) for z, y in zip(answers, Y) if z is not None]
        labels, given = sum(y == name for _, y in known), answers.count(name)
        hits = sum(z == y == name for z, y in known)
        numbers = f"{labels} {given} {hits / given:.3f} {hits / labels:.3f} {2 * hits / (labels + given):.3f}"
        assert f"{name} {numbers}" in outline(page[3]).text


def test_the_worst_rounds_are_later_than_the_first(run, rng):
    """In a stream of 240 rounds the first 100 are left out; the row is there as it was written."""
    lines = [f"{1234567.5 + i},{'ab'[int(rng.integers(2))]}" for i in range(240)]
    found = outline(run("amount,y\n" + "\n".join(lines) + "\n", "--learner", "oskaar")[3])
    rounds = [int(number) for number in re.findall(r"loss 1 in round (\d+)", found.text)]
    assert len(rounds) == 20
    assert min(rounds) > 100
    assert f"amount = {1234567.5 + rounds[0] - 1:.1f}" in found.text
    assert "The first 100 rounds are left out" in found.text


def test_labels_of_5000_characters(run):
    """They are cut, and nothing else is lost."""
    labels = np.where(Y == "up", "u" * 5000, "d" * 5000)
    code, _, _, page = run(table(labels), "--learner", "oskaar")
    assert code == 0
    assert "u" * 200 not in outline(page).text
    assert "u" * 100 in outline(page).text


def test_every_figure_is_one_of_plotly(run):
    """No property that plotly does not know, no colour that the page has not."""
    from plotly import graph_objects

    page = run(table())[3]
    colours = set(re.findall(r"--([a-z0-9]+):", page))
    for key, figure in outline(page).figures.items():
        text = json.dumps(figure)
        assert set(re.findall(r'"@([a-z0-9]+)"', text)) <= colours, key
        graph_objects.Figure(json.loads(re.sub(r'"@[a-z0-9]+"', '"#123456"', text)))
        dashes = [trace["line"]["dash"] for trace in figure["data"] if "line" in trace]
        assert len(set(dashes)) == len(dashes)


CONLL = "".join(
    f"the DET\n{n} NOUN\n{v} VERB\n\n" for n, v in [("cat", "runs"), ("dog", "sees"), ("fish", "swims")] * 8
)
LETOR = "".join(f"{(q + d) % 3} qid:{q} 1:{d / 4} 2:{((q + d) % 3) / 3}\n" for q in range(30) for d in range(4))


@pytest.mark.parametrize(
    ("content", "arguments", "name", "words"),
    [
        (
            table(),
            ["--learner", "oskaar"],
            "a.csv",
            ["it says nothing, as at most 160 could be lost", "up 8"],
        ),
        (table(), ["--learner", "batch"], "a.csv", ["No bound is known", "Cost of a round"]),
        (table(), ["--no-baselines", "--budget", "16"], "a.csv", ["Restart weights and change points"]),
        (table(rows=1), [], "a.csv", ["1 rounds judged", "no answer yet"]),
        (table(X[:, 0] * 2), [], "a.csv", ["1 learned, not judged", "159 rounds judged", "mean ", "RMSE "]),
        (table(X[:, 0] * 2, rows=1), [], "a.csv", ["0 rounds judged", "No round was judged", "No judged round had"]),
        (table().replace("up", "", 3), ["--missing", "skip"], "a.csv", ["3 rows skipped", "157 rounds judged"]),
        (table(["same"] * 160), [], "a.csv", ["none found"]),
        (CONLL, ["--classes", "DET,NOUN,VERB"], "a.conll", ["form = the", "x y z", "Sequence("]),
        (LETOR, [], "a.letor", ["place 1", "as-listed", "Documents("]),
        (LETOR, ["--learner", "batch"], "a.letor", ["no answer yet", "as-listed"]),
        (table(X[:, 0] + 2, rows=15), ["--learner", "batch", "--loss", "angles"], "a.csv", ["no answer yet"]),
    ],
)
def test_every_kind_of_run_has_a_page(run, content, arguments, name, words):
    code, _, _, page = run(content, *arguments, name=name)
    found = outline(page)
    assert code == 0
    for word in words:
        assert word in found.text


def test_trees_have_a_page():
    """In Python, with a loss that the command line does not have."""
    loss = losses.DependencyTree()
    xs = [np.array(losses.arcs(3), dtype=float).T] * 6
    recorder = reports.record(OSKAAR(loss), xs, [(2, 0, 2), (0, 1, 2)] * 3)
    found = outline(reports.html(recorder, title="trees"))
    assert "trees" in found.text
    assert "2, 0, 2" in found.text


def test_nothing_at_all():
    found = outline(reports.html(reports.Recorder()))
    assert "There were no rounds" in found.text
    assert not found.figures


def test_nothing_of_the_file_comes_alive(run, tmp_path):
    """Column names, classes, names of files, options: each is text in the page and nothing else."""
    labels = np.where(Y == "up", EVIL, "<img src=x onerror=alert(1)>")
    content = table([f'"{label}"' for label in labels], ('"<b>""x1""</b>"', EVIL, "y"))
    code, _, _, page = run(content, "--y", "y", name="<i>&a.csv")
    assert code == 0
    found = outline(page)
    assert EVIL in found.text
    assert '<b>"x1"</b> = ' in found.text
    assert "<img src=x onerror=alert(1)>" in found.text
    assert "<i>&a.csv" in found.text
    assert EVIL not in page
    assert "<img" not in page.split("<script>", 1)[0]


def test_names_of_learners_do_not_come_alive():
    """In Python a learner can be called anything, also in a figure."""
    baselines = {EVIL + "2": OSKAAR(losses.ZeroOne("ab"))}
    recorder = reports.record(OSKAAR(losses.ZeroOne("ab")), [[0.0]] * 4, "abab", name=EVIL, baselines=baselines)
    page = reports.html(recorder, title=EVIL, command=EVIL)
    assert EVIL not in page
    assert [trace["name"] for trace in outline(page).figures["running"]["data"]] == [EVIL, EVIL + "2"]


def test_the_command_does_it_again(run, tmp_path, capsys):
    """What the page says to type gives the same numbers, also where settings came from a file."""
    config = tmp_path / "my settings.toml"
    config.write_text('learner = "salami"\nlam = [0.1, 1.0]\n')
    given = ["--config", str(config), "--no-baselines", "--kernel", "laplacian:2", "--limit", "90", "--json"]
    _, out, _, page = run(table(LEVELS := np.clip(np.round(X[:, 0] * 2), -3, 3).astype(int)), *given)
    assert len(set(LEVELS)) > 3
    command = re.search(r"<pre>(.*?)</pre>", page)[1].replace("&#x27;", "'")
    words = shlex.split(command)
    assert words[:2] == ["oskaar", "learn"]
    assert "--config" not in words
    assert main([*words[1:], "--json"]) == 0
    first, second = json.loads(out), json.loads(capsys.readouterr().out)
    assert {**first, "seconds": 0, "rounds_per_second": 0} == {**second, "seconds": 0, "rounds_per_second": 0}


def test_a_run_that_goes_on_has_one_report(tmp_path):
    """The recorder of the first half, as plain data, goes on with the names and labels of the second."""
    (tmp_path / "a.csv").write_text(table())
    path = tmp_path / "report.html"
    options = parse(["learn", str(tmp_path / "a.csv"), "--report", str(path)])
    report, rounds = Report(options), open_stream(options)
    learner, stream = OSKAAR(rounds.labels.loss), list(rounds)
    recorder = make_recorder("oskaar", rounds, [])
    for half in (stream[:80], stream[80:]):
        recorder = make_recorder("oskaar", rounds, [], json.loads(json.dumps(recorder.to_dict())))
        xs, ys = np.array([r.x for r in half]), [r.y for r in half]
        happened = replay(learner, xs, ys)
        recorder.add(reports.RecordedRounds(learner, xs, ys, happened, lines=[r.line for r in half]))
    report.write(recorder, {})
    found = outline(path.read_text(encoding="utf-8"))
    assert "160 rounds judged" in found.text
    assert found.figures["regret"]["data"][0]["y"][-1] == learner.regret
    assert "x1 = " in found.text


def test_without_plotly_nothing_starts(run, monkeypatch):
    monkeypatch.setattr(pages, "find_spec", lambda name: None)
    monkeypatch.setattr("oskaar.cli.settings.read_table", lambda *_: pytest.fail("the file was opened"))
    code, out, err, page = run(table())
    assert (code, out, page) == (2, "", None)
    assert err == "oskaar: a report needs plotly, which is not installed: pip install 'oskaar[report]'.\n"


@pytest.mark.parametrize(
    ("path", "words"), [("none/report.html", "No such file or directory"), (".", "Is a directory")]
)
def test_a_place_that_cannot_be_written_is_refused_first(tmp_path, capsys, monkeypatch, path, words):
    monkeypatch.setattr("oskaar.cli.settings.read_table", lambda *_: pytest.fail("the file was opened"))
    (tmp_path / "a.csv").write_text(table())
    assert main(["learn", str(tmp_path / "a.csv"), "--report", str(tmp_path / path)]) == 2
    assert words in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_a_run_that_fails_reports_the_rounds_before_it(run, tmp_path):
    """A file that cannot be used at all leaves the old page as it was."""
    (tmp_path / "report.html").write_text("old")
    lines = table().splitlines()
    code, _, _, page = run("\n".join([*lines, "1,2"]), "--chunk", "40")
    assert code == 2
    assert "160 rounds judged" in outline(page).text
    (tmp_path / "report.html").write_text("old")
    code, _, _, page = run("\n".join([*lines[:9], "1,2"]))
    assert code == 2
    assert page == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "report.html"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_control_c_reports_what_there_is(tmp_path):
    path = tmp_path / "report.html"
    command = [sys.executable, "-m", "oskaar", "learn", "-", "--out", "-", "--chunk", "1", "--report", str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "--limit", "9999"], text=True, cwd=tmp_path, **pipes) as process:
        process.stdin.write(table(rows=110))
        process.stdin.flush()
        for _ in range(110):
            assert "prediction" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        assert process.wait() == 130
    assert f"the report is {path}" in err
    found = outline(path.read_text(encoding="utf-8"))
    assert "The run was interrupted: this is of the first 110 rounds." in found.text
    assert "ensemble on standard input" in found.text


def test_a_comparison(tmp_path, capsys):
    """The table, the curves of all settings, and the command; settings come from a run in one process or two."""
    (tmp_path / "a.csv").write_text(table(np.where(Y == "up", EVIL, "down")))
    path = tmp_path / "report.html"
    given = ["--learner", "oskaar", "--lam", "0.1,1", "--jobs", "2", "--json", "--report", str(path)]
    assert main(["compare", str(tmp_path / "a.csv"), *given]) == 0
    rows = json.loads(capsys.readouterr().out)["learners"]
    page = path.read_text(encoding="utf-8")
    found = outline(page)
    for row in rows:
        assert f"{row['name']} {row['mean_loss']:.4f} {row['worse_by']:.4f}" in found.text
    for key in ("running", "rolling"):
        data = found.figures[key]["data"]
        assert [trace["name"] for trace in data] == [row["name"] for row in rows]
        assert len({(trace["line"]["dash"], trace["line"]["color"]) for trace in data}) == 4
    assert [trace["y"][-1] for trace in found.figures["running"]["data"]] == pytest.approx(
        [row["mean_loss"] for row in rows], abs=1e-6
    )
    assert f"oskaar compare {tmp_path / 'a.csv'} --learner oskaar --lam 0.1,1" in found.text
    assert main(["compare", str(tmp_path / "a.csv"), "--report", str(tmp_path)]) == 2


def test_lines_of_many_learners_differ():
    lines = [figures.line([1], [1], "a", i)["line"] for i in range(20)]
    assert len({(line["dash"], line["color"]) for line in lines}) == 20
    rows = [{"name": f"a{i}", "mean_loss": i, "worse_by": i, "interval": [i, i]} for i in range(20)]
    found = outline(reports.comparison({f"a{i}": np.full(3, float(i)) for i in range(20)}, rows))
    assert "Lines are drawn for the best 12." in found.text
    assert len(found.figures["running"]["data"]) == 12


def test_many_changes_are_not_all_drawn():
    recorder = reports.record(OSKAAR(losses.ZeroOne("ab")), [[0.0]] * 4, "abab")
    recorder.weights.add(4, np.array([1, 5]), np.array([0.5, 0.5]))
    recorder.changes = [[t, t + 1, float(t)] for t in range(100)]
    assert [change[0] for change in figures.strongest(recorder)] == list(range(70, 100))
    assert "100 found, the 30 with the most evidence" in outline(reports.html(recorder)).text


@pytest.mark.skipif(browser.chromium() is None, reason="Chromium is not installed: apt-get install chromium")
@pytest.mark.parametrize("dark", few([True, False], 2))
def test_in_a_browser(run, tmp_path, dark):
    """On a desk and on a phone: all is drawn, nothing is wider than the screen, the console is silent."""
    names = ("a rather long name of a column that goes on", EVIL, "y")
    page = run(table(np.where(Y == "up", EVIL, "a" * 200), names), "--y", "y")[3]
    (tmp_path / "browser").mkdir()
    found, console = browser.look(page, tmp_path / "browser", (390,) if dark else (390, 1280), dark)
    assert console == []
    assert [one["width"] for one in found] == ([390] if dark else [390, 1280])
    for one in found:
        assert one["scroll"] <= one["width"]
        assert one["plots"] == ["running", "rolling", "weights", "cost", "regret", "dimension"]
        assert one["drawn"] == ("dark" if dark else "light")
        assert one["background"] == ("rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")
        assert one["line"] == ("rgb(86, 180, 233)" if dark else "rgb(0, 114, 178)")
        assert one["images"] == 1
        assert one["hacked"] is None
        assert one["turned"] == [
            "light" if dark else "dark",
            "rgb(18, 52, 86)",
        ]  # the setting changed, all is redrawn
        assert one["heading"].startswith("ensemble on ")


@pytest.mark.skipif(browser.chromium() is None, reason="Chromium is not installed: apt-get install chromium")
def test_the_browser_does_complain(tmp_path):
    """What the test above takes for silence is no deafness."""
    page = reports.html(reports.Recorder())
    broken = page.replace("</body>", '<script>undefinedName()</script><img src="https://example.org/a.png"></body>')
    _, console = browser.look(broken, tmp_path)
    assert any("undefinedName is not defined" in line for line in console)
    assert any("Content Security Policy" in line for line in console)

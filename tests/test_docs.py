"""The site is built without a warning and without the net, has every public name, and no link is dead.

The whole site takes half a minute and is with the slow tests; `make docs` builds it too, as strictly. Every run
builds a few pages of it, and looks at what makes most warnings: pages that no list has, links, names without a place.
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from inspect import getmodule
from pathlib import Path

import pytest

import oskaar

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


MODULES = (
    "checks",
    "drifts",
    "features",
    "kernels",
    "losses",
    "tabular",
    "river",
    "sklearn",
    "state",
    "streams",
    "theory",
)


def copied(folder, *patterns):
    """A copy of docs, in `folder`."""
    ignored = shutil.ignore_patterns("_build", "api", "__pycache__", *patterns)
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=ignored)
    shutil.copy(ROOT / "CHANGELOG.md", folder)


def build(folder):
    """The site of the copy in `folder`."""
    pytest.importorskip("sphinx", reason="the site needs the extra docs")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "docs", "html"]
    env = {**os.environ, "PYTHONPATH": str(Path(oskaar.__file__).parents[1])}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.fixture
def apipages(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    return importlib.import_module("apipages")


@pytest.mark.slow
def test_site(tmp_path):
    copied(tmp_path)
    site = build(tmp_path)
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists(), page
    texts = {page.name: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    nothing_comes_from_the_net(texts)
    every_public_name_is_described(texts)


@pytest.mark.slow
def test_a_site_of_few_pages(tmp_path):
    """conf.py, its extensions and the theme, with a page of a module and three of text, which link to each other."""
    copied(tmp_path, "*.md")
    docs = tmp_path / "docs"
    for name in ("notation.md", "errata.md", "theory.md"):
        shutil.copy(ROOT / "docs" / name, docs)
    (docs / "index.md").write_text("# A site\n\n```{toctree}\nnotation\nerrata\ntheory\napi/oskaar.theory\n```\n")
    extension = docs / "_ext" / "apipages.py"
    one = 'def modules():\n    return ["oskaar.theory"]\n\n\ndef setup('
    extension.write_text(extension.read_text().replace("def setup(", one))
    site = build(tmp_path)
    texts = {page.name: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    assert {"index.html", "notation.html", "oskaar.theory.html"} <= texts.keys()
    assert 'id="oskaar.theory.' in texts["oskaar.theory.html"]
    nothing_comes_from_the_net(texts)


def test_every_public_name_has_its_place_in_the_reference(apipages):
    """What the pages of the whole site will describe."""
    assert {f"oskaar.{name}" for name in MODULES} <= set(apipages.modules())
    pages = {name: apipages.page(name) for name in apipages.modules()}
    described = set(re.findall(r"^\.\. auto(?:class|function):: (?:[\w.]+\.)?(\w+)$", "".join(pages.values()), re.M))
    for module, names in public_names():
        assert names - described == set(), module


def test_every_page_is_in_a_list_of_pages():
    lists = {page: re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.DOTALL) for page in PAGES}
    listed = {
        (page.parent / line).with_suffix(".md")
        for page, texts in lists.items()
        for line in "\n".join(texts).splitlines()
        if line and not line.startswith((":", "api/"))
    }
    assert set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs" / "index.md"} == listed


def nothing_comes_from_the_net(texts):
    for page, text in texts.items():
        assert re.findall(r'<(?:script|img|iframe)[^>]+src="(?:https?:)?//[^"]*"', text) == [], page
        assert re.findall(r'<link[^>]+rel="stylesheet"[^>]+href="(?:https?:)?//[^"]*"', text) == [], page


def public_names():
    for module in (oskaar, *(importlib.import_module(f"oskaar.{name}") for name in MODULES)):
        public = getattr(module, "__all__", [n for n, v in vars(module).items() if getmodule(v) is module])
        yield module.__name__, {n for n in public if not n.startswith("_") and callable(getattr(module, n))}


def every_public_name_is_described(texts):
    described = set(re.findall(r'id="oskaar\.(?:[\w.]+\.)?(\w+)"', "".join(texts.values())))
    for module, names in public_names():
        assert names - described == set(), module
        assert f"{module}.html" in texts


def anchors(page):
    """The headings of a page as they are linked to."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#{1,3} (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower().strip()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Files that pages link to, so that they can be read where they are as well, and headings in them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", text):
        if not target.startswith(("http://", "https://", "mailto:")):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            assert not heading or heading in anchors(there), f"{page.name} links to {target}#{heading}"


def test_the_layers_are_those_of_the_import_contract():
    """Each part of the package, and each file of learners/, is in its table of docs/contributing.md."""
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    layers, files = text.split("## The layers")[1].split("## Add a loss")[0].split("The files of `learners/`:")
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    parts = {part for layer in contract["contracts"][0]["layers"] for part in layer.split(" | ")}
    assert parts - {"__main__"} <= set(re.findall(r"`(\w+)`", layers))
    there = {file.name for file in Path(oskaar.learners.__file__).parent.glob("*.py")}
    assert there - {"__init__.py"} == set(re.findall(r"`(\w+\.py)`", files))


def test_the_map_of_the_code_names_what_is_called(tmp_path):
    """Every function in the tables of docs/contributing.md runs in a round, a replay, a save or a load."""
    text = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8").split("## A map of the code")[1]
    listed = re.findall(r"^\| \d+ \|.*", text, re.M)
    numbers = [int(row.split("|")[1]) for row in listed]
    names = {name for name in re.findall(r"`([\w.]+)`", "\n".join(listed)) if not name.endswith(".py")}
    called = called_by(lambda: rounds_of_an_ensemble(tmp_path / "file.oskaar"))
    missing = {name.removeprefix("guards.") for name in names} - called
    assert len(names) > 50
    assert max(numbers) <= 12
    assert missing == set()


def rounds_of_an_ensemble(path):
    X, ys = [[0.1 * i, (i % 3) - 1.0] for i in range(40)], [i % 2 for i in range(40)]
    learner = oskaar.Ensemble(oskaar.losses.ZeroOne(2))
    for x, y in zip(X[:10], ys):
        learner.predict_one(x)
        learner.learn_one(x, y)
    oskaar.replay(learner, X[10:], ys[10:])
    learner.save(path)
    oskaar.load(path)


def called_by(function):
    """Names of functions that run while a function does; of methods by each class of their object; of new objects."""
    found = set()

    def note(frame, event, _):
        if event == "call":
            name = frame.f_code.co_name
            classes = [cls.__name__ for cls in type(frame.f_locals.get("self")).__mro__]
            found.update([name], classes if name == "__init__" else [f"{cls}.{name}" for cls in classes])

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found

"""The site is built without a warning and without the net, has every public name, and no link is dead."""

import importlib
import os
import re
import shutil
import subprocess
import sys
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
    "readers",
    "river",
    "sklearn",
    "state",
    "streams",
    "theory",
)


def build(folder):
    """A site built from a copy of docs, in `folder`."""
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("_build", "api", "__pycache__"))
    shutil.copy(ROOT / "CHANGELOG.md", folder)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "docs", "html"]
    env = {**os.environ, "PYTHONPATH": str(Path(oskaar.__file__).parents[1])}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_site(tmp_path):
    pytest.importorskip("sphinx", reason="the site needs the extra docs")
    site = build(tmp_path)
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists(), page
    texts = {page.name: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    nothing_comes_from_the_net(texts)
    every_public_name_is_described(texts)


def nothing_comes_from_the_net(texts):
    for page, text in texts.items():
        assert re.findall(r'<(?:script|img|iframe)[^>]+src="(?:https?:)?//[^"]*"', text) == [], page
        assert re.findall(r'<link[^>]+rel="stylesheet"[^>]+href="(?:https?:)?//[^"]*"', text) == [], page


def every_public_name_is_described(texts):
    described = set(re.findall(r'id="oskaar\.(?:[\w.]+\.)?(\w+)"', "".join(texts.values())))
    for module in (oskaar, *(importlib.import_module(f"oskaar.{name}") for name in MODULES)):
        public = getattr(module, "__all__", [n for n, v in vars(module).items() if getmodule(v) is module])
        names = {n for n in public if not n.startswith("_") and callable(getattr(module, n))}
        assert names - described == set(), module.__name__
        assert f"{module.__name__}.html" in texts


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Files that pages link to, so that they can be read where they are as well."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"

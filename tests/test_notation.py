"""docs/notation.md names only what is there, and all of `theory`."""

import ast
import re
from pathlib import Path

from oskaar import theory

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")


def names_in(path):
    """Functions, classes, and methods as Class.method."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{item.name}" for item in node.body if isinstance(item, ast.FunctionDef)}
    return found


def test_everything_named_exists():
    named = re.findall(r"`([\w/]+\.py)::([\w.]+)`", TEXT)
    assert len(named) > 60
    for path, name in named:
        assert name in names_in(ROOT / "src" / "oskaar" / path), f"{path}::{name}"


def test_all_of_theory_is_named():
    inner = {"Estimate", "Mark"}  # what a sketch returns
    missing = [name for name in theory.__all__ if f"::{name}" not in TEXT and name not in inner]
    assert missing == []

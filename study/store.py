"""Runs on disk: one file each, under a key that says what was run with which code."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from oskaar.state.writing import replaced
from study.streams.entries import ROOT

DISTRIBUTIONS = {"sklearn": "scikit-learn", "pycrfsuite": "python-crfsuite"}
"""Names of distributions that differ from what is imported."""


def digest(value: Any) -> str:
    """A short name for a plain value.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1}), len(digest([]))
    (True, 16)
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


@cache
def code(*folders: str) -> str:
    """A short name for the text of all Python files below some folders, or of some files."""
    seen = hashlib.sha256()
    for folder in folders:
        path = ROOT / folder
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            seen.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return seen.hexdigest()[:16]


@cache
def version_of(package: str) -> str | None:
    """The version of a package that is installed, None where it is not."""
    if package in ("oskaar", "study", ""):
        return None
    try:
        return version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return None


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Of Python, NumPy, SciPy and these."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    return found | {name: version_of(name) for name in ("numpy", "scipy", *sorted(packages))}


def save(path: Path, found: Mapping[str, Any], losses: Any) -> None:
    """Write a run, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replaced(path) as file:
        np.savez_compressed(file, losses=losses, found=json.dumps(found, default=str))


def load(path: Path) -> dict[str, Any]:
    """A run as it was saved, with its losses."""
    with np.load(path) as file:
        found: dict[str, Any] = json.loads(str(file["found"]))
        return {**found, "losses": file["losses"]}

"""Names of classes and functions in files, and which of them may be used.

oskaar's own have tags (`oskaar.saved`); a tag in a file never imports anything. Those of others have import names,
module:name, and are used only where the caller allows them.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from oskaar.saved import StateError, shown, tag_of, tagged

PARTS = ("features", "inputs", "kernels", "learners", "losses", "rows", "schema", "solvers")
"""Parts of the package that have tagged classes and functions."""

Allowed = Iterable[str] | Mapping[str, Any] | None


@lru_cache(maxsize=1)
def import_parts() -> None:
    """Import the files of the package with tags that nobody has used yet."""
    for part in PARTS:
        package = importlib.import_module(f"oskaar.{part}")
        for file in pkgutil.iter_modules(getattr(package, "__path__", [])):
            importlib.import_module(f"oskaar.{part}.{file.name}")


def name_of(thing: Any, where: str) -> str:
    """The tag of a class or function, or else its import name; refused where there is none that leads to it."""
    tag = tag_of(thing)
    if tag is not None:
        return tag
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", getattr(thing, "__name__", None))
    if isinstance(module, str) and module.startswith("oskaar."):
        raise StateError(f"{where} is {thing!r}, a part of oskaar that no file may hold: it has no tag (@saved).")
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        raise StateError(
            f"{where} is {thing!r}, which has no import name: a state holds functions and classes by name alone. "
            "Define it at the top of a module with def or class, and pass allow=[that module] to load."
        )
    if _attribute(sys.modules.get(module), name) is not thing:
        raise StateError(
            f"{where} is {thing!r}, and {module}.{name} is something else: a state holds functions and classes by "
            "name. Define it at the top of a module under that name."
        )
    return f"{module}:{name}"


def resolve(name: Any, allow: Allowed) -> Any:
    """What a name in a file stands for: oskaar's own, or what the caller allows."""
    if not isinstance(name, str) or len(name) > 1000:
        raise StateError(f"a name must be a text of at most 1000 characters, got {shown(name)}.")
    if ":" not in name:
        if tagged(name) is None:
            raise StateError(
                f"the file has a {shown(name)}, which is not a part of oskaar that a state may hold: another version "
                "of oskaar wrote it, or it is no state."
            )
        return tagged(name)
    if isinstance(allow, Mapping) and name in allow:
        return allow[name]
    module, _, path = name.partition(":")
    listed = [allow] if isinstance(allow, str) else [] if allow is None or isinstance(allow, Mapping) else list(allow)
    if not any(module == known or module.startswith(known + ".") for known in listed):
        raise StateError(
            f"the file asks for {name!r}, which is not a part of oskaar that a state may hold. If you trust it, pass "
            f"allow=[{module!r}] to import it, or allow={{{name!r}: the class or function}}."
        )
    try:
        thing = _attribute(importlib.import_module(module), path)
    except ImportError as error:
        raise StateError(f"the file needs {name!r}, and importing {module!r} failed: {error}.") from error
    if getattr(thing, "__module__", None) != module or getattr(thing, "__qualname__", path) != path:
        raise StateError(f"the file needs {name!r}, and {module!r} defines no such thing.")
    return thing


def _attribute(module: Any, path: str) -> Any:
    thing = module
    for part in path.split("."):
        thing = getattr(thing, part, None)
    return thing

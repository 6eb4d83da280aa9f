"""Names of classes and functions in files, and which of them may be used.

oskaar's own are looked up in a list that is made from the package's modules; a name in a file never imports anything.
Those of others are used only where the caller allows them.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Any

from oskaar.state.errors import StateError
from oskaar.state.limits import shown

CLASSES = ("arrays", "features", "inputs", "kernels", "learners", "losses", "solvers")
"""Parts of the package whose classes may be in a state."""

FUNCTIONS = ("features", "kernels", "losses")
"""Parts of the package whose functions may be."""

Allowed = Iterable[str] | Mapping[str, Any] | None


def own_names() -> Mapping[str, Any]:
    """All classes and functions of the package that a state may name.

    >>> own_names()["oskaar.arrays:Growing"].__name__, "oskaar.state.files:save" in own_names()
    ('Growing', False)
    """
    _import_all()
    return _names_in(tuple(name for name in list(sys.modules) if name.startswith("oskaar.")))


@lru_cache(maxsize=1)
def _import_all() -> None:
    """The files of the package that nobody has used yet."""
    for part in CLASSES:
        package = importlib.import_module(f"oskaar.{part}")
        for file in pkgutil.iter_modules(getattr(package, "__path__", [])):
            importlib.import_module(f"oskaar.{part}.{file.name}")


@lru_cache(maxsize=1)
def _names_in(modules: tuple[str, ...]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for name in modules:
        part, module = name.split(".")[1], sys.modules[name]
        if part not in CLASSES:
            continue
        kinds = (type, FunctionType) if part in FUNCTIONS else (type,)
        for thing in list(vars(module).values()):
            if isinstance(thing, kinds) and thing.__module__ == name:
                found[f"{name}:{thing.__qualname__}"] = thing
    return MappingProxyType(found)


def name_of(thing: Any, where: str) -> str:
    """The import name, module:name, of a class or a function; refused where there is none that leads to it."""
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", getattr(thing, "__name__", None))
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


def resolve(name: Any, own: Mapping[str, Any], allow: Allowed) -> Any:
    """What a name in a file stands for: oskaar's own, or what the caller allows."""
    if not isinstance(name, str) or len(name) > 1000:
        raise StateError(f"a name must be a text of at most 1000 characters, got {shown(name)}.")
    if name in own:
        return own[name]
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

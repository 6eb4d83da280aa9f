"""Whether two settings are the same, also those that came from files or other processes; and if not, where."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from oskaar.requirements import shorten


def difference(a: Any, b: Any, name: str) -> str | None:
    """What differs between two values, in words; None where nothing does.

    Objects are compared by their class and their attributes, functions by their code and what it refers to.

    >>> difference({"dim": 3, "seed": 0}, {"dim": 3, "seed": 1}, "features")
    'features.seed is 0 in one and 1 in the other'
    """
    if a is b:
        return None
    if type(a) is not type(b):
        return _named(a, b, name)
    if isinstance(a, np.ndarray):
        same = a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b)
        return None if same else f"{name} holds different numbers"
    if isinstance(a, dict):
        return _of_parts(a, b, name)
    if isinstance(a, (list, tuple)):
        return _of_parts(dict(enumerate(a)), dict(enumerate(b)), name)
    if isinstance(a, FunctionType):
        return _of_parts(_inside(a), _inside(b), name) if a.__code__ == b.__code__ else _named(a, b, name)
    if hasattr(a, "__dict__") and isinstance(inside := a.__getstate__() or {}, dict):
        return _of_parts(inside, b.__getstate__() or {}, name)
    return None if a == b else _named(a, b, name)


def _inside(function: FunctionType) -> dict[str, Any]:
    held = [cell.cell_contents for cell in function.__closure__ or ()]
    return {"defaults": function.__defaults__, "names": held}


def _of_parts(a: Any, b: Any, name: str) -> str | None:
    if list(a) != list(b):
        more = set(a) ^ set(b)
        return f"{name} has {shorten(sorted(map(str, more)) or list(a))} in one alone"
    return next((found for key in a if (found := difference(a[key], b[key], f"{name}.{key}"))), None)


def _named(a: Any, b: Any, name: str) -> str:
    return f"{name} is {shorten(a)} in one and {shorten(b)} in the other"

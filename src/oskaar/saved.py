r"""Tags of classes and functions in files, which stay when a class is moved or renamed; checks of their states.

    @saved("dense-rows")
    class DenseStore:
        def check_saved(self) -> None:                  # optional: after reading, refuse what no learner could have
            require(self.n == ..., "...")

A file has the attributes of an object, as pickle and copy take them: `__getstate__` leaves out what can be computed
again, and `__setstate__` computes it. Arrays among them must be finite, unless the class has `saved_finite = False`.
`oskaar.state` writes and reads the files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Thing = TypeVar("Thing", bound=Any)

_tagged: dict[str, Any] = {}
_tags: dict[Any, str] = {}


class StateError(ValueError):
    """A state that cannot be saved, or a file that cannot be trusted to be one."""


def saved(tag: str) -> Callable[[Thing], Thing]:
    """A decorator: this class or function is in files under this tag.

    >>> from oskaar.kernels import Linear
    >>> tag_of(Linear), tagged("kernel/linear").__name__
    ('kernel/linear', 'Linear')
    """

    def register(thing: Thing) -> Thing:
        known = _tagged.setdefault(tag, thing)
        if (known.__module__, known.__qualname__) != (thing.__module__, thing.__qualname__):
            raise ValueError(f"the tag {tag!r} must have one meaning, it is that of {known!r}: choose another.")
        _tagged[tag] = thing
        _tags[thing] = tag
        return thing

    return register


def tag_of(thing: Any) -> str | None:
    """The tag of a class or function; None for what has none, such as a subclass of one's own."""
    try:
        return _tags.get(thing)
    except TypeError:  # it cannot be hashed
        return None


def tagged(tag: str) -> Any:
    """The class or function of a tag; None if there is no such tag."""
    return _tagged.get(tag)


def tags() -> list[str]:
    """All tags of the modules that have been imported."""
    return sorted(_tagged)


def check_saved(thing: Any) -> None:
    """Refuse an object from a file that no learner could have; it was made of the file's attributes."""
    cls = type(thing)
    if getattr(cls, "saved_finite", True):
        for field, value in getattr(thing, "__dict__", {}).items():
            _require_finite(value, f"{cls.__name__}.{field}")
    if hasattr(cls, "check_saved"):
        thing.check_saved()


def _require_finite(value: Any, where: str) -> None:
    """Refuse arrays with inf or nan, also those in lists, tuples and dicts."""
    if isinstance(value, (list, tuple, dict)) and not hasattr(value, "_fields"):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, np.ndarray):
                _require_finite(item, where)
    elif isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
        raise StateError(f"{where} must be finite, the file has inf or nan there.")


def require(holds: Any, message: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise StateError(f"the file is not the state of a learner: {message}.")


def require_count(value: Any, what: str) -> int:
    """A whole number >= 0."""
    require(type(value) is int and value >= 0, f"{what} must be a whole number >= 0, got {shown(value)}")
    return int(value)


def require_number(value: Any, what: str, above: float = -np.inf) -> float:
    """A finite number, above a limit."""
    require(isinstance(value, (int, float, np.number)) and np.isfinite(value), f"{what} must be finite")
    require(value > above, f"{what} must be > {above:g}, got {value}")
    return float(value)


def require_kind(value: Any, kind: type | tuple[type, ...], what: str) -> None:
    """An object of a class."""
    require(isinstance(value, kind), f"{what} must be {kind}, got a {type(value).__name__}")


def require_floats(*arrays: Any) -> None:
    """Arrays of float64."""
    for array in arrays:
        require(isinstance(array, np.ndarray) and array.dtype == np.float64, "an array must hold float64")


def shown(value: Any) -> str:
    """A value from a file for a message, short whatever it is.

    >>> shown("a" * 1000)[:5], shown(((),) * 3), shown(7)
    ("'aaaa", 'a tuple of length 3', '7')
    """
    if type(value) is str:
        return repr(value[:80])
    if value is None or type(value) in (bool, float) or (type(value) is int and abs(value) < 2**64):
        return repr(value)
    length = f" of length {len(value)}" if type(value) in (list, tuple, dict, set, frozenset, bytes) else ""
    return f"a {type(value).__name__}{length}"

"""The cost of a learner: memory, operations of a round, and `max_bytes`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.requirements import require_whole


@dataclass(frozen=True)
class Cost:
    """What a learner costs as it stands."""

    bytes: int
    """The memory that it holds: arrays, rows and labels."""
    operations: int
    """About how many floating point operations the next round takes."""

    def __repr__(self) -> str:
        return f"Cost(bytes={self.bytes}, operations={self.operations})  # {readable(self.bytes)}"


PLAIN = frozenset({int, float, str, bytes})
"""Objects that lead nowhere."""

CONTAINERS = frozenset({dict, list, tuple, set, frozenset})
"""Objects that lead to what is in them."""


def held(*things: Any) -> int:
    """The memory behind some objects: each array once, with what containers and attributes lead to.

    >>> a = np.zeros(100)
    >>> held({"a": a, "again": a}) - held({"a": None, "again": None}) == a.nbytes
    True
    """
    seen: set[int] = set()
    waiting, total = list(things), 0
    while waiting:
        thing = waiting.pop()
        kind = type(thing)
        if kind is np.ndarray and isinstance(thing.base, np.ndarray):
            thing = thing.base
        if id(thing) in seen or thing is None:
            continue
        seen.add(id(thing))
        if kind in PLAIN:  # these two are most of them
            total += sys.getsizeof(thing)
        elif kind in CONTAINERS:
            total += sys.getsizeof(thing)
            waiting += thing
            waiting += thing.values() if kind is dict else ()
        else:
            size, more = _other(thing)
            total += size
            waiting += more
    return total


def _other(thing: Any) -> tuple[int, list[Any]]:
    """The memory of an array or an instance, and what it leads to; code and flags take none."""
    if isinstance(thing, (type, bool)):
        return 0, []
    if callable(thing):
        return 0, _attributes(thing)
    if isinstance(thing, np.ndarray):
        return thing.nbytes, []
    if isinstance(thing, Mapping):
        return sys.getsizeof(thing), [*thing.keys(), *thing.values()]
    if isinstance(thing, (list, tuple, set, frozenset)):
        return sys.getsizeof(thing), list(thing)
    return sys.getsizeof(thing), _attributes(thing)


def _attributes(thing: Any) -> list[Any]:
    return list(vars(thing).values()) if hasattr(thing, "__dict__") and not isinstance(thing, type) else []


def readable(size: float) -> str:
    """A number of bytes for people.

    >>> readable(2048), readable(3e9)
    ('2.0 KiB', '2.8 GiB')
    """
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def require_max_bytes(max_bytes: Any) -> int | None:
    """A limit on memory, or None."""
    return None if max_bytes is None else require_whole("max_bytes", max_bytes, note=", or None for no limit")


def require_space(wanted: int, max_bytes: int, advice: str) -> None:
    """Refuse what would not fit."""
    if wanted > max_bytes:
        raise MemoryError(
            f"learning this round would take {readable(wanted)} and max_bytes allows {readable(max_bytes)}: {advice}."
        )

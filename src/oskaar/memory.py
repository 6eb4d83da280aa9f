"""What a learner costs: the memory that it holds, the work of a round, and a limit that it keeps."""

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
        if type(thing) in PLAIN:  # most of them, and they lead nowhere
            if id(thing) not in seen:
                seen.add(id(thing))
                total += sys.getsizeof(thing)
            continue
        if isinstance(thing, np.ndarray) and isinstance(thing.base, np.ndarray):
            thing = thing.base
        if thing is None or id(thing) in seen or isinstance(thing, (type, bool)) or callable(thing):
            waiting += _attributes(thing) if id(thing) not in seen and not isinstance(thing, type) else []
            seen.add(id(thing))
            continue
        seen.add(id(thing))
        total += thing.nbytes if isinstance(thing, np.ndarray) else sys.getsizeof(thing)
        if isinstance(thing, Mapping):
            waiting += [*thing.keys(), *thing.values()]
        elif isinstance(thing, (list, tuple, set, frozenset)):
            waiting += thing
        else:
            waiting += _attributes(thing)
    return total


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

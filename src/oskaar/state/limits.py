r"""Limits on files, checked before anything is built: bytes, depth, objects, work.

    bytes    of the manifest's objects, arrays, and the room of those that grow; `max_bytes`, see `ReadLimits`
    depth    of objects in objects
    size     of plain containers as they would be without sharing: tuples in tuples double with each level
    objects  instances in instances, without sharing
    work     hashing, comparing equal hashes, checking what several objects share; in units of about 30 ns

All but the depth grow with the file, so that a large learner is as welcome as a small one.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from oskaar.saved import StateError

SAFE = 2**27
"""So many bytes any file may unpack to: 128 MiB. Larger files may unpack to a multiple of their own size."""

ARRAYS, MANIFEST = 8, 128
"""Those multiples: arrays with their room to grow; objects of the manifest."""

DEPTH = 200
"""Objects in objects."""

UNIT = 64
"""Bytes that count as one small object."""

_HUGE = 2**60


class ReadLimits:
    """What is left of each allowance while a file is read. `size` is the file's own."""

    def __init__(self, size: int, max_bytes: int | None) -> None:
        self.text = max(SAFE, MANIFEST * size) if max_bytes is None else max_bytes
        self._total = SAFE if max_bytes is None else max_bytes
        self._more = ARRAYS * size if max_bytes is None else 0
        self._taken = 0
        self._units = 0 if max_bytes is None else max_bytes // 512
        self._work = 0

    def take_text(self, cost: int) -> None:
        """The objects of a manifest, which are about to be made."""
        self._total = max(self._total, cost + self._more)
        self.take_arrays(cost)

    def take_arrays(self, total: int) -> None:
        """All arrays, or all objects, of a file: they allow for more objects and work."""
        self.take(total)
        self._units += total // UNIT
        self._work = 2**22 + 8 * self._units

    def take(self, count: int) -> None:
        """Bytes that are about to be used."""
        self._taken += count
        if self._taken > self._total:
            raise StateError(
                f"the file unpacks to {self._taken} bytes or more and at most {self._total} are read: if it is "
                f"yours, pass max_bytes={self._taken}."
            )

    def spend(self, work: int) -> None:
        """Work that is about to be done."""
        self._work -= work
        if self._work < 0:
            raise StateError("the file asks for more work than its size explains: oskaar did not write it.")

    @property
    def size(self) -> int:
        """The largest size of a plain value."""
        return 2**21 + 4 * self._units

    @property
    def objects(self) -> int:
        """The largest number of instances in one."""
        return 2**17 + self._units


class Size:
    """How large values are: plain size, instances, all that hashing may reach, and depth.

    >>> pair = Size()
    >>> pair.add_text("abc"); pair.add(pair); pair.plain
    2
    """

    __slots__ = ("all", "depth", "objects", "plain")

    def __init__(self, plain: int = 0, objects: int = 0, everything: int = 0, depth: int = 0) -> None:
        self.plain, self.objects, self.all, self.depth = plain, objects, everything, depth

    def add(self, part: Size) -> None:
        self.plain += part.plain
        self.objects += part.objects
        self.all += part.all
        self.depth = max(self.depth, part.depth)

    def add_text(self, value: Any) -> None:
        size = 1 + len(value) // UNIT if type(value) is str else 1
        self.plain += size
        self.all += size

    def closed(self, limits: ReadLimits, count: int, instance: bool) -> Size:
        """The size of what has these values inside and `count` bytes besides; refused where it is too large."""
        more = 1 + count // UNIT
        objects = self.objects + instance
        plain = 1 + objects if instance else self.plain + more  # others see an instance as one thing
        if self.depth >= DEPTH:
            raise StateError(f"the file has objects more than {DEPTH} deep in each other.")
        if plain > limits.size or objects > limits.objects:
            raise StateError(
                f"the file repeats its parts {max(plain, objects)} times and more: if it is yours, pass a larger "
                "max_bytes."
            )
        return Size(plain, objects, min(self.all + more, _HUGE), self.depth + 1)


def spend_on_hashing(things: list[Any], weights: list[int], limits: ReadLimits) -> None:
    """Pay for hashing things, and for comparing those whose hashes are equal, before a set or a dict is made."""
    limits.spend(sum(weights))
    if all(type(thing) is str for thing in things):  # whose hashes nobody can foretell
        return
    hashes = np.sort(np.fromiter(map(hash, things), np.int64, len(things)))
    ends = np.flatnonzero(np.append(hashes[1:] != hashes[:-1], True))
    equal = np.diff(ends, prepend=-1)
    limits.spend(int((equal * (equal - 1) // 2).sum()) * max(weights))


PIECE = 2**8
"""Keys that go into a table between two looks at the clock."""

AT_MOST = 0.01
"""Seconds that a piece counts at most: one that waited for a busy machine is no sign of collisions."""


def fill(table: Any, things: list[Any], weights: list[int]) -> None:
    """Put things into a set or a dict, while they go in as quickly as keys do.

    Keys of other hashes can be chosen to collide in the table. Those that take 10 times as long as others
    are refused, if several pieces do.
    """
    spent, allowed = 0.0, 0.05
    for first in range(0, len(things), PIECE):
        since = time.thread_time()
        table.update(things[first : first + PIECE])
        spent += min(time.thread_time() - since, AT_MOST)
        allowed += 1.5e-6 * sum(weights[first : first + PIECE])
        if spent > allowed:
            raise StateError("the file has keys that were chosen to collide: it is not a state that oskaar wrote.")


class Scan:
    """The memory of a JSON text as objects, counted piece by piece: brackets, commas and quotes outside of its texts.

    >>> scan = Scan(10**6)
    >>> scan.add(b'{"a": ["[[[", 1]}'); scan.cost == 2 * 17 + 240 + 64 + 40 + 4 * 25
    True
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.cost = limit, 0
        self._inside, self._rest = 0, b""

    def add(self, piece: bytes) -> None:
        """The next piece; refused where all together are too much."""
        piece = self._rest + piece
        cut = (len(piece) - len(piece.rstrip(b"\\"))) % 2  # a backslash and what it belongs to stay together
        piece, self._rest = piece[: len(piece) - cut], piece[len(piece) - cut :]
        wide = 3 if b"\\u" in piece else 0  # one wide character makes a whole text wide
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._inside :: 2])
        self._inside = (self._inside + len(parts) - 1) % 2
        signs = 64 * outside.count(b"[") + 240 * outside.count(b"{") + 40 * outside.count(b",")
        self.cost += (2 + wide) * len(piece) + signs + 25 * (len(parts) - 1)
        if self.cost > self.limit:
            raise StateError(
                f"the manifest needs {self.cost} bytes or more and at most {self.limit} are read: if it is yours, "
                "pass a larger max_bytes."
            )

"""Damage in SQLite's write-ahead log, which SQLite takes for its end, and leaves out what follows.

A frame is a page with a checksum that goes on from the frame before; the last frame of a commit is marked. SQLite
reads up to the first frame that is not right. A commit is on disk before the next one begins, so where two or more
follow a frame that is not right, that frame was right once. Where one follows, it may be a commit that the power cut
in two, before it was answered. (The format: sqlite.org/fileformat2.html, section 4.)
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

HEADER, FRAME = 32, 24
MAGIC = {0x377F0682: "<", 0x377F0683: ">"}
"""The first number, and the order of bytes in checksums."""


class Tail(NamedTuple):
    """What is behind the part of a write-ahead log that can be read."""

    valid: int
    """Bytes that can be read."""
    commits: int
    """Commits after them that cannot, of the same age; 0 for a log that is whole."""


def tail_of(path: Path) -> Tail:
    """Where the log at `path` stops being right; no server may be writing it."""
    data = path.read_bytes() if path.exists() else b""
    if len(data) <= HEADER + FRAME:
        return Tail(len(data), 0)
    magic, _, size, _, *salts, first, second = struct.unpack(">8I", data[:HEADER])
    order = MAGIC.get(magic, "<")
    if (first, second) != _checksum(order, data[: HEADER - 8], (0, 0)):
        return Tail(0, 2)
    frames = range(HEADER, len(data) - FRAME - size + 1, FRAME + size)
    valid, sums, right, commits = HEADER, (first, second), True, 0
    for start in frames:
        end = start + FRAME + size
        _, pages, salt1, salt2, first, second = struct.unpack(">6I", data[start : start + FRAME])
        same_age = [salt1, salt2] == salts
        if right and same_age:
            sums = _checksum(order, data[start : start + 8], sums)
            sums = _checksum(order, data[start + FRAME : end], sums)
        right = right and same_age and sums == (first, second)
        if right:
            valid = end if pages else valid
        else:
            commits += same_age and pages > 0
    return Tail(valid, commits)


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    s0, s1 = sums
    for a, b in struct.iter_unpack(f"{order}2I", data):
        s0 = (s0 + a + s1) & 0xFFFFFFFF
        s1 = (s1 + b + s0) & 0xFFFFFFFF
    return s0, s1

"""A directory of parts: its files in the order of their names, as one table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from oskaar.tabular.readers.base import ReadError, Record, Table


def read_directory(path: Path, wanted: Callable[[Path], bool], read: Callable[[Path], Table]) -> Table:
    """Records of the files in a directory that are wanted, one file after the other.

    Names that begin with . or _ are left out, as writers of parts use them for what is no part, and so are
    directories. The first part says what the columns are; all must have the same.
    """
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    parts = [file for file in files if wanted(file)]
    if not parts:
        raise ReadError(f"{path} is a directory without parts: names of files must end in .csv, .jsonl or the like.")
    directory = _Directory(parts, read)
    notes = [
        f"{path} is a directory: {len(parts)} files are read in the order of their names",
        *directory.first.notes,
    ]
    left_out = len(files) - len(parts)
    if left_out:
        notes.append(f"{left_out} other files are left out")
    table = replace(directory.first, name=str(path), records=directory.records(), notes=notes)
    table.fraction, table.digest = directory.fraction, directory.digest
    return table


class _Directory:
    """Parts that are opened one at a time, each when the one before it ends."""

    def __init__(self, parts: list[Path], read: Callable[[Path], Table]) -> None:
        self._parts, self._read = parts, read
        self.first = self._now = read(parts[0])
        self._done = 0
        self._sum = hashlib.blake2b(digest_size=16)

    def records(self) -> Iterator[Record]:
        for part in self._parts:
            if self._done:
                self._now = self._read(part)
                self._require_same(part)
            for record in self._now:
                yield record._replace(part=str(part))
            self._sum.update(self._now.digest().encode())
            self._done += 1

    def _require_same(self, part: Path) -> None:
        before, now = self.first.columns, self._now.columns
        if before is None or now is None or set(before) == set(now):
            return
        missing, more = [c for c in before if c not in now], [c for c in now if c not in before]
        what = f"column {missing[0]!r} is missing" if missing else f"column {more[0]!r} is new"
        raise ReadError(f"{part}: parts must have the columns of the first, {self._parts[0].name}: {what}.")

    def fraction(self) -> float | None:
        """How much has been read, as if parts were of one size."""
        inside = self._now.fraction() or 0.0 if self._done < len(self._parts) else 0.0
        return (self._done + inside) / len(self._parts)

    def digest(self) -> str:
        """A fingerprint of the parts that are done and of what has been read of the present one."""
        total = self._sum.copy()
        if self._done < len(self._parts):
            total.update(self._now.digest().encode())
        return total.hexdigest()

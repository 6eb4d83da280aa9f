"""Atomic writing: a file is the old one or the new one, and keeps its mode and owner.

A file is written beside its place under a name of its own, flushed to disk, and moved there in one step. That name is
`.<name>.<k>.tmp` with the smallest k that no other process is writing to, which a lock tells (`flock`): what a killed
process left behind is written over by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:  # no locks: each name is tried once
    fcntl = None  # type: ignore[assignment]

_LONGEST = 100
"""Names of more bytes than this are shortened in the name beside them, as a file system allows 255 in all."""

_TRIES = 100


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of the one at `path` once it is whole.

    Where `path` is a link, it stays, and its target is replaced. An error leaves the old file as it was, and nothing
    beside it.
    """
    target = os.path.realpath(path)
    old = require_file(target)
    beside, handle = _beside(target, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            if old is not None:
                _belong(file.fileno(), old)
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    _flush_folder(os.path.dirname(target))


def require_file(path: str | os.PathLike[str]) -> os.stat_result | None:
    """What is at a path, None for nothing; an OSError where it is no file: pipes and devices are never replaced."""
    try:
        old = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "It is a pipe or a device and no file, and would be replaced", os.fspath(path))
    return old


def _beside(target: str, mode: int) -> tuple[str, int]:
    """A new file beside the target that nobody else writes to: its path, and its handle, which is locked."""
    folder, name = os.path.split(target)
    raw = os.fsencode(name)
    short = name if len(raw) <= _LONGEST else hashlib.sha256(raw).hexdigest()[:32]
    for k in range(_TRIES):
        path = os.path.join(folder, f".{short}.{k}.tmp")
        for _ in range(2):  # the second time in place of what a killed process has left
            with contextlib.suppress(FileExistsError):
                handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
                if _locked(handle, path):
                    return path, handle
                os.close(handle)
                break
            if not _removed(path):
                break
    raise OSError(errno.EEXIST, f"There are {_TRIES} unfinished files beside it: remove .{short}.*.tmp", target)


def _removed(path: str) -> bool:
    """Whether a file that nobody writes to any more was there, and is gone."""
    if fcntl is None:
        return False
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # it is somebody else's
        return False
    try:
        if not _locked(handle, path):
            return False
        os.unlink(path)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def _locked(handle: int, path: str) -> bool:
    """Whether the lock of a file was free, and the file is still the one that has the path."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _belong(handle: int, old: os.stat_result) -> None:
    """Give a new file the owner, the group and the mode of the old one, as far as that is allowed."""
    if not hasattr(os, "fchown"):
        return
    mode = stat.S_IMODE(old.st_mode) & 0o777
    new = os.fstat(handle)
    if new.st_gid != old.st_gid or new.st_uid != old.st_uid:
        try:
            os.fchown(handle, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.fchown(handle, -1, old.st_gid)
            except OSError:  # what the old group could do, another one must not
                mode = mode & 0o707 | (mode & 0o007) << 3
    os.fchmod(handle, mode)


def _flush_folder(folder: str) -> None:
    """Make the new name last through a loss of power, where folders can be flushed."""
    with contextlib.suppress(OSError):
        handle = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

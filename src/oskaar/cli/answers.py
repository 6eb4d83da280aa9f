"""Answers of a run as JSON lines, one for each round; a resumed run appends to them."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from typing import IO, Any

from oskaar.cli.checkpoint import Checkpoint
from oskaar.tabular import ReadError, Round


class Answers:
    """A file of answers; `state` says how long it is, with a fingerprint, to find the place again."""

    def __init__(self, file: IO[str], name: str | None, before: bytes = b"") -> None:
        self._file, self.name = file, name
        self._length, self._sum = len(before), hashlib.blake2b(before, digest_size=16)

    def write(self, rounds: list[Round], happened: Any, number: int, show: Callable[[Any], Any]) -> None:
        """Answers of some rounds, the first of which has a number more than `number`."""
        lines = []
        for r, z, loss in zip(rounds, happened.predictions, happened.losses, strict=True):
            number += not r.warm
            where = {"file": PurePath(r.part).name, "line": r.line} if r.part else {"line": r.line}
            row = {"round": None if r.warm else number, **where, "prediction": show(z), "loss": float(loss)}
            lines.append(json.dumps(row, default=str) + "\n")
        text = "".join(lines)
        self._file.write(text)
        self._file.flush()
        self._length += len(text)
        self._sum.update(text.encode("ascii"))

    def state(self) -> dict[str, Any]:
        """For a checkpoint; nothing for standard output."""
        if self.name is None:
            return {}
        return {"out": self.name, "written": self._length, "answers": self._sum.hexdigest()}


@contextmanager
def opened(path: str | None, kept: Checkpoint | None = None) -> Iterator[Answers | None]:
    """The file for answers: new, or cut to what it had at the checkpoint, so that no answer is there twice."""
    if path is None or path == "-":
        yield Answers(sys.stdout, None) if path else None
        return
    before = kept.written if kept else 0
    try:
        handle = open(path, "r+b" if before else "wb")  # noqa: SIM115, closed below
    except OSError as error:
        raise ReadError(f"--out {path} cannot be written: {error.strerror}.") from None
    text = io.TextIOWrapper(handle, "ascii", newline="\n")
    try:
        start = handle.read(before) if before else b""
        if kept and before and hashlib.blake2b(start, digest_size=16).hexdigest() != kept.answers:
            raise ReadError(
                f"--out {path} must begin with the answers so far, {before} bytes: give the file as it was."
            )
        if before:
            handle.truncate()
        yield Answers(text, path, start)
    finally:
        with suppress(OSError):  # reported when it was written
            text.close()

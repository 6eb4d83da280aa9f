"""A copy of a folder of the service, also while a server writes to it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from oskaar.serve.store import StoreError, locked, require_whole_wal

TRIES = 20


def back_up(source: str, target: str) -> str:
    """Copy the store to a new folder: the state of one moment. A sentence that says what it holds."""
    old, new = Path(source), Path(target)
    if not (old / "oskaar.db").exists():
        raise ValueError(f"{source} is no folder of oskaar serve: there is no oskaar.db in it.")
    _require_readable(old)
    if new.exists() and any(new.iterdir()):
        raise ValueError(f"{target} is there already: a backup needs a new folder.")
    (new / "checkpoints").mkdir(parents=True, exist_ok=True)
    for _ in range(TRIES):
        files = _copied(old / "oskaar.db", new / "oskaar.db")
        try:
            for file in files:
                shutil.copy2(old / "checkpoints" / file, new / "checkpoints" / file)
        except FileNotFoundError:  # a newer checkpoint has taken its place: once more
            continue
        return f"{target} has {len(files)} checkpoints and the log since then."
    raise ValueError(f"checkpoints were replaced {TRIES} times while they were copied: try again.")


def _require_readable(folder: Path) -> None:
    """Refuse a write-ahead log with damage in it, where no server has it open: a copy would leave out the rest."""
    try:
        lock = locked(folder)
    except StoreError:  # a server has read it
        return
    try:
        require_whole_wal(folder / "oskaar.db")
    except StoreError as error:
        raise ValueError(str(error)) from error
    finally:
        lock.close()


def _copied(old: Path, new: Path) -> list[str]:
    url = f"{old.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(url, uri=True)) as source, closing(sqlite3.connect(new)) as copy:
        source.backup(copy)
        return [row[0] for row in copy.execute("SELECT file FROM streams WHERE file IS NOT NULL")]

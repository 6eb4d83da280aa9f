"""The store: a log of operations in SQLite, and checkpoints as files beside it.

    folder/lock                 held by the one server that uses the folder
    folder/oskaar.db            streams, the log since their checkpoints, answers by idempotency key
    folder/checkpoints/7-1200.oskaar      the learner of stream 7 after operation 1200, as `learner.save` writes it

Write-ahead logging with synchronous=FULL: what a commit has returned from is on disk. One thread writes
(`writer.py`); others read through connections of their own.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from oskaar import __version__
from oskaar.serve.operations import Answer, Operation
from oskaar.serve.wal import tail_of

try:
    import fcntl
except ImportError:  # the lock is not held on such systems
    fcntl = None  # type: ignore[assignment]

PAGE = 4096
_COLUMNS = "id, name, spec, created, seq, file, accounts, oskaar"

VERSION = 2
"""Of the tables; `PRAGMA user_version` has it in the file."""

TABLES = """
CREATE TABLE streams (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, spec BLOB NOT NULL, created REAL NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    file TEXT,
    accounts BLOB,
    oskaar TEXT
);
CREATE TABLE log (
    stream INTEGER NOT NULL, seq INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL, key TEXT,
    body BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (stream, seq)
) WITHOUT ROWID;
CREATE TABLE answers (
    stream INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL, digest BLOB NOT NULL,
    status INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (stream, key)
) WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (stream, seq);
"""
"""streams.seq: the last operation that the checkpoint `file` has in it; `accounts`: what goes with it;
`oskaar`: the version that wrote it."""

STEPS: dict[int, str] = {1: "ALTER TABLE streams ADD COLUMN oskaar TEXT;"}
"""What makes version n + 1 out of version n."""


class StoreError(Exception):
    """A store that cannot be used: in use, damaged, or of another version."""


@dataclass(frozen=True)
class Saved:
    """A stream as the store has it."""

    id: int
    name: str
    spec: bytes
    created: float
    seq: int
    """The last operation in its checkpoint; 0 where there is none."""
    file: str | None
    accounts: bytes | None
    oskaar: str | None
    """The version that made the stream or wrote its checkpoint."""
    last: int
    """The last operation in the log."""
    log_bytes: int


class Store:
    """The database and the folder of checkpoints. Methods that write are for the writer's thread alone."""

    cut_short: bool
    """Whether the last commit of the process before is not whole: cut by a loss of power, or damaged since."""

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int | None = None) -> None:
        self.folder = Path(folder)
        self.checkpoints = self.folder / "checkpoints"
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.folder)
        self.path = self.folder / "oskaar.db"
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        try:
            self.cut_short = require_whole_wal(self.path)
            self.db = self._connected(max_bytes)
        except BaseException:
            self._lock.close()
            raise

    def _connected(self, max_bytes: int | None) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30)
        try:
            if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
                raise StoreError(f"{self.path} is on a file system without write-ahead logs: give a local folder.")
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA journal_size_limit = 67108864")
            if max_bytes is not None:
                db.execute(f"PRAGMA max_page_count = {max(1, max_bytes // PAGE)}")
            problems = [row[0] for row in db.execute("PRAGMA quick_check(3)")]
            if problems != ["ok"]:
                raise StoreError(f"{self.path} is damaged: {'; '.join(problems)}: restore a backup.")
            prepare(db, str(self.path))
        except sqlite3.DatabaseError as error:
            db.close()
            raise StoreError(
                f"{self.path} cannot be used: {error}: restore a backup, or make room on the disk."
            ) from error
        except BaseException:
            db.close()
            raise
        return db

    def close(self) -> None:
        """Close all connections and let others use the folder."""
        for reader in self._readers:
            reader.close()
        self.db.close()
        self._lock.close()

    # ---------------------------------------------------------------- reading, from any thread

    @property
    def reader(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "db", None)
        if found is None:
            uri = f"{self.path.absolute().as_uri()}?mode=ro"
            found = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=30)
            self._local.db = found
            self._readers.append(found)
        return found

    def streams(self) -> list[Saved]:
        """All streams, in the order in which they were made."""
        logs = {
            stream: (last, size)
            for stream, last, size in self.reader.execute(
                "SELECT stream, max(seq), sum(length(body) + 64) FROM log GROUP BY stream"
            )
        }
        rows = self.reader.execute(f"SELECT {_COLUMNS} FROM streams ORDER BY id")
        return [_saved(row, *logs.get(row[0], (0, 0))) for row in rows]

    def stream(self, id: int) -> Saved:
        """One stream, without the size of its log."""
        row = self.reader.execute(f"SELECT {_COLUMNS} FROM streams WHERE id = ?", (id,)).fetchone()
        if row is None:
            raise StoreError(f"stream {id} is not in the store any more.")
        return _saved(row)

    def operations(self, stream: int, after: int, last: int) -> Iterator[Operation]:
        """The log of a stream from operation after + 1 to `last`; what is missing or damaged is an error."""
        expected = after + 1
        rows = self.reader.execute(
            "SELECT seq, time, kind, key, body, checksum FROM log "
            "WHERE stream = ? AND seq > ? AND seq <= ? ORDER BY seq",
            (stream, after, last),
        )
        for seq, time, kind, key, body, checksum in rows:
            if seq != expected:
                raise StoreError(f"the log is damaged: operation {expected} is missing, {seq} follows.")
            if type(body) is not bytes or checksum != _checksum(stream, seq, time, kind, key, body):
                raise StoreError(f"the log is damaged: operation {seq} does not have its checksum.")
            yield Operation(kind, body, key, time, seq)
            expected += 1
        if expected != last + 1:
            raise StoreError(f"the log is damaged: it ends before operation {expected}, {last} were written.")

    def answer(self, stream: int, key: str) -> tuple[bytes, Answer] | None:
        """The digest of the request and the answer for an idempotency key that a checkpoint covers."""
        row = self.reader.execute(
            "SELECT digest, status, body, seq FROM answers WHERE stream = ? AND key = ?", (stream, key)
        ).fetchone()
        return None if row is None else (row[0], Answer(row[1], row[2], row[3]))

    def disk(self) -> dict[str, int]:
        """Bytes of the database, of its write-ahead log, and of all checkpoints."""
        beside = Path(f"{self.path}-wal")
        files = sum(entry.stat().st_size for entry in os.scandir(self.checkpoints) if entry.is_file())
        return {
            "database": self.path.stat().st_size,
            "write_ahead_log": beside.stat().st_size if beside.exists() else 0,
            "checkpoints": files,
        }

    # ---------------------------------------------------------------- writing, inside a transaction of the writer

    def add_stream(self, name: str, spec: bytes, created: float) -> int:
        row = (name, spec, created, __version__)
        done = self.db.execute("INSERT INTO streams (name, spec, created, oskaar) VALUES (?, ?, ?, ?)", row)
        return int(done.lastrowid or 0)

    def drop_stream(self, id: int) -> None:
        """A stream without its log, which `trim` takes away."""
        self.db.execute("DELETE FROM streams WHERE id = ?", (id,))

    def append(self, operations: Iterable[tuple[int, Operation]]) -> None:
        """Operations, each with the number of its stream, to the log."""
        rows = [
            (s, o.seq, o.time, o.kind, o.key, o.body, _checksum(s, o.seq, o.time, o.kind, o.key, o.body))
            for s, o in operations
        ]
        self.db.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def set_checkpoint(self, id: int, seq: int, file: str, accounts: bytes, answers: list[Any], keys: int) -> None:
        """A checkpoint that is on disk, with the answers that the log will not give again."""
        self.db.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?)", answers)
        row = (seq, file, accounts, __version__, id)
        self.db.execute("UPDATE streams SET seq = ?, file = ?, accounts = ?, oskaar = ? WHERE id = ?", row)
        self.db.execute("DELETE FROM answers WHERE stream = ? AND seq <= ?", (id, seq - keys))

    def trim(self, id: int, seq: int, most: int) -> int:
        """Take operations up to `seq` out of the log, at most so many: how many there were."""
        done = self.db.execute(
            "DELETE FROM log WHERE stream = ? AND seq <= ? AND seq < (SELECT min(seq) FROM log WHERE stream = ?) + ?",
            (id, seq, id, most),
        )
        return done.rowcount

    def forget_answers(self, id: int) -> None:
        """Of a stream that was deleted."""
        self.db.execute("DELETE FROM answers WHERE stream = ?", (id,))

    def clean(self) -> None:
        """Remove what a killed process has left: logs of deleted streams, and files that no stream names."""
        for table in ("log", "answers"):
            self.db.execute(f"DELETE FROM {table} WHERE stream NOT IN (SELECT id FROM streams)")
        self.db.execute("DELETE FROM log WHERE seq <= (SELECT seq FROM streams WHERE id = log.stream)")
        named = {row[0] for row in self.db.execute("SELECT file FROM streams")}
        for entry in list(os.scandir(self.checkpoints)):
            if entry.name not in named:
                os.unlink(entry.path)


def prepare(db: sqlite3.Connection, path: str) -> None:
    """Make the tables, or bring older ones up to date, all steps or none."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > VERSION:
        raise StoreError(f"{path} has tables of version {found}, this oskaar knows {VERSION}: install a newer one.")
    if found == VERSION:
        return
    if found == 0 and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StoreError(f"{path} is a database of something else: give another folder.")
    script = TABLES if found == 0 else "".join(STEPS[n] for n in range(found, VERSION))
    db.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {VERSION}; COMMIT;")


def require_whole_wal(database: Path) -> bool:
    """Refuse a write-ahead log with damage in it; whether its last commit is not whole."""
    path = Path(f"{database}-wal")
    tail = tail_of(path)
    if tail.commits > 1:
        raise StoreError(
            f"{path} is damaged after byte {tail.valid}: operations that were answered cannot be read. Restore a "
            f"backup, or cut the file there (truncate -s {tail.valid}) to go on without them."
        )
    return tail.commits == 1


def _saved(row: tuple[Any, ...], last: int = 0, size: int = 0) -> Saved:
    id, name, spec, created, seq, file, accounts, version = row
    return Saved(id, name, spec, created, seq, file, accounts, version, max(seq, last), size)


def locked(folder: Path) -> IO[str]:
    """The file that says who uses the folder."""
    file = open(folder / "lock", "a+", encoding="ascii")  # noqa: SIM115, held as long as the store is open
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            owner = file.read(20).strip()
            file.close()
            raise StoreError(f"{folder} is in use by process {owner or 'unknown'}: one server a folder.") from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def _checksum(stream: int, seq: int, time: float, kind: str, key: str | None, body: bytes) -> int:
    head = struct.pack("<qqd", stream, seq, time) + kind.encode() + b"\0" + (key or "").encode()
    return zlib.crc32(body, zlib.crc32(head))

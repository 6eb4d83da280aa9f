"""The tables of the store, and the steps from older ones."""

from __future__ import annotations

import sqlite3

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

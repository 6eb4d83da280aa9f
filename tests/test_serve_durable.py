"""The service under faults: kills, full disks, damage, clocks, other servers, older stores."""

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import threading
import time

import numpy as np
import pytest
from serve_killing import kill_under_load
from serving import SPEC

from oskaar.serve import Conflict, Refused, TooBusy, Unavailable
from oskaar.serve.backup import back_up
from oskaar.serve.core import Core
from oskaar.serve.operations import Ask, Operation
from oskaar.serve.service import Service
from oskaar.serve.settings import Limits, Pace
from oskaar.serve.specs import make_learner
from oskaar.serve.store import VERSION, Store, StoreError

RARELY = Pace(rounds=10**9, most=10**9)
RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 2)).round(3).tolist()
Y = [("a", "b", "c")[int(i)] for i in RNG.integers(3, size=400)]


@contextlib.asynccontextmanager
async def running(folder, limits=None, pace=RARELY, crash=False):
    """A service in this process; with `crash` it ends as a killed one would, without its last checkpoints."""
    service = Service(folder, limits, pace)
    await service.start()
    try:
        yield service
    finally:
        if crash:
            for stream in service.streams.values():
                stream.core = None
        await service.close()


def op(kind, key=None, **body):
    return Operation(kind, json.dumps(body).encode(), key)


async def send(stream, *operations):
    answers = await stream.submit(list(operations))
    return [(answer.status, json.loads(answer.body)) for answer in answers]


async def learned(service, rounds, name="s", spec=SPEC):
    """A stream with some rounds, asked and told; a learner beside it that was given the same."""
    stream, _ = await service.create(name, spec)
    for x, y in zip(X[:rounds], Y[:rounds]):
        ((_, asked),) = await send(stream, op("ask", x=x))
        await send(stream, op("tell", ticket=asked["ticket"], y=y))
    return stream


def local(rounds, spec=SPEC):
    learner = make_learner(spec)
    for x, y in zip(X[:rounds], Y[:rounds]):
        learner.tell(learner.ask(x)[0], y)
    return learner


async def model(stream):
    return await stream.do(lambda core: core.learner.to_bytes())


async def test_recovery_is_bit_for_bit(tmp_path):
    """From the log alone, from a checkpoint and the log, and from a checkpoint alone."""
    async with running(tmp_path, crash=True) as service:
        stream = await learned(service, 30)
    async with running(tmp_path) as service:
        stream = service.streams["s"]
        assert stream.checkpoints.seq == 0
        assert await model(stream) == local(30).to_bytes()
    async with running(tmp_path, crash=True) as service:
        stream = service.streams["s"]
        assert stream.checkpoints.seq == 60
        for x, y in zip(X[30:50], Y[30:50]):
            ((_, asked),) = await send(stream, op("ask", x=x))
            await send(stream, op("tell", ticket=asked["ticket"], y=y))
    async with running(tmp_path) as service:
        assert await model(service.streams["s"]) == local(50).to_bytes()


@pytest.mark.parametrize("quick", [0.0, 10.0], ids=["threads", "event loop"])
async def test_it_does_not_matter_who_applies_operations(tmp_path, monkeypatch, quick):
    """Rounds that cross, with other work and checkpoints in between: the log says in which order they came."""
    monkeypatch.setattr("oskaar.serve.stream.QUICK", quick)
    here, apply = [], Core.apply

    def applied(core, operation):
        here.append(threading.current_thread() is threading.main_thread())
        return apply(core, operation)

    monkeypatch.setattr(Core, "apply", applied)
    async with running(tmp_path, pace=Pace(rounds=30, share=0), crash=True) as service:
        stream = await learned(service, 1)

        async def one(x, y):
            ((_, asked),) = await send(stream, op("ask", x=x))
            await model(stream)
            return await send(stream, op("tell", ticket=asked["ticket"], y=y))

        told = await asyncio.gather(*map(one, X[1:60], Y[1:60]))
        assert sorted(body["rounds"] for ((_, body),) in told) == list(range(2, 61))
        while stream.checkpoints.running:
            await asyncio.sleep(0.01)
        assert stream.checkpoints.written >= 1
        assert any(here) == (quick > 0)
        lived = await model(stream)
    async with running(tmp_path) as service:
        assert await model(service.streams["s"]) == lived


@pytest.mark.parametrize(
    "pace", [Pace(rounds=20, share=0), Pace(rounds=20, share=0, large=0)], ids=["copy", "rebuilt"]
)
async def test_checkpoints_while_it_learns(tmp_path, pace):
    """From copies and from the log: the log is trimmed, old files go, keys are remembered, bits are the same."""
    async with running(tmp_path, pace=pace, crash=True) as service:
        stream, _ = await service.create("s", SPEC)
        for i, (x, y) in enumerate(zip(X[:100], Y[:100])):
            await send(stream, op("learn", f"key {i}", x=x, y=y))
        while service.background._work_queue.qsize() or stream.checkpoints.running:
            await asyncio.sleep(0.01)
        assert stream.checkpoints.written >= 2
        assert stream.checkpoints.problem is None
        kept = service.store.reader.execute("SELECT count(*), min(seq) FROM log").fetchone()
        assert kept[0] == 100 - stream.checkpoints.seq
        assert os.listdir(tmp_path / "checkpoints") == [stream.checkpoints.file]
    async with running(tmp_path) as service:
        stream = service.streams["s"]
        first = await send(stream, op("learn", "key 0", x=X[0], y=Y[0]), op("learn", "key 99", x=X[99], y=Y[99]))
        assert [body["rounds"] for _, body in first] == [1, 100]
        learner = make_learner(SPEC)
        learner.learn_many(X[:100], Y[:100])
        assert await model(stream) == learner.to_bytes()


def test_a_copy_stays_as_it_is():
    """With open tickets, which it shares, while the stream goes on."""
    core = Core.new(json.dumps({**SPEC, "max_open": 50}).encode())

    def apply(kind, **body):
        operation = op(kind, **body)
        operation.seq = core.seq + 1
        assert core.apply(operation).status == 200

    for x, y in zip(X[:20], Y[:20]):
        apply("ask", x=x)
        apply("learn", x=x, y=y)
    copy, before = core.copied(), (core.learner.to_bytes(), json.dumps(core.accounts.to_dict()))
    assert 0.5 < core.bytes() / core.learner.cost().bytes < 2
    assert copy.learner._tickets.open[7] is core.learner._tickets.open[7]
    for ticket in range(0, 20, 2):
        apply("tell", ticket=ticket, y="a")
        apply("forget", ticket=ticket + 1)
        apply("ask", x=X[ticket])
    assert (copy.learner.to_bytes(), json.dumps(copy.accounts.to_dict())) == before
    copy.learner.tell(3, "b")
    assert core.learner.open_tickets == list(range(20, 30))


async def test_accounts_survive(tmp_path):
    """Open tickets with their age, curves, baselines and the last rounds are those of a service that never ended."""
    spec = {"loss": {"name": "F1", "n_labels": 3}, "learner": {"name": "OSKAAR", "budget": 4}}
    labels = [[0], [1, 2], [], [0, 1]] * 10
    figures = []
    for stops in ((), (10, 11, 25)):
        folder = tmp_path / str(len(stops))
        for start, end in zip((0, *stops), (*stops, 40)):
            async with running(folder, crash=end == 25) as service:
                stream, _ = await service.create("s", spec)
                for x, y in zip(X[start:end], labels[start:end]):
                    ((_, asked),) = await send(stream, op("ask", x=x))
                    if y:
                        await send(stream, op("tell", ticket=asked["ticket"], y=y))
                found = await stream.do(lambda core: core.accounts.to_dict())
        found["recent"] = [{k: v for k, v in row.items() if k not in ("asked", "told")} for row in found["recent"]]
        found["open"] = [[ticket, *row[1:]] for ticket, *row in found["open"]]
        figures.append(json.dumps(found))
    assert figures[0] == figures[1]


async def test_keys_after_a_crash(tmp_path):
    """An operation that is in the log is not done again, whether its answer went out or not."""
    async with running(tmp_path, crash=True) as service:
        stream, _ = await service.create("s", SPEC)
        before = await send(stream, op("ask", "k1", x=X[0]), op("learn", "k2", x=X[1], y="no class"))
    async with running(tmp_path) as service:
        stream = service.streams["s"]
        assert await send(stream, op("ask", "k1", x=X[0]), op("learn", "k2", x=X[1], y="no class")) == before
        assert stream.applied == 2
        with pytest.raises(Conflict, match="another request"):
            await send(stream, op("ask", "k1", x=X[1]))
        with pytest.raises(Refused, match="must differ"):
            await send(stream, op("ask", "k3", x=X[1]), op("ask", "k3", x=X[1]))


async def test_a_retry_waits_for_the_first(tmp_path):
    """Two requests with one key at the same time are one operation."""
    async with running(tmp_path) as service:
        stream, _ = await service.create("s", SPEC)
        both = await asyncio.gather(*(send(stream, op("ask", "k", x=X[0])) for _ in range(8)))
        assert all(each == both[0] for each in both)
        assert stream.applied == 1


async def test_a_full_disk(tmp_path):
    """503, nothing half-written, reads go on; with room again, all goes on, and the bits are right."""
    async with running(tmp_path, Limits(disk=40 * 4096), crash=True) as service:
        stream, _ = await service.create("s", SPEC)
        accepted = 0
        for x, y in zip(X, Y):
            ((status, body),) = await send(stream, op("learn", x=x, y=y, **{}))
            if status != 200:
                break
            accepted += 1
            await send(stream, op("learn", x=x, y="?" * 2000))  # refused, and in the log
        assert (status, body["error"]["code"]) == (503, "disk_full")
        assert "nothing was done" in body["error"]["message"]
        assert (await service.predict(stream, [Ask(X[0])]))[0]["z"] in list("abc")
        assert (await stream.do(lambda core: core.learner.rounds)) == accepted
        assert service.writer.problem is not None
        with pytest.raises(Unavailable):
            await service.create(
                "another", SPEC | {"max_open": 5} | {"loss": {"name": "ZeroOne", "classes": ["x" * 9999]}}
            )
        service.store.db.execute("PRAGMA max_page_count = 100000")
        ((status, body),) = await send(stream, op("learn", "k", x=X[accepted], y=Y[accepted]))
        assert (status, body["rounds"]) == (200, accepted + 1)
    async with running(tmp_path) as service:
        learner = make_learner(SPEC)
        learner.learn_many(X[: accepted + 1], Y[: accepted + 1])
        assert await model(service.streams["s"]) == learner.to_bytes()


async def test_a_full_file_system(tmp_path):
    """A small tmpfs, where the tests may mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip("this user cannot mount a file system")
    try:
        async with running(folder, crash=True) as service:
            stream, _ = await service.create("s", SPEC)
            (folder / "ballast").write_bytes(b"0" * 300_000)
            accepted, body = [], None
            for i in range(400):
                ((status, body),) = await send(stream, op("learn", x=X[i], y=Y[i] if i % 2 else "?" * 3000))
                if status == 503:
                    break
                accepted += [i] * (status == 200)
            assert body["error"]["code"] in ("disk_full", "store")
            assert (await service.predict(stream, [Ask(X[0])]))[0]["z"] in list("abc")
            (folder / "ballast").unlink()
            assert (await send(stream, op("learn", x=X[0], y="a")))[0][0] == 200
        async with running(folder) as service:
            learner = make_learner(SPEC)
            learner.learn_many([X[i] for i in accepted] + [X[0]], [Y[i] for i in accepted] + ["a"])
            assert await model(service.streams["s"]) == learner.to_bytes()
    finally:
        subprocess.run(["umount", str(folder)], check=True)


async def test_clocks_that_jump(tmp_path, monkeypatch):
    """The clock is for people: ages are never negative, and nothing else depends on it."""
    clock = iter([1e9, 5e9, 1.0, 0.0, 2e9, -5.0, 3e9] * 100)
    monkeypatch.setattr(time, "time", lambda: next(clock))
    async with running(tmp_path, pace=Pace(rounds=20, share=0), crash=True) as service:
        stream = await learned(service, 30)
        await send(stream, op("ask", x=X[0]))
    async with running(tmp_path) as service:
        stream = service.streams["s"]
        learner = local(30)
        learner.ask(X[0])
        assert await model(stream) == learner.to_bytes()
        for _ in range(7):
            assert (await stream.do(lambda core: core.accounts.age())) >= 0.0


async def test_streams_leave_memory_and_come_back(tmp_path):
    """More streams than fit: those used least recently are on disk alone, and are the same when they are used."""
    async with running(tmp_path, Limits(memory=100_000)) as service:
        for i in range(6):
            await learned(service, 20, f"s{i}")
        for _ in range(200):
            if service.bytes <= 100_000:
                break
            await asyncio.sleep(0.02)
        gone = [stream for stream in service.streams.values() if stream.core is None]
        assert gone
        assert service.bytes <= 100_000
        assert (gone[0].rounds, gone[0].open_tickets) == (20, 0)
        for stream in list(service.streams.values()):
            assert await model(stream) == local(20).to_bytes()


async def test_limits(tmp_path):
    limits = Limits(streams=2, tickets=3, waiting=10, stream_memory=20_000)
    async with running(tmp_path, limits) as service:
        stream, _ = await service.create("s", SPEC)
        answers = await send(stream, *(op("ask", x=X[i]) for i in range(5)))
        assert [status for status, _ in answers] == [200, 200, 200, 409, 409]
        assert answers[3][1]["error"]["code"] == "tickets"
        with pytest.raises(TooBusy) as found:
            await send(stream, *(op("ask", x=X[i]) for i in range(11)))
        assert found.value.retry_after
        await service.create("t", SPEC)
        with pytest.raises(Conflict, match="2 streams, which is the limit"):
            await service.create("u", SPEC)
        large = {"loss": SPEC["loss"], "learner": {"name": "OSKAAR"}}
        await service.delete("t")
        stream, _ = await service.create("t", large)
        while stream.bytes <= limits.stream_memory:
            await send(stream, *(op("learn", x=x, y=y) for x, y in zip(X[:10], Y[:10])))
        with pytest.raises(Conflict, match="learns no more"):
            await send(stream, op("learn", x=X[0], y=Y[0]))
        assert (await service.predict(stream, [Ask(X[0])]))[0]["z"] in list("abc")


async def test_new_learners_are_weighed_as_they_grow(tmp_path):
    """Many streams with a few rounds each: what they take is known, and those used least recently leave memory."""
    spec, most = {"loss": SPEC["loss"], "learner": {"name": "Ensemble", "budget": 6}}, 300_000
    async with running(tmp_path, Limits(memory=most)) as service:
        for i in range(8):
            stream = await learned(service, 3, f"s{i}", spec)
            assert stream.bytes > 0.5 * stream.core.learner.cost().bytes > most / 8
        for _ in range(500):
            if service.bytes <= most + stream.bytes:  # the last one is used
                break
            await asyncio.sleep(0.01)
        assert service.bytes <= most + stream.bytes
        assert await model(service.streams["s0"]) == local(3, spec).to_bytes()


async def test_the_log_is_bounded(tmp_path):
    """Past its limit operations wait for a checkpoint, which is made at once."""
    async with running(tmp_path, Limits(log=5000)) as service:
        stream, _ = await service.create("s", SPEC)
        refused = []
        for x, y in zip(X, Y):
            service._summed = -1.0, 0
            try:
                await send(stream, op("learn", x=x, y=y))
            except TooBusy as error:
                refused.append(error.code)
                await asyncio.sleep(0.05)
        assert set(refused) == {"log"}
        assert stream.checkpoints.written
        assert stream.rounds == 400 - len(refused)
        assert stream.log_bytes < 10_000


def damaged(folder, statement):
    with contextlib.closing(sqlite3.connect(folder / "oskaar.db")) as db:
        db.execute(statement)
        db.commit()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE log SET body = CAST(replace(body, ':', ';') AS BLOB) WHERE seq = 7",
            "operation 7 does not have its checksum",
        ),
        ("UPDATE log SET body = 'text' WHERE seq = 7", "operation 7 does not have its checksum"),
        ("DELETE FROM log WHERE seq = 7", "operation 7 is missing, 8 follows"),
        ("UPDATE log SET seq = 100 WHERE seq = 20", "operation 20 is missing, 100 follows"),
        ("UPDATE streams SET file = 'nothing.oskaar', accounts = x'7b7d'", "nothing.oskaar cannot be read"),
    ],
)
async def test_a_damaged_log_is_named(tmp_path, statement, message):
    """The stream is refused with what is wrong; the others work."""
    async with running(tmp_path, crash=True) as service:
        await learned(service, 10)
        await learned(service, 10, "other")
    damaged(tmp_path, f"{statement}{' AND stream = 1' if 'WHERE' in statement else ' WHERE id = 1'}")
    async with running(tmp_path) as service:
        stream, other = service.streams["s"], service.streams["other"]
        with pytest.raises(Unavailable, match=message):
            await stream.loaded()
        with pytest.raises(Unavailable, match=message):
            await send(stream, op("ask", x=X[0]))
        assert await model(other) == local(10).to_bytes()


async def test_damaged_files_are_named(tmp_path):
    async with running(tmp_path) as service:
        await learned(service, 10)
    (checkpoint,) = (tmp_path / "checkpoints").iterdir()
    content = bytearray(checkpoint.read_bytes())
    content[len(content) // 2] ^= 1
    checkpoint.write_bytes(content)
    async with running(tmp_path) as service:
        with pytest.raises(Unavailable, match=f"checkpoint {checkpoint.name} cannot be read"):
            await service.streams["s"].loaded()
    database = tmp_path / "oskaar.db"
    content = bytearray(database.read_bytes())
    content[100:4000] = os.urandom(3900)
    database.write_bytes(content)
    with pytest.raises(StoreError, match=r"oskaar\.db"):
        Store(tmp_path)
    database.write_bytes(b"no database at all, but a text that is long enough" * 100)
    with pytest.raises(StoreError, match=r"oskaar\.db cannot be used"):
        Store(tmp_path)


def frames(wal):
    """Where each frame of a write-ahead log begins."""
    return list(range(32, len(wal), 24 + 4096))


async def test_a_damaged_write_ahead_log_is_named(tmp_path, capsys):
    """SQLite takes damage for the end of the log, and would leave out all that follows without a word."""
    async with running(tmp_path / "data") as service:
        await learned(service, 10)
        shutil.copytree(tmp_path / "data", tmp_path / "crashed")  # as a kill would leave it
    whole = (tmp_path / "crashed" / "oskaar.db-wal").read_bytes()
    starts = frames(whole)
    assert len(starts) > 20

    def store(content):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        shutil.copytree(tmp_path / "crashed", tmp_path / "copy")
        (tmp_path / "copy" / "oskaar.db-wal").write_bytes(content)
        return tmp_path / "copy"

    def flipped(at):
        return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]

    middle = starts[len(starts) // 2]
    for at in (0, 9, middle + 1, middle + 9, middle + 20, middle + 24, middle + 3000):
        with pytest.raises(
            StoreError, match=r"oskaar\.db-wal is damaged after byte \d+: operations that were answered"
        ):
            Store(store(flipped(at)))
        with pytest.raises(ValueError, match="is damaged after byte"):
            back_up(str(tmp_path / "copy"), str(tmp_path / "backup"))

    async def rounds(content):
        async with running(store(content)) as service:
            return await service.streams["s"].do(lambda core: core.seq)

    assert await rounds(whole) == 20
    assert await rounds(whole[:middle]) in range(5, 15)  # what the message says: cut it there
    assert await rounds(whole[: starts[-1] + 100]) == 19  # killed in the middle of a write
    assert "not whole" not in capsys.readouterr().err
    assert await rounds(flipped(starts[-1] + 50)) == 19  # which may be a loss of power: a warning
    assert "the last commit in the write-ahead log is not whole" in capsys.readouterr().err


def test_a_newer_store_is_refused(tmp_path):
    Store(tmp_path).close()
    damaged(tmp_path, f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreError, match="install a newer one"):
        Store(tmp_path)
    damaged(tmp_path, "PRAGMA user_version = 0")
    with pytest.raises(StoreError, match="something else"):
        Store(tmp_path)


TABLES_1 = """
CREATE TABLE streams (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, spec BLOB NOT NULL, created REAL NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    file TEXT,
    accounts BLOB
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
PRAGMA user_version = 1;
"""
"""The tables of the first version, which had no column for the version of oskaar."""


async def test_an_older_store_is_brought_up_to_date(tmp_path, capsys):
    """Rows of version 1 are there, the stream goes on, with a warning that another version had answered."""
    async with running(tmp_path / "new", crash=True) as service:
        await learned(service, 20)
    (tmp_path / "old").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "old" / "oskaar.db")) as db:
        db.executescript(TABLES_1)
        db.execute("ATTACH ? AS new", (str(tmp_path / "new" / "oskaar.db"),))
        db.execute("INSERT INTO streams SELECT id, name, spec, created, seq, file, accounts FROM new.streams")
        db.execute("INSERT INTO log SELECT * FROM new.log")
        db.commit()
    async with running(tmp_path / "old") as service:
        assert await model(service.streams["s"]) == local(20).to_bytes()
    assert "were answered by oskaar of an older version" in capsys.readouterr().err
    async with running(tmp_path / "old") as service:
        assert service.store.db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert await model(service.streams["s"]) == local(20).to_bytes()
    assert "older version" not in capsys.readouterr().err


async def test_a_backup_of_a_running_service(tmp_path):
    async with running(tmp_path / "data", pace=Pace(rounds=20, share=0)) as service:
        stream = await learned(service, 35)
        await asyncio.to_thread(back_up, str(tmp_path / "data"), str(tmp_path / "copy"))
        await send(stream, op("learn", x=X[0], y="a"))
    async with running(tmp_path / "copy") as service:
        assert await model(service.streams["s"]) == local(35).to_bytes()
    with pytest.raises(ValueError, match="needs a new folder"):
        back_up(str(tmp_path / "data"), str(tmp_path / "copy"))
    with pytest.raises(ValueError, match="no folder of oskaar serve"):
        back_up(str(tmp_path), str(tmp_path / "other"))


def test_killed_under_load(tmp_path):
    """No answered operation is lost, none is done twice, and the learners are the same bit for bit."""
    _, found = kill_under_load(tmp_path / "data", 2, seed=1)
    assert found["bit_identical"]
    assert (found["lost_or_double"], found["wrong"]) == (0, 0)
    assert found["rounds"] > 20


@pytest.mark.slow
def test_killed_200_times(tmp_path):
    _, found = kill_under_load(tmp_path / "data", 200, seed=2)
    assert found["bit_identical"]
    assert (found["kills"], found["lost_or_double"], found["wrong"]) == (200, 0, 0)
    shutil.rmtree(tmp_path / "data")

"""The service: ask + tell against an endpoint that only writes its requests, and against the learner in process.

    python serve.py                     # a minute or two
    python serve.py --streams 1000      # many streams on 2 GB
    python serve.py --rounds 1000000    # a long stream: memory

Server and load generator are two processes on one machine, on loopback. The endpoint without a learner is the limit:
same framework, same writer, same log, same fsync. Ratios are within one run, in turns.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LEARNERS = {
    "OSKAAR, budget 128": {"name": "OSKAAR", "budget": 128},
    "Ensemble, budget 128": {"name": "Ensemble", "budget": 128},
}
LOSS = {"name": "ZeroOne", "classes": ["a", "b", "c", "d"]}
WIDTH, CONNECTIONS = 8, 32
LINES = "application/x-ndjson"
PLAIN = {"probabilities": False} if "--plain" in sys.argv else {}


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, WIDTH)).round(4)
    W = np.random.default_rng(1).normal(size=(WIDTH, 4))
    return X.tolist(), ["abcd"[i] for i in (X @ W).argmax(axis=1)]


# -------------------------------------------------------------------- the limit: an endpoint without a learner


def limit(folder, port):
    """Serve an endpoint that writes its requests as the service does, and answers."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    from oskaar.serve.operations import Operation, decoded
    from oskaar.serve.store import Store
    from oskaar.serve.writer import Writer

    class Target:
        id, logged = 1, 0

        def enqueue(self, operations):
            loop.call_soon_threadsafe(self._answer, operations)

        def _answer(self, operations):
            for operation in operations:
                operation.future.set_result(b'{"ticket":%d,"z":"a"}' % operation.seq)

        def failed(self, operations, error):
            loop.call_soon_threadsafe(lambda: [o.future.set_exception(error) for o in operations])

    async def endpoint(request):
        body = await request.body()
        kind = request.path_params["kind"]
        operation = Operation(kind, body, content=decoded(kind, body, 10_000), future=loop.create_future())
        writer.put([(target, operation)])
        return Response(await operation.future, media_type="application/json")

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    writer, target = Writer(Store(folder)), Target()
    app = Starlette(routes=[Route("/streams/{name}/{kind}", endpoint, methods=["POST"])])
    config = uvicorn.Config(app, port=port, log_config=None, access_log=False, server_header=False, date_header=False)
    loop.run_until_complete(uvicorn.Server(config).serve())


# -------------------------------------------------------------------- processes


def free_port():
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextlib.contextmanager
def process(*command):
    """A server, its port and its id; killed at the end."""
    port = free_port()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.Popen(
        [sys.executable, *command, "--port", str(port)], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(600):
            time.sleep(0.1)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
        yield port, run.pid
    finally:
        run.kill()
        run.wait()


def service(folder, *more):
    return process("-m", "oskaar", "serve", "--data", str(folder), "--no-access-log", *more)


def cpu(pid):
    """Seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(pid):
    """MiB that a process holds."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


# -------------------------------------------------------------------- load


class Connection:
    """A connection that is kept open."""

    async def __aenter__(self):
        return self

    def __init__(self, port):
        self.port, self.reader = port, None

    async def send(self, method, path, body=None, kind="application/json"):
        """Status and content of a request."""
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n"
        head += f"content-length: {len(data)}\r\n\r\n"
        self.writer.write(head.encode() + data)
        answer = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.split("content-length: ")[1].split("\r\n")[0])
        return int(answer[9:12]), await self.reader.readexactly(length)

    async def __aexit__(self, *error):
        if self.reader is not None:
            self.writer.close()


async def load(port, rounds, times, names=("bench",), connections=CONNECTIONS):
    """So many rounds of ask + tell over some connections."""
    X, ys = stream(rounds, seed=int(time.time()))
    todo = iter(zip(X, ys, itertools.cycle(names)))

    async def one():
        async with Connection(port) as connection:
            for x, y, name in todo:
                started = time.perf_counter()
                status, content = await connection.send("POST", f"/streams/{name}/ask", {"x": x, **PLAIN})
                asked = time.perf_counter()
                assert status == 200, content
                body = {"ticket": json.loads(content)["ticket"], "y": y}
                status, content = await connection.send("POST", f"/streams/{name}/tell", body)
                assert status == 200, content
                times.extend([asked - started, time.perf_counter() - asked])

    await asyncio.gather(*(one() for _ in range(connections)))


def measured(port, pid, rounds):
    """Requests a second, p50 and p99 in ms, and CPU microseconds of the server a request."""
    times, began, used = [], time.perf_counter(), cpu(pid)
    asyncio.run(load(port, rounds, times))
    seconds, used = time.perf_counter() - began, cpu(pid) - used
    p50, p99 = (1000 * q for q in np.quantile(times, [0.5, 0.99]))
    return len(times) / seconds, p50, p99, 1e6 * used / len(times)


def in_process(spec, rounds):
    """CPU microseconds a request (ask with probabilities, tell) of the learner alone, with as many tickets open."""
    from oskaar.serve.specs import make_learner

    learner = make_learner({"loss": LOSS, "learner": spec})
    X, ys = stream(rounds + 600)
    rows = list(zip(X, ys, strict=True))
    for start in range(0, len(rows), CONNECTIONS):
        if start <= 600:
            began, first = time.process_time(), start
        asked = []
        for x, y in rows[start : start + CONNECTIONS]:
            asked.append((learner.ask(x)[0], y))
            if not PLAIN:
                learner.predict_proba_one(x)
        for ticket, y in asked:
            learner.tell(ticket, y)
    return 1e6 * (time.process_time() - began) / (2 * (len(rows) - first))


def speed(rounds, turns, only):
    for name, spec in LEARNERS.items():
        if only and only not in name:
            continue
        with (
            tempfile.TemporaryDirectory() as folder,
            process(__file__, "--limit", f"{folder}/limit") as (bare, bare_pid),
            service(f"{folder}/serve") as (port, pid),
        ):
            asyncio.run(created(port, ["bench"], spec))
            asyncio.run(load(port, 600, []))  # units of rows are taken in the first 512 rounds
            asyncio.run(load(bare, 600, []))
            pairs = [(measured(bare, bare_pid, rounds), measured(port, pid, rounds)) for _ in range(turns)]
            pause = longest_pause(port)
        alone = in_process(spec, rounds)
        print(f"{name}: ask + tell, {CONNECTIONS} connections, {turns} turns of {rounds} rounds")
        for label, which in (("only written", 0), ("served", 1)):
            rate, p50, p99, used = (statistics.median(pair[which][i] for pair in pairs) for i in range(4))
            print(f"  {label:13} {rate:7.0f} requests/s   p50 {p50:6.1f} ms   p99 {p99:6.1f} ms   {used:5.0f} us CPU")
        ratio = statistics.median(b[0] / a[0] for a, b in pairs)
        share = statistics.median(a[3] / b[3] for a, b in pairs)
        print(f"  ratio to the limit {ratio:.2f} (requests/s), {share:.2f} (CPU a request)")
        print(f"  the learner in process: {alone:.0f} us CPU a request, {alone / used:.2f} of what the service takes")
        print(f"  longest pause for a checkpoint: {pause:.1f} ms\n")


async def created(port, names, spec):
    async with Connection(port) as connection:
        for name in names:
            status, content = await connection.send("PUT", f"/streams/{name}", {"loss": LOSS, "learner": spec})
            assert status in (200, 201), content


def many_streams(n, rounds=5):
    """n streams made and used in turn, where learners may take 64 MiB together."""
    spec = {"name": "Ensemble", "budget": 32}
    names = [f"s{i}" for i in range(n)]
    with tempfile.TemporaryDirectory() as folder, service(folder, "--max-memory", str(2**26)) as (port, pid):
        began = time.perf_counter()
        asyncio.run(created(port, names, spec))
        made = time.perf_counter() - began
        times = []
        asyncio.run(load(port, rounds * n, times, names))
        size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) / 2**20
        print(
            f"{n} streams: made in {made:.0f} s, {rounds} rounds each in {time.perf_counter() - began - made:.0f} s"
        )
        print(
            f"  p99 {1000 * np.quantile(times, 0.99):.0f} ms, {resident(pid):.0f} MiB resident, {size:.0f} MiB disk"
        )


def long_stream(rounds, parts=10):
    """Memory and disk over a long stream, sent as batches of lines."""
    spec = {"name": "OSKAAR", "budget": 8, "kernel": {"name": "Gaussian", "lengthscale": 2.0}}
    with tempfile.TemporaryDirectory() as folder, service(folder) as (port, pid):
        asyncio.run(created(port, ["bench"], spec))
        for part in range(1, parts + 1):
            began = time.perf_counter()
            asyncio.run(batches(port, rounds // parts, part))
            size = sum(p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()) / 2**20
            pace = rounds // parts / (time.perf_counter() - began)
            held = f"{resident(pid):.0f} MiB resident, {size:.0f} MiB disk"
            print(f"{part * rounds // parts:8} rounds: {held}, {pace:.0f} rounds/s", flush=True)
        print(f"longest pause for a checkpoint: {longest_pause(port):.1f} ms")


async def batches(port, rounds, seed, size=500):
    """So many rounds whose labels are known."""
    X, ys = stream(rounds, seed)
    async with Connection(port) as connection:
        for start in range(0, rounds, size):
            rows = zip(X[start : start + size], ys[start : start + size], strict=True)
            lines = "\n".join(json.dumps({"x": x, "y": y}) for x, y in rows).encode()
            status, content = await connection.send("POST", "/streams/bench/learn", lines, LINES)
            assert status == 200, content
            assert b'"error"' not in content


async def metrics(port):
    async with Connection(port) as connection:
        return (await connection.send("GET", "/metrics"))[1].decode()


def longest_pause(port):
    """Milliseconds, by the clock."""
    lines = asyncio.run(metrics(port)).splitlines()
    return next(1000 * float(line.split()[1]) for line in lines if line.startswith("oskaar_checkpoint_pause"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit")
    parser.add_argument("--port", type=int)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--each", type=int, default=2000, help="rounds in a turn")
    parser.add_argument("--only")
    parser.add_argument("--plain", action="store_true", help="answers without probabilities")
    parser.add_argument("--streams", type=int)
    parser.add_argument("--rounds", type=int)
    options = parser.parse_args()
    if options.limit:
        limit(options.limit, options.port)
    elif options.streams:
        many_streams(options.streams)
    elif options.rounds:
        long_stream(options.rounds)
    else:
        speed(options.each, options.turns, options.only)

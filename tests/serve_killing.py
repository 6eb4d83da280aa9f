"""Kills a server with SIGKILL under load, again and again, and looks at what it says afterwards.

Every operation has an idempotency key and is sent until it is answered. The answers name the place of each operation
in the log, so that a learner in this process can be given the same operations in the same order.
"""

import http.client
import itertools
import json
import threading
import time

import numpy as np
from serving import Server

from oskaar.serve.specs import make_learner

SPECS = {
    "small": {
        "loss": {"name": "ZeroOne", "classes": ["a", "b", "c"]},
        "learner": {"name": "OSKAAR", "budget": 8, "kernel": {"name": "Gaussian", "lengthscale": 1.0}},
    },
    "mixed": {"loss": {"name": "F1", "n_labels": 3}, "learner": {"name": "Ensemble", "budget": 6}},
}
LABELS = {"small": ["a", "b", "c", "unknown"], "mixed": [[0], [1, 2], [], [7]]}


class Load:
    """One thread that asks, tells, learns and forgets on one stream."""

    def __init__(self, stream, seed, done):
        self.stream, self.rng, self.done = stream, np.random.default_rng(seed), done
        self.tickets, self.waiting = [], None
        self.keys = (f"{stream}-{seed}-{i}" for i in itertools.count())

    def next(self):
        """The operation that was not answered, or another one."""
        if self.waiting is None:
            x = self.rng.normal(size=2).round(3).tolist()
            y = LABELS[self.stream][self.rng.choice(4, p=[0.4, 0.3, 0.25, 0.05])]
            kind = self.rng.choice(["ask", "tell", "learn", "forget"], p=[0.4, 0.35, 0.2, 0.05])
            if kind in ("tell", "forget") and not self.tickets:
                kind = "ask"
            ticket = self.tickets[self.rng.integers(len(self.tickets))] if self.tickets else None
            body = {"ask": {"x": x}, "tell": {"ticket": ticket, "y": y}, "learn": {"x": x, "y": y}}
            self.waiting = (str(kind), body.get(kind, {"ticket": ticket}), next(self.keys))
        return self.waiting

    def run(self, port, until):
        """Until the time has come, or the server has gone."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            while not until.is_set():
                kind, body, key = self.next()
                headers = {"idempotency-key": key}
                connection.request("POST", f"/streams/{self.stream}/{kind}", json.dumps(body), headers)
                answer = connection.getresponse()
                content, seq = answer.read(), int(answer.getheader("oskaar-operation") or 0)
                assert answer.status in (200, 404, 422), content
                self._note(kind, body, key, seq, answer.status, content)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    def _note(self, kind, body, key, seq, status, content):
        self.done[key] = (self.stream, kind, body, seq, status, content)
        self.waiting = None
        if kind == "ask":
            self.tickets.append(json.loads(content)["ticket"])
        elif kind in ("tell", "forget") and status == 200:
            self.tickets.remove(body["ticket"])


def kill_under_load(folder, kills, seed, threads=3, options=("--checkpoint-every", 40, "--no-access-log")):
    """All answered operations by key, and what was found after the last kill."""
    done, rng = {}, np.random.default_rng(seed)
    loads = [Load(name, 10 * seed + i, done) for name in SPECS for i in range(threads)]
    found = {"kills": 0, "retried": 0, "wrong": 0}
    for kill in range(kills + 1):
        with Server(folder, *options) as server:
            if kill == 0:
                for name, spec in SPECS.items():
                    assert server.send("PUT", f"/streams/{name}", spec)[0] == 201
            _ask_again(server, done, rng, found)
            if kill == kills:
                for load in loads:  # what was under way when the server died
                    _finish(load, server)
                return done, {**found, **_compared(server, done)}
            _run(loads, server, len(done) + rng.integers(1, 150), rng.uniform(0.0, 0.01))
            found["kills"] += 1


def _run(loads, server, operations, seconds):
    """The load, until so many operations are answered, and a little longer: then the server is killed."""
    until, done = threading.Event(), loads[0].done
    threads = [threading.Thread(target=load.run, args=(server.port, until)) for load in loads]
    for thread in threads:
        thread.start()
    while len(done) < operations and any(thread.is_alive() for thread in threads):
        time.sleep(0.001)
    time.sleep(seconds)
    server.kill()
    until.set()
    for thread in threads:
        thread.join()


def _finish(load, server):
    """The operation that was not answered, if there is one."""
    if load.waiting is not None:
        until, key = threading.Event(), load.waiting[2]
        thread = threading.Thread(target=load.run, args=(server.port, until))
        thread.start()
        while key not in load.done and thread.is_alive():
            time.sleep(0.001)
        until.set()
        thread.join()


def _ask_again(server, done, rng, found):
    """Some operations that were answered before the server died: the same answer."""
    keys = list(done)
    for key in rng.choice(keys, min(10, len(keys)), replace=False) if keys else ():
        stream, kind, body, _, status, content = done[str(key)]
        headers = {"idempotency-key": str(key)}
        got = server.send("POST", f"/streams/{stream}/{kind}", json.dumps(body).encode(), headers)
        found["retried"] += 1
        found["wrong"] += (got[0], got[2]) != (status, json.loads(content))


def _compared(server, done):
    """Operations that are missing or there twice, and whether the learners are those that were given them."""
    lost, same, rounds = 0, True, 0
    for name, spec in SPECS.items():
        mine = sorted((seq, kind, body) for stream, kind, body, seq, _, _ in done.values() if stream == name)
        seen = server.send("GET", f"/streams/{name}")[2]["operations"]
        lost += [seq for seq, _, _ in mine] != list(range(1, seen + 1))
        learner = make_learner(spec)
        for _, kind, body in mine:
            _apply(learner, kind, body)
        rounds += learner.rounds
        same &= learner.to_bytes() == server.send("GET", f"/streams/{name}/model")[2]
    return {"operations": len(done), "rounds": rounds, "lost_or_double": lost, "bit_identical": same}


def _apply(learner, kind, body):
    """The operation on a learner, by its public methods."""
    y = set(body["y"]) if isinstance(body.get("y"), list) else body.get("y")
    try:
        if kind == "ask":
            learner.ask(body["x"])
        elif kind == "tell":
            learner.tell(body["ticket"], y)
        elif kind == "learn":
            learner.learn_one(body["x"], y)
        else:
            learner.forget(body["ticket"])
    except (ValueError, TypeError):
        pass  # it was refused there too


if __name__ == "__main__":
    import sys
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as place:
        started = time.monotonic()
        print(kill_under_load(Path(place) / "data", int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1)[1])
        print(f"{time.monotonic() - started:.0f} s")

"""A server as a process of its own, and what tests do with it."""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from oskaar.serve import Client

ZERO_ONE = {"name": "ZeroOne", "classes": ["a", "b", "c"]}
SMALL = {"name": "OSKAAR", "budget": 8, "kernel": {"name": "Gaussian", "lengthscale": 1.0}}
SPEC = {"loss": ZERO_ONE, "learner": SMALL}


class Server:
    """`oskaar serve` on a folder and a free port."""

    def __init__(self, folder, *options, env=None, wait=True):
        self.folder = Path(folder)
        command = [sys.executable, "-m", "oskaar", "serve", "--data", str(folder), "--port", "0", *map(str, options)]
        self.errors = self.folder.parent / f"{self.folder.name}-{time.monotonic_ns()}.err"
        with open(self.errors, "ab") as file:
            self.begins = file.tell()
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "error", **(env or {})}
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=file, env=environment)
        if wait:
            self.wait()

    def wait(self, seconds=60):
        """Until it listens, or has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = [line for line in self.log().splitlines() if line.startswith("oskaar: http://")]
            if found:
                self.url = found[-1].removeprefix("oskaar: ")
                self.port = int(self.url.rsplit(":", 1)[1])
                return self
            if self.process.poll() is not None:
                raise RuntimeError(self.log())
            time.sleep(0.02)
        raise TimeoutError(self.log())

    def log(self):
        with open(self.errors, "rb") as file:
            file.seek(self.begins)
            return file.read().decode()

    def client(self, stream="s", **more):
        return Client(self.url, stream=stream, **more)

    def send(self, method, path, body=None, headers=None):
        """Status, headers and content of one request."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            content = answer.read()
            is_json = answer.getheader("content-type", "") == "application/json"
            return answer.status, dict(answer.getheaders()), json.loads(content) if is_json else content

    def kill(self):
        """Without a warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """In peace."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(60)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.kill()

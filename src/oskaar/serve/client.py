"""The client of a service, with the methods of a learner; it needs no extra.

    learner = Ensemble(loss)                                             # here
    learner = Client("http://127.0.0.1:8000", stream="tags")             # there

Calls that change something carry an idempotency key and are tried again where the connection breaks or the service
is busy: each is done once.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
import uuid
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlsplit

from oskaar.display import jsonable
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Loss
from oskaar.serve.errors import NotFound, ServeError, TooBusy, Unavailable, from_status
from oskaar.serve.values import to_answer

LINES = "application/x-ndjson"
BATCH = 500
"""Rounds in one request of `learn_many` and `predict_many`."""


class Client:
    """A service, and one of its streams if it is named.

    url: of the service. token: where it asks for one. stream: whose verbs these are; `stream(name)` names another.
    timeout: seconds for an answer. retries: how often a call is tried again, after 0.1, 0.2, 0.4, ... seconds.
    """

    def __init__(
        self, url: str, token: str | None = None, stream: str | None = None, timeout: float = 30.0, retries: int = 6
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be such as http://127.0.0.1:8000, got {url!r}.")
        self.url, self.token, self.name, self.timeout, self.retries = url, token, stream, timeout, retries
        self._parts = parts
        self._local = threading.local()
        self._opened: list[http.client.HTTPConnection] = []

    def __repr__(self) -> str:
        return f"Client({self.url!r}, stream={self.name!r})"

    def stream(self, name: str) -> Client:
        """The client for a stream."""
        return Client(self.url, self.token, name, self.timeout, self.retries)

    # ---------------------------------------------------------------- the verbs of a learner

    def ask(self, x: Any) -> tuple[int, Any]:
        """A ticket, and the answer z for x."""
        found = self._post("ask", {"x": _row(x)})
        return found["ticket"], to_answer(self.loss, found["z"])

    def tell(self, ticket: int, y: Any) -> None:
        """The label for a ticket."""
        self._post("tell", {"ticket": ticket, "y": _label(y)})

    def forget(self, ticket: int) -> None:
        """Close a ticket whose label will not come."""
        self._post("forget", {"ticket": ticket})

    def learn_one(self, x: Any, y: Any) -> None:
        """Learn that the truth for x was y."""
        self._post("learn", {"x": _row(x), "y": _label(y)})

    def predict_one(self, x: Any) -> Any:
        """The answer z for x; nothing changes."""
        return to_answer(self.loss, self._post("predict", {"x": _row(x)})["z"])

    def predict_many(self, xs: Sequence[Any]) -> list[Any]:
        """The answers for many x."""
        return [to_answer(self.loss, found["z"]) for found in self._batch("predict", [{"x": _row(x)} for x in xs])]

    def learn_many(self, xs: Sequence[Any], ys: Sequence[Any]) -> None:
        """Learn many rounds in turn."""
        self._batch("learn", [{"x": _row(x), "y": _label(y)} for x, y in zip(xs, ys, strict=True)])

    @property
    def rounds(self) -> int:
        """How many rounds the stream has learned."""
        return int(self.inspect()["rounds"])

    @property
    def total_loss(self) -> float:
        """What its answers have cost."""
        return float(self.inspect()["total_loss"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the learner to a file, for `oskaar.load`."""
        from oskaar.state.writing import replaced

        data = self.to_bytes()
        with replaced(path) as file:
            file.write(data)

    def to_bytes(self) -> bytes:
        """The learner, for `oskaar.from_bytes`."""
        return self._send("GET", self._path("model"))

    # ---------------------------------------------------------------- streams

    def create(self, loss: Any, learner: Any = None, **more: Any) -> Client:
        """Make the stream: loss and learner are objects with a name and arguments, or names alone."""
        body = {"loss": _spec(loss), **({} if learner is None else {"learner": _spec(learner)}), **more}
        self._send("PUT", self._path(), body)
        return self

    def inspect(self) -> dict[str, Any]:
        """What is known of the stream."""
        found: dict[str, Any] = json.loads(self._send("GET", self._path()))
        return found

    def delete(self) -> None:
        """Delete the stream and all that it has learned."""
        self._send("DELETE", self._path())

    def streams(self) -> list[dict[str, Any]]:
        """All streams of the service."""
        found: list[dict[str, Any]] = json.loads(self._send("GET", "/streams"))["streams"]
        return found

    @cached_property
    def loss(self) -> Loss:
        """The loss of the stream: it says what answers are made of."""
        from oskaar.serve.specs import make_loss

        return make_loss(self.inspect()["loss"])

    # ---------------------------------------------------------------- requests

    def _path(self, verb: str | None = None) -> str:
        if self.name is None:
            raise ValueError('say which stream: Client(url, stream="tags"), or client.stream("tags").')
        path = f"/streams/{quote(self.name, safe='')}"
        return path if verb is None else f"{path}/{verb}"

    def _post(self, verb: str, body: dict[str, Any]) -> Any:
        return json.loads(self._send("POST", self._path(verb), body))

    def _batch(self, verb: str, bodies: list[dict[str, Any]]) -> list[Any]:
        found: list[Any] = []
        for start in range(0, len(bodies), BATCH):
            lines = "\n".join(json.dumps(body) for body in bodies[start : start + BATCH])
            answers = self._send("POST", self._path(verb), lines.encode(), LINES).splitlines()
            found += [json.loads(answer) for answer in answers]
            for i, answer in enumerate(found[start:], start):
                if "error" in answer:
                    error = answer["error"]
                    raise from_status(422, f"round {i}: {error['message']}", error["code"])
        return found

    def _send(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> bytes:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"content-type": kind, "idempotency-key": uuid.uuid4().hex}
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        for trial in range(self.retries + 1):
            try:
                return self._once(method, self._parts.path.rstrip("/") + path, data, headers)
            except (TooBusy, Unavailable) as error:
                if trial == self.retries:
                    raise
                pause = error.retry_after
            except NotFound:
                if method == "DELETE" and trial > 0:  # the answer was lost: it is gone
                    return b""
                raise
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if isinstance(error, ServeError):
                    raise
                if trial == self.retries:
                    raise Unavailable(f"{self.url} does not answer: {error!r}.", "connection") from error
                pause = None
            wait = 0.1 * 2**trial * random.uniform(0.75, 1.25)
            time.sleep(wait if pause is None else min(max(wait, pause), 10.0))
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> bytes:
        connection = self._connection()
        connection.request(method, path, data, headers)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status < 400:
            return content
        try:
            error = json.loads(content)["error"]
        except (ValueError, KeyError, TypeError):
            error = {"code": "http", "message": f"{answer.status} {answer.reason}"}
        after = answer.getheader("retry-after")
        raise from_status(answer.status, error["message"], error["code"], float(after) if after else None)

    def _connection(self) -> http.client.HTTPConnection:
        """One for each thread, kept open."""
        found: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if found is None:
            secure = self._parts.scheme == "https"
            made = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            found = self._local.connection = made(self._parts.hostname or "", self._parts.port, timeout=self.timeout)
            self._opened.append(found)
        return found

    def close(self) -> None:
        """Close the connection of this thread."""
        found = getattr(self._local, "connection", None)
        self._local.connection = None
        if found is not None:
            self._opened.remove(found)
            found.close()

    def __del__(self) -> None:
        for connection in getattr(self, "_opened", []):
            connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _row(x: Any) -> Any:
    if hasattr(x, "to_dict"):  # a row of a frame
        x = x.to_dict()
    return jsonable(x)


def _label(y: Any) -> Any:
    """A label as JSON; comparisons, which are sets of pairs, by their name."""
    if isinstance(y, (set, frozenset)) and y and all(isinstance(item, tuple) for item in y):
        return {"pairs": jsonable(y)}
    return jsonable(y)


def _spec(given: Any) -> Any:
    if isinstance(given, (Loss, OnlineLearner)):
        raise TypeError(
            f'give a name and arguments, such as {{"name": "{type(given).__name__}", ...}}, got {given!r}.'
        )
    return {"name": given} if isinstance(given, str) else given

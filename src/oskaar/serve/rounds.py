"""The requests ask, tell, learn and forget, in plain ASGI: they are most of the load.

A request and a response of Starlette, its routes and its layers take about as long as writing the operation does.
"""

from __future__ import annotations

import re
from typing import Any

from oskaar.serve.edge import DATA_HEADERS, UNEXPECTED, Gate, body_of, failed, headers_of
from oskaar.serve.errors import Refused, ServeError, TooLarge
from oskaar.serve.operations import KINDS, Answer, Operation, decoded, error_body
from oskaar.serve.service import Service

LINES = (b"application/x-ndjson", b"application/jsonl", b"application/jsonlines", b"application/x-jsonlines")
"""Types of a body with one request a line."""

JSON, OPERATION = (b"content-type", b"application/json"), b"oskaar-operation"

_PATH = re.compile(rf"/streams/([^/]+)/({'|'.join(KINDS)})")

Parts = tuple[int, bytes, list[tuple[bytes, bytes]]]
"""Status, body and headers of a response."""


class Rounds:
    """An application for these requests alone; `path` says which they are."""

    def __init__(self, service: Service, gate: Gate) -> None:
        self.service, self.gate = service, gate

    def path(self, scope: Any) -> tuple[str, str] | None:
        """The name of the stream and the kind of the operation; None for other requests."""
        found = _PATH.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        return None if found is None else (found[1], found[2])

    async def __call__(self, scope: Any, receive: Any, send: Any, name: str, kind: str) -> int:
        """Serve one request; the status of its answer."""
        scope["route_name"] = kind
        try:
            status, body, headers = await self._answered(scope, receive, name, kind)
        except ServeError as error:
            status, body, headers = _failed(error)
        except ConnectionError:  # the client has gone
            return 499
        except Exception:
            await self._send(send, *_failed(ServeError(UNEXPECTED)))
            raise
        await self._send(send, status, body, headers)
        return status

    async def _send(self, send: Any, status: int, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": status, "headers": [*headers, length, *DATA_HEADERS]})
        await send({"type": "http.response.body", "body": body})

    async def _answered(self, scope: Any, receive: Any, name: str, kind: str) -> Parts:
        headers = headers_of(scope)
        self.gate.authorise(scope, headers, "write", name)
        stream, key = self.service.stream(name), _key(headers)
        body = await body_of(headers, receive, self.service.limits.body)
        if is_lines(headers):
            return await self._batch(stream, kind, key, lines_of(body, self.service.limits.batch))
        content = decoded(kind, body, self.service.limits.width)
        operation = Operation(kind, body, key, content=content)
        if key is None:
            return _parts(await stream.put([operation])[0])
        (answer,) = await stream.submit([operation])
        return _parts(answer)

    async def _batch(self, stream: Any, kind: str, key: str | None, lines: list[bytes]) -> Parts:
        checked = [tried(kind, line, self.service.limits.width) for line in lines]
        keys = [None if key is None else f"{key}/{i}" for i in range(len(lines))]
        good = [
            Operation(kind, line, k, content=content)
            for line, k, content in zip(lines, keys, checked, strict=True)
            if not isinstance(content, ServeError)
        ]
        answers = iter(await stream.submit(good))
        bodies = [error_body(c) if isinstance(c, ServeError) else next(answers).body for c in checked]
        return 200, b"\n".join(bodies) + b"\n", [(b"content-type", LINES[0])]


def is_lines(headers: dict[bytes, bytes]) -> bool:
    """Whether a body has one request a line."""
    return headers.get(b"content-type", b"").partition(b";")[0].strip().lower() in LINES


def lines_of(body: bytes, most: int) -> list[bytes]:
    """The lines of a body."""
    lines = [line for line in body.split(b"\n") if line.strip()]
    if not 1 <= len(lines) <= most:
        raise TooLarge(f"a batch has 1 to {most} lines, got {len(lines)}.", "batch")
    return lines


def tried(kind: str, line: bytes, width: int) -> Any:
    """A request out of a line, or what is wrong with it."""
    try:
        return decoded(kind, line, width)
    except ServeError as error:
        return error


def _key(headers: dict[bytes, bytes]) -> str | None:
    found = headers.get(b"idempotency-key")
    if found is not None and not 1 <= len(found) <= 200:
        raise Refused(f"an idempotency key has 1 to 200 characters, got {len(found)}.", "key", 400)
    return None if found is None else found.decode("latin-1")


def _failed(error: ServeError) -> Parts:
    made = failed(error)
    headers = [(name, value) for name, value in made.raw_headers if name != b"content-length"]
    return made.status_code, bytes(made.body), headers


def _parts(answer: Answer) -> Parts:
    more = (b"retry-after", b"5") if answer.status == 503 else (OPERATION, b"%d" % answer.seq)
    return answer.status, answer.body, [JSON, more]

"""The outermost layer of every request: access, headers, counts and the access log."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.responses import Response

from oskaar.serve.errors import ServeError, TooLarge, Unauthorised
from oskaar.serve.metrics import Requests
from oskaar.serve.operations import error_body
from oskaar.serve.service import Service
from oskaar.serve.tokens import Tokens

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"geolocation=(), camera=(), microphone=()"),
]
DATA_HEADERS = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
"""Of answers that are JSON: the others say what a page may do."""
UNEXPECTED = "this should not happen: the log of the service says more."
LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")

App = Callable[[Any, Any, Any], Awaitable[None]]


class Edge:
    """The outermost layer of the application (ASGI)."""

    def __init__(self, app: App, rounds: Any, service: Service, requests: Requests, access_log: bool) -> None:
        self.app, self.rounds = app, rounds
        self.service, self.requests, self.access_log = service, requests, access_log

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status, round = time.perf_counter(), 500, self.rounds.path(scope)

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        try:
            if round is not None:
                status = await self.rounds(scope, receive, send, *round)
            else:
                await self.app(scope, receive, sending)
        finally:
            seconds = time.perf_counter() - started
            route = scope.get("route_name", "other")
            self.requests.add(route, status, seconds)
            if self.access_log:
                self._log(scope, route, status, seconds)

    def _log(self, scope: Any, route: str, status: int, seconds: float) -> None:
        client = scope.get("client") or ("",)
        more = {
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000 * seconds, 2),
            "token": scope.get("token_name"),
            "client": client[0],
        }
        self.service.say("info", route, **more)


class Gate:
    """Access control: tokens, hosts, and requests of other sites' pages."""

    def __init__(self, tokens: Tokens, hosts: tuple[str, ...]) -> None:
        self.tokens, self.hosts = tokens, hosts

    def authorise(self, request: Any, headers: dict[bytes, bytes], scope: str, stream: str | None) -> None:
        """Raise where a request (its ASGI scope) may not; note who it is."""
        host, origin = _text(headers, b"host") or "", _text(headers, b"origin")
        if not self.tokens and _name(host) not in self.hosts:
            raise Unauthorised(
                f"the host {host!r:.100} is not this service: give --host-name, or use a token.", "host", 403
            )
        if origin is not None and origin.partition("://")[2] != host:
            raise Unauthorised("requests of other sites are refused.", "origin", 403)
        request["token"] = token = self.tokens.bearer(_text(headers, b"authorization"), scope, stream)
        request["token_name"] = token.name


def headers_of(scope: Any) -> dict[bytes, bytes]:
    """The headers of a request by name in lower case; the first where one comes twice."""
    return dict(reversed(scope["headers"]))


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    found = headers.get(name)
    return None if found is None else found.decode("latin-1")


def _name(host: str) -> str:
    """A host without its port.

    >>> _name("127.0.0.1:8000"), _name("[::1]:8000")
    ('127.0.0.1', '[::1]')
    """
    return host if host.endswith("]") else host.rpartition(":")[0] or host


async def body_of(headers: dict[bytes, bytes], receive: Any, most: int) -> bytes:
    """The body of a request, if it is not too large."""
    length = headers.get(b"content-length", b"0")
    parts, size, more = [], int(length) if length.isdigit() else 0, True
    if size <= most:
        size = 0
        while more and size <= most:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client has gone.")
            parts.append(message.get("body", b""))
            size, more = size + len(parts[-1]), message.get("more_body", False)
    if size > most:
        raise TooLarge(f"a body may have {most} bytes: send several requests.", "body")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def failed(error: ServeError) -> Response:
    """An error as a response."""
    headers = {} if error.retry_after is None else {"retry-after": str(max(1, round(error.retry_after)))}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(error_body(error), error.status, headers, "application/json")

"""The application: one function for each kind of request (ASGI, on Starlette)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from oskaar.serve import metrics, pages
from oskaar.serve.accounts import brief, inspected, watched
from oskaar.serve.edge import LOOPBACK, UNEXPECTED, Edge, Gate, body_of, failed, headers_of
from oskaar.serve.errors import Refused, ServeError, TooBusy, from_status
from oskaar.serve.openapi import document
from oskaar.serve.operations import KINDS, encode, error_body
from oskaar.serve.rounds import LINES, Rounds, is_lines, lines_of, tried
from oskaar.serve.service import Service
from oskaar.serve.stream import Stream
from oskaar.serve.tokens import Tokens

Handler = Callable[[Request], Awaitable[Response]]
SECOND = 1.0
"""Between two events of the page."""


class Application:
    """The functions behind the routes, and what they share."""

    def __init__(
        self,
        service: Service,
        tokens: Tokens | None = None,
        hosts: tuple[str, ...] = LOOPBACK,
        access_log: bool = False,
    ) -> None:
        self.service = service
        self.gate = Gate(tokens or Tokens([]), hosts)
        self.requests = metrics.Requests()
        self.watchers = 0
        self.stopping = asyncio.Event()
        self._access_log = access_log
        self._seen: dict[str, tuple[float, Any]] = {}

    def asgi(self) -> Edge:
        routes = [
            self._route("GET", "/streams", self.list, "read"),
            self._route("PUT", "/streams/{name}", self.create, "admin"),
            self._route("GET", "/streams/{name}", self.inspect, "read"),
            self._route("DELETE", "/streams/{name}", self.delete, "admin"),
            self._route("GET", "/streams/{name}/model", self.model, "read"),
            self._route("POST", "/streams/{name}/predict", self.predict, "read"),
            *(self._route("POST", f"/streams/{{name}}/{kind}", _elsewhere, "write", kind) for kind in KINDS),
            self._route("GET", "/events", self.events, "read"),
            self._route("GET", "/metrics", self.metrics, "read"),
            self._route("GET", "/healthz", self.healthy, None),
            self._route("GET", "/readyz", self.is_ready, None),
            self._route("GET", "/openapi.json", self.openapi, None),
            *(self._route("GET", path, self.page, None, "page") for path in pages.PATHS),
        ]
        other = {HTTPException: _unknown, Exception: _unexpected}
        app = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=other)
        return Edge(app, Rounds(self.service, self.gate), self.service, self.requests, self._access_log)

    def _route(self, method: str, path: str, handler: Handler, scope: str | None, name: str | None = None) -> Route:
        named = name or handler.__name__

        async def endpoint(request: Request) -> Response:
            request.scope["route_name"] = named
            try:
                if scope is not None:
                    self.gate.authorise(
                        request.scope, headers_of(request.scope), scope, request.path_params.get("name")
                    )
                return await handler(request)
            except ServeError as error:
                return failed(error)

        return Route(path, endpoint, methods=[method], name=named)

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        await self.service.start()
        try:
            yield
        finally:
            self.stopping.set()
            await self.service.close()

    # ---------------------------------------------------------------- rounds

    async def predict(self, request: Request) -> Response:
        """An answer that changes nothing; one, or a line for each."""
        stream, headers = self._stream(request), headers_of(request.scope)
        body = await body_of(headers, request.receive, self.service.limits.body)
        width = self.service.limits.width
        lines = lines_of(body, self.service.limits.batch) if is_lines(headers) else [body]
        checked = [tried("predict", line, width) for line in lines]
        found = iter(await self.service.predict(stream, [c for c in checked if not isinstance(c, ServeError)]))
        results = [c if isinstance(c, ServeError) else next(found) for c in checked]
        if is_lines(headers):
            return Response(b"\n".join(map(_line, results)) + b"\n", media_type=LINES[0].decode())
        if isinstance(results[0], Exception):
            raise results[0]
        return Response(encode(results[0]), media_type="application/json")

    def _stream(self, request: Request) -> Stream:
        return self.service.stream(request.path_params["name"])

    # ---------------------------------------------------------------- streams

    async def list(self, request: Request) -> Response:
        """All streams that the token may see."""
        return Response(encode({"streams": self._briefs(request)}), media_type="application/json")

    def _briefs(self, request: Request) -> Any:
        sees = request.scope["token"].sees
        return [brief(stream) for stream in self.service.streams.values() if sees(stream.name)]

    async def create(self, request: Request) -> Response:
        body = await body_of(headers_of(request.scope), request.receive, self.service.limits.body)
        try:
            spec = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Refused(f"the body must be JSON: {error}.", "body", 400) from None
        stream, new = await self.service.create(request.path_params["name"], spec)
        return await self._inspected(stream, 201 if new else 200)

    async def inspect(self, request: Request) -> Response:
        return await self._inspected(self._stream(request), 200)

    async def _inspected(self, stream: Stream, code: int) -> Response:
        found = await stream.do(lambda core: encode(inspected(stream, core)))
        return Response(found, code, media_type="application/json")

    async def delete(self, request: Request) -> Response:
        await self.service.delete(request.path_params["name"])
        return Response(status_code=204)

    async def model(self, request: Request) -> Response:
        """The learner as a file, for `oskaar.load`."""
        stream = self._stream(request)
        copy = await stream.do(lambda core: core.copied())
        data = await asyncio.to_thread(copy.learner.to_bytes)
        headers = {
            "content-disposition": f'attachment; filename="{stream.name}.oskaar"',
            "oskaar-rounds": str(copy.learner.rounds),
            "oskaar-operation": str(copy.seq),
        }
        return Response(data, 200, headers, "application/octet-stream")

    # ---------------------------------------------------------------- watching

    async def events(self, request: Request) -> Response:
        """Server-sent events: all streams, and one of them whole, once a second where something has changed."""
        if self.watchers >= self.service.limits.watchers:
            raise TooBusy(f"{self.watchers} pages are open, which is the limit.", "watchers", retry_after=10)
        name = request.query_params.get("stream")
        if name is not None:
            self.gate.authorise(request.scope, headers_of(request.scope), "read", name)
            self.service.stream(name)
        return StreamingResponse(
            self._events(request, name), headers={"cache-control": "no-store"}, media_type="text/event-stream"
        )

    async def _events(self, request: Request, name: str | None) -> AsyncIterator[bytes]:
        before = b""
        self.watchers += 1
        try:
            while not self.stopping.is_set() and not self.service.closing:
                data = encode(await self._event(request, name))
                yield b"data: " + data + b"\n\n" if data != before else b": the same\n\n"
                before = data
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), SECOND)
        finally:
            self.watchers -= 1

    async def _event(self, request: Request, name: str | None) -> dict[str, Any]:
        event: dict[str, Any] = {"streams": self._briefs(request), "requests": self.requests.total}
        event |= {"disk": self.service.store.disk(), "problem": self.service.writer.problem}
        if name is not None and name in self.service.streams:
            stream = self.service.streams[name]
            try:
                event["stream"] = await self._watched(stream)
            except ServeError as error:
                event["stream"] = {"name": name, "problem": str(error)}
        return event

    async def _watched(self, stream: Stream) -> Any:
        """What the page shows of a stream, made once for all who look at it."""
        now = self.service.loop.time()
        made, found = self._seen.get(stream.name, (-1.0, None))
        if now - made >= SECOND / 2:
            found = await stream.do(lambda core: watched(stream, core))
            self._seen = {stream.name: (now, found)} | {k: v for k, v in self._seen.items() if now - v[0] < SECOND}
        return found

    async def metrics(self, request: Request) -> Response:
        sees = request.scope["token"].sees
        text = "\n".join(metrics.lines(self.service, self.requests, self.watchers, sees)) + "\n"
        return Response(text, media_type="text/plain; version=0.0.4")

    async def healthy(self, request: Request) -> Response:
        return Response(b'{"status":"ok"}', media_type="application/json")

    async def is_ready(self, request: Request) -> Response:
        """All streams are recovered, and the store can be written."""
        service = self.service
        damaged = sum(stream.problem is not None for stream in service.streams.values())  # their names need a token
        ready = service.ready and not service.closing and service.writer.problem is None and not damaged
        found = {"ready": ready, "recovered": service.ready, "damaged": damaged, "store": service.writer.problem}
        return Response(encode(found), 200 if ready else 503, media_type="application/json")

    async def openapi(self, request: Request) -> Response:
        return Response(encode(document()), media_type="application/json")

    async def page(self, request: Request) -> Response:
        """The page, its script and style, and the documentation of this interface."""
        return pages.response(request.url.path)


async def _elsewhere(request: Request) -> Response:
    """Handled by `serve.rounds`; the route is there for errors on other methods."""
    raise Refused("this request was not understood.")


def _line(found: Any) -> bytes:
    if isinstance(found, ServeError):
        return error_body(found)
    return error_body(Refused(str(found))) if isinstance(found, Exception) else encode(found)


async def _unknown(request: Request, error: Exception) -> Response:
    code = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "there is nothing here: see /docs.", 405: "this cannot be done here: see /docs."}
    made = failed(from_status(code, words.get(code, str(error)), {404: "not_found", 405: "method"}.get(code, "http")))
    made.headers.update(getattr(error, "headers", None) or {})
    return made


async def _unexpected(request: Request, error: Exception) -> Response:
    return failed(ServeError(UNEXPECTED))

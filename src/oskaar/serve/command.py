"""`oskaar serve`: options, and the server around the application."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from oskaar.serve.settings import Limits, Pace

NEEDED = ("msgspec", "starlette", "uvicorn")
LOCAL = ("127.0.0.1", "localhost", "::1")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add = parser.add_argument
    add("--data", default="./state", help="the folder for everything (default ./state)")
    add("--host", default="127.0.0.1", help="the address to bind (default 127.0.0.1); any other needs a token")
    add("--port", type=int, default=8000, help="default 8000")
    add("--host-name", action="append", default=[], help="another name of this host, where there is no token")
    add("--token-file", help="a TOML file of tokens: docs/serve.md. OSKAAR_TOKEN is one that may do everything")
    add("--access-log", action=argparse.BooleanOptionalAction, default=True, help="a line of JSON for each request")
    add("--demo", action="store_true", help="run a made-up stream into it")
    add("--backup", metavar="FOLDER", help="copy the data to a new folder, also while a server runs, and end")
    add("--checkpoint-every", type=int, default=Pace.rounds, help="operations between two checkpoints, at least")
    for limit in fields(Limits):
        name = f"--max-{limit.name.replace('_', '-')}"
        add(name, type=int, default=None, help=f"limit (default {limit.default})")


def run(options: Any) -> int:
    """Serve until SIGTERM or control-C."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ValueError(f"oskaar serve needs {', '.join(missing)}, not installed: pip install 'oskaar[serve]'.")
    if options.backup:
        from oskaar.serve.backup import back_up

        print(back_up(options.data, options.backup))
        return 0
    return _serve(options)


def _serve(options: Any) -> int:
    import uvicorn

    from oskaar.serve.app import Application
    from oskaar.serve.edge import LOOPBACK
    from oskaar.serve.service import Service
    from oskaar.serve.store import StoreError
    from oskaar.serve.tokens import read_tokens

    tokens = read_tokens(options.token_file, os.environ.get("OSKAAR_TOKEN"))
    if options.host not in LOCAL and not tokens:
        raise ValueError(f"--host {options.host} can be reached by others: set OSKAAR_TOKEN, or give --token-file.")
    if options.demo and tokens and "OSKAAR_TOKEN" not in os.environ:
        raise ValueError("--demo makes a stream of its own: set OSKAAR_TOKEN, which may do everything.")
    given = {f.name: getattr(options, f"max_{f.name}") for f in fields(Limits)}
    try:
        limits = Limits(**{name: n for name, n in given.items() if n is not None})
        service = Service(options.data, limits, Pace(rounds=options.checkpoint_every))
    except StoreError as error:
        raise ValueError(str(error)) from error
    application = Application(service, tokens, (*LOOPBACK, *options.host_name), options.access_log)
    config = uvicorn.Config(
        application.asgi(),
        host=options.host,
        port=options.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=30,
    )
    config.load()
    config.http_protocol_class = joined(config.http_protocol_class)
    server = _server(config, application)
    service.say("info", f"oskaar serve: {len(service.streams)} streams in {options.data}", pid=os.getpid())
    with _demo(options):
        server.run()
    return 0 if server.started else 2


def _demo(options: Any) -> contextlib.AbstractContextManager[object]:
    if not options.demo:
        return contextlib.nullcontext()
    from oskaar.serve.demo import Demo

    return Demo(f"http://127.0.0.1:{options.port}", os.environ.get("OSKAAR_TOKEN"))


def _server(config: Any, application: Any) -> Any:
    import uvicorn

    class Server(uvicorn.Server):
        """Prints where it listens; open pages end at a signal."""

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            if self.started:
                port = self.servers[0].sockets[0].getsockname()[1]
                print(f"oskaar: http://{self.config.host}:{port}", file=sys.stderr, flush=True)

        def handle_exit(self, sig: int, frame: Any) -> None:
            application.stopping.set()
            super().handle_exit(sig, frame)

    return Server(config)


class Joined:
    """A transport that joins what is written in one step of the event loop; all else is the transport's own.

    uvicorn writes the head and the body of a response apart, which would be two calls of the system.
    """

    def __init__(self, transport: Any, loop: Any) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Bytes that go out at the end of this step, after those before them."""
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(data)

    def close(self) -> None:
        """End the connection after what was written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._parts:
            data, self._parts = b"".join(self._parts), []
            self._transport.write(data)


def joined(protocol: Any) -> Any:
    """A protocol of uvicorn (h11 or httptools) whose responses are written at once."""

    class Protocol(protocol):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(Joined(transport, self.loop))

    return Protocol

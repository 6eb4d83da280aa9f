"""One write to the socket for a response: uvicorn writes its head and its body apart, two calls of the system.

What is written in one step of the event loop goes out at the end of it, together.
"""

from __future__ import annotations

import asyncio
from typing import Any


class Joined:
    """A transport that joins what is written to it until the event loop goes on; all else is the transport's own."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._parts: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Bytes that go out in this step of the event loop, after those before them."""
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

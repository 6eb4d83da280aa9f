"""Operations: what changes a stream, as it is written to the log and read back from it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from oskaar.serve.errors import Refused, ServeError, TooLarge
from oskaar.serve.values import size


class Ask(msgspec.Struct, forbid_unknown_fields=True):
    """A question: x is a list of numbers, or an object of named values; probabilities are wanted, or not."""

    x: Any
    probabilities: bool = True


class Tell(msgspec.Struct, forbid_unknown_fields=True):
    """The label y of a ticket."""

    ticket: int
    y: Any


class Learn(msgspec.Struct, forbid_unknown_fields=True):
    """A round whose label is known."""

    x: Any
    y: Any


class Forget(msgspec.Struct, forbid_unknown_fields=True):
    """A ticket whose label will not come."""

    ticket: int


KINDS: dict[str, Any] = {"ask": Ask, "tell": Tell, "learn": Learn, "forget": Forget}
"""What changes a stream; `predict` does not, and has the body of `ask`."""

_DECODERS = {kind: msgspec.json.Decoder(body) for kind, body in KINDS.items()}
_DECODERS["predict"] = _DECODERS["ask"]
encode = msgspec.json.Encoder().encode


class Answer(NamedTuple):
    """What a request gets: a status of HTTP, JSON, and the operation that it was, 0 for none."""

    status: int
    body: bytes
    seq: int = 0


@dataclass(slots=True, eq=False)
class Operation:
    """One change of a stream."""

    kind: str
    body: bytes
    """As it came, JSON."""
    key: str | None = None
    time: float = 0.0
    """When it was logged, by the clock of the server."""
    seq: int = 0
    """Its place in the log of the stream, from 1 on."""
    content: Any = None
    """The body, decoded."""
    future: Any = field(default=None, repr=False)
    """Where the answer goes."""

    def decoded(self) -> Any:
        if self.content is None:
            self.content = _DECODERS[self.kind].decode(self.body)
        return self.content

    @property
    def digest(self) -> bytes:
        """Of what was asked, to tell a retry from another request with the same key."""
        return hashlib.blake2b(self.kind.encode() + b"\0" + self.body, digest_size=16).digest()


def decoded(kind: str, body: bytes, width: int) -> Any:
    """A request, checked as far as that goes without its stream."""
    try:
        content = _DECODERS[kind].decode(body)
        sizes = {name: size(getattr(content, name)) for name in ("x", "y") if hasattr(content, name)}
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Refused(f"the body must be JSON for {kind}: {error}.", "body", 400) from None
    for name, found in sizes.items():
        if found > width:
            raise TooLarge(f"{name} may have {width} values, got {found}.", "width")
    if not -(2**63) <= getattr(content, "ticket", 0) < 2**63:
        raise Refused(f"a ticket must be a whole number that ask gave, got {content.ticket}.", "body", 400)
    return content


def error_body(error: ServeError) -> bytes:
    """An error as JSON."""
    return encode({"error": {"code": error.code, "message": str(error)}})

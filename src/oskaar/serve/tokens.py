"""Bearer tokens: who may read, write, or make and delete streams.

[[token]]                          # tokens.toml
name = "labels"                    # what the access log calls it
token = "a long secret"            # or sha256 = "...", the secret's SHA-256 in hex
scope = "write"                    # read, write, or admin; each includes the one before
streams = ["tags", "eu-*"]         # all streams, where it is left out
"""

from __future__ import annotations

import fnmatch
import hashlib
import hmac
import os
import tomllib
from dataclasses import dataclass
from typing import Any

from oskaar.serve.errors import Unauthorised

SCOPES = ("read", "write", "admin")
SHORTEST = 16
"""Characters of a token."""


@dataclass(frozen=True)
class Token:
    """One bearer and what it may do."""

    name: str
    sha256: bytes
    scope: str = "admin"
    streams: tuple[str, ...] = ("*",)

    def sees(self, stream: str) -> bool:
        return any(fnmatch.fnmatchcase(stream, pattern) for pattern in self.streams)


EVERYBODY = Token("everybody", b"")
"""Where there are no tokens."""


class Tokens:
    """All tokens of a service; none means that everybody may do everything.

    >>> tokens = Tokens([token_of({"name": "a", "token": "0123456789abcdef", "scope": "read"})])
    >>> tokens.bearer("Bearer 0123456789abcdef", "read").name
    'a'
    >>> tokens.bearer("Bearer 0123456789abcdef", "write")
    Traceback (most recent call last):
    oskaar.serve.errors.Unauthorised: the token 'a' may read; this needs write.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens

    def __bool__(self) -> bool:
        return bool(self.tokens)

    def bearer(self, header: str | None, scope: str, stream: str | None = None) -> Token:
        """Who sends a request, if it may do this."""
        if not self.tokens:
            return EVERYBODY
        found = self._known(header)
        if SCOPES.index(found.scope) < SCOPES.index(scope):
            raise Unauthorised(f"the token {found.name!r} may {found.scope}; this needs {scope}.", "scope", 403)
        if stream is not None and not found.sees(stream):
            raise Unauthorised(f"the token {found.name!r} is not for this stream.", "scope", 403)
        return found

    def _known(self, header: str | None) -> Token:
        kind, _, secret = (header or "").partition(" ")
        if kind.lower() != "bearer" or not secret:
            raise Unauthorised("a token is needed: send the header Authorization: Bearer TOKEN.")
        digest = hashlib.sha256(secret.strip().encode("utf-8", "surrogateescape")).digest()
        found = None
        for token in self.tokens:  # all of them, so that the time says nothing
            if hmac.compare_digest(token.sha256, digest):
                found = token
        if found is None:
            raise Unauthorised("the token is not known.")
        return found


def token_of(table: dict[str, Any]) -> Token:
    """A token out of a table of the file."""
    other = sorted(set(table) - {"name", "token", "sha256", "scope", "streams"})
    if other or ("token" in table) == ("sha256" in table):
        raise ValueError(f"a token has a name, a scope, streams, and either token or sha256, got {sorted(table)}.")
    scope = table.get("scope", "admin")
    if scope not in SCOPES:
        raise ValueError(f"the scope of a token must be one of {', '.join(SCOPES)}, got {scope!r}.")
    if len(str(table.get("token", "x" * SHORTEST))) < SHORTEST:
        raise ValueError(
            f"a token must have at least {SHORTEST} characters: "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one."
        )
    secret = table.get("token")
    digest = hashlib.sha256(str(secret).encode()).digest() if secret is not None else bytes.fromhex(table["sha256"])
    if len(digest) != 32:
        raise ValueError("sha256 of a token must be 64 hexadecimal digits.")
    return Token(str(table.get("name", "unnamed")), digest, scope, tuple(table.get("streams", ["*"])))


def read_tokens(path: str | os.PathLike[str] | None, secret: str | None) -> Tokens:
    """The tokens of a file, and one that may do everything."""
    tokens = [] if secret is None else [token_of({"name": "admin", "token": secret})]
    if path is not None:
        with open(path, "rb") as file:
            tables = tomllib.load(file).get("token", [])
        if not tables:
            raise ValueError(f"{path} has no [[token]]: docs/serve.md shows one.")
        tokens += [token_of(table) for table in tables]
    return Tokens(tokens)

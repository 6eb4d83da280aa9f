"""Errors of the service, for server and client: one class for each kind."""

from __future__ import annotations


class ServeError(Exception):
    """An answer that is an error.

    status: of HTTP. code: a short name for programs. retry_after: seconds until it is worth trying again.
    """

    status, code = 500, "internal"

    def __init__(
        self, message: str, code: str | None = None, status: int | None = None, retry_after: float | None = None
    ):
        super().__init__(message)
        self.code = code or type(self).code
        self.status = status or type(self).status
        self.retry_after = retry_after


class Refused(ServeError, ValueError):
    """The request cannot be used as it is: a label, a row, a setting."""

    status, code = 422, "refused"


class Unauthorised(ServeError, PermissionError):
    """A token is missing, unknown, or does not allow this."""

    status, code = 401, "unauthorised"


class NotFound(ServeError, LookupError):
    """There is no such stream or ticket."""

    status, code = 404, "not_found"


class Conflict(ServeError):
    """It does not fit with what is there: a stream that exists, a key that was used, a limit that is reached."""

    status, code = 409, "conflict"


class TooLarge(ServeError, ValueError):
    """A body, a row or a batch is larger than the service takes."""

    status, code = 413, "too_large"


class TooBusy(ServeError):
    """More requests wait than may wait: try again."""

    status, code = 429, "too_busy"


class Unavailable(ServeError, OSError):
    """Nothing can be written now, or the stream cannot be read: nothing was done."""

    status, code = 503, "unavailable"


def from_status(status: int, message: str, code: str, retry_after: float | None = None) -> ServeError:
    """The error for a status of HTTP.

    >>> type(from_status(404, "there is no stream 'a'.", "not_found")).__name__
    'NotFound'
    """
    kinds: dict[int, type[ServeError]] = {kind.status: kind for kind in ServeError.__subclasses__()}
    kinds |= {400: Refused, 403: Unauthorised, 405: Refused, 415: Refused}
    return kinds.get(status, ServeError)(message, code, status, retry_after)

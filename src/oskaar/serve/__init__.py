"""`oskaar serve`: many streams over HTTP; labels come late, the process dies, nothing is lost (docs/serve.md).

>>> from oskaar.serve import Client
>>> learner = Client("http://127.0.0.1:8000", stream="tags")        # nothing is sent yet
>>> learner
Client('http://127.0.0.1:8000', stream='tags')

The service needs the extra `serve`; the client needs nothing.
"""

from typing import TYPE_CHECKING

from oskaar.lazy import lazily

if TYPE_CHECKING:
    from oskaar.serve.client import Client
    from oskaar.serve.errors import (
        Conflict,
        NotFound,
        Refused,
        ServeError,
        TooBusy,
        TooLarge,
        Unauthorised,
        Unavailable,
    )

_HOMES = {
    "client": "Client",
    "errors": "Conflict NotFound Refused ServeError TooBusy TooLarge Unauthorised Unavailable",
}
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "Client",
    "Conflict",
    "NotFound",
    "Refused",
    "ServeError",
    "TooBusy",
    "TooLarge",
    "Unauthorised",
    "Unavailable",
]

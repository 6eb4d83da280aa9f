"""State: learners as files that hold data and nothing to execute."""

from typing import TYPE_CHECKING

from oskaar.lazy import lazily
from oskaar.saved import StateError, require, require_count, require_kind, require_number

if TYPE_CHECKING:
    from oskaar.state.files import from_bytes, load, save, to_bytes

_HOMES = {"files": "from_bytes load save to_bytes"}
__getattr__ = lazily(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "StateError",
    "from_bytes",
    "load",
    "require",
    "require_count",
    "require_kind",
    "require_number",
    "save",
    "to_bytes",
]

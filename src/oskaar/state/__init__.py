"""State: learners as files that hold data and nothing to execute."""

from typing import TYPE_CHECKING

from oskaar.lazy import lazily

if TYPE_CHECKING:
    from oskaar.state.errors import StateError
    from oskaar.state.files import from_bytes, load, save, to_bytes
    from oskaar.state.valid import require, require_count, require_kind, require_maps, require_number

_HOMES = {
    "errors": "StateError",
    "files": "from_bytes load save to_bytes",
    "valid": "require require_count require_kind require_maps require_number",
}
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
    "require_maps",
    "require_number",
    "save",
    "to_bytes",
]

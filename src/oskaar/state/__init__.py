"""State: learners as files that hold data and nothing to execute."""

from oskaar.state.errors import StateError
from oskaar.state.files import from_bytes, load, save, to_bytes
from oskaar.state.valid import require, require_count, require_kind, require_maps

__all__ = [
    "StateError",
    "from_bytes",
    "load",
    "require",
    "require_count",
    "require_kind",
    "require_maps",
    "save",
    "to_bytes",
]

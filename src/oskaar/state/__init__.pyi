from oskaar.saved import StateError as StateError
from oskaar.saved import require as require
from oskaar.saved import require_count as require_count
from oskaar.saved import require_kind as require_kind
from oskaar.saved import require_number as require_number
from oskaar.state.files import from_bytes as from_bytes
from oskaar.state.files import load as load
from oskaar.state.files import save as save
from oskaar.state.files import to_bytes as to_bytes

__all__: list[str]

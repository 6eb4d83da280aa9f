"""A page of what happened in a run: `oskaar replay --report report.html`, or `record` and `write` in Python.

One file that opens offline: curves, restart weights, costs, the worst rounds and the settings. It needs plotly, the
extra `report`, for its figures; recording needs nothing.
"""

from oskaar.reports.comparison import comparison
from oskaar.reports.files import Destination, require_plotly
from oskaar.reports.page import html, write
from oskaar.reports.recorder import Chunk, Recorder
from oskaar.reports.recording import record

__all__ = ["Chunk", "Destination", "Recorder", "comparison", "html", "record", "require_plotly", "write"]

"""The report of a run as a page: `oskaar learn --report report.html`, or `record` and `write` in Python.

One file that opens offline: curves, restart weights, costs, the worst rounds and the settings. It needs plotly, the
extra `report`, for its figures; recording needs nothing.
"""

from oskaar.reports.page import Destination, comparison, html, require_plotly, write
from oskaar.reports.recorder import RecordedRounds, Recorder, record

__all__ = ["Destination", "RecordedRounds", "Recorder", "comparison", "html", "record", "require_plotly", "write"]

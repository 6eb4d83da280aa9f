"""Files and tables to rounds: readers, columns, labels, lags. What `oskaar replay` does to a file, in Python.

>>> from oskaar.tabular import Record, Schema, Stream, Table
>>> records = [Record(1, {"wind": 3.5, "label": "calm"}), Record(2, {"wind": 9.0, "label": "gale"})]
>>> stream = Stream(Table("here", iter(records)), Schema(y="label"))
>>> stream.labels.loss, [(r.x.tolist(), r.y) for r in stream]
(ZeroOne(), [([3.5], 'calm'), ([9.0], 'gale')])
"""

from oskaar.tabular.readers import ReadError, Record, Table, read
from oskaar.tabular.rounds import Round, Stream
from oskaar.tabular.schema import Schema

__all__ = ["ReadError", "Record", "Round", "Schema", "Stream", "Table", "read"]

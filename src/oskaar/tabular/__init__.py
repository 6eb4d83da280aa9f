"""Files and tables to rounds: readers, columns, labels, lags. What `oskaar learn` does to a file, in Python.

>>> from oskaar.tabular import Record, RoundOptions, TableStream, Table
>>> records = [Record(1, {"wind": 3.5, "label": "calm"}), Record(2, {"wind": 9.0, "label": "gale"})]
>>> stream = TableStream(Table("here", iter(records)), RoundOptions(y="label"))
>>> stream.labels.loss, [(r.x.tolist(), r.y) for r in stream]
(ZeroOne(), [([3.5], 'calm'), ([9.0], 'gale')])
"""

from oskaar.tabular.readers import ReadError, Record, Table, read_table
from oskaar.tabular.round_options import RoundOptions
from oskaar.tabular.rounds import Round, TableStream, read

__all__ = ["ReadError", "Record", "Round", "RoundOptions", "Table", "TableStream", "read", "read_table"]

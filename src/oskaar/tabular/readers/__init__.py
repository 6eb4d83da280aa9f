"""Readers: files of rows as streams of named cells, in constant memory. One file for each format."""

from oskaar.tabular.readers.base import MAX_LINE, ReadError, Record, Table
from oskaar.tabular.readers.formats import ENDINGS, read_table

__all__ = ["ENDINGS", "MAX_LINE", "ReadError", "Record", "Table", "read_table"]

"""Readers: files of rows as streams of named cells, in constant memory. One file for each format."""

from oskaar.readers.base import MAX_LINE, ReadError, Record, Table
from oskaar.readers.formats import ENDINGS, read

__all__ = ["ENDINGS", "MAX_LINE", "ReadError", "Record", "Table", "read"]

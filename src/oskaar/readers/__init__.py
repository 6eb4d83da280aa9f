"""Readers: files of rows as streams of named cells, in constant memory. One file for each format."""

from oskaar.readers.base import ReadError, Record, Table
from oskaar.readers.formats import ENDINGS, read

__all__ = ["ENDINGS", "ReadError", "Record", "Table", "read"]

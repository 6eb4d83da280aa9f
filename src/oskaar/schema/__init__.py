"""The schema of rows: named columns, the kind of each, and rows as numbers."""

from oskaar.schema.schema import Schema, as_schema

__all__ = ["Schema", "as_schema"]

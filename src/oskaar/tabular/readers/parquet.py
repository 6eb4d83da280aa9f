"""Parquet, by pyarrow (the extra `parquet`), a batch of rows at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from oskaar.tabular.readers.base import MAX_LINE, ReadError, Record, Table, typed_cell, unique

BATCH = 1024


def read_parquet(name: str, data: Any, max_line: int = MAX_LINE) -> Table:
    """Records of a Parquet file; `data` must be seekable: a file, not a pipe."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ReadError(f"{name}: Parquet needs pyarrow: pip install 'oskaar[parquet]'.") from None
    if not data.seekable():
        raise ReadError(f"{name}: Parquet cannot be read from a pipe: give a path.")
    try:
        file = parquet.ParquetFile(data)
    except Exception as error:
        raise ReadError(f"{name} is not a Parquet file, or it was cut short ({error}).") from None
    _require_small_rows(name, file.metadata, max_line)
    columns = unique(list(file.schema_arrow.names), name)
    seen = hashlib.blake2b(digest_size=16)
    return Table(name, _records(name, file, seen), columns, digest=seen.hexdigest)


def _require_small_rows(name: str, metadata: Any, most: int) -> None:
    """Refuse rows that are larger on average than a line may be, before they are unpacked."""
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        if group.total_byte_size > most * max(1, group.num_rows):
            raise ReadError(
                f"{name}: a row must have at most {most} bytes, those of group {i} have {group.total_byte_size} for "
                f"{group.num_rows} rows: if they are right, raise max_line (--max-line)."
            )


def _records(name: str, file: Any, seen: Any) -> Iterator[Record]:
    row = 0
    try:
        for batch in file.iter_batches(batch_size=BATCH):
            for cells in batch.to_pylist():
                row += 1
                seen.update(repr(cells).encode())
                yield Record(row, {key: typed_cell(cell) for key, cell in cells.items()})
    except OSError as error:
        raise ReadError(f"{name}, after row {row}: {error}: get the file again.") from None

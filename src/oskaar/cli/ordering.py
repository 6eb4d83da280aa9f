"""Putting a stream in the order of a column."""

from __future__ import annotations

from collections.abc import Iterator

from oskaar.readers import ReadError, Record, Table


def ordered(table: Table, column: str | None, notes: list[str]) -> Iterator[Record]:
    """The records in the order of a column, which takes reading all of them; as they are where it is None."""
    if column is None:
        return iter(table)
    records = list(table)
    for record in records:
        if record.cells.get(column) is None:
            raise ReadError(f"{table.name}, line {record.line}: there is no value of {column!r} to order by.")
    try:
        records.sort(key=lambda record: record.cells[column])
    except TypeError:
        raise ReadError(f"{table.name}: values of {column!r} are numbers in some rows and text in others.") from None
    notes.append(f"all {len(records)} rows were read and put in the order of {column!r}")
    return iter(records)

"""The format of a file, by the end of its name, else by its first line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from pathlib import Path, PurePath

from oskaar.tabular.readers.arff import mulan_labels, read_arff_records
from oskaar.tabular.readers.base import MAX_LINE, ReadError, Record, Table
from oskaar.tabular.readers.conll import read_conll
from oskaar.tabular.readers.delimited import read_delimited
from oskaar.tabular.readers.directories import read_directory
from oskaar.tabular.readers.files import Source
from oskaar.tabular.readers.jsonlines import read_jsonlines
from oskaar.tabular.readers.parquet import read_parquet
from oskaar.tabular.readers.svmlight import read_svmlight

ENDINGS = {
    "csv": ("csv",),
    "tsv": ("tsv", "tab"),
    "jsonl": ("jsonl", "ndjson", "json"),
    "parquet": ("parquet", "pq"),
    "arff": ("arff",),
    "svmlight": ("svmlight", "svm", "libsvm", "letor"),
    "conll": ("conll", "conllu", "bio", "iob", "iob2"),
}
"""The formats and how names of their files end."""

_COMPRESSED = {".gz", ".bz2", ".xz", ".zst", ".zip"}
_SVMLIGHT = re.compile(r"\S*( qid:\S+)?( +\d+:\S+)+\s*(#.*)?$")
_LINES: dict[str, Callable[[str, Iterator[str], int, str | None], Table]] = {
    "csv": lambda name, lines, most, decimal: read_delimited(name, lines, None, most, decimal),
    "tsv": lambda name, lines, most, decimal: read_delimited(name, lines, "\t", most, decimal),
    "jsonl": lambda name, lines, *_: read_jsonlines(name, lines),
    "arff": lambda name, lines, *_: read_arff_records(name, lines),
    "svmlight": lambda name, lines, *_: read_svmlight(name, lines),
    "conll": lambda name, lines, most, _: read_conll(name, lines, most),
}


def read_table(
    path: str | Path,
    format: str | None = None,
    encoding: str = "utf-8",
    max_line: int = MAX_LINE,
    decimal: str | None = None,
) -> Table:
    """The records of a file, or of the files in a directory, read as they are asked for; "-" is standard input.

    format: one of `ENDINGS`; None goes by the name, then by the first line. Compression (gz, bz2, xz, and zst where
    Python has it) is detected by the first bytes.
    max_line: the most bytes that a line may have, and characters that the lines of one record may have together.
    decimal: of numbers in CSV and TSV, "," for 1.234,5 or "." for 1,234.5; None is 1234.5.
    """
    if format is not None and format not in ENDINGS:
        raise ReadError(f"format must be one of {', '.join(ENDINGS)}, got {format!r}.")
    if max_line < 1:
        raise ReadError(f"max_line must be at least 1, got {max_line}.")
    if str(path) not in ("-", "") and Path(path).is_dir():
        return read_directory(
            Path(path),
            lambda part: bool(format or _by_name(part)),
            lambda part: read_table(part, format, encoding, max_line, decimal),
        )
    source = Source(path, encoding, max_line)
    format = format or _by_name(path)
    if format == "parquet" or (format is None and source.start.startswith(b"PAR1")):
        table = read_parquet(source.name, source.data, max_line)
        table.records = _holding(source, table.records)
        return table
    lines = source.lines()
    if format is None:
        blank, first = next(((n, line) for n, line in enumerate(lines) if line.strip()), (0, ""))
        if not first:
            raise ReadError(f"{source.name} is empty: there is nothing to learn.")
        format, lines = infer_format(first), chain(repeat("\n", blank), [first], lines)
    table = _LINES[format](source.name, lines, max_line, decimal)
    table.fraction, table.digest = source.fraction, source.digest
    if format == "arff":
        listed = mulan_labels(path)
        table.labels = listed if listed and set(listed) <= set(table.columns or ()) else table.labels
    return table


def _holding(source: Source, records: Iterator[Record]) -> Iterator[Record]:
    """The records, with their file held open."""
    yield from records
    del source


def _by_name(path: str | Path) -> str | None:
    name = PurePath(path)
    suffix = PurePath(name.stem).suffix if name.suffix.lower() in _COMPRESSED else name.suffix
    ending = suffix.lower().lstrip(".")
    return next((format for format, endings in ENDINGS.items() if ending in endings), None)


def infer_format(line: str) -> str:
    r"""The format of a file that begins with this line.

    >>> lines = '{"a": 1}', "@relation r", "1 qid:2 1:0.5", "1\tThe" + "\t_" * 8, "a\tb", "a,b"
    >>> [infer_format(line) for line in lines]
    ['jsonl', 'arff', 'svmlight', 'conll', 'tsv', 'csv']
    """
    text = line.rstrip()
    if text.startswith(("{", "[")):
        return "jsonl"
    if text.lower().startswith(("@relation", "%")):
        return "arff"
    if text.startswith("# ") or (text.count("\t") == 9 and text.startswith("1\t")):
        return "conll"
    if _SVMLIGHT.match(text):
        return "svmlight"
    return "tsv" if "\t" in text else "csv"

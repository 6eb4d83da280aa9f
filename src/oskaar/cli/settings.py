"""From options to a stream, to the settings that a checkpoint stores, and to the command that repeats a run."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from oskaar.schema.kinds import KINDS
from oskaar.tabular import ReadError, RoundOptions, TableStream, read_table
from oskaar.tabular.round_options import few, meant, split

COLUMNS = tuple(field.name for field in fields(RoundOptions) if field.name != "limit")
LEARNING = ("learner", "kernel", "lam", "budget", "baselines", "kinds")
FIXED = ("format", "encoding", "decimal", *COLUMNS, *LEARNING)
"""Settings that a run cannot change when it is resumed."""

READING = ("format", "encoding", "decimal", "tags_separator")
"""Settings of a file, which another one that a model goes on with may have otherwise."""

FREE = ("chunk", "limit", "max_line", "max_bytes")
"""Settings that it can change, and keeps where none is given."""


def open_stream(options: Any) -> TableStream:
    """The rounds of the file that the options name."""
    table = read_table(options.file, options.format, options.encoding, options.max_line, options.decimal)
    chosen = RoundOptions(**{name: getattr(options, name) for name in (*COLUMNS, "limit") if hasattr(options, name)})
    stream = TableStream(table, chosen, named=reads_by_schema(vars(options)))
    _require_columns(options, stream)
    if stream.largest > 10 and options.kernel:
        largest = min(stream.largest, 1e300)
        stream.notes.append(f"numbers of x reach {largest:g}: without --kernel they are scaled as they come")
    return stream


def _require_columns(options: Any, stream: TableStream) -> None:
    """Refuse --as of columns that are not there, where all columns are known."""
    known = stream.names if stream.table.columns else None
    if known is None:
        return
    for name in columns_kinds(options.kinds) if options.kinds else ():
        if name not in known:
            raise ReadError(f"--as {name!r} names no column of x{meant(name, known)}: they are {few(known)}.")


def reads_by_schema(settings: Mapping[str, Any]) -> bool:
    """Whether a learner with these settings reads rows by a schema: without a kernel."""
    learners = str(settings.get("learner")).split(",")
    river = any(name.startswith("river-") for name in learners) or bool(settings.get("river"))
    return not (settings.get("kernel") or river)


def columns_kinds(text: str) -> dict[str, str]:
    """Kinds of columns by name, as written after --as.

    >>> columns_kinds("amount=number,id=left out")
    {'amount': 'number', 'id': 'left out'}
    """
    pairs = [part.rpartition("=") for part in split(text)]
    for name, _, kind in pairs:
        if not name or kind not in KINDS:
            raise ReadError(
                f"--as must be column=kind with commas, a kind being one of {', '.join(KINDS)}, got {text}."
            )
    return {name: kind for name, _, kind in pairs}


def resumed(options: Namespace, kept: Mapping[str, Any], path: str) -> Namespace:
    """The options of a run that goes on: what the model says, and nothing that contradicts it.

    Another file may be written in another way: `READING`.
    """
    free = () if options.resume else READING
    for name in FIXED:
        if name in options.given and name not in free and getattr(options, name) != kept.get(name):
            raise ReadError(
                f"--{name.replace('_', '-')} is {getattr(options, name)} and the run of {path} had "
                f"{kept.get(name)}: leave it out to go on as before, or start anew "
                f"{'without --resume' if options.resume else 'with another --model'}."
            )
    left = {*options.given, *(() if options.resume else ("format", "limit"))}
    recalled = {name: kept[name] for name in (*FIXED, *FREE) if name in kept and name not in left}
    return Namespace(**{**vars(options), **recalled})


def command_line(command: str, file: str, settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """The command with every setting that is not at its default.

    >>> command_line("learn", "my tags.csv", {"loss": "f1", "degrees": True, "lam": None}, {"degrees": False})
    "oskaar learn 'my tags.csv' --loss f1 --degrees"
    """
    words = ["oskaar", command, file]
    for name, setting in settings.items():
        option = name.replace("_", "-")
        if setting is None or setting == defaults.get(name):
            continue
        if isinstance(setting, bool):
            words.append(f"--{option}" if setting else f"--no-{option}")
        else:
            words += [f"--{option}={setting}"] if str(setting).startswith("-") else [f"--{option}", str(setting)]
    return shlex.join(words)

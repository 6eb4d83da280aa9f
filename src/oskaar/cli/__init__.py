"""The command line: `oskaar learn FILE`, `predict`, `compare`, `report`, `inspect`, `losses`, `demo`, `serve`.

Standard output is for results, standard error for messages and progress. Exit codes: 0; 1 where something that was
asked for could not be written; 2 for input that cannot be used (one sentence, no traceback without --debug); 130 and
143 after control-C and SIGTERM, with the result so far.

argparse does all that is needed: the command is there wherever oskaar is, with no requirement of its own.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit code.

    >>> main(["learn", "no such file"])
    2
    """
    from oskaar.cli.console import complain
    from oskaar.cli.options import OptionError, parse

    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return _run(parse(arguments))
    except SystemExit as stop:  # of --help and --version
        return int(stop.code or 0)
    except BrokenPipeError:
        _discard_output()
        message = "the pipe for results was closed before all of them were written."
    except KeyboardInterrupt:
        print("oskaar: interrupted.", file=sys.stderr)
        return 130
    except OSError as error:
        if "--debug" in arguments:
            raise
        _discard_output()
        message = f"{error.filename or 'standard output'}: {error.strerror or error}."
    except (OptionError, ValueError, TypeError, MemoryError) as error:
        if "--debug" in arguments:
            raise
        message = str(error) or "there is not enough memory: give --budget, such as 256."
    except Exception as error:
        if "--debug" in arguments:
            raise
        message = f"this should not happen, {type(error).__name__}: {error}: --debug shows where."
    complain(message)
    return 2


def _discard_output() -> None:
    """Discard what is left of a closed standard output, which Python would report at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    print(f"oskaar: {message}", file=sys.stderr)


def _run(options: object) -> int:
    import csv
    from importlib import import_module

    from oskaar.cli.console import be_quiet

    command = getattr(options, "command")  # noqa: B009, a Namespace
    be_quiet(bool(getattr(options, "quiet", False)))
    before = csv.field_size_limit(2**31 - 1)  # --max-line limits values too
    try:
        module = "oskaar.serve.command" if command == "serve" else f"oskaar.cli.{command}"
        code: int = import_module(module).run(options)
        sys.stdout.flush()
    finally:
        csv.field_size_limit(before)
    return code

"""`oskaar completion SHELL`: a script with which bash, zsh or fish completes commands, options and their values.

The script is made of the parser: it asks nothing of oskaar while one types.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

from oskaar.cli.models import KERNELS, LEARNERS
from oskaar.cli.options import parser
from oskaar.tabular.labels import KNOWN
from oskaar.tabular.readers import ENDINGS

VALUES = {"--loss": sorted(KNOWN), "--learner": LEARNERS, "--kernel": KERNELS, "--format": tuple(ENDINGS)}
"""Values of options that take others too, such as gaussian:0.5."""


class Option(NamedTuple):
    """An option: its names, what it does, whether a value follows, and the values that are known."""

    names: list[str]
    about: str
    takes: bool
    values: list[str]


def run(options: Any) -> int:
    """Print the script."""
    print("\n".join({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]()))
    return 0


def commands() -> dict[str, tuple[str, list[Option]]]:
    """What there is to complete: each command, with its help and its options.

    >>> about, options = commands()["losses"]
    >>> "--json" in [name for option in options for name in option.names]
    True
    """
    choices: Any = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in choices._choices_actions}
    return {name: (helps[name], [_option(a) for a in one._actions]) for name, one in choices.choices.items()}


def _option(action: argparse.Action) -> Option:
    names = list(action.option_strings)
    known = action.choices or next((VALUES[name] for name in names if name in VALUES), ())
    return Option(names, " ".join((action.help or "").split()), action.nargs != 0, [str(value) for value in known])


def _bash() -> Iterator[str]:
    found = commands()
    yield "_oskaar() {"
    yield '    local command="${COMP_WORDS[1]}" before="${COMP_WORDS[COMP_CWORD-1]}" now="${COMP_WORDS[COMP_CWORD]}"'
    yield '    local words=""'
    yield "    COMPREPLY=()"
    yield '    case "$COMP_CWORD $command $before" in'
    yield f"        1\\ *) words={_quoted(' '.join([*found, '--version', '--help']))} ;;"
    for name, (_, options) in found.items():
        for option in options:
            for flag in option.names if option.values else ():
                yield f"        *' {name} {flag}') words={_quoted(' '.join(option.values))} ;;"
    yield '        *) case "$command $now" in'
    for name, (_, options) in found.items():
        yield f"            '{name} -'*) words={_quoted(' '.join(f for option in options for f in option.names))} ;;"
        given = [value for option in options if not option.names for value in option.values]
        if given:
            yield f"            '{name} '*) words={_quoted(' '.join(given))} ;;"
    yield "        esac ;;"
    yield "    esac"
    yield '    [ -z "$words" ] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$now")'
    yield "}"
    yield "complete -o default -F _oskaar oskaar"


def _zsh() -> Iterator[str]:
    found = commands()
    yield "#compdef oskaar"
    yield "_oskaar() {"
    yield "    local -a commands"
    yield f"    commands=({' '.join(_quoted(f'{name}:{about}') for name, (about, _) in found.items())})"
    yield "    if (( CURRENT == 2 )); then _describe command commands; return; fi"
    yield "    case $words[2] in"
    for name, (_, options) in found.items():
        specs = [spec for option in options for spec in _zsh_specs(option)]
        yield f"        {name}) shift words; (( CURRENT-- )); _arguments {' '.join(map(_quoted, specs))} ;;"
    yield "    esac"
    yield "}"
    yield "compdef _oskaar oskaar"


def _zsh_specs(option: Option) -> Iterator[str]:
    about = option.about.replace("[", "(").replace("]", ")").replace(":", ",")
    action = f"({' '.join(option.values)})" if option.values else "_files"
    if not option.names:
        yield f"*:{about}:{action}"
    for name in option.names:
        yield f"{name}[{about}]" + (f":value:{action}" if option.takes else "")


def _fish() -> Iterator[str]:
    found = commands()
    for name, (about, _) in found.items():
        yield f"complete -c oskaar -n __fish_use_subcommand -f -a {name} -d {_quoted(about)}"
    for name, (_, options) in found.items():
        inside = f"complete -c oskaar -n '__fish_seen_subcommand_from {name}'"
        for option in options:
            flags = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.names]
            values = f"-a {_quoted(' '.join(option.values))}" if option.values else ""
            words = [
                inside,
                *flags,
                "-x" if values else "-r" if option.takes else "",
                values,
                f"-d {_quoted(option.about)}",
            ]
            if flags or values:
                yield " ".join(filter(None, words))


def _quoted(text: str) -> str:
    """A text in single quotes, as all three shells read it: without quotes and backslashes inside."""
    return "'" + text.replace("\\", "").replace("'", "") + "'"

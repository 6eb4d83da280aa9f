"""The options of every command, from the command line and from a TOML file."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from difflib import get_close_matches
from typing import Any, NoReturn

from oskaar import __version__
from oskaar.serve.command import add_options
from oskaar.tabular.readers.base import MAX_LINE


class OptionError(ValueError):
    """A command that cannot be understood."""


class Parser(argparse.ArgumentParser):
    """Errors are one sentence, with what was probably meant."""

    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{message}.{self._meant(message)} See {self.prog} --help.")

    def _meant(self, message: str) -> str:
        """The option or command that is most like the one in a message."""
        found = re.search(r"unrecognized arguments: (\S+)|invalid choice: '([^']*)'", message)
        if found is None:
            return ""
        known = [name for action in self._actions for name in (*action.option_strings, *(action.choices or ()))]
        word = (found[1] or found[2]).partition("=")[0]
        close = get_close_matches(word, [str(name) for name in known], n=1)
        return f" Did you mean {close[0]}?" if close else ""

    def parse_args(self, args: Any = None, namespace: Any = None) -> argparse.Namespace:  # type: ignore[override]
        """Options that are not known are an error of the command that they were given to."""
        options, more = self.parse_known_args(args, namespace)
        if more:
            inner = self._subparsers._group_actions[0].choices if self._subparsers else None
            owner = inner.get(getattr(options, "command", None), self) if isinstance(inner, dict) else self
            owner.error(f"unrecognized arguments: {' '.join(more)}")
        found: argparse.Namespace = options
        return found


def parser() -> Parser:
    """The parser of all commands and their options."""
    top = Parser("oskaar", description="Online structured prediction: predict, see the truth, learn.")
    top.add_argument("--version", action="version", version=f"oskaar {__version__}")
    commands = top.add_subparsers(dest="command", parser_class=Parser)
    learn = commands.add_parser("learn", help="predict and learn, row after row of a file, and say how well it went")
    _stream(learn)
    add = learn.add_argument
    add("--learner", default="ensemble", help="ensemble (default), salami, oskaar or batch")
    add("--kernel", help="gaussian, gaussian:0.5 (a lengthscale), laplacian, matern, linear, ...")
    add("--lam", help="regularisation; for salami a list, such as 0.05,0.5")
    add("--baselines", action=argparse.BooleanOptionalAction, default=True, help="run the baselines too (default)")
    add("--delay", type=_count, help="labels are there when so many more rows have been answered")
    add("--chunk", type=_count, default=64, help="rounds at a time (1: answers at once; default 64)")
    add("--out", help="predictions as they come, JSON lines; - is standard output")
    add("--model", metavar="FILE", help="keep the model in this file; if it is there, go on with it (see --every)")
    add("--no-model", dest="model", action="store_const", const="", help="keep none, not even after control-C")
    add("--every", default="5m", help="how often: 1000 (rounds), 30s, 5m (default), 1h")
    add("--resume", metavar="FILE", help="go on with the run of which this model was kept, on the same file")
    add("--report", help="a page with curves, restart weights, costs and the worst rounds: report.html")
    add("--progress", action=argparse.BooleanOptionalAction, help="default: where there is a terminal")
    compare = commands.add_parser("compare", help="several learners, kernels and lams side by side")
    _stream(compare)
    add = compare.add_argument
    add(
        "--learner",
        default="ensemble,oskaar",
        help="several, with commas: ensemble, salami, oskaar, batch, river-knn, ...",
    )
    add(
        "--river",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="River's learners too: river-linear, river-knn, river-hat, river-arf",
    )
    add("--kernel", help="several, with commas")
    add("--lam", help="several, with commas, each on its own")
    add("--report", help="a page with all their curves: report.html")
    add("--jobs", type=_count, default=1, help="processes (default 1)")
    predict = commands.add_parser("predict", help="answers of a model for the rows of a file, which need no labels")
    add = predict.add_argument
    add("model", help="what oskaar learn --model wrote")
    add("file", help="rows with the columns that the model was learned from; - is standard input")
    add("--out", help="answers.csv, .jsonl or .parquet; default: CSV on standard output")
    for name, about in (("--format", "of the file"), ("--encoding", "of the file (default: that of the model's)")):
        add(name, help=about)
    report = commands.add_parser("report", help="the page of the run that a model was learned in")
    add = report.add_argument
    add("model", help="what oskaar learn --model wrote")
    add("--out", help="the page (default report.html)")
    inspect = commands.add_parser("inspect", help="what a model holds")
    inspect.add_argument("file", help="of oskaar learn --model, or of learner.save; nothing in it is executed")
    losses = commands.add_parser("losses", help="what y can be, in plain words; one loss with an example")
    losses.add_argument("name", nargs="?", help="one of them, explained")
    demo = commands.add_parser("demo", help="a stream that changes half way, in a few seconds")
    completion = commands.add_parser("completion", help="a script that completes commands and options in a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="put what is printed where it reads it")
    serve = commands.add_parser("serve", help="many streams over HTTP, durable: labels come late, nothing is lost")
    add_options(serve)
    for command in (learn, predict, compare, report, inspect, losses, demo, completion, serve):
        command.add_argument("--json", action="store_true", help="one JSON object on standard output")
        command.add_argument("--quiet", action="store_true", help="results alone, no messages but errors")
        command.add_argument("--debug", action="store_true", help="show where an error came from")
    return top


def _stream(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "file",
        nargs="?",
        help="CSV, TSV, JSON lines, Parquet, ARFF, SVMlight or CoNLL, or a directory of them; - is standard input",
    )
    add("--config", help="a TOML file with these names; the command line comes first")
    add("--format", help="csv, tsv, jsonl, parquet, arff, svmlight, conll; default: by name, then by content")
    add("--encoding", default="utf-8", help="of the text (default utf-8)")
    add("--decimal", choices=(".", ","), help="of numbers in CSV, the other one being for thousands: ',' for 1.234,5")
    add("--max-line", type=_count, default=MAX_LINE, help="bytes that a line may have (default 16 MiB)")
    add("--y", help="columns of the label: names, patterns such as 'label_*', first:3 or last:3")
    add("--x", help="columns of the input (default: all others); '!hour' is all but this one")
    add("--loss", help="f1, zeroone, ordinal, squared, kendall, ...: see oskaar losses")
    add("--group", help="the column whose equal values make a round of several rows")
    add("--order", help="the column to sort by; default: the order of the file")
    add("--limit", type=_count, help="at most so many rounds")
    add("--drop", help="columns to leave out, as in --y")
    add("--as", dest="kinds", help="what columns are: amount=number,subject=text (category, boolean, tokens, time)")
    add("--tags-separator", help="between the tags of a cell: ';', '|', ',', ' ' or json (default: inferred)")
    add(
        "--missing",
        choices=("learn", "error", "skip", "zero"),
        default="learn",
        help="what to do with empty cells: learn that they are missing (default), ...",
    )
    add("--lags", type=_count, help="the last so many labels are inputs too, for series known in time")
    add("--budget", type=_count, help="constant cost and memory a round: at most so many inputs are kept")
    add("--max-bytes", type=_bytes, default=4e9, help="memory that the learner may take: 500M, 4G (default)")
    add("--classes", help="all classes, symbols or tags, with commas")
    add("--levels", help="1..5, or names from the lowest, with commas")
    add("--low", type=float, help="the least value of y")
    add("--high", type=float, help="the largest value of y")
    add("--n-labels", type=_count, help="tags are 0 to n-1, for lists of numbers")
    add("--k", type=_count, help="places that count, for ndcg, documents and precisionatk")
    add("--quantile", type=float, default=0.5, help="for pinball")
    add("--costs", help="for costmatrix and wasserstein: a CSV file, or [[0, 5], [1, 0]], a row for each answer")
    add("--degrees", action=argparse.BooleanOptionalAction, default=False, help="angles are in degrees")


def parse(argv: list[str]) -> argparse.Namespace:
    """The options; those of --config come first, so that the command line overrides them."""
    options = parser().parse_args(argv or ["--help"])
    path = getattr(options, "config", None)
    if path:
        extra, file = _from_toml(path, options)
        argv = [argv[0], *extra, *argv[1:]]
        options = parser().parse_args(argv)
        options.file = options.file or file
    goes_on = getattr(options, "resume", None) or getattr(options, "model", None)
    options.given = _given(argv) if goes_on else frozenset()
    if getattr(options, "file", "") is None:
        raise OptionError(f"oskaar {options.command} needs a file; - is standard input.")
    return options


def defaults(command: str) -> dict[str, Any]:
    """What the options of a command are where they are not given.

    >>> defaults("learn")["learner"]
    'ensemble'
    """
    return vars(parser().parse_args([command, *(["-"] if command == "inspect" else [])]))


def _given(argv: list[str]) -> frozenset[str]:
    """The names of the options that were given, not left at their defaults."""
    bare = parser()
    for action in bare._actions:
        for command in (action.choices or {}).values() if isinstance(action.choices, dict) else ():
            for option in command._actions:
                option.default = argparse.SUPPRESS
    return frozenset(vars(bare.parse_args(argv)))


def _from_toml(path: str, options: argparse.Namespace) -> tuple[list[str], str | None]:
    try:
        with open(path, "rb") as handle:
            settings = tomllib.load(handle)
    except OSError as error:
        raise OptionError(f"--config {path} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"--config {path} is not TOML: {error}.") from None
    tokens = []
    for key, setting in settings.items():
        name = key.replace("-", "_")
        if name not in vars(options) or name in ("command", "config"):
            raise OptionError(f"--config {path}: {key!r} is no option of oskaar {options.command}.")
        if name != "file":
            tokens += _tokens(key.replace("_", "-"), setting, f"--config {path}: {key!r}")
    file = settings.get("file")
    return tokens, None if file is None else str(file)


def _tokens(name: str, setting: Any, where: str) -> list[str]:
    if isinstance(setting, bool):
        return [f"--{name}"] if setting else ([] if name in ("json", "debug") else [f"--no-{name}"])
    if isinstance(setting, dict):
        raise OptionError(f"{where} must be a value, not a table.")
    rows = isinstance(setting, list) and any(isinstance(item, list) for item in setting)
    text = json.dumps(setting) if rows else ",".join(map(str, setting)) if isinstance(setting, list) else str(setting)
    return [f"--{name}={text}"]


def _bytes(text: str) -> float:
    """So many bytes: 4e9, 500M, 4G.

    >>> _bytes("500M"), _bytes("4e9")
    (500000000.0, 4000000000.0)
    """
    found = re.fullmatch(r"([\d.]+(?:[eE]\d+)?)\s*([kMG]?)(?:i?B)?", text)
    try:
        number = float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]] if found else 0.0
    except ValueError:
        number = 0.0
    if not 1 <= number < 1e18:
        raise argparse.ArgumentTypeError(f"must be a number of bytes, such as 500M or 4G, got {text!r}")
    return number


def _count(text: str) -> int:
    number = int(text) if text.lstrip("+-").isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {text!r}")
    return number

"""Columns of a frame as rounds: rows x, labels y, and the errors of refused ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from oskaar.learners.learner import OnlineLearner
from oskaar.requirements import shorten

ABSENT = -(2**63)
"""What stands for null in a column of whole numbers: pandas would make floats of all of them, and round the large."""

WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double", "boolean", "decimal")
OTHERS = ("string", "timestamp", "date", "array<string>")


@dataclass(frozen=True)
class Columns:
    """Which columns are x and y.

    x: names of columns of numbers, which make dense rows, or with text, times or arrays of text among them dict rows;
        or the name of one column of arrays (rows, or blocks of rows) or maps (dict rows).
    y: the name of the column of labels; arrays are tuples.
    label: a function from what is in that column to a label, `frozenset` for sets of label indices.
    others: those columns of x that hold no numbers.
    """

    x: str | tuple[str, ...]
    y: str | None = None
    label: Callable[[Any], Any] | None = None
    others: tuple[str, ...] = ()

    @staticmethod
    def of(df: Any, x: Any, y: str | None = None, label: Any = None) -> Columns:
        """Columns that a frame has."""
        names, types = (x,) if isinstance(x, str) else tuple(x), dict(df.dtypes)
        missing = [name for name in (*names, *([] if y is None else [y])) if name not in df.columns]
        if not names or missing:
            raise ValueError(f"x and y must be columns, {missing or 'x'} is not there: {', '.join(df.columns)}.")
        if y in names:
            raise ValueError(f"the label y = {y!r} must not be a column of x: an answer would see it.")
        if isinstance(x, str) and types[x].startswith(("array", "map")):
            return Columns(x, y, label)
        others = tuple(name for name in names if not types[name].startswith(NUMBERS))
        for name in others:
            if not types[name].startswith(OTHERS):
                raise ValueError(
                    "columns of x must hold numbers, text, times or arrays of text, or x must be one column of "
                    f"arrays or maps: {name!r} is {types[name]}."
                )
        return Columns(names, y, label, others)

    @property
    def names(self) -> list[str]:
        """The columns of x."""
        return [self.x] if isinstance(self.x, str) else list(self.x)

    def rows(self, frame: Any) -> Any:
        """x of each row of a pandas frame."""
        if isinstance(self.x, str):
            return [_cell(value) for value in frame[self.x]]
        numbers = [name for name in self.x if name not in self.others]
        X = np.empty((len(frame), len(numbers)))
        for j, name in enumerate(numbers):  # a column of objects is one of booleans with nulls, or of decimals
            column = frame[name].to_numpy()
            X[:, j] = frame[name].to_numpy(dtype=float, na_value=np.nan) if column.dtype == object else column
        if not self.others:
            return X
        parts = dict(zip(numbers, X.T.tolist(), strict=True)) | {name: _objects(frame[name]) for name in self.others}
        cells = zip(*(parts[name] for name in self.x), strict=True)
        return [dict(zip(self.x, row, strict=True)) for row in cells]

    def given(self, xs: Any) -> list[bool]:
        """Whether each of these rows has an x at all."""
        if isinstance(xs, np.ndarray):
            return [bool(row) for row in np.atleast_1d((~np.isnan(xs)).any(axis=1))]
        return [any(not _missing(cell) for cell in (x.values() if self.others else [x])) for x in xs]

    def labels(self, values: Iterable[Any]) -> list[Any]:
        """The labels in some cells of y, None where there is none."""
        return [None if _missing(value) else self._label(value) for value in values]

    def _label(self, value: Any) -> Any:
        value = _plain(value)
        try:
            return value if self.label is None else self.label(value)
        except Exception as error:  # a function of the user's
            return Unreadable(f"{shorten(value)} cannot be read, {type(error).__name__}: {error}")

    def message(self, what: str, error: Any) -> str:
        """A sentence on what is wrong with x or y."""
        names = ", ".join(map(repr, self.names[:4])) if what == "x" else repr(self.y)
        return f"{what} in column {names}: {error}"


@dataclass(frozen=True)
class Unreadable:
    """What is in place of a label that the function `label` has refused."""

    why: str


@dataclass
class Read:
    """The rounds that can be learned, where they were, and what is wrong with the others."""

    xs: Any
    ys: list[Any]
    places: list[int]
    bad: dict[int, str]


def read(columns: Columns, learner: OnlineLearner, xs: Any, ys: list[Any] | None) -> Read:
    """All rounds at once where they are good, else one by one. ys: None where only x is read."""
    try:
        if ys is not None and not any(isinstance(y, Unreadable) for y in ys):
            learner._checked(xs, ys)
            return Read(xs, ys, list(range(len(ys))), {})
    except Exception:  # of code of the user's, too: it is the reason of its row
        pass
    bad: dict[int, str] = {}
    probe = learner
    for i, x in enumerate(xs):
        why = _wrong_x(columns, probe, x) if ys is None else wrong(columns, probe, x, ys[i])
        if why:
            bad[i] = why
        elif probe._inputs.store is None:  # the first row says what the others must look like
            probe = copy.deepcopy(learner)
            probe._inputs.append(probe._inputs.parse(x))
    good = [i for i in range(len(xs)) if i not in bad]
    return Read([xs[i] for i in good], [] if ys is None else [ys[i] for i in good], good, bad)


def wrong(columns: Columns, learner: OnlineLearner, x: Any, y: Any) -> str | None:
    """What is wrong with a round, if anything."""
    if y is None:
        return f"y in column {columns.y!r} is null: there is nothing to learn."
    if isinstance(y, Unreadable):
        return columns.message("y", y.why)
    why = _wrong_x(columns, learner, x)
    if why is not None:
        return why
    try:
        learner._checked([x], [y])
    except Exception as error:  # of a loss of the user's, too
        return columns.message("y", why_of(error))
    return None


def _wrong_x(columns: Columns, learner: OnlineLearner, x: Any) -> str | None:
    try:
        learner.estimate(x)
    except Exception as error:  # of a kernel of the user's, too
        return columns.message("x", why_of(error))
    return None


def why_of(error: Exception) -> str:
    """What an error says, with its class where that is none of those that oskaar's own refusals have."""
    own = isinstance(error, (ValueError, TypeError, OverflowError, MemoryError))
    return str(error) if own else f"{type(error).__name__}: {error}"


def plain(z: Any) -> Any:
    """An answer as a cell of a frame: sets are sorted lists, tuples and arrays lists."""
    if isinstance(z, (set, frozenset)):
        return sorted((_plain(item) for item in z), key=lambda item: (str(type(item)), item))
    if isinstance(z, (tuple, list, np.ndarray)):
        return [plain(item) for item in z]
    return z.item() if isinstance(z, np.generic) else z


def type_of(z: Any) -> str:
    """Spark's name for the type of an answer.

    >>> type_of("a"), type_of(frozenset({1})), type_of((0.5, 1.0)), type_of(())
    ('string', 'array<bigint>', 'array<double>', 'array<string>')
    """
    z = plain(z)
    if isinstance(z, list):
        return f"array<{type_of(z[0]) if z else 'string'}>"
    kinds = {bool: "boolean", int: "bigint", float: "double", str: "string", type(None): "string"}
    if type(z) not in kinds:
        raise TypeError(f"answers like {shorten(z)} have no type in Spark: pass type=, such as 'string'.")
    return kinds[type(z)]


def answer_type(learner: Any, labels: str | None = None, label: Any = None) -> str:
    """The type of a learner's answers, where that of its labels is known, and the function that reads them.

    Numbers that are estimated are doubles, whatever the labels are; a vector of one number is that number.
    """
    labels = "double" if labels is not None and labels.startswith("decimal") else labels
    z = plain(learner.space.decode_rounds(np.zeros((1, learner.space.p)), [1])[0])
    if isinstance(z, list) and getattr(learner.loss, "dim", None) == 1 and not (labels or "").startswith("array"):
        (z,) = z
    estimated = isinstance(z, float) or (isinstance(z, list) and any(isinstance(one, float) for one in z))
    if labels is not None and (z is None or z == [] or not (estimated or label)):
        return labels
    return type_of(z)


def cell_of(kind: str) -> Callable[[Any], Any]:
    """A function from answers to cells of a column of this type; it refuses what does not fit.

    >>> cell_of("double")([0.5]), cell_of("array<int>")(frozenset({2, 1})), cell_of("string")(None)
    (0.5, [1, 2], None)
    """
    if kind.startswith("array<"):
        one = cell_of(kind[6:-1])

        def many(z: Any) -> Any:
            z = plain(z)
            if z is not None and not isinstance(z, list):
                raise ValueError(_no_cell(z, kind))
            return None if z is None else [one(item) for item in z]

        return many
    make = {"string": str, "double": float, "float": float, "boolean": bool} | dict.fromkeys(WHOLE, int)
    if kind not in make:
        return plain

    def cell(z: Any) -> Any:
        if type(z) is make[kind] or z is None:
            return z
        z = plain(z)
        z = z[0] if isinstance(z, list) and len(z) == 1 else z
        if isinstance(z, (list, dict)) or (kind != "string" and (isinstance(z, str) or make[kind](z) != z)):
            raise ValueError(_no_cell(z, kind))
        return make[kind](z)

    return cell


def _no_cell(z: Any, kind: str) -> str:
    return f"the answer {shorten(z)} does not fit into a column of {kind}: pass another type=."


def allowed(learner: Any) -> list[str]:
    """The modules, not oskaar's, whose classes the learner is made of: its files may name them."""
    parts = (learner.loss, getattr(learner, "kernel", None), getattr(learner, "features", None), learner)
    functions = [value for part in parts for value in getattr(part, "__dict__", {}).values() if callable(value)]
    modules = {getattr(part, "__module__", "") or "" for part in (*map(type, parts), *functions)}
    return sorted(m for m in modules if m and m.split(".")[0] not in ("oskaar", "builtins"))


def _objects(column: Any) -> list[Any]:
    """Cells that are no numbers: times are those of the session's clock, tokens lists."""
    if column.dtype.kind == "M":
        wall = column if column.dt.tz is None else column.dt.tz_localize(None)
        return [None if missing else t for t, missing in zip(wall.tolist(), column.isna(), strict=True)]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in column]


def _missing(value: Any) -> bool:
    if isinstance(value, (int, np.integer)):
        return bool(value == ABSENT)
    return value is None or (isinstance(value, (float, np.floating)) and bool(value != value))


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, list, tuple)):
        return tuple(_plain(item) for item in value)
    if isinstance(value, Decimal):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _cell(value: Any) -> Any:
    """A row out of a cell: an array, a block of rows, a dict."""
    if isinstance(value, np.ndarray) and value.dtype == object and len(value) and isinstance(value[0], np.ndarray):
        return np.stack(list(value))
    return dict(value) if isinstance(value, Sequence) and value and isinstance(value[0], tuple) else value

"""Columns of a frame as rounds: rows x, labels y, and what is wrong with those that are none."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.learners.learner import OnlineLearner
from oskaar.requirements import shorten


@dataclass(frozen=True)
class Columns:
    """Which columns are x and y.

    x: names of columns of numbers, which make dense rows, or with text among them dict rows; or the name of one
        column of arrays (rows, or blocks of rows) or maps (dict rows). y: the name of the column of labels; arrays
        are tuples. label: a function from what is in that column to a label, `frozenset` for sets of label indices.
    """

    x: str | tuple[str, ...]
    y: str | None = None
    label: Callable[[Any], Any] | None = None

    @staticmethod
    def of(df: Any, x: Any, y: str | None = None, label: Any = None) -> Columns:
        """Columns that a frame has."""
        names = (x,) if isinstance(x, str) else tuple(x)
        missing = [name for name in (*names, *([] if y is None else [y])) if name not in df.columns]
        if not names or missing:
            raise ValueError(f"x and y must be columns, {missing or 'x'} is not there: {', '.join(df.columns)}.")
        return Columns(x if isinstance(x, str) else names, y, label)

    @property
    def names(self) -> list[str]:
        """The columns of x."""
        return [self.x] if isinstance(self.x, str) else list(self.x)

    def rows(self, frame: Any) -> Any:
        """x of each row of a pandas frame."""
        if isinstance(self.x, str):
            return [_cell(value) for value in frame[self.x]]
        part = frame[list(self.x)]
        if all(dtype.kind in "biuf" for dtype in part.dtypes):
            return part.to_numpy(dtype=float)
        return part.to_dict("records")

    def given(self, frame: Any) -> Any:
        """Whether each row has an x at all."""
        return frame[self.names].notna().any(axis=1).to_numpy()

    def labels(self, frame: Any) -> list[Any]:
        """y of each row, None where there is none."""
        return [None if _missing(value) else self._label(value) for value in frame[self.y]]

    def _label(self, value: Any) -> Any:
        value = _plain(value)
        try:
            return value if self.label is None else self.label(value)
        except Exception as error:  # a function of the user's
            return Unreadable(f"{shorten(value)} cannot be read, {type(error).__name__}: {error}")

    def told(self, what: str, error: Any) -> str:
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


def read(columns: Columns, learner: OnlineLearner, xs: Any, ys: list[Any]) -> Read:
    """All rounds at once where they are good, else one by one."""
    try:
        if not any(isinstance(y, Unreadable) for y in ys):
            learner._checked(xs, ys)
            return Read(xs, ys, list(range(len(ys))), {})
    except (ValueError, TypeError, OverflowError):
        pass
    bad: dict[int, str] = {}
    probe = learner
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        why = wrong(columns, probe, x, y)
        if why:
            bad[i] = why
        elif probe._inputs.store is None:  # the first row says what the others must look like
            probe = copy.deepcopy(learner)
            probe._inputs.append(probe._inputs.parse(x))
    good = [i for i in range(len(ys)) if i not in bad]
    return Read([xs[i] for i in good], [ys[i] for i in good], good, bad)


def wrong(columns: Columns, learner: OnlineLearner, x: Any, y: Any) -> str | None:
    """What is wrong with a round, if anything."""
    if y is None:
        return f"y in column {columns.y!r} is null: there is nothing to learn."
    if isinstance(y, Unreadable):
        return columns.told("y", y.why)
    for what, check in (("x", lambda: learner.estimate(x)), ("y", lambda: learner.loss.check(y))):
        try:
            check()
        except (ValueError, TypeError, OverflowError) as error:
            return columns.told(what, error)
    try:
        learner._checked([x], [y])
    except (ValueError, TypeError, OverflowError) as error:
        return columns.told("y", error)
    return None


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


def allowed(learner: Any) -> list[str]:
    """The modules, not oskaar's, whose classes the learner is made of: its files may name them."""
    parts = (learner.loss, getattr(learner, "kernel", None), getattr(learner, "features", None), learner)
    functions = [value for part in parts for value in getattr(part, "__dict__", {}).values() if callable(value)]
    modules = {getattr(part, "__module__", "") or "" for part in (*map(type, parts), *functions)}
    return sorted(m for m in modules if m and m.split(".")[0] not in ("oskaar", "builtins"))


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and value != value)


def _plain(value: Any) -> Any:
    if isinstance(value, (np.ndarray, list, tuple)):
        return tuple(_plain(item) for item in value)
    return value.item() if isinstance(value, np.generic) else value


def _cell(value: Any) -> Any:
    """A row out of a cell: an array, a block of rows, a dict."""
    if isinstance(value, np.ndarray) and value.dtype == object and len(value) and isinstance(value[0], np.ndarray):
        return np.stack(list(value))
    return dict(value) if isinstance(value, Sequence) and value and isinstance(value[0], tuple) else value

r"""A graph of objects as a flat list of plain nodes, with arrays apart.

A value is null, a truth value, a number, a text, or [i], which is node i. Nodes name only nodes before them, so that
a file can be read in one pass, and nothing in it can be deep or go round in circles:

    {"list": [values]}  {"tuple": ..}  {"set": ..}  {"frozenset": ..}  {"dict": [[key, value], ..]}
    {"array": member, "fixed": it cannot be written to}  {"objects": [shape, values]}  {"scalar": member}
    {"csr": [is a matrix, shape, data, indices, indptr]}  {"bytes": base64}  {"int": hex}  {"float": text}
    {"is": class, "state": value}  {"named": [class, values]}  {"enum": [class, member]}
    {"function": name}  {"type": class}  {"partial": [function, args, keywords]}
    {"growing": [the matrix, rows and columns that its memory has]}  {"sheet": ..}

A class or a function is its tag, or its import name (`state.names`). An object that is referred to twice is one node,
and is one object again after reading.
"""

from __future__ import annotations

import copyreg
import enum
import json
import math
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from oskaar.arrays import Growing, Sheet
from oskaar.saved import StateError, tag_of
from oskaar.state.names import name_of

PLAIN = "biufcSUmM"
"""Kinds of numbers and texts that an array in a file may have."""

_DEPTH = 150
_NEW = vars(copyreg)["__newobj__"]


class Encoder:
    """Turns objects into nodes and arrays."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.bytes = 0  # that arrays take after reading, with their room to grow
        self._places: dict[int, int] = {}
        self._equal: dict[str, int] = {}
        self._kept: list[Any] = []  # an id is only good as long as its object lives
        self._path: list[str] = []
        self._open: set[int] = set()

    def value(self, thing: Any, step: str) -> Any:
        """A thing as a value; `step` leads to it from what holds it, for messages."""
        kind = type(thing)
        if thing is None or kind is bool or kind is str:
            return thing
        if (kind is int and -(2**63) <= thing < 2**63) or (kind is float and math.isfinite(thing)):
            return thing
        place = self._places.get(id(thing))
        if place is None:
            self._path.append(step)
            place = self._placed(thing)
            self._path.pop()
        return [place]

    def _placed(self, thing: Any) -> int:
        if id(thing) in self._open:
            raise StateError(f"{self._where} refers to itself: a state cannot go round in circles.")
        if len(self._path) > _DEPTH:
            raise StateError(f"{self._where} is nested more than {_DEPTH} deep: make it flatter.")
        self._open.add(id(thing))
        node = self._node(thing)
        self._open.discard(id(thing))
        place = len(self.nodes)
        if next(iter(node)) in ("tuple", "frozenset", "bytes", "int"):  # equal values that cannot change are one
            place = self._equal.setdefault(json.dumps(node), place)
        if place == len(self.nodes):
            self.nodes.append(node)
        self._kept.append(thing)
        self._places[id(thing)] = place
        return place

    @property
    def _where(self) -> str:
        path = self._path if len(self._path) < 12 else [*self._path[:6], "...", *self._path[-4:]]
        return "".join(path)

    def _node(self, thing: Any) -> dict[str, Any]:
        write = _WRITERS.get(type(thing))
        if write is not None:
            return write(self, thing)
        if type(thing).__name__ in ("csr_array", "csr_matrix") and type(thing) in _sparse_kinds():
            return self._csr(thing)
        if isinstance(thing, np.generic):
            return {"scalar": self._member(np.asarray(thing))}
        if isinstance(thing, enum.Enum):
            return {"enum": [self._name(type(thing)), thing.name]}
        if isinstance(thing, tuple) and hasattr(thing, "_fields"):
            return {"named": [self._name(type(thing)), self._values(thing)]}
        if isinstance(thing, type):
            return {"type": self._name(thing)}
        if callable(thing) and (hasattr(thing, "__qualname__") or isinstance(thing, np.ufunc)):
            return {"function": self._name(thing)}
        return {"is": self._name(type(thing)), "state": self.value(self._state(thing), "")}

    def _name(self, thing: Any) -> str:
        return name_of(thing, self._where)

    def _state(self, thing: Any) -> Any:
        """The attributes, as pickle would take them; refused where an object is more than those."""
        if tag_of(type(thing)) is not None:
            return thing.__getstate__()
        try:
            reduced = thing.__reduce_ex__(4)
        except TypeError as error:
            raise StateError(f"{self._where} cannot be saved: {error}.") from error
        make, args, *rest = reduced if isinstance(reduced, tuple) else (None, ())
        if make is not _NEW or len(args) != 1 or any(part is not None for part in rest[1:]):
            raise StateError(
                f"{self._where} is a {type(thing).__name__}, which is more than its attributes: use numbers, texts, "
                "arrays, lists, tuples, sets and dicts of these, or a class of your own with plain attributes."
            )
        return rest[0] if rest else None

    def _values(self, things: Any) -> list[Any]:
        return [self.value(thing, f"[{i}]") for i, thing in enumerate(things)]

    def _dict(self, thing: dict[Any, Any]) -> dict[str, Any]:
        inside = not self._path or self._path[-1] != ""  # of an object, whose keys are attributes
        steps = [f"[{key!r}]" if inside or not isinstance(key, str) else f".{key}" for key in thing]
        items = zip(steps, thing.items(), strict=True)
        return {"dict": [[self.value(key, " key"), self.value(value, step)] for step, (key, value) in items]}

    def _array(self, thing: np.ndarray[Any, Any]) -> dict[str, Any]:
        if thing.dtype == object:
            return {"objects": [list(thing.shape), self._values(thing.ravel().tolist())]}
        return {"array": self._member(thing), **({} if thing.flags.writeable else {"fixed": True})}

    def _member(self, array: np.ndarray[Any, Any]) -> int:
        if array.dtype.kind not in PLAIN:
            raise StateError(f"{self._where} is an array of {array.dtype}: arrays hold numbers, texts or objects.")
        self.arrays.append(array)
        self.bytes += array.nbytes
        return len(self.arrays) - 1

    def _csr(self, thing: Any) -> dict[str, Any]:
        parts = [self.value(getattr(thing, name), f".{name}") for name in ("data", "indices", "indptr")]
        return {"csr": [type(thing).__name__ == "csr_matrix", [int(n) for n in thing.shape], *parts]}

    def _roomy(self, kind: str, view: np.ndarray[Any, Any], capacity: tuple[int, ...]) -> dict[str, Any]:
        have = (usual_rows(view.shape[0]), capacity[1]) if kind == "growing" else capacity
        rows, columns = room(view.shape, have)
        self.bytes += view.itemsize * (rows * columns - view.size)
        return {kind: [self._member(view), rows, columns]}


def room(shape: tuple[int, ...], have: tuple[int, ...]) -> tuple[int, int]:
    """The rows and columns that the memory of a growing matrix keeps: what it has, within limits."""
    if 0 in shape:
        return shape[0], shape[1]
    return (
        max(shape[0], min(have[0], max(16, 2 * shape[0]))),
        max(shape[1], min(have[1], 2 * shape[1])),
    )


def usual_rows(rows: int) -> int:
    """The room that rows one by one would have made: a learner that dropped rows is the same bytes as one resumed.

    >>> usual_rows(17)
    24
    """
    room = 16
    while room < rows:
        room = 3 * room // 2
    return room


def _sparse_kinds() -> tuple[type, ...]:
    from scipy.sparse import csr_array, csr_matrix  # slow to import, and mostly not needed

    return csr_array, csr_matrix


def _rank(thing: Any) -> tuple[str, str]:
    """An order of the members of a set that does not depend on how it came about."""
    if isinstance(thing, frozenset):
        return "frozenset", str(sorted(map(_rank, thing)))
    if isinstance(thing, tuple):
        return "tuple", str(list(map(_rank, thing)))
    return type(thing).__name__, repr(thing)


_WRITERS: dict[type, Callable[[Encoder, Any], dict[str, Any]]] = {
    list: lambda e, things: {"list": e._values(things)},
    tuple: lambda e, things: {"tuple": e._values(things)},
    set: lambda e, things: {"set": e._values(sorted(things, key=_rank))},
    frozenset: lambda e, things: {"frozenset": e._values(sorted(things, key=_rank))},
    int: lambda _, number: {"int": hex(number)},
    float: lambda _, number: {"float": repr(number)},
    bytes: lambda _, text: {"bytes": b64encode(text).decode()},
    dict: Encoder._dict,
    np.ndarray: Encoder._array,
    np.memmap: Encoder._array,
    partial: lambda e, f: {
        "partial": [e.value(f.func, ".func"), e.value(f.args, ".args"), e.value(f.keywords, ".keywords")]
    },
    Growing: lambda e, g: e._roomy("growing", g.view, g.capacity),
    Sheet: lambda e, s: e._roomy("sheet", s.view, s.capacity),
}

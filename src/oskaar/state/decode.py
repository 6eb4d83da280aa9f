"""Nodes and arrays back into objects. Nothing is executed but oskaar's own code and what the caller allows.

Before an object is made, `state.limits` is asked for what it takes: a few bytes can ask for much.
"""

from __future__ import annotations

import enum
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from oskaar.arrays import Growing, Sheet
from oskaar.saved import StateError, check_saved, shown, tag_of
from oskaar.state.encode import room
from oskaar.state.limits import ReadLimits, Size, fill, spend_on_hashing
from oskaar.state.names import Allowed, import_parts, resolve


class Decoder:
    """Reads nodes in their order; `arrays` are those of the file."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]], allow: Allowed, limits: ReadLimits) -> None:
        self.arrays, self.allow, self.limits = arrays, allow, limits
        self.things: list[Any] = []
        self._sizes: list[Size] = []
        self._size, self._bytes = Size(), 0  # of the node that is read: its values, and what it holds itself
        self._used: set[int] = set()
        self._once: dict[str, str] = {}  # equal texts are one object

    def read(self, nodes: Any, root: Any) -> Any:
        """The object that `root` is."""
        import_parts()
        for node in nodes:
            if not isinstance(node, dict) or not node:
                raise StateError(f"a node must be an object with one kind, got {shown(node)}.")
            kind = next(iter(node))
            if kind not in _READERS:
                raise StateError(f"there is no kind of node {shown(kind)}.")
            self._size, self._bytes = Size(), 0
            self.things.append(_READERS[kind](self, node[kind], node))
            self._sizes.append(self._size.closed(self.limits, self._bytes, kind == "is"))
        return self.value(root)

    def value(self, value: Any) -> Any:
        if not isinstance(value, list):
            if isinstance(value, dict):
                raise StateError("a value must be plain or [place of a node before it], got an object.")
            self._size.add_text(value)
            return self._once.setdefault(value, value) if type(value) is str else value
        if len(value) != 1 or type(value[0]) is not int or not 0 <= value[0] < len(self.things):
            got = shown(value[0]) if len(value) == 1 else shown(value)
            raise StateError(f"a value must be plain or [place of a node before it], got {got}.")
        self._size.add(self._sizes[value[0]])
        return self.things[value[0]]

    def values(self, values: Any) -> list[Any]:
        return [self.value(value) for value in values]

    def keys(self, values: Any) -> tuple[list[Any], list[int]]:
        """Values that will be hashed, at most once each, and how large they are."""
        before, weights, things = self._size.all, [], []
        for value in values:
            things.append(self.value(value))
            weights.append(self._size.all - before)
            before = self._size.all
        spend_on_hashing(things, weights, self.limits)
        return things, weights

    def array(self, place: Any) -> np.ndarray[Any, Any]:
        """An array of the file, which is used once."""
        if type(place) is not int or not 0 <= place < len(self.arrays) or place in self._used:
            raise StateError(f"a node asks for array {shown(place)}: there is none, or it is used already.")
        self._used.add(place)
        self._bytes += self.arrays[place].nbytes
        return self.arrays[place]

    def named(self, name: Any, kind: type | tuple[type, ...]) -> Any:
        """A class or a function, by name."""
        thing = resolve(name, self.allow)
        if not isinstance(thing, kind):
            raise StateError(f"{shown(name)} must be a {kind}, it is {shown(thing)}.")
        return thing

    def text(self, text: Any) -> str:
        """A text that is a node of its own."""
        if type(text) is not str:
            raise StateError(f"bytes and large numbers must be texts, got {shown(text)}.")
        self._bytes += len(text)
        return text

    def _set(self, values: Any) -> set[Any]:
        made = set[Any]()
        fill(made, *self.keys(values))
        return made

    def _dict(self, items: Any) -> dict[Any, Any]:
        keys, weights = self.keys(key for key, _ in items)
        values, made = self.values(value for _, value in items), dict[Any, Any]()
        fill(made, list(zip(keys, values, strict=True)), weights)
        return made

    def _plain(self, place: Any, node: Mapping[str, Any]) -> Any:
        array = self.array(place)
        if node.get("fixed") is True:
            array.setflags(write=False)
        return array

    def _objects(self, content: Any, node: Any) -> Any:
        shape, values = content
        array = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):  # assigning all at once would look into lists and arrays
            array[i] = self.value(value)
        return array.reshape(shape)

    def _csr(self, content: Any, node: Any) -> Any:
        from scipy.sparse import csr_array, csr_matrix

        matrix, shape, *parts = content
        arrays = self.values(parts)
        self.limits.spend(self._size.all)
        self.limits.take(sum(part.nbytes for part in arrays if part.dtype != np.int32 and part.dtype.kind != "f"))
        rows = (csr_matrix if matrix else csr_array)(tuple(arrays), shape=tuple(shape))
        rows.check_format(full_check=True)
        return rows

    def _growing(self, content: Any, node: Any) -> Growing:
        view, buffer = self._roomy(content)
        return Growing.in_buffer(buffer, view.shape)

    def _sheet(self, content: Any, node: Any) -> Sheet:
        view, buffer = self._roomy(content)
        if view.dtype != np.float64:
            raise StateError(f"a sheet must hold float64, got {view.dtype}.")
        return Sheet(view, buffer, [view.shape])

    def _roomy(self, content: Any) -> tuple[Any, Any]:
        """A matrix in memory with room to grow, which no file can make larger than oskaar does."""
        place, *have = content
        view = self.array(place)
        if view.ndim != 2 or len(have) != 2 or not np.isfinite(view).all():
            raise StateError(f"a matrix that grows must be finite with two dimensions, got shape {view.shape}.")
        if not all(type(count) is int for count in have):
            raise StateError("the room of a matrix that grows must be two whole numbers.")
        rows, columns = room(view.shape, tuple(have))
        if (rows, columns) == view.shape:
            return view, view
        self.limits.take(view.dtype.itemsize * (rows * columns - view.size))
        buffer = np.empty((rows, columns), dtype=view.dtype)
        buffer[: view.shape[0], : view.shape[1]] = view
        return buffer[: view.shape[0], : view.shape[1]], buffer

    def _instance(self, name: Any, node: Mapping[str, Any]) -> Any:
        cls = self.named(name, type)
        own = tag_of(cls) is not None
        thing: Any = object.__new__(cls) if own else cls.__new__(cls)
        state = self.value(node["state"])
        several = len(state) if isinstance(state, dict) else 0
        self.limits.spend(self._size.plain + 32 * several)  # what is checked, also where others share it
        if own or state is None or isinstance(state, dict):
            state = _attributes(cls, {} if state is None else state)
        if hasattr(cls, "__setstate__"):
            thing.__setstate__(state)
        elif isinstance(state, dict):
            vars(thing).update(state)
        else:  # attributes and slots
            for name, value in {**(state[0] or {}), **state[1]}.items():
                object.__setattr__(thing, name, value)
        if own:
            check_saved(thing)
        return thing

    def _tuple(self, content: Any, node: Any) -> Any:
        cls = self.named(content[0], type)
        items = self.values(content[1])
        if not (issubclass(cls, tuple) and len(getattr(cls, "_fields", ())) == len(items)):
            raise StateError(f"{shown(content[0])} is not a tuple of {len(items)} named fields.")
        return tuple.__new__(cls, items)

    def _enum(self, content: Any, node: Any) -> Any:
        cls = self.named(content[0], type)
        if not issubclass(cls, enum.Enum):
            raise StateError(f"{shown(content[0])} is not an enumeration.")
        return cls[content[1]]

    def _function(self, name: Any, node: Any) -> Any:
        function = self.named(name, object)
        if isinstance(function, type) or not callable(function):
            raise StateError(f"{shown(name)} must be a function, it is {shown(function)}.")
        return function

    def _partial(self, content: Any, node: Any) -> Any:
        function, args, keywords = self.values(content)
        if isinstance(function, partial):  # Python makes one of two, and so could many in a row become very long
            raise StateError("a partial of a partial is one partial.")
        return partial(function, *args, **keywords)


def _attributes(cls: type, state: Any) -> dict[str, Any]:
    """Attributes from a file: none may stand in for a method or a property of the class."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise StateError(f"the state of a {cls.__name__} must be a dict of attributes.")
    for name in state:
        known = getattr(cls, name, None)
        if name.startswith("__") or isinstance(known, property) or (callable(known) and not isinstance(known, type)):
            raise StateError(f"{cls.__name__}.{name[:80]} is not an attribute that a file may set.")
    return state


def _scalar(decoder: Decoder, place: Any, node: Any) -> Any:
    array = decoder.array(place)
    if array.ndim != 0:
        raise StateError(f"a number must have no dimension, got shape {array.shape}.")
    return array[()]


def _float(decoder: Decoder, text: Any, node: Any) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise StateError(f"a float in words must be nan, inf or -inf, got {shown(text)}.")
    return float(text)


_READERS: dict[str, Callable[[Decoder, Any, Mapping[str, Any]], Any]] = {
    "list": lambda d, values, _: d.values(values),
    "tuple": lambda d, values, _: tuple(d.values(values)),
    "set": lambda d, values, _: d._set(values),
    "frozenset": lambda d, values, _: frozenset(d._set(values)),
    "dict": lambda d, items, _: d._dict(items),
    "int": lambda d, text, _: int(d.text(text), 16),
    "float": _float,
    "bytes": lambda d, text, _: b64decode(d.text(text), validate=True),
    "array": Decoder._plain,
    "scalar": _scalar,
    "objects": Decoder._objects,
    "csr": Decoder._csr,
    "growing": Decoder._growing,
    "sheet": Decoder._sheet,
    "is": Decoder._instance,
    "named": Decoder._tuple,
    "enum": Decoder._enum,
    "type": lambda d, name, _: d.named(name, type),
    "function": Decoder._function,
    "partial": Decoder._partial,
}

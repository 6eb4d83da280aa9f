"""Cells of rows as plain values.

A plain cell is None where nothing is known, a bool, a float, a str, a numpy.datetime64 in microseconds, or a tuple of
str. None, NaN, pandas.NA, pandas.NaT, masked values and empty text are all None. Anything else is refused by name.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from numbers import Number, Rational
from typing import Any

import numpy as np

from oskaar.requirements import shorten

LONGEST = 1_000_000
"""A text has at most so many characters, a list at most so many tokens."""

YEARS = (1, 9999)
"""Times lie in these years, as those of Python do."""

_NOTHING = ("NAType", "NaTType", "MaskedConstant")
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?")
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)?(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)


def plain(name: Any, value: Any) -> Any:
    """A cell of a column as a plain value.

    >>> plain("a", 3), plain("a", float("nan")), plain("a", " "), plain("tags", ["x", "y"])
    (3.0, None, None, ('x', 'y'))
    >>> plain("amount", float("inf"))
    Traceback (most recent call last):
    ValueError: x must be finite, got inf in column 'amount': impute it, or drop the round.
    """
    kind = type(value)
    if kind is float or kind is int:
        return _number(name, value)
    if value is None or kind.__name__ in _NOTHING:
        return None
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (dt.date, np.datetime64)):
        return _time(name, value)
    if isinstance(value, (Number, Rational)) and not isinstance(value, (complex, np.timedelta64)):
        return _number(name, value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return plain(name, value.item() if value.dtype.kind != "M" else value[()])
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return _tokens(name, value)
    return _refuse(name, value)


def is_plain(cell: Any) -> bool:
    """Whether a cell from a file is one that `plain` makes."""
    if isinstance(cell, float):
        return math.isfinite(cell)
    if isinstance(cell, tuple):
        return all(type(token) is str for token in cell)
    return cell is None or type(cell) in (bool, str) or isinstance(cell, np.datetime64)


def as_number(text: str) -> float | None:
    """The number that a text is; None where it is none, and for codes such as 007.

    >>> as_number("2.5e3"), as_number("007"), as_number("nan"), as_number("1_000")
    (2500.0, None, None, None)
    """
    text = text.strip()
    if not text or text[-1] not in "0123456789." or not _NUMBER.fullmatch(text):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def as_time(text: str) -> np.datetime64 | None:
    """The time that a text in the form of ISO 8601 is.

    >>> as_time("2024-02-29 12:30"), as_time("2023-02-29"), as_time("next week")
    (np.datetime64('2024-02-29T12:30:00.000000'), None, None)
    """
    text = text.strip()
    if not _ISO.fullmatch(text):
        return None
    try:
        return _wall_clock(dt.datetime.fromisoformat(text))
    except ValueError:
        return None


def _number(name: Any, value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return float(_refuse(name, value))
    if number != number:
        return None
    if math.isinf(number):
        raise ValueError(f"x must be finite, got {number} in column {name!r}: impute it, or drop the round.")
    return number


def _text(name: Any, value: str) -> str | None:
    if len(value) > LONGEST:
        raise ValueError(
            f"column {name!r} must have texts of at most {LONGEST:,} characters, got one of {len(value):,}: cut it, "
            "or leave the column out."
        )
    return str(value) if value and not value.isspace() else None


def _time(name: Any, value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return _wall_clock(value)
    if isinstance(value, dt.date):
        return np.datetime64(value, "us")
    if np.isnat(value):
        return None
    year = int(value.astype("datetime64[Y]").astype(int)) + 1970
    if not YEARS[0] <= year <= YEARS[1]:
        raise ValueError(
            f"column {name!r} must have times in the years {YEARS[0]} to {YEARS[1]}, got {value!s:.40}: drop it."
        )
    return value.astype("datetime64[us]")


def _wall_clock(value: dt.datetime) -> np.datetime64:
    """A time as the clocks show it where it was taken."""
    return np.datetime64(value.replace(tzinfo=None, fold=0).isoformat(), "us")


def _tokens(name: Any, value: Any) -> tuple[str, ...]:
    if len(value) > LONGEST:
        raise ValueError(f"column {name!r} must have lists of at most {LONGEST:,} tokens, got one of {len(value):,}.")
    tokens = value.tolist() if isinstance(value, np.ndarray) else list(value)
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        _refuse(name, value)
    if isinstance(value, (set, frozenset)):
        tokens = sorted(tokens)
    return tuple(str(token) for token in tokens)


def _refuse(name: Any, value: Any) -> Any:
    raise ValueError(
        f"column {name!r} must have numbers, booleans, texts, times or lists of texts, got {shorten(value)}: "
        "convert it, or leave the column out."
    )

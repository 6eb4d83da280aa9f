"""Rows as users write them as arrays of numbers, or an error that names what is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.requirements import shorten
from oskaar.schema.cells import plain as plain_cell
from oskaar.schema.tables import is_frame, of_frame

_NOT_NUMBERS = (str, bytes, bytearray, complex, np.complexfloating, np.datetime64, np.timedelta64)
"""What float() may make a number of, and is none."""


def as_rounds(xs: Any) -> list[Any]:
    """A list of inputs, one for each round."""
    if is_frame(xs):
        return list(of_frame(xs).records())
    rows = sliceable(xs)
    return [rows[[i], :] for i in range(rows.shape[0])] if hasattr(rows, "tocsr") else list(rows)


def one_row(x: Any) -> Any:
    """A container of one row, out of a row in any form."""
    require_unmasked(x)
    return sparse_row(x) if hasattr(x, "tocsr") else [x]


def sparse_row(x: Any) -> Any:
    """One row as a CSR array."""
    from scipy.sparse import csr_array

    if hasattr(x, "tocsr") and x.ndim == 2:
        if x.shape[0] != 1:
            raise ValueError(f"a sparse x must be one row, got {x.shape[0]}: pass x[i:i+1].")
        return csr_array(x)
    return csr_array(x.toarray()[None, :] if hasattr(x, "toarray") else matrix_of([x]))


def sliceable(xs: Any) -> Any:
    """Many rows in a container of which parts can be taken."""
    if hasattr(xs, "tocsr"):
        return xs.tocsr()
    if isinstance(xs, np.ndarray):
        require_unmasked(xs)
        return xs
    if isinstance(xs, list):
        for x in xs:
            require_unmasked(x)
        return xs
    if hasattr(xs, "to_numpy"):  # a data frame
        return xs.to_numpy()
    if isinstance(xs, Iterable) and not isinstance(xs, (str, bytes, dict)):
        return sliceable(list(xs))
    hint = ": collect() it first" if hasattr(xs, "collect") else ": a frame, or a list of rows" * isinstance(xs, dict)
    raise TypeError(f"xs must be a sequence of rows, got {type(xs).__name__}{hint}.")


def length(xs: Any) -> int:
    """How many rows there are."""
    return int(xs.shape[0]) if hasattr(xs, "tocsr") else len(xs)


def joined_rounds(blocks: list[Any]) -> Any:
    """The rows of several rounds."""
    if blocks and all(hasattr(b, "tocsr") for b in blocks):
        from scipy.sparse import vstack

        return vstack(blocks).tocsr()
    dense = all(isinstance(b, np.ndarray) and b.ndim == 2 for b in blocks)
    if blocks and dense and len({b.shape[1] for b in blocks}) == 1:
        return np.concatenate(blocks)
    return [row for b in blocks for row in (b.tocsr() if hasattr(b, "tocsr") else b)]


def _complex(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") == "c"


def not_numbers(x: Any) -> bool:
    """Whether x is no row of numbers."""
    try:
        return isinstance(x, (str, bytes)) or _complex(x) or _floats(np.asarray(x)).ndim != 1
    except (TypeError, ValueError, OverflowError):
        return True


def matrix_of(xs: Any, width: int | None = None, gaps: bool = False) -> Array:
    """An (n, width) array of finite numbers; gaps: or of NaN, which None and the like are too."""
    require_real(xs)
    try:
        rows = _floats(np.array(xs, order="C"), gaps)
    except (TypeError, ValueError, OverflowError) as error:
        if len(xs) > 1:  # find the row to blame
            return np.concatenate([matrix_of([x], width, gaps) for x in xs])
        raise ValueError(
            f"x must be a row of numbers, got {shorten(xs[0])}: "
            "a kernel on objects (kernels.Pairwise) takes anything, dict rows take text."
        ) from error
    if rows.ndim != 2:
        raise ValueError(f"x must be a row of numbers, got an array of {rows.ndim - 1} dimensions.")
    if width is not None and rows.shape[1] != width:
        raise ValueError(
            f"x must have {width} features, as the first row had, got {rows.shape[1]}: "
            "give every row the same features, or use dict rows."
        )
    bad = np.isinf(rows) if gaps else ~np.isfinite(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        at = f"feature {j}" + (f" of row {i}" if len(rows) > 1 else "")
        raise ValueError(f"x must be finite, got {rows[i, j]} in {at}: impute NaN and inf, or drop the round.")
    return rows


def _floats(rows: Any, gaps: bool = False) -> Array:
    """An array as float64; neither text that looks like numbers nor dates are numbers."""
    if gaps and rows.dtype.kind in "OU":
        cells = [np.nan if plain_cell(j, v) is None else v for j, v in enumerate(rows.ravel().tolist())]
        rows = np.array(cells, dtype=object).reshape(rows.shape) if None not in cells else rows
    if rows.dtype.kind == "O":
        wrong = next((v for v in rows.flat if isinstance(v, _NOT_NUMBERS)), None)
    else:
        wrong = None if rows.dtype.kind in "biuf" else rows.dtype
    if wrong is not None:
        raise TypeError(f"{wrong!r} is not a number")
    with np.errstate(over="ignore"):  # what is too large for float64 is inf, and is refused
        floats: Array = rows.astype(np.float64, copy=False)
    return floats


def feature_of(key: Any, value: Any) -> tuple[Any, float]:
    """The name and the number of a feature: text v of k is 1 in k=v, as scikit-learn's DictVectorizer has it."""
    if not isinstance(key, str):
        key = key.item() if isinstance(key, np.generic) else key
        if key != key:
            raise ValueError("the name of a feature must be equal to itself, got nan.")
    if isinstance(value, str):
        return (f"{key}={value}" if isinstance(key, str) else (key, "=", str(value))), 1.0
    try:
        number = float(value) if type(value) in (float, int, bool, np.float64) else _number(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"feature {key!r} must be a number or a text, got {shorten(value)}.") from error
    if not math.isfinite(number):
        raise ValueError(f"x must be finite, got {number} in feature {key!r}: impute NaN and inf, or drop the round.")
    return key, number


def _number(value: Any) -> float:
    """One number as float64."""
    if isinstance(value, _NOT_NUMBERS) or value is np.ma.masked or np.ndim(value):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def require_different(columns: list[int], names: dict[Any, int]) -> None:
    """No two features of a row in one column."""
    if len(set(columns)) < len(columns):
        twice = next(name for name, column in names.items() if columns.count(column) > 1)
        raise ValueError(f"x has two features that are named {twice!r}: rename one of them.")


def require_unmasked(x: Any) -> None:
    """No masked values: NumPy would take what is under the mask."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError("x must be complete, got masked values: impute them, or drop the round.")


def require_real(xs: Any) -> None:
    """No complex rows: NumPy would drop their imaginary parts."""
    for rows in (xs, *xs) if isinstance(xs, list) else (xs,):
        if _complex(rows):
            raise ValueError(
                f"x must be real, got {rows.dtype}. Complex data not supported: give both parts as features."
            )


def require_finite(data: Array, where: Callable[[int], str]) -> None:
    """No NaN and no inf; where: what to call a place."""
    if not np.isfinite(data).all():
        i = int(np.flatnonzero(~np.isfinite(data))[0])
        raise ValueError(f"x must be finite, got {data[i]} in {where(i)}: impute NaN and inf, or drop the round.")

r"""Strings and series: distances to use with `LossTrick`, and neighbours to propose as answers.

    >>> from oskaar import OSKAAR, losses
    >>> spelling = losses.LossTrick(losses.normalised_edit_distance, candidates=losses.edits("abc"))
    >>> learner = OSKAAR(spelling, lam=0.1)
    >>> for x, y in [([0.0], "abab"), ([1.0], "cc"), ([0.1], "abaa"), ([0.2], "abcb")]:
    ...     learner.learn_one(x, y)
    >>> learner.predict_one([0.9])
    'cc'

Series are arrays, of numbers or of points; labels need not have one length.

    >>> tides = OSKAAR(losses.LossTrick(losses.normalised_dtw), lam=0.1)
    >>> for x, y in [([0.0], [0.0, 1.0, 0.0]), ([1.0], [3.0, 3.0]), ([0.1], [0.0, 0.0, 1.0, 0.0])]:
    ...     tides.learn_one(x, y)
    >>> tides.predict_one([0.05])
    [0.0, 1.0, 0.0]

LossTrick keeps Delta for every candidate and every distinct label: a word of n letters has about 2 n times as
many neighbours as the alphabet has letters, so propose them for short words or small alphabets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.requirements import numbers_of
from oskaar.saved import saved


@saved("function/edit-distance")
def edit_distance(z: Sequence[Hashable], y: Sequence[Hashable]) -> int:
    """Levenshtein's distance: the fewest insertions, deletions and substitutions that turn z into y.

    For strings and for tuples of symbols. rapidfuzz does it where it is installed (`pip install oskaar[strings]`);
    otherwise Myers's algorithm in Hyyro's form, a column of the table in two whole numbers of |z| bits.

    >>> edit_distance("kitten", "sitting"), edit_distance((1, 2, 3), (2, 3))
    (3, 1)
    """
    for word in (z, y):
        if not isinstance(word, (str, bytes, tuple, list)):
            raise TypeError(f"edit_distance compares strings or tuples of symbols, got {word!r}.")
    return int(_levenshtein()(z, y))


@saved("function/normalised-edit-distance")
def normalised_edit_distance(z: Sequence[Hashable], y: Sequence[Hashable]) -> float:
    """The edit distance over the length of the longer one: 0 for equal ones, 1 at worst.

    >>> normalised_edit_distance("abcd", "abd"), normalised_edit_distance("", "")
    (0.25, 0.0)
    """
    return edit_distance(z, y) / max(len(z), len(y), 1)


def edits(alphabet: Iterable[Hashable]) -> Callable[[Any], list[Any]]:
    """A proposer of candidates for LossTrick: a label and all that is one edit away from it.

    For strings, and for tuples of symbols; the label itself comes first, and nothing comes twice.

    >>> edits("ab")("a")
    ['a', '', 'b', 'aa', 'ba', 'ab']
    >>> edits([0, 1])((1,))
    [(1,), (), (0,), (0, 1), (1, 1), (1, 0)]
    """
    symbols = tuple(dict.fromkeys(alphabet))
    if not symbols:
        raise ValueError("alphabet must have at least one symbol, got none.")
    return partial(_one_edit_away, symbols)


@saved("function/dtw")
def dtw(z: Any, y: Any) -> float:
    """Dynamic time warping: the least sum of |z_i - y_j| over paths that pair all of z with all of y in order.

        D_ij = |z_i - y_j| + min(D_i-1,j, D_i,j-1, D_i-1,j-1)

    z, y: series of numbers (n,), or of points (n, d) with Euclidean distances; at least one value each. The
    entries on an anti-diagonal i + j depend on the two before it alone, so each is one step in NumPy.

    >>> dtw([0, 1, 2], [0, 0, 1, 2, 2]), dtw([0.0, 1.0], [0.5])
    (0.0, 1.0)
    """
    A, B = _series(z), _series(y)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"series must have points of one size, got {A.shape[1]} and {B.shape[1]} numbers.")
    if len(A) > len(B):
        A, B = B, A
    n, m = len(A), len(B)
    costs = np.sqrt(((A[:, None, :] - B) ** 2).sum(axis=2)) if A.shape[1] > 1 else np.abs(A - B[:, 0])
    before = last = np.full(n + 1, np.inf)  # D on two anti-diagonals, by i + 1; the first place is the border
    for t in range(n + m - 1):
        lo, hi = max(0, t - m + 1), min(n, t + 1)
        i = np.arange(lo, hi)
        now = np.full(n + 1, np.inf)
        least = np.minimum(np.minimum(last[lo:hi], last[lo + 1 : hi + 1]), before[lo:hi])
        now[lo + 1 : hi + 1] = costs[i, t - i] + (least if t else 0.0)
        before, last = last, now
    return float(last[n])


@saved("function/normalised-dtw")
def normalised_dtw(z: Any, y: Any) -> float:
    """`dtw` over the length of the longer series, the fewest pairs that a path can have.

    >>> normalised_dtw([0.0, 0.0], [1.0, 1.0])
    1.0
    """
    return dtw(z, y) / max(len(z), len(y))


@cache
def _levenshtein() -> Callable[[Any, Any], int]:
    """The edit distance of rapidfuzz, or the one below where it is missing."""
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        return _bit_parallel

    def distance(z: Any, y: Any) -> int:
        if not (isinstance(z, str) and isinstance(y, str)):
            # rapidfuzz takes symbols with one hash for equal, as "a" and 97 or 0 and 2^61 - 1
            codes: dict[Any, int] = {}
            z, y = ([codes.setdefault(symbol, len(codes)) for symbol in word] for word in (z, y))
        return int(Levenshtein.distance(z, y))

    return distance


def _bit_parallel(z: Any, y: Any) -> int:
    """A column of the table as bits: where it rises (vp) and where it falls (vn) by one."""
    n = len(z)
    if n == 0:
        return len(y)
    places: dict[Any, int] = {}
    for i, symbol in enumerate(z):
        places[symbol] = places.get(symbol, 0) | 1 << i
    ones, last = (1 << n) - 1, 1 << (n - 1)
    vp, vn, distance = ones, 0, n
    for symbol in y:
        same = places.get(symbol, 0)
        d0 = ((((same & vp) + vp) ^ vp) | same | vn) & ones
        hp, hn = vn | (ones & ~(d0 | vp)), d0 & vp
        distance += bool(hp & last) - bool(hn & last)
        hp, hn = (hp << 1 | 1) & ones, hn << 1 & ones
        vp, vn = hn | (ones & ~(d0 | hp)), hp & d0
    return distance


@saved("function/one-edit-away")
def _one_edit_away(symbols: tuple[Any, ...], y: Any) -> list[Any]:
    if not isinstance(y, (str, tuple)):
        raise ValueError(f"edits are made of strings and tuples of symbols, got {y!r}: use tuple(y).")
    word: Any = y
    parts: list[Any] = [(s,) for s in symbols] if isinstance(y, tuple) else [str(s) for s in symbols]
    removed = [word[:i] + word[i + 1 :] for i in range(len(word))]
    replaced = [word[:i] + part + word[i + 1 :] for i in range(len(word)) for part in parts]
    inserted = [word[:i] + part + word[i:] for i in range(len(word) + 1) for part in parts]
    return list(dict.fromkeys([word, *removed, *replaced, *inserted]))


def _series(values: Any) -> Array:
    """A series as rows of points."""
    rows = numbers_of(values)
    if rows is None or rows.ndim not in (1, 2) or 0 in rows.shape or not np.isfinite(rows).all():
        raise ValueError(f"a series must be finite numbers (n,) or points (n, d), n >= 1, got {values!r}.")
    return rows if rows.ndim == 2 else rows[:, None]

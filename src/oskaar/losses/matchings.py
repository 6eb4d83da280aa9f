r"""Matchings: who goes with whom. A matching is a tuple, z[i] = the partner of i."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import permutations
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import Loss, Names, first_best, near
from oskaar.saved import saved


class PermutationLoss(Loss):
    """What losses on tuples that hold each of n things once share: how labels are written, and listed."""

    zero_optimum = True
    noun, thing, hint = "matching", "partner", ""
    """Words for messages."""

    def __init__(self, things: int | Iterable[Hashable]) -> None:
        if not isinstance(things, (int, np.integer, Iterable)):
            raise ValueError(f"{type(self).__name__} needs a whole number >= 1 or a list, got {things!r}.")
        self.things = Names(things, self.thing)
        self.n = len(self.things)
        self._plain = self.things.names == list(range(self.n))
        for name in self.things.names:
            if isinstance(name, AbstractSet):
                raise ValueError(f"a {self.thing} must not be a set, got {name!r}: sets are ties.")

    def check(self, y: Any) -> Any:
        """A tuple that holds each of the n once, out of any sequence."""
        if self._as_whole([y]) is not None and all(type(item) is int for item in y):
            return y
        items = self._sequence(y)
        places = [self._place(item) for item in items]
        self._require_each_once(places, y)
        return tuple(self.things.names[place] for place in places)

    def indices(self, ys: Sequence[Any]) -> Any:
        """Which of the n is at each place, (len(ys), n)."""
        if not len(ys):
            return np.zeros((0, self.n), dtype=int)
        Z = self._as_whole(ys)
        if Z is not None:
            return Z
        return np.array([[self.things.position(item) for item in PermutationLoss.check(self, y)] for y in ys])

    def _as_whole(self, ys: Sequence[Any]) -> Any:
        """Tuples that hold each of 0..n-1 once as one array, without looking at each number; None for all others."""
        if not self._plain or not all(type(y) is tuple and len(y) == self.n for y in ys):
            return None
        try:
            Z = np.array(ys)
        except (TypeError, ValueError, OverflowError):
            return None
        plain = Z.dtype.kind == "i" and Z.ndim == 2 and (np.sort(Z, axis=1) == np.arange(self.n)).all()
        return Z if plain else None

    def tuples(self, Z: Any) -> list[tuple[Any, ...]]:
        """Rows of indices as users write them."""
        return [tuple(row) for row in (Z if self._plain else self.things.array[Z]).tolist()]

    def outputs(self) -> Iterator[tuple[Any, ...]]:
        return permutations(self.things.names)

    def _sequence(self, y: Any) -> list[Any]:
        wanted = f"a {self.noun} must be a tuple of the {self.n} {self.thing}s"
        if isinstance(y, (str, bytes, AbstractSet, dict)) or not isinstance(y, Iterable):
            raise ValueError(f"{wanted}, got {y!r}.")
        if isinstance(y, np.ndarray) and y.ndim != 1:
            raise ValueError(f"{wanted}, got an array of shape {y.shape}.")
        return y.tolist() if isinstance(y, np.ndarray) else list(y)

    def _place(self, item: Any) -> int:
        try:
            return self.things.position(item)
        except ValueError as error:
            raise ValueError(f"{error}{self.hint}") from None

    def _require_each_once(self, places: list[int], y: Any) -> None:
        counts = np.bincount(places, minlength=self.n)
        for place in np.flatnonzero(counts != 1):
            wrong = "is missing from" if counts[place] == 0 else f"is there {counts[place]} times in"
            raise ValueError(
                f"a {self.noun} must hold each {self.thing} once: {self.thing} {self.things.names[place]!r} "
                f"{wrong} {y!r}.{self.hint}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n if self._plain else self.things.names})"


@saved("loss/matching")
class Matching(PermutationLoss):
    r"""The fraction of i with the wrong partner, sum_i w_i [z_i != y_i], where w sums to 1 and is 1/n by default.

        phi(y)_i = sqrt(w_i) (e_{y_i} - 1/n) / sqrt(1 - 1/n),    psi(z)_i = -sqrt(w_i) sqrt(1 - 1/n) (e_{z_i} - 1/n)

    since <psi(z), phi(y)> = sum_i w_i (1/n - [z_i = y_i]). All |psi(z)| are equal and psi averages to 0 over
    z, so that 0 is the best centre and c_delta = 1 - 1/n; the diameter is sqrt(2 - 2/n), for matchings that differ
    everywhere. Decoding is a linear assignment with the costs -sqrt(w_i) g_i, O(n^3), for any sign; of equal
    matchings the first in the dictionary wins, as before the first round.
    n is the number of partners, for 0..n-1, or a list of them; `weights` are costs of a mistake at each i, rescaled.

    >>> loss = Matching(3, weights=[2, 1, 1])
    >>> loss((0, 1, 2), (0, 2, 1)), loss((0, 1, 2), (1, 0, 2)), loss.decode(loss.embed((2, 0, 1)))
    (0.5, 0.75, (2, 0, 1))
    """

    def __init__(self, n: int | Iterable[Hashable], weights: Any = None) -> None:
        super().__init__(n)
        w = np.ones(self.n) if weights is None else np.array(weights, dtype=float)
        if w.shape != (self.n,) or not np.isfinite(w).all() or not (w > 0).all():
            raise ValueError(f"weights must be {self.n} finite numbers > 0, got {weights!r}.")
        self.weights: Array = w / w.sum()
        self.p = self.n**2
        self.c_delta = 1 - 1 / self.n
        self._codes = (np.eye(self.n) - 1 / self.n) / np.sqrt(max(1 - 1 / self.n, 0.5))
        self._equal = weights is None

    @property
    def diameter(self) -> float:
        return float(np.sqrt(2 - 2 / self.n))

    def loss(self, z: Any, y: Any) -> float:
        z, y = self.indices([z, y])
        return float((z != y).sum() / self.n if self._equal else self.weights[z != y].sum())

    def embed_many(self, ys: Sequence[Any]) -> Array:
        Phi = self._codes[self.indices(ys)] * np.sqrt(self.weights)[:, None]
        return np.asarray(Phi.reshape(len(ys), self.p))

    def decode_many(self, G: Array) -> list[tuple[Any, ...]]:
        costs = -np.sqrt(self.weights)[:, None] * np.reshape(G, (len(G), self.n, self.n))
        return self.tuples(assigned(costs, near(G)))


def assigned(costs: Array, slack: Array) -> Any:
    """For each of many (n, n) tables of costs, of any sign, the columns of the cheapest assignment.

    Of those that are equal, up to `slack` (m, 1) for each row, the first in the dictionary. Where the first cheapest
    columns of the rows are all different they are that one, for many tables at once.

    >>> assigned(np.array([[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]]), np.array([[1e-10]]))
    array([[0, 1, 2]])
    """
    m, n = costs.shape[:2]
    found = first_best(-costs.reshape(m * n, n), np.repeat(slack, n, axis=0)).reshape(m, n)
    for i in np.flatnonzero((np.sort(found, axis=1) != np.arange(n)).any(axis=1)):
        found[i] = _first_assignment(costs[i], float(slack[i, 0]))
    return found


def _first_assignment(costs: Array, slack: float) -> Any:
    """The first of the cheapest assignments, out of one of them.

    Row i would take the column of row j at a loss of E_ij. The assignment is the cheapest, so that no cycle of these
    gains, and shortest ways u through them exist: all E_ij + u_i - u_j >= 0. The cheapest assignments are those
    that use only pairs where this is 0 (complementary slackness).
    """
    from scipy.optimize import linear_sum_assignment

    n = len(costs)
    columns = linear_sum_assignment(costs)[1]
    E = costs[:, columns] - costs[np.arange(n), columns][:, None]
    u = np.zeros(n)
    for _ in range(n):  # Bellman and Ford
        shorter = np.minimum(u, (E + u[:, None]).min(axis=0))
        if (u - shorter).max() <= slack / n:
            break
        u = shorter
    tight = np.empty((n, n), dtype=bool)
    tight[:, columns] = E + u[:, None] - u <= 2 * slack
    return first_matching(tight, columns.tolist()) if tight.sum() > n else columns


def first_matching(allowed: Any, columns: list[int]) -> list[int]:
    """The first in the dictionary of the perfect matchings of rows and columns, where `columns` is one of them.

    >>> first_matching(np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=bool), [1, 0, 2])
    [0, 2, 1]
    """
    choices = [np.flatnonzero(row).tolist() for row in allowed]
    columns, rows = list(columns), [0] * len(columns)
    for row, column in enumerate(columns):
        rows[column] = row
    for first in range(len(columns)):
        for wanted in choices[first]:
            if wanted >= columns[first]:
                break
            ways = _way(choices, rows, first, rows[wanted], columns[first])
            if ways is not None:
                for row, column in [(first, wanted), *ways]:
                    columns[row], rows[column] = column, row
                break
    return columns


def _way(
    choices: list[list[int]], rows: list[int], first: int, start: int, free: int
) -> list[tuple[int, int]] | None:
    """New columns for row `start` and those that it drives out, down to the column `free`; rows to `first` stay."""
    if start <= first:
        return None
    came: dict[int, tuple[int, int]] = {}  # row: (the row that drove it out, the column that this one took)
    todo, seen = [start], {start}
    while todo:
        row = todo.pop()
        for column in choices[row]:
            if column == free:
                way = [(row, column)]
                while row != start:
                    row, column = came[row]
                    way.append((row, column))
                return way
            after = rows[column]
            if after > first and after not in seen:
                seen.add(after)
                came[after] = (row, column)
                todo.append(after)
    return None

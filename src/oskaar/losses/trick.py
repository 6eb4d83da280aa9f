r"""The loss trick: any Python function Delta(z, y), with no embedding at hand.

For labels y_1, ..., y_n seen so far, phi(y_j) = e_j and psi(z) = (Delta(z, y_1), ..., Delta(z, y_n)): an
estimate g is a vector of signed weights on the labels, and the answer is argmin_z sum_j g_j Delta(z, y_j)
over the candidates. Cost follows the number of distinct labels, not the number of rounds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from oskaar.arrays import Array, Sheet
from oskaar.losses.base import (
    GrowingSpace,
    SeenLoss,
    Space,
    enclosing_radius,
    first_best,
    near,
    require_hashable,
    widest,
)
from oskaar.saved import saved
from oskaar.threads import one_thread

Delta = Callable[[Any, Any], float]

_PAIRS = 512
"""Up to so many candidates all pairs are tried for the diameter; above that it is 2 c_delta."""


@saved("loss/trick")
class LossTrick(SeenLoss):
    r"""Any function Delta(z, y) on any structures.

    candidates: the answers to choose from. A list (or any iterable) is taken as given; a function of no
        argument is called once for it; a function of a label, `candidates(y)`, proposes answers whenever a new
        label appears (its neighbours, say); None means the labels seen so far.
    label_kernel: a positive semidefinite function of two labels, at most 1 for a label and itself. It gives
        phi its geometry, <phi(y), phi(y')> = label_kernel(y, y'), which matters to surrogate losses and to
        mixtures and leaves OSKAAR's answers as they are. None means distinct labels are orthogonal.
    unknown: what it costs to answer None, the answer while there is no candidate yet.

    Labels may be anything hashable, arrays and lists (equal content is an equal label).
    Decoding tries every candidate: exact for any sign; the first of equals wins.

    >>> loss = LossTrick(lambda z, y: abs(len(z) - len(y)))
    >>> space = loss.space().extended("a").extended("abc").extended("ab")
    >>> space.decode_many(np.array([[1.0, 1.0, 0.5], [2.0, -1.0, 0.0]]))
    ['ab', 'a']
    """

    c_delta = np.inf

    def __init__(
        self,
        delta: Delta,
        candidates: Iterable[Any] | Callable[..., Iterable[Any]] | None = None,
        label_kernel: Callable[[Any, Any], float] | None = None,
        unknown: float = 1.0,
    ) -> None:
        if not callable(delta):
            raise TypeError(f"delta must be a function of (z, y), got {delta!r}.")
        self.delta = delta
        self.label_kernel = label_kernel
        self.unknown = float(unknown)
        self.propose: Callable[[Any], Iterable[Any]] | None = None
        self.candidates: list[Any] | None = None
        if candidates is None:
            self.propose = _itself
        elif callable(candidates) and _takes_a_label(candidates):
            self.propose = candidates
        else:
            self.candidates = list(candidates() if callable(candidates) else candidates)
            if not self.candidates:
                raise ValueError("candidates must not be empty: there would be nothing to answer.")

    def loss(self, z: Any, y: Any) -> float:
        """Delta(z, y), and `unknown` for z = None."""
        if z is None:
            return self.unknown
        value = float(self.delta(z, y))
        if not np.isfinite(value):
            raise ValueError(f"delta must be finite, got {value} for z = {z!r}, y = {y!r}.")
        return value

    def optimum(self, y: Any) -> float:
        """The least Delta(z, y) over the candidates, those that y proposes included."""
        pool = self.candidates if self.propose is None else list(self.propose(y))
        return min(self.loss(z, y) for z in pool or [None])

    def check(self, y: Any) -> Any:
        label_key(y)
        return y

    def outputs(self) -> list[Any]:
        return super().outputs() if self.candidates is None else list(self.candidates)  # type: ignore[return-value]

    def space(self) -> Space:
        pool = self.candidates or []
        return SeenLabels(self, {}, [], pool, {}, Sheet(np.zeros((len(pool), 0))), Sheet(np.zeros((0, 0))))

    def __repr__(self) -> str:
        return f"LossTrick({getattr(self.delta, '__name__', self.delta)!s})"


@saved("space/labels")
class SeenLabels(GrowingSpace):
    """Weights on the distinct labels seen, the pool of candidates, and Delta between them."""

    exact = False

    def __init__(
        self,
        loss: LossTrick,
        positions: dict[Any, int],
        labels: list[Any],
        pool: list[Any],
        pooled: dict[Any, int],
        costs: Sheet,
        gram: Sheet,
    ) -> None:
        self.loss, self.positions, self.labels = loss, positions, labels
        self.pool, self.pooled = pool, pooled
        self._costs, self._gram = costs, gram
        self.p = len(labels)

    @property
    def costs(self) -> Array:
        return self._costs.view

    @property
    def gram(self) -> Array:
        """The label kernel (labels, labels), empty without one."""
        return self._gram.view

    @property
    def c_delta(self) -> float:  # type: ignore[override]
        """The radius of a ball that holds every psi(z): about the middle of each coordinate, or a smaller one."""
        Psi = self._psi()
        if Psi is None:
            return np.inf
        if not Psi.size:
            return 0.0
        off = Psi - (Psi.max(axis=0) + Psi.min(axis=0)) / 2
        return min(float(np.sqrt(np.einsum("zy,zy->z", off, off).max())), enclosing_radius(Psi, iterations=30))

    @property
    def diameter(self) -> float:
        """max |psi(z) - psi(z')| over the candidates; None, which is none of them, is charged by `gap`."""
        Psi = self._psi() if len(self.pool) <= _PAIRS else None
        return 2 * self.c_delta if Psi is None else widest(Psi)

    def _psi(self) -> Array | None:
        """psi(z) of the candidates, less their mean, in orthonormal coordinates (candidates, r).

        None where psi is not there: the label kernel cannot tell labels that differences of Delta do. What all
        candidates have in common is in none of these differences, so the kernel need not tell it.
        """
        Psi = self.costs - (self.costs.mean(axis=0) if self.costs.size else 0.0)
        if self.loss.label_kernel is None or not Psi.size:
            return Psi
        values, vectors = np.linalg.eigh(self.gram)
        seen = values > 1e-10 * values.max()
        along = Psi @ vectors
        if np.abs(along[:, ~seen]).max(initial=0.0) > 1e-6 * np.abs(Psi).max():
            return None
        return np.asarray(along[:, seen] / np.sqrt(values[seen]))

    def key(self, y: Any) -> Any:
        return label_key(y)

    def seen(self) -> list[Any]:
        return self.labels

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        """With the candidates that y proposes."""
        pool, pooled = self.pool, self.pooled
        if self.loss.propose is not None:
            fresh = {label_key(z): z for z in self.loss.propose(y)}
            fresh = {k: z for k, z in fresh.items() if k not in pooled}
            pooled = {**pooled, **{k: len(pool) + i for i, k in enumerate(fresh)}}
            pool = [*pool, *fresh.values()]
        old, new = len(self.pool), pool[len(self.pool) :]
        column = [self.loss.loss(z, y) for z in pool]
        rows = [[self.loss.loss(z, v) for v in self.labels] for z in new]
        gram = self._gram_with(y)
        costs = self._costs.extended(len(pool), self.p + 1)
        costs.view[old:, :-1] = np.array(rows).reshape(len(new), self.p)
        costs.view[:, -1] = column
        return SeenLabels(self.loss, positions, [*self.labels, y], pool, pooled, costs, gram)

    @one_thread
    def decode_many(self, G: Array) -> list[Any]:
        if not self.pool:
            return [None] * len(G)
        return [
            self.pool[i] for i in first_best(-G @ self.costs.T, near(G, float(np.abs(self.costs).max(initial=0.0))))
        ]

    def optimum(self, y: Any) -> float:
        column = self.costs[:, self.positions[label_key(y)]]
        return float(column.min()) if column.size else self.loss.unknown

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """What the best candidate for y, which may have come after z was answered, is better by for the weights g.

        Without a label kernel a label y of weight 0 is covered: phi(y) is orthogonal to g, hence |phi| <= |phi - g|.
        """
        if self.loss.propose is None:
            return 0.0  # all candidates were there
        if z is None:
            return np.inf  # no candidate
        place = self.positions[label_key(y)]
        if self.loss.label_kernel is None and not g[place : place + 1].any():
            return 0.0
        both = [self.pooled[label_key(z)], int(np.argmin(self.costs[:, place]))]
        risks = self.costs[both, : len(g)] @ g
        return max(0.0, float(risks[0] - risks[1]))

    def squared_norms(self, V: Array) -> Array:
        if self.loss.label_kernel is None:
            return super().squared_norms(V)
        norms: Array = np.einsum("...p,...p->...", V @ self.gram, V)
        return np.maximum(norms, 0.0)

    def _gram_with(self, y: Any) -> Sheet:
        kernel = self.loss.label_kernel
        if kernel is None:
            return self._gram
        values = np.array([float(kernel(v, y)) for v in (*self.labels, y)])
        if not np.isfinite(values).all() or not 0 <= values[-1] <= 1 + 1e-12:
            raise ValueError(
                f"label_kernel must be finite, with 0 <= k(y, y) <= 1, got {values[-1]} for y = {y!r}: "
                "divide it by its largest value."
            )
        gram = self._gram.extended(self.p + 1, self.p + 1)
        gram.view[-1, :] = gram.view[:, -1] = values
        return gram


def label_key(y: Any) -> Any:
    """A hashable that is equal for equal labels; arrays and lists are equal by content."""
    if isinstance(y, np.ndarray):
        if y.dtype.kind == "f" and np.isnan(y).any():
            raise ValueError(f"a label must not hold NaN, got {y!r}.")
        return ("array", y.shape, y.dtype.str, y.tobytes())
    if isinstance(y, (list, tuple)):
        return (type(y).__name__, *map(label_key, y))
    if isinstance(y, dict):
        return ("dict", *sorted(((repr(k), label_key(v)) for k, v in y.items())))
    if isinstance(y, set):
        return frozenset(y)
    return require_hashable(y, "label")


@saved("function/itself")
def _itself(y: Any) -> tuple[Any]:
    return (y,)


def _takes_a_label(function: Callable[..., Any]) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError, OverflowError):
        return True

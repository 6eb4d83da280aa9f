r"""One answer out of a finite set: classes, and any table of costs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import (
    GrowingSpace,
    Loss,
    Names,
    Space,
    best_names,
    enclosing_radius,
    first_best,
    near,
    one_hot,
    require_hashable,
    widest,
)
from oskaar.losses.certainty import Marginals, exclusive
from oskaar.saved import saved
from oskaar.threads import one_thread

_PAIRS = 1000
"""Up to so many outputs all pairs are tried for the diameter."""


@saved("loss/zero-one")
class ZeroOne(Loss):
    r"""0 for the right class, 1 for any other.

        phi(y) = (e_y - 1/k) / sqrt(1 - 1/k),   psi(z) = -sqrt(1 - 1/k) (e_z - 1/k),   c_delta = 1 - 1/k

    since <psi(z), phi(y)> = 1/k - [z = y], and |e_z - e_z'|^2 = 2 makes the diameter sqrt(2 - 2/k). Decoding takes
    the largest coordinate (the first of equals), which is exact for any sign. `classes` is a list, or a number k for
    0..k-1, or None: then classes are added as they appear, phi(y) = e_y, psi(z) = -e_z, c_delta = 1, the diameter is
    sqrt(2), and None, psi = 0, is the answer before the first of them. That decoding knows no class y that is new to
    g costs nothing: then phi(y) is orthogonal to g, so that <psi(z) - psi(y), phi(y)> <= |psi(z) - psi(y)| |phi(y) -
    g|.

    >>> loss = ZeroOne(["cat", "dog"])
    >>> loss("cat", "dog"), loss.decode(loss.embed("dog"))
    (1.0, 'dog')
    """

    zero_optimum = True

    def __init__(self, classes: int | Iterable[Hashable] | None = None) -> None:
        self.classes = None if classes is None else Names(classes, "class")
        k = len(self.classes) if self.classes else 0
        self.p = k
        self.c_delta = 1 - 1 / k if k else 1.0

    @property
    def diameter(self) -> float:
        return math.sqrt(2 - 2 / self.p) if self.p else math.sqrt(2)

    def loss(self, z: Any, y: Any) -> float:
        return float(z != y)

    def check(self, y: Any) -> Any:
        """A listed class, or anything hashable where none are listed."""
        if self.classes is not None:
            return self.classes.check(y)
        return require_hashable(y, "class")

    def embed_many(self, ys: Sequence[Any]) -> Array:
        position, k = self._listed().position, self.p
        root = math.sqrt(1 - 1 / k) if k > 1 else 1.0
        return one_hot([position(y) for y in ys], k, (1 - 1 / k) / root, -1 / k / root)

    def decode_many(self, G: Array) -> list[Any]:
        return best_names(self._listed().names, G)

    def outputs(self) -> list[Any]:
        return list(self._listed().names)

    def probabilities(self, G: Array) -> Marginals:
        k = self.p
        return exclusive(self._listed().names, G * math.sqrt(1 - 1 / k) + 1 / k)

    def space(self) -> Space:
        return super().space() if self.classes is not None else SeenClasses({})

    def _listed(self) -> Names:
        if self.classes is None:
            raise ValueError("ZeroOne() learns its classes from the stream: list them to use it by itself.")
        return self.classes

    def __repr__(self) -> str:
        return f"ZeroOne({self.classes.names if self.classes else ''})"


@saved("space/classes")
class SeenClasses(GrowingSpace):
    """One coordinate for each class that has appeared."""

    c_delta = 1.0

    def __init__(self, positions: dict[Any, int]) -> None:
        self.positions = positions
        self.p = len(positions)

    @property
    def diameter(self) -> float:
        """|e_z - e_z'|, or |e_z| where there is one class: before it the answer was None, whose psi is 0."""
        return math.sqrt(min(self.p, 2))

    def _with(self, y: Any, positions: dict[Any, int]) -> Space:
        return SeenClasses(positions)

    def probabilities(self, G: Array) -> Marginals:
        return Marginals(list(self.positions), self.weights(G))

    def decode_many(self, G: Array) -> list[Any]:
        """The class of each row's largest coordinate, None when no class is known."""
        if self.p == 0:
            return [None] * len(G)
        return best_names(list(self.positions), G)


@saved("loss/cost-matrix")
class CostMatrix(Loss):
    r"""Any costs Delta(z, y) = costs[z, y], for finite outputs z and labels y, which need not be the same set.

    What does not depend on z is dropped: A = costs less a mean over z. Among the codes with |phi(y)| <= 1,

        phi(y) = (Q^1/2)_y,    psi(z) = A_z Q^-1/2,    Q the Gram matrix of the labels,

    Q is chosen to make c_delta = max_z |psi(z)| small. The smallest c_delta any code can have is the
    factorisation norm of A; a few reweighted singular value decompositions come close to it. The symmetric
    root makes phi a continuous function of the costs, whatever the machine's linear algebra does. The diameter is
    found by trying all pairs of up to 1000 outputs, and is 2 c_delta above that.
    Decoding is the argmin of psi g, exact for any sign; the first of equals wins.

    >>> loss = CostMatrix([[0, 10], [1, 0]], outputs=["treat", "wait"], labels=["ill", "well"])
    >>> loss("wait", "well"), loss.optimum("ill"), loss.decode(loss.embed("ill"))
    (0.0, 0.0, 'treat')
    """

    def __init__(
        self,
        costs: Any,
        outputs: int | Iterable[Hashable] | None = None,
        labels: int | Iterable[Hashable] | None = None,
    ) -> None:
        self.costs = np.array(costs, dtype=float)
        if self.costs.ndim != 2 or 0 in self.costs.shape:
            raise ValueError(f"costs must be a table of outputs by labels, got shape {self.costs.shape}.")
        if not np.isfinite(self.costs).all():
            raise ValueError("costs must be finite: use a large number for what is forbidden.")
        n_outputs, n_labels = self.costs.shape
        self._outputs = Names(n_outputs if outputs is None else outputs, "output")
        self._labels = Names(n_labels if labels is None else labels, "label")
        if (len(self._outputs), len(self._labels)) != self.costs.shape:
            raise ValueError(
                f"costs has shape {self.costs.shape}, for {len(self._outputs)} outputs and "
                f"{len(self._labels)} labels: one row an output, one column a label."
            )
        self.p = n_labels
        self._phi, self._psi = _codes(self.costs)
        self.c_delta = enclosing_radius(self._psi)

    @property
    def diameter(self) -> float:
        """max |psi(z) - psi(z')|."""
        return min(2 * self.c_delta, widest(self._psi)) if len(self._psi) <= _PAIRS else 2 * self.c_delta

    def loss(self, z: Any, y: Any) -> float:
        """The cost in the table."""
        return float(self.costs[self._outputs.position(z), self._labels.position(y)])

    def check(self, y: Any) -> Any:
        return self._labels.check(y)

    def embed_many(self, ys: Sequence[Any]) -> Array:
        """Rows of Q^1/2."""
        Phi: Array = self._phi[[self._labels.position(y) for y in ys]]
        return Phi

    @one_thread
    def decode_many(self, G: Array) -> list[Any]:
        return [self._outputs.names[i] for i in first_best(-G @ self._psi.T, near(G, float(np.abs(self._psi).max())))]

    def optimum(self, y: Any) -> float:
        """The smallest cost in the label's column."""
        return float(self.costs[:, self._labels.position(y)].min())

    def outputs(self) -> list[Any]:
        return list(self._outputs.names)

    def labels(self) -> list[Any]:
        return list(self._labels.names)

    def __repr__(self) -> str:
        return f"CostMatrix({len(self._outputs)} outputs, {len(self._labels)} labels)"


def _codes(costs: Array) -> tuple[Array, Array]:
    """phi (labels, p), psi (outputs, p): psi phi^T = costs - means over outputs, max |phi| = 1, max |psi| small."""
    if not np.ptp(costs, axis=0).any():
        return np.zeros((costs.shape[1],) * 2), np.zeros_like(costs)
    rows, columns = (np.full(n, 1 / n) for n in costs.shape)
    best = (np.inf, np.eye(costs.shape[1]), costs)
    for _ in range(100 if costs.size <= 40_000 else 3):
        A = costs - rows @ costs  # the weighted mean tends to the centre of the smallest ball
        U, s, Vt = np.linalg.svd(np.sqrt(rows)[:, None] * A * np.sqrt(columns), full_matrices=False)
        psi2 = (U**2 @ s) / rows
        phi = Vt.T * np.sqrt(s) / np.sqrt(columns)[:, None]
        phi2 = np.einsum("ij,ij->i", phi, phi)
        if psi2.max() * phi2.max() < best[0]:
            best = (psi2.max() * phi2.max(), phi @ phi.T / phi2.max(), A)
        rows, columns = _reweighted(rows, psi2), _reweighted(columns, phi2)
    values, vectors = np.linalg.eigh(best[1])
    roots = np.sqrt(np.maximum(values, 0))
    inverse = np.divide(1, roots, out=np.zeros_like(roots), where=roots > 1e-7 * roots.max())
    return (vectors * roots) @ vectors.T, best[2] @ ((vectors * inverse) @ vectors.T)


def _reweighted(weights: Array, squares: Array) -> Array:
    """More weight to the codes that are too long; never 0, so that none is lost."""
    weights = weights * squares + 1e-9 * (weights @ squares)
    normalised: Array = weights / weights.sum()
    return normalised

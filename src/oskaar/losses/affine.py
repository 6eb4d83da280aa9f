r"""Labels whose range or number is learned: coordinates that stay, and a scale that is replaced.

A loss on a known range of labels has |phi(y)| <= 1 because phi is divided by that range. When the range grows, phi
changes; but it is affine in what stays, coordinates u(y) with a constant u_0 = 1 and zeros for all that has not
appeared:

    phi_i(y) = scale_i u_{c(i)}(y) + offset_i u_0(y)                                                          (1)

Learners keep estimates of u, and new coordinates are zero columns, exactly. Estimates are linear in the labels: (1)
turns those of u into those of phi. Decoding, norms and distances are those of the loss whose range is known
(`closed`), applied to (1). A wider range replaces `closed`, scale and offset, and nothing else.

Each round is measured in the range known after its label: the mixture's weights are sums of such losses, each of at
most the same size, so that the proof of their regret stays. The theorem on KAAR's squared loss is for one phi:
certificates have no surrogate bound here. The best answer to a label outside the range was not to choose from before
it: `gap` adds what that may have cost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np

from oskaar.arrays import Array, fit_columns
from oskaar.losses.base import Loss, Space


class AffineSpace(Space):
    """Coordinates u, the loss that is closed on the labels so far, and (1) between them.

    closed: None before there is anything to choose from; then the answer is `default`.
    columns: c(i), the coordinate of u behind each one of phi; 0 with scale 0 where there is none yet.
    """

    exact = False
    steady = False
    default: Any = None

    def __init__(self, closed: Loss | None, p: int, columns: Any, scale: Array, offset: Array) -> None:
        self.closed, self.p = closed, p
        self.columns = np.asarray(columns, dtype=np.intp)
        self.scale, self.offset = scale, offset

    @abstractmethod
    def psi(self, z: Any) -> Array:
        """What an answer z is to phi, in the coordinates of `closed`."""

    @property
    def c_delta(self) -> float:  # type: ignore[override]
        return 0.0 if self.closed is None else self.closed.c_delta

    @property
    def diameter(self) -> float:
        return 0.0 if self.closed is None else self.closed.diameter

    def lifted(self, G: Array) -> Array:
        """(1): estimates of phi (..., q) out of those of u (..., p)."""
        H: Array = G[..., self.columns] * self.scale
        return H + G[..., :1] * self.offset if G.shape[-1] else H

    def decode_many(self, G: Array) -> list[Any]:
        if self.closed is None:
            return [copy(self.default) for _ in G]
        return self.closed.decode_many(self.lifted(G))

    def squared_norms(self, V: Array) -> Array:
        if self.closed is None:
            return np.zeros(V.shape[:-1])
        return super().squared_norms(self.lifted(V))

    def best(self, y: Any) -> Any:
        """The answer to y that costs least."""
        return y

    def gap(self, z: Any, y: Any, g: Array) -> float:
        """What the best answer to y, which may be a new one, is better by than z; inf where z was a default."""
        if not len(g):
            return np.inf
        h = self.lifted(fit_columns(g[None], self.p))[0]
        return max(0.0, float((self.psi(z) - self.psi(self.best(y))) @ h))


def constant_and(values: Sequence[Sequence[tuple[int, float]]], p: int) -> Array:
    """u (n, p): 1, and for each label some (coordinate, value).

    >>> constant_and([[], [(2, 0.5)]], 3)
    array([[1. , 0. , 0. ],
           [1. , 0. , 0.5]])
    """
    U = np.zeros((len(values), p))
    U[:, 0] = 1.0
    for row, found in zip(U, values, strict=True):
        for column, value in found:
            row[column] = value
    return U

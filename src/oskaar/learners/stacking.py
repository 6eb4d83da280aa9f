r"""Corrections by a regression on the experts' estimates (`learners.corrected`).

A mixture follows the best of its experts; some of them together may be better than each (stacked regression: Wolpert
1992, Breiman 1996). With d_e = g_e - g the difference between an expert and the estimate, and r = phi - g,

    c(x) = sum_e w_e d_e(x),     w = argmin sum_s k^(t-s) |r_s - sum_e w_e d_e,s|^2 + mu |w|^2               (1)

for some k; mu is a multiple of the mean of |r|^2, so that units of the loss do not matter. The restarts are one
expert, with the weights that they have among themselves. The sums (1) take no memory that grows.
Equivalent to tests/naive.py::Stacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar import state
from oskaar.arrays import Array, Rows, fit_columns, weighted_means
from oskaar.inputs import Block
from oskaar.learners.corrected import KEPT
from oskaar.learners.labels import Labels
from oskaar.learners.mixture import LEAST, PendingMixture
from oskaar.saved import saved

DISCOUNTS, SHRINKAGE = np.array([1.0, KEPT]), np.array([3.0, 10.0])
"""k of (1), and mu over the mean of |r|^2."""

ROUNDING = 1e-6
"""mu over the mean of |d_e|^2, at least: experts that agree to rounding are not distinguished."""


@saved("corrections/sums")
@dataclass(frozen=True)
class Sums:
    """For each k, the sums (C, 1 + K, 1 + K) of products of r and of each d_e, and of rounds (C,).

    A value; `after` makes the next. Before the first round there was one with |r| = 1.
    """

    products: Array
    rounds: Array

    @classmethod
    def of(cls, experts: int) -> Sums:
        """Before the first round."""
        products = np.zeros((len(DISCOUNTS), 1 + experts, 1 + experts))
        products[:, 0, 0] = 1.0
        return cls(products, np.ones(len(DISCOUNTS)))

    def after(self, products: Array) -> Sums:
        """After a round with these products (1 + K, 1 + K)."""
        return Sums(DISCOUNTS[:, None, None] * self.products + products, DISCOUNTS * self.rounds + 1.0)

    def among(self, places: list[int | None]) -> Sums:
        """Of experts that are at these places among these, or nowhere."""
        new = np.zeros((len(DISCOUNTS), 1 + len(places), 1 + len(places)))
        here = [0, *(i for i, place in enumerate(places, 1) if place is not None)]
        there = [0, *(1 + place for place in places if place is not None)]
        new[:, np.array(here)[:, None], here] = self.products[:, np.array(there)[:, None], there]
        return Sums(new, self.rounds)


def _weights(sums: list[Sums]) -> Array:
    """w of (1), (C, rounds, K), after each of some sums."""
    if len(sums) == 1:
        S, rounds = sums[0].products[None], sums[0].rounds[None]
    else:
        S, rounds = np.array([one.products for one in sums]), np.array([one.rounds for one in sums])
    A, b, K = S[..., 1:, 1:].copy(), S[..., 1:, :1], S.shape[-1] - 1
    diagonal = A.reshape(*A.shape[:2], -1)[..., :: K + 1]
    squares = np.add.reduce(diagonal, axis=2) / max(K, 1)
    mu = SHRINKAGE * S[..., 0, 0] / rounds + ROUNDING * squares + LEAST
    diagonal += mu[..., None]
    solved: Any = np.linalg.solve(A, b)
    return np.asarray(solved[..., 0], dtype=float).swapaxes(0, 1)


@dataclass
class PendingStack:
    """Rounds to come: differences (K, rows, p), corrections (C, rows, p), and the sums once labels are observed."""

    differences: Array
    corrections: Array
    sums: Sums | None = None


@saved("corrections/stacking")
class Stacking:
    """Corrections by regressions on the differences between experts and the estimate.

    names: of the experts of the mixture inside, the restarts first.
    """

    name, prior, count = "stacking", 0.0, len(DISCOUNTS)

    def __init__(self, names: list[str]) -> None:
        self.names, self.sums = names, Sums.of(len(names))

    @property
    def operations(self) -> int:
        """Those of the regressions."""
        return self.count * len(self.names) ** 3

    def growth(self, rows: int) -> int:
        """0: sums do not grow with the rounds."""
        return 0

    def forecast(self, block: Block, inner: Any) -> PendingStack:
        """Rows each of which may come next."""
        D = _differences(inner.mixture, inner.G)
        return PendingStack(D, weighted_means(_weights([self.sums]), D))

    def observe(self, pending: PendingStack, labels: Labels, errors: Array) -> PendingStack:
        """The errors of a round."""
        pending.sums = self._sums(pending.differences, labels, errors)[-1]
        return pending

    def forecast_chunk(self, block: Block, inner: Any, labels: Labels, errors: Array) -> PendingStack:
        """Rounds that come one after the other."""
        D = _differences(inner.mixture, inner.G)
        sums = self._sums(D, labels, errors)
        weights = np.repeat(_weights(sums[:-1]), [hi - lo for lo, hi in labels.rows], axis=1)
        return PendingStack(D, weighted_means(weights, D), sums[-1])

    def commit(self, pending: PendingStack) -> None:
        """Keep the sums."""
        assert pending.sums is not None
        self.sums = pending.sums

    def carried(self, pending: PendingStack) -> Any:
        """The sums, and whose they are."""
        return self.names, pending.sums

    def fitted(self, rows: Rows, carried: Any) -> Stacking:
        """With the sums of the experts that are called the same."""
        new = Stacking(self.names)
        if carried is not None:
            places = {name: i for i, name in enumerate(carried[0])}
            new.sums = carried[1].among([places.get(name) for name in self.names])
        return new

    def check_state(self, rounds: int, experts: int) -> None:
        """Refuse sums from a file that are not of so many experts."""
        state.require(len(self.names) == 1 + experts, "a name for each expert")
        state.require_kind(self.sums, Sums, "the sums")
        shape = (self.count, 2 + experts, 2 + experts)
        state.require(np.shape(self.sums.products) == shape, "sums for each expert")
        state.require(np.shape(self.sums.rounds) == (self.count,), "sums of rounds")

    def _sums(self, D: Array, labels: Labels, errors: Array) -> list[Sums]:
        """The present sums, and those after each of some rounds."""
        found = [self.sums]
        products = labels.products(np.concatenate([errors[None], fit_columns(D, errors.shape[1])]))
        for i in range(products.shape[2]):
            found.append(found[-1].after(products[..., i]))
        return found


def _differences(mixture: PendingMixture, G: Array) -> Array:
    """d_e (K, rows, p); 0 of experts that sleep."""
    members = mixture.members
    p = max(members.shape[2], G.shape[1])
    differences: Array = fit_columns(members, p) - fit_columns(G, p)
    if mixture.asleep:
        differences[[1 + place for place in mixture.asleep]] = 0.0
    return differences

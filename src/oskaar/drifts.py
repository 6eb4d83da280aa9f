r"""Streams whose truth is known: labels drawn from laws whose mean embedding is a function of the RKHS.

A regime is a law pi(x) over a few labels y_1..y_J for each input, with E[phi(y) | x] = sum_j pi_j(x) phi(y_j) =
g*(x),

    g*(x) = b + k(x, S) A,      b = mean_j phi(y_j),     |g*|^2 <= |b|^2 + Tr(A^T k(S, S) A)                 (1)

in the RKHS of k + 1, the learner's kernel. (Norms are those of this decomposition; the RKHS norm is the least of all
decompositions, and is never larger.) Rounds move through regimes with convex weights c_t, g*_t = sum_w c_t(w) g*_w:

    |g*_t - g*_{t-1}|^2 = (c_t - c_{t-1})^T Q (c_t - c_{t-1}),       Q_{vw} = Tr(A_v^T k(S, S) A_w)           (2)

and V_0 and V_G are known, not estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oskaar.arrays import Array
from oskaar.kernels import Gaussian, Kernel
from oskaar.losses import Loss
from oskaar.theory import variations

CENTRES = 30
"""Centres of the functions of a regime, where inputs are not drawn from sites."""


@dataclass(frozen=True)
class Drifting:
    """A stream and the truth behind it; rounds t are counted from 1."""

    x: Array
    """Inputs, (T, width)."""
    y: list[Any]
    """Labels, y_t drawn from the law of round t at x_t."""
    kernel: Kernel
    """k + 1, whose RKHS holds every g*_t."""
    loss: Loss
    labels: list[Any]
    """y_1..y_J."""
    laws: Array
    """pi_t(x_t), (T, J)."""
    path: Array
    """c_t, (T, regimes)."""
    norms: Array
    """|g*_t| by (1), (T,)."""
    steps: Array
    """|g*_t - g*_{t-1}| by (2), t = 2..T."""
    base: Kernel
    sites: Array
    """S, (n, width)."""
    weights: Array
    """(regimes, n, J): pi_w(x) = 1/J + k(x, S) weights[w]."""

    @property
    def V_0(self) -> int:
        """1 + the number of rounds at which g* changes."""
        return variations(0.0, self.steps.tolist())[0]

    @property
    def V_G(self) -> float:
        """|g*_1| + sum_t |g*_t - g*_{t-1}|."""
        return variations(float(self.norms[0]), self.steps.tolist())[1]

    @property
    def changes(self) -> list[int]:
        """The rounds t > 1 with g*_t != g*_{t-1}."""
        return (np.flatnonzero(self.steps > 0) + 2).tolist()

    @property
    def means(self) -> Array:
        """g*_t(x_t) = E[phi(y_t) | x_t], (T, p)."""
        means: Array = self.laws @ self.loss.embed_many(self.labels)
        return means

    def law(self, t: int, X: Array) -> Array:
        """pi_t at rows X, (n, J), for t = 1..T."""
        weights = np.tensordot(self.path[t - 1], self.weights, axes=1)
        law: Array = 1 / len(self.labels) + self.base(np.asarray(X, dtype=float), self.sites) @ weights
        return law

    def truth(self, t: int, X: Array) -> Array:
        """g*_t at rows X, (n, p), for t = 1..T."""
        means: Array = self.law(t, X) @ self.loss.embed_many(self.labels)
        return means

    def best_answers(self) -> list[Any]:
        """f*_t(x_t) = argmin_z E[Delta(z, y_t) | x_t], the Bayes answers."""
        return self.loss.decode_many(self.means)

    def excess(self, answers: list[Any], laws: Array | None = None) -> Array:
        """E[Delta(z, y) - Delta(f*(x), y) | x] of answers z, one for each row of laws; exact, and >= 0.

        laws: of the stream's own rounds, or of `law(t, X)` for fresh rows X.
        """
        laws = self.laws if laws is None else laws
        best = self.loss.decode_many(laws @ self.loss.embed_many(self.labels))
        costs = [[self.loss(z, y) - self.loss(s, y) for y in self.labels] for z, s in zip(answers, best, strict=True)]
        excess: Array = np.einsum("tj,tj->t", laws, np.array(costs).reshape(laws.shape))
        return excess


def drifting(
    loss: Loss,
    rounds: int,
    *,
    kernel: Kernel | None = None,
    width: int = 2,
    sites: int | None = None,
    labels: int | list[Any] = 4,
    changes: int = 0,
    drift: float = 0.0,
    noise: float = 0.0,
    seed: int = 0,
) -> Drifting:
    r"""A stream of `rounds` with known g*_t in the RKHS of kernel + 1, known V_0 and known V_G.

    loss: any loss with a fixed embedding; its labels are drawn, `labels` of them, or given as a list.
    kernel: k without the intercept; Gaussian(0.5) on inputs in [-1, 1]^width.
    sites: inputs are drawn from so many points, where any law is a function of the RKHS: with noise = 0 labels are a
        function of x until the regime changes, g*_t(x_t) = phi(y_t). None: inputs are drawn from the whole cube,
        and a label is never certain: pi(x) = 1/J + f(x), as large as laws can be, times 1 - noise.
    changes: abrupt changes, at rounds a (changes + 1)-th of the stream apart: V_0 = 1 + changes.
    drift: how many regimes to move through, at a constant pace: V_G = |g*_1| + drift times their distances.
    noise: the share of labels drawn from all J alike.

    >>> from oskaar import losses
    >>> stream = drifting(losses.Ordinal(3), 100, sites=10, changes=1, labels=3)
    >>> stream.V_0, stream.changes, bool(np.allclose(stream.means, stream.loss.embed_many(stream.y)))
    (2, [51], True)
    >>> drifting(losses.ZeroOne(2), 100, drift=1.5, labels=2).V_0
    100
    """
    _require(loss, rounds, changes, drift, noise)
    rng = np.random.default_rng(seed)
    base = Gaussian(0.5) if kernel is None else kernel
    names = _labels(loss, labels, rng)
    J, regimes = len(names), changes + 1 if not drift else int(np.ceil(drift)) + 1
    S = rng.uniform(-1, 1, size=(CENTRES if sites is None else sites, width))
    shapes = rng.normal(size=(regimes, len(S), J))
    K = base(S, S)
    if sites is None:
        x = rng.uniform(-1, 1, size=(rounds, width))
        reference = np.concatenate([x, rng.uniform(-1, 1, size=(4000, width))])
        weights = (1 - noise) * _inside(shapes, base(reference, S))
        rows = base(x, S)
    else:
        place = rng.integers(sites, size=rounds)
        x, rows = S[place], K[place]
        weights = (1 - noise) * _certain(shapes, K)
    path = _path(rounds, regimes, changes, drift)
    laws = 1 / J + np.einsum("tw,tn,wnj->tj", path, rows, weights, optimize=True)
    laws = np.maximum(laws, 0.0)  # rounding
    laws /= laws.sum(axis=1, keepdims=True)
    drawn = (np.cumsum(laws, axis=1) < rng.uniform(size=(rounds, 1))).sum(axis=1)
    y = [names[min(j, J - 1)] for j in drawn]
    norms, steps = _lengths(loss.embed_many(names), weights, K, path)
    return Drifting(x, y, base + 1.0, loss, names, laws, path, norms, steps, base, S, weights)


def _require(loss: Loss, rounds: int, changes: int, drift: float, noise: float) -> None:
    if loss.parts or not loss.p:
        raise ValueError(f"{loss!r} must embed one label in fixed coordinates: list its classes or candidates.")
    if rounds < 1 or changes < 0 or changes >= rounds:
        raise ValueError(f"there must be more rounds than changes >= 0, got {rounds} rounds, {changes} changes.")
    if not (np.isfinite(drift) and drift >= 0) or (drift and changes):
        raise ValueError(f"give changes or a finite drift >= 0, not both, got {changes} and {drift}.")
    if not 0 <= noise < 1:
        raise ValueError(f"noise must be in [0, 1), got {noise}.")


def _labels(loss: Loss, labels: Any, rng: np.random.Generator) -> list[Any]:
    """Distinct labels, given or drawn."""
    if not isinstance(labels, int):
        names = [loss.check(y) for y in labels]
    else:
        pool = [loss.check(y) for y in islice(loss.labels(), 5000)]
        names = [pool[i] for i in sorted(rng.permutation(len(pool))[:labels])]
    if len(names) < 2:
        raise ValueError(f"a stream needs two labels or more, got {len(names)}.")
    return names


def _inside(shapes: Array, values: Array) -> Array:
    """Functions f_j (regimes, n, J) that sum to 0 over j, with |f_j| <= 1/J at every reference row."""
    J = shapes.shape[2]
    centred = shapes - shapes.mean(axis=2, keepdims=True)
    largest = np.abs(np.einsum("rn,wnj->wrj", values, centred, optimize=True)).max(axis=(1, 2))
    inside: Array = centred / (J * largest[:, None, None])
    return inside


def _certain(shapes: Array, K: Array) -> Array:
    """Functions f_j (regimes, n, J) that make one label certain at each site: the largest of smooth functions."""
    J = shapes.shape[2]
    winners = (K @ shapes).argmax(axis=2)
    return np.stack([np.linalg.solve(K, np.eye(J)[w] - 1 / J) for w in winners])


def _path(rounds: int, regimes: int, changes: int, drift: float) -> Array:
    """c_t (T, regimes): whole regimes one after another, or a steady move from one to the next."""
    t: NDArray[np.int64] = np.arange(rounds)
    position = t * (changes + 1) // rounds if not drift else drift * t / max(rounds - 1, 1)
    low = np.minimum(np.floor(position).astype(int), max(regimes - 2, 0))
    path = np.zeros((rounds, regimes))
    path[t, low] = 1 - (position - low)
    if regimes > 1:
        path[t, low + 1] = position - low
    return path


def _lengths(Phi: Array, weights: Array, K: Array, path: Array) -> tuple[Array, Array]:
    """|g*_t| and |g*_t - g*_{t-1}|, by (1) and (2)."""
    A = weights @ Phi
    Q = np.einsum("vnp,nm,wmp->vw", A, K, A, optimize=True)
    offset = float(np.sum(Phi.mean(axis=0) ** 2))
    moves = np.diff(path, axis=0)
    norms = np.sqrt(np.maximum(np.einsum("tv,vw,tw->t", path, Q, path) + offset, 0.0))
    steps = np.sqrt(np.maximum(np.einsum("tv,vw,tw->t", moves, Q, moves), 0.0))
    return norms, steps

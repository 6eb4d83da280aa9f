r"""Labels made of numbers: reading them, and squared distances in a ball.

A squared distance with signed weights beta_s on labels y_s is, up to a term free of z,

    sum_s beta_s |z - y_s|^2 / 2 = B |z|^2 / 2 - <z, V>,    B = sum_s beta_s,   V = sum_s beta_s y_s,

so its minimum depends on the sum of the weights, which may be negative: then the risk is concave, and the minimum
is on the border. phi must therefore carry B, as a coordinate that is the same for all labels.
For labels in a ball of radius R around 0, with a^2 + b^2 = 1,

    phi(y) = (a y / R, b),    psi(z) = (-R z / a, |z|^2 / (2 b))

have <psi(z), phi(y)> = |z - y|^2 / 2 - |y|^2 / 2 and |phi(y)| <= 1. With the last coordinate of psi moved by c / b,
|psi|^2 is convex in |z|^2, hence largest at z = 0 or |z| = R. Both are equal and least for

    b^2 / a^2 = (sqrt(3) - 1) / 4,    c = sqrt(3) / 4 R^2,    c_delta = sqrt(3 (3 + 2 sqrt 3)) / 4 R^2 < 1.101 R^2.

The diameter is 2 R^2 / a < 2.176 R^2, for z and -z on the border. With R = 1, s = |z| + |z'| and ||z| - |z'|| <= 2 -
s, |psi(z) - psi(z')|^2 <= s^2 (1 / a^2 + (2 - s)^2 / (4 b^2)), whose derivative in s is 2 s times 1 / a^2 + (2 - s)
(1 - s) / (2 b^2) >= 1 / a^2 - 1 / (8 b^2) > 0: it is largest at s = 2, where it is 4 / a^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.losses.base import near
from oskaar.requirements import numbers_of

_RATIO = (np.sqrt(3) - 1) / 4
A2, B2 = float(1 / (1 + _RATIO)), float(_RATIO / (1 + _RATIO))
"""a^2 and b^2."""
A, B = float(np.sqrt(1 / (1 + _RATIO))), float(np.sqrt(_RATIO / (1 + _RATIO)))
"""a and b."""
BALL = float(np.sqrt(3 * (3 + 2 * np.sqrt(3))) / 4)
"""c_delta of |z - y|^2 / 2 in the unit ball."""
BALL_DIAMETER = float(2 / A)
"""The diameter of |z - y|^2 / 2 in the unit ball."""


def embed_ball(Y: Array, R: float) -> Array:
    """phi of the rows of Y, |y| <= R: (a y / R, b).

    >>> np.linalg.norm(embed_ball(np.array([[3.0, 4.0]]), 5.0)).round(12)
    np.float64(1.0)
    """
    return np.concatenate([A / R * Y, np.full((len(Y), 1), B)], axis=1)


def read_ball(G: Array, R: float) -> tuple[Array, Array]:
    """(V, B) of estimates G: the weighted sum of the labels (n, p - 1), and the sum of the weights (n, 1).

    >>> V, B = read_ball(2 * embed_ball(np.array([[3.0, 4.0]]), 5.0), 5.0)
    >>> V.round(12), B.round(12)
    (array([[6., 8.]]), array([[2.]]))
    """
    return R / A * G[:, :-1], G[:, -1:] / B


def means(V: Array, B: Array) -> tuple[Array, Any]:
    """(V / B, where B > 0), 0 where it is not; a B that is 0 up to rounding counts as 0."""
    convex = near(V) < B
    return np.divide(V, B, out=np.zeros_like(V), where=convex), convex[:, 0]


def as_numbers(y: Any, shape: tuple[int, ...], what: str) -> Array:
    """A new array of finite numbers of the given shape, or an error that names what is wrong."""
    values = None if y is None or isinstance(y, (str, bytes)) else numbers_of(y)
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        raise ValueError(f"{what} must be complete, got masked values: impute them, or drop the round.")
    if values is None or values.shape != shape:
        wanted = f"{what} must be " + (f"an array of {' x '.join(map(str, shape))} numbers" if shape else "a number")
        raise ValueError(f"{wanted}, got {y!r}." if values is None else f"{wanted}, got shape {values.shape}.")
    if not np.isfinite(values).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        where = f"number {place[0] if len(place) == 1 else place} is" if shape else "got"
        raise ValueError(f"{what} must be finite, {where} {values[place]}.")
    return values

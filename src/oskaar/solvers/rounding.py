r"""Rounds that float64 cannot resolve, and the error that refuses them.

A round is solved through s = lam + k(x, x) - |w|^2, lam and the variance that past rows leave. Rounding moves s by
about 1e-16 k(x, x), and the estimate by as large a part as s: where s is a tiny part of k(x, x), as for features
around 1e6 with a linear kernel and lam = 1, few digits are left, then none. So

    s >= LEAST k(x, x)                                                                                (1)

must hold, else the round is refused. Against a twin in 80 bits, over streams of 400 rounds at the limit, estimates
are then right to 1e-6 (7e-7 was the worst; at 1e-8 it was 2e-6), and with all restarts to 1e-5
(tests/test_silent_numbers.py). s >= lam, so lam >= LEAST k(x, x) is always enough, and in feature space it is asked
for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array

LEAST = 3e-8
"""The least part of k(x, x) that s may be."""

LEAST_SHARED = 1e-6
"""The same where all restarts share one inverse factor, whose rounding is some 100 times that of one of their own."""

SLACK = 1e-8
"""How far, relative to k(x, x), rounding may push a conditional variance below 0."""

_CURE = "Standardise the features (kernel=None does, and features.Standardised), or raise lam to at least {:.3g}."


def require_resolved(s: Any, kxx: Any, least: float = LEAST) -> None:
    """Refuse rows of which (1) does not hold.

    >>> require_resolved(np.array([1.0, 1.0]), np.array([1.0, 1e12]))                         # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: lam is too small for an input of this size: k(x, x) = 1e+12, of which lam and the variance that ...
    """
    low = ~(np.asarray(s) >= least * np.asarray(kxx))
    if low.any():
        i = int(np.argmax(low.ravel()))
        size, left = float(np.ravel(kxx)[i]), float(np.ravel(s)[i])
        raise ValueError(
            f"lam is too small for an input of this size: k(x, x) = {size:.6g}, of which lam and the variance that "
            f"past rows leave are {left:.3g}, less than {least:g} of it, so that rounding would change the estimate. "
            + _CURE.format(least * size)
        )


def require_rows(lam: float, Z: Array) -> None:
    """Refuse features Z (n, D) that are not finite, or of which lam >= LEAST |z|^2 does not hold.

    A sum of z z^T keeps what a large row leaves of its digits, so here lam alone has to be large enough.

    >>> require_rows(1.0, np.array([[0.0, np.nan]]))
    Traceback (most recent call last):
    ValueError: features must be finite, got inf or nan: check the map with oskaar.checks.check_features.
    """
    if len(Z) == 1 and LEAST * Z[0].dot(Z[0]) <= lam:
        return
    sizes = np.einsum("ij,ij->i", Z, Z)
    if not (sizes * LEAST <= lam).all():
        if not np.isfinite(Z).all():
            raise ValueError(
                "features must be finite, got inf or nan: check the map with oskaar.checks.check_features."
            )
        raise ValueError(
            f"lam is too small for an input of this size: |z(x)|^2 = {sizes.max():.6g}, and lam = {lam:.3g} is less "
            f"than {LEAST:g} of it, so that rounding would change the estimate. " + _CURE.format(LEAST * sizes.max())
        )


def not_positive(kxx: float, left: float) -> str:
    """The error for a conditional variance below 0."""
    if not np.isfinite(left):
        return f"the kernel must return finite numbers, got a conditional variance of {left}."
    return (
        f"the kernel must be positive semidefinite, but with k(x, x) = {kxx:.6g} the variance of this round "
        f"given the past is {left:.3g} < 0: check it with oskaar.checks.check_kernel, or raise lam."
    )

"""Checks of SALAMI's settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from oskaar import theory
from oskaar.features import FeatureMap
from oskaar.learners.base import features_for, require_lam, require_positive
from oskaar.learners.change_points import RATES
from oskaar.requirements import require_whole


def grid_of(lam: Any) -> list[float]:
    """A lam, or a grid of distinct ones."""
    lams = [require_lam(value) for value in (lam if isinstance(lam, Iterable) else [lam])]
    if not lams:
        raise ValueError("the grid of lam must not be empty: give at least one number.")
    if len(set(lams)) < len(lams):
        raise ValueError(f"each lam must be in the grid once, got {lams}: repeated experts only cost time.")
    return lams


def kernels_of(kernel: Any) -> list[Any]:
    """A kernel, or a list of distinct ones."""
    if not isinstance(kernel, (list, tuple)):
        return [kernel]
    if not kernel:
        raise ValueError("the list of kernels must not be empty.")
    if any(a == b for i, a in enumerate(kernel) for b in kernel[:i]):
        raise ValueError("each kernel must be in the list once: repeated experts only cost time.")
    return list(kernel)


def maps_of(kernels: list[Any], features: Any, budget: Any, ridge: float) -> list[FeatureMap]:
    """A map for each kernel, or the maps themselves; none for the exact learner."""
    if isinstance(features, (list, tuple)):
        maps = [features_for(None, m, budget, ridge) for m in features]
    else:
        maps = [features_for(kernel, features, budget, ridge) for kernel in kernels]
        maps = maps[:1] if features is not None else maps
    return [m for m in maps if m is not None]


def restarts_of(restarts: Any) -> Any:
    """One of the three ways to restart."""
    if restarts not in ("all", "geometric", None):
        raise ValueError(f"restarts must be 'all', 'geometric' or None, got {restarts!r}.")
    return restarts


def window_of(window: Any) -> int | None:
    """How many rows to keep; None is all."""
    return None if window is None else require_whole("window", window, note=", or None for all rows")


def require_projection(project: Any, shifted: bool) -> None:
    """Shifted experts are fitted to 2 phi - g, which no ball holds that holds the g: none can be projected."""
    if project and shifted:
        raise ValueError(
            "project=True goes with shifted=False: the targets 2 phi - g of shifted experts lie outside of the unit "
            "ball, and projection could raise their losses. Leave project out."
        )


def rate_of(eta: Any, project: bool, kernels: list[Any], bound: float | None) -> float:
    """The rate of a mixture, as a number or by its name."""
    if eta == "theory":
        if not project and bound is None:
            raise ValueError("eta='theory' without projection needs bound=, a bound on |g| in the RKHS.")
        if project:
            return theory.salami_eta(1.0, 1.0)
        kappa = max(getattr(kernel, "kappa", np.inf) for kernel in kernels)
        return theory.salami_eta(kappa, float(bound or 0.0))
    return require_positive("eta", eta, "weights are exp(-eta loss); 'theory' is a safe choice")


def rate_of_alarms(rate: Any) -> float:
    """False alarms a round."""
    if isinstance(rate, (str, bytes)) or not RATES[0] <= rate <= RATES[1]:
        raise ValueError(
            f"false_alarms must be from {RATES[0]} to {RATES[1]} a round, got {rate!r}: 0.001 is one in 1000 rounds "
            "where nothing changes."
        )
    return float(rate)

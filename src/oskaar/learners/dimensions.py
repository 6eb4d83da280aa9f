r"""The effective dimension of what a mixture of restarts has to learn.

    d = sum_{j, s} p_t(j, s) d_eff(lam_j, rows since s)                                               (1)

It falls when the mixture turns to a younger restart: a new world has few rows yet. For kernels every restart comes
from one factor (`solvers.all_restarts`); elsewhere experts with less than a thousandth of the weight are left out of
(1).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oskaar.arrays import Array
from oskaar.learners.experts import FeatureExperts, KernelExperts
from oskaar.solvers.all_restarts import AllRestarts

LIGHT = 1e-3


def mixed_dimension(experts: KernelExperts | FeatureExperts, weights: Array, probes: int | None) -> float:
    """(1), for weights (kinds, restarts alive, oldest first)."""
    if isinstance(experts, FeatureExperts):
        return _mean(weights, lambda j, s: _of_features(experts, j, s))
    solvers = experts.solvers
    if isinstance(solvers[0], AllRestarts):
        found = np.array([solver.effective_dimensions(probes) for solver in solvers])
        return float(np.sum(weights * found))
    return _mean(weights, lambda j, s: float(solvers[j].experts[s][2].effective_dimension(probes)))


def _mean(weights: Array, of: Any) -> float:
    heavy = np.argwhere(weights >= min(LIGHT, weights.max(initial=0.0)))
    total = float(sum(weights[j, s] for j, s in heavy))
    share = float(weights.sum()) / total if total else 0.0
    return share * float(sum(weights[j, s] * of(j, s) for j, s in heavy))


def _of_features(experts: FeatureExperts, kind: int, which: int) -> float:
    """d_eff of one expert: the spectrum of its Gram matrix, with the rows that are still open."""
    place, l = divmod(int(kind), len(experts.lams))
    stack = experts.starts[place].stack
    stack.settle()
    slot = int(np.flatnonzero(stack.starts >= 0)[np.argsort(stack.starts[stack.starts >= 0])[which]])
    Z = stack.Z.get(int(stack.versions[slot]), np.zeros((0, stack.Gram.shape[1])))[stack.born[slot] : stack.open]
    values = np.maximum(np.linalg.eigvalsh(stack.Gram[slot] + Z.T @ Z), 0.0)
    return float(np.sum(values / (values + stack.lams[l])))

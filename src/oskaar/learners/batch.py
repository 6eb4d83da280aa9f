r"""BatchILE, the batch estimator of section 2 (Ciliberto, Rosasco, Rudi): all rounds at once.

g_n = argmin_g  1/n sum_i |phi(y_i) - g(x_i)|^2 + lam |g|^2  =  k(., X) (K + n lam I)^-1 Phi
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from oskaar import state
from oskaar.arrays import Array, without_rounding
from oskaar.display import html_table
from oskaar.guards import exclusive, locked
from oskaar.inputs import Block, Inputs
from oskaar.learners.base import (
    Predictor,
    as_labels,
    require_kernel,
    require_lam,
    require_loss,
    require_same_length,
    schema_for,
)
from oskaar.learners.reading import read_whole
from oskaar.losses import Loss, Space
from oskaar.saved import saved
from oskaar.schema import Schema
from oskaar.solvers.cholesky import PANEL
from oskaar.solvers.rounding import require_resolved
from oskaar.threads import one_thread

_MANY = 2000
"""From so many rows on a fit is faster with all BLAS threads than with one."""


@saved("learner/batch")
class BatchILE(Predictor):
    r"""Structured prediction from a batch of examples. Mind that lam is multiplied by their number n.

    kernel: None is a smooth one on the columns of rows, standardised by the examples (`kernels.default_kernels`),
        Cosine() + 1 for sparse rows.
    schema: kinds of columns by name, where they are not to be decided from the examples (docs/rows.md).

    Equivalent to tests/naive.py::batch_ile, and in its estimate to scikit-learn's
    KernelRidge(alpha=n * lam) on the embedded labels.

    >>> from oskaar import BatchILE, losses
    >>> model = BatchILE(losses.Ordinal(3), lam=0.01).fit([[0.0], [0.5], [1.0]], [0, 1, 2])
    >>> model.predict([[0.1], [0.9]])
    [0, 2]
    """

    def __init__(
        self,
        loss: Loss,
        kernel: Any = None,
        lam: float = 1e-3,
        schema: Mapping[Any, str] | Schema | None = None,
    ) -> None:
        require_lam(lam)
        self.lam, self.loss, self.kernel = lam, require_loss(loss), require_kernel(kernel)
        self._unread = schema_for(schema, kernel is None)
        self._given_schema = schema
        self._fitted = False
        self._inputs: Inputs
        self._space: Space
        self._alpha: Array

    @locked
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from examples; what was learned before is forgotten."""
        labels = [self.loss.check(label) for label in as_labels(y)]
        inputs = Inputs(self.kernel, parts=self.loss.parts, schema=self._unread)
        block, ends = inputs.parse_many(X)
        require_same_length(ends, labels)
        if not labels:
            raise ValueError("fit needs at least one example, got none.")
        space = self.loss.space()
        for label in labels:
            space = space.extended(label)
        Phi = space.embed_many(labels)
        if len(Phi) != block.n:
            raise ValueError(f"the labels have {len(Phi)} parts in all, for {block.n} rows: one for each row.")
        if self.kernel is None:
            block, reading = read_whole(inputs, block)
            inputs.kernels = [reading.first]
            inputs.schema = block.schema
        solve = _weights if block.n >= _MANY else one_thread(_weights)
        alpha = solve(inputs.corner, block, block.n * float(self.lam), Phi)
        inputs.append(block)
        self.__dict__.update(_inputs=inputs, _space=space, _alpha=alpha, _fitted=True)  # all or, if interrupted, none
        return self

    @property
    def schema(self) -> Schema | None:
        """How rows are read; None with a kernel given."""
        return self._inputs.schema if self._fitted else self._unread

    @exclusive
    def estimate(self, x: Any) -> Array:
        """g_n(x), (p,), or (n, p) for a block of rows."""
        G = self._space.full(self._estimates(self._parsed().parse(x)))
        return G if self.loss.parts else G[0]

    @exclusive
    def predict_many(self, xs: Any) -> list[Any]:
        """An answer for each x."""
        block, ends = self._parsed().parse_each(xs)
        return self._space.decode_rounds(without_rounding(self._estimates(block)), ends)

    @exclusive
    def predict_one(self, x: Any) -> Any:
        """The answer for x."""
        G = self._estimates(self._parsed().parse(x))
        return self._space.decode_round(without_rounding(G))

    def _repr_html_(self) -> str:
        settings = {**self.get_params(deep=False), "schema": self.schema}
        return html_table("BatchILE", [(name, repr(value)) for name, value in settings.items()])

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return self._fitted

    def __sklearn_tags__(self) -> Any:
        """As for the online learners, but `fit` comes first."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = True
        return tags

    def _parsed(self) -> Inputs:
        if not self._fitted:
            raise _not_fitted()("BatchILE has learned nothing yet: call fit(X, y) first.")
        return self._inputs

    def _estimates(self, block: Any) -> Array:
        starts = range(0, block.n, PANEL)
        parts = [block.part(lo, min(lo + PANEL, block.n)) for lo in starts]
        rows = [self._inputs.against(part) @ self._alpha for part in parts]
        return np.concatenate(rows) if rows else np.zeros((0, self._space.p))

    def _check_state(self) -> None:
        super()._check_state()
        state.require(type(self._fitted) is bool, "fitted must be true or false")
        if self._fitted:
            state.require_kind(self._inputs, Inputs, "the inputs")
            state.require_kind(self._space, Space, "the space")
            state.require(self._alpha.shape == (self._inputs.n, self._space.p), "there must be a weight for each row")

    def __repr__(self) -> str:
        return f"BatchILE({self.loss!r}, kernel={self.kernel!r}, lam={float(self.lam):g})"


def _weights(corner: Callable[[Block], Array], block: Block, lam: float, Phi: Array) -> Array:
    """(K + lam I)^-1 Phi."""
    M = corner(block).copy()  # it may be the caller's
    sizes = M.diagonal().copy()
    M[np.diag_indices_from(M)] += lam
    try:
        factor = cho_factor(M, lower=True, overwrite_a=True)
        require_resolved(factor[0].diagonal() ** 2, sizes)
        alpha: Array = cho_solve(factor, Phi)
    except LinAlgError:
        require_resolved(np.full(len(sizes), lam), sizes)
        raise ValueError(
            "the kernel must be positive semidefinite: K + n lam I has no Cholesky factor. "
            "Check it with oskaar.checks.check_kernel, or raise lam."
        ) from None
    return alpha


def _not_fitted() -> type[ValueError]:
    """ValueError, or scikit-learn's kind of it where that is in use."""
    kinds = sys.modules.get("sklearn.exceptions")
    return getattr(kinds, "NotFittedError", ValueError)


@saved("learner/refitted")
class Refitted:
    """BatchILE on a stream: fitted again whenever there are a tenth more rounds.

    >>> from oskaar import losses
    >>> model = Refitted(BatchILE(losses.ZeroOne("ab")))
    >>> model.learn_one([0.0], "b")
    >>> model.predict_one([0.0])
    'b'
    """

    def __init__(self, model: BatchILE) -> None:
        self.model, self.loss = model, model.loss
        self._xs: list[Any] = []
        self._ys: list[Any] = []
        self._fitted = 0

    def predict_one(self, x: Any) -> Any:
        """None before the first round."""
        return self.model.predict_one(x) if self._fitted else None

    def learn_one(self, x: Any, y: Any) -> None:
        """Store the round; fit again where there are a tenth more."""
        self._xs.append(x)
        self._ys.append(y)
        if len(self._ys) >= 1.1 * self._fitted:
            self.model.fit(self._xs, self._ys)
            self._fitted = len(self._ys)

    def __getstate__(self) -> dict[str, Any]:
        same = bool(self._xs) and all(isinstance(x, np.ndarray) and x.shape == self._xs[0].shape for x in self._xs)
        return {**vars(self), "_xs": np.array(self._xs) if same else self._xs}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        vars(self).update(attributes)
        self._xs = list(self._xs)

    def __repr__(self) -> str:
        return f"Refitted({self.model!r})"

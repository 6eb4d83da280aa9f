"""Any oskaar loss as a River metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from river import base, metrics, stats

from oskaar.learners.base import require_loss
from oskaar.losses import Loss, ZeroOne
from oskaar.losses.subsets import SubsetLoss


class LossMetric(metrics.base.Metric):
    """The mean of Delta(z, y) over the rounds so far: smaller is better.

    loss: any oskaar loss. Labels and answers are written as the loss wants them, or as River does: a dict of bools
    for a loss on subsets, a dict of numbers for a loss on vectors; entries are then taken in the order of y_true.

    >>> from oskaar import losses
    >>> metric = LossMetric(losses.F1(3))
    >>> metric.update({"a": True, "b": True, "c": False}, {"a": True, "b": False, "c": False})
    >>> metric.update({0, 1}, {0, 1})
    >>> metric
    LossMetric(F1): 0.166667
    """

    _fmt = ",.6f"

    def __init__(self, loss: Loss) -> None:
        self.loss = require_loss(loss)
        self._mean = stats.Mean()

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Add the loss of a round."""
        self._mean.update(self._cost(y_true, y_pred), w)

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Take a round back, as `river.utils.Rolling` does."""
        self._mean.revert(self._cost(y_true, y_pred), w)

    def get(self) -> float:
        """The mean loss; 0 before the first round."""
        return float(self._mean.get())

    @property
    def bigger_is_better(self) -> bool:
        """No: it is a loss."""
        return False

    @property
    def requires_labels(self) -> bool:
        """True: it compares answers, not probabilities."""
        return True

    def works_with(self, model: base.Estimator) -> bool:
        """With every supervised estimator that predicts."""
        return model._supervised and hasattr(model, "predict_one")

    def __add__(self, other: metrics.base.Metric) -> metrics.base.Metrics:
        """Both metrics at once."""
        both: metrics.base.Metrics = metrics.base.Metrics([self, other])  # type: ignore[no-untyped-call]
        return both

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self.loss).__name__}): {self.get():{self._fmt}}".rstrip("0")

    def _cost(self, y_true: Any, y_pred: Any) -> float:
        if isinstance(y_true, dict):
            names = list(y_true)
            y_true, y_pred = (self._in_order(y, names) for y in (y_true, y_pred))
        y = self.loss.check(y_true)
        single = getattr(self.loss, "dim", None) == 1 and isinstance(y_pred, (int, float))
        return float(self.loss([y_pred] if single else y_pred, y))

    def _in_order(self, y: Any, names: list[Any]) -> Any:
        if not isinstance(y, dict):
            raise TypeError(f"y_true is a dict, so y_pred must be one, got {y!r}.")
        if isinstance(self.loss, SubsetLoss):
            return frozenset(i for i, name in enumerate(names) if y.get(name))
        return [y[name] for name in names]

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"loss": ZeroOne()}

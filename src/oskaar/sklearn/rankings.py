"""Rankings of a fixed set of items, as matrices of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from oskaar.inputs import as_rounds
from oskaar.losses import Footrule, Kendall, Loss, Spearman, order_from_ranks
from oskaar.sklearn.base import LearnerEstimator, one_of

LOSSES: dict[str, Any] = {"kendall": Kendall, "spearman": Spearman, "footrule": Footrule}


class Ranker(MultiOutputMixin, LearnerEstimator):
    """Online label ranking: y is (n, k), the rank of each of k items, 1 is best; and so is the answer.

    loss: "kendall", "spearman" or "footrule".
    learner, kernel, lam, budget, options: see `LearnerEstimator`.

    Equal ranks are ties, which Kendall and Spearman take. `score` is 1 - 2 loss, for Kendall the mean tau.

    >>> from oskaar.sklearn import Ranker
    >>> X, Y = [[0.0], [1.0]] * 5, [[1, 2, 3], [3, 1, 2]] * 5
    >>> Ranker().fit(X, Y).predict([[0.1], [0.9]])
    array([[1, 2, 3],
           [3, 1, 2]])
    """

    def __init__(
        self,
        loss: str = "kendall",
        learner: str = "ensemble",
        kernel: Any = None,
        lam: Any = None,
        budget: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(learner, kernel, lam, budget, options)
        self.loss = loss

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn rows after those before them."""
        return self._learn(X, y, sample_weight=sample_weight)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The rank of each item (n, k), 1 is best."""
        orders = np.array(self._answers(X), dtype=int).reshape(-1, self.n_items_)
        ranks: NDArray[np.int64] = np.argsort(orders, axis=1) + 1
        return ranks

    def decision_function(self, X: Any) -> Any:
        """A score for each item (n, k), larger is better."""
        check_is_fitted(self)
        rows = as_rounds(self._rows(X))
        return np.array([list(self.learner_.scores_one(x).values()) for x in rows]).reshape(-1, self.n_items_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """1 - 2 times the mean loss, weighted."""
        answers, labels, loss = self._answers(X), self._encoded(np.asarray(y)), self.learner_.loss
        check_consistent_length(answers, labels)
        costs = [loss(z, loss.check(y)) for z, y in zip(answers, labels, strict=True)]
        return 1 - 2 * float(np.average(costs, weights=sample_weight))

    def _start(self, y: Any, classes: Any = None) -> Loss:
        chosen = one_of(LOSSES, "loss", self.loss)
        self.n_items_ = np.asarray(y).reshape(len(y), -1).shape[1]
        made: Loss = chosen(self.n_items_)
        return made

    def _encoded(self, y: Any) -> Any:
        Y = np.asarray(y, dtype=float).reshape(len(y), -1)
        if Y.shape[1] != self.n_items_:
            raise ValueError(f"y must rank {self.n_items_} items, as the first labels did, got {Y.shape[1]}.")
        return [order_from_ranks(row, ties=self.loss != "footrule") for row in Y]

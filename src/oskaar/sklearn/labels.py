"""Multi-label classification: an indicator matrix in, an indicator matrix out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin
from sklearn.utils.multiclass import type_of_target

from oskaar.losses import F1, Jaccard, Loss, SubsetHamming
from oskaar.sklearn.base import LearnerEstimator, one_of

LOSSES: dict[str, Any] = {"f1": F1, "hamming": SubsetHamming, "jaccard": Jaccard}


class MultiLabelClassifier(MultiOutputMixin, ClassifierMixin, LearnerEstimator):
    """Online multi-label classification whose answers scikit-learn's metrics take as they are.

    loss: "f1", "hamming" or "jaccard": what a mistake costs, and so what is answered.
    learner, kernel, lam, budget, options: see `LearnerEstimator`.

    y is an (n, k) matrix of 0 and 1, dense or sparse; `score` is the share of rows with no mistake.
    For sets, use OSKAAR itself, or scikit-learn's MultiLabelBinarizer.

    >>> from oskaar.sklearn import MultiLabelClassifier
    >>> Y = [[1, 0, 0], [0, 1, 1], [1, 0, 0], [0, 1, 1]]
    >>> MultiLabelClassifier().fit([[0.0], [1.0], [0.1], [0.9]], Y).predict([[0.2], [0.8]])
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    def __init__(
        self,
        loss: str = "f1",
        learner: str = "ensemble",
        kernel: Any = None,
        lam: Any = None,
        budget: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(learner, kernel, lam, budget, options)
        self.loss = loss

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows after those before them; classes, the columns of y, need not be given."""
        return self._learn(X, y, sample_weight=sample_weight)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """A matrix (n, k) of 0 and 1."""
        answers = self._answers(X)
        Z = np.zeros((len(answers), self.n_labels_), dtype=np.int64)
        for row, z in zip(Z, answers, strict=True):
            row[list(z)] = 1
        return Z

    def predict_proba(self, X: Any) -> Any:
        """The probability of each label by itself (n, k)."""
        found = self._probabilities(X)
        return np.array([[p[i] for i in range(self.n_labels_)] for p in found]).reshape(-1, self.n_labels_)

    def __sklearn_tags__(self) -> Any:
        """Several labels at once, and only that."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label, tags.classifier_tags.multi_class = True, False
        tags.target_tags.single_output = False
        return tags

    def _checked(self, X: Any, y: Any, reset: bool, sample_weight: Any = None) -> tuple[Any, Any]:
        if hasattr(y, "toarray"):
            y = y.toarray()
        X, y = super()._checked(X, y, reset, sample_weight)
        if not (y.ndim == 2 and np.isin(y, (0, 1)).all()):
            raise ValueError(
                f"y must be an (n, k) matrix of 0 and 1, got {type_of_target(y)} of shape {y.shape}: "
                "sets go through sklearn.preprocessing.MultiLabelBinarizer, or to oskaar.OSKAAR as they are."
            )
        return X, y

    def _start(self, y: Any, classes: Any = None) -> Loss:
        chosen = one_of(LOSSES, "loss", self.loss)
        self.n_labels_ = y.shape[1]
        self.classes_ = np.arange(self.n_labels_)
        loss: Loss = chosen(self.n_labels_)
        return loss

    def _encoded(self, y: Any) -> Any:
        if y.shape[1] != self.n_labels_:
            raise ValueError(f"y must have {self.n_labels_} columns, as the first labels had, got {y.shape[1]}.")
        return y

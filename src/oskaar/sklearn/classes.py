"""Classification: one class out of several, one of ordered levels, or a set of labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MultiOutputMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels

from oskaar.losses import F1, Jaccard, Loss, Ordinal, SubsetHamming, ZeroOne
from oskaar.sklearn.base import LearnerEstimator, one_of

SUBSET_LOSSES: dict[str, Any] = {"f1": F1, "hamming": SubsetHamming, "jaccard": Jaccard}


class Classifier(ClassifierMixin, LearnerEstimator):
    """Online classification: losses.ZeroOne behind scikit-learn's classifier.

    learner, kernel, lam, budget, options: see `LearnerEstimator`.

    `classes_` are the classes in order. `score` is the accuracy.

    >>> from oskaar.sklearn import Classifier
    >>> model = Classifier().partial_fit([[0.0], [1.0]], ["a", "b"], classes=["a", "b", "c"])
    >>> model.partial_fit([[2.0]], ["c"]).predict([[1.9], [0.1]])
    array(['c', 'a'], dtype='<U1')
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows after those before them; the first call lists all classes there will be."""
        if self.__sklearn_is_fitted__():
            if classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
                raise ValueError(f"classes must be those of the first call, {self.classes_}, got {classes!r}.")
        elif classes is None:
            raise ValueError("the first call of partial_fit needs classes=, all classes there will be.")
        return self._learn(X, y, classes, sample_weight)

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        answers = np.array(self._answers(X), dtype=int)
        return self.classes_[answers]

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class (n, k), in the order of `classes_`."""
        places = range(len(self.classes_)) if hasattr(self, "classes_") else ()
        return np.array([[p[i] for i in places] for p in self._probabilities(X)]).reshape(-1, len(places))

    def _checked(self, X: Any, y: Any, reset: bool, sample_weight: Any = None) -> tuple[Any, Any]:
        X, y = super()._checked(X, y, reset, sample_weight)
        check_classification_targets(y)
        return X, column_or_1d(y, warn=True)

    def _start(self, y: Any, classes: Any = None) -> Loss:
        self.classes_ = unique_labels(y if classes is None else classes)
        return ZeroOne(len(self.classes_))

    def _encoded(self, y: Any) -> Any:
        places = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        unknown = self.classes_[places] != y
        if unknown.any():
            raise ValueError(f"y must be among the classes {self.classes_}, got {y[np.argmax(unknown)]!r}.")
        return places


class OrdinalClassifier(Classifier):
    """Online classification of ordered levels: losses.Ordinal behind scikit-learn's classifier.

    levels: all levels from the lowest to the highest; None: those of y, sorted.
    learner, kernel, lam, budget, options: see `LearnerEstimator`.

    The answer is the level of the least expected number of steps: the median, not the mode.

    >>> from oskaar.sklearn import OrdinalClassifier
    >>> model = OrdinalClassifier(levels=["low", "mid", "high"])
    >>> model.fit([[0.0], [1.0], [2.0]] * 5, ["low", "mid", "high"] * 5).predict([[0.1], [1.9]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        levels: Any = None,
        learner: str = "ensemble",
        kernel: Any = None,
        lam: Any = None,
        budget: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(learner, kernel, lam, budget, options)
        self.levels = levels

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """(lowest, highest) level of each row (n, 2), between which the label lies with about this probability."""
        return self.classes_[self._intervals(X, coverage)]

    def _start(self, y: Any, classes: Any = None) -> Loss:
        given = self.levels if self.levels is not None else classes
        self.classes_ = unique_labels(y) if given is None else np.asarray(given)
        return Ordinal(len(self.classes_))

    def _encoded(self, y: Any) -> Any:
        places = {level: i for i, level in enumerate(self.classes_.tolist())}
        try:
            return np.array([places[level] for level in np.asarray(y).tolist()])
        except KeyError as error:
            raise ValueError(f"y must be among the levels {self.classes_}, got {error.args[0]!r}.") from None


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
        chosen = one_of(SUBSET_LOSSES, "loss", self.loss)
        self.n_labels_ = y.shape[1]
        self.classes_ = np.arange(self.n_labels_)
        loss: Loss = chosen(self.n_labels_)
        return loss

    def _encoded(self, y: Any) -> Any:
        if y.shape[1] != self.n_labels_:
            raise ValueError(f"y must have {self.n_labels_} columns, as the first labels had, got {y.shape[1]}.")
        return y

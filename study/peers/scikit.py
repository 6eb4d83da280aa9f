"""scikit-learn's ridge regressions, linear models, support vector machine and nearest neighbours, refitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from oskaar.arrays import Array
from study.peers.refitting import Refitted
from study.peers.targets import ONE_ROW, Target, target_of
from study.protocol import Peer, Stream


class Estimators(Refitted):
    """Estimators behind one face: classifiers for classes and labels, regressors for numbers.

    make(classifier, rows) gives a fresh one, for so many rows. joint: one takes all labels or numbers at once, else
    each has its own. A column that is constant so far is answered by its constant.
    """

    def __init__(self, target: Target, make: Callable[[bool, int], Any], joint: bool, most: int = 5000) -> None:
        super().__init__(target, most)
        self.make, self.joint = make, joint
        self.models: list[Any] = []
        self.constants = np.zeros(target.p)
        self.moving: list[int] = []
        """Columns that are not constant."""

    def fit(self, X: Any, Y: Array) -> None:
        """Classes as positions, labels as columns of 0 and 1, numbers as they are."""
        classifier = self.target.type != "number"
        self.constants, self.moving = Y[0].copy(), np.flatnonzero((Y[0] != Y).any(axis=0)).tolist()
        whole = self.target.type == "one-hot" or (self.joint and len(self.moving) > 1)
        columns: list[Any] = [Y[:, j] for j in self.moving]
        if whole and columns:
            columns = [np.argmax(Y, axis=1) if self.target.type == "one-hot" else Y[:, self.moving]]
        self.models = [self.make(classifier, len(Y)).fit(X, column) for column in columns]

    def scores(self, X: Any) -> Array:
        """Probabilities, or predictions."""
        V = np.tile(self.constants, (X.shape[0], 1))
        if not self.models:
            return V
        if self.target.type == "one-hot":
            V[:] = 0.0
            V[:, self.models[0].classes_.astype(int)] = shares_of(self.models[0], X)
        elif self.target.type == "binary":
            found = [column for model in self.models for column in chances_of(model, X)]
            V[:, self.moving] = np.stack(found, axis=1)
        else:
            V[:, self.moving] = np.column_stack([model.predict(X) for model in self.models])
        return V


def shares_of(model: Any, X: Any) -> Array:
    """Probabilities of classes; 1 for the answer of a model that has none."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return (model.predict(X)[:, None] == model.classes_[None, :]).astype(float)


def chances_of(model: Any, X: Any) -> list[Array]:
    """The probability of 1, for each column of labels."""
    found = model.predict_proba(X)
    return [shares[:, 1] for shares in found] if isinstance(found, list) else [np.asarray(found)[:, 1]]


def _linear(stream: Stream, setting: Mapping[str, Any], seed: int) -> Estimators:
    from sklearn.linear_model import LogisticRegression, RidgeCV

    C = setting.get("C", 1.0)

    def make(classifier: bool, rows: int) -> Any:
        if not classifier:
            return RidgeCV(alphas=np.logspace(-3, 3, 7))
        return LogisticRegression(C=C, max_iter=200, solver="liblinear" if stream.kind == "subset" else "lbfgs")

    target = target_of(stream, setting.get("as_classes", False))
    return Estimators(target, make, joint=target.type == "number")


def _svm(stream: Stream, setting: Mapping[str, Any], seed: int) -> Estimators:
    from sklearn.svm import SVC

    def make(classifier: bool, rows: int) -> Any:
        return SVC(C=setting.get("C", 1.0), kernel="linear" if stream.sparse else "rbf")

    return Estimators(target_of(stream, as_classes=True), make, joint=False)


def _neighbours(stream: Stream, setting: Mapping[str, Any], seed: int) -> Estimators:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    options = {"weights": "distance", "metric": "cosine" if stream.sparse else "minkowski"}

    def make(classifier: bool, rows: int) -> Any:
        cls = KNeighborsClassifier if classifier else KNeighborsRegressor
        return cls(n_neighbors=min(setting.get("n", 10), rows), **options)

    return Estimators(target_of(stream, as_classes=True), make, joint=True)


class Ridge(Refitted):
    """KernelRidge on the numbers of the target less their mean: it has no intercept of its own.

    The kernel and alpha with the least leave-one-out error are taken, compared again where half as many rows again
    were seen, up to 2000: with K = U diag(s) U^T and h = diag(U diag(s / (s + alpha)) U^T), the error of row i is
    (y - K (K + alpha I)^-1 y)_i / (1 - h_i).
    """

    def __init__(self, target: Target, kernels: tuple[str, ...], alphas: tuple[float, ...]) -> None:
        from sklearn.kernel_ridge import KernelRidge

        super().__init__(target, most=3000)
        self.choices = [(kernel, alpha) for kernel in kernels for alpha in alphas]
        self.chosen, self.compared = self.choices[0], 0
        self.middle = np.zeros(target.p)
        self.model = KernelRidge()

    def fit(self, X: Any, Y: Array) -> None:
        """Fits what is left of the mean."""
        self.middle = Y.mean(axis=0)
        R, n = Y - self.middle, len(Y)
        if len(self.choices) > 1 and 5 <= n <= 2000 and n >= 1.5 * self.compared:
            self.chosen, self.compared = self._best(X, R), n
        self.model.set_params(kernel=self.chosen[0], alpha=self.chosen[1]).fit(X, R)

    def scores(self, X: Any) -> Array:
        """Predictions."""
        return np.asarray(self.model.predict(X)).reshape(X.shape[0], -1) + self.middle

    def _best(self, X: Any, R: Array) -> tuple[str, float]:
        from sklearn.metrics.pairwise import pairwise_kernels

        errors = {}
        for kernel in dict.fromkeys(kernel for kernel, _ in self.choices):
            s, U = np.linalg.eigh(pairwise_kernels(X, metric=kernel))
            P, squares = U.T @ R, U**2
            for alpha in (alpha for name, alpha in self.choices if name == kernel):
                kept = np.maximum(s, 0.0) / (np.maximum(s, 0.0) + alpha)
                left = (R - U @ (kept[:, None] * P)) / np.maximum(1 - squares @ kept, 1e-9)[:, None]
                errors[kernel, alpha] = float((left**2).sum())
        return min(errors, key=lambda choice: errors[choice])


def _ridge(stream: Stream, setting: Mapping[str, Any], seed: int) -> Ridge:
    kernels = ("cosine", "linear") if stream.sparse else ("rbf", "laplacian")
    target = target_of(stream, setting.get("as_classes", False))
    return Ridge(target, setting.get("kernels", kernels), setting.get("alphas", (1.0, 0.1, 0.01, 10.0)))


PEERS = (
    Peer(
        "KernelRidge",
        "scikit-learn",
        (*ONE_ROW, "documents"),
        ({}, {"as_classes": True}, {"alphas": (1.0,), "kernels": ("rbf",)}, {"kernels": ("linear",)}),
        _ridge,
    ),
    Peer(
        "Linear",
        "scikit-learn",
        (*ONE_ROW, "sequence"),
        ({}, {"C": 0.1}, {"C": 10.0, "as_classes": True}),
        _linear,
    ),
    Peer("SVM", "scikit-learn", ("class", "ordinal", "sequence"), ({}, {"C": 10.0}, {"C": 0.1}), _svm),
    Peer("Neighbours", "scikit-learn", (*ONE_ROW, "sequence"), ({}, {"n": 5}, {"n": 30}), _neighbours),
)

"""What the estimators share: settings, checked rows, and the learner inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from oskaar.arrays import Array
from oskaar.inputs import as_rounds
from oskaar.learners import OSKAAR, SALAMI, Ensemble, OnlineLearner
from oskaar.learners.params import changed_settings, inner_settings
from oskaar.losses import Loss
from oskaar.schema.tables import is_frame, of_frame

LEARNERS: dict[str, type[OnlineLearner]] = {"ensemble": Ensemble, "salami": SALAMI, "oskaar": OSKAAR}


def one_of(choices: Mapping[str, Any], setting: str, given: Any) -> Any:
    """What a name stands for, or an error with all names."""
    if given not in choices:
        raise ValueError(f"{setting} must be one of {', '.join(choices)}, got {given!r}.")
    return choices[given]


class LearnerEstimator(BaseEstimator):
    """An estimator around an online learner, which is `learner_` once fitted.

    learner: "ensemble", with nothing to tune, "salami" or "oskaar".
    kernel, lam, budget: as the learner takes them; lam=None is its default, and all that an ensemble takes.
    options: further arguments of the learner, such as {"window": 500}.
    """

    def __init__(
        self,
        learner: str = "ensemble",
        kernel: Any = None,
        lam: Any = None,
        budget: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.learner = learner
        self.kernel = kernel
        self.lam = lam
        self.budget = budget
        self.options = options

    @abstractmethod
    def _start(self, y: Any, classes: Any = None) -> Loss:
        """The loss for labels like these; what `predict` needs to know of them is kept."""

    @abstractmethod
    def _encoded(self, y: Any) -> Any:
        """Labels as the learner takes them, or an error."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings; deep: with those of the kernel, as `kernel__lengthscale`."""
        own: dict[str, Any] = super().get_params(deep=False)
        return {**own, **inner_settings(own)} if deep else own

    def set_params(self, **params: Any) -> Self:
        """Change settings, for the next `fit`."""
        for name, value in changed_settings(type(self).__name__, self.get_params(deep=False), params).items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any, **weights: Any) -> Self:
        """Forget everything and learn these rows in turn.

        sample_weight: whole numbers; a row of weight 2 comes twice in a row, one of weight 0 never. It has no place
        in the signature, as scikit-learn's tools would take it for a weight that is free of the order of rows.
        """
        if set(weights) - {"sample_weight"}:
            raise TypeError(f"{type(self).__name__}.fit takes X, y and sample_weight, got {', '.join(weights)}.")
        with self._whole():
            X, y = self._checked(X, y, True, weights.get("sample_weight"))
            self.learner_ = self._made(self._start(y))
            self.learner_.partial_fit(X, self._encoded(y))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a learner."""
        return hasattr(self, "learner_")

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are welcome, and so are missing values where no kernel is given."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._reads
        return tags

    @property
    def _reads(self) -> bool:
        """Whether the learner reads rows by a schema: no kernel and no features are given."""
        return self.kernel is None and not (self.options or {}).get("features")

    def _checked(self, X: Any, y: Any, reset: bool, sample_weight: Any = None) -> tuple[Any, Any]:
        """Rows and labels, each as often as it counts."""
        if self._mixed(X, reset):
            X, y = self._rows(X, reset), check_array(y, ensure_2d=False, dtype=None, input_name="y")
            check_consistent_length(X, y)
        else:
            X, y = validate_data(self, X, y, reset=reset, multi_output=True, **self._form)
        if sample_weight is None:
            return X, y
        places = np.repeat(np.arange(len(y)), _counts(sample_weight, X))
        return _safe_indexing(X, places), y[places]

    def _mixed(self, X: Any, reset: bool) -> bool:
        """Whether rows are a frame that the learner reads itself: the columns of the first were not all numbers."""
        if reset:
            self.mixed_ = self._reads and is_frame(X) and of_frame(X).matrix is None
        return bool(self.mixed_ and is_frame(X))

    @property
    def _form(self) -> dict[str, Any]:
        """The form of all other rows, in scikit-learn's words."""
        finite = "allow-nan" if self._reads else True
        return {"accept_sparse": "csr", "dtype": None if self.mixed_ else float, "ensure_all_finite": finite}

    def _rows(self, X: Any, reset: bool = False) -> Any:
        """Rows as the learner takes them."""
        if self._mixed(X, reset):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, **self._form)

    def _learn(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn rows after those before them."""
        first = not self.__sklearn_is_fitted__()
        with self._whole():
            X, y = self._checked(X, y, first, sample_weight)
            if first:
                self.learner_ = self._made(self._start(y, classes))
            self.learner_.partial_fit(X, self._encoded(y))
        return self

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """All or nothing: what is refused changes nothing."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _answers(self, X: Any) -> list[Any]:
        """The learner's answers for rows."""
        check_is_fitted(self)
        return self.learner_.predict_many(self._rows(X))

    def _probabilities(self, X: Any) -> list[Any]:
        """The learner's probabilities for rows, by name."""
        check_is_fitted(self)
        found: list[Any] = self.learner_.predict_proba(self._rows(X))
        return found

    def _intervals(self, X: Any, coverage: float) -> Array:
        """(low, high) for each row, (n, 2, ...)."""
        check_is_fitted(self)
        found = [self.learner_.interval_one(x, coverage) for x in as_rounds(self._rows(X))]
        if None in found:
            raise ValueError(f"{self.learner_.rounds} rows are too few for intervals of coverage {coverage}.")
        return np.array(found)

    def _made(self, loss: Loss) -> OnlineLearner:
        make = one_of(LEARNERS, "learner", self.learner)
        given = {"kernel": self.kernel, "budget": self.budget, **(self.options or {})}
        if self.lam is not None:
            if self.learner == "ensemble":
                raise ValueError(f"lam goes with learner='salami' or 'oskaar', got {self.lam}: leave it out.")
            given["lam"] = self.lam
        made: OnlineLearner = make(loss, **given)
        return made


def _counts(sample_weight: Any, X: Any) -> Any:
    """How often each row comes."""
    weights = _check_sample_weight(sample_weight, X)
    wrong = (weights < 0) | (weights % 1 != 0)
    if wrong.any():
        raise ValueError(
            f"sample_weight must be whole numbers >= 0, got {weights[wrong][0]:g}: a row of weight 2 comes twice in "
            "the stream, one of weight 0 never."
        )
    return weights.astype(int)

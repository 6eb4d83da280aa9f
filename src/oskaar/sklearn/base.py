"""What the estimators share: settings, checked rows, and the learner inside."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from oskaar.learners import OSKAAR, SALAMI, Ensemble, OnlineLearner
from oskaar.learners.params import changed_settings, inner_settings
from oskaar.losses import Loss

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

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Forget everything and learn these rows in turn; all rows count alike, and sample_weight is refused."""
        if refused:
            raise TypeError(
                f"{type(self).__name__}.fit takes X and y, got {', '.join(refused)}: rows of a stream count alike. "
                "Repeat a row that counts twice, and leave out one that does not count."
            )
        with self._whole():
            X, y = self._checked(X, y, reset=True)
            self.learner_ = self._made(self._start(y))
            self.learner_.partial_fit(X, self._encoded(y))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a learner."""
        return hasattr(self, "learner_")

    def __sklearn_tags__(self) -> Any:
        """Sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        checked: tuple[Any, Any] = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", dtype=float, multi_output=True
        )
        return checked

    def _learn(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn rows after those before them."""
        first = not self.__sklearn_is_fitted__()
        with self._whole():
            X, y = self._checked(X, y, reset=first)
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
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=float)
        return self.learner_.predict_many(X)

    def _probabilities(self, X: Any) -> list[Any]:
        """The learner's probabilities for rows, by name."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=float)
        found: list[Any] = self.learner_.predict_proba(X)
        return found

    def _made(self, loss: Loss) -> OnlineLearner:
        make = one_of(LEARNERS, "learner", self.learner)
        given = {"kernel": self.kernel, "budget": self.budget, **(self.options or {})}
        if self.lam is not None:
            if self.learner == "ensemble":
                raise ValueError(f"lam goes with learner='salami' or 'oskaar', got {self.lam}: leave it out.")
            given["lam"] = self.lam
        made: OnlineLearner = make(loss, **given)
        return made

"""What learners share: answers one by one or many at a time, and the scikit-learn face."""

from __future__ import annotations

import copy
import copyreg
import os
from abc import ABC, abstractmethod
from collections.abc import Sized
from typing import Any, Self

import numpy as np

from oskaar import state
from oskaar.features import FeatureMap, Frozen, Nystrom
from oskaar.guards import exclusive, give_lock
from oskaar.inputs import Inputs, as_rounds
from oskaar.kernels import Kernel
from oskaar.learners.params import Parameters
from oskaar.losses import Loss
from oskaar.requirements import require_positive as require_positive
from oskaar.schema import Schema, as_schema


class Predictor(Parameters, ABC):
    """Anything that answers inputs with structures and is judged by a loss."""

    loss: Loss

    _lock: Any
    """One thread at a time."""

    _incomplete = False
    """Whether an error came in the middle of learning a round."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # noqa: D102
        made = super().__new__(cls)
        give_lock(made)
        return made

    @abstractmethod
    def predict_many(self, xs: Any) -> list[Any]:
        """An answer for each x, from the present state, which stays as it is."""

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything and learn these rounds."""

    @property
    def n_features_in_(self) -> int:
        """How many numbers a row has, once that is known; dicts and objects have no such number."""
        width = getattr(getattr(self, "_inputs", None), "width", None)
        if width is None:
            raise AttributeError("n_features_in_ is known after the first row of numbers.")
        return int(width)

    def predict_one(self, x: Any) -> Any:
        """The answer for x, from the present state, which stays as it is."""
        return self.predict_many([x])[0]

    def predict(self, X: Any) -> list[Any]:
        """An answer for each row of X."""
        return self.predict_many(X)

    def score(self, X: Any, y: Any) -> float:
        """Minus the mean loss: larger is better, 0 is perfect for most losses."""
        answers, labels = self.predict_many(X), as_labels(y)
        require_same_length(answers, labels)
        if not labels:
            raise ValueError("score needs at least one round, got none.")
        return 0.0 - float(np.mean([self.loss(z, self.loss.check(y)) for z, y in zip(answers, labels, strict=True)]))

    @exclusive
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all of the learner to a file, for `oskaar.load`.

        The file is replaced in one step: it is the old one or the new one, whole, at any moment. Functions and
        classes that are not oskaar's are written as their import names; lambdas have none and are refused.
        """
        state.save(self, path)

    @exclusive
    def to_bytes(self) -> bytes:
        """All of the learner, for `oskaar.from_bytes`: what `save` would write."""
        return state.to_bytes(self)

    def _check_state(self) -> None:
        """Refuse a state from a file that is not one."""
        state.require_kind(self.loss, Loss, "the loss")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        give_lock(self)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """For pickle: a copy, as others may learn while it is written."""
        return copyreg.__newobj__, (type(self),), self._copied_state({})  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = other = type(self).__new__(type(self))
        other.__setstate__(self._copied_state(memo))
        return other

    def __copy__(self) -> Self:
        """A copy of its own: two learners cannot share what they learn."""
        return copy.deepcopy(self)

    @exclusive
    def _copied_state(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(self.__getstate__(), memo)


def as_labels(ys: Any) -> list[Any]:
    """A list of labels: the rows of an array, numbers as Python numbers."""
    if ys is None:
        raise ValueError("a learner requires y to be passed, but the target y is None: give a label for each input.")
    if hasattr(ys, "tocsr"):
        return as_rounds(ys)
    if hasattr(ys, "to_pylist"):
        return list(ys.to_pylist())
    if hasattr(ys, "to_numpy"):
        ys = ys.to_numpy()
    if isinstance(ys, np.ndarray) and ys.ndim == 1:
        return list(ys.tolist())
    return list(ys)


def require_same_length(xs: Sized, ys: Sized) -> None:
    """One label for each input."""
    if len(xs) != len(ys):
        raise ValueError(f"there must be one label for each input, got {len(xs)} inputs and {len(ys)} labels.")


def require_lam(lam: Any) -> float:
    """A regularisation that makes K + lam I invertible."""
    return require_positive("lam", lam, "K + lam I has to be invertible")


def features_for(kernel: Any, features: Any, budget: Any, ridge: float) -> FeatureMap | None:
    """The feature map that `features=` or `budget=` asks for; None for the exact learner."""
    if budget is None and features is None:
        return None
    if features is None:
        return Nystrom(kernel, budget, ridge=ridge)
    if budget is not None:
        raise ValueError("give features or budget, not both: a budget is Nystrom features of that size.")
    if isinstance(features, type) or not isinstance(features, FeatureMap):
        raise TypeError(f"features must be a FeatureMap, such as features.Nystrom(kernel, 256), got {features!r}.")
    return features


def schema_for(schema: Any, reads: bool) -> Schema | None:
    """The schema of a learner, which has read nothing; None where a kernel or features take rows as they are."""
    if reads:
        return as_schema(schema)
    if schema is not None:
        raise ValueError("schema= is for the default kernels: leave kernel and features out, or the schema.")
    return None


def inputs_for(
    kernels: list[Any],
    maps: list[FeatureMap | None],
    parts: bool,
    keep: bool = False,
    schema: Schema | None = None,
) -> Inputs:
    """The store of rows for a learner: it keeps them for kernels, and for maps that go back to them."""
    keep = keep or any(m is None or getattr(m, "reproject", False) for m in maps)
    asked = [k if m is None else getattr(m, "kernel", m) for k, m in zip(kernels, maps, strict=True)]
    frozen = next((m for m in maps if isinstance(m, Frozen)), None)
    names, schema = (None, schema) if frozen is None else (frozen.names, frozen.schema)
    compare = all(m is None for m in maps)
    return Inputs(*asked, parts=parts, keep=keep, compare=compare, names=names, schema=schema)


def require_kernel(kernel: Any) -> Any:
    """A kernel, a function, a list of them, or None; a name or a class is refused with what to write."""
    if isinstance(kernel, (list, tuple)):
        return [require_kernel(one) for one in kernel] and kernel
    if kernel is None or isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        known = _NAMED.get(kernel.lower(), "kernels.Gaussian(1.0) + 1.0")
        raise TypeError(f"kernel must be a Kernel or a function, got the text {kernel!r}: write {known}.")
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise TypeError(
            f"kernel must be a Kernel, got the class {kernel.__name__}: make one, kernels.{kernel.__name__}()."
        )
    if not callable(kernel):
        raise TypeError(f"kernel must be a Kernel or a function of two inputs, got {kernel!r}: see oskaar.kernels.")
    return kernel


_NAMED = {
    "linear": "kernels.Linear()",
    "poly": "kernels.Polynomial(3)",
    "polynomial": "kernels.Polynomial(3)",
    "laplacian": "kernels.Laplacian(1.0)",
    "matern": "kernels.Matern(1.0)",
    "cosine": "kernels.Cosine()",
}
"""Kernels by the names that scikit-learn has for them; all others are taken for a Gaussian one."""


def require_loss(loss: Any) -> Loss:
    """A loss, not a class of losses or a bare function."""
    if isinstance(loss, Loss):
        return loss
    hint = "make one, as in losses.F1(14)" if isinstance(loss, type) else "wrap a function in losses.LossTrick"
    raise TypeError(f"loss must be a Loss, got {loss!r}: {hint}.")

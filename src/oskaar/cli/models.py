"""Learners by name."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from oskaar import OSKAAR, SALAMI, BatchILE, MostFrequent, RepeatLast, kernels
from oskaar.cli.columns import split
from oskaar.losses import Documents, Loss
from oskaar.losses.vectors import Huber, Pinball, Squared
from oskaar.readers import ReadError

KERNELS = ("gaussian", "laplacian", "matern", "linear", "polynomial", "cosine")
LEARNERS = ("salami", "oskaar", "batch")


def make_kernel(text: str | None, width: int | None) -> Any:
    """A kernel of a name, `gaussian` or `gaussian:0.5`, with an intercept; None is the learner's own.

    width: how many numbers a row has, for a lengthscale that was not given: sqrt(width).

    >>> make_kernel("gaussian:0.5", 4)
    Sum(Gaussian(lengthscale=0.5), Constant(value=1.0))
    """
    if text is None:
        return None
    name, _, size = text.lower().partition(":")
    if name not in KERNELS:
        raise ReadError(f"--kernel must be one of {', '.join(KERNELS)}, got {text!r}.")
    if name in ("linear", "polynomial", "cosine"):
        if size:
            raise ReadError(f"--kernel {name} has no lengthscale, got {text!r}.")
        return getattr(kernels, name.title())() + 1.0
    (scale,) = numbers("--kernel", size) if size else (math.sqrt(width or 1),)
    return getattr(kernels, name.title())(scale) + 1.0


def make_learner(name: str, loss: Loss, options: Any, width: int | None) -> Any:
    """The learner that the options describe."""
    kernel = make_kernel(options.kernel, width)
    lams = numbers("--lam", options.lam) if options.lam is not None else None
    bytes_ = int(options.max_bytes) if options.max_bytes else None
    if name == "salami":
        lam = lams[0] if lams and len(lams) == 1 else lams
        return SALAMI(loss, kernel, lam=lam, budget=options.budget, max_bytes=bytes_)
    if lams and len(lams) > 1:
        raise ReadError(f"--learner {name} takes one lam, got {options.lam}: salami mixes several.")
    if name == "oskaar":
        return OSKAAR(loss, kernel, lam=lams[0] if lams else 1.0, budget=options.budget, max_bytes=bytes_)
    if name != "batch":
        raise ReadError(f"--learner must be one of {', '.join(LEARNERS)}, got {name!r}.")
    if options.budget:
        raise ReadError("--learner batch keeps all rows: --budget goes with salami and oskaar.")
    return Refitted(BatchILE(loss, kernel, lam=lams[0] if lams else 1e-3))


def numbers(option: str, text: str) -> list[float]:
    """Numbers with commas between them.

    >>> numbers("--lam", "0.05,0.5")
    [0.05, 0.5]
    """
    try:
        return [float(part) for part in split(str(text))]
    except ValueError:
        raise ReadError(f"{option} must be a number, or several with commas, got {text!r}.") from None


def make_baselines(loss: Loss) -> dict[str, Any]:
    """Company that ignores x: the last label again, and the most frequent one (for numbers, the mean so far)."""
    if isinstance(loss, Documents):
        return {"as-listed": AsListed()}
    if loss.parts:
        return {"repeat-last": Symbols(loss, last=True), "most-frequent": Symbols(loss)}
    numeric = isinstance(loss, (Squared, Pinball, Huber))
    common = {"mean": MeanSoFar()} if numeric else {"most-frequent": MostFrequent(loss)}
    return {"repeat-last": RepeatLast(loss), **common}


class AsListed:
    """Documents in the order of the file.

    >>> AsListed().predict_one([[0.5], [0.7]])
    (0, 1)
    """

    def predict_one(self, x: Any) -> tuple[int, ...]:
        """0, 1, 2, ..."""
        return tuple(range(len(x)))

    def learn_one(self, x: Any, y: Any) -> None:
        """Nothing."""


class Symbols:
    """The same symbol for every part of a round: the most frequent one so far, or the last one of the round before.

    >>> from oskaar import losses
    >>> model = Symbols(losses.Sequence("ab"))
    >>> model.learn_one(None, "bab")
    >>> model.predict_one([[0.0], [1.0]])
    ('b', 'b')
    """

    def __init__(self, loss: Loss, last: bool = False) -> None:
        self.loss, self._last = loss, last
        self._counts: Counter[Any] = Counter()

    def predict_one(self, x: Any) -> Any:
        """None before the first round."""
        return (self._counts.most_common(1)[0][0],) * len(x) if self._counts else None

    def learn_one(self, x: Any, y: Any) -> None:
        """Count its symbols, or keep the last."""
        if self._last:
            self._counts = Counter(y[-1:])
        else:
            self._counts.update(y)


class MeanSoFar:
    """The mean of the labels seen: what the most frequent label is to numbers.

    >>> model = MeanSoFar()
    >>> for y in ([1.0], [2.0]):
    ...     model.learn_one(None, y)
    >>> model.predict_one(None)
    array([1.5])
    """

    def __init__(self) -> None:
        self._n = 0
        self._mean: Any = None

    def predict_one(self, x: Any) -> Any:
        """None before the first label."""
        return self._mean

    def learn_one(self, x: Any, y: Any) -> None:
        """Move the mean."""
        self._n += 1
        y = np.asarray(y, dtype=float)
        self._mean = y if self._mean is None else self._mean + (y - self._mean) / self._n


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
        """Keep the round; fit where it is time."""
        self._xs.append(x)
        self._ys.append(y)
        if len(self._ys) >= 1.1 * self._fitted:
            self.model.fit(self._xs, self._ys)
            self._fitted = len(self._ys)

    def __repr__(self) -> str:
        return f"Refitted({self.model!r})"

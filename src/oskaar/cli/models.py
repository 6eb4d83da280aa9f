"""The learners and kernels that options name, and the baselines beside them."""

from __future__ import annotations

import math
from typing import Any

from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, MostFrequent, RepeatLast, kernels
from oskaar.cli.settings import columns_kinds
from oskaar.learners.baselines import AsListed, LeftHead, MeanSoFar
from oskaar.learners.batch import Refitted
from oskaar.losses import DependencyTree, Documents, Loss
from oskaar.losses.vectors import Absolute, Huber, Pinball, Squared
from oskaar.tabular import ReadError
from oskaar.tabular.round_options import split

KERNELS = ("gaussian", "laplacian", "matern", "linear", "polynomial", "cosine")
LEARNERS = ("ensemble", "salami", "oskaar", "batch")


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
    kinds: Any = {"schema": columns_kinds(options.kinds)} if options.kinds else {}
    if kinds and kernel is not None:
        raise ReadError("--as goes with the default kernels: leave out --kernel.")
    if name == "ensemble":
        if lams:
            raise ReadError("--lam goes with --learner salami and oskaar: the ensemble mixes several of its own.")
        return Ensemble(loss, kernel, budget=options.budget, max_bytes=bytes_, **kinds)
    if name == "salami":
        grid: Any = {"lam": lams} if lams else {}
        return SALAMI(loss, kernel, budget=options.budget, max_bytes=bytes_, **grid, **kinds)
    if lams and len(lams) > 1:
        raise ReadError(f"--learner {name} takes one lam, got {options.lam}: salami mixes several.")
    if name == "oskaar":
        return OSKAAR(loss, kernel, lam=lams[0] if lams else 1.0, budget=options.budget, max_bytes=bytes_, **kinds)
    if name != "batch":
        raise ReadError(f"--learner must be one of {', '.join(LEARNERS)}, got {name!r}.")
    if options.budget:
        raise ReadError("--learner batch keeps all rows: --budget goes with ensemble, salami and oskaar.")
    return Refitted(BatchILE(loss, kernel, lam=lams[0] if lams else 1e-3, **kinds))


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
    """The last label again, and the most frequent one (for numbers, the mean so far).

    Queries and sentences have no last label that would fit: documents stay in the order of the file, and each word
    of a tree hangs on the one before it.
    """
    if isinstance(loss, Documents):
        return {"as-listed": AsListed()}
    if isinstance(loss, DependencyTree):
        return {"head-to-the-left": LeftHead()}
    numeric = isinstance(loss, (Squared, Absolute, Pinball, Huber))
    common = {"mean": MeanSoFar()} if numeric else {"most-frequent": MostFrequent(loss)}
    return {"repeat-last": RepeatLast(loss), **common}

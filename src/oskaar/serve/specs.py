"""Learners out of JSON: classes of oskaar by name, with keyword arguments, and nothing else.

    {"loss": {"name": "ZeroOne", "classes": ["a", "b"]},
     "learner": {"name": "OSKAAR", "budget": 128,
                 "kernel": {"name": "Sum", "left": {"name": "Gaussian"}, "right": {"name": "Constant", "value": 1}}}}

An argument that is an object with a name is made in the same way. No name leads to code that is not listed here.
`canonical` takes the names of the command line, too: zeroone, oskaar.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from oskaar import OSKAAR, SALAMI, Ensemble, features, kernels, losses
from oskaar.learners.learner import OnlineLearner
from oskaar.losses import Loss
from oskaar.serve.errors import Refused

LEARNERS: dict[str, type[OnlineLearner]] = {"Ensemble": Ensemble, "OSKAAR": OSKAAR, "SALAMI": SALAMI}
FUNCTIONS = ("dtw", "edit_distance", "normalised_dtw", "normalised_edit_distance")
"""What `LossTrick` may be given as `delta`."""

NOT_LISTED = ("Loss", "SubsetLoss", "Space", "KemenyGap", "Kernel", "Stationary", "Pairwise", "Rowwise", "FeatureMap")
"""Base classes, and kernels that are functions."""

RESERVED = ("loss", "max_bytes", "experts")
"""Arguments of learners that a request cannot set."""

LARGEST = 1_000_000
"""No whole number in a specification is larger: they are sizes, and memory would follow."""


@cache
def classes() -> dict[str, dict[str, Any]]:
    """The classes that may be named: losses, kernels and features."""
    return {
        "loss": _listed(losses, Loss),
        "kernel": _listed(kernels, kernels.Kernel),
        "features": _listed(features, features.FeatureMap),
    }


def _listed(module: Any, kind: type) -> dict[str, Any]:
    found = {name: getattr(module, name) for name in module.__all__ if name not in NOT_LISTED}
    return {name: one for name, one in found.items() if inspect.isclass(one) and issubclass(one, kind)}


@cache
def _names() -> dict[str, str]:
    """Names as the command line writes them, to those of the classes."""
    known = [*LEARNERS, *(name for kind in classes().values() for name in kind)]
    return {name.lower(): name for name in known}


def canonical(spec: Any, depth: int = 0) -> Any:
    """A specification with the names of the classes, where those of the command line were given.

    >>> canonical({"loss": {"name": "zeroone"}, "learner": {"name": "oskaar", "kernel": {"name": "gaussian"}}})
    {'loss': {'name': 'ZeroOne'}, 'learner': {'name': 'OSKAAR', 'kernel': {'name': 'Gaussian'}}}
    """
    if not isinstance(spec, dict) or depth > 16:
        return spec
    found = {key: canonical(value, depth + 1) for key, value in spec.items()}
    if isinstance(spec.get("name"), str):
        found["name"] = _names().get(spec["name"].lower(), spec["name"])
    return found


def make_loss(spec: Any) -> Loss:
    """A loss.

    >>> make_loss({"name": "ZeroOne", "classes": ["a", "b"]})
    ZeroOne(['a', 'b'])
    """
    loss: Loss = _made(spec, "loss", "loss", 0)
    return loss


def make_learner(spec: Any) -> OnlineLearner:
    """A learner that has seen nothing, out of {"loss": ..., "learner": ..., "max_open": ...}.

    >>> make_learner({"loss": {"name": "F1", "n_labels": 3}, "learner": {"name": "OSKAAR", "lam": 0.1}})
    OSKAAR(F1(3), kernel=None, lam=0.1)
    """
    if not isinstance(spec, dict) or not isinstance(spec.get("loss"), dict):
        raise Refused('a stream needs a loss, such as {"loss": {"name": "ZeroOne", "classes": ["a", "b"]}}.', "spec")
    loss = make_loss(spec["loss"])
    wanted = {"name": "Ensemble"} if spec.get("learner") is None else spec["learner"]
    if not isinstance(wanted, dict) or str(wanted.get("name")) not in LEARNERS:
        raise Refused(
            f"learner must be an object with a name out of {', '.join(LEARNERS)}, got {wanted!r:.100}.", "spec"
        )
    taken = sorted(set(wanted) & set(RESERVED))
    if taken:
        raise Refused(f"learner: {taken[0]} cannot be set by a request: the service has limits of its own.", "spec")
    learner: OnlineLearner = _call(LEARNERS[wanted["name"]], (loss,), _arguments(wanted, "learner", 0), "learner")
    if spec.get("max_open", 0) > learner.max_open:  # or it would drop the oldest
        learner.max_open = spec["max_open"]
    return learner


def _made(spec: Any, kind: str, where: str, depth: int) -> Any:
    known = classes()[kind]
    if depth > 8:
        raise Refused(f"{where} is nested more than 8 deep.", "spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str) or spec["name"] not in known:
        raise Refused(
            f"{where} must be an object with a name out of {', '.join(sorted(known))}, got {spec!r:.100}.", "spec"
        )
    return _call(known[spec["name"]], (), _arguments(spec, where, depth), where)


def _arguments(spec: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
    return {name: _argument(value, name, f"{where}.{name}", depth) for name, value in spec.items() if name != "name"}


def _argument(value: Any, name: str, where: str, depth: int) -> Any:
    if isinstance(value, dict):
        if "name" not in value:
            return {key: _argument(each, key, f"{where}.{key}", depth + 1) for key, each in value.items()}
        kind = next(
            (kind for kind, known in classes().items() if str(value["name"]) in known and _fits(kind, name)), "kernel"
        )
        return _made(value, kind, where, depth + 1)
    if isinstance(value, list):
        if depth > 8:
            raise Refused(f"{where} is nested more than 8 deep.", "spec")
        return [_argument(each, name, where, depth + 1) for each in value]
    if isinstance(value, int) and abs(value) > LARGEST:
        raise Refused(f"{where} must be at most {LARGEST}, got {value}.", "spec")
    if name in ("delta", "label_kernel") and isinstance(value, str):
        if value not in FUNCTIONS:
            raise Refused(f"{where} must be one of {', '.join(FUNCTIONS)}, got {value!r:.60}.", "spec")
        return getattr(losses, value)
    return value


def _fits(kind: str, argument: str) -> bool:
    """Whether an argument of this name is of that kind: `Linear` and `Standardised` are kernels and features."""
    return (kind == "features") == (argument in ("features", "map", "inner"))


def _call(made: Any, first: tuple[Any, ...], arguments: dict[str, Any], where: str) -> Any:
    known = [name for name in inspect.signature(made).parameters if name not in ("args", "kwargs")]
    other = sorted(set(arguments) - set(known))
    if other:
        asked = ", ".join(name for name in known if name not in RESERVED)
        raise Refused(f"{where}: {made.__name__} has no argument {other[0]!r:.60}, it has {asked}.", "spec")
    try:
        return made(*first, **arguments)
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"{where}: {error}", "spec") from error

"""The settings of a learner for scikit-learn: `get_params`, `set_params`, tags.

Nothing here needs scikit-learn: settings are the constructor's arguments, kept under their own names unchanged.
A kernel, a feature map or a loss inside has settings too, named with two underscores: `kernel__lengthscale`,
`kernel__left__lengthscale` for a sum, `loss__beta`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, Self

from oskaar.features import FeatureMap
from oskaar.kernels import Kernel
from oskaar.losses import Loss

PLAIN = (bool, int, float, str, type(None))
"""What a setting of a loss may be, to be set by itself."""


LABELS = frozenset({"n_labels", "n_symbols", "n_items", "alphabet", "classes", "levels", "dim", "low", "high"})
"""Settings of a loss that say what the labels are: they cannot be changed by themselves."""


class Parameters:
    """Settings that can be read, and changed by making the learner anew."""

    _lock: Any

    _kept_as: Mapping[str, str] = {"schema": "_given_schema"}
    """Settings that are kept under another name: `learner.schema` is the one that was read."""

    _derived: tuple[str, ...] = ()
    """Attributes that follow from settings."""

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to change a setting in place: what was learned with the old one would be taken for the new one's."""
        kind: Any = type(self)
        if name in _kept(kind):
            kept = self._kept_as.get(name, name)
            if kept in self.__dict__:
                raise AttributeError(
                    f"{name} must not be changed on a learner, which has learned with {self.__dict__[kept]!r}: "
                    f"set_params(...) changes settings, and forgets what was learned."
                )
        object.__setattr__(self, name, value)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments as they were given; deep: with those of kernels, features and losses.

        >>> from oskaar import OSKAAR, kernels, losses
        >>> OSKAAR(losses.F1(3), kernels.Gaussian(2.0)).get_params()["kernel__lengthscale"]
        2.0
        """
        with self._lock:
            own = {name: getattr(self, self._kept_as.get(name, name)) for name in _arguments(type(self))}
        return {**own, **inner_settings(own)} if deep else own

    def set_params(self, **params: Any) -> Self:
        """Change settings; the learner forgets what it learned. Settings that are refused change nothing.

        >>> from oskaar import OSKAAR, kernels, losses
        >>> OSKAAR(losses.F1(3), kernels.Gaussian(2.0) + 1.0).set_params(kernel__left__lengthscale=0.5, lam=0.1)
        OSKAAR(F1(3), kernel=Sum(Gaussian(lengthscale=0.5), Constant(value=1.0)), lam=0.1)
        """
        if params:
            with self._lock:
                fresh = type(self)(**changed_settings(type(self).__name__, self.get_params(deep=False), params))
                self.__dict__.update({**fresh.__dict__, "_lock": self._lock})  # in one step
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """True: an online learner answers from the start."""
        return True

    def __sklearn_tags__(self) -> Any:
        """scikit-learn's tags; neither a classifier nor a regressor, as y is a structure."""
        from sklearn.utils import InputTags, Tags, TargetTags

        gaps = getattr(self, "_unread", None) is not None  # missing values are read, but for kernels of one's own
        inputs = InputTags(sparse=True, dict=True, string=True, categorical=gaps, allow_nan=gaps)
        target = TargetTags(required=True, single_output=False)
        return Tags(estimator_type=None, target_tags=target, input_tags=inputs, requires_fit=False)


@cache
def _kept(kind: Any) -> frozenset[str]:
    """What stays as it was made: all settings but the limit on memory, and what follows from them."""
    return frozenset({*_arguments(kind), *kind._derived} - {"max_bytes"})


def _arguments(kind: type) -> dict[str, inspect.Parameter]:
    """The constructor's arguments by name."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p for p in inspect.signature(kind).parameters.values() if p.kind in named}


def _settings(part: Any) -> dict[str, Any]:
    """The settings that can be changed by themselves; those of a loss that say what the labels are cannot."""
    if not isinstance(part, (Kernel, FeatureMap, Loss)):
        return {}
    arguments = _arguments(type(part))
    if not all(hasattr(part, name) for name in arguments):
        return {}
    found = {name: _given(part, name) for name in arguments}
    if isinstance(part, Loss):
        optional = {name for name, p in arguments.items() if p.default is not p.empty} - LABELS
        found = {name: value for name, value in found.items() if name in optional and isinstance(value, PLAIN)}
    return found


def inner_settings(own: dict[str, Any]) -> dict[str, Any]:
    """Settings of the parts, by their long names."""
    found: dict[str, Any] = {}
    for name, part in own.items():
        settings = _settings(part)
        found |= {f"{name}__{key}": value for key, value in {**settings, **inner_settings(settings)}.items()}
    return found


def changed_settings(whose: str, own: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """All arguments, after changes that may reach into parts; whole parts are set before what is inside them."""
    after, inside = dict(own), dict[str, dict[str, Any]]()
    for key, value in changes.items():
        name, _, rest = key.partition("__")
        if name not in own:
            raise ValueError(f"{whose} has no setting {name!r}: it must be one of {', '.join(own)}.")
        if rest:
            inside.setdefault(name, {})[rest] = value
        else:
            after[name] = value
    return after | {name: _rebuilt(name, after[name], several) for name, several in inside.items()}


def _rebuilt(name: str, part: Any, changes: dict[str, Any]) -> Any:
    """A part with some settings changed; the part itself is a value and stays as it is."""
    settings = _settings(part)
    if not settings:
        raise ValueError(f"{name} = {part!r} has no settings that can be changed by themselves: give {name}= whole.")
    changed = changed_settings(f"{name} = {part!r}", settings, changes)
    return type(part)(**{key: _given(part, key) for key in _arguments(type(part))} | changed)


def _given(part: Any, name: str) -> Any:
    """An argument as it was given: the attribute of its name, unless `arguments` says otherwise."""
    return getattr(part, "arguments", {}).get(name, getattr(part, name))

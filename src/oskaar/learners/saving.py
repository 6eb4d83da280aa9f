"""Learners from files. `learner.save(path)` and `learner.to_bytes()` write them (docs/state.md)."""

from __future__ import annotations

import os
from typing import Any

from oskaar import state
from oskaar.learners.base import Predictor
from oskaar.state.names import Allowed


def load(path: str | os.PathLike[str], allow: Allowed = None, max_bytes: int | None = None) -> Any:
    """The learner that `learner.save(path)` or `oskaar learn --model` wrote; it goes on bit for bit as it was.

    allow: modules whose classes and functions the file may name, such as ["mypackage.losses"], or the things
        themselves, as {"mypackage.losses:turns": turns}. Needed for a loss, a kernel or a learner of one's own;
        oskaar's need nothing.
    max_bytes: read no file that takes more memory; None is 128 MiB, or a multiple of the size of the file where
        that is more (docs/state.md).

    Nothing in the file is executed. A file that is damaged, hostile or of a newer format is a `StateError`.

    >>> import tempfile, os
    >>> from oskaar import OSKAAR, losses
    >>> learner = OSKAAR(losses.F1(3), lam=0.1).partial_fit([[0.0], [1.0]], [{0}, {1, 2}])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     learner.save(os.path.join(folder, "tags.oskaar"))
    ...     again = load(os.path.join(folder, "tags.oskaar"))
    >>> sorted(again.predict_one([0.9])), again.rounds
    ([1, 2], 2)
    """
    return _checked(state.load(path, allow, max_bytes))


def from_bytes(data: bytes, allow: Allowed = None, max_bytes: int | None = None) -> Any:
    """The learner that `learner.to_bytes()` made; as `load`.

    >>> from oskaar import OSKAAR, losses
    >>> from_bytes(OSKAAR(losses.ZeroOne("ab")).to_bytes())
    OSKAAR(ZeroOne(['a', 'b']), kernel=None, lam=1)
    """
    return _checked(state.from_bytes(data, allow, max_bytes))


def _checked(thing: Any) -> Any:
    if isinstance(thing, dict) and "learner" in thing:  # of the command line, with how its file was read
        thing = thing["learner"]
    if not isinstance(thing, Predictor):
        raise state.StateError(f"the file must hold a learner, it holds a {type(thing).__name__}.")
    try:
        thing._check_state()
    except (state.StateError, MemoryError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error!s:.200}"
        raise state.StateError(f"the file is not the state of a learner: {reason}") from error
    return thing

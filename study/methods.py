"""A method of the study, whoever wrote it: losses of a stream, round after round, each answered before its label."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oskaar.losses import Loss
from study.peers.lags import with_lag
from study.peers.refitting import Refitted
from study.protocol import KINDS, Model, Peer, Stream, always

ROLES = ("ours", "peer", "baseline", "hindsight")
"""`hindsight` looks ahead: it is shown, and compared with nothing."""


def never(stream: Stream, setting: Mapping[str, Any]) -> bool:
    """No setting is left out."""
    return False


@dataclass(frozen=True)
class Method:
    """`losses(stream, setting, seed)` yields arrays of losses, of one round or of many."""

    name: str
    package: str
    role: str
    kinds: tuple[str, ...]
    settings: tuple[Mapping[str, Any], ...]
    losses: Callable[[Stream, Mapping[str, Any], int], Iterator[Any]]
    fits: Callable[[Stream], bool] = always
    skips: Callable[[Stream, Mapping[str, Any]], bool] = never
    """Settings that mean nothing on a stream."""
    warm: Callable[[Stream, int], Any] = lambda stream, seed: None
    """Imports what is needed, before time and memory are measured."""


def first_answer(loss: Loss, x: Any) -> Any:
    """What an oskaar learner that knows nothing says: it stands for a model's None."""
    space = loss.space()
    return space.decode_round(np.zeros((x.shape[0] if loss.parts else 1, space.p)))


def in_turn(model: Model, stream: Stream) -> Iterator[Any]:
    """Predict, judge, learn; a model that is refitted answers all rounds until its next fit at once."""
    loss, t = stream.loss, 0
    while t < len(stream):
        xs, ys = [stream.x(t)], stream.ys[t : t + 1]
        if isinstance(model, Refitted):  # it is the same until its next fit
            ys = stream.ys[t : max(t + 1, model.due)]
            xs = [stream.x(t + i) for i in range(len(ys))]
            zs = model.predict_many(xs)
        else:
            zs = [model.predict_one(xs[0])]
        yield [loss(first_answer(loss, x) if z is None else z, y) for x, y, z in zip(xs, ys, zs, strict=True)]
        for x, y in zip(xs, ys, strict=True):
            model.learn_one(x, y)
        t += len(ys)


def of_peer(peer: Peer) -> Method:
    """A peer as a method."""

    def losses(stream: Stream, setting: Mapping[str, Any], seed: int) -> Iterator[Any]:
        stream = with_lag(stream)
        yield from in_turn(peer.make(stream, setting, seed), stream)

    def warm(stream: Stream, seed: int) -> None:
        peer.make(with_lag(stream), peer.settings[0], seed)

    unknown = set(peer.kinds) - set(KINDS)
    if unknown:
        raise ValueError(f"{peer.name} names kinds that there are not: {sorted(unknown)}.")
    return Method(peer.name, peer.package, "peer", peer.kinds, peer.settings, losses, peer.fits, warm=warm)


def all_methods() -> dict[str, Method]:
    """Every method of the study, by name: ours, the baselines, the peers."""
    from study.baselines import BASELINES
    from study.ours import OURS
    from study.peers import PEERS

    found = [*OURS, *BASELINES, *map(of_peer, PEERS)]
    names = [method.name for method in found]
    if len(set(names)) < len(names):
        raise ValueError(f"names of methods must differ, got {names}.")
    return dict(zip(names, found, strict=True))

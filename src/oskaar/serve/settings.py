"""The settings of a service, with their limits and defaults."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What a service takes; past each there is an error that names it."""

    body: int = 8 * MIB
    """Bytes of a request."""
    width: int = 10_000
    """Numbers or names in one x, and items in one y."""
    batch: int = 1000
    """Lines of a batch."""
    streams: int = 10_000
    tickets: int = 10_000
    """Open tickets of a stream."""
    waiting: int = 1000
    """Operations of a stream that wait for their turn, and predictions of the service."""
    watchers: int = 64
    """Pages that are open."""
    log: int = 1024 * MIB
    """Bytes of the log that no checkpoint covers yet, all streams together."""
    memory: int = 2048 * MIB
    """Bytes of all learners in memory: past it, those used least recently are kept on disk alone."""
    stream_memory: int = 1024 * MIB
    """Bytes of one learner: past it, the stream learns no more."""
    disk: int | None = None
    """Bytes of the database; None for as many as the disk has."""
    keys: int = 100_000
    """Idempotency keys that a stream remembers, at least."""


@dataclass(frozen=True)
class Pace:
    """When checkpoints are written: there is enough to replay, and writing takes a twentieth of the time at most."""

    rounds: int = 1000
    """Operations since the last one, at least."""
    share: int = 20
    """Time spent on operations since the last one, in units of what writing took."""
    most: int = 100_000
    """Operations since the last one, at the most."""
    pause: float = 0.025
    """CPU seconds of a copy, for which answers wait; learners that take longer are rebuilt from the log instead."""
    large: int = 32 * MIB
    """Bytes of a learner that is never copied."""

"""Counts of requests and their times, and all metrics for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oskaar.serve.service import Service

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds."""


class Requests:
    """Requests by route: how many, with which status, and how long they took.

    >>> requests = Requests()
    >>> requests.add("ask", 200, 0.003)
    >>> [line for line in requests.lines() if "0.005" in line]
    ['oskaar_request_seconds_bucket{route="ask",le="0.005"} 1']
    """

    def __init__(self) -> None:
        self.total = 0
        self._statuses: dict[tuple[str, int], int] = {}
        self._times: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    def add(self, route: str, status: int, seconds: float) -> None:
        self.total += 1
        self._statuses[route, status] = self._statuses.get((route, status), 0) + 1
        counts = self._times.setdefault(route, [0] * (len(BUCKETS) + 1))
        counts[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def lines(self) -> Iterator[str]:
        yield "# TYPE oskaar_requests_total counter"
        for (route, status), count in sorted(self._statuses.items()):
            yield f'oskaar_requests_total{{route="{route}",status="{status}"}} {count}'
        yield "# TYPE oskaar_request_seconds histogram"
        for route, counts in sorted(self._times.items()):
            for i, bound in enumerate(BUCKETS):
                yield f'oskaar_request_seconds_bucket{{route="{route}",le="{bound:g}"}} {sum(counts[: i + 1])}'
            yield f'oskaar_request_seconds_bucket{{route="{route}",le="+Inf"}} {sum(counts)}'
            yield f'oskaar_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'oskaar_request_seconds_count{{route="{route}"}} {sum(counts)}'


def lines(service: Service, requests: Requests, watchers: int, sees: Callable[[str], bool]) -> Iterator[str]:
    """All metrics, in the text format of Prometheus; of the streams whose names may be seen."""
    yield from requests.lines()
    writer, disk = service.writer, service.store.disk()
    single: dict[str, tuple[str, float]] = {
        "oskaar_ready": ("gauge", int(service.ready)),
        "oskaar_streams": ("gauge", len(service.streams)),
        "oskaar_watchers": ("gauge", watchers),
        "oskaar_commits_total": ("counter", writer.commits),
        "oskaar_commit_failures_total": ("counter", writer.failures),
        "oskaar_operations_total": ("counter", writer.operations),
        "oskaar_log_bytes": ("gauge", service.log_bytes),
        "oskaar_learner_bytes": ("gauge", service.bytes),
        "oskaar_checkpoint_pause_seconds_max": ("gauge", service.longest_pause),
        "oskaar_start_time_seconds": ("gauge", service.started),
        **{f"oskaar_disk_{name}_bytes": ("gauge", size) for name, size in disk.items()},
    }
    for name, (kind, value) in single.items():
        yield f"# TYPE {name} {kind}"
        yield f"{name} {value:.10g}"
    per_stream: dict[str, tuple[str, Any]] = {
        "oskaar_stream_rounds_total": ("counter", lambda s: s.rounds),
        "oskaar_stream_loss_total": ("counter", lambda s: s.total_loss),
        "oskaar_stream_open_tickets": ("gauge", lambda s: s.open_tickets),
        "oskaar_stream_waiting": ("gauge", lambda s: s.waiting),
        "oskaar_stream_damaged": ("gauge", lambda s: int(s.problem is not None)),
        "oskaar_stream_operations_since_checkpoint": ("gauge", lambda s: s.applied - s.checkpoints.seq),
    }
    streams = [stream for stream in service.streams.values() if sees(stream.name)]
    for name, (kind, read) in per_stream.items():
        yield f"# TYPE {name} {kind}"
        for stream in streams:
            yield f'{name}{{stream="{stream.name}"}} {read(stream):.10g}'

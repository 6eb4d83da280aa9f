"""The last labels as inputs: they are known before the round."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from oskaar.tabular.readers import Record


def lag_names(y: list[str], n: int) -> list[str]:
    """The names of the columns.

    >>> lag_names(["wind"], 2)
    ['wind_lag1', 'wind_lag2']
    """
    return [f"{name}_lag{k}" for k in range(1, n + 1) for name in y]


def with_lags(records: Iterator[Record], y: list[str], n: int, start: Any, delay: int = 0) -> Iterator[Record]:
    """The records with the labels of the n records before them that had one; before there are any, `start`.

    delay: a label is known after so many more records.

    >>> rows = [Record(1, {"y": 5}), Record(2, {"y": None}), Record(3, {"y": 7}), Record(4, {"y": 8})]
    >>> [record.cells["y_lag1"] for record in with_lags(iter(rows), ["y"], 1, 0)]
    [0, 5, 5, 7]
    >>> [list(record.cells.values())[1:] for record in with_lags(iter(rows), ["y"], 2, 0)]
    [[0, 0], [5, 0], [5, 0], [7, 5]]
    >>> [record.cells["y_lag1"] for record in with_lags(iter(rows), ["y"], 1, 0, delay=2)]
    [0, 0, 0, 5]
    """
    past: deque[dict[str, Any]] = deque([dict.fromkeys(y, start)] * n, maxlen=n)
    names, waiting = lag_names(y, n), deque[dict[str, Any]]()
    for record in records:
        before = [past[-k][name] for k in range(1, n + 1) for name in y]
        yield record._replace(cells={**record.cells, **dict(zip(names, before, strict=True))})
        waiting.append({name: record.cells.get(name) for name in y})
        label = waiting.popleft() if len(waiting) > delay else {"": None}
        if None not in label.values():
            past.append(label)

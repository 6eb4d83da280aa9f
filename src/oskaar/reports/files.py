"""Where a report goes, and what it needs: both are known before a long run begins."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import IO

from oskaar.state.writing import replaced


def require_plotly() -> None:
    """Figures need plotly."""
    if find_spec("plotly") is None:
        raise ValueError("a report needs plotly, which is not installed: pip install 'oskaar[report]'.")


class Destination:
    """A file to be, which is the old one until the new one is whole. Raises ValueError where it cannot be written.

    >>> Destination("no such folder/report.html")
    Traceback (most recent call last):
    ...
    ValueError: the report no such folder/report.html cannot be written: No such file or directory.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with contextlib.suppress(_Possible), self._replaced():
            raise _Possible

    def write(self, content: str) -> None:
        """All of it, or nothing."""
        with self._replaced() as file:
            file.write(content.encode("utf-8"))

    @contextlib.contextmanager
    def _replaced(self) -> Iterator[IO[bytes]]:
        try:
            with replaced(self.path) as file:
                yield file
        except OSError as error:
            raise ValueError(f"the report {self.path} cannot be written: {error.strerror}.") from None


class _Possible(Exception):
    """A file can be written, and is not."""

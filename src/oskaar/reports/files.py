"""Where a report goes, and what it needs: both are known before a long run begins."""

from __future__ import annotations

import contextlib
import os
import secrets
from importlib.util import find_spec


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
        self._target = os.path.realpath(self.path)
        if os.path.exists(self._target) and not os.path.isfile(self._target):
            raise ValueError(f"the report {self.path} cannot be written: it is there and is not a file.")
        folder, name = os.path.split(self._target)
        self._beside = os.path.join(folder, f".{name}.{secrets.token_hex(6)}.tmp")
        self._write("")  # is it possible?
        os.unlink(self._beside)

    def write(self, content: str) -> None:
        """All of it, or nothing."""
        try:
            self._write(content)
            os.replace(self._beside, self._target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(self._beside)
            raise

    def _write(self, content: str) -> None:
        try:
            with open(self._beside, "x", encoding="utf-8") as file:
                file.write(content)
        except OSError as error:
            raise ValueError(f"the report {self.path} cannot be written: {error.strerror}.") from None

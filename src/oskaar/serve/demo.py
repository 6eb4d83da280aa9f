"""`oskaar serve --demo`: a thread that asks and tells a made-up stream.

Questions come a few times a second; labels come late, some never, and what they mean changes now and then.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np

from oskaar.serve.client import Client
from oskaar.serve.errors import Conflict, ServeError

NAME, COLOURS = "demo", ["red", "green", "blue", "grey"]
CHANGE = 400
"""Rounds between two changes."""


class Demo:
    """A thread that asks and tells until it is stopped."""

    def __init__(self, url: str, token: str | None) -> None:
        self._learner = Client(url, token, NAME, retries=60)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="demo", daemon=True)

    def __enter__(self) -> Demo:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()

    def _run(self) -> None:
        learner = {"name": "Ensemble", "budget": 64}
        try:
            with contextlib.suppress(Conflict):  # one of that name is there: go on with it
                self._learner.create({"name": "ZeroOne", "classes": COLOURS}, learner)
            self._ask_and_tell()
        except (ServeError, OSError):
            if not self._stop.is_set():
                raise

    def _ask_and_tell(self) -> None:
        rng, waiting = np.random.default_rng(), list[tuple[int, str]]()
        t = self._learner.rounds
        while not self._stop.wait(0.15):
            x = rng.normal(size=3).round(3)
            ticket, _ = self._learner.ask({"width": x[0], "height": x[1], "weight": x[2]})
            waiting.append((ticket, _label(x, t // CHANGE)))
            if len(waiting) > 5:
                ticket, y = waiting.pop(rng.integers(len(waiting)))
                if rng.random() < 0.03:
                    self._learner.forget(ticket)
                else:
                    self._learner.tell(ticket, y)
                t += 1


def _label(x: Any, phase: int) -> str:
    weights = np.random.default_rng(phase % 3).normal(size=(3, len(COLOURS)))
    return COLOURS[int(np.argmax(x @ weights))]

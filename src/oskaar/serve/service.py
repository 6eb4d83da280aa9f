"""The service: all streams of a folder, the threads that work for them, and the limits that they keep together."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from oskaar import __version__
from oskaar.serve.core import Core
from oskaar.serve.errors import Conflict, NotFound, Refused, TooBusy
from oskaar.serve.operations import encode
from oskaar.serve.settings import Limits, Pace
from oskaar.serve.specs import canonical, make_learner
from oskaar.serve.store import Saved, Store
from oskaar.serve.stream import Stream
from oskaar.serve.writer import Writer

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Service:
    """Streams by name. Methods are for the event loop, unless they say otherwise."""

    def __init__(
        self, folder: str | os.PathLike[str], limits: Limits | None = None, pace: Pace | None = None
    ) -> None:
        self.limits, self.pace = limits or Limits(), pace or Pace()
        self.store = Store(folder, self.limits.disk)
        self.writer = Writer(self.store)
        threads = (os.cpu_count() or 1) + 2
        self.workers, self.readers = ThreadPoolExecutor(threads, "worker"), ThreadPoolExecutor(threads, "reader")
        self.background = ThreadPoolExecutor(1, "checkpoints")
        self.loop: asyncio.AbstractEventLoop = None  # type: ignore[assignment]
        self.started = time.time()
        self.closing = self.ready = False
        self.predicting = 0
        self.longest_pause = 0.0
        """Seconds that a copy for a checkpoint has held up answers, at the most."""
        self._balancing = threading.Lock()
        self._summed = 0.0, 0
        if self.store.cut_short:
            self.say(
                "warning",
                "the last commit in the write-ahead log is not whole, and is left out: power was lost "
                "before it was answered, or the file was damaged since.",
            )
        self.writer.change(self.store.clean).result()
        found = self.store.streams()
        self.streams = {saved.name: Stream(self, saved) for saved in found}
        for saved in found:
            if saved.last > saved.seq and saved.oskaar != __version__:
                other = f"by oskaar {saved.oskaar or 'of an older version'}, and are done again by {__version__}"
                self.say("warning", f"the last operations of {saved.name!r} were answered {other}.")

    async def start(self) -> None:
        """Take requests; streams with operations that no checkpoint has are recovered, beside other work."""
        self.loop = asyncio.get_running_loop()
        self._making = asyncio.Lock()
        waiting = [s.later(lambda core: None) for s in self.streams.values() if s.logged > s.checkpoints.seq]
        self._recovery = asyncio.create_task(self._recovered([asyncio.wrap_future(each) for each in waiting]))

    async def _recovered(self, waiting: list[asyncio.Future[Any]]) -> None:
        await asyncio.gather(*waiting, return_exceptions=True)
        self.ready = True

    async def close(self) -> None:
        """Finish what was taken, write a checkpoint of every stream that needs one, and leave the folder."""
        self.closing = True
        while any(stream.waiting for stream in self.streams.values()):
            await asyncio.sleep(0.01)
        await self._recovery
        dirty = [s for s in self.streams.values() if s.core is not None and s.core.seq > s.checkpoints.seq]
        await asyncio.to_thread(self.background.shutdown)
        await asyncio.gather(
            *(asyncio.wrap_future(s.later(s.checkpoints.now)) for s in dirty), return_exceptions=True
        )
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        self.workers.shutdown()
        self.readers.shutdown()
        self.writer.close()
        self.store.close()

    # ---------------------------------------------------------------- streams

    def stream(self, name: str) -> Stream:
        if name not in self.streams:
            raise NotFound(f"there is no stream {name!r:.120}: PUT /streams/{{name}} makes one.")
        return self.streams[name]

    async def create(self, name: str, spec: Any) -> tuple[Stream, bool]:
        """A stream with this specification, and whether it is new; the same again is no error."""
        if not NAME.fullmatch(name):
            raise Refused(f"a name has 1 to 100 letters, digits, '.', '_' and '-', got {name!r:.120}.", "name")
        written = self._checked(spec)
        async with self._making:
            stream = self.streams.get(name)
            if stream is not None and stream.spec != written:
                raise Conflict(f"there is a stream {name!r} with another loss or learner: delete it first.", "exists")
            if stream is not None:
                return stream, False
            if len(self.streams) >= self.limits.streams:
                raise Conflict(f"there are {len(self.streams)} streams, which is the limit.", "streams")
            created = time.time()
            id = await asyncio.wrap_future(self.writer.change(lambda: self.store.add_stream(name, written, created)))
            self.streams[name] = Stream(self, Saved(id, name, written, created, 0, None, None, __version__, 0, 0))
            return self.streams[name], True

    def _checked(self, spec: Any) -> bytes:
        if not isinstance(spec, dict) or set(spec) - {"loss", "learner", "max_open"}:
            raise Refused("a stream is an object with loss, learner and max_open.", "spec")
        most = spec.get("max_open", self.limits.tickets)
        if type(most) is not int or not 1 <= most <= self.limits.tickets:
            raise Refused(
                f"max_open must be a whole number from 1 to {self.limits.tickets}, got {most!r:.60}.", "spec"
            )
        learner = spec.get("learner") or {"name": "Ensemble"}
        whole = canonical({"loss": spec.get("loss"), "learner": learner, "max_open": most})
        make_learner(whole)
        return encode(whole)

    async def delete(self, name: str) -> None:
        stream = self.stream(name)
        await asyncio.wrap_future(self.writer.change(lambda: self.store.drop_stream(stream.id)))
        stream.closed = True
        self.streams.pop(name, None)
        self.background.submit(self._clear, stream)

    def _clear(self, stream: Stream) -> None:
        while self.writer.change(lambda: self.store.trim(stream.id, stream.logged, 500)).result():
            pass
        self.writer.change(lambda: self.store.forget_answers(stream.id)).result()
        if stream.checkpoints.file is not None:
            (self.store.checkpoints / stream.checkpoints.file).unlink(missing_ok=True)

    # ---------------------------------------------------------------- answers

    async def predict(self, stream: Stream, questions: list[Any]) -> list[Any]:
        """Answers that change nothing, for each question: what `Core.predict` gives, or the error."""
        core = await stream.loaded()
        if self.predicting >= self.limits.waiting:
            raise TooBusy(f"{self.predicting} predictions wait, the limit is {self.limits.waiting}.", retry_after=1)
        self.predicting += 1
        try:
            return await self.loop.run_in_executor(self.readers, _predicted, core, questions)
        finally:
            self.predicting -= 1

    # ---------------------------------------------------------------- limits

    @property
    def log_bytes(self) -> int:
        """Bytes of the log since the checkpoints, as of half a second ago at most."""
        now = time.monotonic()
        if now > self._summed[0] + 0.5:
            self._summed = now, sum(stream.log_bytes for stream in self.streams.values())
        return self._summed[1]

    @property
    def bytes(self) -> int:
        return sum(stream.bytes for stream in list(self.streams.values()))

    def shorten_logs(self) -> None:
        """Checkpoints of the streams with the longest logs."""
        longest = sorted((s for s in self.streams.values() if s.core), key=lambda s: -s.log_bytes)
        for stream in longest[:4]:
            stream.later(stream.checkpointed)

    def balance(self) -> None:
        """Where learners take too much memory, those used least recently leave it. From any thread."""
        if self.bytes <= self.limits.memory or not self._balancing.acquire(blocking=False):
            return
        try:
            idle = sorted((s for s in list(self.streams.values()) if s.core), key=lambda s: s.used)
            over = self.bytes - self.limits.memory
            for stream in idle[:-1]:
                if over <= 0:
                    return
                if not stream.waiting:
                    over -= stream.bytes
                    stream.evict()
        finally:
            self._balancing.release()

    def say(self, level: str, message: str, **more: Any) -> None:
        """A line of JSON on standard error."""
        line = json.dumps({"time": round(time.time(), 3), "level": level, "message": message, **more})
        print(line, file=sys.stderr, flush=True)


def _predicted(core: Core, questions: list[Any]) -> list[Any]:
    found: list[Any] = []
    for question in questions:
        try:
            found.append(core.predict(question))
        except Exception as error:
            found.append(error)
    return found

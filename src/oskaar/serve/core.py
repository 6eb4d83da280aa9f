"""A stream as a function of its operations: a learner, its accounts, and the answers that were given.

Live rounds and the replay of the log go through `Core.apply` alike, one operation at a time, in the order of the
log. Equal operations make equal states: a refused operation changes nothing, and is refused again.
"""

from __future__ import annotations

import copy
import gc
from typing import Any

import msgspec

import oskaar
from oskaar.display import jsonable
from oskaar.learners.learner import OnlineLearner
from oskaar.memory import held
from oskaar.serve.accounts import Accounts
from oskaar.serve.errors import Conflict, NotFound, Refused, ServeError
from oskaar.serve.operations import Answer, Operation, encode, error_body
from oskaar.serve.specs import make_learner
from oskaar.serve.values import to_label


class Broken(Exception):
    """The learner was left in the middle of a round: it has to be made anew from the store."""


class Core:
    """One stream in memory."""

    def __init__(self, learner: OnlineLearner, tickets: int, accounts: Accounts | None = None) -> None:
        self.learner, self.tickets = learner, tickets
        self.accounts = Accounts(learner.loss) if accounts is None else accounts
        self.seq = 0
        """The last operation that was applied."""
        self.answers: dict[str, tuple[bytes, Answer]] = {}
        """Idempotency keys since the last checkpoint: the digest of the request, and its answer."""

    @classmethod
    def new(cls, spec: bytes) -> Core:
        found = msgspec.json.decode(spec)
        return cls(make_learner(found), found["max_open"])

    @classmethod
    def loaded(cls, spec: bytes, data: bytes, accounts: bytes, seq: int) -> Core:
        learner = oskaar.from_bytes(data, max_bytes=max(2**28, 64 * len(data)))
        found = Accounts.from_dict(learner.loss, msgspec.json.decode(accounts))
        core = cls(learner, msgspec.json.decode(spec)["max_open"], found)
        core.seq = seq
        return core

    def copied(self) -> Core:
        """A copy that shares nothing with the stream that ever changes: what a checkpoint is written from.

        Open tickets, of which there may be many, are values: the copy has the same. The collector of cycles would
        only look at what is being made.
        """
        kept = {id(asked): asked for asked in self.learner._tickets.open.values()}
        collects = gc.isenabled()
        gc.disable()
        try:
            other = Core(copy.deepcopy(self.learner, kept), self.tickets, self.accounts.copied())
        finally:
            if collects:
                gc.enable()
        other.seq, other.answers = self.seq, dict(self.answers)
        return other

    def bytes(self) -> int:
        """Memory of the learner; open tickets count as the last of them, so that many take no longer."""
        learner = self.learner
        with learner._lock:
            tickets = learner._tickets.open
            each = held(next(reversed(tickets.values()))) if tickets else 0
            return learner._held(_tickets=None) + len(tickets) * each

    def apply(self, operation: Operation) -> Answer:
        """Do what the operation says; its answer, which may be a refusal that changes nothing."""
        try:
            answer = Answer(200, encode(getattr(self, f"_{operation.kind}")(operation)), operation.seq)
        except ServeError as error:
            self.accounts.refused += 1
            answer = Answer(error.status, error_body(error), operation.seq)
        self.seq = operation.seq
        if operation.key is not None:
            self.answers[operation.key] = (operation.digest, answer)
        return answer

    def predict(self, content: Any) -> dict[str, Any]:
        """The answer to a question; nothing changes."""
        return {"z": jsonable(_tried(self.learner.predict_one, content.x)), **self._probabilities(content)}

    def _ask(self, operation: Operation) -> dict[str, Any]:
        content = operation.decoded()
        if len(self.accounts.open) >= self.tickets:
            raise Conflict(f"{self.tickets} tickets are open, which is the limit: tell or forget some.", "tickets")
        ticket, answer = _tried(self.learner.ask, content.x)
        z = jsonable(answer)
        self.accounts.ask(ticket, operation.time, content.x, z)
        return {"ticket": ticket, "z": z, **self._probabilities(content)}

    def _tell(self, operation: Operation) -> dict[str, Any]:
        content = operation.decoded()
        self._require_open(content.ticket)
        y, before = self._label(content.y), self.learner.total_loss
        _tried(self.learner.tell, content.ticket, y)
        asked = self.accounts.open.pop(content.ticket)
        return {"ticket": content.ticket, **self._learned(asked, operation, y, before)}

    def _learn(self, operation: Operation) -> dict[str, Any]:
        content, before = operation.decoded(), self.learner.total_loss
        y = self._label(content.y)
        z = jsonable(_tried(self.learner.predict_one, content.x))
        _tried(self.learner.learn_one, content.x, y)
        return {"z": z, **self._learned(self.accounts.question(operation.time, content.x, z), operation, y, before)}

    def _forget(self, operation: Operation) -> dict[str, Any]:
        ticket = operation.decoded().ticket
        self._require_open(ticket)
        self.learner.forget(ticket)
        self.accounts.forget(ticket)
        return {"ticket": ticket}

    def _learned(self, asked: list[Any], operation: Operation, y: Any, before: float) -> dict[str, Any]:
        cost, rounds = self.learner.total_loss - before, self.learner.rounds
        row = {"round": rounds, "told": operation.time, "y": operation.decoded().y}
        self.accounts.tell(asked, y, cost, row)
        return {"rounds": rounds, "loss": cost}

    def _label(self, y: Any) -> Any:
        return _tried(lambda: self.learner.loss.check(to_label(self.learner.loss, y)))

    def _require_open(self, ticket: int) -> None:
        if ticket in self.accounts.open:
            return
        try:
            self.learner.forget(ticket)
        except ValueError as error:
            raise NotFound(str(error), "ticket") from None
        raise Broken(f"ticket {ticket} is open in the learner and not in the accounts.")

    def _probabilities(self, content: Any) -> dict[str, Any]:
        """Of each answer by name, where they are wanted and the learner has some for this loss."""
        if not content.probabilities or not hasattr(self.learner, "predict_proba_one"):
            return {}
        try:
            return {"probabilities": _named(self.learner.predict_proba_one(content.x))}
        except Exception:  # the loss has none
            return {}


def _named(found: Any) -> Any:
    """Probabilities as JSON; names that are no texts are written as JSON, too."""
    if isinstance(found, list):
        return [_named(each) for each in found]
    return {y if isinstance(y, str) else encode(jsonable(y)).decode(): float(p) for y, p in found.items()}


def _tried(method: Any, *arguments: Any) -> Any:
    """A call of the learner: what it refuses, the request is refused; an unfinished round needs a recovery."""
    try:
        return method(*arguments)
    except MemoryError as error:
        raise Broken(str(error) or "there is not enough memory") from error
    except RuntimeError as error:
        if "in the middle of learning" in str(error):
            raise Broken(str(error)) from error
        raise Refused(str(error)) from error
    except Exception as error:
        raise Refused(str(error) or type(error).__name__) from error

"""Tickets: answers whose labels are pending; labels come in any order, or never."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

from oskaar.arrays import Array
from oskaar.saved import saved

REMEMBERED = 1000
"""How many dropped tickets are remembered as dropped."""


@saved("tickets/asked")
@dataclass(frozen=True)
class Asked:
    """One answer that waits for its label."""

    rows: Any
    """x in a form that `Inputs.parse_kept` takes, whatever columns have appeared since."""
    z: Any
    """The answer that was given: it is what the label will judge."""
    G: Array
    """The estimate behind it."""


@saved("tickets/tickets")
class Tickets:
    """The open tickets, oldest first. Numbers are never used twice.

    >>> tickets = Tickets()
    >>> for x in "abc":
    ...     _ = tickets.add(Asked(x, None, None), max_open=2)
    >>> list(tickets.open), tickets[2].rows
    ([1, 2], 'c')
    >>> 0 in tickets.dropped
    True
    """

    def __init__(self, first: int = 0) -> None:
        self.next = first
        self.open: dict[int, Asked] = {}
        self.dropped: dict[int, None] = {}

    def __len__(self) -> int:
        return len(self.open)

    def __getitem__(self, ticket: Any) -> Asked:
        """What was asked with an open ticket."""
        return self.open[self.require_open(ticket)]

    def add(self, asked: Asked, max_open: int) -> int:
        """A number for an answer; the oldest are dropped where there are too many."""
        ticket, self.next = self.next, self.next + 1
        self.open[ticket] = asked
        while len(self.open) > max_open:
            oldest = next(iter(self.open))
            self.dropped[oldest] = None
            if len(self.dropped) > REMEMBERED:
                del self.dropped[next(iter(self.dropped))]
            del self.open[oldest]
        return ticket

    def close(self, ticket: Any) -> None:
        """Take an open ticket away."""
        del self.open[self.require_open(ticket)]

    def emptied(self) -> Tickets:
        """None open, and numbers that go on."""
        return Tickets(self.next)

    def require_open(self, ticket: Any) -> int:
        """The number of an open ticket, or an error that says what became of it."""
        try:
            number = index(ticket)
        except TypeError:
            raise TypeError(f"a ticket must be a whole number that ask() gave, got {ticket!r}.") from None
        if number in self.open:
            return number
        if number in self.dropped:
            raise ValueError(
                f"ticket {number} was dropped: more than max_open tickets were open, and it was the oldest. "
                "Raise learner.max_open, or learn the round with learn_one(x, y)."
            )
        if 0 <= number < self.next:
            raise ValueError(f"ticket {number} is closed: it has been told, forgotten, or dropped long ago.")
        raise ValueError(f"ticket {number} is unknown: this learner has given {self.next} tickets, from 0 on.")


def require_max_open(max_open: Any) -> int:
    """A bound on open tickets."""
    if isinstance(max_open, bool) or max_open != int(max_open) or max_open < 1:
        raise ValueError(f"max_open must be a whole number >= 1, got {max_open!r}: it bounds the open tickets.")
    return int(max_open)

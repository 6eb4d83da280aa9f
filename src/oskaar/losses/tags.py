"""Tags of spans in a text: which may follow which."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def bio_transitions(tags: Iterable[str]) -> NDArray[np.int64]:
    """The (k + 1, k + 1) matrix of transitions for tags "O", "B-x", "I-x", and "E-x", "S-x" where they are used.

    I-x and E-x may only continue what B-x or I-x of the same x began; where E or S tags are listed, what B-x
    began must be ended by E-x.

    >>> bio_transitions(["O", "B-city", "I-city"])     # I-city follows B-city or I-city, and never comes first
    array([[1, 1, 0, 1],
           [1, 1, 1, 1],
           [1, 1, 1, 1],
           [1, 1, 0, 0]])
    """
    parsed = [_tag(tag) for tag in tags]
    closing = any(kind in "ES" for kind, _ in parsed)

    def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
        continued = after[0] in "IE"
        if continued and not (before[0] in "BI" and before[1] == after[1]):
            return False
        return continued or not (closing and before[0] in "BI")

    outside = ("O", "")
    table = [[follows(a, b) for b in [*parsed, outside]] for a in [*parsed, outside]]
    matrix = np.array(table, dtype=np.int64)
    matrix[-1, -1] = 0
    return matrix


def _tag(tag: Any) -> tuple[str, str]:
    if tag == "O":
        return "O", ""
    if not (isinstance(tag, str) and len(tag) > 2 and tag[0] in "BIES" and tag[1] == "-"):
        raise ValueError(f"a tag must be 'O' or look like 'B-city' (B, I, E or S), got {tag!r}.")
    return tag[0], tag[2:]

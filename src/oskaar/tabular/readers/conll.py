"""CoNLL and CoNLL-U: a token a line, an empty line after each sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from oskaar.tabular.readers.base import MAX_LINE, ReadError, Record, Table, within

UNIVERSAL = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The ten columns of CoNLL-U."""

CONTEXT = ("form", "suffix2", "suffix3", "before", "after")
"""Inputs made of a token besides its columns: its suffixes and its neighbours."""

_NO_TOKEN = re.compile(r"\d+[-.]\d+")
_KNOWN = {2: ("form", "tag"), 3: ("form", "pos", "tag"), 4: ("form", "pos", "chunk", "tag")}


def read_conll(name: str, lines: Iterator[str], max_line: int = MAX_LINE) -> Table:
    r"""Records of tokens, grouped by "sentence"; ten columns with tabs are CoNLL-U.

    Ranges of words that are written as one (3-4) and empty nodes (5.1) are left out.

    >>> table = read_conll("here", iter(["the DET\n", "cats NOUN\n", "\n"]))
    >>> [(r.cells["form"], r.cells["tag"], r.cells["before"], r.cells["sentence"]) for r in table]
    [('the', 'DET', '', 1), ('cats', 'NOUN', 'the', 1)]
    """
    return Table(name, _records(name, lines, max_line), inputs=CONTEXT, group="sentence")


def _records(name: str, lines: Iterator[str], most: int) -> Iterator[Record]:
    sentence: list[tuple[int, list[str]]] = []
    width, count, spent = 0, 0, [0]
    for number, line in enumerate(within(name, lines, 1, most, spent), start=1):
        text = line.rstrip("\r\n")
        if not text.strip():
            spent[0] = 0
            if sentence:
                count += 1
                yield from _tokens(sentence, count)
                sentence = []
        elif not (text.startswith("#") and not sentence) and not text.startswith("-DOCSTART-"):
            fields = text.split("\t") if "\t" in text else text.split()
            width = width or len(fields)
            if len(fields) != width:
                raise ReadError(
                    f"{name}, line {number}: a token must have {width} fields, as the first had, got {len(fields)}."
                )
            if width != len(UNIVERSAL) or not _NO_TOKEN.fullmatch(fields[0]):
                sentence.append((number, fields))
    if sentence:
        yield from _tokens(sentence, count + 1)


def _tokens(sentence: list[tuple[int, list[str]]], count: int) -> Iterator[Record]:
    width = len(sentence[0][1])
    names = (
        UNIVERSAL if width == len(UNIVERSAL) else _KNOWN.get(width, ("form", *(f"c{i}" for i in range(2, width + 1))))
    )
    place = names.index("form")
    forms = ["", *(fields[place] for _, fields in sentence), ""]
    for i, (number, fields) in enumerate(sentence, start=1):
        form = forms[i]
        context = {"suffix2": form[-2:], "suffix3": form[-3:], "before": forms[i - 1], "after": forms[i + 1]}
        yield Record(number, {**dict(zip(names, fields, strict=True)), **context, "sentence": count})

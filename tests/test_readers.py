import bz2
import gzip
import io
import itertools
import json
import lzma
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oskaar import streams
from oskaar.tabular.readers import ReadError, read_table
from oskaar.tabular.readers.base import text_cell
from oskaar.tabular.readers.delimited import read_delimited
from oskaar.tabular.readers.jsonlines import read_jsonlines

CSV = "a,b,label\n1,0.5,red\n2,,blue\n"


def cells(path, **options):
    return [record.cells for record in read_table(path, **options)]


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv(tmp_path):
    path = write(tmp_path, "a.csv", CSV)
    table = read_table(path)
    assert table.columns == ("a", "b", "label")
    assert [(r.line, r.cells) for r in table] == [
        (2, {"a": 1, "b": 0.5, "label": "red"}),
        (3, {"a": 2, "b": None, "label": "blue"}),
    ]
    assert table.fraction() == 1.0


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compression_is_told_by_the_bytes(tmp_path, pack, monkeypatch):
    """Whatever the name, and on standard input too."""
    path = write(tmp_path, "a.csv", pack(CSV.encode()))
    assert cells(path) == cells(write(tmp_path, "b.csv", CSV))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pack(CSV.encode()))))
    assert cells("-") == cells(path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_data_that_ends_early(tmp_path, pack):
    whole = pack(("a,b\n" + "".join(f"{i},{i * i % 97}\n" for i in range(5000))).encode())
    path = write(tmp_path, "a.csv", whole[: len(whole) // 2])
    with pytest.raises(ReadError, match=r"after line .*ends or breaks in the middle"):
        cells(path)


def test_other_separators_and_no_names(tmp_path):
    assert cells(write(tmp_path, "a.csv", "a;b\n1;2\n")) == [{"a": 1, "b": 2}]
    assert cells(write(tmp_path, "a.tsv", "a\tb,c\n1\t2\n")) == [{"a": 1, "b,c": 2}]
    table = read_table(write(tmp_path, "n.csv", "\n1,2\n3,4\n"))
    assert [(r.line, r.cells) for r in table] == [(2, {"c1": 1, "c2": 2}), (3, {"c1": 3, "c2": 4})]
    assert "c1 to c2" in table.notes[0]


def test_a_cell_of_several_lines_keeps_the_count(tmp_path):
    path = write(tmp_path, "a.csv", 'a,b\n"one\ntwo",1\n3\n')
    records = iter(read_table(path))
    assert next(records)[:2] == (3, {"a": "one\ntwo", "b": 1})
    with pytest.raises(ReadError, match=r"a\.csv, line 4: there must be 2 values.*got 1"):
        next(records)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "a,a\n1,2\n", "'a' is there twice"),
        ("a.csv", 'a,b\n1,"x\n', "line 2: .*quote"),
        ("a.csv", b"a,b\n1,2\n3,\xe9\n", r"line 3: byte 0xe9 is not utf-8.*latin-1"),
        ("a.csv", b"\xff\xfea\x00", "UTF-16"),
        ("a.csv", b"PK\x03\x04rest", "zip archive"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfdrest", "zstd|ends or breaks"),
        ("a.jsonl", '{"a": 1}\n{"a": \n', "line 2: .*not JSON"),
        ("a.jsonl", "[1, 2]\n", "line 1: there must be an object.*got list"),
        ("a.arff", "@relation r\n@attribute a numeric\n", "no @data"),
        ("a.arff", "@relation r\n@attribute a\n@data\n", "line 2: an attribute must have"),
        ("a.arff", "@relation r\nodd\n@data\n", "line 2: @relation"),
        ("a.arff", "@attribute a numeric\n@attribute b numeric\n@data\n1,2\n1\n", "line 5: .*2 values are declared"),
        ("a.arff", "@attribute a numeric\n@data\n{0 1\n", "line 3: .*must end with"),
        ("a.arff", "@attribute a numeric\n@data\n{-1 1}\n", "line 3: .*number from 0"),
        ("a.arff", "@attribute a numeric\n@data\n{7 1}\n", "line 3"),
        ("a.arff", "@attribute a {0,'1}\n@data\n0\n", "line 1: cannot read the values"),
        ("a.csv", "a," + "b" * 200_000 + "\n1,2\n", "line 1: a value has more than 131072"),
        ("a.svm", "1 1:2\n1 1:x\n", "line 2: a row must be a label"),
        ("a.conllu", "1\tThe" + "\t_" * 8 + "\n2\tcat\n", "line 2: a token must have 10 fields.*got 2"),
        ("plain", "\n\n", "is empty"),
    ],
)
def test_bad_files_say_the_line(tmp_path, name, text, message):
    with pytest.raises(ReadError, match=message):
        cells(write(tmp_path, name, text))


def test_bad_paths_and_formats(tmp_path):
    with pytest.raises(ReadError, match="cannot be read: No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(ReadError, match="is a directory without parts"):
        read_table(tmp_path)
    with pytest.raises(ReadError, match="format must be one of csv"):
        read_table(write(tmp_path, "a.csv", CSV), format="xls")


def test_encodings(tmp_path):
    assert cells(write(tmp_path, "a.csv", b"a,b\n1,\xe9\n"), encoding="latin-1") == [{"a": 1, "b": "\u00e9"}]
    assert cells(write(tmp_path, "a.csv", b"\xef\xbb\xbfa,b\n1,2\n")) == [{"a": 1, "b": 2}]


def test_json_lines(tmp_path):
    path = write(tmp_path, "a.jsonl", '{"x": [1, 2], "y": true}\n\n{"z": NaN}\n')
    assert [(r.line, r.cells) for r in read_table(path)] == [(1, {"x": [1, 2], "y": 1}), (3, {"z": None})]


def test_arff_matches_the_other_reader(tmp_path):
    """Dense and sparse: the same numbers as streams.read_arff."""
    head = "@relation 'r: -C {}'\n@attribute a {{0,1}}\n@attribute 'b c' numeric\n@attribute d {{0,1}}\n@data\n"
    dense = write(tmp_path, "d.arff", head.format(-1) + "% note\n0,1.5,1\n1,0,0\n")
    sparse = write(tmp_path, "s.arff.gz", gzip.compress((head.format(-1) + "{1 1.5,2 1}\n{0 1}\n").encode()))
    for path, is_sparse in ((dense, False), (sparse, True)):
        table = read_table(path)
        assert table.labels == ("d",)
        assert table.sparse == is_sparse
        X, ys = streams.read_arff(path, -1)
        X = X.toarray() if is_sparse else X
        rows = [r.cells for r in table]
        assert [[row.get(c, 0) for c in ("a", "b c")] for row in rows] == X.tolist()
        assert [frozenset({0} if row.get("d") else ()) for row in rows] == ys
    assert read_table(write(tmp_path, "f.arff", head.format(2) + "0,1,1\n")).labels == ("a", "b c")


def test_arff_labels_of_mulan(tmp_path):
    """A list of labels beside the file comes before -C, which a Weka filter makes void."""
    text = "@relation 'r: -C 1{}'\n@attribute a numeric\n@attribute 'b & c' {{0,1}}\n@data\n1,1\n"
    path = write(tmp_path, "m.arff.gz", gzip.compress(text.format("").encode()))
    assert read_table(path).labels == ("a",)
    write(tmp_path, "m.xml", '<labels><label name="b &amp; c"></label></labels>')
    assert read_table(path).labels == ("b & c",)
    write(tmp_path, "m.xml", '<labels><label name="of another file"></label></labels>')
    assert read_table(path).labels == ("a",)
    assert read_table(write(tmp_path, "w.arff", text.format("-weka.filters.Remove"))).labels == ()


def test_arff_text(tmp_path):
    """Quotes, missing values, and the first nominal value, which sparse rows leave out."""
    head = "@relation r\n@attribute kind {'a, b', c}\n@attribute x numeric\n@data\n"
    assert cells(write(tmp_path, "a.arff", head + "'a, b',?\n")) == [{"kind": "a, b", "x": None}]
    assert cells(write(tmp_path, "a.arff", head + "{1 2}\n{0 c}\n")) == [{"kind": "a, b", "x": 2}, {"kind": "c"}]


def test_svmlight(tmp_path):
    path = write(tmp_path, "a.svm", "# head\n2 qid:1 1:0.5 # doc\n1,3 qid:1 2:1\n 3:1\n-1.5 4:2\n")
    assert [(r.line, r.cells) for r in read_table(path)] == [
        (2, {"y": 2, "qid": "1", "1": 0.5}),
        (3, {"y": [1, 3], "qid": "1", "2": 1.0}),
        (4, {"y": [], "3": 1.0}),
        (5, {"y": -1.5, "4": 2.0}),
    ]


def test_conllu_matches_the_other_reader(tmp_path):
    rows = ["1\tThe\tthe\tDET", "2-3\tcan't\t_\t_", "2\tcats\tcat\tNOUN", "2.1\tx\t_\t_"]
    tails = ["\t_\t_\t2\tdet\t_\t_", "\t_" * 6, "\t_\t_\t0\troot\t_\t_", "\t_" * 6]
    text = "# sent_id = 1\n" + "".join(r + t + "\n" for r, t in zip(rows, tails)) + "\n"
    path = write(tmp_path, "a.conllu", text + text.rstrip("\n"))
    sentences = itertools.groupby(read_table(path), key=lambda r: r.cells["sentence"])
    found = [[(r.cells["form"], r.cells["upos"], int(r.cells["head"])) for r in rs] for _, rs in sentences]
    assert found == [list(zip(*s)) for s in streams.read_conllu(path)]


def test_conll_neighbours(tmp_path):
    path = write(tmp_path, "a.conll", "-DOCSTART- O\n\nThe O\nhouse B\n\nEnd O\n")
    rows = cells(path)
    assert [(r["form"], r["tag"], r["before"], r["after"], r["suffix2"]) for r in rows] == [
        ("The", "O", "", "house", "he"),
        ("house", "B", "The", "", "se"),
        ("End", "O", "", "", "nd"),
    ]


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(
        pyarrow.table({"a": [1, 2], "b": ["x", None], "c": [True, False], "d": [0.5, float("nan")]}),
        tmp_path / "a.parquet",
    )
    assert cells(tmp_path / "a.parquet") == [
        {"a": 1, "b": "x", "c": 1, "d": 0.5},
        {"a": 2, "b": None, "c": 0, "d": None},
    ]


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(ReadError, match=r"pip install 'oskaar\[parquet\]'"):
        read_table(write(tmp_path, "a.parquet", b"PAR1"))


@given(st.lists(st.tuples(st.integers(), st.floats(allow_nan=False), st.text("ab,\"'\n ", min_size=1)), min_size=1))
def test_csv_round_trip(rows):
    """What the csv module writes is what is read."""
    import csv

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("i", "f", "t"), *rows])
    lines = iter(text.getvalue().splitlines(keepends=True))
    found = [tuple(r.cells.values()) for r in read_delimited("here", lines)]
    assert found == [(i, text_cell(repr(f)), text_cell(t)) for i, f, t in rows]


@given(st.lists(st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.lists(st.integers())))))
def test_jsonl_round_trip(rows):
    lines = iter([json.dumps(row) + "\n" for row in rows])
    assert [r.cells for r in read_jsonlines("here", lines)] == rows


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Ten times the rows, the same memory."""

    def peak(n):
        path = write(tmp_path, "long.csv", "a,b\n" + "1,2\n" * n)
        tracemalloc.start()
        assert sum(1 for _ in read_table(path)) == n
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(20_000) < 2 * peak(2_000) + 50_000

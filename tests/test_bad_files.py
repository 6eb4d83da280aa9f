"""Files that cannot be used: one sentence with the line and what to do, code 2, no traceback but with --debug."""

import bz2
import csv
import gzip
import json
import lzma
import os
import socket
import subprocess
import sys
import tracemalloc
import zipfile

import pytest

from oskaar.cli import main
from oskaar.tabular.readers import ReadError, read_table

GOOD = "a,b,y\n1,2,u\n2,1,v\n" * 1
ROWS = "1,2,u\n2,1,v\n" * 8


def sentence(capsys, path, *arguments):
    """The one sentence that a command ends with; the table is of the rounds before the bad one."""
    assert main(["learn", str(path), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" or "rounds in" in captured.out
    assert "Traceback" not in captured.err
    assert all(line.startswith("oskaar: ") for line in captured.err.splitlines())
    return captured.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("data", "arguments", "line", "advice"),
    [
        (b"", [], "is empty", "there must be a line of column names"),
        (b"\n\n", [], "is empty", "there must be"),
        (b"a,b,y\n", [], "has no rows", "nothing to learn"),
        (b"a,b,y\n1,2,u\n1,2", [], "line 3: there must be 3 values", "the row is cut short"),
        (b'a,b,y\n1,2,u\n1,2,"v', [], "line 3", "a quote that is never closed, or a file cut short"),
        (b"a,b,y\n1,2,u\n1,2,caf\xe9\n", [], "line 3: byte 0xe9 is not utf-8", "such as --encoding latin-1"),
        (b"a,b,y\n1,2,u\n1,2,\xc3\n", [], "line 3: byte 0xc3 is not utf-8", "convert the file"),
        (GOOD.encode("utf-16"), [], "is UTF-16", "--encoding utf-16"),
        (GOOD.encode("utf-16-le"), [], "line 1: there is a NUL character", "--encoding, such as utf-16-le"),
        (b"a,b,y\n1,2,u\0\n", [], "line 2: there is a NUL character", "--format"),
        (GOOD.encode(), ["--encoding", "klingon"], "--encoding must be one that Python knows", "'klingon'"),
        (GOOD.encode(), ["--y", "z"], "--y 'z' names no column", "the columns are a, b, y"),
        (GOOD.encode(), ["--x", "a,z"], "--x 'z' names no column", "the columns are a, b, y"),
        (b"a,b,y\neur,kg,-\n" + ROWS.encode(), [], "line 2: there is text in each of the 2", "take it out (sed 2d)"),
        (b"a,a,y\n1,2,u\n", [], "column names must differ, 'a' is there twice", "rename"),
        (b"x,label_a,label_b\n1,red,0\n", [], "no loss fits 2 columns of y with text", "name one, or give --loss"),
        (b"x,label_a,label_b\n1,1,0\n1,0,7\n", ["--loss", "f1"], "line 3: column 'label_b' must be 0 or 1", "got 7"),
        (b"a,b,y\n1,2,u\n1," + b"9" * 400 + b",u\n", [], "line 3: column 'b' must be finite", "got 99999"),
        (b"a,b,y\n1,2,u\n1,-inf,u\n", [], "line 3: column 'b' must be finite", "got -inf"),
    ],
)
def test_one_sentence(tmp_path, capsys, data, arguments, line, advice):
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    message = sentence(capsys, path, *arguments)
    assert line in message
    assert advice in message


def long_line(form, size):
    """A file of each format with a line of so many bytes after good ones."""
    starts = {
        "csv": b"a,b,y\n1,2,u\n2,1,v\n1,2,",
        "tsv": b"a\tb\ty\n1\t2\tu\n2\t1\tv\n1\t2\t",
        "jsonl": b'{"a": 1, "y": "u"}\n{"a": 2, "y": "v"}\n\n{"a": 1, "y": "',
        "arff": b"@relation r\n@attribute y string\n@data\n",
        "svmlight": b"1 1:0.5\n2 1:0.7\n1 1:0.5\n2 1:",
        "conll": b"the D\ncats N\n\n",
    }
    return starts[form] + b"9" * size


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "arff", "svmlight", "conll"])
def test_a_line_without_an_end(tmp_path, capsys, form):
    """No more of it is read than a line may have; the sentence has the line and the cure."""
    (tmp_path / "a").write_bytes(long_line(form, 5000))
    message = sentence(capsys, tmp_path / "a", "--format", form, "--max-line", "4000")
    assert "line 4: a line must have at most 4000 bytes" in message
    assert "--max-line" in message


@pytest.mark.parametrize("pack", ["gz", "bz2", "xz", "zip", "utf-16"])
def test_a_line_that_is_packed(tmp_path, pack):
    """Many megabytes in few: what is read of it is what a line may have."""
    path, piece = tmp_path / "a.csv", b"9" * 2**20
    start = b"a,b,y\n1,2,u\n"
    if pack == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.csv", "w") as file:
            file.write(start + piece * 24)
    elif pack == "utf-16":
        path.write_bytes((start + piece * 8).decode().encode("utf-16"))
    else:
        with {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}[pack](path, "wb") as file:
            file.write(start + piece * 24)
    table = read_table(path, "csv", "utf-16" if pack == "utf-16" else "utf-8", max_line=2**20)
    assert next(iter(table)).cells == {"a": 1, "b": 2, "y": "u"}
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match="line 3: a line must have at most 1048576 bytes"):
            next(iter(table))
        assert tracemalloc.get_traced_memory()[1] < 12 * 2**20
    finally:
        tracemalloc.stop()


def test_a_line_as_long_as_it_may_be(tmp_path):
    for end in ("\n", "\r\n", ""):
        (tmp_path / "a.csv").write_bytes(f"a,y\n1,{'u' * 98}{end}".encode())
        assert next(iter(read_table(tmp_path / "a.csv", max_line=100))).cells["y"] == "u" * 98
        with pytest.raises(ReadError, match="line 2: a line must have at most 99 bytes"):
            list(read_table(tmp_path / "a.csv", max_line=99))


def test_records_of_many_lines(tmp_path, capsys):
    """A quote, a sentence or a run of empty lines that never ends is not kept for ever."""
    (tmp_path / "a.csv").write_text("a,y\n1,u\n" + '1,"' + "u\n" * 4000)
    assert "line 2002: the record that ends here or later" in sentence(
        capsys, tmp_path / "a.csv", "--max-line", "4000"
    )
    (tmp_path / "b.csv").write_text("a,y\n1,u\n" + '"1\n",' * 4000)
    assert "the record that ends here or later" in sentence(capsys, tmp_path / "b.csv", "--max-line", "4000")
    (tmp_path / "a.conll").write_text("the D\n\n" + "cats N\n" * 4000)
    assert "line 574: the record" in sentence(capsys, tmp_path / "a.conll", "--max-line", "4000")
    (tmp_path / "a").write_text("\n" * 100_000 + "a,y\n1,u\n" * 2)
    tracemalloc.start()
    table = read_table(tmp_path / "a")
    assert table.columns == ("a", "y")
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()
    assert next(iter(table)).line == 100_002


@pytest.mark.parametrize("first", ["a,b,y", "1,2,3"])
def test_long_values(tmp_path, capsys, first):
    """As long as a line on the command line; as long as the csv module allows in Python."""
    text = "v" * 140_000
    (tmp_path / "a.csv").write_text(f"{first}\n2,1,{text}\n1,2,u\n" + ROWS)
    before = csv.field_size_limit()
    assert main(["learn", str(tmp_path / "a.csv"), "--json", "--y", "y" if "y" in first else "c3"]) == 0
    assert csv.field_size_limit() == before
    capsys.readouterr()
    with pytest.raises(ReadError, match=r"line 2: a value has more than 131072 characters.*field_size_limit"):
        list(read_table(tmp_path / "a.csv"))


def test_what_was_finished_is_kept(tmp_path, capsys):
    """The rounds before a line that is too long are learned, answered and in the checkpoint."""
    path, answers, kept = (str(tmp_path / name) for name in ("a.csv", "z", "k"))
    (tmp_path / "a.csv").write_text("a,b,y\n" + ROWS * 20 + "1,2," + "u" * 5000)
    settings = ["--out", answers, "--model", kept, "--learner", "oskaar", "--max-line", "4000"]
    assert main(["learn", path, *settings]) == 2
    assert "line 322: a line must have at most 4000 bytes" in capsys.readouterr().err
    assert len((tmp_path / "z").read_text().splitlines()) == 320
    assert main(["learn", path, "--resume", kept, "--out", answers, "--json", "--max-line", "9000"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 321


def test_rows_of_parquet_that_are_too_large(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": ["x" * 100_000], "y": ["u"]}), tmp_path / "a.parquet")
    assert len(list(read_table(tmp_path / "a.parquet"))) == 1
    with pytest.raises(ReadError, match="a row must have at most 1000 bytes"):
        read_table(tmp_path / "a.parquet", max_line=1000)


def test_places_that_cannot_be_read(tmp_path, capsys):
    assert "is a directory without parts" in sentence(capsys, tmp_path)
    with socket.socket(socket.AF_UNIX) as listening, pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)  # names of sockets are short
        listening.bind("a.csv")
        assert "a.csv is a socket: read it with another program" in sentence(capsys, "a.csv")
    assert "No such file" in sentence(capsys, tmp_path / "none.csv")
    assert "a file without a name cannot be read" in sentence(capsys, "")
    closed = tmp_path / "closed.csv"
    closed.write_text(GOOD)
    closed.chmod(0)
    if not os.access(closed, os.R_OK):  # root reads everything
        assert "Permission denied" in sentence(capsys, closed)


@pytest.mark.parametrize(
    ("cells", "decimal", "words", "numbers"),
    [
        (("3,50", "1.200,25"), ",", "numbers with a decimal comma, such as '3,50'", [3.5, 1200.25]),
        (("1,200", "17,000.5"), ".", "numbers with thousands set apart, such as '1,200'", [1200, 17000.5]),
        (("1 200", "17 000"), ".", "numbers with thousands set apart, such as '1 200'", [1200, 17000]),
    ],
)
def test_numbers_written_in_another_way(tmp_path, capsys, cells, decimal, words, numbers):
    """They are text, which a note says with the option that reads them, and numbers with it."""
    path = tmp_path / "a.csv"
    path.write_text("a;y\n" + "".join(f"{cell};{y}\n" for cell, y in zip(cells, "uv")) * 20)
    assert main(["learn", str(path), "--learner", "oskaar", "--json"]) == 0
    message = capsys.readouterr().err
    assert words in message
    assert f"--decimal {decimal} reads them as numbers" in message
    assert [record.cells["a"] for record in read_table(path, decimal=decimal)][:2] == numbers
    assert main(["learn", str(path), "--learner", "oskaar", "--json", "--decimal", decimal]) == 0
    captured = capsys.readouterr()
    assert "--decimal" not in captured.err
    assert json.loads(captured.out)["columns"] == "a: number"


def test_a_directory_of_parts(tmp_path, capsys):
    """Files in the order of their names, some packed, give what one file gives; an error names the part."""
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "part-1.csv").write_text("a,b,y\n" + ROWS)
    with gzip.open(folder / "part-2.csv.gz", "wt") as file:
        file.write("b,a,y\n" + "2,1,u\n1,2,v\n" * 8)
    for name in ("_SUCCESS", ".hidden.csv", "README.txt"):
        (folder / name).write_text("no part")
    (tmp_path / "whole.csv").write_text("a,b,y\n" + ROWS * 2)
    found = []
    for path in (folder, tmp_path / "whole.csv"):
        assert main(["learn", str(path), "--learner", "oskaar", "--json"]) == 0
        captured = capsys.readouterr()
        found.append(json.loads(captured.out)["mean_loss"])
        if path is folder:
            assert "2 files are read in the order of their names" in captured.err
            assert "1 other files are left out" in captured.err
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    (folder / "part-3.csv").write_text("a,b,y\n1,2\n")
    assert main(["learn", str(folder), "--learner", "oskaar", "--chunk", "8"]) == 2
    assert "part-3.csv, line 2: there must be 3 values" in capsys.readouterr().err
    (folder / "part-3.csv").write_text("a,y\n1,u\n")
    assert "part-3.csv: parts must have the columns of the first, part-1.csv: column 'b' is missing" in sentence(
        capsys, folder
    )


def test_a_directory_goes_on_where_it_was(tmp_path, capsys):
    """More parts may follow; what was read must be as it was."""
    folder, model = tmp_path / "parts", str(tmp_path / "m.oskaar")
    folder.mkdir()
    for i in range(3):
        (folder / f"{i}.csv").write_text("a,b,y\n" + ROWS)
    assert main(["learn", str(folder), "--learner", "oskaar", "--model", model, "--json"]) == 0
    (folder / "3.csv").write_text("a,b,y\n" + ROWS)
    capsys.readouterr()
    assert main(["learn", str(folder), "--resume", model, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 64
    (folder / "0.csv").write_text("a,b,y\n" + ROWS.replace("2", "3"))
    assert "differs in the first" in sentence(capsys, folder, "--resume", model)


def test_a_file_that_grows_while_it_is_read(tmp_path):
    """Rows that are appended before the end is reached are read; a cut row is refused as one."""
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + ROWS * 2000)
    table = read_table(path)
    assert next(iter(table)).line == 2
    with path.open("a") as file:
        file.write(ROWS + "1,2")
    with pytest.raises(ReadError, match=r"line 32018: there must be 3 values.*cut short"):
        all(table.fraction() <= 1 for _ in table)


def test_later_rows_that_contradict_the_first(tmp_path, capsys):
    """150 zeros, then demand; single tags, then several; a number, then a word: each is noted once, with its line."""
    path = tmp_path / "a.csv"
    rows = [f"{i},{i % 5},0" for i in range(150)] + [f"{i},{i % 5},{i % 37}" for i in range(150, 200)]
    path.write_text("a,b,demand\n" + "\n".join(rows) + "\n")
    assert main(["learn", str(path), "--learner", "oskaar", "--json"]) == 0
    captured = capsys.readouterr()
    message = "line 152: 'demand' is 2 and was 0 or 1 before"
    assert captured.err.count("and was 0 or 1 before") == 1
    assert message in captured.err
    assert any(message in note for note in json.loads(captured.out)["inferred"])
    rows = [f"{i % 3},{'ab'[i % 2]}" for i in range(120)] + ["twelve,a;b", "0,a"]
    path.write_text("n,tag\n" + "\n".join(rows) + "\n")
    assert main(["learn", str(path), "--learner", "oskaar"]) == 0
    message = capsys.readouterr().err
    assert "line 122: 'tag' is 'a;b', classes that were there before: --tags-separator ';' parts them" in message
    assert "line 122: 'n' is 'twelve' and was a number before: missing while most are numbers" in message
    path.write_text("n,y\n" + "".join(f"{i},{i % 4 if i < 110 else i}\n" for i in range(150)))
    assert main(["learn", str(path), "--learner", "oskaar"]) == 0
    assert "line 128: 'y' has more than 20 different values now" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037"])
def test_other_encodings(tmp_path, capsys, encoding):
    """Read where they are named; a byte order mark of UTF-8 needs no word."""
    text = "a,b,y\n" + ROWS.replace("u", "\u00fc")
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    named = [] if encoding == "utf-8-sig" else ["--encoding", encoding]
    out = tmp_path / "z"
    assert main(["learn", str(tmp_path / "a.csv"), *named, "--json", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 16
    assert json.loads(out.read_text().splitlines()[-1])["prediction"] in ("\u00fc", "v")


def test_many_columns(tmp_path, capsys):
    """They are numbers like any others."""
    n = 30_000
    names = ",".join(f"c{i}" for i in range(n))
    (tmp_path / "a.csv").write_text(f"{names},y\n" + "".join("1," * n + f"{y}\n" for y in "uv"))
    assert main(["learn", str(tmp_path / "a.csv"), "--json", "--learner", "oskaar"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 2


def test_what_nobody_thought_of(tmp_path, capsys, monkeypatch):
    """An error of another kind is a sentence too, and --debug raises it."""
    (tmp_path / "a.csv").write_text("a,b,y\n" + ROWS)
    monkeypatch.setattr("oskaar.cli.learn.make_learner", lambda *args: 1 // 0)
    assert "this should not happen, ZeroDivisionError" in sentence(capsys, tmp_path / "a.csv")
    with pytest.raises(ZeroDivisionError):
        main(["learn", str(tmp_path / "a.csv"), "--debug"])


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_the_progress_bar_on_a_terminal(tmp_path):
    """Rounds, their pace and the running loss, on a terminal alone."""
    import pty

    (tmp_path / "a.csv").write_text("a,b,y\n" + ROWS * 25)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "oskaar", "learn", str(tmp_path / "a.csv"), "--json"]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        os.close(theirs)
        shown = b""
        try:
            while more := os.read(ours, 4096):
                shown += more
        except OSError:  # the other end is closed
            pass
        assert json.loads(process.stdout.read())["rounds"] == 400
    os.close(ours)
    text = shown.decode()
    assert "rounds, " in text
    assert " a second, mean loss 0." in text


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("a;y\n" + "0,51;7,03\n1,5;3,3\n" * 9, [], "'y' has numbers such as '7,03': --decimal , reads them"),
        ('a,y\n1,"1,200"\n2,"17,000.5"\n', [], "'y' has numbers such as '1,200': --decimal . reads them"),
        ("a,k,y\nkg,name,class\n" + "1,s,u\n2,t,v\n" * 9, [], "line 2: there is text in the column of numbers"),
        ('a,"y\n1,u\n2,v\n', [], "line 1: unexpected end of data: look for a quote that is never closed"),
        ("a,y\r1,u\r2,v\r", [], "line 1: lines end with CR alone: convert them"),
        ("a,y\n1,u\n" + "\n" * 200, ["--max-line", "99"], "line 102: there are more than 99 bytes of empty lines"),
        ("a,y\n1,u\n", ["--as", "b=text"], "--as 'b' names no column of x: they are a"),
        ("amount,y\n1,u\n", ["--as", "amont=text"], "did you mean amount"),
    ],
)
def test_more_sentences(tmp_path, capsys, text, arguments, message):
    (tmp_path / "a.csv").write_bytes(text.encode())
    assert message in sentence(capsys, tmp_path / "a.csv", *arguments)


def test_a_workbook_and_a_place_that_fails(tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "")
        archive.writestr("[Content_Types].xml", "")
    assert "is an Excel workbook: save its sheet as CSV" in sentence(capsys, tmp_path / "a.xlsx")
    if sys.platform.startswith("linux"):
        assert "/proc/self/mem cannot be read: Input/output error" in sentence(capsys, "/proc/self/mem")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sep=;\na;b;y\n" + ROWS.replace(",", ";"), "x is 2 columns: a, b"),
        (",b,y\n" + ROWS, "'column 1' has no name in the file"),
        ('"a\n(kg)",b,y\n' + ROWS, "x is 2 columns: a (kg), b"),
        ("a,b,y,\n" + ROWS.replace("\n", ",\n"), "column 4: left out, no values"),
        ("a,b,y\n" + ROWS + "n/a at all,2,u\n", "line 18: 'a' is 'n/a at all' and a number in most rows"),
        ("a;b;y\n" + "1,25;0,601;u\n2,5;1,700;v\n" * 8, "'b' has numbers with a decimal comma, such as '0,601'"),
        ("a;y\n" + "1;1,3\n2;2\n3;2,3\n4;1,2\n" * 8, "'y' is several tags with ',' between them"),
    ],
)
def test_notes_on_files_that_are_read(tmp_path, capsys, text, message):
    (tmp_path / "a.csv").write_text(text)
    assert main(["learn", str(tmp_path / "a.csv")]) == 0
    assert message in capsys.readouterr().err

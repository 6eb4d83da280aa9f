"""Files that cannot be used: one sentence with the line and what to do, code 2, no traceback but with --debug."""

import json
import os
import subprocess
import sys

import pytest

from oskaar.cli import main

GOOD = "a,b,y\n1,2,u\n2,1,v\n" * 1
ROWS = "1,2,u\n2,1,v\n" * 8


def sentence(capsys, path, *arguments):
    """The one sentence that a command ends with."""
    assert main(["replay", str(path), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert all(line.startswith("oskaar: ") for line in captured.err.splitlines())
    return captured.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("data", "arguments", "line", "advice"),
    [
        (b"", [], "is empty", "there must be a line of column names"),
        (b"\n\n", [], "is empty", "there must be"),
        (b"a,b,y\n", [], "has no rows", "nothing to replay"),
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
    said = sentence(capsys, path, *arguments)
    assert line in said
    assert advice in said


def test_places_that_cannot_be_read(tmp_path, capsys):
    assert "Is a directory" in sentence(capsys, tmp_path)
    assert "No such file" in sentence(capsys, tmp_path / "none.csv")
    assert "a file without a name cannot be read" in sentence(capsys, "")
    closed = tmp_path / "closed.csv"
    closed.write_text(GOOD)
    closed.chmod(0)
    if not os.access(closed, os.R_OK):  # root reads everything
        assert "Permission denied" in sentence(capsys, closed)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp037"])
def test_other_encodings(tmp_path, capsys, encoding):
    """Read where they are named; a byte order mark of UTF-8 needs no word."""
    text = "a,b,y\n" + ROWS.replace("u", "\u00fc")
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    named = [] if encoding == "utf-8-sig" else ["--encoding", encoding]
    out = tmp_path / "z"
    assert main(["replay", str(tmp_path / "a.csv"), *named, "--json", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 16
    assert json.loads(out.read_text().splitlines()[-1])["prediction"] in ("\u00fc", "v")


def test_many_columns(tmp_path, capsys):
    """As x they are numbers like any others; as y they are more than memory holds, in one sentence."""
    n = 100_000
    names = ",".join(f"c{i}" for i in range(n))
    (tmp_path / "a.csv").write_text(f"{names},y\n" + "".join("1," * n + f"{y}\n" for y in "uv"))
    assert main(["replay", str(tmp_path / "a.csv"), "--json", "--learner", "oskaar"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] == 2
    said = sentence(capsys, tmp_path / "a.csv", "--y", "c*", "--max-bytes", "1e9")
    assert "lines 2 to 3" in said


def test_what_nobody_thought_of(tmp_path, capsys, monkeypatch):
    """An error of another kind is a sentence too, and --debug raises it."""
    (tmp_path / "a.csv").write_text("a,b,y\n" + ROWS)
    monkeypatch.setattr("oskaar.cli.replay.make_learner", lambda *args: 1 // 0)
    assert "this should not happen, ZeroDivisionError" in sentence(capsys, tmp_path / "a.csv")
    with pytest.raises(ZeroDivisionError):
        main(["replay", str(tmp_path / "a.csv"), "--debug"])


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_the_progress_bar_on_a_terminal(tmp_path):
    """Rounds, their pace, the running loss and the time left, on a terminal alone."""
    import pty

    (tmp_path / "a.csv").write_text("a,b,y\n" + ROWS * 25)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "oskaar", "replay", str(tmp_path / "a.csv"), "--json"]
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
    assert "s left" in text

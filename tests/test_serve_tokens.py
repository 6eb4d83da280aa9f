"""Tokens: scopes, streams, files, and which addresses need one."""

import hashlib

import pytest
from serving import SPEC, Server

from oskaar.cli import main
from oskaar.serve import Unauthorised
from oskaar.serve.tokens import Tokens, read_tokens, token_of

READ, WRITE, ADMIN = "reader-0123456789", "writer-0123456789", "admin-01234567890"
FILE = f"""
[[token]]
name = "reader"
sha256 = "{hashlib.sha256(READ.encode()).hexdigest()}"
scope = "read"

[[token]]
name = "writer"
token = "{WRITE}"
scope = "write"
streams = ["a", "eu-*"]
"""


def test_scopes_and_streams(tmp_path):
    (tmp_path / "tokens.toml").write_text(FILE)
    with Server(tmp_path / "data", "--token-file", tmp_path / "tokens.toml", env={"OSKAAR_TOKEN": ADMIN}) as server:

        def status(token, method, path, body=None):
            headers = {} if token is None else {"authorization": f"Bearer {token}"}
            found = server.send(method, path, body, headers)
            assert token is None or token not in str(found)
            return found[0]

        for name in ("a", "b", "eu-1"):
            assert status(WRITE, "PUT", f"/streams/{name}", SPEC) == 403
            assert status(ADMIN, "PUT", f"/streams/{name}", SPEC) == 201
        x = {"x": [0.0, 1.0]}
        for token, path, expected in [
            (None, "/streams/a/ask", 401),
            ("wrong-0123456789", "/streams/a/ask", 401),
            (READ, "/streams/a/ask", 403),
            (READ, "/streams/a/predict", 200),
            (READ, "/streams/b/predict", 200),
            (WRITE, "/streams/a/ask", 200),
            (WRITE, "/streams/eu-1/ask", 200),
            (WRITE, "/streams/b/ask", 403),
            (WRITE, "/streams/b/predict", 403),
            (ADMIN, "/streams/b/ask", 200),
        ]:
            assert status(token, "POST", path, x) == expected, (token, path)
        for path in ("/streams", "/metrics", "/events", "/streams/a", "/streams/a/model"):
            assert status(None, "GET", path) == 401
        for path in ("/", "/page.js", "/healthz", "/readyz", "/docs", "/openapi.json"):
            assert status(None, "GET", path) == 200
        seen = server.send("GET", "/streams", headers={"authorization": f"bearer {WRITE}"})[2]["streams"]
        assert [one["name"] for one in seen] == ["a", "eu-1"]
        text = server.send("GET", "/metrics", headers={"authorization": f"bearer {WRITE}"})[2].decode()
        assert "oskaar_stream_rounds_total{" in text
        assert 'stream="b"' not in text
        assert status(WRITE, "GET", "/events?stream=b") == 403
        assert server.send("GET", "/streams")[1]["www-authenticate"] == "Bearer"
        with pytest.raises(Unauthorised, match="may read; this needs write"):
            server.client("a", token=READ).ask([0.0, 1.0])
        assert server.client("a", token=WRITE).predict_one([0.0, 1.0]) in list("abc")
        assert WRITE not in server.log()
        assert '"token": "writer"' in server.log()


def test_another_address_needs_a_token(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OSKAAR_TOKEN", raising=False)
    assert main(["serve", "--data", str(tmp_path / "data"), "--host", "0.0.0.0"]) == 2
    assert "set OSKAAR_TOKEN" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    "table",
    [
        {"token": "short"},
        {"token": READ, "sha256": "00" * 32},
        {"name": "no secret"},
        {"token": READ, "scope": "all"},
        {"token": READ, "more": 1},
        {"sha256": "00"},
        {"sha256": "no digits"},
    ],
)
def test_bad_tokens_are_refused(table):
    with pytest.raises(ValueError, match=r"token|sha256|hexadecimal"):
        token_of(table)


def test_files_of_tokens(tmp_path):
    (tmp_path / "tokens.toml").write_text("")
    with pytest.raises(ValueError, match=r"no .*token"):
        read_tokens(tmp_path / "tokens.toml", None)
    assert not Tokens([])
    assert read_tokens(None, ADMIN).bearer(f"Bearer {ADMIN}", "admin", "any").name == "admin"
    with pytest.raises(Unauthorised):
        read_tokens(None, ADMIN).bearer("Basic abc", "read")

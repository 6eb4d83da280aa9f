"""The interface against its own OpenAPI document, with requests that schemathesis makes up."""

import json
import os
import subprocess
import sys

import pytest
from serving import SPEC, Server

from oskaar.serve.openapi import BODIES, document
from oskaar.serve.operations import KINDS, decoded


def test_the_document_says_what_there_is():
    paths = document()["paths"]
    assert {f"/streams/{{name}}/{kind}" for kind in BODIES} < set(paths)
    for kind in KINDS:
        content = paths[f"/streams/{{name}}/{kind}"]["post"]["requestBody"]["content"]["application/json"]
        decoded(kind, json.dumps(content["examples"]["one"]["value"]).encode(), 100)
    for methods in paths.values():
        for about in methods.values():
            for answer in about["responses"].values():
                for each in answer.get("content", {}).values():
                    reference = each["schema"].get("$ref")
                    assert reference is None or reference.split("/")[-1] in document()["components"]["schemas"]


@pytest.mark.slow
def test_made_up_requests(tmp_path):
    """No 5xx, no status, type or body that the document does not know."""
    with Server(tmp_path / "data", "--no-access-log") as server:
        assert server.send("PUT", "/streams/tags", SPEC)[0] == 201
        checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
        options = ["--checks", checks, "--max-examples", "60", "--seed", "1", "--phases", "examples,coverage,fuzzing"]
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json", *options]
        environment = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=900)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert server.send("GET", "/healthz")[0] == 200
        assert "Traceback" not in server.log()

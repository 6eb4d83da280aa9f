"""`oskaar serve` as a process, through a real client: the contract, errors, limits, restarts."""

import json

import numpy as np
import pytest
from serving import SMALL, SPEC, ZERO_ONE, Server

import oskaar
from oskaar import OSKAAR, kernels, losses, serve
from oskaar.serve.specs import make_learner
from oskaar.serve.store import Store
from oskaar.serve.values import to_answer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("serve") / "data", "--max-width", 50, "--max-batch", 100) as one:
        yield one
        one.stop()
        assert "Traceback" not in one.log()
        store = Store(one.folder)  # SIGTERM: what was taken is done, and in checkpoints
        assert all((saved.seq, saved.log_bytes) == (saved.last, 0) for saved in store.streams())
        store.close()


@pytest.fixture
def stream(server, request):
    name = request.node.name[:60].replace("[", "-").replace("]", "")
    assert server.send("PUT", f"/streams/{name}", SPEC)[0] == 201
    return f"/streams/{name}"


def test_one_server_a_folder(server):
    with pytest.raises(RuntimeError, match=f"is in use by process {server.process.pid}: one server a folder"):
        Server(server.folder)


def rounds(n, seed=0, width=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)).round(3)
    return X.tolist(), ["abc"[int(i)] for i in (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)]


def test_the_contract(server, stream):
    """What a stream answers is what the learner answers, round by round; the exported file is that learner."""
    learner = OSKAAR(losses.ZeroOne(["a", "b", "c"]), kernels.Gaussian(1.0), budget=8)
    for t, (x, y) in enumerate(zip(*rounds(40))):
        status, headers, found = server.send("POST", f"{stream}/ask", {"x": x})
        ticket, z = learner.ask(x)
        assert (status, found["ticket"], found["z"]) == (200, ticket, z)
        assert server.send("POST", f"{stream}/predict", {"x": x})[2]["z"] == learner.predict_one(x)
        if t % 5 == 4:
            assert server.send("POST", f"{stream}/forget", {"ticket": ticket})[0] == 200
            learner.forget(ticket)
            status, _, told = server.send("POST", f"{stream}/learn", {"x": x, "y": y})
            learner.learn_one(x, y)
        elif t % 5 == 3:
            continue
        else:
            status, _, told = server.send("POST", f"{stream}/tell", {"ticket": ticket, "y": y})
            learner.tell(ticket, y)
        assert (status, told["rounds"]) == (200, learner.rounds)
    status, _, found = server.send("GET", stream)
    assert status == 200
    assert found["rounds"] == learner.rounds
    assert found["mean_loss"] == learner.total_loss / learner.rounds
    assert found["open_tickets"] == len(learner.open_tickets) == 8
    status, headers, data = server.send("GET", f"{stream}/model")
    assert data == learner.to_bytes()
    assert oskaar.from_bytes(data).rounds == int(headers["oskaar-rounds"])


def test_batches_are_lines(server, stream):
    X, ys = rounds(30)
    lines = b"\n".join(json.dumps({"x": x, "y": y}).encode() for x, y in zip(X, ys))
    kind = {"content-type": "application/x-ndjson", "idempotency-key": "all"}
    status, _, content = server.send("POST", f"{stream}/learn", lines, kind)
    found = [json.loads(line) for line in content.splitlines()]
    assert status == 200
    assert [each["rounds"] for each in found] == list(range(1, 31))
    assert server.send("POST", f"{stream}/learn", lines, kind)[2] == content  # again, with the same key
    assert server.send("GET", stream)[2]["rounds"] == 30
    bad = b'{"x": [0.0, 0.0]}\n{"x": 1\n{"x": [0.0]}\n'
    answers = [json.loads(a) for a in server.send("POST", f"{stream}/predict", bad, kind)[2].splitlines()]
    assert answers[0]["z"] in list("abc")
    assert [answer["error"]["code"] for answer in answers[1:]] == ["body", "refused"]
    assert server.send("POST", f"{stream}/predict", b'{"x": [0, 0]}\n' * 101, kind)[2]["error"]["code"] == "batch"


def test_probabilities_by_name(server, stream):
    for x, y in zip(*rounds(10)):
        server.send("POST", f"{stream}/learn", {"x": x, "y": y})
    for verb in ("ask", "predict"):
        found = server.send("POST", f"{stream}/{verb}", {"x": [0, 1]})[2]["probabilities"]
        assert set(found) == set("abc")
        assert sum(found.values()) == pytest.approx(1.0)
        assert (
            "probabilities" not in server.send("POST", f"{stream}/{verb}", {"x": [0, 1], "probabilities": False})[2]
        )


def test_a_key_is_answered_once(server, stream):
    key = {"idempotency-key": "k"}
    first = server.send("POST", f"{stream}/ask", {"x": [0, 0]}, key)
    assert server.send("POST", f"{stream}/ask", {"x": [0, 0]}, key)[2] == first[2]
    status, _, found = server.send("POST", f"{stream}/ask", {"x": [0, 1]}, key)
    assert (status, found["error"]["code"]) == (409, "key")
    assert server.send("GET", stream)[2]["open_tickets"] == 1


def test_refusals_change_nothing(server, stream):
    """Every bad request says what is wrong; the ticket stays open, and the learner is as it was bit for bit."""
    for x, y in zip(*rounds(5)):
        server.send("POST", f"{stream}/learn", {"x": x, "y": y})
    ticket = server.send("POST", f"{stream}/ask", {"x": [0, 1]})[2]["ticket"]
    before = server.send("GET", f"{stream}/model")[2]
    cases = [
        (422, "refused", "tell", {"ticket": ticket, "y": "z"}),
        (422, "refused", "tell", {"ticket": ticket, "y": None}),
        (422, "refused", "tell", {"ticket": ticket, "y": [["a"], {}]}),
        (404, "ticket", "tell", {"ticket": 999, "y": "a"}),
        (404, "ticket", "forget", {"ticket": -1}),
        (400, "body", "tell", {"ticket": 2**70, "y": "a"}),
        (400, "body", "tell", {"ticket": "0", "y": "a"}),
        (400, "body", "tell", {"y": "a"}),
        (400, "body", "ask", {"x": [0, 1], "z": 1}),
        (400, "body", "ask", b"not json"),
        (400, "body", "ask", b"[" * 100_000),
        (400, "body", "ask", b'{"x": [NaN, 1]}'),
        (422, "refused", "ask", {"x": [0]}),
        (422, "refused", "ask", {"x": [None, 0]}),
        (422, "refused", "learn", {"x": {"a": 1}, "y": "a"}),
        (413, "width", "ask", {"x": [0] * 51}),
        (400, "key", "ask", {"x": [0, 1]}),
    ]
    for status, code, verb, body in cases:
        headers = {"idempotency-key": "k" * 201} if code == "key" else {}
        found = server.send("POST", f"{stream}/{verb}", body, headers)
        assert (found[0], found[2]["error"]["code"]) == (status, code), (verb, body, found)
        assert found[2]["error"]["message"]
    assert server.send("GET", f"{stream}/model")[2] == before
    assert server.send("POST", f"{stream}/tell", {"ticket": ticket, "y": "a"})[0] == 200


def test_streams_are_made_listed_and_deleted(server):
    path = "/streams/made"
    assert server.send("PUT", path, SPEC)[0] == 201
    assert server.send("PUT", path, SPEC)[0] == 200
    assert server.send("PUT", path, {"loss": {"name": "F1", "n_labels": 2}})[0] == 409
    assert "made" in [one["name"] for one in server.send("GET", "/streams")[2]["streams"]]
    assert server.send("DELETE", path)[0] == 204
    assert server.send("GET", path)[0] == 404
    assert server.send("POST", f"{path}/ask", {"x": [0]})[0] == 404
    assert server.send("PUT", path, {"loss": {"name": "F1", "n_labels": 2}})[0] == 201
    assert server.send("GET", path)[2]["rounds"] == 0
    assert server.send("DELETE", path)[0] == 204


def test_names_of_the_command_line(server):
    kernel = {"name": "gaussian", "lengthscale": 1.0}
    short = {"loss": {**ZERO_ONE, "name": "zeroone"}, "learner": {**SMALL, "name": "oskaar", "kernel": kernel}}
    assert server.send("PUT", "/streams/short", short)[0] == 201
    assert server.send("PUT", "/streams/short", SPEC)[0] == 200
    assert server.send("GET", "/streams/short")[2]["learner"] == SMALL


def test_a_deletion_whose_answer_was_lost(server, monkeypatch):
    """The client tries again, and finds that it is done; a stream that never was is an error."""
    learner = server.client("lost").create(ZERO_ONE, SMALL)
    once, calls = serve.Client._once, []

    def loses_the_first(self, *request):
        found = once(self, *request)
        calls.append(request[0])
        if len(calls) == 1:
            raise ConnectionResetError
        return found

    monkeypatch.setattr(serve.Client, "_once", loses_the_first)
    learner.delete()
    assert calls == ["DELETE"]
    with pytest.raises(serve.NotFound):
        learner.delete()


@pytest.mark.parametrize(
    "spec",
    [
        [],
        {"loss": "ZeroOne"},
        {"loss": {"name": "Loss"}},
        {"loss": {"name": "__class__"}},
        {"loss": {"name": "edit_distance"}},
        {"loss": {"name": "F1", "n_labels": 10**9}},
        {"loss": {"name": "F1", "n_labels": "3"}},
        {"loss": {"name": "F1", "other": 3}},
        {"loss": {"name": "LossTrick", "delta": "eval"}},
        {"loss": ZERO_ONE, "learner": {"name": "BatchILE"}},
        {"loss": ZERO_ONE, "learner": {"name": {}}},
        {"loss": {"name": []}},
        {"loss": ZERO_ONE, "learner": {"name": "OSKAAR", "kernel": {"name": {"name": 1}}}},
        {"loss": ZERO_ONE, "learner": {"name": "OSKAAR", "max_bytes": 1}},
        {"loss": ZERO_ONE, "learner": {"name": "OSKAAR", "kernel": {"name": "Pairwise", "function": "print"}}},
        {"loss": ZERO_ONE, "learner": {"name": "OSKAAR", "lam": -1}},
        {"loss": ZERO_ONE, "max_open": 0},
        {"loss": ZERO_ONE, "more": 1},
        {"loss": {"name": "PerRow", "loss": {"name": "PerRow", "loss": ZERO_ONE}}},
    ],
)
def test_bad_specifications(server, spec):
    status, _, found = server.send("PUT", "/streams/bad", spec)
    assert status == 422, found
    assert server.send("GET", "/streams/bad")[0] == 404


def test_bad_names(server):
    for name in ("%2e%2e", "a%20b", "a" * 101, "%3Cscript%3E"):
        assert server.send("PUT", f"/streams/{name}", SPEC)[0] == 422
    assert server.send("PUT", "/streams/a/b", SPEC)[0] == 404
    assert server.send("POST", "/streams", SPEC)[0] == 405


@pytest.mark.parametrize(
    ("loss", "arguments", "ys"),
    [
        ("F1", {"n_labels": 4}, [frozenset({0, 2}), frozenset(), frozenset({3})]),
        ("Ordinal", {"levels": ["low", "mid", "high"]}, ["low", "high", "high"]),
        ("Kendall", {"n_items": ["x", "y", "z"]}, [("x", "y", "z"), ("z", frozenset({"x", "y"})), ("z", "y", "x")]),
        ("SequenceHamming", {"length": 2, "n_symbols": ["a", "b"]}, [("a", "b"), ("b", "b"), ("a", "a")]),
        ("Squared", {"dim": 2, "low": 0, "high": 4}, [[1.0, 2.0], [3.0, 0.5], [0.0, 4.0]]),
        ("Circular", {}, [0.5, -1.0, 3.0]),
        ("SimplexL2", {"n": 2}, [[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]]),
        ("NDCG", {"n_items": 3}, [(0.0, 1.0, 2.0), (2.0, 0.0, 0.0), (1.0, 1.0, 0.0)]),
        ("LossTrick", {"delta": "edit_distance"}, ["abc", "abd", "xyz"]),
    ],
)
def test_structures_come_back_as_they_went(server, loss, arguments, ys):
    """The client is a learner: the same code, the same answers, of the same kind."""
    remote = server.client(f"structure-{loss}").create({"name": loss, **arguments}, {"name": "OSKAAR", "lam": 0.1})
    local = OSKAAR(remote.loss, lam=0.1)
    for x, y in zip([[0.0], [1.0], [0.5]], ys):
        for learner in (remote, local):
            ticket, _ = learner.ask(x)
            learner.tell(ticket, y)
    z, expected = remote.predict_one([0.9]), local.predict_one([0.9])
    assert type(z) is type(expected)
    assert np.array_equal(z, expected) if isinstance(z, np.ndarray) else z == expected
    assert remote.to_bytes() == local.to_bytes()
    remote.delete()


def test_the_client_is_a_learner(server, tmp_path):
    remote = server.client("client").create(ZERO_ONE, SMALL)
    local = make_learner(SPEC)
    X, ys = rounds(25)
    for learner in (remote, local):
        for x, y in zip(X, ys):
            learner.predict_one(x)
            learner.learn_one(x, y)
    remote.learn_many(X, ys)
    local.learn_many(X, ys)
    assert remote.predict_many(X) == local.predict_many(X)
    assert (remote.rounds, remote.total_loss) == (local.rounds, local.total_loss)
    remote.save(tmp_path / "model.oskaar")
    assert oskaar.load(tmp_path / "model.oskaar").to_bytes() == local.to_bytes()
    with pytest.raises(serve.Refused, match="unknown class"):
        remote.learn_one(X[0], "z")
    with pytest.raises(ValueError, match="round 1: unknown class"):
        remote.learn_many(X[:2], ["a", "z"])
    with pytest.raises(serve.NotFound):
        server.client("nobody").predict_one([0.0])
    with pytest.raises(serve.Conflict):
        remote.create("Circular")
    with pytest.raises(ValueError, match="say which stream"):
        serve.Client(server.url).ask([0.0])


def test_pages_of_other_sites_are_refused(server, stream):
    """A browser may be made to send requests: CORS is off, and what it says of itself is looked at."""
    for headers in ({"origin": "http://evil.example"}, {"host": "evil.example"}, {"origin": "null"}):
        status, found, _ = server.send("POST", f"{stream}/ask", {"x": [0, 0]}, headers)
        assert status == 403
        assert not any(name.lower().startswith("access-control") for name in found)
    own = {"origin": server.url}
    assert server.send("POST", f"{stream}/ask", {"x": [0, 0]}, own)[0] == 200
    assert server.send("OPTIONS", f"{stream}/ask", headers={"origin": "http://evil.example"})[0] == 405


def test_headers_of_every_answer(server):
    for path in ("/", "/docs", "/healthz", "/nothing", "/page.js"):
        headers = {name.lower(): value for name, value in server.send("GET", path)[1].items()}
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_headers_of_rounds(server, stream):
    """Answers, refusals and batches are data, whatever is in them."""
    lines = {"content-type": "application/x-ndjson"}
    sent = [({"x": [0, 0]}, {}), ({"x": "<script>"}, {}), (b'{"x": [0, 0]}', lines), (b"<script>", {})]
    for body, more in sent:
        status, found, _ = server.send("POST", f"{stream}/ask", body, more)
        headers = {name.lower(): value for name, value in found.items()}
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["content-type"].startswith("application/")
        assert (status == 200) == (b"script" not in (body if isinstance(body, bytes) else str(body).encode()))
        assert "server" not in headers


def test_metrics_and_health(server, stream):
    server.send("POST", f"{stream}/ask", {"x": [0, 0]})
    text = server.send("GET", "/metrics")[2].decode()
    name = stream.rsplit("/", 1)[1]
    assert f'oskaar_stream_open_tickets{{stream="{name}"}} 1' in text
    assert 'oskaar_requests_total{route="ask",status="200"}' in text
    for line in text.splitlines():
        assert line.startswith("# TYPE ") or float(line.rsplit(" ", 1)[1]) >= 0
    assert server.send("GET", "/healthz")[0] == 200
    assert server.send("GET", "/readyz")[2]["ready"]


def test_the_access_log_is_json(server, stream):
    server.send("POST", f"{stream}/ask", {"x": [0, 0]})
    found = [json.loads(line) for line in server.log().splitlines() if line.startswith("{")]
    mine = [line for line in found if line.get("path") == f"{stream}/ask"]
    assert mine[0]["status"] == 200
    assert mine[0]["method"] == "POST"


def test_too_large_a_body(server, stream):
    status, _, found = server.send("POST", f"{stream}/ask", b" " * (8 * 2**20 + 1))
    assert (status, found["error"]["code"]) == (413, "body")


@pytest.mark.parametrize("make", [losses.Absolute, losses.Huber, losses.Pinball, losses.Squared])
def test_answers_of_vector_losses_come_back_as_arrays(make):
    """As a learner in this process gives them."""
    loss = make(2)
    space = loss.space().extended(loss.check([0.1, 0.2]))
    z = space.decode_many(np.ones((1, space.p)))[0]
    again = to_answer(loss, json.loads(json.dumps(z.tolist())))
    assert type(again) is type(z)
    np.testing.assert_array_equal(again, z)

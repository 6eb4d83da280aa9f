"""Files that are damaged or hostile are refused with a StateError, and nothing in them is executed."""

import io
import itertools
import json
import os
import re
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import saved
from files import node_of, packed, set_attribute, taken_apart, together, unpacked
from hypothesis import given, settings
from hypothesis import strategies as st

import oskaar
from oskaar import OSKAAR, SALAMI, Ensemble, StateError, features, kernels, losses
from oskaar.learners import Predictor
from oskaar.state import limits

EXAMPLES = int(os.environ.get("OSKAAR_EXAMPLES", "15"))
"""Of each kind of damage to each file; OSKAAR_EXAMPLES=2000 for a long run."""


def small(make=OSKAAR, rounds=5, xs=None, **settings):
    learner = make(losses.F1(3), **settings)
    xs = saved.rows(rounds, 2) if xs is None else xs
    learner.learn_many(xs, [{i % 3} for i in range(rounds)])
    return learner


SMALL = {
    "oskaar": small(),
    "salami": small(SALAMI),
    "ensemble": small(Ensemble),
    "geometric": small(SALAMI, restarts="geometric", lam=1.0),
    "budget": small(budget=3),
    "restarted budget": small(SALAMI, budget=3),
    "dicts": small(xs=[{"a": 1.0, f"b{i}": 2.0} for i in range(5)], kernel=kernels.Cosine() + 1.0),
    "trick": OSKAAR(losses.LossTrick(losses.edit_distance), kernels.Linear() + 1.0).fit([[0.0], [1.0]], ["a", "bc"]),
}
DATA = {name: learner.to_bytes() for name, learner in SMALL.items()}


def refused(data, match=".", **settings):
    with pytest.raises(StateError, match=match):
        oskaar.from_bytes(data, **settings)


def equal_or_refused(data, original):
    try:
        learner = oskaar.from_bytes(data)
    except StateError:
        return
    assert learner.to_bytes() == original


@pytest.mark.parametrize("name", DATA)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_flipped_bytes(name, data):
    """Any few bytes changed: refused, or (in what a zip does not use) the same learner."""
    raw = bytearray(DATA[name])
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        equal_or_refused(bytes(raw), DATA[name])


@settings(max_examples=2 * EXAMPLES)
@given(st.sampled_from(sorted(DATA)), st.data())
def test_cut_and_spliced(name, data):
    raw = DATA[name]
    lo, hi = sorted(data.draw(st.lists(st.integers(0, len(raw)), min_size=2, max_size=2)))
    for mutated in (
        raw[:lo],
        raw[:lo] + raw[hi:],
        raw[:hi] + raw[lo:],
        raw[lo:],
        raw[:lo] + b"\0" * (hi - lo) + raw[hi:],
    ):
        equal_or_refused(mutated, raw)


@given(st.binary(max_size=200))
def test_any_bytes(data):
    refused(data)
    refused(b"PK\x03\x04" + data)


def test_truncated_anywhere():
    raw = DATA["oskaar"]
    for stop in [*range(0, len(raw), 97), len(raw) - 1]:
        refused(raw[:stop])


def values():
    """What a hostile manifest may have anywhere."""
    plain = st.one_of(st.none(), st.booleans(), st.integers(), st.integers(-3, 300), st.floats(), st.text(max_size=5))
    place = st.integers(-2, 200).map(lambda i: [i])
    names = st.sampled_from(["os:system", "no/such-tag", "solver/kaar", "rows/inputs"])
    nodes = st.sampled_from(
        [{"list": []}, {"dict": []}, {"int": "0x1"}, {"float": "nan"}, {"csr": [0, [1, 1], 0, 0, 0]}]
    )
    return st.one_of(plain, place, names, nodes, st.lists(plain, max_size=3))


def spots(tree):
    """Every place in a manifest's nodes: (container, key)."""
    found, waiting = [], [tree]
    while waiting:
        thing = waiting.pop()
        pairs = thing.items() if isinstance(thing, dict) else enumerate(thing)
        for key, value in pairs:
            found.append((thing, key))
            if isinstance(value, (dict, list)):
                waiting.append(value)
    return found


@pytest.mark.parametrize("name", DATA)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_manifests_with_valid_checksums(name, data):
    """Anything anywhere in the manifest: refused, or a learner; never another error."""
    manifest, arrays = taken_apart(DATA[name])
    places = spots(manifest["nodes"])
    for _ in range(data.draw(st.integers(1, 2))):
        holder, key = data.draw(st.sampled_from(places))
        if isinstance(holder, dict) and data.draw(st.booleans()):
            holder[
                data.draw(st.sampled_from(["list", "is", "growing", "sheet", "array", "fixed", "partial", "csr"]))
            ] = holder.pop(key, None)
        elif not isinstance(holder, list) or key < len(holder):
            holder[key] = data.draw(values())
    _learner_or_refused(together(manifest, arrays))


@pytest.mark.parametrize("name", DATA)
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_arrays_with_valid_checksums(name, data):
    manifest, arrays = taken_apart(DATA[name])
    i = data.draw(st.integers(0, len(arrays) - 1))
    array = unpacked(arrays[i])
    change = data.draw(st.sampled_from(["nan", "huge", "negative", "dtype", "shape", "empty", "text", "complex"]))
    if change in ("nan", "huge", "negative") and array.size:
        array = array.copy()
        value = {"nan": np.nan, "huge": np.inf, "negative": -(2**20)}[change]
        array.flat[data.draw(st.integers(0, array.size - 1))] = value if array.dtype.kind == "f" else -(2**20)
    elif change in ("shape", "empty"):
        array = array.reshape(-1) if change == "shape" else array[:0]
    else:
        array = array.astype({"dtype": np.int16, "text": "U3", "complex": complex}.get(change, array.dtype))
    arrays[i] = packed(array)
    _learner_or_refused(together(manifest, arrays))


def _learner_or_refused(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert isinstance(oskaar.from_bytes(data), Predictor)
        except StateError:
            return


def test_an_array_with_another_checksum():
    """What the zip's own, weaker sums do not see."""
    manifest, arrays = taken_apart(DATA["oskaar"])
    for i, raw in enumerate(arrays):
        array = unpacked(raw).copy()
        if array.size:
            array.flat[0] += 1
            changed = [*arrays[:i], packed(array), *arrays[i + 1 :]]
            refused(together(manifest, changed, sums=False), "another checksum")
    data = together(manifest, arrays)
    assert oskaar.from_bytes(data).rounds == 5
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, "0" * 64 if name == "manifest.sha256" else old.read(name))
    refused(file.getvalue(), "manifest has another checksum")


def test_nan_in_factors():
    """One entry of any array but the cells of early rows, where NaN is a missing one."""
    for name in ("oskaar", "salami", "geometric", "budget", "restarted budget"):
        manifest, arrays = taken_apart(DATA[name])
        nodes, spoiled = manifest["nodes"], 0
        tables = [nodes[n["state"][0]]["dict"] for n in nodes if n.get("is") == "table/columns"]
        cells = [nodes[place[0]]["array"] for table in tables for key, place in table if key == "matrix" and place]
        for i, raw in enumerate(arrays):
            array = unpacked(raw)
            if array.dtype.kind == "f" and array.size and i not in cells:
                array = array.copy(order="K")
                array.flat[0] = np.nan
                refused(together(manifest, [*arrays[:i], packed(array), *arrays[i + 1 :]]), "finite")
                spoiled += 1
        assert spoiled > 3


class Bomb:
    """What pickle would run."""

    def __reduce__(self):
        return os.mkdir, ("should-never-exist",)


def test_object_arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    manifest, arrays = taken_apart(DATA["oskaar"])
    bomb = np.array([Bomb()], dtype=object)
    for i in range(len(arrays)):
        refused(together(manifest, [*arrays[:i], packed(bomb, True), *arrays[i + 1 :]]), "array|hold")
    pointers = packed(np.zeros(4, dtype=np.int64)).replace(b"'<i8'", b"'|O' ")
    refused(together(manifest, [pointers, *arrays[1:]]), "arrays hold numbers or texts")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "node",
    [
        {"function": "os:system"},
        {"function": "builtins:eval"},
        {"type": "subprocess:Popen"},
        {"is": "subprocess:Popen", "state": None},
        {"function": "oskaar.state.files:save"},
        {"function": "oskaar.streams:read"},
        {"function": "saved:os.system"},
        {"is": "oskaar.state.encode:Encoder", "state": None},
        {"function": "oskaar.losses:np.save"},
        {"is": "no/such-tag", "state": None},
        {"is": "ZeroOne", "state": None},
        {"type": ""},
        {"enum": ["http:HTTPStatus", "OK"]},
    ],
)
def test_names_from_elsewhere(node):
    manifest, arrays = taken_apart(DATA["oskaar"])
    manifest["nodes"][0] = node
    refused(together(manifest, arrays), "not a part of oskaar")


def test_an_allowed_module_is_no_way_to_others():
    for name in ("saved:np.save", "saved:csr_array", "saved:losses", "saved:OSKAAR", "saved:nothing"):
        manifest, arrays = taken_apart(DATA["oskaar"])
        manifest["nodes"][0] = {"function": name}
        refused(together(manifest, arrays), "defines no such thing", allow=["saved"])
    refused(
        together({**manifest, "nodes": [{"type": "no_such_module:x"}]}, arrays), "importing", allow=["no_such_module"]
    )


@pytest.mark.parametrize(
    ("name", "cls", "attribute", "value", "match"),
    [
        ("oskaar", "OSKAAR", "predict_one", 1, "not an attribute"),
        ("oskaar", "OSKAAR", "__class__", 1, "not an attribute"),
        ("oskaar", "OSKAAR", "space", None, "not an attribute"),
        ("oskaar", "OSKAAR", "rounds", -1, "rounds"),
        ("oskaar", "OSKAAR", "rounds", 4, "as many rounds"),
        ("oskaar", "OSKAAR", "rounds", True, "rounds"),
        ("oskaar", "OSKAAR", "regret", "x", "not the state"),
        ("oskaar", "OSKAAR", "_incomplete", True, "middle of a round"),
        ("oskaar", "OSKAAR", "_inputs", None, "inputs"),
        ("oskaar", "OSKAAR", "_estimator", 3, "not the state"),
        ("oskaar", "OSKAAR", "loss", "F1", "loss"),
        ("oskaar", "ExactSolver", "lam", 0.0, "lam"),
        ("oskaar", "ExactSolver", "factor", None, "factor"),
        ("oskaar", "PanelCholesky", "n", 300, "panels"),
        ("oskaar", "PanelCholesky", "n", 6, "rows"),
        ("oskaar", "DenseStore", "width", 3, "width"),
        ("oskaar", "Inputs", "keep", 2, "keep"),
        ("dicts", "DictStore", "width", 1, "column"),
        ("salami", "Products", "targets", 77, "targets"),
        ("salami", "Products", "open", 77, "open rows"),
        ("salami", "SuffixFactor", "shares", 3, "."),
        ("salami", "SuffixFactor", "unfolded", 77, "."),
        ("salami", "AllRestarts", "products", None, "products"),
        ("salami", "SuffixFactor", "skipped", -1, "dropped"),
        ("salami", "SALAMI", "_estimator", None, "not the state"),
        ("salami", "Mixture", "weights", 3, "weights"),
        ("salami", "Mixture", "changes", 3, "change detector"),
        ("salami", "Mixture", "rounds", 4, "as many rounds"),
        ("salami", "Mixture", "restarts", None, "not the state"),
        ("salami", "Weights", "gains", None, "."),
        ("salami", "Weights", "priors", None, "."),
        ("salami", "ChangeDetector", "rate", 3, "rate"),
        ("salami", "ChangeDetector", "inside", 8, "open"),
        ("salami", "ChangeDetector", "start", -1, "start"),
        ("salami", "ChangeDetector", "blocks", None, "."),
        ("salami", "ChangeDetector", "gains", None, "."),
        ("salami", "ChangeDetector", "found", 3, "."),
        ("ensemble", "Mixture", "experts", None, "."),
        ("ensemble", "SelectedMixture", "mixture", 3, "mixture"),
        ("ensemble", "SelectedMixture", "selection", 3, "selection"),
        ("ensemble", "SelectedMixture", "groups", None, "."),
        ("ensemble", "PastLabels", "rounds", 77, "all rounds"),
        ("ensemble", "PastLabels", "last", None, "one row"),
        ("ensemble", "Ridges", "solvers", 3, "."),
        ("ensemble", "Ridges", "inputs", None, "inputs"),
        ("ensemble", "Selection", "sums", None, "."),
        ("ensemble", "Selection", "largest", None, "not the state"),
        ("ensemble", "Selection", "largest", float("inf"), "must be finite"),
        ("geometric", "GeometricRestarts", "seen", 4, "first rows"),
        ("restarted budget", "FeatureRestarts", "maps", None, "maps"),
        ("restarted budget", "RecentRows", "K", None, "float64"),
        ("budget", "FeatureKaar", "features", None, "map"),
    ],
)
def test_states_that_no_learner_has(name, cls, attribute, value, match):
    manifest, arrays = taken_apart(DATA[name])
    set_attribute(manifest, cls, attribute, value)
    refused(together(manifest, arrays), match)


def test_columns_of_sparse_rows_exist():
    """Else SciPy would read memory that is not its own."""
    manifest, arrays = taken_apart(DATA["dicts"])
    store = node_of(manifest, "DictStore")[1]
    place = manifest["nodes"][dict(map(tuple, map(_frozen, store)))["_indices"][0]]["growing"][0]
    indices = unpacked(arrays[place]).copy()
    indices[-1] = 10**6
    refused(together(manifest, [*arrays[:place], packed(indices), *arrays[place + 1 :]]), "column")


def _frozen(pair):
    return pair[0], tuple(pair[1]) if isinstance(pair[1], list) else pair[1]


def test_memory_is_not_promised():
    """Room to grow is what oskaar would take, whatever the file says."""
    manifest, arrays = taken_apart(DATA["oskaar"])
    for node in manifest["nodes"]:
        if "growing" in node:
            node["growing"][1:] = [10**15, 10**15]
    again = oskaar.from_bytes(together(manifest, arrays))
    assert again.cost().bytes < 2 * SMALL["oskaar"].cost().bytes


def test_manifests_that_are_not():
    manifest, arrays = taken_apart(DATA["oskaar"])
    refused(together({**manifest, "format": 4}, arrays), "format 4.*install the oskaar")
    refused(together({**manifest, "format": 2}, arrays), "format 2.*reads format 3")
    refused(together({**manifest, "format": 0}, arrays), "format 0")
    refused(together({**manifest, "format": "1"}, arrays), "number of its format")
    refused(together(b"[" * 100_000, []))
    refused(together(b"[" * 100_000 + b"]" * 100_000, []))
    refused(together({**manifest, "nodes": [{"list": [[0]]}]}, arrays), "before it")
    refused(together({**manifest, "nodes": {}}, arrays), "list arrays and nodes")
    refused(together({**manifest, "root": 5}, arrays), "must hold a learner")
    refused(together({**manifest, "nodes": [{"what": 1}]}, arrays), "no kind of node")
    refused(together({**manifest, "nodes": [{"array": 0}, {"array": 0}]}, arrays), "used already")
    refused(together(b"9" * 10_000, arrays))
    refused(together(manifest, arrays[:-1]))


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "arrays/../0.npy", "arrays/00.npy", "C:\\x", "a" * 1000])
def test_names_of_members(name):
    manifest, arrays = taken_apart(DATA["oskaar"])
    refused(together(manifest, arrays, [(name, b"x")]), "which no state has")


def test_members_that_are_amiss():
    manifest, arrays = taken_apart(DATA["oskaar"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refused(together(manifest, arrays, [("manifest.json", b"{}")]), "twice")
        refused(together(manifest, arrays, [("arrays/0.npy", arrays[0])]), "twice")
    refused(together(manifest, arrays, [("arrays/999.npy", arrays[0])]), "members that its manifest lists")
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", "{}", compress_type=zipfile.ZIP_LZMA)
    refused(file.getvalue(), "packed in a way")
    refused(DATA["oskaar"].replace(b"manifest.sha256", b"manifest.sha257"), "which no state has")


def test_bombs(monkeypatch):
    """What unpacks to much more than the file is refused before that, and a lie about the size is caught."""
    monkeypatch.setattr(limits, "SAFE", 2**20)
    manifest, arrays = taken_apart(DATA["oskaar"])
    refused(together(manifest, [*arrays, packed(np.zeros(2**21))]), "unpacks to")
    refused(together({**manifest, "nodes": " " * 2**19}, arrays))
    refused(DATA["oskaar"], "pass a larger max_bytes", max_bytes=1000)
    raw = together(manifest, [packed(np.zeros(2**15)), *arrays[1:]])
    size = (2**15 * 8 + 128).to_bytes(4, "little")
    assert raw.count(size) >= 1
    for lie in (100, 2**15 * 4, 2**15 * 8 + 136):
        refused(raw.replace(size, lie.to_bytes(4, "little")))


def hostile(*arguments, seconds=600):
    """What became of the files of tests/hostile.py, which reads them with 200 MB to spare."""
    program = Path(__file__).with_name("hostile.py")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, program, *arguments],
        capture_output=True,
        env=environment,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert run.returncode == 0, f"{run.stdout[-300:]}{run.stderr[-2000:]}"
    return run.stdout.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")
def test_small_files_that_ask_for_much():
    """Each is refused, in little memory, and none hangs."""
    lines = hostile("attacks")
    assert len(lines) >= 40
    assert [line for line in lines if ": refused, " not in line] == []
    reasons = {
        "repeats its parts": [
            "shared tuples as a count",
            "shared lists as a sum",
            "shared kernels",
            "a long text shared",
        ],
        "more than 200 deep": ["deep tuples", "deep lists"],
        "more work than its size explains": [
            *("colliding ints", "colliding keys", "colliding tuples", "one state for many objects")
        ],
        "keys that were chosen to collide": ["colliding slots"],
        "the manifest needs": ["84 million []", "a million {}", "texts that are wide"],
        "unpacks to": ["a growing array", "room to grow", "a sheet", "S0", "one long text"],
    }
    for reason, names in reasons.items():
        for name in names:
            assert any(f": {name}: refused, " in line and reason in line for line in lines), (reason, name)


@pytest.mark.parametrize("kind", ["set", "frozenset", "dict"])
def test_keys_that_take_long_are_refused(kind, monkeypatch):
    """By a clock that goes on by so many seconds whenever it is asked."""
    n = 2000
    nodes = [{kind: [[i, i] for i in range(n)] if kind == "dict" else list(range(n))}, {"list": [[0], [0]]}]
    data = together({"format": 3, "oskaar": "0", "arrays": [], "root": [1], "nodes": nodes}, [])
    for seconds, match in ((0.0, "it holds a list"), (0.05, "chosen to collide")):
        clock = itertools.count(0.0, seconds)
        monkeypatch.setattr(time, "thread_time", clock.__next__)
        refused(data, match)
    late = itertools.chain([0.0, 9.0], itertools.repeat(9.0))  # the machine was busy, once
    monkeypatch.setattr(time, "thread_time", late.__next__)
    refused(data, "it holds a list")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")
@pytest.mark.parametrize("count", [150, pytest.param(5000, marks=pytest.mark.slow)])
def test_files_at_random(count):
    """Refused, or a learner; in little memory, and none hangs."""
    seed = str(np.random.default_rng().integers(2**31) if count > 1000 else 7)
    lines = hostile("fuzz", seed, str(count))
    assert len(lines) == count
    became = {line.split(": ", 1)[1] for line in lines}
    assert "refused" in became
    others = [line for line in lines if line.split(": ", 1)[1] not in ("refused", "OSKAAR", "SALAMI")]
    assert not others, f"seed {seed}"


@pytest.mark.slow
def test_large_learners_load():
    """Limits grow with the file: many classes, names and tickets, and a young learner whose arrays are mostly 0."""
    n = 20_000
    classes = oskaar.MostFrequent(losses.ZeroOne()).fit([[0]] * n, [(i, i % 7, "x") for i in range(n)])
    assert len(oskaar.from_bytes(classes.to_bytes())._counts) == n
    tickets = OSKAAR(losses.ZeroOne("ab"), features=features.LinearMap())
    tickets.learn_one({f"w{i}": 1.0 for i in range(n)}, "a")
    answers = [tickets.ask({"w1": float(i)})[0] for i in range(500)]
    assert oskaar.from_bytes(tickets.to_bytes()).open_tickets == answers
    words = OSKAAR(losses.ZeroOne("ab"), kernels.Pairwise(saved.overlap))
    words.learn_many([("[" * 50, '{,,"' * 50, str(i)) for i in range(100)], "ab" * 50)
    assert oskaar.from_bytes(words.to_bytes(), allow=["saved"]).rounds == 100


def test_a_limit_can_be_raised(monkeypatch):
    """The number in the message is enough."""
    monkeypatch.setattr(limits, "SAFE", 2**15)
    learner = OSKAAR(losses.ZeroOne(2), kernels.Linear()).fit(np.zeros((600, 40)), [0, 1] * 300)
    data = together(*taken_apart(learner.to_bytes()))
    enough = None
    for _ in range(9):  # room to grow is asked for array by array
        try:
            again = oskaar.from_bytes(data, max_bytes=enough)
            break
        except StateError as error:
            enough = int(re.search("max_bytes=([0-9]+)", str(error))[1])
    assert enough > 2**15
    assert again.rounds == 600


def test_a_scan_sees_what_json_sees():
    """In pieces of any size, with texts that hold brackets, quotes and backslashes."""
    text = json.dumps([{"a[": 'b{"', "\\": ['\\"[', "x\\"]}, [[1, 2], "}", "\\\\"], '"' * 5]).encode()
    costs = set()
    for size in range(1, len(text) + 1):
        scan = limits.Scan(10**9)
        for first in range(0, len(text), size):
            scan.add(text[first : first + size])
        costs.add(scan.cost)
    assert costs == {2 * len(text) + 240 * 1 + 64 * 4 + 40 * 7 + 25 * 16}


CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.oskaar"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(StateError):
            oskaar.load(path)


def test_the_corpus_is_there():
    assert len(CORPUS) >= 10

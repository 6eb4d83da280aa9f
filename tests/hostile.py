"""Run as a program: small files that ask for much, read one by one with 200 MB to spare.

python hostile.py attacks, or python hostile.py fuzz SEED COUNT, prints what became of each.
A file that hangs ends the program with SIGALRM.
"""

import gc
import hashlib
import io
import random
import resource
import signal
import sys
import time
import warnings
import zipfile

import numpy as np
from files import packed, set_attribute, taken_apart, together

import oskaar
from oskaar import OSKAAR, SALAMI, StateError, kernels, losses

SPARE, SECONDS = 200_000_000, 20
PRIME = 2**61 - 1  # ints that differ by it have one hash


def state(nodes, root, arrays=()):
    """A file of any nodes."""
    return together({"format": 3, "oskaar": "0", "arrays": [""] * len(arrays), "root": root, "nodes": nodes}, arrays)


def doubled(depth, kind="tuple", leaf=None):
    """Nodes of which each has the one before it twice."""
    return [leaf or {kind: []}, *({kind: [[i], [i]]} for i in range(depth))]


def chained(depth, kind="tuple"):
    return [{kind: []}, *({kind: [[i]]} for i in range(depth))]


def head(dtype, shape):
    """The header of an array without the array."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def zeros(shape):
    """An array of zeros, which a zip makes a thousand times smaller."""
    return head("<f8", shape) + bytes(8 * int(np.prod(shape)))


def streamed(pieces):
    """A file whose manifest comes in pieces, and is never whole in memory."""
    file, total = io.BytesIO(), hashlib.sha256()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("manifest.json", "w") as member:
            for piece in pieces:
                total.update(piece)
                member.write(piece)
        archive.writestr("manifest.sha256", total.hexdigest())
    return file.getvalue()


def manifest(piece, times, end):
    return streamed([b'{"format":3,"arrays":[],"root":0,"nodes":[', *[piece * 1000] * (times // 1000), end + b"]}"])


def in_learner(nodes, cls, attribute, make=OSKAAR):
    """A learner with the last of some nodes as an attribute."""
    learner = make(losses.F1(3)).fit([[0.0], [1.0]], [{0}, {1}])
    found, arrays = taken_apart(learner.to_bytes())
    moved = [moved_by(node, len(nodes)) for node in found["nodes"]]
    found.update(nodes=[*nodes, *moved], root=[found["root"][0] + len(nodes)])
    set_attribute(found, cls, attribute, [len(nodes) - 1])
    return together(found, arrays)


def moved_by(node, n):
    """A node whose references are n larger."""
    kind = next(iter(node))
    content = node[kind]

    def value(v):
        return [v[0] + n] if isinstance(v, list) and len(v) == 1 and isinstance(v[0], int) else v

    if kind in ("list", "tuple", "set", "frozenset", "partial"):
        return {kind: [value(v) for v in content]}
    if kind == "dict":
        return {kind: [[value(k), value(v)] for k, v in content]}
    if kind in ("objects", "named"):
        return {kind: [content[0], [value(v) for v in content[1]]]}
    if kind == "csr":
        return {kind: [*content[:2], *map(value, content[2:])]}
    return {**node, "state": value(node["state"])} if kind == "is" else node


def members(count):
    """A zip of many tiny members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for i in range(count):
            archive.writestr(zipfile.ZipInfo(f"arrays/{i}.npy"), b"")
    return file.getvalue()


def instances(cls, depth, *names):
    """Objects of which each has the one before it under each name."""
    nodes = [{"tuple": []}]
    for _ in range(depth):
        nodes.append({"dict": [[name, [len(nodes) - 1]] for name in names]})
        nodes.append({"is": cls, "state": [len(nodes) - 1]})
    return nodes


def shared_state(count, size):
    nodes = [{"dict": [[f"a{i}", i] for i in range(size)]}]
    return [*nodes, *[{"is": "loss/zero-one", "state": [0]}] * count]


def shared_array(count):
    nodes = [{"array": 0}, {"dict": [["a", [0]]]}]
    return [
        *nodes,
        *[{"is": "kernel/linear", "state": [1]}] * count,
        *instances("rows/inputs", 2, "a"),
    ]


def sparse(count):
    parts = [{"array": i} for i in range(3)]
    return [*parts, *[{"csr": [False, [0, 10], [0], [1], [2]]}] * count]


def partials(count):
    nodes = [{"function": "function/edit-distance"}, {"tuple": [0] * 1000}, {"dict": []}]
    return [*nodes, *({"partial": [[i and i + 2], [1], [2]]} for i in range(count))]


COLLIDING = [PRIME * i for i in range(1, 20_000)]


def slots(bits=16, first=24_000, top=21):
    """Ints with hashes of their own that meet in a dict of 2^bits slots: each tries thousands that are taken.

    CPython looks for a free slot at i = hash, then at 5 i + 1 + (hash >> 5), 5 i + 1 + (hash >> 10), ..., modulo
    2^bits. `first` ints fill the orbit of 0 under i -> 5 i + 1; then come ints that go through taken slots alone
    until nothing of their hash is left, and from there on along that orbit.
    """
    mask, orbit = 2**bits - 1, [0]
    while len(orbit) < first:
        orbit.append(5 * orbit[-1] + 1 & mask)
    place = np.full(mask + 1, first)
    place[orbit] = np.arange(first)
    ints = np.arange(mask + 1, 2**top)
    i, left = ints & mask, ints.copy()
    while len(left) and left.max():
        taken = place[i] < first
        ints, left = ints[taken], left[taken] >> 5
        i = 5 * i[taken] + 1 + left & mask
    order = np.argsort(place[i], kind="stable")[: 2 * mask // 3 - first]
    return orbit + ints[order].tolist()


BIG = 12_000_000

ATTACKS = {
    "shared tuples in a set": lambda: state([*doubled(60), {"set": [[60]]}], [61]),
    "shared frozensets in a set": lambda: state([*doubled(60, "frozenset"), {"set": [[60]]}], [61]),
    "shared tuples as keys": lambda: state([*doubled(60), {"dict": [[[60], 0]]}], [61]),
    "shared tuples as a count": lambda: in_learner(doubled(24), "OSKAAR", "rounds"),
    "shared tuples as a sum": lambda: in_learner(doubled(60), "OSKAAR", "total_loss"),
    "shared lists as a sum": lambda: in_learner(doubled(22, "list"), "OSKAAR", "regret"),
    "a long text shared": lambda: in_learner([{"tuple": ["x" * 100_000]}, *doubled(14)[1:]], "OSKAAR", "rounds"),
    "shared tuples in equal sets": lambda: state([*doubled(18), {"set": [[i] for i in range(19)]}] * 3, [2]),
    "shared kernels": lambda: in_learner(instances("kernel/sum", 40, "left", "right"), "OSKAAR", "kernel"),
    "shared objects in a set": lambda: state(
        [*instances("tickets/asked", 60, "rows", "z", "G"), {"set": [[120]]}], [121]
    ),
    "deep tuples": lambda: state([*chained(100_000), {"set": [[100_000]]}], [100_001]),
    "deep lists": lambda: in_learner(chained(100_000, "list"), "OSKAAR", "rounds"),
    "brackets": lambda: manifest(b"[", 1_000_000, b"]" * 1_000_000),
    "84 million []": lambda: manifest(b"[],", 84_000_000, b"[]"),
    "a million {}": lambda: manifest(b"{},", 1_000_000, b"{}"),
    "5 million numbers": lambda: manifest(b"0,", 5_000_000, b"0"),
    "texts that are wide": lambda: manifest(b'"' + b"a" * 70_000 + b'\\u1234",', 1000, b"0"),
    "brackets after a backslash": lambda: manifest(b'"\\\\",[],', 2_000_000, b"0"),
    "a growing array": lambda: state([{"growing": [0, 2**40, 2**40]}], [0], [zeros((2, BIG))]),
    "room to grow": lambda: state([{"growing": [0, 2**40, 2**40]}], [0], [zeros((2, BIG // 4))]),
    "a sheet": lambda: state([{"sheet": [0, 2**40, 2**40]}], [0], [zeros((2, BIG // 4))]),
    "colliding ints": lambda: state([{"set": COLLIDING}], [0]),
    "colliding keys": lambda: state([{"dict": [[i, 0] for i in COLLIDING]}], [0]),
    "colliding slots": lambda: state([{"dict": [[i, 0] for i in slots()]}], [0]),
    "colliding tuples": lambda: state(
        [*({"tuple": [i]} for i in COLLIDING), {"frozenset": [[i] for i in range(len(COLLIDING))]}], [len(COLLIDING)]
    ),
    "S0": lambda: state([{"array": 0}], [0], [head("|S0", (9_999_999_999,))]),
    "U0": lambda: state([{"array": 0}], [0], [head("<U0", (99_999, 99_999))]),
    "one long text": lambda: state([{"array": 0}], [0], [head("|S2000000000", (0,))]),
    "nothing by much": lambda: state([{"growing": [0, 99, 99]}], [0], [head("<f8", (0, 2**60))]),
    "a shape of many numbers": lambda: state([{"array": 0}], [0], [head("<f8", (1,) * 30 + (0,))]),
    "negative shapes": lambda: state([{"array": 0}], [0], [head("<f8", (-4, -2))]),
    "one state for many objects": lambda: state(shared_state(10_000, 10_000), [1]),
    "one array for many objects": lambda: state(shared_array(10_000), [3], [zeros((BIG // 2,))]),
    "one array for many sparse rows": lambda: state(
        sparse(10_000), [4], [zeros((0,)), zeros((0,)), packed(np.zeros(BIG // 2, dtype=np.int64))]
    ),
    "partials in a row": lambda: state(partials(10_000), [10_002]),
    "a long name": lambda: state([{"type": "x" * 20_000_000}], [0]),
    "a long kind": lambda: state([{"x" * 20_000_000: 0}], [0]),
    "a large number": lambda: state([{"int": "0x" + "f" * 10_000_000}, {"set": [[0]] * 1000}], [1]),
    "digits": lambda: manifest(b"9" * 4000 + b",", 17_000, b"0"),
    "sizes that are no numbers": lambda: streamed(
        [b'{"format":3,"arrays":[],"root":0,"nodes":[{"growing":[0,NaN,1e999]}]}']
    ),
    "many members": lambda: members(20_000),
}


def quiet(data):
    """What became of a file: a name of an error, or of a class."""
    try:
        return type(oskaar.from_bytes(data)).__name__
    except StateError as error:
        return f"refused, {error!s:.70}"
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.60}"


def spare(count):
    """From now on no more memory than there is, and so many bytes; any hang ends the program."""
    oskaar.from_bytes(OSKAAR(losses.ZeroOne(2)).fit([[0.0], [1.0]], [0, 1]).to_bytes())
    gc.collect()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + count,) * 2)


def attack():
    for name, make in ATTACKS.items():
        data = make()
        print(f"{len(data)} bytes: {name}:", end=" ", flush=True)
        limits = resource.getrlimit(resource.RLIMIT_AS)
        gc.collect()
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + SPARE, limits[1]))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        since = time.process_time()
        became = quiet(data)
        seconds = time.process_time() - since
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, limits)
        print(f"{became} ({seconds:.2f} s of CPU)", flush=True)
        del data


# ---------------------------------------------------------------- at random

NAMES = [
    "kernel/sum",
    "kernel/linear",
    "no/such-tag",
    "rows/dense",
    "rows/dicts",
    "rows/inputs",
    "solver/kaar",
    "factor/cholesky",
    "solver/geometric-restarts",
    "estimator/mixture",
    "tickets/asked",
    "learner/oskaar",
    "loss/zero-one",
    "os:system",
    "",
]
FIELDS = [
    "left",
    "right",
    "n",
    "lam",
    "factor",
    "panels",
    "shape",
    "_buffer",
    "P",
    "starts",
    "lams",
    "logs",
    "eta",
    "rows",
]
SHAPES = [(0,), (3,), (2, 3), (0, 2**50), (2**20, 0), (100, 100), (2**62, 4), (1,) * 9, (-1, 2), ()]
DTYPES = [
    "<f8",
    ">f8",
    "<i8",
    "<i4",
    "|S0",
    "<U0",
    "|S99999999",
    "<U3",
    "|O",
    "|V8",
    "<c16",
    "<M8[ns]",
    "|b1",
    "<f2",
    "nan",
]


def any_value(rng, n):
    kind = rng.randrange(8)
    if kind < 4 and n:
        return [n - 1 - min(int(rng.expovariate(0.7)), n - 1)]  # mostly what is near: deep and shared
    numbers = [0, 1, -1, True, None, 1.5, 2**40, -(2**40), 10**30, PRIME * rng.randrange(99), rng.randrange(10)]
    return rng.choice([*numbers, "", "x", "\u1234", "\x00", "y" * 5000, [n], [-1], [2**70], [True], [[0]], {}, ["x"]])


def any_node(rng, n, arrays):
    def some(most=4):
        return [any_value(rng, n) for _ in range(rng.randrange(most))]

    if n and rng.random() < 0.4:
        return {rng.choice(["tuple", "list", "frozenset"]): [[n - 1]] * rng.choice([1, 2, 2, 2, 3, 40])}
    place = rng.choice([*range(arrays), arrays, -1, 1.0, None])
    room = rng.choice([[1, 1], [2**40, 2**40], [-1, 5], [1.5, 2], [10**30, 1], [None, "x"], [1]])
    return rng.choice(
        [{kind: some(12)} for kind in ("list", "tuple", "set", "frozenset")]
        + [
            {"dict": [[any_value(rng, n), any_value(rng, n)] for _ in range(rng.randrange(5))]},
            {"dict": [[rng.choice(FIELDS), any_value(rng, n)] for _ in range(rng.randrange(6))]},
            {"is": rng.choice(NAMES), "state": any_value(rng, n)},
            {"is": rng.choice(NAMES), "state": any_value(rng, n)},
            {"named": [rng.choice(NAMES), some()]},
            {"enum": [rng.choice(NAMES), "x"]},
            {"type": rng.choice(NAMES)},
            {"function": rng.choice([*NAMES, "function/edit-distance"])},
            {"partial": [any_value(rng, n) for _ in range(3)]},
            {"array": place, "fixed": True},
            {"scalar": place},
            {"growing": [place, *room]},
            {"sheet": [place, *room]},
            {"objects": [rng.choice([[2], [0], [-1], [2**40, 0], [1] * 70, "x"]), some()]},
            {"csr": [False, rng.choice([[1, 2], [2**40, 2**40], [-1, 0], "x"]), *(any_value(rng, n) for _ in "abc")]},
            {"int": rng.choice(["0x1", "-0xff", "zz", "0x" + "f" * 9999, 7])},
            {"float": rng.choice(["nan", "inf", "1.0", 3])},
            {"bytes": rng.choice(["", "AAAA", "A", "\u00e9", 3])},
        ]
    )


def any_array(rng):
    shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
    size = rng.choice([0, 8, 24, 48, 80_000])
    return head(dtype, shape) + bytes(size) if rng.random() < 0.6 else packed(np.zeros(rng.choice(SHAPES[:5])))


def any_file(rng, whole):
    """Nodes at random; or those of a learner with some of them changed, moved or repeated."""
    arrays = [any_array(rng) for _ in range(rng.randrange(3))]
    if rng.random() < 0.5:
        nodes: list = []
        for _ in range(rng.choice([3, 30, 100, 300])):
            nodes.append(any_node(rng, len(nodes), len(arrays)))
        return state(nodes, any_value(rng, len(nodes)), arrays)
    found, own = taken_apart(rng.choice(whole))
    nodes = found["nodes"]
    for _ in range(rng.randrange(1, 4)):
        i = rng.randrange(len(nodes))
        change = rng.randrange(5)
        if change == 0:
            nodes[i] = any_node(rng, i, len(own))
        elif change == 1:
            nodes[i] = rng.choice(nodes)
        elif change == 2 and "dict" in nodes[i] and nodes[i]["dict"]:
            rng.choice(nodes[i]["dict"])[1] = any_value(rng, i)
        elif change == 3:
            k = rng.randrange(1, 70)
            extra = doubled(k, rng.choice(["tuple", "list", "frozenset"]))
            moved = [moved_by(node, len(extra)) for node in nodes]
            nodes = [*extra, *moved]
            found["root"] = [found["root"][0] + len(extra)]
            pairs = rng.choice([node["dict"] for node in nodes if node.get("dict")])
            rng.choice(pairs)[rng.randrange(2)] = [len(extra) - 1]
        elif own:
            own[rng.randrange(len(own))] = any_array(rng)
    found["nodes"] = nodes
    return together(found, own)


def fuzz(seed, count):
    rng = random.Random(seed)
    X = np.random.default_rng(0).normal(size=(6, 2))
    makers = [OSKAAR, SALAMI, lambda loss: OSKAAR(loss, budget=3), lambda loss: SALAMI(loss, budget=3)]
    whole = [make(losses.F1(3)).fit(X, [{i % 3} for i in range(6)]).to_bytes() for make in makers]
    whole.append(
        OSKAAR(losses.LossTrick(losses.edit_distance), kernels.Linear() + 1.0).fit(X[:2], ["a", "bc"]).to_bytes()
    )
    whole.append(OSKAAR(losses.ZeroOne(2)).fit([{"a": 1.0}, {"b": 2.0}], [0, 1]).to_bytes())
    spare(SPARE)
    slowest = 0.0
    for i in range(count):
        data = any_file(rng, whole)
        print(f"{i}:", end=" ", flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        since = time.process_time()
        became = quiet(data)
        slowest = max(slowest, time.process_time() - since)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(became.split(",")[0], flush=True)
    print(f"slowest {slowest:.2f} s", file=sys.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if sys.argv[1] == "attacks":
        attack()
    else:
        fuzz(int(sys.argv[2]), int(sys.argv[3]))

"""Writes the corpus: one small file for each way of being hostile or damaged. Run once."""

import sys
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from files import node_of, packed, set_attribute, taken_apart, together, unpacked  # noqa: E402

from oskaar import OSKAAR, losses  # noqa: E402

DATA = OSKAAR(losses.F1(3), budget=2).fit([[0.0], [1.0], [2.0]], [{0}, {1, 2}, {0}]).to_bytes()


def corpus():
    manifest, arrays = taken_apart(DATA)
    yield "cut", DATA[: len(DATA) // 2]
    yield "flipped", DATA[:200] + bytes([DATA[200] ^ 1]) + DATA[201:]
    yield "empty", b""
    yield "no-zip", b"\x93NUMPY" + bytes(100)
    yield "newer", together({**manifest, "format": 2}, arrays)
    yield "deep", together(b"[" * 50_000, [])
    yield "path", together(manifest, arrays, [("../../evil", b"x")])
    yield "twice", together(manifest, arrays, [("manifest.json", b"{}")])
    yield "pickle", together(manifest, [packed(np.array([print], dtype=object), True), *arrays[1:]])
    yield "bomb", together(manifest, [packed(np.zeros(2**20)), *arrays[1:]])
    i = next(i for i, raw in enumerate(arrays) if unpacked(raw).dtype.kind == "f" and unpacked(raw).size)
    nan = unpacked(arrays[i]).copy()
    nan.flat[0] = np.nan
    yield "nan", together(manifest, [*arrays[:i], packed(nan), *arrays[i + 1 :]])
    for name, node in (("system", {"function": "os:system"}), ("popen", {"is": "subprocess:Popen", "state": None})):
        yield name, together({**manifest, "nodes": [node, *manifest["nodes"][1:]]}, arrays)
    set_attribute(manifest, "OSKAAR", "predict_one", 1)
    yield "shadow", together(manifest, arrays)
    manifest, _ = taken_apart(DATA)
    node_of(manifest, "FeatureSolver")[0]["is"] = "rows/inputs"
    yield "other-class", together(manifest, arrays)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name, data in corpus():
        (HERE / f"{name}.oskaar").write_bytes(data)

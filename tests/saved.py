"""Streams for every loss, and learners of every kind, for the tests of states."""

import numpy as np
from scipy.sparse import csr_array

from oskaar import OSKAAR, SALAMI, BatchILE, Ensemble, features, kernels, losses


def rows(n=40, width=3, seed=5):
    return np.random.default_rng(seed).normal(size=(n, width))


def overlap(a, b):
    """A kernel on objects."""
    return len(set(a) & set(b)) + 1.0


def similar(a, b):
    """A label kernel."""
    return 1.0 if a == b else 0.5 * (len(a) == len(b))


def gap(z, y):
    """A loss of one's own."""
    return abs(len(z) - len(y)) / 4


SIGNS = {"N": (1, 1), "E": (1, -1), "S": (-1, -1), "W": (-1, 1)}


class Compass(losses.Loss):
    """A loss class of one's own."""

    p, c_delta = 2, 1.0

    def __init__(self, note="plain"):
        self.note = note

    def loss(self, z, y):
        return float(sum(a != b for a, b in zip(SIGNS[z], SIGNS[y])))

    def embed(self, y):
        return np.array(SIGNS[y]) / np.sqrt(2)

    def decode(self, g):
        return max(SIGNS, key=lambda z: np.dot(SIGNS[z], g))


def _unit(V):
    return V / np.linalg.norm(V, axis=-1, keepdims=True)


def _labels():
    rng = np.random.default_rng(11)
    n = 40
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in rng.random((n, 4)) < 0.4]
    orders = [tuple(rng.permutation(4).tolist()) for _ in range(n)]
    mass = rng.random((n, 3)) + 0.01
    mass /= mass.sum(axis=1, keepdims=True)
    few = list(mass[:3]) * n
    words = ["".join(rng.choice(list("abc"), size=rng.integers(1, 5))) for _ in range(n)]
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(n)]
    turns = [Q * np.sign(np.linalg.det(Q)) for Q in turns]
    spd = [np.eye(2) + 0.2 * np.outer(v, v) for v in rng.normal(size=(n, 2))]
    texts = [tuple(rng.choice(list("ab"), size=3).tolist()) for _ in range(n)]
    return {
        "zero-one": (losses.ZeroOne(3), rng.integers(0, 3, n).tolist()),
        "classes learned": (losses.ZeroOne(), words),
        "nested classes": (losses.ZeroOne(), [(w, (i % 3, frozenset({w, "x"})), 2.5) for i, w in enumerate(words)]),
        "large numbers": (losses.ZeroOne([10**30, -(10**40), 3.5, None, b"raw"][:3]), [10**30, -(10**40), 3.5] * n),
        "tags by name": (losses.F1(["a", "b", "c", "d"]), [{"abcd"[j] for j in y} for y in sets]),
        "tags learned": (losses.F1(beta=2.0, at_most=2), [{"abcd"[j] for j in y} for y in sets]),
        "tags counted": (losses.SubsetHamming(separator=";"), [";".join("abcd"[j] for j in y) for y in sets]),
        "jaccard learned": (losses.Jaccard(), [{"abcd"[j] for j in y} for y in sets]),
        "levels learned": (losses.Ordinal(), rng.integers(-3, 3, n).tolist()),
        "range learned": (losses.Squared(2), list(rng.normal(size=(n, 2)) * 100)),
        "medians learned": (losses.Absolute(), list(rng.integers(0, 9, size=(n, 1)) * 1.0)),
        "symbols learned": (losses.SequenceHamming(3), texts),
        "costs": (losses.CostMatrix([[0, 1, 4], [2, 0, 1]], outputs="uv", labels="abc"), list("abcab" * n)),
        "ordinal": (losses.Ordinal(["low", "mid", "high"]), ["low", "high", "mid"] * n),
        "hamming": (losses.SubsetHamming(4, at_most=3), sets),
        "F1": (losses.F1(4, beta=2.0), sets),
        "jaccard": (losses.Jaccard(4), sets),
        "wide jaccard": (losses.Jaccard(20), [frozenset({i % 20, i % 7}) for i in range(n)]),
        "precision": (losses.PrecisionAtK(4, 2), sets),
        "subset zero-one": (losses.SubsetZeroOne(4), sets),
        "sequence hamming": (losses.SequenceHamming(3, "ab"), texts),
        "kendall": (losses.Kendall(4), orders),
        "spearman": (losses.Spearman(4), orders),
        "footrule": (losses.Footrule(4), orders),
        "positions": (losses.PositionHamming(4), orders),
        "ndcg": (losses.NDCG(4), [np.array([(i + j) % 3 for j in range(4)], dtype=float) for i in range(n)]),
        "matching": (losses.Matching(4), orders),
        "circular": (losses.Circular(), rng.uniform(0, 6, n).tolist()),
        "angles": (losses.Angles(2), list(rng.uniform(0, 6, (n, 2)))),
        "geodesic": (losses.Geodesic(), rng.uniform(0, 6, n).tolist()),
        "sphere": (losses.Sphere(3), list(_unit(rng.normal(size=(n, 3))))),
        "sphere geodesic": (losses.SphereGeodesic(3), list(_unit(rng.normal(size=(n, 3))))),
        "rotation": (losses.Rotation(3), turns),
        "log euclidean": (losses.LogEuclidean(2, 3.0), spd),
        "simplex": (losses.SimplexL2(3), list(mass)),
        "hellinger": (losses.Hellinger(3), list(mass)),
        "total variation": (losses.TotalVariation(3), few),
        "ordered wasserstein": (losses.OrderedWasserstein([0.0, 1.0, 3.0]), list(mass)),
        "wasserstein": (losses.Wasserstein([[0, 1, 4], [1, 0, 1], [4, 1, 0]]), [np.eye(3)[i % 3] for i in range(n)]),
        "squared": (losses.Squared(2, -1, 1), list(rng.uniform(-1, 1, (n, 2)))),
        "pinball": (losses.Pinball(2, -1, 1, 0.8), list(rng.uniform(-1, 1, (n, 2)))),
        "huber": (losses.Huber(2, -1, 1, 0.7), list(rng.uniform(-1, 1, (n, 2)))),
        "edit distance": (losses.LossTrick(losses.normalised_edit_distance, losses.edits("abc")), words),
        "dtw": (losses.LossTrick(losses.normalised_dtw), [list(range(1 + i % 4)) for i in range(n)]),
    }


LABELS = _labels()

PARTS = {
    "sequence": (losses.Sequence("ab"), "whole"),
    "transitions learned": (losses.Sequence("ab", transitions="learned"), "whole"),
    "transitions forbidden": (losses.Sequence("ab", transitions=[[1, 1], [1, 0]]), "whole"),
    "per row": (losses.PerRow(losses.ZeroOne("ab")), "whole"),
    "documents": (losses.Documents(2), "grades"),
    "trees": (losses.DependencyTree(), "heads"),
}


def part_stream(n=30, kind="whole"):
    """Rounds of a few rows, with labels of a kind; the rows of a tree of m tokens are its m^2 arcs."""
    rng = np.random.default_rng(4)
    if kind == "heads":
        sizes = rng.integers(1, 4, size=n)
        return [rng.normal(size=(m * m, 2)) for m in sizes], [tuple(range(m)) for m in sizes]
    if kind == "grades":
        xs = [rng.normal(size=(rng.integers(1, 5), 2)) for _ in range(n)]
        return xs, [tuple(float(max(0, round(r[0]))) for r in x) for x in xs]
    xs = [rng.normal(size=(rng.integers(1, 4), 2)) for _ in range(n)]
    return xs, [tuple("a" if r[0] > 0 or i % 2 else "b" for i, r in enumerate(x)) for x in xs]


KERNELS = {
    "default": None,
    "gaussian": kernels.Gaussian(0.8) + 1.0,
    "laplacian": kernels.Laplacian(1.3) * kernels.Constant(2.0),
    "matern": 0.5 * kernels.Matern(1.1, nu=2.5) + kernels.Linear(),
    "polynomial": kernels.Polynomial(2) * kernels.Cosine() + 1.0,
}

CLASSES = LABELS["zero-one"]


def learners():
    """Name -> (learner, xs, ys), with rows dense, sparse, named, or objects."""
    X, ys = rows(), CLASSES[1]
    loss = losses.ZeroOne(3)
    dicts = [{"a": x[0], f"n{i % 6}": x[1], "kind": "u" if i % 2 else "v"} for i, x in enumerate(X)]
    sparse = [csr_array(np.where(np.abs(x) > 0.5, x, 0.0)[None, :]) for x in X]
    words = ["".join("abcd"[int(abs(v) * 3) % 4] for v in x) for x in X]
    fourier = features.Standardised(features.RandomFourier(None, 12, seed=3))
    k = KERNELS["gaussian"]
    return {
        "oskaar": (OSKAAR(loss, lam=0.3), X, ys),
        "oskaar shifted": (OSKAAR(loss, k, shifted=True), X, ys),
        "oskaar sparse": (OSKAAR(loss), sparse, ys),
        "oskaar dicts": (OSKAAR(loss), dicts, ys),
        "oskaar budget": (OSKAAR(loss, k, budget=8), X, ys),
        "oskaar budget, dicts": (OSKAAR(loss, budget=8), dicts, ys),
        "oskaar reprojected": (OSKAAR(loss, features=features.Nystrom(k, 8, reproject=True)), X, ys),
        "oskaar fourier": (OSKAAR(loss, features=fourier), X, ys),
        "oskaar orthogonal": (OSKAAR(loss, features=features.Orthogonal(k, 11)), X, ys),
        "oskaar taylor": (OSKAAR(loss, features=features.Taylor(kernels.Gaussian(2.0), 2, 3)), X, ys),
        "oskaar linear": (OSKAAR(loss, features=features.LinearMap()), X, ys),
        "oskaar hashing": (OSKAAR(loss, features=features.Hashing(16)), dicts, ys),
        "ensemble": (Ensemble(loss), X, ys),
        "ensemble budget": (Ensemble(loss, budget=6), X, ys),
        "ensemble dicts": (Ensemble(loss, selection=False, eta=0.125), dicts, ys),
        "ensemble own": (Ensemble(loss, k, [OSKAAR(loss), SALAMI(loss, k)]), X, ys),
        "salami": (SALAMI(loss), X, ys),
        "salami shifted": (SALAMI(loss, k, shifted=True, eta=0.125), X, ys),
        "salami kernels": (SALAMI(loss, [k, kernels.Linear() + 1.0], lam=[0.1, 1.0]), X, ys),
        "salami window": (SALAMI(loss, window=11), X, ys),
        "salami geometric": (SALAMI(loss, restarts="geometric"), X, ys),
        "salami first only": (SALAMI(loss, restarts=None, lam=[0.1, 1.0, 3.0]), X, ys),
        "salami budget": (SALAMI(loss, k, budget=6), X, ys),
        "salami features": (SALAMI(loss, features=[fourier, features.LinearMap()]), X, ys),
        "salami dicts": (SALAMI(loss, window=9), dicts, ys),
        "salami trick": (SALAMI(losses.LossTrick(losses.edit_distance, losses.edits("abcd"))), X, words),
    }


def batches():
    X, ys = rows(), CLASSES[1]
    return {
        "batch": BatchILE(losses.ZeroOne(3)).fit(X, ys),
        "batch trick": BatchILE(losses.LossTrick(losses.edit_distance)).fit(X, LABELS["edit distance"][1]),
        "batch unfitted": BatchILE(losses.F1(3), kernels.Gaussian(2.0)),
    }

"""No answer depends on its own label or on a later one: to the last bit, whatever the learner and the structure."""

import json
import random
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import few

from oskaar import OSKAAR, SALAMI, Ensemble, MostFrequent, RepeatLast, features, kernels, losses, replay
from oskaar.arrays import weighted_mean as mixed
from oskaar.cli import main
from oskaar.solvers.chunks import TILE, in_turn
from oskaar.threads import one_thread

WIDTH = 3
COSTS = [[0, 1, 4], [1, 0, 1], [4, 2, 0]]


def point(seed, dim=3):
    y = np.random.default_rng(seed % 97).normal(size=dim)
    return y / np.linalg.norm(y)


def shares(seed, n=3):
    return np.random.default_rng(seed % 97).dirichlet(np.ones(n))


def some(seed, k):
    return {j for j in range(k) if seed >> j & 1}


def distance(z, y):
    return abs(z - y) / 40


def tree(draw, n):
    """Heads of a tree on n tokens: each but the root hangs on a token that comes before it in a random order."""
    order, heads = draw.sample(range(n), n), [0] * n
    for i in range(1, n):
        heads[order[i]] = 1 + draw.choice(order[:i])
    return tuple(heads)


LOSSES = {
    "classes": (lambda: losses.ZeroOne(4), lambda s: s % 4),
    "classes seen": (losses.ZeroOne, lambda s: s % 23),
    "levels": (lambda: losses.Ordinal(5), lambda s: s % 5),
    "F1": (lambda: losses.F1(4), lambda s: some(s, 4)),
    "F1 of many": (lambda: losses.F1(11), lambda s: some(s, 11)),
    "Jaccard": (lambda: losses.Jaccard(4), lambda s: some(s, 4)),
    "sets seen": (lambda: losses.SubsetZeroOne(4), lambda s: some(s, 4)),
    "Hamming": (lambda: losses.SubsetHamming(5), lambda s: some(s, 5)),
    "costs": (lambda: losses.CostMatrix(np.arange(16.0).reshape(4, 4) % 5), lambda s: s % 4),
    "trick": (lambda: losses.LossTrick(distance), lambda s: s % 41),
    "label kernel": (
        lambda: losses.LossTrick(distance, label_kernel=lambda a, b: float(np.exp(-abs(a - b) / 5))),
        lambda s: s % 41,
    ),
    "tags seen": (losses.F1, lambda s: {f"tag {j}" for j in some(s, 6)}),
    "tags counted": (losses.SubsetHamming, lambda s: {f"tag {j}" for j in some(s, 6)}),
    "Jaccard seen": (losses.Jaccard, lambda s: {f"tag {j}" for j in some(s, 4)}),
    "levels seen": (losses.Ordinal, lambda s: s % 7 - 3),
    "range seen": (lambda: losses.Squared(2), lambda s: np.sin([s, 2 * s]) * [1, 10 ** (s % 3)]),
    "medians seen": (losses.Absolute, lambda s: float(s % 31)),
    "symbols seen": (lambda: losses.SequenceHamming(2), lambda s: ("abc"[s % 3], "abcd"[s % 4])),
    "rankings": (lambda: losses.Kendall(4), lambda s: tuple(np.random.default_rng(s).permutation(4).tolist())),
    "matchings": (lambda: losses.Matching(3), lambda s: tuple(np.random.default_rng(s).permutation(3).tolist())),
    "vectors": (lambda: losses.Squared(2, -1, 1), lambda s: np.sin([s, 2 * s])),
    "medians": (lambda: losses.Pinball(2, -1, 1), lambda s: np.sin([s % 31, 2 * s % 31])),
    "angles": (losses.Circular, lambda s: float(s % 6)),
    "arcs": (losses.Geodesic, lambda s: s % 53 / 10),
    "sphere": (lambda: losses.SphereGeodesic(3), point),
    "distributions": (lambda: losses.TotalVariation(3), shares),
    "ordered": (lambda: losses.OrderedWasserstein(3), shares),
    "Hellinger": (lambda: losses.Hellinger(3), shares),
    "transport": (lambda: losses.Wasserstein(COSTS), shares if find_spec("ot") else lambda s: np.eye(3)[s % 3]),
}
"""Structures, with a label for each whole number. Without POT, transport is between certainties and the mean."""

PARTS = {
    "sequences": (lambda: losses.Sequence("abc"), lambda draw, n: tuple(draw.choices("abc", k=n)), 1),
    "symbols seen": (losses.Sequence, lambda draw, n: tuple(draw.choices("abcde", k=n)), 1),
    "transitions": (
        lambda: losses.Sequence("abc", transitions="learned"),
        lambda draw, n: tuple(draw.choices("abc", k=n)),
        1,
    ),
    "rows": (lambda: losses.PerRow(losses.ZeroOne(3)), lambda draw, n: tuple(draw.choices(range(3), k=n)), 1),
    "documents": (lambda: losses.Documents(2), lambda draw, n: tuple(draw.choices(range(3), k=n)), 1),
    "trees": (losses.DependencyTree, tree, 2),
}
"""Structures of rounds with several parts, a label for so many of them, and the power of it that are rows."""

KERNEL = kernels.Gaussian(1.5)
"""Without an intercept: estimates of 0 are ties that any rounding would settle."""

LEARNERS = {
    "OSKAAR": lambda loss: OSKAAR(loss, KERNEL, lam=0.3),
    "OSKAAR, shifted": lambda loss: OSKAAR(loss, KERNEL + 1.0, shifted=True),
    "OSKAAR, untuned": OSKAAR,
    "OSKAAR, budget": lambda loss: OSKAAR(loss, KERNEL, budget=20),
    "OSKAAR, shifted, budget": lambda loss: OSKAAR(loss, KERNEL, shifted=True, budget=9),
    "OSKAAR, reproject": lambda loss: OSKAAR(loss, features=features.Nystrom(KERNEL, 9, reproject=True)),
    "SALAMI": lambda loss: SALAMI(loss, KERNEL, lam=0.3),
    "SALAMI, untuned": SALAMI,
    "SALAMI, shifted": lambda loss: SALAMI(loss, KERNEL + 1.0, shifted=True),
    "SALAMI, geometric": lambda loss: SALAMI(loss, KERNEL, restarts="geometric"),
    "SALAMI, one start": lambda loss: SALAMI(loss, KERNEL, restarts=None, project=False),
    "SALAMI, window": lambda loss: SALAMI(loss, KERNEL, window=11),
    "Ensemble": Ensemble,
    "Ensemble, kernel": lambda loss: Ensemble(loss, KERNEL),
    "SALAMI, budget": lambda loss: SALAMI(loss, KERNEL, lam=[0.1, 1.0], budget=40),
    "SALAMI, small budget": lambda loss: SALAMI(loss, [KERNEL, kernels.Linear() + 1.0], lam=1.0, budget=5),
    "SALAMI, untuned, budget": lambda loss: SALAMI(loss, budget=30),
    "SALAMI, untuned, window": lambda loss: SALAMI(loss, window=30),
    "SALAMI, one start, budget": lambda loss: SALAMI(loss, KERNEL, restarts=None, budget=12),
    "SALAMI, window, budget": lambda loss: SALAMI(loss, KERNEL, window=20, budget=40),
    "SALAMI, shifted, budget": lambda loss: SALAMI(loss, KERNEL, shifted=True, budget=40),
    "Ensemble, budget": lambda loss: Ensemble(loss, budget=30),
    "Ensemble, kernel, budget": lambda loss: Ensemble(loss, KERNEL, budget=40),
    "Ensemble, no selection": lambda loss: Ensemble(loss, KERNEL, selection=False, eta=0.5),
    "Ensemble, own": lambda loss: Ensemble(loss, KERNEL, [OSKAAR(loss), SALAMI(loss, KERNEL, budget=9)]),
    "repeat-last": RepeatLast,
    "majority": MostFrequent,
}

MAPS = {
    "identity": lambda: features.Identity(WIDTH),
    "linear": lambda: features.LinearMap(WIDTH),
    "Fourier": lambda: features.RandomFourier(KERNEL, 20),
    "orthogonal": lambda: features.Orthogonal(KERNEL, 20),
    "hashing": lambda: features.Hashing(16),
    "Taylor": lambda: features.Taylor(KERNEL, 2, WIDTH),
    "standardised": lambda: features.Standardised(features.RandomFourier(None, 16)),
    "Nystrom": lambda: features.Nystrom(KERNEL, 16),
}
LEARNERS |= {f"OSKAAR, {name}": lambda loss, m=m: OSKAAR(loss, features=m()) for name, m in MAPS.items()}
LEARNERS |= {f"SALAMI, {name}": lambda loss, m=m: SALAMI(loss, features=m(), lam=1.0) for name, m in MAPS.items()}


def inputs(T, kind, seed, power=1):
    """Rows, some of them equal, some with nothing in common with the others."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(T, WIDTH)) * rng.choice([1.0, 0.37, 40.0], size=(T, 1))
    if kind == "sparse":
        return csr_array(X)
    if kind == "dicts":
        return [{f"w{j}": float(v) for j, v in enumerate(x) if v} | {f"only{i}": 1.0} for i, x in enumerate(X)]
    if kind == "parts":
        sizes = [(1 + i % 3) ** power for i in range(T)]
        return [x * rng.choice([1.0, 0.5], size=(n, 1)) for n, x in zip(sizes, X, strict=True)]
    return X


def loop(learner, X, ys):
    """Predictions and estimates, round by round."""
    predictions, estimates = [], []
    for x, y in zip(X, ys, strict=True):
        x = x[None] if hasattr(X, "tocsr") else x
        predictions.append(learner.predict_one(x))
        estimates.append(learner.estimate(x) if hasattr(learner, "estimate") else np.zeros(0))
        learner.learn_one(x, y)
    return predictions, estimates, np.zeros(len(ys)), np.zeros(len(ys))


def run(learner, X, ys, before, how):
    """The results of the rounds after `before`, which are learned first."""
    if before and hasattr(learner, "partial_fit"):
        learner.partial_fit(X[:before], ys[:before])
    elif before:
        replay(learner, X[:before], ys[:before])
    X, ys = X[before:], ys[before:]
    if how == "loop":
        return loop(learner, X, ys)
    found = replay(learner, X, ys)
    estimates = [np.zeros(0)] * len(ys) if found.estimates is None else list(found.estimates)
    surrogates = np.zeros(len(ys)) if found.surrogate_losses is None else found.surrogate_losses
    return found.predictions, estimates, found.losses, surrogates


def same(a, b):
    """Equal to the last bit, where coordinates that only one of the two has are 0."""
    a, b = np.atleast_2d(a), np.atleast_2d(b)
    p = min(a.shape[1], b.shape[1])
    return np.array_equal(a[:, :p], b[:, :p]) and not a[:, p:].any() and not b[:, p:].any()


def check(make, X, ys, others, before, t, how="replay"):
    """Rounds `before` to t, with labels ys, and with others from round t on."""
    changed = ys[:t] + others[t:]
    (za, ga, la, sa), (zb, gb, lb, sb) = (run(make(), X, labels, before, how) for labels in (ys, changed))
    for i in range(t - before + 1):
        assert np.array_equal(za[i], zb[i]), f"answer of round {before + i}, labels differ from round {t} on"
        assert same(ga[i], gb[i]), f"estimate of round {before + i}, labels differ from round {t} on"
    assert np.array_equal(la[: t - before], lb[: t - before])
    assert np.array_equal(sa[: t - before], sb[: t - before])


@st.composite
def cases(draw, rounds):
    """A learner, a loss, rows, two streams of labels, where they part, and how much was learned before."""
    T = draw(st.integers(2, rounds))
    before = min(draw(st.sampled_from([0, 0, 1, 5, T // 3])), T - 1)
    t = draw(st.integers(before, T - 1))
    seed, how = draw(st.integers(0, 2**31)), draw(st.sampled_from(["replay", "replay", "replay", "loop"]))
    kind = draw(st.sampled_from(["dense", "dense", "sparse", "dicts", "parts"]))
    names = list(LEARNERS)
    if kind in ("sparse", "dicts"):
        names = [n for n in names if n.split(", ")[-1] not in (*MAPS, "reproject") or n.endswith("hashing")]
    if kind == "parts":
        names = [n for n in names if n not in ("repeat-last", "majority")]
    learner, loss = draw(st.sampled_from(names)), draw(st.sampled_from(sorted(PARTS if kind == "parts" else LOSSES)))
    return learner, loss, kind, T, before, t, seed, how


def drawn(loss, kind, T, seed):
    """Two streams of labels."""
    draw = random.Random(seed)
    if kind == "parts":
        return [[PARTS[loss][1](draw, 1 + i % 3) for i in range(T)] for _ in range(2)]
    return [[LOSSES[loss][1](draw.randrange(10**6)) for _ in range(T)] for _ in range(2)]


def check_case(case):
    learner, loss, kind, T, before, t, seed, how = case
    ys, others = drawn(loss, kind, T, seed)
    make, _, power = PARTS[loss] if kind == "parts" else (*LOSSES[loss], 1)
    made = make()
    check(lambda: LEARNERS[learner](made), inputs(T, kind, seed, power), ys, others, before, t, how)


@settings(max_examples=40)
@given(cases(rounds=60))
@example(("SALAMI, budget", "classes", "dicts", 40, 0, 0, 0, "replay"))
@example(("SALAMI, budget", "label kernel", "dense", 60, 5, 30, 0, "replay"))
@example(("SALAMI, untuned, budget", "F1", "dense", 60, 0, 31, 0, "replay"))
@example(("Ensemble, kernel", "classes seen", "dense", 50, 1, 30, 0, "replay"))
@example(("Ensemble, kernel", "label kernel", "dense", 40, 0, 20, 0, "replay"))
@example(("SALAMI, budget", "F1", "dense", 28, 0, 14, 18, "replay"))
@example(("OSKAAR", "F1", "dense", 19, 0, 15, 2, "replay"))
@example(("OSKAAR, reproject", "Jaccard", "dense", 47, 0, 36, 103, "replay"))
@example(("OSKAAR", "classes seen", "dense", 60, 0, 30, 0, "replay"))
@example(("OSKAAR", "trees", "parts", 24, 0, 14, 0, "replay"))
@example(("SALAMI, budget", "trees", "parts", 20, 0, 11, 0, "loop"))
@example(("SALAMI", "documents", "parts", 24, 0, 14, 0, "replay"))
@example(("OSKAAR, budget", "documents", "parts", 40, 5, 21, 0, "replay"))
@example(("SALAMI, budget", "transport", "dense", 40, 0, 21, 0, "replay"))
def test_no_answer_depends_on_labels_to_come(case):
    check_case(case)


@pytest.mark.slow
@settings(max_examples=250)
@given(cases(rounds=150))
def test_no_answer_of_a_longer_stream_depends_on_labels_to_come(case):
    check_case(case)


@pytest.mark.parametrize("intercept", few([0.0, 1.0], 2))
@pytest.mark.parametrize(
    "settings_",
    [{"budget": 300}, {"budget": 30}, {"budget": 300, "restarts": None}, {"features": features.Identity(200)}],
    ids=str,
)
def test_random_labels_of_unrelated_rows_cannot_be_told(settings_, intercept):
    """Where nothing can be known, what is paid is chance; and the first answer is the same whatever its label."""
    rows = [{f"w{i}": 1.0} for i in range(200)]
    draw = random.Random(0)
    ys = [draw.choice("abcd") for _ in rows]

    def make():
        kernel = None if "features" in settings_ else kernels.Cosine() + intercept if intercept else kernels.Cosine()
        return SALAMI(losses.ZeroOne("abcd"), kernel, lam=1.0, **settings_)

    assert replay(make(), rows, ys).losses.mean() > 0.6
    firsts = {replay(make(), rows[:40], [y, *ys[1:40]]).predictions[0] for y in "abcd"}
    assert firsts == {"a"}


@settings(max_examples=20)
@given(
    st.integers(0, 20), st.integers(1, TILE + 2), st.integers(2, 30), st.booleans(), st.booleans(), st.integers(0, 99)
)
@one_thread
def test_columns_that_labels_bring_do_not_round_the_others(known, new, rows, parts, shifted, seed):
    rng = np.random.default_rng(seed)
    L, Phi = np.tril(rng.normal(size=(rows, rows))), rng.normal(size=(rows, known + new))
    np.fill_diagonal(L, 2 + rng.random(rows))
    ends = np.arange(2, rows + 1) if parts else np.arange(1, rows + 1)
    past = rng.normal(size=(rows, known))
    born = np.sort(rng.integers(0, rows, size=new))
    Phi[:, known:] *= np.arange(rows)[:, None] >= born
    whole = in_turn(L, past, Phi, ends, 0.5, shifted)
    for p in range(known, known + new):
        for some_, all_ in zip(in_turn(L, past, Phi[:, :p], ends, 0.5, shifted), whole, strict=True):
            np.testing.assert_array_equal(some_, all_[:, :p])


@given(st.integers(1, 12), st.integers(2, 9), st.integers(1, 12), st.integers(0, 99))
def test_a_mean_of_estimates_is_rounded_by_coordinate(experts, rows, p, seed):
    rng = np.random.default_rng(seed)
    weights, E = rng.random((rows, experts)), rng.normal(size=(experts, rows, p))
    whole = mixed(weights, E)
    np.testing.assert_allclose(whole, np.einsum("nk,knp->np", weights, E), atol=1e-12)
    for width in range(1, p):
        np.testing.assert_array_equal(mixed(weights, E[:, :, :width].copy()), whole[:, :width])


@pytest.mark.parametrize("learner", ["OSKAAR", "SALAMI", "SALAMI, budget", "SALAMI, company"])
def test_no_plan_of_transport_depends_on_labels_to_come(learner):
    pytest.importorskip("ot", reason="POT, the extra `transport`, is not installed")
    for how, t in product(("replay", "loop"), (0, 17)):
        check_case((learner, "transport", "dense", 30, 0, t, 5, how))


# ---------------------------------------------------------------- what is built on learners


def check_models(models, X, ys, others, t, sizes, predict, learn):
    """Two models of one setting, one after the other, that learn in pieces; labels are others from round t on."""
    ends = np.cumsum(sizes).clip(max=len(ys)).tolist()
    found = []
    for model, labels in zip(models, (ys, ys[:t] + others[t:]), strict=True):
        predicted = []
        for lo, hi in pairwise([0, *ends]):
            predicted += predict(model, X[lo:hi]) if hi > lo else []
            if hi > lo:
                learn(model, X[lo:hi], labels[lo:hi])
        found.append(predicted[: t + 1])
    assert len(found[0]) == t + 1
    assert json.dumps(found[0]) == json.dumps(found[1]), f"labels differ from round {t} on"


SETTINGS = [
    {"learner": "oskaar"},
    {"learner": "oskaar", "budget": 9},
    {"learner": "salami"},
    {"learner": "salami", "budget": 9},
    {"learner": "salami", "kernel": KERNEL, "options": {"restarts": "geometric"}},
]
"""Of the estimators for scikit-learn."""


def sklearn_face(name, settings_):
    """An estimator, a label for each whole number, and what the first call takes besides."""
    from oskaar import sklearn as faces

    return {
        "classes": (faces.Classifier(**settings_), lambda s: s % 4, {"classes": range(4)}),
        "labels": (faces.MultiLabelClassifier(**settings_), lambda s: [s & 1, s >> 1 & 1, s >> 2 & 1], {}),
        "vectors": (faces.VectorRegressor(low=-1, high=1, **settings_), lambda s: np.sin([s, 2 * s]).tolist(), {}),
    }[name]


def check_sklearn(name, settings_, T, t, seed):
    from sklearn.base import clone

    model, label, more = sklearn_face(name, settings_)
    draw = random.Random(seed)
    ys, others = ([label(draw.randrange(10**6)) for _ in range(T)] for _ in range(2))
    ys[0] = others[0] = label(1)

    def predict(model, X):
        return model.predict(X).tolist() if hasattr(model, "learner_") else [None] * len(X)

    def learn(model, X, y):
        model.partial_fit(X, y, **more)

    sizes = [1] + [draw.choice([1, 2, 7, 20]) for _ in range(T)]
    check_models([model, clone(model)], inputs(T, "dense", seed), ys, others, t, sizes, predict, learn)


@pytest.mark.parametrize("settings_", SETTINGS, ids=lambda s: " ".join(map(str, s.values())))
@pytest.mark.parametrize("name", ["classes", "labels", "vectors"])
def test_no_answer_of_an_estimator_depends_on_labels_to_come(name, settings_):
    pytest.importorskip("sklearn", minversion="1.6", reason="scikit-learn, an extra, is not installed")
    check_sklearn(name, settings_, 40, 25, seed=3)


def river_face(name, make):
    """A maker of models, all with one learner for their setting, and a label for each whole number."""
    from oskaar import river as faces

    def named(values):
        return dict(zip("uvw", values, strict=False))

    loss, face, label = {
        "classes": (losses.ZeroOne(), faces.Classifier, lambda s: "abcd"[s % 4]),
        "labels": (losses.F1(3), faces.MultiLabelClassifier, lambda s: named([bool(s >> j & 1) for j in range(3)])),
        "numbers": (losses.Squared(1, -1, 1), faces.Regressor, lambda s: float(np.sin(s))),
        "vectors": (
            losses.Squared(2, -1, 1),
            faces.MultiTargetRegressor,
            lambda s: named(np.sin([s, 2 * s]).tolist()),
        ),
        "rankings": (losses.Kendall(4), faces.Structured, LOSSES["rankings"][1]),
    }[name]
    learner = make(loss)
    return lambda: face(learner), label


def check_river(name, learner, T, t, seed):
    from river import preprocessing

    make, label = river_face(name, LEARNERS[learner])
    draw = random.Random(seed)
    ys, others = ([label(draw.randrange(10**6)) for _ in range(T)] for _ in range(2))

    def predict(model, xs):
        return [(model.predict_one(x), model.predict_proba_one(x) if name == "classes" else None) for x in xs]

    def learn(model, xs, ys):
        for x, y in zip(xs, ys, strict=True):
            model.learn_one(x, y)

    models = [preprocessing.StandardScaler() | make() for _ in range(2)]
    rows = [{f"x{j}": v for j, v in enumerate(x)} for x in inputs(T, "dense", seed).tolist()]
    check_models(models, rows, ys, others, t, [1] * T, predict, learn)


IN_RIVER = ["OSKAAR, untuned", "OSKAAR, budget", "SALAMI, untuned, budget", "SALAMI, budget", "SALAMI, geometric"]


@pytest.mark.parametrize("learner", few(IN_RIVER, 2))
def test_no_answer_in_river_depends_on_labels_to_come(learner):
    pytest.importorskip("river", reason="River is not installed")
    for name in ("classes", "labels", "numbers", "vectors", "rankings"):
        check_river(name, learner, 14, 9, seed=3)


TABLES = {
    "classes": (["y"], lambda s: ["abcd"[s % 4]], []),
    "classes after classes": (["y"], lambda s: ["abcd"[s % 4]], ["--lags", "2"]),
    "labels": (["label_a", "label_b"], lambda s: [s & 1, s >> 1 & 1], ["--y", "label_*"]),
    "levels": (["y"], lambda s: [1 + s % 5], []),
    "numbers": (["y"], lambda s: [round(float(np.sin(s)), 3)], []),
    "numbers after numbers": (["y"], lambda s: [round(float(np.sin(s)), 3)], ["--lags", "1"]),
    "medians": (["y"], lambda s: [s % 7 - 3], ["--loss", "pinball", "--low=-3", "--high=3"]),
    "late numbers": (["y"], lambda s: [round(float(np.sin(s)), 3)], ["--lags", "1", "--delay", "3"]),
    "rankings": (["r1", "r2", "r3"], lambda s: (1 + np.random.default_rng(s).permutation(3)).tolist(), []),
    "documents": (["y"], lambda s: [s % 3], ["--loss", "documents", "--group", "query", "--y", "y"]),
}
"""Columns of y, the cells for each whole number, and options."""

WAYS = [
    (),
    ("--chunk", "1"),
    ("--budget", "12"),
    ("--learner", "oskaar", "--chunk", "7"),
    ("--learner", "oskaar", "--budget", "12"),
    ("--learner", "batch"),
    ("--learner", "salami", "--lam", "0.3", "--kernel", "gaussian:2"),
]


def answers(folder, name, X, cells, options):
    """The lines that `oskaar learn` writes for a table."""
    columns = TABLES[name][0]
    lines = [",".join(["query", *(f"x{j}" for j in range(WIDTH)), *columns])]
    lines += [",".join(map(str, [i // 3, *x, *y])) for i, (x, y) in enumerate(zip(X, cells, strict=True))]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    arguments = ["learn", folder / "table.csv", "--out", folder / "answers", "--no-model", *options]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as captured:
        code = main([str(argument) for argument in arguments])
    assert code == 0, captured.getvalue()
    return [json.loads(line) for line in (folder / "answers").read_text().splitlines()]


def check_table(folder, name, way, T, t, seed):
    """Labels from line t on are others: answers up to round t are the same, and losses before it."""
    _, label, options = TABLES[name]
    draw = random.Random(seed)
    ys, others = ([label(draw.randrange(10**6)) for _ in range(T)] for _ in range(2))
    X = inputs(T, "dense", seed).round(6).tolist()
    one, other = (answers(folder, name, X, cells, [*options, *way]) for cells in (ys, ys[:t] + others[t:]))
    assert len(one) == len(other) == (T // 3 if name == "documents" else T)
    round_ = t // 3 if name == "documents" else t
    assert one[:round_] == other[:round_]
    assert one[round_]["prediction"] == other[round_]["prediction"]


@pytest.mark.parametrize("i", few(range(len(TABLES)), 3), ids=list(TABLES))
def test_no_answer_on_the_command_line_depends_on_labels_to_come(i, tmp_path):
    """In tables of 45 rows the first 9 may set a range: labels differ after them."""
    for way, t in ((WAYS[i % len(WAYS)], 9), (WAYS[(i + 3) % len(WAYS)], 31)):
        check_table(tmp_path, list(TABLES)[i], way, 45, t, seed=i)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.data())
def test_no_answer_of_a_face_depends_on_labels_to_come(tmp_path_factory, data):
    seed = data.draw(st.integers(0, 2**31))
    face = data.draw(st.sampled_from(["sklearn", "river", "command line"]))
    if face == "command line":
        name, way = data.draw(st.sampled_from(sorted(TABLES))), data.draw(st.sampled_from(WAYS))
        T = 3 * data.draw(st.integers(10, 60))
        first = 100 if T >= 100 else T // 5
        check_table(tmp_path_factory.mktemp("tables"), name, way, T, data.draw(st.integers(first, T - 1)), seed)
        return
    pytest.importorskip(face)
    T = data.draw(st.integers(2, 80))
    t = data.draw(st.integers(1, T - 1))
    if face == "sklearn":
        name = data.draw(st.sampled_from(["classes", "labels", "vectors"]))
        check_sklearn(name, data.draw(st.sampled_from(SETTINGS)), T, t, seed)
    else:
        name = data.draw(st.sampled_from(["classes", "labels", "numbers", "vectors", "rankings"]))
        check_river(name, data.draw(st.sampled_from(IN_RIVER)), T, t, seed)

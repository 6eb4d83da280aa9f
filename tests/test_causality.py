"""No answer depends on its own label or on a later one: to the last bit, whatever the learner and the structure."""

import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from oskaar import OSKAAR, SALAMI, MostFrequent, RepeatLast, features, kernels, losses, replay
from oskaar.learners.jury import mixed
from oskaar.solvers.chunks import TILE, in_turn

WIDTH = 3


def point(seed, dim=3):
    y = np.random.default_rng(seed % 97).normal(size=dim)
    return y / np.linalg.norm(y)


def shares(seed, n=3):
    return np.random.default_rng(seed % 97).dirichlet(np.ones(n))


def some(seed, k):
    return {j for j in range(k) if seed >> j & 1}


def distance(z, y):
    return abs(z - y) / 40


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
}
"""Structures, with a label for each whole number."""

PARTS = {
    "sequences": lambda: losses.Sequence("abc"),
    "transitions": lambda: losses.Sequence("abc", transitions="learned"),
    "rows": lambda: losses.PerRow(losses.ZeroOne(3)),
}
"""Structures of rounds with several rows."""

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
    "SALAMI, company": lambda loss: SALAMI(loss, KERNEL, lam=1.0, company=True),
    "SALAMI, budget": lambda loss: SALAMI(loss, KERNEL, lam=[0.1, 1.0], budget=40),
    "SALAMI, small budget": lambda loss: SALAMI(loss, [KERNEL, kernels.Linear() + 1.0], lam=1.0, budget=5),
    "SALAMI, untuned, budget": lambda loss: SALAMI(loss, budget=30),
    "SALAMI, untuned, window": lambda loss: SALAMI(loss, window=30),
    "SALAMI, one start, budget": lambda loss: SALAMI(loss, KERNEL, restarts=None, budget=12),
    "SALAMI, window, budget": lambda loss: SALAMI(loss, KERNEL, window=20, budget=40),
    "SALAMI, shifted, budget": lambda loss: SALAMI(loss, KERNEL, shifted=True, budget=40),
    "SALAMI, company, budget": lambda loss: SALAMI(loss, KERNEL, eta="scaled", budget=40, company=True),
    "repeat-last": RepeatLast,
    "majority": MostFrequent,
}

MAPS = {
    "identity": lambda: features.Identity(WIDTH),
    "linear": lambda: features.Linear(WIDTH),
    "Fourier": lambda: features.RandomFourier(KERNEL, 20),
    "orthogonal": lambda: features.Orthogonal(KERNEL, 20),
    "hashing": lambda: features.Hashing(16),
    "Taylor": lambda: features.Taylor(KERNEL, 2, WIDTH),
    "standardised": lambda: features.Standardised(features.RandomFourier(None, 16)),
    "Nystrom": lambda: features.Nystrom(KERNEL, 16),
}
LEARNERS |= {f"OSKAAR, {name}": lambda loss, m=m: OSKAAR(loss, features=m()) for name, m in MAPS.items()}
LEARNERS |= {f"SALAMI, {name}": lambda loss, m=m: SALAMI(loss, features=m(), lam=1.0) for name, m in MAPS.items()}


def inputs(T, kind, seed):
    """Rows, some of them equal, some with nothing in common with the others."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(T, WIDTH)) * rng.choice([1.0, 0.37, 40.0], size=(T, 1))
    if kind == "sparse":
        return csr_array(X)
    if kind == "dicts":
        return [{f"w{j}": float(v) for j, v in enumerate(x) if v} | {f"only{i}": 1.0} for i, x in enumerate(X)]
    if kind == "parts":
        sizes = [1 + i % 3 for i in range(T)]
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
    """What is said of the rounds after `before`, which are learned first."""
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
    rng = random.Random(seed)
    if kind == "parts":
        symbols = range(3) if loss == "rows" else "abc"
        return [[tuple(rng.choice(symbols) for _ in range(1 + i % 3)) for i in range(T)] for _ in range(2)]
    return [[LOSSES[loss][1](rng.randrange(10**6)) for _ in range(T)] for _ in range(2)]


def check_case(case):
    learner, loss, kind, T, before, t, seed, how = case
    ys, others = drawn(loss, kind, T, seed)
    made = (PARTS[loss] if kind == "parts" else LOSSES[loss][0])()
    check(lambda: LEARNERS[learner](made), inputs(T, kind, seed), ys, others, before, t, how)


@settings(max_examples=40)
@given(cases(rounds=60))
@example(("SALAMI, budget", "classes", "dicts", 40, 0, 0, 0, "replay"))
@example(("SALAMI, budget", "label kernel", "dense", 60, 5, 30, 0, "replay"))
@example(("SALAMI, untuned, budget", "F1", "dense", 60, 0, 31, 0, "replay"))
@example(("SALAMI, company", "classes seen", "dense", 50, 1, 30, 0, "replay"))
@example(("SALAMI, company", "label kernel", "dense", 40, 0, 20, 0, "replay"))
@example(("SALAMI, budget", "F1", "dense", 28, 0, 14, 18, "replay"))
@example(("OSKAAR", "F1", "dense", 19, 0, 15, 2, "replay"))
@example(("OSKAAR, reproject", "Jaccard", "dense", 47, 0, 36, 103, "replay"))
@example(("OSKAAR", "classes seen", "dense", 60, 0, 30, 0, "replay"))
def test_no_answer_depends_on_labels_to_come(case):
    check_case(case)


@pytest.mark.slow
@settings(max_examples=1500)
@given(cases(rounds=150))
def test_no_answer_of_a_longer_stream_depends_on_labels_to_come(case):
    check_case(case)


@pytest.mark.parametrize("intercept", [0.0, 1.0])
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

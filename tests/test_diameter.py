"""The diameter of psi, against all pairs of outputs; and how much smaller than 2 c_delta it is."""

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved import LABELS, PARTS
from strategies import cost_matrices, labels_of, small_losses, space_of

from oskaar import OSKAAR, checks, losses
from oskaar.losses import fscore_bounds


def spread(D, Phi):
    """max |psi(z) - psi(z')| for losses D (outputs, labels) and codes Phi (labels, p): psi is what D says of phi."""
    Psi = np.linalg.lstsq(Phi, (D - D[0]).T, rcond=1e-10)[0].T
    return max(np.linalg.norm(a - b) for a in Psi for b in Psi)


def brute_force(loss):
    zs, ys = list(loss.outputs()), list(loss.labels())
    return spread(np.array([[loss(z, y) for y in ys] for z in zs]), np.array([loss.embed(y) for y in ys]))


@settings(max_examples=60)
@given(small_losses())
def test_it_is_the_largest_distance_of_two_outputs(loss):
    expected = brute_force(loss)
    if isinstance(loss, losses.Spearman) and loss.n == 1:
        assert expected == 0.0
    else:
        assert loss.diameter == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert loss.diameter <= 2 * loss.c_delta + 1e-9


@pytest.mark.parametrize(
    ("loss", "share"),
    [
        (losses.F1(4), 0.76),
        (losses.Jaccard(4), 0.79),
        (losses.ZeroOne(4), 0.82),
        (losses.ZeroOne(2), 1.0),
        (losses.Footrule(4), 0.89),
        (losses.Matching(4), 0.82),
        (losses.Ordinal(5), 1.0),
        (losses.Kendall(4), 1.0),
    ],
    ids=repr,
)
def test_shares_of_two_c_delta(loss, share):
    assert loss.diameter / (2 * loss.c_delta) == pytest.approx(share, abs=0.005)
    assert brute_force(loss) == pytest.approx(loss.diameter, rel=1e-9)


def unit(V):
    return V / np.linalg.norm(V, axis=-1, keepdims=True)


RNG = np.random.default_rng(3)
POINTS = unit(RNG.normal(size=(30, 3)))
ANGLES = RNG.uniform(-3, 3, size=(20, 2))
TURNS = [Q * np.sign(np.linalg.det(Q)) for Q in (np.linalg.qr(RNG.normal(size=(3, 3)))[0] for _ in range(30))]
HALF = np.diag([1.0, -1.0, -1.0])  # half a turn is the farthest from none
BOX = RNG.uniform(-1, 2, size=(20, 3))
MIXED = RNG.dirichlet([0.5] * 3, size=20)
LOGS = RNG.normal(size=(20, 2, 2))
EXTREMES = {
    "circular": (losses.Circular(), [*ANGLES[:, 0], 0.0, math.pi]),
    "angles": (losses.Angles(2), [*ANGLES, np.zeros(2), np.full(2, math.pi)]),
    "sphere": (losses.Sphere(3), [*POINTS, *-POINTS]),
    "rotation": (losses.Rotation(3), [*TURNS, np.eye(3), HALF]),
    "rotation of a plane": (losses.Rotation(2), [np.eye(2), -np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]])]),
    "log-Euclidean": (losses.LogEuclidean(2, 1.0), [np.diag(np.exp([s, 0.0])) for s in (-1.0, -0.5, 0.0, 0.3, 1.0)]),
    "squared": (losses.Squared(3, -1, 2), [*BOX, np.full(3, -1.0), np.full(3, 2.0)]),
    "Hellinger": (losses.Hellinger(3), [*MIXED, *np.eye(3)]),
    "simplex of two": (losses.SimplexL2(2), [np.array([p, 1 - p]) for p in (0.0, 0.2, 0.5, 0.6, 1.0)]),
    "documents": (losses.Documents(k=2), [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)]),
    "tree": (losses.DependencyTree(), list(losses.DependencyTree().outputs(3))),
    "rows": (losses.PerRow(losses.ZeroOne(3)), [[a, b] for a in range(3) for b in range(3)]),
    "sequence": (losses.Sequence("abc"), [(a, b) for a in "abc" for b in "abc"]),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_where_outputs_cannot_be_listed_the_extremes_attain_it(name):
    loss, outputs = EXTREMES[name]
    ys = [(2.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 1.0, 1.0)] if name == "documents" else outputs
    ys = [loss.check(y) for y in ys]
    D = np.array([[loss(z, y) for y in ys] for z in outputs])
    Phi = np.array(
        [np.atleast_2d(loss.embed(y)).ravel() / (len(loss.embed(y)) ** 0.5 if loss.parts else 1) for y in ys]
    )
    space = space_of(loss, ys)
    assert space.diameter == pytest.approx(spread(D, Phi), rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 40])
def test_a_bound_on_the_simplex(n):
    """psi = (-R w / a, |w|^2 / 2b) of certainties, the centre and what is between them."""
    loss, rng = losses.SimplexL2(n), np.random.default_rng(n)
    Z = np.concatenate(
        [np.eye(n), np.full((1, n), 1 / n), rng.dirichlet([0.2] * n, 200), rng.dirichlet([2.0] * n, 50)]
    )
    ratio = (math.sqrt(3) - 1) / 4
    a, b = (1 / (1 + ratio)) ** 0.5, (ratio / (1 + ratio)) ** 0.5
    W, R = Z - 1 / n, (1 - 1 / n) ** 0.5
    Psi = np.column_stack([-R * W / a, (W**2).sum(axis=1) / (2 * b)])
    found = max(np.linalg.norm(Psi - psi, axis=1).max() for psi in Psi)
    assert found <= loss.diameter + 1e-12 <= 2 * loss.c_delta + 1e-9
    assert found >= 0.9 * loss.diameter


@pytest.mark.parametrize("name", LABELS)
def test_it_grows_with_the_space_and_holds(name):
    """At every label of a stream, against the labels so far as outputs."""
    loss, ys = LABELS[name]
    if name == "wasserstein":
        pytest.importorskip("ot")
    space, before, seen = loss.space(), 0.0, []
    for y in [loss.check(y) for y in ys[:15]]:
        space = space.extended(y)
        seen.append(y)
        assert before - 1e-12 <= space.diameter <= 2 * space.c_delta + 1e-9
        before = space.diameter
    Phi = space.embed_many(seen) @ checks._metric_root(space, space.p)
    zs = space.decode_many(np.random.default_rng(0).normal(size=(40, space.p)))
    D = np.array([[loss(z, y) for y in seen] for z in zs])
    assert spread(D, Phi) <= space.diameter + 1e-6


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("loss", [losses.Documents(), losses.Documents(3, normalised=False, top_grade=2)], ids=repr)
def test_queries_of_all_sizes(loss, n):
    """sqrt(m) |d(z) - d(z')| over queries of up to n documents, by trying random orders and the reversed one."""
    rng, found = np.random.default_rng(n), 0.0
    for m in range(1, n + 1):
        d = loss.discounts(m)
        others = [d[::-1], *(rng.permutation(d) for _ in range(50))]
        whole = 1.0 if loss.normalised else loss.discounts(3).sum()
        found = max(found, max(math.sqrt(m) * np.linalg.norm(d - other) / whole for other in others))
    assert loss.span(n) == pytest.approx(found)
    assert loss.span(n) <= 2 * loss.radius(n) + 1e-12


@given(cost_matrices())
def test_a_table_of_costs(loss):
    """Psi lies in the span of phi, whose codes are the rows of a symmetric root."""
    assert loss.diameter == pytest.approx(brute_force(loss), rel=1e-5, abs=1e-6)


@given(st.data(), small_losses(), st.integers(0, 2**32 - 1))
def test_the_inequality_for_any_estimate(data, loss, seed):
    """Delta(z, y) - min Delta <= diameter |phi(y) - g| for z decoded from any g: no learner is needed."""
    y = data.draw(labels_of(loss))
    g = np.random.default_rng(seed).normal(size=loss.p) * 10.0 ** data.draw(st.integers(-3, 1))
    g = data.draw(st.sampled_from([1.0, 0.5])) * loss.embed(y) + g if data.draw(st.booleans()) else g
    regret = loss(loss.decode(g), y) - loss.optimum(y)
    assert regret <= loss.diameter * np.linalg.norm(loss.embed(y) - g) + 1e-9


def test_a_loss_that_proves_nothing_has_two_c_delta():
    from saved import Compass

    loss = Compass()
    assert loss.diameter == loss.space().diameter == 2 * loss.c_delta
    checks.check_loss(loss, labels="NESW", outputs="NESW")


@pytest.mark.parametrize(("diameter", "message"), [(0.5, "> diameter = 0.5"), (2.5, "leave it out")])
def test_a_wrong_diameter_is_found(diameter, message):
    class Wrong(losses.ZeroOne):
        pass

    Wrong.diameter = diameter
    with pytest.raises(checks.CheckFailed, match=message):
        checks.check_loss(Wrong(3))


@pytest.mark.parametrize("name", [*LABELS, *PARTS])
def test_no_bound_is_nan_at_the_first_rounds(name, rng):
    """Before the first round regret and bound are 0; after it the regret is within the bound, which may be inf."""
    if name == "wasserstein":
        pytest.importorskip("ot")
    if name in LABELS:
        loss, ys = LABELS[name]
        x = [0.0, 1.0]
    else:
        loss, _ = PARTS[name]
        ys = [next(iter(loss.labels()))]
        x = np.zeros((loss.rows_of(ys[0]), 2))
    learner = OSKAAR(loss)
    assert (learner.regret, learner.regret_bound()) == (0.0, 0.0)
    assert repr(learner.certificate()) == "Certificate(0 rounds: regret 0 <= 0, surrogate loss 0)"
    learner.learn_one(x, ys[0])
    assert learner.regret <= learner.regret_bound() + 1e-9  # false for nan
    assert "nan" not in repr(learner.certificate())


def test_a_label_kernel_need_not_tell_what_all_candidates_have_in_common():
    """Labels of rank 2 under the kernel, costs that differ along it: the middle of each column does not lie there."""
    codes = {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (0.6, 0.6), "d": (0.3, -0.5)}
    psi = {"a": (-0.9, 0.1), "b": (0.2, -0.7), "c": (-0.3, -0.4), "d": (0.5, 0.3)}
    level = {"a": 0.3, "b": 0.1, "c": 1.7, "d": 0.4}  # free of z, and not linear in the codes
    loss = losses.LossTrick(
        lambda z, y: level[y] + float(np.dot(psi[z], codes[y])),
        label_kernel=lambda y, v: float(np.dot(codes[y], codes[v])),
    )
    space = space_of(loss, codes)
    expected = max(math.dist(u, v) for u in psi.values() for v in psi.values())
    assert space.diameter == pytest.approx(expected)
    assert expected / 2 <= space.c_delta + 1e-9 <= 1.1 * expected
    cannot = losses.LossTrick(lambda z, y: float(z != y), label_kernel=lambda y, v: 1.0).space()
    assert cannot.extended("a").extended("b").diameter == math.inf  # one code for two labels that Delta tells


@pytest.mark.parametrize("beta", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("limits", [(0, 70), (1, 40), (40, 70), (25, 25)])
def test_sums_over_many_sizes_go_over_few_nodes(beta, limits, rng, monkeypatch):
    """F1 on 70 labels, all sizes of y or some: every pair of sizes of answers, summed the long way."""
    monkeypatch.setattr(fscore_bounds, "_ROWS", 4)  # many runs, most of them never looked at
    k, loss = 70, losses.F1(70, beta, *limits)
    for sizes in (range(k + 1), rng.choice(np.arange(1, k), 50, replace=False).tolist()):
        found, blocks = 0.0, [n for n in sizes if 0 < n < k]
        q = {m: loss.gains([m], blocks)[0] * (m > 0) for m in range(limits[0], limits[1] + 1)}
        whole = {m: m * loss.gains([max(m, 1)], [k])[0, 0] / math.sqrt(k) * (k in sizes) for m in q}
        for m, u in q.items():
            for n, v in q.items():
                empty = 1.0 if 0 in sizes and (m == 0) != (n == 0) else 0.0
                apart = m * u @ u + n * v @ v - 2 * max(0, m + n - k) * (u @ v) + (whole[m] - whole[n]) ** 2
                found = max(found, apart + empty)
        assert loss.span(sizes) == pytest.approx(math.sqrt(found), rel=1e-12)


@pytest.mark.parametrize("rows", [1, 4])
def test_no_pair_of_a_run_is_above_its_bound(rows, monkeypatch):
    monkeypatch.setattr(fscore_bounds, "_ROWS", rows)
    k, m = 30, np.arange(31)
    Q = losses.F1(k, 3.0).gains(m, np.arange(1, k)) * (m[:, None] > 0)
    norms = (Q**2).sum(axis=1)
    apart = np.add.outer(m * norms, m * norms) - 2 * np.maximum(np.add.outer(m, m) - k, 0) * (Q @ Q.T)
    runs = list(fscore_bounds._pairs(k, m, m * norms, norms))
    assert len(runs) == {1: 31 * 32, 4: 8 * 9}[rows] // 2
    assert all(apart[few, others].max() <= bound + 1e-9 for bound, few, others in runs)
    assert all(a[0] >= b[0] for a, b in itertools.pairwise(runs))


def most_memory(make):
    tracemalloc.start()
    try:
        make()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_many_labels_take_little_memory():
    """F1 on 30,000 labels, where a table of all pairs of sizes has 7 GB."""

    def bounds(k):
        loss = losses.F1(k, at_most=k // 10)  # a tenth of the work of all sizes
        return loss.c_delta, loss.diameter

    few, many = bounds(3000), [0.0, 0.0]
    assert most_memory(lambda: many.__setitem__(slice(None), bounds(30_000))) < 40e6
    for small, large in zip(few, many):
        assert large / small == pytest.approx(math.sqrt(10), rel=0.001)  # psi grows as sqrt(k) at a share of k
    assert many[1] <= 2 * many[0]


@pytest.mark.parametrize(
    "make",
    [
        losses.ZeroOne,
        losses.Ordinal,
        losses.Jaccard,
        losses.SubsetHamming,
        losses.Sequence,
        lambda k: losses.SequenceHamming(2, k),
        lambda k: losses.F1(k, at_most=5),
        lambda k: losses.PrecisionAtK(k, 5),
    ],
)
def test_a_loss_on_many_labels_is_small(make):
    """Nor does it hold a table of codes, in memory or in files."""

    def use():
        loss = make(20_000)
        assert 0 < loss.diameter <= 2 * loss.c_delta
        y = next(y for y in (7, {7, 9}, (7, 9)) if _is_label(loss, y))
        assert loss.space().extended(loss.check(y)).embed_many([loss.check(y)]).any()
        assert len(pickle.dumps(loss)) < 2e6

    assert most_memory(use) < 40e6


def _is_label(loss, y):
    try:
        loss.check(y)
    except (ValueError, TypeError):
        return False
    return True

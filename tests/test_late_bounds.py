"""Labels that come late: no order of asking and telling violates a bound."""

import dataclasses

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import KERNELS, few, labels_of, lams, rows, small_losses
from test_tickets import schedules

from oskaar import OSKAAR, SALAMI, kernels, losses
from oskaar import state as files

KERNEL = kernels.Gaussian(0.7) + 1.0
LEARNERS = {
    "oskaar": lambda loss: OSKAAR(loss, KERNEL, lam=0.3),
    "oskaar shifted": lambda loss: OSKAAR(loss, KERNEL, lam=0.3, shifted=True),
    "oskaar untuned": lambda loss: OSKAAR(loss, lam=0.3),
    "oskaar budget": lambda loss: OSKAAR(loss, KERNEL, lam=0.3, budget=3),
    "salami": lambda loss: SALAMI(loss, KERNEL, lam=0.3, eta=1 / 8),
    "salami geometric": lambda loss: SALAMI(loss, KERNEL, lam=(0.3, 2.0), eta=1 / 8, restarts="geometric"),
    "salami fast": lambda loss: SALAMI(loss, KERNEL, lam=0.3),
    "salami shifted": lambda loss: SALAMI(loss, KERNEL, lam=0.3, shifted=True),
    "salami untuned": lambda loss: SALAMI(loss),
}
COVERED = {"oskaar", "oskaar shifted", "oskaar untuned", "salami", "salami geometric"}
"""Those whose surrogate loss has a theorem."""


def steps(z, y):
    return abs(z - y) / 4 + (z > y) / 2


def halves(y):
    """Answers to propose: not the label itself, which is odd, so that others' proposals may be better."""
    return [2 * (y // 2), 2 * (y // 2) + 2]


CODES = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [-0.5, 0.5], [0.5, -0.8]])
POINTS = [
    np.array([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)]) for a in (0, 1, 2, 4) for b in (0.2, -1)
]
GROWING = {
    "open classes": (losses.ZeroOne(), list("abcd")),
    "open sets": (losses.SubsetZeroOne(3, at_most=2), naive.subsets(3)),
    "trick": (losses.LossTrick(steps, unknown=7.0), list(range(5))),
    "trick that proposes": (losses.LossTrick(steps, halves, unknown=7.0), list(range(5))),
    "trick with a kernel": (
        losses.LossTrick(
            lambda z, y: float(CODES[(z + 2) % 5] @ CODES[y]) + y,
            label_kernel=lambda y, v: float(CODES[y] @ CODES[v]),
            unknown=9.0,
        ),
        list(range(5)),
    ),
    "total variation": (
        losses.TotalVariation(3),
        [np.array([a, b, 4.0 - a - b]) / 4 for a, b in ((0, 0), (1, 0), (2, 2), (1, 2), (4, 0), (2, 1))],
    ),
    "certainties": (losses.Wasserstein([[0, 1, 4], [1, 0, 1], [4, 1, 0]]), list(np.eye(3))),
    "many labels": (losses.Jaccard(14, at_most=3), [frozenset(range(i, i + n)) for i in range(5) for n in (1, 2, 4)]),
    "arcs": (losses.SphereGeodesic(3), POINTS),
    "sets": (losses.F1(3), naive.subsets(3)),
    "angles": (losses.Geodesic(), [-3.0, -1.0, 0.0, 0.5, 2.0]),
    "quantiles": (losses.Pinball(1, 0, 1, 0.8), [np.array([v]) for v in (0.0, 0.3, 0.9, 1.0)]),
}


@st.composite
def problems(draw):
    """A loss and some of its labels."""
    if draw(st.booleans()):
        loss = draw(small_losses())
        return loss, draw(st.lists(labels_of(loss), min_size=1, max_size=6))
    return GROWING[draw(st.sampled_from(sorted(GROWING)))]


@st.composite
def events(draw, most=25):
    """What happens: (what, at which of four sites or for which ticket, which label or None for the worst)."""
    whats = st.sampled_from(["ask", "ask", "tell", "tell", "learn", "forget"])
    return draw(
        st.lists(st.tuples(whats, st.integers(0, 3), st.none() | st.integers(0, 5)), min_size=1, max_size=most)
    )


SITES = np.array([[0.0, 0.1], [0.2, 0.0], [1.5, -1.0], [-1.0, 2.0]])


def worst(loss, labels, z):
    """The label that an adversary gives to an answer."""
    if z is None:
        return labels[0]
    return max(labels, key=lambda y: loss(z, loss.check(y)) - loss.optimum(loss.check(y)))


def drive(learner, labels, happening):
    """The certificate after every event that teaches something."""
    asked = []
    for what, where, label in happening:
        if what == "ask":
            asked.append(learner.ask(SITES[where]))
        elif what == "learn":
            z = learner.predict_one(SITES[where])
            y = worst(learner.loss, labels, z) if label is None else labels[label % len(labels)]
            learner.learn_one(SITES[where], y)
            yield learner.certificate()
        elif asked:
            ticket, z = asked.pop(where % len(asked))
            if what == "forget":
                learner.forget(ticket)
                continue
            learner.tell(ticket, worst(learner.loss, labels, z) if label is None else labels[label % len(labels)])
            yield learner.certificate()


def require_bounds(found, covered):
    assert found.regret <= found.bound + 1e-8
    assert (found.surrogate_bound is not None) == covered
    if covered:
        assert found.surrogate_loss <= found.surrogate_bound + 1e-7
        assert found.bound <= found.prior_bound + 1e-6


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=12)
@given(problems(), events())
def test_no_bound_is_violated(name, problem, happening):
    loss, labels = problem
    for found in drive(LEARNERS[name](loss), labels, happening):
        require_bounds(found, name in COVERED)


@pytest.mark.parametrize("name", few(sorted(COVERED), 2))
@pytest.mark.parametrize("kind", GROWING)
def test_all_asked_before_the_first_is_told(name, kind):
    """Nothing is known when the answers are given; labels against them, and of one class."""
    loss, labels = GROWING[kind]
    for label in (None, 0):
        happening = [("ask", t % 4, None) for t in range(14)] + [("tell", 0, label)] * 14
        *_, found = drive(LEARNERS[name](loss), labels, happening)
        assert found.rounds == 14
        require_bounds(found, covered=True)


def test_none_is_charged_although_candidates_came_before_the_label():
    """Five answers None, at 7 each: the candidates that came while the labels were under way do not excuse them."""
    learner = OSKAAR(losses.LossTrick(lambda z, y: float(z != y), unknown=7.0))
    tickets = [learner.ask([float(t)])[0] for t in range(5)]
    for ticket, y in zip(tickets, "abcde"):
        learner.tell(ticket, y)
    found = learner.certificate()
    assert (found.regret, found.gap) == (35.0, 35.0)
    assert found.bound >= 35.0


def test_a_better_answer_that_came_while_the_label_was_under_way():
    """y = 1 is known at asking and its only answer is 0; then 2 brings the answer 2, which fits 1 better."""
    costs = {(0, 1): 1.0, (2, 1): 0.0, (0, 2): 1.0, (2, 2): 1.0}
    loss = losses.LossTrick(lambda z, y: costs[z, y], lambda y: [0] if y == 1 else [2])
    learner = OSKAAR(loss, KERNEL, lam=0.01)
    for _ in range(50):
        learner.learn_one([0.0, 0.0], 1)
    tickets = [learner.ask([0.0, 0.0])[0] for _ in range(50)]
    learner.learn_one([9.0, 9.0], 2)
    before = learner.certificate()
    for ticket in tickets:
        learner.tell(ticket, 1)
    found = learner.certificate()
    assert found.regret - before.regret == 50.0
    assert dataclasses.replace(found, gap=before.gap).bound < found.regret <= found.bound


def test_of_one_class_sixty_times():
    """Surrogate loss 60 where the theorem for labels at once allows 6.24: the rest is drift."""
    learner = OSKAAR(losses.ZeroOne("ab"), kernels.Linear() + 1.0)
    tickets = [learner.ask([1.0])[0] for _ in range(60)]
    for ticket in tickets:
        learner.tell(ticket, "b")
    at_once = OSKAAR(losses.ZeroOne("ab"), kernels.Linear() + 1.0)
    at_once.learn_many([[1.0]] * 60, "b" * 60)
    found, plain = learner.certificate(), at_once.certificate()
    assert found.surrogate_loss == pytest.approx(60.0)
    assert plain.surrogate_bound < 6.3
    assert found.delay_drift == pytest.approx(60.0 - at_once.surrogate_loss)
    assert found.surrogate_bound == pytest.approx(plain.surrogate_bound + found.delay_drift)
    assert repr(found).endswith(f", delay drift {found.delay_drift:.5g})")
    assert plain.delay_drift == 0.0
    assert "drift" not in repr(plain)


@settings(max_examples=15)
@given(st.data(), rows(max_rounds=9), st.sampled_from(sorted(KERNELS)), lams(), st.booleans())
def test_the_drift_is_the_definition(data, X, name, lam, shifted):
    """sum |phi - g|^2 - |phi - h|^2, g of the moment of asking, h of the algorithm in the order of telling."""
    kernel, twin = KERNELS[name]
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    happening = data.draw(schedules(len(X)))
    Phi = [loss.embed(y)[None, :] for y in ys]
    learner, tickets, asked = OSKAAR(loss, kernel, lam=lam, shifted=shifted), {}, {}
    for what, t in happening:
        if what == "ask":
            asked[t] = learner.estimate(X[t])
            tickets[t], _ = learner.ask(X[t])
        else:
            learner.tell(tickets[t], ys[t])
    order = [t for what, t in happening if what == "tell"]
    algorithm = naive.shifted_oskaar if shifted else naive.oskaar
    told = algorithm(twin, [[X[t]] for t in order], [Phi[t] for t in order], lam) if order else []
    expected = sum(((Phi[t] - asked[t]) ** 2).sum() - ((Phi[t] - h) ** 2).sum() for t, h in zip(order, told))
    found = learner.certificate()
    assert found.delay_drift == pytest.approx(expected, abs=1e-7)
    in_order = OSKAAR(loss, kernel, lam=lam, shifted=shifted)
    for t in order:
        in_order.learn_one(X[t], ys[t])
    if order:
        theorem = in_order.certificate().surrogate_bound
        assert found.surrogate_bound == pytest.approx(theorem + expected, abs=1e-6)


def test_units_that_are_taken_anew_keep_the_drift():
    """Learned again in other units at 4, 8, 16 rows: what was paid, and why, stays."""
    rng = np.random.default_rng(8)
    X, ys = rng.normal(size=(40, 2)) * [1.0, 50.0], rng.integers(0, 2, size=40)
    learner, at_once, before = OSKAAR(losses.ZeroOne(2), lam=0.1), OSKAAR(losses.ZeroOne(2), lam=0.1), 0.0
    tickets = [learner.ask(x)[0] for x in X]
    for ticket, x, y in zip(tickets, X, ys):
        h = learner.estimate(x)
        phi = learner.loss.embed(y)
        learner.tell(ticket, y)
        at_once.learn_one(x, y)
        before += phi @ phi - (phi - h) @ (phi - h)  # the answers were given for g = 0
        found = learner.certificate()
        assert found.delay_drift == pytest.approx(before, abs=1e-9)
        assert found.surrogate_bound == pytest.approx(at_once.certificate().surrogate_bound + before, abs=1e-7)
        require_bounds(found, covered=True)


@pytest.mark.parametrize("name", ["oskaar", "salami"])
def test_rounds_of_several_rows(name, rng):
    """One row each: the theorem, with the drift; several: the comparison inequality alone."""
    for sizes, covered in (([1] * 12, True), ([1, 2, 3] * 4, False)):
        learner = LEARNERS[name](losses.PerRow(losses.Ordinal(3)))
        asked = [learner.ask(rng.normal(size=(n, 2))) for n in sizes]
        for ticket, z in asked:
            learner.tell(ticket, [2 - 2 * (level > 0) for level in z])
        require_bounds(learner.certificate(), covered)


def test_tickets_stay_small_in_memory_and_in_a_file():
    """A ticket holds x, z and g: no space, of which there may be as many as tickets."""
    learner = OSKAAR(losses.LossTrick(steps), KERNEL, budget=4)
    for t in range(150):
        learner.ask(SITES[t % 4])
        learner.learn_one(SITES[t % 4], t)
    held, size = learner.cost().bytes, len(learner.to_bytes())
    for ticket in learner.open_tickets:
        learner.forget(ticket)
    weights = 8 * 150 * 150 / 2  # of the labels at the time
    assert held - learner.cost().bytes < weights + 150 * 1500
    assert size - len(learner.to_bytes()) < weights + 150 * 1500


def test_open_tickets_are_judged_alike_after_a_file():
    loss = losses.TotalVariation(3)
    learner = OSKAAR(loss, KERNEL)
    labels = GROWING["total variation"][1]
    asked = []
    for t in range(12):
        asked.append(learner.ask(SITES[t % 4]))
        learner.learn_one(SITES[t % 4], labels[t // 2])
    twin = files.from_bytes(learner.to_bytes())
    for ticket, z in asked:
        for each in (learner, twin):
            each.tell(ticket, worst(loss, labels, z))
    assert repr(twin.certificate()) == repr(learner.certificate())
    assert twin.certificate() == learner.certificate()
    require_bounds(twin.certificate(), covered=True)

"""Late labels: what was answered is what is judged, and what is learned is what was told, in that order."""

import copy
import pickle

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from strategies import KERNELS, blocks, few, labels_of, lams, rows, small_losses

from oskaar import OSKAAR, SALAMI, features, kernels, losses

X = np.random.default_rng(5).normal(size=(24, 3))
YS = [0, 1, 2, 2] * 6
DICTS = [{f"f{j}": float(v) for j, v in enumerate(x) if j <= i} | {"tag": "xyz"[i % 3]} for i, x in enumerate(X)]
MAKE = {
    "exact": lambda loss: OSKAAR(loss, kernels.Gaussian() + 1.0, lam=0.3),
    "shifted": lambda loss: OSKAAR(loss, kernels.Linear() + 1.0, lam=0.3, shifted=True),
    "budget": lambda loss: OSKAAR(loss, budget=6, lam=0.3),
    "fourier": lambda loss: OSKAAR(
        loss, features=features.Standardised(features.RandomFourier(kernels.Gaussian(2.0), 12)), lam=0.3
    ),
    "salami": lambda loss: SALAMI(loss),
    "salami budget": lambda loss: SALAMI(loss, budget=6),
}
STREAMS = {
    "dense": lambda: list(X),
    "dicts": lambda: DICTS,
    "sparse": lambda: [csr_array(x[None, :]) for x in X],
}
makes = pytest.mark.parametrize("make", MAKE)
streams = pytest.mark.parametrize("kind", STREAMS)


def state(learner):
    """Everything but the tickets, byte for byte."""
    return pickle.dumps({k: v for k, v in learner.__getstate__().items() if k != "_tickets"})


def pickled(learner):
    return pickle.loads(pickle.dumps(learner))


@st.composite
def schedules(draw, n):
    """Rounds are asked in order and told in any order, some of them never."""
    events, waiting = [], []
    for t in range(n):
        events.append(("ask", t))
        waiting.append(t)
        while waiting and draw(st.booleans()):
            events.append(("tell", waiting.pop(draw(st.integers(0, len(waiting) - 1)))))
    return events


@given(st.data(), rows(max_rounds=9), st.sampled_from(sorted(KERNELS)), lams())
def test_against_the_definition(data, X, name, lam):
    """g_hat, z, regret and surrogate loss are those of the moment of asking."""
    kernel, twin = KERNELS[name]
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    events = data.draw(schedules(len(X)))
    Phi = [loss.embed(y)[None, :] for y in ys]
    expected = naive.late_oskaar(twin, [[x] for x in X], Phi, events, lam)
    learner, tickets, answers = OSKAAR(loss, kernel, lam=lam), {}, {}
    regret = surrogate = total = 0.0
    for what, t in events:
        if what == "ask":
            np.testing.assert_allclose(learner.estimate(X[t]), expected[t][0], atol=1e-8)
            tickets[t], answers[t] = learner.ask(X[t])
            continue
        learner.tell(tickets[t], ys[t])
        total += loss(answers[t], ys[t])
        regret += loss(answers[t], ys[t]) - min(loss(z, ys[t]) for z in loss.outputs())
        surrogate += ((Phi[t] - expected[t]) ** 2).sum()
    told = sum(what == "tell" for what, _ in events)
    assert learner.rounds == told
    assert len(learner.open_tickets) == len(X) - told
    assert learner.total_loss == pytest.approx(total, abs=1e-9)
    assert learner.regret == pytest.approx(regret, abs=1e-9)
    assert learner.surrogate_loss == pytest.approx(surrogate, abs=1e-7)
    assert learner.regret <= learner.regret_bound() + 1e-9


@settings(max_examples=15)
@given(st.data(), blocks(max_rounds=5, max_rows=4), st.sampled_from([None, "learned"]))
def test_rounds_of_parts(data, rounds, transitions):
    loss = losses.Sequence("abc", transitions)
    ys = [data.draw(st.lists(st.sampled_from("abc"), min_size=len(x), max_size=len(x))) for x in rounds]
    events = data.draw(schedules(len(rounds)))
    Phi = [loss.embed(y) for y in ys]
    expected = naive.late_oskaar(KERNELS["intercept"][1], rounds, Phi, events, 0.5)
    learner, tickets = OSKAAR(loss, KERNELS["intercept"][0], lam=0.5), {}
    surrogate = total = 0.0
    for what, t in events:
        if what == "ask":
            rows = iter(list(rounds[t]))  # an iterator can be read once only
            tickets[t], z = learner.ask(rows)
            tickets[t] = (tickets[t], z)
        else:
            ticket, z = tickets[t]
            with pytest.raises(ValueError, match="a part for each row"):
                learner.tell(ticket, [*ys[t], "a"])
            learner.tell(ticket, ys[t])
            total += loss(z, loss.check(ys[t]))
            surrogate += ((Phi[t] - expected[t]) ** 2).sum() / len(Phi[t])
    assert learner.total_loss == pytest.approx(total)
    assert learner.surrogate_loss == pytest.approx(surrogate, abs=1e-7)


@makes
@streams
@pytest.mark.parametrize("loss", few([losses.ZeroOne(), losses.ZeroOne(3), losses.Squared(2, -3, 3)], 3), ids=repr)
def test_no_delay_is_immediate_learning(make, kind, loss):
    """State, regret and surrogate loss, bit for bit."""
    late, now = MAKE[make](loss), MAKE[make](loss)
    ys = X[:, :2].clip(-3, 3) if isinstance(loss, losses.Squared) else YS
    for x, y in zip(STREAMS[kind]()[:14], ys):  # a budget of 6 is full, scales are taken twice
        ticket, z = late.ask(x)
        assert np.array_equal(z, now.predict_one(x))
        late.tell(ticket, y)
        now.learn_one(x, y)
        assert (late.regret, late.surrogate_loss, late.total_loss) == (now.regret, now.surrogate_loss, now.total_loss)
    assert state(late) == state(now)
    assert late.rounds == 14


@makes
@streams
def test_learned_in_the_order_told(make, kind):
    """The state is that of learn_one in the order of telling; only the account is of the answers given."""
    order = np.random.default_rng(0).permutation(24)[:20]
    late, now = MAKE[make](losses.ZeroOne()), MAKE[make](losses.ZeroOne())
    tickets = [late.ask(x)[0] for x in STREAMS[kind]()]
    for t in order:
        late.tell(tickets[t], YS[t])
        now.learn_one(STREAMS[kind]()[t], YS[t])
    assert late.total_loss == 20.0  # nothing was known when these were asked
    assert late.surrogate_loss == 20.0
    assert now.total_loss < 20.0
    for each in (late, now):
        each.total_loss = each.regret = each.surrogate_loss = each._behind = each._drift = 0.0  # the accounts
    assert state(late) == state(now)
    assert late.open_tickets == sorted(set(range(24)) - set(order.tolist()))


def test_what_is_asked_is_copied():
    """Rows and answers that the caller changes afterwards change nothing."""
    for x, spoil in [
        (np.array([1.0, 2.0]), lambda x: x.fill(np.nan)),
        ([1.0, 2.0], lambda x: x.clear()),
        (csr_array([[1.0, 2.0]]), lambda x: x.data.fill(np.nan)),
        ({"a": 1.0, "b": 2.0}, lambda x: x.clear()),
    ]:
        late, now = (OSKAAR(losses.Squared(2, 0, 1)) for _ in range(2))
        now.learn_one(copy.deepcopy(x), [0.5, 0.25])
        ticket, z = late.ask(x)
        spoil(x)
        z.fill(7.0)
        late.tell(ticket, [0.5, 0.25])
        assert late.total_loss == now.total_loss
        assert state(late) == state(now)


def test_names_that_appear_after_asking():
    late, now = (OSKAAR(losses.ZeroOne("ab"), kernels.Linear() + 1.0) for _ in range(2))
    ticket, _ = late.ask({"new": 2.0, "x": 1.0, "tag": "t"})
    for each in (late, now):
        each.learn_one({"x": 1.0, "other": 3.0}, "b")
    late.tell(ticket, "a")
    now.learn_one({"new": 2.0, "x": 1.0, "tag": "t"}, "a")
    for x in ({"new": 1.0}, {"other": 1.0}, {"tag": "t"}):
        np.testing.assert_array_equal(late.estimate(x), now.estimate(x))
    assert late._inputs.store.names == now._inputs.store.names


def test_objects_and_kinds():
    learner = OSKAAR(losses.ZeroOne("ab"), kernel=lambda x, y: float(x == y))
    (first, _), (second, _) = learner.ask("cat"), learner.ask("dog")
    learner.tell(second, "b")
    learner.tell(first, "a")
    assert (learner.predict_one("cat"), learner.predict_one("dog")) == ("a", "b")
    learner = OSKAAR(losses.ZeroOne("ab"))
    ticket, _ = learner.ask([1.0, 2.0])
    learner.learn_one({"a": 1.0}, "a")
    before = pickle.dumps(learner)
    with pytest.raises(TypeError, match="x must have names, or none, as the first row"):
        learner.tell(ticket, "b")
    assert pickle.dumps(learner) == before
    assert learner.open_tickets == [ticket]


def test_bad_labels_leave_the_ticket_open():
    learner = OSKAAR(losses.ZeroOne(3))
    learner.learn_many(X[:6], YS[:6])
    ticket, _ = learner.ask(X[6])
    before = pickle.dumps(learner)
    for bad in (7, None, np.nan):
        with pytest.raises(ValueError, match="unknown class"):
            learner.tell(ticket, bad)
    with pytest.raises(ValueError, match="x must be finite, got inf in feature 1"):
        learner.ask([0.0, np.inf, 0.0])
    assert pickle.dumps(learner) == before
    assert learner.open_tickets == [ticket]
    learner.tell(ticket, 1)
    assert (learner.rounds, learner.open_tickets) == (7, [])


def test_tickets_that_are_not_open():
    learner = OSKAAR(losses.ZeroOne(3))
    told, forgotten = learner.ask(X[0])[0], learner.ask(X[1])[0]
    learner.tell(told, 0)
    learner.forget(forgotten)
    before = pickle.dumps(learner)
    for method in (lambda t: learner.tell(t, 1), learner.forget):
        for ticket, message in [
            (told, f"ticket {told} is closed: it has been told"),
            (forgotten, f"ticket {forgotten} is closed: it has been told, forgotten"),
            (99, "ticket 99 is unknown: this learner has given 2 tickets"),
            (-1, "ticket -1 is unknown"),
        ]:
            with pytest.raises(ValueError, match=message):
                method(ticket)
        for ticket in ("0", None, 0.0, [0]):
            with pytest.raises(TypeError, match="a ticket must be a whole number"):
                method(ticket)
    assert pickle.dumps(learner) == before
    ticket = learner.ask(X[2])[0]
    learner.tell(np.int64(ticket), 1)
    assert learner.rounds == 2


def test_past_the_bound_the_oldest_is_dropped():
    learner = OSKAAR(losses.ZeroOne(3))
    learner.max_open = 3
    tickets = [learner.ask(x)[0] for x in X[:5]]
    assert learner.open_tickets == tickets[2:]
    for gone in tickets[:2]:
        with pytest.raises(ValueError, match=rf"ticket {gone} was dropped.*Raise learner.max_open"):
            learner.tell(gone, 0)
    learner.tell(tickets[2], 0)
    assert learner.ask(X[5])[0] == 5
    assert learner.open_tickets == [3, 4, 5]
    learner.max_open = 1
    learner.ask(X[6])
    assert learner.open_tickets == [6]
    with pytest.raises(ValueError, match="ticket 4 was dropped"):
        learner.forget(4)
    for bad in (0, 1.5, True, -3):
        learner.max_open = bad
        with pytest.raises(ValueError, match="max_open must be a whole number >= 1"):
            learner.ask(X[7])
    assert learner.open_tickets == [6]


def test_memory_is_bounded_when_no_label_comes():
    learner = OSKAAR(losses.ZeroOne(3))
    learner.max_open = 10
    for x in X:
        learner.ask(x)
    held = learner.cost().bytes
    for _ in range(100):
        for x in X:
            learner.ask(x)
    assert learner.cost().bytes < held + 150_000
    assert len(learner.open_tickets) == 10
    with pytest.raises(ValueError, match=r"ticket 0 is closed.*dropped long ago"):
        learner.tell(0, 1)
    small = OSKAAR(losses.ZeroOne(3), max_bytes=6000)
    small.ask(X[0])
    with pytest.raises(MemoryError, match="tell or forget tickets"):
        [small.ask(x) for x in X]
    assert 0 < len(small.open_tickets) < len(X)


@pytest.mark.parametrize("how", [copy.deepcopy, pickled])
@streams
def test_tickets_survive_copies(how, kind):
    xs = STREAMS[kind]()
    learner = SALAMI(losses.ZeroOne())
    tickets = [learner.ask(x)[0] for x in xs[:8]]
    for t in (3, 1):
        learner.tell(tickets[t], YS[t])
    twin = how(learner)
    for each in (learner, twin):
        for t in (7, 0, 5):
            each.tell(tickets[t], YS[t])
        assert each.ask(xs[8])[0] == 8
    assert (learner.regret, learner.surrogate_loss) == (twin.regret, twin.surrogate_loss)
    for x in xs[9:]:
        np.testing.assert_array_equal(learner.estimate(x), twin.estimate(x))
    assert learner.open_tickets == twin.open_tickets == [2, 4, 6, 8]


def test_reset_and_fit_close_all():
    learner = OSKAAR(losses.ZeroOne(3))
    ticket, _ = learner.ask(X[0])
    with pytest.raises(ValueError, match="unknown class"):
        learner.fit(X, [*YS[:-1], "no"])
    assert learner.open_tickets == [ticket]
    learner.fit(X, YS)
    assert learner.open_tickets == []
    with pytest.raises(ValueError, match="ticket 0 is closed"):
        learner.tell(ticket, 0)
    assert learner.ask(X[0])[0] == 1  # an old ticket is never taken for a new one


@pytest.mark.parametrize("kind", ["exact", "budget", "salami"])
def test_a_list_of_numbers_is_a_row(kind):
    """As an array is, to the last bit, asked, told and learned; also where some numbers are whole."""
    learners = [MAKE[kind](losses.ZeroOne(3)) for _ in range(2)]
    for i, (x, y) in enumerate(zip(X, YS, strict=True)):
        x = np.round(x) + 0.0 if i % 5 == 4 else x
        for learner, row in zip(learners, (x, [int(v) if v == round(v) else float(v) for v in x]), strict=True):
            learner.learn_one(row, y) if i % 3 == 0 else learner.tell(learner.ask(row)[0], y)
    assert learners[0].to_bytes() == learners[1].to_bytes()

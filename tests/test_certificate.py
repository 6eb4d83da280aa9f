"""No bound is ever violated, on streams of all kinds; and the bounds are sharp enough for a wrong factor to show."""

import dataclasses
import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import blocks, few, labels_of, lams, rows, small_losses

from oskaar import OSKAAR, SALAMI, kernels, losses, theory

KERNEL = kernels.Gaussian(0.7) + 1.0
LEARNERS = {
    "oskaar": lambda loss: OSKAAR(loss, KERNEL, lam=0.5),
    "oskaar shifted": lambda loss: OSKAAR(loss, KERNEL, lam=0.5, shifted=True),
    "salami": lambda loss: SALAMI(loss, KERNEL, lam=0.5, eta=1 / 8),
    "salami grid": lambda loss: SALAMI(loss, [KERNEL, kernels.Linear()], lam=(0.1, 2.0), eta="theory"),
    "salami default": lambda loss: SALAMI(loss, KERNEL),
    "salami shifted": lambda loss: SALAMI(loss, KERNEL, shifted=True),
    "salami geometric": lambda loss: SALAMI(loss, KERNEL, lam=0.5, eta=1 / 8, restarts="geometric"),
    "salami first": lambda loss: SALAMI(loss, KERNEL, lam=(0.5, 1.0), eta=1 / 8, restarts=None),
    "salami windowed": lambda loss: SALAMI(loss, KERNEL, lam=0.5, eta=1 / 8, window=5),
}
COVERED = {"oskaar", "oskaar shifted", "salami", "salami grid", "salami geometric", "salami first"}
"""Learners whose surrogate loss has a theorem."""


def edits(z, y):
    return abs(len(z) - len(y)) / 4 + (z[:1] != y[:1]) / 2


LOSSES = {
    "classes": (losses.ZeroOne(3), list(range(3))),
    "open classes": (losses.ZeroOne(), list("abcdef")),
    "levels": (losses.Ordinal(5), list(range(5))),
    "sets": (losses.F1(3), naive.subsets(3)),
    "overlap": (losses.Jaccard(3), naive.subsets(3)),
    "found overlap": (losses.Jaccard(14), [frozenset(range(i, i + 3)) for i in range(12)]),
    "rankings": (losses.Kendall(3), naive.orders(3)),
    "relevance": (losses.NDCG(3), [(0, 1, 2), (2, 0, 0), (1, 1, 0)]),
    "sequences": (losses.SequenceHamming(2, 2), naive.sequences(2, range(2))),
    "costs": (losses.CostMatrix([[0, 3, 1], [2, 0, 5]]), [0, 1, 2]),
    "distributions": (
        losses.TotalVariation(3),
        [np.array([a, 4 - a, b]) / (4 + b) for a in range(5) for b in (0, 3)],
    ),
    "vectors": (losses.Squared(1, 0.0, 1.0), [np.array([v]) for v in (0.0, 0.3, 1.0)]),
    "trick": (losses.LossTrick(edits, unknown=7.0), ["a", "b", "bb", "accc", "c"]),
    "trick with a kernel": (
        losses.LossTrick(edits, label_kernel=lambda y, v: 0.9 + 0.1 * (y == v), unknown=7.0),
        ["a", "b", "bb", "accc", "c"],
    ),
}


def make_stream(kind, T, labels, seed):
    """A function of (round, learner, x) that gives the label, and the inputs."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(T, 2))
    cut = rng.integers(len(labels), size=(T, 4))
    site = (X[:, 0] > 0) + 2 * (X[:, 1] > 0)

    def adversarial(t, learner, x):
        z = learner.predict_one(x)
        if z is None:
            return labels[cut[t, 0]]
        return max(labels, key=lambda y: learner.loss(z, y) - learner.loss.optimum(y))

    return X, {
        "adversarial": adversarial,
        "stationary": lambda t, learner, x: labels[cut[0, site[t]]],
        "noisy": lambda t, learner, x: labels[cut[t, 0]] if t % 4 == 0 else labels[cut[0, site[t]]],
        "drifting": lambda t, learner, x: labels[cut[4 * (t // 4), site[t]]],
    }[kind]


def drive(learner, X, label):
    """The certificate after every round."""
    for t, x in enumerate(X):
        learner.learn_one(x, label(t, learner, x))
        yield learner.certificate()


KINDS = ["adversarial", "stationary", "noisy", "drifting"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", few(LEARNERS, 2))
def test_no_bound_is_violated(name, kind):
    """At every round. Every loss meets the adversary, and one of the other kinds with every learner."""
    for seed, (loss, labels) in enumerate(LOSSES.values()):
        if kind != "adversarial" and seed % 3 != KINDS.index(kind) - 1:
            continue
        learner = LEARNERS[name](loss)
        X, label = make_stream(kind, 12, labels, seed)
        for certificate in drive(learner, X, label):
            assert certificate.regret <= certificate.bound + 1e-9
            assert (certificate.prior_bound is not None) == (name in COVERED)
            if name in COVERED:
                assert certificate.surrogate_loss <= certificate.surrogate_bound + 1e-9
                assert certificate.bound <= certificate.prior_bound + 1e-9
        assert certificate.rounds == 12
        assert certificate.regret == pytest.approx(learner.regret)


@given(st.data(), rows(max_rounds=14), lams(), st.booleans())
def test_numbers_are_the_definitions(data, X, lam, shifted):
    """best_fit, d_eff and the bounds of OSKAAR against the long way, with no factor of the solver's in common."""
    loss = data.draw(small_losses())
    ys = data.draw(st.lists(labels_of(loss), min_size=len(X), max_size=len(X)))
    learner = OSKAAR(loss, kernels.Gaussian(0.8), lam, shifted)
    learner.partial_fit(X, ys)
    found = learner.certificate()
    T = len(X)
    if not T:
        assert (found.rounds, found.bound, found.prior_bound) == (0, 0.0, None)
        return
    K = naive.gram(lambda x, y: naive.gaussian(x, y, 0.8), X, X)
    Phi = np.array([loss.embed(y) for y in ys])
    scale, B, share = (4 * lam, None, 0.25) if shifted else (lam, 1.0, 1.0)
    twin = naive.shifted_oskaar if shifted else naive.oskaar
    G = np.vstack(twin(lambda x, y: naive.gaussian(x, y, 0.8), [[x] for x in X], [p[None] for p in Phi], lam))
    H = 2 * Phi - G if shifted else Phi
    alpha = np.linalg.solve(K + scale * np.eye(T), H)
    fit = share * (((H - K @ alpha) ** 2).sum() + scale * np.trace(alpha.T @ K @ alpha))
    d_eff = naive.effective_dimension(K, scale)
    B = B or np.sqrt((H**2).sum(axis=1).max())
    surrogate = share * B**2 * np.log(np.e + np.e * T / scale) * d_eff + fit
    assert found.hindsight.best_fit == pytest.approx(fit, abs=1e-6)
    assert found.effective_dimension == pytest.approx(d_eff, abs=1e-6)
    assert found.surrogate_loss == pytest.approx(((Phi - G) ** 2).sum(), abs=1e-6)
    assert found.surrogate_bound == pytest.approx(surrogate, rel=1e-6, abs=1e-6)
    diameter = learner.space.diameter
    assert diameter <= loss.diameter + 1e-12
    assert found.bound == pytest.approx(diameter * np.sqrt(T * ((Phi - G) ** 2).sum()), abs=1e-5)
    assert found.prior_bound == pytest.approx(diameter * np.sqrt(T * surrogate), abs=1e-5)
    assert found.surrogate_regret == pytest.approx(found.surrogate_loss - fit, abs=1e-6)


@given(rows(max_rounds=16, width=2), st.sampled_from(["all", "geometric", None]))
def test_salami_against_the_best_restart(X, restarts):
    """From the round s of any restart on, the mixture pays at most log(T kinds) / eta more, while it is alive."""
    loss, grid, eta = losses.ZeroOne(2), [0.3, 2.0], 1 / 8
    ys = [int(t > len(X) // 2) ^ (t % 5 == 0) for t in range(len(X))]
    if not ys:
        return
    K, Phi = naive.gram(naive.gaussian, X, X) + 1, loss.embed_many(ys)
    lives = (lambda s, t: s == 0) if restarts is None else None
    if restarts == "geometric":
        lives = lambda s, t: s == 0 or t - s < 4 * ((s + 1) & -(s + 1))  # noqa: E731
    G, _, experts = naive.salami([K], Phi, list(range(1, len(X) + 1)), grid, eta, True, lives=lives)
    own = ((Phi - G) ** 2).sum(axis=1)
    learner = SALAMI(loss, kernels.Gaussian() + 1.0, grid, eta=eta, restarts=restarts).partial_fit(X, ys)
    assert learner.surrogate_loss == pytest.approx(own.sum(), abs=1e-7)
    alive = [[s for s in range(t + 1) if lives is None or lives(s, t)] for t in range(len(X))]
    for s in range(len(X)):
        for kind in range(2):
            behind = 0.0
            for t in range(s, len(X)):
                if s not in alive[t]:
                    break
                g = experts[t][len(grid) * alive[t].index(s) + kind]
                behind += own[t] - float(((Phi[t] - g) ** 2).sum())
                born = 1 if restarts is None else t + 1
                assert behind <= theory.mixture_regret(2 * born, eta) + 1e-9


@given(blocks(), st.sampled_from(["oskaar", "salami", "salami geometric"]))
def test_rounds_of_several_rows(rounds, name):
    """The mean over rows, on labels against the learner; there is no theorem for the surrogate."""
    learner = LEARNERS[name](losses.PerRow(losses.Ordinal(3)))
    for x in rounds:
        z = learner.predict_one(x)
        learner.learn_one(x, [2 - 2 * (level > 0) for level in z])
        found = learner.certificate()
        assert found.regret <= found.bound + 1e-9


def apart(T):
    """Inputs that have nothing in common, under a linear kernel: the estimate is always 0."""
    return np.eye(T)


@pytest.mark.parametrize(
    "learner", [OSKAAR(losses.ZeroOne(2), kernels.Linear(), 1.0), SALAMI(losses.ZeroOne(2), kernels.Linear(), 1.0)]
)
def test_comparison_inequality_is_attained(learner):
    """Against a learner that knows nothing every answer is wrong: regret = bound, and no smaller factor will do."""
    for certificate in drive(learner, apart(12), lambda t, learner, x: 1 - learner.predict_one(x)):
        assert certificate.regret == pytest.approx(certificate.bound)
        halved = dataclasses.replace(certificate, diameter=certificate.diameter / 2)
        assert halved.bound < certificate.regret


def test_kaar_bound_fails_when_halved():
    """With lam = T the same stream has regret T - lam T / (1 + lam), more than half of log(e + e T / lam) d_eff."""
    T = 12
    learner = OSKAAR(losses.ZeroOne(2), kernels.Linear(), lam=float(T))
    *_, certificate = drive(learner, apart(T), lambda t, learner, x: 1 - learner.predict_one(x))
    price = certificate.surrogate_bound - certificate.hindsight.best_fit
    assert price == pytest.approx(math.log(2 * math.e) * T / (1 + T))
    assert price / 2 < certificate.surrogate_regret <= price
    assert certificate.surrogate_regret == pytest.approx(theory.online_leverages(np.eye(T), T).sum())


def test_shifted_kaar_bound_fails_when_halved():
    """The same for h_t = 2 phi_t: sum |phi_t|^2 = T, the least fit is 4 lam T / (1 + 4 lam)."""
    T = 12
    learner = OSKAAR(losses.ZeroOne(2), kernels.Linear(), lam=float(T), shifted=True)
    *_, certificate = drive(learner, apart(T), lambda t, learner, x: 1 - learner.predict_one(x))
    price = certificate.surrogate_bound - certificate.hindsight.best_fit
    assert price / 2 < certificate.surrogate_regret <= price


def test_first_round_of_a_loss_trick_is_charged():
    """None costs 7, and is no candidate: the inequality alone would say 0."""
    learner = OSKAAR(losses.LossTrick(edits, unknown=7.0))
    learner.learn_one([0.0], "a")
    found = learner.certificate()
    assert (found.regret, found.gap, found.bound) == (7.0, 7.0, 7.0)


def test_gap_of_a_candidate_that_was_not_there():
    """y3 = (y1 + y2) / 2 in the geometry of the labels, and only y3 answers it: the inequality needs the gap."""
    codes = {"l": (1.0, 0.0), "r": (0.0, 1.0), "m": (0.5, 0.5)}
    psi = {"l": (0.0, 1.0), "r": (1.0, 0.0), "m": (0.2, 0.2)}
    loss = losses.LossTrick(
        lambda z, y: float(np.dot(psi[z], codes[y])), label_kernel=lambda y, v: float(np.dot(codes[y], codes[v]))
    )
    space = loss.space().extended("l").extended("r")
    gap = space.extended("m").gap("l", "m", np.array([0.5, 0.5]))
    assert gap == pytest.approx(0.5 - 0.2)
    assert space.gap("l", "l", np.array([0.5, 0.5])) == 0.0
    later = space.extended("m").extended("l")  # y need not be the last label
    assert later.gap("l", "m", np.array([0.5, 0.5])) == pytest.approx(gap)


def test_certificate_is_a_value():
    learner = OSKAAR(losses.ZeroOne(2), KERNEL)
    learner.learn_one([0.0, 0.0], 1)
    before = learner.certificate()
    text = repr(before)
    learner.learn_one([0.0, 0.0], 0)
    assert repr(before) == text
    assert before != learner.certificate()
    with pytest.raises(dataclasses.FrozenInstanceError):
        before.regret = 0.0
    # d_eff = 2/3, log(e + 2 e) d_eff + 1/3 = 1.7324
    assert text == "Certificate(1 rounds: regret 1 <= 1, surrogate loss 1 <= 1.7324, prior bound 1.3162)"


def test_one_at_a_time_equals_in_blocks(rng):
    X, ys = rng.normal(size=(40, 2)), rng.integers(0, 3, size=40).tolist()
    for loss in (
        losses.ZeroOne(),
        losses.LossTrick(lambda z, y: float(z != y), label_kernel=lambda y, v: 0.5 + 0.5 * (y == v)),
    ):
        one, many = OSKAAR(loss, KERNEL), OSKAAR(loss, KERNEL)
        one.learn_many(X, ys)
        many.partial_fit(X, ys)
        assert one.certificate().bound == pytest.approx(many.certificate().bound)
        assert one.certificate().gap == pytest.approx(many.certificate().gap)
        assert one.certificate().prior_bound == pytest.approx(many.certificate().prior_bound)
        assert one.regret_bound() == one.certificate().bound


@given(rows(max_rounds=10, width=2), st.sampled_from(["all", "geometric", None]))
def test_salami_numbers_are_the_definitions(X, restarts):
    """log(N) / eta + log det(I + K / lam) + min_g L_T(g), for the better lam, the long way."""
    loss, eta, T = losses.Ordinal(3), 1 / 8, len(X)
    learner = SALAMI(loss, kernels.Gaussian(), (0.3, 2.0), eta=eta, restarts=restarts)
    ys = [t % 3 for t in range(T)]
    if not T:
        return
    found = learner.partial_fit(X, ys).certificate()
    K, Phi = naive.gram(naive.gaussian, X, X), loss.embed_many(ys)
    sums = []
    for lam in (0.3, 2.0):
        fit = lam * np.trace(Phi.T @ np.linalg.solve(K + lam * np.eye(T), Phi))
        sums.append(np.log(np.linalg.det(np.eye(T) + K / lam)) + fit)
    experts = 2 if restarts is None else 2 * T
    assert found.surrogate_bound == pytest.approx(min(sums) + 8 * np.log(experts), abs=1e-7)


def test_gap_of_a_distribution_that_was_not_there():
    """Six labels, half on outcome 0 or 1, half on one of their own: they overlap 1 + 1/2 + 1/2, (1/2, 1/2, 0..) 3."""
    loss = losses.TotalVariation(8)
    space = loss.space()
    for j in range(6):
        y = np.zeros(8)
        y[[j // 3, 2 + j]] = 0.5
        space = space.extended(loss.check(y))
    new = loss.check([0.5, 0.5, 0, 0, 0, 0, 0, 0])
    z = space.decode_many(np.ones((1, 6)))[0]
    assert space.extended(new).gap(z, new, np.ones(6)) == pytest.approx(1.0)
    assert space.gap(z, y, np.ones(6)) == 0.0


def test_gap_of_a_search_that_missed():
    """The answer {0} where {1} has all the weight: J({1}, {1}) - J({0}, {1}) = 1."""
    loss = losses.Jaccard(14)
    space = loss.space().extended(frozenset({1}))
    assert not space.exact
    assert space.gap(frozenset({0}), frozenset({1}), np.array([0.7])) == pytest.approx(0.7)
    assert space.gap(frozenset({1}), frozenset({0}), np.array([0.7])) == 0.0
    limited = losses.Jaccard(14, at_most=1)  # the best answer to {2, 3} is {2}
    space = limited.space().extended(frozenset({1})).extended(frozenset({2, 3}))
    assert space.gap(frozenset({1}), frozenset({2, 3}), np.array([0.7, 2.0])) == pytest.approx(2.0 / 2 - 0.7)


@pytest.mark.parametrize("name", LEARNERS)
def test_settings_cannot_be_changed_under_a_certificate(name, rng):
    """What was learned with one lam must not be certified with another."""
    learner = LEARNERS[name](losses.ZeroOne(2))
    learner.partial_fit(rng.normal(size=(20, 2)), [0, 1] * 10)
    before = learner.certificate()
    follow = ["rate", "lams", "kernels"] if "salami" in name else []
    for setting in [*learner.get_params(deep=False), *follow]:
        if setting == "max_bytes":
            continue
        with pytest.raises(AttributeError, match=rf"{setting} must not be changed .* set_params"):
            setattr(learner, setting, 7.0)
    assert learner.certificate() == before
    learner.__dict__["lam"] = 7.0  # who insists does not change what is claimed
    assert learner.certificate() == before
    learner.max_bytes = 10**9
    assert learner.set_params(lam=7.0).rounds == 0


def test_gap_of_a_ranking_that_was_not_found_in_time():
    """Decoding stops at once: the answer may be any, and what the best one for y is better by is charged."""
    loss = losses.Kendall(16)
    space, y = loss.space(), tuple(range(16))
    g = 0.8 * loss.embed(y)
    z = tuple(reversed(y))
    regret = loss(z, y)
    assert not space.exact
    assert space.gap(z, y, g) == pytest.approx(0.8)  # <psi(z) - psi(y), g>, psi = -phi / 2
    assert regret <= space.diameter * np.linalg.norm(loss.embed(y) - g) + space.gap(z, y, g) + 1e-9
    assert regret > space.diameter * np.linalg.norm(loss.embed(y) - g)
    assert space.gap(y, y, g) == 0.0
    assert space.gap(z, (*y[:14], {14, 15}), 0.0 * g) == 0.0
    assert losses.Kendall(14).space().exact

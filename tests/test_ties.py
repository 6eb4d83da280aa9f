"""What is equal up to rounding has one answer: the documented first of equals, however the estimate was computed."""

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import small_losses

from oskaar import OSKAAR, SALAMI, kernels, losses, replay
from oskaar.arrays import without_rounding
from oskaar.losses.base import first_best, one_hot

NOISE = 1e-13


def noisy(g, rng):
    """g with rounding errors of 1e-13 of its scale, and of 1e-15 where it is 0, as learners give it to decoders."""
    noise = (NOISE * np.abs(g).max(initial=0.0) or 1e-15) * rng.uniform(-1, 1, size=g.shape)
    return without_rounding(np.atleast_2d(g + noise)).reshape(g.shape)


def more_losses():
    """Losses with decoders that `small_losses` has no room for."""
    return st.sampled_from(
        [
            losses.Matching(5),
            losses.Matching(6, weights=range(1, 7)),
            losses.Footrule(5),
            losses.PositionHamming(6),
            losses.Spearman(6),
            losses.NDCG(5, k=3),
            losses.Kendall(6),
            losses.Jaccard(4),
            losses.Sequence(3, transitions=[[0, 1, 1], [1, 0, 1], [1, 1, 1]]),
            losses.Sequence("ab"),
            losses.DependencyTree(),
        ]
    )


def estimates(loss, rng, n=6):
    """Sums of a few labels with whole weights of any sign, and zero: ties abound."""
    if loss.parts:
        labels = list(loss.labels(4)) if isinstance(loss, losses.DependencyTree) else None
        symbols = None if labels else [loss.symbols.names[i] for i in range(len(loss.symbols))]
        labels = labels or [tuple(rng.choice(symbols, size=4).tolist()) for _ in range(20)]
    elif isinstance(loss, (losses.Matching, losses.Kendall, losses.Footrule)) and loss.n > 4:
        labels = [tuple(rng.permutation(loss.n).tolist()) for _ in range(20)]
    else:
        labels = list(loss.labels())
    for _ in range(n):
        picked = [labels[i] for i in rng.integers(len(labels), size=4)]
        beta = rng.integers(-2, 3, size=4) / 3
        g = sum((b * loss.embed(y) for b, y in zip(beta, picked)), np.zeros_like(loss.embed(picked[0])))
        yield g if np.abs(g).max(initial=0.0) > 1e-14 else 0.0 * g
    yield np.zeros_like(loss.embed(labels[0]))


@given(st.one_of(small_losses(), more_losses()), st.integers(0, 10**6))
def test_rounding_does_not_settle_ties(loss, seed):
    rng = np.random.default_rng(seed)
    for g in estimates(loss, rng):
        answer = loss.decode(g)
        for _ in range(3):
            other = noisy(g, rng)
            assert loss.decode(other) == answer, (loss, g.tolist())
            if not loss.parts:
                assert loss.decode_many(np.array([other, g])) == [answer, answer]


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_assignments_are_the_first_of_the_best(n, seed):
    rng = np.random.default_rng(seed)
    orders = naive.orders(n)
    for loss in (losses.Matching(n), losses.PositionHamming(n), losses.Footrule(n)):
        for g in estimates(loss, rng) if n > 1 else ():
            ys = [loss.embed(y) for y in orders]
            risks = np.array([-(phi @ g) for phi in ys])
            assert loss.decode(g) == orders[int(np.argmax(risks <= risks.min() + 1e-9))], loss


def tied_stream(loss, rng, T):
    """Few inputs, labels in turn and mirrored: estimates that cancel, to 0 or to ties."""
    labels = list(loss.labels())
    labels = [labels[i] for i in rng.permutation(len(labels))[:4]]
    X = rng.choice([-1.0, 1.0], size=(T, 2))
    ys = [labels[i % len(labels)] for i in range(T)]
    X[1::2] = X[::2][: len(X[1::2])]
    return X, ys


def informative(loss):
    """No label costs the same whatever the answer is: of such a label a table of costs has nothing but rounding."""
    return not isinstance(loss, losses.CostMatrix) or bool((np.ptp(loss.costs, axis=0) > 0).all())


LEARNERS = {
    "oskaar": lambda loss, lam: OSKAAR(loss, kernels.Linear(), lam=lam),
    "oskaar budget": lambda loss, lam: OSKAAR(loss, kernels.Linear() + 1.0, lam=lam, budget=4),
    "salami": lambda loss, lam: SALAMI(loss, kernels.Linear(), lam=lam, eta=0.5),
    "salami budget": lambda loss, lam: SALAMI(loss, kernels.Linear() + 1.0, lam=lam, eta=0.5, budget=4),
}


@pytest.mark.parametrize("name", LEARNERS)
@settings(max_examples=8)
@given(data=st.data(), seed=st.integers(0, 10**6), lam=st.sampled_from([0.1, 1.0]))
def test_replay_is_the_loop_on_ties(name, data, seed, lam):
    loss = data.draw(small_losses().filter(informative))
    rng = np.random.default_rng(seed)
    X, ys = tied_stream(loss, rng, 24)
    loop, answers = LEARNERS[name](loss, lam), []
    for x, y in zip(X, ys):
        answers.append(loop.predict_one(x))
        loop.learn_one(x, y)
    assert replay(LEARNERS[name](loss, lam), X, ys).predictions == answers


@given(st.lists(st.sampled_from([0.0, -1.0, 0.3, 0.1 + 0.2, 1e-11, 1.0, -1e300]), min_size=1, max_size=40))
def test_one_row_of_scores_is_as_one_of_many(row):
    """Few scores of one row are looked at in plain Python."""
    scores = np.array([row])
    assert first_best(scores).tolist() == first_best(np.repeat(scores, 2, axis=0)).tolist()[:1]


def test_one_code_is_as_one_of_many():
    assert one_hot([2], 4, 0.5, -0.1).tolist() == one_hot([2, 0], 4, 0.5, -0.1).tolist()[:1]

"""Hypothesis strategies shared by the tests."""

import naive
import numpy as np
import pytest
from hypothesis import strategies as st

from oskaar import kernels, losses

KERNELS = {
    "gaussian": (kernels.Gaussian(0.8), lambda x, y: naive.gaussian(x, y, 0.8)),
    "intercept": (kernels.Gaussian(0.8) + 1.0, lambda x, y: naive.gaussian(x, y, 0.8) + 1),
    "laplacian": (kernels.Laplacian(1.3), lambda x, y: naive.laplacian(x, y, 1.3)),
    "matern": (kernels.Matern(1.1, nu=2.5), lambda x, y: naive.matern(x, y, 1.1, 2.5)),
    "linear": (kernels.Linear(), naive.linear),
    "polynomial": (kernels.Polynomial(2), lambda x, y: naive.polynomial(x, y, 2)),
}
"""Kernels with their naive twins."""


def few(values, every):
    """Each of some parameters, of which one in `every` is for the default run, the others for `make test-slow`."""
    return [
        value if i % every == 0 else pytest.param(value, marks=pytest.mark.slow) for i, value in enumerate(values)
    ]


def lams():
    return st.sampled_from([1e-3, 0.1, 1.0, 7.0])


@st.composite
def rows(draw, max_rounds=12, width=None):
    """Rows with a few exact duplicates among them."""
    d = draw(st.integers(1, 4)) if width is None else width
    n = draw(st.integers(0, max_rounds))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if n > 2 and draw(st.booleans()):
        X[rng.integers(n)] = X[rng.integers(n)]
    return X


@st.composite
def blocks(draw, max_rounds=6, width=2, max_rows=4):
    """Rounds of several rows."""
    sizes = draw(st.lists(st.integers(1, max_rows), min_size=1, max_size=max_rounds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [rng.normal(size=(n, width)) for n in sizes]


def space_of(loss, labels):
    """What a learner knows of a loss after some labels, which are checked."""
    space = loss.space()
    for y in labels:
        space = space.extended(y)
    return space


def decoded(loss, labels, weights):
    """What a learner answers for weights on checked labels."""
    space = space_of(loss, labels)
    return space.decode_many((weights @ space.embed_many(labels))[None, :])[0]


def signed_weights(rng, count):
    """Weights that are often negative, 0 or equal."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.choice([-1.0, 0.0, 1.0], size=count)
    return rng.normal(size=count) + (kind - 2)


def queries(rng, rounds=6):
    """Rounds for `losses.Documents`: queries of 1 to 5 documents."""
    sizes = rng.integers(1, 6, rounds)
    return [rng.normal(size=(n, 2)) for n in sizes], [tuple(rng.integers(0, 3, n).tolist()) for n in sizes]


def sentences(rng, rounds=5):
    """Rounds for `losses.DependencyTree`: sentences of 1 to 3 tokens, a row for each arc."""
    trees = {n: naive.trees(n) for n in (1, 2, 3)}
    sizes = rng.integers(1, 4, rounds)
    ys = [trees[n][rng.integers(len(trees[n]))] for n in sizes]
    return [rng.normal(size=(n * n, 2)) for n in sizes], ys


def small_losses():
    """Losses whose outputs can be listed."""
    return st.one_of(
        st.integers(1, 5).map(losses.ZeroOne),
        st.integers(1, 6).map(losses.Ordinal),
        st.integers(1, 4).map(losses.SubsetHamming),
        st.builds(losses.F1, st.integers(1, 4), st.sampled_from([0.5, 1.0, 2.0])),
        st.builds(losses.SequenceHamming, st.integers(1, 3), st.integers(1, 3)),
        cost_matrices(),
        limited_losses(),
        st.integers(1, 4).flatmap(lambda k: st.builds(losses.PrecisionAtK, st.just(k), st.integers(1, k))),
        st.sets(st.frozensets(st.integers(0, 2)), min_size=1).map(
            lambda sets: losses.SubsetZeroOne(3, sorted(sets, key=sorted))
        ),
        st.integers(1, 4).map(losses.Kendall),
        st.integers(1, 4).map(losses.Spearman),
        st.integers(1, 4).map(losses.Footrule),
        st.integers(1, 4).map(losses.PositionHamming),
        st.integers(1, 3).map(losses.NDCG),
        st.integers(1, 4).map(losses.Matching),
    )


@st.composite
def limited_losses(draw):
    """Losses on subsets with limits on the size of an answer."""
    k = draw(st.integers(1, 4))
    at_least = draw(st.integers(0, k))
    at_most = draw(st.integers(at_least, k))
    kind = draw(st.sampled_from([losses.SubsetHamming, losses.F1, losses.Jaccard]))
    return kind(k, at_least=at_least, at_most=at_most)


@st.composite
def cost_matrices(draw):
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 5)))
    seed = draw(st.integers(0, 2**32 - 1))
    kind = draw(st.sampled_from(["normal", "whole", "low rank", "zero"]))
    rng = np.random.default_rng(seed)
    costs = {
        "normal": lambda: rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4),
        "whole": lambda: rng.integers(0, 3, size=shape).astype(float),
        "low rank": lambda: np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1])),
        "zero": lambda: np.zeros(shape),
    }[kind]()
    return losses.CostMatrix(costs)


def labels_of(loss):
    return st.sampled_from(list(loss.labels()))
